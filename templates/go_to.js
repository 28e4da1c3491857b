// Moments as people write them: "event 2737", "62 ms", "step 4", "peak", "oom".
import { askSteps } from "./questions.js";
import { axisOfEvent, change, eventOfUs } from "./state.js";
import { goToEvent, setWindow } from "./window.js";
import { formatCount, formatEvent } from "./text.js";

/** Microseconds of each unit. @type {Record<string, number>} */
const UNITS = { us: 1, "\u00b5s": 1, ms: 1e3, s: 1e6, min: 6e7 };

/** @typedef {{name: string, go: (() => void) | null}} Place a moment, and what goes there; null: the recording has
 * none */

/** @param {Page} page @param {number} event @returns {Place} */
function eventPlace(page, event) {
    const { events } = page.view.facts;
    const known = event >= 0 && event < events;
    return {
        name: known ? formatEvent(event) : `events are 0 to ${formatCount(events - 1)}`,
        go: known ? () => goToEvent(page, event) : null,
    };
}

/** @param {Page} page @param {string} number @returns {Place} */
function stepPlace(page, number) {
    const steps = askSteps(page.view);
    const step = steps.find(({ name }) => name === `#${Number(number)}`);
    const all = steps.length ? `steps are ${steps[0].name} to ${steps[steps.length - 1].name}` : "no steps";
    if (!step) return { name: all, go: null };
    const go = () => {
        setWindow(page, axisOfEvent(page, step.from), axisOfEvent(page, step.to));
        change(page, { moment: step.peak_event });
    };
    return { name: `step ${step.name}`, go };
}

/** The moment that a text names; null: it names none. @param {Page} page @param {string} text @param {boolean} [bare] a
 * number alone is an event @returns {Place | null} */
export function placeOfText(page, text, bare = false) {
    const { view } = page;
    const words = text.trim().toLowerCase().replace(/,/g, "");
    const event = (bare ? /^(?:event\s+)?(\d{1,10})$/ : /^event\s+(\d{1,10})$/).exec(words);
    if (event) return eventPlace(page, Number(event[1]));
    const step = /^step\s+#?(\d{1,9})$/.exec(words);
    if (step) return stepPlace(page, step[1]);
    const time = /^(\d+(?:\.\d+)?)\s*(us|\u00b5s|ms|s|min)$/.exec(words);
    if (time) {
        const { name, go } = eventPlace(page, Math.floor(eventOfUs(page, Number(time[1]) * UNITS[time[2]])));
        return view.facts.has_time ? { name, go } : { name: "this file has no times", go: null };
    }
    if (words === "peak") return { ...eventPlace(page, view.facts.peak_event), name: "the peak" };
    const { ooms } = view.facts;
    if (words !== "oom") return null;
    const known = ooms > 0;
    return {
        name: known ? "the request" : "memory never ran out",
        go: known ? () => goToEvent(page, view.c.oom(ooms - 1).event) : null,
    };
}
