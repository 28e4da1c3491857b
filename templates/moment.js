// The moment that list, legend and details show.
import { heldMoment } from "./state.js";

/** The event whose state is shown: the one under the pointer, otherwise the held one. @param {Page} page */
export function shownMoment(page) {
    const { plot } = page;
    return plot.hover ? plot.hover.event : heldMoment(page);
}

/** The place of an event in words: "at the peak". @param {Page} page @param {number} event */
export function momentWords(page, event) {
    if (page.plot.hover) return "at the cursor";
    return event === page.view.facts.peak_event ? "at the peak" : "at the moment";
}
