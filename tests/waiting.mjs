// Waits until a page has reached a state; never waits for a fixed time.

/** Waits until all requests are drawn; the page draws once per frame. @param {import("playwright-core").Page} page */
export async function settle(page) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))));
}

/**
 * The results of `read` for all elements that a CSS selector finds, all at one moment. A locator would first find the
 * elements and then read them, and a list reuses its rows in between.
 * @template T @param {import("playwright-core").Page} page @param {string} selector
 * @param {(element: HTMLElement) => T} read runs in the page and can use only the element @returns {Promise<T[]>}
 */
export const each = (page, selector, read) => page.evaluate(`Array.from(document.querySelectorAll(${JSON.stringify(selector)}), (element) => (${read})(element))`);

/** Their texts. @param {import("playwright-core").Page} page @param {string} selector */
export const texts = (page, selector) => each(page, selector, (element) => element.textContent ?? "");

/** Their texts as rendered. @param {import("playwright-core").Page} page @param {string} selector */
export const shownTexts = (page, selector) => each(page, selector, (element) => element.innerText);

/** How long a page on a busy machine may take for something quick. */
const PATIENCE_MS = 60000;

const pause = () => new Promise((done) => setTimeout(done, 30));

/** Polls until `probe` returns something true. */
export async function until(/** @type {() => Promise<any>} */ probe, /** @type {string} */ what) {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pause()) {
        const answer = await probe();
        if (answer) return answer;
    }
    throw new Error(`did not happen: ${what}`);
}

/** Repeats assertions until they hold; throws the last failure after the time. @template T @param {() => Promise<T>}
 * check @returns {Promise<T>} */
export async function eventually(check) {
    for (const end = Date.now() + PATIENCE_MS; ; await pause())
        try {
            return await check();
        } catch (error) {
            if (Date.now() > end) throw error;
        }
}

/**
 * Imitates a slow machine: milliseconds by which a page's animation frames (and observers of sizes) and its timers (and
 * messages to workers) are delayed.
 */
const LATE_FRAMES = Number(process.env.STRATA_LATE_FRAMES ?? 0);
const LATE_TIMERS = Number(process.env.STRATA_LATE_TIMERS ?? 0);

/** Timers below a second run in this part of their time, in the same order: tests wait for the end of each. */
const PACE = 1 / 8;

/**
 * Runs in a page before its own scripts: counts pending frames, timers and messages between the ports of a channel for
 * rest(). Timers of a second or more only remove messages, so they do not count. @param {number[]} late frames and timers, pace
 */
function followWork([lateFrames, lateTimers, pace]) {
    const [timer, clear, frame] = [window.setTimeout.bind(window), window.clearTimeout.bind(window), window.requestAnimationFrame.bind(window)];
    /** @type {Set<number>} */
    const frames = new Set();
    /** @type {Set<number>} */
    const timers = new Set();
    let [last, messages] = [0, 0];
    window.MessageChannel = class extends MessageChannel {
        constructor() {
            super();
            const [to, from] = [this.port1, this.port2];
            to.addEventListener("message", () => messages--);
            from.postMessage = (/** @type {any} */ message) => {
                messages++;
                MessagePort.prototype.postMessage.call(from, message);
            };
        }
    };
    Object.assign(window, {
        isAtRest: () => frames.size + timers.size + messages === 0,
        setTimeout: (/** @type {(...values: any[]) => void} */ act, wait = 0, /** @type {any[]} */ ...values) => {
            const id = timer(() => {
                timers.delete(id);
                act(...values);
            }, (wait < 1000 ? wait * pace : wait) + lateTimers);
            if (wait < 1000) timers.add(id);
            return id;
        },
        clearTimeout: (/** @type {number} */ id) => {
            timers.delete(id);
            clear(id);
        },
        requestAnimationFrame: (/** @type {FrameRequestCallback} */ draw) => {
            const id = ++last;
            const ask = () => frame((/** @type {number} */ now) => void (frames.delete(id) && draw(now)));
            frames.add(id);
            if (lateFrames) timer(ask, lateFrames);
            else ask();
            return id;
        },
        cancelAnimationFrame: (/** @type {number} */ id) => void frames.delete(id),
    });
    if (lateFrames)
        window.ResizeObserver = class extends ResizeObserver {
            constructor(/** @type {ResizeObserverCallback} */ act) {
                super((entries, observer) => {
                    const id = ++last;
                    frames.add(id);
                    timer(() => void (frames.delete(id) && act(entries, observer)), lateFrames);
                });
            }
        };
    if (lateTimers)
        window.Worker = class extends Worker {
            postMessage(/** @type {any} */ message, /** @type {any} */ options) {
                timer(() => super.postMessage(message, options), lateTimers);
            }
        };
}

/** Lets rest() follow the pages of a context, and delays them if the environment says so. @param
 * {import("playwright-core").BrowserContext} context */
export async function followed(context) {
    await context.addInitScript(followWork, [LATE_FRAMES, LATE_TIMERS, PACE]);
    return context;
}

/** Waits until a page of a followed context has no pending work. @param {import("playwright-core").Page} page */
export async function rest(page) {
    await settle(page);
    await until(() => page.evaluate("isAtRest()"), "the page at rest");
    await settle(page);
}
