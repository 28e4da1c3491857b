// The memory of two recordings in rows: the program's rows at the moments that it compared, or sums at any two moments
// by the names that the program matched. The rows add up to the difference to the byte.
import { askSums, SLOTS } from "../questions.js";

/** @typedef {{site?: string, category?: string, a_site?: string, a_bytes: number, b_bytes: number, a_count: number,
 * b_count: number, match?: string}} FigureRow */
/** @typedef {{file: string, fingerprint: string, device: number, event: number}} FigureSide */
/** @typedef {{a: FigureSide, b: FigureSide, aligned_by: string, filter?: string, group?: string, a_bytes: number,
 * b_bytes: number, delta_bytes: number, peak_delta_bytes: number, causes: {sentence: string, site: string, bytes:
 * number,
 * kind: string, sites: number}[], sites: FigureRow[], categories: FigureRow[], matches: {site: string, a_site:
 * string}[]}} Figures what the verb found, as `strata diff --json` has it */
/** @typedef {{name: string, before: string, a: number, b: number, aCount: number, bCount: number}} Row */
/** @typedef {{view: View, about: About}} End */

/** Rows between two turns of the browser. */
const ROWS_AT_ONCE = 1000;

/**
 * Sorts parts of a list, which are then merged.
 * @template T
 * @param {T[]} all
 * @param {(x: T, y: T) => number} order
 * @returns {Generator<undefined, T[]>}
 */
function* sorted(all, order) {
    if (all.length <= 4 * ROWS_AT_ONCE) return all.sort(order);
    const middle = all.length >> 1;
    const lower = yield* sorted(all.slice(0, middle), order);
    yield;
    const upper = yield* sorted(all.slice(middle), order);
    const merged = [];
    for (let i = 0, j = 0; merged.length < all.length;) {
        const isLower = j === upper.length || (i < lower.length && order(lower[i], upper[j]) <= 0);
        merged.push(isLower ? lower[i++] : upper[j++]);
        if (merged.length % ROWS_AT_ONCE === 0) yield;
    }
    return merged;
}

/** By falling size of the difference, then falling bytes. @param {Row} x @param {Row} y */
const byDifference = (x, y) =>
    Math.abs(y.b - y.a) - Math.abs(x.b - x.a) || y.b + y.a - x.b - x.a || (x.name < y.name ? -1 : 1);

/** The verb's rows, unchanged. @param {FigureRow[]} rows @returns {Row[]} */
export function rowsOfFigures(rows) {
    return rows.map((row) => ({
        name: row.site ?? (row.category ?? "").replace(/_/g, " "),
        before: row.a_site ?? "",
        a: row.a_bytes,
        b: row.b_bytes,
        aCount: row.a_count,
        bCount: row.b_count,
    }));
}

/** Rows of any two ends. A call site of A with another name in B goes to the row of B's name. @param {End} a
 * @param {End} b @param {string} by @param {Map<string, string>} renames @returns {Generator<undefined, Row[]>} */
export function* rowsAt(a, b, by, renames) {
    /** @type {Map<string, Row>} */
    const rows = new Map();
    const rowOf = (/** @type {string} */ name) => {
        const row = rows.get(name) ?? { name, before: "", a: 0, b: 0, aCount: 0, bCount: 0 };
        rows.set(name, row);
        return row;
    };
    const text = (/** @type {string} */ name) => (by === "category" ? name.replace(/_/g, " ") : name);
    const ofA = askSums(a.view, SLOTS.list, a.about, by);
    for (let i = 0; i < ofA.groups; i++) {
        const [name, { bytes, count }] = [ofA.name(i), ofA.row(i)];
        const row = rowOf(text((by === "site" && renames.get(name)) || name));
        if (row.name !== text(name)) row.before = name;
        row.a += bytes;
        row.aCount += count;
        if (i % ROWS_AT_ONCE === 0) yield;
    }
    const ofB = askSums(b.view, SLOTS.list, b.about, by);
    for (let i = 0; i < ofB.groups; i++) {
        const row = rowOf(text(ofB.name(i)));
        row.b += ofB.row(i).bytes;
        row.bCount += ofB.row(i).count;
        if (i % ROWS_AT_ONCE === 0) yield;
    }
    return yield* sorted([...rows.values()], byDifference);
}
