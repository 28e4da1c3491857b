// The longest task of each action in headless Chromium, in milliseconds: node bench/tasks.mjs PAGE.html [OTHER.html] [cpu]
// With two pages each action is done on one and then on the other, a column each; pages of 5d8a250 have other buttons,
// so the script knows both. Nobody notices less than 50 ms; more than 100 is a fault. "0" says that no task took 50.
// `cpu` prints the processor time of the main thread's tasks instead, from the browser's trace: for a busy machine.
import { pathToFileURL } from 'node:url';

import { launch } from './chromium.mjs';

const files = process.argv.slice(2).filter((word) => word !== 'cpu');
const byProcessor = process.argv.includes('cpu');

/** @returns a function that measures the longest task of an action and of the work that it starts; a browser for each file */
const open = async (/** @type {string} */ file) => {
    const browser = await launch();
    const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
    await page.goto(pathToFileURL(file).href);
    await page.evaluate(() => strata.ready);
    await page.evaluate(() => {
        window.longTasks = [];
        new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
    });
    // The work that an action starts may run in slices after the frame that shows it, and late on a busy machine.
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
    const measure = async (/** @type {() => Promise<unknown>} */ act) => {
        await quiet();
        return Math.round(Math.max(0, ...(await (byProcessor ? traced : watched)(act))));
    };
    return { browser, measure, actions: actions(page) };
};

/** Yields [name, act] one by one; code between two yields is not measured. */
async function* actions(page) {
    const old = (await page.locator('#form-tree').count()) === 0;
    const press = (/** @type {string} */ key) => page.keyboard.press(key);
    /** Clicks an item of a menu, whether the menu is open or not. */
    const click = (/** @type {string} */ selector) => page.locator(selector).first().dispatchEvent('click');
    const choose = (/** @type {string} */ selector, /** @type {string} */ option) => page.locator(selector).selectOption(option, { force: true });
    const tab = (/** @type {string} */ name) => page.getByRole('tab', { name }).click();
    const list = () => press(old ? '2' : '3');
    const form = async (/** @type {'tree' | 'each' | 'who'} */ name) => {
        if (old) return tab(name[0].toUpperCase() + name.slice(1));
        await list();
        await click(`#form-${name}`);
    };
    const groupBy = (/** @type {string} */ by) => (old ? click(`#group-${by}`) : choose('#group-by', by));
    const box = await page.locator('#timeline').boundingBox();
    const at = (/** @type {number} */ x, /** @type {number} */ y) => [box.x + box.width * x, box.y + box.height * y];
    const sweep = async () => {
        for (let i = 0; i < 20; i++) await page.mouse.move(...at(0.1 + i * 0.04, 0.8));
    };
    yield ['hover', sweep];
    yield ['wheel', async () => {
        for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -240);
    }];
    yield ['show the whole run', () => press('0')];
    for (const name of ['Why', 'Who', 'Compare', 'Allocator']) yield [`open ${name}`, () => tab(name)];
    for (const name of ['tree', 'each', 'who']) yield [`open ${name}`, () => form(name)];
    for (const by of ['stack', 'file', 'category', 'stream', 'pool', 'site']) yield [`list by ${by}`, () => groupBy(by)];
    for (const head of ['Call site', 'Count', 'Bytes']) yield [`sort by ${head}`, () => page.locator('#list-scroll').getByRole('button', { name: head }).click()];
    yield ['hover with the list by stack', async () => {
        await groupBy('stack');
        await sweep();
    }];
    await groupBy('site');
    yield ['highlight a row', () => click('#list > .row')];
    await press('Escape');
    for (const view of ['category', 'stream', 'pool', 'segments', 'age']) yield [`view by ${view}`, () => click(`#view-${view}`)];
    for (const by of ['category', 'site']) yield [`colour by ${by}`, () => choose('#color', by)];
    yield ['seconds', () => press('t')];
    yield ['events', () => press('t')];
    yield ['the other theme', () => click('#theme')];
    yield ['select a range', async () => {
        await page.keyboard.down('Shift');
        await page.mouse.move(...at(0.3, 0.5));
        await page.mouse.down();
        await page.mouse.move(...at(0.6, 0.5), { steps: 5 });
        await page.mouse.up();
        await page.keyboard.up('Shift');
    }];
    for (const what of ['freed', 'kept', 'through', 'peak', 'allocated']) yield [`range: ${what}`, () => click(`#range-${what}`)];
    yield ['tree of the range', () => form('tree')];
    for (const direction of ['Call sites first', 'By file', 'Callers first']) yield [`tree: ${direction}`, () => page.locator('#panel-tree').getByRole('button', { name: direction }).click()];
    yield ['tree: search', () => page.getByLabel('Search in the tree').fill('forward')];
    await page.getByLabel('Search in the tree').fill('');
    await click('#plot');
    await press('Escape');
    await press('Escape');
    yield ['compare', () => press('4')];
    for (const by of ['stack', 'category', 'site']) yield [`compare by ${by}`, () => page.getByLabel('Grouped by').selectOption(by, { force: true })];
    yield ['compare: swap', () => page.getByRole('button', { name: 'Swap A and B', includeHidden: true }).dispatchEvent('click')];
    await list();
    yield ['search', () => page.locator('#search').fill('attention')];
    yield ['next match', () => page.locator('#search').press('Enter')];
    yield ['only matches', () => click('#search-only')];
    yield ['a table of matches', () => form('each')];
    await page.locator('#search').fill('');
    yield ['filter', () => page.evaluate(() => void strata.setView({ filter: { words: 'size:>1M category:gradient' } }))];
    yield ['filter off', () => page.evaluate(() => void strata.setView({ filter: {} }))];
    yield ['map', () => press('g')];
    yield ['hover with the map', sweep];
    yield ['pin', () => page.mouse.click(...at(0.5, 0.9))];
    yield ['save PNG', () => page.evaluate(() => void strata.picture())];
}

const pages = await Promise.all(files.map(open));
try {
    while (true) {
        let name;
        const longest = [];
        for (const page of pages) {
            const { done, value } = await page.actions.next();
            if (done) continue;
            name = value[0];
            longest.push(await page.measure(value[1]));
        }
        if (name === undefined) break;
        console.log(`${longest.map((figure) => String(figure).padStart(6)).join('')}  ${name}`);
    }
} finally {
    await Promise.all(pages.map(({ browser }) => browser.close()));
}
