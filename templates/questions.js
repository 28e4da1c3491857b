// Questions to the module about a set of allocations: who holds them, through whom, and how two sets differ.
import { valueText } from "./calls.js";

/** @typedef {{at: number | "peak"} | {from: number, to: number, what?: string}} About alive after an event, or the
 * changes in the events [from, to) */
/** @typedef {record_sums_row} SumRow */
/** @typedef {record_sums & {by: number, row: (i: number) => SumRow, rows: () => SumRow[], name: (i: number) => string}}
 * Sums */

/** The slots of a view, each of which keeps one answer: of the list, of both ends of a comparison, of what is read at
 * once, of call sites below a row, and of both ends of a question beside the comparison. */
export const SLOTS = { list: 0, ends: [1, 2], once: 3, below: 4, beside: [5, 6] };

/** Groupings in the module's order (enum compare_by). */
export const GROUPINGS = ["site", "stack", "file", "category", "stream", "pool", "module", "metadata"];

/** The head over the names of each grouping. @type {Record<string, string>} */
export const GROUP_HEADS = {
    site: "Call site",
    stack: "Stack",
    file: "File",
    category: "Category",
    stream: "Stream",
    pool: "Pool",
    module: "Layer",
    metadata: "Metadata",
};

/** Orders of the matches, in the module's order (match_rows). */
export const ORDERS = ["birth", "bytes", "lifetime", "site", "category", "stream"];

/** Questions in the module's order (enum extent_what); the first is about a moment. */
export const WHATS = ["at", "peak", "allocated", "freed", "kept", "through", "lasting"];

/** The questions about a range, and what the page calls them. @type {Record<string, string>} */
export const QUESTIONS = {
    allocated: "Made",
    freed: "Freed",
    kept: "Made and still alive at the end",
    through: "Alive from start to end",
    peak: "At the peak",
};

/** The questions about a comparison's ends: those, and the memory after an end's last event.
 * @type {Record<string, string>} */
export const COMPARE_QUESTIONS = { ...QUESTIONS, end: "Alive at the end" };

/** The name of the row of bytes that are all freed after the range. */
export const FREED_LATER = "freed later";

/** An `About` as numbers. @param {View} view @param {About} about */
export function extentOf(view, about) {
    if (typeof about !== "object" || !about) throw new RangeError("A question is about { at } or { from, to }.");
    if ("at" in about) {
        const asked = typeof about.at === "string" ? Number(about.at) : about.at;
        const at = about.at === "peak" ? view.facts.peak_event : asked;
        if (!Number.isInteger(at)) throw new RangeError(`There is no event ${valueText(about.at)}.`);
        return { what: 0, from: at, to: at + 1 };
    }
    const isRange = typeof about.from === "number" && typeof about.to === "number" && about.from < about.to;
    if (about.what === "end" && isRange) return { what: 0, from: about.to - 1, to: about.to };
    const what = WHATS.indexOf(about.what ?? "peak");
    if (what < 1) throw notOneOf(about.what, WHATS.slice(1));
    if (!isRange) throw new RangeError("A range goes from an event to a later one.");
    return { what, from: about.from, to: about.to };
}

function notOneOf(/** @type {unknown} */ value, /** @type {readonly string[]} */ known) {
    const text = typeof value === "string" ? value : valueText(value);
    return new RangeError(`"${text}" is not one of ${known.join(", ")}.`);
}

function groupingOf(/** @type {string} */ by) {
    const index = GROUPINGS.indexOf(by);
    if (index < 0) throw notOneOf(by, GROUPINGS);
    return index;
}

/** @typedef {{by: string, key: number}} Within one group */

/** Groups by falling bytes. They are kept in a slot of the view until the slot is asked for others. @param {View} view
 * @param {number} slot @param {About} about @param {string} by @param {Within | null} [within] of one group only
 * @returns {Sums} */
export function askSums(view, slot, about, by, within = null) {
    const { what, from, to } = extentOf(view, about);
    const grouping = groupingOf(by);
    view.c.sums_within(within ? groupingOf(within.by) : GROUPINGS.length, within?.key ?? 0);
    const sums = view.c.sums(slot, what, from, to, grouping);
    const row = (/** @type {number} */ i) => view.c.sums_row(slot, i);
    const rows = () => Array.from({ length: sums.groups }, (_, i) => row(i));
    return { ...sums, by: grouping, row, rows, name: (i) => groupName(view, grouping, row(i).key) };
}

/** @param {View} view @param {number} by @param {number} key */
export const groupName = (view, by, key) => view.session.decode(view.c.group_name(by, key));

/** The same as people write it: "optimizer state". @param {View} view @param {string} by @param {number} key */
export const groupLabel = (view, by, key) => {
    const name = groupName(view, GROUPINGS.indexOf(by), key);
    return by === "category" ? name.replaceAll("_", " ") : name;
};

/** @param {Sums} sums */
export const listSums = (sums) => sums.rows().map(({ bytes, count }, i) => ({ name: sums.name(i), bytes, count }));

/** The bytes of each group, by its key. @param {Sums} sums */
export const bytesOfKeys = (sums) => new Map(sums.rows().map(({ key, bytes }) => [key, bytes]));

/** @typedef {{name: string, key: number, stack: number, a: number, b: number, delta: number}} Difference */

/** A against B, by falling size of the difference; the first `changed` rows differ. @param {View} view @param {About}
 * a @param {About} b
 * @param {string} by @param {number[]} [slots] @param {Within | null} [within] */
export function askDifferences(view, a, b, by, slots = SLOTS.ends, within = null) {
    const [sumsA, sumsB] = [askSums(view, slots[0], a, by, within), askSums(view, slots[1], b, by, within)];
    const count = view.c.pairs(slots[0], slots[1]) >>> 0;
    /** @param {number} i @returns {Difference} */
    const row = (i) => {
        const pair = view.c.pair(i);
        const [rowA, rowB] = [pair.a < 0 ? null : sumsA.row(pair.a), pair.b < 0 ? null : sumsB.row(pair.b)];
        const { key, stack } = /** @type {SumRow} */ (rowB ?? rowA);
        const [bytesA, bytesB] = [rowA?.bytes ?? 0, rowB?.bytes ?? 0];
        return { name: groupName(view, sumsA.by, key), key, stack, a: bytesA, b: bytesB, delta: bytesB - bytesA };
    };
    let [changed, end] = [0, count];
    while (changed < end) {
        const middle = (changed + end) >> 1;
        if (row(middle).delta !== 0) changed = middle + 1;
        else end = middle;
    }
    return { a: sumsA, b: sumsB, count, changed, row };
}

/** All rows of a comparison at once. The page's own comparison stays as it is.
 * @param {View} view @param {About} a @param {About} b @param {string} by @param {Within | null} [within] */
export function listDifferences(view, a, b, by, within = null) {
    const asked = askDifferences(view, a, b, by, SLOTS.beside, within);
    const rows = Array.from({ length: asked.count }, (_, i) => asked.row(i));
    view.c.pairs(SLOTS.ends[0], SLOTS.ends[1]);
    return { ...asked, rows };
}

/** Trees in the module's order (enum tree_direction). @type {("callees" | "callers" | "places")[]} */
export const TREES = ["callees", "callers", "places"];

/** The number of trees planted so far. A tree that is not the last one must be planted again before it is read. */
export const planted = { count: 0 };

/**
 * Plants a tree of the view, which stays until the next one. Returns the number of nodes; 0 is the root.
 * @param {View} view @param {About} about
 * @param {string} direction of TREES
 * @param {number | null} [before] event that it is held against
 * @param {number} [through] frame that it begins with
 * @param {Within | null} [within] of one group only
 */
export function askTree(view, about, direction, before = null, through = 0, within = null) {
    const { what, from, to } = extentOf(view, about);
    const which = TREES.findIndex((tree) => tree === direction);
    if (which < 0) throw notOneOf(direction, TREES);
    planted.count++;
    view.c.sums_within(within ? groupingOf(within.by) : GROUPINGS.length, within?.key ?? 0);
    view.c.tree_through(through);
    const count = view.c.tree(what, from, to, which, before ?? -2) >>> 0;
    if (count === 0) throw new Error("There is not enough memory in this tab for the tree.");
    return count;
}

/** The name of a tree's node; in a tree of places it depends on the level: file, function, line. @param {View} view
 * @param {string} direction @param {number} frame @param {number} level 0: below the root */
export function nodeName(view, direction, frame, level) {
    if (direction === "places" && level === 0) return groupName(view, GROUPINGS.indexOf("file"), frame);
    const name = direction === "places" && level === 1 && frame && view.session.frame(frame).name;
    return name || view.session.siteText(frame);
}

/** The whole tree as objects. @param {View} view @param {number} count @param {string} direction @returns {PageTree} */
export function treeObject(view, count, direction) {
    const nodes = Array.from({ length: count }, (_, i) => view.c.node(i));
    /** @type {number[]} */
    const levels = [-1];
    /** @type {PageTree[]} */
    const made = nodes.map(({ frame, parent, bytes, count: allocations }, i) => {
        if (i) levels[i] = levels[parent] + 1;
        const name = i === 0 ? "" : nodeName(view, direction, frame, levels[i]);
        return { name, bytes, count: allocations, children: [] };
    });
    for (const [i, { first_child: first, children }] of nodes.entries())
        made[i].children = made.slice(first, first + children);
    return made[0];
}

/** @param {{address_high: number, address_low: number}} record */
export const addressText = ({ address_high: high, address_low: low }) =>
    high ? `0x${high.toString(16)}${low.toString(16).padStart(8, "0")}` : `0x${low.toString(16)}`;

const BLOCK_STATES = ["free", "allocated", "waiting"];

const SEGMENT_EXPANDABLE = 1;

/** The allocator's state after an event. @param {View} view @param {number | "peak"} at */
export function askBlocks(view, at) {
    const { from } = extentOf(view, { at });
    const refusal = view.sentence("map_refusal");
    if (refusal) throw new Error(`Nothing can be said about blocks: ${refusal}.`);
    view.c.replay();
    view.c.gap(from);
    const segments = view.c.segments().map(({ bytes, stream, pool, flags, ...place }) => {
        return { address: addressText(place), bytes, stream, pool, expandable: (flags & SEGMENT_EXPANDABLE) !== 0 };
    });
    const blocks = view.c.blocks().map(({ bytes, requested_bytes, state, allocation: id, ...place }) => {
        const [name, allocation] = [BLOCK_STATES[state] ?? "free", id < 0 ? null : id];
        return { address: addressText(place), bytes, requested_bytes, state: name, allocation };
    });
    return { segments, blocks };
}

/** @typedef {{name: string, from: number, to: number, peak_event: number, begin_bytes: number, peak_bytes: number,
 * end_bytes: number}} Step */

/**
 * Caches an answer for each device, because the recording does not change.
 * @template T
 * @param {(view: View) => T} ask
 * @returns {(view: View) => T}
 */
export function once(ask) {
    /** @type {WeakMap<View, Map<number, T>>} */
    const known = new WeakMap();
    return (view) => {
        const ofView = known.get(view) ?? new Map();
        known.set(view, ofView);
        const answer = ofView.get(view.device) ?? ask(view);
        ofView.set(view.device, answer);
        return answer;
    };
}

/** The steps of the loop; empty if it has none. @type {(view: View) => Step[]} */
export const askSteps = once((view) => view.c.steps().map((step) => ({ ...step, name: `#${step.number}` })));

/** @typedef {{from: number, to: number, name: string, names: string[]}} Part forward, backward, optimizer and what lies
 * around them */

/** @type {(view: View) => Part[]} */
export const askParts = once((view) =>
    view.c.parts().map(({ from, to, kind }) => {
        return { from, to, name: view.partNames(kind)[0], names: view.partNames(kind) };
    }),
);

/** When each layer ran between two events, as parts of steps; of more than `most` only one.
 * @param {View} view @param {number} first @param {number} last @param {number} most */
export function askLayers(view, first, last, most) {
    const layers = view.c.layers(first, last, most + 1);
    return layers.slice(0, layers.length > most ? 1 : most).map(({ from, to, kind, step }) => {
        const name = `layer ${step} ${view.partNames(kind)[0]}`;
        return { from, to, name, names: [name, `layer ${step}`, `${step}`] };
    });
}

/** The report's findings as `strata report --json` has them, the most urgent first. */
export const askFindings = once((view) =>
    Array.from({ length: view.c.findings() }, (_, i) => {
        const text = (/** @type {number} */ which) => view.session.decode(view.c.finding_text(i, which));
        const { site, per_bytes, per_n, bytes, count, saves_peak_bytes, from_event, to_event, at_event, own } =
            view.c.finding(i);
        /** Fields that only some kinds have. @type {Record<string, object>} */
        const more = { optimizer_temporaries: { implementation: text(8) }, history_full: { max_entries: own } };
        return {
            kind: text(0),
            severity: text(1),
            confidence: text(2),
            title: text(4),
            detail: text(5),
            action: text(7) || null,
            site: site === 0 ? null : view.session.siteText(site),
            bytes,
            count,
            per: per_bytes < 0 ? null : { unit: text(3), bytes: per_bytes, n: per_n },
            saves_peak_bytes: saves_peak_bytes < 0 ? null : saves_peak_bytes,
            ...more[text(0)],
            from_event,
            to_event,
            at_event,
            view: text(6),
        };
    }),
);

/** What stands on each finding's card besides its sentences: the kind's title, the headline, the amount, what was
 * found, and code to paste. */
export const askCards = once((view) =>
    Array.from({ length: view.c.findings() }, (_, i) => {
        const text = (/** @type {number} */ which) => view.session.decode(view.c.finding_text(i, which));
        return { kind: text(9), headline: text(10), amount: text(11), facts: text(12), code: text(13) };
    }),
);

/** The number of findings, which is known before they are found. @param {Page} page */
export const findingsCount = ({ opening, view }) => opening?.findings ?? view.c.findings();

/** The allocations of a finding's set that are alive at its event; null: it has no set.
 * @param {View} view @param {number} i */
export function findingIds(view, i) {
    const { place, count } = view.c.finding_ids(i);
    return count < 0 ? null : Array.from(new Uint32Array(view.module.memory.buffer, place, count));
}
