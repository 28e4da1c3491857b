// Opens an HTML page whose frames hold pages of Strata (such as a notebook by nbconvert) in Chromium, from file://, and waits until
// each of them has drawn its timeline.
//
//     node tests/notebook.mjs FILE.html
import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { findChromium } from "./programs.mjs";
import { until } from "./waiting.mjs";

const { chromium } = await import("playwright-core");
const browser = await chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox"] });
try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(pathToFileURL(path.resolve(process.argv[2])).href);
    const frames = page.frames().filter((frame) => frame !== page.mainFrame());
    assert.ok(frames.length > 0, "the file has no frame");
    for (const frame of frames) {
        await frame.waitForSelector("#timeline", { timeout: 60000 });
        await until(() => frame.evaluate("window.strata?.findings?.() !== undefined"), "what the page found");
        const [width, height] = await frame.$eval("#timeline", (canvas) => [canvas.clientWidth, canvas.clientHeight]);
        assert.ok(width > 300 && height > 100, `the timeline has ${width} x ${height} pixels`);
    }
    assert.deepEqual(errors, []);
    if (process.argv[3]) await page.screenshot({ path: process.argv[3] });
    console.log(`${frames.length} framed`);
} finally {
    await browser.close();
}
