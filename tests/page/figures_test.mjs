// The page's figures, compared with the report and an independent replay; and the names of a hostile recording.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, checkPicks, hashOf, listedSites, plotBox, randomPoints, replay, report, samples, settle, setView, skip, texts, until, withPage, writePage, writeSnapshot } from "./browser.mjs";
import { recording } from "./simulated.mjs";

describe("figures", { skip }, () => {
    test("summary() is the report's object of the device", async () => {
        const wanted = report(recording).devices;
        await withPage(writePage(recording), async (page) => {
            for (const device of wanted) {
                await setView(page, { device: device.device });
                const summary = await ask(page, "strata.summary()");
                // Only the report computes fragmentation and advice. All other figures are equal.
                const { oom, top_at_peak, ...figures } = summary;
                assert.ok(Object.keys(figures).length >= 12, "all figures of the contract");
                for (const name of Object.keys(figures)) assert.deepEqual(figures[name], device[name], name);
                assert.deepEqual(oom, device.oom.map(({ event, requested_bytes, device_free_bytes }) => ({ event, requested_bytes, device_free_bytes })));
                const short = (/** @type {any[]} */ top) => top.map(({ bytes, count, site }) => ({ bytes, count, site }));
                assert.deepEqual(short(top_at_peak).slice(0, 20), short(device.top_at_peak));
            }
        });
    });

    test("200 points: pick() agrees with the plain replay", async () => {
        await withPage(writePage(recording), async (page) => {
            const ordinal = (await ask(page, "strata.view()")).device;
            const { events } = report(recording).devices.find((/** @type {any} */ device) => device.device === ordinal);
            for (const [from, to] of [[-1, events], [300, 700], [500, 520]]) {
                const view = await setView(page, { from, to });
                assert.deepEqual([view.from, view.to], [from, to]);
                await checkPicks(page, ordinal, view, 200, recording);
            }
        });
    });

    test("search() counts as the plain replay does", async () => {
        await withPage(writePage(recording), async (page) => {
            const ordinal = (await ask(page, "strata.view()")).device;
            for (const text of ["attention.py", "ATTENTION.Py", "注意", "</script>", "no such text"]) {
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

    test("a nonsensical hash leaves the page working", async () => {
        const hash = "#device=99&window=nan_1e999&bytes=9_-1e400&at=-7&selected=1e12&focus=site,%3Cimg%20src=x%3E&search=%3Cscript%3E&color=%00";
        await withPage(writePage(hostile), async (page) => {
            const view = await ask(page, "strata.view()");
            assert.ok(view.from < view.to);
        }, { hash });
    });

    test("a focus on a missing frame is ignored", async () => {
        await withPage(writePage(hostile), async (page) => {
            for (const focus of ["category_65535", "category_12", "stream_65535", "pool_65535", "stack_99999999", "frame_99999999", "site_99999999", "pool_-1", "stream_nan", "line_nobody.py"]) {
                await page.evaluate((text) => void (location.hash = `#tab=who&focus=${text}`), focus);
                await until(async () => !/focus=/.test(await hashOf(page)), `no ${focus} in the address`);
            }
        });
    });
});

describe("larger recordings than usual", { skip }, () => {
    const event = (/** @type {string} */ more) => `{"action": "alloc", "frames": [{"filename": "a.py", "line": i, "name": "f"}], ${more}}`;

    test("times that lie years apart are drawn at their end too", async () => {
        const events = event('"addr": i << 20, "size": 4096, "stream": 0, "time_us": (1 << 62) + i * (1 << 57)');
        const file = writeSnapshot("years.pickle", `{"segments": [], "device_traces": [[${events} for i in range(1, 17)]]}`);
        await withPage(writePage(file), async (page) => {
            for (const [from, to] of [[13, 16], [-1, 16], [0, 2]]) {
                await setView(page, { axis: "events", from, to });
                const { draws } = await ask(page, "strata.stats()");
                assert.equal((await setView(page, { axis: "time" })).axis, "time");
                assert.ok((await ask(page, "strata.stats()")).draws > draws, `${from} to ${to}`);
            }
        });
    });

    test("thousands of streams and phases are counted, not listed", async () => {
        const events = event('"addr": (i + 1) << 20, "size": 4096, "stream": i, "time_us": 5000 + i');
        const notes = '[{"name": f"phase {i}", "stage": stage, "device": 0, "time_us": i if stage == "START" else 20000 - i} for i in range(3000) for stage in ("START", "END")]';
        const file = writeSnapshot("many.pickle", `{"segments": [], "device_traces": [[${events} for i in range(3000)]], "external_annotations": ${notes}}`);
        await withPage(writePage(file), async (page) => {
            const options = await texts(page, "#filter-stream option");
            assert.deepEqual([options.length, options.at(-1)], [502, "2,500 more: type stream:500 into the words"]);
            await setView(page, { selected: 7 });
            const facts = await page.locator("#detail").innerText();
            assert.match(facts, /phase 0 › phase 1 › .* › phase 10 › 2,988 more › phase 2999/);
            assert.ok(!facts.includes("phase 11 "));
            assert.equal((await ask(page, 'strata.search("stream:2999")')).allocations, 1);
        });
    });
});
