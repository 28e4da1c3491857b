// Contrast in the page, in both themes. Every plain area of a band has 3:1 to the ground of the plot, read from the
// canvas, in every colouring. Texts have 4.5:1 to what lies behind them, also on bands, in the tree and when dimmed.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { folder, run, samples, setView, settle, skip, until, withPage, writePage, openForm, tool } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

const linear = (/** @type {number} */ value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
const luminance = (/** @type {number[]} */ [r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);

function contrast(/** @type {number[]} */ a, /** @type {number[]} */ b) {
    const [x, y] = [luminance(a), luminance(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** Colours of areas of 5 x 5 equal pixels of the canvas, each with the number of such areas, and the page's ground. */
function plainColors() {
    const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("timeline"));
    const { width, height } = canvas;
    const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(0, 0, width, height);
    const words = new Uint32Array(data.buffer);
    /** @type {Map<number, number>} */ const counts = new Map();
    // For each column: how many successive rows, up to this one, have five pixels of the colour `above[x]` that end in it.
    const rows = new Uint32Array(width);
    const above = new Uint32Array(width);
    for (let y = 0; y < height; y++)
        for (let x = 0, run = 0; x < width; x++) {
            const color = words[y * width + x];
            run = x > 0 && words[y * width + x - 1] === color ? run + 1 : 1;
            rows[x] = run < 5 ? 0 : above[x] === color ? rows[x] + 1 : 1;
            above[x] = color;
            if (rows[x] >= 5) counts.set(color, (counts.get(color) ?? 0) + 1);
        }
    const rgb = (/** @type {number} */ word) => [word & 255, (word >> 8) & 255, (word >> 16) & 255];
    const ground = (getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []).slice(0, 3).map(Number);
    return { ground, colors: [...counts].map(([word, count]) => ({ color: rgb(word), count })) };
}

async function assertBands(/** @type {Page} */ page, /** @type {string} */ what) {
    const { ground, colors } = await page.evaluate(plainColors);
    const bands = colors.filter(({ color }) => String(color) !== String(ground));
    assert.ok(bands.length > 0, `${what}: nothing plain is drawn`);
    const low = bands.filter(({ color }) => contrast(color, ground) < 3).map(({ color, count }) => `rgb(${color}) ${contrast(color, ground).toFixed(2)} on ${count} pixels`);
    assert.deepEqual(low, [], what);
}

/** Texts in sight whose contrast with what lies behind them is below 4.5. Half-transparent layers are mixed. */
function lowTexts() {
    const parts = (/** @type {string} */ color) => {
        const numbers = (color.match(/[\d.]+/g) ?? []).map(Number);
        return color.startsWith("color(") ? [...numbers.slice(0, 3).map((part) => part * 255), ...numbers.slice(3)] : numbers;
    };
    const light = (/** @type {number[]} */ rgb) => {
        const [r, g, b] = rgb.slice(0, 3).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const mix = (/** @type {number[]} */ over, /** @type {number} */ share, /** @type {number[]} */ under) => [0, 1, 2].map((i) => over[i] * share + under[i] * (1 - share));
    const behind = (/** @type {Element | null} */ element) => {
        /** @type {number[][]} */ const layers = [];
        for (let at = element; at; at = at.parentElement) {
            const color = parts(getComputedStyle(at).backgroundColor);
            layers.push(color);
            if (color.length === 3 || color[3] === 1) break;
        }
        return layers.reverse().reduce((under, over) => mix(over, over[3] ?? 1, under), [255, 255, 255]);
    };
    /** @type {string[]} */ const low = [];
    let seen = 0;
    for (const element of document.querySelectorAll("#app *, dialog[open] *")) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && (node.textContent ?? "").trim());
        if (!own || !(element instanceof HTMLElement) || element.closest("[disabled], option, [aria-hidden=true]")) continue;
        const style = getComputedStyle(element);
        const box = element.getBoundingClientRect();
        if (style.visibility === "hidden" || element.offsetParent === null || box.width < 2 || box.height < 2 || style.clipPath !== "none") continue;
        let opacity = 1;
        for (let at = /** @type {Element | null} */ (element); at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
        const ground = behind(element);
        const color = parts(style.color);
        const [a, b] = [light(mix(color, (color[3] ?? 1) * opacity, ground)), light(ground)];
        const value = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        seen++;
        if (value < 4.5) low.push(`${element.tagName}.${element.className} "${(element.textContent ?? "").slice(0, 30)}" ${value.toFixed(2)}`);
    }
    return { low, seen };
}

async function assertTexts(/** @type {Page} */ page, /** @type {string} */ what) {
    const { low, seen } = await page.evaluate(lowTexts);
    assert.ok(seen > 20, `${what}: ${seen} texts`);
    assert.deepEqual(low, [], what);
}

/** Every colour of the palette beside the others: sixty lines, streams and pools, sizes and ages of every power of two, some older than the recording, some without a stack. */
const EVERY_COLOR = `
import pickle, sys
def frame(line): return {"filename": "/home/user/train/every.py", "line": line, "name": "layer_%d" % line}
def event(action, i, size): return {"action": action, "addr": 4096 + (i << 24), "size": size, "stream": i % 40, "time_us": i, "frames": [frame(i)], "segment_pool_id": (0, i % 40)}
events = [event("free_completed", 1000 + i, 4 << 20) for i in range(60)]
for i in range(60): events += [event("alloc", i, 4 << 20), event("alloc", 200 + i, 4 << 20)]
sizes = [event("alloc", 500 + i, 512 << i % 22) for i in range(44)]
nowhere = [{**event("alloc", 600 + i, 8 << 20), "frames": []} for i in range(4)]
blocks = []
with open(sys.argv[1], "wb") as file: pickle.dump({"segments": blocks, "device_traces": [[*events[60:], *events[:60], *sizes, *nowhere]]}, file)
`;

function everyColor() {
    const input = path.join(folder, "every_color.pickle");
    run("python3", "-c", EVERY_COLOR, input);
    return input;
}

const COLORINGS = ["site", "size", "age", "stream", "pool", "category", "each"];

describe("contrast", { skip }, () => {
    for (const theme of /** @type {const} */ (["light", "dark"])) {
        const options = /** @type {const} */ ({ colorScheme: theme, reducedMotion: "reduce" });

        test(`bands in every colouring, ${theme}`, async () => {
            for (const input of [everyColor(), ...["train", "overflow", "streams"].map((name) => path.join(samples, `${name}.pickle`))])
                await withPage(writePage(input), async (page) => {
                    for (const colorBy of COLORINGS) {
                        await setView(page, { colorBy });
                        await settle(page);
                        await assertBands(page, `${path.basename(input)} by ${colorBy}, ${theme}`);
                    }
                    for (const by of ["Category", "Stream", "Pool", ...(input.startsWith(samples) ? ["Segments"] : [])]) {
                        await tool(page, `#view-${by.toLowerCase()}`);
                        await settle(page);
                        await assertBands(page, `${path.basename(input)} as ${by}, ${theme}`);
                    }
                }, options);
        });

        test(`texts of every tab, tip and dialog, ${theme}`, async () => {
            for (const name of ["oom", "leak_two_per_layer"])
                await withPage(writePage(path.join(samples, `${name}.pickle`)), async (page) => {
                    for (const tab of ["1", "3", "4", "5"]) {
                        await page.keyboard.press(tab);
                        await settle(page);
                        await assertTexts(page, `${name}, tab ${tab}, ${theme}`);
                    }
                    // Opens a tip over a band, a range whose rows are freed later, and a search with bands that do not
                    // match.
                    await page.keyboard.press("3");
                    const box = /** @type {{x: number, y: number, width: number, height: number}} */ (await page.locator("#timeline").boundingBox());
                    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height - 12);
                    await until(() => page.locator("#tip").isVisible(), "a tip");
                    await assertTexts(page, `${name}, tip, ${theme}`);
                    await page.evaluate("strata.setView({ range: { from: 700, to: 1000 } })");
                    await page.locator("#range-kept").click();
                    await until(() => page.locator("#list .freed-later").first().isVisible(), "rows that are freed later");
                    await assertTexts(page, `${name}, freed later, ${theme}`);
                    await page.keyboard.press("Escape");
                    await page.evaluate('strata.search("attention")');
                    await page.locator("#list > .row").first().click();
                    await settle(page);
                    await assertTexts(page, `${name}, search, ${theme}`);
                    await openForm(page, "tree");
                    await page.getByLabel("Search in the tree").fill("block");
                    await settle(page);
                    await assertTexts(page, `${name}, tree searched, ${theme}`);
                    for (const open of ["help", "trust"]) {
                        await (open === "help" ? tool(page, "#help") : page.locator("#trust").click());
                        await assertTexts(page, `${name}, ${open}, ${theme}`);
                        await page.keyboard.press("Escape");
                    }
                    // A figure under the pointer is as readable as before.
                    for (const figure of await page.locator(".figure:visible, .badge, .segmented button:visible").all()) {
                        if (await figure.isDisabled()) continue;
                        await figure.hover();
                        await assertTexts(page, `${name}, hovered ${await figure.innerText()}, ${theme}`);
                    }
                }, options);
        });
    }
});
