// The names in the picture: every band or group of at least 5 % of the height has its name in it where the name has room. The
// page's own answers to "what is under this pixel" are the control: they come from other code than the names.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, corpus, resize, rest, runsAll, samples, skip, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Tab */
/** @typedef {{text: string, x: number, y: number, width: number}} Word CSS pixels of the plot */

const files = [
    ...["oom", "leak_graph", "streams"].map((name) => path.join(samples, `${name}.pickle`)),
    ...["train_51gib_unmatched_frees", "torch2.11_training", "pytorch_blog_resnet50", "attention_100_steps", "oom_expandable_4dev",
        "gradients_not_at_the_peak", "forward_10_times_12_layers", "ring_buffer_full_10000", "npu_expandable"].map((name) => corpus(`${name}${name.startsWith("npu") ? ".pkl" : ".pickle"}`)),
].filter(Boolean);
const sizes = [[1440, 900], [390, 844], ...(runsAll ? [[820, 1180], [1920, 1080], [900, 500]] : [])];

/** Draws again and records the words in the plot and where they stand. @param {Tab} page @returns {Promise<Word[]>} */
async function namesOnPlot(page) {
    await page.evaluate(() => {
        /** @type {any} */ (window).words = [];
        const write = CanvasRenderingContext2D.prototype.fillText;
        if (write.length === 0) return;
        CanvasRenderingContext2D.prototype.fillText = function (/** @type {any[]} */ ...given) {
            const [text, x, y] = given;
            if (this.textAlign === "left" && /** @type {HTMLElement} */ (this.canvas).id === "axes") /** @type {any} */ (window).words.push({ text, x, y, width: this.measureText(text).width });
            write.call(this, text, x, y); // its length is 0, so that it is put there once
        };
    });
    await ask(page, "strata.setView({ colorBy: 'stream' })");
    await page.evaluate(() => (/** @type {any} */ (window).words = []));
    await ask(page, "strata.setView({ colorBy: 'site' })");
    await rest(page);
    const words = /** @type {Word[]} */ (await page.evaluate("words"));
    return words.filter(({ text, x, y }, i) => words.findIndex((one) => one.text === text && one.x === x && one.y === y) === i);
}

const [STEP_X, STEP_Y] = [8, 3];

/** The call site under each point of a grid, by the names of all call sites and the frames of what is there; "" where nothing
 * is, or what has another name. @param {Tab} page */
const sitesOnPlot = (page) => page.evaluate(([STEP_X, STEP_Y]) => {
    const { strata } = /** @type {any} */ (window);
    const { events } = strata.devices().find((/** @type {any} */ { device }) => device === strata.view().device);
    const names = new Set([strata.groups({ from: 0, to: events, what: "allocated" }), strata.groups({ at: -1 }), strata.groups()].flatMap((rows) => rows.map((/** @type {any} */ { name }) => name.replace(/ \((state|temporary|freed here)\)$/, ""))));
    const siteOf = (/** @type {any} */ { stack }) => (stack.length === 0 ? "(no stack recorded)" : stack.map((/** @type {any} */ { file, line, name }) => `${file.replace(/.*[/\\]/, "")}:${line} ${name}`).find((/** @type {string} */ text) => names.has(text)) ?? "");
    const { width, height } = /** @type {HTMLElement} */ (document.getElementById("timeline")).getBoundingClientRect();
    const columns = [];
    for (let x = STEP_X / 2; x < width; x += STEP_X) {
        const column = [];
        for (let y = STEP_Y / 2; y < height; y += STEP_Y) {
            const pick = strata.pick(x, y);
            column.push(pick ? siteOf(pick) : "");
        }
        columns.push(column);
    }
    return { columns, width, height };
}, [STEP_X, STEP_Y]);

/** The widest rectangle of one site, so many rows high, from a column on. @param {string[][]} columns @param {number} from
 * @param {number} row @param {number} rows */
function stretch(columns, from, row, rows) {
    const site = columns[from][row];
    let to = from;
    while (to < columns.length && columns[to].slice(row, row + rows).every((one) => one === site)) to++;
    return to - from;
}

/** The width of a name. @param {Tab} page @param {string} text */
const widthOf = (page, text) => page.evaluate((text) => {
    const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    return context.measureText(text).width;
}, text);

/** Sites of which a band of 5 % of the height is there, with the widest place of two lines' height in it, in pixels.
 * @param {{columns: string[][], height: number}} plot */
function wideBands({ columns, height }) {
    const rows = Math.ceil(Math.max(height * 0.05, 34) / STEP_Y);
    /** @type {Map<string, number>} */
    const widest = new Map();
    for (let from = 0; from < columns.length; from++)
        for (let row = 0; row + rows <= columns[from].length; row++) {
            const site = columns[from][row];
            const wide = site ? stretch(columns, from, row, rows) * STEP_X : 0;
            if (wide > (widest.get(site) ?? 0)) widest.set(site, wide);
        }
    return widest;
}

describe("names in the picture", { skip }, () => {
    for (const file of runsAll ? files : files.slice(0, 4))
        test(path.basename(file), async () => {
            await withPage(writePage(file), async (page) => {
                for (const [width, height] of sizes) {
                    await resize(page, width, height);
                    const plot = await sitesOnPlot(page);
                    const wide = wideBands(plot);
                    for (const colorScheme of /** @type {("light" | "dark")[]} */ (["light", "dark"])) {
                        await page.emulateMedia({ colorScheme });
                        const words = (await namesOnPlot(page)).filter(({ y }) => y < plot.height);
                        const where = `at ${width} x ${height}, ${colorScheme}; named are ${words.map(({ text }) => text)}`;
                        for (const [site, room] of wide) {
                            const place = /^\S*\d(?= )/.exec(site)?.[0] ?? (site === "(no stack recorded)" ? "older than the recording" : site);
                            if (room < (await widthOf(page, place)) + 16) continue;
                            const names = [place, "smaller call sites", ...(place === site ? [] : ["no stack recorded", "older than"])];
                            assert.ok(words.some(({ text }) => names.some((name) => text.includes(name))), `${site} has ${room} px ${where}`);
                        }
                        // Each name stands in a band of its call site, and no two of them cover each other.
                        for (const [i, { text, x, y, width: own }] of words.entries()) {
                            const under = plot.columns[Math.round((x + own / 2) / STEP_X)]?.[Math.floor(y / STEP_Y)];
                            if (/^\S*\.py:\d/.test(text)) assert.ok(under?.startsWith(text.split(" ")[0]), `${text} lies over ${under} ${where}`);
                            for (const other of words.slice(i + 1))
                                assert.ok(Math.abs(y - other.y) >= 11 || x >= other.x + other.width || other.x >= x + own, `${text} covers ${other.text} ${where}`);
                        }
                    }
                }
            });
        });
});
