// The address: its words, its place in the browser's history, and the message about words that mean nothing.

const MISREAD_LETTERS = 99;

/** Writes an address in place of the previous one, or as a view of its own; the history's state counts the views before
 * it. @param {string} address @param {boolean} inPlace */
export function writeAddress(address, inPlace) {
    try {
        if (inPlace) history.replaceState(history.state, "", address);
        else history.pushState((history.state ?? 0) + 1, "", address);
    } catch {
        // A page inside of a sandboxed frame may not change its address; the view works without that.
    }
}

/** Accepts one of these words. @param {readonly string[]} words */
export const oneOf = (words) => (/** @type {string} */ text) => (words.includes(text) ? text : null);

/** @typedef {<T>(name: string, meaning: (text: string) => T | null) => T | null} Take what a word means; null: it is
 * not there, or means nothing here */

/** Takes words out of an address; those that nobody understands are left in `misread`. @param {URLSearchParams} hash */
export function takeWords(hash) {
    const misread = new Set(hash.keys());
    /** @type {Take} */
    const take = (name, meaning) => {
        // If a word is there several times, the last one counts.
        const last = hash.getAll(name).at(-1);
        const found = last === undefined ? null : meaning(last);
        if (found !== null) misread.delete(name);
        return found;
    };
    return { take, misread };
}

/** Goes to the view before. Unlike the browser's own Back, this never leaves the page. */
export function viewBack() {
    if (history.state > 0) history.back();
}

/** Names words of an address that mean nothing; "" if there are none. @param {string[]} words */
export function misreadSentence(words) {
    const names = words.join(", ");
    return (
        names &&
        `Not understood of this address: ${names.slice(0, MISREAD_LETTERS)}` +
            `${names.length > MISREAD_LETTERS ? "\u2026" : ""}.`
    );
}
