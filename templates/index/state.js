// What the reader of the index has chosen: one object, one change(), and the address that carries it.
import { writeAddress } from "../history.js";

/**
 * @typedef {{sort: string, falling: boolean, words: string, row: number, figure: string, axis: string, theme: string}} Choice
 * @typedef {ReturnType<typeof createState>} State
 */

/** @type {Choice} */
const BEGIN = { sort: "rank", falling: false, words: "", row: -1, figure: "peak", axis: "", theme: "" };

/** @param {Choice} choice @param {{page: string}[]} rows */
function hashOf(choice, rows) {
    const parts = new URLSearchParams();
    if (choice.sort !== BEGIN.sort || choice.falling) parts.set("sort", (choice.falling ? "-" : "") + choice.sort);
    if (choice.words) parts.set("words", choice.words);
    if (choice.row >= 0) parts.set("row", rows[choice.row].page.replace(/\.html$/, ""));
    if (choice.figure !== BEGIN.figure) parts.set("figure", choice.figure);
    if (choice.axis !== BEGIN.axis) parts.set("axis", choice.axis);
    if (choice.theme) parts.set("theme", choice.theme);
    return `#${parts}`;
}

/** @param {string} hash @param {{page: string}[]} rows @returns {Choice} */
function choiceOf(hash, rows) {
    const parts = new URLSearchParams(hash.replace(/^#/, ""));
    const sort = parts.get("sort") ?? BEGIN.sort;
    const page = parts.get("row");
    return {
        sort: sort.replace(/^-/, ""),
        falling: sort.startsWith("-"),
        words: parts.get("words") ?? "",
        row: page === null ? -1 : rows.findIndex((row) => row.page === `${page}.html`),
        figure: parts.get("figure") ?? BEGIN.figure,
        axis: parts.get("axis") ?? BEGIN.axis,
        theme: parts.get("theme") ?? "",
    };
}

/** @param {{page: string}[]} rows @param {(before: Choice, choice: Choice) => void} show draws what has changed */
export function createState(rows, show) {
    let choice = choiceOf(location.hash, rows);
    addEventListener("popstate", () => {
        const before = choice;
        choice = choiceOf(location.hash, rows);
        show(before, choice);
    });
    return {
        get: () => choice,
        /** Words are typed letter by letter: they are one step of the history. @param {Partial<Choice>} wish */
        change(wish) {
            const before = choice;
            choice = { ...choice, ...wish };
            const hash = hashOf(choice, rows);
            if (hash === hashOf(before, rows)) return;
            const typing = "words" in wish && before.words !== "";
            writeAddress(hash, typing);
            show(before, choice);
        },
    };
}
