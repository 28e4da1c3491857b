// Figures of a table share the unit and decimals of the report's table, and agree with their exact bytes.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { each, folder, run, samples, skip, strata, texts, until, withPage, writePage, openForm } from "./browser.mjs";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** The texts of a table's cells, and the exact bytes in their titles. @param {import("playwright-core").Page} page
 * @param {string} cells @param {string} [unit] where the cells do not have it */
async function figuresIn(page, cells, unit) {
    await until(() => page.locator(cells).first().isVisible(), cells);
    const all = await each(page, cells, (cell) => [cell.textContent ?? "", /** @type {HTMLElement} */ (cell).title]);
    return all.map(([text, title]) => ({ text: unit ? `${text} ${unit}` : text, exact: Math.abs(Number(title.replace(/ bytes$/, "").replace(/[,\u2212]/g, "").replace(/^-/, ""))) }));
}

/** @param {{text: string, exact: number}[]} figures */
function checkAlike(figures) {
    assert.ok(figures.length > 1, "several rows");
    const forms = figures.filter(({ text }) => !/^0 /.test(text)).map(({ text, exact }) => {
        const [, sign, number, unit] = /** @type {RegExpExecArray} */ (/^[+\u2212]?(<?)([\d,]+(?:\.\d+)?) (\w+)$/.exec(text) ?? assert.fail(text));
        const decimals = number.split(".")[1]?.length ?? 0;
        const shown = Number(number.replaceAll(",", ""));
        const bytes = exact / 1024 ** UNITS.indexOf(unit === "bytes" ? "B" : unit);
        if (sign) assert.ok(bytes > 0 && bytes < shown, `${text}: ${exact}`);
        else assert.ok(Math.abs(bytes - shown) <= 0.5001 * 10 ** -decimals, `${text}: ${exact}`);
        return `${decimals} of ${unit}`;
    });
    assert.equal(new Set(forms).size, 1, figures.map(({ text }) => text).join(", "));
}

/** The first column of the report's first table. @param {string} input */
function reportedBytes(input) {
    const text = String(run(strata, "report", "--full", "--top", "0", input));
    const table = text.slice(text.indexOf("At the peak")).split("\n").slice(3);
    // A long call site continues in lines without figures.
    return table.slice(0, table.indexOf("")).flatMap((line) => /^ +(<?[\d,.]+ \w+)  /.exec(line)?.[1] ?? []);
}

describe("units of tables", { skip }, () => {
    for (const name of ["train", "held_over", "streams", "user_metadata_annotate"])
        test(`the list and the tree of ${name} have the report's units`, async () => {
            const input = path.join(samples, `${name}.pickle`);
            await withPage(writePage(input), async (page) => {
                await page.keyboard.press("3");
                const figures = await figuresIn(page, "#list > .row:not([hidden]) .bytes");
                checkAlike(figures);
                assert.deepEqual(figures.map(({ text }) => text), reportedBytes(input).slice(0, figures.length));
                await openForm(page, "tree");
                checkAlike(await figuresIn(page, "#tree-rows > .row:not([hidden]) .bytes"));
            });
        });

    test("each allocation, in any order", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await openForm(page, "each");
            for (const head of ["Size", "Made at", "Call site"]) {
                await page.locator("#panel-each").getByRole("button", { name: head }).click();
                await until(() => page.locator("#panel-each [aria-sort]:not([aria-sort=none])", { hasText: head }).isVisible(), head);
                checkAlike(await figuresIn(page, "#each > .each-row:not([hidden]) .each-bytes"));
            }
        });
    });

    test("causes and pools of unused memory", async () => {
        await withPage(writePage(path.join(samples, "private_pools.pickle")), async (page) => {
            const [causes, pools] = ["table:not(table ~ table)", "table ~ table:not(.holes)"];
            for (const table of [causes, pools]) assert.ok(await page.locator(`#panel-allocator ${table}`).isVisible());
            checkAlike(await figuresIn(page, `#panel-allocator ${causes} td:nth-child(2) span`));
            checkAlike(await figuresIn(page, `#panel-allocator ${pools} td:not(:first-child) span`));
        }, { hash: "#device=0&tab=allocator&at=1384" });
    });

    test("Compare and its steps have the unit in the head", async () => {
        await withPage(writePage(path.join(samples, "leak_two_per_layer.pickle")), async (page) => {
            await page.keyboard.press("4");
            await page.locator(".step-button").nth(1).click({ modifiers: ["Shift"] });
            await page.locator(".step-button").nth(4).click();
            await until(() => page.locator("#compare-rows > .row").first().isVisible(), "rows");
            const [, unit] = /** @type {RegExpExecArray} */ (/^A, (\w+)$/.exec(await page.locator("#compare-rows-scroll .list-head .number").first().innerText()));
            checkAlike(await figuresIn(page, "#compare-rows > .row:not([hidden]) .number", unit));
            const peaks = await each(page, ".strip-head", (head) => head.lastChild?.textContent ?? "");
            assert.equal(new Set(peaks.map((text) => text.split(".")[1]?.length)).size, 1, peaks.join());
            assert.equal(await page.locator(".strip-words").evaluate((words) => words.firstChild?.textContent), `peak, ${unit}`);
        });
    });

    test("the page of a difference", async () => {
        const [healthy, leak] = ["leak_zero_grad_healthy", "leak_zero_grad"].map((name) => path.join(samples, `${name}.pickle`));
        const target = `${writePage(healthy)}-difference.html`;
        run(strata, "diff", "-f", "-q", "-o", target, healthy, leak);
        await withPage(target, async (page) => {
            await page.locator("#panel-difference [data-choice=site]").click();
            await until(() => page.locator("#pair-rows > .row").first().isVisible(), "rows");
            const [, unit] = /** @type {RegExpExecArray} */ (/^A, (\w+)$/.exec(await page.locator("[id^=pair-rows-scroll] .list-head .number >> visible=true").first().innerText()));
            const figures = await figuresIn(page, "#pair-rows > .row:not([hidden]) .number", unit);
            checkAlike(figures.filter(({ text }) => !text.startsWith("\u2013")));
        });
    });

    test("the index of a batch", async () => {
        const [dumps, out] = [path.join(folder, "units_dumps"), path.join(folder, "units_out")];
        mkdirSync(dumps);
        ["oom", "train", "expandable"].forEach((name, rank) => copyFileSync(path.join(samples, `${name}.pickle`), path.join(dumps, `rank${rank}.pickle`)));
        run(strata, "batch", "-q", dumps, "-o", out);
        await withPage(path.join(out, "index.html"), async (page) => {
            const figures = await figuresIn(page, "#lines .cell.number[title]");
            assert.equal(figures.length, 9, "peak, end and reserved of three ranks");
            checkAlike(figures);
            await page.locator("#lines > .row").nth(1).click();
            await until(() => page.locator("#detail td.number").first().isVisible(), "what differs");
            const units = await texts(page, "#detail td.number");
            assert.equal(new Set(units.filter((text) => text !== "0").map((text) => text.split(" ")[1])).size, 1, units.join(", "));
        });
    });
});
