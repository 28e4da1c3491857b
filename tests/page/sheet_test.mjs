// Windows of a phone, a tablet and a notebook: the details are a sheet of three heights, the answer needs no scrolling, and the
// memory limit is shown even above the picture.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, samples, settle, skip, strata, folder, run, withPage, writePage } from "./browser.mjs";

const OOM = path.join(samples, "oom.pickle");
const LEAK = path.join(samples, "leak_graph.pickle");

/** @typedef {import("playwright-core").Page} Page */

/** @param {Page} page @param {string} selector */
const boxOf = (page, selector) => page.evaluate((selector) => document.querySelector(selector)?.getBoundingClientRect().toJSON(), selector);

/** The texts on the canvas: draws it again and records every fillText. @param {Page} page */
async function wordsOnPlot(page) {
    await page.evaluate(() => {
        /** @type {any} */ (window).said = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            /** @type {any} */ (window).said.push(text);
            write.call(this, text, x, y);
        };
    });
    await page.locator("#plot").hover({ position: { x: 100, y: 100 } });
    await ask(page, "strata.setView({ from: 2790 })");
    await settle(page);
    return /** @type {string[]} */ (await page.evaluate("said"));
}

describe("the answer above the fold", { skip }, () => {
    for (const [width, height] of [[360, 740], [420, 900], [820, 1180], [900, 400], [1440, 900]])
        test(`${width} by ${height} pixels`, async () => {
            for (const input of [OOM, LEAK])
                await withPage(writePage(input), async (page) => {
                    await settle(page);
                    for (const selector of [".card-title", ":is(.device-bar, .step-bars)", ".do"]) {
                        const box = await boxOf(page, `#panel-why ${selector}`);
                        assert.ok(box && box.height > 0 && box.top > 0 && box.bottom <= height, `${selector} of ${path.basename(input)}: ${JSON.stringify(box)}`);
                    }
                    assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth && scrollY === 0"));
                    const plot = await boxOf(page, "#plot");
                    assert.ok(plot.height >= 250, `the plot is ${plot.height} high`);
                    const timeline = await boxOf(page, "#timeline");
                    assert.ok(timeline.height >= (width < 600 ? 150 : 250), `the timeline is ${timeline.height} high`);
                    if (input !== OOM) return;
                    const words = await wordsOnPlot(page);
                    assert.ok(words.some((text) => /^8\.0 GiB (at most|is all this process can get)/.test(text)), "the limit in the picture");
                    assert.ok(words.includes("GiB"), `the axis: ${words}`);
                }, { viewport: { width, height } });
        });

    test("a log's request, which has a longer text, fits into the window", async () => {
        await withPage(writePage(path.join(samples, "log_error_ranks.log")), async (page) => {
            for (const [width, height] of [[360, 740], [420, 900], [900, 400]]) {
                await page.setViewportSize({ width, height });
                await settle(page);
                assert.ok(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${width} by ${height}`);
            }
        });
    });

    test("a window that ends below the limit points to it", async () => {
        await withPage(writePage(OOM), async (page) => {
            await page.locator("#window-open").click();
            await page.locator("#fit-bytes").click();
            const low = (await wordsOnPlot(page)).find((text) => /is all this process/.test(text)) ?? "";
            assert.match(low, /^(\u25b2 )?8\.0 GiB/);
        });
    });
});

describe("the sheet", { skip }, () => {
    test("has three heights: by tap, by arrows, by drag and by a tab", async () => {
        await withPage(writePage(OOM), async (page) => {
            const height = async () => {
                await settle(page);
                const box = await boxOf(page, "#side");
                return Math.round(box.bottom - box.top);
            };
            const [low, half, full] = [88, 464, 828];
            assert.equal(await height(), half);
            const grip = page.locator("#grip");
            await grip.tap();
            assert.equal(await height(), full);
            await grip.tap();
            assert.equal(await height(), low);
            assert.ok(await page.locator("#minimap").isVisible(), "the overview has room now");
            await page.locator("#tab-who").tap();
            assert.equal(await height(), half);
            assert.equal(await page.locator("#minimap").isVisible(), false);
            await grip.focus();
            for (const [key, wanted] of /** @type {[string, number][]} */ ([["ArrowDown", low], ["ArrowDown", low], ["ArrowUp", half], ["ArrowUp", full]])) {
                await page.keyboard.press(key);
                assert.equal(await height(), wanted, key);
            }
            const { x, y, width } = await boxOf(page, "#grip");
            await page.mouse.move(x + width / 2, y + 20);
            await page.mouse.down();
            await page.mouse.move(x + width / 2, y + 120, { steps: 5 });
            await page.mouse.up();
            assert.equal(await height(), half, "dragged down");
        }, { viewport: { width: 420, height: 900 }, hasTouch: true });
    });

    test("touch targets have 44 pixels", async () => {
        const pair = path.join(folder, "touched.html");
        run(strata, "diff", "-q", "-f", path.join(samples, "train.pickle"), OOM, "-o", pair);
        for (const file of [writePage(OOM), pair])
            for (const width of [420, 820])
                await withPage(file, async (page) => {
                    await settle(page);
                    const small = await page.evaluate(() =>
                        Array.from(document.querySelectorAll(":is(.header, .toolbar, .tabs, .card-actions) :is(button, summary, select, input)"))
                            .filter((element) => element.checkVisibility() && element.getBoundingClientRect().height < 44)
                            .map((element) => element.outerHTML.slice(0, 80)));
                    assert.deepEqual(small, []);
                }, { viewport: { width, height: 1000 }, hasTouch: true });
    });
});
