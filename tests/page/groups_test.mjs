// Bands that are too thin to distinguish are grouped by call site. The total height stays exact, and every band can be
// shown again.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { cropPng, decodePng } from "../png.mjs";
import { canvasPixels, each, folder, hashOf, plotBox, run, samples, settle, setView, skip, strata, until, withPage, writePage, writeSnapshot } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

const [FORWARDS, LAYERS, EACH] = [10, 12, 24];

/** Forward passes of twelve layers that keep all tensors until the pass ends: 24 tensors of 2 MiB a layer, from 24
 * lines. */
const inference = () =>
    writeSnapshot("inference.pickle", `(lambda addr, event: {"segments": [], "device_traces": [[e for f in range(${FORWARDS}) for e in [event("alloc", addr(l, t), l, t) for l in range(${LAYERS}) for t in range(${EACH})] + [event("free_completed", addr(l, t), l, t) for l in reversed(range(${LAYERS})) for t in reversed(range(${EACH}))]]]})(lambda l, t: 4096 + ((l * ${EACH} + t) << 24), lambda action, addr, l, t: {"action": action, "addr": addr, "size": (2 << 20) + (t << 12), "stream": 0, "frames": [{"filename": "/home/me/model.py", "line": 10 + t, "name": "forward"}]})`);

const [OLDER, TENSORS, TENSOR] = [300, 8, 4 << 20];

/** 300 tensors that stay, and above them forward passes of twelve layers: 8 tensors of 4 MiB a layer. */
const above = () =>
    writeSnapshot("above.pickle", `(lambda at, event: {"segments": [], "device_traces": [[event("alloc", at(o, 0), 5) for o in range(${OLDER})] + [event(action, at(900 + l, t), 10 + t) for f in range(${FORWARDS}) for action, order in (("alloc", 1), ("free_completed", -1)) for l in range(${LAYERS})[::order] for t in range(${TENSORS})[::order]]]})(lambda o, t: 4096 + ((o * ${TENSORS} + t) << 24), lambda action, addr, line: {"action": action, "addr": addr, "size": ${TENSOR}, "stream": 0, "frames": [{"filename": "/home/me/model.py", "line": line, "name": "forward"}]})`);

/** For each column of pixels the row above which there is only ground. @param {{width: number, height: number, rgba:
 * Uint8Array}} image */
function silhouette({ width, height, rgba }) {
    const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height);
    return Array.from({ length: width }, (_, x) => {
        let y = 0;
        while (y < height && pixels[y * width + x] === pixels[0]) y++;
        return y;
    });
}

/** The number of colour changes along the columns of a picture. @param {{width: number, height: number, rgba:
 * Uint8Array}} image */
function edges({ width, height, rgba }) {
    const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset, width * height);
    let count = 0;
    for (let i = width; i < pixels.length; i++) if (pixels[i] !== pixels[i - width]) count++;
    return count;
}

const grouped = async (/** @type {Page} */ page) =>
    (await each(page, "#groups-text", (text) => text.checkVisibility() && /Grouped by call site/.test(text.innerText))).includes(true);

describe("bands too thin to distinguish", { skip }, () => {
    test("lie together by call site, in the same silhouette, and each comes back", async () => {
        await withPage(writePage(inference()), async (page) => {
            assert.ok(await grouped(page), "at the whole run");
            assert.match(await page.locator("#groups-text").innerText(), /^Grouped by call site: most are under 3 px/);
            const before = await canvasPixels(page);
            await page.locator("#groups-each").click();
            await until(async () => /bands=each/.test(await hashOf(page)), "the address");
            const after = await canvasPixels(page);
            assert.equal(after.height, before.height, "the strip stays, and offers the way back");
            const [areas, bands] = [silhouette(before), silhouette(after)];
            for (const [x, y] of areas.entries()) assert.ok(Math.abs(y - bands[x]) <= 1, `column ${x}: ${y} and ${bands[x]}`);
            assert.ok(edges(before) * 5 < edges(after), `${edges(before)} edges instead of ${edges(after)}`);
            await page.locator("#groups-each").click();
            await until(() => grouped(page), "the groups");
        });
    });

    test("a point of an area is an allocation of its call site that is alive there", async () => {
        await withPage(writePage(inference()), async (page) => {
            const box = await plotBox(page);
            const picks = await page.evaluate(([width, height]) => {
                const at = (/** @type {number} */ share) => window.strata.pick(Math.round(width * 0.05), Math.round(height * share));
                return [0.99, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2].map(at).filter(Boolean);
            }, [box.width, box.height]);
            const lines = picks.map((/** @type {any} */ { stack }) => stack[0].line);
            assert.ok(new Set(lines).size >= 3, lines.join());
            // Ten call sites have an area of their own, in which each line occurs once.
            assert.deepEqual(lines.filter((line, i) => lines.indexOf(line) !== i && lines[i - 1] !== line), [], lines.join());
        });
    });

    test("they dissolve when zoomed in", async () => {
        await withPage(writePage(inference()), async (page) => {
            assert.ok(await grouped(page));
            const box = await plotBox(page);
            await page.mouse.move(box.x + box.width * 0.05, box.y + box.height - 20);
            await page.keyboard.down("Alt");
            for (let i = 0; i < 12 && (await grouped(page)); i++) {
                await page.mouse.wheel(0, -200);
                await settle(page);
            }
            await page.keyboard.up("Alt");
            assert.ok(!(await grouped(page)), "bands are high enough");
            assert.equal(await page.locator("#groups").isVisible(), false);
        });
    });

    test("a zoom along the events shows each band of one forward, between heights of its own", async () => {
        const input = above();
        const forward = 2 * LAYERS * TENSORS;
        const one = { from: OLDER + 4 * forward, to: OLDER + 5 * forward };
        await withPage(writePage(input), async (page) => {
            const axis = async () => / from ([\d.]+) GiB up$/.exec(await page.locator("#drawn").innerText())?.[1];
            assert.ok(await grouped(page), "at the whole run");
            assert.equal(await axis(), undefined);
            await setView(page, one);
            assert.equal(await grouped(page), false, "one forward");
            const bottom = Number(await axis()) * 2 ** 30;
            const { height } = await plotBox(page);
            assert.ok(bottom > 2 ** 30 && bottom <= OLDER * TENSOR + 0.05 * 2 ** 30, `it begins at ${bottom}`);
            assert.ok((TENSOR * height) / ((OLDER + LAYERS * TENSORS) * TENSOR - bottom) >= 3, "a tensor has 3 px");
            const tops = silhouette(await canvasPixels(page));
            assert.ok(Math.min(...tops) > 0 && Math.max(...tops) < height, "nothing of the outline is cut off");
            await page.keyboard.press("v");
            await until(() => grouped(page), "from 0 up they are grouped again");
            assert.equal(await axis(), undefined);
            await page.keyboard.press("v");
            await until(async () => !(await grouped(page)), "its own heights again");
            await page.keyboard.press("0");
            await until(() => grouped(page), "the whole run");
        });
        const file = path.join(folder, "above.png");
        const edgesOf = (/** @type {string[]} */ ...flags) => {
            run(strata, "png", "-q", "-f", "--no-names", ...flags, input, "-o", file);
            const png = decodePng(readFileSync(file));
            const [x, y, width, height] = png.text["strata:plot"].split(" ").map(Number);
            return edges({ width, height, rgba: cropPng(png, x, y, width, height) });
        };
        assert.ok(edgesOf() * 3 < edgesOf("--from", String(one.from), "--to", String(one.to)), "the PNG does the same");
    });

    test("a few high bands are not grouped, nor are areas and other colourings", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => assert.ok(!(await grouped(page))));
        await withPage(writePage(inference()), async (page) => {
            await setView(page, { colorBy: "size" });
            assert.ok(!(await grouped(page)));
            await setView(page, { colorBy: "site" });
            assert.ok(await grouped(page));
        });
    });
});
