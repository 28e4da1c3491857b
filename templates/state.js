// The page's state, how it changes, and how the hash of the URL holds it. change() sets fields and requests a new
// drawing of what shows them; the drawing happens once per animation frame (draw() in page.js).
import { COLORING_TITLES } from "page_api";
import { View } from "./session.js";
import { formatDuration, formatEvent } from "./text.js";
import { AT_ONCE, nextTurn } from "./turns.js";

/** After so many milliseconds of a drawing the browser gets a turn: the next step may take ten times as long. */
const DRAWN_MS = 4;

/** Parts of the page that may need to be drawn again. */
export const STACK = 1;
export const OVERLAY = 2;
export const MINIMAP = 4;
export const LIST = 8;
export const DETAIL = 16;
export const HEADER = 32;
export const LEGEND = 64;
export const MAP = 128;
export const AXES = 256;
export const TIMELINE = STACK | AXES;
export const EVERYTHING = 511;

export const VIEWINGS = ["age", "category", "stream", "pool", "segments"];

export const COLORINGS = COLORING_TITLES.map(([name]) => name);

export const MAP_ORDERS = ["size", "address", "free", "age", "hole"];

export const THEMES = ["auto", "light", "dark"];

/** Kinds of highlights, in the module's order (enum compare_by, HIGHLIGHT_BY_FRAME). @type {Focus["by"][]} */
export const FOCUS_KINDS = ["site", "stack", "file", "category", "stream", "pool", "module", "metadata", "frame"];

/** @typedef {{by: "site" | "stack" | "file" | "category" | "stream" | "pool" | "module" | "metadata"
 * | "frame", id: number}} Focus the highlight: an id of its kind, of a file a frame in it */

/** The fields of the filter: words as people write them ("20 MiB", "500", "2 ms"), indices of streams and pools (-1:
 * all), and further words of the grammar. */
export const emptyFilter = () => ({
    leastBytes: "",
    mostBytes: "",
    leastAge: "",
    mostAge: "",
    stream: -1,
    pool: -1,
    atPeak: false,
    atEnd: false,
    own: false,
    words: "",
});

/** @template T @param {T} usual @param {number} [parts] of the page that show the field: they are out of date once it
 * changes; what shows the pointer is drawn by the code that moves it @returns {[usual: T, parts: number]} */
const field = (usual, parts = 0) => [usual, parts];

const newFields = () => ({
    /** Index of the device. */
    device: field(0, EVERYTHING),
    /** Are the other devices shown too, on one axis of time? */
    all: field(false, EVERYTHING),
    axis: field(/** @type {"events" | "time"} */ ("events"), EVERYTHING),
    /** Window along the axis, in events or in microseconds since the first event. */
    from: field(0, TIMELINE | OVERLAY),
    to: field(1, TIMELINE | OVERLAY),
    /** Window of bytes; top 0: as high as the whole run needs. */
    bottom: field(0, TIMELINE | OVERLAY),
    top: field(0, TIMELINE | OVERLAY),
    colorBy: field("site", TIMELINE | LIST | DETAIL | LEGEND | HEADER | MAP),
    /** The order of the stack: "age" (each allocation a band), or sums by "category", "stream" or "pool". */
    viewBy: field("age", TIMELINE | OVERLAY | HEADER),
    /** "each": bands too thin to be told apart are nevertheless drawn one by one. */
    bands: field("", TIMELINE | OVERLAY | HEADER),
    /** The list's grouping, one of questions.js' GROUPINGS. */
    groupBy: field("site", LIST | HEADER),
    theme: field("auto", EVERYTHING),
    search: field("", TIMELINE | OVERLAY | LIST | DETAIL | HEADER | MINIMAP | MAP),
    /** List and sums cover only the search's matches. */
    only: field(false, LIST | DETAIL | LEGEND | HEADER),
    /** The order of the table of allocations: a key of each_view.js' columns; a "-" before it: falling. */
    order: field("-bytes", LIST),
    /** Pinned allocation. */
    selected: field(/** @type {number | null} */ (null), TIMELINE | OVERLAY | LIST | DETAIL | HEADER | MAP),
    focus: field(/** @type {Focus | null} */ (null), TIMELINE | OVERLAY | LIST | DETAIL | MAP),
    /** The number of the finding whose set is highlighted. */
    finding: field(/** @type {number | null} */ (null), TIMELINE | OVERLAY | MAP | HEADER),
    /** A change of the plan, and the memory in use that it would need. */
    planned: field(/** @type {{title: string, bytes: number} | null} */ (null), OVERLAY | LIST | HEADER),
    /** The event at which the list is held; null: the peak. */
    moment: field(/** @type {number | null} */ (null), OVERLAY | LIST | DETAIL | MAP),
    /** The list's question about the selected range, a key of questions.js' QUESTIONS. */
    rangeOf: field("allocated", LIST),
    filter: field(emptyFilter(), HEADER),
    /** Counts the filter's results, so that a new result is drawn. */
    filtered: field(0, TIMELINE | OVERLAY | LIST | HEADER | LEGEND | MINIMAP | MAP),
    /** The open tab of the side: an id of side.js' registry. */
    tab: field("who", LIST | OVERLAY | AXES),
    /** The tree's direction, one of questions.js' TREES. */
    treeDirection: field("callees", LIST),
    /** The frame with which the tree begins; 0: the tree holds everything. */
    treeFrom: field(0, LIST),
    /** Levels of the icicle. */
    treeDepth: field(9, LIST),
    /** The tree is coloured by the change since mark A. */
    treeChange: field(false, LIST),
    /** The order of the list; with "-" the other way round. */
    sortBy: field("bytes", LIST),
    /** Ends of a comparison, as ends.js spells them; "": those chosen by default. */
    compareA: field("", LIST | OVERLAY | TIMELINE),
    compareB: field("", LIST | OVERLAY | TIMELINE),
    compareBy: field("site", LIST),
    /** Moments that are marked A and B, with people's notes. */
    marks: field(/** @type {{event: number, note: string}[]} */ ([]), TIMELINE | LIST | OVERLAY),
    compareWhat: field("peak", LIST),
    /** Is the map below the timeline open? Its segments are in one of MAP_ORDERS. */
    mapOpen: field(false, EVERYTHING),
    mapOrder: field("hole", MAP),
    /** The hole that is chosen: a free block after an event. */
    hole: field(/** @type {{event: number, block: number} | null} */ (null), MAP | LIST | OVERLAY | DETAIL),
    /** CSS pixels of the lane of unused memory; 0: as many as it has by itself. */
    laneSize: field(0, TIMELINE | OVERLAY),
    /** Does the lane show internal phases? */
    internals: field(false, TIMELINE | OVERLAY | MINIMAP),
    /** Selected range along the axis. */
    range: field(/** @type {{from: number, to: number} | null} */ (null), OVERLAY | LIST),
    /** Words of the address that were not understood. */
    misread: field(/** @type {string[]} */ ([]), HEADER),
    /** The plot's CSS pixel under the pointer. */
    pointer: field(/** @type {{x: number, y: number} | null} */ (null)),
    /** The same while it is over the lane of phases. */
    lanePointer: field(/** @type {{x: number, y: number} | null} */ (null)),
});

/** @typedef {{[K in keyof ReturnType<typeof newFields>]: ReturnType<typeof newFields>[K][0]}} PageState */

/** @returns {PageState} */
export const newState = () =>
    /** @type {any} */ (Object.fromEntries(Object.entries(newFields()).map(([name, [usual]]) => [name, usual])));

/** The parts that show each field. */
const SHOWN_BY = new Map(Object.entries(newFields()).map(([name, [, parts]]) => [name, parts]));

/** Fields that change along with the module's view: a drawing cannot go on with the old ones.
 * @type {Set<keyof PageState>} */
const OF_VIEW = new Set(["device", "all", "search", "only", "filter", "filtered"]);

/** The filter's results, which are empty at first. */
export const newKept = () => ({
    active: false,
    allocations: 0,
    bytesAtPeak: 0,
    /** Counts the filters, because sums made under an older one are out of date. */
    version: 0,
    /** The fault of the words; "": none. */
    error: "",
    /** Resolves when the filter is done. @type {Promise<void>} */
    done: Promise.resolve(),
    /** Top of the y axis, if what the filter leaves would fill less than a third of the whole run's; 0: the whole
     * run's. */
    top: 0,
});

/** @typedef {{views: View[], whole: (page: Page) => {from: number, to: number}, top: number}} Beside what a page has in
 * common with one beside it: both views, how far both reach, in its own events, and the top of their axis of bytes */

/**
 * A value for each page, made when it is first asked for.
 * @template T
 * @param {(page: Page) => T} make
 * @returns {(page: Page) => T}
 */
export function perPage(make) {
    /** @type {WeakMap<Page, T>} */
    const made = new WeakMap();
    return (page) => {
        const known = made.get(page) ?? make(page);
        if (!made.has(page)) made.set(page, known);
        return known;
    };
}

/** Keeps what was made last: with other keys it is made again. */
export function newMemo() {
    let [known, value] = ["", /** @type {any} */ (null)];
    return (/** @type {unknown[]} */ keys, /** @type {() => any} */ make) => {
        const asked = JSON.stringify(keys);
        if (asked !== known) [known, value] = [asked, make()];
        return value;
    };
}

/** @typedef {Generator<undefined, void>} Drawing steps that draw */
/** @typedef {(parts: number) => Drawing} Draw draws some parts in steps */

/** Drawings of a page. `changed` is called after every change that the address shows. */
const frameOf = perPage(() => ({
    /** The parts that are out of date. */
    parts: 0,
    request: 0,
    /** The drawing that has begun, and its parts. @type {Drawing | null} */
    begun: null,
    begunParts: 0,
    /** What it draws of fields that have changed since. @type {Partial<PageState>} */
    before: {},
    /** Is it a picture apart from the page? */
    apart: false,
    /** Does somebody wait for all of it: for a picture, or for the first drawing? */
    awaited: false,
    /** Resolves when the drawing that is done in turns is done, or another one has taken its place. */
    turns: Promise.resolve(),
    /** Is one of its steps being done? */
    busy: false,
    draw: /** @type {Draw} */ (function* () {}),
    changed: () => {},
}));

/** Begins to draw parts that are out of date. @param {Page} page @param {Draw} draw @param {() => void} changed */
export function startState(page, draw, changed) {
    Object.assign(frameOf(page), { draw, changed });
}

/** Is one of these parts out of date? @param {Page} page @param {number} parts */
export function isStale(page, parts) {
    const frame = frameOf(page);
    return ((frame.parts | frame.begunParts) & parts) !== 0;
}

/** Lets clicks and keys in a box act on what the page shows by then: what is out of date is drawn before, and what the
 * drawing took away is not acted on. @param {Page} page @param {HTMLElement} box */
export function drawBeforeActing(page, box) {
    for (const type of ["click", "change", "keydown"])
        box.addEventListener(
            type,
            (event) => {
                if (!isStale(page, LIST | DETAIL | MAP)) return;
                flush(page);
                if (!(event.target instanceof Node) || event.target.isConnected) return;
                // A letter is a key of the page, whatever had the focus.
                if (event instanceof KeyboardEvent && /^[^ ]$/.test(event.key)) return;
                event.preventDefault();
                event.stopImmediatePropagation();
            },
            true,
        );
}

/** Begins to draw what is out of date. @param {Page} page */
function beginDrawing(page) {
    const frame = frameOf(page);
    cancelAnimationFrame(frame.request);
    frame.begun = frame.draw(frame.parts);
    frame.begunParts = frame.parts;
    frame.parts = frame.request = 0;
}

/** Does something while the page has other values of some fields.
 * @template T @param {Page} page @param {Partial<PageState>} fields @param {() => T} act */
function withFields({ state }, fields, act) {
    const now = Object.fromEntries(Object.entries(state).filter(([name]) => name in fields));
    Object.assign(state, fields);
    try {
        return act();
    } finally {
        Object.assign(state, now);
    }
}

/** Does the next step of the drawing that has begun, of the state in which it began. @param {Page} page */
function drawStep(page) {
    const frame = frameOf(page);
    /** @type {boolean | undefined} */
    let done = true;
    frame.busy = true;
    try {
        done = withFields(page, frame.before, () => frame.begun?.next().done);
    } finally {
        frame.busy = false;
        if (done) forgetDrawing(page);
    }
}

/** Forgets the drawing that has begun. @param {Page} page */
function forgetDrawing(page) {
    Object.assign(frameOf(page), { begun: null, begunParts: 0, before: {}, apart: false, awaited: false });
}

/** Does what is left of the drawing that has begun. @param {Page} page */
function endDrawing(page) {
    const frame = frameOf(page);
    while (frame.begun && !frame.busy) drawStep(page);
}

/** Draws at once what is out of date, so that a script reads what it has set. @param {Page} page */
export function flush(page) {
    const frame = frameOf(page);
    if (frame.busy) return;
    endDrawing(page);
    if (!frame.parts) return;
    beginDrawing(page);
    endDrawing(page);
}

/** Does the drawing that has begun in turns with the browser: after each step or, if steps are quick, after several.
 * @param {Page} page @param {number} most milliseconds between two turns */
async function goOn(page, most) {
    const frame = frameOf(page);
    const { begun } = frame;
    for (let last = performance.now(); frame.begun === begun;) {
        drawStep(page);
        if (performance.now() - last < most) continue;
        await nextTurn();
        last = performance.now();
    }
    if (frame.parts) invalidate(page, 0);
}

/** Draws what is out of date in turns. @param {Page} page @param {number} most milliseconds between two turns */
function drawInTurns(page, most) {
    endDrawing(page);
    beginDrawing(page);
    return (frameOf(page).turns = goOn(page, most));
}

/** Draws all for the first time, with a turn of the browser after each step. @param {Page} page */
export function drawFirst(page) {
    const done = drawInTurns(page, 0);
    frameOf(page).awaited = frameOf(page).begun !== null;
    return done;
}

/** Is the recording so large that a drawing is done in turns? @param {Page} page */
export const isLarge = ({ view }) => view.facts.allocations > AT_ONCE;

/** Draws what is out of date: at once or, if the recording is large, in turns. @param {Page} page */
export async function drawn(page) {
    const frame = frameOf(page);
    while (isLarge(page) && (frame.begun || frame.parts))
        await (frame.begun ? frame.turns : drawInTurns(page, DRAWN_MS));
    flush(page);
}

/**
 * Draws a picture apart from the page with the view that the page shows: as the state is now, after what is out of
 * date is drawn; at once or, if the recording is large, in turns. Other drawings wait.
 * @template T
 * @param {Page} page
 * @param {Generator<undefined, T>} steps the last ones leave the view as it was
 * @returns {Promise<T>}
 */
export function drawApart(page, steps) {
    const frame = frameOf(page);
    const { begun, before, parts } = frame;
    return new Promise((resolve, reject) => {
        frame.begun = (function* () {
            try {
                while (begun && !withFields(page, before, () => begun.next()).done) yield;
                if (parts) yield* frame.draw(parts);
                resolve(yield* steps);
            } catch (error) {
                reject(error);
            }
        })();
        cancelAnimationFrame(frame.request);
        Object.assign(frame, { parts: 0, request: 0, begunParts: EVERYTHING, before: {}, apart: true, awaited: true });
        if (isLarge(page)) frame.turns = goOn(page, DRAWN_MS);
        else endDrawing(page);
    });
}

/** Ends a picture, so that the view shows the page again. @param {Page} page */
export function endApart(page) {
    if (frameOf(page).apart) endDrawing(page);
}

async function drawFrame(/** @type {Page} */ page) {
    const frame = frameOf(page);
    frame.request = 0;
    // In the frame itself the browser lays out what the last drawing has changed; the pointer's marks take little.
    if (isLarge(page) && frame.parts !== OVERLAY) await nextTurn();
    if (frame.begun) return; // these parts follow when it is done
    if (!isLarge(page)) flush(page);
    else if (frame.parts) await drawInTurns(page, DRAWN_MS);
}

/** Requests a drawing of some parts with the next frame. @param {Page} page @param {number} parts */
export function invalidate(page, parts) {
    const frame = frameOf(page);
    frame.parts |= parts;
    if (frame.request === 0) frame.request = requestAnimationFrame(() => drawFrame(page));
}

/** Prepares a drawing that has begun for the change of a field: it goes on in turns with the old value. Where the view
 * changes too, all is drawn anew instead. @param {Page} page @param {keyof PageState} name */
function leaveDrawing(page, name) {
    const frame = frameOf(page);
    if (!frame.begun || frame.busy) return;
    if (!OF_VIEW.has(name)) frame.before = { [name]: page.state[name], ...frame.before };
    else if (frame.awaited) endDrawing(page);
    else {
        forgetDrawing(page);
        frame.parts = EVERYTHING;
    }
}

/** The only way to change the state: parts that show a changed field are drawn with the next frame.
 * @param {Page} page @param {Partial<PageState>} fields */
export function change(page, fields) {
    const { state } = page;
    // There is one highlight at a time: a new one replaces a finding's set.
    if (state.finding !== null && (fields.focus || fields.search || typeof fields.selected === "number"))
        fields = { finding: null, ...fields };
    let parts = 0;
    for (const [name, value] of /** @type {[keyof PageState, unknown][]} */ (Object.entries(fields))) {
        if (state[name] === value) continue;
        const shows = SHOWN_BY.get(name) ?? 0;
        if (shows) leaveDrawing(page, name);
        parts |= shows;
        /** @type {Record<string, unknown>} */ (state)[name] = value;
    }
    if (parts === 0) return;
    invalidate(page, parts);
    frameOf(page).changed();
}

/** The noun for a band; a log has levels. @param {Page} page */
export const allocationWord = (page) => (page.session.facts.has_allocations ? "allocation" : "level");

/** The capacity of a device: as given when the page was made, otherwise from the file; 0: unknown. */
export const capacityBytes = (/** @type {Page} */ page, device = page.state.device) =>
    Number(page.meta.capacity ?? 0) || page.session.devices[device].capacity_bytes;

export function setPaper(/** @type {Page} */ page, /** @type {boolean} */ begins) {
    page.printing = begins;
}

export function isDark(/** @type {Page} */ page) {
    if (page.printing) return false;
    if (page.state.theme !== "auto") return page.state.theme === "dark";
    return matchMedia("(prefers-color-scheme: dark)").matches;
}

/* ---- positions: events (with fractions) and microseconds ---- */

export function usOfEvent(/** @type {Page} */ page, /** @type {number} */ event) {
    const whole = Math.floor(event);
    const begin = page.view.c.event_us(whole);
    return event === whole ? begin : begin + (page.view.c.event_us(whole + 1) - begin) * (event - whole);
}

/** @param {Page} page @param {number} us @param {View} [shown] whose event it is */
export function eventOfUs(page, us, shown = page.view) {
    const event = shown.c.event_at_us(us);
    const begin = shown.c.event_us(event);
    const end = shown.c.event_us(event + 1);
    return end > begin ? event + Math.min(1, Math.max(0, (us - begin) / (end - begin))) : event;
}

/** @param {Page} page @param {number} event */
export const axisOfEvent = (page, event) => (page.state.axis === "time" ? usOfEvent(page, event) : event);

/** @param {Page} page @param {number} position along the axis */
export const eventOfAxis = (page, position) => (page.state.axis === "time" ? eventOfUs(page, position) : position);

/** 0 events, 1 time, as the module counts them. @param {Page} page */
export const axisNumber = (page) => (page.state.axis === "time" ? 1 : 0);

/** The whole run along the current axis; if all devices are shown, from the first one's begin to the last one's end. */
export function wholeRange(/** @type {Page} */ page) {
    if (page.beside && page.state.axis === "events") return page.beside.whole(page);
    const own = page.view.c.whole(axisNumber(page));
    if (!page.state.all) return own;
    const runs = timedDevices(page).map((i) => page.session.devices[i]);
    const zero = page.view.facts.first_us;
    return {
        from: Math.min(...runs.map(({ first_us, from_us }) => first_us + from_us - zero)),
        to: Math.max(...runs.map(({ first_us, to_us }) => first_us + to_us - zero)),
    };
}

/* ---- all devices on one axis ---- */

/** Indices of the devices whose events have times. */
export const timedDevices = perPage(({ session }) =>
    session.devices.flatMap(({ from_us, to_us }, i) => (to_us > from_us ? [i] : [])),
);

/**
 * Asks a question of a view of a device that neither filter nor search narrows.
 * @template T
 * @param {Page} page
 * @param {(all: View) => T} question
 * @param {number} [device] index; the one that is shown
 * @returns {T}
 */
export function askAll(page, question, device = page.view.device) {
    const all = new View(page.session, device);
    try {
        return question(all);
    } finally {
        all.c.release();
    }
}

/** The call sites with most bytes after an event, of all allocations.
 * @param {Page} page @param {number} event @param {number} most */
export function topSites(page, event, most) {
    return askAll(page, (all) => {
        all.groups(event, "site");
        return all.firstGroups(most);
    });
}

/** The distance of a position along the shown device's time from the same moment along another's.
 * @param {Page} page @param {View} other */
export const clockShift = (page, other) => page.view.facts.first_us - other.facts.first_us;

/** The first event at or after a position of the axis; if several events have one time, all of them lie there.
 * @param {Page} page @param {number} position @param {View} shown */
function eventFrom(page, position, shown) {
    if (shown === page.view && page.state.axis === "events") return Math.ceil(position);
    const us = position + clockShift(page, shown);
    const before = shown.c.event_at_us(Math.ceil(us) - 1);
    return before < 0 ? Math.min(0, Math.ceil(eventOfUs(page, us, shown))) : before + 1;
}

/** Events of a range along the axis: [first, end). @param {Page} page @param {{from: number, to: number}} range
 * @param {View} [shown] whose events */
export function rangeEvents(page, range, shown = page.view) {
    const first = Math.max(-1, eventFrom(page, range.from, shown));
    return { first, end: Math.min(shown.facts.events, Math.max(first + 1, eventFrom(page, range.to, shown))) };
}

/** A place of the axis, rounded to a thousandth, so that what is shown is exactly what the address says.
 * @param {number} position */
export const exactPlace = (position) => Math.round(position * 1000) / 1000;

/** The part of a range that lies in the run; null: none does. @param {{from: number, to: number} | null} range */
export function rangeInRun(/** @type {Page} */ page, range) {
    const whole = wholeRange(page);
    const [from, to] = [Math.max(range?.from ?? NaN, whole.from), Math.min(range?.to ?? NaN, whole.to)].map(exactPlace);
    return from < to ? { from, to } : null;
}

/** "event 18,204 (12.3 s)", by the clock of the axis. @param {number} event @param {View} [shown] whose event it is */
export function momentText(/** @type {Page} */ page, event, shown = page.view) {
    if (event < 0 || !shown.facts.has_time) return formatEvent(event);
    return `${formatEvent(event)} (${formatDuration(shown.c.event_us(event) - clockShift(page, shown))})`;
}

/** The event whose state the list shows when nothing is hovered. @param {Page} page */
export const heldMoment = (page) => page.state.moment ?? page.view.facts.peak_event;

/** Shows bands by age, or sums; colours and list follow. @param {Page} page @param {string} viewBy */
export function setViewBy(page, viewBy) {
    const { meta, state } = page;
    // Bands do not keep the colours that belong to sums.
    const next = (/** @type {string} */ now, /** @type {string} */ usual) =>
        viewBy !== "age" && viewBy !== "segments" ? viewBy : now === state.viewBy ? usual : now;
    change(page, {
        viewBy,
        colorBy: next(state.colorBy, String(meta.color || "site")),
        groupBy: next(state.groupBy, "site"),
    });
}

/* ---- pins and highlights ---- */

/** Pins an allocation and highlights its call site. @param {Page} page @param {number | null} allocation */
export function select(page, allocation) {
    const site = allocation === null ? 0 : page.view.c.stack_site(page.view.c.allocation(allocation).stack);
    change(page, { selected: allocation, focus: allocation === null || site === 0 ? null : { by: "site", id: site } });
}

/** Is this highlighted? @param {Page} page @param {Focus | null} focus */
export const isFocused = ({ state }, focus) =>
    focus !== null && state.focus?.by === focus.by && state.focus.id === focus.id;

/** Highlights a row of the list, or if it is highlighted already, nothing. @param {Page} page @param {Focus} focus */
export function toggleFocus(page, focus) {
    const off = isFocused(page, focus) && page.state.selected === null;
    change(page, { focus: off ? null : focus, selected: null });
}
