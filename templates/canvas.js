// Where the timeline lies on the page and the canvases that it is made of: sizes, positions, colours, lines.
import { context2d, theme, themeColor } from "./paint.js";
import { state, topBytes, view } from "./state.js";
import { element } from "./text.js";

export { context2d, cutText, lineScale, sizeCanvas, theme, themeColor } from "./paint.js";

/** CSS pixels around the timeline, for labels. */
export const GUTTER = { left: 66, top: 30, right: 16, bottom: 46 };

/** Of these, what the labels of the axis below the lane take. */
export const AXIS_HEIGHT = 46;

export const plot = {
    box: element("plot", HTMLDivElement),
    timeline: element("timeline", HTMLCanvasElement),
    axes: element("axes", HTMLCanvasElement),
    overlay: element("overlay", HTMLCanvasElement),
    markers: element("markers", HTMLDivElement),
    tip: element("tip", HTMLDivElement),
    /** CSS pixels of the timeline. */
    width: 1,
    height: 1,
    /** Device pixels per CSS pixel. */
    ratio: 1,
    /** Milliseconds of the last drawings of the stack. @type {number[]} */
    frameMs: [],
    /** Drawings of the stack so far. */
    draws: 0,
    /** Of the last drawing: allocations with bands of their own, and those in sums. */
    drawn: 0,
    merged: 0,
    /** Allocations too short for any column of it. */
    between: 0,
    /** Nobody points at it any more, but what it told stays for a moment. */
    left: false,
    /** Labels of the axis along, in CSS pixels. @type {{from: number, to: number}[]} */
    labels: [],
    /** Names of lines inside of the timeline. @type {{left: number, right: number, top: number, bottom: number}[]} */
    lineNames: [],
    /** Where marks stand, the same. @type {{left: number, right: number, top: number, bottom: number}[]} */
    flags: [],
    /** What the last overlay found under the pointer. @type {{allocation: number | null, band: number | null, event: number} | null} */
    hover: null,
    /** The event that the list was last told of. */
    told: NaN,
};

/* ---- positions in CSS pixels of the timeline ---- */

/** @param {number} position along the axis */
export function xOfAxis(position) {
    return ((position - state.from) / (state.to - state.from)) * plot.width;
}

/** @param {number} x */
export function axisOfX(x) {
    return state.from + (x / plot.width) * (state.to - state.from);
}

/** @param {number} event */
export function xOfEvent(event) {
    return view.c.x_of_event(event) / plot.ratio;
}

/** Middle of what an event has of the timeline: where its marks stand. @param {number} event */
export function middleOfEvent(event) {
    const from = xOfEvent(event);
    return (from + Math.max(from, Math.min(xOfEvent(event + 1), plot.width))) / 2;
}

/** @param {number} bytes */
export function yOfBytes(bytes) {
    return plot.height * (1 - (bytes - state.bottom) / (topBytes() - state.bottom));
}

/** @param {number} y */
export function bytesOfY(y) {
    return state.bottom + (1 - y / plot.height) * (topBytes() - state.bottom);
}

/** A cleared canvas, scaled so that 1 is a CSS pixel and (0, 0) the timeline's corner. @param {HTMLCanvasElement} canvas */
export function startCanvas(canvas) {
    const context = context2d(canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(plot.ratio, 0, 0, plot.ratio, GUTTER.left * plot.ratio, GUTTER.top * plot.ratio);
    themeColor("--text");
    context.font = `12px ${theme.font}`;
    return context;
}

/** Straight line on the pixel grid. @param {CanvasRenderingContext2D} context @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
export function strokeLine(context, x0, y0, x1, y1) {
    const snap = (/** @type {number} */ v) => (Math.round(v * plot.ratio) + 0.5) / plot.ratio;
    context.beginPath();
    context.moveTo(snap(x0), snap(y0));
    context.lineTo(snap(x1), snap(y1));
    context.stroke();
}
