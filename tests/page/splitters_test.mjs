// Splitters between two parts: dragging, arrow keys, reset, and their places in the address.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, hashOf, reload, samples, settle, skip, until, withPage, writePage } from "./browser.mjs";

/** @param {import("playwright-core").Page} page @param {string} id */
async function boxOf(page, id) {
    const box = await page.locator(id).boundingBox();
    assert.ok(box, id);
    return box;
}

/** @param {import("playwright-core").Page} page @param {string} id @param {number} by */
async function drag(page, id, by) {
    const { x, y, width, height } = await boxOf(page, id);
    await page.mouse.move(x + width / 3, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 3, y + height / 2 + by, { steps: 3 });
    await page.mouse.up();
    await settle(page);
}

describe("splitters", { skip }, () => {
    test("the lane grows by mouse and keys, and the address has it", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            const before = await boxOf(page, "#timeline");
            const window = await ask(page, "strata.view()");
            await drag(page, "#split-lanes", -60);
            const grown = await boxOf(page, "#timeline");
            assert.ok(Math.abs(before.height - grown.height - 60) <= 1, `${before.height} to ${grown.height}`);
            assert.deepEqual(await ask(page, "strata.view()"), window, "a drag of the border pans nothing");
            await until(async () => /lane=106/.test(await hashOf(page)), "the lane in the address");
            await page.locator("#split-lanes").focus();
            await page.keyboard.press("ArrowDown");
            await settle(page);
            assert.equal((await boxOf(page, "#timeline")).height, grown.height + 16);
            assert.equal(await page.locator("#split-lanes").getAttribute("aria-valuenow"), "90");
            await until(async () => /lane=90/.test(await hashOf(page)), "the new height");
            await reload(page);
            assert.equal((await boxOf(page, "#timeline")).height, grown.height + 16, "the address has it");
            await page.locator("#split-lanes").focus();
            await page.keyboard.press("Home");
            await settle(page);
            assert.equal((await boxOf(page, "#timeline")).height, before.height);
        });
    });

    test("the map's border, which always leaves room for a timeline", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            await page.keyboard.press("g");
            await settle(page);
            const before = await boxOf(page, "#map");
            await drag(page, "#split-map", 50);
            assert.ok(Math.abs((await boxOf(page, "#map")).height - before.height + 50) <= 1);
            await drag(page, "#split-map", -2000);
            assert.ok((await boxOf(page, "#plot")).height >= 135);
            await page.locator("#split-map").dblclick();
            await settle(page);
            assert.equal((await boxOf(page, "#map")).height, before.height);
        });
    });

    test("without segments there is no lane and no border", async () => {
        await withPage(writePage(path.join(samples, "cpu_train.trace.json.gz")), async (page) => {
            assert.equal(await page.locator("#split-lanes").isVisible(), false);
            assert.equal(await page.locator("#split-map").isVisible(), false);
        });
    });

    test("the plot keeps its width in every tab, and is drawn once at most", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            for (const [key, name] of [["4", "compare"], ["3", "who"], ["4", "compare"], ["3", "who"]]) {
                const [before, had] = [(await ask(page, "strata.stats()")).draws, await boxOf(page, "#timeline")];
                await page.keyboard.press(key);
                await settle(page);
                assert.equal((await boxOf(page, "#timeline")).width, had.width, name);
                assert.ok((await ask(page, "strata.stats()")).draws <= before + 1, name);
            }
        });
    });
});
