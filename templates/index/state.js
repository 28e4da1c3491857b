// The reader's choice in the index: one object, one change(), and the address that carries it.
import { writeAddress } from "../history.js";

/**
 * @typedef {{sort: string, falling: boolean, words: string, row: number, figure: string, axis: string, theme: string}}
 * Choice
 * @typedef {{sort: string[], figure: string[], axis: string[]}} Known names that the views have
 * @typedef {ReturnType<typeof createState>} State
 */

/** @type {Choice} */
const BEGIN = { sort: "rank", falling: false, words: "", row: -1, figure: "peak", axis: "", theme: "" };

/** The ending of a recording's outputs. */
const ENDING = /\.strata\.json$/;

/** A value that no page has as its name. */
const NO_WORD = "\n";

/** @param {Choice} choice @param {{sidecar: string}[]} rows @param {number} first row of a fresh page */
function hashOf(choice, rows, first) {
    const parts = new URLSearchParams();
    if (choice.sort !== BEGIN.sort || choice.falling) parts.set("sort", (choice.falling ? "-" : "") + choice.sort);
    if (choice.words) parts.set("words", choice.words);
    if (choice.row !== first) parts.set("row", rows[choice.row]?.sidecar.replace(ENDING, "") ?? "");
    if (choice.figure !== BEGIN.figure) parts.set("figure", choice.figure);
    if (choice.axis !== BEGIN.axis) parts.set("axis", choice.axis);
    if (choice.theme) parts.set("theme", choice.theme);
    return `#${parts}`;
}

/**
 * Reads the choice from an address, and the words that mean nothing here.
 * @param {string} hash @param {{sidecar: string}[]} rows @param {Known} known @param {number} first
 * @returns {{choice: Choice, misread: string[]}}
 */
function choiceOf(hash, rows, known, first) {
    const parts = new URLSearchParams(hash.replace(/^#/, ""));
    const misread = new Set(parts.keys());
    /** @param {string} name @param {string} usual @param {(word: string) => boolean} means */
    const take = (name, usual, means) => {
        const word = parts.get(name);
        if (word === null || !means(word)) return usual;
        misread.delete(name);
        return word;
    };
    const oneOf = (/** @type {readonly string[]} */ words) => (/** @type {string} */ word) => words.includes(word);
    const rowOf = (/** @type {string} */ name) => rows.findIndex((row) => row.sidecar.replace(ENDING, "") === name);
    const sort = take("sort", BEGIN.sort, (word) => known.sort.includes(word.replace(/^-/, "")));
    const row = take("row", NO_WORD, (word) => word === "" || rowOf(word) >= 0);
    const choice = {
        sort: sort.replace(/^-/, ""),
        falling: sort.startsWith("-"),
        words: take("words", BEGIN.words, () => true),
        row: row === NO_WORD ? first : rowOf(row),
        figure: take("figure", BEGIN.figure, oneOf(known.figure)),
        axis: take("axis", BEGIN.axis, oneOf(known.axis)),
        theme: take("theme", BEGIN.theme, oneOf(["light", "dark"])),
    };
    return { choice, misread: [...misread] };
}

/**
 * @param {{sidecar: string}[]} rows @param {Known} known
 * @param {number} first row that a fresh page has chosen; -1: none
 * @param {(before: Choice, choice: Choice) => void} show draws what has changed
 */
export function createState(rows, known, first, show) {
    let { choice, misread } = choiceOf(location.hash, rows, known, first);
    addEventListener("popstate", () => {
        const before = choice;
        ({ choice, misread } = choiceOf(location.hash, rows, known, first));
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
            const hash = hashOf(choice, rows, first);
            if (hash === hashOf(before, rows, first)) return;
            const typing = "words" in wish && before.words !== "";
            misread = [];
            writeAddress(hash, typing);
            show(before, choice);
        },
    };
}
