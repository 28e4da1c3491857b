// Problems that people had when they tried the page: one test for each.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, each, hashOf, plotBox, report, resize, samples, settle, setView, shownTexts, skip, texts, until, withPage, writePage, writeSnapshot, tool } from "./browser.mjs";
import { recording } from "./simulated.mjs";

const train = path.join(samples, "train.pickle");
const oom = path.join(samples, "oom.pickle");

/** @typedef {import("playwright-core").Page} Page */

const view = (/** @type {Page} */ page) => ask(page, "strata.view()");
const textOf = async (/** @type {Page} */ page, /** @type {string} */ selector) => (await page.locator(selector).innerText()).replace(/\u00a0/g, " ");
/** The event whose live allocations are listed. @param {Page} page */
const listedEvent = async (page) => Number(/event ([\d,]+)/.exec(await textOf(page, "#list-total"))?.[1].replace(/,/g, ""));

/** The number of pixels of a canvas that are not empty, in a box in CSS pixels of the plot. @param {Page} page @param
 * {string} id @param {number[]} box */
const painted = (page, id, box) =>
    page.evaluate(
        ([id, x, y, width, height]) => {
            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(String(id)));
            const timeline = /** @type {HTMLElement} */ (document.getElementById("timeline"));
            const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
            const { data } = context.getImageData(timeline.offsetLeft + Number(x), timeline.offsetTop + Number(y), Number(width), Number(height));
            return data.filter((value, i) => i % 4 === 3 && value > 0).length;
        },
        [id, ...box],
    );

describe("the list and the cursor", { skip }, () => {
    test("the list follows the view after a wheel zoom", async () => {
        await withPage(writePage(train), async (page) => {
            await page.keyboard.press("3");
            const box = await plotBox(page);
            await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.8);
            for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -300);
            await page.mouse.wheel(300, 0);
            const shown = await until(async () => {
                const { from, to } = await view(page);
                const event = await listedEvent(page);
                return Math.abs(event - (from + (to - from) * 0.4)) <= 2 && event;
            }, "the list at the cursor");
            assert.ok(shown > 0);
        });
    });

    test("leaving the plot keeps the last moment for two seconds", async () => {
        await withPage(writePage(train), async (page) => {
            await page.keyboard.press("3");
            const box = await plotBox(page);
            await page.mouse.move(box.x + box.width * 0.2, box.y + box.height * 0.9);
            await until(async () => (await textOf(page, "#list-title")) === "At the cursor", "the cursor");
            const event = await listedEvent(page);
            const left = Date.now();
            await page.locator("#list-title").hover();
            await until(() => page.locator("#tip").isHidden(), "what was under the pointer is not named any more");
            const [title, listed] = [await textOf(page, "#list-title"), await listedEvent(page)];
            // On a busy machine the two seconds may pass before the test has looked.
            if (Date.now() - left < 1900) assert.deepEqual([title, listed], ["At the cursor", event]);
            await until(async () => (await textOf(page, "#list-title")) === "At the peak", "the peak again");
        });
    });

    test("the legend follows the cursor", async () => {
        await withPage(writePage(train), async (page) => {
            await setView(page, { colorBy: "category" });
            const said = () => page.locator("#legend").getAttribute("aria-label");
            assert.match((await said()) ?? "", / at the peak, by colour$/);
            const box = await plotBox(page);
            await page.mouse.move(box.x + 3, box.y + box.height - 10);
            await until(async () => / at the cursor,/.test((await said()) ?? ""), "the cursor's figures");
            const figures = await each(page, ".legend-entry:not(.legend-rest) .legend-name", (one) => Number((one.getAttribute("title") ?? "").replace(/^.*: |\D/g, "")));
            await page.keyboard.press("3");
            const live = await until(async () => Number((await page.locator("#list-total").getAttribute("title"))?.replace(/\D/g, "")), "a total");
            assert.equal(figures.reduce((sum, bytes) => sum + bytes, 0), live, "the legend adds up to what the list has");
        });
    });

    test("hovering shows the innermost frames of the user's code", async () => {
        await withPage(writePage(train), async (page) => {
            const box = await plotBox(page);
            for (let y = box.height - 5; y > 0; y -= 25) {
                await page.mouse.move(box.x + box.width * 0.4, box.y + y);
                await settle(page);
                if ((await page.locator(".tip-site").count()) > 1) break;
            }
            const lines = await shownTexts(page, ".tip-site");
            assert.ok(lines.length > 1 && lines.length <= 3, String(lines));
            assert.ok(lines.slice(1).every((line) => /^\u2039 \S+\.py:\d+ \S/.test(line)), String(lines));
        });
    });

    test("a pinned call site's line speaks of the selected range", async () => {
        await withPage(writePage(train), async (page) => {
            await page.keyboard.press("3");
            await page.locator("#list .row").first().click();
            assert.match(await textOf(page, ".site-line >> nth=0"), /at the peak/);
            await setView(page, { range: { from: 100, to: 900 } });
            const born = await page.evaluate(() => window.strata.compare({ a: { from: 100, to: 900, what: "allocated" }, b: { at: 0 } }));
            const name = await textOf(page, ".site-heading");
            const row = born.rows.find((each) => each.name === name);
            const words = await until(async () => {
                const text = await textOf(page, ".site-line >> nth=0");
                return /in the selection$/.test(text) && text;
            }, "the range");
            assert.ok(words.includes(await page.evaluate((bytes) => (bytes / 2 ** 20).toFixed(0), row?.a_bytes ?? 0)) || /GiB|KiB| 0 B/.test(words), words);
            assert.match(words, /allocated in the selection/);
            await page.locator("#range-peak").click();
            await until(async () => /highest moment$/.test(await textOf(page, ".site-line >> nth=0")), "at its highest");
        });
    });
});

describe("zoom", { skip }, () => {
    test("a pinch and Ctrl+wheel zoom time; Alt+wheel and the wheel over the axis zoom bytes", async () => {
        await withPage(writePage(train), async (page) => {
            const box = await plotBox(page);
            const width = async () => (await view(page)).to - (await view(page)).from;
            const whole = await width();
            await page.mouse.move(box.x + 300, box.y + 200);
            await page.keyboard.down("Control");
            await page.mouse.wheel(0, -60);
            await page.keyboard.up("Control");
            await until(async () => (await width()) < whole * 0.8, "closer in time");
            assert.doesNotMatch(await hashOf(page), /bytes=/);
            const before = await width();
            await page.keyboard.down("Alt");
            await page.mouse.wheel(0, -300);
            await page.keyboard.up("Alt");
            await until(async () => /bytes=/.test(await hashOf(page)), "closer in bytes");
            assert.equal(await width(), before);
            await page.keyboard.press("v");
            await until(async () => !/bytes=/.test(await hashOf(page)), "all bytes");
            await page.mouse.move(box.x - 30, box.y + 200);
            await page.mouse.wheel(0, -300);
            await until(async () => /bytes=/.test(await hashOf(page)), "closer in bytes over the axis");
            assert.equal(await width(), before);
        });
    });

    test("a double click shows the whole run, and pins nothing", async () => {
        await withPage(writePage(train), async (page) => {
            await setView(page, { from: 100, to: 300 });
            const box = await plotBox(page);
            await page.mouse.dblclick(box.x + 300, box.y + box.height - 20);
            await settle(page);
            const { from, to, selected } = await view(page);
            assert.equal(selected, null);
            assert.ok(to - from > 2000);
            await until(async () => !/selected|focus|at=/.test(await hashOf(page)), "nothing pinned in the address");
        });
    });

    test("allocations that no column shows are counted, and no others are left out", async () => {
        await withPage(writePage(recording), async (page) => {
            await page.keyboard.press("0");
            await settle(page);
            const { allocations, drawn, merged } = await ask(page, "strata.stats()");
            const found = /^([\d,]+) allocations shown(?:, ([\d,]+) too short to see here)?$/.exec(await textOf(page, "#drawn"));
            assert.ok(found, await textOf(page, "#drawn"));
            const [visible, short] = found.slice(1).map((text) => Number((text ?? "0").replace(/,/g, "")));
            assert.equal(visible, drawn + merged);
            // Over the whole run, allocations that are in no column were short, or ended before the first column's
            // moment.
            const out = allocations - visible - short;
            assert.ok(out >= 0 && out < allocations / 100, `${visible} + ${short} of ${allocations}`);
            for (const width of [600, 900, 3840]) {
                await resize(page, width, 900);
                assert.ok(await page.locator("#drawn").isVisible(), `${width} pixels`);
            }
        });
    });

    test("a capacity far above the plot is named at its edge; Fit fits the height", async () => {
        await withPage(writePage(train, "--capacity", "80GiB"), async (page) => {
            const box = await plotBox(page);
            assert.ok((await painted(page, "axes", [box.width - 140, 2, 130, 20])) > 1000, "a chip in the corner");
            // The highest total takes most of the height.
            const { peak_bytes } = await ask(page, "strata.summary()");
            await setView(page, { from: 60, to: 120 });
            await tool(page, "#fit-bytes");
            await until(async () => /bytes=/.test(await hashOf(page)), "fitted");
            assert.equal(await page.locator("#fit-bytes").getAttribute("aria-pressed"), "true");
            const top = Number(/bytes=\d+_(\d+)/.exec(await hashOf(page))?.[1]);
            assert.ok(top < peak_bytes, `${top} of ${peak_bytes}`);
            await tool(page, "#fit-bytes");
            await until(async () => !/bytes=/.test(await hashOf(page)), "all bytes");
        });
        await withPage(writePage(train), async (page) => {
            const box = await plotBox(page);
            assert.ok((await painted(page, "axes", [box.width - 140, 2, 130, 20])) < 1000, "no chip without");
            // If a filter leaves little, the reserved line is far above.
            await setView(page, { filter: { mostBytes: "1MiB" } });
            assert.ok((await painted(page, "axes", [box.width - 140, 2, 130, 20])) > 1000, "a chip under a filter");
        });
    });

    test("an axis that does not begin with 0 is broken", async () => {
        await withPage(writePage(train), async (page) => {
            const { height } = await plotBox(page);
            const before = await painted(page, "axes", [-6, height - 14, 4, 12]);
            await page.evaluate(() => (location.hash += "&bytes=1073741824_3221225472"));
            await until(async () => (await painted(page, "axes", [-6, height - 14, 4, 12])) > before + 20, "the break");
        });
    });
});

describe("keys", { skip }, () => {
    test(". and , move by event, with Shift they select, Enter pins", async () => {
        await withPage(writePage(train), async (page) => {
            await setView(page, { from: 100, to: 300 });
            await page.locator("#plot").focus();
            await page.evaluate(() => (location.hash += "&at=150"));
            await until(async () => /at=150/.test(await hashOf(page)), "event 150");
            await page.keyboard.press(".");
            await until(async () => /at=151/.test(await hashOf(page)), "event 151");
            await page.keyboard.press(",");
            await page.keyboard.press(",");
            await until(async () => /at=149/.test(await hashOf(page)), "event 149");
            for (let i = 0; i < 4; i++) await page.keyboard.press("Shift+Period");
            await until(async () => (await view(page)).range?.to === 153, "four events");
            assert.equal((await view(page)).range?.from, 149);
            await page.keyboard.press("Shift+Comma");
            await until(async () => (await view(page)).range?.to === 152, "three events");
            await page.keyboard.press("Escape");
            await page.keyboard.press("Enter");
            const { selected } = await view(page);
            const pinned = await ask(page, `strata.allocation(${selected})`);
            assert.ok(pinned.birth === 149 || pinned.death === 149, JSON.stringify(pinned).slice(0, 200));
        });
    });

    test("the OOM's marker and the line of its moment are at one x", async () => {
        await withPage(writePage(oom), async (page) => {
            const [{ oom: ooms }] = report(oom).devices;
            for (const [from, to] of [[0, 0], [ooms[0].event - 8, ooms[0].event + 1]]) {
                if (to) await setView(page, { from, to });
                await page.locator("#plot").focus();
                await page.keyboard.press("o");
                await settle(page);
                const columns = (/** @type {string} */ id, /** @type {number} */ y) =>
                    page.evaluate(
                        ([id, y]) => {
                            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(String(id)));
                            const timeline = /** @type {HTMLElement} */ (document.getElementById("timeline"));
                            const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(timeline.offsetLeft + 1, timeline.offsetTop + Number(y), timeline.offsetWidth + 60, 6);
                            const width = timeline.offsetWidth + 60;
                            /** @type {Set<number>} */ const found = new Set();
                            for (let i = 0; i < width * 6; i++) if (data[i * 4 + 3] > 100) found.add(i % width);
                            return [...found];
                        },
                        [id, y],
                    );
                const { height } = await plotBox(page);
                const held = await columns("overlay", height - 12);
                const marks = await columns("axes", height - 12);
                assert.equal(held.length, 1, String(held));
                assert.ok(marks.includes(held[0]), `${held} in ${marks}`);
            }
        });
    });

    test("after an OOM that ends the recording there is room for the request", async () => {
        await withPage(writePage(oom), async (page) => {
            const { width, height } = await plotBox(page);
            assert.ok((await painted(page, "overlay", [width + 4, 20, 40, height / 2])) > 400, "the ghost stands beside the stack");
        });
    });

    test("splitters: by mouse, by keys, and back", async () => {
        await withPage(writePage(train), async (page) => {
            const width = async () => (await page.locator("#side").boundingBox())?.width ?? 0;
            const first = await width();
            const handle = await page.locator("#split-side").boundingBox();
            assert.ok(handle);
            await page.mouse.move(handle.x + 3, handle.y + 300);
            await page.mouse.down();
            await page.mouse.move(handle.x - 97, handle.y + 300, { steps: 4 });
            await page.mouse.up();
            assert.ok(Math.abs((await width()) - first - 100) < 3, `${first} to ${await width()}`);
            await page.locator("#split-side").press("ArrowRight");
            assert.ok(Math.abs((await width()) - first - 84) < 3);
            await page.locator("#split-side").press("Home");
            assert.equal(await width(), first);
            const low = async () => (await page.locator("#minimap").boundingBox())?.height ?? 0;
            const before = await low();
            await page.locator("#split-overview").press("ArrowUp");
            assert.equal(await low(), before + 16);
            await page.locator("#split-overview").press("Home");
            assert.equal(await low(), before);
        });
    });
});

describe("names and colours", { skip }, () => {
    test("a name of 71 KiB is clamped everywhere, and no two stacks have one label", async () => {
        const long = writeSnapshot("long.pickle", `(lambda f: {"segments": [], "device_traces": [[e for i in range(4) for e in ({"action": "alloc", "addr": 4096 * i + 4096, "size": 512, "stream": 0, "frames": f(i)},)]]})(lambda i: [{"filename": "model.py", "line": 7, "name": "x" * 72704}, {"filename": "model.py", "line": 9, "name": "run"}, {"filename": "/usr/lib/python3/site-packages/torch/nn/mod.py", "line": 40 + i % 2, "name": "call"}, {"filename": "main.py", "line": 1, "name": "main" if i < 2 else "other"}])`);
        await withPage(writePage(long), async (page) => {
            await page.keyboard.press("3");
            await page.locator("#group-by").selectOption("stack");
            await page.locator("#list .row").first().click();
            await settle(page);
            for (const selector of ["#list .row", ".frame-head", ".site-heading"]) {
                const heights = await each(page, selector, (one) => one.getBoundingClientRect().height);
                assert.ok(heights.length > 0 && heights.every((height) => height < 110), `${selector}: ${heights}`);
            }
            assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
            const labels = await texts(page, "#list .row:not([hidden]) .row-text");
            assert.equal(labels.length, 4);
            assert.equal(new Set(labels).size, labels.length, "labels of stacks differ");
        });
    });

    test("frames are clickable: everything through one", async () => {
        await withPage(writePage(train), async (page) => {
            await page.keyboard.press("3");
            await page.locator("#list .row").first().click();
            const frame = page.locator(".frame-user button.frame-place").last();
            await frame.click();
            await until(async () => /focus=frame_/.test(await hashOf(page)), "the highlight");
        });
    });

    test("ages use the whole scale of the file", async () => {
        await withPage(writePage(train), async (page) => {
            await setView(page, { colorBy: "age" });
            const words = await textOf(page, "#legend");
            const events = report(train).devices[0].events;
            const steps = [...words.matchAll(/([\d,]+) events/g)].map(([, text]) => Number(text.replace(/,/g, "")));
            assert.ok(Math.max(...steps) > events / 8 && Math.max(...steps) <= events, words);
        });
    });
});
