// The rows of other devices show what the chosen device's timeline shows: marks, names, phases, figures at the cursor.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, hashOf, replay, report, run, samples, settle, setView, shownTexts, skip, until, withPage, writePage } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

const INPUT = path.join(samples, "two_devices.pickle");

const OOM = path.join(process.env.STRATA_CORPUS ?? "", "oom_expandable_4dev.pickle");

/** A recording's times by device and its annotations, by Python's own pickle. @param {string} input @returns {{times: Record<number, number[]>, phases: {name: string, device: number, from: number, to: number}[]}} */
function recorded(input) {
    const program = `
import json, pickle, sys
data = pickle.load(open(sys.argv[1], "rb"))
begun, phases = {}, []
for mark in data.get("external_annotations", []):
    key = (mark["name"], mark["device"])
    if mark["stage"] == "START": begun[key] = mark["time_us"]
    elif key in begun: phases.append({"name": key[0], "device": key[1], "from": begun.pop(key), "to": mark["time_us"]})
print(json.dumps({"times": {i: [e["time_us"] for e in t] for i, t in enumerate(data["device_traces"]) if t}, "phases": phases}))`;
    return JSON.parse(run("python3", "-c", program, input).toString());
}

const row = (/** @type {Page} */ page) => page.locator(".pane-room").first();

/** Pixels of a canvas of the first row that something is drawn on; only those in the colour of the search's ticks, or only in the plot's lower part. @param {Page} page @param {string} canvas @param {"all" | "ticks" | "low"} [what] */
function inked(page, canvas, what = "all") {
    return row(page).locator(canvas).evaluate((one, which) => {
        const { width, height } = /** @type {HTMLCanvasElement} */ (one);
        const plot = /** @type {HTMLCanvasElement} */ (one.parentElement?.querySelector(".pane-pixels"));
        const [left, top] = [plot.offsetLeft + 2, plot.offsetTop + plot.height / 2];
        const box = which === "low" ? [left, top, plot.width - 4, plot.height / 2 - 4] : [0, 0, width, height];
        const data = (/** @type {HTMLCanvasElement} */ (one).getContext("2d"))?.getImageData(box[0], box[1], box[2], box[3]).data ?? [];
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
            if (which === "ticks" ? data[i + 3] > 200 && data[i] > 150 && data[i + 1] > 50 && data[i + 1] < 110 && data[i + 2] < 60 : data[i + 3] > 0) count++;
        return count;
    }, what);
}

describe("rows of other devices", { skip }, () => {
    test("peak and snapshots are marked, and a click goes there", async () => {
        const peak = Math.max(...replay("--curves", INPUT, 0).live);
        await withPage(writePage(INPUT), async (page) => {
            const labels = () => row(page).evaluate((room) => Array.from(room.querySelectorAll("button.marker"), (marker) => /** @type {HTMLElement} */ (marker).innerText));
            await until(async () => (await labels()).some((text) => text.startsWith("Peak")), "a label of the peak");
            assert.ok((await labels()).some((text) => /Snapshot|\u25cb/.test(text)));
            await row(page).locator("button.marker-peak").click();
            await settle(page);
            const { device } = await ask(page, "strata.view()");
            assert.equal(device, 0);
            assert.match(await page.locator("#list-title").innerText(), /peak/);
            const [{ cursor, in_hand, peak_bytes }] = await ask(page, "strata.rows()");
            assert.deepEqual([cursor, in_hand, peak_bytes], [null, true, peak]);
        }, { hash: "#device=1&all=1" });
    });

    test("times in a row follow the axis", async () => {
        const { times, phases } = recorded(INPUT);
        const { live } = replay("--curves", INPUT, 0);
        const step = phases.find(({ name, device }) => name === "ProfilerStep#1" && device === 0);
        assert.ok(step && times[0][0] < times[1][0] - 1000, "the clocks differ");
        /** Milliseconds of a text, with how far off they may be. @param {RegExpExecArray | null} found */
        const near = (found, /** @type {number} */ us) => {
            assert.ok(found, "a time");
            assert.ok(Math.abs(Number(found[1]) * 1000 - (us - times[1][0])) <= (found[1].includes(".") ? 50 : 500), `${found[0]} for ${(us - times[1][0]) / 1000} ms`);
        };
        await withPage(writePage(INPUT), async (page) => {
            const title = await row(page).locator("button.marker-peak").getAttribute("title");
            near(/\((-?[\d.]+) ms\)/.exec(title ?? ""), times[0][live.indexOf(Math.max(...live)) - 1]);
            const box = await row(page).locator(".pane-pixels").boundingBox();
            assert.ok(box);
            const [first, last] = [Math.min(...Object.values(times).flat()), Math.max(...Object.values(times).flat())];
            await page.mouse.move(box.x + (((step.from + step.to) / 2 - first) / (last - first)) * box.width, box.y + box.height + 10);
            const tip = page.locator(".pane-room .tip");
            await until(async () => (await tip.isVisible()) && /ProfilerStep#1/.test(await tip.innerText()), "the tip of the phase");
            const words = await tip.innerText();
            near(/from (-?[\d.]+) ms to/.exec(words), step.from);
            near(/to (-?[\d.]+) ms/.exec(words), step.to);
        }, { hash: "#device=1&all=1" });
    });

    test("phases stand below the row, and a click selects their time", async () => {
        const { times, phases } = recorded(INPUT);
        const step = phases.find(({ name, device }) => name === "ProfilerStep#1" && device === 0);
        assert.ok(step);
        await withPage(writePage(INPUT), async (page) => {
            const box = await row(page).locator(".pane-pixels").boundingBox();
            assert.ok(box);
            const first = Math.min(...Object.values(times).flat());
            const last = Math.max(...Object.values(times).flat());
            const x = box.x + (((step.from + step.to) / 2 - first) / (last - first)) * box.width;
            await page.mouse.move(x, box.y + box.height + 10);
            const tip = page.locator(".pane-room .tip");
            await until(() => tip.isVisible(), "the tip of the phase");
            assert.match(await tip.innerText(), /ProfilerStep#1/);
            await page.mouse.down();
            await page.mouse.up();
            const text = await until(async () => /range=([^&]*)/.exec(await hashOf(page))?.[1], "a range in the address");
            const [from, to] = text.split("_").map(Number);
            // The address counts from the first event of the device in hand.
            assert.ok(Math.abs(from + times[1][0] - step.from) < 2 && Math.abs(to + times[1][0] - step.to) < 2, text);
            assert.equal((await ask(page, "strata.view()")).device, 1, "the device in hand stays");
        }, { hash: "#device=1&all=1" });
    });

    test("each head has the totals at the cursor", async () => {
        await withPage(writePage(INPUT), async (page) => {
            const box = await row(page).locator(".pane-pixels").boundingBox();
            assert.ok(box);
            await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
            await until(async () => (await ask(page, "strata.rows()")).every((/** @type {any} */ { cursor }) => cursor !== null), "the cursor in both");
            await settle(page);
            const told = await shownTexts(page, ".pane-cursor");
            for (const [i, { device, cursor }] of (await ask(page, "strata.rows()")).entries()) {
                const { live, reserved } = replay("--curves", INPUT, device);
                const [said, held] = [...told[i].matchAll(/([\d.]+) ([GM])iB/g)].map(([, number, unit]) => Number(number) * (unit === "G" ? 1024 ** 3 : 1024 ** 2));
                for (const [words, bytes] of [[said, live[cursor.event + 1]], [held, reserved[cursor.event + 1]]])
                    assert.ok(Math.abs(words - bytes) <= bytes * 0.05 + 60000, `device ${device}: ${told[i]}, ${bytes}`);
            }
        }, { hash: "#all=1" });
    });

    test("names on bands, ticks of the search, range and marks are drawn in the row too", async () => {
        await withPage(writePage(INPUT), async (page) => {
            const bare = await inked(page, ".pane-overlay");
            assert.equal(bare, 0, "nothing is held");
            // In the lower part of the plot stand nothing but names, and lines a pixel wide; names come when the view rests.
            await until(async () => (await inked(page, ".pane-axes", "low")) > 500, "names on bands");
            await setView(page, { search: "attention" });
            await until(async () => (await inked(page, ".pane-axes", "ticks")) > 20, "ticks above the row");
            await setView(page, { search: "", range: { from: 400, to: 900 } });
            await until(async () => (await inked(page, ".pane-overlay")) > 100, "the range in the row");
            await setView(page, { range: null });
            await until(async () => (await inked(page, ".pane-overlay")) === 0, "no range");
            await page.keyboard.press("m");
            await until(async () => (await inked(page, ".pane-overlay")) > 100, "mark A in the row");
        }, { hash: "#all=1&device=1" });
    });

    test("a device that ran out of memory says so in its row", { skip: existsSync(OOM) ? false : "STRATA_CORPUS is not there" }, async () => {
        const [failed] = report(OOM).devices.find((/** @type {any} */ { device }) => device === 1).oom;
        await withPage(writePage(OOM), async (page) => {
            const label = page.locator(".pane-room button.marker-oom");
            assert.match((await label.getAttribute("title")) ?? "", /requested/);
            assert.ok((await page.locator("#timeline-device-1 ~ .pane-overlay").count()) === 1);
            await label.click();
            await settle(page);
            const text = await until(async () => /at=([^&]*)/.exec(await hashOf(page))?.[1], "a moment");
            assert.deepEqual([Number(text), (await ask(page, "strata.view()")).device], [failed.event, 1]);
        }, { hash: "#all=1&device=0" });
    });
});
