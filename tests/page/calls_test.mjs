// The page, the difference and the index answer every call of a script, or refuse it with a sentence that says why.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

import { folder, run, samples, skip, strata, withPage, writePage } from "./browser.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

/** Runs in the page: passes nonsense to every call, and returns the errors that are not sentences of ours. */
async function askNonsense() {
    /** @type {any[]} */
    const wanted = [{ filter: 5 }, { filter: null }, { filter: { words: 5 } }, { filter: { constructor: 1 } }, { range: 5 }, { range: {} }, { map: "x" }, { device: 9, selected: 0 }, { selected: 1e9 }, { search: 5 }, { axis: "x" }, { colorBy: "__proto__" }, { sort: "__proto__" }, { theme: 5 }, { show: 5 }, { align: 5 }, { inHand: 5 }];
    /** @type {any[]} */
    const questions = [{ at: "x" }, { at: null }, { at: 1e9 }, { at: -5 }, { a: { at: 1 }, b: 5 }, { a: { at: 1 }, b: { at: 2 }, by: "constructor" }, { from: "x", to: 5 }, { from: 1, to: 2, what: "x" }, { by: "x" }, { direction: "x" }, { through: 5 }, { scale: 3 }, { from: 1n, to: 5n }];
    // What the browser itself can make neither a text nor a number of.
    const none = { toString: 5, valueOf: 5, self: /** @type {unknown} */ (null) };
    none.self = none;
    for (const field of ["at", "from", "to", "what", "by", "direction", "through", "filter", "search", "sort", "scale"])
        for (const value of [Symbol("s"), none, Object.create(null)]) questions.push({ at: 1, from: 1, to: 2, [field]: value }, { from: 1, to: 2, [field]: value });

    const bad = [];
    const api = /** @type {Record<string, any>} */ (/** @type {unknown} */ (window.strata));
    for (const name of Object.keys(api).filter((key) => typeof api[key] === "function"))
        for (const [i, first] of [undefined, null, 5, -1, 1e9, NaN, "x", "constructor", {}, [], 5n, Symbol("s"), none, ...wanted, ...questions].entries())
            for (const second of [undefined, i % 2 ? "x" : 5])
                try {
                    await api[name](first, second);
                } catch (error) {
                    const ours = error instanceof Error && !(error instanceof TypeError) && /^(strata\.|[A-Z"]).*\.$/s.test(error.message);
                    if (!ours) bad.push(`${name}(${Object.keys(Object(first))}): ${error}`);
                }
    return bad;
}

/** Some 200 calls draw a picture: a small window makes them cheaper, and checks their arguments alike. */
const SMALL = { viewport: { width: 640, height: 400 } };

test("no call throws an error of the browser", { skip }, async () => {
    const [two, dumps, out] = ["two.html", "dumps", "out"].map((name) => path.join(folder, `calls_${name}`));
    run(strata, "diff", "-q", "-f", sample("train"), sample("oom"), "-o", two);
    mkdirSync(dumps);
    for (const rank of [0, 1, 2]) copyFileSync(sample(rank ? "train" : "oom"), path.join(dumps, `rank${rank}.pickle`));
    run(strata, "batch", "-q", dumps, "-o", out);
    for (const page of [writePage(sample("oom")), two, path.join(out, "index.html")])
        await withPage(page, async (tab) => assert.deepEqual(await tab.evaluate(askNonsense), [], page), SMALL);
});
