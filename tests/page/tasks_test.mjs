// Fourteen tasks of daily work, done with mouse and keys as a person does them. Each test checks the answer and the number of
// actions that it took.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, folder, hashOf, plotBox, replay, report, run, samples, settle, setView, shownTexts, skip, strata, tool, until, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);
const textOf = async (/** @type {Page} */ page, /** @type {string} */ selector) => (await page.locator(selector).innerText()).replace(/\u00a0/g, " ");
const view = (/** @type {Page} */ page) => ask(page, "strata.view()");
const bytesText = (/** @type {number} */ bytes) => (bytes >= 2 ** 30 ? `${Math.round((bytes / 2 ** 30) * 10) / 10} GiB` : `${Math.round((bytes / 2 ** 20) * 10) / 10} MiB`);

/** Does what a person does, and counts the actions. */
class Hands {
    actions = 0;

    /** @param {Page} page @param {boolean} [fingers] taps instead of clicks */
    constructor(page, fingers = false) {
        this.page = page;
        this.fingers = fingers;
    }

    async press(/** @type {string} */ key) {
        this.actions++;
        await this.page.keyboard.press(key);
        await settle(this.page);
    }

    /** Typing a text counts as one action. */
    async type(/** @type {string} */ text) {
        this.actions++;
        await this.page.keyboard.type(text);
        await settle(this.page);
    }

    /** @param {import("playwright-core").Locator} target @param {Parameters<import("playwright-core").Locator["click"]>[0]} [options] */
    async click(target, options) {
        this.actions++;
        await (this.fingers ? target.tap() : target.click(options));
        await settle(this.page);
    }

    /** Choosing an entry from a menu of the toolbar counts as one action. */
    async choose(/** @type {string} */ selector) {
        this.actions++;
        await tool(this.page, selector);
        await settle(this.page);
    }

    /** On the timeline, at shares of its width and height. */
    async clickPlot(/** @type {number} */ x, /** @type {number} */ y) {
        this.actions++;
        const box = await plotBox(this.page);
        await this.page.mouse.click(box.x + box.width * x, box.y + box.height * y);
        await settle(this.page);
    }

    /** With Shift it selects a range. */
    async dragPlot(/** @type {number} */ from, /** @type {number} */ to, shift = false) {
        this.actions++;
        const box = await plotBox(this.page);
        if (shift) await this.page.keyboard.down("Shift");
        await this.page.mouse.move(box.x + box.width * from, box.y + 60);
        await this.page.mouse.down();
        await this.page.mouse.move(box.x + box.width * to, box.y + 60, { steps: 5 });
        await this.page.mouse.up();
        if (shift) await this.page.keyboard.up("Shift");
        await settle(this.page);
    }

    atMost(/** @type {number} */ count) {
        assert.ok(this.actions <= count, `${this.actions} actions instead of ${count}`);
    }
}

/** @param {string} name @param {string} input @param {(page: Page, hands: Hands) => Promise<void>} use @param {object} [options] */
function task(name, input, use, options) {
    test(name, () => withPage(writePage(input), (page) => use(page, new Hands(page)), options));
}

/** A task in a phone's window, with fingers. @param {Parameters<typeof task>} given */
function fingerTask(...[name, input, use]) {
    test(`${name}, by fingers`, () => withPage(writePage(input), (page) => use(page, new Hands(page, true)), { hasTouch: true, viewport: { width: 420, height: 900 } }));
}

/** A task with the mouse and with fingers. @param {Parameters<typeof task>} given */
function handTask(...given) {
    task(...given);
    fingerTask(...given);
}

/** A band near a place of the timeline, as shares. @param {Page} page @param {number} x */
const bandAt = (page, x) =>
    page.evaluate((x) => {
        const { offsetWidth: width, offsetHeight: height } = /** @type {HTMLElement} */ (document.getElementById("timeline"));
        for (let y = height - 3; y > 0; y -= 4) if ((window.strata.pick(x * width, y)?.stack.length ?? 0) > 2) return y / height;
        return 0.95;
    }, x);

describe("tasks of daily work", { skip }, () => {
    task("(a) what ran out, and who held it", sample("oom"), async (page, hands) => {
        const said = run(strata, "report", "--full", sample("oom")).toString().replace(/\s+/g, " ");
        const lacking = /([\d.]+ [KMG]iB) short/.exec(said)?.[1];
        const card = await textOf(page, "#panel-why .card >> nth=0");
        assert.match(card, new RegExp(`${lacking} short of the 1\\.5 GiB[^]*loss\\.py:19`));
        const [{ top_at_peak: top }] = report(sample("oom")).devices;
        assert.match(card, new RegExp(`Held most:\\s*${top[0].site} ${(top[0].bytes / 2 ** 30).toFixed(1)} GiB`.replace(/\./g, "\\.")));
        hands.atMost(0);
    });

    fingerTask("(a) what ran out, and who held it", sample("oom"), async (page, hands) => {
        const card = page.locator("#panel-why .card >> nth=0");
        assert.match(await card.innerText(), /30\.9 MiB short of the 1\.5 GiB/);
        await hands.click(card.getByRole("button", { name: /^Who held/ }));
        const [{ top_at_peak: top }] = report(sample("oom")).devices;
        await until(async () => (await shownTexts(page, "#list > .row"))[0]?.includes(top[0].site), "the largest first");
        hands.atMost(1);
    });

    handTask("(b) the line that leaks", sample("leak_graph"), async (page, hands) => {
        const [{ findings }] = report(sample("leak_graph")).devices;
        const leak = findings.find((/** @type {any} */ { kind }) => kind === "leak");
        assert.ok((await textOf(page, "#panel-why .card >> nth=0 >> .card-title")).includes(leak.site), leak.site);
        hands.atMost(0);
    });

    handTask("(c) the peak by layer", sample("train"), async (page, hands) => {
        await hands.click(page.locator("#form-tree"));
        if (hands.fingers) await hands.click(page.locator("#grip")); // the sheet at its full height
        await until(() => page.locator("#tree-rows > .row").first().isVisible(), "rows");
        const { device, peak_event } = report(sample("train")).devices[0];
        assert.equal(device, 0);
        // The bytes at the peak whose stacks go through the layers' attention.
        const bytes = await page.evaluate(`${ALL}.filter(({ birth, death, stack }) => birth <= ${peak_event} && death > ${peak_event} && stack.some(({ file }) => /attention/.test(file))).reduce((sum, { bytes }) => sum + bytes, 0)`);
        const rows = (await shownTexts(page, "#tree-rows > .row:not([hidden])")).filter((text) => text.includes("attention.py"));
        const shown = rows.join(" ").replace(/\u00a0/g, " ");
        assert.ok(shown.includes(bytesText(bytes)) || rows.length > 1, `${bytesText(bytes)} in ${shown}`);
        hands.atMost(hands.fingers ? 2 : 1);
    });

    task("(d) a step against another", sample("train"), async (page, hands) => {
        await hands.press("4");
        await until(async () => (await page.locator(".step-button").count()) === 4, "a button for each step");
        const steps = report(sample("train")).devices[0].steps;
        const text = await textOf(page, "#panel-compare");
        const figure = (/** @type {number} */ bytes) => (bytes / 2 ** 20).toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
        assert.match(text, /peak, MiB/);
        for (const step of [steps[1], steps[3]]) assert.ok(text.includes(figure(step.peak_bytes)), `${figure(step.peak_bytes)} in ${text.slice(0, 400)}`);
        hands.atMost(1);
    });

    task("(e) attention over 100 MB, alive at the peak", sample("train"), async (page, hands) => {
        await hands.press("/");
        await hands.type("attention size:>100M alive:peak");
        const peak = report(sample("train")).devices[0].peak_event;
        const wanted = (await ask(page, ALL)).filter((/** @type {any} */ { bytes, birth, death, stack }) => bytes > 100 * 2 ** 20 && birth <= peak && death > peak && stack.some((/** @type {any} */ { file }) => /attention/.test(file)));
        assert.ok(wanted.length > 3);
        const total = wanted.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0);
        await until(async () => (await textOf(page, "#found")).startsWith(`${wanted.length} allocations \u00b7 ${bytesText(total)}`), "the answer");
        hands.atMost(2);
    });

    task("(f) what was freed between two moments", sample("train"), async (page, hands) => {
        await hands.dragPlot(0.3, 0.5, true);
        await hands.click(page.locator("#range-freed"));
        const { range } = await view(page);
        const freed = (await ask(page, ALL)).filter((/** @type {any} */ { death }) => death >= range.from && death < range.to);
        const total = freed.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0);
        await until(async () => (await textOf(page, "#list-total")).startsWith(`${bytesText(total)} freed in ${freed.length} allocation`), `${bytesText(total)} of ${freed.length}`);
        hands.atMost(2);
    });

    task("(g) where the fragmentation lies", sample("oom"), async (page, hands) => {
        await hands.press("5");
        const row = page.locator("#panel-allocator .holes tbody tr").first();
        await until(() => row.isVisible(), "the holes");
        // From strata.blocks(): the segment that would give back most for each byte that must be freed.
        const { segments, blocks } = await ask(page, "strata.blocks({ at: 3552 })");
        const [best] = segments.map((/** @type {any} */ { address, bytes }) => {
            const inside = blocks.filter((/** @type {any} */ block) => BigInt(block.address) - BigInt(address) < bytes && BigInt(block.address) >= BigInt(address));
            const used = inside.filter((/** @type {any} */ { state }) => state !== "free").reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.bytes, 0);
            return { bytes, used: used === bytes || used === 0 ? Infinity : used };
        }).sort((/** @type {any} */ a, /** @type {any} */ b) => b.bytes / b.used - a.bytes / a.used);
        assert.ok((await row.innerText()).includes(`${bytesText(best.used)} keep a segment of ${bytesText(best.bytes)}`), await row.innerText());
        hands.atMost(1);
    });

    handTask("(h) a stack, copied", sample("leak_graph"), async (page, hands) => {
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        const { ids } = (await ask(page, "strata.findings()"))[0];
        await hands.click(page.locator('[data-finding="0"] [data-action="copy"]'));
        const copied = await until(() => page.evaluate(() => navigator.clipboard.readText()), "the copy");
        // A finding may be about several call sites; the stack is of one of its allocations.
        const stacks = await ask(page, `${JSON.stringify(ids)}.map((id) => strata.allocation(id).stack)`);
        const isCopied = (/** @type {any} */ { file, line }) => !file.endsWith(".py") || copied.includes(`${file}:${line}`);
        assert.ok(stacks.some((/** @type {any[]} */ stack) => stack.every(isCopied)), copied);
        hands.atMost(1);
    });

    task("(i) a link and a picture", sample("train"), async (page, hands) => {
        await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
        await setView(page, { from: 500, to: 1500 });
        await hands.choose("#link");
        const link = await until(() => page.evaluate(() => navigator.clipboard.readText()), "the link");
        assert.match(link, /\.html#.*window=500_1500/);
        assert.match(link, /^file:/, "the whole address, which opens it here");
        hands.atMost(1);
        const [download] = await Promise.all([page.waitForEvent("download"), hands.choose("#save")]);
        assert.match(download.suggestedFilename(), /train.*\.png$/);
        hands.atMost(2);
    });

    task("(j) categories over time", sample("train"), async (page, hands) => {
        await hands.choose("#view-category");
        hands.atMost(1);
        // The pointer shows the totals of its moment, without an action.
        const box = await plotBox(page);
        await page.mouse.move(box.x + box.width * 0.4, box.y + box.height - 10);
        await until(async () => /parameter/.test(await textOf(page, "#tip")), "totals");
        const event = Number(/event ([\d,]+)/.exec(await textOf(page, "#tip"))?.[1].replace(/,/g, ""));
        const alive = (await ask(page, ALL)).filter((/** @type {any} */ { birth, death }) => birth <= event && death > event);
        for (const category of ["parameter", "activation"]) {
            const bytes = alive.filter((/** @type {any} */ each) => each.category === category).reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.bytes, 0);
            assert.match(await textOf(page, "#tip"), new RegExp(`${category}\\s+${bytesText(bytes).replace(".", "\\.")}`));
        }
        await tool(page, "#view-age");
        assert.equal((await view(page)).colorBy, "site", "bands have the colours of bands");
        assert.equal(await page.locator("#group-by").inputValue(), "site");
    });

    task("(k) two devices, and streams", sample("two_devices"), async (page, hands) => {
        const devices = report(sample("two_devices")).devices;
        const other = devices.find((/** @type {any} */ { device }) => device !== 0);
        hands.actions++;
        await page.locator("#device").selectOption({ index: devices.indexOf(other) });
        await until(async () => (await view(page)).device === other.device, "the other device");
        assert.ok((await textOf(page, "#peak")).includes(bytesText(other.peak_bytes)));
        hands.atMost(1);
        await hands.choose("#view-stream");
        assert.match(await textOf(page, "#legend"), /default stream/);
        hands.atMost(2);
    });

    task("(l) by keys alone: who is largest at the peak, and its stack", sample("train"), async (page, hands) => {
        await hands.press("p");
        await hands.press("3");
        for (let i = 0; i < 60 && !(await page.evaluate(() => document.activeElement?.id === "list-scroll")); i++) await page.keyboard.press("Tab");
        hands.actions++;
        await hands.press("Home");
        await hands.press("Enter");
        const [{ top_at_peak: top }] = report(sample("train")).devices;
        assert.equal(await textOf(page, ".site-heading"), top[0].site);
        assert.ok((await textOf(page, "#detail")).includes(top[0].site.split(" ")[0]), "its frame in the stack");
        hands.atMost(5);
    });

    task("(m) by fingers: zoom in, and see the allocation under a finger", sample("train"), async (page, hands) => {
        const client = await page.context().newCDPSession(page);
        const box = await plotBox(page);
        const touch = (/** @type {string} */ type, /** @type {number[][]} */ ...points) =>
            client.send("Input.dispatchTouchEvent", { type: /** @type {any} */ (type), touchPoints: points.map(([x, y], id) => ({ x: box.x + x, y: box.y + y, id })) });
        const whole = await view(page);
        await touch("touchStart", [300, 150]);
        await touch("touchStart", [300, 150], [360, 150]);
        for (const spread of [20, 60, 120]) await touch("touchMove", [300 - spread, 150], [360 + spread, 150]);
        await touch("touchEnd");
        hands.actions++;
        await settle(page);
        await until(async () => (await view(page)).to - (await view(page)).from < (whole.to - whole.from) / 3, "closer");
        const y = await bandAt(page, 0.5);
        hands.actions++;
        await page.touchscreen.tap(box.x + box.width * 0.5, box.y + box.height * y);
        await until(async () => (await view(page)).selected !== null, "pinned");
        await until(() => page.locator(".site-heading").isVisible(), "its call site");
        hands.atMost(2);
    }, { hasTouch: true });

    test("(n) from many events to one, and back", async () => {
        const file = path.join(folder, "many.pickle");
        run("python3", path.join(samples, "generate.py"), "--story", "train", "--events", 100_000, "-o", file);
        await withPage(writePage(file), async (page) => {
            const hands = new Hands(page);
            await hands.press("e");
            await hands.type("50000");
            await hands.press("Enter");
            await until(async () => /at=50000/.test(await hashOf(page)), "the event");
            const total = bytesText(replay("--curves", file, 0).live[50_001]);
            await until(async () => (await textOf(page, "#list-total")).startsWith(`${total} in `), total);
            await hands.press("0");
            assert.ok((await view(page)).to > 99_000);
            hands.atMost(4);
        });
    });
});
