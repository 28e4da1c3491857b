// Shared by the tests of this folder: opens pages in a real browser, from file://, and watches every request. Each test
// file has a recording of its own.
//
//     STRATA=path/to/strata node --test tests/page/hands_test.mjs
//
// Where there is no Chromium (STRATA_CHROMIUM may name one) or no tests/node_modules, the tests are skipped, unless
// STRATA_NEEDS_BROWSER is set.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { startChromium } from "../chromium.mjs";
import { findShell } from "../programs.mjs";
import { followed, rest, settle, until } from "../waiting.mjs";

export { downloaded } from "../chromium.mjs";
export { each, eventually, rest, settle, shownTexts, texts, until } from "../waiting.mjs";

/** The folder of the tests. */
export const here = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
export const samples = path.join(here, "..", "samples");
export const strata = process.env.STRATA ?? "strata";

/** The page's WebAssembly module, as the build makes it beside the program and the page carries it packed. */
export const moduleFile = path.join(path.dirname(strata), "strata.wasm");

/** Bundles scripts that use those of the page. @param {string[]} asked of esbuild: scripts and options */
export function bundle(...asked) {
    const api = path.join(path.dirname(strata), "embedded", "api.js");
    execFileSync("esbuild", [...asked, "--bundle", "--log-level=warning", `--alias:page_api=${api}`]);
}

/** Whether large sets run whole (scripts/test-all). */
export const runsAll = process.env.STRATA_TEST_ALL === "ON";

/** Why the page cannot be tested here, or false. */
function reasonToSkip() {
    if (!existsSync(path.join(here, "node_modules", "playwright-core"))) return "tests/node_modules is missing: npm ci makes it";
    return findShell() ? false : "no Chromium found";
}

export const skip = reasonToSkip();
if (skip && process.env.STRATA_NEEDS_BROWSER) throw new Error(skip);
if (skip) console.log(`skipped: the page (${skip})`);

/** @type {string} */ export let folder;
/** @type {import("playwright-core").Browser} */ export let browser;

/** Python itself, where python3 is a version manager's script (tests/CMakeLists.txt). */
const python = process.env.STRATA_PYTHON || "python3";

export function run(/** @type {string} */ command, /** @type {(string | number)[]} */ ...args) {
    return execFileSync(command === "python3" ? python : command, args.map(String), { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
}

export function replay(/** @type {(string | number)[]} */ ...args) {
    return JSON.parse(run("python3", path.join(here, "replay.py"), ...args).toString());
}

export function report(/** @type {string} */ input, /** @type {string[]} */ ...flags) {
    return JSON.parse(run(strata, "report", "--json", ...flags, input).toString());
}

/** Pages that are written already, by input and options. @type {Map<string, string>} */
const pages = new Map();

/** Writes the page of a recording, once for each state of the file. */
export function writePage(/** @type {string} */ input, /** @type {string[]} */ ...flags) {
    const { mtimeMs, size } = statSync(input);
    const made = JSON.stringify([input, mtimeMs, size, ...flags]);
    const page = path.join(folder, `${path.basename(input)}${flags.join("")}.html`.replace(/[^\w.-]/g, "_"));
    if (pages.get(page) !== made) run(strata, "html", "-q", "-f", ...flags, input, "-o", page);
    pages.set(page, made);
    return page;
}

/** Fails when a page requests, logs or asks something. */
class Watch {
    /** @type {string[]} */ troubles = [];

    /** @param {import("playwright-core").Page} page @param {string} url */
    static async on(page, url) {
        const watch = new Watch();
        const note = (/** @type {string} */ trouble) => void watch.troubles.push(trouble);
        await page.route("**/*", (route) => {
            const wanted = route.request().url().replace(/#.*/, "");
            if (wanted === url) return route.continue();
            note(`request for ${wanted}`);
            return route.abort();
        });
        page.on("request", (request) => {
            const wanted = request.url().replace(/#.*/, "");
            if (wanted !== url && !wanted.startsWith("data:")) note(`request: ${wanted}`);
        });
        page.on("websocket", (socket) => note(`web socket ${socket.url()}`));
        page.on("console", (message) => {
            // The tests read the canvas, not the page.
            if (message.text().includes("willReadFrequently")) return;
            if (["error", "warning"].includes(message.type())) note(`console: ${message.text()}`);
        });
        page.on("pageerror", (error) => note(`error: ${error.stack}`));
        page.on("dialog", (dialog) => {
            note(`dialog: ${dialog.message()}`);
            return dialog.dismiss();
        });
        await page.addInitScript(() => {
            addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`));
        });
        return watch;
    }

    check() {
        assert.deepEqual(this.troubles, []);
    }
}

/** A context for pages, with storage of its own. @param {import("playwright-core").BrowserContextOptions} [options] */
export async function openContext(options) {
    return followed(await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options }));
}

/**
 * Opens a page that strata wrote and runs `use` on it; nothing may be fetched, logged or asked meanwhile.
 * @param {string} file
 * @param {(page: import("playwright-core").Page) => Promise<void>} use
 * @param {import("playwright-core").BrowserContextOptions & {hash?: string}} [options]
 */
export async function withPage(file, use, { hash = "", ...options } = {}) {
    const context = await openContext(options);
    try {
        const page = await context.newPage();
        const url = pathToFileURL(file).href;
        const watch = await Watch.on(page, url);
        await page.goto(url + hash);
        await page.evaluate("strata.ready");
        await rest(page);
        await use(page);
        await settle(page);
        watch.check();
    } finally {
        await context.close();
    }
}

/** Loads the page again. @param {import("playwright-core").Page} page */
export async function reload(page) {
    await page.reload();
    await page.evaluate("strata.ready");
    await rest(page);
}

/** Changes the size of the window, and waits until the page is drawn. @param {import("playwright-core").Page} page
 * @param {number} width @param {number} height */
export async function resize(page, width, height) {
    await page.setViewportSize({ width, height });
    await until(() => page.evaluate(([width, height]) => innerWidth === width && innerHeight === height, [width, height]), `${width} x ${height} pixels`);
    // One frame for the observers of sizes, one for what they draw.
    for (let i = 0; i < 2; i++) await settle(page);
}

/** Evaluates an expression in the page, after all earlier requests are drawn. @param {import("playwright-core").Page}
 * page @param {string} expression */
export async function ask(page, expression) {
    const answer = await page.evaluate(expression);
    await settle(page);
    return answer;
}

/** The decoded address, after the page has drawn what it names. @param {import("playwright-core").Page} page @returns
 * {Promise<string>} */
export async function hashOf(page) {
    return ask(page, 'decodeURIComponent(location.hash.replace(/\\+/g, " "))');
}

/** @param {import("playwright-core").Page} page @param {object} change */
export async function setView(page, change) {
    await ask(page, `strata.setView(${JSON.stringify(change)})`);
    await settle(page);
    return ask(page, "strata.view()");
}

/**
 * Clicks a control of the header or the toolbar; opens and closes the menu that contains it.
 * @param {import("playwright-core").Page} page
 * @param {string} selector
 */
export async function tool(page, selector) {
    const menu = page.locator("details.menu", { has: page.locator(selector) });
    const turn = async (/** @type {boolean} */ open) => {
        if ((await menu.count()) && ((await menu.getAttribute("open")) !== null) !== open) await menu.locator("summary").click();
    };
    await turn(true);
    await page.locator(selector).click();
    await turn(false);
}

/** Opens a form of the view Who: "who", "tree" or "each". @param {import("playwright-core").Page} page @param {string}
 * form */
export async function openForm(page, form) {
    await page.locator("#tab-who").click();
    await page.locator(`#form-${form}`).click();
}

/** The canvas' pixels. @param {import("playwright-core").Page} page */
export async function canvasPixels(page) {
    const { width, height, base64 } = await page.evaluate(() => {
        const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("timeline"));
        const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
        const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
        let text = "";
        for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
        return { width: canvas.width, height: canvas.height, base64: btoa(text) };
    });
    return { width, height, rgba: new Uint8Array(Buffer.from(base64, "base64")) };
}

/** Place and size of the plot in CSS pixels. @param {import("playwright-core").Page} page */
export async function plotBox(page) {
    const box = await page.locator("#timeline").boundingBox();
    assert.ok(box, "the plot is visible");
    return box;
}

/** The names of all rows of the list. Scrolls, because the document holds only the rows in sight. @param
 * {import("playwright-core").Page} page @returns {Promise<string[]>} */
export async function listedSites(page) {
    return page.evaluate(async () => {
        const scroll = /** @type {HTMLElement} */ (document.getElementById("list-scroll"));
        const count = Number(scroll.getAttribute("aria-rowcount")) - 1;
        /** @type {Map<number, string>} */
        const names = new Map();
        for (let at = 0; names.size < count && at < count * 60; at += 100) {
            scroll.scrollTop = at;
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))));
            for (const row of document.querySelectorAll("#list > .row:not([hidden])"))
                names.set(Number(row.getAttribute("aria-rowindex")) - 2, row.querySelector(".row-text")?.textContent ?? "");
        }
        return [...names].sort(([a], [b]) => a - b).map(([, name]) => name);
    });
}

before(async () => {
    if (skip) return;
    folder = mkdtempSync(path.join(tmpdir(), "strata-page-"));
    browser = await startChromium();
});

after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
});

/** Number of different colours: an empty picture must not count as an equal one. @param {Uint8Array} rgba */
export function colorsOf(rgba) {
    return new Set(new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4)).size;
}

/** Top of the y axis in bytes, from state_dump, which calls the layout code itself. */
export function headroom(/** @type {number} */ ordinal, /** @type {string} */ input) {
    const output = run(String(process.env.STATE_DUMP), "--pick", input, ordinal, 10, 10, -1, 1, "0,0").toString();
    return Number(/^top (\d+)$/m.exec(output)?.[1]);
}

/** Random points of the plot, by a generator of its own so that a failure repeats. */
export function randomPoints(/** @type {number} */ count, /** @type {number} */ width, /** @type {number} */ height) {
    let seed = 12345;
    const next = (/** @type {number} */ below) => {
        seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
        return Math.floor((seed / 2 ** 32) * below);
    };
    return Array.from({ length: count }, () => [next(width), next(height)]);
}

/** Kept, because reading a large recording takes long. @type {Map<string, number[]>} */
const curves = new Map();

/** Live bytes at every moment. @param {string} input @param {number} ordinal @returns {number[]} */
function liveBytes(input, ordinal) {
    const key = `${ordinal} ${input}`;
    const live = curves.get(key) ?? replay("--curves", input, ordinal).live;
    curves.set(key, live);
    return live;
}

/**
 * Picks random points. Returns the question for the control, and a function that compares its answer with the page's.
 * @param {import("playwright-core").Page} page @param {number} ordinal
 * @param {{from: number, to: number}} view @param {number} count
 * @param {string} input @param {number} highest bytes: most points lie below, because nothing is drawn above
 */
export async function pickPoints(page, ordinal, view, count, input, highest) {
    const box = await plotBox(page);
    const [width, height] = [Math.round(box.width), Math.round(box.height)];
    const top = headroom(ordinal, input);
    const used = Math.min(height, Math.ceil((1.2 * height * highest) / top));
    const points = randomPoints(count, width, used).map(([x, y]) => [x, y + height - used]);
    const got = await page.evaluate((points) => points.map(([x, y]) => window.strata.pick(x, y)), points);
    const question = ["--pick", width, height, view.from, view.to, 0, top, ...points.map((point) => point.join(","))];
    const check = (/** @type {any[]} */ wanted) => {
        let hits = 0;
        points.forEach((point, i) => {
            const /** @type {any[]} */ met = wanted[i].allocations;
            const allowed = met.map((each) => each && [each.allocation, each.bytes, each.birth, each.death]);
            const pick = got[i];
            const answer = pick && [pick.allocation, pick.bytes, pick.birth, pick.death];
            const where = `pixel ${point} of ${width}x${height}, event ${wanted[i].event}`;
            assert.ok(
                allowed.some((each) => JSON.stringify(each) === JSON.stringify(answer)),
                `${where}: ${JSON.stringify(answer)} instead of ${JSON.stringify(allowed)}`,
            );
            if (!pick) return;
            hits++;
            const own = met.find((each) => each?.allocation === pick.allocation);
            const frames = pick.stack.map((/** @type {any} */ frame) => [frame.file, frame.line ?? 0, frame.name]);
            assert.deepEqual(frames, own.frames, where);
        });
        assert.ok(hits > count / 5, `only ${hits} of ${count} points hit an allocation`);
    };
    return { question, check };
}

/**
 * @param {import("playwright-core").Page} page @param {number} ordinal
 * @param {{from: number, to: number}} view @param {number} count @param {string} input
 */
export async function checkPicks(page, ordinal, view, count, input) {
    const live = liveBytes(input, ordinal).slice(Math.max(view.from, 0), view.to + 1);
    const highest = live.reduce((most, bytes) => Math.max(most, bytes), 0);
    const { question, check } = await pickPoints(page, ordinal, view, count, input, highest);
    check(replay(question[0], input, ordinal, ...question.slice(1)));
}

/** The path of a recording from the samples or the corpus; "" if there is no corpus. */
export function corpus(/** @type {string} */ name) {
    const folder = process.env.STRATA_CORPUS;
    const file = folder ? path.join(folder, name) : "";
    return file && existsSync(file) ? file : "";
}

/** Every allocation of the current device, as an expression for the page. */
export const ALL = "Array.from({length: strata.stats().allocations}, (_, i) => strata.allocation(i))";

/** Writes a snapshot as the recorder would, with Python's own pickle. */
export function writeSnapshot(/** @type {string} */ name, /** @type {string} */ expression) {
    const file = path.join(folder, name);
    run("python3", "-c", `import pickle,sys\npickle.dump(${expression}, open(sys.argv[1], "wb"))`, file);
    return file;
}
