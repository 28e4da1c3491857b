// Work on a large recording is done in turns with the browser: drawings, names on bands, pictures.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { before, describe, test } from "node:test";

import { ALL, folder, openContext, run, samples, skip, until, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

const windows = [0, 200_000, 400_000].map((from) => ({ from, to: from + 300_000 }));

/** Gives the page what the tests below look with. @param {Page} page */
const prepare = (page) =>
    page.evaluate(() => {
        const now = performance.now.bind(performance);
        Object.assign(window, {
            /** The stack and the axis' labels, as one number each: names on bands come later. */
            look: () =>
                ["timeline", "axes"]
                    .map((id) => {
                        const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(id));
                        const top = id === "axes" ? canvas.height - 46 * devicePixelRatio : 0;
                        const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(0, top, canvas.width, canvas.height - top);
                        return new Uint32Array(data.buffer).reduce((hash, pixel) => Math.imul(hash ^ pixel, 16777619), 1);
                    })
                    .join(" "),
            turn: () => new Promise((done) => setTimeout(done)),
            /** A clock by which each step takes long, so that each has a turn of its own. */
            slowly: () => {
                let asked = 0;
                performance.now = () => now() + 100 * asked++;
            },
            quickly: () => (performance.now = now),
        });
    });

describe("in turns", { skip }, () => {
    /** @type {string} */ let file;

    before(() => {
        // With more than 200,000 allocations, from which on drawings are done in turns.
        file = path.join(folder, "turns.pickle");
        run("python3", path.join(samples, "generate.py"), "--story", "train", "--events", 640_000, "-o", file);
    });

    /** @param {string} name @param {(page: Page) => Promise<void>} use */
    const onPage = (name, use) =>
        test(name, () =>
            withPage(writePage(file), async (page) => {
                await prepare(page);
                await use(page);
            }),
        );

    onPage("a drawing shows stack and axis of one window, also if the window changes meanwhile", async (page) => {
        const seen = await page.evaluate(async (windows) => {
            const { strata, look, turn, slowly } = /** @type {any} */ (window);
            const alone = [];
            for (const one of [...windows, windows[0]]) {
                await strata.setView(one);
                alone.push(look());
            }
            slowly();
            /** @type {string[]} */ const between = [];
            const watch = async (/** @type {Promise<unknown>} */ drawing) => {
                let ready = false;
                void drawing.then(() => (ready = true));
                for (; !ready; await turn()) between.push(look());
            };
            await watch(strata.setView(windows[1]));
            await watch(strata.setView(windows[0]));
            const first = strata.setView(windows[1]);
            between.push(look());
            await turn();
            await watch(strata.setView(windows[2]));
            await first;
            return { alone, between, last: look() };
        }, windows);
        assert.equal(new Set(seen.alone).size, 3, "three windows look different");
        assert.ok(seen.between.length > 8, "drawings take several turns");
        assert.equal(seen.between[0], seen.alone[0], "the old picture stays until the new one is ready");
        for (const one of seen.between) assert.ok(seen.alone.includes(one), "the stack of one window over the axis of another");
        assert.equal(seen.last, seen.alone[2]);
    });

    onPage("a change in the middle of a drawing leaves the page as it is, and the drawing goes on with what it began", async (page) => {
        const seen = await page.evaluate(async (windows) => {
            const { strata, look, turn, slowly, quickly } = /** @type {any} */ (window);
            const alone = [];
            for (const one of [...windows, windows[0]]) {
                await strata.setView(one);
                alone.push(look());
            }
            slowly();
            /** What is seen before and after a change in the middle of a drawing of the second window, and until all is drawn. */
            const disturb = async (/** @type {object} */ wanted) => {
                await strata.setView({ ...windows[0], filter: {} });
                const first = strata.setView(windows[1]);
                for (let i = 0; i < 3; i++) await turn();
                const before = look();
                const second = strata.setView(wanted);
                const after = look();
                const later = [];
                let ready = false;
                void second.then(() => (ready = true));
                for (; !ready; await turn()) later.push(look());
                await first;
                return { before, after, later, last: look() };
            };
            const moved = await disturb(windows[2]);
            const filtered = await disturb({ filter: { words: "size:>1M" } });
            const { from, to } = strata.view();
            quickly();
            await strata.setView(windows[1]);
            return { alone, moved, filtered, from, to, whole: look() };
        }, windows);
        for (const { before, after } of [seen.moved, seen.filtered]) {
            assert.equal(before, seen.alone[0], "the drawing is still going on");
            assert.equal(after, seen.alone[0], "the change does not end it");
        }
        assert.ok(seen.moved.later.includes(seen.alone[1]), "the drawing that had begun is seen");
        assert.equal(seen.moved.last, seen.alone[2]);
        assert.deepEqual([seen.from, seen.to], [windows[1].from, windows[1].to]);
        assert.equal(seen.filtered.last, seen.whole);
        assert.ok(!seen.alone.includes(seen.whole), "the filter shows");
    });

    onPage("who waits for a drawing does not hurry another one that took its place", async (page) => {
        const turns = await page.evaluate(async (windows) => {
            const { strata, slowly } = /** @type {any} */ (window);
            slowly();
            // Whoever gives the browser a turn waits for a message.
            const { postMessage } = MessagePort.prototype;
            let count = 0;
            MessagePort.prototype.postMessage = function (/** @type {any} */ message) {
                count++;
                postMessage.call(this, message);
            };
            await strata.setView(windows[1]);
            const alone = count;
            count = 0;
            const first = strata.setView(windows[0]);
            await strata.setView(windows[2]);
            await first;
            return { alone, second: count };
        }, windows);
        assert.ok(turns.alone > 3, `${turns.alone} turns`);
        assert.ok(turns.second >= turns.alone, `${turns.second} turns instead of ${turns.alone}`);
    });

    onPage("a picture takes several turns, in which the page shows what it did", async (page) => {
        const seen = await page.evaluate(async ([one, other]) => {
            const { strata, look, turn, slowly, quickly } = /** @type {any} */ (window);
            const url = async (/** @type {Promise<{url: string}>} */ picture) => (await picture).url;
            await strata.setView(one);
            const before = look();
            const alone = [await url(strata.picture()), await url(strata.picture({ scale: 2 }))];
            await strata.setView(other);
            const next = await url(strata.picture());
            await strata.setView(one);

            slowly();
            let ready = false;
            const between = [];
            // The browser packs the picture in turns of its own.
            const { toBlob } = HTMLCanvasElement.prototype;
            let drawing = 0;
            HTMLCanvasElement.prototype.toBlob = function (...given) {
                drawing = between.length;
                toBlob.apply(this, /** @type {any} */ (given));
            };
            const slow = url(strata.picture({ scale: 2 })).finally(() => (ready = true));
            for (; !ready; await turn()) between.push(look());
            HTMLCanvasElement.prototype.toBlob = toBlob;

            // The picture is of the state in which it was asked for.
            const asked = url(strata.picture());
            await turn();
            await strata.setView(other);
            const moved = await asked;
            const waiting = strata.setView(one);
            const early = await url(strata.picture());
            await waiting;

            // Whatever asks for a pixel of the page meanwhile gets the page's.
            const place = [300, document.getElementById("timeline")?.clientHeight ?? 0].map((v, i) => (i ? v - 20 : v));
            const picked = strata.pick(...place);
            const large = url(strata.picture({ scale: 2 }));
            for (let i = 0; i < 4; i++) await turn();
            const meanwhile = strata.pick(...place);
            quickly();
            return { before, alone, next, between, drawing, slow: await slow, moved, early, picked, meanwhile, large: await large };
        }, windows);
        assert.ok(seen.drawing > 8, `${seen.drawing} turns`);
        assert.deepEqual([...new Set(seen.between)], [seen.before]);
        assert.equal(seen.slow, seen.alone[1]);
        assert.equal(seen.moved, seen.alone[0]);
        assert.equal(seen.early, seen.alone[0]);
        assert.equal(seen.large, seen.alone[1]);
        assert.notEqual(seen.next, seen.alone[0]);
        assert.ok(seen.picked);
        assert.deepEqual(seen.meanwhile, seen.picked);
    });

    onPage("a click while a picture is drawn pins what is under it", async (page) => {
        const seen = await page.evaluate(async ([one]) => {
            const { strata, turn, slowly } = /** @type {any} */ (window);
            await strata.setView(one);
            const plot = /** @type {HTMLElement} */ (document.getElementById("plot"));
            const box = /** @type {HTMLElement} */ (document.getElementById("timeline")).getBoundingClientRect();
            const { allocation } = strata.pick(300, box.height - 20);
            slowly();
            const picture = strata.picture({ scale: 2 });
            for (let i = 0; i < 4; i++) await turn();
            const at = { clientX: box.left + 300, clientY: box.bottom - 20, pointerId: 1, button: 0, bubbles: true };
            plot.setPointerCapture = () => {};
            for (const type of ["pointerdown", "pointerup"]) plot.dispatchEvent(new PointerEvent(type, at));
            await picture;
            return { allocation, selected: strata.view().selected };
        }, windows);
        assert.equal(seen.selected, seen.allocation);
    });

    /** The page with another opening. @param {string} name @param {string} opening */
    const writeOther = (name, opening) => {
        const other = path.join(folder, name);
        const text = readFileSync(writePage(file), "latin1");
        assert.equal(text.match(/<data /g)?.length, 1);
        writeFileSync(other, text.replace(/<data .*?<\/data>/, opening), "latin1");
        return other;
    };

    /** Opens a page; returns what it shows when it is ready, the order of what it did, and its texts before the findings.
     * @param {string} page @param {string} [hash] */
    const openSlowly = async (page, hash = "") => {
        const context = await openContext();
        try {
            const tab = await context.newPage();
            await tab.addInitScript(() => {
                const { instantiate } = WebAssembly;
                /** @type {string[]} */ const order = [];
                const text = (/** @type {string} */ id) => document.getElementById(id)?.textContent ?? "";
                const seen = { order, why: "", total: "", list: "", tab: "", badge: "", room: 0 };
                const room = () => document.getElementById("timeline")?.clientHeight;
                const note = (/** @type {string} */ what) => {
                    if (what === "findings" && !order.includes(what) && document.getElementById("app")?.hidden === false) {
                        const chosen = document.querySelector("[role=tab][aria-selected=true]");
                        Object.assign(seen, { why: text("panel-why"), total: text("list-total"), list: text("list"), tab: chosen?.id, badge: text("tab-why"), room: room() });
                    }
                    if (order.at(-1) !== what) order.push(what);
                };
                Object.assign(window, { seen, room });
                const { putImageData } = CanvasRenderingContext2D.prototype;
                CanvasRenderingContext2D.prototype.putImageData = function (/** @type {any[]} */ ...given) {
                    putImageData.apply(this, /** @type {any} */ (given));
                    if (this.canvas.id === "timeline") note("picture");
                };
                WebAssembly.instantiate = /** @type {any} */ (async (/** @type {[any]} */ ...source) => {
                    const made = /** @type {any} */ (await instantiate(...source));
                    const exports = { ...made.instance?.exports };
                    const { session_prepare: prepare, view_findings: count } = exports;
                    if (!prepare) return made;
                    exports.session_prepare = (/** @type {number[]} */ ...given) => {
                        if (given[2]) note("findings");
                        return prepare(...given);
                    };
                    exports.view_findings = (/** @type {number} */ view) => (note("findings"), count(view));
                    return { instance: { exports } };
                });
            });
            await tab.goto(`file://${page}${hash}`);
            await tab.evaluate("strata.ready");
            const { order, room, ...seen } = await tab.evaluate(() => /** @type {any} */ (window).seen);
            const rooms = [room, await tab.evaluate("room()")];
            await until(() => tab.evaluate(() => /** @type {any} */ (document.querySelector(".legend-entry"))?.textContent), "all that follows");
            await prepare(tab);
            const look = await tab.evaluate(() => /** @type {any} */ (window).look());
            const [app, address] = await tab.evaluate(() => [document.getElementById("app")?.innerText, location.hash]);
            return { order: order.join(" "), seen, rooms, ready: { look, app, address }, why: await tab.locator("#panel-why").textContent() };
        } finally {
            await context.close();
        }
    };

    test("the first picture comes before the findings; the page is then the same as without", async () => {
        const early = await openSlowly(writePage(file));
        assert.match(early.order, /^picture (picture )?findings/);
        assert.equal(early.rooms[0], early.rooms[1], "nothing moves");
        assert.deepEqual(early.seen, { why: "", total: "Adding up \u2026", list: "", tab: "tab-who", badge: "Why " });
        const late = await openSlowly(writeOther("late.html", ""));
        assert.match(late.order, /^findings picture/);
        assert.deepEqual(early.ready, late.ready);
        assert.match(early.ready.app ?? "", /Who/);
    });

    test("until they are found, nothing is said of them but their number", async () => {
        const told = await openSlowly(writeOther("told.html", `<data id="opening" value='{"findings":3,"parts":true,"layers":true}'></data>`));
        assert.match(told.order, /^picture (picture )?findings/);
        assert.deepEqual(told.seen, { why: "Looking for findings \u2026", total: "Adding up \u2026", list: "", tab: "tab-why", badge: "Why 3" });
        // The file says three, so that the words are seen; it has none.
        assert.match(told.why ?? "", /Nothing found among the kinds that could be judged\./);
    });

    test("an address that speaks of findings waits for them", async () => {
        for (const word of ["finding=0", "focus=category_2"]) assert.match((await openSlowly(writePage(file), `#${word}`)).order, /^findings picture/, word);
        assert.match((await openSlowly(writePage(file), "#device=0&tab=tree")).order, /^picture (picture )?findings/);
    });

    test("only a page whose opening needs no findings says how it opens", () => {
        const opens = (/** @type {string[]} */ ...flags) => /<data /.test(readFileSync(writePage(file, ...flags), "latin1"));
        assert.equal(opens(), true);
        assert.equal(opens("--axis", "time"), false);
        assert.equal(opens("--color-by", "category"), false);
        assert.equal(opens("--max-html-size", "500K"), false);
        assert.equal(/<data /.test(readFileSync(writePage(path.join(samples, "oom.pickle")), "latin1")), false);
    });

    test("the curve of a group is the same in many steps as in one", async () => {
        const context = await openContext();
        try {
            const page = await context.newPage();
            // Notes the module's calls, and the view that they are about.
            await page.addInitScript(() => {
                const { instantiate } = WebAssembly;
                WebAssembly.instantiate = /** @type {any} */ (async (/** @type {[any]} */ ...source) => {
                    const made = /** @type {any} */ (await instantiate(...source));
                    const exports = { ...made.instance?.exports };
                    const { view_facts: facts } = exports;
                    if (!facts) return made;
                    exports.view_facts = (/** @type {number} */ view) => (Object.assign(window, { exports, view }), facts(view));
                    return { instance: { exports } };
                });
            });
            await page.goto(`file://${writePage(path.join(samples, "train.pickle"))}`);
            await page.evaluate("strata.ready");
            const curves = await page.evaluate(() => {
                const { exports, view } = /** @type {any} */ (window);
                const curve = (/** @type {number[]} */ ...group) => [...new Float64Array(exports.memory.buffer, exports.view_spark(view, ...group, 56) >>> 0, 56)];
                const steps = (/** @type {number} */ atOnce, /** @type {number[]} */ ...group) => {
                    let count = 1;
                    while (exports.view_spark_step(view, ...group, atOnce) === 1) count++;
                    return count;
                };
                // All of a stream, and one category.
                return [[4, 0], [3, 1]].map(([by, key]) => {
                    const once = curve(by, key);
                    const counts = [1, 7, 100_000].map((atOnce) => {
                        const count = steps(atOnce, by, key);
                        return [count, JSON.stringify(curve(by, key)) === JSON.stringify(once)];
                    });
                    // Another group in between takes its place.
                    exports.view_spark_step(view, by, key, 7);
                    exports.view_spark_step(view, by, key, 7);
                    const other = exports.view_spark_step(view, 5, 1, 7);
                    return { most: Math.max(...once), counts, other, again: JSON.stringify(curve(by, key)) === JSON.stringify(once) };
                });
            });
            const allocations = /** @type {number} */ (await page.evaluate(`${ALL}.length`));
            for (const { most, counts, other, again } of curves) {
                assert.ok(most > 0);
                assert.deepEqual(counts, [1, 7, 100_000].map((atOnce) => [1 + Math.ceil(allocations / atOnce), true]));
                assert.equal(other, 1);
                assert.ok(again);
            }
        } finally {
            await context.close();
        }
    });

    test("the search for names on bands takes several turns", async () => {
        const context = await openContext();
        try {
            const page = await context.newPage();
            // Counts turns, and notes in which the module looks for names.
            await page.addInitScript(() => {
                const { instantiate } = WebAssembly;
                const later = window.setTimeout;
                /** @type {number[]} */ const looked = [];
                let turn = 0;
                Object.assign(window, { looked });
                window.setTimeout = /** @type {any} */ ((/** @type {() => void} */ act, /** @type {number} */ ms) => later(() => (turn++, act()), ms));
                WebAssembly.instantiate = /** @type {any} */ (async (/** @type {[any]} */ ...source) => {
                    const made = /** @type {any} */ (await instantiate(...source));
                    const exports = { ...made.instance?.exports };
                    const { view_band_names_step: step } = exports;
                    if (!step) return made;
                    exports.view_band_names_step = (/** @type {number[]} */ ...given) => (looked.push(turn), step(...given));
                    return { instance: { exports } };
                });
            });
            await page.goto(`file://${writePage(file)}`);
            await page.evaluate("strata.ready");
            await until(() => page.evaluate(() => /** @type {any} */ (window).looked.length > 1), "the search");
            const looked = /** @type {number[]} */ (await page.evaluate(() => /** @type {any} */ (window).looked));
            assert.ok(looked.length > 1, `${looked.length} steps`);
            assert.equal(new Set(looked).size, looked.length, "a turn for each step");
        } finally {
            await context.close();
        }
    });
});
