// The device that is shown, and the state's form in the address.
import { filterOfText, filterWords, setFilter } from "./filter.js";
import {
    change, COLORINGS, EVERYTHING, fitWindow, FOCUS_KINDS, invalidate, meta, session, setBytes, setWindow, state,
    THEMES, view, wholeRange,
} from "./state.js";
import { boundedInteger, numberPair } from "./text.js";

/** @param {number} index */
export function setDevice(index) {
    view.setDevice(index);
    change({ device: index, selected: null, focus: null, moment: null, range: null, pointer: null });
    if (!view.facts.has_time) change({ axis: "events" });
    invalidate(EVERYTHING);
    setFilter({ stream: -1, pool: -1 });
    fitWindow();
}

let hashTimer = 0;

let hashWritten = "";

/** Browsers limit how often an address may change, so it follows a moment later. */
export function scheduleHash() {
    if (hashTimer === 0) hashTimer = setTimeout(writeHash, 300);
}

/** Short, but exact to a thousandth. @param {number} number */
function hashNumber(number) {
    return String(Math.round(number * 1000) / 1000);
}

/** What differs from a freshly opened page. */
export function hashOfState() {
    const hash = new URLSearchParams();
    const whole = wholeRange();
    hash.set("device", String(session.devices[state.device].ordinal));
    if (state.axis !== "events") hash.set("axis", state.axis);
    if (state.from > whole.from || state.to < whole.to)
        hash.set("window", `${hashNumber(state.from)}_${hashNumber(state.to)}`);
    if (state.top) hash.set("bytes", `${state.bottom}_${state.top}`);
    if (state.range) hash.set("range", `${hashNumber(state.range.from)}_${hashNumber(state.range.to)}`);
    if (state.moment !== null) hash.set("at", String(state.moment));
    if (state.selected !== null) hash.set("selected", String(state.selected));
    if (state.focus) hash.set("focus", `${state.focus.by}_${state.focus.id}`);
    if (state.search) hash.set("search", state.search);
    if (state.colorBy !== defaultColoring()) hash.set("color", state.colorBy);
    if (state.groupBy !== "site") hash.set("group", state.groupBy);
    const filter = filterWords(state.filter);
    if (filter) hash.set("filter", filter);
    if (state.range && state.rangeOf !== "born") hash.set("of", state.rangeOf);
    if (state.internals) hash.set("internals", "1");
    if (state.theme !== meta.theme) hash.set("theme", state.theme);
    return `#${hash}`;
}

export function writeHash() {
    hashTimer = 0;
    const hash = hashOfState();
    if (hash === hashWritten) return;
    hashWritten = hash;
    try {
        history.replaceState(null, "", hash);
    } catch {
        // A page inside of a sandboxed frame may not change its address; the view works without.
    }
}

/** What the writer of the page chose. */
function defaultColoring() {
    return COLORINGS.includes(String(meta.color)) ? String(meta.color) : "site";
}

/** @typedef {import("./state.js").Focus} Focus */

/** @param {string | null} text @returns {Focus | null} */
function focusOfText(text) {
    const [name, id] = (text ?? "").split("_");
    const by = FOCUS_KINDS.find((kind) => kind === name);
    const { stacks, frames } = session.facts;
    const most = by === "stack" ? stacks : by === "category" || by === "stream" || by === "pool" ? 65536 : frames;
    const number = boundedInteger(id ?? null, 0, most);
    return by && number !== null ? { by, id: number } : null;
}

/** Takes over a hash; whatever it holds, the state stays valid. @param {string} text */
export function readHash(text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    const wanted = session.deviceIndex(Number(hash.get("device") ?? meta.device ?? 0));
    setDevice(Math.max(wanted, 0));
    change({ axis: hash.get("axis") === "time" && view.facts.has_time ? "time" : "events" });
    fitWindow();
    const window = numberPair(hash.get("window"));
    if (window) setWindow(window.from, window.to);
    const bytes = numberPair(hash.get("bytes"));
    if (bytes) setBytes(bytes.from, bytes.to);
    setFilter(filterOfText(hash.get("filter")));
    const theme = hash.get("theme") ?? String(meta.theme ?? "auto");
    const of = hash.get("of");
    change({
        range: numberPair(hash.get("range")),
        moment: boundedInteger(hash.get("at"), -1, view.facts.events),
        theme: THEMES.includes(theme) ? theme : "auto",
        colorBy: COLORINGS.includes(hash.get("color") ?? "") ? String(hash.get("color")) : defaultColoring(),
        internals: hash.get("internals") === "1",
        rangeOf: of === "freed" || of === "peak" ? of : "born",
        groupBy: hash.get("group") === "stack" ? "stack" : "site",
        search: hash.get("search") ?? "",
        selected: boundedInteger(hash.get("selected"), 0, view.facts.allocations),
        focus: focusOfText(hash.get("focus")),
    });
}

/** Another address in the same page. */
export function followAddress() {
    if (location.hash !== hashOfState()) readHash(location.hash);
}
