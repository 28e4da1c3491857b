// The Tab key goes through the whole page, in Chromium and in Firefox ESR, with every tab open, and for some in the
// other theme too. Each stop has a name and a visible focus, stops are in reading order, and after the last one the
// focus leaves the page.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { samples, settle, skip, withPage, writePage } from "./browser.mjs";
import { firefox, firefoxSkip } from "./firefox.mjs";

const TABS = ["why", "who", "tree", "compare", "allocator", "each"]; // tree and each are forms of Who
/** Every tab in one theme; the other theme differs only in colours. @type {[theme: "light" | "dark", tabs:
 * string[]][]} */
const WALKS = [
    ["light", TABS],
    ["dark", ["who", "each"]],
];

/** The focused element: its name, its part of the page, and whether it (or its row) shows the focus; null: there is
 * none. */
const STOP = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
    const element = document.activeElement;
    if (!element || element === document.body || element === document.documentElement) return null;
    const labels = (element.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "");
    const name = [element.getAttribute("aria-label"), ...labels, ...[...(element.labels ?? [])].map((label) => label.textContent), element.textContent, element.title].find((text) => text?.trim()) ?? "";
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(document.getElementById(element.getAttribute("aria-activedescendant") ?? "") ?? element);
    const light = (color) => {
        const [r, g, b] = (color.match(/[\\d.]+/g) ?? []).slice(0, 3).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const [a, b] = [light(outlineColor), light(getComputedStyle(document.body).backgroundColor)];
    const box = element.getBoundingClientRect();
    const all = [...document.querySelectorAll("*")];
    return {
        id: element.id || element.tagName + all.indexOf(element), name: name.trim().slice(0, 60), at: all.indexOf(element),
        part: element.closest("header, .toolbar, .stage, aside")?.className || element.closest("header, section, aside")?.className || "",
        shows: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && Math.max(a, b) / Math.min(a, b) >= 3,
        outline: outlineStyle + " " + outlineWidth + " " + outlineColor, y: box.y, x: box.x,
    };
})`;

/** @typedef {{id: string, name: string, at: number, part: string, shows: boolean, outline: string, x: number, y: number}} Stop */

/** Presses Tab until the focus leaves the page or returns to the first stop. @param {() => Promise<unknown>} press
 * @param {(expression: string) => Promise<any>} evaluate */
async function walk(press, evaluate) {
    /** @type {Stop[]} */ const stops = [];
    for (let i = 0; i < 150; i++) {
        await press();
        const stop = await evaluate(STOP);
        if (!stop || stops.some(({ id }) => id === stop.id)) return stops;
        stops.push(stop);
    }
    throw new Error("Tab never comes round");
}

function check(/** @type {Stop[]} */ stops, /** @type {string} */ where) {
    assert.ok(stops.length > 18, `${where}: ${stops.length} stops`);
    assert.deepEqual(stops.filter(({ name }) => !name).map(({ id }) => id), [], `${where}: without a name`);
    assert.deepEqual(stops.filter(({ shows }) => !shows).map(({ id, outline }) => `${id} ${outline}`), [], `${where}: the focus does not show`);
    assert.deepEqual(stops.map(({ at }) => at), stops.map(({ at }) => at).sort((a, b) => a - b), `${where}: not in the order of the document`);
    // Header, toolbar, timeline, side: each part once, in reading order.
    const parts = stops.map(({ part }) => part).filter((part, i, all) => part !== all[i - 1]);
    assert.deepEqual(parts, ["header", "toolbar", "stage", "side"], where);
    // In a line of the header or the toolbar, from left to right.
    for (const part of ["header", "toolbar"])
        for (const line of new Set(stops.filter((stop) => stop.part === part).map(({ y }) => Math.round(y / 24)))) {
            const xs = stops.filter((stop) => stop.part === part && Math.round(stop.y / 24) === line).map(({ x }) => x);
            assert.deepEqual(xs, [...xs].sort((a, b) => a - b), `${where}: ${part}`);
        }
}

const file = () => writePage(path.join(samples, "leak_two_per_layer.pickle"));

describe("Tab in Chromium", { skip }, () => {
    for (const [theme, tabs] of WALKS)
        test(`${tabs.join(", ")}, ${theme}`, async () => {
            for (const tab of tabs)
                await withPage(file(), async (page) => {
                    await settle(page);
                    check(await walk(() => page.keyboard.press("Tab"), (text) => page.evaluate(text)), `${tab}, ${theme}`);
                }, { colorScheme: theme, reducedMotion: "reduce", hash: `#tab=${tab}` });
        });

    test("reduced motion: nothing moves by itself", async () => {
        await withPage(file(), async (page) => {
            for (const tab of TABS) {
                await page.evaluate((to) => void (location.hash = `#tab=${to}`), tab);
                await settle(page);
                const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((element) => {
                    const { transitionDuration, animationName } = getComputedStyle(element);
                    return transitionDuration.split(",").some((duration) => parseFloat(duration) > 0) || animationName !== "none";
                }).map((element) => element.id || element.className));
                assert.deepEqual(moving, [], tab);
            }
        }, { reducedMotion: "reduce" });
    });
});

describe("Tab in Firefox", { skip: firefoxSkip || skip }, () => {
    /** @type {import("puppeteer-core").Browser} */ let browser;
    before(async () => {
        const { default: puppeteer } = await import("puppeteer-core");
        browser = await puppeteer.launch({ browser: "firefox", executablePath: firefox, headless: true });
    });
    after(() => browser?.close());
    for (const [theme, tabs] of WALKS)
        test(`${tabs.join(", ")}, ${theme}`, async () => {
            for (const tab of tabs) {
                const page = await browser.newPage();
                await page.setViewport({ width: 1400, height: 900 });
                await page.goto(`${pathToFileURL(file()).href}#tab=${tab}&theme=${theme}`);
                await page.evaluate("strata.ready.then(() => 0)");
                check(await walk(() => page.keyboard.press("Tab"), (text) => page.evaluate(text)), `${tab}, ${theme}`);
                await page.close();
            }
        });
});
