// The first screen: the legend adds up to the cursor's total in every tab and width, the plot stays where it is when a tab is
// chosen, advice is code to copy, and tabs that could only say "nothing here" are not there.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { each, plotBox, replay, report, resize, samples, skip, until, withPage, writePage } from "./browser.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

/** Names and bytes of the legend's entries. @param {import("playwright-core").Page} page */
const entries = (page) =>
    each(page, "#legend .legend-entry", (entry) => ({
        rest: entry.classList.contains("legend-rest"),
        name: entry.querySelector(".legend-name")?.textContent ?? "",
        bytes: Number(/: ([\d,]+) bytes/.exec(entry.querySelector(".legend-name")?.getAttribute("title") ?? "")?.[1].replace(/,/g, "")),
    }));

describe("the first screen", { skip }, () => {
    test("the legend lists who holds the memory, whatever tab and width", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const { event } = report(sample("oom")).devices[0].oom.at(-1);
            const { live } = replay("--curves", sample("oom"), 0);
            for (const [width, height] of [[1440, 900], [820, 1000], [390, 844], [900, 500]]) {
                await resize(page, width, height);
                const listed = await until(async () => (await entries(page)).length > 1 && entries(page), `a legend at ${width}`);
                const named = listed.filter(({ rest }) => !rest);
                assert.ok(named.length >= 1 && named.every(({ bytes }, i) => bytes > 0 && (i === 0 || bytes <= named[i - 1].bytes)), JSON.stringify(listed));
                assert.equal(listed.reduce((sum, { bytes }) => sum + bytes, 0), live[event + 1], `the sum at ${width}`);
                assert.ok(await page.locator("#legend .legend-entry").first().isVisible());
            }
        });
    });

    test("choosing a tab does not move the plot", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const before = await plotBox(page);
            for (const tab of ["plan", "who", "compare", "allocator", "why"]) {
                await page.locator(`#tab-${tab}`).click();
                await until(async () => (await page.locator(`#tab-${tab}`).getAttribute("aria-selected")) === "true", tab);
                assert.deepEqual(await plotBox(page), before, tab);
            }
        });
    });

    test("the last label of the axis stays clear of the window's edge", async () => {
        await withPage(writePage(sample("train")), async (page) => {
            for (const width of [820, 830, 840, 850]) {
                await resize(page, width, 1000);
                const inked = await page.locator("#axes").evaluate((canvas) => {
                    const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
                    const context = /** @type {CanvasRenderingContext2D} */ (/** @type {any} */ (canvas).getContext("2d"));
                    return context.getImageData(width - 3, 0, 3, height).data.some((value) => value !== 0);
                });
                assert.equal(inked, false, `at ${width}`);
            }
        });
    });

    test("what to do is code with a button that copies it", async () => {
        await withPage(writePage(sample("leak_zero_grad")), async (page) => {
            const block = page.locator("#panel-why .code-block").first();
            assert.match(await block.locator("code").innerText(), /zero_grad\(set_to_none=True\)/);
            await block.getByRole("button").click();
            await until(async () => (await block.getByRole("button").innerText()) === "Copied", "the button says so");
        });
    });

    test("tabs, keys and commands that could only say nothing are not there", async () => {
        await withPage(writePage(path.join(samples, "log_error_hip.log")), async (page) => {
            for (const tab of ["plan", "allocator"]) assert.equal(await page.locator(`#tab-${tab}`).isVisible(), false, tab);
            await page.keyboard.press("?");
            const keys = page.locator("#keys-dialog");
            assert.doesNotMatch(await keys.innerText(), /Map of segments|The next device/);
            assert.equal(await keys.evaluate((dialog) => dialog.scrollTop), 0);
        });
    });

    test("Escape closes the stack of a card, and a drag with Shift leaves no ring", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const stack = page.locator("#panel-why [data-action=stack]").first();
            await stack.click();
            assert.ok(await page.locator("#panel-why .frames, #panel-why .frame-site").first().isVisible());
            await page.mouse.move(5, 5);
            await page.keyboard.press("Escape");
            await until(async () => (await stack.getAttribute("aria-expanded")) === "false", "the stack is folded");
            const { x, y, width, height } = await plotBox(page);
            await page.keyboard.down("Shift");
            await page.mouse.move(x + width / 3, y + height / 2);
            await page.mouse.down();
            await page.mouse.move(x + width / 2, y + height / 2, { steps: 4 });
            await page.mouse.up();
            await page.keyboard.up("Shift");
            const ring = () => page.evaluate(() => document.activeElement && getComputedStyle(document.activeElement).outlineStyle);
            assert.equal(await ring(), "none");
            await page.keyboard.press("w");
            assert.equal(await ring(), "solid", "keys show where they act");
        });
    });

    test("on a phone the legend is one line, or what holds a fifth of the peak; a tap opens all of it over the picture", async () => {
        await withPage(writePage(sample("private_pools")), async (page) => {
            const large = (await entries(page)).filter(({ bytes }, _, all) => bytes * 5 >= all.reduce((sum, one) => sum + one.bytes, 0));
            assert.equal(large.length, 2);
            assert.equal((await page.locator("#legend").boundingBox())?.height, 39);
        }, { viewport: { width: 390, height: 844 } });
        await withPage(writePage(sample("oom")), async (page) => {
            const [legend, open] = [page.locator("#legend"), page.locator("#legend-open")];
            const before = await plotBox(page);
            assert.ok(((await legend.boundingBox())?.height ?? 99) <= 20);
            await open.tap();
            assert.ok(((await legend.boundingBox())?.height ?? 0) > 150);
            assert.deepEqual(await plotBox(page), before);
            const listed = await entries(page);
            assert.equal(listed.length, 8);
            await page.keyboard.press("Escape");
            assert.equal(await open.getAttribute("aria-expanded"), "false");
        }, { viewport: { width: 390, height: 844 }, hasTouch: true });
    });
});
