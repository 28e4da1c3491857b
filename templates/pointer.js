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

const hands = {
    /**
     * What a drag on the timeline does.
     * @type {{x: number, y: number, from: number, to: number, bottom: number, top: number, range: boolean,
     * moved: boolean} | null}
     */
    drag: null,
    /**
     * What was pinned before each of the last two clicks: a double click, which is both, only fits.
     * @type {Pick<typeof state, "moment" | "selected" | "focus">[]}
     */
    beforeClicks: [],
    /** Where each finger (or the mouse) that is down lies. @type {Map<number, {x: number, y: number}>} */
    fingers: new Map(),
    /**
     * What two fingers hold on to: the positions under them when the second came down.
     * @type {{a: number, b: number} | null}
     */
    pinch: null,
    /** What the list said stays for a while after the pointer has left. */
    leaveTimer: 0,
    /** What a pinch on a trackpad has come to so far. */
    gestureScale: 1,
};

/** CSS pixel of the timeline. @param {MouseEvent} event */
function plotPoint(event) {
    const box = plot.timeline.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** @param {{x: number, y: number}} point */
export function insidePlot({ x, y }) {
    return x >= 0 && y >= 0 && x < plot.width && y < plot.height;
}

function plotDoubleClick() {
    if (hands.beforeClicks.length > 0) change(hands.beforeClicks[0]);
    fitWindow();
}

/** Two fingers no longer pan or pin. */
function startPinch() {
    hands.drag = null;
    state.pointer = null;
    const [a, b] = [...hands.fingers.values()].map(({ x }) => axisOfX(x));
    hands.pinch = Math.abs(a - b) > 0 ? { a, b } : null;
}

/** Keeps what was under each finger under it. */
function movePinch() {
    const [first, second] = [...hands.fingers.values()];
    if (!hands.pinch || !second || Math.abs(first.x - second.x) < 8) return;
    const scale = (hands.pinch.b - hands.pinch.a) / (second.x - first.x);
    if (scale <= 0) return;
    const from = hands.pinch.a - first.x * scale;
    setWindow(from, from + plot.width * scale);
}

/** @param {PointerEvent} event */
function plotDown(event) {
    const point = plotPoint(event);
    hands.fingers.set(event.pointerId, point);
    if (hands.fingers.size === 2) startPinch();
    if (hands.fingers.size > 1) return;
    const mark = event.button === 0 ? phaseAt(point) : null;
    if (mark) selectPhase(mark);
    if (event.button !== 0 || !insidePlot(point)) return;
    hands.drag = {
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
    if (!hands.drag) return;
    if (Math.hypot(point.x - hands.drag.x, point.y - hands.drag.y) > 3) hands.drag.moved = true;
    if (!hands.drag.moved) return;
    if (hands.drag.range) {
        const [a, b] = [hands.drag.x, point.x].map((x) => axisOfX(Math.min(Math.max(x, 0), plot.width)));
        change({ range: rangeInRun({ from: Math.min(a, b), to: Math.max(a, b) }) });
        return;
    }
    const shift = ((hands.drag.x - point.x) / plot.width) * (hands.drag.to - hands.drag.from);
    setWindow(hands.drag.from + shift, hands.drag.to + shift);
    if (state.top) {
        const rise = ((point.y - hands.drag.y) / plot.height) * (hands.drag.top - hands.drag.bottom);
        setBytes(hands.drag.bottom + rise, hands.drag.top + rise);
    }
}

/** @param {PointerEvent} event */
function plotMove(event) {
    const point = plotPoint(event);
    if (hands.fingers.has(event.pointerId)) hands.fingers.set(event.pointerId, point);
    if (hands.pinch) {
        movePinch();
        return;
    }
    dragTo(point);
    endLeave(false);
    state.pointer = insidePlot(point) && !hands.drag?.moved ? point : null;
    lane.hover = hands.drag ? null : phaseAt(point);
    state.lanePointer = lane.hover || (!hands.drag && inMemoryLane(point)) ? point : null;
    invalidate(OVERLAY);
}

/** @param {PointerEvent} event */
function plotUp(event) {
    hands.fingers.delete(event.pointerId);
    if (hands.fingers.size === 0) hands.pinch = null;
    const finished = hands.drag;
    hands.drag = null;
    if (!finished) return;
    if (finished.moved) {
        return;
    }
    const { allocation, event: moment } = pickAt(plotPoint(event).x, plotPoint(event).y);
    if (event.altKey) {
        markAt(moment);
        return;
    }
    hands.beforeClicks = [...hands.beforeClicks.slice(-1), { moment: state.moment, selected: state.selected, focus: state.focus }];
    change({ moment });
    const area = showsAreas() ? areaAt(moment, bytesOfY(plotPoint(event).y)) : -1;
    if (area < 0) select(allocation);
    else toggleFocus({ by: /** @type {import("./state.js").Focus["by"]} */ (state.viewBy), id: area });
}

/** What the list said stays for a while: it is where the pointer often goes next. */
const LEAVE_MS = 2000;

/** The pointer is back, or its moment is over. @param {boolean} left */
function endLeave(left) {
    clearTimeout(hands.leaveTimer);
    plot.left = false;
    if (!left) return;
    state.pointer = null;
    invalidate(OVERLAY);
}

function plotLeave() {
    if (hands.drag) return;
    clearTimeout(hands.leaveTimer);
    plot.left = state.pointer !== null;
    hands.leaveTimer = setTimeout(() => endLeave(true), LEAVE_MS);
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

/**
 * Safari on a Mac sends these for a trackpad, where other browsers send a wheel with Ctrl; on a touchscreen it sends
 * them
 * besides the pointers that are followed already.
 * @param {Event} event
 */
function plotGesture(event) {
    const gesture = /** @type {MouseEvent & { scale: number }} */ (event);
    event.preventDefault();
    if (event.type === "gesturechange" && hands.fingers.size === 0)
        zoomWindow(gesture.scale / hands.gestureScale, Math.min(1, Math.max(0, plotPoint(gesture).x / plot.width)));
    hands.gestureScale = event.type === "gesturechange" ? gesture.scale : 1;
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
        hands.fingers.delete(event.pointerId);
        hands.pinch = null;
        hands.drag = null;
    });
    plot.box.addEventListener("pointerleave", plotLeave);
    plot.box.addEventListener("wheel", plotWheel, { passive: false });
    for (const type of ["gesturestart", "gesturechange", "gestureend"]) plot.box.addEventListener(type, plotGesture);
    plot.box.addEventListener("dblclick", plotDoubleClick);
    new ResizeObserver(resizePlot).observe(plot.box);
}
