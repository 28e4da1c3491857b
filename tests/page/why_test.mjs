// Cards of findings: each has figures, a picture and buttons that change the view; an OOM and a leak are drawn.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { corpus, plotBox, replay, report, samples, settle, shownTexts, skip, until, withPage, writePage, writeSnapshot } from "./browser.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

/** Records the texts and dots that are drawn on the overlay. @param {import("playwright-core").Page} page */
function record(page) {
    return page.evaluate(() => {
        const seen = { texts: /** @type {string[]} */ ([]), dots: /** @type {number[][]} */ ([]) };
        Object.assign(window, { seen });
        const { fillText, arc } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            if (this.canvas.id === "overlay") seen.texts.push(text);
            fillText.call(this, text, x, y);
        };
        CanvasRenderingContext2D.prototype.arc = function (x, y, radius, from, to, backwards) {
            if (this.canvas.id === "overlay") seen.dots.push([x, y]);
            arc.call(this, x, y, radius, from, to, backwards);
        };
    });
}

describe("cards", { skip }, () => {
    for (const name of ["oom", "leak_two_per_layer", "leak_zero_grad", "private_pools", "held_over", "kept_per_layer", "overflow", "expandable"])
        test(`every card of ${name} has a picture and buttons`, async () => {
            const [{ findings }] = report(sample(name)).devices;
            await withPage(writePage(sample(name)), async (page) => {
                await page.locator("#tab-why").click();
                const cards = page.locator(".card");
                await until(async () => (await cards.count()) === findings.length, "a card for each finding");
                for (let i = 0; i < findings.length; i++) {
                    const card = cards.nth(i);
                    if ((await card.getAttribute("open")) === null) await card.locator("summary").click();
                    const pictures = card.locator(".device-bar, .step-bars, .run-picture");
                    await until(async () => (await pictures.count()) > 0, "the card is filled");
                    assert.equal(await pictures.count(), 1, findings[i].title);
                    const box = await pictures.boundingBox();
                    assert.ok(box && box.width > 200 && box.height >= 20, `${findings[i].title}: the picture can be seen`);
                    assert.ok((await card.locator(".card-actions button").count()) >= 2);
                }
            });
        });

    for (const name of ["log_error_hip", "log_error_ranks", "log_error_mps"])
        test(`the OOM of ${name}: cause and action are the report's`, async () => {
            const log = path.join(samples, `${name}.log`);
            const [{ findings: [{ detail }] }] = report(log).devices;
            await withPage(writePage(log), async (page) => {
                const said = await shownTexts(page, ".card:first-of-type .card-advice, .card:first-of-type .do p:not(.do-head)");
                assert.ok(said.length > 0);
                for (const sentence of said) assert.ok(detail.includes(sentence), `${sentence} is not in: ${detail}`);
            });
        });

    test("the OOM: the request's line, phase and stack; the memory that the process could have", async () => {
        const [{ oom: [oom], oom_details: [{ advice }] }] = report(sample("oom")).devices;
        await withPage(writePage(sample("oom")), async (page) => {
            await record(page);
            const card = page.locator(".card").first();
            const text = await card.innerText();
            assert.match(text, /by loss\.py:19 token_loss in ProfilerStep#5 › forward/);
            assert.match(text, /in use 6\.5 GiB[^]*1\.1 GiB in 18 holes[^]*free on the GPU 384 MiB/);
            // The rest comes from the report, because the page cannot run the model. The verdict itself is in the
            // card's table.
            assert.equal(advice[0].code, "memory_in_use");
            assert.ok(advice.length > 1);
            // The plan's change that suffices is an action of its own, with code.
            for (const { code, text: sentence } of advice.slice(1)) assert.ok(code === "plan" || text.includes(sentence), sentence);
            assert.match(text, /What to do\s+model[^]*checkpoint\(block, x/);
            assert.match(text, /Not enough by itself\s+110\.\d MiB short/);
            const stack = card.getByRole("button", { name: "Stack" });
            await stack.click();
            assert.equal(await stack.getAttribute("aria-expanded"), "true");
            assert.match(await card.locator(".frames").first().innerText(), /loss\.py:19\s+token_loss[^]*main\.py/);
            await stack.click();
            assert.equal(await card.locator(".frames").count(), 0);
            await page.mouse.move(300, 300);
            await settle(page);
            const texts = /** @type {string[]} */ (await page.evaluate("seen.texts"));
            assert.ok(texts.includes("8.0 GiB is all this process can get (reserved + free)"), texts.join("; "));
            assert.equal(oom.device_free_bytes, 384 * 2 ** 20);
        });
    });

    test("a hole that belongs to another stream is large, but not enough", async () => {
        const segment = `"device": 0, "stream": 9, "segment_type": "large", "address": 1 << 40, "total_size": 900 << 20`;
        const blocks = `[{"address": 1 << 40, "size": 36 << 20, "requested_size": 36 << 20, "state": "active_allocated"},
            {"address": (1 << 40) + (36 << 20), "size": 864 << 20, "requested_size": 0, "state": "inactive"}]`;
        const events = `[{"action": "segment_alloc", "addr": 1 << 40, "size": 900 << 20, "stream": 9},
            {"action": "alloc", "addr": 1 << 40, "size": 36 << 20, "stream": 9},
            {"action": "oom", "device_free": 0, "size": 300 << 20, "stream": 0}]`;
        const input = writeSnapshot("other_stream.pickle", `{"segments": [{${segment}, "blocks": ${blocks}}], "device_traces": [${events}]}`);
        await withPage(writePage(input), async (page) => {
            const rows = await shownTexts(page, ".lack tr");
            assert.match(rows[1], /^Largest hole\s+864 MiB\s+\u2715$/);
            assert.match(rows[3], /^All holes \+ free\s+864 MiB\s+\u2713 enough$/);
        });
    });

    test("a leak that is shown has a dot where each step begins", async () => {
        const input = sample("leak_two_per_layer");
        const [{ steps, findings }] = report(input).devices;
        const { live } = replay("--curves", input, 0);
        await withPage(writePage(input), async (page) => {
            await record(page);
            await page.locator("#tab-why").click();
            await page.locator(".card").first().locator(".first-action").click();
            await until(async () => /** @type {any} */ (await page.evaluate("seen.dots.length")) >= steps.length - 1, "dots");
            const box = await plotBox(page);
            const { texts, dots } = /** @type {{texts: string[], dots: number[][]}} */ (await page.evaluate("seen"));
            assert.ok(texts.includes(`+${(findings[0].per.bytes / 2 ** 20).toFixed(1)} MiB in every step`), texts.join("; "));
            const last = dots.slice(-(steps.length - 1));
            // Heights are proportional to the bytes that were live when the steps began, according to the replay.
            const heights = last.map(([, y]) => box.height - y);
            const totals = steps.slice(1).map((/** @type {any} */ { from_event }) => live[from_event]);
            heights.forEach((height, i) => assert.ok(Math.abs(height / heights[0] - totals[i] / totals[0]) < 0.01, `step ${i + 1}: ${heights} of ${totals}`));
        });
    });

    test("the table of a large out-of-memory error stays inside of its card", async (t) => {
        const file = corpus("oom_expandable_4dev.pickle");
        if (!file) return t.skip("STRATA_CORPUS is not set");
        for (const width of [1440, 1000])
            await withPage(writePage(file), async (page) => {
                const table = await page.locator(".lack").first().boundingBox();
                const card = await page.locator(".card").first().boundingBox();
                assert.ok(table && card && table.x + table.width <= card.x + card.width, `${width}: ${table?.width} in ${card?.width}`);
            }, { viewport: { width, height: 900 } });
    });

    test("the checks that found nothing", async () => {
        for (const name of ["train", "one_event", "oom"]) {
            const file = sample(name);
            const { findings, judged } = report(file).devices[0];
            await withPage(writePage(file), async (page) => {
                await page.locator("#tab-why").click();
                const foot = page.locator("#panel-why .why-foot");
                await foot.waitFor();
                assert.equal((await foot.innerText()).startsWith("Nothing found"), findings.length === 0);
                assert.ok((await foot.innerText()).includes(judged.text));
                const told = judged.checks.filter((/** @type {any} */ { state }) => state !== "found");
                assert.deepEqual(
                    await foot.evaluate((list) => Array.from(list.querySelectorAll("li"), (item) => item.textContent)),
                    told.map((/** @type {any} */ { state, text }) => (state === "clear" ? "✓" : "–") + text),
                );
                assert.equal(await foot.locator("li").first().isVisible(), findings.length === 0);
            });
        }
    });
});
