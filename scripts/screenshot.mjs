// One picture of a page for docs/: node scripts/screenshot.mjs PAGE.html light|dark OUT.png
// The page of a recording is shown at its peak with an allocation pinned; the index of a batch as it opens.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../tests/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const [page, colorScheme, out] = process.argv.slice(2);
const browser = await chromium.launch({
    executablePath: process.env.STRATA_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
try {
    const tab = await browser.newPage({ viewport: { width: 1400, height: 860 }, colorScheme });
    await tab.goto(pathToFileURL(page).href);
    await tab.evaluate("window.strata?.ready"); // a recording's elements are unpacked by then
    if (await tab.locator("#timeline").count()) await pinAtPeak(tab);
    else await tab.setViewportSize({ width: 1200, height: 560 });
    await tab.screenshot({ path: out });
} finally {
    await browser.close();
}

/** Zooms to the peak and pins the allocation there that lives longest, because its band is wide. */
async function pinAtPeak(tab) {
    const { peak_event: peak } = await tab.evaluate("strata.summary()");
    await tab.evaluate((at) => window.strata.setView({ from: at - 500, to: at + 700 }), peak);
    const box = await tab.locator("#timeline").boundingBox();
    const found = await tab.evaluate(({ width, height }) => {
        for (let y = height * 0.55; y < height; y += 3) {
            const pick = window.strata.pick(width * 0.42, y);
            if (pick && pick.stack.length > 3) return y;
        }
        return height * 0.9;
    }, box);
    await tab.mouse.click(box.x + box.width * 0.42, box.y + found);
    await tab.mouse.move(5, 5);
    await tab.waitForTimeout(400);
}
