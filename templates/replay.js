// The allocator's model of a recording: sizes of blocks and the largest hole. It runs a little at a time.
import { invalidate, LIST, MAP, perPage, TIMELINE } from "./state.js";

/** Recordings of more events are not replayed unasked: the sizes of a few blocks are then the least they can be. */
const REPLAYED_EVENTS = 2000000;

/** Operations in one go: some 10 ms on a quiet machine, so that the page stays responsive. */
const REPLAYED_IN_ONE = 25000;

/** Up to this many it takes little time, and runs as soon as the page is open. */
export const REPLAYED_AT_ONCE = 500000;

/** Devices that were replayed. */
const replayedOf = perPage(() => /** @type {Set<number>} */ (new Set()));

/** `over`: number of finished replays, each drawn anew. `under`: index of the device being replayed; -1: none. */
export const replaysOf = perPage(() => ({ over: 0, under: -1 }));

/** Goes on with the replay of a device, as long as it is shown. @param {Page} page @param {number} device */
function replaySome(page, device) {
    const replays = replaysOf(page);
    replays.under = device;
    if (device !== page.state.device) replayedOf(page).delete(device);
    else if (page.view.c.replay_some(REPLAYED_IN_ONE)) setTimeout(() => replaySome(page, device));
    else {
        replays.under = -1;
        replays.over++;
        invalidate(page, TIMELINE | MAP | LIST);
    }
}

/**
 * Sizes of blocks and the largest free block from a replay: at once if that is quick. A longer replay begins when
 * the frame is drawn.
 * @param {Page} page @param {number} [most] events
 */
export function replayOnce(page, most = REPLAYED_EVENTS) {
    const { state, view } = page;
    const replayed = replayedOf(page);
    const { device } = state;
    if (replayed.has(device) || view.facts.events > most) return;
    replayed.add(device);
    // A free that is requested and completed is two events of one operation.
    if (view.facts.events < 2 * REPLAYED_IN_ONE) return replaySome(page, device);
    replaysOf(page).under = device;
    setTimeout(() => replaySome(page, device));
}
