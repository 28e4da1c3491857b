// Several devices on one axis: the rows zoom, pan and point together, each with the figures of its own recording.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, eventually, hashOf, reload, replay, report, run, samples, settle, setView, shownTexts, skip, until, withPage, writePage } from "./browser.mjs";

const INPUT = path.join(samples, "two_devices.pickle");

/** The times of each device's events, from Python's own pickle. @returns {Record<number, number[]>} */
function timesOf() {
    const program = "import json,pickle,sys\nprint(json.dumps({i: [e['time_us'] for e in t] for i, t in enumerate(pickle.load(open(sys.argv[1], 'rb'))['device_traces'])}))";
    return JSON.parse(run("python3", "-c", program, INPUT).toString());
}

const rows = (/** @type {import("playwright-core").Page} */ page) => ask(page, "strata.rows()");

/** The window in microseconds since the Epoch. @param {import("playwright-core").Page} page @param {number[]} times of the device in hand */
async function windowOf(page, times) {
    const text = await until(async () => /window=([^&]*)/.exec(await hashOf(page))?.[1], "a window in the address");
    return text.split("_").map((/** @type {string} */ part) => Number(part) + times[0]);
}

/** The last event of a device before a time. @param {number[]} times @param {number} us */
const eventAt = (times, us) => times.filter((time) => time <= us).length - 1;

describe("all devices on one axis", { skip }, () => {
    test("the menu has them, each row its own device's figures", async () => {
        const devices = report(INPUT).devices;
        await withPage(writePage(INPUT), async (page) => {
            await page.locator("#device").selectOption("all");
            await settle(page);
            assert.deepEqual((await rows(page)).map((/** @type {any} */ row) => [row.device, row.peak_bytes]), devices.map((/** @type {any} */ device) => [device.device, device.peak_bytes]));
            const heads = await shownTexts(page, ".pane-head");
            devices.forEach((/** @type {any} */ device, /** @type {number} */ i) => assert.match(heads[i], new RegExp(`Device ${device.device}[^]*${device.events.toLocaleString("en-US")} events`)));
            assert.match(heads[0], /list, tabs and header are of this device/);
            // The canvases of all rows hold a picture.
            const drawn = await page.evaluate(() => Array.from(document.querySelectorAll("#timeline, canvas.pane-pixels"), (canvas) => {
                const { width, height } = /** @type {HTMLCanvasElement} */ (canvas);
                const { data } = /** @type {CanvasRenderingContext2D} */ (/** @type {HTMLCanvasElement} */ (canvas).getContext("2d")).getImageData(0, 0, width, height);
                return { width, colors: new Set(new Uint32Array(data.buffer)).size };
            }));
            assert.equal(drawn.length, devices.length);
            assert.equal(drawn[0].width, drawn[1].width, "one moment has one x");
            for (const { colors } of drawn) assert.ok(colors > 5);
            await page.locator("#device").selectOption("1");
            await settle(page);
            assert.deepEqual([(await rows(page)).length, await page.locator(".pane-head").count(), (await ask(page, "strata.view()")).device], [0, 0, 1]);
        });
    });

    test("zoom, pan and cursor are linked by time", async () => {
        const times = timesOf();
        await withPage(writePage(INPUT), async (page) => {
            await page.keyboard.press("r");
            await settle(page);
            const other = await page.locator("canvas.pane-pixels").boundingBox();
            assert.ok(other);
            const whole = await rows(page);
            const check = async () => {
                const [from, to] = await windowOf(page, times[0]);
                for (const { device, from_event, to_event } of await rows(page)) {
                    assert.ok(Math.abs(from_event - eventAt(times[device], from)) <= 1, `device ${device} begins at ${from_event}`);
                    assert.ok(Math.abs(to_event - 1 - eventAt(times[device], to)) <= 1, `device ${device} ends before ${to_event}`);
                }
                return { from, to };
            };
            // The wheel over the row of the other device.
            await page.mouse.move(other.x + other.width / 2, other.y + other.height / 2);
            for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -250);
            await eventually(async () => {
                for (const [i, row] of (await rows(page)).entries()) assert.ok(row.to_event - row.from_event < (whole[i].to_event - whole[i].from_event) / 2, `device ${row.device} is closer`);
            });
            const { from, to } = await eventually(check);
            // The cursor is at one time in both; the totals are those of the recording.
            const at = from + ((to - from) * (other.width / 2 + 0.5)) / other.width;
            const column = (to - from) / other.width;
            for (const { device, cursor } of await rows(page)) {
                const near = [eventAt(times[device], at - 2 * column), eventAt(times[device], at + 2 * column)];
                assert.ok(cursor.event >= near[0] - 1 && cursor.event <= near[1] + 1, `device ${device}: ${cursor.event} of ${near}`);
                assert.equal(cursor.bytes, replay("--curves", INPUT, device).live[cursor.event + 1]);
            }
            // A drag in the row moves both.
            await page.mouse.down();
            await page.mouse.move(other.x + other.width / 4, other.y + other.height / 2, { steps: 4 });
            await page.mouse.up();
            const panned = await eventually(async () => {
                const window = await check();
                assert.ok(window.from > from + (to - from) / 5);
                return window;
            });
            assert.ok(panned.to > to);
        });
    });

    test("a click makes a device active, with totals of its own", async () => {
        await withPage(writePage(INPUT), async (page) => {
            await page.keyboard.press("r");
            await settle(page);
            await setView(page, { from: 400, to: 1400 });
            const before = await rows(page);
            const other = await page.locator("canvas.pane-pixels").boundingBox();
            assert.ok(other);
            await page.mouse.move(other.x + other.width / 2, other.y + other.height - 6);
            await settle(page);
            assert.match(await page.locator(".pane-room .tip").innerText(), /on this device/);
            await page.mouse.click(other.x + other.width / 2, other.y + other.height - 6);
            await settle(page);
            const view = await ask(page, "strata.view()");
            assert.equal(view.device, 1);
            assert.notEqual(view.selected, null, "the band under the pointer is pinned");
            const after = await rows(page);
            assert.deepEqual(after.map((/** @type {any} */ row) => [row.device, row.in_hand]), [[0, false], [1, true]]);
            for (const [i, { from_event }] of before.entries()) assert.ok(Math.abs(after[i].from_event - from_event) <= 1, "the window stays");
            // The same moment in the view of one device.
            const moment = Number((await until(async () => /at=(\d+)/.exec(await hashOf(page)), "the moment"))[1]);
            const sums = () => ask(page, `strata.groups({ at: ${moment} })`);
            const beside = await sums();
            await page.keyboard.press("r");
            await settle(page);
            assert.deepEqual(await rows(page), []);
            assert.deepEqual(await sums(), beside);
            assert.equal(beside.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0), replay("--curves", INPUT, 1).live[moment + 1]);
        });
    });

    test("the address has it, filter and keys reach every row", async () => {
        await withPage(writePage(INPUT), async (page) => {
            assert.equal((await rows(page)).length, 2);
            assert.equal((await ask(page, "strata.view()")).device, 1);
            await page.keyboard.press("n");
            await settle(page);
            assert.equal((await ask(page, "strata.view()")).device, 0);
            await page.locator(".pane-head button").last().press("Enter");
            await settle(page);
            assert.equal((await ask(page, "strata.view()")).device, 1);
            const pixels = () => page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.querySelector("canvas.pane-pixels")).toDataURL());
            const all = await pixels();
            await setView(page, { filter: { words: "attention" } });
            await until(async () => (await pixels()) !== all, "the other row is filtered too");
            await setView(page, { filter: {} });
            await until(async () => (await pixels()) === all, "and shows all of it again");
            // The address is written a moment after the last change.
            await until(async () => /device=1(?!.*attention)/.test(await hashOf(page)), "the device in the address");
            await reload(page);
            assert.deepEqual((await rows(page)).map((/** @type {any} */ row) => row.in_hand), [false, true]);
        }, { hash: "#device=1&all=1" });
    });

    for (const colorScheme of /** @type {const} */ (["light", "dark"]))
        test(`axe finds nothing, ${colorScheme}`, async () => {
            await withPage(writePage(INPUT), async (page) => {
                await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
                const { violations } = /** @type {any} */ (await page.evaluate("axe.run()"));
                assert.deepEqual(violations.map((/** @type {any} */ { id, nodes }) => [id, nodes.map((/** @type {any} */ node) => node.html)]), []);
            }, { colorScheme, reducedMotion: "reduce", hash: "#all=1" });
        });

    test("a recording of one device has no such entry", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            assert.equal(await page.locator("#device option").count(), 1);
            await page.keyboard.press("r");
            assert.deepEqual(await rows(page), []);
        }, { hash: "#all=1" });
    });
});
