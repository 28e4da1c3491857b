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

/** Round steps of bytes, about five up to `most`. @param {number} most */
export function tickStep(most) {
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, most)) / 10);
    const raw = most / unit / 5;
    const ten = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((factor) => factor * ten >= raw) ?? 10;
    return Math.max(1, step * ten * unit);
}

/** Round steps of whole numbers, at most so many places apart. @param {number} count @param {number} places */
export function countStep(count, places) {
    const raw = Math.max(1, count / Math.max(1, places));
    const ten = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].map((factor) => factor * ten).find((step) => step >= raw) ?? 10 * ten;
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

/**
 * @param {HTMLElement} target @param {HTMLElement} tip
 * @param {{find: (x: number, y: number) => number, tell: (index: number, x: number, y: number) => string, hover:
 * (index: number) => void, choose: (index: number) => void}} use
 */
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
