// The one state of the page, what may be done with it, and its form in the URL's hash. Whoever changes the state calls
// invalidate() with the parts that show it; the drawing itself happens once per animation frame (draw() in page.js).
/** @typedef {import("./host.js").Host} Host */

import { emptyFilter, fillFilterMenus, filterOfText, filterToText, kept, setFilter } from "./filter.js";
import { plot } from "./plot.js";
import { formatDuration, formatEvent } from "./text.js";

/** Parts of the page that can need a new drawing. */
export const TIMELINE = 1;
export const OVERLAY = 2;
export const MINIMAP = 4;
export const LIST = 8;
export const DETAIL = 16;
export const HEADER = 32;
export const LEGEND = 64;
export const EVERYTHING = 127;

export const COLORINGS = ["site", "size", "age", "stream", "pool", "category"];
export const THEMES = ["auto", "light", "dark"];

/** Narrower windows would show nothing but one state of the memory. */
const MIN_WINDOW_EVENTS = 2;
const MIN_WINDOW_US = 2;
const MIN_WINDOW_BYTES = 4096;

/** @typedef {{by: "site" | "stack", id: number}} Focus what is highlighted: a call site (frame) or a stack */

export const state = {
    /** Index of the device. */
    device: 0,
    /** @type {"events" | "time"} */
    axis: "events",
    /** Window along the axis, in events or in microseconds since the first event. */
    from: 0,
    to: 1,
    /** Window of bytes; top 0: as high as the whole run needs. */
    bottom: 0,
    top: 0,
    colorBy: "site",
    /** @type {"site" | "stack"} */
    groupBy: "site",
    theme: "auto",
    search: "",
    /** Pinned allocation. @type {number | null} */
    selected: null,
    /** @type {Focus | null} */
    focus: null,
    /** Event that the list is held at; null: the peak. @type {number | null} */
    moment: null,
    /** What the list says about the selected range. @type {"born" | "freed" | "peak"} */
    rangeOf: "born",
    /** @type {PageFilter} */
    filter: { leastBytes: "", mostBytes: "", leastAge: "", mostAge: "", stream: -1, pool: -1, atPeak: false, atEnd: false, own: false },
    /** Internal phases are shown in the lane. */
    internals: false,
    /** Selected range along the axis. @type {{from: number, to: number} | null} */
    range: null,
    /** CSS pixel of the plot under the pointer. @type {{x: number, y: number} | null} */
    pointer: null,
    /** The same while it is over the lane of phases. @type {{x: number, y: number} | null} */
    lanePointer: null,
};

/** Set once the data is there; nothing below runs before. */
export let host = /** @type {Host} */ (/** @type {unknown} */ (null));
/** Facts that the writer of the page added. @type {Record<string, unknown>} */
export let meta = {};

export const frame = { parts: 0, request: 0, draw: () => {} };

/** The recording is there. @param {Host} loaded @param {() => void} draw what draws what is out of date */
export function startState(loaded, draw) {
    host = loaded;
    meta = loaded.meta();
    frame.draw = draw;
}

/** Draws at once what is out of date, so that a script reads what it has set. */
export function flush() {
    if (frame.parts) frame.draw();
}

/** Asks for a new drawing of some parts with the next frame. @param {number} parts */
export function invalidate(parts) {
    frame.parts |= parts;
    if (frame.request === 0) frame.request = requestAnimationFrame(frame.draw);
    if (parts !== OVERLAY) scheduleHash();
}

/** Memory of the device: what the person who made the page said, else what the file says; 0: unknown. */
export function capacityBytes() {
    return Number(meta.capacity ?? 0) || host.c.page_device_capacity(state.device);
}

/** Paper is light. */
export let printing = false;

/** @param {boolean} begins */
export function setPaper(begins) {
    printing = begins;
}

export function isDark() {
    if (printing) return false;
    if (state.theme !== "auto") return state.theme === "dark";
    return matchMedia("(prefers-color-scheme: dark)").matches;
}

/* ---- positions: events (with fractions) and microseconds ---- */

/** @param {number} event */
export function usOfEvent(event) {
    const whole = Math.floor(event);
    const begin = host.c.page_event_us(whole);
    return event === whole ? begin : begin + (host.c.page_event_us(whole + 1) - begin) * (event - whole);
}

/** @param {number} us */
function eventOfUs(us) {
    const event = host.c.page_event_at_us(us);
    const begin = host.c.page_event_us(event);
    const end = host.c.page_event_us(event + 1);
    return end > begin ? event + Math.min(1, Math.max(0, (us - begin) / (end - begin))) : event;
}

/** @param {number} event */
export function axisOfEvent(event) {
    return state.axis === "time" ? usOfEvent(event) : event;
}

/** @param {number} position along the axis */
export function eventOfAxis(position) {
    return state.axis === "time" ? eventOfUs(position) : position;
}

/** 0 events, 1 time, as the module counts them. */
export function axisNumber() {
    return state.axis === "time" ? 1 : 0;
}

/** The whole run along the current axis. */
export function wholeRange() {
    return { from: host.c.page_fit_from(axisNumber()), to: host.c.page_fit_to(axisNumber()) };
}

/** Top of the y axis for the whole run of a device. Every point of an outline asks for it, and the module looks at all moments. */
const headroom = { device: -1, bytes: 1 };

/** Highest the y axis goes: what the filter leaves has a scale of its own where it would be flat otherwise. */
function mostBytes() {
    if (headroom.device !== state.device) {
        headroom.device = state.device;
        headroom.bytes = host.c.page_headroom(-1, host.c.page_events(), capacityBytes());
    }
    return kept.top || headroom.bytes;
}

export function topBytes() {
    return state.top || mostBytes();
}

/** "event 18,204 (12.3 s)". @param {number} event */
export function momentText(event) {
    if (event < 0 || !host.c.page_has_time()) return formatEvent(event);
    return `${formatEvent(event)} (${formatDuration(host.c.page_event_us(event))})`;
}

/** The event whose state the list shows when nothing is hovered. */
export function heldMoment() {
    return state.moment ?? host.c.page_peak_event();
}

/* ---- the window ---- */

/** Moves and clips the window so that it lies inside the run. @param {number} from @param {number} to */
export function setWindow(from, to) {
    const whole = wholeRange();
    const least = Math.min(state.axis === "time" ? MIN_WINDOW_US : MIN_WINDOW_EVENTS, whole.to - whole.from);
    let width = Math.min(Math.max(to - from, least), whole.to - whole.from);
    if (!Number.isFinite(width)) width = whole.to - whole.from;
    const middle = Number.isFinite(from + to) ? (from + to) / 2 : whole.from;
    state.from = Math.min(Math.max(middle - width / 2, whole.from), whole.to - width);
    state.to = state.from + width;
    invalidate(TIMELINE | OVERLAY);
}

export function fitWindow() {
    const whole = wholeRange();
    state.bottom = 0;
    state.top = 0;
    setWindow(whole.from, whole.to);
}

/** @param {number} factor above 1: closer @param {number} at 0..1 along the window */
export function zoomWindow(factor, at) {
    const middle = state.from + (state.to - state.from) * at;
    const width = (state.to - state.from) / factor;
    setWindow(middle - width * at, middle + width * (1 - at));
}

/** @param {number} share of the window's width */
export function panWindow(share) {
    const shift = (state.to - state.from) * share;
    setWindow(state.from + shift, state.to + shift);
}

/** Keeps the bytes inside of [0, headroom]. @param {number} bottom @param {number} top */
export function setBytes(bottom, top) {
    const most = mostBytes();
    const range = Math.min(Math.max(top - bottom, Math.min(MIN_WINDOW_BYTES, most)), most);
    state.bottom = Math.round(Math.min(Math.max(bottom, 0), most - range));
    state.top = range >= most ? 0 : Math.round(state.bottom + range);
    invalidate(TIMELINE | OVERLAY);
}

/** `v`: the bytes up to the highest moment of the window, as a PNG of it has them, or all of them again. */
export function fitBytes() {
    const first = Math.max(-1, Math.floor(eventOfAxis(state.from)));
    const end = Math.max(first + 1, Math.ceil(eventOfAxis(state.to)));
    if (state.top) setBytes(0, mostBytes());
    else if (kept.active) setBytes(0, Math.max(...host.curve(axisNumber(), state.from, state.to, plot.timeline.width, true)) * 25 / 24);
    else setBytes(0, host.c.page_headroom(first, end, capacityBytes()));
}

/** @param {number} factor above 1: closer @param {number} at 0..1 from the bottom */
export function zoomBytes(factor, at) {
    const range = topBytes() - state.bottom;
    const middle = state.bottom + range * at;
    setBytes(middle - (range / factor) * at, middle + (range / factor) * (1 - at));
}

/** `f`: the range, else the pinned allocation's life, else everything. */
export function fitSelection() {
    if (state.range) {
        setWindow(state.range.from, state.range.to);
        state.range = null;
    } else if (state.selected !== null) {
        const from = axisOfEvent(host.c.page_life_birth(state.selected));
        const to = axisOfEvent(host.c.page_life_death(state.selected));
        const margin = (to - from) * 0.1;
        setWindow(from - margin, to + margin);
    } else {
        fitWindow();
    }
}

/** Brings a moment into the window and holds the list there. @param {number} event */
export function goToEvent(event) {
    state.moment = event === host.c.page_peak_event() ? null : event;
    const whole = wholeRange();
    const width = state.to - state.from;
    const at = axisOfEvent(event + 0.5);
    if (width >= (whole.to - whole.from) * 0.999) setWindow(at - width * 0.05, at + width * 0.05);
    else if (at < state.from || at > state.to) setWindow(at - width / 2, at + width / 2);
    invalidate(LIST | DETAIL | OVERLAY);
}

/** @param {"events" | "time"} axis */
export function setAxis(axis) {
    if (axis === state.axis || (axis === "time" && !host.c.page_has_time())) return;
    const from = eventOfAxis(state.from);
    const to = eventOfAxis(state.to);
    const whole = wholeRange();
    const all = state.from <= whole.from && state.to >= whole.to;
    state.axis = axis;
    state.range = null;
    const fit = wholeRange();
    if (all) setWindow(fit.from, fit.to);
    else setWindow(axisOfEvent(from), axisOfEvent(to));
    invalidate(EVERYTHING);
}

/** @param {number} index */
export function setDevice(index) {
    const code = host.c.page_device(index);
    if (code !== 0) throw new Error("There is not enough memory in this tab for this device.");
    state.device = index;
    state.selected = null;
    state.focus = null;
    state.moment = null;
    state.range = null;
    state.pointer = null;
    if (!host.c.page_has_time()) state.axis = "events";
    fillFilterMenus();
    setFilter({ stream: -1, pool: -1 });
    fitWindow();
    invalidate(EVERYTHING);
}

/* ---- what is pinned and highlighted ---- */

/** Pins an allocation and highlights its call site. @param {number | null} life */
export function select(life) {
    state.selected = life;
    const site = life === null ? 0 : host.c.page_stack_site(host.c.page_life_stack(life)) >>> 0;
    state.focus = life === null || site === 0 ? null : { by: "site", id: site };
    invalidate(TIMELINE | OVERLAY | LIST | DETAIL);
}

/** Highlights a row of the list, or nothing any more when it was. @param {Focus} focus */
export function toggleFocus(focus) {
    const same = state.focus?.by === focus.by && state.focus.id === focus.id;
    state.focus = same && state.selected === null ? null : focus;
    state.selected = null;
    invalidate(TIMELINE | OVERLAY | LIST | DETAIL);
}

/* ---- the hash ---- */

let hashTimer = 0;
export let hashWritten = "";

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
    hash.set("device", String(host.c.page_device_ordinal(state.device)));
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
    const filter = filterToText(state.filter);
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

/** Two numbers "a_b" in rising order, or null. @param {string | null} text */
function numberPair(text) {
    const [from, to] = (text ?? "").split("_").map(Number);
    return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from, to } : null;
}

/** Integer of [least, most), or null for anything else. @param {string | null} text @param {number} least @param {number} most */
export function boundedInteger(text, least, most) {
    const number = text === null || text === "" ? NaN : Number(text);
    return Number.isInteger(number) && number >= least && number < most ? number : null;
}

/** What the writer of the page chose. */
function defaultColoring() {
    return COLORINGS.includes(String(meta.color)) ? String(meta.color) : "site";
}

/** Index of the device with an ordinal, -1: none. @param {number} ordinal */
export function deviceIndex(ordinal) {
    const count = host.c.page_device_count();
    for (let i = 0; i < count; i++) if (host.c.page_device_ordinal(i) === ordinal) return i;
    return -1;
}

/** @param {string | null} text @returns {Focus | null} */
function focusOfText(text) {
    const [by, id] = (text ?? "").split("_");
    const most = by === "stack" ? host.c.page_stack_count() : host.c.page_frame_count();
    const number = boundedInteger(id ?? null, 0, most);
    return number !== null && (by === "site" || by === "stack") ? { by, id: number } : null;
}

/** Takes over a hash; whatever it holds, the state stays valid. @param {string} text */
export function readHash(text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    const wanted = hash.has("device") ? deviceIndex(Number(hash.get("device"))) : deviceIndex(Number(meta.device ?? 0));
    setDevice(Math.max(wanted, 0));
    state.axis = "events";
    if (hash.get("axis") === "time" && host.c.page_has_time()) state.axis = "time";
    fitWindow();
    const window = numberPair(hash.get("window"));
    if (window) setWindow(window.from, window.to);
    const bytes = numberPair(hash.get("bytes"));
    if (bytes) setBytes(bytes.from, bytes.to);
    state.range = numberPair(hash.get("range"));
    state.moment = boundedInteger(hash.get("at"), -1, host.c.page_events());
    const theme = hash.get("theme") ?? String(meta.theme ?? "auto");
    state.theme = THEMES.includes(theme) ? theme : "auto";
    state.colorBy = COLORINGS.includes(hash.get("color") ?? "") ? String(hash.get("color")) : defaultColoring();
    state.internals = hash.get("internals") === "1";
    state.rangeOf = hash.get("of") === "freed" ? "freed" : hash.get("of") === "peak" ? "peak" : "born";
    setFilter({ ...emptyFilter(), ...filterOfText(hash.get("filter")) });
    state.groupBy = hash.get("group") === "stack" ? "stack" : "site";
    state.search = hash.get("search") ?? "";
    state.selected = boundedInteger(hash.get("selected"), 0, host.c.page_lives());
    state.focus = focusOfText(hash.get("focus"));
    invalidate(EVERYTHING);
}
