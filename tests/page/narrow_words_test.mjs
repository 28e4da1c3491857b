// Narrow windows cut nothing off: no sentence without its end, no bar of a single pixel.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { openForm, samples, skip, until, withPage, writePage } from "./browser.mjs";

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
});
