// The list for a selected range: allocations made in it, freed in it, kept at its end, or alive through all of it.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, downloaded, hashOf, reload, replay, report, run, samples, settle, setView, skip, until, withPage, writePage, tool } from "./browser.mjs";
import { recording } from "./simulated.mjs";

const QUESTIONS = ["allocated", "freed", "kept", "through", "peak"];

/** The control's answer for a range. */
function control(/** @type {string} */ input, /** @type {number} */ device, /** @type {number} */ from, /** @type {number} */ to) {
    return replay("--range", input, device, from, to);
}

/** A list's rows saved as a table, without its head. @param {import("playwright-core").Page} page */
async function savedRows(page) {
    const [download] = await Promise.all([page.waitForEvent("download"), tool(page, "#list-save")]);
    const lines = (await downloaded(download)).toString().trim().split("\r\n");
    // Figures follow the name, which may contain commas.
    return { head: lines[0], rows: lines.slice(1).map((line) => line.replace(/^("(?:[^"]|"")*"|[^,]*),/, "").split(",").map(Number)) };
}

const sum = (/** @type {number[]} */ numbers) => numbers.reduce((all, one) => all + one, 0);

describe("questions of a range", { skip }, () => {
    for (const [input, device] of /** @type {[string, number][]} */ ([[path.join(samples, "train.pickle"), 0], [path.join(samples, "leak_two_per_layer.pickle"), 0], ["", 1]]))
        test(`${path.basename(input || "simulated")}, device ${device}: sums and rows are the replay's`, async () => {
            const file = input || recording;
            const { events } = report(file).devices.find((/** @type {any} */ one) => one.device === device);
            const range = { from: Math.floor(events * 0.35), to: Math.floor(events * 0.6) };
            const wanted = control(file, device, range.from, range.to);
            for (const what of QUESTIONS) assert.ok(wanted[what].count > 0, `${what} has an answer`);
            await withPage(writePage(file), async (page) => {
                await setView(page, { device });
                for (const what of QUESTIONS)
                    for (const by of ["stack", "site", "file", "category", "stream", "pool"]) {
                        const rows = /** @type {any[]} */ (await ask(page, `strata.groups({ from: ${range.from}, to: ${range.to}, what: "${what}", by: "${by}" })`));
                        assert.equal(sum(rows.map(({ bytes }) => bytes)), wanted[what].bytes, `${what} by ${by}`);
                        assert.equal(sum(rows.map(({ count }) => count)), wanted[what].count, `${what} by ${by}`);
                        if (by === "stack") assert.deepEqual(rows.map(({ bytes }) => bytes), wanted[what].stacks.map((/** @type {number[]} */ [bytes]) => bytes), what);
                    }
                await setView(page, { range });
                await page.keyboard.press("3");
                for (const what of QUESTIONS) {
                    await page.locator(`#range-${what}`).click();
                    await settle(page);
                    const { head, rows } = await savedRows(page);
                    assert.match(head, /bytes,count/);
                    assert.deepEqual([sum(rows.map(([bytes]) => bytes)), sum(rows.map(([, count]) => count))], [wanted[what].bytes, wanted[what].count], `${what}: the table`);
                    if (what === "kept") assert.equal(sum(rows.map(([, , never]) => never)), wanted.lasting.bytes, "what is never freed");
                }
            });
        });

    test("the other axis keeps it", async () => {
        const input = path.join(samples, "train.pickle");
        const times = JSON.parse(run("python3", "-c", 'import json, pickle, sys\nprint(json.dumps([e["time_us"] for e in pickle.load(open(sys.argv[1], "rb"))["device_traces"][0]]))', input).toString());
        await withPage(writePage(input), async (page) => {
            // A range in seconds cannot begin or end between events of the same time.
            const edge = (/** @type {number} */ event) => times.findIndex((/** @type {number} */ time, /** @type {number} */ i) => i >= event && time > times[i - 1] && times[i + 1] === time);
            const range = { from: edge(700), to: edge(1600) };
            await setView(page, { range });
            await page.keyboard.press("3");
            await page.locator("#range-freed").click();
            await settle(page);
            const total = await page.locator("#list-total").innerText();
            await page.keyboard.press("t");
            const [from, to] = (await until(async () => /axis=time.*range=([^&]*)/.exec(await hashOf(page))?.[1], "the range in the address")).split("_").map(Number);
            assert.deepEqual([from, to], [times[range.from] - times[0], times[range.to] - times[0]]);
            assert.deepEqual((await ask(page, "strata.view()")).range, range);
            assert.equal(await page.locator("#list-total").innerText(), total, "the list still speaks of it");
            await page.keyboard.press("t");
            await until(async () => (await hashOf(page)).includes(`range=${range.from}_${range.to}`), "the range in events");
            assert.deepEqual((await ask(page, "strata.view()")).range, range);
        });
    });

    test("by keys, in the address, and rows that a later step frees are dimmed", async () => {
        const input = path.join(samples, "leak_two_per_layer.pickle");
        const [{ steps }] = report(input).devices;
        const range = { from: steps[2].from_event, to: steps[2].to_event + 1 };
        const wanted = control(input, 0, range.from, range.to);
        await withPage(writePage(input), async (page) => {
            await setView(page, { range });
            await page.keyboard.press("3");
            await settle(page);
            assert.equal(await page.locator("#range-allocated").getAttribute("aria-pressed"), "true");
            for (const what of ["freed", "kept"]) {
                await page.keyboard.press("q");
                await until(async () => new RegExp(`of=${what}`).test(await hashOf(page)), what);
            }
            const total = (await page.locator("#list-total").innerText()).replace(/\u00a0/g, " ");
            assert.match(total, new RegExp(` kept in ${wanted.kept.count} allocations .* is never freed$`));
            for (const row of await page.locator("#list > .row:not([hidden])").all()) {
                const [text, dimmed] = [await row.innerText(), await row.evaluate((one) => one.classList.contains("freed-later"))];
                assert.equal(/freed later/.test(text), dimmed, text);
                if (/probe\.py/.test(text)) assert.equal(dimmed, false, "the leak stays");
                if (/data\.py/.test(text)) assert.equal(dimmed, true, "the next batch takes its place");
            }
            await reload(page);
            assert.equal(await page.locator("#range-kept").getAttribute("aria-pressed"), "true");
        });
    });
});
