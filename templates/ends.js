// What is compared: the two ends as the address spells them, and what they mean.
import { askSteps } from "./questions.js";
import { state, view } from "./state.js";
import { boundedInteger, formatCount, numberPair } from "./text.js";

/** @typedef {import("./questions.js").About} About */

/** Letters of the marks, in the order in which they are set. */
export const LETTERS = ["A", "B", "C"];

/**
 * An end of the comparison as the address has it: "peak", "end", "e123", "s3", "r10_90". Null: the recording has none
 * such.
 * @param {string} text
 * @returns {About | null}
 */
export function aboutOfText(text) {
    const { events, peak_event } = view.facts;
    if (text === "peak") return { at: peak_event };
    if (text === "end") return { at: events - 1 };
    if (text === "start") return { at: -1 };
    const event = boundedInteger(/^e(-?\d{1,10})$/.exec(text)?.[1] ?? null, -1, Math.max(0, events));
    if (event !== null) return { at: event };
    const range = numberPair(/^r(\d{1,10}_\d{1,10})$/.exec(text)?.[1] ?? null);
    if (range && range.from < events) return { from: range.from, to: Math.min(events, range.to) };
    const step = /^s(\d{1,6})$/.exec(text);
    const found = step ? askSteps(view)[Number(step[1])] : undefined;
    return found && found.to > found.from ? { from: found.from, to: found.to } : null;
}

/** @param {string} text */
export function endName(text) {
    if (text === "peak") return "the peak";
    if (text === "end") return "the end";
    if (text === "start") return "the start";
    if (text.startsWith("s")) return `step ${askSteps(view)[Number(text.slice(1))]?.name ?? ""}`;
    if (text.startsWith("r"))
        return `events ${text
            .slice(1)
            .split("_")
            .map((part) => formatCount(Number(part)))
            .join(" to ")}`;
    const mark = state.marks.findIndex(({ event }) => text === `e${event}`);
    const note = state.marks[mark]?.note;
    return `event ${formatCount(Number(text.slice(1)))}${note ? ` \u201c${note}\u201d` : ""}`;
}

/** What is compared as long as nobody chose: the last step with the one before, else the start with the peak. */
function defaultEnds() {
    const { length } = askSteps(view);
    return length > 1 ? { a: `s${length - 2}`, b: `s${length - 1}` } : { a: "start", b: "peak" };
}

/** Both ends, as text and as what they mean. */
export function comparedEnds() {
    const ends = defaultEnds();
    const [a, b] = [state.compareA || ends.a, state.compareB || ends.b];
    return {
        a,
        b,
        aboutA: aboutOfText(a) ?? { at: -1 },
        aboutB: aboutOfText(b) ?? { at: state.moment ?? view.facts.peak_event },
    };
}

/** Both ranges while a comparison of two is open; null: there is none to show. */
export function comparedRanges() {
    if (state.tab !== "compare") return null;
    const { aboutA: a, aboutB: b } = comparedEnds();
    return "from" in a && "from" in b ? { a, b } : null;
}
