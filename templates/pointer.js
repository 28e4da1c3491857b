// Mouse, fingers and wheel on the timeline.
import { areaAt, showsAreas } from "./areas.js";
import { axisOfX, bytesOfY } from "./canvas.js";
import { markAt } from "./ends.js";
import { phaseAt, selectPhase } from "./lane.js";
import { inMemoryLane } from "./memory_lane.js";
import { pickAt } from "./overlay.js";
import { isPlotMoved } from "./plot.js";
import { wheelPixels } from "./stage.js";
import {
    change,
    flush,
    invalidate,
    isLarge,
    MINIMAP,
    OVERLAY,
    perPage,
    rangeInRun,
    select,
    TIMELINE,
    toggleFocus,
} from "./state.js";
import { bottomBytes, fitWindow, panWindow, setBytes, setWindow, topBytes, zoomBytes, zoomWindow } from "./window.js";

const handsOf = perPage(() => ({
    /** The current drag on the timeline. @type {{x: number, y: number, from: number, to: number, bottom: number, top:
     * number, range: boolean, moved: boolean} | null} */
    drag: null,
    /** The pins before each of the last two clicks: a double click consists of both and must only fit.
     * @type {Pick<PageState, "moment" | "selected" | "focus">[]} */
    beforeClicks: [],
    /** The place of each pressed finger (or the mouse). @type {Map<number, {x: number, y: number}>} */
    fingers: new Map(),
    /** The positions under two fingers, from when the second one came down. @type {{a: number, b: number} | null} */
    pinch: null,
    /** A timer: the list's contents stay for a while after the pointer has left. */
    leaveTimer: 0,
    /** The scale that a pinch on a trackpad has reached. */
    gestureScale: 1,
}));

/** The timeline's CSS pixel under the mouse. @param {Page} page @param {MouseEvent} event */
function plotPoint(page, event) {
    const box = page.plot.timeline.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
}

export function insidePlot(/** @type {Page} */ { plot }, /** @type {{x: number, y: number}} */ { x, y }) {
    return x >= 0 && y >= 0 && x < plot.width && y < plot.height;
}

function plotDoubleClick(/** @type {Page} */ page) {
    const hands = handsOf(page);
    if (hands.beforeClicks.length > 0) change(page, hands.beforeClicks[0]);
    fitWindow(page);
}

/** Begins a pinch: two fingers neither pan nor pin. @param {Page} page */
function startPinch(page) {
    const hands = handsOf(page);
    hands.drag = null;
    page.state.pointer = null;
    const [a, b] = [...hands.fingers.values()].map(({ x }) => axisOfX(page, x));
    hands.pinch = Math.abs(a - b) > 0 ? { a, b } : null;
}

/** Moves the window so that each finger keeps the place under it. @param {Page} page */
function movePinch(page) {
    const hands = handsOf(page);
    const [first, second] = [...hands.fingers.values()];
    if (!hands.pinch || !second || Math.abs(first.x - second.x) < 8) return;
    const scale = (hands.pinch.b - hands.pinch.a) / (second.x - first.x);
    if (scale <= 0) return;
    const from = hands.pinch.a - first.x * scale;
    setWindow(page, from, from + page.plot.width * scale);
}

function plotDown(/** @type {Page} */ page, /** @type {PointerEvent} */ event) {
    const { state } = page;
    const hands = handsOf(page);
    const point = plotPoint(page, event);
    hands.fingers.set(event.pointerId, point);
    if (hands.fingers.size === 2) startPinch(page);
    if (hands.fingers.size > 1) return;
    const mark = event.button === 0 ? phaseAt(page, point) : null;
    if (mark) selectPhase(page, mark);
    if (event.button !== 0 || !insidePlot(page, point)) return;
    const window = { from: state.from, to: state.to, bottom: bottomBytes(page), top: topBytes(page) };
    hands.drag = { ...point, ...window, range: event.shiftKey, moved: false };
    page.ui.plot.setPointerCapture(event.pointerId);
}

function dragTo(/** @type {Page} */ page, /** @type {{x: number, y: number}} */ point) {
    const hands = handsOf(page);
    const { plot } = page;
    if (!hands.drag) return;
    if (Math.hypot(point.x - hands.drag.x, point.y - hands.drag.y) > 3) hands.drag.moved = true;
    if (!hands.drag.moved) return;
    if (hands.drag.range) {
        const [a, b] = [hands.drag.x, point.x].map((x) => axisOfX(page, Math.min(Math.max(x, 0), plot.width)));
        change(page, { range: rangeInRun(page, { from: Math.min(a, b), to: Math.max(a, b) }) });
        // Who says what was made, freed and alive in it; Compare compares it, and the tree has it too.
        if (!["who", "tree", "compare"].includes(page.state.tab)) change(page, { tab: "who" });
        return;
    }
    const shift = ((hands.drag.x - point.x) / plot.width) * (hands.drag.to - hands.drag.from);
    setWindow(page, hands.drag.from + shift, hands.drag.to + shift);
    if (page.state.top) {
        const rise = ((point.y - hands.drag.y) / plot.height) * (hands.drag.top - hands.drag.bottom);
        setBytes(page, hands.drag.bottom + rise, hands.drag.top + rise);
    }
}

function plotMove(/** @type {Page} */ page, /** @type {PointerEvent} */ event) {
    const hands = handsOf(page);
    const { lane } = page;
    const point = plotPoint(page, event);
    if (hands.fingers.has(event.pointerId)) hands.fingers.set(event.pointerId, point);
    if (hands.pinch) return movePinch(page);
    dragTo(page, point);
    endLeave(page, false);
    page.state.pointer = insidePlot(page, point) && !hands.drag?.moved ? point : null;
    lane.hover = hands.drag ? null : phaseAt(page, point);
    page.state.lanePointer = lane.hover || (!hands.drag && inMemoryLane(page, point)) ? point : null;
    invalidate(page, OVERLAY);
}

function plotUp(/** @type {Page} */ page, /** @type {PointerEvent} */ event) {
    const { state } = page;
    const hands = handsOf(page);
    hands.fingers.delete(event.pointerId);
    if (hands.fingers.size === 0) hands.pinch = null;
    const finished = hands.drag;
    hands.drag = null;
    if (!finished || finished.moved) return;
    const { allocation, event: moment } = pickAt(page, plotPoint(page, event).x, plotPoint(page, event).y);
    if (event.altKey) return markAt(page, moment);
    const before = { moment: state.moment, selected: state.selected, focus: state.focus };
    hands.beforeClicks = [...hands.beforeClicks.slice(-1), before];
    change(page, { moment });
    const area = showsAreas(page) ? areaAt(page, moment, bytesOfY(page, plotPoint(page, event).y)) : -1;
    if (area < 0) select(page, allocation);
    else toggleFocus(page, { by: /** @type {Focus["by"]} */ (state.viewBy), id: area });
}

/** The list's contents stay for this time after the pointer has left, since it often goes to the list next. */
const LEAVE_MS = 2000;

/** Stops waiting: the pointer is back, or (`left`) the time is over. @param {Page} page @param {boolean} left */
function endLeave(page, left) {
    clearTimeout(handsOf(page).leaveTimer);
    page.plot.left = false;
    if (!left) return;
    page.state.pointer = null;
    invalidate(page, OVERLAY);
}

function plotLeave(/** @type {Page} */ page) {
    const hands = handsOf(page);
    if (hands.drag) return;
    clearTimeout(hands.leaveTimer);
    page.plot.left = page.state.pointer !== null;
    hands.leaveTimer = setTimeout(() => endLeave(page, true), LEAVE_MS);
    page.state.lanePointer = null;
    page.lane.hover = null;
    invalidate(page, OVERLAY);
}

function plotWheel(/** @type {Page} */ page, /** @type {WheelEvent} */ event) {
    const { plot } = page;
    const point = plotPoint(page, event);
    event.preventDefault();
    const { along, across } = wheelPixels(event);
    const at = Math.min(1, Math.max(0, point.x / plot.width));
    // A pinch on a trackpad comes as a wheel with Ctrl, which zooms along as everywhere; the axis of bytes has a wheel
    // of its own.
    if (event.altKey || point.x < 0)
        zoomBytes(page, Math.exp(-across * 0.002), 1 - Math.min(1, Math.max(0, point.y / plot.height)));
    else if (event.shiftKey || Math.abs(along) > Math.abs(across)) panWindow(page, (along || across) / plot.width);
    else zoomWindow(page, Math.exp(-across * (event.ctrlKey ? 0.01 : 0.002)), at);
}

/** Safari on a Mac sends these for a trackpad, where other browsers send a wheel with Ctrl. On a touchscreen it sends
 * them in addition to the pointers that are followed already. @param {Page} page @param {Event} event */
function plotGesture(page, event) {
    const hands = handsOf(page);
    const gesture = /** @type {MouseEvent & { scale: number }} */ (event);
    event.preventDefault();
    const at = Math.min(1, Math.max(0, plotPoint(page, gesture).x / page.plot.width));
    if (event.type === "gesturechange" && hands.fingers.size === 0)
        zoomWindow(page, gesture.scale / hands.gestureScale, at);
    hands.gestureScale = event.type === "gesturechange" ? gesture.scale : 1;
}

/** Draws within the same frame if that is quick. Before the first drawing, which measures the box, does nothing.
 * @param {Page} page */
function resizePlot(page) {
    if (page.plot.draws === 0 || !isPlotMoved(page)) return;
    invalidate(page, TIMELINE | MINIMAP);
    if (!isLarge(page)) flush(page);
}

export function startPlot(/** @type {Page} */ page) {
    const hands = handsOf(page);
    page.ui.plot.addEventListener("pointerdown", (event) => plotDown(page, event));
    page.ui.plot.addEventListener("pointermove", (event) => plotMove(page, event));
    page.ui.plot.addEventListener("pointerup", (event) => plotUp(page, event));
    page.ui.plot.addEventListener("pointercancel", (event) => {
        hands.fingers.delete(event.pointerId);
        hands.pinch = null;
        hands.drag = null;
    });
    page.ui.plot.addEventListener("pointerleave", () => plotLeave(page));
    page.ui.plot.addEventListener("wheel", (event) => plotWheel(page, event), { passive: false });
    for (const type of ["gesturestart", "gesturechange", "gestureend"])
        page.ui.plot.addEventListener(type, (event) => plotGesture(page, event));
    page.ui.plot.addEventListener("dblclick", () => plotDoubleClick(page));
    new ResizeObserver(() => resizePlot(page)).observe(page.ui.plot);
}
