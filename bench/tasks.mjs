// The longest task of each action in headless Chromium: node bench/tasks.mjs PAGE.html -> one line an action, in milliseconds.
// Nobody notices less than 50; more than 100 is a fault. "0" says that no task took 50. `node bench/tasks.mjs PAGE.html cpu` has
// the processor time of the main thread's tasks instead, from the browser's trace, for a machine that does other things too.
import { pathToFileURL } from 'node:url';

import { launch } from './chromium.mjs';

const browser = await launch();
try {
    const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
    await page.goto(pathToFileURL(process.argv[2]).href);
    await page.evaluate(() => strata.ready);
    await page.evaluate(() => {
        window.longTasks = [];
        new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
    });
    // What an action sets off may come in slices after the frame that shows it, and that late where the machine is busy.
    const quiet = async () => {
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
        await page.waitForTimeout(700);
        await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 5000 })));
    };
    const traced = async (/** @type {() => Promise<unknown>} */ act) => {
        await browser.startTracing(page, { categories: ['toplevel'] });
        await act();
        await quiet();
        const { traceEvents } = JSON.parse(String(await browser.stopTracing()));
        const thread = ({ pid, tid }) => `${pid} ${tid}`;
        const main = new Set(traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(thread));
        return traceEvents.filter((event) => main.has(thread(event)) && event.name.endsWith('RunTask')).map(({ tdur = 0 }) => tdur / 1000);
    };
    const watched = async (/** @type {() => Promise<unknown>} */ act) => {
        await page.evaluate(() => (window.longTasks.length = 0));
        await act();
        await quiet();
        return page.evaluate(() => window.longTasks);
    };
    const measure = async (/** @type {string} */ name, /** @type {() => Promise<unknown>} */ act) => {
        await quiet();
        const longest = Math.round(Math.max(0, ...(await (process.argv[3] === 'cpu' ? traced : watched)(act))));
        console.log(`${String(longest).padStart(6)}  ${name}`);
    };
    const press = (/** @type {string} */ key) => page.keyboard.press(key);
    /** What stands in a menu is clicked in it, whether it is open or not. */
    const click = (/** @type {string} */ selector) => page.locator(selector).first().dispatchEvent('click');
    const box = await page.locator('#timeline').boundingBox();
    const at = (/** @type {number} */ x, /** @type {number} */ y) => [box.x + box.width * x, box.y + box.height * y];
    const sweep = async () => {
        for (let i = 0; i < 20; i++) await page.mouse.move(...at(0.1 + i * 0.04, 0.8));
    };
    await measure('hover', sweep);
    await measure('wheel', async () => {
        for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -240);
    });
    await measure('show the whole run', () => press('0'));
    for (const tab of ['Why', 'Who', 'Compare', 'Allocator']) await measure(`open ${tab}`, () => page.getByRole('tab', { name: tab }).click());
    for (const form of ['tree', 'each', 'who']) await measure(`open ${form}`, async () => { await press('3'); await click(`#form-${form}`); });
    const groupBy = (/** @type {string} */ by) => page.locator('#group-by').selectOption(by);
    for (const by of ['stack', 'file', 'category', 'stream', 'pool', 'site']) await measure(`list by ${by}`, () => groupBy(by));
    for (const head of ['Call site', 'Count', 'Bytes']) await measure(`sort by ${head}`, () => page.locator('#list-scroll').getByRole('button', { name: head }).click());
    await measure('hover with the list by stack', async () => {
        await groupBy('stack');
        await sweep();
    });
    await groupBy('site');
    await measure('highlight a row', () => click('#list > .row'));
    await press('Escape');
    for (const view of ['category', 'stream', 'pool', 'segments', 'age']) await measure(`view by ${view}`, () => click(`#view-${view}`));
    await measure('colour by category', () => page.locator('#color').selectOption('category', { force: true }));
    await measure('colour by call site', () => page.locator('#color').selectOption('site', { force: true }));
    await measure('seconds', () => press('t'));
    await measure('events', () => press('t'));
    await measure('the other theme', () => click('#theme'));
    await measure('select a range', async () => {
        await page.keyboard.down('Shift');
        await page.mouse.move(...at(0.3, 0.5));
        await page.mouse.down();
        await page.mouse.move(...at(0.6, 0.5), { steps: 5 });
        await page.mouse.up();
        await page.keyboard.up('Shift');
    });
    for (const what of ['freed', 'kept', 'through', 'peak', 'allocated']) await measure(`range: ${what}`, () => click(`#range-${what}`));
    await measure('tree of the range', async () => { await press('3'); await click('#form-tree'); });
    for (const direction of ['Call sites first', 'By file', 'Callers first']) await measure(`tree: ${direction}`, () => page.locator('#panel-tree').getByRole('button', { name: direction }).click());
    await measure('tree: search', () => page.getByLabel('Search in the tree').fill('forward'));
    await page.getByLabel('Search in the tree').fill('');
    await click('#plot');
    await press('Escape');
    await press('Escape');
    await measure('compare', () => press('4'));
    for (const by of ['stack', 'category', 'site']) await measure(`compare by ${by}`, () => page.getByLabel('Grouped by').selectOption(by, { force: true }));
    await measure('compare: swap', () => page.getByRole('button', { name: 'Swap A and B', includeHidden: true }).dispatchEvent('click'));
    await press('3');
    await measure('search', () => page.locator('#search').fill('attention'));
    await measure('next match', () => page.locator('#search').press('Enter'));
    await measure('only matches', () => click('#search-only'));
    await measure('a table of matches', () => click('#form-each'));
    await page.locator('#search').fill('');
    await measure('filter', () => page.evaluate(() => void strata.setView({ filter: { words: 'size:>1M category:gradient' } })));
    await measure('filter off', () => page.evaluate(() => void strata.setView({ filter: {} })));
    await measure('map', () => press('g'));
    await measure('hover with the map', sweep);
    await measure('pin', () => page.mouse.click(...at(0.5, 0.9)));
    await measure('save PNG', () => page.evaluate(() => void strata.picture()));
} finally {
    await browser.close();
}
