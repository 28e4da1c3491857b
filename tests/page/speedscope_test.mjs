// strata export --to speedscope, opened by speedscope's own page (its npm package, from the disk).
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { each, folder, here, openContext, report, run, samples, skip, strata, until } from "./browser.mjs";

const speedscope = path.join(here, "node_modules", "speedscope", "dist", "release", "index.html");

const reason = skip || (!existsSync(speedscope) && "tests/node_modules has no speedscope: npm ci makes it");

test("speedscope lists a profile for each device, with the report's peak", { skip: reason }, async () => {
    const input = path.join(samples, "two_devices.pickle");
    const profile = path.join(folder, "two_devices.speedscope.json");
    run(strata, "export", "-q", input, "-o", profile);
    const context = await openContext();
    try {
        const page = await context.newPage();
        await page.goto(pathToFileURL(speedscope).href);
        await page.setInputFiles("input[type=file]", profile);
        await page.getByText("live after event").first().click(); // the list of profiles
        const rows = page.locator("tr", { hasText: "live after event" });
        await until(async () => (await rows.count()) === 2, "two profiles");
        const told = report(input).devices.map(
            (/** @type {{device: number, peak_event: number, peak_bytes: number}} */ { device, peak_event, peak_bytes }) =>
                `${device + 1}\tGPU ${device}: live after event ${peak_event}\t${(peak_bytes / 2 ** 30).toFixed(2)} GB`,
        );
        const shown = await each(page, "tr", (element) => element.innerText);
        assert.deepEqual(shown.filter((text) => text.includes("live after event")), told);
        assert.equal(await page.title(), "two_devices.pickle - speedscope");
    } finally {
        await context.close();
    }
});
