// The two ends of a comparison: how they are written in the address, what they mean, and the marks that set them.
import { askSteps } from "./questions.js";
import { change } from "./state.js";
import { boundedInteger, formatCount, numberPair } from "./text.js";

/** Letters of the marks, in the order in which they are set. */
export const LETTERS = ["A", "B"];

/** The meaning of an end as the address has it: "peak", "end", "e123", "s3", "r10_90". Null: the recording has no such
 * end. @param {Page} page @param {string} text @returns {About | null} */
export function aboutOfText(page, text) {
    const { events, peak_event } = page.view.facts;
    if (text === "peak") return { at: peak_event };
    if (text === "end") return { at: events - 1 };
    if (text === "start") return { at: -1 };
    const event = boundedInteger(/^e(-?\d{1,10})$/.exec(text)?.[1] ?? null, -1, Math.max(0, events));
    if (event !== null) return { at: event };
    const range = numberPair(/^r(\d{1,10}_\d{1,10})$/.exec(text)?.[1] ?? null);
    if (range && range.from < events) return { from: range.from, to: Math.min(events, range.to) };
    const step = /^s(\d{1,6})$/.exec(text);
    const found = step ? askSteps(page.view)[Number(step[1])] : undefined;
    return found && found.to > found.from ? { from: found.from, to: found.to } : null;
}

export function endName(/** @type {Page} */ { state, view }, /** @type {string} */ text) {
    if (text === "peak") return "the peak";
    if (text === "end") return "the end";
    if (text === "start") return "the start";
    if (text.startsWith("s")) return `step ${askSteps(view)[Number(text.slice(1))]?.name ?? ""}`;
    const parts = text.slice(1).split("_");
    if (text.startsWith("r")) return `events ${parts.map((part) => formatCount(Number(part))).join(" to ")}`;
    const mark = state.marks.findIndex(({ event }) => text === `e${event}`);
    const note = state.marks[mark]?.note;
    return `event ${formatCount(Number(text.slice(1)))}${note ? ` \u201c${note}\u201d` : ""}`;
}

/** Is the last step cut off by the end of the recording? @param {{from: number, to: number}[]} steps */
export function lastIsCut(steps) {
    const events = steps.map(({ from, to }) => to - from);
    const usual = [...events].sort((a, b) => a - b)[events.length >> 1];
    return steps.length > 2 && events[events.length - 1] < 0.9 * usual;
}

/** The first and the last whole step. The first of all steps does not count, because it makes the lasting allocations,
 * nor does a last one that is cut off. Null: there are not two. */
export function wholeSteps(/** @type {Page} */ page) {
    const steps = askSteps(page.view);
    const [first, last] = [steps.length > 2 ? 1 : 0, steps.length - 1 - (lastIsCut(steps) ? 1 : 0)];
    return last > first ? { first, last } : null;
}

/** The ends compared by default: the last two whole steps, otherwise the start and the peak. */
function defaultEnds(/** @type {Page} */ page) {
    const whole = wholeSteps(page);
    return whole ? { a: `s${whole.last - 1}`, b: `s${whole.last}` } : { a: "start", b: "peak" };
}

/** Both ends, as text and as what they mean. @param {Page} page */
export function comparedEnds(page) {
    const { state, view } = page;
    const ends = defaultEnds(page);
    const [a, b] = [state.compareA || ends.a, state.compareB || ends.b];
    return {
        a,
        b,
        aboutA: aboutOfText(page, a) ?? { at: -1 },
        aboutB: aboutOfText(page, b) ?? { at: state.moment ?? view.facts.peak_event },
    };
}

/** Both ranges while a comparison of two ranges is open; null: there is none. @param {Page} page */
export function comparedRanges(page) {
    if (page.state.tab !== "compare") return null;
    const { aboutA: a, aboutB: b } = comparedEnds(page);
    return "from" in a && "from" in b ? { a, b } : null;
}

/* ---- marks ---- */

export const MARKS_MOST = LETTERS.length;

/** Marks a moment as A, the next one as B, and then begins with A again. Two marks are compared.
 * @param {Page} page @param {number} event */
export function markAt(page, event) {
    const marks = [...(page.state.marks.length < MARKS_MOST ? page.state.marks : []), { event, note: "" }];
    change(page, { marks });
    if (marks.length === 1) change(page, { compareA: `e${event}`, compareB: "" });
    if (marks.length === 2) change(page, { compareA: `e${marks[0].event}`, compareB: `e${event}`, tab: "compare" });
}

export function removeMark(/** @type {Page} */ page, /** @type {number} */ nth) {
    const { state } = page;
    const text = `e${state.marks[nth].event}`;
    change(page, {
        marks: state.marks.filter((_, i) => i !== nth),
        compareA: state.compareA === text ? "" : state.compareA,
        compareB: state.compareB === text ? "" : state.compareB,
    });
}
