// The map of the allocator's memory: its content equals the program's, and links lead to it and from it.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, hashOf, run, samples, settle, setView, skip, texts, until, withPage, writePage } from "./browser.mjs";
import { recording } from "./simulated.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

/** The program's states: lines of state_dump for each event. @param {string} file @param {number[]} events */
function states(file, events) {
    const text = run(String(process.env.STATE_DUMP), "--blocks", file, 0, ...events).toString();
    return text.split(/^event .*\n/m).slice(1).map((part) => part.trim().split("\n").map((line) => line.split(" ")));
}

/** Segments and blocks as state_dump writes them. @param {any} said */
function rowsOf({ segments, blocks }) {
    const decimal = (/** @type {string} */ address) => BigInt(address).toString();
    return [
        ...segments.map((/** @type {any} */ s) => ["segment", decimal(s.address), String(s.bytes), s.expandable ? "1" : "0"]),
        ...blocks.map((/** @type {any} */ b) => ["block", decimal(b.address), String(b.bytes), b.state, String(b.requested_bytes)]),
    ];
}

/** @param {import("playwright-core").Page} page @param {string} key */
async function press(page, key) {
    await page.keyboard.press(key);
    await settle(page);
}

/** @param {import("playwright-core").Page} page @param {string} id */
const textOf = (page, id) => page.locator(`#${id}`).innerText();

const OOM = { hash: "#device=0&at=3552&map=size" };

describe("the map", { skip }, () => {
    test("a device that was left and is chosen again", async () => {
        await withPage(writePage(sample("two_devices")), async (page) => {
            for (const hash of ["#device=0&map=size", "#device=1", "#map=size", "#device=1&map=size", "#device=0", "#map=size", "#device=1", "#map=size"]) {
                await page.evaluate((to) => { location.hash = to; }, hash);
                await settle(page);
                if (hash.includes("map")) await until(async () => /segments? . reserved /.test(await textOf(page, "map-about")), `the map of ${hash}`);
            }
        });
    });

    test("blocks are those of the program, at any event", async () => {
        for (const file of [recording, ...["oom", "private_pools", "expandable", "streams"].map(sample)]) {
            await withPage(writePage(file), async (page) => {
                const { events } = await ask(page, "strata.summary()");
                const asked = [-1, 0, 17, Math.floor(events / 3), Math.floor(events * 0.7), events - 1];
                const wanted = states(file, asked);
                for (const [i, at] of asked.entries()) {
                    const said = wanted[i].filter((row) => row.length > 1).map((row) => (row[0] === "segment" ? [row[0], row[1], row[2], row[4]] : row));
                    assert.deepEqual(rowsOf(await ask(page, `strata.blocks({ at: ${at} })`)), said, `${file} after event ${at}`);
                }
            });
        }
    });

    test("questions about another moment do not change its layout", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const about = await textOf(page, "map-about");
            const cells = await page.evaluate("strata.gap({ at: 3552 })");
            const elsewhere = await page.evaluate("strata.gap({ at: 100 })");
            assert.notDeepEqual(elsewhere, cells);
            // Each pass redraws what follows the pointer. The allocator's view asks about the selected moment, not the
            // one under the pointer.
            await ask(page, "strata.setView({ selected: 3 })");
            await press(page, "5");
            const box = await page.locator("#timeline").boundingBox();
            for (const x of [100, 300]) {
                await page.mouse.move(Number(box?.x) + x, Number(box?.y) + 200);
                await ask(page, "strata.gap({ at: 50 })");
            }
            await page.mouse.move(2, 2);
            await until(async () => (await textOf(page, "map-about")) === about, "the moment of before");
            assert.deepEqual(await page.evaluate("strata.gap({ at: 3552 })"), cells);
            assert.deepEqual(await page.evaluate("strata.gap({ at: 100 })"), elsewhere);
        }, OOM);
    });

    test("it opens by key, shows the right moment, and is in the address", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            assert.equal(await page.locator("#map").isVisible(), false);
            await press(page, "g");
            assert.match(await textOf(page, "map-about"), /event 3,552 .*54 segments . reserved 7\.6 GiB . in use 6\.5 GiB . 18 holes, the largest 666 MiB/);
            await page.click("#map-free");
            await until(async () => (await hashOf(page)).includes("map=free"), "the order in the address");
            assert.equal((await ask(page, "strata.view()")).map, "free");
            const box = await page.locator("#timeline").boundingBox();
            assert.ok(box);
            await page.mouse.move(box.x + 5, box.y + 100);
            await settle(page);
            assert.doesNotMatch(await textOf(page, "map-about"), /event 3,552/);
            await press(page, "g");
            assert.equal(await page.locator("#map").isVisible(), false);
        });
    });

    test("a block and its band are linked both ways", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const box = await page.locator("#map-picture").boundingBox();
            assert.ok(box);
            await page.mouse.move(box.x + 40, box.y + 30);
            await until(() => page.locator("#map-tip").isVisible(), "the tip");
            assert.match(await textOf(page, "map-tip"), /512 MiB.*of a segment of 1\.2 GiB[\s\S]*attention\.py:53 forward/);
            await page.mouse.click(box.x + 40, box.y + 30);
            const { selected } = await ask(page, "strata.view()");
            assert.equal((await ask(page, `strata.allocation(${selected})`)).bytes, 512 << 20);
            assert.match(await textOf(page, "detail"), /attention\.py/);
        }, OOM);
    });

    test("keys go from block to block", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            await page.focus("#map-scroll");
            await press(page, "h");
            assert.match(await textOf(page, "map-tip"), /^666 MiB\s*hole in a segment of 1\.2 GiB\s*Kept by 1 block, 512 MiB: attention\.py:53/);
            await press(page, "h");
            assert.match(await textOf(page, "map-tip"), /^228\.3 MiB\s*hole in/);
            await press(page, "ArrowRight");
            await press(page, "Enter");
            assert.notEqual((await ask(page, "strata.view()")).selected, null);
            await press(page, "ArrowDown");
            assert.equal(await page.locator("#map-tip").isVisible(), true);
        }, OOM);
    });

    /** Holes among strata.blocks(): free blocks in segments that are partly in use. @param
     * {import("playwright-core").Page} page */
    async function holesOf(page) {
        const { segments, blocks } = await ask(page, "strata.blocks({ at: 3552 })");
        return segments.flatMap((/** @type {any} */ { address, bytes }) => {
            const inside = blocks.filter((/** @type {any} */ block) => BigInt(block.address) >= BigInt(address) && BigInt(block.address) < BigInt(address) + BigInt(bytes));
            const used = inside.filter((/** @type {any} */ { state }) => state !== "free").reduce((/** @type {number} */ sum, /** @type {any} */ each) => sum + each.bytes, 0);
            const keeper = inside.filter((/** @type {any} */ { state }) => state !== "free").sort((/** @type {any} */ a, /** @type {any} */ b) => b.bytes - a.bytes)[0];
            return used ? inside.filter((/** @type {any} */ { state }) => state === "free").map((/** @type {any} */ hole) => ({ bytes: hole.bytes, segment: bytes, used, keeper: keeper.allocation })) : [];
        }).sort((/** @type {any} */ a, /** @type {any} */ b) => b.bytes - a.bytes);
    }

    const mib = (/** @type {number} */ bytes) => bytes >= 2 ** 30 ? `${Math.round(bytes / 2 ** 30 * 10) / 10} GiB` : `${Math.round(bytes / 2 ** 20 * 10) / 10} MiB`;

    test("a hole is selected by click, keys or its row, and the allocation that keeps it by one more step", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const holes = await holesOf(page);
            const chosen = () => page.locator('#panel-allocator tr[aria-selected="true"]');
            const [{ x, end, y }] = await page.evaluate(() => [...document.querySelectorAll("#map-picture")].map((node) => node.getBoundingClientRect()).map(({ x, y, width }) => ({ x, y, end: x + width })));
            // The hole is at the end of the map's second row.
            await page.mouse.click(end - 40, y + 46);
            assert.ok(x < end);
            await until(async () => (await chosen().count()) === 1, "a row");
            assert.ok((await chosen().innerText()).startsWith(mib(holes[0].bytes)), await chosen().innerText());
            await chosen().locator(".pinned").click();
            await settle(page);
            assert.equal((await ask(page, "strata.view()")).selected, holes[0].keeper);
            assert.match(await textOf(page, "detail"), /attention\.py/);
        }, OOM);
        await withPage(writePage(sample("oom")), async (page) => {
            const holes = await holesOf(page);
            for (const hole of holes.slice(0, 14)) {
                await press(page, "h");
                const row = page.locator('#panel-allocator tr[aria-selected="true"]');
                const text = (await row.innerText()).replace(/\u00a0/g, " ");
                assert.ok(text.includes(mib(hole.bytes)) || hole.bytes < 2 ** 20, `${mib(hole.bytes)} in ${text}`);
                assert.ok(text.includes(`keep a segment of ${mib(hole.segment)}`), text);
                assert.ok(text.includes(`\u00d7 ${(hole.segment / hole.used).toFixed(1)}`), text);
            }
            const rows = await texts(page, "#panel-allocator .holes td:last-child small");
            const gain = rows.map((text) => parseFloat(text.slice(2)));
            assert.deepEqual(gain, [...gain].sort((a, b) => b - a), "the best first");
            await page.keyboard.press("k");
            await settle(page);
            assert.equal((await ask(page, "strata.view()")).selected, holes[13].keeper);
            for (let i = 0; i < 4; i++) await press(page, "Escape");
            assert.equal(await page.locator('#panel-allocator tr[aria-selected="true"]').count(), 0);
        }, OOM);
    });

    test("the selected hole and the allocation that keeps it are linked with the timeline", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const [{ bytes, keeper }] = await holesOf(page);
            const red = () => page.evaluate(() => {
                const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("overlay"));
                const wanted = getComputedStyle(document.documentElement).getPropertyValue("--bad").trim();
                const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
                const pixels = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(0, 0, canvas.width, canvas.height).data;
                let count = 0;
                for (let i = 0; i < pixels.length; i += 4) if (pixels[i] === r && pixels[i + 1] === g && pixels[i + 2] === b && pixels[i + 3] > 250) count++;
                return count;
            });
            const before = await red();
            await press(page, "h");
            assert.equal(await textOf(page, "detail-title"), `Hole of ${mib(bytes)}`);
            assert.match(await textOf(page, "detail"), /^kept by attention\.py:53 forward, 512 MiB/);
            assert.ok((await red()) > before + 50, "what keeps it is outlined in the timeline");
            await page.locator("#detail button", { hasText: "In the timeline" }).click();
            await settle(page);
            const { selected, range, ...shown } = await ask(page, "strata.view()");
            assert.equal(selected, keeper);
            const { birth, death } = await ask(page, `strata.allocation(${keeper})`);
            assert.ok(shown.from <= birth && shown.to >= Math.min(death, 3553), JSON.stringify([shown.from, birth, shown.to, death]));
            // Escape goes back from the pinned allocation to the hole that it causes.
            await press(page, "Escape");
            await press(page, "Escape");
            await ask(page, `strata.setView({ selected: ${keeper} })`);
            assert.match(await textOf(page, "detail"), new RegExp(`Keeps a hole of ${mib(bytes)} in a segment of 1\\.2 GiB`));
            await page.locator("#detail button", { hasText: "Show the hole" }).click();
            await until(async () => (await page.locator('#panel-allocator tr[aria-selected="true"]').count()) === 1, "its row");
        }, OOM);
    });

    test("the segment with the largest hole comes first, and one that is wholly free is no hole", async () => {
        /** For each row of the map: the pixels of hatching, and of the plain ground of free memory. @param
         * {import("playwright-core").Page} page */
        const rows = (page) => page.evaluate(() => {
            const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("map-picture"));
            const { data, width, height } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(0, 0, canvas.width, canvas.height);
            const pixels = new Uint32Array(data.buffer);
            return Array.from({ length: height }, (_, y) => {
                const row = pixels.subarray(y * width, (y + 1) * width);
                return { hatched: row.filter((pixel) => pixel === 0xff358fc9).length, plain: row.filter((pixel) => pixel === 0xffb6dff4).length };
            });
        });
        await withPage(writePage(sample("oom")), async (page) => {
            await page.click("#map-hole");
            await until(async () => (await hashOf(page)).includes("map=hole"), "the order in the address");
            const [{ bytes }] = await holesOf(page);
            const box = await page.locator("#map-picture").boundingBox();
            const first = (await rows(page)).findIndex(({ hatched }) => hatched > 0);
            await page.mouse.move(Number(box?.x) + Number(box?.width) - 30, Number(box?.y) + first + 5);
            await until(() => page.locator("#map-tip").isVisible(), "the tip");
            assert.ok((await textOf(page, "map-tip")).startsWith(mib(bytes)), await textOf(page, "map-tip"));
            /** An event after which a large segment is wholly free. */
            const at = await page.evaluate(async () => {
                for (let event = 3500; event > 0; event -= 7) if ((await window.strata.gap({ at: event })).empty_segments > 200 * 2 ** 20) return event;
                return -1;
            });
            assert.ok(at > 0);
            await page.evaluate((event) => { location.hash = `#device=0&at=${event}&map=free`; }, at);
            await settle(page);
            assert.ok((await rows(page)).some(({ hatched, plain }) => plain > 60 && hatched === 0), "plain, not hatched");
        }, OOM);
    });

    test("filter and search change the picture, not the memory", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const picture = () => page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.getElementById("map-picture")).toDataURL());
            const said = await textOf(page, "map-about");
            const plain = await picture();
            await setView(page, { search: "attention" });
            const found = await picture();
            await setView(page, { search: "", filter: { words: "attention" } });
            const filtered = await picture();
            assert.equal(new Set([plain, found, filtered]).size, 3);
            assert.equal(await textOf(page, "map-about"), said);
        }, OOM);
    });

    test("without data it says why", async () => {
        const whole = statSync(writePage(sample("train"))).size;
        await withPage(writePage(sample("train"), "--max-html-size", String(whole - 2000)), async (page) => {
            assert.match(await textOf(page, "map-note"), /There is no map: the allocations of this page were merged/);
            await assert.rejects(ask(page, "strata.blocks({ at: 0 })"), /merged to keep it small/);
        }, { hash: "#map=size" });
    });
});
