// The tree (older addresses name it as a grouping of the list) joins many small rows into one, with their callers and
// bytes.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, each, folder, hashOf, run, samples, skip, until, withPage, writePage, openForm } from "./browser.mjs";

/** @typedef {import("playwright-core").Page} Page */

/** Names and bytes of the rows in sight. */
async function treeRows(/** @type {Page} */ page) {
    const rows = await each(page, "#tree-rows > .row:not([hidden])", (row) =>
        [row.querySelector(".row-text")?.textContent ?? "", Number((row.querySelector(".bytes")?.getAttribute("title") ?? "").replace(/\D/g, ""))]);
    return /** @type {[string, number][]} */ (rows);
}

/** 1,000 lines of a cache with one common caller, a few others, and a large one; each has its own size. */
const SMALL_SITES = `
import pickle, sys
frame = lambda name, line, function: {"filename": "/home/user/" + name, "line": line, "name": function}
main = frame("main.py", 9, "main")
def event(i, size, *frames):
    return {"action": "alloc", "addr": 4096 + (i << 24), "size": size, "stream": 0, "time_us": i, "frames": [*frames, main]}
cached = [event(i, 4096 + i, frame("made.py", i, "made_%d" % i), frame("store.py", 71, "put")) for i in range(1, 1001)]
others = [event(2000 + i, 512, frame("other.py", i, "load")) for i in range(1, 31)]
large = event(3000, 9000000, frame("model.py", 5, "weights"))
with open(sys.argv[1], "wb") as file:
    pickle.dump({"segments": [], "device_traces": [[*cached, *others, large]]}, file)
`;

function smallSites() {
    const input = path.join(folder, "small_sites.pickle");
    run("python3", "-c", SMALL_SITES, input);
    return input;
}

const CACHED_BYTES = 1000 * 4096 + (1000 * 1001) / 2;

describe("the tree", { skip }, () => {
    test("the tree by keyboard, in the address, of the moment, the range and the filter", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await page.locator("#form-tree").press("Enter");
            await until(async () => /tab=tree/.test(await hashOf(page)), "the address");
            const rootBytes = async (/** @type {string} */ about) => /** @type {any} */ (await ask(page, `strata.tree(${about})`)).children[0];
            const shows = async (/** @type {string} */ about) => {
                const { name, bytes } = await rootBytes(about);
                await until(async () => String((await treeRows(page))[0]) === String([name, bytes]), `the tree of ${about}`);
            };
            await shows('{ at: "peak" }');
            assert.equal(await page.locator("#panel-tree #tree-rows").isVisible(), true);
            assert.equal(await page.locator("#list-scroll").isVisible(), false);
            await page.keyboard.press("c");
            await until(async () => /tree=callers/.test(await hashOf(page)), "call sites first");
            await shows('{ at: "peak", direction: "callers" }');
            await page.keyboard.press("t");
            await until(async () => /axis=time/.test(await hashOf(page)), "seconds");
            await page.evaluate("strata.setView({ range: { from: 900, to: 1500 } })");
            await shows('{ from: 900, to: 1500, what: "allocated", direction: "callers" }');
            await page.keyboard.press("Escape");
            await page.evaluate("strata.setView({ filter: { words: \"attention\" } })");
            await shows('{ at: "peak", direction: "callers" }');
            await openForm(page, "who");
            await until(() => page.locator("#list > .row").first().isVisible(), "the list");
        });
    });

    test("a thousand small sites are one row, named after the line that calls them", async () => {
        await withPage(writePage(smallSites()), async (page) => {
            await until(async () => (await treeRows(page)).length > 2, "rows");
            assert.deepEqual(await treeRows(page), [
                ["model.py:5 weights", 9000000], ["main.py:9 main", 9000000],
                ["store.py:71 put \u00b7 1,000 sites below 1 %", CACHED_BYTES],
                ["30 sites below 1 % in other.py", 30 * 512],
            ]);
            await page.locator("#tree-rows > .row:not([hidden])").nth(2).click();
            await until(async () => (await treeRows(page))[2][0].startsWith("made.py:"), "each of them");
        }, { hash: "#tab=who&group=tree&tree=callers" });
    });

    test("from the callers' side the row is the line that calls them", async () => {
        await withPage(writePage(smallSites()), async (page) => {
            const put = await until(async () => (await treeRows(page)).find(([name]) => name === "store.py:71 put"), "the line");
            assert.deepEqual(put, ["store.py:71 put", CACHED_BYTES]);
            await page.locator("#tree-rows > .row:not([hidden])", { hasText: "store.py:71" }).click();
            await until(async () => (await treeRows(page)).some(([name, bytes]) => name === "1,000 rows below 1 % in made.py" && bytes === CACHED_BYTES), "what it called");
        }, { hash: "#tab=tree" });
    });
});
