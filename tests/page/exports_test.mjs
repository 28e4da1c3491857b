// The formats that Save offers besides a picture: CSV of the view, folded stacks of the tree. The
// controls are strata export, report --json and the canvas.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { downloaded, report, run, samples, setView, skip, strata, withPage, writePage } from "./browser.mjs";

const TRAIN = path.join(samples, "train.pickle");

/** The content of the file that a button saves. @param {import("playwright-core").Page} page @param {string} id */
async function saved(page, id) {
    const waiting = page.waitForEvent("download");
    await page.locator(`#${id}`).evaluate((/** @type {HTMLElement} */ button) => button.click());
    const download = await waiting;
    return { name: download.suggestedFilename(), text: (await downloaded(download)).toString() };
}

/** Rows of a table without quotes inside of its first fields. @param {string} text @param {string[]} columns */
function rowsOf(text, columns) {
    const [head, ...lines] = text.replace(/^\ufeff/, "").split("\r\n").filter(Boolean);
    const places = columns.map((column) => head.split(",").indexOf(column));
    return lines.map((line) => places.map((place) => line.split(",")[place]).join(" ")).sort();
}

describe("Save", { skip }, () => {
    test("CSV has the allocations of the window that pass the filter", async () => {
        await withPage(writePage(TRAIN), async (page) => {
            for (const [view, words] of /** @type {[object, string[]][]} */ ([
                [{}, []],
                [{ from: 500, to: 900 }, ["--from", "500", "--to", "900"]],
                [{ from: 500, to: 900, filter: { leastBytes: "1M" } }, ["--from", "500", "--to", "900", "--filter", "size:>=1MiB"]],
            ])) {
                await setView(page, view);
                const { name, text } = await saved(page, "save-csv");
                assert.equal(name, "train.csv");
                const control = run(strata, "export", "-q", "--to", "csv", ...words, TRAIN, "-o", "-").toString();
                assert.deepEqual(
                    rowsOf(text, ["made_at_event", "freed_at_event", "bytes", "stream"]),
                    rowsOf(control, ["alloc_event", "free_event", "bytes", "stream"]),
                );
            }
        });
    });

    test("folded stacks add up to the peak, and begin with the outermost frame", async () => {
        await withPage(writePage(TRAIN), async (page) => {
            const { name, text } = await saved(page, "save-folded");
            assert.equal(name, "train.folded");
            const lines = text.trim().split("\n");
            const sum = lines.reduce((bytes, line) => bytes + Number(line.slice(line.lastIndexOf(" "))), 0);
            assert.equal(sum, report(TRAIN).devices[0].peak_bytes);
            assert.ok(lines.every((line) => line.startsWith("main.py:") || line.startsWith("(") || line.startsWith("backward")), lines[0]);
        });
    });
});
