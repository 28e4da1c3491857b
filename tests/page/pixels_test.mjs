// The page draws what the PNG draws.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { cropPng, decodePng } from "../png.mjs";
import { ask, canvasPixels, colorsOf, folder, headroom, replay, report, run, setView, settle, skip, strata, withPage, writePage } from "./browser.mjs";
import { recording } from "./simulated.mjs";

/** The plot area of a PNG whose plot has the given size. A first picture gives the margins. */
function plotOfSize(/** @type {number} */ width, /** @type {number} */ height, /** @type {(string | number)[]} */ ...flags) {
    let [wholeWidth, wholeHeight] = [width + 200, height + 200];
    for (let attempt = 0; attempt < 6; attempt++) {
        const file = path.join(folder, "plot.png");
        run(strata, "png", "-q", "-f", "--no-names", ...flags, "--width", wholeWidth, "--height", wholeHeight, recording, "-o", file);
        const png = decodePng(readFileSync(file));
        assert.deepEqual([png.width, png.height], [wholeWidth, wholeHeight]);
        const [x, y, plotWidth, plotHeight] = png.text["strata:plot"].split(" ").map(Number);
        if (plotWidth === width && plotHeight === height) return cropPng(png, x, y, width, height);
        wholeWidth += width - plotWidth;
        wholeHeight += height - plotHeight;
    }
    throw new Error(`no PNG has a plot of ${width}x${height}`);
}

/** @param {Uint8Array} wanted @param {Uint8Array} got @param {number} width */
function assertSamePixels(wanted, got, width) {
    assert.equal(got.length, wanted.length);
    const different = [];
    for (let i = 0; i < wanted.length; i += 4) {
        if (wanted[i] !== got[i] || wanted[i + 1] !== got[i + 1] || wanted[i + 2] !== got[i + 2] || wanted[i + 3] !== got[i + 3])
            different.push(i / 4);
    }
    const first = different.slice(0, 5).map((pixel) => {
        const at = pixel * 4;
        return `(${pixel % width}, ${Math.floor(pixel / width)}): ${wanted.subarray(at, at + 4)} in the PNG, ${got.subarray(at, at + 4)}`;
    });
    assert.equal(different.length, 0, `${different.length} of ${wanted.length / 4} pixels differ: ${first.join("; ")}`);
}

/** Columns of pixels that differ from the one to their left. @param {{width: number, height: number, rgba: Uint8Array}} image */
function changedColumns({ width, height, rgba }) {
    const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height);
    let changed = 0;
    for (let x = 1; x < width; x++) {
        let y = 0;
        while (y < height && pixels[y * width + x] === pixels[y * width + x - 1]) y++;
        if (y < height) changed++;
    }
    return changed;
}

/**
 * A window of `nEvents` events that has frees, and whose y axis in the PNG (which is fitted to the window) is one that
 * the page can show. Of those the one nearest to the middle of the run.
 */
function windowOf(/** @type {number} */ ordinal, /** @type {number} */ nEvents) {
    const { live, reserved } = replay("--curves", recording, ordinal);
    const highest = (/** @type {number} */ from, /** @type {number} */ to) =>
        Math.max(...live.slice(from + 1, to + 1), ...reserved.slice(from + 1, to + 1));
    const frees = (/** @type {number} */ from) =>
        live.slice(from + 1, from + nEvents + 1).filter((/** @type {number} */ bytes, /** @type {number} */ i) => bytes < live[from + i]).length;
    const middle = Math.floor((live.length - nEvents) / 2);
    const device = report(recording).devices.find((/** @type {{device: number}} */ one) => one.device === ordinal);
    const ooms = device.oom.map((/** @type {{event: number}} */ { event }) => event);
    for (let distance = 0; distance < middle; distance++) {
        for (const from of [middle - distance, middle + distance]) {
            const most = highest(from, from + nEvents);
            const top = most + Math.floor(most / 24);
            // The PNG reserves room for a request that failed at the end of the window.
            const failed = ooms.some((/** @type {number} */ event) => event >= from + nEvents * 0.97 - 1 && event < from + nEvents);
            if (!failed && top < headroom(ordinal, recording) && frees(from) > nEvents / 5) return { from, to: from + nEvents, top };
        }
    }
    throw new Error("the recording has no such window");
}

describe("page and PNG show the same pixels", { skip }, () => {
    for (const theme of ["light", "dark"]) {
        test(`whole run, ${theme}`, async () => {
            await withPage(writePage(recording, "--theme", theme), async (page) => {
                await page.keyboard.press("0"); // a page with an out-of-memory event opens on its last two steps
                await settle(page);
                const canvas = await canvasPixels(page);
                const { device } = await ask(page, "strata.view()");
                const wanted = plotOfSize(canvas.width, canvas.height, "--theme", theme, "-d", device);
                assert.ok(colorsOf(wanted) > 10, "the picture is not empty");
                assertSamePixels(wanted, canvas.rgba, canvas.width);
            });
        });

        for (const nEvents of [400, 10]) {
            test(`${nEvents} events, ${theme}`, async () => {
                const { device } = report(recording).devices[0];
                const { from, to } = windowOf(device, nEvents);
                await withPage(writePage(recording, "--theme", theme), async (page) => {
                    const view = await setView(page, { device, from, to });
                    assert.deepEqual([view.device, view.from, view.to], [device, from, to]);
                    await page.keyboard.press("v"); // fits the height to the window, as the PNG does
                    await settle(page);
                    const canvas = await canvasPixels(page);
                    const flags = ["--theme", theme, "-d", device, "--from", from, "--to", to];
                    const wanted = plotOfSize(canvas.width, canvas.height, ...flags);
                    assert.ok(colorsOf(wanted) > 10, "the picture is not empty");
                    assertSamePixels(wanted, canvas.rgba, canvas.width);
                    // Steps alone would change one column for each event; the bend after a free changes many.
                    if (nEvents === 10) assert.ok(changedColumns(canvas) > 3 * nEvents, "bends are drawn");
                });
            });
        }
    }
});
