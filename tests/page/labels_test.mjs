// Labels: at every width and in both themes no text of the plot overlaps another or is cut off; each word has one
// spelling.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";

import { corpus, here, reload, resize, rest, run, runsAll, samples, settle, skip, strata, until, withPage, writePage } from "./browser.mjs";

const FILES = {
    "out of memory": path.join(samples, "oom.pickle"),
    "one event": path.join(samples, "one_event.pickle"),
    "private pools": path.join(samples, "private_pools.pickle"),
    "hostile names": path.join(samples, "hostile_names.pickle"),
    "ten streams": corpus("ten_streams_no_time_us.pickle") || path.join(samples, "streams.pickle"),
    "compile context": corpus("streams_compile_context.pickle") || path.join(samples, "user_metadata_annotate.pickle"),
};

const SIZES = [[600, 800], [900, 700], [1440, 900], [1920, 1080], [3840, 2160]];

/** Notes the texts on every canvas with their places on the page; clearing a canvas removes its notes. */
function noteTexts() {
    /** @typedef {{text: string, left: number, right: number, top: number, bottom: number}} Written */
    /** @type {Map<HTMLCanvasElement, Written[]>} */
    const texts = new Map();
    const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
        texts.delete(this.canvas);
        return clearRect.call(this, x, y, width, height);
    };
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
        const { width, actualBoundingBoxLeft, actualBoundingBoxRight, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = this.measureText(text);
        // A text with a maximum width is squeezed.
        const squeeze = Math.min(1, (rest[0] ?? Infinity) / width);
        const [before, after] = [actualBoundingBoxLeft * squeeze, actualBoundingBoxRight * squeeze];
        const { a, d, e, f } = this.getTransform();
        const list = texts.get(this.canvas) ?? [];
        if (text.trim()) list.push({ text, left: a * (x - before) + e, right: a * (x + after) + e, top: d * (y - up) + f, bottom: d * (y + down) + f });
        texts.set(this.canvas, list);
        return fillText.call(this, text, x, y, ...rest);
    };
    Object.assign(window, {
        writtenTexts: () => {
            const found = [];
            for (const [canvas, list] of texts) {
                if (!canvas.isConnected || !canvas.checkVisibility()) continue;
                const box = canvas.getBoundingClientRect();
                const scale = box.width / canvas.width;
                for (const { text, left, right, top, bottom } of list)
                    found.push({ text, edge: { left: box.left, right: box.right, top: box.top, bottom: box.bottom }, left: box.left + left * scale, right: box.left + right * scale, top: box.top + top * scale, bottom: box.top + bottom * scale });
            }
            for (const button of document.querySelectorAll(".marker")) {
                const { left, right, top, bottom } = button.getBoundingClientRect();
                found.push({ text: button.textContent, edge: { left: 0, right: innerWidth, top: 0, bottom: innerHeight }, left, right, top, bottom });
            }
            return found;
        },
    });
}

/** The faults of the labels that the page shows now. @param {import("playwright-core").Page} page */
async function troubles(page) {
    const all = /** @type {any[]} */ (await page.evaluate("writtenTexts()"));
    const found = [];
    for (const [i, one] of all.entries()) {
        const { edge } = one;
        if (one.left < edge.left - 1 || one.right > edge.right + 1 || one.top < edge.top - 1 || one.bottom > edge.bottom + 1) found.push(`"${one.text}" is cut off`);
        for (const other of all.slice(i + 1))
            if (one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1) found.push(`"${one.text}" lies over "${other.text}"`);
    }
    return { count: all.length, found };
}

describe("labels", { skip }, () => {
    for (const [name, input] of Object.entries(FILES))
        test(`${name}: nothing over another, nothing cut off, from 600 to 3,840 pixels`, async () => {
            await withPage(writePage(input), async (page) => {
                await page.addInitScript(noteTexts);
                for (const [i, hash] of ["#tab=who", "#tab=who&view=category&color=category&marks=20~a+note+of+some+length,40"].entries())
                    for (const colorScheme of /** @type {("light" | "dark")[]} */ (runsAll ? ["light", "dark"] : [["light"], ["dark"]][i])) {
                        await page.emulateMedia({ colorScheme });
                        await page.evaluate((address) => void (location.hash = address), hash);
                        await reload(page);
                        // Each size once, the narrowest twice, unless large sets run whole.
                        for (const [width, height] of SIZES.filter((_, at) => runsAll || at === 0 || at % 2 === i)) {
                            await resize(page, width, height);
                            // Names are drawn once the view rests.
                            await rest(page);
                            const { count, found } = await troubles(page);
                            assert.ok(count > 2, `${count} labels`);
                            assert.deepEqual(found, [], `${width} pixels, ${colorScheme}, ${hash}`);
                        }
                    }
            });
        });
});

test("bands have names even if the first drawing takes long", { skip }, async () => {
    await withPage(writePage(FILES["out of memory"]), async (page) => {
        const client = await page.context().newCDPSession(page);
        await client.send("Emulation.setCPUThrottlingRate", { rate: 8 });
        await page.evaluate((address) => void (location.hash = address), "#view=segments");
        await reload(page);
        const written = () => page.evaluate(() => {
            const { width, height } = /** @type {HTMLCanvasElement} */ (document.getElementById("timeline"));
            const { data } = /** @type {any} */ (document.getElementById("axes")).getContext("2d").getImageData(100, 120, width - 200, height - 140);
            return data.filter((/** @type {number} */ value, /** @type {number} */ i) => i % 4 === 3 && value > 0).length;
        });
        await until(async () => (await written()) > 5000, "names of segments");
    });
});

/** Spellings that no text of the page may have, and the right one. @type {[wrong: RegExp, right: string][]} */
const SPELLINGS = [
    [/\bcall-?sites?\b/i, "call site"],
    [/\boptimiser/i, "optimizer"],
    [/\bcolor(s|ed|ing)?\b/i, "colour"],
    [/\bgray\b/i, "grey"],
    [/\b\d[\d.,]* ?[KMG]B\b/, "KiB, MiB, GiB"],
    [/\bout-of-memories\b|\bOOMs? errors?\b/i, "OOM, out of memory"],
    [/\bde-?allocat/i, "freed"],
    [/\bback ?trace|\bstack ?trace/i, "stack"],
    [/\bcuda graphs? pools?\b/i, "private pool"],
    [/\bcatagor|\boccured|\brecieve|\bseperate/i, "as in a dictionary"],
];

/** @param {string} text @param {string} where */
function checkSpelling(text, where) {
    for (const [wrong, right] of SPELLINGS) {
        const found = wrong.exec(text);
        assert.equal(found && text.slice(Math.max(0, found.index - 30), found.index + 40), null, `${where}: "${right}" is how it is spelled`);
    }
}

describe("one spelling for each word", { skip }, () => {
    test("in the page, its tips and its texts for screen readers", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            for (const tab of ["why", "who", "tree", "compare", "allocator", "each"]) {
                await page.evaluate((to) => void (location.hash = `#tab=${to}`), tab);
                await settle(page);
                const text = /** @type {string} */ (await page.evaluate(() => {
                    const said = Array.from(document.querySelectorAll("[title], [aria-label], [placeholder]"), (element) => ["title", "aria-label", "placeholder"].map((name) => element.getAttribute(name) ?? "").join(" . "));
                    const shown = Array.from(document.body.children).filter(({ tagName }) => !["SCRIPT", "STYLE"].includes(tagName)).map(({ textContent }) => textContent);
                    return [...shown, ...said].join(" . ");
                }));
                assert.ok(/call site/i.test(text));
                checkSpelling(text, `the page, ${tab}`);
            }
        });
    });

    test("in the report and in the words of the picture", () => {
        for (const format of [[], ["--markdown"]]) checkSpelling(run(strata, "report", ...format, path.join(samples, "oom.pickle")).toString(), `the report ${format}`);
        const sources = path.join(here, "..", "render", "png");
        for (const name of readdirSync(sources).filter((file) => file.endsWith(".c"))) {
            const literals = readFileSync(path.join(sources, name), "utf8").replace(/\/\*[^]*?\*\//g, "").replace(/^#include.*$/gm, "").match(/"(?:[^"\\\n]|\\.)*"/g) ?? [];
            checkSpelling(literals.join(" . "), name);
        }
    });
});
