// Rows of the list unfold into their call sites, which add up to the row.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, corpus, each, report, samples, setView, skip, until, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */
/** @typedef {{name: string, bytes: number, count: number, nested: boolean}} Row */

const train = path.join(samples, "train.pickle");

/** Rows in sight. @returns {Promise<Row[]>} */
const rowsOf = (/** @type {Page} */ page) =>
    each(page, "#list > .row:not([hidden])", (row) => {
        const figure = (/** @type {string} */ text) => Number(text.replace(/\D/g, ""));
        return {
            name: row.querySelector(".row-text")?.textContent ?? "",
            bytes: figure(row.querySelector(".bytes")?.getAttribute("title") ?? ""),
            count: figure(row.querySelector(".count")?.textContent ?? ""),
            nested: row.querySelector(".nested") !== null,
        };
    });

const row = (/** @type {Page} */ page, /** @type {string} */ name) => page.locator("#list > .row:not([hidden])", { hasText: name }).first();

/** The rows below an unfolded row. @param {Page} page */
const nested = async (page) => (await rowsOf(page)).filter((each) => each.nested);

const sum = (/** @type {number[]} */ numbers) => numbers.reduce((all, one) => all + one, 0);

describe("rows of the list", { skip }, () => {
    test("file and line of a call site are complete if the side is 440 pixels wide", async () => {
        for (const input of [train, corpus("attention_forward_only.pickle"), corpus("private_pools_empty_trace.pickle")].filter(Boolean))
            await withPage(writePage(input), async (page) => {
                const side = await page.locator("#side").boundingBox();
                assert.ok(side && Math.abs(side.width - 440) < 2, `${side?.width} pixels`);
                const places = await each(page, "#list > .row:not([hidden]) .row-text", (text) => {
                    const place = text.firstElementChild ?? text;
                    return { name: text.textContent ?? "", place: place.textContent ?? "", over: place.getBoundingClientRect().right - text.getBoundingClientRect().right };
                });
                assert.ok(places.length > 5);
                for (const { name, place, over } of places) {
                    assert.equal(place, /^\S+:\d+/.exec(name)?.[0] ?? "", name);
                    assert.ok(over <= 0.5, `${name}: ${over} pixels are cut off`);
                }
            }, { hash: "#tab=who", viewport: { width: 1440, height: 900 } });
    });

    test("a category unfolds into its call sites, by click and by key", async () => {
        const { peak_event: peak } = report(train).devices[0];
        await withPage(writePage(train), async (page) => {
            const alive = /** @type {any[]} */ (await ask(page, ALL)).filter(({ birth, death, category }) => birth <= peak && death > peak && category === "activation");
            /** @type {Map<string, number>} */
            const wanted = new Map();
            for (const { bytes, stack } of alive) {
                const own = stack.find((/** @type {any} */ { file }) => file.startsWith("/home/user/train"));
                const name = own ? `${path.basename(own.file)}:${own.line} ${own.name}` : "";
                wanted.set(name, (wanted.get(name) ?? 0) + bytes);
            }
            const before = await rowsOf(page);
            assert.ok(before.length > 3 && before.every((each) => !each.nested));
            await row(page, "activation").click();
            const sites = await until(async () => {
                const found = await nested(page);
                return found.length > 3 && found;
            }, "its call sites");
            const group = /** @type {Row} */ (before.find(({ name }) => name === "activation"));
            assert.deepEqual([sum(sites.map(({ bytes }) => bytes)), sum(sites.map(({ count }) => count))], [group.bytes, group.count]);
            for (const { name, bytes } of sites.filter((each) => /\.py:\d+ /.test(each.name))) assert.equal(bytes, wanted.get(name), name);
            assert.equal(await row(page, "activation").getAttribute("aria-expanded"), "true");
            // A second click folds it; the arrow keys do the same.
            await row(page, "activation").click();
            await until(async () => (await nested(page)).length === 0, "none");
            assert.deepEqual(await rowsOf(page), before);
            await page.locator("#list-scroll").focus();
            await page.keyboard.press("Home");
            await page.keyboard.press("ArrowRight");
            await until(async () => (await nested(page)).length > 0, "those of the first");
            await page.keyboard.press("ArrowLeft");
            await until(async () => (await nested(page)).length === 0, "none");
        }, { hash: "#tab=who&group=category" });
    });

    test("memory that a range keeps and a later step frees is marked in the call sites too", async () => {
        const input = path.join(samples, "leak_two_per_layer.pickle");
        const [{ steps }] = report(input).devices;
        const [from, to] = [steps[2].from_event, steps[2].to_event + 1];
        await withPage(writePage(input), async (page) => {
            await setView(page, { range: { from, to } });
            await page.locator("#range-kept").click();
            await until(async () => /is never freed$/.test(await page.locator("#list-total").innerText()), "what is kept");
            await row(page, ".py").click();
            const sites = await until(async () => {
                const found = await nested(page);
                return found.length > 0 && found;
            }, "call sites");
            const all = /** @type {any[]} */ (await ask(page, ALL)).filter(({ birth, death }) => birth >= from && birth < to && death >= to);
            for (const { name, bytes } of sites) {
                const [, file, line] = /** @type {RegExpExecArray} */ (/^(\S+):(\d+) /.exec(name));
                const here = all.filter(({ stack }) => {
                    const own = stack.find((/** @type {any} */ each) => each.file.startsWith("/home/user/train"));
                    return own?.file.endsWith(file) && own.line === Number(line);
                });
                assert.equal(sum(here.map((each) => each.bytes)), bytes, name);
                const { events } = report(input).devices[0];
                assert.equal(/freed later/.test(name), here.every(({ death }) => death < events), name);
            }
        }, { hash: "#tab=who&group=file" });
    });
});
