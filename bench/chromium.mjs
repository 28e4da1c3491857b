// Shared by benchmarks of the page: a headless browser that does nothing else, and a plot of the requested size.
import { createRequire } from 'node:module';

const { chromium } = createRequire(new URL('../tests/package.json', import.meta.url))('playwright-core');

export const launch = () =>
    chromium.launch({
        executablePath: '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
    });

/** The parts around the plot depend on the window's width, so the window is resized until the plot has the size. */
export async function fitPlot(page, width, height) {
    for (let i = 0; i < 8; i++) {
        const window = page.viewportSize();
        const plot = await page.evaluate(() => [document.getElementById('timeline').width, document.getElementById('timeline').height]);
        if (plot[0] === width && plot[1] === height) return;
        await page.setViewportSize({ width: window.width + width - plot[0], height: window.height + height - plot[1] });
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    }
}
