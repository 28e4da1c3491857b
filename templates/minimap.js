// The whole run in small, with the window as a brush over it.
import { context2d, sizeCanvas, themeColor } from "./canvas.js";
import { makeSplitter } from "./splitter.js";
import { axisNumber, axisOfEvent, invalidate, MINIMAP, perPage, wholeRange } from "./state.js";
import { fitWindow, setWindow } from "./window.js";

/** CSS pixels around an edge of the brush in which a drag takes hold of it. */
const GRIP = 7;

export const minimapOf = perPage((page) => {
    const { gutter, kept, search, state, view } = page;
    const { brush, minimap: box, minimapCanvas: canvas } = page.ui;
    /** CSS pixels of the curve. */
    let width = 1;
    /** The current drag. @type {{mode: "move" | "from" | "to" | "new", grip: number} | null} */
    let drag = null;

    /** CSS pixel of a position along the axis. @param {number} position */
    function xOf(position) {
        const whole = wholeRange(page);
        return ((position - whole.from) / (whole.to - whole.from)) * width;
    }

    /** Position along the axis under a CSS pixel. @param {number} x */
    function axisOf(x) {
        const whole = wholeRange(page);
        return whole.from + (Math.min(Math.max(x, 0), width) / width) * (whole.to - whole.from);
    }

    /** Does the window show the whole run? */
    function showsAll() {
        const whole = wholeRange(page);
        return state.from <= whole.from && state.to >= whole.to;
    }

    /** @param {Context} context @param {number} top bytes at the upper edge @param {string} color
     * @param {boolean} ofKept */
    function fillCurve(context, top, color, ofKept) {
        const { width, height } = canvas;
        const whole = wholeRange(page);
        const curve = view.curveBeyond(axisNumber(page), whole.from, whole.to, width, ofKept);
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
    function drawHits(context, ratio) {
        if (!search.ready) return;
        const whole = wholeRange(page);
        context.fillStyle = themeColor("--hit");
        view.hits(axisNumber(page), whole.from, whole.to, canvas.width).forEach((hits, x) => {
            if (hits > 0) context.fillRect(x, 0, Math.max(1, ratio), 6 * ratio);
        });
    }

    function draw() {
        const ratio = devicePixelRatio || 1;
        width = Math.max(40, box.clientWidth - gutter.left - gutter.right);
        sizeCanvas(canvas, width, Math.max(10, box.clientHeight), ratio);
        canvas.style.left = `${gutter.left}px`;
        const context = context2d(canvas);
        const top = kept.top || Math.max(1, view.facts.peak_bytes) * 1.08;
        context.clearRect(0, 0, canvas.width, canvas.height);
        // With a filter, what it leaves is drawn in front of the whole.
        fillCurve(context, top, kept.active ? "--curve-pale" : "--curve", false);
        if (kept.active) fillCurve(context, top, "--curve", true);
        drawHits(context, ratio);
        context.fillStyle = themeColor("--bad");
        for (let i = 0; i < view.facts.ooms; i++) {
            const at = xOf(axisOfEvent(page, view.c.oom(i).event)) / width;
            context.fillRect(Math.round(at * canvas.width) - ratio, 0, 2 * ratio, canvas.height);
        }
    }

    function placeBrush() {
        const [from, to] = [xOf(state.from), xOf(state.to)];
        brush.style.left = `${gutter.left + from}px`;
        brush.style.width = `${Math.max(2, to - from)}px`;
        brush.classList.toggle("brush-whole", showsAll());
    }

    const pointerX = (/** @type {PointerEvent} */ event) =>
        event.clientX - box.getBoundingClientRect().left - gutter.left;

    /** @param {number} x @returns {"move" | "from" | "to" | "new"} */
    function modeAt(x) {
        const [from, to] = [xOf(state.from), xOf(state.to)];
        if (Math.abs(x - from) <= GRIP) return "from";
        if (Math.abs(x - to) <= GRIP) return "to";
        return x > from && x < to && !showsAll() ? "move" : "new";
    }

    makeSplitter(page.ui.splitOverview, {
        read: () => box.offsetHeight,
        write: (pixels) => {
            box.style.height = pixels === null ? "" : `${pixels}px`;
            invalidate(page, MINIMAP);
        },
        least: 24,
        most: () => innerHeight / 3,
        sign: -1,
    });
    box.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        event.preventDefault();
        const x = pointerX(event);
        const [mode, at] = [modeAt(x), axisOf(x)];
        drag = { mode, grip: { move: at - state.from, from: state.to, to: state.from, new: at }[mode] };
        box.setPointerCapture(event.pointerId);
    });
    box.addEventListener("pointermove", (event) => {
        const x = pointerX(event);
        if (!drag) {
            const mode = modeAt(x);
            box.style.cursor = mode === "move" ? "grab" : mode === "new" ? "crosshair" : "ew-resize";
            return;
        }
        const at = axisOf(x);
        const { mode, grip } = drag;
        if (mode === "move") setWindow(page, at - grip, at - grip + (state.to - state.from));
        else if (at !== grip) setWindow(page, Math.min(at, grip), Math.max(at, grip));
    });
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => (drag = null));
    box.addEventListener("dblclick", () => fitWindow(page));
    return { draw, placeBrush };
});
