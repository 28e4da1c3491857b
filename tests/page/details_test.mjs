// The details of an allocation, long lists, search, legend, picture and link.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { cropPng, decodePng } from "../png.mjs";
import { ALL, ask, canvasPixels, corpus, downloaded, each, run, samples, settle, setView, shownTexts, skip, until, withPage, writePage, writeSnapshot, openForm, tool } from "./browser.mjs";

describe("details of an allocation", { skip }, () => {
    test("phase, compiled region, metadata and generated code are shown and found", async () => {
        await withPage(writePage(path.join(samples, "user_metadata_annotate.pickle")), async (page) => {
            const wanted = JSON.parse(run("python3", "-c", `
import json, pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
events = snapshot["device_traces"][0]
index = next(i for i, e in enumerate(events) if e["action"] == "alloc" and any("fx_node_name" in f for f in e["frames"]) and e.get("user_metadata"))
event = events[index]
open_phases = []
for mark in snapshot["external_annotations"]:
    if mark["time_us"] <= event["time_us"]:
        if mark["stage"] == "START": open_phases.append(mark["name"])
        else: open_phases.remove(mark["name"])
json.dump({"event": index, "frame": next(f for f in event["frames"] if "fx_node_name" in f), "phases": open_phases,
           "context": event.get("compile_context", ""), "metadata": event["user_metadata"]}, sys.stdout, default=str)`, path.join(samples, "user_metadata_annotate.pickle")).toString());
            const allocation = await ask(page, `${ALL}.find(({ birth }) => birth === ${wanted.event}).allocation`);
            await setView(page, { selected: allocation });
            const detail = await page.locator("#detail").innerText();
            const { fx_node_name: name, fx_node_op: op, fx_original_trace: original } = wanted.frame;
            assert.ok(detail.includes(`${name}: ${op}`), detail);
            for (const line of original.trim().split("\n")) assert.ok(detail.includes(line.trim()), line);
            assert.ok(wanted.phases.length > 0 && detail.includes(wanted.phases.join(" \u203a ")), `${wanted.phases} in ${detail}`);
            assert.ok(detail.includes(wanted.context) && detail.includes("Metadata"));
            await page.evaluate(() => { window.copied = ""; navigator.clipboard.writeText = async (text) => void (window.copied = text); });
            await page.locator("#detail-copy").click();
            const copied = String(await until(() => page.evaluate("copied"), "the copy"));
            assert.ok(copied.includes(`[${name}: ${op}`), copied);
            const found = await ask(page, `strata.search(${JSON.stringify(original.trim().split("\n").at(-1).trim())})`);
            assert.ok(found.allocations > 0, "the model's code behind generated code is found");
        });
    });

    test("missing facts are left out", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            await setView(page, { selected: 5 });
            const names = await shownTexts(page, "#detail dt");
            assert.ok(names.includes("Stream") && !names.includes("Pool") && !names.includes("Metadata"), String(names));
        });
        const timeline = corpus("memory_timeline_adam.raw.json.gz");
        if (!timeline) return;
        await withPage(writePage(timeline), async (page) => {
            assert.equal(await page.locator("#reserved").isVisible(), false);
            assert.equal(await page.locator("#group-by").isVisible(), false);
            assert.equal(await page.locator("#list-scroll .sort").first().innerText(), "Category");
            const swatches = await each(page, "#list > .row:not([hidden]) .swatch", (swatch) => getComputedStyle(swatch).backgroundColor);
            const legend = await each(page, "#legend .swatch", (swatch) => getComputedStyle(swatch).backgroundColor);
            assert.ok(swatches.length > 3 && swatches.every((color) => legend.includes(color)), `${swatches} in ${legend}`);
        });
    });
});

describe("long lists", { skip }, () => {
    const nSites = 200_000;

    test(`${nSites} call sites: rows in sight, keys, a pointer`, async () => {
        // Site i holds more than site i + 1, which fixes the order.
        const file = writeSnapshot("sites.pickle", `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096 + (i << 30), "size": 512 * (${nSites} - i), "stream": 0, "time_us": 1700000000000000 + i, "frames": [{"filename": "site.py", "line": i + 1, "name": "f"}]} for i in range(${nSites})]]}`);
        await withPage(writePage(file), async (page) => {
            const list = page.locator("#list-scroll");
            const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
            /** Rows in sight: index, name, and whether they lie between the head and the lower edge. */
            const seen = () => page.evaluate(() => {
                const box = /** @type {HTMLElement} */ (document.getElementById("list-scroll")).getBoundingClientRect();
                const head = /** @type {HTMLElement} */ (document.querySelector("#list-scroll .list-head")).getBoundingClientRect();
                return Array.from(document.querySelectorAll("#list > .row:not([hidden])"), (row) => {
                    const { top, bottom } = row.getBoundingClientRect();
                    return { index: Number(row.getAttribute("aria-rowindex")) - 2, name: row.querySelector(".row-text")?.textContent, whole: top >= head.bottom - 1 && bottom <= box.bottom + 1 };
                }).filter(({ whole }) => whole);
            });
            const active = async () => {
                const id = String(await list.getAttribute("aria-activedescendant"));
                const index = Number(await page.locator(`#${id}`).getAttribute("aria-rowindex")) - 2;
                assert.ok((await seen()).some((row) => row.index === index), `row ${index} is in sight`);
                return index;
            };
            const press = async (/** @type {string} */ key) => {
                await page.keyboard.press(key);
                await settle(page);
                return active();
            };
            assert.equal(await list.getAttribute("aria-rowcount"), String(nSites + 1));
            const before = await elements();
            await page.keyboard.press("/");
            for (let i = 0; i < 30 && !(await page.evaluate(() => document.activeElement?.id === "list-scroll")); i++) await page.keyboard.press("Tab");
            await settle(page);
            assert.equal(await active(), 0, "the list is reached by Tab, and shows where the arrows begin");
            assert.equal(await press("ArrowDown"), 1);
            const page1 = await press("PageDown");
            assert.ok(page1 > 5 && page1 < 40, `PageDown: ${page1}`);
            assert.equal(await press("End"), nSites - 1);
            const last = (await seen()).at(-1);
            assert.deepEqual([last?.index, last?.name], [nSites - 1, `site.py:${nSites} f`]);
            assert.equal(await press("ArrowUp"), nSites - 2);
            await page.keyboard.press("Enter");
            await settle(page);
            assert.equal(await page.locator("#list > .row:not([hidden])[aria-selected=true]").getAttribute("aria-rowindex"), String(nSites));
            assert.match(await page.locator("#detail").innerText(), new RegExp(`site\\.py:${nSites - 1}\\b`));
            assert.equal(await press("Home"), 0);
            // The scroll bar reaches every place; the rows there are complete and in order.
            for (const share of [0.25, 0.5, 0.9]) {
                await list.evaluate((scroll, share) => void (scroll.scrollTop = (scroll.scrollHeight - scroll.clientHeight) * share), share);
                await settle(page);
                const rows = await seen();
                assert.ok(rows.length > 2 && rows.every(({ index, name }, i) => index === rows[0].index + i && name === `site.py:${index + 1} f`));
                assert.ok(Math.abs(rows[0].index / nSites - share) < 0.001, `${rows[0].index} at ${share}`);
            }
            const box = await list.boundingBox();
            const middle = (await seen())[1];
            await page.locator(`#list > .row[aria-rowindex="${middle.index + 2}"]`).click();
            await settle(page);
            assert.equal(await page.locator("#list > .row:not([hidden])[aria-selected=true] .row-text").innerText(), middle.name);
            assert.ok(box && (await elements()) - before < 120, `${before} elements, then ${await elements()}`);
            // A note stands in place of the rows that are left out because there are too many.
            await list.getByRole("button", { name: "Call site" }).click();
            await settle(page);
            assert.match(await page.locator("#list-total").innerText(), /more than 100,000 rows: sorted by bytes only/);
            assert.deepEqual(await each(page, "#list-scroll [aria-sort]", (head) => [head.textContent, head.ariaSort]), [["Bytes", "descending"]]);
            await list.getByRole("button", { name: "Bytes" }).click();
            await list.getByRole("button", { name: "Bytes" }).click();
            await settle(page);
            assert.equal((await seen())[0].name, `site.py:${nSites} f`, "the least first");
            assert.doesNotMatch(await page.locator("#list-total").innerText(), /above/);
            await page.locator("#group-by").selectOption("stack");
            await settle(page);
            assert.match(await page.locator("#list-total").innerText(), /more than 20,000 stacks: names may repeat/);
            await openForm(page, "tree");
            await settle(page);
            const total = page.locator("#panel-tree .panel-total");
            assert.doesNotMatch(await total.innerText(), /searched/);
            await page.getByLabel("Search in the tree").fill("site.py:7");
            await until(async () => /more than 200,000 nodes: the tree is not searched/.test(await total.innerText()), "why nothing is found");
        }, { viewport: { width: 1200, height: 800 }, hash: "#tab=who" });
    });
});

describe("search in notes of allocations", { skip }, () => {
    test("an invalid expression says why, and fades nothing", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const before = await canvasPixels(page);
            await page.locator("#search").fill("/forward(/");
            await until(async () => /^Not a regular expression: \S/.test(await page.locator("#found").innerText()), "the reason");
            await settle(page);
            assert.equal(await page.locator("#search").getAttribute("aria-invalid"), "true");
            assert.equal(await page.locator("#search-next").isVisible(), false);
            assert.deepEqual((await canvasPixels(page)).rgba, before.rgba);
            // An earlier highlight comes back as it was, although another search was drawn in between.
            const row = page.locator("#list > .row").first();
            await page.locator("#search").fill("");
            await until(async () => (await ask(page, "strata.view().search")) === "", "no search");
            await row.click();
            await settle(page);
            const highlighted = await canvasPixels(page);
            await page.locator("#search").fill("forward");
            await until(async () => /^\d+ allocations/.test(await page.locator("#found").innerText()), "a count");
            await page.locator("#search").fill("/forward(/");
            await until(async () => /^Not a regular/.test(await page.locator("#found").innerText()), "the reason again");
            await row.click();
            await settle(page);
            assert.deepEqual((await canvasPixels(page)).rgba, highlighted.rgba);
            await page.locator("#search").fill("/forward$/");
            await until(async () => /^\d+ allocations/.test(await page.locator("#found").innerText()), "the count");
            await settle(page);
            assert.notDeepEqual((await canvasPixels(page)).rgba, before.rgba);
        });
    });

    test("metadata and compile context match", async (t) => {
        const inputs = [[path.join(samples, "user_metadata_annotate.pickle"), "user_metadata"], [corpus("streams_compile_context.pickle"), "compile_context"]];
        for (const [file, field] of inputs) {
            if (!file || !existsSync(file)) {
                t.diagnostic(`skipped: no file with ${field}`);
                continue;
            }
            await withPage(writePage(file), async (page) => {
                const name = field === "user_metadata" ? "userMetadata" : "compileContext";
                const texts = await ask(page, `${ALL}.map((each) => each.${name})`);
                const text = texts.find((/** @type {string} */ each) => each !== "")?.slice(0, 20);
                assert.ok(text, `something has ${field}`);
                const found = await ask(page, `strata.search(${JSON.stringify(text)})`);
                const wanted = texts.filter((/** @type {string} */ each) => each.toLowerCase().includes(text.toLowerCase())).length;
                assert.ok(found.allocations >= wanted && wanted > 0, `${found.allocations} found, ${wanted} with it`);
                await page.locator("#search-next").click();
                const { from, selected: first, to } = await ask(page, "strata.view()");
                assert.match(await page.locator("#found").innerText(), found.allocations > 1 ? /^1 of / : /^1 /);
                const { birth, death } = (await ask(page, ALL))[first];
                assert.ok(birth <= to && death >= from && (death - birth) / (to - from) > 0.002, "it can be seen");
                await page.locator("#search-next").click();
                const second = (await ask(page, "strata.view()")).selected;
                await page.locator("#search-previous").click();
                assert.equal((await ask(page, "strata.view()")).selected, first);
                assert.ok(found.allocations === 1 || second > first);
            });
        }
    });
});

describe("legend, picture and link", { skip }, () => {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        test(`legends show the raster's colours, ${colorScheme}`, async () => {
            await withPage(writePage(path.join(samples, "streams.pickle")), async (page) => {
                for (const color of ["size", "age", "stream", "category"]) {
                    await setView(page, { colorBy: color });
                    const swatches = await each(page, "#legend .swatch, #legend .legend-step i", (swatch) => getComputedStyle(swatch).backgroundColor);
                    assert.ok(swatches.length >= 2, `${color}: ${swatches.length} colours`);
                    const { rgba } = await canvasPixels(page);
                    /** @type {Map<string, number>} */
                    const shown = new Map();
                    for (let i = 0; i < rgba.length; i += 4) {
                        const rgb = `rgb(${rgba[i]}, ${rgba[i + 1]}, ${rgba[i + 2]})`;
                        shown.set(rgb, (shown.get(rgb) ?? 0) + 1);
                    }
                    const pixels = swatches.reduce((sum, swatch) => sum + (shown.get(swatch) ?? 0), 0);
                    assert.ok(pixels > rgba.length / 4 / 20, `${color}: ${pixels} pixels have a colour of the legend`);
                }
            }, { colorScheme });
        });

        test(`Save PNG saves what is shown, ${colorScheme}`, async () => {
            await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
                const canvas = await canvasPixels(page);
                const waiting = page.waitForEvent("download");
                await tool(page, "#save");
                const download = await waiting;
                assert.equal(download.suggestedFilename(), "train-device0.png");
                const png = decodePng(await downloaded(download));
                const plotted = cropPng(png, 66, 52 + 30, canvas.width, canvas.height);
                const strange = plotted.filter((/** @type {number} */ value, /** @type {number} */ i) => value !== canvas.rgba[i]).length;
                // Markers and names of lines lie on top of it.
                assert.ok(strange < plotted.length * 0.02, `${strange} of ${plotted.length} values differ`);
            }, { colorScheme });
        });
    }

    test("Copy link copies an address that restores the view", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await setView(page, { from: 300, to: 900, colorBy: "age", filter: { leastBytes: "1M" } });
            await page.evaluate(() => {
                Object.assign(window, { copied: "", said: [] });
                navigator.clipboard.writeText = async (text) => void (window.copied = text);
                const button = /** @type {HTMLElement} */ (document.getElementById("link"));
                // The button says so for a moment.
                new MutationObserver(() => window.said.push(button.textContent)).observe(button, { childList: true });
            });
            await tool(page, "#link");
            const link = await until(() => page.evaluate("copied"), "the link");
            assert.match(link, /^file:\/\/.*\.html#.*window=300_900.*filter=size%3A%3E%3D1M/);
            await until(() => page.evaluate("said.includes('Copied')"), "that it was copied");
        });
    });
});
