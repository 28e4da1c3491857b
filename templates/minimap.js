// The whole run in small, with the window as a brush over it.
import { context2d, sizeCanvas, themeColor } from "./canvas.js";
import { makeSplitter } from "./splitter.js";
import { axisNumber, axisOfEvent, invalidate, MINIMAP, perPage, wholeRange } from "./state.js";
import { fitWindow, setWindow } from "./window.js";

const minimapOf = perPage(() => ({
    width: 1,
    height: 1,
    /** The current drag. @type {{mode: "move" | "from" | "to" | "new", grip: number} | null} */
    drag: null,
}));

/** CSS pixels around an edge of the brush in which a drag takes hold of it. */
const GRIP = 7;

/** @param {Page} page @param {Context} context @param {number} top bytes at the upper edge @param {string} color
 * @param {boolean} ofKept */
function fillCurve(page, context, top, color, ofKept) {
    const { width, height } = page.ui.minimapCanvas;
    const whole = wholeRange(page);
    const curve = page.view.curveBeyond(axisNumber(page), whole.from, whole.to, width, ofKept);
    context.fillStyle = themeColor(color);
    context.beginPath();
    context.moveTo(0, height);
    for (let x = 0; x < width; x++) {
        const y = height * (1 - (curve[x] || 0) / top);
        context.lineTo(x, y);
        context.lineTo(x + 1, y);
    }
    context.lineTo(width, height);
    context.fill();
}

/** Marks where allocations that the search finds were made. @param {Context} context @param {number} ratio */
function drawHits(/** @type {Page} */ page, context, ratio) {
    if (!page.search.ready) return;
    const whole = wholeRange(page);
    context.fillStyle = themeColor("--hit");
    page.view.hits(axisNumber(page), whole.from, whole.to, page.ui.minimapCanvas.width).forEach((hits, x) => {
        if (hits > 0) context.fillRect(x, 0, Math.max(1, ratio), 6 * ratio);
    });
}

export function drawMinimap(/** @type {Page} */ page) {
    const { gutter, kept, view } = page;
    const minimap = minimapOf(page);
    const ratio = devicePixelRatio || 1;
    minimap.width = Math.max(40, page.ui.minimap.clientWidth - gutter.left - gutter.right);
    minimap.height = Math.max(10, page.ui.minimap.clientHeight);
    sizeCanvas(page.ui.minimapCanvas, minimap.width, minimap.height, ratio);
    page.ui.minimapCanvas.style.left = `${gutter.left}px`;
    const context = context2d(page.ui.minimapCanvas);
    const { width, height } = page.ui.minimapCanvas;
    const whole = wholeRange(page);
    const top = kept.top || Math.max(1, view.facts.peak_bytes) * 1.08;
    context.clearRect(0, 0, width, height);
    // With a filter, what it leaves is drawn in front of the whole.
    fillCurve(page, context, top, kept.active ? "--curve-pale" : "--curve", false);
    if (kept.active) fillCurve(page, context, top, "--curve", true);
    drawHits(page, context, ratio);
    context.fillStyle = themeColor("--bad");
    for (let i = 0; i < view.facts.ooms; i++) {
        const at = (axisOfEvent(page, view.c.oom(i).event) - whole.from) / (whole.to - whole.from);
        context.fillRect(Math.round(at * width) - ratio, 0, 2 * ratio, height);
    }
}

/** CSS pixel of a position along the axis. @param {Page} page @param {number} position */
function minimapX(page, position) {
    const whole = wholeRange(page);
    return ((position - whole.from) / (whole.to - whole.from)) * minimapOf(page).width;
}

/** Position along the axis under a CSS pixel. @param {Page} page @param {number} x */
function minimapAxis(page, x) {
    const minimap = minimapOf(page);
    const whole = wholeRange(page);
    return whole.from + (Math.min(Math.max(x, 0), minimap.width) / minimap.width) * (whole.to - whole.from);
}

export function placeBrush(/** @type {Page} */ page) {
    const { state } = page;
    const from = minimapX(page, state.from);
    const to = minimapX(page, state.to);
    page.ui.brush.style.left = `${page.gutter.left + from}px`;
    page.ui.brush.style.width = `${Math.max(2, to - from)}px`;
    const whole = wholeRange(page);
    page.ui.brush.classList.toggle("brush-whole", state.from <= whole.from && state.to >= whole.to);
}

const minimapPointerX = (/** @type {Page} */ page, /** @type {PointerEvent} */ event) =>
    event.clientX - page.ui.minimap.getBoundingClientRect().left - page.gutter.left;

/** @param {Page} page @param {number} x @returns {"move" | "from" | "to" | "new"} */
function minimapMode(page, x) {
    const { state } = page;
    const from = minimapX(page, state.from);
    const to = minimapX(page, state.to);
    const whole = wholeRange(page);
    if (Math.abs(x - from) <= GRIP) return "from";
    if (Math.abs(x - to) <= GRIP) return "to";
    const all = state.from <= whole.from && state.to >= whole.to;
    return x > from && x < to && !all ? "move" : "new";
}

function minimapDown(/** @type {Page} */ page, /** @type {PointerEvent} */ event) {
    const { state } = page;
    const minimap = minimapOf(page);
    if (event.button !== 0) return;
    event.preventDefault();
    const x = minimapPointerX(page, event);
    const mode = minimapMode(page, x);
    const at = minimapAxis(page, x);
    minimap.drag = { mode, grip: { move: at - state.from, from: state.to, to: state.from, new: at }[mode] };
    page.ui.minimap.setPointerCapture(event.pointerId);
}

function minimapMove(/** @type {Page} */ page, /** @type {PointerEvent} */ event) {
    const minimap = minimapOf(page);
    const x = minimapPointerX(page, event);
    if (!minimap.drag) {
        const mode = minimapMode(page, x);
        page.ui.minimap.style.cursor = mode === "move" ? "grab" : mode === "new" ? "crosshair" : "ew-resize";
        return;
    }
    const at = minimapAxis(page, x);
    const { mode, grip } = minimap.drag;
    if (mode === "move") setWindow(page, at - grip, at - grip + (page.state.to - page.state.from));
    else if (at !== grip) setWindow(page, Math.min(at, grip), Math.max(at, grip));
}

export function startMinimap(/** @type {Page} */ page) {
    const minimap = minimapOf(page);
    makeSplitter(page.ui.splitOverview, {
        read: () => page.ui.minimap.offsetHeight,
        write: (pixels) => {
            page.ui.minimap.style.height = pixels === null ? "" : `${pixels}px`;
            invalidate(page, MINIMAP);
        },
        least: 24,
        most: () => innerHeight / 3,
        sign: -1,
    });
    page.ui.minimap.addEventListener("pointerdown", (event) => minimapDown(page, event));
    page.ui.minimap.addEventListener("pointermove", (event) => minimapMove(page, event));
    for (const end of ["pointerup", "pointercancel"])
        page.ui.minimap.addEventListener(end, () => (minimap.drag = null));
    page.ui.minimap.addEventListener("dblclick", () => fitWindow(page));
}
