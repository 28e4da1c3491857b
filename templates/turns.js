// Does work in turns with the browser, which draws and listens in between.

/** Steps of some work take milliseconds each; the browser gets a turn when several have taken this long. */
export const STEPS_MS = 12;

/** What concerns each of so many allocations is done at once; of more, in turns with the browser. */
export const AT_ONCE = 200000;

/**
 * Gives the browser the chance to draw. Uses a timer instead of an animation frame, because those rest in hidden tabs.
 * From the fifth on, a timer that is set by a timer's own work fires only after 4 ms; one that is set by a message
 * fires at once. The port is closed, because an open one keeps Node running.
 */
export function nextTurn() {
    return new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
            port1.close();
            setTimeout(resolve);
        };
        port2.postMessage(0);
    });
}

/** Gives the browser a turn if the last one is longer ago than steps may take. @returns {() => Promise<void>} */
export function turns() {
    let last = performance.now();
    return async () => {
        if (performance.now() - last < STEPS_MS) return;
        await nextTurn();
        last = performance.now();
    };
}

/**
 * Does work step by step: if that is quick, before it returns; otherwise in turns, during which the work may become
 * stale.
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

/** Does all steps at once. @template T @param {Iterator<unknown, T>} steps @returns {T} */
export function atOnce(steps) {
    for (;;) {
        const { done, value } = steps.next();
        if (done) return value;
    }
}
