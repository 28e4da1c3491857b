// Without scripts, and before they run, the HTML shows a picture, figures, findings and who held the memory.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, test } from "node:test";

import { folder, openContext, report, run, samples, skip, strata, until, withPage, writePage } from "./browser.mjs";

/** @param {string} file @param {(page: import("playwright-core").Page) => Promise<void>} use */
async function withoutScripts(file, use) {
    const context = await openContext({ javaScriptEnabled: false });
    try {
        const page = await context.newPage();
        await page.goto(pathToFileURL(file).href);
        await use(page);
    } finally {
        await context.close();
    }
}

describe("a page without its program", { skip }, () => {
    for (const name of ["oom", "leak_graph", "one_event", "hostile_names"])
        test(`${name}: scripts off`, async () => {
            const input = path.join(samples, `${name}.pickle`);
            const [device] = report(input).devices;
            await withoutScripts(writePage(input), async (page) => {
                const image = page.locator("#still img");
                assert.ok(((await image.boundingBox())?.width ?? 0) >= 600);
                assert.equal(await page.locator("progress").count(), 0);
                const text = (await page.locator("body").innerText()).replace(/\s+/g, " ");
                assert.match(text, /Scripts are off here/);
                for (const { title } of device.findings) assert.ok(text.toLowerCase().includes(title.toLowerCase()), title);
                for (const label of ["Peak", "At the end", "Reserved", "Allocations"]) assert.match(text, new RegExp(`${label} .*`));
                for (const { site } of device.top_at_peak.slice(0, 3)) assert.ok(text.includes(site.slice(0, 30)), site);
            });
        });

    test("the still view is gone once the program runs, and stays beside the message if it cannot", async () => {
        const file = writePage(path.join(samples, "oom.pickle"));
        await withPage(file, async (page) => assert.equal(await page.locator("#still").count(), 0));
        const context = await openContext();
        try {
            const page = await context.newPage();
            await page.addInitScript("delete window.WebAssembly");
            await page.goto(pathToFileURL(file).href);
            await until(async () => /no WebAssembly/.test(await page.locator("#failure").innerText()), "the sentence");
            assert.ok(await page.locator("#still img").isVisible());
        } finally {
            await context.close();
        }
    });

    test("a page without room for the picture leaves it out", async () => {
        const small = path.join(folder, "small.html");
        const input = path.join(samples, "oom.pickle");
        const nbytes = readFileSync(writePage(input)).length;
        run(strata, "html", "-q", "-f", "--max-html-size", String(nbytes - 30000), input, "-o", small);
        await withoutScripts(small, async (page) => {
            assert.equal(await page.locator("#still img").count(), 0);
            assert.match(await page.locator("#still").innerText(), /attention\.py/);
        });
    });
});
