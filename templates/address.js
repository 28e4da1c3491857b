// The device that is shown, and the state's form in the address.
import { aboutOfText } from "./ends.js";
import { filterOfText, filterWords, setFilter } from "./filter.js";
import { writeAddress } from "./history.js";
import { askFindings, GROUPINGS, LIST_GROUPINGS, ORDERS, QUESTIONS, TREES } from "./questions.js";
import {
    axisOfEvent, change, COLORINGS, EVERYTHING, fitWindow, FOCUS_KINDS, invalidate, MAP_ORDERS, MARKS_MOST, meta, rangeInRun, session, setAxis, setBytes, setWindow,
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
    change({ device: index, selected: null, focus: null, moment: null, range, pointer: null, marks: [], compareA: "", compareB: "", bottom: 0, top: 0 });
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

/** "120~before the loss,900": the marks' events and notes. */
function marksText() {
    return state.marks.map(({ event, note }) => `${event}${note ? `~${note}` : ""}`).join(",");
}

/** A mark's note as the address can hold it. @param {string} text */
export function cleanNote(text) {
    return text.replace(/[,~]/g, " ").slice(0, NOTE_MOST).trim();
}

/** The marks of an address. @param {string} text */
function marksOfText(text) {
    const marks = text.split(",").map((one) => {
        const [event, note = ""] = one.split("~");
        return { event: boundedInteger(event, -1, view.facts.events), note: cleanNote(note) };
    });
    const known = /** @type {typeof state.marks} */ (marks.filter(({ event }) => event !== null).slice(0, MARKS_MOST));
    return text !== "" && known.length === 0 ? null : known;
}

/** Older addresses have no marks but the moments that they compare. */
function marksOfEnds() {
    return [state.compareA, state.compareB].filter((end) => end.startsWith("e") && end !== "end").map((end) => ({ event: Number(end.slice(1)), note: "" }));
}

/** What differs from a freshly opened page. */
export function hashOfState() {
    const hash = new URLSearchParams();
    const whole = wholeRange();
    hash.set("device", String(session.devices[state.device].ordinal));
    if (state.all) hash.set("all", "1");
    else if (state.axis !== "events") hash.set("axis", state.axis);
    if (state.from > whole.from || state.to < whole.to)
        hash.set("window", `${state.from}_${state.to}`);
    if (state.top) hash.set("bytes", `${state.bottom}_${state.top}`);
    if (state.range) hash.set("range", `${state.range.from}_${state.range.to}`);
    if (state.moment !== null) hash.set("at", String(state.moment));
    else if (view.facts.ooms > 0) hash.set("at", "peak");
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
    // A moment that is compared without being a mark: without the word it would become one.
    if (state.marks.length || /^e-?\d/.test(state.compareA) || /^e-?\d/.test(state.compareB)) hash.set("marks", marksText());
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

const SORTS = ["name", "bytes", "count", "-name", "-bytes", "-count"];

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

/** One of these words. @param {readonly string[]} words */
const oneOf = (words) => (/** @type {string} */ text) => (words.includes(text) ? text : null);

const isOn = (/** @type {string} */ text) => (text === "1" ? true : text === "0" ? false : null);

/** The words of an address, and which of them mean nothing here. */
class Words {
    /** @param {string} text */
    constructor(text) {
        this.words = new URLSearchParams(text.replace(/^#/, ""));
        this.rest = new Set(this.words.keys());
        /** @type {string[]} */
        this.wrong = [];
    }

    /** What a word means; null: it is not there, or means nothing. Of several the last one counts. @template T @param {string} name @param {(text: string) => T | null} meaning @returns {T | null} */
    take(name, meaning) {
        this.rest.delete(name);
        const text = this.words.getAll(name).at(-1);
        if (text === undefined) return null;
        const found = meaning(text);
        if (found === null) this.wrong.push(name);
        return found;
    }

    /** Those that were not understood, or that nobody asked for. */
    misread() {
        return [...this.wrong, ...this.rest];
    }
}

/** The window, and what lies on its axis. @param {Words} words */
function readWindow(words) {
    const events = view.facts.events;
    const index = words.take("device", (text) => (session.deviceIndex(Number(text)) < 0 ? null : session.deviceIndex(Number(text))));
    change({ all: false });
    setDevice(index ?? Math.max(0, session.deviceIndex(Number(meta.device ?? 0))));
    change({ axis: words.take("axis", oneOf(view.facts.has_time ? ["events", "time"] : ["events"])) === "time" ? "time" : "events" });
    showAll(words.take("all", isOn) === true);
    fitWindow();
    const window = words.take("window", numberPair);
    if (window) setWindow(window.from, window.to);
    // First what is left, which has a scale of its own, then the bytes.
    setFilter(filterOfText(words.take("filter", String)));
    const bytes = words.take("bytes", numberPair);
    if (bytes) setBytes(bytes.from, bytes.to);
    const moment = words.take("at", (text) => (text === "peak" ? "peak" : boundedInteger(text, -1, events)));
    change({
        range: words.take("range", (text) => rangeInRun(numberPair(text))),
        moment: moment === "peak" ? null : (moment ?? firstMoment(words.words)),
        laneSize: words.take("lane", (text) => boundedInteger(text, 20, 400)) ?? 0,
        internals: words.take("internals", isOn) === true,
    });
}

/** What is compared, and the marks. @param {Words} words */
function readCompared(words) {
    const endOf = (/** @type {string} */ text) => (aboutOfText(text) ? text : null);
    change({
        compareA: words.take("a", endOf) ?? "",
        compareB: words.take("b", endOf) ?? "",
        compareBy: words.take("by", oneOf(GROUPINGS)) ?? "site",
        compareWhat: words.take("what", oneOf(Object.keys(QUESTIONS))) ?? "peak",
    });
    change({ marks: words.take("marks", marksOfText) ?? marksOfEnds() });
}

/** Takes over a hash; whatever it holds, the state stays valid. @param {string} text */
export function readHash(text) {
    const words = new Words(text);
    readWindow(words);
    readCompared(words);
    change({
        theme: words.take("theme", oneOf(THEMES)) ?? oneOf(THEMES)(String(meta.theme)) ?? "auto",
        colorBy: words.take("color", oneOf(COLORINGS)) ?? defaultColoring(),
        viewBy: words.take("view", oneOf(VIEWINGS)) ?? "age",
        mapOpen: words.words.has("map"),
        mapOrder: words.take("map", oneOf(MAP_ORDERS)) ?? "size",
        rangeOf: words.take("of", oneOf(Object.keys(QUESTIONS))) ?? "allocated",
        groupBy: words.take("group", oneOf(LIST_GROUPINGS)) ?? "site",
        search: words.take("search", String) ?? "",
        only: words.take("only", isOn) === true,
        order: words.take("order", oneOf(ORDERS.flatMap((order) => [order, `-${order}`]))) ?? "-bytes",
        selected: words.take("selected", (one) => boundedInteger(one, 0, view.facts.allocations)),
        focus: words.take("focus", focusOfText),
        tab: words.take("tab", oneOf(TABS)) ?? firstTab(),
        treeDepth: words.take("depth", (one) => boundedInteger(one, 1, 31)) ?? 9,
        treeChange: words.take("change", isOn) === true,
        sortBy: words.take("sort", oneOf(SORTS)) ?? "bytes",
        treeDirection: words.take("tree", (one) => TREES.find((tree) => tree === one) ?? null) ?? "callees",
        treeFrom: words.take("from", (one) => boundedInteger(one, 1, session.facts.frames)) ?? 0,
    });
    change({ misread: words.misread() });
}

/** Another address in the same page. */
export function followAddress() {
    if (location.hash === hashOfState()) return;
    readHash(location.hash);
    hashWritten = location.hash;
}
