// Where the timeline lies on the page and the canvases that it is made of: sizes, positions, colours, lines.
import { state, topBytes, view } from "./state.js";
import { element } from "./text.js";

/** A text cut to a width, "" where not even three letters would fit. @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
export function cutText(context, text, width) {
    if (context.measureText(text).width <= width) return text;
    let [low, high] = [0, Math.min(text.length, Math.ceil(width))];
    while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (context.measureText(`${text.slice(0, middle)}\u2026`).width <= width) low = middle;
        else high = middle - 1;
    }
    return low < 3 ? "" : `${text.slice(0, low)}\u2026`;
}

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
    /** Labels of the axis along, in CSS pixels. @type {{from: number, to: number}[]} */
    labels: [],
    /** What the last overlay found under the pointer. @type {{life: number | null, event: number} | null} */
    hover: null,
};

/** What the style sheet says, read once per theme: asking it makes the browser compute styles. */
export const theme = { dark: "", font: "sans-serif", colors: /** @type {Map<string, string>} */ (new Map()) };

/** A colour of the style sheet. @param {string} name */
export function themeColor(name) {
    const dark = document.documentElement.dataset.theme ?? "";
    if (dark !== theme.dark) {
        theme.dark = dark;
        theme.font = getComputedStyle(document.body).fontFamily;
        theme.colors.clear();
    }
    const known = theme.colors.get(name);
    if (known !== undefined) return known;
    const color = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    theme.colors.set(name, color);
    return color;
}

/** @param {HTMLCanvasElement} canvas */
export function context2d(canvas) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser gives no canvas to draw on.");
    return context;
}

/** Gives a canvas its size in CSS pixels; the backing store follows the screen's pixels. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} ratio */
export function sizeCanvas(canvas, width, height, ratio) {
    const backingWidth = Math.max(1, Math.round(width * ratio));
    const backingHeight = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== backingWidth) canvas.width = backingWidth;
    if (canvas.height !== backingHeight) canvas.height = backingHeight;
    canvas.style.width = `${backingWidth / ratio}px`;
    canvas.style.height = `${backingHeight / ratio}px`;
}

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

/** @param {number} bytes */
export function yOfBytes(bytes) {
    return plot.height * (1 - (bytes - state.bottom) / (topBytes() - state.bottom));
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
