// The address in the browser's history, and the message about an address with unknown parts.

const MISREAD_LETTERS = 99;

/** Writes it in place of the one before, or as a view of its own; the history's state counts the views before it.
 * @param {string} address @param {boolean} inPlace */
export function writeAddress(address, inPlace) {
    try {
        if (inPlace) history.replaceState(history.state, "", address);
        else history.pushState((history.state ?? 0) + 1, "", address);
    } catch {
        // A page inside of a sandboxed frame may not change its address; the view works without.
    }
}

/** To the view before; unlike the browser's own Back, it never leaves the page. */
export function viewBack() {
    if (history.state > 0) history.back();
}

/** Names words of an address that mean nothing; "" where there are none. @param {string[]} words */
export function misreadSentence(words) {
    const names = words.join(", ");
    return (
        names &&
        `Not understood of this address: ${names.slice(0, MISREAD_LETTERS)}` +
            `${names.length > MISREAD_LETTERS ? "\u2026" : ""}.`
    );
}
