// The timeline's place on the page and its canvases: sizes, positions, colours, lines.
import { clearCanvas } from "./paint.js";
import { axisOfEvent, usOfEvent } from "./state.js";
import { bottomBytes, goToEvent, topBytes } from "./window.js";

export { context2d, cutText, lineScale, pen, pixelsOf, sizeCanvas, theme, themeColor } from "./paint.js";

/** CSS pixels around the timeline, for labels. */
export const newGutter = () => ({ left: 66, top: 30, right: 16, bottom: 46 });

/** CSS pixels below the lane, for the labels of the axis; in a low box its title stands beside them.
 * @param {Page} page */
export const axisHeight = (page) => (page.ui.plot.clientHeight < 360 ? 28 : 46);

/**
 * A timeline as its axes, lane, marks and names need it. The selected device's is `plot`; the rows of other
 * devices have panes of their own, with the same room around them.
 * @typedef {object} Pane
 * @property {View} view what it shows
 * @property {number} from the window along its own axis
 * @property {number} to
 * @property {number} bottom bytes at the lower edge
 * @property {number} top and at the upper one
 * @property {number} width CSS pixels
 * @property {number} height
 * @property {number} ratio device pixels per CSS pixel
 * @property {HTMLCanvasElement} timeline
 * @property {HTMLCanvasElement} axes
 * @property {HTMLDivElement} markers
 * @property {Room[]} lineNames names of lines inside of the timeline
 * @property {Room[]} flags where marks stand
 * @property {number} resting timer until names are written
 * @property {(event: number) => number} axisOf where an event lies along its axis
 * @property {(event: number) => void} go brings an event into the window
 */

/** @typedef {{left: number, right: number, top: number, bottom: number}} Room CSS pixels of the timeline */

export const newPlot = (/** @type {Page} */ page) => ({
    get view() {
        return page.view;
    },
    get from() {
        return page.state.from;
    },
    get to() {
        return page.state.to;
    },
    get bottom() {
        return bottomBytes(page);
    },
    get top() {
        return topBytes(page);
    },
    axisOf: (/** @type {number} */ event) => axisOfEvent(page, event),
    go: (/** @type {number} */ event) => goToEvent(page, event),
    resting: 0,
    timeline: page.ui.timeline,
    axes: page.ui.axes,
    markers: page.ui.markers,
    /** Width of the timeline in CSS pixels. */
    width: 1,
    height: 1,
    /** Device pixels per CSS pixel. */
    ratio: 1,
    /** The pixels that the next drawing shows, once they are ready.
     * @type {{drawing: record_drawing, width: number, height: number, ms: number} | null} */
    laid: null,
    /** Has it another size than its canvases? */
    moved: false,
    /** Milliseconds that the last drawings of the stack took. @type {number[]} */
    frameMs: [],
    /** The number of drawings of the stack so far. */
    draws: 0,
    /** In the last drawing: allocations with bands of their own, and those in sums. */
    drawn: 0,
    merged: 0,
    dense: 0,
    groups: 0,
    /** Allocations too short for any column of the last drawing. */
    between: 0,
    /** The pointer has left, but its text stays for a moment. */
    left: false,
    /** Places of the labels of the axis along, in CSS pixels. @type {{from: number, to: number}[]} */
    labels: [],
    /** @type {Room[]} */
    lineNames: [],
    /** @type {Room[]} */
    flags: [],
    /** The thing that the last overlay found under the pointer.
     * @type {{allocation: number | null, band: number | null, event: number} | null} */
    hover: null,
    /** The pointer's CSS pixel along the timeline, while it is in another device's row. @type {number | null} */
    pointed: null,
    /** The event that the list shows. */
    told: NaN,
});

/* ---- positions in CSS pixels of the timeline ---- */

/** @param {Page} page @param {number} position along the axis @param {Pane} [pane] */
export const xOfAxis = (page, position, pane = page.plot) =>
    ((position - pane.from) / (pane.to - pane.from)) * pane.width;

export function axisOfX(/** @type {Page} */ page, /** @type {number} */ x) {
    const { state } = page;
    return state.from + (x / page.plot.width) * (state.to - state.from);
}

/** @param {Page} page @param {number} event @param {Pane} [pane] */
export const xOfEvent = (page, event, pane = page.plot) => pane.view.c.x_of_event(event) / pane.ratio;

/** The middle of an event's part of the timeline, where the event's marks are.
 * @param {number} event @param {Pane} [pane] */
export function middleOfEvent(/** @type {Page} */ page, event, pane = page.plot) {
    const from = xOfEvent(page, event, pane);
    return (from + Math.max(from, Math.min(xOfEvent(page, event + 1, pane), pane.width))) / 2;
}

/** The place of an event of the selected device in a pane; in another device's pane, the place of its time.
 * @param {Page} page @param {number} event @param {Pane} pane */
export const xOfMoment = (page, event, pane) =>
    pane === page.plot ? middleOfEvent(page, event) : xOfAxis(page, usOfEvent(page, event));

/** @param {Page} page @param {number} bytes @param {Pane} [pane] */
export const yOfBytes = (page, bytes, pane = page.plot) =>
    pane.height * (1 - (bytes - pane.bottom) / (pane.top - pane.bottom));

export function bytesOfY(/** @type {Page} */ page, /** @type {number} */ y) {
    const { bottom, height, top } = page.plot;
    return bottom + (1 - y / height) * (top - bottom);
}

/** A cleared canvas in which (0, 0) is the timeline's corner. @param {HTMLCanvasElement} canvas @param {Pane} [pane] */
export const startCanvas = (/** @type {Page} */ page, canvas, pane = page.plot) =>
    clearCanvas(canvas, pane.ratio, page.gutter);

/** Draws a straight line on the pixel grid. @param {Page} page @param {Context} context @param {number} x0
 * @param {number} y0 @param {number} x1 @param {number} y1 */
export function strokeLine({ plot }, context, x0, y0, x1, y1) {
    const snap = (/** @type {number} */ v) => (Math.round(v * plot.ratio) + 0.5) / plot.ratio;
    context.beginPath();
    context.moveTo(snap(x0), snap(y0));
    context.lineTo(snap(x1), snap(y1));
    context.stroke();
}
