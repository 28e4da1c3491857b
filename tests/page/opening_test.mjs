// Before any click a page shows the answer, in windows of every size, and its buttons prove it.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, canvasPixels, each, hashOf, report, samples, settle, skip, until, withPage, writePage } from "./browser.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

/** The lower edge of the first element that a selector finds. @param {import("playwright-core").Page} page @param
 * {string} selector */
async function bottomOf(page, selector) {
    const box = await page.locator(selector).first().boundingBox();
    assert.ok(box, `${selector} can be seen`);
    return box.y + box.height;
}

describe("the answer opens", { skip }, () => {
    test("an OOM: Why, its last two steps, what to do and the first button above the fold", async () => {
        const [{ steps, oom: [oom] }] = report(sample("oom")).devices;
        const options = { viewport: { width: 1440, height: 900 } };
        await withPage(writePage(sample("oom")), async (page) => {
            assert.equal(await page.locator("#tab-why").getAttribute("aria-selected"), "true");
            // The count of findings is as red as the mark of the request.
            const colorOf = (/** @type {string} */ selector) => page.locator(selector).first().evaluate((element) => getComputedStyle(element).backgroundColor);
            assert.equal(await colorOf("#tab-why .tab-count"), await colorOf("#oom"));
            const failing = steps.findLastIndex((/** @type {any} */ { from_event: from }) => from <= oom.event);
            const { from, to } = await ask(page, "strata.view()");
            assert.equal(from, steps[failing - 1].from_event);
            const [{ width }] = [await canvasPixels(page)];
            assert.ok(((oom.event - steps[failing].from_event) / (to - from)) * width >= 80);
            for (const part of [".do, .do-not", ".card-actions button"]) assert.ok((await bottomOf(page, `[data-finding="0"] :is(${part})`)) <= 900);
            // The whole run has an address of its own.
            await page.keyboard.press("0");
            const whole = await until(async () => !(await hashOf(page)).includes("window=") && (await hashOf(page)), "the address of the whole run");
            await page.evaluate((hash) => void (location.hash = hash), whole);
            await until(async () => (await ask(page, "strata.view()")).from <= 0, "the whole run");
        }, options);
    });

    test("Why wherever something was found, else Who", async () => {
        for (const name of ["train", "expandable", "held_over", "one_event", "kept_per_layer_healthy"]) {
            const found = report(sample(name)).devices[0].findings.length > 0;
            await withPage(writePage(sample(name)), async (page) => {
                assert.equal(await page.locator(`#tab-${found ? "why" : "who"}`).getAttribute("aria-selected"), "true", name);
            });
        }
    });

    test("the request is shown without greying anything", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const before = await canvasPixels(page);
            await page.locator('[data-finding="0"] [data-action="show"]').click();
            await settle(page);
            assert.equal(await ask(page, "strata.lit()"), null);
            // The strip takes a line, so edges move. A fainter picture would have new colours nearly everywhere.
            const after = await canvasPixels(page);
            const colors = new Set(new Uint32Array(before.rgba.buffer, before.rgba.byteOffset));
            const pixels = new Uint32Array(after.rgba.buffer, after.rgba.byteOffset);
            const other = pixels.reduce((sum, color) => sum + (colors.has(color) ? 0 : 1), 0);
            assert.ok(other < pixels.length * 0.1, `${other} of ${pixels.length} pixels have a new colour`);
        });
    });

    test("the bars of a card add up to the figure in its title", async () => {
        for (const name of ["leak_zero_grad", "leak_two_per_layer"]) {
            const [{ findings }] = report(sample(name)).devices;
            await withPage(writePage(sample(name)), async (page) => {
                const bars = page.locator('[data-finding="0"] .step-value');
                await bars.first().waitFor();
                assert.equal(await bars.last().innerText(), `${(findings[0].bytes / 2 ** 20).toFixed(1)} MiB`, name);
                if (findings[0].kind === "gradients_kept") assert.doesNotMatch(await page.locator(".header").innerText(), /a step/);
            });
        }
    });
});

describe("the toolbar and the keys", { skip }, () => {
    for (const [width, most] of [[1440, 9], [1240, 7]])
        test(`at most ${most} controls at ${width} pixels, and a search of 280`, async () => {
            await withPage(writePage(sample("oom")), async (page) => {
                const bar = await page.locator("#toolbar :is(button, select, input, summary):visible").all();
                assert.ok(bar.length <= most, `${bar.length} controls`);
                const { wide, room } = await page.locator("#search").evaluate((input) => {
                    const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
                    context.font = getComputedStyle(input).font;
                    const texts = [/** @type {HTMLInputElement} */ (input).placeholder, "attention size:>100M alive:peak own:yes x"];
                    return { wide: Math.max(...texts.map((text) => context.measureText(text).width)), room: input.clientWidth - 16 };
                });
                assert.ok(room + 16 >= 278 && wide <= room, `${wide} of ${room} pixels`);
            }, { viewport: { width, height: 900 } });
        });

    test("a narrow one has at most 7 controls, and a search of 280 pixels too", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            for (const [width, height] of [[1100, 900], [900, 480], [860, 800], [820, 1180], [420, 860], [360, 740]]) {
                await page.setViewportSize({ width, height });
                await settle(page);
                const { length } = await page.locator("#toolbar :is(button, select, input, summary):visible").all();
                assert.ok(length <= 7, `${length} controls at ${width} pixels`);
                const room = await page.locator("#search").evaluate((input) => input.getBoundingClientRect().width);
                assert.ok(room >= 280, `${room} pixels at ${width}`);
            }
        });
    });

    test("digits move the focus into the panel; e goes to an event, a time, a step", async () => {
        const [{ steps, oom: [oom], peak_event: peak }] = report(sample("oom")).devices;
        await withPage(writePage(sample("oom")), async (page) => {
            for (const [key, id] of [["3", "who"], ["4", "compare"], ["5", "allocator"], ["1", "why"]]) {
                await page.keyboard.press(key);
                await settle(page);
                assert.ok(await page.evaluate((id) => document.getElementById(`panel-${id}`)?.contains(document.activeElement), id), `${key}: ${id}`);
            }
            const goTo = async (/** @type {string} */ key, /** @type {string} */ text, /** @type {string} */ at) => {
                await page.keyboard.press(key);
                await page.keyboard.type(text);
                await page.keyboard.press("Enter");
                await until(async () => (await hashOf(page)).includes(`at=${at}`), `${text}: ${at}`);
            };
            await goTo("e", "2737", "2737");
            await goTo("/", "event 1,200", "1200");
            await goTo("e", "peak", "peak");
            await goTo("e", "oom", String(oom.event));
            assert.ok(peak !== oom.event);
            await goTo("e", "step 4", String(steps[4].peak_event));
            const { from, to } = await ask(page, "strata.view()");
            assert.deepEqual([from, to], [steps[4].from_event, steps[4].to_event + 1]);
            await page.keyboard.press("9");
            assert.equal((await ask(page, "strata.view()")).from, steps[4].from_event);
        });
    });
});

describe("words and colours", { skip }, () => {
    const OLD = /asked for|held over|pinned by|Nothing pinned|Nearly out of memory|Cache churn|before trusting|\bGo$/;

    test("no old word in any tab", async () => {
        for (const name of ["oom", "leak_zero_grad"])
            await withPage(writePage(sample(name)), async (page) => {
                for (const tab of ["who", "tree", "each", "compare", "allocator"]) {
                    await page.evaluate((to) => void (location.hash = `#tab=${to}`), tab);
                    await settle(page);
                    for (const text of await each(page, "#app :is(button, h2, th, summary, option, p)", (element) => (element.checkVisibility() ? element.innerText : "")))
                        assert.doesNotMatch(text, OLD, tab);
                }
            });
    });

    for (const colorScheme of /** @type {const} */ (["light", "dark"]))
        test(`the 12 largest call sites have 12 colours, ${colorScheme}`, async () => {
            for (const name of ["oom", "train", "leak_two_per_layer"])
                await withPage(writePage(sample(name)), async (page) => {
                    const colors = await page.evaluate(() => Array.from(document.querySelectorAll("#list > .row:not([hidden]) .swatch"), (swatch) => getComputedStyle(swatch).background));
                    const first = colors.slice(0, 12);
                    assert.ok(first.length >= 8 && new Set(first).size === first.length, `${name}: ${new Set(first).size} of ${first.length}`);
                }, { colorScheme, hash: "#tab=who" });
        });
});
