// Save PNG contains everything that is shown: the rows of all devices, and the map if it is open.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { cropPng, decodePng } from "../png.mjs";
import { ask, colorsOf, samples, setView, settle, skip, until, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** @param {Page} page @param {number} [scale] @param {boolean} [names] */
async function pictureOf(page, scale = 1, names = false) {
    const { url, ...places } = await ask(page, `strata.picture({ scale: ${scale}, names: ${names} })`);
    const png = decodePng(Buffer.from(url.slice(url.indexOf(",") + 1), "base64"));
    return { png, ...places, crop: (/** @type {any} */ { x, y, width, height }) => cropPng(png, x, y, width, height) };
}

/** Pixels of a canvas of the page. @param {Page} page @param {string} canvas */
async function shownPixels(page, canvas) {
    const text = await page.locator(canvas).first().evaluate((one) => {
        const { width, height } = /** @type {HTMLCanvasElement} */ (one);
        const data = /** @type {CanvasRenderingContext2D} */ (/** @type {HTMLCanvasElement} */ (one).getContext("2d")).getImageData(0, 0, width, height).data;
        return btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join(""));
    });
    return new Uint8Array(Buffer.from(text, "base64"));
}

describe("Save PNG", { skip }, () => {
    test("all devices: each row as the page shows it", async () => {
        await withPage(writePage(path.join(samples, "two_devices.pickle")), async (page) => {
            await settle(page);
            for (const window of [{}, { from: 400, to: 1400 }]) {
                await setView(page, window);
                const { rows, plot, crop } = await pictureOf(page);
                assert.deepEqual(rows.map((/** @type {any} */ { device }) => device), [0, 1]);
                assert.deepEqual(rows[1], plot, "the device in hand is the second");
                for (const [row, canvas] of [[rows[0], "canvas.pane-pixels"], [rows[1], "#timeline"]]) {
                    const saved = crop(row);
                    assert.ok(colorsOf(saved) > 6, "the picture is not empty");
                    assert.deepEqual(Buffer.from(saved), Buffer.from(await shownPixels(page, canvas)), canvas);
                }
            }
            const [once, twice] = [await pictureOf(page), await pictureOf(page, 2)];
            assert.deepEqual([twice.png.width, twice.png.height], [2 * once.png.width, 2 * once.png.height]);
            // Selections and marks are drawn over every row.
            const before = Buffer.from(once.crop(once.rows[0]));
            await setView(page, { range: { from: 500, to: 700 } });
            const ranged = await pictureOf(page);
            assert.notDeepEqual(Buffer.from(ranged.crop(ranged.rows[0])), before);
        }, { hash: "#device=1&all=1" });
    });

    test("the open map is in it, at its moment", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const closed = await pictureOf(page);
            assert.equal(closed.map, null);
            await page.keyboard.press("g");
            await until(() => page.locator("#map").isVisible(), "the map");
            // The map may change until the replay has found the sizes of blocks.
            await until(async () => !/being looked up/.test(await page.locator("#map-note").innerText()), "the replay");
            await settle(page);
            const { map, crop } = await pictureOf(page);
            const saved = crop(map);
            assert.ok(colorsOf(saved) > 6);
            assert.deepEqual(Buffer.from(saved), Buffer.from(await shownPixels(page, "#map-picture")));
            // Afterwards the page's own map is as it was.
            const again = await pictureOf(page, 2);
            assert.equal(again.map.width, 2 * map.width);
            await settle(page);
            assert.deepEqual(Buffer.from(await shownPixels(page, "#map-picture")), Buffer.from(saved));
        });
    });
});
