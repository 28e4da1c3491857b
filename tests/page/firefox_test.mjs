// The page in Firefox ESR, driven over WebDriver BiDi: features that differ between browsers. Skipped without Firefox
// (STRATA_FIREFOX may name one) or puppeteer-core, unless STRATA_NEEDS_BROWSER is set.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";

import { colorsOf, folder, openContext, resize, samples, writePage } from "./browser.mjs";
import { recording } from "./simulated.mjs";
import { changed, DAMAGE, GO_ON } from "./damage.mjs";
import { firefox, firefoxSkip as skip } from "./firefox.mjs";

/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {import("puppeteer-core").Page} */ let page;
/** @type {string[]} */ const troubles = [];

/** The canvas' pixels. */
const PIXELS = `(() => {
    const canvas = document.getElementById("timeline");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let text = "";
    for (let i = 0; i < data.length; i += 8192) text += String.fromCharCode(...data.subarray(i, i + 8192));
    return { width: canvas.width, height: canvas.height, base64: btoa(text) };
})()`;

/** Waits until all requests are drawn. */
const DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))";

/** A page of either browser. @typedef {{evaluate: (expression: string) => Promise<any>}} Tab */

/** Polls until an expression is true in a page. @param {string} expression @param {Tab} tab */
async function until(expression, tab = page) {
    for (const end = Date.now() + 60000; Date.now() < end; ) {
        if (await tab.evaluate(expression)) return;
        await new Promise((done) => setTimeout(done, 30));
    }
    throw new Error(`did not happen: ${expression}`);
}

/** Evaluates an expression in a page. @param {string} expression @param {Tab} tab */
const answer = (expression, tab = page) => tab.evaluate(expression);

const view = () => answer("strata.view()");

/** The place of the timeline. */
async function plotBox() {
    const box = await (await page.$("#timeline"))?.boundingBox();
    assert.ok(box);
    return box;
}

describe("Firefox", { skip }, () => {
    before(async () => {
        const { default: puppeteer } = await import("puppeteer-core");
        browser = await puppeteer.launch({
            browser: "firefox",
            executablePath: firefox,
            headless: true,
            timeout: 120000, // its start took more than the usual 30 s beside the sanitizers' tests
            extraPrefsFirefox: { "browser.download.folderList": 2, "browser.download.dir": folder, "browser.download.useDownloadDir": true },
        });
        page = await browser.newPage();
        await page.setViewport({ width: 1400, height: 900 });
        page.on("pageerror", (error) => troubles.push(String(error)));
        page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
        await page.goto(pathToFileURL(writePage(recording)).href);
        await page.evaluate("strata.ready.then(() => 1)");
    });

    after(async () => {
        await browser?.close();
        assert.deepEqual(troubles, []);
    });

    test("opens from a file and draws Chromium's pixels", async () => {
        const context = await openContext();
        const other = await context.newPage();
        await other.goto(page.url().replace(/#.*/, ""));
        await other.evaluate("strata.ready");
        // The layout of the page may differ a little; pictures of one size are equal.
        for (const hash of ["", "#device=0&window=200_500"]) {
            const from = hash ? 200 : (await view()).from;
            for (const tab of [page, other]) {
                await answer(`location.hash = ${JSON.stringify(hash)}`, tab);
                await until(`strata.view().from === ${from}`, tab);
            }
            const sizeOf = "(() => { const { width, height } = document.getElementById('timeline'); return [width, height]; })()";
            const [width, height] = await answer(sizeOf);
            for (let i = 0, window = [1400, 900]; i < 8; i++) {
                const own = await other.evaluate(sizeOf);
                if (own[0] === width && own[1] === height) break;
                window = [window[0] + width - own[0], window[1] + height - own[1]];
                await resize(other, window[0], window[1]);
            }
            for (const tab of [page, other]) await answer(DRAWN, tab);
            const [a, b] = [await answer(PIXELS), await answer(PIXELS, other)];
            assert.deepEqual([a.width, a.height], [b.width, b.height]);
            const rgba = new Uint8Array(Buffer.from(a.base64, "base64"));
            assert.ok(colorsOf(rgba) > 20, "a picture");
            assert.ok(a.base64 === b.base64, `the same pixels${hash}`);
        }
        await context.close();
    });

    test("an expression is matched in a worker, and an endless one is stopped", async () => {
        const words = await answer('strata.search("attention.py")');
        assert.ok(words.allocations > 0);
        assert.deepEqual(await page.evaluate('strata.search("/attention\\\\.py/")'), words);
        await page.evaluate("document.getElementById('search').value = '/(x+x+)+y|(.*.*)*z/'; document.getElementById('search').dispatchEvent(new Event('input'))");
        await page.evaluate("strata.ready.then(() => 1)");
        await page.evaluate('strata.search("")');
    });

    test("wheel, drag and keys", async () => {
        await page.evaluate("strata.setView({ from: 100, to: 500 })");
        const box = await plotBox();
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
        await page.mouse.wheel({ deltaY: -400 });
        await until("strata.view().to - strata.view().from < 300");
        const before = await view();
        await page.mouse.down();
        await page.mouse.move(box.x + box.width / 2 - 200, box.y + box.height / 2, { steps: 4 });
        await page.mouse.up();
        await until(`strata.view().from > ${before.from + 10}`);
        await page.focus("#plot");
        await page.keyboard.press("0");
        await until("strata.view().to - strata.view().from > 800");
    });

    test("the address restores the view, Back goes back", async () => {
        await page.evaluate("strata.setView({ from: 200, to: 500, colorBy: 'size' })");
        await until("/window=200_500/.test(location.hash) && /color=size/.test(location.hash)");
        const wanted = await view();
        await page.reload();
        await page.evaluate("strata.ready.then(() => 1)");
        assert.deepEqual(await view(), wanted);
        await new Promise((done) => setTimeout(done, 1200));
        await page.evaluate("strata.setView({ from: 300, to: 400 })");
        await until("/window=300_400/.test(location.hash)");
        await page.evaluate("history.back()");
        await until("strata.view().from === 200");
    });

    test("a damaged page has the same sentence as in Chromium", async () => {
        const file = path.join(folder, "damaged.html");
        const text = readFileSync(writePage(path.join(samples, "oom.pickle")), "latin1");
        const [tab, context] = [await browser.newPage(), await openContext()];
        const other = await context.newPage();
        /** @type {{goto: (url: string) => Promise<unknown>, evaluate: (expression: string) => Promise<unknown>}[]} */
        const both = [tab, other];
        try {
            for (const id of ["style", "markup", "program", "module", "payload"])
                for (const [how, damage] of Object.entries(DAMAGE)) {
                    writeFileSync(file, changed(text, id, damage), "latin1");
                    /** @type {string[]} */ const said = [];
                    for (const one of both) {
                        await one.goto(pathToFileURL(file).href);
                        await one.evaluate("strata.ready.catch(() => 1)");
                        await until("document.getElementById('failure').offsetParent !== null", one);
                        assert.deepEqual(await one.evaluate("['loading', 'app'].map((id) => document.getElementById(id)?.offsetParent ?? null)"), [null, null], `${id} ${how}`);
                        said.push(String(await one.evaluate("document.getElementById('failure').innerText")));
                    }
                    if (how !== "empty") assert.match(said[0], GO_ON, `${id} ${how}`);
                    assert.equal(said[0], said[1], `${id} ${how}`);
                }
        } finally {
            await tab.close();
            await context.close();
        }
    });

    test("what is shown is saved", async () => {
        const count = () => readdirSync(folder).filter((name) => name.endsWith(".png") && !name.startsWith("plot")).length;
        const before = count();
        await page.click("#save-open");
        await page.click("#save");
        for (const end = Date.now() + 60000; Date.now() < end && count() === before; ) await new Promise((done) => setTimeout(done, 50));
        assert.equal(count(), before + 1);
    });
});
