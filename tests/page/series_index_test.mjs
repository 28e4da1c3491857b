// Several dumps of one rank in the index: each leads to the timeline of all, which shows the memory that stayed, came
// and went between them.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { ask, each, folder, here, run, settle, skip, strata, texts, withPage } from "./browser.mjs";

test("dumps of a rank lead to its timeline", { skip }, async () => {
    const [dumps, out] = [path.join(folder, "series_dumps"), path.join(folder, "series_out")];
    const script = `import pathlib, pickle, sys
sys.path.insert(0, sys.argv[1])
import series_test
snapshot = series_test.snapshot_of("leak_graph")
n = len(snapshot["device_traces"][0])
for i in (1, 2, 3, 4):
    path = pathlib.Path(sys.argv[2], f"iteration_{i}", "rank0_memory_snapshot.pickle")
    path.parent.mkdir(parents=True)
    path.write_bytes(pickle.dumps(series_test.dump_at(snapshot, n * i // 4, n // 5), 4))`;
    run("python3", "-c", script, here, dumps);
    run(strata, "batch", "-q", dumps, "-o", out);
    const summary = JSON.parse(readFileSync(path.join(out, "summary.json"), "utf8"));
    const [series] = summary.series;
    await withPage(path.join(out, "index.html"), async (tab) => {
        const finding = tab.locator("#findings button", { hasText: "all 4 dumps" });
        await finding.click();
        await settle(tab);
        const detail = tab.locator("#detail");
        assert.ok((await texts(tab, "#detail h3")).includes("Its dumps"));
        const href = await detail.locator("a", { hasText: "All 4 dumps as one timeline" }).getAttribute("href");
        assert.equal(href, series.page);
        assert.ok(existsSync(path.join(out, String(href))));
        const shown = (await each(tab, "#detail a", (link) => [link.textContent ?? "", link.getAttribute("href") ?? ""])).filter(([text]) => text.includes("Show it in the page")).map(([, href]) => href);
        assert.ok(shown.some((link) => link.startsWith(`${series.page}#device=`)), shown.join(" "));
        const rows = await texts(tab, "#detail tr");
        assert.equal(rows.filter((row) => row.startsWith("step ")).length, 4);
        assert.equal(rows.filter((row) => row.includes("events are missing here")).length, 3);
        assert.equal(await detail.locator("tr.here").count(), 1);
        assert.equal(await tab.locator("#lines a", { hasText: "Dumps" }).count(), 4);
    });
    await withPage(path.join(out, series.page), async (tab) => assert.equal((await ask(tab, "strata.summary()")).peak_bytes, series.peak_bytes));
});
