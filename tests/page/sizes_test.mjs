// Recordings of every size, from empty ones up to a million events (300,000, unless large sets run whole).
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, canvasPixels, colorsOf, corpus, folder, pickPoints, plotBox, randomPoints, replay, report, run, runsAll, samples, setView, settle, skip, until, withPage, writePage, writeSnapshot } from "./browser.mjs";
import { recording } from "./simulated.mjs";

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

    for (const [i, name] of ["torch2.0_history_one_event.pickle", "one_event_gigabytes_live.pickle", "private_pools_empty_trace.pickle", "oom_expandable_4dev.pickle", "streams_compile_context.pickle", "compile_context_annotations.pickle"].entries()) {
        for (const colorScheme of /** @type {("light" | "dark")[]} */ (runsAll ? ["light", "dark"] : [i % 2 ? "light" : "dark"])) {
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
            assert.match(await detail.innerText(), /walk_0\b[^]*2,997 further frames/);
            await detail.locator("summary").last().click();
            await until(async () => /walk_2999\b/.test(await detail.innerText()), "the outermost frame");
        });
    });
});

describe("a long recording", { skip }, () => {
    const EVENTS = runsAll ? 1_000_000 : 300_000;
    /** The most elements that a page may have, whatever it shows. */
    const ELEMENTS_MOST = 720;

    test("open, hover, pick, zoom, pan, search and list", async () => {
        const file = path.join(folder, "long.pickle");
        run("python3", path.join(samples, "generate.py"), "--story", "train", "--events", EVENTS, "-o", file);
        const [device] = report(file).devices;
        assert.ok(device.events >= EVENTS);
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
            // The reference stacks each allocation by its age.
            await page.locator("#groups-each").click();
            const picks = [await pickPoints(page, device.device, await view(), 60, file, device.peak_bytes)];

            // The text at the pointer is the allocation that pick() finds, and the stack is not drawn again.
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
                const site = (await page.locator("#tip .tip-site").first().innerText()).replace(/^\S+:\d+ /, "");
                const size = await page.locator("#tip .tip-head").evaluate((head) => head.firstChild?.textContent ?? "");
                const [number, unit] = size.split(" ");
                const bytes = Number(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(unit);
                assert.ok(Math.abs(bytes - pick.bytes) <= pick.bytes * 0.05, `${size} for ${pick.bytes} bytes`);
                // C++ functions are named without their arguments, and allocations of backward by their node.
                const node = /^backward of (.+)$/.exec(site)?.[1];
                assert.ok(pick.stack.some((/** @type {any} */ frame) => (node ? frame.name.includes(node) : frame.name.startsWith(site))), site);
            }
            assert.ok(named > 10, `${named} of 30 points hit an allocation`);
            assert.equal((await stats()).draws, draws, "hovering draws no stack");

            // During wheel and drag the moment under the cursor stays there. Browsers give a wheel's place in whole
            // pixels.
            const cursor = Math.round(box.x + box.width / 3);
            const at = (/** @type {any} */ each) => each.from + ((each.to - each.from) * (cursor - box.x)) / box.width;
            const whole = await view();
            await page.mouse.move(cursor, box.y + box.height / 2);
            for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -300);
            const near = await until(async () => {
                const now = await view();
                return now.to - now.from < (whole.to - whole.from) / 30 && now;
            }, "the wheel zooms");
            assert.ok(Math.abs(at(near) - at(whole)) < (near.to - near.from) * 0.02, JSON.stringify(near));
            await page.mouse.down();
            await page.mouse.move(cursor - 100, box.y + box.height / 2, { steps: 5 });
            await page.mouse.up();
            await settle(page);
            const panned = await view();
            assert.ok(Math.abs((panned.from - near.from) / (near.to - near.from) - 100 / box.width) < 0.01, JSON.stringify(panned));
            const few = await setView(page, { from: EVENTS / 2, to: EVENTS / 2 + 600 });
            picks.push(await pickPoints(page, device.device, few, 60, file, device.peak_bytes));
            const questions = [...picks.map(({ question }) => question), ["--search", "attention.py"]];
            const wanted = replay("--each", file, device.device, JSON.stringify(questions));
            picks.forEach(({ check }, i) => check(wanted[i]));

            // Search counts all matches, wherever the window is.
            await page.keyboard.press("/");
            await page.keyboard.type("attention.py");
            const searched = wanted[picks.length];
            await until(async () => (await page.locator("#found").innerText()).startsWith(`${searched.allocations.toLocaleString("en-US")} allocation`), "the count");
            assert.deepEqual(await ask(page, 'strata.search("attention.py")'), searched);
            await page.keyboard.press("Enter");
            await settle(page);
            const { selected } = await view();
            const found = await page.evaluate((allocation) => window.strata.allocation(Number(allocation)), selected);
            assert.ok(found.stack.some((/** @type {any} */ frame) => frame.file.includes("attention.py")));

            // Every stack of the run in one list.
            await page.keyboard.press("Escape");
            await page.locator("#group-by").selectOption("stack");
            await setView(page, { selected: null, range: { from: 0, to: device.events } });
            await until(async () => Number(await page.locator("#list-scroll").getAttribute("aria-rowcount")) > 1001, "the stacks");
            assert.ok((await page.locator("#list > .row").count()) < 80);
            await elements();
        });
    });
});
