// Work in turns with the browser, which draws and listens between them.

/** Steps of some work take milliseconds; the browser has a turn when several took this many. */
export const STEPS_MS = 12;

/** Gives the browser the chance to draw. A timer and no animation frame: those rest in hidden tabs. */
export function nextTurn() {
    return new Promise((resolve) => setTimeout(resolve, 0));
}

/** A turn for the browser where the last was longer ago than steps may take. @returns {() => Promise<void>} */
export function turns() {
    let last = performance.now();
    return async () => {
        if (performance.now() - last < STEPS_MS) return;
        await nextTurn();
        last = performance.now();
    };
}

/**
 * Does work step by step: before it returns if that is quick, otherwise in turns, during which it may become stale.
 * @template T
 * @param {Iterator<unknown, T>} steps
 * @param {(result: T) => void} done not called when it is stale
 * @param {() => boolean} [stale]
 */
export async function inTurns(steps, done, stale) {
    let [last, step] = [performance.now(), steps.next()];
    for (; !step.done; step = steps.next())
        if (performance.now() - last >= STEPS_MS) {
            await nextTurn();
            if (stale?.()) return;
            last = performance.now();
        }
    done(step.value);
}

/** The same at once. @template T @param {Iterator<unknown, T>} steps @returns {T} */
export function atOnce(steps) {
    for (;;) {
        const { done, value } = steps.next();
        if (done) return value;
    }
}
