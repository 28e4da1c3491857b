// The panels that answer questions: Why, Tree, Compare.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, canvasPixels, hashOf, plotBox, replay, report, samples, settle, setView, skip, until, withPage, writePage, openForm, tool } from "./browser.mjs";

describe("why, tree and compare", { skip }, () => {
    test("a leak's card has its line, its bars, and a button that shows its allocations", async () => {
        const input = path.join(samples, "leak_two_per_layer.pickle");
        const [{ findings }] = report(input).devices;
        await withPage(writePage(input), async (page) => {
            const found = await ask(page, "strata.findings()");
            assert.deepEqual(found.map((/** @type {any} */ { ids, ...said }) => said), findings);
            await page.locator("#tab-why").click();
            const card = page.locator("#panel-why .card").first();
            assert.match(await card.innerText(), /probe\.py:27 keep_hidden and probe\.py:33 keep_entropy keep 24\.8 MiB more each step/);
            assert.equal(await card.locator(".step-bar").count(), 6);
            await card.getByRole("button", { name: /^Show/ }).click();
            await until(async () => /finding=0/.test(await hashOf(page)), "the highlight");
            // A frame's name, because its number may differ in another page.
            assert.match(findings[0].view, /focus=line_probe\.py:27%20keep_hidden/);
            assert.match(await page.locator("#panel-why .why-foot").innerText(), /6 steps were compared, by the annotations ProfilerStep#N/);
        });
    });

    test("the tree opens, turns, and highlights the allocations through a frame", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const before = await canvasPixels(page);
            await openForm(page, "tree");
            await until(() => page.locator("#tree-rows > .row").first().isVisible(), "rows");
            assert.match(await page.locator("#tree-rows > .row").first().innerText(), /main\.py/);
            await page.locator("#tree-rows > .row", { hasText: "attention.py" }).first().click();
            await settle(page);
            assert.notDeepEqual((await canvasPixels(page)).rgba, before.rgba);
            await page.locator("#plot").focus();
            await page.keyboard.press("c");
            await until(async () => /tree=callers/.test(await hashOf(page)), "callers");
        });
    });

    test("two marks are compared; the rows add up", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const box = await plotBox(page);
            await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
            await page.keyboard.press("m");
            await page.mouse.move(box.x + box.width * 0.7, box.y + 100);
            await page.keyboard.press("m");
            await until(() => page.locator("#compare-rows > .row").first().isVisible(), "rows");
            const hash = await until(async () => /a=e(\d+)&b=e(\d+)/.exec(await hashOf(page)), "marks in the address");
            const { live } = replay("--curves", path.join(samples, "train.pickle"), 0);
            const delta = live[Number(hash[2]) + 1] - live[Number(hash[1]) + 1];
            assert.equal(await page.locator("#panel-compare .why-foot").getAttribute("title"), `${delta.toLocaleString("en-US").replace("-", "\u2212")} bytes`);
            // Back takes the marks away, one after the other.
            await page.waitForTimeout(1200);
            await setView(page, { from: 100, to: 400 });
            await until(async () => (await hashOf(page)).includes("window="), "the window");
            await page.keyboard.press("[");
            await until(async () => (await ask(page, "strata.view()")).from < 0, "the window before");
        });
    });

    test("before the first view, [ does not leave the page", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await page.evaluate("globalThis.steps = 0; history.back = () => void globalThis.steps++;");
            await page.keyboard.press("[");
            assert.equal(await page.evaluate("globalThis.steps"), 0);
            await page.evaluate("history.pushState(1, '')"); // as any view but the first does
            await page.keyboard.press("[");
            assert.equal(await page.evaluate("globalThis.steps"), 1);
        });
    });

    test("areas: the same silhouette, and totals at the cursor", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const before = await canvasPixels(page);
            await tool(page, "#view-category");
            await until(async () => /view=category/.test(await hashOf(page)), "the address");
            const after = await canvasPixels(page);
            const ground = new Uint32Array(before.rgba.buffer, before.rgba.byteOffset)[before.width + 1];
            // In each column the areas are as high as the bands were, but for the lines between them.
            const heights = (/** @type {{width: number, height: number, rgba: Uint8Array}} */ { width, height, rgba }) => {
                const pixels = new Uint32Array(rgba.buffer, rgba.byteOffset);
                return Array.from({ length: width }, (_, x) => {
                    let painted = 0;
                    for (let y = 0; y < height; y++) if (pixels[y * width + x] !== ground) painted++;
                    return painted;
                });
            };
            // The legend of categories takes a little of the height.
            const scale = before.height / after.height;
            const [bands, areas] = [heights(before), heights(after).map((height) => height * scale)];
            const off = bands.filter((height, x) => Math.abs(height - areas[x]) > 8).length;
            assert.ok(Math.max(...areas) > 100 && off < bands.length * 0.05, `${off} of ${bands.length} columns differ`);
            const box = await plotBox(page);
            await page.mouse.move(box.x + box.width / 2, box.y + box.height - 20);
            await until(async () => /activation|parameter/.test(await page.locator("#tip").innerText()), "totals");
        });
    });

    for (const scheme of /** @type {const} */ (["light", "dark"]))
        test(`axe finds nothing in any tab, ${scheme}`, async () => {
            const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
            await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
                await page.evaluate(axe);
                const check = async (/** @type {string} */ where) => {
                    await settle(page);
                    const { violations } = /** @type {any} */ (await page.evaluate("axe.run()"));
                    assert.deepEqual(violations.map((/** @type {any} */ { id, nodes }) => [id, nodes[0].html.slice(0, 160)]), [], where);
                };
                for (const key of ["1", "2", "3", "4", "5"]) {
                    await page.keyboard.press(key);
                    await check(`tab ${key}`);
                }
                await page.evaluate(() => void (location.hash = "#tab=compare&marks=1000,2000&a=e1000&b=e2000&map=size"));
                await until(() => page.locator("#compare-rows > .row").first().isVisible(), "the comparison");
                await check("marks and the map");
                await openForm(page, "tree");
                await page.getByLabel("Search in the tree").fill("main.py");
                await check("the tree against a mark");
                await page.getByLabel("Search in the tree").blur();
                await page.keyboard.press("Control+k");
                await check("the palette");
                await page.keyboard.type("nothing of the kind");
                await check("the palette with a search");
            }, { colorScheme: scheme });
        });

    test("steps are compared with a click", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await page.keyboard.press("4");
            await until(async () => (await page.locator(".step-button").count()) === 4, "a button for each step");
            await page.locator(".step-button").nth(1).click({ modifiers: ["Shift"] });
            await until(async () => /a=s1/.test(await hashOf(page)), "A");
        });
    });
});
