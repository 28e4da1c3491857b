// Sums as sorted areas: what shares a category, a stream or a pool lies together, over the same silhouette as the bands.
import { themeColor } from "./canvas.js";
import { keyColor } from "./legend.js";
import { askSums, GROUPINGS } from "./questions.js";
import { COLORINGS, state, view } from "./state.js";

/** From the bottom up, as the categories' names are numbered (enum category); what is not here lies on top. */
const CATEGORY_ORDER = [1, 3, 2, 4, 5, 6, 9, 10, 7, 0, 8];

/** Slot of the view that the totals under the cursor have for themselves. */
const CURSOR_SLOT = 3;

export function showsAreas() {
    return state.viewBy !== "age" && state.viewBy !== "segments";
}

/** Keys in the order of the areas. @param {number} keys */
function orderOf(keys) {
    const all = Array.from({ length: keys }, (_, key) => key);
    if (state.viewBy !== "category") return all;
    return [...CATEGORY_ORDER.filter((key) => key < keys), ...all.filter((key) => !CATEGORY_ORDER.includes(key))];
}

/** Paints them over the bands of a view's last drawing. @param {CanvasRenderingContext2D} context in the screen's pixels @param {import("./session.js").View} shown @param {number} bottom @param {number} top bytes at the edges @param {number} ratio */
export function drawAreas(context, shown, bottom, top, ratio) {
    const by = COLORINGS.indexOf(state.viewBy);
    const { place, keys, width } = shown.c.areas(by);
    const bytes = new Float64Array(shown.module.memory.buffer, place, keys * width).slice();
    const below = new Float64Array(width);
    const { height } = context.canvas;
    const y = (/** @type {number} */ value) => Math.round(Math.min(1, Math.max(0, 1 - (value - bottom) / (top - bottom))) * height);
    const line = themeColor("--surface");
    for (const key of orderOf(keys)) {
        const color = keyColor(by, key);
        for (let x = 0; x < width; ) {
            const value = bytes[key * width + x];
            const begin = below[x];
            let end = x + 1;
            while (end < width && bytes[key * width + end] === value && below[end] === begin) end++;
            if (value > 0) {
                const [top, base] = [y(begin + value), y(begin)];
                context.fillStyle = color;
                context.fillRect(x, top, end - x, base - top);
                // A gap between areas only where the run is wide: it would paint over a peak of one pixel.
                if (end - x >= 8 * ratio && base - top > 4 && begin > 0) {
                    context.fillStyle = line;
                    context.fillRect(x, base - 1, end - x, 1);
                }
                for (let i = x; i < end; i++) below[i] += value;
            }
            x = end;
        }
    }
}

/** Totals of the areas after an event, by falling bytes. @param {number} event @returns {{name: string, bytes: number, color: string}[]} */
export function areaTotals(event) {
    const sums = askSums(view, CURSOR_SLOT, { at: event }, state.viewBy);
    const by = COLORINGS.indexOf(state.viewBy);
    return Array.from({ length: Math.min(8, sums.groups) }, (_, i) => {
        const { bytes, key } = sums.row(i);
        return { name: sums.name(i).replace(/_/g, GROUPINGS[sums.by] === "category" ? " " : "_"), bytes, color: keyColor(by, key) };
    });
}
