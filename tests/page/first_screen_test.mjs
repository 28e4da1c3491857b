// The first screen: the legend adds up to the cursor's total in every tab and width, the plot stays where it is when a tab is
// chosen, advice is code to copy, and tabs that could only say "nothing here" are not there.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { ask, each, plotBox, resize, samples, skip, until, withPage, writePage } from "./browser.mjs";

const sample = (/** @type {string} */ name) => path.join(samples, `${name}.pickle`);

/** Names and bytes of the legend's entries. @param {import("playwright-core").Page} page */
const entries = (page) =>
    each(page, "#legend .legend-entry", (entry) => ({
        rest: entry.classList.contains("legend-rest"),
        name: entry.querySelector(".legend-name")?.textContent ?? "",
        bytes: Number((entry.querySelector(".legend-name")?.getAttribute("title") ?? "").replace(/^.*: |\D/g, "")),
    }));

describe("the first screen", { skip }, () => {
    test("the legend lists who holds the memory, whatever tab and width", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const at = /** @type {any} */ (await ask(page, "strata.view()")).moment ?? "peak";
            const { rows } = /** @type {any} */ (await ask(page, `strata.groups({ at: ${JSON.stringify(at)}, by: "site" })`).catch(() => ({ rows: null })));
            for (const [width, height] of [[1440, 900], [820, 1000], [390, 844], [900, 500]]) {
                await resize(page, width, height);
                const listed = await until(async () => (await entries(page)).length > 1 && entries(page), `a legend at ${width}`);
                const named = listed.filter(({ rest }) => !rest);
                assert.ok(named.length >= 1 && named.every(({ bytes }, i) => bytes > 0 && (i === 0 || bytes <= named[i - 1].bytes)), JSON.stringify(listed));
                if (rows) assert.ok(named[0].name.startsWith(rows[0].name), named[0].name);
                assert.ok(await page.locator("#legend .legend-entry").first().isVisible());
            }
        });
    });

    test("choosing a tab does not move the plot", async () => {
        await withPage(writePage(sample("oom")), async (page) => {
            const before = await plotBox(page);
            for (const tab of ["plan", "who", "allocator", "why"]) {
                await page.locator(`#tab-${tab}`).click();
                await until(async () => (await page.locator(`#tab-${tab}`).getAttribute("aria-selected")) === "true", tab);
                assert.deepEqual(await plotBox(page), before, tab);
            }
        });
    });

    test("what to do is code with a button that copies it", async () => {
        await withPage(writePage(sample("leak_zero_grad")), async (page) => {
            const block = page.locator("#panel-why .code-block").first();
            assert.match(await block.locator("code").innerText(), /zero_grad\(set_to_none=True\)/);
            await block.getByRole("button").click();
            await until(async () => (await block.getByRole("button").innerText()) === "Copied", "the button says so");
        });
    });

    test("tabs, keys and commands that could only say nothing are not there", async () => {
        await withPage(writePage(path.join(samples, "log_error_hip.log")), async (page) => {
            for (const tab of ["plan", "allocator"]) assert.equal(await page.locator(`#tab-${tab}`).isVisible(), false, tab);
            await page.keyboard.press("?");
            const keys = page.locator("#keys-dialog");
            assert.doesNotMatch(await keys.innerText(), /Map of segments|The next device/);
            assert.equal(await keys.evaluate((dialog) => dialog.scrollTop), 0);
        });
    });
});
