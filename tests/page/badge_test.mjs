// The badge in the header: the most urgent finding, or the out-of-memory event; it is absent if there are only hints.
import assert from "node:assert/strict";
import path from "node:path";
import { describe, test } from "node:test";

import { report, samples, skip, until, withPage, writePage } from "./browser.mjs";

const TITLES = { leak: "Leak", gradients_kept: "Gradients not cleared", held_over: "Kept too long", fragmentation: "Fragmentation" };

describe("the badge of findings", { skip }, () => {
    for (const name of ["oom", "leak_two_per_layer", "leak_zero_grad", "train", "one_event"])
        test(`in ${name}`, async () => {
            const input = path.join(samples, `${name}.pickle`);
            const [{ findings, oom }] = report(input).devices;
            const [first] = findings;
            const expected = oom.length === 0 && first && ["high", "medium"].includes(first.severity);
            await withPage(writePage(input), async (page) => {
                assert.equal(await page.locator("#oom").isVisible(), oom.length > 0);
                const badge = page.locator("#finding");
                assert.equal(await badge.isVisible(), Boolean(expected));
                if (!expected) return;
                const title = TITLES[/** @type {keyof typeof TITLES} */ (first.kind)];
                assert.ok(title && (await badge.innerText()).startsWith(`! ${title}`), `${title}: ${await badge.innerText()}`);
                // Only a leak, which grows, is given in bytes a step.
                assert.equal(/ a step/.test(await badge.innerText()), first.kind === "leak");
                if (first.kind === "leak") assert.match(await badge.innerText(), new RegExp(`\\+[\\d.]+ [KMG]iB a ${first.per.unit}$`));
                await badge.click();
                await until(() => page.locator("#panel-why .card").first().isVisible(), "the cards");
                assert.match(await page.locator("#panel-why .card").first().innerText(), new RegExp(`^${title}`));
                assert.equal(await page.evaluate(() => document.activeElement?.tagName), "SUMMARY");
            }, { hash: "#tab=who" });
        });
});
