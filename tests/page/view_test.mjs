// `strata png --view ADDRESS` draws what the page shows under that address.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { cropPng, decodePng } from "../png.mjs";
import { canvasPixels, colorsOf, folder, recording, run, samples, settle, skip, strata, until, withPage, writePage } from "./browser.mjs";

/** The plot area of the command line's PNG whose plot has the given size. */
function plotOf(/** @type {string} */ input, /** @type {number} */ width, /** @type {number} */ height, /** @type {string} */ address) {
    let [wholeWidth, wholeHeight] = [width + 200, height + 200];
    for (let attempt = 0; attempt < 6; attempt++) {
        const file = path.join(folder, "view.png");
        run(strata, "png", "-q", "-f", "--no-names", "--view", address, "--width", wholeWidth, "--height", wholeHeight, input, "-o", file);
        const png = decodePng(readFileSync(file));
        const [x, y, plotWidth, plotHeight] = png.text["strata:plot"].split(" ").map(Number);
        if (plotWidth === width && plotHeight === height) return cropPng(png, x, y, width, height);
        wholeWidth += width - plotWidth;
        wholeHeight += height - plotHeight;
    }
    throw new Error(`no PNG has a plot of ${width}x${height}`);
}

const ADDRESSES = [
    "#device=0", "#device=1&theme=dark", "#device=0&window=200.25_500.5", "#device=0&window=200_200.5", "#device=0&axis=time&window=1000_9000",
    "#device=0&color=category&search=attention&theme=dark", "#device=0&search=size%3A%3E1M+alive%3Apeak&window=100_700",
    "#device=0&filter=size%3A%3C%3D100K", "#device=0&window=300_600&bytes=10000000_40000000&color=size", "#device=0&color=age&window=-5_99999",
    "#tab=tree&tree=callers&device=0&unknown=1&window=nonsense&color=pool",
]; // prettier-ignore

describe("an address as a picture", { skip }, () => {
    for (const address of ADDRESSES)
        test(address, async () => {
            await withPage(
                writePage(recording),
                async (page) => {
                    const search = new URLSearchParams(address.slice(1)).get("search");
                    if (search) await until(async () => (await page.locator("#found").innerText()).includes("allocation"), "the search");
                    await settle(page);
                    const canvas = await canvasPixels(page);
                    const picture = plotOf(recording, canvas.width, canvas.height, address);
                    assert.ok(colorsOf(picture) > 6, "the picture is not empty");
                    const [got, wanted] = [canvas.rgba, picture].map((rgba) => new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4));
                    const different = got.reduce((count, pixel, i) => count + (pixel === wanted[i] ? 0 : 1), 0);
                    assert.equal(different, 0, `${different} of ${got.length} pixels differ`);
                },
                { hash: address },
            );
        });

    test("words that nobody understands are refused", () => {
        const file = path.join(folder, "wrong.png");
        assert.throws(() => run(strata, "png", "-f", "--view", "#search=size:%3Ex", path.join(samples, "train.pickle"), "-o", file), /status 2|Command failed/);
    });
});
