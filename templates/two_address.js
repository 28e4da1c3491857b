// What the page of a difference shows, in its address: a link shows the same to somebody else, and a page that is
// loaded again is where it was. What is as it was at first is left out.
import { misreadSentence, writeAddress } from "./history.js";

/**
 * @typedef {{show: string, tab: string, align: string, linked: boolean, color: string, atCursors: boolean, from:
 * number, to: number, cursor: number | null, focus: string | null, filter: string}} Shown
 * from, to and cursor are events of A; what is not known is taken as it is
 */

const WRITE_AFTER_MS = 300;

/** Events to three decimals, as text. @param {number} number */
const short = (number) => String(Math.round(number * 1000) / 1000);

/** Words that stand in the address as they are. */
const PLAIN = /** @type {const} */ (["show", "tab", "align", "color", "focus", "filter"]);

/** @param {Shown} shown @param {Shown} first */
export function hashOf(shown, first) {
    const hash = new URLSearchParams();
    for (const key of PLAIN) if (shown[key] !== first[key]) hash.set(key, shown[key] ?? "");
    if (!shown.linked) hash.set("linked", "0");
    if (shown.atCursors) hash.set("at", "cursors");
    if (shown.cursor !== null) hash.set("cursor", short(shown.cursor));
    if (Math.abs(shown.from - first.from) > 0.5 || Math.abs(shown.to - first.to) > 0.5) {
        hash.set("from", short(shown.from));
        hash.set("to", short(shown.to));
    }
    return hash.toString();
}

/** A number of the address; null: there is none. @param {URLSearchParams} hash @param {string} name */
const numberOf = (hash, name) => (/^-?\d{1,12}(\.\d+)?$/.test(hash.get(name) ?? "") ? Number(hash.get(name)) : null);

/** @param {URLSearchParams} hash */
function windowOf(hash) {
    const [from, to] = [numberOf(hash, "from"), numberOf(hash, "to")];
    return from !== null && to !== null && to > from ? { from, to } : null;
}

/** @param {URLSearchParams} hash @param {Shown} first @returns {Shown} */
function shownOf(hash, first) {
    const words = Object.fromEntries(PLAIN.map((key) => [key, hash.get(key) ?? first[key]]));
    const { from, to } = windowOf(hash) ?? first;
    return /** @type {Shown} */ ({
        ...words,
        from,
        to,
        linked: hash.get("linked") !== "0",
        atCursors: hash.get("at") === "cursors",
        cursor: numberOf(hash, "cursor"),
    });
}

/** Words of an address that mean nothing here. @param {URLSearchParams} hash @param {Shown} now what came of it */
function misreadOf(hash, now) {
    /** @type {Record<string, (word: string) => boolean>} */
    const understood = {
        ...Object.fromEntries(PLAIN.map((key) => [key, (word) => word === (now[key] ?? "")])),
        // A filter that cannot be read has a sentence of its own.
        filter: () => true,
        from: () => windowOf(hash) !== null,
        to: () => windowOf(hash) !== null,
        cursor: () => numberOf(hash, "cursor") !== null,
        linked: (word) => word === "0" || word === "1",
        at: (word) => word === "cursors",
    };
    return [...new Set(hash.keys())].filter(
        (name) => !(Object.hasOwn(understood, name) && understood[name](hash.get(name) ?? "")),
    );
}

/**
 * Reads the address, now and when somebody changes it, and writes it when `changed` was called.
 * @param {() => Shown} shown
 * @param {(wanted: Shown) => Promise<unknown>} show
 * @param {(sentence: string) => void} say what of the address means nothing; "" where that is gone
 */
export async function startAddress(shown, show, say) {
    const first = shown();
    let [timer, written, cameOfIt] = [0, location.hash, ""];
    const read = async () => {
        const hash = new URLSearchParams(location.hash.replace(/^#/, ""));
        await show(shownOf(hash, first));
        const now = shown();
        cameOfIt = hashOf(now, first);
        say(misreadSentence(misreadOf(hash, now)));
    };
    if (location.hash) await read();
    addEventListener("hashchange", () => location.hash !== written && read());
    const write = () => {
        timer = 0;
        const text = hashOf(shown(), first);
        // What is said of an address goes with it.
        if (text !== cameOfIt) say("");
        written = text === "" ? "" : `#${text}`;
        if (written !== location.hash) writeAddress(written || location.pathname + location.search, true);
    };
    return () => {
        if (timer === 0) timer = setTimeout(write, WRITE_AFTER_MS);
    };
}
