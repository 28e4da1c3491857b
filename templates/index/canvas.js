// Shared by the index's pictures. Everything is measured in CSS pixels.
import { context2d } from "../paint.js";

/** Clears a canvas and scales it to device pixels.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function canvasContext(canvas, width, height) {
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const context = context2d(canvas);
    context.scale(ratio, ratio);
    return context;
}

/** @typedef {{left: number, top: number, width: number, height: number, most: number}} Box */

/** Draws a line through shares at places 0 to 1 along the box; places outside are left out. @param {Context} context
 * @param {ArrayLike<number>} shares @param {(i: number) => number} place @param {Box} box */
export function traceCurve(context, shares, place, box) {
    let pen = false;
    context.beginPath();
    for (let i = 0; i < shares.length; i++) {
        const at = place(i);
        if (at < -0.001 || at > 1.001) continue;
        const x = box.left + at * box.width;
        const y = box.top + box.height * (1 - shares[i] / box.most);
        if (pen) context.lineTo(x, y);
        else context.moveTo(x, y);
        pen = true;
    }
}

/** A step of 1, 2 or 5 and zeros, at least as large. @param {number} least */
function roundStep(least) {
    const ten = 10 ** Math.floor(Math.log10(least));
    return ten * ([1, 2, 5].find((factor) => factor * ten >= least) ?? 10);
}

/** Round steps of bytes, about five up to `most`. @param {number} most */
export function tickStep(most) {
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, most)) / 10);
    return Math.max(1, roundStep(most / unit / 5) * unit);
}

/** Round steps of whole numbers, at most so many places apart. @param {number} count @param {number} places */
export const countStep = (count, places) => roundStep(Math.max(1, count / Math.max(1, places)));

/** The last place up to `end` that lies before something, of places in their order; 0: none does.
 * @param {number} end @param {(place: number) => boolean} isBefore */
export function lastBefore(end, isBefore) {
    let [low, high] = [0, end];
    while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (isBefore(middle)) low = middle;
        else high = middle - 1;
    }
    return low;
}

/** A curve of a recording's samples from the first to the last event. @param {Batch} batch @param {number} index
 * @param {Context} context @param {Box} box */
export function traceRun({ samples }, index, context, box) {
    const last = Math.max(1, samples[index].length - 1);
    traceCurve(context, samples[index], (i) => i / last, box);
}

/**
 * @param {HTMLElement} tip
 * @param {string} text "": none
 * @param {number} x @param {number} y
 * @param {number} width of where it may be
 */
export function placeTip(tip, text, x, y, width) {
    tip.hidden = text === "";
    if (text === "") return;
    tip.textContent = text;
    tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 14}px`;
}

/** @param {HTMLElement} target @param {HTMLElement} tip @param {{find: (x: number, y: number) => number, tell: (index:
 * number, x: number, y: number) => string, hover: (index: number) => void, choose: (index: number) => void}} use */
export function watchPointer(target, tip, use) {
    const at = (/** @type {MouseEvent} */ event) => {
        const box = target.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top, width: box.width };
    };
    target.addEventListener("pointermove", (event) => {
        const { x, y, width } = at(event);
        const index = use.find(x, y);
        placeTip(tip, index < 0 ? "" : use.tell(index, x, y), x, y, width);
        use.hover(index);
    });
    target.addEventListener("pointerleave", () => {
        tip.hidden = true;
        use.hover(-1);
    });
    target.addEventListener("click", (event) => {
        const { x, y } = at(event);
        const index = use.find(x, y);
        if (index >= 0) use.choose(index);
    });
}
