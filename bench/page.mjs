// Measures a page in headless Chromium: node bench/page.mjs PAGE.html -> one JSON object.
import { pathToFileURL } from 'node:url';

import { fitPlot, launch } from './chromium.mjs';

const browser = await launch();
try {
    const page = await browser.newPage({ viewport: { width: 2360, height: 1095 } });
    const start = performance.now();
    await page.goto(pathToFileURL(process.argv[2]).href);
    await page.evaluate(() => strata.ready);
    const ready = performance.now() - start;
    await fitPlot(page, 1600, 800);
    const figures = await page.evaluate(async () => {
        const percentile = (list, share) => [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) * share)];
        const whole = strata.view();
        const span = whole.to - whole.from;
        const frames = async (windowOf) => {
            const times = [];
            for (let i = 0; i < 60; i++) {
                const [from, to] = windowOf(i / 59);
                await strata.setView({ from, to });
                await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                times.push(strata.stats().frameMs.at(-1));
            }
            return [percentile(times, 0.5), percentile(times, 0.95)];
        };
        const pan = await frames((t) => [whole.from + span * 0.5 * t, whole.from + span * (0.5 * t + 0.5)]);
        const zoom = await frames((t) => {
            const half = (span / 2) * 0.001 ** t;
            return [whole.from + span / 2 - half, whole.from + span / 2 + half];
        });
        await strata.setView({ from: whole.from, to: whole.to });
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const canvas = document.getElementById('timeline');
        const hovers = [];
        for (let i = 0; i < 200; i++) {
            const before = performance.now();
            strata.pick((canvas.clientWidth * i) / 200, (canvas.clientHeight * ((i * 7) % 200)) / 200);
            hovers.push(performance.now() - before);
        }
        return { plot: [canvas.width, canvas.height], pan, zoom, hover: percentile(hovers, 0.95), memory: strata.stats().memoryBytes ?? 0 };
    });
    // The map follows the pointer, so each move is another moment, which is laid out and drawn again.
    await page.evaluate(() => strata.setView({ map: 'address' }));
    const room = await page.locator('#timeline').boundingBox();
    for (let i = 0; i < 20; i++) {
        await page.mouse.move(room.x + (room.width * (i + 0.5)) / 20, room.y + room.height / 2);
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    }
    const map = await page.evaluate(() => strata.stats().mapMs.slice(1).sort((a, b) => a - b));
    console.log(JSON.stringify({ ready, ...figures, map: [0.5, 0.95].map((share) => map[Math.floor((map.length - 1) * share)]) }));
} finally {
    await browser.close();
}
