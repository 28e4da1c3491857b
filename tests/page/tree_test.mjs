// Tree and list: who holds it against mark A, searched and filtered; sorted lists, curves, siblings, stacks told apart.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, listedSites, replay, samples, setView, settle, skip, until, withPage, writePage } from "./browser.mjs";

const hashOf = (/** @type {import("playwright-core").Page} */ page) => page.evaluate(() => decodeURIComponent(location.hash.replace(/\+/g, " ")));

describe("tree and list", { skip }, () => {
    test("the tree against mark A: differences, depth, search, only what goes through a frame", async () => {
        const input = path.join(samples, "oom.pickle");
        await withPage(writePage(input), async (page) => {
            const { live } = replay("--curves", input, 0);
            const change = (live[2001] - live[1001]) / 2 ** 20;
            await until(() => page.locator("#tree-rows > .row").first().isVisible(), "rows");
            assert.match(await page.locator("#panel-tree .panel-total").innerText(), new RegExp(`−${(-change).toFixed(1)} MiB since A`));
            const boxes = () => page.locator("#panel-tree .icicle-box").evaluateAll((all) => all.map((box) => getComputedStyle(box).backgroundColor).join());
            const bySite = await boxes();
            await page.getByRole("button", { name: "Since A" }).click();
            await until(async () => (await boxes()) !== bySite && /change=1/.test(await hashOf(page)), "other colours");
            await page.getByLabel("Levels of the icicle").fill("2");
            await until(async () => (await page.locator("#panel-tree .tree-levels").innerText()).startsWith("2 of"), "two levels");
            await page.getByLabel("Search in the tree").fill("main.py:47");
            await until(async () => /main\.py:47/.test(await page.locator("#tree-rows > .row:not([hidden])").last().innerText()), "what was searched for");
            const through = page.locator("#tree-rows > .row:not([hidden])", { hasText: "main.py:47" });
            await through.click();
            await page.getByRole("button", { name: "Only these" }).click();
            await until(async () => /filter="main\.py:47 \w+"/.test(await hashOf(page)), "the filter");
            const all = /** @type {any[]} */ (await ask(page, ALL));
            const wanted = all.filter(({ stack }) => stack.some((/** @type {any} */ { file, line }) => file.endsWith("main.py") && line === 47)).length;
            assert.ok(wanted > 0);
            assert.equal(/** @type {any} */ (await ask(page, "strata.stats()")).kept, wanted);
        }, { hash: "#tab=tree&marks=1000&at=2000" });
    });

    test("a list is sorted by any column", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            await page.keyboard.press("2");
            await page.locator("#list-scroll").getByRole("button", { name: "Call site" }).click();
            await until(async () => /sort=name/.test(await hashOf(page)), "the address");
            const names = await listedSites(page);
            assert.deepEqual(names, [...names].sort());
            await page.locator("#list-scroll").getByRole("button", { name: "Count" }).click();
            await page.locator("#list-scroll").getByRole("button", { name: "Count" }).click();
            await until(async () => /sort=-count/.test(await hashOf(page)), "the other way round");
            await page.evaluate(() => void (document.querySelector("#list-scroll") ?? document.body).scrollTo(0, 0));
            await settle(page);
            const counts = (await page.locator("#list > .row:not([hidden]) .count").allInnerTexts()).map((text) => Number(text.replace(/,/g, "")));
            assert.deepEqual(counts, [...counts].sort((a, b) => a - b));
            assert.equal(await page.locator("#list-scroll [aria-sort=ascending]").innerText(), "Count");
            await until(async () => (await page.locator("#list .spark").first().evaluate((spark) => getComputedStyle(spark).clipPath)).startsWith("polygon"), "a curve");
        });
    });

    test("no two stacks have one label", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const names = await listedSites(page);
            assert.ok(names.length > 10);
            assert.equal(new Set(names).size, names.length);
        }, { hash: "#tab=who&group=stack" });
    });

    test("what is pinned has siblings, and its frames lead to all that goes through them", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const all = /** @type {any[]} */ (await ask(page, ALL));
            const text = (/** @type {any} */ { stack }) => JSON.stringify(stack.find((/** @type {any} */ { file }) => file.startsWith("/home/user/train")));
            const pinned = all.find(({ stack }) => stack.some((/** @type {any} */ { name, line }) => name === "forward" && line === 53));
            const like = all.filter((each) => text(each) === text(pinned)).sort((a, b) => a.birth - b.birth);
            assert.ok(like.length > 3);
            await setView(page, { selected: like[1].allocation });
            assert.match(await page.locator("#detail .siblings").innerText(), new RegExp(`2 of ${like.length}`));
            await page.getByRole("button", { name: "The next one of this call site" }).click();
            await until(async () => /** @type {any} */ (await ask(page, "strata.view()")).selected === like[2].allocation, "the next one");
            await page.locator("#detail .frame-place", { hasText: "block.py" }).first().click();
            await until(async () => /focus=frame_\d+/.test(await hashOf(page)), "everything through the frame");
        });
    });
});
