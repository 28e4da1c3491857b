// What the allocator's model tells of a recording: sizes of blocks and the largest hole. It runs a little at a time.
import { invalidate, LIST, MAP, perPage, TIMELINE } from "./state.js";

/** Recordings of more events are not replayed unasked: the sizes of a few blocks are then the least they can be. */
const REPLAYED_EVENTS = 2000000;

/** So many operations in one go: some 10 ms on a quiet machine, so that the page answers all the while. */
const REPLAYED_IN_ONE = 25000;

/** Of so many it takes little, and runs when the page is there. */
export const REPLAYED_AT_ONCE = 500000;

/** Devices that were replayed. */
const replayedOf = perPage(() => /** @type {Set<number>} */ (new Set()));

/** How many replays are over: what they tell is drawn anew. Under way: of the device with that index; -1: none. */
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
 * Sizes of blocks and the largest free block as a replay tells them: once, where that is quick. What takes more than a
 * stretch begins when the frame is drawn.
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
