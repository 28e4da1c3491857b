// The moment that list, legend and details speak of.
import { plot } from "./canvas.js";
import { heldMoment, view } from "./state.js";

/** The event whose state is shown: under the pointer, else the held one. */
export function shownMoment() {
    return plot.hover ? plot.hover.event : heldMoment();
}

/** "at the peak": where that is. @param {number} event */
export function momentWords(event) {
    if (plot.hover) return "at the cursor";
    return event === view.facts.peak_event ? "at the peak" : "at the moment";
}
