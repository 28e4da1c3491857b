// The page in a real browser, opened from file:// with every request watched.
//
//     STRATA=path/to/strata node --test tests/page_test.mjs
//
// Where there is no Chromium (STRATA_CHROMIUM may name one) or no tests/node_modules, the tests are skipped, unless
// STRATA_NEEDS_BROWSER is set.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { cropPng, decodePng } from "./png.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const samples = path.join(here, "..", "samples");
const strata = process.env.STRATA ?? "strata";

/** @returns {string | undefined} */
function findBrowser() {
    const names = [process.env.STRATA_CHROMIUM, "chromium", "chromium-browser", "google-chrome"].filter(Boolean);
    const folders = (process.env.PATH ?? "").split(path.delimiter);
    for (const candidate of names.flatMap((name) => folders.map((folder) => path.resolve(folder, String(name))))) {
        try {
            accessSync(candidate, constants.X_OK);
            return candidate;
        } catch {
            // not this one
        }
    }
    return undefined;
}

/** Why the page cannot be tested here, or false. */
function reasonToSkip() {
    if (!existsSync(path.join(here, "node_modules", "playwright-core"))) return "tests/node_modules is missing: npm ci makes it";
    return browserPath ? false : "no Chromium found";
}

const browserPath = findBrowser();
const skip = reasonToSkip();
if (skip && process.env.STRATA_NEEDS_BROWSER) throw new Error(skip);
if (skip) console.log(`skipped: the page (${skip})`);

/** A recording with everything that moves: two devices, frees that wait for another stream, an address space that is reused. */
const SIMULATED = [
    "n_steps=900", "n_devices=2", "cross_stream=0.2", 'form="pickle4"', "ring=null", "record_after=60", "skipped=[]",
    "lost=0", "races=false", "time=true", 'context="all"', "high_addresses=false",
]; // prettier-ignore

/** @type {string} */ let folder;
/** @type {import("playwright-core").Browser} */ let browser;
/** @type {string} */ let recording;

function run(/** @type {string} */ command, /** @type {(string | number)[]} */ ...args) {
    return execFileSync(command, args.map(String), { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
}

function replay(/** @type {(string | number)[]} */ ...args) {
    return JSON.parse(run("python3", path.join(here, "replay.py"), ...args).toString());
}

function report(/** @type {string} */ input, /** @type {string[]} */ ...flags) {
    return JSON.parse(run(strata, "report", "--json", ...flags, input).toString());
}

/** Writes the page of a recording. */
function writePage(/** @type {string} */ input, /** @type {string[]} */ ...flags) {
    const page = path.join(folder, `${path.basename(input)}${flags.join("")}.html`.replace(/[^\w.-]/g, "_"));
    run(strata, "html", "-q", "-f", ...flags, input, "-o", page);
    return page;
}

/** What must not happen while a page is open. */
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

/**
 * Opens a page that strata wrote and runs `use` on it; nothing may be fetched, logged or asked meanwhile.
 * @param {string} file
 * @param {(page: import("playwright-core").Page) => Promise<void>} use
 * @param {import("playwright-core").BrowserContextOptions & {hash?: string}} [options]
 */
async function withPage(file, use, { hash = "", ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
    try {
        const page = await context.newPage();
        const url = pathToFileURL(file).href;
        const watch = await Watch.on(page, url);
        await page.goto(url + hash);
        await page.evaluate("strata.ready");
        await use(page);
        await settle(page);
        watch.check();
    } finally {
        await context.close();
    }
}

/** Waits until what was asked for is drawn: the page draws once per frame. @param {import("playwright-core").Page} page */
async function settle(page) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))));
}

/** @param {import("playwright-core").Page} page @param {string} expression */
async function ask(page, expression) {
    return page.evaluate(expression);
}

/** @param {import("playwright-core").Page} page @param {object} change */
async function setView(page, change) {
    await ask(page, `strata.setView(${JSON.stringify(change)})`);
    await settle(page);
    return ask(page, "strata.view()");
}

/** Polls until `probe` answers something true. */
async function until(/** @type {() => Promise<any>} */ probe, /** @type {string} */ what) {
    for (let i = 0; i < 100; i++) {
        const answer = await probe();
        if (answer) return answer;
        await new Promise((done) => setTimeout(done, 30));
    }
    throw new Error(`did not happen: ${what}`);
}

/** The canvas' pixels. @param {import("playwright-core").Page} page */
async function canvasPixels(page) {
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
async function plotBox(page) {
    const box = await page.locator("#timeline").boundingBox();
    assert.ok(box, "the plot is visible");
    return box;
}

/** Names of all rows of the list, of which the document holds those in sight. @param {import("playwright-core").Page} page @returns {Promise<string[]>} */
async function listedSites(page) {
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
    recording = path.join(folder, "simulated.pickle");
    run("python3", path.join(here, "simulate.py"), 11, recording, ...SIMULATED);
    const { chromium } = await import("playwright-core");
    // Containers give a browser neither a sandbox nor much shared memory.
    browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
});

after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
});

/* ---- the same pixels as the PNG ---- */

/** The plot area of a PNG whose plot has the given size: margins are measured from the picture before. */
function plotOfSize(/** @type {number} */ width, /** @type {number} */ height, /** @type {(string | number)[]} */ ...flags) {
    let [wholeWidth, wholeHeight] = [width + 200, height + 200];
    for (let attempt = 0; attempt < 6; attempt++) {
        const file = path.join(folder, "plot.png");
        run(strata, "png", "-q", "-f", ...flags, "--width", wholeWidth, "--height", wholeHeight, recording, "-o", file);
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

/** Number of different colours: an empty picture must not count as an equal one. @param {Uint8Array} rgba */
function colorsOf(rgba) {
    return new Set(new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length / 4)).size;
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
 * A window of so many events whose y axis in the PNG, which is fitted to the window, lies within what the page can show,
 * and that has frees in it: the one nearest to the middle of the run.
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
            // A request that failed at the end of the window has room of its own in the PNG.
            const failed = ooms.some((/** @type {number} */ event) => event >= from + nEvents * 0.97 - 1 && event < from + nEvents);
            if (!failed && top < headroom(ordinal) && frees(from) > nEvents / 5) return { from, to: from + nEvents, top };
        }
    }
    throw new Error("the recording has no such window");
}

describe("page and PNG show the same pixels", { skip }, () => {
    for (const theme of ["light", "dark"]) {
        test(`whole run, ${theme}`, async () => {
            await withPage(writePage(recording, "--theme", theme), async (page) => {
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
                    await page.keyboard.press("v"); // as high as the window needs, which is what the PNG has
                    await settle(page);
                    const canvas = await canvasPixels(page);
                    const flags = ["--theme", theme, "-d", device, "--from", from, "--to", to];
                    const wanted = plotOfSize(canvas.width, canvas.height, ...flags);
                    assert.ok(colorsOf(wanted) > 10, "the picture is not empty");
                    assertSamePixels(wanted, canvas.rgba, canvas.width);
                    // A step alone would change one column per event; the bend after a free changes many.
                    if (nEvents === 10) assert.ok(changedColumns(canvas) > 3 * nEvents, "bends are drawn");
                });
            });
        }
    }
});

/* ---- questions that scripts may ask ---- */

describe("questions of scripts", { skip }, () => {
    test("groups, compare and tree add up to the replay's totals", async () => {
        const input = path.join(samples, "train.pickle");
        const { live } = replay("--curves", input, 0);
        const [device] = report(input).devices;
        await withPage(writePage(input), async (page) => {
            for (const by of ["site", "stack", "file", "category", "stream", "pool"]) {
                const groups = await ask(page, `strata.groups({ at: 700, by: "${by}" })`);
                assert.equal(groups.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0), live[701], by);
                assert.deepEqual(groups.map((/** @type {any} */ g) => g.bytes), groups.map((/** @type {any} */ g) => g.bytes).toSorted((/** @type {number} */ x, /** @type {number} */ y) => y - x));
                const { a_bytes: a, b_bytes: b, rows: differences } = await ask(page, `strata.compare({ a: { at: 300 }, b: { at: "peak" }, by: "${by}" })`);
                assert.deepEqual([a, b], [live[301], device.peak_bytes]);
                assert.equal(differences.reduce((/** @type {number} */ sum, /** @type {any} */ row) => sum + row.delta_bytes, 0), b - a);
                for (const row of differences) assert.equal(row.delta_bytes, row.b_bytes - row.a_bytes);
            }
            const top = await ask(page, "strata.groups()");
            assert.deepEqual(top.slice(0, 5).map((/** @type {any} */ { name, bytes, count }) => ({ name, bytes, count })), device.top_at_peak.slice(0, 5).map((/** @type {any} */ { site, bytes, count }) => ({ name: site, bytes, count })));
            for (const direction of ["callees", "callers"]) {
                const tree = await ask(page, `strata.tree({ at: "peak", direction: "${direction}" })`);
                assert.deepEqual([tree.name, tree.bytes, tree.count], ["", device.peak_bytes, device.live_at_peak]);
                const check = (/** @type {any} */ node) => {
                    assert.ok(node.children.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0) <= node.bytes);
                    node.children.forEach(check);
                };
                check(tree);
                assert.ok(tree.children.length > 0);
            }
        });
    });

    test("ranges: what was allocated less what was freed is the difference of the totals", async () => {
        const input = path.join(samples, "train.pickle");
        const { live } = replay("--curves", input, 0);
        await withPage(writePage(input), async (page) => {
            const question = (/** @type {string} */ what) => ask(page, `strata.compare({ a: { from: 200, to: 900, what: "${what}" }, b: { at: 899 }, by: "stack" })`);
            const [made, freed, kept, through] = await Promise.all(["allocated", "freed", "kept", "through"].map(question));
            assert.equal(made.a_bytes - freed.a_bytes, live[900] - live[200]);
            assert.equal(kept.a_bytes + through.a_bytes, live[900]);
            assert.equal(made.b_bytes, live[900]);
        });
    });

    test("blocks tile the segments", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            const { reserved_end_bytes: reserved, events } = await ask(page, "strata.summary()");
            const { segments, blocks } = await ask(page, `strata.blocks({ at: ${events - 1} })`);
            const sum = (/** @type {any[]} */ list) => list.reduce((total, { bytes }) => total + bytes, 0);
            assert.deepEqual([sum(segments), sum(blocks)], [reserved, reserved]);
            assert.ok(blocks.every((/** @type {any} */ { state, allocation }) => (state === "free") === (allocation === null)));
            assert.match(segments[0].address, /^0x[0-9a-f]+$/);
        });
    });

    test("a bad question is refused in words", async () => {
        await withPage(writePage(path.join(samples, "one_event.pickle")), async (page) => {
            for (const question of ['groups({ by: "colour" })', "groups({ at: 0.5 })", 'compare({ a: { from: 3, to: 1 }, b: { at: 0 } })', 'tree({ direction: "up" })'])
                await assert.rejects(ask(page, `strata.${question}`), /RangeError/);
        });
    });
});

describe("why, tree and compare", { skip }, () => {
    test("a leak's card has its line, its bars, and a button that shows its allocations", async () => {
        const input = path.join(samples, "leak_two_per_layer.pickle");
        const [{ findings }] = report(input).devices;
        await withPage(writePage(input), async (page) => {
            assert.deepEqual(await ask(page, "strata.findings()"), findings);
            await page.locator("#tab-why").click();
            const card = page.locator("#panel-why .card").first();
            assert.match(await card.innerText(), /probe\.py:27 keep_hidden keeps 24 MiB more in every step/);
            assert.equal(await card.locator(".step-bar").count(), 6);
            await card.getByRole("button", { name: /^Show/ }).click();
            await until(async () => /focus=site_/.test(await page.evaluate(() => location.hash)), "the highlight");
            assert.match(await page.locator("#panel-why .why-foot").innerText(), /Growth was judged over 6 steps/);
        });
    });

    test("the tree opens, turns, and highlights what goes through a frame", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const before = await canvasPixels(page);
            await page.keyboard.press("3");
            await until(() => page.locator("#tree-rows > .row").first().isVisible(), "rows");
            assert.match(await page.locator("#tree-rows > .row").first().innerText(), /main\.py/);
            await page.locator("#tree-rows > .row", { hasText: "attention.py" }).first().click();
            await settle(page);
            assert.notDeepEqual((await canvasPixels(page)).rgba, before.rgba);
            await page.locator("#plot").focus();
            await page.keyboard.press("c");
            await until(async () => /tree=callers/.test(await page.evaluate(() => location.hash)), "callers");
        });
    });

    test("two marks are compared; the rows add up", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const box = await plotBox(page);
            await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
            await page.keyboard.press("m");
            await page.mouse.move(box.x + box.width * 0.7, box.y + 100);
            await page.keyboard.press("m");
            await until(() => page.locator("#compare-rows > .row").first().isVisible(), "rows");
            const hash = await until(async () => /a=e(\d+)&b=e(\d+)/.exec(await page.evaluate(() => location.hash)), "marks in the address");
            const { live } = replay("--curves", path.join(samples, "train.pickle"), 0);
            const delta = live[Number(hash[2]) + 1] - live[Number(hash[1]) + 1];
            assert.match(await page.locator("#panel-compare .why-foot").innerText(), new RegExp(`add up to ${delta.toLocaleString("en-US")} bytes`));
            // Back takes the marks away, one after the other.
            await page.waitForTimeout(1200);
            await setView(page, { from: 100, to: 400 });
            await until(() => page.evaluate(() => location.hash.includes("window=")), "the window");
            await page.keyboard.press("[");
            await until(async () => (await ask(page, "strata.view()")).from < 0, "the window before");
        });
    });

    test("areas: the same silhouette, and totals at the cursor", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const before = await canvasPixels(page);
            await page.locator("#view-category").click();
            await until(async () => /view=category/.test(await page.evaluate(() => location.hash)), "the address");
            const after = await canvasPixels(page);
            const ground = new Uint32Array(before.rgba.buffer, before.rgba.byteOffset)[before.width + 1];
            // A column has as much of areas as it had of bands, give or take the lines between them.
            const heights = (/** @type {{width: number, height: number, rgba: Uint8Array}} */ { width, height, rgba }) => {
                const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset);
                return Array.from({ length: width }, (_, x) => {
                    let painted = 0;
                    for (let y = 0; y < height; y++) if (pixels[y * width + x] !== ground) painted++;
                    return painted;
                });
            };
            const [bands, areas] = [heights(before), heights(after)];
            const off = bands.filter((height, x) => Math.abs(height - areas[x]) > 8).length;
            assert.ok(Math.max(...areas) > 100 && off < bands.length * 0.05, `${off} of ${bands.length} columns differ`);
            const box = await plotBox(page);
            await page.mouse.move(box.x + box.width / 2, box.y + box.height - 20);
            await until(async () => /activation|parameter/.test(await page.locator("#tip").innerText()), "totals");
        });
    });

    for (const scheme of /** @type {const} */ (["light", "dark"]))
        test(`axe finds nothing in any tab, ${scheme}`, async () => {
            const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
            await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
                for (const key of ["1", "2", "3", "4"]) {
                    await page.keyboard.press(key);
                    await settle(page);
                    await page.evaluate(axe);
                    const { violations } = /** @type {any} */ (await page.evaluate("axe.run()"));
                    assert.deepEqual(violations.map((/** @type {any} */ { id, nodes }) => [id, nodes[0].html.slice(0, 160)]), [], `tab ${key}`);
                }
            }, { colorScheme: scheme });
        });

    test("steps are compared with a click", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await page.keyboard.press("4");
            await until(async () => (await page.locator(".step-button").count()) === 4, "a button for each step");
            await page.locator(".step-button").nth(1).click({ modifiers: ["Shift"] });
            await until(async () => /a=s1/.test(await page.evaluate(() => location.hash)), "A");
        });
    });
});

describe("faults", { skip }, () => {
    test("a fault of the module is said in a sentence, with how to report it", async () => {
        const file = writePage(path.join(samples, "train.pickle"));
        const context = await browser.newContext();
        const page = await context.newPage();
        await page.goto(pathToFileURL(file).href);
        await ask(page, "strata.ready");
        await ask(page, "void setTimeout(() => { throw new WebAssembly.RuntimeError('unreachable'); })");
        await until(async () => /fault of its own \(unreachable\).*report it.*xxh128:/s.test(await page.locator("#failure").innerText()), "the sentence");
        await context.close();
    });
});

describe("words", { skip }, () => {
    test("a search that would never end is stopped and said so, and the page goes on", async () => {
        const name = `${"a".repeat(16384)}!`;
        const file = path.join(folder, "names.json");
        const event = (/** @type {string} */ action) => ({ action, addr: 4096, size: 1024, stream: 0, time_us: 1, frames: [{ filename: "a.py", line: 1, name }] });
        writeFileSync(file, JSON.stringify({ segments: [], device_traces: [[event("alloc"), event("free_requested"), event("free_completed")]] }));
        await withPage(writePage(file), async (page) => {
            await until(async () => /takes longer than/.test(await page.locator("#found").innerText()), "the sentence");
            const begin = Date.now();
            assert.deepEqual(await ask(page, 'strata.search("a.py")'), { allocations: 1, bytesAtPeak: 1024 });
            assert.ok(Date.now() - begin < 1500, "the next search is not held up");
        }, { hash: `#search=${encodeURIComponent("/(a+)+b/")}` });
    });

    test("one grammar for search and filter", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const all = (await ask(page, "strata.stats()")).allocations;
            const { allocations: large } = await ask(page, 'strata.search("size:>1MiB alive:peak")');
            await setView(page, { search: "", filter: { words: "size:>1MiB", atPeak: true } });
            assert.equal((await ask(page, "strata.stats()")).kept, large);
            await setView(page, { filter: {} });
            assert.equal((await ask(page, "strata.stats()")).kept, all);
            await setView(page, { filter: { leastBytes: "80GB" } });
            assert.equal((await ask(page, "strata.stats()")).kept, 0);
            await until(() => page.evaluate(() => location.hash.includes("80GB")), "the address has the filter");
            await ask(page, "void (location.hash = '#device=0')");
            await until(async () => (await ask(page, "strata.stats()")).kept === all, "an address without a filter takes it away");
        });
    });
});

/* ---- figures ---- */

describe("figures", { skip }, () => {
    test("summary() is the report's object of the device", async () => {
        const wanted = report(recording).devices;
        await withPage(writePage(recording), async (page) => {
            for (const device of wanted) {
                await setView(page, { device: device.device });
                const summary = await ask(page, "strata.summary()");
                // The report also knows what only it computes: growth, fragmentation, advice. What both say is equal.
                const { oom, top_at_peak, ...figures } = summary;
                assert.ok(Object.keys(figures).length >= 12, "all figures of the contract");
                for (const name of Object.keys(figures)) assert.deepEqual(figures[name], device[name], name);
                assert.deepEqual(oom, device.oom.map(({ event, requested_bytes, device_free_bytes }) => ({ event, requested_bytes, device_free_bytes })));
                const short = (/** @type {any[]} */ top) => top.map(({ bytes, count, site }) => ({ bytes, count, site }));
                assert.deepEqual(short(top_at_peak).slice(0, 20), short(device.top_at_peak));
            }
        });
    });

    test("200 points: pick() finds what the plain replay finds there", async () => {
        await withPage(writePage(recording), async (page) => {
            const ordinal = (await ask(page, "strata.view()")).device;
            const { events } = report(recording).devices.find((/** @type {any} */ device) => device.device === ordinal);
            for (const [from, to] of [[-1, events], [300, 700], [500, 520]]) {
                const view = await setView(page, { from, to });
                assert.deepEqual([view.from, view.to], [from, to]);
                await checkPicks(page, ordinal, view, 200);
            }
        });
    });

    test("search() counts what the plain replay counts", async () => {
        await withPage(writePage(recording), async (page) => {
            const ordinal = (await ask(page, "strata.view()")).device;
            for (const text of ["attention.py", "FORWARD", "注意", "</script>", "no such text"]) {
                const found = await ask(page, `strata.search(${JSON.stringify(text)})`);
                assert.deepEqual(found, replay("--search", recording, ordinal, text), text);
            }
        });
    });

    test("stats() accounts for every allocation", async () => {
        await withPage(writePage(recording), async (page) => {
            const stats = await ask(page, "strata.stats()");
            const summary = await ask(page, "strata.summary()");
            assert.equal(stats.allocations, summary.allocations);
            assert.ok(stats.drawn > 0 && stats.drawn + stats.merged <= stats.allocations);
            assert.ok(stats.frameMs.length > 0);
        });
    });
});

/** Top of the y axis in bytes, from the program that asks the layout code itself. */
function headroom(/** @type {number} */ ordinal, input = recording) {
    const output = run(String(process.env.STATE_DUMP), "--pick", input, ordinal, 10, 10, -1, 1, "0,0").toString();
    return Number(/^top (\d+)$/m.exec(output)?.[1]);
}

/** Random points of the plot, by a generator of its own so that a failure repeats. */
function randomPoints(/** @type {number} */ count, /** @type {number} */ width, /** @type {number} */ height) {
    let seed = 12345;
    const next = (/** @type {number} */ below) => {
        seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
        return Math.floor((seed / 2 ** 32) * below);
    };
    return Array.from({ length: count }, () => [next(width), next(height)]);
}

/** @param {import("playwright-core").Page} page @param {number} ordinal @param {{from: number, to: number}} view @param {number} count @param {string} [input] */
async function checkPicks(page, ordinal, view, count, input = recording) {
    const box = await plotBox(page);
    const [width, height] = [Math.round(box.width), Math.round(box.height)];
    const top = headroom(ordinal, input);
    // Most points below the highest total of the window: above it there is nothing to find.
    const { live } = replay("--curves", input, ordinal);
    const highest = live.slice(Math.max(view.from, 0), view.to + 1).reduce((/** @type {number} */ most, /** @type {number} */ bytes) => Math.max(most, bytes), 0);
    const used = Math.min(height, Math.ceil((1.2 * height * highest) / top));
    const points = randomPoints(count, width, used).map(([x, y]) => [x, y + height - used]);
    const got = await page.evaluate((points) => points.map(([x, y]) => window.strata.pick(x, y)), points);
    const wanted = replay("--pick", input, ordinal, width, height, view.from, view.to, 0, top,
                          ...points.map((point) => point.join(","))); // prettier-ignore
    let hits = 0;
    points.forEach((point, i) => {
        const allowed = wanted[i].lives.map((/** @type {any} */ life) => life && [life.allocation, life.bytes, life.birth, life.death]);
        const pick = got[i];
        const answer = pick && [pick.allocation, pick.bytes, pick.birth, pick.death];
        const where = `pixel ${point} of ${width}x${height}, event ${wanted[i].event}`;
        assert.ok(allowed.some((each) => JSON.stringify(each) === JSON.stringify(answer)),
                  `${where}: ${JSON.stringify(answer)} instead of ${JSON.stringify(allowed)}`); // prettier-ignore
        if (!pick) return;
        hits++;
        const life = wanted[i].lives.find((/** @type {any} */ each) => each?.allocation === pick.allocation);
        const frames = pick.stack.map((/** @type {any} */ frame) => [frame.file, frame.line ?? 0, frame.name]);
        assert.deepEqual(frames, life.frames, where);
    });
    assert.ok(hits > count / 5, `only ${hits} of ${count} points hit an allocation`);
}

/* ---- hostile text ---- */

describe("hostile names", { skip }, () => {
    const hostile = path.join(samples, "hostile_names.pickle");

    test("are shown as text and never run", async () => {
        const groups = report(hostile, "--top", "0").devices[0].top_at_peak;
        const nasty = groups.filter((/** @type {any} */ group) => /[<>&]/.test(group.site));
        assert.ok(nasty.length > 2, "the sample names something in angle brackets");
        await withPage(writePage(hostile), async (page) => {
            const scripts = await page.evaluate(() => document.querySelectorAll("script").length);
            assert.equal(await page.evaluate(() => document.querySelectorAll("img, iframe, object, embed, base").length), 0);
            const listed = await listedSites(page);
            assert.equal(listed.length, groups.length);
            for (const group of nasty) assert.ok(listed.includes(group.site), `${group.site} is in the list`);
            const box = await plotBox(page);
            for (const [x, y] of randomPoints(40, Math.round(box.width), Math.round(box.height)))
                await page.mouse.click(box.x + x, box.y + y);
            await ask(page, `strata.search(${JSON.stringify("<script>")})`);
            await settle(page);
            assert.equal(await page.evaluate(() => document.querySelectorAll("script").length), scripts);
            assert.equal(await page.evaluate(() => document.querySelectorAll("img, iframe, object, embed, base").length), 0);
        });
    });

    test("a hash full of nonsense leaves a page that works", async () => {
        const hash = "#device=99&window=nan_1e999&bytes=9_-1e400&at=-7&selected=1e12&focus=site,%3Cimg%20src=x%3E&search=%3Cscript%3E&color=%00";
        await withPage(writePage(hostile), async (page) => {
            const view = await ask(page, "strata.view()");
            assert.ok(view.from < view.to);
        }, { hash });
    });
});

/* ---- hands ---- */

describe("mouse and keys", { skip }, () => {
    /** @param {string} name @param {(page: import("playwright-core").Page) => Promise<void>} use */
    function onPage(name, use) {
        test(name, () => withPage(writePage(recording), use));
    }
    const view = (/** @type {import("playwright-core").Page} */ page) => ask(page, "strata.view()");
    const near = (/** @type {number} */ got, /** @type {number} */ wanted, /** @type {number} */ by) =>
        assert.ok(Math.abs(got - wanted) <= by, `${got} instead of ${wanted}`);

    onPage("the wheel zooms at the cursor", async (page) => {
        const box = await plotBox(page);
        const whole = await view(page);
        await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
        await page.mouse.wheel(0, -400);
        const closer = await until(async () => {
            const now = await view(page);
            return now.to - now.from < (whole.to - whole.from) * 0.95 && now;
        }, "zoom");
        await settle(page);
        const at = (/** @type {any} */ each) => each.from + (each.to - each.from) / 4;
        near(at(closer), at(whole), (whole.to - whole.from) * 0.01);
        await page.mouse.wheel(0, 4000);
        await until(async () => (await view(page)).to - (await view(page)).from > closer.to - closer.from, "zoom out");
    });

    onPage("a trackpad's gestures in Safari zoom at the cursor", async (page) => {
        const box = await plotBox(page);
        const before = await setView(page, { from: 300, to: 700 });
        const gesture = (/** @type {string} */ type, /** @type {number} */ scale) =>
            page.evaluate(
                ([type, scale, x, y]) => {
                    const event = new MouseEvent(String(type), { bubbles: true, cancelable: true, clientX: Number(x), clientY: Number(y) });
                    Object.defineProperty(event, "scale", { value: scale });
                    return document.elementFromPoint(Number(x), Number(y))?.dispatchEvent(event);
                },
                [type, scale, box.x + box.width / 4, box.y + 50],
            );
        for (const [type, scale] of /** @type {[string, number][]} */ ([["gesturestart", 1], ["gesturechange", 1.25], ["gesturechange", 2], ["gestureend", 2]]))
            assert.equal(await gesture(type, scale), false, "the browser does not zoom the page");
        await settle(page);
        const after = await view(page);
        near(after.to - after.from, 200, 0.01);
        near(after.from + 50, before.from + 100, 0.5);
        await gesture("gesturestart", 1);
        await gesture("gesturechange", 0.5);
        await settle(page);
        near((await view(page)).to - (await view(page)).from, 400, 0.01);
    });

    onPage("dragging pans", async (page) => {
        const box = await plotBox(page);
        const before = await setView(page, { from: 300, to: 700 });
        await page.mouse.move(box.x + 400, box.y + 100);
        await page.mouse.down();
        await page.mouse.move(box.x + 350, box.y + 100, { steps: 5 });
        await page.mouse.move(box.x + 300, box.y + 100, { steps: 5 });
        await page.mouse.up();
        await settle(page);
        const after = await view(page);
        near(after.from - before.from, (100 / box.width) * 400, 2);
        near(after.to - after.from, 400, 1e-6);
        assert.equal(after.selected, null, "a drag is not a click");
    });

    onPage("a double click shows the whole run again", async (page) => {
        const whole = await view(page);
        await setView(page, { from: 300, to: 700 });
        const box = await plotBox(page);
        await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height - 15);
        await until(async () => (await view(page)).to - (await view(page)).from === whole.to - whole.from, "whole run");
        assert.equal((await view(page)).selected, null, "and pins nothing");
    });

    /** A point where something with a stack lies. @param {import("playwright-core").Page} page */
    async function somewhere(page) {
        const box = await plotBox(page);
        for (const [x, y] of randomPoints(300, Math.round(box.width), Math.round(box.height))) {
            const pick = await page.evaluate(([x, y]) => window.strata.pick(x, y), [x, y]);
            if (pick && pick.stack.length > 1) return { x: box.x + x + 0.5, y: box.y + y + 0.5, pick };
        }
        throw new Error("nothing with a stack was found");
    }

    onPage("hovering names size and place", async (page) => {
        const { x, y, pick } = await somewhere(page);
        await page.mouse.move(x - 3, y);
        await page.mouse.move(x, y);
        const tip = page.locator("#tip");
        await until(() => tip.isVisible(), "a tip");
        await settle(page);
        const text = await tip.innerText();
        assert.match(text, /\d(\.\d+)?\s*(B|KiB|MiB|GiB|bytes)/);
        assert.ok(pick.stack.some((/** @type {any} */ frame) => text.includes(frame.name)), `a frame's name in: ${text}`);
    });

    onPage("a click pins the stack, Escape lets go", async (page) => {
        const { x, y, pick } = await somewhere(page);
        await page.mouse.click(x, y);
        await until(async () => (await view(page)).selected === pick.allocation, "the pin");
        await settle(page);
        const detail = await page.locator("#detail").innerText();
        const user = pick.stack.filter((/** @type {any} */ frame) => frame.file.startsWith("/home/ada/project"));
        for (const frame of user) assert.ok(detail.includes(frame.name), `${frame.name} in: ${detail}`);
        await page.keyboard.press("Escape");
        await until(async () => (await view(page)).selected === null, "no pin");
    });

    onPage("w, s, a, d, 0 and p move the window", async (page) => {
        await page.locator("#plot").focus();
        const width = async () => (await view(page)).to - (await view(page)).from;
        const whole = await width();
        await page.keyboard.press("w");
        await until(async () => (await width()) < whole, "w");
        await page.keyboard.press("w");
        const start = await view(page);
        await page.keyboard.press("d");
        await until(async () => (await view(page)).from > start.from, "d");
        await page.keyboard.press("a");
        await page.keyboard.press("a");
        await until(async () => (await view(page)).from < start.from, "a");
        const narrow = await width();
        await page.keyboard.press("s");
        await until(async () => (await width()) > narrow, "s");
        await page.keyboard.press("0");
        await until(async () => (await width()) === whole, "0");
        const { peak_event } = await ask(page, "strata.summary()");
        await page.keyboard.press("p");
        await until(async () => (await width()) < whole, "p");
        const now = await view(page);
        assert.ok(now.from <= peak_event && peak_event <= now.to, "the peak is in the window");
    });

    test("o goes to the moment without memory, and says what was missing", async () => {
        const file = path.join(samples, "oom.pickle");
        const [{ oom }] = report(file).devices;
        await withPage(writePage(file), async (page) => {
            // It opens at that moment, and says why before who.
            // What was lacking is the report's figure.
            const lacking = /([\d.]+ [KMG]iB)\s+were\s+lacking/.exec(run(strata, "report", path.join(samples, "oom.pickle")).toString())?.[1];
            assert.ok((await page.locator("#panel-why .card-title").first().innerText()).startsWith(`${lacking} short of`), lacking);
            assert.match(await page.locator("#panel-why .card").first().innerText(), /short of the 1\.5 GiB asked for[\s\S]*loss\.py:19[\s\S]*Asked for\s+1,570\.5 MiB/);
            await page.keyboard.press("p");
            await page.keyboard.press("2");
            await page.keyboard.press("o");
            await settle(page);
            assert.equal(await page.locator("#list-title").innerText(), "When memory ran out");
            const text = (await page.locator("#list-total").innerText()).replace(/\u00a0/g, " ");
            const gib = (/** @type {number} */ bytes) => String(Math.round((bytes / 2 ** 30) * 10) / 10);
            assert.ok(text.includes(`event ${oom[0].event.toLocaleString("en-US")}`), text);
            assert.ok(text.includes(`asked for ${gib(oom[0].requested_bytes)} GiB with ${oom[0].device_free_bytes / 2 ** 20} MiB free on the device`), text);
            const { from, to } = await view(page);
            assert.ok(from <= oom[0].event && oom[0].event <= to);
        });
    });

    onPage("/ searches, the matches are counted", async (page) => {
        await page.locator("#plot").focus();
        await page.keyboard.press("/");
        await page.keyboard.type("attention.py");
        const wanted = replay("--search", recording, (await view(page)).device, "attention.py");
        const found = page.locator("#found");
        await until(async () => (await found.innerText()).includes(wanted.allocations.toLocaleString("en-US")), "a count");
        assert.equal((await view(page)).search, "attention.py");
    });

    onPage("? lists the keys", async (page) => {
        await page.locator("#plot").focus();
        await page.keyboard.press("?");
        await until(() => page.locator("#keys-dialog").isVisible(), "the sheet");
        await page.keyboard.press("Escape");
        await until(async () => !(await page.locator("#keys-dialog").isVisible()), "no sheet");
    });

    onPage("the device menu switches the device", async (page) => {
        const devices = report(recording).devices;
        const first = (await view(page)).device;
        const other = devices.find((/** @type {any} */ device) => device.device !== first);
        const menu = page.locator("#device");
        const index = await menu.locator("option").evaluateAll(
            (options, ordinal) => options.findIndex((option) => (option.textContent ?? "").includes(String(ordinal))),
            other.device,
        ); // prettier-ignore
        await menu.selectOption({ index });
        await until(async () => (await view(page)).device === other.device, "the other device");
        await settle(page);
        assert.equal((await ask(page, "strata.summary()")).peak_bytes, other.peak_bytes);
        await checkPicks(page, other.device, await view(page), 50);
    });

    onPage("the hash restores the view", async (page) => {
        const { pick } = await somewhere(page);
        const wanted = await setView(page, { from: 200, to: 500, selected: pick.allocation, colorBy: "size" });
        await until(() => page.evaluate(() => location.hash.includes("200")), "the hash");
        await page.reload();
        await page.evaluate("strata.ready");
        assert.deepEqual(await view(page), wanted);
    });
});

/* ---- phases, filter, selection, legend, picture ---- */

/** A recording of the samples or of the corpus, or "" where the corpus is not here. */
function corpus(/** @type {string} */ name) {
    const folder = process.env.STRATA_CORPUS;
    const file = folder ? path.join(folder, name) : "";
    return file && existsSync(file) ? file : "";
}

/** Every allocation of the current device, as an expression for the page. */
const ALL = "Array.from({length: strata.stats().allocations}, (_, i) => strata.allocation(i))";

/** A snapshot as the recorder would write it, made by Python's own pickle. */
function writeSnapshot(/** @type {string} */ name, /** @type {string} */ expression) {
    const file = path.join(folder, name);
    run("python3", "-c", `import pickle,sys\npickle.dump(${expression}, open(sys.argv[1], "wb"))`, file);
    return file;
}

describe("phases", { skip }, () => {
    const train = path.join(samples, "train.pickle");

    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        test(`nested bands have names, a hover text and a range, ${colorScheme}`, async () => {
            await withPage(writePage(train), async (page) => {
                const marks = await ask(page, "strata.phases()");
                const outer = marks.find((/** @type {any} */ mark) => mark.name === "ProfilerStep#1");
                const inner = marks.filter((/** @type {any} */ mark) => mark.row === 1 && mark.from >= outer.from - 1 && mark.to <= outer.to + 1);
                assert.equal(outer.row, 0);
                assert.ok(inner.some((/** @type {any} */ mark) => mark.name === "backward"), "backward lies inside of the step");
                const box = await plotBox(page);
                await page.mouse.move(box.x + (outer.from + outer.to) / 2, box.y + box.height + 10);
                await until(async () => (await page.locator("#tip").innerText()).includes("ProfilerStep#1"), "the phase's tip");
                await page.mouse.down();
                await page.mouse.up();
                await until(() => page.locator("#range-tabs").isVisible(), "the selected range");
                const { range } = await ask(page, "strata.view()");
                assert.ok(Math.abs((range.to - range.from) / 2779 - (outer.to - outer.from) / box.width) < 0.01);
            }, { colorScheme });
        });
    }

    test("timers of the compiler are folded until asked for; partners may be missing", async () => {
        const file = writeSnapshot("phases.pickle", `(lambda t: {"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096 + i * 512, "size": 512, "stream": 0, "time_us": t + i * 10, "frames": []} for i in range(200)]], "external_annotations": [{"name": n, "stage": s, "device": 0, "time_us": t + at} for n, s, at in [("lost", "END", 5), ("step", "START", 100)] + [("_compile.compile_inner (dynamo_timed)", s, 200 + i * 8 + e * 5) for i in range(50) for e, s in enumerate(["START", "END"])] + [("forward", "START", 800), ("step", "END", 1500)]]})(1700000000000000)`);
        await withPage(writePage(file), async (page) => {
            const names = () => ask(page, "[...new Set(strata.phases().map((mark) => mark.name))].sort()");
            assert.deepEqual(await names(), ["forward", "step"]);
            const [step, forward] = await ask(page, '["step", "forward"].map((name) => strata.phases().find((mark) => mark.name === name))');
            assert.ok(Math.abs(step.to - forward.to) < 1, "what has no end of its own ends with what encloses it");
            assert.equal(await page.locator("#lane-fold").innerText(), "+50");
            await page.locator("#lane-fold").click();
            await until(async () => (await names()).includes("_compile.compile_inner (dynamo_timed)"), "the timers");
            assert.equal(await page.locator("#lane-fold").getAttribute("aria-pressed"), "true");
        });
    });

    test("earlier snapshots are marked", async () => {
        const file = writeSnapshot("snapshots.pickle", `{"segments": [], "device_traces": [[{"action": "snapshot" if i == 50 else "alloc", "addr": 4096 + i * 512, "size": 512, "stream": 0, "time_us": 1700000000000000 + i, "frames": []} for i in range(100)]]}`);
        await withPage(writePage(file), async (page) => {
            const mark = page.locator(".marker-snapshot");
            assert.equal(await mark.innerText(), "Snapshot");
            assert.match(String(await mark.getAttribute("title")), /event 50/);
        });
    });
});

describe("filter and selection", { skip }, () => {
    const train = path.join(samples, "train.pickle");

    test("a filter by size leaves the others out of stack, pick, list and counts", async () => {
        await withPage(writePage(train), async (page) => {
            const before = await canvasPixels(page);
            await page.locator("#filter-open").click();
            await page.locator("#filter-least-bytes").fill("16 MiB");
            await until(async () => /of 1,014 allocations/.test(await page.locator("#filter-count").innerText()), "the counts");
            await settle(page);
            const kept = await ask(page, `${ALL}.filter(({bytes}) => bytes >= 16 * 1024 ** 2).length`);
            assert.ok((await page.locator("#filter-count").innerText()).startsWith(`${kept.toLocaleString("en-US")} of`));
            assert.notDeepEqual((await canvasPixels(page)).rgba, before.rgba);
            const stats = await ask(page, "strata.stats()");
            assert.ok(stats.drawn + stats.merged <= kept);
            const box = await plotBox(page);
            for (const [x, y] of randomPoints(100, Math.round(box.width), Math.round(box.height))) {
                const pick = await page.evaluate(([x, y]) => window.strata.pick(x, y), [x, y]);
                assert.ok(!pick || pick.bytes >= 16 * 1024 ** 2, JSON.stringify(pick));
            }
            await page.locator("#filter-least-bytes").fill("16 miles");
            await until(async () => (await page.locator("#filter-least-bytes").getAttribute("aria-invalid")) === "true", "a complaint");
            await page.locator("#filter-reset").click();
            await settle(page);
            assert.deepEqual((await canvasPixels(page)).rgba, before.rgba, "all are back");
        });
    });

    test("lifetime, peak and end; the hash keeps the filter", async () => {
        await withPage(writePage(train), async (page) => {
            const lives = await ask(page, `${ALL}.map(({birth, death}) => [birth, death])`);
            const { peak_event: peak, live_at_peak, events } = await ask(page, "strata.summary()");
            const count = async (/** @type {object} */ filter) => {
                await setView(page, { filter: { leastAge: "", mostAge: "", atPeak: false, atEnd: false, ...filter } });
                return ask(page, "strata.stats().kept");
            };
            assert.equal(await count({ atPeak: true }), live_at_peak);
            assert.equal(await count({ atEnd: true }), lives.filter(([, death]) => death >= events).length);
            assert.equal(await count({ leastAge: "100", mostAge: "400" }), lives.filter(([birth, death]) => death - birth >= 100 && death - birth <= 400).length);
            const short = await count({ mostAge: "2 ms" });
            assert.ok(short > 0 && short < lives.length);
            await until(() => page.evaluate(() => location.hash.includes("age%3A%3C%3D2ms")), "the hash");
            await page.reload();
            await page.evaluate("strata.ready");
            assert.equal(await ask(page, "strata.stats().kept"), short);
            assert.ok(peak >= 0);
        });
    });

    test("ten streams and private pools: by stream and by pool", async (t) => {
        for (const [name, menu] of [["ten_streams_no_time_us.pickle", "stream"], ["private_pools.pickle", "pool"]]) {
            const file = menu === "pool" ? path.join(samples, name) : corpus(name);
            if (!file) {
                t.diagnostic(`skipped: ${name} is not here`);
                continue;
            }
            await withPage(writePage(file), async (page) => {
                await page.locator("#filter-open").click();
                const options = await page.locator(`#filter-${menu} option`).count();
                let sum = 0;
                for (let i = 0; i < options - 1; i++) {
                    await page.locator(`#filter-${menu}`).selectOption(String(i));
                    sum += await ask(page, "strata.stats().kept");
                }
                assert.ok(options > 2);
                assert.equal(sum, (await ask(page, "strata.stats()")).allocations, `every allocation is of one ${menu}`);
                await page.keyboard.press("Escape");
                await page.locator("#color").selectOption(menu);
                await until(async () => (await page.locator("#legend").innerText()).includes(menu), "the legend");
            });
        }
    });

    test("a selected range is summed up: allocated, freed, highest", async () => {
        await withPage(writePage(train), async (page) => {
            const box = await plotBox(page);
            await page.keyboard.down("Shift");
            await page.mouse.move(box.x + box.width * 0.2, box.y + 200);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width * 0.5, box.y + 210, { steps: 4 });
            await page.mouse.up();
            await page.keyboard.up("Shift");
            await page.mouse.move(5, 5);
            await settle(page);
            const { first, end } = await ask(page, "(({from, to}) => ({first: from, end: to}))(strata.view().range)");
            const sums = await ask(page, `(() => {
                const within = (event) => event >= ${first} && event < ${end};
                const sum = { born: [0, 0], freed: [0, 0] };
                for (const { bytes, birth, death } of ${ALL}) {
                    if (within(birth)) sum.born = [sum.born[0] + 1, sum.born[1] + bytes];
                    if (within(death)) sum.freed = [sum.freed[0] + 1, sum.freed[1] + bytes];
                }
                return sum;
            })()`);
            assert.ok(sums.born[0] > 0 && sums.freed[0] > 0);
            for (const of of ["born", "freed"]) {
                await page.locator(`#range-${of}`).click();
                await settle(page);
                const total = page.locator("#list-total");
                assert.match(await total.innerText(), new RegExp(` in ${sums[of][0].toLocaleString("en-US")} allocation`));
                assert.equal(await total.getAttribute("title"), `${sums[of][1].toLocaleString("en-US")} bytes`);
            }
            await page.locator("#range-peak").click();
            await settle(page);
            const { live } = replay("--curves", train, 0);
            const peak = live.indexOf(Math.max(...live.slice(first + 1, end + 1)), first + 1) - 1;
            assert.ok((await page.locator("#list-total").innerText()).includes(`event ${peak.toLocaleString("en-US")}`));
        });
    });
});

describe("what a filter leaves", { skip }, () => {
    const train = path.join(samples, "train.pickle");

    /** For each column of the overview the rows of pixels that a colour fills, from the lower edge. @param {import("playwright-core").Page} page @param {string} name */
    async function filledRows(page, name) {
        return page.evaluate((name) => {
            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("minimap-canvas"));
            const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
            const wanted = [1, 3, 5].map((at) => parseInt(String(context.fillStyle).slice(at, at + 2), 16));
            const rows = Array.from({ length: canvas.width }, (_, x) => {
                let count = 0;
                for (let y = 0; y < canvas.height; y++) {
                    const at = (y * canvas.width + x) * 4;
                    if (data[at + 3] === 255 && wanted.every((value, i) => data[at + i] === value)) count++;
                }
                return count;
            });
            return { rows, height: canvas.height };
        }, name);
    }

    test("is said, drawn in the overview, and undone with one click", async () => {
        await withPage(writePage(train), async (page) => {
            const strip = page.locator("#filtered");
            assert.equal(await strip.isVisible(), false);
            const whole = await filledRows(page, "--curve");
            await setView(page, { filter: { leastBytes: "64 MiB" } });
            const lives = await ask(page, `${ALL}.filter(({ bytes }) => bytes >= 2 ** 26)`);
            const { peak_event: peak } = await ask(page, "strata.summary()");
            const bytes = lives.filter(({ birth, death }) => birth <= peak && peak < death).reduce((sum, life) => sum + life.bytes, 0);
            const text = await strip.innerText();
            assert.ok(text.startsWith(`Filtered: ${lives.length} of 1,014 allocations \u00b7 ${(bytes / 2 ** 30).toFixed(1)} GiB of 7.3 GiB at the peak`), text);
            const some = await filledRows(page, "--curve");
            const smaller = some.rows.filter((rows, x) => rows < whole.rows[x]).length;
            assert.ok(smaller > some.rows.length / 2 && some.rows.every((rows, x) => rows <= whole.rows[x]), `${smaller} of ${some.rows.length} columns are lower`);
            const pale = await filledRows(page, "--curve-pale");
            assert.ok(pale.rows.some((rows) => rows > 3), "the whole stays behind it");
            await page.locator("#filtered-reset").click();
            await settle(page);
            assert.equal(await strip.isVisible(), false);
            assert.deepEqual(await filledRows(page, "--curve"), whole);
        });
    });

    test("has a scale of its own where it would be flat", async () => {
        await withPage(writePage(train), async (page) => {
            await setView(page, { filter: { mostBytes: "64 KiB" } });
            const lives = await ask(page, `${ALL}.filter(({ bytes }) => bytes <= 2 ** 16).map(({ bytes, birth, death }) => [bytes, birth, death])`);
            const { events } = await ask(page, "strata.summary()");
            const change = new Array(events + 2).fill(0);
            for (const [bytes, birth, death] of lives) {
                change[birth + 1] += bytes;
                change[death + 1] -= bytes;
            }
            let [live, highest, at] = [0, 0, 0];
            change.forEach((bytes, moment) => {
                live += bytes;
                if (live > highest) [highest, at] = [live, moment - 1];
            });
            const { rows, height } = await filledRows(page, "--curve");
            assert.ok(Math.abs(Math.max(...rows) - (height * 16) / 17) <= 2, `${Math.max(...rows)} of ${height} pixels`);
            await setView(page, { from: at - 5, to: at + 5 });
            const box = await plotBox(page);
            const edge = box.height / 17;
            const pick = (/** @type {number} */ y) => page.evaluate(([x, y]) => window.strata.pick(x, y), [box.width * 0.55, y]);
            assert.equal(await pick(edge - 3), null, "nothing lies above the highest moment");
            assert.ok((await pick(edge + 3))?.bytes <= 2 ** 16, "the highest moment reaches the top");
            await setView(page, { filter: { leastBytes: "1 PiB" } });
            assert.match(await page.locator("#filtered").innerText(), /^No allocation passes the filter/);
        });
    });
});

describe("what is known of an allocation", { skip }, () => {
    test("phase, compiled region, metadata and generated code are shown and found", async () => {
        await withPage(writePage(path.join(samples, "user_metadata_annotate.pickle")), async (page) => {
            const wanted = JSON.parse(run("python3", "-c", `
import json, pickle, sys
snapshot = pickle.load(open(sys.argv[1], "rb"))
events = snapshot["device_traces"][0]
index = next(i for i, e in enumerate(events) if e["action"] == "alloc" and any("fx_node_name" in f for f in e["frames"]) and e.get("user_metadata"))
event = events[index]
open_phases = []
for mark in snapshot["external_annotations"]:
    if mark["time_us"] <= event["time_us"]:
        if mark["stage"] == "START": open_phases.append(mark["name"])
        else: open_phases.remove(mark["name"])
json.dump({"event": index, "frame": next(f for f in event["frames"] if "fx_node_name" in f), "phases": open_phases,
           "context": event.get("compile_context", ""), "metadata": event["user_metadata"]}, sys.stdout, default=str)`, path.join(samples, "user_metadata_annotate.pickle")).toString());
            const life = await ask(page, `${ALL}.find(({ birth }) => birth === ${wanted.event}).allocation`);
            await setView(page, { selected: life });
            const detail = await page.locator("#detail").innerText();
            const { fx_node_name: name, fx_node_op: op, fx_original_trace: original } = wanted.frame;
            assert.ok(detail.includes(`${name}: ${op}`), detail);
            for (const line of original.trim().split("\n")) assert.ok(detail.includes(line.trim()), line);
            assert.ok(wanted.phases.length > 0 && detail.includes(wanted.phases.join(" \u203a ")), `${wanted.phases} in ${detail}`);
            assert.ok(detail.includes(wanted.context) && detail.includes("Metadata"));
            await page.evaluate(() => { window.copied = ""; navigator.clipboard.writeText = async (text) => void (window.copied = text); });
            await page.locator("#detail-copy").click();
            const copied = String(await until(() => page.evaluate("copied"), "the copy"));
            assert.ok(copied.includes(`[${name}: ${op}`), copied);
            const found = await ask(page, `strata.search(${JSON.stringify(original.trim().split("\n").at(-1).trim())})`);
            assert.ok(found.allocations > 0, "the model's code behind generated code is found");
        });
    });

    test("what the file does not say is left out", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            await setView(page, { selected: 5 });
            const names = await page.locator("#detail dt").allInnerTexts();
            assert.ok(names.includes("Stream") && !names.includes("Pool") && !names.includes("Metadata"), String(names));
        });
        const timeline = corpus("memory_timeline_adam.raw.json.gz");
        if (!timeline) return;
        await withPage(writePage(timeline), async (page) => {
            assert.equal(await page.locator("#reserved").isVisible(), false);
            assert.equal(await page.locator("#group-by").isVisible(), false);
            assert.equal(await page.locator("#list-what").innerText(), "Category");
            const swatches = await page.locator("#list > .row:not([hidden]) .swatch").evaluateAll((all) => all.map((each) => getComputedStyle(each).backgroundColor));
            const legend = await page.locator("#legend .swatch").evaluateAll((all) => all.map((each) => getComputedStyle(each).backgroundColor));
            assert.ok(swatches.length > 3 && swatches.every((color) => legend.includes(color)), `${swatches} in ${legend}`);
        });
    });
});

describe("long lists", { skip }, () => {
    const nSites = 200_000;

    test(`${nSites} call sites: rows in sight, keys, a pointer`, async () => {
        // Site i holds more than site i + 1, so that the order is known.
        const file = writeSnapshot("sites.pickle", `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096 + (i << 30), "size": 512 * (${nSites} - i), "stream": 0, "time_us": 1700000000000000 + i, "frames": [{"filename": "site.py", "line": i + 1, "name": "f"}]} for i in range(${nSites})]]}`);
        await withPage(writePage(file), async (page) => {
            const list = page.locator("#list-scroll");
            const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
            /** Rows in sight: index, name, and whether they lie between the head and the lower edge. */
            const seen = () => page.evaluate(() => {
                const box = /** @type {HTMLElement} */ (document.getElementById("list-scroll")).getBoundingClientRect();
                const head = /** @type {HTMLElement} */ (document.querySelector(".list-head")).getBoundingClientRect();
                return Array.from(document.querySelectorAll("#list > .row:not([hidden])"), (row) => {
                    const { top, bottom } = row.getBoundingClientRect();
                    return { index: Number(row.getAttribute("aria-rowindex")) - 2, name: row.querySelector(".row-text")?.textContent, whole: top >= head.bottom - 1 && bottom <= box.bottom + 1 };
                }).filter(({ whole }) => whole);
            });
            const active = async () => {
                const id = String(await list.getAttribute("aria-activedescendant"));
                const index = Number(await page.locator(`#${id}`).getAttribute("aria-rowindex")) - 2;
                assert.ok((await seen()).some((row) => row.index === index), `row ${index} is in sight`);
                return index;
            };
            const press = async (/** @type {string} */ key) => {
                await page.keyboard.press(key);
                await settle(page);
                return active();
            };
            assert.equal(await list.getAttribute("aria-rowcount"), String(nSites + 1));
            const before = await elements();
            await page.keyboard.press("/");
            for (let i = 0; i < 30 && !(await page.evaluate(() => document.activeElement?.id === "list-scroll")); i++) await page.keyboard.press("Tab");
            await settle(page);
            assert.equal(await active(), 0, "the list is reached by Tab, and shows where the arrows begin");
            assert.equal(await press("ArrowDown"), 1);
            const page1 = await press("PageDown");
            assert.ok(page1 > 5 && page1 < 40, `PageDown: ${page1}`);
            assert.equal(await press("End"), nSites - 1);
            const last = (await seen()).at(-1);
            assert.deepEqual([last?.index, last?.name], [nSites - 1, `site.py:${nSites} f`]);
            assert.equal(await press("ArrowUp"), nSites - 2);
            await page.keyboard.press("Enter");
            await settle(page);
            assert.equal(await page.locator("#list > .row:not([hidden])[aria-selected=true]").getAttribute("aria-rowindex"), String(nSites));
            assert.match(await page.locator("#detail").innerText(), new RegExp(`site\\.py:${nSites - 1}\\b`));
            assert.equal(await press("Home"), 0);
            // Any place can be reached with the scroll bar, and what lies there is whole and in order.
            for (const share of [0.25, 0.5, 0.9]) {
                await list.evaluate((scroll, share) => void (scroll.scrollTop = (scroll.scrollHeight - scroll.clientHeight) * share), share);
                await settle(page);
                const rows = await seen();
                assert.ok(rows.length > 2 && rows.every(({ index, name }, i) => index === rows[0].index + i && name === `site.py:${index + 1} f`));
                assert.ok(Math.abs(rows[0].index / nSites - share) < 0.001, `${rows[0].index} at ${share}`);
            }
            const box = await list.boundingBox();
            const middle = (await seen())[1];
            await page.locator(`#list > .row[aria-rowindex="${middle.index + 2}"]`).click();
            await settle(page);
            assert.equal(await page.locator("#list > .row:not([hidden])[aria-selected=true] .row-text").innerText(), middle.name);
            assert.ok(box && (await elements()) - before < 120, `${before} elements, then ${await elements()}`);
        }, { viewport: { width: 1200, height: 800 } });
    });
});

describe("search in what was noted with allocations", { skip }, () => {
    test("an invalid expression says why, and fades nothing", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const before = await canvasPixels(page);
            await page.locator("#search").fill("/forward(/");
            await until(async () => /^Not a regular expression: \S/.test(await page.locator("#found").innerText()), "the reason");
            await settle(page);
            assert.equal(await page.locator("#search").getAttribute("aria-invalid"), "true");
            assert.equal(await page.locator("#search-next").isVisible(), false);
            assert.deepEqual((await canvasPixels(page)).rgba, before.rgba);
            // A highlight from before comes back as it was, although another search was drawn in between.
            const row = page.locator("#list > .row").first();
            await page.locator("#search").fill("");
            await until(async () => (await ask(page, "strata.view().search")) === "", "no search");
            await row.click();
            await settle(page);
            const highlighted = await canvasPixels(page);
            await page.locator("#search").fill("forward");
            await until(async () => /^\d+ allocations/.test(await page.locator("#found").innerText()), "a count");
            await page.locator("#search").fill("/forward(/");
            await until(async () => /^Not a regular/.test(await page.locator("#found").innerText()), "the reason again");
            await row.click();
            await settle(page);
            assert.deepEqual((await canvasPixels(page)).rgba, highlighted.rgba);
            await page.locator("#search").fill("/forward$/");
            await until(async () => /^\d+ allocations/.test(await page.locator("#found").innerText()), "the count");
            await settle(page);
            assert.notDeepEqual((await canvasPixels(page)).rgba, before.rgba);
        });
    });

    test("metadata and compile context match", async (t) => {
        const inputs = [[path.join(samples, "user_metadata_annotate.pickle"), "user_metadata"], [corpus("streams_compile_context.pickle"), "compile_context"]];
        for (const [file, field] of inputs) {
            if (!file || !existsSync(file)) {
                t.diagnostic(`skipped: no file with ${field}`);
                continue;
            }
            await withPage(writePage(file), async (page) => {
                const name = field === "user_metadata" ? "userMetadata" : "compileContext";
                const texts = await ask(page, `${ALL}.map((each) => each.${name})`);
                const text = texts.find((/** @type {string} */ each) => each !== "")?.slice(0, 20);
                assert.ok(text, `something has ${field}`);
                const found = await ask(page, `strata.search(${JSON.stringify(text)})`);
                const wanted = texts.filter((/** @type {string} */ each) => each.toLowerCase().includes(text.toLowerCase())).length;
                assert.ok(found.allocations >= wanted && wanted > 0, `${found.allocations} found, ${wanted} with it`);
                await page.locator("#search-next").click();
                const first = (await ask(page, "strata.view()")).selected;
                assert.notEqual(first, null);
                await page.locator("#search-next").click();
                const second = (await ask(page, "strata.view()")).selected;
                await page.locator("#search-previous").click();
                assert.equal((await ask(page, "strata.view()")).selected, first);
                assert.ok(found.allocations === 1 || second > first);
            });
        }
    });
});

describe("legend, picture and link", { skip }, () => {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        test(`legends show the raster's colours, ${colorScheme}`, async () => {
            await withPage(writePage(path.join(samples, "streams.pickle")), async (page) => {
                for (const color of ["size", "age", "stream", "category"]) {
                    await setView(page, { colorBy: color });
                    const swatches = await page.locator("#legend .swatch, #legend .legend-step i").evaluateAll((all) => all.map((each) => getComputedStyle(each).backgroundColor));
                    assert.ok(swatches.length >= 2, `${color}: ${swatches.length} colours`);
                    const { rgba } = await canvasPixels(page);
                    /** @type {Map<string, number>} */
                    const shown = new Map();
                    for (let i = 0; i < rgba.length; i += 4) {
                        const rgb = `rgb(${rgba[i]}, ${rgba[i + 1]}, ${rgba[i + 2]})`;
                        shown.set(rgb, (shown.get(rgb) ?? 0) + 1);
                    }
                    const pixels = swatches.reduce((sum, swatch) => sum + (shown.get(swatch) ?? 0), 0);
                    assert.ok(pixels > rgba.length / 4 / 20, `${color}: ${pixels} pixels have a colour of the legend`);
                }
            }, { colorScheme });
        });

        test(`Save PNG saves what is shown, ${colorScheme}`, async () => {
            await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
                const canvas = await canvasPixels(page);
                const waiting = page.waitForEvent("download");
                await page.locator("#save").click();
                const download = await waiting;
                assert.equal(download.suggestedFilename(), "train-device0.png");
                const png = decodePng(readFileSync(await download.path()));
                const plotted = cropPng(png, 66, 52 + 30, canvas.width, canvas.height);
                const strange = plotted.filter((/** @type {number} */ value, /** @type {number} */ i) => value !== canvas.rgba[i]).length;
                // Markers and names of lines lie on top of it.
                assert.ok(strange < plotted.length * 0.02, `${strange} of ${plotted.length} values differ`);
            }, { colorScheme });
        });
    }

    test("Copy link copies an address that restores the view", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await setView(page, { from: 300, to: 900, colorBy: "age", filter: { leastBytes: "1M" } });
            await page.evaluate(() => { window.copied = ""; navigator.clipboard.writeText = async (text) => void (window.copied = text); });
            await page.locator("#link").click();
            const link = await until(() => page.evaluate("copied"), "the link");
            assert.match(link, /^file:.*#.*window=300_900.*filter=size%3A%3E%3D1M/);
            assert.equal(await page.locator("#link").innerText(), "Copied");
        });
    });
});

describe("fingers", { skip }, () => {
    test("one pans, two zoom", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const client = await page.context().newCDPSession(page);
            const box = await plotBox(page);
            const touch = (/** @type {string} */ type, /** @type {number[]} */ ...xs) =>
                client.send("Input.dispatchTouchEvent", { type: /** @type {any} */ (type), touchPoints: xs.map((x, id) => ({ x: box.x + x, y: box.y + 150, id })) });
            await setView(page, { from: 500, to: 1500 });
            await touch("touchStart", 400);
            for (const x of [380, 340, 300]) await touch("touchMove", x);
            await touch("touchEnd");
            await settle(page);
            const panned = await ask(page, "strata.view()");
            assert.ok(panned.from > 560 && Math.abs(panned.to - panned.from - 1000) < 1, JSON.stringify(panned));
            const at = (/** @type {any} */ view, /** @type {number} */ x) => view.from + (x / box.width) * (view.to - view.from);
            await touch("touchStart", 300);
            await touch("touchStart", 300, 500);
            for (const spread of [20, 60, 100]) await touch("touchMove", 300 - spread, 500 + spread);
            await touch("touchEnd");
            await settle(page);
            const zoomed = await ask(page, "strata.view()");
            assert.ok(Math.abs((zoomed.to - zoomed.from) - 500) < 25, JSON.stringify(zoomed));
            assert.ok(Math.abs(at(zoomed, 400) - at(panned, 400)) < 20, "what was between the fingers stays there");
            assert.equal(zoomed.selected, null);
        }, { hasTouch: true });
    });
});

describe("little or nothing to see", { skip }, () => {
    test("a single event says why", async () => {
        await withPage(writePage(path.join(samples, "one_event.pickle")), async (page) => {
            assert.match(await page.locator("#note").innerText(), /single event/);
            assert.ok(colorsOf((await canvasPixels(page)).rgba) > 3, "the state is drawn all the same");
        });
    });

    test("no history at all", async () => {
        const file = writeSnapshot("static.pickle", `{"segments": [{"device": 0, "address": 4096, "total_size": 2097152, "allocated_size": 1048576, "active_size": 1048576, "requested_size": 1048576, "stream": 0, "segment_type": "large", "blocks": [{"size": 1048576, "requested_size": 1048576, "address": 4096, "state": "active_allocated", "frames": []}, {"size": 1048576, "requested_size": 0, "address": 1052672, "state": "inactive", "frames": []}]}], "device_traces": [[]]}`);
        await withPage(writePage(file), async (page) => {
            assert.match(await page.locator("#note").innerText(), /No history was recorded/);
            assert.equal(await page.locator("#list-title").innerText(), "Final state");
            assert.ok(colorsOf((await canvasPixels(page)).rgba) > 1);
        });
    });

    for (const name of ["torch2.0_history_one_event.pickle", "one_event_gigabytes_live.pickle", "private_pools_empty_trace.pickle", "oom_expandable_4dev.pickle", "streams_compile_context.pickle", "compile_context_annotations.pickle"]) {
        for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
            test(`${name}, ${colorScheme}`, async (t) => {
                const file = corpus(name);
                if (!file) return t.skip("STRATA_CORPUS is not set");
                const devices = report(file).devices;
                await withPage(writePage(file), async (page) => {
                    for (const device of devices) {
                        await setView(page, { device: device.device });
                        assert.equal(await page.locator("#note").isVisible(), device.events < 2 || device.allocations === 0, `device ${device.device}`);
                        assert.equal((await ask(page, "strata.summary()")).peak_bytes, device.peak_bytes);
                        assert.equal(await page.locator("#oom").isVisible(), device.oom.length > 0);
                        if (device.peak_bytes > 0) assert.ok(colorsOf((await canvasPixels(page)).rgba) > 1);
                    }
                }, { colorScheme });
            });
        }
    }
});

describe("fluid", { skip }, () => {
    test("hovering does not draw the stack again", async () => {
        await withPage(writePage(recording), async (page) => {
            const box = await plotBox(page);
            const draws = () => ask(page, "strata.stats().draws");
            await settle(page);
            const before = await draws();
            for (let i = 0; i < 20; i++) await page.mouse.move(box.x + 20 + 20 * i, box.y + box.height - 40 - i);
            await settle(page);
            assert.equal(await draws(), before);
            await page.mouse.wheel(0, -200);
            await until(async () => (await draws()) > before, "a zoom draws");
            const stats = await ask(page, "strata.stats()");
            assert.ok(stats.memoryBytes >= 65536 && stats.memoryBytes % 65536 === 0);
            assert.ok(await page.evaluate(() => document.querySelectorAll("*").length) < 2500, "elements do not grow with allocations");
        });
    });
});

describe("deep stacks", { skip }, () => {
    test("thousands of frames are folded, and unfold", async () => {
        const file = writeSnapshot("deep.pickle", `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 1700000000000000, "frames": [{"filename": "tree.py", "line": 10 + i % 7, "name": f"walk_{i}"} for i in range(3000)]}, {"action": "free_completed", "addr": 4096, "size": 512, "stream": 0, "time_us": 1700000000000001, "frames": []}]]}`);
        await withPage(writePage(file), async (page) => {
            await setView(page, { selected: 0 });
            assert.ok(await page.evaluate(() => document.querySelectorAll("*").length) < 1500);
            const detail = page.locator("#detail");
            assert.match(await detail.innerText(), /walk_0\b[^]*2,800 further frames/);
            await detail.locator("summary").last().click();
            await until(async () => /walk_2999\b/.test(await detail.innerText()), "the outermost frame");
        });
    });
});

describe("a million events", { skip }, () => {
    /** More than this no page needs, whatever it shows. */
    const ELEMENTS_MOST = 700;

    test("open, hover, pick, zoom, pan, search and list", async () => {
        const file = path.join(folder, "million.pickle");
        run("python3", path.join(samples, "generate.py"), "--story", "train", "--events", 1_000_000, "-o", file);
        const [device] = report(file).devices;
        assert.ok(device.events >= 1_000_000);
        await withPage(writePage(file), async (page) => {
            const stats = () => ask(page, "strata.stats()");
            const view = () => ask(page, "strata.view()");
            const elements = async () => {
                const count = await page.evaluate(() => document.querySelectorAll("*").length);
                assert.ok(count < ELEMENTS_MOST, `${count} elements`);
            };
            assert.equal((await stats()).allocations, device.allocations);
            assert.equal((await ask(page, "strata.summary()")).peak_bytes, device.peak_bytes);
            assert.ok(colorsOf((await canvasPixels(page)).rgba) > 20, "the picture is not empty");
            await elements();
            await checkPicks(page, device.device, await view(), 60, file);

            // The pointer: what it says is what pick() finds, and the stack is not drawn again.
            const box = await plotBox(page);
            const { draws } = await stats();
            let named = 0;
            for (const [x, y] of randomPoints(30, Math.round(box.width), Math.round(box.height))) {
                await page.mouse.move(box.x + x + 0.5, box.y + y + 0.5);
                await settle(page);
                const pick = await page.evaluate(([x, y]) => window.strata.pick(x, y), [x, y]);
                assert.equal(await page.locator("#tip").isVisible(), pick !== null);
                if (!pick) continue;
                named++;
                const site = (await page.locator("#tip .tip-site").innerText()).replace(/^\S+:\d+ /, "");
                const size = await page.locator("#tip .tip-head").evaluate((head) => head.firstChild?.textContent ?? "");
                const [number, unit] = size.split(" ");
                const bytes = Number(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(unit);
                assert.ok(Math.abs(bytes - pick.bytes) <= pick.bytes * 0.05, `${size} for ${pick.bytes} bytes`);
                // C++ functions are named without their arguments, what backward asked for by its node.
                const node = /^backward of (.+)$/.exec(site)?.[1];
                assert.ok(pick.stack.some((/** @type {any} */ frame) => (node ? frame.name.includes(node) : frame.name.startsWith(site))), site);
            }
            assert.ok(named > 10, `${named} of 30 points hit an allocation`);
            assert.equal((await stats()).draws, draws, "hovering draws no stack");

            // The wheel, then a drag: what is under the cursor stays there.
            const at = (/** @type {any} */ each) => each.from + (each.to - each.from) / 3;
            const whole = await view();
            await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
            for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -300);
            const near = await until(async () => {
                const now = await view();
                return now.to - now.from < (whole.to - whole.from) / 30 && now;
            }, "the wheel zooms");
            assert.ok(Math.abs(at(near) - at(whole)) < (near.to - near.from) * 0.02, JSON.stringify(near));
            await page.mouse.down();
            await page.mouse.move(box.x + box.width / 3 - 100, box.y + box.height / 2, { steps: 5 });
            await page.mouse.up();
            await settle(page);
            const panned = await view();
            assert.ok(Math.abs((panned.from - near.from) / (near.to - near.from) - 100 / box.width) < 0.01, JSON.stringify(panned));
            await checkPicks(page, device.device, await setView(page, { from: 500_000, to: 500_600 }), 60, file);

            // Search counts all of them, wherever the window is.
            await page.keyboard.press("/");
            await page.keyboard.type("attention.py");
            const wanted = replay("--search", file, device.device, "attention.py");
            await until(async () => (await page.locator("#found").innerText()).startsWith(`${wanted.allocations.toLocaleString("en-US")} allocation`), "the count");
            assert.deepEqual(await ask(page, 'strata.search("attention.py")'), wanted);
            await page.keyboard.press("Enter");
            await settle(page);
            const { selected } = await view();
            const found = await page.evaluate((life) => window.strata.allocation(Number(life)), selected);
            assert.ok(found.stack.some((/** @type {any} */ frame) => frame.file.includes("attention.py")));

            // Every stack of the run in one list.
            await page.keyboard.press("Escape");
            await page.locator("#group-stack").click();
            await setView(page, { selected: null, range: { from: 0, to: device.events } });
            const rows = Number(await page.locator("#list-scroll").getAttribute("aria-rowcount")) - 1;
            assert.ok(rows > 1000, `${rows} rows`);
            assert.ok((await page.locator("#list > .row").count()) < 80);
            await elements();
        });
    });
});

/* ---- what the command line says ---- */

describe("pages of a command line", { skip }, () => {
    test("a page of limited size says what is merged", async () => {
        const file = path.join(folder, "limited.pickle");
        run("python3", path.join(samples, "generate.py"), "--story", "train", "--events", 40_000, "-o", file);
        const whole = readFileSync(writePage(file)).length;
        const [device] = report(file).devices;
        await withPage(writePage(file, "--max-html-size", String(Math.round(whole * 0.9))), async (page) => {
            await page.locator("#trust").click();
            await until(async () => (await page.locator("#trust-body").innerText()).includes("To keep the page below"), "the note");
            await page.keyboard.press("Escape");
            assert.match(await page.locator("#drawn").innerText(), new RegExp(`bands of ${device.allocations.toLocaleString("en-US")} allocations in view`));
            assert.equal((await ask(page, "strata.summary()")).peak_bytes, device.peak_bytes);
            // Some band of many is found, pinned, and says so.
            const bands = (await ask(page, "strata.stats()")).allocations;
            let many = 0;
            for (let life = 0; life < bands && !many; life += 7) {
                await setView(page, { selected: life });
                const facts = await page.locator("#detail").innerText();
                if (/allocations of this stack and time/.test(facts)) many = life;
            }
            assert.ok(many, "a merged band");
            assert.doesNotMatch(await page.locator("#detail").innerText(), /Address/);
        });
    });

    test("a page opens with the view that was asked for", async () => {
        const oom = path.join(samples, "oom.pickle");
        const [device] = report(oom).devices;
        await withPage(writePage(oom, "--from", "oom-300", "--to", "oom+10", "--hide-internal"), async (page) => {
            const view = await ask(page, "strata.view()");
            const { event } = device.oom[0];
            assert.deepEqual([view.from, view.to], [event - 300, Math.min(event + 10, device.events)]);
            assert.equal(view.filter.own, true);
            assert.ok(await page.locator("#filter-own").isChecked());
            const { kept, allocations } = await ask(page, "strata.stats()");
            assert.ok(kept > 0 && kept < allocations, `${kept} of ${allocations}`);
            await page.keyboard.press("0");
            await settle(page);
            assert.ok((await ask(page, "strata.view()")).from <= 0);
        });
    });

    test("a browser that cannot unpack the page says so", async () => {
        const context = await browser.newContext();
        try {
            const page = await context.newPage();
            await page.addInitScript("delete window.DecompressionStream");
            await page.goto(pathToFileURL(writePage(path.join(samples, "train.pickle"))).href);
            await until(async () => (await page.locator("#failure").innerText()).includes("no DecompressionStream"), "the sentence");
            assert.ok(await page.locator("#loading").isHidden());
            assert.match(await page.evaluate("strata.ready.then(() => '', (error) => error.message)"), /no DecompressionStream/);
        } finally {
            await context.close();
        }
    });
});

/* ---- people and screens ---- */

describe("overview, axes, theme and paper", { skip }, () => {
    const sample = path.join(samples, "train.pickle");

    test("a drag in the overview chooses the window", async () => {
        await withPage(writePage(sample), async (page) => {
            const whole = await ask(page, "strata.view()");
            await page.keyboard.press("w"); // closer, so that there is a brush to be moved
            await settle(page);
            const near = await ask(page, "strata.view()");
            assert.ok(near.to - near.from < whole.to - whole.from);
            const box = await page.locator("#brush").boundingBox();
            assert.ok(box);
            await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
            await page.mouse.down();
            await page.mouse.move(box.x + box.width / 2 + 40, box.y + box.height / 2, { steps: 4 });
            await page.mouse.up();
            await settle(page);
            const moved = await ask(page, "strata.view()");
            assert.ok(moved.from > near.from, `${moved.from} after ${near.from}`);
            assert.ok(Math.abs(moved.to - moved.from - (near.to - near.from)) < 1, "as wide as before");
        });
    });

    test("the seconds' button switches the axis and back", async () => {
        await withPage(writePage(sample), async (page) => {
            const events = await canvasPixels(page);
            await page.locator("#axis-time").click();
            await settle(page);
            assert.equal((await ask(page, "strata.view()")).axis, "time");
            assert.notDeepEqual((await canvasPixels(page)).rgba, events.rgba);
            await page.locator("#axis-events").click();
            await settle(page);
            assert.deepEqual((await canvasPixels(page)).rgba, events.rgba);
        });
    });

    test("the capacity is a line of its own", async () => {
        const axis = (/** @type {import("playwright-core").Page} */ page) => page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.getElementById("axes")).toDataURL());
        /** @type {string[]} */ const pictures = [];
        for (const flags of [[], ["--capacity", "1.1GiB"]])
            await withPage(writePage(sample, ...flags), async (page) => {
                pictures.push(await axis(page));
                assert.equal(/capacity 1\.1 GiB/.test(await page.locator("#legend").innerText()), flags.length > 0);
            });
        assert.notEqual(pictures[0], pictures[1]);
    });

    test("the theme's button goes round, and the stack follows", async () => {
        await withPage(writePage(sample), async (page) => {
            const themes = [];
            const stacks = new Set();
            for (let i = 0; i < 3; i++) {
                await page.locator("#theme").click();
                await settle(page);
                themes.push(await page.evaluate(() => document.documentElement.dataset.theme));
                stacks.add(Buffer.from((await canvasPixels(page)).rgba).toString("latin1"));
            }
            assert.deepEqual(themes, ["light", "dark", "light"]);
            assert.equal(stacks.size, 2);
        }, { colorScheme: "light" }); // prettier-ignore
    });

    test("nothing moves by itself for who asks for that", async () => {
        for (const reducedMotion of /** @type {const} */ (["reduce", "no-preference"]))
            await withPage(writePage(sample), async (page) => {
                const seconds = await page.evaluate(() => parseFloat(getComputedStyle(/** @type {Element} */ (document.getElementById("theme"))).transitionDuration));
                assert.equal(seconds === 0, reducedMotion === "reduce");
            }, { reducedMotion }); // prettier-ignore
    });

    test("paper gets the timeline and the list, and no buttons", async () => {
        await withPage(writePage(sample), async (page) => {
            await page.emulateMedia({ media: "print" });
            await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
            await settle(page);
            assert.ok(colorsOf((await canvasPixels(page)).rgba) > 10);
            for (const id of ["timeline", "list"]) assert.ok(await page.locator(`#${id}`).isVisible(), id);
            for (const id of ["theme", "minimap", "overlay"]) assert.ok(await page.locator(`#${id}`).isHidden(), id);
            await page.emulateMedia({ media: "screen" });
            await page.evaluate(() => dispatchEvent(new Event("afterprint")));
            await settle(page);
            assert.ok(await page.locator("#theme").isVisible());
        });
    });

    test("Tab goes through the header to the timeline and the list", async () => {
        await withPage(writePage(sample), async (page) => {
            /** @type {string[]} */ const order = [];
            for (let i = 0; i < 40; i++) {
                await page.keyboard.press("Tab");
                order.push(await page.evaluate(() => document.activeElement?.id ?? ""));
            }
            const places = ["device", "theme", "color", "search", "list-scroll"].map((id) => order.indexOf(id));
            assert.ok(places.every((place) => place >= 0), order.join(" "));
            assert.deepEqual([...places].sort((a, b) => a - b), places, order.join(" "));
        });
    });
});

describe("for everybody", { skip }, () => {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
        test(`no accessibility complaint, ${colorScheme}`, async () => {
            await withPage(writePage(path.join(samples, "streams.pickle")), async (page) => {
                await setView(page, { colorBy: "category", filter: { leastBytes: "1K" } });
                await page.locator("#filter-open").click();
                await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
                const { violations } = await page.evaluate("axe.run()");
                const lines = violations.map((/** @type {any} */ each) => `${each.id}: ${each.nodes[0].html}`);
                assert.deepEqual(lines, []);
            }, { colorScheme }); // prettier-ignore
        });
    }

    test("a narrow window still shows the plot", async () => {
        await withPage(writePage(recording), async (page) => {
            const box = await plotBox(page);
            assert.ok(box.width > 250 && box.height > 100, `${box.width}x${box.height}`);
            assert.ok(colorsOf((await canvasPixels(page)).rgba) > 10);
            await page.locator("#filter-open").click();
            assert.ok(await page.locator("#filter-reset").isVisible());
            assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 420, "nothing leaves the page");
        }, { viewport: { width: 420, height: 800 } }); // prettier-ignore
    });
});
