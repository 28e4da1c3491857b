// The whole run in small, with the window as a brush.
import { context2d, GUTTER, sizeCanvas, themeColor } from "./canvas.js";
import { search } from "./search.js";
import { makeSplitter } from "./splitter.js";
import {
    axisNumber,
    axisOfEvent,
    fitWindow,
    invalidate,
    kept,
    MINIMAP,
    setWindow,
    state,
    view,
    wholeRange,
} from "./state.js";
import { element } from "./text.js";

const minimap = {
    box: element("minimap", HTMLDivElement),
    canvas: element("minimap-canvas", HTMLCanvasElement),
    brush: element("brush", HTMLDivElement),
    width: 1,
    height: 1,
    /** What a drag does. @type {{mode: "move" | "from" | "to" | "new", grip: number} | null} */
    drag: null,
};

/** CSS pixels around an edge of the brush that take hold of it. */
const GRIP = 7;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} top bytes at the upper edge
 * @param {string} color
 * @param {boolean} ofKept
 */
function fillCurve(context, top, color, ofKept) {
    const { width, height } = minimap.canvas;
    const whole = wholeRange();
    const curve = view.curve(axisNumber(), whole.from, whole.to, width, ofKept);
    context.fillStyle = themeColor(color);
    context.beginPath();
    context.moveTo(0, height);
    for (let x = 0; x < width; x++) {
        const y = height * (1 - curve[x] / top);
        context.lineTo(x, y);
        context.lineTo(x + 1, y);
    }
    context.lineTo(width, height);
    context.fill();
}

/** Where what the search finds was made. @param {CanvasRenderingContext2D} context @param {number} ratio */
function drawHits(context, ratio) {
    if (!search.ready) return;
    const { width } = minimap.canvas;
    const whole = wholeRange();
    const place = view.c.hits(axisNumber(), whole.from, whole.to, width) >>> 0;
    if (place === 0) return;
    const hits = new Float64Array(view.module.memory.buffer, place, width);
    context.fillStyle = themeColor("--hit");
    for (let x = 0; x < width; x++) if (hits[x] > 0) context.fillRect(x, 0, Math.max(1, ratio), 6 * ratio);
}

export function drawMinimap() {
    const ratio = devicePixelRatio || 1;
    minimap.width = Math.max(40, minimap.box.clientWidth - GUTTER.left - GUTTER.right);
    minimap.height = Math.max(10, minimap.box.clientHeight);
    sizeCanvas(minimap.canvas, minimap.width, minimap.height, ratio);
    minimap.canvas.style.left = `${GUTTER.left}px`;
    const context = context2d(minimap.canvas);
    const { width, height } = minimap.canvas;
    const whole = wholeRange();
    const top = kept.top || Math.max(1, view.facts.peak_bytes) * 1.08;
    context.clearRect(0, 0, width, height);
    // Of a filtered recording, what is left stands before the whole.
    fillCurve(context, top, kept.active ? "--curve-pale" : "--curve", false);
    if (kept.active) fillCurve(context, top, "--curve", true);
    drawHits(context, ratio);
    context.fillStyle = themeColor("--bad");
    for (let i = 0; i < view.facts.ooms; i++) {
        const at = (axisOfEvent(view.c.oom(i).event) - whole.from) / (whole.to - whole.from);
        context.fillRect(Math.round(at * width) - ratio, 0, 2 * ratio, height);
    }
}

/** CSS pixel of a position along the axis. @param {number} position */
function minimapX(position) {
    const whole = wholeRange();
    return ((position - whole.from) / (whole.to - whole.from)) * minimap.width;
}

/** Position along the axis under a CSS pixel. @param {number} x */
function minimapAxis(x) {
    const whole = wholeRange();
    return whole.from + (Math.min(Math.max(x, 0), minimap.width) / minimap.width) * (whole.to - whole.from);
}

export function placeBrush() {
    const from = minimapX(state.from);
    const to = minimapX(state.to);
    minimap.brush.style.left = `${GUTTER.left + from}px`;
    minimap.brush.style.width = `${Math.max(2, to - from)}px`;
    const whole = wholeRange();
    minimap.brush.classList.toggle("brush-whole", state.from <= whole.from && state.to >= whole.to);
}

/** @param {PointerEvent} event */
function minimapPointerX(event) {
    return event.clientX - minimap.box.getBoundingClientRect().left - GUTTER.left;
}

/** @param {number} x @returns {"move" | "from" | "to" | "new"} */
function minimapMode(x) {
    const from = minimapX(state.from);
    const to = minimapX(state.to);
    const whole = wholeRange();
    if (Math.abs(x - from) <= GRIP) return "from";
    if (Math.abs(x - to) <= GRIP) return "to";
    const all = state.from <= whole.from && state.to >= whole.to;
    return x > from && x < to && !all ? "move" : "new";
}

/** @param {PointerEvent} event */
function minimapDown(event) {
    if (event.button !== 0) return;
    event.preventDefault();
    const x = minimapPointerX(event);
    const mode = minimapMode(x);
    const grip =
        mode === "move"
            ? minimapAxis(x) - state.from
            : mode === "from"
              ? state.to
              : mode === "to"
                ? state.from
                : minimapAxis(x);
    minimap.drag = { mode, grip };
    minimap.box.setPointerCapture(event.pointerId);
}

/** @param {PointerEvent} event */
function minimapMove(event) {
    const x = minimapPointerX(event);
    if (!minimap.drag) {
        const mode = minimapMode(x);
        minimap.box.style.cursor = mode === "move" ? "grab" : mode === "new" ? "crosshair" : "ew-resize";
        return;
    }
    const at = minimapAxis(x);
    const { mode, grip } = minimap.drag;
    if (mode === "move") setWindow(at - grip, at - grip + (state.to - state.from));
    else if (at !== grip) setWindow(Math.min(at, grip), Math.max(at, grip));
}

export function startMinimap() {
    makeSplitter(element("split-overview", HTMLDivElement), {
        read: () => minimap.box.offsetHeight,
        write: (pixels) => {
            minimap.box.style.height = pixels === null ? "" : `${pixels}px`;
            invalidate(MINIMAP);
        },
        least: 24,
        most: () => innerHeight / 3,
        sign: -1,
    });
    minimap.box.addEventListener("pointerdown", minimapDown);
    minimap.box.addEventListener("pointermove", minimapMove);
    for (const end of ["pointerup", "pointercancel"]) minimap.box.addEventListener(end, () => (minimap.drag = null));
    minimap.box.addEventListener("dblclick", fitWindow);
}
