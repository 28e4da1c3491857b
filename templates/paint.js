// Shared by all canvases of a page: sizes, colours of the style sheet, texts that fit, units of ticks.
import { decimalsOf } from "./text.js";

/** Cuts a text to a width; "" if not even three letters fit.
 * @param {Context} context @param {string} text @param {number} width */
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

/** A cut name in a box keeps at least so many letters. */
const NAME_LEAST = 12;

/** The text of a name in a box: the whole name, otherwise the first shorter one that fits, otherwise a large part of
 * its beginning. "": there is neither text nor box, as in the PNG. @param {Context} context @param {string[]} names the
 * whole and shorter ones @param {number} room */
export function boxText(context, names, room) {
    if (room < 8) return "";
    const fits = names.find((name) => context.measureText(name).width <= room);
    const text = fits ?? cutText(context, names[0], room);
    return text === fits || text.length > NAME_LEAST ? text : "";
}

/** Values of the style sheet, read once per theme, because reading them makes the browser compute styles. */
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

export function context2d(/** @type {HTMLCanvasElement} */ canvas) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser gives no canvas to draw on.");
    return context;
}

/** Sets how a canvas draws, before what it draws. @param {Context} context @param {Partial<Context>} style */
export const pen = (context, style) => Object.assign(context, style);

/** Clears a canvas and scales it so that 1 is a CSS pixel and (0, 0) lies at this distance from its corner.
 * @param {HTMLCanvasElement} canvas @param {number} ratio device pixels per CSS pixel
 * @param {{left: number, top: number}} corner */
export function clearCanvas(canvas, ratio, { left, top }) {
    const context = context2d(canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(ratio, 0, 0, ratio, left * ratio, top * ratio);
    themeColor("--text");
    context.font = `12px ${theme.font}`;
    return context;
}

/** The factor by which the module's lines and patterns are thicker on a finer screen. @param {number} ratio */
export const lineScale = (ratio) => Math.max(1, Math.round(ratio));

/** How many pixels CSS pixels are on the screen. @param {number} css @param {number} ratio */
export const pixelsOf = (css, ratio) => Math.max(1, Math.round(css * ratio));

/** Gives a canvas its size in CSS pixels; its pixels are the screen's.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} ratio */
export function sizeCanvas(canvas, width, height, ratio) {
    const [backingWidth, backingHeight] = [pixelsOf(width, ratio), pixelsOf(height, ratio)];
    if (canvas.width !== backingWidth) canvas.width = backingWidth;
    if (canvas.height !== backingHeight) canvas.height = backingHeight;
    canvas.style.width = `${backingWidth / ratio}px`;
    canvas.style.height = `${backingHeight / ratio}px`;
}

/** Black or white, whichever can be read on the colour. @param {number} rgb */
export function inkOn(rgb) {
    const linear = (/** @type {number} */ value) =>
        (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = 0.2126 * linear((rgb >> 16) & 255) + 0.7152 * linear((rgb >> 8) & 255) + 0.0722 * linear(rgb & 255);
    return light > 0.179 ? "#000" : "#fff";
}

/** The colour of a phase: equal names have equal colours, in every file. @param {string} name @param {boolean} dark */
export function phaseColor(name, dark) {
    let hash = 2166136261;
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
    // The digits of "ProfilerStep#12" change only the last bits, so the high bits are spread over all.
    const hue = Math.imul(hash ^ (hash >>> 13), 0x9e3779b1) >>> 23;
    return dark ? `hsl(${hue % 360} 28% 30%)` : `hsl(${hue % 360} 48% 87%)`;
}

/** The unit in which ticks are short: that of the highest tick, or a smaller one where the step needs it.
 * @param {number} step @param {number} highest */
export function tickUnit(step, highest) {
    for (let unit = 4; unit > 0; unit--)
        if (highest >= 1024 ** unit && decimalsOf(step / 1024 ** unit, 3) < 3) return unit;
    return 0;
}

/** The shape below a curve of equally wide columns, as a clip-path. @param {Float64Array} curve @param {number} most
 * what the upper edge stands for */
export function curveShape(curve, most) {
    const percent = (/** @type {number} */ column) => ((column * 100) / curve.length).toFixed(1);
    const points = Array.from(curve, (bytes, x) => {
        const y = (100 - (bytes / most) * 100).toFixed(0);
        return `${percent(x)}% ${y}%,${percent(x + 1)}% ${y}%`;
    });
    return `polygon(0 100%,${points.join(",")},100% 100%)`;
}
