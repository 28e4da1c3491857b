// The device that is shown, and the state's form in the address.
import { filterOfText, filterWords, setFilter } from "./filter.js";
import { writeAddress } from "./history.js";
import { askFindings, GROUPINGS, LIST_GROUPINGS, ORDERS, QUESTIONS, TREES, WHATS } from "./questions.js";
import {
    axisOfEvent, change, COLORINGS, EVERYTHING, fitWindow, FOCUS_KINDS, invalidate, MAP_ORDERS, meta, rangeInRun, session, setAxis, setBytes, setWindow,
    state, THEMES, timedViews, view, VIEWINGS, wholeRange,
} from "./state.js";
import { boundedInteger, numberPair } from "./text.js";

/** Another device. Beside the others, what is shown of time stays. @param {number} index */
export function setDevice(index) {
    const before = view.facts.first_us;
    view.setDevice(index);
    const shift = before - view.facts.first_us;
    const moved = (/** @type {{from: number, to: number}} */ { from, to }) => ({ from: from + shift, to: to + shift });
    const window = moved(state);
    const range = state.all && state.range ? moved(state.range) : null;
    change({ device: index, selected: null, focus: null, moment: null, range, pointer: null, marks: [], bottom: 0, top: 0 });
    if (!view.facts.has_time) change({ axis: "events", all: false });
    invalidate(EVERYTHING);
    setFilter({ stream: -1, pool: -1 });
    if (state.all) setWindow(window.from, window.to);
    else fitWindow();
}

/** All devices that have times on one axis, one below the other, or the one that is in hand alone. @param {boolean} all */
export function showAll(all) {
    if (all === state.all || (all && !(view.facts.has_time && timedViews().size > 1))) return;
    if (all) setAxis("time");
    change({ all });
    fitWindow();
}

/** Letters of a mark's note. */
export const NOTE_MOST = 60;

let hashTimer = 0;

let hashWritten = "";

/** When the address was written last. */
let written = 0;

/** Changes nearer to each other than this are one step of the history. */
const HISTORY_PAUSE_MS = 1000;

/** Browsers limit how often an address may change, so it follows a moment later. */
export function scheduleHash() {
    if (hashTimer === 0) hashTimer = setTimeout(writeHash, 300);
}

/** Short, but exact to a thousandth. @param {number} number */
function hashNumber(number) {
    return String(Math.round(number * 1000) / 1000);
}

/** "120~before the loss,900": the marks' events and notes. */
function marksText() {
    return state.marks.map(({ event, note }) => `${event}${note ? `~${note.replace(/[,~]/g, " ")}` : ""}`).join(",");
}

/** The marks of an address; older ones have but the moments that are compared. @param {URLSearchParams} hash */
function marksOfHash(hash) {
    const ends = ["a", "b"].map((name) => /^e(-?\d{1,10})$/.exec(hash.get(name) ?? "")?.[1]).filter(Boolean).join(",");
    return (hash.get("marks") ?? ends).split(",").slice(0, 3).flatMap((text) => {
        const [event, note] = text.split("~");
        const number = boundedInteger(event, -1, view.facts.events);
        return number === null ? [] : [{ event: number, note: (note ?? "").slice(0, NOTE_MOST) }];
    });
}

/** What differs from a freshly opened page. */
export function hashOfState() {
    const hash = new URLSearchParams();
    const whole = wholeRange();
    hash.set("device", String(session.devices[state.device].ordinal));
    if (state.all) hash.set("all", "1");
    else if (state.axis !== "events") hash.set("axis", state.axis);
    if (state.from > whole.from || state.to < whole.to)
        hash.set("window", `${hashNumber(state.from)}_${hashNumber(state.to)}`);
    if (state.top) hash.set("bytes", `${state.bottom}_${state.top}`);
    if (state.range) hash.set("range", `${hashNumber(state.range.from)}_${hashNumber(state.range.to)}`);
    if (state.moment !== null) hash.set("at", String(state.moment));
    else if (view.facts.ooms > 0) hash.set("at", String(view.facts.peak_event));
    if (state.selected !== null) hash.set("selected", String(state.selected));
    if (state.focus) hash.set("focus", `${state.focus.by}_${state.focus.id}`);
    if (state.search) hash.set("search", state.search);
    if (state.search && state.only) hash.set("only", "1");
    if (state.order !== "-bytes") hash.set("order", state.order);
    if (state.colorBy !== defaultColoring()) hash.set("color", state.colorBy);
    if (state.viewBy !== "age") hash.set("view", state.viewBy);
    if (state.groupBy !== "site") hash.set("group", state.groupBy);
    const filter = filterWords(state.filter);
    if (filter) hash.set("filter", filter);
    if (state.range && state.rangeOf !== "allocated") hash.set("of", state.rangeOf);
    if (state.tab !== firstTab()) hash.set("tab", state.tab);
    if (state.treeDirection !== "callees") hash.set("tree", state.treeDirection);
    if (state.treeFrom) hash.set("from", String(state.treeFrom));
    if (state.treeDepth !== 9) hash.set("depth", String(state.treeDepth));
    if (state.treeChange) hash.set("change", "1");
    if (state.sortBy !== "bytes") hash.set("sort", state.sortBy);
    if (state.compareA) hash.set("a", state.compareA);
    if (state.compareB) hash.set("b", state.compareB);
    if (state.compareBy !== "site") hash.set("by", state.compareBy);
    if (state.compareWhat !== "peak") hash.set("what", state.compareWhat);
    if (state.marks.length) hash.set("marks", marksText());
    if (state.mapOpen) hash.set("map", state.mapOrder);
    if (state.laneSize) hash.set("lane", String(state.laneSize));
    if (state.internals) hash.set("internals", "1");
    if (state.theme !== meta.theme) hash.set("theme", state.theme);
    return `#${hash}`;
}

export function writeHash() {
    hashTimer = 0;
    const hash = hashOfState();
    if (hash === hashWritten) return;
    // What follows within a moment (a drag, a wheel that turns on) is one change; it can be undone as one.
    const now = performance.now();
    const goesOn = hashWritten === "" || now - written < HISTORY_PAUSE_MS;
    hashWritten = hash;
    written = now;
    writeAddress(hash, goesOn);
}

/** What the writer of the page chose. */
function defaultColoring() {
    return COLORINGS.includes(String(meta.color)) ? String(meta.color) : "site";
}

/** @typedef {import("./state.js").Focus} Focus */

/** @param {string | null} text @returns {Focus | null} */
function focusOfText(text) {
    const line = /^line_(.+)/s.exec(text ?? "");
    if (line) {
        const site = view.siteOfText(line[1]);
        return site < 0 ? null : { by: "site", id: site };
    }
    const [name, id] = (text ?? "").split("_");
    const by = FOCUS_KINDS.find((kind) => kind === name);
    const { stacks, frames } = session.facts;
    /** @type {Partial<Record<Focus["by"], number>>} */
    const counts = { stack: stacks, category: session.categoryNames().length, stream: view.facts.streams, pool: view.facts.pools };
    const number = boundedInteger(id ?? null, 0, (by && counts[by]) ?? frames);
    return by && number !== null ? { by, id: number } : null;
}

const TABS = ["why", "who", "tree", "compare", "allocator", "each"];

/** An end of a comparison, see compare_view.js. */
const END = /^(start|peak|end|e-?\d{1,10}|s\d{1,6}|r\d{1,10}_\d{1,10})$/;

/** What the side shows of a file that is opened: why, where something urgent was found. */
function firstTab() {
    return askFindings(view).some(({ severity }) => severity === "high") ? "why" : "who";
}

/** A file that ran out of memory opens at that moment, where nothing else is asked for. @param {URLSearchParams} hash */
function firstMoment(hash) {
    const asked = ["window", "range", "selected", "focus", "at"].some((name) => hash.has(name));
    return view.facts.ooms === 0 || asked ? null : view.c.oom(view.facts.ooms - 1).event;
}

/** Shows what a part of an address speaks of (a finding's view), and leaves the rest as it is. @param {string} text */
export function goToView(text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    const device = session.deviceIndex(Number(hash.get("device") ?? NaN));
    if (device >= 0 && device !== state.device) setDevice(device);
    const range = numberPair(hash.get("range"));
    const at = boundedInteger(hash.get("at"), -1, view.facts.events);
    change({ selected: null, focus: focusOfText(hash.get("focus")), moment: at === view.facts.peak_event ? null : at, range: null });
    const whole = wholeRange();
    if (range && (at === null || (at >= range.from && at <= range.to))) {
        const [from, to] = [axisOfEvent(range.from), axisOfEvent(range.to)];
        const margin = (to - from) * 0.05;
        setWindow(from - margin, to + margin);
    } else if (at !== null && (axisOfEvent(at) < state.from || axisOfEvent(at) > state.to)) setWindow(whole.from, whole.to);
}

/** Takes over a hash; whatever it holds, the state stays valid. @param {string} text */
export function readHash(text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    const wanted = session.deviceIndex(Number(hash.get("device") ?? meta.device ?? 0));
    change({ all: false });
    setDevice(Math.max(wanted, 0));
    change({ axis: hash.get("axis") === "time" && view.facts.has_time ? "time" : "events" });
    showAll(hash.get("all") === "1");
    fitWindow();
    const window = numberPair(hash.get("window"));
    if (window) setWindow(window.from, window.to);
    const bytes = numberPair(hash.get("bytes"));
    if (bytes) setBytes(bytes.from, bytes.to);
    setFilter(filterOfText(hash.get("filter")));
    const theme = hash.get("theme") ?? String(meta.theme ?? "auto");
    const of = hash.get("of");
    change({
        range: rangeInRun(numberPair(hash.get("range"))),
        moment: boundedInteger(hash.get("at"), -1, view.facts.events) ?? firstMoment(hash),
        theme: THEMES.includes(theme) ? theme : "auto",
        colorBy: COLORINGS.includes(hash.get("color") ?? "") ? String(hash.get("color")) : defaultColoring(),
        viewBy: VIEWINGS.includes(hash.get("view") ?? "") ? String(hash.get("view")) : "age",
        marks: marksOfHash(hash),
        mapOpen: hash.has("map"),
        mapOrder: MAP_ORDERS.includes(hash.get("map") ?? "") ? String(hash.get("map")) : "size",
        laneSize: boundedInteger(hash.get("lane"), 20, 400) ?? 0,
        internals: hash.get("internals") === "1",
        rangeOf: of && Object.hasOwn(QUESTIONS, of) ? of : "allocated",
        groupBy: LIST_GROUPINGS.includes(hash.get("group") ?? "") ? String(hash.get("group")) : "site",
        search: hash.get("search") ?? "",
        only: hash.get("only") === "1",
        order: ORDERS.includes((hash.get("order") ?? "").replace(/^-/, "")) ? String(hash.get("order")) : "-bytes",
        selected: boundedInteger(hash.get("selected"), 0, view.facts.allocations),
        focus: focusOfText(hash.get("focus")),
        tab: TABS.includes(hash.get("tab") ?? "") ? String(hash.get("tab")) : firstTab(),
        treeDepth: boundedInteger(hash.get("depth"), 1, 31) ?? 9,
        treeChange: hash.get("change") === "1",
        sortBy: /^-?(name|bytes|count)$/.test(hash.get("sort") ?? "") ? String(hash.get("sort")) : "bytes",
        treeDirection: TREES.find((tree) => tree === hash.get("tree")) ?? "callees",
        treeFrom: boundedInteger(hash.get("from"), 1, session.facts.frames) ?? 0,
        compareA: END.test(hash.get("a") ?? "") ? String(hash.get("a")) : "",
        compareB: END.test(hash.get("b") ?? "") ? String(hash.get("b")) : "",
        compareBy: GROUPINGS.includes(hash.get("by") ?? "") ? String(hash.get("by")) : "site",
        compareWhat: WHATS.includes(hash.get("what") ?? "", 1) ? String(hash.get("what")) : "peak",
    });
}

/** Another address in the same page. */
export function followAddress() {
    if (location.hash === hashOfState()) return;
    readHash(location.hash);
    hashWritten = location.hash;
}
