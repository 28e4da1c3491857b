// A thousand devices on one axis, and a difference of 90,000 call sites: work is done once, in slices, and only for what is in
// sight. The tests count work, not time.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { ask, eventually, folder, reload, rest, run, settle, skip, strata, until, withPage, writePage, writeSnapshot } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Tab */

const [DEVICES, FEW, MANY] = [1024, 30000, 60000];

const EVENT = `"stream": 0, "size": 512 * (1 + i % 97)`;

/** @param {string} letter of the functions' names @param {number} count */
const sites = (letter, count) => writeSnapshot(`sites_${letter}.pickle`, `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096 + (i << 16), "time_us": i, ${EVENT}, "frames": [{"filename": "/home/me/f.py", "line": i + 1, "name": f"${letter}{i}"}]} for i in range(${count})]]}`);

/** Counts for each task while a page loads: characters of packed elements that are unpacked, and names that are
 * decoded. */
const watchLoading = () => {
    const counts = Object.assign(window, { loading: { unpacked: 0, decoded: 0 } }).loading;
    const { decode } = TextDecoder.prototype;
    let task = 0;
    TextDecoder.prototype.decode = /** @this {TextDecoder} */ function (/** @type {[any?, any?]} */ ...given) {
        counts.decoded++;
        if ((given[0]?.byteLength ?? 0) > 5000) {
            if (task++ === 0) setTimeout(() => (task = 0));
            counts.unpacked = Math.max(counts.unpacked, task);
        }
        return decode.apply(this, given);
    };
};

/** Counts, for each task, the names that are read and the canvases that are made. */
const watching = () => {
    const counts = Object.assign(window, { work: { names: 0, most: 0, task: 0, scanned: 0, canvases: 0 } }).work;
    const { decode } = TextDecoder.prototype;
    TextDecoder.prototype.decode = /** @this {TextDecoder} */ function (/** @type {[any?, any?]} */ ...given) {
        counts.names++;
        if (counts.task++ === 0) setTimeout(() => (counts.task = 0));
        counts.most = Math.max(counts.most, counts.task);
        return decode.apply(this, given);
    };
    for (const name of /** @type {const} */ (["filter", "find", "some"])) {
        const plain = /** @type {any} */ (Array.prototype[name]);
        Array.prototype[name] = /** @this {unknown[]} */ function (/** @type {any} */ ...given) {
            counts.scanned += this.length;
            return plain.apply(this, given);
        };
    }
    const { createElement } = document;
    document.createElement = /** @type {typeof createElement} */ (function (/** @type {any} */ ...given) {
        if (given[0] === "canvas") counts.canvases++;
        return createElement.apply(document, given);
    });
};

const work = (/** @type {Tab} */ page) => page.evaluate(() => /** @type {any} */ (window).work);

test(`${DEVICES} devices on one axis: the rows in sight are made, once`, { skip }, async () => {
    const input = writeSnapshot("devices.pickle", `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096 + (i << 16), "time_us": 10 * i + d % 7, ${EVENT}, "frames": []} for i in range(40)] for d in range(${DEVICES})]}`);
    await withPage(writePage(input, "-d", "500"), async (page) => {
        await page.evaluate(watching);
        const drawn = () => page.evaluate(() => Array.from(document.querySelectorAll(".pane-plot"), (box) => {
            const [{ top, bottom }, canvas] = [box.getBoundingClientRect(), box.querySelector("canvas.pane-pixels")];
            if (bottom <= 100 || top >= innerHeight) return true;
            if (!(canvas instanceof HTMLCanvasElement)) return false;
            const { data } = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.buffer)).size > 2;
        }).every(Boolean));
        await page.keyboard.press("r");
        await until(drawn, "rows in sight");
        await rest(page); // the last canvas may not be placed yet
        const first = await work(page);
        assert.ok(first.canvases >= 6 && first.canvases <= 3 * 16, `${first.canvases} canvases, three a row`);
        assert.ok(await page.locator(".pane-head").count() < DEVICES / 8, "places of what is far away are not there");
        const rows = await ask(page, "strata.rows()");
        assert.deepEqual(rows.map((/** @type {any} */ row) => row.device), Array.from({ length: DEVICES }, (_, i) => i));
        assert.ok(rows.every((/** @type {any} */ row) => row.from_event <= 0 && row.to_event === 40 && row.peak_bytes === 512 * (40 * 41) / 2));
        await page.keyboard.press("r");
        await page.keyboard.press("r");
        await until(drawn, "rows again");
        await rest(page);
        assert.equal((await work(page)).canvases, first.canvases, "made once");
        for (const share of [0, 0.2, 0.4, 0.6, 0.8, 1, 0.1, 0.3, 0.7, 0.9]) {
            await page.evaluate((to) => {
                const stage = /** @type {HTMLElement} */ (document.querySelector(".rows > .stage"));
                stage.scrollTop = to * (stage.scrollHeight - stage.clientHeight);
            }, share);
            await settle(page);
            await until(drawn, `rows at ${share}`);
        }
        assert.ok(await page.locator("canvas.pane-pixels").count() <= 40, "what is far away is let go");
        // Device 1023 is the last. A click on its name selects it, and all devices keep the axis of times.
        await page.evaluate(() => document.querySelector(".rows > .stage")?.scrollTo(0, 1e9));
        await page.getByRole("button", { name: `Device ${DEVICES - 1}`, exact: true }).click();
        await eventually(async () => assert.equal((await ask(page, "strata.view()")).device, DEVICES - 1));
        await until(drawn, "rows above it");
    });
});

test(`${DEVICES} devices are opened by tasks that each do a part of it`, { skip }, async () => {
    const input = writeSnapshot("loading.pickle", `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 4096, "time_us": i, "size": 512, "stream": 0, "frames": []} for i in range(2)] + [{"action": "free_completed", "addr": 4096, "time_us": 9, "size": 512, "stream": 0}] for d in range(${DEVICES})]}`);
    await withPage(writePage(input), async (page) => {
        await page.addInitScript(watchLoading);
        await reload(page);
        const { unpacked, decoded } = await page.evaluate(() => /** @type {any} */ (window).loading);
        assert.equal(unpacked, 1, "styles, markup and program are not unpacked in one task");
        assert.ok(decoded < DEVICES, `${decoded} texts: diagnostics of other devices are not read`);
        assert.equal(await page.locator("#device").evaluate((select) => /** @type {any} */ (getComputedStyle(select)).fieldSizing), "content");
        assert.equal(await page.locator("#device option").count(), DEVICES + 1);
    });
});

test(`the rows and the tree of ${FEW} against ${MANY} call sites come in slices`, { skip }, async () => {
    const page = path.join(folder, "sites.html");
    run(strata, "diff", "-q", "-f", sites("f", FEW), sites("g", MANY), "-o", page);
    await withPage(page, async (tab) => {
        await tab.addInitScript(watching);
        await reload(tab);
        for (const rows of ["calls", "site"]) {
            await tab.locator(`#panel-difference [data-choice=${rows}]`).click();
            await until(async () => /^90,000 rows/.test(await tab.locator("#panel-difference .why-foot").innerText()), rows);
            assert.ok(await tab.locator("#panel-difference .pair-row").count() < 100, "rows that are on the screen");
        }
        const { names, most, scanned } = await work(tab);
        assert.ok(names >= FEW + MANY && names < 1.5 * (FEW + MANY), `${names} names are read once`);
        assert.ok(most < (FEW + MANY) / 2, `${most} of ${names} names in one task`);
        assert.ok(scanned < 40 * (FEW + MANY), `${scanned} looked at`);
        // Unfolds a call, shows another tab's tree, and returns to the same call.
        const sum = await tab.locator("#panel-difference .sum-row").innerText();
        await ask(tab, "strata.a.tree()");
        await tab.keyboard.press("2");
        await tab.keyboard.press("1");
        await tab.locator("#panel-difference [data-choice=calls]").click();
        await until(async () => (await tab.locator("#panel-difference .sum-row").innerText()) === sum, "the same sum");
    });
});
