// Finds the recordings that some words ask for: "rank 7", "oom", "odd", "host:node4", a kind of finding, a part of a
// name.
/** @typedef {import("./data.js").Row} Row */

function textOf(/** @type {Row} */ row) {
    const notes = row.notes.map((note) => note.title);
    const sites = row.differences.map((difference) => difference.site);
    return [row.input, row.host, row.group, row.finding, ...notes, ...sites].join("\n").toLowerCase();
}

/** Does a number match numbers as people write them, 7 or 3-9? @param {string} text @param {number | null} number */
function hasNumber(text, number) {
    const range = /^(\d+)(?:[-\u2013](\d+))?$/.exec(text);
    return range !== null && number !== null && number >= Number(range[1]) && number <= Number(range[2] ?? range[1]);
}

/** Words that stand for a property. @type {Record<string, (row: Row) => boolean>} */
const PROPERTIES = {
    oom: (row) => row.oom > 0,
    odd: (row) => row.finding !== null,
    cut: (row) => row.truncation !== null,
    copy: (row) => row.copy_of !== null,
};

/** @param {string} words @param {Row[]} rows */
export function createWords(words, rows) {
    const parts = words
        .toLowerCase()
        .replace(/\b(rank|step|host|group)s?[\s:]+/g, "$1:")
        .split(/\s+/)
        .filter(Boolean);
    /** @type {Record<string, (row: Row, value: string) => boolean>} */
    const keys = {
        rank: (row, value) => hasNumber(value, row.rank),
        step: (row, value) => hasNumber(value, row.step),
        host: (row, value) => (row.host ?? "").toLowerCase().includes(value),
        group: (row, value) => (row.group ?? "").toLowerCase().includes(value),
    };
    const tests = parts.map((part) => {
        const colon = part.indexOf(":");
        const name = part.slice(0, Math.max(0, colon));
        const key = keys[name];
        if (Object.hasOwn(keys, name)) return (/** @type {Row} */ row) => key(row, part.slice(colon + 1));
        if (Object.hasOwn(PROPERTIES, part)) return PROPERTIES[part];
        // A number is a rank; in files without a rank, a part of the name.
        if (/^\d+([-\u2013]\d+)?$/.test(part))
            return (/** @type {Row} */ row) =>
                hasNumber(part, row.rank) || (row.rank === null && row.input.includes(part));
        return (/** @type {Row} */ row) => row.notes.some((note) => note.kind === part) || textOf(row).includes(part);
    });
    return (/** @type {number} */ index) => tests.every((test) => test(rows[index]));
}
