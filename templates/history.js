// The address in the browser's history, and the message about an address with unknown parts.

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
