// Waiting for what a page does: for states, never for a time.

/** Waits until what was asked for is drawn: the page draws once per frame. @param {import("playwright-core").Page} page */
export async function settle(page) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))));
}

/** How long a page on a busy machine may take for what takes a moment. */
const PATIENCE_MS = 30000;

const pause = () => new Promise((done) => setTimeout(done, 30));

/** Polls until `probe` answers something true. */
export async function until(/** @type {() => Promise<any>} */ probe, /** @type {string} */ what) {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause()) {
        const answer = await probe();
        if (answer) return answer;
    }
    throw new Error(`did not happen: ${what}`);
}

/** Repeats assertions until they hold; what failed last is thrown. @template T @param {() => Promise<T>} check @returns {Promise<T>} */
export async function eventually(check) {
    for (const end = Date.now() + PATIENCE_MS; ; await pause())
        try {
            return await check();
        } catch (error) {
            if (Date.now() > end) throw error;
        }
}
