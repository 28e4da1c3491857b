// The page's WebAssembly gives the same findings as the program, word for word, for every sample and for small real
// recordings. Node has Chromium's engine, so most are computed without a browser, by the page's own scripts.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { ask, bundle, folder, here, moduleFile, report, samples, setView, skip, withPage, writePage } from "./browser.mjs";

/** In a page, boot.js lends the program what unpacks the module. */
Object.assign(globalThis, { window: { strata: { unpack: async () => readFileSync(moduleFile) } } });

/** The page's own scripts, whose types templates/tsconfig.json knows. */
const names = ["load", "questions", "session"];
const entries = names.map((name) => path.join(here, "..", "templates", `${name}.js`));
bundle(...entries, "--format=esm", "--splitting", "--out-extension:.js=.mjs", `--outdir=${folder}/scripts`);
const scripts = await Promise.all(names.map((name) => import(`${folder}/scripts/${name}.mjs`)));
const { loadModule, loadSession, askFindings, View } = Object.assign({}, ...scripts);

const SMALL = 3 << 19; // bytes of a real recording
const IN_CHROMIUM = ["oom.pickle", "two_devices.pickle"];

/** Recordings of a folder. @param {string | undefined} folder @param {number} most bytes */
function recordings(folder, most) {
    if (!folder) return [];
    const files = readdirSync(folder).filter((name) => /\.(pickle|pkl|json\.gz)$/.test(name));
    return files.map((name) => path.join(folder, name)).filter((file) => statSync(file).size <= most).sort();
}

/** The text of an inert element. @param {string} page @param {string} id */
const carried = (page, id) => new RegExp(`id="${id}">([^<]*)<`).exec(page)?.[1] ?? "";

/** The findings of a recording's page for each device. @param {string} input @param {unknown} module */
async function concluded(input, module) {
    const session = await loadSession(module, carried(readFileSync(writePage(input), "utf8"), "payload"), () => {});
    const found = session.devices.map((/** @type {unknown} */ _, /** @type {number} */ device) => askFindings(new View(session, device)));
    session.c.release();
    return found;
}

/** The same in a browser. @param {string} input @param {number[]} devices */
async function shown(input, devices) {
    /** @type {any[]} */ const found = [];
    await withPage(writePage(input), async (page) => {
        for (const device of devices) {
            await setView(page, { device });
            found.push((await ask(page, "strata.findings()")).map((/** @type {any} */ { ids, ...said }) => said));
        }
    });
    return found;
}

test("WebAssembly and the program give the same findings", { skip }, async (t) => {
    const module = await loadModule();
    let devices = 0;
    let compared = 0;
    for (const input of [...recordings(samples, Infinity), ...recordings(process.env.STRATA_CORPUS, SMALL)]) {
        await t.test(path.basename(input), async () => {
            const wanted = report(input, "--top", "1").devices;
            const findings = wanted.map((/** @type {any} */ device) => device.findings);
            const numbers = wanted.map((/** @type {any} */ { device }) => device);
            assert.deepEqual(await concluded(input, module), findings);
            if (IN_CHROMIUM.includes(path.basename(input))) assert.deepEqual(await shown(input, numbers), findings, "in the page");
            devices += wanted.length;
            compared += findings.flat().length;
        });
    }
    console.log(`${compared} findings on ${devices} devices compared`);
    assert.ok(compared > 10);
});
