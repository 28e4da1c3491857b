// The reader's choice in the index: one object, one change(), and the address that carries it.
import { oneOf, takeWords, writeAddress } from "../history.js";

/**
 * @typedef {{sort: string, falling: boolean, words: string, row: number, figure: string, axis: string, theme: string}}
 * Choice
 * @typedef {{sort: string[], figure: string[], axis: string[]}} Known names that the views have
 * @typedef {ReturnType<typeof createState>} State
 */

/** The name of a recording's outputs; "": of none. @param {{sidecar: string} | undefined} row */
const nameOf = (row) => row?.sidecar.replace(/\.strata\.json$/, "") ?? "";

/**
 * @param {{sidecar: string}[]} rows @param {Known} known
 * @param {number} first row that a fresh page has chosen; -1: none
 * @param {(before: Choice, choice: Choice) => void} show draws what has changed
 */
export function createState(rows, known, first, show) {
    const rowOf = (/** @type {string} */ name) => rows.findIndex((row) => nameOf(row) === name);
    const orders = [...known.sort, ...known.sort.map((name) => `-${name}`)];
    /** The words of an address: what each may be, and what it is where it is missing.
     * @type {[name: string, means: (word: string) => unknown, usual: string][]} */
    const words = [
        ["sort", oneOf(orders), "rank"],
        ["words", String, ""],
        ["row", (name) => (name === "" || rowOf(name) >= 0 ? name : null), nameOf(rows[first])],
        ["figure", oneOf(known.figure), "peak"],
        ["axis", oneOf(known.axis), ""],
        ["theme", oneOf(["light", "dark"]), ""],
    ];
    const hashOf = (/** @type {Choice} */ { sort, falling, row, ...rest }) => {
        /** @type {Record<string, string>} */
        const now = { ...rest, sort: (falling ? "-" : "") + sort, row: nameOf(rows[row]) };
        const parts = words.filter(([name, , usual]) => now[name] !== usual).map(([name]) => [name, now[name]]);
        return `#${new URLSearchParams(parts)}`;
    };
    /** @returns {{choice: Choice, misread: string[]}} what the address says, and its words that mean nothing */
    const read = () => {
        const { take, misread } = takeWords(new URLSearchParams(location.hash.slice(1)));
        const [sort, typed, row, figure, axis, theme] = words.map(([name, means, usual]) =>
            String(take(name, means) ?? usual),
        );
        const order = { sort: sort.replace("-", ""), falling: sort.startsWith("-") };
        return { choice: { ...order, words: typed, row: rowOf(row), figure, axis, theme }, misread: [...misread] };
    };
    let { choice, misread } = read();
    addEventListener("popstate", () => {
        const before = choice;
        ({ choice, misread } = read());
        show(before, choice);
    });
    return {
        get: () => choice,
        /** Words of the address that mean nothing here, until something else is chosen. */
        misread: () => misread,
        /** Changes the choice. Words are typed letter by letter, so they are one step of the history.
         * @param {Partial<Choice>} wish */
        change(wish) {
            const before = choice;
            choice = { ...choice, ...wish };
            const hash = hashOf(choice);
            if (hash === hashOf(before)) return;
            const typing = "words" in wish && before.words !== "";
            misread = [];
            writeAddress(hash, typing);
            show(before, choice);
        },
    };
}
