// Tree and list: compared with mark A, searched and filtered; sorted lists, curves, siblings, stacks told apart.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ALL, ask, each, hashOf, listedSites, replay, report, samples, settle, setView, shownTexts, skip, until, withPage, writePage } from "./browser.mjs";

describe("tree and list", { skip }, () => {
    test("the tree against mark A: differences, depth, search, only what goes through a frame", async () => {
        const input = path.join(samples, "oom.pickle");
        await withPage(writePage(input), async (page) => {
            const { live } = replay("--curves", input, 0);
            const change = (live[2001] - live[1001]) / 2 ** 20;
            await until(() => page.locator("#tree-rows > .row").first().isVisible(), "rows");
            assert.match(await page.locator("#panel-tree .panel-total").innerText(), new RegExp(`−${(-change).toFixed(1)} MiB since A`));
            const boxes = () => each(page, "#panel-tree .icicle-box", (box) => getComputedStyle(box).backgroundColor);
            const bySite = String(await boxes());
            await page.getByRole("button", { name: "Since A" }).click();
            await until(async () => String(await boxes()) !== bySite && /change=1/.test(await hashOf(page)), "other colours");
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
            await page.keyboard.press("3");
            await page.locator("#list-scroll").getByRole("button", { name: "Call site" }).click();
            await until(async () => /sort=name/.test(await hashOf(page)), "the address");
            const names = await listedSites(page);
            assert.deepEqual(names, [...names].sort());
            await page.locator("#list-scroll").getByRole("button", { name: "Count" }).click();
            await page.locator("#list-scroll").getByRole("button", { name: "Count" }).click();
            await until(async () => /sort=-count/.test(await hashOf(page)), "the other way round");
            await page.evaluate(() => void (document.querySelector("#list-scroll") ?? document.body).scrollTo(0, 0));
            await settle(page);
            const counts = (await shownTexts(page, "#list > .row:not([hidden]) .count")).map((text) => Number(text.replace(/,/g, "")));
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

    test("the pinned allocation has siblings, and its frames highlight all allocations through them", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const all = /** @type {any[]} */ (await ask(page, ALL));
            const text = (/** @type {any} */ { stack }) => JSON.stringify(stack.find((/** @type {any} */ { file }) => file.startsWith("/home/user/train")));
            const pinned = all.find(({ stack }) => stack.some((/** @type {any} */ { name, line }) => name === "forward" && line === 53));
            const like = all.filter((each) => text(each) === text(pinned)).sort((a, b) => a.birth - b.birth);
            assert.ok(like.length > 3);
            await setView(page, { selected: like[1].allocation });
            assert.match(await page.locator("#detail .siblings").innerText(), new RegExp(`2 of ${like.length}`));
            await page.getByRole("button", { name: "Next allocation of this call site" }).click();
            await until(async () => /** @type {any} */ (await ask(page, "strata.view()")).selected === like[2].allocation, "the next one");
            await page.locator("#detail .frame-place", { hasText: "block.py" }).first().click();
            await until(async () => /focus=frame_\d+/.test(await hashOf(page)), "everything through the frame");
        });
    });

    test("call sites by file, function and line, with sums of the allocations themselves", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const { peak_event: peak } = report(path.join(samples, "train.pickle")).devices[0];
            const tree = /** @type {any} */ (await ask(page, 'strata.tree({ direction: "places" })'));
            const sites = /** @type {any[]} */ (await ask(page, 'strata.groups({ by: "site" })'));
            const files = /** @type {any[]} */ (await ask(page, 'strata.groups({ by: "file" })'));
            const lines = tree.children.flatMap((/** @type {any} */ file) => file.children.flatMap((/** @type {any} */ one) => one.children));
            assert.deepEqual(new Map(lines.map((/** @type {any} */ { name, bytes }) => [name, bytes])), new Map(sites.map(({ name, bytes }) => [name, bytes])));
            assert.deepEqual(new Map(tree.children.map((/** @type {any} */ { name, bytes }) => [name, bytes])), new Map(files.map(({ name, bytes }) => [name, bytes])));
            const alive = /** @type {any[]} */ (await ask(page, ALL)).filter(({ birth, death }) => birth <= peak && death > peak);
            assert.equal(tree.bytes, alive.reduce((sum, { bytes }) => sum + bytes, 0));
            for (const file of tree.children) for (const one of file.children) assert.equal(one.bytes, one.children.reduce((/** @type {number} */ sum, /** @type {any} */ { bytes }) => sum + bytes, 0));
            await page.getByRole("button", { name: "By file" }).click();
            await until(async () => /tree=places/.test(await hashOf(page)), "the address");
            const first = page.locator("#tree-rows > .row:not([hidden])").first();
            assert.equal((await first.locator(".row-text").innerText()).trim(), tree.children[0].name);
            await first.click();
            await page.getByRole("button", { name: "Only these" }).click();
            await until(async () => (await hashOf(page)).includes(`filter=file:"${tree.children[0].name}"`), "the filter");
        }, { hash: "#tab=tree" });
    });

    test("starting at a frame: its callers above, its callees below, and back", async () => {
        await withPage(writePage(path.join(samples, "train.pickle")), async (page) => {
            const { peak_event: peak } = report(path.join(samples, "train.pickle")).devices[0];
            const has = (/** @type {any} */ { stack }) => stack.some((/** @type {any} */ { file, line }) => /block\.py$/.test(file) && line === 31);
            const through = /** @type {any[]} */ (await ask(page, ALL)).filter((each) => each.birth <= peak && each.death > peak && has(each));
            const bytes = through.reduce((sum, each) => sum + each.bytes, 0);
            assert.ok(bytes > 0);
            for (const direction of ["callees", "callers"]) {
                const tree = /** @type {any} */ (await ask(page, `strata.tree({ direction: "${direction}", through: "block.py:31 forward" })`));
                assert.deepEqual([tree.bytes, tree.count, tree.children.length, tree.children[0].name], [bytes, through.length, 1, "block.py:31 forward"]);
            }
            await page.getByLabel("Search in the tree").fill("block.py:31");
            await page.locator("#tree-rows > .row:not([hidden])", { hasText: "block.py:31" }).first().click();
            await page.getByLabel("Search in the tree").fill("");
            await page.getByRole("button", { name: "From here" }).click();
            await until(async () => /from=\d+/.test(await hashOf(page)), "the address");
            const boxes = await each(page, ".icicle-box", (box) => ({ name: box.title, top: parseFloat(box.style.top), width: parseFloat(box.style.width) }));
            const own = boxes.filter(({ name }) => name.startsWith("block.py:31"));
            assert.equal(own.length, 1, "the frame stands once");
            assert.equal(own[0].width, 100);
            const above = boxes.filter(({ top }) => top < own[0].top);
            assert.ok(above.some(({ name }) => /^main\.py/.test(name)), "who called it, above");
            assert.ok(boxes.some(({ name, top }) => top > own[0].top && /attention\.py/.test(name)), "what it called, below");
            await page.locator("#panel-tree .scroll").focus();
            await page.keyboard.press("Backspace");
            await until(async () => !/from=/.test(await hashOf(page)), "everything again");
        }, { hash: "#tab=tree" });
    });
});
