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
    rangeInRun,
    select,
    TIMELINE,
    toggleFocus,
} from "./state.js";
import { bottomBytes, fitWindow, panWindow, setBytes, setWindow, topBytes, zoomBytes, zoomWindow } from "./window.js";

/** The timeline's CSS pixel under the mouse. @param {Page} page @param {MouseEvent} event */
function plotPoint(page, event) {
    const box = page.plot.timeline.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
}

export const insidePlot = (/** @type {Page} */ { plot }, /** @type {{x: number, y: number}} */ { x, y }) =>
    x >= 0 && y >= 0 && x < plot.width && y < plot.height;

/** The list's contents stay for this time after the pointer has left, since it often goes to the list next. */
const LEAVE_MS = 2000;

/** A share of the timeline, from 0 to 1. @param {number} share */
const clipped = (share) => Math.min(1, Math.max(0, share));

export function startPlot(/** @type {Page} */ page) {
    const { lane, plot, state } = page;
    const box = page.ui.plot;
    /** The current drag on the timeline. @type {{x: number, y: number, from: number, to: number, bottom: number, top:
     * number, range: boolean, moved: boolean} | null} */
    let drag = null;
    /** The pins before each of the last two clicks: a double click consists of both and must only fit.
     * @type {Pick<PageState, "moment" | "selected" | "focus">[]} */
    let beforeClicks = [];
    /** The place of each pressed finger (or the mouse). @type {Map<number, {x: number, y: number}>} */
    const fingers = new Map();
    /** The positions under two fingers, from when the second one came down. @type {{a: number, b: number} | null} */
    let pinch = null;
    /** A timer: the list's contents stay for a while after the pointer has left. */
    let leaveTimer = 0;
    /** The scale that a pinch on a trackpad has reached. */
    let gestureScale = 1;

    /** Begins a pinch: two fingers neither pan nor pin. */
    function startPinch() {
        drag = null;
        state.pointer = null;
        const [a, b] = [...fingers.values()].map(({ x }) => axisOfX(page, x));
        pinch = Math.abs(a - b) > 0 ? { a, b } : null;
    }

    /** Moves the window so that each finger keeps the place under it. */
    function movePinch() {
        const [first, second] = [...fingers.values()];
        if (!pinch || !second || Math.abs(first.x - second.x) < 8) return;
        const scale = (pinch.b - pinch.a) / (second.x - first.x);
        if (scale <= 0) return;
        const from = pinch.a - first.x * scale;
        setWindow(page, from, from + plot.width * scale);
    }

    function plotDown(/** @type {PointerEvent} */ event) {
        const point = plotPoint(page, event);
        fingers.set(event.pointerId, point);
        if (fingers.size === 2) startPinch();
        if (fingers.size > 1) return;
        const mark = event.button === 0 ? phaseAt(page, point) : null;
        if (mark) selectPhase(page, mark);
        if (event.button !== 0 || !insidePlot(page, point)) return;
        const window = { from: state.from, to: state.to, bottom: bottomBytes(page), top: topBytes(page) };
        drag = { ...point, ...window, range: event.shiftKey, moved: false };
        box.setPointerCapture(event.pointerId);
    }

    function dragTo(/** @type {{x: number, y: number}} */ point) {
        if (!drag) return;
        if (Math.hypot(point.x - drag.x, point.y - drag.y) > 3) drag.moved = true;
        if (!drag.moved) return;
        if (drag.range) {
            const [a, b] = [drag.x, point.x].map((x) => axisOfX(page, Math.min(Math.max(x, 0), plot.width)));
            change(page, { range: rangeInRun(page, { from: Math.min(a, b), to: Math.max(a, b) }) });
            // Who says what was made, freed and alive in it; Compare compares it, and the tree has it too.
            if (!["who", "tree", "compare"].includes(state.tab)) change(page, { tab: "who" });
            return;
        }
        const shift = ((drag.x - point.x) / plot.width) * (drag.to - drag.from);
        setWindow(page, drag.from + shift, drag.to + shift);
        if (state.top) {
            const rise = ((point.y - drag.y) / plot.height) * (drag.top - drag.bottom);
            setBytes(page, drag.bottom + rise, drag.top + rise);
        }
    }

    /** Stops waiting: the pointer is back, or (`left`) the time is over. @param {boolean} left */
    function endLeave(left) {
        clearTimeout(leaveTimer);
        plot.left = false;
        if (!left) return;
        state.pointer = null;
        invalidate(page, OVERLAY);
    }

    function plotMove(/** @type {PointerEvent} */ event) {
        const point = plotPoint(page, event);
        if (fingers.has(event.pointerId)) fingers.set(event.pointerId, point);
        if (pinch) return movePinch();
        dragTo(point);
        endLeave(false);
        state.pointer = insidePlot(page, point) && !drag?.moved ? point : null;
        lane.hover = drag ? null : phaseAt(page, point);
        state.lanePointer = lane.hover || (!drag && inMemoryLane(page, point)) ? point : null;
        invalidate(page, OVERLAY);
    }

    function plotUp(/** @type {PointerEvent} */ event) {
        fingers.delete(event.pointerId);
        if (fingers.size === 0) pinch = null;
        const finished = drag;
        drag = null;
        if (!finished || finished.moved) return;
        const point = plotPoint(page, event);
        const { allocation, event: moment } = pickAt(page, point.x, point.y);
        if (event.altKey) return markAt(page, moment);
        const before = { moment: state.moment, selected: state.selected, focus: state.focus };
        beforeClicks = [...beforeClicks.slice(-1), before];
        change(page, { moment });
        const area = showsAreas(page) ? areaAt(page, moment, bytesOfY(page, point.y)) : -1;
        if (area < 0) select(page, allocation);
        else toggleFocus(page, { by: /** @type {Focus["by"]} */ (state.viewBy), id: area });
    }

    function plotLeave() {
        if (drag) return;
        clearTimeout(leaveTimer);
        plot.left = state.pointer !== null;
        leaveTimer = setTimeout(() => endLeave(true), LEAVE_MS);
        state.lanePointer = null;
        lane.hover = null;
        invalidate(page, OVERLAY);
    }

    function plotWheel(/** @type {WheelEvent} */ event) {
        const point = plotPoint(page, event);
        event.preventDefault();
        const { along, across } = wheelPixels(event);
        // A pinch on a trackpad comes as a wheel with Ctrl, which zooms along as everywhere; the axis of bytes has a
        // wheel of its own.
        if (event.altKey || point.x < 0) zoomBytes(page, Math.exp(-across * 0.002), 1 - clipped(point.y / plot.height));
        else if (event.shiftKey || Math.abs(along) > Math.abs(across)) panWindow(page, (along || across) / plot.width);
        else zoomWindow(page, Math.exp(-across * (event.ctrlKey ? 0.01 : 0.002)), clipped(point.x / plot.width));
    }

    /** Safari on a Mac sends these for a trackpad, where other browsers send a wheel with Ctrl. On a touchscreen it
     * sends them in addition to the pointers that are followed already. @param {Event} event */
    function plotGesture(event) {
        const gesture = /** @type {MouseEvent & { scale: number }} */ (event);
        event.preventDefault();
        const at = clipped(plotPoint(page, gesture).x / plot.width);
        if (event.type === "gesturechange" && fingers.size === 0) zoomWindow(page, gesture.scale / gestureScale, at);
        gestureScale = event.type === "gesturechange" ? gesture.scale : 1;
    }

    /** Draws within the same frame if that is quick. Before the first drawing, which measures the box, does nothing. */
    function resizePlot() {
        if (plot.draws === 0 || !isPlotMoved(page)) return;
        invalidate(page, TIMELINE | MINIMAP);
        if (!isLarge(page)) flush(page);
    }

    box.addEventListener("pointerdown", plotDown);
    box.addEventListener("pointermove", plotMove);
    box.addEventListener("pointerup", plotUp);
    box.addEventListener("pointercancel", (event) => {
        fingers.delete(event.pointerId);
        pinch = drag = null;
    });
    box.addEventListener("pointerleave", plotLeave);
    box.addEventListener("wheel", plotWheel, { passive: false });
    for (const type of ["gesturestart", "gesturechange", "gestureend"]) box.addEventListener(type, plotGesture);
    box.addEventListener("dblclick", () => {
        if (beforeClicks.length > 0) change(page, beforeClicks[0]);
        fitWindow(page);
    });
    new ResizeObserver(resizePlot).observe(box);
}
