// Two recordings, and several views of one, in the same page: each draws and answers as if it were alone.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { browser, bundle, folder, here, moduleFile, report, samples, skip, writePage } from "./browser.mjs";

/** Stands for boot.js, which lends the program what unpacks the module. */
const BOOT = "window.strata = { unpack: async (id) => Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0)) };";

/** An inert element of a page that strata wrote. @param {string} page @param {string} id */
function carried(page, id) {
    const begin = `id="${id}">`;
    const from = page.indexOf(begin) + begin.length;
    return page.slice(from, page.indexOf("</script>", from));
}

test("views and recordings do not affect each other", { skip }, async () => {
    const inputs = ["two_devices.pickle", "streams.pickle"].map((name) => path.join(samples, name));
    const [first, second] = inputs.map((input) => readFileSync(writePage(input), "utf8"));
    const script = path.join(folder, "script.js");
    bundle(path.join(here, "page", "two_views.js"), "--format=iife", `--outfile=${script}`);
    const inert = (/** @type {string} */ id, /** @type {string} */ text) => `<script type="application/octet-stream" id="${id}">${text}</script>`;
    const parts = [inert("module", readFileSync(moduleFile, "base64")), inert("payload", carried(first, "payload")), inert("second", carried(second, "payload"))];
    const page = path.join(folder, "views.html");
    writeFileSync(page, `<!doctype html><meta charset="utf-8"><body>${parts.join("")}<script>${BOOT}${readFileSync(script, "utf8")}</script>`);

    const tab = await browser.newPage();
    try {
        await tab.goto(pathToFileURL(page).href);
        const got = await tab.evaluate("ready");
        assert.deepEqual(got.hashes, [got.alone[0], got.alone[1], got.alone[2], got.alone[0]]);
        assert.equal(new Set(got.alone).size, 3, "the pictures differ");
        assert.equal(got.again, got.alone[1], "a recording that stays is not hurt by one that goes");
        const wanted = inputs.map((input) => report(input).devices);
        const facts = [wanted[0][0], wanted[0][1], wanted[0][0], wanted[1][0]];
        assert.deepEqual(got.facts.map((/** @type {any} */ { peak_bytes, events }) => ({ peak_bytes, events })), facts.map(({ peak_bytes, events }) => ({ peak_bytes, events })));
        assert.ok(got.kept > 0 && got.kept < facts[0].allocations, "the filter leaves some, and only in its view");
        assert.equal(got.groups[0].bytes, facts[0].top_at_peak[0].bytes);
        const top = report(inputs[1], "--group", "stack").devices[0].top_at_peak[0];
        assert.deepEqual(got.groups[1], { bytes: top.bytes, count: top.count });
    } finally {
        await tab.close();
    }
});
