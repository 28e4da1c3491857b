// Mouse, fingers and wheel on the timeline.
import { areaAt, showsAreas } from "./areas.js";
import { axisOfX, bytesOfY, plot } from "./canvas.js";
import { lane, phaseAt, selectPhase } from "./lane.js";
import { inMemoryLane } from "./memory_lane.js";
import { pickAt } from "./overlay.js";
import { layoutPlot } from "./plot.js";
import {
    change,
    fitWindow,
    flush,
    invalidate,
    markAt,
    MINIMAP,
    OVERLAY,
    panWindow,
    rangeInRun,
    select,
    setBytes,
    setWindow,
    state,
    TIMELINE,
    toggleFocus,
    topBytes,
    zoomBytes,
    zoomWindow,
} from "./state.js";

/* ---- mouse ---- */

/**
 * What a drag on the timeline does.
 * @type {{x: number, y: number, from: number, to: number, bottom: number, top: number, range: boolean, moved: boolean}
 * | null}
 */
let drag = null;

/** CSS pixel of the timeline. @param {MouseEvent} event */
function plotPoint(event) {
    const box = plot.timeline.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** @param {{x: number, y: number}} point */
export function insidePlot({ x, y }) {
    return x >= 0 && y >= 0 && x < plot.width && y < plot.height;
}

/**
 * What was pinned before each of the last two clicks: a double click, which is both, only fits.
 * @type {Pick<typeof state, "moment" | "selected" | "focus">[]}
 */
let beforeClicks = [];

function plotDoubleClick() {
    if (beforeClicks.length > 0) change(beforeClicks[0]);
    fitWindow();
}

/** Where each finger (or the mouse) that is down lies. @type {Map<number, {x: number, y: number}>} */
const fingers = new Map();

/**
 * What two fingers hold on to: the positions under them when the second came down.
 * @type {{a: number, b: number} | null}
 */
let pinch = null;

/** Two fingers no longer pan or pin. */
function startPinch() {
    drag = null;
    state.pointer = null;
    const [a, b] = [...fingers.values()].map(({ x }) => axisOfX(x));
    pinch = Math.abs(a - b) > 0 ? { a, b } : null;
}

/** Keeps what was under each finger under it. */
function movePinch() {
    const [first, second] = [...fingers.values()];
    if (!pinch || !second || Math.abs(first.x - second.x) < 8) return;
    const scale = (pinch.b - pinch.a) / (second.x - first.x);
    if (scale <= 0) return;
    const from = pinch.a - first.x * scale;
    setWindow(from, from + plot.width * scale);
}

/** @param {PointerEvent} event */
function plotDown(event) {
    const point = plotPoint(event);
    fingers.set(event.pointerId, point);
    if (fingers.size === 2) startPinch();
    if (fingers.size > 1) return;
    const mark = event.button === 0 ? phaseAt(point) : null;
    if (mark) selectPhase(mark);
    if (event.button !== 0 || !insidePlot(point)) return;
    drag = {
        ...point,
        from: state.from,
        to: state.to,
        bottom: state.bottom,
        top: topBytes(),
        range: event.shiftKey,
        moved: false,
    };
    plot.box.setPointerCapture(event.pointerId);
}

/** @param {{x: number, y: number}} point */
function dragTo(point) {
    if (!drag) return;
    if (Math.hypot(point.x - drag.x, point.y - drag.y) > 3) drag.moved = true;
    if (!drag.moved) return;
    if (drag.range) {
        const [a, b] = [drag.x, point.x].map((x) => axisOfX(Math.min(Math.max(x, 0), plot.width)));
        change({ range: rangeInRun({ from: Math.min(a, b), to: Math.max(a, b) }) });
        return;
    }
    const shift = ((drag.x - point.x) / plot.width) * (drag.to - drag.from);
    setWindow(drag.from + shift, drag.to + shift);
    if (state.top) {
        const rise = ((point.y - drag.y) / plot.height) * (drag.top - drag.bottom);
        setBytes(drag.bottom + rise, drag.top + rise);
    }
}

/** @param {PointerEvent} event */
function plotMove(event) {
    const point = plotPoint(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, point);
    if (pinch) {
        movePinch();
        return;
    }
    dragTo(point);
    endLeave(false);
    state.pointer = insidePlot(point) && !drag?.moved ? point : null;
    lane.hover = drag ? null : phaseAt(point);
    state.lanePointer = lane.hover || (!drag && inMemoryLane(point)) ? point : null;
    invalidate(OVERLAY);
}

/** @param {PointerEvent} event */
function plotUp(event) {
    fingers.delete(event.pointerId);
    if (fingers.size === 0) pinch = null;
    const finished = drag;
    drag = null;
    if (!finished) return;
    if (finished.moved) {
        return;
    }
    const { allocation, event: moment } = pickAt(plotPoint(event).x, plotPoint(event).y);
    if (event.altKey) {
        markAt(moment);
        return;
    }
    beforeClicks = [...beforeClicks.slice(-1), { moment: state.moment, selected: state.selected, focus: state.focus }];
    change({ moment });
    const area = showsAreas() ? areaAt(moment, bytesOfY(plotPoint(event).y)) : -1;
    if (area < 0) select(allocation);
    else toggleFocus({ by: /** @type {import("./state.js").Focus["by"]} */ (state.viewBy), id: area });
}

/** What the list said stays for a while: it is where the pointer often goes next. */
const LEAVE_MS = 2000;

let leaveTimer = 0;

/** The pointer is back, or its moment is over. @param {boolean} left */
function endLeave(left) {
    clearTimeout(leaveTimer);
    plot.left = false;
    if (!left) return;
    state.pointer = null;
    invalidate(OVERLAY);
}

function plotLeave() {
    if (drag) return;
    clearTimeout(leaveTimer);
    plot.left = state.pointer !== null;
    leaveTimer = setTimeout(() => endLeave(true), LEAVE_MS);
    state.lanePointer = null;
    lane.hover = null;
    invalidate(OVERLAY);
}

/** @param {WheelEvent} event */
function plotWheel(event) {
    const point = plotPoint(event);
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 400 : 1;
    const along = event.deltaX * pixels;
    const across = event.deltaY * pixels;
    const at = Math.min(1, Math.max(0, point.x / plot.width));
    // A pinch on a trackpad comes as a wheel with Ctrl: it zooms along, as everywhere; the axis of bytes has its own
    // wheel.
    if (event.altKey || point.x < 0)
        zoomBytes(Math.exp(-across * 0.002), 1 - Math.min(1, Math.max(0, point.y / plot.height)));
    else if (event.shiftKey || Math.abs(along) > Math.abs(across)) panWindow((along || across) / plot.width);
    else zoomWindow(Math.exp(-across * (event.ctrlKey ? 0.01 : 0.002)), at);
}

/** What a pinch on a trackpad has come to so far. */
let gestureScale = 1;

/**
 * Safari on a Mac sends these for a trackpad, where other browsers send a wheel with Ctrl; on a touchscreen it sends
 * them
 * besides the pointers that are followed already.
 * @param {Event} event
 */
function plotGesture(event) {
    const gesture = /** @type {MouseEvent & { scale: number }} */ (event);
    event.preventDefault();
    if (event.type === "gesturechange" && fingers.size === 0)
        zoomWindow(gesture.scale / gestureScale, Math.min(1, Math.max(0, plotPoint(gesture).x / plot.width)));
    gestureScale = event.type === "gesturechange" ? gesture.scale : 1;
}

/** A canvas that changes its size is empty, so the new picture must come within the same frame. */
function resizePlot() {
    if (!layoutPlot()) return;
    invalidate(TIMELINE | MINIMAP);
    flush();
}

export function startPlot() {
    plot.box.addEventListener("pointerdown", plotDown);
    plot.box.addEventListener("pointermove", plotMove);
    plot.box.addEventListener("pointerup", plotUp);
    plot.box.addEventListener("pointercancel", (event) => {
        fingers.delete(event.pointerId);
        pinch = null;
        drag = null;
    });
    plot.box.addEventListener("pointerleave", plotLeave);
    plot.box.addEventListener("wheel", plotWheel, { passive: false });
    for (const type of ["gesturestart", "gesturechange", "gestureend"]) plot.box.addEventListener(type, plotGesture);
    plot.box.addEventListener("dblclick", plotDoubleClick);
    new ResizeObserver(resizePlot).observe(plot.box);
}
