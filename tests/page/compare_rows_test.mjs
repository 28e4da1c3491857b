// Rows of a comparison: each has its curve over the run, and the call sites below a category add up to it.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, each, report, resize, rest, samples, settle, skip, texts, until, withPage, writePage, openForm } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {{name: string, a: number, b: number, delta: number, nested: boolean}} Row */

/** The rows in sight, with the bytes in their titles. @returns {Promise<Row[]>} */
const rowsOf = (/** @type {Page} */ page) =>
    each(page, "#compare-rows > .row:not([hidden])", (row) => {
        const bytes = (/** @type {string} */ cell) => Number((row.querySelector(cell)?.getAttribute("title") ?? "").replace(/\u2212/g, "-").replace(/[^\d-]/g, ""));
        return { name: row.querySelector(".row-text")?.textContent ?? "", a: bytes(".a"), b: bytes(".b"), delta: bytes(".delta"), nested: row.querySelector(".nested") !== null };
    });

/** All rows; scrolls the list to show each. */
async function allRows(/** @type {Page} */ page) {
    await resize(page, 1440, 2400);
    return rowsOf(page);
}

const row = (/** @type {Page} */ page, /** @type {string} */ name) => page.locator("#compare-rows > .row:not([hidden])", { hasText: name }).first();

/** {key: live bytes after an event}; `of` gives the key of an allocation. */
function aliveBy(/** @type {any[]} */ all, /** @type {number} */ at, /** @type {(one: any) => string} */ of) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const one of all) if (one.birth <= at && one.death > at) sums.set(of(one), (sums.get(of(one)) ?? 0) + one.bytes);
    return sums;
}

describe("rows of a comparison", { skip }, () => {
    test("a category unfolds into its call sites, by click and by key", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await until(async () => (await rowsOf(page)).length > 2, "rows");
            const all = /** @type {any[]} */ (await ask(page, ALL));
            const [before, after] = [700, 1600].map((at) => aliveBy(all, at, ({ category }) => category));
            const categories = await rowsOf(page);
            for (const { name, a, b } of categories) assert.deepEqual([a, b], [before.get(name) ?? 0, after.get(name) ?? 0], name);
            // Sites of the activations alone, counted from the allocations one by one.
            const { name: chosen, a, b, delta } = /** @type {Row} */ (categories.find(({ name }) => name === "activation"));
            await row(page, chosen).click();
            await until(async () => (await rowsOf(page)).some(({ nested }) => nested), "call sites");
            const sites = (await allRows(page)).filter(({ nested }) => nested);
            assert.equal(sites.reduce((sum, each) => sum + each.a, 0), a);
            assert.equal(sites.reduce((sum, each) => sum + each.b, 0), b);
            assert.equal(sites.reduce((sum, each) => sum + each.delta, 0), delta);
            assert.ok(sites.length > 3);
            const lines = aliveBy(all.filter(({ category }) => category === chosen), 1600, ({ stack }) => {
                const own = stack.find((/** @type {any} */ { file }) => file.startsWith("/home/user/train"));
                return own ? `${path.basename(own.file)}:${own.line} ${own.name}` : "";
            });
            for (const { name, b: bytes } of sites.filter((each) => /\.py:\d+ /.test(each.name))) assert.equal(bytes, lines.get(name) ?? 0, name);
            assert.equal(await row(page, chosen).getAttribute("aria-expanded"), "true");
            // A second click folds it; the arrow keys do the same.
            await row(page, chosen).click();
            await until(async () => (await rowsOf(page)).every(({ nested }) => !nested), "none");
            await page.locator("#compare-rows-scroll").focus();
            await page.keyboard.press("Home");
            await page.keyboard.press("ArrowRight");
            await until(async () => (await rowsOf(page)).some(({ nested }) => nested), "call sites");
            await page.keyboard.press("ArrowLeft");
            await until(async () => (await rowsOf(page)).every(({ nested }) => !nested), "none");
        }, { hash: "#tab=compare&by=category&a=e700&b=e1600" });
    });

    test("a script's comparison and tree leave those of the page as they are", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await until(async () => (await rowsOf(page)).length > 2, "rows");
            const before = await rowsOf(page);
            await ask(page, 'strata.compare({ a: { at: 10 }, b: { at: "peak" }, by: "file" })');
            await row(page, before[1].name).click();
            await settle(page);
            assert.deepEqual((await rowsOf(page)).slice(0, 2), before.slice(0, 2));
            await openForm(page, "tree");
            const names = () => texts(page, "#tree-rows > .row:not([hidden]) .row-text");
            await until(async () => (await names()).length > 3, "the tree");
            await rest(page);
            const [first, ...others] = await names();
            await ask(page, 'strata.tree({ at: 10, direction: "callers" })');
            await page.locator("#tree-rows > .row:not([hidden])").first().click();
            await until(async () => (await names()).length === 1 || (await names())[1] !== others[0], "it is folded");
            assert.equal((await names())[0], first);
            await page.locator("#tree-rows > .row:not([hidden])").first().click();
            await until(async () => (await names())[1] === others[0], "it is open again");
            await rest(page);
            const again = await names();
            // A highlighted row adds a button above, which may take the room of the last row.
            assert.ok(again.length >= others.length);
            assert.deepEqual(again, [first, ...others].slice(0, again.length));
        }, { hash: "#tab=compare&a=e700&b=e1600" });
    });

    test("each row has its curve, in the colours of A and B within them", async () => {
        await withPage(writePage(path.join(samples, "leak_two_per_layer.pickle")), async (page) => {
            const spark = page.locator("#compare-rows .compare-spark").first();
            await until(async () => (await spark.evaluate((one) => getComputedStyle(one).clipPath)).startsWith("polygon"), "a curve");
            const [from, to] = await spark.evaluate((one) => ["--a-from", "--a-to"].map((name) => parseFloat(getComputedStyle(one).getPropertyValue(name))));
            const { steps, events } = report(path.join(samples, "leak_two_per_layer.pickle")).devices[0];
            const step = steps.filter((/** @type {any} */ { kind }) => kind === "step")[2];
            assert.ok(Math.abs(from - ((step.from_event + 1) / (events + 1)) * 100) < 0.01, `${from} of ${step.from_event}`);
            assert.ok(Math.abs(to - ((step.to_event + 1) / (events + 1)) * 100) < 0.1, `${to} of ${step.to_event}`);
            const image = await spark.evaluate((one) => getComputedStyle(one).backgroundImage);
            assert.equal(image.match(/linear-gradient/g)?.length, 2);
        }, { hash: "#tab=compare&a=s2&b=s5" });
    });
});
