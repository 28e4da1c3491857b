// Two pages of one recording against each other, in turns: node bench/pages.mjs OLD.html NEW.html -> one line for each.
// Least and median milliseconds of drawing the stack while panning and zooming, on a plot of 1000x500.
import { pathToFileURL } from 'node:url';

import { fitPlot, launch } from './chromium.mjs';

const ROUNDS = 8;
const STEPS = 12;

/** In the page: frames of one round of panning, then of zooming. */
const walk = async ([round, steps]) => {
    await strata.setView({ from: -1, to: 1e9 });
    const whole = strata.view();
    const span = whole.to - whole.from;
    const frames = async (windowOf) => {
        const times = [];
        for (let i = 0; i < steps; i++) {
            const [from, to] = windowOf(i);
            await strata.setView({ from, to });
            times.push(strata.stats().frameMs.at(-1));
        }
        return times;
    };
    const pan = await frames((i) => [whole.from + (span * (round + i)) / 40, whole.from + (span * (round + i)) / 40 + span / 2]);
    const zoom = await frames((i) => [whole.from + (span / 2) * (1 - 0.001 ** (i / (steps - 1))), whole.from + (span / 2) * (1 + 0.001 ** (i / (steps - 1)))]);
    return { pan, zoom };
};

const browser = await launch();
try {
    const sides = [];
    for (const file of process.argv.slice(2, 4)) {
        const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
        await page.goto(pathToFileURL(file).href);
        await page.evaluate(() => strata.ready);
        await fitPlot(page, 1000, 500);
        sides.push({ file, page, pan: [], zoom: [] });
    }
    for (let round = 0; round < ROUNDS; round++)
        for (const side of round % 2 ? [...sides].reverse() : sides) {
            await side.page.bringToFront();
            const { pan, zoom } = await side.page.evaluate(walk, [round, STEPS]);
            side.pan.push(...pan);
            side.zoom.push(...zoom);
        }
    for (const { file, pan, zoom } of sides) {
        const figures = [pan, zoom].map((times) => times.sort((a, b) => a - b)).map((times) => `${times[0].toFixed(1)} / ${times[times.length >> 1].toFixed(1)}`);
        console.log(`${file}: pan ${figures[0]} ms, zoom ${figures[1]} ms (least / median)`);
    }
} finally {
    await browser.close();
}
