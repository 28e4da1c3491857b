// Addresses hold everything that is shown and bring it back; a forged address does no harm.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { ask, openContext, reload, rest, runsAll, samples, setView, skip, until, withPage, writePage } from "./browser.mjs";
import { recording } from "./simulated.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Random choices, by a generator of its own so that a failure repeats. */
class Dice {
    /** @param {number} seed */
    constructor(seed) {
        this.state = seed >>> 0;
    }

    /** @param {number} count */
    below(count) {
        this.state = (Math.imul(this.state, 1103515245) + 12345) >>> 0;
        return Math.floor((this.state / 2 ** 32) * count);
    }

    /** @template T @param {T[]} list @returns {T} */
    of(list) {
        return list[this.below(list.length)];
    }

    /** True so often. @param {number} percent */
    often(percent) {
        return this.below(100) < percent;
    }

    /** Two numbers in rising order, with this many decimals. @param {number} most @param {number} decimals */
    pair(most, decimals) {
        const numbers = [0, 1].map(() => (this.below(1e6) / 1e6) * most);
        return [Math.min(...numbers), Math.max(...numbers)].map((number) => number.toFixed(decimals)).join("_");
    }
}

/** @typedef {{device: number, events: number, allocations: number}} Device */

const GROUPINGS = ["site", "stack", "file", "category", "stream", "pool"];

/** Words of an address, each with its probability in percent and a function that makes a value. @type {[name: string,
 * percent: number, value: (dice: Dice, device: Device) => string | number][]} */
const WORDS = [
    ["axis", 25, () => "time"],
    ["all", 15, () => 1],
    ["window", 60, (dice, { events }) => dice.pair(events, dice.below(4))],
    ["bytes", 15, (dice) => dice.pair(8e9, 0)],
    ["range", 30, (dice, { events }) => dice.pair(events, dice.below(4))],
    ["at", 30, (dice, { events }) => dice.of([dice.below(events), "peak"])],
    ["selected", 25, (dice, { allocations }) => dice.below(allocations)],
    ["focus", 25, (dice) => `${dice.of([...GROUPINGS, "frame"])}_${dice.below(12)}`],
    ["search", 30, (dice) => dice.of(["attention", "size:>1M", "/a.t/", "alive:peak", "size:>x", '"a b', "&=#%+ \u00e9", "step:1"])],
    ["only", 30, () => 1],
    ["order", 20, (dice) => dice.of(["", "-"]) + dice.of(["birth", "bytes", "lifetime", "site", "category", "stream"])],
    ["color", 40, (dice) => dice.of(["size", "age", "stream", "pool", "category"])],
    ["view", 40, (dice) => dice.of(["category", "stream", "pool", "segments"])],
    ["group", 40, (dice) => dice.of([...GROUPINGS, "tree"])],
    ["filter", 30, (dice) => dice.of(["size:>1M", "size:>=100K size:<=20M", "age:>=5", "/att/ alive:end", "category:gradient", "size:<oops", "stream:99", '"'])],
    ["of", 30, (dice) => dice.of(["freed", "kept", "through", "peak"])],
    ["tab", 70, (dice) => dice.of(["why", "who", "tree", "compare", "allocator", "each"])],
    ["tree", 30, (dice) => dice.of(["callers", "places"])],
    ["from", 10, (dice) => 1 + dice.below(20)],
    ["depth", 20, (dice) => 1 + dice.below(30)],
    ["change", 10, () => 1],
    ["sort", 20, (dice) => dice.of(["name", "-bytes", "count", "-count"])],
    ["a", 20, (dice, { events }) => dice.of(["start", "peak", "end", `e${dice.below(events)}`, "s0", `r${dice.below(99)}_${100 + dice.below(99)}`])],
    ["b", 20, (dice, { events }) => dice.of(["end", `e${dice.below(events)}`, "s1", "s2"])],
    ["by", 20, (dice) => dice.of(GROUPINGS)],
    ["what", 20, (dice) => dice.of(["allocated", "freed", "kept", "through"])],
    ["marks", 25, (dice, { events }) => Array.from({ length: 1 + dice.below(3) }, () => `${dice.below(events)}${dice.of(["", "~before the loss", "~\u00e9\u2202"])}`).join(",")],
    ["map", 20, (dice) => dice.of(["size", "address", "free", "age"])],
    ["lane", 10, (dice) => 20 + dice.below(200)],
    ["internals", 15, () => 1],
    ["theme", 30, (dice) => dice.of(["light", "dark"])],
]; // prettier-ignore

/** @param {Dice} dice @param {Device[]} devices */
function randomAddress(dice, devices) {
    const device = dice.of(devices);
    const hash = new URLSearchParams({ device: String(device.device) });
    for (const [name, percent, value] of WORDS) if (dice.often(percent)) hash.set(name, String(value(dice, device)));
    return `#${hash}`;
}

/** A view that a script may request; parts of it belong to another device, or lie beyond the run. @param {Dice} dice
 * @param {Device[]} devices */
function randomView(dice, devices) {
    const { events } = devices[0];
    const place = () => (dice.below(1e6) / 1e6) * (events + 20) - 10;
    /** @type {[name: string, value: () => unknown][]} */
    const fields = [
        ["device", () => dice.of(devices).device], ["axis", () => dice.of(["events", "time"])], ["from", place], ["to", place], ["colorBy", () => dice.of(["site", "age", "category"])],
        ["filter", () => dice.of([{}, { leastBytes: "20 KiB" }, { mostBytes: "5M", own: true }, { stream: 1 }, { words: "/lin/ size:>4K" }, { leastAge: "5", atPeak: true }])],
        ["range", () => dice.of([null, { from: dice.below(events), to: dice.below(events) }, { from: 5, to: 5 }, { from: place(), to: place() }, { from: -100, to: 1e9 }])],
        ["map", () => dice.of([null, "size", "free"])], ["search", () => dice.of(["", "attention", "/a+t/", "  a  b "])], ["selected", () => dice.of([null, 0, 3])],
    ]; // prettier-ignore
    return Object.fromEntries(fields.filter(() => dice.often(25)).map(([name, value]) => [name, value()]));
}

const KEYS = ["w", "s", "a", "d", "0", "f", "v", "p", "o", "t", "n", "r", "1", "2", "3", "4", "5", "6", "g", "m", ",", ".", ">", "<", "Enter", "Escape", "c", "x", "q", "l", "Backspace"];

/** Everything that is shown: the state as scripts see it, the address, and the picture's pixels. (In the address the
 * filter's fields are words.) */
const SHOWN = `(() => {
    const { filter, ...view } = strata.view();
    const canvas = document.getElementById("timeline");
    const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    const sum = pixels.reduce((hash, pixel) => (Math.imul(hash ^ pixel, 16777619) + (hash >>> 15)) | 0, 1);
    const title = (id) => (document.getElementById(id).offsetParent ? document.getElementById(id).innerText : "");
    return { view, address: location.hash, kept: strata.stats().kept, width: canvas.width, height: canvas.height, sum, texts: ["filtered", "list-title", "list-total", "found", "each-title", "detail"].map(title) };
})()`;

/** @param {Page} page @param {string} file @param {string} address @param {string[]} troubles */
async function open(page, file, address, troubles) {
    page.on("pageerror", (error) => void troubles.push(String(error.stack)));
    page.on("console", (message) => void (["error", "warning"].includes(message.type()) && !message.text().includes("willReadFrequently") && troubles.push(message.text())));
    await page.goto(pathToFileURL(file).href + address);
    await page.evaluate("strata.ready");
    await rest(page);
}

/**
 * A page without an address, beside which others are opened with one.
 * @param {string} file
 * @param {(page: Page, beside: (address: string) => Promise<Page>, troubles: string[]) => Promise<void>} use
 */
async function withPages(file, use) {
    const context = await openContext();
    /** @type {string[]} */ const troubles = [];
    const beside = async (/** @type {string} */ address) => {
        const page = await context.newPage();
        await open(page, file, address, troubles);
        return page;
    };
    try {
        await use(await beside(""), beside, troubles);
    } finally {
        await context.close();
    }
}

/** The words of the address that the page reports as not understood. @param {Page} page @returns {Promise<string[]>} */
async function misread(page) {
    const note = await page.locator("#note").innerText();
    return /^Not understood of this address: (.*?)\. /s.exec(`${note} `)?.[1].split(", ") ?? [];
}

/** Goes to an address in an open page. Messages about its words disappear when the page is loaded again. @param {Page}
 * page @param {string} address */
async function follow(page, address) {
    await page.evaluate((text) => void (location.hash = text), address);
    await rest(page);
    if ((await misread(page)).length) await reload(page);
    assert.deepEqual(await misread(page), [], address);
}

/** Names of samples; "": the simulated recording. */
const INPUTS = ["", "train", "oom", "two_devices", "streams"];

describe("an address restores the view", { skip }, () => {
    const count = runsAll ? 40 : 2;

    for (const [nth, name] of INPUTS.entries())
        test(`of ${name || "the simulated recording"}, after addresses, scripts and keys in any order`, async () => {
            const file = writePage(name ? path.join(samples, `${name}.pickle`) : recording);
            const dice = new Dice(100 + nth);
            await withPages(file, async (page, beside, troubles) => {
                const devices = await page.evaluate("strata.devices().filter(({ allocations }) => allocations > 0)");
                /** @type {Page | undefined} */ let other;
                for (let i = 0; i < count; i++) {
                    /** @type {unknown[]} */ const done = [];
                    if (dice.often(75)) {
                        const address = randomAddress(dice, devices);
                        done.push(address);
                        await follow(page, address);
                    }
                    if (dice.often(60)) {
                        const wanted = randomView(dice, devices);
                        done.push(wanted);
                        // The page refuses an impossible view and stays as it was.
                        await page.evaluate((view) => window.strata.setView(view).catch(() => {}), wanted);
                    }
                    await page.locator("#plot").focus();
                    for (let n = dice.below(6); n > 0; n--) {
                        done.push(dice.of(KEYS));
                        await page.keyboard.press(String(done.at(-1)));
                    }
                    await rest(page);
                    const shown = await page.evaluate(SHOWN);
                    // Opens a new page with the address; usually, because that takes half a second, sends the open page
                    // there instead.
                    const anew = runsAll || i === 0 || i + 1 === count;
                    if (anew) await other?.close();
                    if (anew || !other) other = await beside(shown.address);
                    else await follow(other, shown.address);
                    assert.deepEqual(await other.evaluate(SHOWN), shown, JSON.stringify(done));
                    assert.deepEqual(await misread(other), [], shown.address);
                    assert.deepEqual(troubles, [], JSON.stringify(done));
                }
            });
        });
});

/** Turns an address into one that nobody wrote. @type {((dice: Dice, address: string) => string)[]} */
const HARM = [
    (dice, address) => address.slice(0, dice.below(address.length)),
    (dice, address) => address + address.slice(1 + dice.below(address.length)),
    (_, address) => address.replace("#", "#&&=&==&").replaceAll("&", "&&"),
    (dice, address) => address.replace(/\d+/g, (number) => (dice.often(50) ? dice.of(["1e400", "-0", "NaN", "-1", "99999999999999999999", "0x1f", "", "1e-320", "Infinity", "\u0661"]) : number)),
    (dice, address) => address.replaceAll(dice.of(["%3A", "=", "_", "a", "e"]), dice.of(["%", "%F", "%F0%80", "%00", "%ff%fe", "\u202e"])),
    (dice, address) => `${address}&${dice.of(["search", "filter", "marks", "focus", "a", "window"])}=${"x,".repeat(50_000)}`,
    (dice, address) => `${address}&${Array.from({ length: 2000 }, (_, i) => `${dice.of(["k", "search", "__proto__", "constructor", "toString"])}${dice.of(["", i])}=${i}`).join("&")}`,
    (dice, address) => WORDS.reduce((text, [name]) => (dice.often(50) ? `${text}&${name}=${dice.of(["", "__proto__", "constructor", "<b>x</b>", "9", "-1", "a_b_c", "1_2_3", "_", "e", "s999", "r9_1", "e99999999999", "~,~,~"])}` : text), address),
];

describe("an invalid address", { skip }, () => {
    test("the page is whole", async () => {
        const file = writePage(path.join(samples, "oom.pickle"));
        await withPages(file, async (page, beside, troubles) => {
            const devices = await page.evaluate("strata.devices()");
            for (const [nth, harm] of HARM.entries()) {
                const dice = new Dice(500 + nth);
                for (let i = 0; i < (runsAll ? 25 : 1); i++) {
                    const address = harm(dice, randomAddress(dice, devices));
                    const where = `harm ${nth}: ${address.slice(0, 2000)}`;
                    const other = await beside(address);
                    const first = await other.evaluate(SHOWN);
                    // A page that showed something else shows the same with this address.
                    await page.evaluate((text) => void (location.hash = text), address);
                    await rest(page);
                    assert.deepEqual(await misread(page), await misread(other), where);
                    assert.deepEqual(await page.evaluate(SHOWN), first, where);
                    assert.ok(first.width > 300 && first.height > 80, `${first.width} x ${first.height}: ${where}`);
                    assert.ok(Number.isFinite(first.view.from) && first.view.from < first.view.to, where);
                    assert.equal(await other.evaluate("document.documentElement.scrollWidth"), 1400, "nothing leaves the page");
                    await other.close();
                    assert.deepEqual(troubles, [], where);
                }
            }
        });
    });

    test("a sentence names words that are not understood, and disappears with the address", async () => {
        const wrong = "#device=7&tab=where&window=5_x&unknown=1&marks=a,b&a=s99&search=attention";
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            assert.deepEqual(await misread(page), ["device", "tab", "window", "unknown", "marks", "a"]);
            assert.equal((await ask(page, "strata.view()")).search, "attention", "the rest is shown");
            await page.evaluate(() => (location.hash = "#tab=tree"));
            await rest(page);
            assert.ok(await page.locator("#note").isHidden(), "it is understood");
        }, { hash: wrong }); // prettier-ignore
    });

    test("a stream or a pool that the device does not have is named, and the rest of the filter is kept", async () => {
        for (const word of ["stream:99", "pool:99"])
            await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
                assert.deepEqual(await misread(page), ["filter"]);
                const { filter } = await ask(page, "strata.view()");
                assert.deepEqual([filter.stream, filter.pool, filter.leastBytes], [-1, -1, "1MiB"]);
            }, { hash: `#filter=size:>=1MiB ${word}` }); // prettier-ignore
    });

    test("Back skips an address that the page would write differently", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const first = await page.evaluate(() => location.hash);
            await page.evaluate(() => (location.hash = "#theme=dark&tab=tree&nothing"));
            await rest(page);
            assert.equal(await page.evaluate(() => location.hash), "#device=0&tab=tree&theme=dark");
            await page.evaluate(() => history.back());
            await until(() => page.evaluate((hash) => location.hash === hash, first), "the address before");
            await rest(page);
            assert.equal(await page.evaluate(() => location.hash), first);
        });
    });
});

describe("Back", { skip }, () => {
    test("undoes changes made right after loading, a card's proof too, and only then leaves the page", async () => {
        await withPage(writePage(path.join(samples, "leak_two_per_layer.pickle")), async (page) => {
            const first = await page.evaluate(() => location.hash);
            assert.match(first, /device=0/);
            await page.locator('[data-finding="0"] [data-action=show]').click();
            await until(() => page.evaluate(() => location.hash.includes("finding=0")), "the address of the proof");
            assert.ok(await page.locator("#proof").isVisible());
            await page.evaluate(() => history.back());
            await until(() => page.evaluate((hash) => location.hash === hash, first), "the view that it opened with");
            await rest(page);
            assert.equal(await page.locator("#proof").isVisible(), false);
            assert.equal(await ask(page, "strata.lit()"), null);
        });
    });
});

describe("things that addresses once lost", { skip }, () => {
    const train = path.join(samples, "train.pickle");
    const oom = path.join(samples, "oom.pickle");

    test("the table of allocations lists all once a search is over", async () => {
        await withPage(writePage(train), async (page) => {
            const { allocations } = await ask(page, "strata.stats()");
            const total = () => page.locator("#panel-each .panel-total").innerText();
            await setView(page, { search: "step:1" });
            assert.doesNotMatch(await total(), new RegExp(`^${allocations.toLocaleString("en-US")} `));
            await setView(page, { search: "" });
            assert.match(await total(), new RegExp(`^${allocations.toLocaleString("en-US")} allocations; a search narrows them`));
        }, { hash: "#tab=each" }); // prettier-ignore
    });

    test("the set of the last finding", async () => {
        const file = writePage(path.join(samples, "leak_graph.pickle"));
        for (const nth of [0, 1])
            await withPage(file, async (page) => {
                const { ids } = (await ask(page, "strata.findings()"))[nth];
                assert.deepEqual((await ask(page, "strata.lit()"))?.ids, ids);
                assert.deepEqual(await misread(page), []);
            }, { hash: `#finding=${nth}` }); // prettier-ignore
        await withPage(file, async (page) => assert.deepEqual(await misread(page), ["finding"]), { hash: "#finding=2" });
        const oom = writePage(path.join(samples, "oom.pickle")); // a failed request is no set
        await withPage(oom, async (page) => {
            assert.deepEqual(await misread(page), ["finding"]);
            assert.equal(await ask(page, "strata.lit()"), null);
        }, { hash: "#finding=0" }); // prettier-ignore
    });

    test("the holders of the memory at an OOM do not depend on the filter", async () => {
        const held = /in use[^:]*: (.*)\./;
        /** @type {(string | undefined)[]} */ const said = [];
        for (const hash of ["#tab=who&filter=size:%3C1M", "#tab=who"])
            await withPage(writePage(oom), async (page) => {
                await page.locator("#tab-why").click();
                said.push(held.exec(await page.locator("#panel-why .card").first().innerText())?.[1]);
            }, { hash }); // prettier-ignore
        assert.match(said[0] ?? "", /GiB/);
        assert.equal(said[0], said[1]);
    });

    test("a script that asks for events leaves the axis that devices share", async () => {
        await withPage(writePage(path.join(samples, "two_devices.pickle")), async (page) => {
            const view = await setView(page, { axis: "events", from: 100, to: 300 });
            assert.deepEqual([view.axis, view.from, view.to], ["events", 100, 300]);
            assert.deepEqual(await ask(page, "strata.rows()"), []);
        }, { hash: "#all=1" }); // prettier-ignore
    });

    test("a moment that is compared is no mark", async () => {
        const address = "#device=0&tab=compare&a=e300&b=peak&marks=";
        await withPage(writePage(train), async (page) => {
            assert.equal(await page.locator("#panel-compare .mark-chip").count(), 0);
            const bare = await canvasOf(page, "timeline");
            // Older addresses have no word for marks; there A and B are the marks.
            await page.evaluate((text) => (location.hash = text), address.replace("&marks=", ""));
            await until(async () => (await page.locator("#panel-compare .mark-chip").count()) === 1, "mark A");
            assert.equal(await canvasOf(page, "timeline"), bare, "marks lie over the picture");
        }, { hash: address }); // prettier-ignore
    });
});

/** @param {Page} page @param {string} id @returns {Promise<string>} */
function canvasOf(page, id) {
    return page.evaluate((name) => /** @type {HTMLCanvasElement} */ (document.getElementById(name)).toDataURL(), id);
}
