// Narrow windows cut nothing off: no sentence without its end, no bar of a single pixel.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { openForm, resize, rest, samples, skip, until, withPage, writePage } from "./browser.mjs";

describe("words in narrow windows", { skip }, () => {
    test("call sites without room are one entry with their bytes", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            const text = await until(async () => {
                const said = await page.locator("#legend").innerText();
                return / more/.test(said) && said;
            }, "the legend");
            assert.match(text, /\d+ more\s+[\d.]+ GiB\s+\d+ %/);
        }, { viewport: { width: 900, height: 700 } });
    });

    test("a figure and its unit stand in one line", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            await until(() => page.locator("#panel-why .card-facts, #panel-why .do-why").count(), "the cards");
            for (let width = 340; width <= 460; width += 6) {
                await page.setViewportSize({ width, height: 900 });
                const broken = await page.locator("#panel-why").evaluate((panel) => {
                    const found = [];
                    const texts = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
                    for (let text = texts.nextNode(); text; text = texts.nextNode())
                        for (const { index, 0: figure } of (text.textContent ?? "").matchAll(/\d (?:%|[KMG]iB)/g)) {
                            const range = document.createRange();
                            range.setStart(text, index);
                            range.setEnd(text, index + figure.length);
                            if (range.getClientRects().length > 1) found.push(text.textContent);
                        }
                    return found;
                });
                assert.deepEqual(broken, [], `at ${width} pixels`);
            }
        });
    });

    test("the hint below the list is not cut off, and a bar without room is left out", async () => {
        await withPage(writePage(path.join(samples, "private_pools.pickle")), async (page) => {
            await openForm(page, "who");
            const fits = await page.locator(".hint").evaluate((hint) => hint.scrollWidth <= hint.clientWidth && hint.scrollWidth <= (hint.parentElement?.clientWidth ?? 0));
            assert.ok(fits, "the hint is whole");
            assert.equal(await page.locator("#list .bar").first().isVisible(), false);
        }, { viewport: { width: 900, height: 700 } });
        await withPage(writePage(path.join(samples, "private_pools.pickle")), async (page) => {
            await openForm(page, "who");
            assert.equal(await page.locator("#list .bar").first().isVisible(), true);
        });
    });

    test("no name, path, setting or figure is broken inside of a word", async () => {
        for (const name of ["oom", "leak_graph", "streams"])
            await withPage(writePage(path.join(samples, `${name}.pickle`)), async (page) => {
                for (const [width, height] of [[390, 844], [820, 1180], [1440, 900], [1920, 1080]]) {
                    await resize(page, width, height);
                    for (const tab of ["why", "plan", "who", "compare", "allocator"]) {
                        if (!(await page.locator(`#tab-${tab}`).isVisible())) continue;
                        await page.locator(`#tab-${tab}`).click();
                        await rest(page);
                        assert.deepEqual(await brokenWords(page), [], `${name}, ${tab}, ${width}`);
                    }
                }
            });
    });
});

/** Words of the page that a line's end breaks behind a letter or digit. @param {import("playwright-core").Page} page */
const brokenWords = (page) => page.evaluate(() => {
    const broken = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    let before = { top: NaN, last: "" };
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const { textContent: text, parentElement: parent } = node;
        if (!text?.trim() || !parent?.checkVisibility() || parent.closest("script, style, .offscreen")) continue;
        const tops = Array.from(text, (_, i) => {
            range.setStart(node, i);
            range.setEnd(node, i + 1);
            const { top, height, width } = range.getBoundingClientRect();
            return width > 0 ? top + height : NaN;
        });
        // A text may be in several nodes, with places between them where it may be broken.
        const joined = node.previousSibling?.nodeName === "WBR";
        for (const [i, top] of tops.entries()) {
            const [last, above] = i > 0 ? [text[i - 1], tops[i - 1]] : joined ? [before.last, before.top] : ["", NaN];
            if (top - above > 3 && /[^\W_]/.test(last) && /\w/.test(text[i])) broken.push(text.slice(Math.max(0, i - 20), i + 20));
        }
        before = { top: tops[tops.length - 1], last: text[text.length - 1] };
    }
    return broken;
});
