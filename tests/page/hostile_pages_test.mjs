// Hostile strings in every text of a recording and in file names, in the pages of a difference, of what-if and of the index. No
// code runs, nothing is fetched, and texts are shown as they are.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { folder, openContext, run, skip, strata, until, writeSnapshot } from "./browser.mjs";

const STRINGS = [
    "<img src=x onerror=window.pwned=1>", "</script><script>window.pwned=2</script>", "\"><svg onload=window.pwned=3>", "'-window.pwned=4-'", "javascript:window.pwned=5",
    "<!--<script>", "]]><x>", "&lt;b&gt;", "${window.pwned=6}", "\u2028window.pwned=7", "\u202egnp.exe", "</style><style>*{display:none}</style>", "<a href=//example.invalid>x</a>",
    "<iframe srcdoc='<script>parent.pwned=8</script>'></iframe>", "</template><base href=//example.invalid>", "<meta http-equiv=refresh content=0;url=//example.invalid>",
];

/** A snapshot with only hostile texts, written by Python. @param {number} turn */
function hostile(turn) {
    const list = JSON.stringify(STRINGS);
    return `(lambda s: {
        "segments": [{"device": 0, "address": 1 << 30, "total_size": 1 << 30, "allocated_size": 0, "active_size": 0, "stream": 0, "segment_type": "large", "blocks": []}],
        "allocator_settings": {t: t for t in s},
        "external_annotations": [{"name": t, "stage": g, "time_us": i * 9 + (g == "END"), "device": 0} for i, t in enumerate(s) for g in ("START", "END")],
        "device_traces": [[{"action": a, "addr": (1 << 30) + (i << 22), "size": ${1 + turn} << 21, "stream": 0, "time_us": i * 3 + (a != "alloc"), "user_metadata": s[i % len(s)],
            "compile_context": s[(i + 1) % len(s)], "category": s[(i + 2) % len(s)], "forward_frames": [s[i % len(s)]],
            "frames": [{"filename": "/x/" + s[i % len(s)] + ".py", "line": i + ${turn}, "name": s[(i + 3) % len(s)]}, {"filename": "t.py", "line": 3, "name": s[i % len(s)]}]}
            for i in range(64) for a in (("alloc",) if i % 3 else ("alloc", "free_completed"))]
            + [{"action": "oom", "addr": 0, "size": 1 << 40, "device_free": 5, "stream": 0, "time_us": 999, "frames": [{"filename": s[0], "line": 1, "name": s[1]}]}]]})(${list})`;
}

/** Opens a page and visits all of it; returns what it must not have done. @param {string} file @param {(page:
 * import("playwright-core").Page) => Promise<void>} walk */
async function look(file, walk) {
    const context = await openContext({});
    const page = await context.newPage();
    /** @type {string[]} */
    const troubles = [];
    page.on("request", (request) => request.url().startsWith("file:") || request.url().startsWith("data:") || request.url().startsWith("blob:") || troubles.push(request.url()));
    page.on("pageerror", (error) => troubles.push(String(error.stack)));
    page.on("dialog", (dialog) => (troubles.push(dialog.message()), void dialog.dismiss()));
    await page.goto(pathToFileURL(file).href);
    await walk(page);
    assert.equal(await page.evaluate("typeof pwned"), "undefined", file);
    assert.equal(await page.locator("img[src=x], svg[onload], iframe, base, meta[http-equiv=refresh], a[href*=invalid]").count(), 0, file);
    assert.deepEqual(troubles, [], file);
    assert.equal(page.url().replace(/#.*/, ""), pathToFileURL(file).href);
    await context.close();
}

test("no string of a recording becomes code in the other pages", { skip }, async () => {
    const a = writeSnapshot("hostile_a.pickle", hostile(0));
    const b = writeSnapshot("hostile_b.pickle", hostile(1));
    const out = path.join(folder, "hostile_out");
    mkdirSync(out, { recursive: true });
    run(strata, "diff", "-q", "-f", a, b, "-o", path.join(out, "difference.html"));
    run(strata, "plan", "-q", "-f", a, "-o", path.join(out, "whatif.html"));
    const dumps = path.join(folder, "hostile <img src=x onerror=window.pwned=9>");
    mkdirSync(dumps, { recursive: true });
    for (const rank of [0, 1, 2, 3]) run("cp", rank === 3 ? b : a, path.join(dumps, `rank${rank} <b onclick=pwned=1>&amp;.pickle`));
    run(strata, "batch", "-q", "-f", dumps, "-o", path.join(out, "index"));
    await look(path.join(out, "difference.html"), async (page) => {
        await page.evaluate("strata.ready");
        for (const key of ["1", "2", "3", "4", "t"]) await page.keyboard.press(key);
        assert.ok(String(await page.evaluate("JSON.stringify(strata.compare())")).includes("onerror"));
    });
    await look(path.join(out, "whatif.html"), async (page) => {
        await page.evaluate("strata.ready");
        assert.ok(await page.locator(".plan").isVisible());
    });
    await look(path.join(out, "index", "index.html"), async (page) => {
        await page.evaluate("strata.ready");
        const n = Number(await page.evaluate("strata.rows().length"));
        assert.equal(n, 4);
        for (let row = 0; row < n; row++) {
            await page.evaluate((row) => void window.strata.choose(row), row);
            await until(async () => (await page.locator("#detail h2").count()) > 0, "a chosen row");
        }
        assert.ok((await page.locator("#lines").innerText()).includes("onclick"));
    });
});
