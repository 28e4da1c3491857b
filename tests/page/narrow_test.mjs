// The toolbar from 600 to 1,440 pixels: one line if there is room, otherwise a menu; nothing covers anything else.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, samples, settle, skip, until, withPage, writePage } from "./browser.mjs";

const INPUT = path.join(samples, "oom.pickle");

/** Boxes of the visible controls in an element. @param {import("playwright-core").Page} page @param {string}
 * selector */
function boxes(page, selector) {
    return page.evaluate((selector) => Array.from(document.querySelectorAll(selector)).filter((element) => element.checkVisibility({ contentVisibilityAuto: true })).map((element) => {
        const { left, right, top, bottom } = element.getBoundingClientRect();
        return { name: element.id || element.textContent, left, right, top, bottom };
    }), selector);
}

const PRESSED = ".toolbar button, .toolbar select, .toolbar summary, .toolbar input[type=search], .found:not(:empty)";

/** @param {import("playwright-core").Page} page */
async function checkApart(page) {
    const all = await boxes(page, PRESSED);
    assert.ok(all.length >= 2);
    for (const [i, one] of all.entries())
        for (const other of all.slice(i + 1))
            assert.ok(one.right <= other.left + 1.5 || other.right <= one.left + 1.5 || one.bottom <= other.top + 1.5 || other.bottom <= one.top + 1.5, `${one.name} lies over ${other.name}`);
    const beyond = await page.evaluate(() => Array.from(document.querySelectorAll(".app *")).filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".plot, .offscreen")).map((element) => element.outerHTML.slice(0, 90)));
    assert.deepEqual(beyond, [], "nothing goes beyond the page");
}

describe("toolbar", { skip }, () => {
    test("at 1,440 pixels it is one line, with and without a search", async () => {
        await withPage(writePage(INPUT), async (page) => {
            for (const words of ["", "attention"]) {
                await ask(page, `strata.search(${JSON.stringify(words)})`);
                await settle(page);
                const tops = (await boxes(page, PRESSED)).map(({ top, bottom }) => Math.round((top + bottom) / 2));
                assert.ok(Math.max(...tops) - Math.min(...tops) < 10, `one line: ${tops}`);
                await checkApart(page);
            }
        }, { viewport: { width: 1440, height: 900 } });
    });

    for (const width of [600, 690, 720, 900, 1100, 1300, 1380, 1700])
        test(`nothing overlaps at ${width} pixels`, async () => {
            await withPage(writePage(INPUT), async (page) => {
                await checkApart(page);
                await ask(page, 'strata.search("attention")');
                await settle(page);
                await checkApart(page);
            }, { viewport: { width, height: 800 } });
        });

    test("at 320 pixels nothing makes the page wider than the window", async () => {
        for (const name of ["oom", "one_event"])
            await withPage(writePage(path.join(samples, `${name}.pickle`)), async (page) => {
                for (const hash of ["tab=who", "tab=allocator&map=size", "tab=each&search=attention&only=1", "tab=compare&marks=0"]) {
                    await page.evaluate((text) => void (location.hash = `#${text}`), hash);
                    await until(async () => page.evaluate((tab) => document.getElementById(`tab-${["tree", "each"].includes(tab) ? "who" : tab}`)?.ariaSelected === "true", /tab=(\w+)/.exec(hash)?.[1] ?? ""), `the tab of ${hash}`);
                    await ask(page, "strata.setView({})");
                    await settle(page);
                    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 320, `${name} ${hash}`);
                }
            }, { viewport: { width: 320, height: 900 } });
    });

    test("below 700 pixels a menu has the tools, by key and by finger, and axe finds nothing", async () => {
        await withPage(writePage(INPUT), async (page) => {
            const open = page.locator("#tools-open");
            assert.match(await open.innerText(), /By age · call site/);
            assert.equal(await page.locator("#view-category").isVisible(), false);
            await open.focus();
            await page.keyboard.press("Enter");
            assert.equal(await open.getAttribute("aria-expanded"), "true");
            await page.keyboard.press("Tab");
            assert.equal(await page.evaluate(() => document.activeElement?.id), "map-open", "the first tool is next");
            for (const id of ["view-open", "window-open", "filter-open", "map-open", "save-open"]) assert.ok(await page.locator(`#${id}`).isVisible(), id);
            await checkApart(page);
            await page.locator("#view-open").focus();
            await page.keyboard.press("Enter");
            await page.locator("#view-category").focus();
            await page.keyboard.press("Enter");
            await until(async () => /^Category/.test(await open.innerText()), "the button says the state");
            await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
            const { violations } = /** @type {any} */ (await page.evaluate("axe.run()"));
            assert.deepEqual(violations.map((/** @type {any} */ { id, nodes }) => [id, nodes.map((/** @type {any} */ node) => node.html)]), []);
            await page.keyboard.press("Escape"); // closes the menu in it
            await page.keyboard.press("Escape");
            assert.deepEqual([await open.getAttribute("aria-expanded"), await page.evaluate(() => document.activeElement?.id)], ["false", "tools-open"]);
            await open.tap();
            await page.locator("#view-open").tap();
            await page.locator("#axis-time").tap();
            assert.equal((await ask(page, "strata.view()")).axis, "time");
            await page.locator(".brand").tap();
            assert.equal(await open.getAttribute("aria-expanded"), "false", "a tap elsewhere closes it");
            // Controls in a closed menu are among the commands too.
            await page.keyboard.press("Control+k");
            await page.locator("#palette-words").fill("Copy link");
            assert.match(await page.locator("#palette-list").innerText(), /Copy link/);
        }, { viewport: { width: 620, height: 800 }, hasTouch: true });
    });
});
