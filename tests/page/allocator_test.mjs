// The allocator in the page: causes, pools, allocations that keep segments, the lane below the timeline, segments as bands.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { decodePng } from "../png.mjs";
import { ask, canvasPixels, folder, hashOf, replay, report, run, samples, settle, setView, skip, strata, until, withPage, writePage, tool } from "./browser.mjs";
import { recording } from "./simulated.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

const CAUSES = ["rounding", "unsplit_tails", "empty_segments", "holes", "expandable_tails", "private_pools", "contradictions"];

/** @param {Record<string, number>} gap */
const sumOf = (gap) => CAUSES.reduce((sum, cause) => sum + gap[cause], 0);

describe("the allocator", { skip }, () => {
    test("the gap by causes is the report's, and adds up to the byte at any event", async () => {
        for (const file of [recording, ...["oom", "private_pools", "expandable", "streams"].map(sample)]) {
            const [{ events, fragmentation_at: told }] = report(file).devices;
            await withPage(writePage(file), async (page) => {
                for (const { event, reserved_bytes, live_bytes, gap_bytes, causes, largest_hole_bytes, pinned_segments } of told) {
                    const gap = await ask(page, `strata.gap({ at: ${event} })`);
                    assert.deepEqual([gap.reserved_bytes, gap.live_bytes, gap.gap_bytes, gap.largest_hole_bytes, gap.pinned], [reserved_bytes, live_bytes, gap_bytes, largest_hole_bytes, pinned_segments]);
                    for (const cause of CAUSES) assert.equal(gap[cause], causes[cause], `${file}: ${cause}`);
                }
                for (let i = 0; i <= 20; i++) {
                    const gap = await ask(page, `strata.gap({ at: ${Math.floor((events - 1) * i / 20)} })`);
                    assert.equal(sumOf(gap), gap.gap_bytes);
                    assert.equal(gap.gap_bytes, gap.reserved_bytes - gap.live_bytes);
                }
            });
        }
    });

    test("the answer whether a setting would have helped is the plan's", async () => {
        const gib = (/** @type {number} */ bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`;
        for (const [name, ...flags] of [["oom"], ["train", "--gpu", "16GiB"]]) {
            const [plan] = JSON.parse(run(strata, "plan", "--json", ...flags, sample(name)).toString()).devices;
            const settings = plan.changes.filter((/** @type {any} */ { id }) => id.startsWith("settings:"));
            assert.ok(settings.length > 0);
            await withPage(writePage(sample(name), ...flags), async (page) => {
                await page.keyboard.press("5");
                await settle(page);
                const text = (await page.locator(".helped").innerText()).replace(/\s+/g, " ");
                const [head, rest] = plan.recorded.ended_by_oom ? ["Would it have helped? no", "Even without holes it would have been 30.9 MiB short."] : ["Would it help? yes", ""];
                assert.ok(text.startsWith(`${head} ${rest}`), text);
                for (const change of settings) {
                    const figure = plan.recorded.ended_by_oom ? `needs ${gib(change.live_peak_bytes_max)}` : `reserves ${gib(change.peak_reserved_bytes_max)}`;
                    assert.ok(text.includes(`${change.title} ${figure}`), `${text}: ${figure}`);
                }
            });
        }
        await withPage(writePage(sample("oom"), "--no-plan"), async (page) => {
            await page.keyboard.press("5");
            await settle(page);
            assert.equal(await page.locator(".helped").count(), 0, "nothing is said that nobody asked the model");
        });
    });

    test("the lane's figures are those of the states", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const wide = 200;
            await setView(page, { from: 2200, to: 2200 + wide });
            await until(async () => (await ask(page, "strata.lanes()")).largestHole[0] >= 0, "the replay");
            const { unused, largestHole, segments, calls } = await ask(page, "strata.lanes()");
            const { live, reserved } = replay("--curves", sample("oom"), 0);
            const width = unused.length;
            for (let i = 3; i < wide; i += 14) {
                const column = Math.floor(((i + 0.5) / wide) * width);
                const event = 2200 + i;
                const gap = await ask(page, `strata.gap({ at: ${event} })`);
                const blocks = await ask(page, `strata.blocks({ at: ${event} })`);
                if (reserved) assert.equal(unused[column], reserved[event + 1] - live[event + 1]);
                assert.equal(unused[column], gap.gap_bytes);
                assert.equal(largestHole[column], gap.largest_hole_bytes, `after event ${event}`);
                assert.equal(segments[column], blocks.segments.length);
            }
            assert.ok(calls.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0) > 0);
            // A column with many moments shows their maximum, so that page and PNG have the same figure.
            const { from, to } = { from: -1, to: live.length - 1 };
            await setView(page, { from, to });
            const whole = (await ask(page, "strata.lanes()")).unused;
            const most = whole.map(() => 0);
            for (let moment = 0; moment < live.length; moment++) {
                const column = Math.floor((moment * whole.length) / live.length);
                most[column] = Math.max(most[column], reserved[moment] - live[moment]);
            }
            assert.ok(live.length > 2 * whole.length);
            assert.deepEqual(whole, most);
        });
    });

    test("the host's memory from the log of --host is drawn below, by the events' own times", async () => {
        const alone = path.join(folder, "host_lane");
        mkdirSync(alone, { recursive: true });
        const dump = path.join(alone, "oom.pickle");
        // Without its annotations, whose lane has the same colours.
        const program = "import pickle,sys,json; s=pickle.load(open(sys.argv[1],'rb')); s['external_annotations']=[]; pickle.dump(s,open(sys.argv[2],'wb')); print(json.dumps([e['time_us'] for e in s['device_traces'][0]]))";
        const times = JSON.parse(run("python3", "-c", program, sample("oom"), dump).toString());
        // Samples before the recording, at its beginning, in its middle, and after its end, where they are ignored.
        const middle = 1300;
        const levels = [[times[0] - 2e6, 3], [times[0] + 1000, 1], [times[middle] + 999, 2], [times.at(-1) + 9e6, 7]];
        const lines = levels.map(([us, mib]) => `${new Date(us / 1000).toISOString().replace("T", " ").slice(0, 23)} strata-host resident=${mib << 20} processes=1`);
        const png = path.join(alone, "oom.png");
        const rows = (/** @type {string[]} */ ...logs) => (run(strata, "png", "-q", "-f", dump, "-o", png, ...logs.flatMap((name) => ["--host", path.join(alone, name)])), decodePng(readFileSync(png)));
        const without = rows();
        writeFileSync(path.join(alone, "host.log"), lines.join("\n"));
        assert.deepEqual(rows().rgba, without.rgba, "a log that nobody named");
        await withPage(writePage(dump, "--host", path.join(alone, "host.log")), async (page) => {
            await setView(page, { from: 0, to: times.length });
            const { host } = await ask(page, "strata.lanes()");
            for (let column = 0; column < host.length; column++) {
                const event = Math.floor(((column + 0.5) / host.length) * times.length);
                if (event > 10 && Math.abs(event - middle) > 10) assert.equal(host[column], (event < middle ? 1 : 2) << 20, `event ${event}`);
            }
        });
        // The lane's ground in the picture: twice as high in the second half.
        const picture = rows("host.log");
        const ground = (/** @type {number} */ x) => {
            let n = 0;
            for (let y = picture.height >> 1; y < picture.height; y++) n += Buffer.from(picture.rgba.buffer).readUIntBE((y * picture.width + x) * 4, 3) === 0xe3e9f0 ? 1 : 0;
            return n;
        };
        assert.notDeepEqual(picture.rgba, without.rgba);
        assert.ok(Math.abs(ground(900) - 2 * ground(300)) <= 2 && ground(300) > 5, `${ground(300)} ${ground(900)}`);
        // A process on another host, and two logs that name no dump: nobody knows which of them belongs to the
        // recording.
        const named = (/** @type {string} */ how) => [...lines, `2026-01-01 00:00:00.000 strata-dump oom.pickle${how}`, ""].join("\n");
        writeFileSync(path.join(alone, "host.log"), named(" elsewhere"));
        assert.deepEqual(rows("host.log").rgba, without.rgba);
        writeFileSync(path.join(alone, "host.log"), lines.join("\n"));
        writeFileSync(path.join(alone, "host-2.log"), lines.join("\n"));
        assert.deepEqual(rows("host.log", "host-2.log").rgba, without.rgba);
        writeFileSync(path.join(alone, "host-2.log"), named(""));
        assert.deepEqual(rows("host.log", "host-2.log").rgba, picture.rgba);
    });

    test("the lane says when memory was given back, and why", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const box = await page.locator("#timeline").boundingBox();
            assert.ok(box);
            await setView(page, { from: 2240, to: 2270 });
            let said = "";
            for (let x = 2; x < box.width && !/driver refused/.test(said); x += 6) {
                await page.mouse.move(box.x + x, box.y + box.height + 15);
                await settle(page);
                said = await page.locator("#tip").innerText();
            }
            assert.match(said, /reserved and not in use[\s\S]*The driver refused a request, so PyTorch gave its cache back: [\d.]+ [KMG]iB/);
        });
    });

    test("the tab names the causes of fragmentation and the allocations that pin a segment, and shows them", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            await page.keyboard.press("5");
            await until(() => page.locator("#panel-allocator table").first().isVisible(), "the causes");
            const text = await page.locator("#panel-allocator").innerText();
            assert.match(text, /Holes\s+1\.13 GiB/);
            assert.match(text, /All parts add up to 1,211,736,064 bytes: reserved less requested/);
            assert.match(text, /16 MiB keep a segment of 198 MiB\s+block\.py:34 forward/);
            assert.match(text, /Replay check: all 1,302 allocations, all 60 driver allocations, [^.]*and the reserved curve are exactly/);
            await page.locator("#panel-allocator .pinned").first().click();
            await settle(page);
            assert.equal(await page.locator("#map").isVisible(), true);
            const { selected } = await ask(page, "strata.view()");
            assert.equal((await ask(page, `strata.allocation(${selected})`)).bytes, 16 << 20);
            assert.match(await page.locator("#detail").innerText(), /block\.py/);
        });
    });

    test("private pools list the memory that they hold and withhold", async () => {
        const [{ fragmentation }] = report(sample("private_pools")).devices;
        const free = fragmentation.groups.filter((/** @type {any} */ { pool }) => pool[0] || pool[1]).reduce((/** @type {number} */ sum, /** @type {any} */ { hole_bytes: bytes }) => sum + bytes, 0);
        await withPage(writePage(sample("private_pools")), async (page) => {
            const text = await page.locator("#panel-allocator").innerText();
            assert.match(text, /default pool\s+256\.0 MiB\s+124\.0 MiB\s+380\.0 MiB/);
            assert.match(text, /\(0, 1\)\s+768\.0 MiB\s+32\.0 MiB\s+800\.0 MiB/);
            assert.match(text, new RegExp(`Private pools keep ${(free / 2 ** 20).toFixed(1)} MiB of free memory`));
        }, { hash: "#device=0&tab=allocator&at=1384" });
    });

    test("segments over time fill the space below the reserved line, and name their requesters", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const before = await canvasPixels(page);
            await tool(page, "#view-segments");
            await settle(page);
            assert.notDeepEqual((await canvasPixels(page)).rgba, before.rgba);
            assert.match(await hashOf(page), /view=segments|^#device/);
            const box = await page.locator("#timeline").boundingBox();
            assert.ok(box);
            await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);
            await until(() => page.locator("#tip").isVisible(), "the tip");
            assert.match(await page.locator("#tip").innerText(), /[\d.]+ [MG]iB\s*segment[\s\S]*(to the end|lived)/);
            await tool(page, "#view-age");
            await settle(page);
            assert.deepEqual((await canvasPixels(page)).width, before.width);
        });
    });

    test("a long replay runs in slices, and its results are drawn at the end", async () => {
        const file = path.join(folder, "long.pickle");
        run("python3", path.join(samples, "generate.py"), "--story", "train", "--events", 100_000, "-o", file);
        const [{ fragmentation_at: told, replay: check }] = report(file).devices;
        assert.equal(check.grade, "exact");
        await withPage(writePage(file), async (page) => {
            assert.ok((await ask(page, "strata.lanes()")).largestHole.length > 0);
            await until(async () => /Replay check/.test(await page.locator("#panel-allocator").innerText()), "the replay");
            const text = await page.locator("#panel-allocator").innerText();
            assert.match(text, new RegExp(`Replay check: all ${check.allocations.toLocaleString("en-US")} allocations`));
            assert.doesNotMatch(text, /lower bounds/);
            const { largestHole } = await ask(page, "strata.lanes()");
            assert.ok(largestHole.every((/** @type {number} */ bytes) => bytes >= 0));
            assert.equal((await ask(page, `strata.gap({ at: ${told[0].event} })`)).largest_hole_bytes, told[0].largest_hole_bytes);
        }, { hash: `#device=0&tab=allocator&at=${told[0].event}` });
    });
});
