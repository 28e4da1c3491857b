// What the page's WebAssembly concludes is what the program concludes: every finding of every sample, and of small real
// recordings, to the last word.
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { ask, report, samples, setView, skip, withPage, writePage } from "./browser.mjs";

const SMALL = 3 << 19; // bytes of a real recording

/** Recordings of a folder. @param {string | undefined} folder @param {number} most bytes */
function recordings(folder, most) {
    if (!folder) return [];
    const files = readdirSync(folder).filter((name) => /\.(pickle|pkl|json\.gz)$/.test(name));
    return files.map((name) => path.join(folder, name)).filter((file) => statSync(file).size <= most).sort();
}

test("WebAssembly and the program conclude the same", { skip }, async (t) => {
    let devices = 0;
    let compared = 0;
    for (const input of [...recordings(samples, Infinity), ...recordings(process.env.STRATA_CORPUS, SMALL)]) {
        await t.test(path.basename(input), async () => {
            const wanted = report(input, "--top", "1").devices;
            await withPage(writePage(input), async (page) => {
                for (const { device, findings } of wanted) {
                    await setView(page, { device });
                    const found = await ask(page, "strata.findings()");
                    assert.deepEqual(found.map(({ ids, ...said }) => said), findings, `device ${device}`);
                    devices++;
                    compared += findings.length;
                }
            });
        });
    }
    console.log(`${compared} findings on ${devices} devices compared`);
    assert.ok(compared > 20);
});
