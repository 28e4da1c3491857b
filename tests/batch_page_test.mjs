// The index of a batch in a real browser, with 16 ranks converted from snapshots and with 1,984 from sidecars made up here.
//
//     STRATA=path/to/strata node --test tests/batch_page_test.mjs
//
// Where there is no Chromium (STRATA_CHROMIUM may name one), the tests are skipped, unless STRATA_NEEDS_BROWSER is set.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { accessSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { startChromium } from "./chromium.mjs";
import { findShell } from "./programs.mjs";
import { each, eventually, followed, settle, texts } from "./waiting.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const strata = process.env.STRATA ?? "strata";
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A name that contains markup, the end of a script and a terminal's escape sequence. */
const HOSTILE = "rank14 <img src=x onerror=alert(1)><script>alert(2)<\\script>&'\".pickle";

const hasBrowser = findShell() !== undefined;
if (!hasBrowser && process.env.STRATA_NEEDS_BROWSER) throw new Error("no Chromium found");
const skip = hasBrowser ? false : "no Chromium found: the index is not tested";
if (skip) console.log(`skipped: ${skip}`);

/** @type {string} */ let folder;
/** @type {string} */ let ranks;
/** @type {string} */ let many;
/** @type {string} */ let harmful;
/** @type {import("playwright-core").Browser} */ let browser;

function run(/** @type {string} */ command, /** @type {string[]} */ ...args) {
    const done = spawnSync(command, args, { encoding: "utf8", maxBuffer: 1 << 28 });
    assert.ok([0, 4].includes(done.status ?? -1), `${command} ${args.join(" ")}: ${done.stderr}`);
    return done;
}

/** Sixteen ranks: a straggler, an OOM, an empty file, a log, and a hostile name. */
function makeRanks() {
    const dumps = path.join(folder, "dumps");
    mkdirSync(dumps);
    for (let rank = 0; rank < 16; rank++) {
        const story = rank === 3 ? "leak_graph" : rank === 7 ? "oom" : "train";
        const name = rank === 14 ? HOSTILE : `rank${rank}_memory_snapshot.pickle`;
        run("python3", path.join(here, "..", "samples", "generate.py"), "--story", story, "--seed", String(rank), "-o", path.join(dumps, name));
    }
    writeFileSync(path.join(dumps, "rank9_memory_snapshot.pickle"), "");
    writeFileSync(path.join(dumps, "launch.log"), "hello\n");
    run(strata, "batch", "-q", dumps, "-o", ranks, "--png");
}

/** Writes a sidecar, and an input that seems to be the one that it was made of.
 * @param {string} directory @param {string} name @param {any} sidecar */
function writeSidecar(directory, name, sidecar) {
    const input = path.join(`${directory}-dumps`, sidecar.batch.input);
    mkdirSync(path.dirname(input), { recursive: true });
    writeFileSync(input, Buffer.from([0x80, 4]));
    utimesSync(input, 1e9, 1e9);
    Object.assign(sidecar.batch, { size: 2, mtime_ns: "1000000000000000000", flags: "" });
    writeFileSync(path.join(directory, `${name}.strata.json`), JSON.stringify(sidecar));
}

/** Makes the index of the sidecars in a directory. @param {string} directory */
function indexOf(directory) {
    run(strata, "batch", "-q", `${directory}-dumps`, "-o", directory, "--pages", "none", "--resume");
}

/** 1,984 ranks made from one sidecar, all alike but for a few. */
function makeMany() {
    const model = JSON.parse(readFileSync(path.join(ranks, "rank0.strata.json"), "utf8"));
    mkdirSync(many);
    for (let rank = 0; rank < 1984; rank++) {
        const sidecar = structuredClone(model);
        const [device, extra] = [sidecar.devices[0], sidecar.batch.devices[0]];
        const factor = 1 + (((rank * 7919) % 101) - 50) / 5000 + (rank === 1234 ? 0.5 : 0);
        Object.assign(sidecar.batch, { rank, input: `node${rank >> 3}/rank${rank}.pickle`, page: `rank${rank}.html`, png: null });
        extra.curve = extra.curve.map((/** @type {number} */ bytes) => Math.round(bytes * factor));
        // Columns 2 to 7 of a step are its bytes. Ranks are compared at the same moment of the same steps.
        extra.steps = extra.steps.map((/** @type {number[]} */ step) => step.map((value, i) => (i >= 2 && i < 8 ? Math.round(value * factor) : value)));
        device.peak_bytes = Math.max(...extra.curve);
        device.end_bytes = extra.curve.at(-1);
        if (rank === 77) device.oom = [{ event: 5, requested_bytes: 1 << 30, device_free_bytes: 1 << 20 }];
        writeSidecar(many, `rank${rank}`, sidecar);
    }
    indexOf(many);
}

/** Hostile sidecars: markup, very long names, names of JavaScript's own properties, values that are not numbers. */
function makeHarmful() {
    const model = JSON.parse(readFileSync(path.join(ranks, "rank7.strata.json"), "utf8"));
    const words = ["constructor", "__proto__", "<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "x".repeat(20000), "\u202e\u0000\ud800", "toString"];
    const figures = [-1, 1e308, 2 ** 63, 0.5, null, "x", [], {}];
    mkdirSync(harmful);
    for (let rank = 0; rank < 40; rank++) {
        const [sidecar, word] = [structuredClone(model), words[rank % words.length]];
        Object.assign(sidecar.batch, { rank, input: `rank${rank}.pickle`, page: `rank${rank}.html`, png: null, host: word });
        for (const finding of sidecar.devices[0].findings) finding.kind = finding.title = finding.site = word;
        for (const site of sidecar.devices[0].top_at_peak) site.site = word;
        const fields = Object.keys(sidecar.devices[0]);
        if (rank >= words.length) sidecar.devices[0][fields[(rank * 7) % fields.length]] = figures[rank % figures.length];
        writeSidecar(harmful, `rank${rank}`, sidecar);
    }
    indexOf(harmful);
}

/**
 * Opens an index; nothing may be fetched, logged or asked while it is open.
 * @param {string} directory
 * @param {(page: import("playwright-core").Page) => Promise<void>} use
 * @param {import("playwright-core").BrowserContextOptions} [options]
 */
async function withIndex(directory, use, options = {}) {
    const context = await followed(await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options }));
    /** @type {string[]} */
    const troubles = [];
    try {
        const page = await context.newPage();
        const url = pathToFileURL(path.join(directory, "index.html")).href;
        page.on("request", (request) => {
            if (request.url() !== url && !request.url().startsWith("data:")) troubles.push(`request: ${request.url()}`);
        });
        page.on("console", (message) => {
            if (["error", "warning"].includes(message.type())) troubles.push(`console: ${message.text()}`);
        });
        page.on("pageerror", (error) => void troubles.push(`error: ${error.stack}`));
        page.on("dialog", (dialog) => {
            troubles.push(`dialog: ${dialog.message()}`);
            return dialog.dismiss();
        });
        await page.addInitScript(() => {
            addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`));
        });
        await page.goto(url);
        await page.evaluate("strata.ready");
        await use(page);
        await settle(page);
        assert.deepEqual(troubles, []);
    } finally {
        await context.close();
    }
}

/** First cells of the lines in sight, from the top. @param {import("playwright-core").Page} page */
async function ranksInSight(page) {
    return page.evaluate(() =>
        Array.from(document.querySelectorAll("#lines > .row:not([hidden])"), (line) => line.firstElementChild?.textContent),
    );
}

/** How many pixels of a canvas have a colour. @param {import("playwright-core").Page} page @param {string} id @param {number[]} rgb */
async function pixelsOf(page, id, rgb) {
    return page.evaluate(
        ([name, [red, green, blue]]) => {
            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(String(name)));
            // From a copy: a canvas that is read twice is moved out of the graphics card, with a warning.
            const copy = /** @type {OffscreenCanvasRenderingContext2D} */ (new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true }));
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4) count += Number(data[i] === red && data[i + 1] === green && data[i + 2] === blue);
            return count;
        },
        /** @type {[string, number[]]} */ ([id, rgb]),
    );
}

before(() => {
    if (skip) return;
    folder = mkdtempSync(path.join(tmpdir(), "strata-index-"));
    [ranks, many, harmful] = ["ranks", "many", "harmful"].map((name) => path.join(folder, name));
    makeRanks();
    makeMany();
    makeHarmful();
});

before(async () => {
    if (!skip) browser = await startChromium();
});

after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
});

describe("sixteen ranks", { skip }, () => {
    const summary = () => JSON.parse(readFileSync(path.join(ranks, "summary.json"), "utf8"));

    test("findings, failures and names are shown as text", async () => {
        await withIndex(ranks, async (page) => {
            const findings = await texts(page, "#findings .finding .title");
            // At first the index shows the twelve most severe findings; a click shows the others.
            const titles = summary().findings.map((/** @type {any} */ finding) => finding.title);
            assert.deepEqual(findings, titles.slice(0, 12));
            if (titles.length > 12) await page.locator("#findings-more").click();
            assert.deepEqual(await texts(page, "#findings .finding .title"), titles);
            assert.match(findings.join("\n"), /^rank 3 peaks .* above the median; .* holds .* more/m);
            // The graphs of all steps are one finding, at the line that calls the model.
            const leaks = titles.filter((/** @type {string} */ title) => /^rank 3: .* more /.test(title));
            assert.equal(leaks.length, 1);
            assert.match(leaks[0], /^rank 3: main\.py:88 train_step keeps its graph: .* more (each step|in each of \d+ steps)$/);
            assert.match(await page.locator("#failed").innerText(), /rank9_memory_snapshot\.pickle\s+the file is empty/);
            assert.equal(await page.locator("#skipped-title").textContent(), "1 file skipped");
            assert.ok((await texts(page, "#lines > .row")).some((text) => text.includes(HOSTILE)));
            assert.equal(await page.locator("img").count(), 0);
        });
    });

    test("the table sorts by every column, numbers as numbers", async () => {
        await withIndex(ranks, async (page) => {
            assert.deepEqual(await ranksInSight(page), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15].map(String));
            const value = { rank: "rank", peak: "peak_bytes", end: "end_bytes", reserved: "reserved_peak_bytes", growth: "growth_bytes", events: "events", oom: "oom", file: "input" };
            for (const [key, field] of Object.entries(value)) {
                await page.locator(`#head [data-key=${key}]`).click();
                const rows = /** @type {any[]} */ (await page.evaluate("strata.rows()"));
                const falling = (await page.locator("#head [aria-sort=descending]").count()) === 1;
                const wanted = rows.map((row) => row[field]).filter((item) => item !== null);
                const sorted = [...wanted].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
                assert.deepEqual(wanted, falling ? sorted.reverse() : sorted, key);
                await eventually(async () => assert.equal((await ranksInSight(page))[0], String(rows[0].rank), key));
            }
        });
    });

    test("links lead to existing pages and pictures", async () => {
        await withIndex(ranks, async (page) => {
            const links = await each(page, "#lines a", (link) => /** @type {HTMLAnchorElement} */ (link).href);
            assert.equal(links.length, 30);
            for (const link of links) accessSync(fileURLToPath(link));
        });
    });

    test("without --pages all they lead only to pages of odd ranks", async () => {
        const odd = path.join(folder, "odd");
        run(strata, "batch", "-q", path.join(folder, "dumps"), "-o", odd, "--pages", "odd");
        await withIndex(odd, async (page) => {
            const links = await each(page, "#lines a", (link) => link.getAttribute("href") ?? "");
            assert.ok(links.includes("rank7.html") && links.length < 8, links.join(" "));
            for (const link of links) accessSync(path.join(odd, link));
            await page.locator("#lines > .row").nth(1).click();
            await eventually(async () => assert.match(page.url(), /row=rank1$/));
            assert.deepEqual(await texts(page, "#detail .links a, #detail .card a"), []);
        });
    });

    test("odd curves have the colour of their finding, the others are grey", async () => {
        await withIndex(ranks, async (page) => {
            // Orange: the out-of-memory rank comes first. Blue: the straggler.
            assert.ok((await pixelsOf(page, "curves", [0xd5, 0x5e, 0x00])) > 200);
            assert.ok((await pixelsOf(page, "curves", [0x2b, 0x83, 0xc6])) > 200);
            assert.deepEqual(await texts(page, "#legend li"), ["median and 5 to 95 % of 15", "rank 7", "rank 3"]);
            // The cell furthest from the median has the full colour. The rank that ran out of memory holds less, and
            // has a red foot.
            assert.ok((await pixelsOf(page, "heat", [14, 124, 118])) > 200);
            assert.ok((await pixelsOf(page, "heat", [192, 41, 43])) > 50);
        });
    });

    test("choosing a finding shows the memory that the median rank lacks", async () => {
        await withIndex(ranks, async (page) => {
            await page.locator("#findings .finding", { hasText: "rank 3 peaks " }).click();
            const row = summary().rows.find((/** @type {any} */ candidate) => candidate.rank === 3);
            assert.equal(await page.locator("#detail h2").textContent(), "rank 3");
            assert.equal(await page.locator("#detail table tr").count(), row.differences.length + 1);
            assert.ok((await page.locator("#detail table tr").nth(1).textContent())?.includes(row.differences[0].site));
            assert.equal(await page.locator("#lines > .row.chosen:not([hidden])").count(), 1);
        });
    });

    test("words find ranks, files, call sites, kinds of findings", async () => {
        await withIndex(ranks, async (page) => {
            const asked = { "3": ["3"], "rank 7": ["7"], "ranks 4-6": ["4", "5", "6"], "<script>": ["14"], odd: ["3", "7"], oom: ["7"], leak: ["3"], "odd rank:7": ["7"], "loss.py:19": ["3", "7"], "host:none": [] };
            await page.keyboard.press("/");
            for (const [words, ranks] of Object.entries(asked)) {
                await page.keyboard.press("Control+a");
                await page.keyboard.type(words);
                await eventually(async () => assert.deepEqual((await ranksInSight(page)).slice(0, 3), ranks, words));
            }
            await page.keyboard.press("Control+a");
            await page.keyboard.press("Backspace");
            await eventually(async () => assert.equal((await ranksInSight(page)).length, 15));
            await page.getByRole("button", { name: "1 out of memory" }).click();
            await eventually(async () => assert.deepEqual(await ranksInSight(page), ["7"]));
        });
    });

    test("a choice is in the address and can be undone", async () => {
        await withIndex(ranks, async (page) => {
            const first = await page.locator("#detail h2").textContent();
            assert.equal(first, "rank 7", "the oddest is chosen at first");
            await page.locator("#findings .finding", { hasText: "rank 3 peaks " }).click();
            await page.getByRole("button", { name: "Carried over" }).click();
            await page.getByRole("button", { name: "Events" }).first().click();
            const address = String(await page.evaluate("location.href"));
            assert.match(address, /#row=rank3&figure=end&axis=run$/);
            for (const wanted of [/#row=rank3&figure=end$/, /#row=rank3$/, /html$/]) {
                await page.evaluate("history.back()");
                await eventually(async () => assert.match(String(await page.evaluate("location.href")), wanted));
            }
            await eventually(async () => assert.equal(await page.locator("#detail h2").textContent(), first));
            await page.goto(address);
            await page.reload();
            await page.evaluate("strata.ready");
            assert.equal(await page.locator("#detail h2").textContent(), "rank 3");
            assert.equal(await page.locator("#figures [aria-pressed=true]").textContent(), "Carried over");
            assert.equal(await page.locator("#axes [aria-pressed=true]").textContent(), "Events");
        });
    });

    test("impossible calls throw a sentence, and change nothing", async () => {
        await withIndex(ranks, async (page) => {
            const before = await page.evaluate("strata.view()");
            const says = (/** @type {string} */ call) => page.evaluate(`(async () => strata.${call})().then(() => "nothing", (error) => \`\${error.name}: \${error.message}\`)`);
            for (const call of ["sort('constructor')", "choose(1e9)", "choose('x')", "choose(-2)", "setView({ filter: { words: 1 } })", "setView({ sort: 'toString' })", "setView({ selected: 0.5 })", "setView(1)", "search(1)"])
                assert.match(String(await says(call)), /^RangeError: .+\.$/, call);
            for (const call of ["compare(null)", "lit()", "groups()"])
                assert.match(String(await says(call)), /^Error: strata\.\w+ needs one recording: ask its page\.$/, call);
            assert.deepEqual(await page.evaluate("strata.view()"), before);
            for (const call of ["setView()", "setView(null)", "choose(null)", "sort(null)", "pick()"]) assert.equal(await says(call), "nothing", call);
            const narrowed = /** @type {any} */ (await page.evaluate('strata.setView({ filter: { words: "rank 3" }, selected: null })'));
            assert.deepEqual([narrowed.search, narrowed.filter.words, narrowed.selected], ["rank 3", "rank 3", null]);
            assert.equal(/** @type {any[]} */ (await page.evaluate("strata.rows()")).length, 1);
        });
    });

    test("two recordings of one rank are distinguished by their paths", async () => {
        const jobs = path.join(folder, "jobs");
        for (const rank of [3, 7]) {
            mkdirSync(path.join(jobs, "dumps", `job${rank}`), { recursive: true });
            copyFileSync(path.join(here, "..", "samples", rank === 7 ? "oom.pickle" : "train.pickle"), path.join(jobs, "dumps", `job${rank}`, "rank0.pickle"));
        }
        run(strata, "batch", "-q", path.join(jobs, "dumps"), "-o", path.join(jobs, "out"));
        await withIndex(path.join(jobs, "out"), async (page) => {
            for (const row of [0, 1]) await page.evaluate((row) => void window.strata.choose(row), row);
            await page.locator("#detail h2", { hasText: "rank 0 (job7/rank0.pickle)" }).waitFor();
        });
        await withIndex(ranks, async (page) => {
            await page.evaluate(() => void (location.hash = "#row=rank3"));
            await page.locator("#detail h2").waitFor();
            assert.equal(await page.locator("#detail h2").textContent(), "rank 3");
        });
    });

    test("unknown words of an address are named, and the rest is shown", async () => {
        await withIndex(ranks, async (page) => {
            assert.ok(await page.locator("#notes").isHidden());
            await page.evaluate(() => void (location.hash = "#row=rank99&figure=constructor&axis=run&sort=-peak&theme=red&words=rank+3&__proto__=1"));
            await page.getByText("Not understood of this address: row, figure, theme, __proto__.").waitFor();
            assert.equal(await page.locator("#axes [aria-pressed=true]").textContent(), "Events");
            await eventually(async () => assert.deepEqual(await ranksInSight(page), ["3"]));
            await page.locator("#axes button").first().click();
            await page.locator("#notes").waitFor({ state: "hidden" });
        });
    });

    test("a finding leads to the view that shows it in the rank's page", async () => {
        await withIndex(ranks, async (page) => {
            await page.locator("#findings .finding", { hasText: "Leak" }).first().click();
            const link = page.locator("#detail .card a").first();
            const views = JSON.parse(readFileSync(path.join(ranks, "rank3.strata.json"), "utf8")).devices[0].findings.map((/** @type {any} */ finding) => finding.view);
            assert.ok(views.includes(new URL(String(await link.evaluate((a) => /** @type {HTMLAnchorElement} */ (a).href))).hash));
            const difference = page.locator("#detail .links a", { hasText: "Difference from the median rank" });
            assert.match(readFileSync(fileURLToPath(await difference.evaluate((a) => /** @type {HTMLAnchorElement} */ (a).href)), "utf8"), /^<!doctype html>/i);
            // A rank that is like the others has no page of differences; a button gives the command that makes one.
            await page.evaluate(() => void (location.hash = "#row=rank5"));
            await page.locator("#detail h2", { hasText: "rank 5" }).waitFor();
            assert.match(String(await page.locator("#detail button").getAttribute("title")), /^strata diff 'rank\d+.html' 'rank5.html'$/);
        });
    });

    test("both themes, without a complaint of the accessibility checker", async () => {
        for (const colorScheme of /** @type {const} */ (["light", "dark"]))
            await withIndex(
                ranks,
                async (page) => {
                    assert.equal(await page.evaluate("document.documentElement.dataset.theme"), colorScheme);
                    await page.evaluate(axeSource);
                    const result = /** @type {any} */ (await page.evaluate("axe.run()"));
                    const complaints = result.violations.map((/** @type {any} */ item) => `${item.id}: ${item.nodes[0].html}`);
                    assert.deepEqual(complaints, []);
                    await page.click("#theme");
                    assert.notEqual(await page.evaluate("document.documentElement.dataset.theme"), colorScheme);
                },
                { colorScheme },
            );
    });
});

describe("1,984 ranks", { skip }, () => {
    test("holds few lines in the document, wherever it is scrolled", async () => {
        await withIndex(many, async (page) => {
            assert.match((await page.locator("#totals").textContent()) ?? "", /^1,984 recordings/);
            assert.ok((await page.locator("#lines > .row").count()) < 60);
            for (let i = 0; i < 40; i++) {
                await page.evaluate((top) => void (/** @type {HTMLElement} */ (document.getElementById("table")).scrollTop = top), i * 1500);
                await settle(page);
                assert.ok((await page.locator("#lines > .row").count()) < 60);
                const ranks = (await ranksInSight(page)).map(Number);
                assert.ok(ranks.length > 5 && ranks.every((rank, nth) => rank === ranks[0] + nth), `${ranks}`);
            }
        });
    });

    test("keys move in the list and choose", async () => {
        await withIndex(many, async (page) => {
            await page.locator("#table").focus();
            for (const key of ["End", "ArrowUp", "Enter"]) {
                await page.keyboard.press(key);
                await settle(page);
            }
            assert.equal(await page.locator("#detail h2").textContent(), "rank 1982");
            const id = await page.locator("#table").getAttribute("aria-activedescendant");
            assert.equal(await page.locator(`#${id}`).getAttribute("aria-rowindex"), "1984");
            assert.equal(await page.locator("#lines > .row:not([hidden])[aria-selected=true] > :first-child").textContent(), "1982");
            await page.locator("#head [data-key=end]").focus();
            await page.keyboard.press("Enter");
            await settle(page);
            assert.equal(await page.locator("#head [data-key=end]").evaluate((button) => button.parentElement?.getAttribute("aria-sort")), "descending");
        });
    });

    test("the few ranks that differ are named, and are in the list and the strip", async () => {
        await withIndex(many, async (page) => {
            const findings = await texts(page, "#findings .finding .title");
            assert.equal(findings.length, 2);
            assert.match(findings[0], /^rank 77 ran out of memory/);
            assert.match(findings[1], /^rank 1234 peaks .* above the median/);
            await page.locator("#findings .finding").nth(1).click();
            await settle(page);
            await eventually(async () => assert.ok((await ranksInSight(page)).includes("1234")));
            assert.equal(await page.locator("#lines > .row.chosen:not([hidden]) > :first-child").textContent(), "1234");
            assert.ok((await pixelsOf(page, "heat", [200, 94, 20])) > 20, "the odd rank's cell is wide enough to be seen");
        });
    });

    test("scrolls to the end and sorts", async () => {
        await withIndex(many, async (page) => {
            await page.evaluate("document.getElementById('table').scrollTop = 1e9");
            await settle(page);
            await eventually(async () => assert.equal((await ranksInSight(page)).at(-1), "1983"));
            await page.evaluate("document.getElementById('table').scrollTop = 0");
            await page.locator("#head [data-key=peak]").click();
            await settle(page);
            await eventually(async () => assert.equal((await ranksInSight(page))[0], "1234"));
        });
    });
});

describe("the index of hostile sidecars", { skip }, () => {
    test("runs nothing, and no text takes the page", async () => {
        await withIndex(harmful, async (page) => {
            for (const button of await page.locator(".badge").all()) await button.click();
            for (const words of ["constructor", "__proto__", "toString:", "rank 3"]) await page.locator(".words").fill(words);
            await settle(page);
            assert.equal(await page.locator("#lines > .row:not([hidden])").count() > 0, true, "rank 3");
            await page.locator("#lines > .row:not([hidden])").first().click();
            await settle(page);
            const { width, tallest, widest } = await page.evaluate(() => {
                const boxes = [...document.querySelectorAll("#findings li, .badge")].map((one) => one.getBoundingClientRect());
                return { width: document.documentElement.scrollWidth, tallest: Math.max(...boxes.map((box) => box.height)), widest: Math.max(...boxes.map((box) => box.width)) };
            });
            assert.equal(width, 1400, "nothing leaves the page");
            assert.ok(tallest < 400 && widest < 1200, `${tallest} x ${widest} pixels`);
            assert.deepEqual(await page.evaluate("[document.images.length, document.scripts.length]"), [0, 2]);
        });
    });
});
