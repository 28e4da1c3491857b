// Finds which event of A belongs to which event of B: pairs of events that mean the same, and straight lines between
// them.
import { askSteps } from "../questions.js";
import { formatCount } from "../text.js";

/** @typedef {[number, number]} Anchor an event of A and the one of B that it belongs to */
/** @typedef {{anchors: Anchor[], count: number, by: string}} Alignment in rising order of both; count: how many steps
 * or annotations they have in common */

export const ALIGNMENTS = ["annotation", "step", "peak", "start"];

/** The most annotations of a program that are paired. */
const ANNOTATIONS_MOST = 20000;

/** @typedef {{name: string, from: number, to: number}} Stretch events [from, to) of something with a name */

/** The program's annotations, each with the number of earlier ones that have its name. @param {View} view
 * @returns {Stretch[]} */
function annotationsOf(view) {
    /** @type {Map<string, number>} */
    const seen = new Map();
    /** @type {Stretch[]} */
    const found = [];
    for (let i = 0; i < Math.min(view.facts.phases, ANNOTATIONS_MOST); i++) {
        const { name, start_us, end_us, internal } = view.c.phase(i);
        if (internal) continue;
        const text = view.session.string(name);
        const nth = seen.get(text) ?? 0;
        seen.set(text, nth + 1);
        const to = end_us < 0 ? view.facts.events : view.c.event_at_us(end_us) + 1;
        found.push({ name: `${text}#${nth}`, from: view.c.event_at_us(start_us) + 1, to });
    }
    return found;
}

/** A sentence about the annotations that were not paired. @param {View} a @param {View} b */
export function annotationsLeftOut(a, b) {
    const most = Math.max(a.facts.phases, b.facts.phases);
    const part = `only the first ${formatCount(ANNOTATIONS_MOST)} of ${formatCount(most)} are paired`;
    return most > ANNOTATIONS_MOST ? [`By annotation: ${part}; later events are paired by number.`] : [];
}

/** Pairs begins and ends of the stretches that both have, in the order of both. @param {Stretch[]} ofA
 * @param {Stretch[]} ofB @returns {{anchors: Anchor[], count: number}} */
function anchorsOf(ofA, ofB) {
    const others = new Map(ofB.map((one) => [one.name, one]));
    /** @type {Anchor[]} */
    const pairs = [];
    let count = 0;
    for (const { name, from, to } of ofA) {
        const other = others.get(name);
        if (!other) continue;
        count++;
        pairs.push([from, other.from], [to, other.to]);
    }
    pairs.sort((x, y) => x[0] - y[0] || x[1] - y[1]);
    /** @type {Anchor[]} */
    const anchors = [];
    for (const pair of pairs) {
        const before = anchors[anchors.length - 1];
        if (!before || (pair[0] > before[0] && pair[1] > before[1])) anchors.push(pair);
    }
    return { anchors, count: anchors.length > 1 ? count : 0 };
}

/** Aligns by what is asked for, or by the next of ALIGNMENTS that both recordings allow. @param {View} a
 * @param {View} b @param {string} by @returns {Alignment} */
export function align(a, b, by) {
    for (const way of ALIGNMENTS.slice(0, 2)) {
        if (ALIGNMENTS.indexOf(by) > ALIGNMENTS.indexOf(way)) continue;
        const found =
            way === "step" ? anchorsOf(askSteps(a), askSteps(b)) : anchorsOf(annotationsOf(a), annotationsOf(b));
        if (found.count > 0) return { ...found, by: way };
    }
    if (by === "start") return { anchors: [[0, 0]], count: 0, by };
    return { anchors: [[a.facts.peak_event, b.facts.peak_event]], count: 0, by: "peak" };
}

/** The place of an event of one side in the other. Before the first pair and after the last one, one event belongs to
 * one event. @param {Anchor[]} anchors @param {number} event @param {0 | 1} from 0: of A, 1: of B */
export function belongs(anchors, event, from) {
    const to = 1 - from;
    let [low, high] = [0, anchors.length - 1];
    if (event <= anchors[low][from]) return anchors[low][to] + event - anchors[low][from];
    if (event >= anchors[high][from]) return anchors[high][to] + event - anchors[high][from];
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (anchors[middle][from] <= event) low = middle;
        else high = middle;
    }
    const [first, last] = [anchors[low], anchors[high]];
    return first[to] + ((event - first[from]) / (last[from] - first[from])) * (last[to] - first[to]);
}

/** B less A, in columns of a window of A's events: the highest total of B less that of A, over the events that belong
 * to a column; NaN where only one of them runs. @param {View} a @param {View} b @param {Anchor[]} anchors
 * @param {{from: number, to: number}} window @param {number} width @param {boolean} kept */
export function differenceOf(a, b, anchors, { from, to }, width, kept) {
    const ofA = a.curveBeyond(0, from, to, width, kept);
    const difference = new Float64Array(width);
    const eventAt = (/** @type {number} */ x) => from + (x / width) * (to - from);
    const columnAt = (/** @type {number} */ event) => Math.round(((event - from) / (to - from)) * width);
    // Between two pairs both run evenly, so one call answers for all columns in between.
    const edges = [0, ...anchors.map(([event]) => columnAt(event)).filter((x) => x > 0 && x < width), width];
    for (let i = 0; i + 1 < edges.length; i++) {
        const [x0, x1] = [edges[i], edges[i + 1]];
        if (x1 === x0) continue;
        const [first, last] = [eventAt(x0), eventAt(x1)].map((event) => belongs(anchors, event, 0));
        const ofB = b.curveBeyond(0, first, last, x1 - x0, kept);
        for (let x = x0; x < x1; x++) difference[x] = ofB[x - x0] - ofA[x];
    }
    return difference;
}
