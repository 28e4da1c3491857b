// What the page of a difference shows, in its address: a link shows the same to somebody else, and a page that is loaded again
// is where it was. What is as it was at first is left out.
import { writeAddress } from "./history.js";

/**
 * @typedef {{show: string, tab: string, align: string, linked: boolean, color: string, atCursors: boolean, from: number, to: number, cursor: number | null, focus: string | null, filter: string}} Shown
 * from, to and cursor are events of A; what is not known is taken as it is
 */

const WRITE_AFTER_MS = 300;

/** Events to three decimals, as text. @param {number} number */
const short = (number) => String(Math.round(number * 1000) / 1000);

/** @param {Shown} shown @param {Shown} first */
export function hashOf(shown, first) {
    const hash = new URLSearchParams();
    for (const key of /** @type {const} */ (["show", "tab", "align", "color", "focus", "filter"])) if (shown[key] !== first[key]) hash.set(key, shown[key] ?? "");
    if (!shown.linked) hash.set("linked", "0");
    if (shown.atCursors) hash.set("at", "cursors");
    if (shown.cursor !== null) hash.set("cursor", short(shown.cursor));
    if (Math.abs(shown.from - first.from) > 0.5 || Math.abs(shown.to - first.to) > 0.5) {
        hash.set("from", short(shown.from));
        hash.set("to", short(shown.to));
    }
    return hash.toString();
}

/** @param {string} text @param {Shown} first @returns {Shown} */
export function shownOf(text, first) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    const number = (/** @type {string} */ name) => (/^-?\d{1,12}(\.\d+)?$/.test(hash.get(name) ?? "") ? Number(hash.get(name)) : null);
    const words = Object.fromEntries(["show", "tab", "align", "color", "focus", "filter"].map((key) => [key, hash.get(key) ?? first[/** @type {keyof Shown} */ (key)]]));
    const [from, to] = [number("from"), number("to")];
    const window = from !== null && to !== null && to > from ? { from, to } : { from: first.from, to: first.to };
    return /** @type {Shown} */ ({ ...words, ...window, linked: hash.get("linked") !== "0", atCursors: hash.get("at") === "cursors", cursor: number("cursor") });
}

/** Reads the address, now and when somebody changes it, and writes it when `changed` was called. @param {() => Shown} shown @param {(wanted: Shown) => Promise<unknown>} show */
export async function startAddress(shown, show) {
    const first = shown();
    let [timer, written] = [0, location.hash];
    const read = () => show(shownOf(location.hash, first));
    if (location.hash) await read();
    addEventListener("hashchange", () => location.hash !== written && read());
    const write = () => {
        timer = 0;
        const text = hashOf(shown(), first);
        written = text === "" ? "" : `#${text}`;
        if (written !== location.hash) writeAddress(written || location.pathname + location.search, true);
    };
    return () => {
        if (timer === 0) timer = setTimeout(write, WRITE_AFTER_MS);
    };
}
