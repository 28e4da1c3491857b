// The device that is shown, and how the state is written in the address.
import { aboutOfText, MARKS_MOST } from "./ends.js";
import { filterOfText, filterWords, hasStreamAndPool, setFilter } from "./filter.js";
import { oneOf, takeWords, writeAddress } from "./history.js";
import { askSteps, COMPARE_QUESTIONS, findingsCount, GROUPINGS, ORDERS, QUESTIONS, TREES } from "./questions.js";
import {
    axisOfEvent,
    change,
    COLORINGS,
    emptyFilter,
    endApart,
    EVERYTHING,
    FOCUS_KINDS,
    invalidate,
    MAP_ORDERS,
    perPage,
    rangeInRun,
    THEMES,
    timedDevices,
    VIEWINGS,
    wholeRange,
} from "./state.js";
import { fitWindow, setAxis, setBytes, setWindow } from "./window.js";
import { boundedInteger, formatCount, numberPair } from "./text.js";

/** Shows another device. With all devices on one axis, the shown stretch of time stays the same.
 * @param {Page} page @param {number} index */
export function setDevice(page, index) {
    const { state, view } = page;
    const before = view.facts.first_us;
    endApart(page);
    if (index !== state.device) page.opening = null;
    view.setDevice(index);
    const shift = before - view.facts.first_us;
    const moved = (/** @type {{from: number, to: number}} */ { from, to }) => ({ from: from + shift, to: to + shift });
    const window = moved(state);
    const range = state.all && state.range ? moved(state.range) : null;
    const nothing = { selected: null, focus: null, finding: null, hole: null, moment: null, pointer: null };
    const ends = { marks: [], compareA: "", compareB: "", bottom: 0, top: 0 };
    change(page, { device: index, ...nothing, range, ...ends });
    if (!view.facts.has_time) change(page, { axis: "events", all: false });
    invalidate(page, EVERYTHING);
    setFilter(page, { stream: -1, pool: -1 });
    if (state.all) setWindow(page, window.from, window.to);
    else fitWindow(page);
}

/** Shows all devices that have times on one axis, one below the other, or only the chosen one.
 * @param {Page} page @param {boolean} all */
export function showAll(page, all) {
    if (all === page.state.all || (all && !(page.view.facts.has_time && timedDevices(page).length > 1))) return;
    if (all) setAxis(page, "time");
    change(page, { all });
    fitWindow(page);
}

/** The most letters of a mark's note. */
export const NOTE_MOST = 60;

/** The address that was written last, when, and what writes it; the one that a fault was left for. */
const lastOf = perPage(() => ({ timer: 0, hash: "", at: 0, leftFor: "", form: hashOfState }));

/** Changes nearer to each other than this are one step of the history. */
const HISTORY_PAUSE_MS = 1000;

/** Sets the function that writes the address, for a document of two pages. @param {Page} page
 * @param {() => string} form */
export function formAddress(page, form) {
    lastOf(page).form = form;
}

/** The current view as an address. @param {Page} page */
export const addressOf = (page) => lastOf(page).form(page);

/** Browsers limit how often an address may change, so it follows a moment later. @param {Page} page */
export function scheduleHash(page) {
    const last = lastOf(page);
    if (last.timer === 0) last.timer = setTimeout(() => writeHash(page), 300);
}

/** "120~before the loss,900": the marks' events and notes. @param {Page} page */
const marksText = (page) => page.state.marks.map(({ event, note }) => `${event}${note ? `~${note}` : ""}`).join(",");

/** A mark's note without what an address cannot hold. @param {string} text */
export const cleanNote = (text) => text.replace(/[,~]/g, " ").slice(0, NOTE_MOST).trim();

/** The marks of an address. @param {Page} page @param {string} text */
function marksOfText(page, text) {
    const marks = text.split(",").map((one) => {
        const [event, note = ""] = one.split("~");
        return { event: boundedInteger(event, -1, page.view.facts.events), note: cleanNote(note) };
    });
    const known = /** @type {PageState["marks"]} */ (marks.filter(({ event }) => event !== null).slice(0, MARKS_MOST));
    return text !== "" && known.length === 0 ? null : known;
}

/** Older addresses have no marks but the moments that they compare. @param {Page} page */
function marksOfEnds(page) {
    return [page.state.compareA, page.state.compareB]
        .filter((end) => end.startsWith("e") && end !== "end")
        .map((end) => ({ event: Number(end.slice(1)), note: "" }));
}

/** Accepts one of these words, also with a "-" that reverses the order. @param {string[]} words */
const orderOf = (words) => (/** @type {string} */ text) => oneOf(words)(text.replace(/^-/, "")) && text;

/** @param {number} least @param {number} most */
const number = (least, most) => (/** @type {string} */ text) => boundedInteger(text, least, most);

const isOn = (/** @type {string} */ text) => (text === "1" ? true : null);

const endOf = (/** @type {Page} */ page, /** @type {string} */ text) => (aboutOfText(page, text) ? text : null);

/** @typedef {[name: string, field: keyof PageState, meaning: (text: string) => unknown, usual: unknown]} PlainWord */

/** Words that stand for one field of the state: the values that are allowed, and the value if the word is missing.
 * @param {Page} page @returns {PlainWord[]} */
function plainWords(page) {
    const { meta, session, view } = page;
    const questions = oneOf(Object.keys(QUESTIONS));
    return [
        ["selected", "selected", number(0, view.facts.allocations), null],
        ["search", "search", String, ""],
        ["only", "only", isOn, false],
        ["order", "order", orderOf(ORDERS), "-bytes"],
        ["color", "colorBy", oneOf(COLORINGS), meta.color || "site"],
        ["bands", "bands", oneOf(["each"]), ""],
        ["view", "viewBy", oneOf(VIEWINGS), "age"],
        ["group", "groupBy", oneOf(GROUPINGS), "site"],
        ["of", "rangeOf", questions, "allocated"],
        ["tab", "tab", oneOf([...page.first.map(([id]) => id), ...TABS]), firstTab(page)],
        ["tree", "treeDirection", oneOf(TREES), "callees"],
        ["from", "treeFrom", number(1, session.facts.frames), 0],
        ["depth", "treeDepth", number(1, 31), 9],
        ["change", "treeChange", isOn, false],
        ["sort", "sortBy", orderOf(["name", "bytes", "count"]), "bytes"],
        ["a", "compareA", (text) => endOf(page, text), ""],
        ["b", "compareB", (text) => endOf(page, text), ""],
        ["by", "compareBy", oneOf(GROUPINGS), "site"],
        ["what", "compareWhat", oneOf(Object.keys(COMPARE_QUESTIONS)), "peak"],
        ["lane", "laneSize", number(20, 400), 0],
        ["internals", "internals", isOn, false],
        ["theme", "theme", oneOf(THEMES), meta.theme || "auto"],
    ];
}

/** The address: how the state differs from that of a freshly opened page. @param {Page} page */
export function hashOfState(page) {
    const { session, state, view } = page;
    const hash = new URLSearchParams();
    const whole = wholeRange(page);
    hash.set("device", String(session.devices[state.device].ordinal));
    if (state.all) hash.set("all", "1");
    else if (state.axis !== "events") hash.set("axis", state.axis);
    if (state.from > whole.from || state.to < whole.to) hash.set("window", `${state.from}_${state.to}`);
    if (state.top) hash.set("bytes", `${state.bottom}_${state.top}`);
    if (state.range) hash.set("range", `${state.range.from}_${state.range.to}`);
    if (state.moment !== null) hash.set("at", String(state.moment));
    else if (view.facts.ooms > 0) hash.set("at", "peak");
    if (state.finding !== null) hash.set("finding", String(state.finding));
    if (state.focus) hash.set("focus", `${state.focus.by}_${state.focus.id}`);
    const filter = filterWords(state.filter);
    if (filter) hash.set("filter", filter);
    for (const [name, field, , usual] of plainWords(page))
        if (state[field] !== usual) hash.set(name, state[field] === true ? "1" : String(state[field]));
    // A moment that is compared but not marked: without the word "marks" it would become a mark.
    if (state.marks.length || marksOfEnds(page).length) hash.set("marks", marksText(page));
    if (state.mapOpen) hash.set("map", state.mapOrder);
    return `#${hash}`;
}

export function writeHash(/** @type {Page} */ page) {
    const last = lastOf(page);
    last.timer = 0;
    const hash = addressOf(page);
    if (hash === last.hash) return;
    // Changes within a moment (a drag, a wheel that keeps turning) are one change, and are undone together.
    const now = performance.now();
    const opens = last.hash === "";
    const goesOn = opens || now - last.at < HISTORY_PAUSE_MS;
    // The message about an address disappears when the address changes.
    if (!goesOn && page.state.misread.length) change(page, { misread: [] });
    last.hash = hash;
    // The view that the page opened with must stay in the history, so that people can come back to it.
    last.at = opens ? -HISTORY_PAUSE_MS : now;
    writeAddress(hash, goesOn);
}

/** @param {Page} page @param {string | null} text @returns {Focus | null} */
function focusOfText({ session, view }, text) {
    const line = /^line_(.+)/s.exec(text ?? "");
    if (line) {
        const site = view.siteOfText(line[1]);
        return site < 0 ? null : { by: "site", id: site };
    }
    const [name, id] = (text ?? "").split("_");
    const by = FOCUS_KINDS.find((kind) => kind === name);
    const { stacks, frames } = session.facts;
    /** @type {Partial<Record<Focus["by"], number>>} */
    const counts = {
        stack: stacks,
        category: session.categories.length,
        stream: view.facts.streams,
        pool: view.facts.pools,
    };
    const number = boundedInteger(id ?? null, 0, (by && counts[by]) ?? frames);
    return by && number !== null ? { by, id: number } : null;
}

const TABS = ["why", "plan", "who", "tree", "compare", "allocator", "each"];

/** The side's tab for a freshly opened file: Why, if there are findings. */
function firstTab(/** @type {Page} */ page) {
    if (page.first.length) return page.first[0][0];
    return findingsCount(page) ? "why" : "who";
}

/** The part of a recording without steps that is shown: its end. */
const LAST_SHARE = 0.2;

const LAST_LEAST = 200;

/** The window of a freshly opened recording: the whole run or, if memory ran out, the failed step and the one before
 * it. @returns {{from: number, to: number, name: string}} along the axis */
export function openingWindow(/** @type {Page} */ page) {
    const whole = { ...wholeRange(page), name: "Whole run" };
    const { ooms, events } = page.view.facts;
    if (ooms === 0 || page.state.all) return whole;
    const { event } = page.view.c.oom(ooms - 1);
    const steps = askSteps(page.view).filter(({ from }) => from <= event);
    const end = askSteps(page.view)[steps.length];
    const width = Math.max(LAST_LEAST, events * LAST_SHARE);
    // Where a request failed long before the end, nobody asks about the time after it.
    const to = end ? end.from : Math.min(events, event + width / 4);
    const from = steps.length > 1 ? steps[steps.length - 2].from : Math.max(-1, event - width);
    const name = steps.length > 1 ? "Last 2 steps" : `Last ${formatCount(to - from)} events`;
    return { from: axisOfEvent(page, from), to: to >= events ? whole.to : axisOfEvent(page, to), name };
}

export function fitOpening(/** @type {Page} */ page) {
    const { from, to } = openingWindow(page);
    change(page, { bottom: 0, top: 0 });
    setWindow(page, from, to);
}

/** Applies a part of an address (a finding's view); the rest stays as it is. @param {string} text */
export function goToView(/** @type {Page} */ page, text) {
    const { state, view } = page;
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    const device = deviceOf(page, hash.get("device") ?? NaN);
    if (device !== null && device !== state.device) setDevice(page, device);
    const range = numberPair(hash.get("range"));
    const at = boundedInteger(hash.get("at"), -1, view.facts.events);
    const moment = at === view.facts.peak_event ? null : at;
    change(page, { selected: null, focus: focusOfText(page, hash.get("focus")), moment, range: null });
    const whole = wholeRange(page);
    if (range && (at === null || (at >= range.from && at <= range.to))) {
        const [from, to] = [axisOfEvent(page, range.from), axisOfEvent(page, range.to)];
        const margin = (to - from) * 0.05;
        setWindow(page, from - margin, to + margin);
    } else if (at !== null && (axisOfEvent(page, at) < state.from || axisOfEvent(page, at) > state.to))
        setWindow(page, whole.from, whole.to);
}

/** Reads the window and what belongs to its axis. @param {Page} page @param {import("./history.js").Take} take
 * @param {{words: boolean, place: boolean}} asked whether the address says anything, and where to look */
function readWindow(page, take, asked) {
    const { meta, view } = page;
    change(page, { all: false });
    setDevice(page, take("device", (ordinal) => deviceOf(page, ordinal)) ?? deviceOf(page, meta.device ?? 0) ?? 0);
    const axis = take("axis", oneOf(view.facts.has_time ? ["events", "time"] : ["events"]));
    change(page, { axis: axis === "time" ? "time" : "events" });
    showAll(page, take("all", isOn) === true);
    fitWindow(page);
    const window = take("window", numberPair) ?? (asked.words ? null : openingWindow(page));
    if (window) setWindow(page, window.from, window.to);
    // The filter comes first because it has a scale of its own, then the bytes.
    let filter = emptyFilter();
    take("filter", (text) => {
        filter = filterOfText(text);
        return hasStreamAndPool(page, filter) ? filter : null;
    });
    setFilter(page, filter);
    const bytes = take("bytes", numberPair);
    if (bytes) setBytes(page, bytes.from, bytes.to);
    const range = take("range", (text) => rangeInRun(page, numberPair(text)));
    const moment = take("at", (text) => (text === "peak" ? text : boundedInteger(text, -1, view.facts.events)));
    // A file that ran out of memory opens at that moment, unless the address says otherwise.
    const first = asked.place || view.facts.ooms === 0 ? null : view.c.oom(view.facts.ooms - 1).event;
    change(page, { range, moment: moment === "peak" ? null : (moment ?? first) });
}

/** Index of the device with this ordinal. @param {Page} page @param {unknown} ordinal */
function deviceOf(page, ordinal) {
    const index = page.session.deviceIndex(Number(ordinal));
    return index < 0 ? null : index;
}

/** The number of a finding that has a set to highlight. @param {Page} page @param {string} text */
function findingWithSet(page, text) {
    const nth = boundedInteger(text, 0, findingsCount(page));
    return nth !== null && page.view.c.finding_ids(nth).count >= 0 ? nth : null;
}

/** Takes over an address. The state stays valid, whatever the address holds. @param {Page} page @param {string} text */
export function readHash(page, text) {
    const hash = new URLSearchParams(text.replace(/^#/, ""));
    // Older pages called the tree a list that is grouped by "tree".
    if (hash.get("group") === "tree") {
        hash.delete("group");
        if ((hash.get("tab") ?? "who") === "who") hash.set("tab", "tree");
    }
    const { take, misread } = takeWords(hash);
    readWindow(page, take, {
        words: misread.size > 0,
        place: ["window", "range", "selected", "focus", "finding", "at"].some((name) => hash.has(name)),
    });
    const plain = plainWords(page).map(([name, field, meaning, usual]) => [field, take(name, meaning) ?? usual]);
    change(page, Object.fromEntries(plain));
    change(page, {
        focus: take("focus", (text) => focusOfText(page, text)),
        finding: take("finding", (text) => findingWithSet(page, text)),
        marks: take("marks", (text) => marksOfText(page, text)) ?? marksOfEnds(page),
        mapOpen: hash.has("map"),
        mapOrder: take("map", oneOf(MAP_ORDERS)) ?? "hole",
    });
    change(page, { misread: [...misread] });
}

/** Leaves a view that cannot be drawn, for the one that the address still names or, if that one is no better, for the
 * one that the page opens with. @param {Page} page */
export function leaveFault(page, read = readHash) {
    const last = lastOf(page);
    clearTimeout(last.timer);
    last.timer = 0;
    const back = last.leftFor === last.hash ? "" : last.hash;
    last.leftFor = last.hash;
    read(page, back);
    invalidate(page, EVERYTHING);
}

/** Follows another address in the same page. @param {Page} page */
export function followAddress(page, read = readHash) {
    if (location.hash === addressOf(page)) return;
    read(page, location.hash);
    // This address takes the place of the followed one in the history: as a view of its own it would be in the way of
    // Back.
    lastOf(page).hash = "";
}
