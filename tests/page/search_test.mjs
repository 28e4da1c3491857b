// Search: the matches, their places, going from one to the next, showing matches only, and matches as a table.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, downloaded, hashOf, reload, samples, settle, setView, shownTexts, skip, until, withPage, writePage, openForm, tool } from "./browser.mjs";

const train = path.join(samples, "train.pickle");

/** @typedef {import("playwright-core").Page} Page */

/** Types a search and waits for its matches. @param {Page} page @param {string} words */
async function find(page, words) {
    await page.keyboard.press("/");
    await page.locator("#search").fill(words);
    await page.keyboard.press("Enter");
    await until(async () => new RegExp(`search=`).test(await hashOf(page)), "the address");
    await ask(page, `strata.search(${JSON.stringify(words)})`);
    await settle(page);
}

/** The columns of a canvas that have ticks of matches. @param {Page} page @param {string} id @param {number} x @param
 * {number} y @param {number} height */
const ticks = (page, id, x, y, height) =>
    page.evaluate(
        ([id, x, y, height]) => {
            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(String(id)));
            const color = getComputedStyle(document.documentElement).getPropertyValue("--hit").trim();
            const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
            const width = canvas.width - Number(x);
            const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(Number(x), Number(y), width, Number(height));
            /** @type {Set<number>} */ const found = new Set();
            for (let i = 0; i < width * Number(height); i++)
                if (Math.abs(data[4 * i] - r) < 8 && Math.abs(data[4 * i + 1] - g) < 8 && Math.abs(data[4 * i + 2] - b) < 8 && data[4 * i + 3] > 200) found.add(i % width);
            return [...found];
        },
        [id, x, y, height],
    );

describe("search", { skip }, () => {
    test("ticks in timeline and overview mark where matches were allocated", async () => {
        await withPage(writePage(train), async (page) => {
            await find(page, "attention");
            const wanted = await page.evaluate(`(() => {
                const { width } = document.getElementById("timeline");
                const { from, to } = strata.view();
                const made = ${ALL}.filter(({ stack }) => stack.some(({ file }) => file.includes("attention")));
                return [...new Set(made.map(({ birth }) => Math.floor(((birth - from) / (to - from)) * width)))];
            })()`);
            const left = await page.evaluate(() => /** @type {HTMLElement} */ (document.getElementById("timeline")).offsetLeft);
            const top = await page.evaluate(() => /** @type {HTMLElement} */ (document.getElementById("timeline")).offsetTop);
            for (const got of [await ticks(page, "axes", left, top - 5, 3), await ticks(page, "minimap-canvas", 0, 0, 4)]) {
                assert.ok(got.length > 0);
                // Every match has a tick where it was allocated, and no other column has one.
                for (const x of wanted) assert.ok(got.some((at) => Math.abs(at - x) <= 2), `a tick at ${x}`);
                for (const at of got) assert.ok(wanted.some((/** @type {number} */ x) => Math.abs(at - x) <= 2), `nothing at ${at}`);
            }
        });
    });

    test("next begins with the first match, shows its number, and the window follows", async () => {
        await withPage(writePage(train), async (page) => {
            await setView(page, { from: 1400, to: 2000 });
            await find(page, "attention");
            const matches = (await ask(page, ALL)).filter((/** @type {any} */ { stack }) => stack.some((/** @type {any} */ { file }) => file.includes("attention")));
            const births = matches.map((/** @type {any} */ { birth }) => birth);
            await setView(page, { selected: null, from: 1400, to: 2000 });
            await page.locator("#search-next").click();
            await settle(page);
            const selected = await ask(page, "strata.allocation(strata.view().selected)");
            assert.equal(selected.birth, Math.min(...births));
            const { from, to } = await ask(page, "strata.view()");
            assert.ok(from <= selected.birth && selected.birth < to, `${from} to ${to}`);
            for (const [button, place] of /** @type {[string, number][]} */ ([["#search-next", 2], ["#search-next", 3], ["#search-previous", 2]])) {
                await page.locator(button).click();
                await settle(page);
                assert.ok((await page.locator("#found").innerText()).startsWith(`${place} of ${matches.length} `), await page.locator("#found").innerText());
            }
        });
    });

    test("only matches narrows list and sums", async () => {
        await withPage(writePage(train), async (page) => {
            await page.keyboard.press("3");
            const { bytesAtPeak } = await ask(page, 'strata.search("attention")');
            const all = await ask(page, 'strata.groups({ by: "category" })');
            await tool(page, "#search-only");
            await until(async () => /only=1/.test(await hashOf(page)), "the address");
            const some = await ask(page, 'strata.groups({ by: "category" })');
            const sum = (/** @type {{bytes: number}[]} */ groups) => groups.reduce((total, { bytes }) => total + bytes, 0);
            assert.equal(sum(some), bytesAtPeak);
            assert.ok(sum(all) > sum(some));
            await until(async () => Number((await page.locator("#list-total").getAttribute("title"))?.replace(/\D/g, "")) === bytesAtPeak, "the list's total");
            assert.match(await page.locator("#list-total").innerText(), /of 7\.3\sGiB/);
            // The address brings it back.
            await reload(page);
            await until(async () => sum(await ask(page, 'strata.groups({ by: "category" })')) === bytesAtPeak, "the same");
            await tool(page, "#search-only");
            await until(async () => sum(await ask(page, 'strata.groups({ by: "category" })')) === sum(all), "all again");
        });
    });

    test("a plain text finds categories, phases and addresses", async () => {
        await withPage(writePage(train), async (page) => {
            const found = async (/** @type {string} */ words) => (await ask(page, `strata.search(${JSON.stringify(words)})`)).allocations;
            const all = await ask(page, ALL);
            assert.equal(await found("gradient category:gradient"), await found("category:gradient"));
            assert.ok((await found("gradient")) >= all.filter((/** @type {any} */ { category }) => category === "gradient").length);
            // All allocations of a step match the annotation's name.
            assert.equal(await found("ProfilerStep#2"), await found("phase:ProfilerStep#2"));
            assert.ok((await found("ProfilerStep#2")) > 100);
            const address = await page.evaluate(() => window.strata.blocks({ at: "peak" }).blocks.map((block) => /** @type {any} */ (block)).find((block) => block.allocation !== null).address);
            assert.ok((await found(address.replace("0x", ""))) > 0, address);
            assert.ok((await found(address.replace("0x", "").slice(0, 8))) >= (await found(address.replace("0x", ""))));
        });
    });

    test("the table: sorted by each column, with few rows in the document, and as CSV", async () => {
        await withPage(writePage(train), async (page) => {
            await find(page, "attention size:>100M alive:peak");
            await page.keyboard.press("Escape");
            await openForm(page, "each");
            const { allocations } = await ask(page, 'strata.search("attention size:>100M alive:peak")');
            await until(async () => (await page.locator("#panel-each .panel-total").innerText()).startsWith(`${allocations} allocation`), "the count");
            const cells = (/** @type {string} */ name) => shownTexts(page, `#each .each-row:not([hidden]) .each-${name}`);
            assert.equal((await cells("bytes")).length, allocations);
            await page.locator("#panel-each .sort", { hasText: "Made at" }).click();
            await until(async () => /order=birth/.test(await hashOf(page)), "the order");
            const births = (await cells("birth")).map((text) => Number(text.replace(/,/g, "")));
            assert.deepEqual(births, [...births].sort((a, b) => a - b));
            await page.locator("#panel-each .sort", { hasText: "Call site" }).click();
            await settle(page);
            const sites = await cells("site");
            assert.deepEqual(sites, [...sites].sort());
            const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save CSV" }).click()]);
            assert.equal(download.suggestedFilename(), "train.csv");
            const lines = (await downloaded(download)).toString().replace(/^\ufeff/, "").trim().split("\r\n");
            assert.equal(lines.length, allocations + 1);
            assert.match(lines[0], /^allocation,bytes,made_at_event,/);
            const all = await ask(page, ALL);
            for (const line of lines.slice(1)) {
                const [allocation, bytes, birth, , , , stream] = line.split(",").map(Number);
                const wanted = all[allocation];
                assert.deepEqual([bytes, birth, stream], [wanted.bytes, wanted.birth, wanted.stream]);
                assert.ok(bytes > 100 * 2 ** 20 && line.includes("attention.py"));
            }
            // A row pins its allocation.
            await page.locator("#each .each-row").first().click();
            await until(async () => (await ask(page, "strata.view()")).selected !== null, "pinned");
        });
    });
});
