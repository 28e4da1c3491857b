// The page of a difference: what it says is what `strata diff --json` says, cursors and windows of both move together, and
// filters, trees and curves add up.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { ask, folder, here, run, samples, settle, setView, skip, strata, texts, until, withPage } from "./browser.mjs";

/** @typedef {{name: string, a_bytes: number, b_bytes: number, a_count: number, b_count: number}} Row */

/** @param {string} name */
const sample = (name) => path.join(samples, `${name}.pickle`);

/** The page of a difference, and what the JSON says of it. @param {string} a @param {string} b @param {string[]} flags */
function pageOf(a, b, ...flags) {
    const page = path.join(folder, `${path.basename(a)}-${path.basename(b)}${flags.join("")}.html`.replace(/[^\w.-]/g, "_"));
    run(strata, "diff", "-q", "-f", ...flags, a, b, "-o", page);
    const kept = flags.filter((flag, i) => flag !== "--max-html-size" && flags[i - 1] !== "--max-html-size");
    return { page, document: JSON.parse(run(strata, "diff", "--json", ...kept, a, b).toString()) };
}

/** Twins of which the second has one planted change. @param {number} seed */
function twins(seed) {
    const script = `import sys; sys.path.insert(0, sys.argv[1]); import diff_test; print(*diff_test.Pair(int(sys.argv[2]), sys.argv[3]).paths, sep="\\n")`;
    const [a, b] = run("python3", "-c", script, here, seed, folder).toString().trim().split("\n");
    return { a, b };
}

/** Rows by name, without those that hold nothing. @param {Row[]} rows */
function byName(rows) {
    return Object.fromEntries(rows.filter((row) => row.a_count + row.b_count > 0).map(({ name, a_bytes, b_bytes, a_count, b_count }) => [name, [a_bytes, b_bytes, a_count, b_count]]));
}

test("rows that the page sums up are the program's", { skip }, async () => {
    const pairs = [...[0, 1, 2, 3, 4].map(twins), { a: sample("leak_zero_grad"), b: sample("train") }, { a: sample("one_event"), b: sample("streams") }];
    for (const { a, b } of pairs) {
        const { page, document } = pageOf(a, b);
        await withPage(page, async (tab) => {
            const sites = await ask(tab, "strata.compare()");
            assert.deepEqual(byName(sites), byName(document.sites.map((/** @type {any} */ row) => ({ ...row, name: row.site }))), page);
            const categories = await ask(tab, `strata.compare({by: "category"})`);
            assert.deepEqual(byName(categories), byName(document.categories.map((/** @type {any} */ row) => ({ ...row, name: row.category.replaceAll("_", " ") }))), page);
            const { a: factsA, b: factsB } = await ask(tab, "strata.summary()");
            assert.equal(factsB.peak_bytes - factsA.peak_bytes, document.peak_delta_bytes);
            const anywhere = await ask(tab, "strata.compare({a: 17, b: 40})");
            const sum = anywhere.reduce((/** @type {number} */ all, /** @type {any} */ row) => all + row.delta_bytes, 0);
            const live = await ask(tab, "strata.compare({a: 17, b: 40, by: 'category'})");
            assert.equal(sum, live.reduce((/** @type {number} */ all, /** @type {any} */ row) => all + row.delta_bytes, 0));
        });
    }
});

test("causes come first, then rows that sum up", { skip }, async () => {
    const { page, document } = pageOf(sample("leak_zero_grad"), sample("leak_zero_grad_healthy"));
    await withPage(page, async (tab) => {
        const cards = await texts(tab, ".cause");
        assert.equal(cards.length, document.causes.length);
        assert.ok(cards[0].includes(document.causes[0].title.replace(/^[^:]*: /, "")), cards[0]);
        await tab.keyboard.press("2");
        await settle(tab);
        const rows = await tab.locator("#two-sites > .row:not([hidden])").count();
        assert.ok(rows > 5 && rows <= document.sites.length);
        const exact = `${Math.abs(document.delta_bytes).toLocaleString("en-US")} bytes`;
        assert.ok((await tab.locator(".why-foot:visible").textContent())?.includes(exact));
        await tab.keyboard.press("4");
        await settle(tab);
        const gone = document.sites.filter((/** @type {any} */ row) => row.change === "gone").length;
        assert.ok(gone > 0 && (await tab.locator(".two-gone").textContent())?.includes(`${gone} call site`));
        assert.ok((await tab.locator(".two-gone-row:visible").count()) > 0, "what is gone stands in the table");
        assert.ok((await tab.locator(".two-box").count()) > 5);
    });
});

test("cursors and windows are linked", { skip }, async () => {
    const { page } = pageOf(sample("leak_zero_grad"), sample("leak_zero_grad_healthy"));
    await withPage(page, async (tab) => {
        const view = await setView(tab, { align: "step", from: 400, to: 700, cursor: 500 });
        assert.deepEqual(view.windows.a, { from: 400, to: 700 });
        for (const [letter, event] of [["from", 400], ["to", 700]]) assert.equal(view.windows.b[letter], await ask(tab, `strata.belongs("a", ${event})`));
        assert.equal(view.cursors.b, await ask(tab, `strata.belongs("a", 500)`));
        assert.equal(await ask(tab, `Math.round(strata.belongs("b", strata.belongs("a", 500)) * 1e6)`), 5e8, "there and back");
        const box = await tab.locator("#timeline-b").boundingBox();
        assert.ok(box);
        await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
        await settle(tab);
        const hovered = await ask(tab, "strata.view()");
        assert.ok(Math.abs(hovered.cursors.a - (await ask(tab, `strata.belongs("b", ${hovered.cursors.b})`))) < 1e-6, "B's cursor moves A's");
        await tab.mouse.wheel(0, -300);
        const zoomed = await until(async () => {
            const now = await ask(tab, "strata.view()");
            return now.windows.a.to - now.windows.a.from < 300 && now;
        }, "the wheel over B zooms A");
        await tab.keyboard.press("l");
        await tab.mouse.wheel(0, -300);
        const alone = await until(async () => {
            const now = await ask(tab, "strata.view()");
            return now.windows.b.to - now.windows.b.from < zoomed.windows.b.to - zoomed.windows.b.from && now;
        }, "B is closer");
        assert.deepEqual([alone.linked, alone.windows.a], [false, zoomed.windows.a], "unlinked, A stays");
    });
});

test("peaks lie below each other when aligned by them, on one scale", { skip }, async () => {
    const { page } = pageOf(sample("train"), sample("oom"));
    await withPage(page, async (tab) => {
        const { a, b } = await ask(tab, "strata.summary()");
        const view = await setView(tab, { align: "peak" });
        assert.equal(a.peak_event - view.windows.a.from, b.peak_event - view.windows.b.from);
        assert.equal(view.windows.a.to - view.windows.a.from, view.windows.b.to - view.windows.b.from);
        assert.ok(view.top > Math.max(a.peak_bytes, b.peak_bytes, a.reserved_peak, b.reserved_peak));
    });
});

test("A, B and their difference can be shown alone", { skip }, async () => {
    const { page } = pageOf(sample("train"), sample("train"));
    await withPage(page, async (tab) => {
        const seen = async () => Promise.all(["#timeline-a", "#timeline-b", "#timeline-difference"].map((one) => tab.locator(one).isVisible()));
        assert.deepEqual(await seen(), [true, true, false]);
        for (const wanted of [[true, false, false], [false, true, false], [false, false, true], [true, true, false]]) {
            await tab.keyboard.press("v");
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
        assert.ok((await ask(tab, "strata.compare()")).every((/** @type {any} */ row) => row.delta_bytes === 0));
    });
});

test("a filter takes out in both", { skip }, async () => {
    const [a, b] = [sample("leak_zero_grad"), sample("train")];
    const { page } = pageOf(a, b);
    const { page: filtered, document } = pageOf(a, b, "--filter", "attention");
    const wanted = byName(document.sites.map((/** @type {any} */ row) => ({ ...row, name: row.site })));
    await withPage(filtered, async (tab) => assert.deepEqual(byName(await ask(tab, "strata.compare()")), wanted));
    await withPage(page, async (tab) => {
        await setView(tab, { filter: "attention" });
        assert.deepEqual(byName(await ask(tab, "strata.compare()")), wanted);
        await setView(tab, { filter: "size:nonsense" });
        assert.equal(await tab.locator("#filter").getAttribute("aria-invalid"), "true");
        await setView(tab, { filter: "" });
        assert.ok(Object.keys(byName(await ask(tab, "strata.compare()"))).length > Object.keys(wanted).length);
    });
});

test("a click holds the cursors and highlights the call site in both", { skip }, async () => {
    const { page } = pageOf(sample("leak_zero_grad"), sample("leak_zero_grad_healthy"));
    await withPage(page, async (tab) => {
        const box = await tab.locator("#timeline-a").boundingBox();
        assert.ok(box);
        await tab.mouse.click(box.x + box.width * 0.9, box.y + box.height - 3);
        await settle(tab);
        const held = await ask(tab, "strata.view()");
        assert.ok(held.focus, "something lies there");
        await tab.mouse.move(box.x + 40, box.y + 40);
        await settle(tab);
        assert.equal((await ask(tab, "strata.view()")).cursors.a, held.cursors.a);
        await tab.keyboard.press("2");
        await settle(tab);
        assert.equal(await tab.locator("#two-sites .focused .row-text").textContent(), held.focus);
        await tab.keyboard.press("Escape");
        await settle(tab);
        assert.equal((await ask(tab, "strata.view()")).focus, null);
    });
});

test("hostile names are text, a small page says what it lacks, redacted ones have no paths", { skip }, async () => {
    await withPage(pageOf(sample("hostile_names"), sample("train")).page, async (tab) => {
        for (const key of ["1", "2", "3", "4"]) {
            await tab.keyboard.press(key);
            await settle(tab);
        }
        assert.equal(await tab.locator("#app script, #app img, #app iframe").count(), 0);
    });
    const most = statSync(pageOf(sample("leak_zero_grad"), sample("train")).page).size - 4096;
    const { page: small, document } = pageOf(sample("leak_zero_grad"), sample("train"), "--max-html-size", `${most}B`);
    await withPage(small, async (tab) => {
        assert.match((await tab.locator("#trust").textContent()) ?? "", /note/);
        assert.deepEqual((await ask(tab, "strata.difference()")).sites, document.sites, "the figures are of the whole recordings");
    });
    const { page: redacted } = pageOf(sample("leak_zero_grad"), sample("train"), "--redact");
    const paths = "JSON.stringify(strata.difference()).includes('/home/')";
    await withPage(redacted, async (tab) => assert.equal(await ask(tab, paths), false));
    assert.ok(!readFileSync(redacted).includes(path.dirname(sample("train"))));
});

test("light and dark, and at any width nothing lies outside of the page", { skip }, async () => {
    const { page } = pageOf(sample("train"), sample("oom"));
    for (const [width, scheme] of /** @type {[number, "light" | "dark"][]} */ ([[1400, "dark"], [1000, "light"], [700, "dark"]]))
        await withPage(page, async (tab) => {
            assert.equal(await ask(tab, "document.documentElement.dataset.theme"), scheme);
            assert.ok(await ask(tab, "document.documentElement.scrollWidth <= innerWidth"), `${width}`);
        }, { viewport: { width, height: 800 }, colorScheme: scheme });
});
