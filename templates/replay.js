// The allocator's model of a recording: it finds sizes of blocks and the largest hole, a little at a time.
import { invalidate, LIST, MAP, perPage, TIMELINE } from "./state.js";

/** A recording of more events is replayed only on request; without that, the sizes of a few blocks are the least that
 * they can be. */
const REPLAYED_EVENTS = 2000000;

/** Operations in one turn: some 10 ms on a quiet machine, so that the page stays responsive. */
const REPLAYED_IN_ONE = 25000;

/** A recording of up to this many events takes little time, so it is replayed as soon as the page is open. */
export const REPLAYED_AT_ONCE = 500000;

/** Devices that have been replayed. */
const replayedOf = perPage(() => /** @type {Set<number>} */ (new Set()));

/** `over`: number of finished replays; each of them is drawn. `under`: index of the device being replayed; -1: none. */
export const replaysOf = perPage(() => ({ over: 0, under: -1 }));

/** Continues the replay of a device while it is shown. @param {Page} page @param {number} device */
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

/** Replays for the sizes of blocks and the largest free block: at once if that is quick, otherwise beginning when the
 * frame is drawn. @param {Page} page @param {number} [most] events */
export function replayOnce(page, most = REPLAYED_EVENTS) {
    const { state, view } = page;
    const replayed = replayedOf(page);
    const { device } = state;
    if (replayed.has(device) || view.facts.events > most) return;
    replayed.add(device);
    // A free that is requested and completed counts as two events but is one operation.
    if (view.facts.events < 2 * REPLAYED_IN_ONE) return replaySome(page, device);
    replaysOf(page).under = device;
    setTimeout(() => replaySome(page, device));
}
