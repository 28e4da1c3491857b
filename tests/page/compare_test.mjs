// Comparing: marks with notes, steps drawn over each other, memory that a later step frees; and every command by its
// name.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, each, hashOf, plotBox, reload, replay, report, samples, setView, settle, skip, until, withPage, writePage } from "./browser.mjs";

/** Pixels of the overlay that have the colour of mark B. @param {import("playwright-core").Page} page */
function outlined(page) {
    return page.evaluate(() => {
        const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("overlay"));
        const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
        const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
        const [r, g, b] = (getComputedStyle(document.documentElement).getPropertyValue("--mark-b").match(/[0-9a-f]{2}/g) ?? []).map((hex) => parseInt(hex, 16));
        const columns = new Set();
        for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) columns.add((i / 4) % canvas.width);
        return columns.size / canvas.width;
    });
}

describe("comparing", { skip }, () => {
    test("two marks, named, kept in the address, removed; of an older address' third one nothing stays", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const box = await plotBox(page);
            for (const at of [0.2, 0.5]) {
                await page.mouse.move(box.x + box.width * at, box.y + 100);
                await page.keyboard.press("m");
            }
            const chips = (/** @type {number} */ count) => until(async () => (await page.locator(".mark-chip").count()) === count, `${count} marks`);
            await chips(2);
            await page.getByLabel("Note of mark A").fill("before the loss");
            await page.keyboard.press("Enter");
            const hash = await until(async () => /marks=(\d+)~before the loss,(\d+)/.exec(await hashOf(page)), "marks in the address");
            assert.ok(Number(hash[1]) < Number(hash[2]));
            await reload(page);
            assert.equal(await page.getByLabel("Note of mark A").inputValue(), "before the loss");
            assert.match(await page.locator("#panel-compare .why-foot").innerText(), /A is event [\d,]+ “before the loss”/);
            await page.getByRole("button", { name: "Remove mark B" }).click();
            await chips(1);
            await page.evaluate(() => (location.hash = "#tab=compare&marks=20,40,60"));
            await chips(2);
        });
    });

    test("the strip has each step's curve, peak and what it carries over", async () => {
        const input = path.join(samples, "leak_two_per_layer.pickle");
        const [{ steps }] = report(input).devices;
        const { live } = replay("--curves", input, 0);
        await withPage(writePage(input), async (page) => {
            await page.keyboard.press("4");
            const cards = await until(async () => {
                const found = await each(page, ".step-button", (button) => ({
                    text: button.getAttribute("aria-label") ?? "",
                    heights: (getComputedStyle(/** @type {Element} */ (button.querySelector(".strip-curve"))).clipPath.match(/[\d.]+%(?=,|\))/g) ?? []).map(parseFloat),
                }));
                return found.length === steps.length && found;
            }, "a card for each step");
            const size = (/** @type {number} */ bytes) => (bytes / 2 ** 30).toFixed(1).replace(/\.0$/, "");
            const most = Math.max(...steps.map((/** @type {any} */ step) => step.peak_bytes));
            for (const [i, step] of steps.entries()) {
                assert.match(cards[i].text, new RegExp(`Step #${i}: peak ${size(step.peak_bytes)}(\\.0)? GiB, carried over ${size(step.end_bytes)}(\\.0)? GiB`));
                // The highest and lowest point of the curve, in percent from the top, compared with the replay.
                const totals = live.slice(step.from_event + 1, step.to_event + 1);
                assert.ok(Math.abs(Math.min(...cards[i].heights) - 100 * (1 - Math.max(...totals) / most)) <= 1, `step ${i}: ${cards[i].heights}`);
            }
        });
    });

    test("a step's name stands apart from its peak", async () => {
        await withPage(writePage(path.join(samples, "leak_graph.pickle")), async (page) => {
            await until(async () => (await page.locator(".step-button").count()) === 6, "six steps");
            const gaps = await each(page, ".strip-head", (head) => {
                const peak = document.createRange();
                peak.selectNodeContents(/** @type {Node} */ (head.lastChild));
                const [name, figure, button] = [head.firstElementChild, peak, head.parentElement].map((part) => part?.getBoundingClientRect());
                return name && figure && button ? [figure.left - name.right, button.right - figure.right] : [];
            });
            for (const [apart, inside] of gaps) assert.ok(apart >= 5 && inside >= 3, String(gaps));
        }, { hash: "#tab=compare", viewport: { width: 1440, height: 900 } });
    });

    test("a step cut off by the recording's end says so, and is compared only on request", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            await page.keyboard.press("4");
            await until(async () => (await page.locator(".step-button").count()) === 6, "six steps");
            const cut = await each(page, ".step-button", (button) => [/, cut off: /.test(button.getAttribute("aria-label") ?? ""), /cut off$/.test(button.textContent ?? ""), button.getAttribute("aria-pressed") === "true"]);
            assert.deepEqual(cut, [[false, false, false], [false, false, false], [false, false, false], [false, false, true], [false, false, true], [true, true, false]]);
        });
    });

    test("a step as an outline over another, with the parts of both", async () => {
        const [{ steps }] = report(path.join(samples, "leak_two_per_layer.pickle")).devices;
        await withPage(writePage(path.join(samples, "leak_two_per_layer.pickle")), async (page) => {
            await page.keyboard.press("4");
            await setView(page, { from: 0, to: 50 });
            await page.locator(".step-button").nth(1).click({ modifiers: ["Shift"] });
            await page.locator(".step-button").nth(4).click();
            await settle(page);
            const both = /** @type {any} */ (await ask(page, "strata.view()"));
            assert.ok(both.from <= steps[1].from_event && both.to >= steps[4].to_event, "the window holds both");
            await page.keyboard.press("l");
            await settle(page);
            const view = /** @type {any} */ (await ask(page, "strata.view()"));
            assert.ok(view.from < steps[1].from_event && view.to > steps[1].to_event && view.to < steps[3].to_event, JSON.stringify(view));
            assert.ok((await outlined(page)) > 0.6, "B reaches over all of A");
            // Step 4 against step 1: three steps of 24.8 MiB were kept in between.
            const sum = Number((await page.locator("#panel-compare .why-foot").getAttribute("title"))?.match(/(-?[\d,]+) bytes/)?.[1].replace(/,/g, ""));
            assert.equal(sum, steps[4].peak_bytes - steps[1].peak_bytes);
            // The other way round, with a true minus sign in the sentence and in the title of the figure.
            const less = `\u2212${sum.toLocaleString("en-US")} bytes`;
            await page.keyboard.press("x");
            await until(async () => (await page.locator("#panel-compare .why-foot").getAttribute("title")) === less, "the sum of the other way");
            assert.equal(await page.locator("#panel-compare .sum-row .less").getAttribute("title"), less);
            await page.keyboard.press("x");
            await page.keyboard.press("1");
            await settle(page);
            assert.equal(await outlined(page), 0, "no outline without the comparison");
        });
    });

    test("every command by its name", async () => {
        await withPage(writePage(path.join(samples, "oom.pickle")), async (page) => {
            await page.keyboard.press("Control+k");
            await page.keyboard.type("tree of");
            await page.keyboard.press("Enter");
            await until(async () => /tab=tree/.test(await hashOf(page)), "the tree");
            // The view Who opens in its current form.
            const opened = [
                ["plan: what", "plan"],
                ["each allocation", "each"],
                ["list of who", "who"],
                ["allocator: why", "allocator"],
                ["tree of", "tree"],
                ["who holds", "tree"],
                ["compare a with", "compare"],
                ["who holds", "who"],
            ];
            for (const [words, id] of opened) {
                await page.keyboard.press("Control+k");
                await page.keyboard.type(words);
                await page.keyboard.press("Enter");
                await until(() => page.locator(`#panel-${id}`).isVisible(), `${words} opens ${id}`);
                assert.equal(await page.locator("#side [role=tabpanel]:visible").count(), 1, words);
            }
            await page.keyboard.press("Control+k");
            await page.keyboard.type("colour pool");
            await page.keyboard.press("Enter");
            await until(async () => /color=pool/.test(await hashOf(page)), "the colour");
            await page.keyboard.press("Control+k");
            await page.keyboard.type("nothing of the kind");
            assert.equal(await page.locator("#palette-list > li > kbd").innerText(), "/");
            assert.match(await page.locator("#palette-list").innerText(), /^Search for “nothing of the kind”/);
            await page.keyboard.press("Escape");
            await page.locator("#palette").waitFor({ state: "hidden" });
            await page.keyboard.press("Control+k");
            await page.keyboard.type("token_loss");
            await page.keyboard.press("ArrowUp"); // from the first to the last
            await page.keyboard.press("Enter");
            await until(async () => /search=token_loss/.test(await hashOf(page)), "the search");
            assert.equal(await page.locator("#search").inputValue(), "token_loss");
            await page.keyboard.press("Control+k");
            await page.keyboard.type("emptied the cache");
            await page.keyboard.press("Enter");
            const { view } = (await ask(page, "strata.findings()")).find((/** @type {any} */ { kind }) => kind === "retry_flush");
            const at = /at=(\d+)/.exec(view)?.[1];
            await until(async () => (await hashOf(page)).includes(`at=${at}`), "the finding");
        });
    });

    test("the device menu names each device's peak", async () => {
        const input = path.join(samples, "two_devices.pickle");
        const peaks = report(input).devices.map((/** @type {any} */ { peak_bytes }) => (peak_bytes / 2 ** 30).toFixed(1));
        await withPage(writePage(input), async (page) => {
            const labels = await until(async () => {
                const found = await each(page, "#device option:not([value=all])", (option) => /** @type {HTMLOptionElement} */ (option).label);
                return found.every((label) => /peak/.test(label)) && found;
            }, "peaks in the menu");
            peaks.forEach((peak, i) => assert.match(labels[i], new RegExp(`peak ${peak.replace(/\.0$/, "(\\.0)?")} GiB`)));
        });
    });
});
