// What a page shows before anybody clicks: the answer, at every size of the window, and that its buttons prove it.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, canvasPixels, hashOf, report, samples, settle, skip, withPage, writePage } from "./browser.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

/** Lowest pixel of what a selector finds first. @param {import("playwright-core").Page} page @param {string} selector */
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
            const failing = steps.findLastIndex((/** @type {any} */ { from_event: from }) => from <= oom.event);
            const { from, to } = await ask(page, "strata.view()");
            assert.equal(from, steps[failing - 1].from_event);
            const [{ width }] = [await canvasPixels(page)];
            assert.ok(((oom.event - steps[failing].from_event) / (to - from)) * width >= 80);
            for (const part of [".do, .do-not", ".card-actions button"]) assert.ok((await bottomOf(page, `[data-finding="0"] :is(${part})`)) <= 900);
            // The whole run has an address of its own.
            await page.keyboard.press("0");
            const whole = await hashOf(page);
            await page.evaluate((hash) => void (location.hash = hash), whole);
            await settle(page);
            assert.ok((await ask(page, "strata.view()")).from <= 0);
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
            // The strip takes a line of its own, so edges move; a fainter picture would have new colours nearly everywhere.
            const after = await canvasPixels(page);
            const colors = new Set(new Uint32Array(before.rgba.buffer, before.rgba.byteOffset));
            const pixels = new Uint32Array(after.rgba.buffer, after.rgba.byteOffset);
            const other = pixels.reduce((sum, color) => sum + (colors.has(color) ? 0 : 1), 0);
            assert.ok(other < pixels.length * 0.1, `${other} of ${pixels.length} pixels have a new colour`);
        });
    });

    test("the bars of a card come to the figure of its title", async () => {
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
