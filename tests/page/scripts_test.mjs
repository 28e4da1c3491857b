// The calls that scripts may make, the page's messages about damage, and its words.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { ask, folder, hashOf, openContext, replay, report, run, samples, setView, skip, strata, until, withPage, writePage } from "./browser.mjs";

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

    test("ranges: allocated less freed bytes are the difference of the totals", async () => {
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

    test("an invalid call is refused with a sentence", async () => {
        await withPage(writePage(path.join(samples, "one_event.pickle")), async (page) => {
            for (const question of ['groups({ by: "colour" })', "groups({ at: 0.5 })", "groups({ at: 1 })", "tree({ at: -2 })", "gap({ at: 1e9 })", "blocks({ at: 1 })", 'compare({ a: { from: 3, to: 1 }, b: { at: 0 } })', "compare({ a: { at: 0 }, b: { at: 5 } })", 'tree({ direction: "up" })'])
                await assert.rejects(ask(page, `strata.${question}`), /RangeError/);
        });
    });
});

describe("views of scripts", { skip }, () => {
    test("an impossible view is refused with a sentence and changes nothing", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const before = await setView(page, { from: 100, to: 900, filter: { words: "size:>1KiB" } });
            const wrong = [
                "device: 9", 'axis: "sideways"', "from: NaN", 'to: "5"', 'colorBy: "taste"', "filter: { words: 5 }", "filter: { leastBytes: null }", "filter: { stream: NaN }",
                'filter: { wrods: "a" }', 'filter: "a"', "range: 5", "range: { from: 1 }", "range: { from: NaN, to: 3 }", "range: { from: 9, to: 3 }", "from: 500, to: 100", 'map: "best"', "search: 5", "search: null",
                "selected: 0.5", 'selected: "1"', "selected: 1e9", "selected: -1",
            ]; // prettier-ignore
            for (const field of wrong) {
                // A field with a valid value comes before the invalid one, and must not be applied.
                await assert.rejects(ask(page, `strata.setView({ axis: "time", colorBy: "size", ${field} })`), /RangeError: The view's \w+ cannot be /, field);
                assert.deepEqual(await ask(page, "strata.view()"), before, field);
            }
            for (const words of ['search: "size:>x"', 'search: "/(/"', 'filter: { words: "size:>x" }', 'filter: { leastBytes: "x" }']) {
                await assert.rejects(ask(page, `strata.setView({ axis: "time", from: 5, ${words} })`), /RangeError: The view's words are wrong: /, words);
                assert.deepEqual(await ask(page, "strata.view()"), before, words);
            }
            await assert.rejects(ask(page, 'strata.search("/(/")'), /words are wrong: Not a regular expression/);
            for (const question of ["compare()", "compare({ a: 1, b: 2 })", "compare({ a: { at: 1 } })", "search(5)", 'gap({ at: "x" })', "gap({ at: 0.5 })", "groups({ from: 10 })", "tree({ to: 10 })"])
                await assert.rejects(ask(page, `strata.${question}`), /RangeError: \S+ \S+/, question);
            for (const question of ["groups(null)", "tree(null)", "picture(null)", "setView()", "setView(null)"]) assert.ok(await ask(page, `strata.${question}`), question);
        });
    });

    test("a selected range lies in the run", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const { events } = await ask(page, "strata.summary()");
            assert.deepEqual((await setView(page, { range: { from: -1e300, to: 1e300 } })).range, { from: -1, to: events });
            assert.equal((await setView(page, { range: { from: 1e300, to: 1e301 } })).range, null);
            for (const [hash, range] of /** @type {[string, object | null][]} */ ([["1e300_1e301", null], ["-9_-5", null], ["5_1e300", { from: 5, to: events }]])) {
                await page.evaluate((text) => void (location.hash = `#range=${text}`), hash);
                await until(async () => JSON.stringify((await ask(page, "strata.view()")).range) === JSON.stringify(range), `the range of ${hash}`);
                assert.equal(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false);
            }
        });
    });
});

describe("faults", { skip }, () => {
    test("every fault gives a sentence that says how to report it, and a way back", async () => {
        const file = writePage(path.join(samples, "train.pickle"));
        const context = await openContext();
        const page = await context.newPage();
        await page.goto(pathToFileURL(file).href);
        await ask(page, "strata.ready");
        const failure = page.locator("#failure");
        for (const kind of ["WebAssembly.RuntimeError", "RangeError"]) {
            await ask(page, `void setTimeout(() => { throw new ${kind}('of ${kind}'); })`);
            const told = new RegExp(`fault of its own \\(of ${kind}\\).*report it.*xxh128:`, "s");
            await until(async () => told.test(await failure.innerText()), "the sentence");
        }
        // An error that a call tells its script is none of the page's.
        await page.evaluate("void strata.setView({ device: 99 })");
        assert.match(await failure.innerText(), /of RangeError/);
        await ask(page, "strata.setView({ search: 'conv' })");
        await until(async () => /search=conv/.test(page.url()), "the address");
        await ask(page, "strata.setView({ groupBy: 'file' }), void setTimeout(() => { throw new TypeError('late'); })");
        await until(async () => /late/.test(await failure.innerText()), "the next sentence");
        await page.getByRole("button", { name: "Back to the view before" }).click();
        await until(async () => !(await failure.isVisible()), "no sentence");
        assert.equal((await ask(page, "strata.view()")).search, "conv");
        await context.close();
    });
});

describe("words", { skip }, () => {
    test("an endless search is stopped with a message, and the page goes on", async () => {
        const name = `${"a".repeat(16384)}!`;
        const file = path.join(folder, "names.json");
        const event = (/** @type {string} */ action) => ({ action, addr: 4096, size: 1024, stream: 0, time_us: 1, frames: [{ filename: "a.py", line: 1, name }] });
        writeFileSync(file, JSON.stringify({ segments: [], device_traces: [[event("alloc"), event("free_requested"), event("free_completed")]] }));
        await withPage(writePage(file), async (page) => {
            await until(async () => /takes longer than/.test(await page.locator("#found").innerText()), "the sentence");
            await until(async () => page.workers().length === 0, "nothing holds up the next search");
            assert.deepEqual(await ask(page, 'strata.search("a.py")'), { allocations: 1, bytesAtPeak: 1024 });
        }, { hash: `#search=${encodeURIComponent("/(a+)+b/")}` });
    });

    test("the time to start the worker does not count as the expression's", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await page.evaluate(() => {
                const { postMessage } = Worker.prototype;
                // Delays the worker for longer than an expression may take.
                Worker.prototype.postMessage = function (/** @type {any[]} */ ...message) {
                    setTimeout(() => Reflect.apply(postMessage, this, message), 2500);
                };
            });
            const found = await ask(page, 'strata.search("/attention\\\\.py/")');
            assert.ok(found.allocations > 0);
            assert.deepEqual(found, await ask(page, 'strata.search("attention.py")'));
        });
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
            await until(async () => (await hashOf(page)).includes("80GB"), "the address has the filter");
            await ask(page, "void (location.hash = '#device=0')");
            await until(async () => (await ask(page, "strata.stats()")).kept === all, "an address without a filter takes it away");
            for (const words of ["/py:[\\d]+ [\\w<]/", "/[\\w.]+:[\\d.]+ [^\\s]/", "/(?:model|train)\\.py:[^\\d]/", "/(?:^|[-\\d])ttn:?/"]) {
                const [device] = JSON.parse(run(strata, "report", "--json", "--filter", words, path.join(samples, "train.pickle")).toString()).devices;
                assert.equal((await ask(page, `strata.search(${JSON.stringify(words)})`)).allocations, device.filtered_allocations, words);
            }
        });
    });
});
