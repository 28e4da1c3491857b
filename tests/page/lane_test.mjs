// Boxes of phases show their whole name, a usual short form, or nothing; never the beginning of a word.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { reload, resize, run, samples, skip, strata, withPage, writePage } from "./browser.mjs";

/** Notes every text that is written on a canvas. */
function noteTexts() {
    /** @type {Set<string>} */
    const written = new Set();
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most) {
        written.add(text);
        return fillText.call(this, text, x, y, most);
    };
    Object.assign(window, {
        takeTexts: () => {
            const all = [...written];
            written.clear();
            return all;
        },
    });
}

/** The texts on the canvases at each width. @param {string} page */
async function textsAt(page, widths = [480, 700, 1000, 1440, 3000]) {
    /** @type {Map<number, string[]>} */
    const said = new Map();
    await withPage(page, async (tab) => {
        await tab.addInitScript(noteTexts);
        await reload(tab);
        for (const width of widths) {
            await tab.evaluate("takeTexts()");
            await resize(tab, width, 900);
            said.set(width, /** @type {string[]} */ (await tab.evaluate("takeTexts()")));
        }
    });
    return said;
}

/** @param {Map<number, string[]>} said */
function checkNames(said) {
    for (const [width, texts] of said) {
        assert.ok(texts.length > 3, `${width} pixels: ${texts}`);
        assert.deepEqual(texts.filter((text) => /^.{0,11}\u2026$/.test(text)), [], `${width} pixels`);
    }
    const all = (/** @type {string} */ name) => [...said].filter(([, texts]) => texts.includes(name)).map(([width]) => width);
    assert.ok(all("bwd").length > 0 && all("opt").length > 0, "short forms where there is little room");
    assert.ok(all("backward").includes(3000), "the whole where there is enough");
    assert.ok(Math.min(...all("opt")) < Math.max(...all("backward")));
}

describe("names of phases", { skip }, () => {
    test("of a recording's annotations", async () => checkNames(await textsAt(writePage(path.join(samples, "train.pickle")))));

    test("of layers: each in forward and, the other way round, in backward; none where none runs", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (tab) => {
            await tab.addInitScript(noteTexts);
            await reload(tab);
            await tab.evaluate("strata.setView({from: 2150, to: 2560})");
            await resize(tab, 1440, 900);
            const texts = /** @type {string[]} */ (await tab.evaluate("takeTexts()"));
            for (const layer of [0, 1, 2, 3]) assert.ok(texts.some((text) => text.startsWith(`layer ${layer}`) || text === `${layer}`), `${layer} of ${texts}`);
            assert.ok(texts.some((text) => /^layer \d( backward)?$/.test(text)), `${texts}`);
            assert.ok(!texts.includes("layers: zoom in"), `${texts}`);
            await tab.evaluate("strata.setView({from: 2600, to: 2680})"); // an optimizer's step
            await tab.evaluate("takeTexts()");
            await resize(tab, 1400, 900);
            assert.deepEqual(/** @type {string[]} */ (await tab.evaluate("takeTexts()")).filter((text) => text.startsWith("layer")), []);
        });
        await withPage(writePage(path.join(samples, "one_event.pickle")), async (tab) => {
            await tab.addInitScript(noteTexts);
            await reload(tab);
            assert.deepEqual(/** @type {string[]} */ (await tab.evaluate("takeTexts()")).filter((text) => text.startsWith("layer")), []);
        });
    });

    test("of a difference", async () => {
        const [healthy, leak] = ["leak_zero_grad_healthy", "leak_zero_grad"].map((name) => path.join(samples, `${name}.pickle`));
        const target = `${writePage(healthy)}-phases.html`;
        run(strata, "diff", "-f", "-q", "-o", target, healthy, leak);
        checkNames(await textsAt(target));
    });
});
