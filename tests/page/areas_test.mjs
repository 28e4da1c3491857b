// Names in the areas of categories, streams and pools: each lies inside its area and covers nothing else.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { each, hashOf, samples, settle, skip, until, withPage, writePage, tool } from "./browser.mjs";

/** Records the texts drawn on the axes from now on, with left edge, middle and width in CSS pixels of the plot. @param
 * {import("playwright-core").Page} page */
function record(page) {
    return page.evaluate(() => {
        const texts = /** @type {any[]} */ ([]);
        const { fillText } = CanvasRenderingContext2D.prototype;
        Object.assign(window, { texts });
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            if (this.canvas.id === "axes" && this.font.startsWith("600")) texts.push({ text, x, y, width: this.measureText(text).width });
            fillText.call(this, text, x, y);
        };
    });
}

/** Colours of the timeline at points of the plot. @param {import("playwright-core").Page} page @param {number[][]} points */
function colorsAt(page, points) {
    return page.evaluate((points) => {
        const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("timeline"));
        const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
        return points.map(([x, y]) => `rgb(${Array.from(context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data.slice(0, 3)).join(", ")})`);
    }, points);
}

/** The colours of the list's rows, by name. @param {import("playwright-core").Page} page */
async function listed(page) {
    return new Map(await each(page, "#list > .row:not([hidden])", (row) => /** @type {[string, string]} */ ([
        row.querySelector(".row-text")?.textContent ?? "", /** @type {HTMLElement} */ (row.querySelector(".swatch")).style.backgroundColor,
    ])));
}

describe("names in areas", { skip }, () => {
    for (const [name, by, wanted] of /** @type {[string, string, string[]][]} */ ([
        ["train", "category", ["parameter", "optimizer state", "activation", "gradient"]], ["private_pools", "pool", ["private pool (0, 1)", "default pool"]],
        ["streams", "stream", ["default stream"]],
    ]))
        for (const colorScheme of /** @type {const} */ (["light", "dark"]))
            test(`${name} by ${by}, ${colorScheme}`, async () => {
                await withPage(writePage(path.join(samples, `${name}.pickle`)), async (page) => {
                    await record(page);
                    await tool(page, `#view-${by}`);
                    await settle(page);
                    const legend = await page.locator("#legend").innerText();
                    await page.locator("#tab-who").click();
                    // The legend has what the picture has, at the peak or not.
                    if (by === "category") assert.deepEqual(wanted.filter((text) => !legend.includes(text)), []);
                    await settle(page);
                    const texts = await until(async () => {
                        const all = /** @type {any[]} */ (await page.evaluate("texts"));
                        return all.length >= wanted.length && all;
                    }, "names are written when the view rests");
                    const colors = await listed(page);
                    for (const text of wanted) assert.ok(texts.some((one) => one.text === text), `${text} of ${texts.map((one) => one.text)}`);
                    for (const { text, x, y, width } of texts) {
                        const corners = [[x, y - 5], [x + width, y - 5], [x, y + 5], [x + width, y + 5]];
                        for (const color of await colorsAt(page, corners)) assert.equal(color, colors.get(text), `${text} lies in its own area`);
                    }
                }, { colorScheme, hash: name === "train" ? "#at=1690" : "" });
            });

    test("a click on an area highlights it, and the side shows it", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await tool(page, "#view-category");
            await page.locator("#tab-who").click();
            await settle(page);
            const box = await page.locator("#timeline").boundingBox();
            assert.ok(box);
            const [x, y] = [Math.round(box.width * 0.7), Math.round(box.height - 12)];
            /** The opacity of the labels' canvas over each of the two areas. */
            const veils = () => page.evaluate(([x, y]) => {
                const axes = /** @type {HTMLCanvasElement} */ (document.getElementById("axes"));
                const plot = /** @type {HTMLElement} */ (document.getElementById("timeline"));
                const context = /** @type {CanvasRenderingContext2D} */ (axes.getContext("2d"));
                return [y, y - 60].map((row) => context.getImageData(plot.offsetLeft + x, plot.offsetTop + row, 1, 1).data[3]);
            }, [x, y]);
            assert.deepEqual(await veils(), [0, 0]);
            await page.mouse.click(box.x + x, box.y + y);
            await until(async () => (await page.locator("#detail-title").innerText()) === "Category", "the details");
            const event = Number((await until(async () => /at=(\d+)/.exec(await hashOf(page)), "the moment"))[1]);
            const groups = /** @type {any[]} */ (await page.evaluate(`strata.groups({ at: ${event}, by: "category" })`));
            const { count } = groups.find(({ name }) => name === "parameter");
            await page.mouse.move(box.x - 30, box.y + 20);
            await until(async () => new RegExp(`^parameter\\s+${count} allocations of this category`).test(await page.locator("#detail").innerText()), "figures of the category");
            assert.match(await page.locator("#detail").innerText(), /main\.py:47/, "its stack");
            const [own, other] = await veils();
            assert.ok(own === 0 && other > 100, `the other areas fade: ${own}, ${other}`);
            await page.mouse.click(box.x + x, box.y + y);
            await settle(page);
            assert.deepEqual(await veils(), [0, 0], "a second click takes it back");
        });
    });

    test("the dots on the cursor are the areas' edges", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await tool(page, "#view-category");
            const box = await page.locator("#timeline").boundingBox();
            assert.ok(box);
            await page.evaluate(() => {
                const dots = /** @type {number[][]} */ ([]);
                const { arc } = CanvasRenderingContext2D.prototype;
                Object.assign(window, { dots });
                CanvasRenderingContext2D.prototype.arc = function (x, y, radius, from, to, backwards) {
                    dots.push([x, y]);
                    arc.call(this, x, y, radius, from, to, backwards);
                };
            });
            await page.mouse.move(box.x + box.width * 0.61, box.y + 30);
            await settle(page);
            const dots = /** @type {number[][]} */ (await page.evaluate("dots.slice(-6)"));
            assert.equal(dots.length, 6);
            // At each dot the colour changes; the highest dot marks the total.
            const [x] = dots[0];
            for (const [, y] of dots.slice(0, 3)) {
                const [above, below] = await colorsAt(page, [[x + 1, y - 4], [x + 1, y + 4]]);
                assert.notEqual(above, below);
            }
        });
    });
});
