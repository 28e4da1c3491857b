// Grouping by layer (the repeated parts of a forward) in groups, tree, comparison, search and list.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, run, samples, skip, strata, until, withPage, writePage } from "./browser.mjs";

const oom = path.join(samples, "oom.pickle");

describe("modules", { skip }, () => {
    test("groups add up, and a layer equals the matches of search and report filter", async () => {
        await withPage(writePage(oom, "--no-plan"), async (page) => {
            const groups = await ask(page, "strata.groups({ by: 'module' })");
            const sites = await ask(page, "strata.groups()");
            const sum = (/** @type {{bytes: number, count: number}[]} */ rows) =>
                rows.reduce((a, { bytes, count }) => [a[0] + bytes, a[1] + count], [0, 0]);
            assert.deepEqual(sum(groups), sum(sites));
            const layers = groups.filter((/** @type {any} */ { name }) => name.startsWith("layer "));
            assert.deepEqual(layers.map((/** @type {any} */ { name }) => name).sort(), [0, 1, 2, 3].map((k) => `layer ${k} of transformer.py`));
            for (const { name, bytes } of layers) {
                const words = name.split(" of ")[0].replace(" ", ":");
                const found = await ask(page, `strata.search("${words}")`);
                assert.equal(found.bytesAtPeak, bytes);
                const report = JSON.parse(run(strata, "report", "--json", "--filter", words, oom).toString());
                const top = report.devices[0].top_at_peak.reduce((/** @type {number} */ total, /** @type {any} */ row) => total + row.bytes, 0);
                assert.equal(top, bytes);
            }
            const all = await ask(page, "strata.search('block:transformer.py:57')");
            assert.equal(all.bytesAtPeak, sum(layers)[0]);
            assert.equal((await ask(page, "strata.search('block:nothing')")).allocations, 0);
            await ask(page, "strata.search('')");
        });
    });

    test("each layer has one of the allocations that a layer's forward makes once", async () => {
        await withPage(writePage(oom, "--no-plan"), async (page) => {
            const tree = await ask(page, "strata.tree({ by: 'module', direction: 'callers' })");
            const groups = await ask(page, "strata.groups({ by: 'module' })");
            assert.deepEqual(tree.children.map((/** @type {any} */ { name, bytes, count }) => ({ name, bytes, count })), groups);
            for (const layer of tree.children.filter((/** @type {any} */ { name }) => name.startsWith("layer "))) {
                const attention = layer.children.find((/** @type {any} */ { name }) => name === "attention.py:53 forward");
                assert.deepEqual([attention.count, attention.bytes], [1, 512 * 2 ** 20]);
                assert.equal(layer.children.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0), layer.bytes);
            }
            const compared = await ask(page, "strata.compare({ a: { at: 1400 }, b: { at: 'peak' }, by: 'module' })");
            assert.equal(compared.rows.reduce((/** @type {number} */ sum, /** @type {any} */ row) => sum + row.delta_bytes, 0), compared.b_bytes - compared.a_bytes);
            assert.ok(compared.rows.some((/** @type {any} */ { name }) => name === "layer 3 of transformer.py"));
        });
    });

    test("the list by layer highlights a layer's allocations", async () => {
        await withPage(writePage(oom, "--no-plan"), async (page) => {
            await page.locator("#tab-who").click();
            await page.locator("#group-by").selectOption("module");
            await until(async () => (await page.locator("#panel-who").innerText()).includes("layer 2"), "the rows");
            await until(async () => /group=module/.test(await page.evaluate("location.hash")), "the address");
        });
    });
});
