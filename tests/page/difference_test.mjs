// The page of a difference: it has the figures of `strata diff --json`, cursors and windows of both recordings move
// together, and filters, trees and curves add up.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { ask, folder, here, run, samples, settle, setView, shownTexts, skip, strata, texts, until, withPage } from "./browser.mjs";

/** @typedef {{name: string, a_bytes: number, b_bytes: number, a_count: number, b_count: number}} Row */

/** @param {string} name */
const sample = (name) => path.join(samples, `${name}.pickle`);

/** Writes the page of a difference; returns its path and the JSON. @param {string} a @param {string} b @param
 * {string[]} flags */
function pageOf(a, b, ...flags) {
    const page = path.join(folder, `${path.basename(a)}-${path.basename(b)}${flags.join("")}.html`.replace(/[^\w.-]/g, "_"));
    run(strata, "diff", "-q", "-f", ...flags, a, b, "-o", page);
    const kept = flags.filter((flag, i) => flag !== "--max-html-size" && flags[i - 1] !== "--max-html-size");
    return { page, document: JSON.parse(run(strata, "diff", "--json", ...kept, a, b).toString()) };
}

/** Two recordings; the second has one planted change. @param {number} seed */
function twins(seed) {
    const script = `import sys; sys.path.insert(0, sys.argv[1]); import diff_test; print(*diff_test.Pair(int(sys.argv[2]), sys.argv[3]).paths, sep="\\n")`;
    const [a, b] = run("python3", "-c", script, here, seed, folder).toString().trim().split("\n");
    return { a, b };
}

/** Rows by name, without those that hold nothing. @param {Row[]} rows */
function byName(rows) {
    return Object.fromEntries(rows.filter((row) => row.a_count + row.b_count > 0).map(({ name, a_bytes, b_bytes, a_count, b_count }) => [name, [a_bytes, b_bytes, a_count, b_count]]));
}

/** Shows rows of a kind in the side. @param {import("playwright-core").Page} tab @param {string} rows */
async function choose(tab, rows) {
    await tab.keyboard.press("1");
    await tab.locator(`#panel-difference [data-choice=${rows}]`).click();
    await settle(tab);
}

/** @param {import("playwright-core").Page} tab @param {string} where @param {number} x @param {number} y shares of it */
async function point(tab, where, x, y) {
    const box = await tab.locator(where).boundingBox();
    assert.ok(box);
    await tab.mouse.move(box.x + box.width * x, box.y + box.height * y);
}

test("rows by layer, on which the page opens if they were requested", { skip }, async () => {
    const { page, document } = pageOf(sample("oom"), sample("train"), "--group", "module");
    await withPage(page, async (tab) => {
        const { rows } = await ask(tab, `strata.compare({by: "module"})`);
        assert.deepEqual(byName(rows), byName(document.groups), page);
        assert.equal(await tab.locator("#panel-difference [data-choice=module]").getAttribute("aria-pressed"), "true");
        assert.match((await shownTexts(tab, "#panel-difference .row-text")).join("\n"), /^layer 3 of transformer.py$/m);
    });
});

test("paper: a sheet of the differences, then one of each recording; one card for each finding of the active page", { skip }, async () => {
    const { page, document } = pageOf(sample("leak_two_per_layer"), sample("leak_graph"));
    await withPage(page, async (tab) => {
        const pdf = await tab.pdf({ format: "A4" });
        assert.equal(pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length, 3);
        await tab.emulateMedia({ media: "print" });
        await tab.evaluate(() => dispatchEvent(new Event("beforeprint")));
        assert.ok((await tab.locator(".paper").first().innerText()).includes(document.causes[0].site));
        await tab.emulateMedia({ media: "screen" });
        await tab.evaluate(() => dispatchEvent(new Event("afterprint")));
        for (const inHand of ["b", "a", "b"]) {
            await setView(tab, { inHand });
            await tab.locator("[role=tab]:visible", { hasText: "Why" }).click();
            await settle(tab);
            const findings = await ask(tab, "strata.findings()");
            assert.equal(await tab.locator("[data-finding]").count(), findings.length, inHand);
            await tab.locator('[data-finding="0"] [data-action=show]').click();
            await settle(tab);
            const { ids, bytes, event } = await ask(tab, "strata.lit()");
            assert.deepEqual([ids, bytes, event], [findings[0].ids, findings[0].bytes, findings[0].at_event], inHand);
            await tab.keyboard.press("Escape");
            await settle(tab);
            assert.equal(await ask(tab, "strata.lit()"), null, inHand);
        }
    });
});

test("rows that the page sums up are the program's", { skip }, async () => {
    const pairs = [...[0, 1, 2, 3, 4].map(twins), { a: sample("leak_zero_grad"), b: sample("train") }, { a: sample("one_event"), b: sample("streams") }];
    for (const { a, b } of pairs) {
        const { page, document } = pageOf(a, b);
        await withPage(page, async (tab) => {
            const { rows: sites, a_bytes, b_bytes } = await ask(tab, "strata.compare()");
            assert.deepEqual([a_bytes, b_bytes], [document.a_bytes, document.b_bytes]);
            assert.deepEqual(byName(sites), byName(document.sites.map((/** @type {any} */ row) => ({ ...row, name: row.site }))), page);
            const { rows: categories } = await ask(tab, `strata.compare({by: "category"})`);
            assert.deepEqual(byName(categories), byName(document.categories.map((/** @type {any} */ row) => ({ ...row, name: row.category.replaceAll("_", " ") }))), page);
            const [peakA, peakB] = await ask(tab, "[strata.a, strata.b].map((side) => side.summary().peak_bytes)");
            assert.equal(peakB - peakA, document.peak_delta_bytes);
            const anywhere = await ask(tab, "strata.compare({a: {at: 17}, b: {at: 40}})");
            const sum = anywhere.rows.reduce((/** @type {number} */ all, /** @type {any} */ row) => all + row.delta_bytes, 0);
            const live = await ask(tab, "strata.compare({a: {at: 17}, b: {at: 40}, by: 'category'})");
            assert.equal(sum, live.rows.reduce((/** @type {number} */ all, /** @type {any} */ row) => all + row.delta_bytes, 0));
            assert.equal(sum, live.b_bytes - live.a_bytes);
        });
    }
});

test("causes come first, then rows that sum up", { skip }, async () => {
    const { page, document } = pageOf(sample("leak_zero_grad"), sample("leak_zero_grad_healthy"));
    await withPage(page, async (tab) => {
        const cards = await texts(tab, "#panel-difference .cause");
        assert.equal(cards.length, document.causes.length);
        assert.ok(cards[0].includes(document.causes[0].title.replace(/^[^:]*: /, "")), cards[0]);
        await choose(tab, "site");
        const rows = await tab.locator("#pair-rows > .row:not([hidden])").count();
        assert.ok(rows > 5 && rows <= document.sites.length);
        const exact = `${Math.abs(document.delta_bytes).toLocaleString("en-US")} bytes`;
        assert.ok((await tab.locator("#panel-difference > .why-foot").textContent())?.includes(exact));
        await choose(tab, "calls");
        assert.ok((await tab.locator(".pair-gone:visible").count()) > 0, "what is gone stands in the tree");
        assert.ok((await tab.locator("#panel-difference > .why-foot").textContent())?.includes(exact));
        await tab.locator("#pair-rows [aria-expanded=false]").first().click();
        await settle(tab);
        assert.ok((await tab.locator("#pair-rows [aria-expanded=true]").count()) > 0, "calls unfold");
    });
});

test("cursors and windows are linked", { skip }, async () => {
    const { page } = pageOf(sample("leak_zero_grad"), sample("leak_zero_grad_healthy"));
    await withPage(page, async (tab) => {
        const view = await setView(tab, { align: "step", from: 400, to: 700 });
        assert.deepEqual([view.from, view.to], [400, 700]);
        const other = await ask(tab, "strata.b.view()");
        for (const [end, event] of /** @type {["from" | "to", number][]} */ ([["from", 400], ["to", 700]]))
            assert.ok(Math.abs(other[end] - (await ask(tab, `strata.belongs("a", ${event})`))) < 0.002);
        assert.equal(await ask(tab, `Math.round(strata.belongs("b", strata.belongs("a", 500)) * 1e6)`), 5e8, "there and back");
        await point(tab, "#timeline-b", 0.5, 0.5);
        await tab.mouse.wheel(0, -300);
        const windows = () => ask(tab, "[strata.a.view(), strata.b.view()].map(({ from, to }) => ({ from, to }))");
        const zoomed = await until(async () => {
            const now = await windows();
            return now[0].to - now[0].from < 299 && now;
        }, "the wheel over B zooms A");
        await setView(tab, { linked: false });
        await point(tab, "#timeline-b", 0.5, 0.5);
        await tab.mouse.wheel(0, -300);
        const alone = await until(async () => {
            const now = await windows();
            return now[1].to - now[1].from < zoomed[1].to - zoomed[1].from && now;
        }, "B is closer");
        assert.deepEqual(alone[0], zoomed[0], "unlinked, A stays");
    });
});

test("peaks lie below each other when aligned by them, on one scale", { skip }, async () => {
    const { page } = pageOf(sample("train"), sample("oom"));
    await withPage(page, async (tab) => {
        await setView(tab, { align: "peak" });
        const [a, b] = await ask(tab, "[strata.a, strata.b].map((side) => ({ ...side.view(), peak: side.summary().peak_event }))");
        assert.equal(a.peak - a.from, b.peak - b.from);
        assert.equal(a.to - a.from, b.to - b.from);
    });
});

test("A, B and their difference can be shown alone", { skip }, async () => {
    const { page } = pageOf(sample("train"), sample("train"));
    await withPage(page, async (tab) => {
        const seen = async () => Promise.all(["#timeline", "#timeline-b", "#timeline-difference"].map((one) => tab.locator(one).isVisible()));
        assert.deepEqual(await seen(), [true, true, false]);
        for (const [show, wanted] of Object.entries({ a: [true, false, false], b: [false, true, false], difference: [false, false, true], two: [true, true, false] })) {
            await tab.locator(`#show-${show}`).click();
            await settle(tab);
            assert.deepEqual(await seen(), wanted);
        }
        await setView(tab, { show: "difference" });
        const colored = await tab.evaluate(() => {
            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("timeline-difference"));
            const data = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
            return data.some((value) => value !== 0);
        });
        assert.equal(colored, false, "a recording does not differ from itself");
        assert.ok((await ask(tab, "strata.compare()")).rows.every((/** @type {any} */ row) => row.delta_bytes === 0));
    });
});

test("a filter takes out in both", { skip }, async () => {
    const [a, b] = [sample("leak_zero_grad"), sample("train")];
    const { page } = pageOf(a, b);
    const { page: filtered, document } = pageOf(a, b, "--filter", "attention");
    const wanted = byName(document.sites.map((/** @type {any} */ row) => ({ ...row, name: row.site })));
    await withPage(filtered, async (tab) => assert.deepEqual(byName((await ask(tab, "strata.compare()")).rows), wanted));
    await withPage(page, async (tab) => {
        await setView(tab, { filter: { words: "attention" } });
        assert.deepEqual(byName((await ask(tab, "strata.compare()")).rows), wanted);
        await setView(tab, { filter: {} });
        assert.ok(Object.keys(byName((await ask(tab, "strata.compare()")).rows)).length > Object.keys(wanted).length);
    });
});

test("a click holds the cursors and highlights the call site in both", { skip }, async () => {
    const { page } = pageOf(sample("leak_zero_grad"), sample("leak_zero_grad_healthy"));
    await withPage(page, async (tab) => {
        await point(tab, "#timeline", 0.9, 0.98);
        await tab.mouse.down();
        await tab.mouse.up();
        await settle(tab);
        const [a, b] = await ask(tab, "[strata.a.lit(), strata.b.lit()]");
        assert.ok(a.count > 0 && b.count > 0, "something lies there");
        await point(tab, "#timeline", 0.1, 0.1);
        await settle(tab);
        assert.equal((await ask(tab, "strata.a.lit()")).event, a.event, "it is held");
        await choose(tab, "site");
        assert.equal(await tab.locator("#pair-rows .focused").count(), 1);
        await tab.keyboard.press("Escape");
        await settle(tab);
        assert.deepEqual(await ask(tab, "[strata.a.lit(), strata.b.lit()]"), [null, null]);
    });
});

test("commands do what they name, and so do their keys", { skip }, async () => {
    await withPage(pageOf(sample("leak_zero_grad"), sample("leak_two_per_layer")).page, async (tab) => {
        const opened = [
            ["why: what", "why"],
            ["difference: what", "difference"],
            ["who holds", "who"],
            ["compare a with", "compare"],
            ["tree of", "tree"],
            ["allocator: why", "allocator"],
        ];
        for (const [words, id] of opened) {
            await tab.keyboard.press("Control+k");
            await tab.keyboard.type(words);
            const key = await shownTexts(tab, "#palette-list > [aria-selected=true] > kbd");
            await tab.keyboard.press("Enter");
            await until(() => tab.locator(`#panel-${id}`).isVisible(), `${words} opens ${id}`);
            // A form of Who has no key of its own.
            assert.equal(key.length, Number(id !== "tree"), words);
            if (!key.length) continue;
            await tab.keyboard.press(key[0] === "1" ? "2" : "1");
            await until(() => tab.locator(`#panel-${id}`).isHidden(), `another than ${id}`);
            await tab.keyboard.press(key[0]);
            await until(() => tab.locator(`#panel-${id}`).isVisible(), `${key[0]} opens ${id}`);
        }
    });
});

test("the page's keys, map, search and cards work on the active side", { skip }, async () => {
    const { page } = pageOf(sample("leak_zero_grad"), sample("leak_two_per_layer"));
    await withPage(page, async (tab) => {
        await tab.keyboard.press("g");
        await settle(tab);
        assert.ok((await tab.locator("#map").isVisible()) && (await tab.locator("#map-b").isVisible()));
        await tab.keyboard.press("g");
        for (const [letter, suffix] of [["a", ""], ["b", "-b"]]) {
            const view = await setView(tab, { inHand: letter });
            assert.equal(view.inHand, letter);
            await tab.keyboard.press("Control+k");
            const named = await tab.locator(":focus").getAttribute("aria-activedescendant");
            assert.equal(named, await tab.locator(`#palette-list${suffix} > [aria-selected=true]`).getAttribute("id"));
            await tab.keyboard.press("Escape");
            await tab.locator(`#palette${suffix}`).waitFor({ state: "hidden" });
            await tab.keyboard.press("2");
            await settle(tab);
            assert.equal(await tab.locator(`#panel-why${suffix} [data-finding]:visible`).count(), (await ask(tab, "strata.findings()")).length);
            assert.equal(await tab.locator("[data-finding]:visible").count(), (await ask(tab, "strata.findings()")).length, "of one side only");
            await tab.locator(`#panel-why${suffix} [data-action="show"]:visible`).first().click();
            await settle(tab);
            assert.ok((await ask(tab, `strata.${letter}.lit()`)).count > 0);
            await tab.keyboard.press("Escape");
            await settle(tab);
        }
        const found = await ask(tab, `strata.search("train_step")`);
        assert.ok(found.allocations > 0);
        await settle(tab);
        assert.ok((await ask(tab, "strata.a.lit()")).count > 0, "what is searched in one is searched in the other");
    });
});

test("impossible calls throw a sentence, and change nothing", { skip }, async () => {
    const { page } = pageOf(sample("train"), sample("oom"));
    await withPage(page, async (tab) => {
        const before = await ask(tab, "strata.view()");
        for (const call of ["setView({ show: 'x' })", "setView({ filter: 'x' })", "setView({ filter: { words: 1 } })", "setView({ linked: 1 })", "setView({ inHand: 'c' })", "compare({ a: 17 })", "compare({ by: 'x' })", "belongs('c', 1)", "belongs('a', 'x')", "allocation(1e9)", "setView({ show: 'a', device: 99 })", "setView({ linked: false, from: 'x' })", "setView({ inHand: 'b', show: 'b', search: '/(/' })"]) {
            const error = await tab.evaluate(`(async () => strata.${call})().then(() => "nothing", (error) => \`\${error.name}: \${error.message}\`)`);
            assert.match(String(error), /^RangeError: .+\.$/, call);
        }
        assert.deepEqual(await ask(tab, "strata.view()"), before);
        for (const call of ["setView()", "setView(null)", "setView({ filter: { words: 'x' } })", "compare(null)"]) await ask(tab, `strata.${call}`);
    });
});

test("hostile names are text, a small page names its limits, redacted ones have no paths", { skip }, async () => {
    await withPage(pageOf(sample("hostile_names"), sample("train")).page, async (tab) => {
        for (const key of ["1", "2", "3", "4", "5", "6"]) {
            await tab.keyboard.press(key);
            await settle(tab);
        }
        assert.equal(await tab.locator("#app script, #app img, #app iframe").count(), 0);
    });
    const most = statSync(pageOf(sample("leak_zero_grad"), sample("train")).page).size - 4096;
    const { page: small, document } = pageOf(sample("leak_zero_grad"), sample("train"), "--max-html-size", `${most}B`);
    await withPage(small, async (tab) => {
        assert.match((await texts(tab, ".badge")).join(" "), /note/);
        assert.deepEqual((await ask(tab, "strata.difference()")).sites, document.sites, "the figures are of the whole recordings");
    });
    const { page: redacted } = pageOf(sample("leak_zero_grad"), sample("train"), "--redact");
    const paths = "JSON.stringify(strata.difference()).includes('/home/')";
    await withPage(redacted, async (tab) => assert.equal(await ask(tab, paths), false));
    assert.ok(!readFileSync(redacted).includes(path.dirname(sample("train"))));
});

test("in both themes and at any width nothing lies outside of the page", { skip }, async () => {
    const { page } = pageOf(sample("train"), sample("oom"));
    for (const [width, scheme] of /** @type {[number, "light" | "dark"][]} */ ([[1400, "dark"], [1000, "light"], [700, "dark"]]))
        await withPage(page, async (tab) => {
            assert.equal(await ask(tab, "document.documentElement.dataset.theme"), scheme);
            assert.ok(await ask(tab, "document.documentElement.scrollWidth <= innerWidth"), `${width}`);
        }, { viewport: { width, height: 800 }, colorScheme: scheme });
});
