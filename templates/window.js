// The window of the timeline: which part of the run is shown, along the axis and in bytes, and how it moves.
import {
    axisNumber,
    axisOfEvent,
    capacityBytes,
    change,
    DETAIL,
    eventOfAxis,
    exactPlace,
    invalidate,
    LIST,
    newMemo,
    OVERLAY,
    perPage,
    rangeEvents,
    wholeRange,
} from "./state.js";

/** A narrower window would show only one state of the memory. */
const MIN_WINDOW_EVENTS = 2;

const MIN_WINDOW_US = 2;

const MIN_WINDOW_BYTES = 4096;

/** Top of the y axis for the whole run of a device, kept because every point of an outline asks for it and the module
 * looks at all moments. */
const headroomOf = perPage(() => newMemo());

/** The top of the y axis. What the filter leaves gets a scale of its own if it would be flat otherwise. */
function mostBytes(/** @type {Page} */ page) {
    const { kept, state, view } = page;
    const ask = () => view.c.headroom(-1, view.facts.events, capacityBytes(page));
    return kept.top || Math.max(headroomOf(page)([state.device], ask), page.beside?.top ?? 0);
}

/** The bytes between which a narrow window was drawn last, so that its bands can be told apart; top 0: none. */
export const fittedOf = perPage(() => ({ bottom: 0, top: 0 }));

/** May a narrow window have heights of its own? @param {Page} page */
export const mayFit = ({ state, kept }) => state.top === 0 && kept.top === 0 && !state.bands;

/** The bytes to draw between, unless the window gets heights of its own. @param {Page} page */
export const wantedBytes = (page) => ({
    bottom: mayFit(page) ? 0 : page.state.bottom,
    top: page.state.top || mostBytes(page),
});

/** Bytes at the edges of the timeline. @param {Page} page */
export const topBytes = (page) => page.state.top || (mayFit(page) && fittedOf(page).top) || mostBytes(page);

export const bottomBytes = (/** @type {Page} */ page) => (mayFit(page) ? fittedOf(page).bottom : page.state.bottom);

/** Moves the window, clipped so that it lies inside the run. @param {number} from @param {number} to */
export function setWindow(/** @type {Page} */ page, from, to) {
    const whole = wholeRange(page);
    const least = Math.min(page.state.axis === "time" ? MIN_WINDOW_US : MIN_WINDOW_EVENTS, whole.to - whole.from);
    let width = Math.min(Math.max(to - from, least), whole.to - whole.from);
    if (!Number.isFinite(width)) width = whole.to - whole.from;
    const middle = Number.isFinite(from + to) ? (from + to) / 2 : whole.from;
    const first = Math.min(Math.max(middle - width / 2, whole.from), whole.to - width);
    change(page, { from: exactPlace(first), to: exactPlace(first + width) });
}

export function fitWindow(/** @type {Page} */ page) {
    const whole = wholeRange(page);
    change(page, { bottom: 0, top: 0 });
    setWindow(page, whole.from, whole.to);
}

/** @param {Page} page @param {number} factor above 1: closer @param {number} at 0..1 along the window */
export function zoomWindow(page, factor, at) {
    const { state } = page;
    const middle = state.from + (state.to - state.from) * at;
    const width = (state.to - state.from) / factor;
    setWindow(page, middle - width * at, middle + width * (1 - at));
}

/** @param {Page} page @param {number} share of the window's width */
export function panWindow(page, share) {
    const { state } = page;
    const shift = (state.to - state.from) * share;
    setWindow(page, state.from + shift, state.to + shift);
}

/** Sets the window of bytes, kept inside of [0, headroom].
 * @param {Page} page @param {number} bottom @param {number} top */
export function setBytes(page, bottom, top) {
    const most = mostBytes(page);
    const range = Math.min(Math.max(top - bottom, Math.min(MIN_WINDOW_BYTES, most)), most);
    const least = Math.round(Math.min(Math.max(bottom, 0), most - range));
    change(page, { bottom: least, top: range >= most ? 0 : Math.round(least + range) });
}

/** `v`: shows the bytes up to the highest moment of the window, as a PNG of it does (from 0 up, if the window has
 * heights of its own), or all bytes again. @param {Page} page @param {number} columns of the picture */
export function fitBytes(page, columns) {
    const { kept, state, view } = page;
    const first = Math.max(-1, Math.floor(eventOfAxis(page, state.from)));
    const end = Math.max(first + 1, Math.ceil(eventOfAxis(page, state.to)));
    if (state.top) setBytes(page, 0, mostBytes(page));
    else if (mayFit(page) && fittedOf(page).top) change(page, { bottom: 0, top: mostBytes(page) });
    else if (kept.active)
        setBytes(page, 0, (Math.max(...view.curve(axisNumber(page), state.from, state.to, columns, true)) * 25) / 24);
    else setBytes(page, 0, view.c.headroom(first, end, capacityBytes(page)));
}

/** @param {Page} page @param {number} factor above 1: closer @param {number} at 0..1 from the bottom */
export function zoomBytes(page, factor, at) {
    const bottom = bottomBytes(page);
    const range = topBytes(page) - bottom;
    const middle = bottom + range * at;
    setBytes(page, middle - (range / factor) * at, middle + (range / factor) * (1 - at));
}

/** `f`: fits the range, otherwise the lifetime of the pinned allocation, otherwise everything. @param {Page} page */
export function fitSelection(page) {
    const { state, view } = page;
    if (state.range) {
        setWindow(page, state.range.from, state.range.to);
        change(page, { range: null });
    } else if (state.selected !== null) {
        const { birth, death } = view.c.allocation(state.selected);
        const [from, to] = [axisOfEvent(page, birth), axisOfEvent(page, death)];
        const margin = (to - from) * 0.1;
        setWindow(page, from - margin, to + margin);
    } else fitWindow(page);
}

/** Brings a moment into the window and holds the list there. @param {Page} page @param {number} event */
export function goToEvent(page, event) {
    const { state, view } = page;
    change(page, { moment: event === view.facts.peak_event ? null : event, pointer: null });
    const whole = wholeRange(page);
    const width = state.to - state.from;
    const at = axisOfEvent(page, event + 0.5);
    if (width >= (whole.to - whole.from) * 0.999) setWindow(page, at - width * 0.05, at + width * 0.05);
    else if (at < state.from || at > state.to) setWindow(page, at - width / 2, at + width / 2);
    invalidate(page, LIST | DETAIL | OVERLAY);
}

export function setAxis(/** @type {Page} */ page, /** @type {"events" | "time"} */ axis) {
    const { state, view } = page;
    if (axis === state.axis || (axis === "time" && !view.facts.has_time)) return;
    const from = eventOfAxis(page, state.from);
    const to = eventOfAxis(page, state.to);
    const range = state.range && rangeEvents(page, state.range);
    const whole = wholeRange(page);
    const all = state.from <= whole.from && state.to >= whole.to;
    change(page, { axis });
    change(page, { range: range && { from: axisOfEvent(page, range.first), to: axisOfEvent(page, range.end) } });
    const fit = wholeRange(page);
    if (all) setWindow(page, fit.from, fit.to);
    else setWindow(page, axisOfEvent(page, from), axisOfEvent(page, to));
}
