// Sums as sorted areas: allocations of one category, stream or pool lie together, over the same silhouette as the
// bands.
import { pen, themeColor, yOfBytes } from "./canvas.js";
import { keyColor } from "./legend.js";
import { askSums, groupLabel, SLOTS } from "./questions.js";
import { COLORINGS, isDark } from "./state.js";

/** The opacity of the veil over the other areas while one is highlighted. */
const VEIL = 0.72;

/** The most areas of the module. */
const AREAS_MOST = 64;

export const showsAreas = (/** @type {Page} */ page) => page.state.viewBy !== "age" && page.state.viewBy !== "segments";

/** Keys below `keys`, in the order of the areas from the bottom up. @param {Page} page @param {number} keys */
function orderOf({ session, state }, keys) {
    if (state.viewBy !== "category") return Array.from({ length: keys }, (_, key) => key);
    return session.areaOrder.filter((key) => key < keys);
}

/** The key of the area at a height after an event; -1: there is none. @param {number} event @param {number} bytes */
export const areaAt = (/** @type {Page} */ page, event, bytes) =>
    bytes < 0 ? -1 : (areaEdges(page, event).find((edge) => edge.bytes > bytes)?.key ?? -1);

/** Totals of the areas after an event, by falling bytes. @param {Page} page @param {number} event
 * @returns {{key: number, name: string, bytes: number, color: string}[]} */
export function areaTotals(page, event) {
    const { state, view } = page;
    const by = COLORINGS.indexOf(state.viewBy);
    return askSums(view, SLOTS.once, { at: event }, state.viewBy)
        .rows()
        .map(({ bytes, key }) => ({
            key,
            name: groupLabel(view, state.viewBy, key),
            bytes,
            color: keyColor(page, by, key),
        }));
}

/** Upper edges of the areas after an event, from the bottom up. @param {Page} page @param {number} event */
export function areaEdges(page, event) {
    const totals = areaTotals(page, event);
    const order = orderOf(page, Math.max(0, ...totals.map(({ key }) => key + 1)));
    let bytes = 0;
    return order
        .flatMap((key) => totals.filter((total) => total.key === key))
        .map((total) => ({ ...total, bytes: (bytes += total.bytes) }));
}

/** Columns between two places that are tried for a name. */
const NAME_STEP = 4;

/** Fades everything above and below the highlighted area.
 * @param {Page} page @param {Context} context @param {Pane} pane */
export function veilAreas(page, context, pane) {
    const { state, view } = page;
    const { focus, viewBy } = state;
    if (!showsAreas(page) || focus?.by !== viewBy) return;
    // Streams and pools are numbered by device.
    if (pane.view !== view && viewBy !== "category") return;
    const { place, keys, width } = pane.view.c.areas();
    const bytes = new Float64Array(view.module.memory.buffer, place, keys * width);
    const below = orderOf(page, keys).slice(0, orderOf(page, keys).indexOf(focus.id));
    const y = (/** @type {number} */ value) => Math.min(pane.height, Math.max(0, yOfBytes(page, value, pane)));
    context.save();
    pen(context, { globalAlpha: VEIL, fillStyle: themeColor("--surface") });
    for (let x = 0; x < width; x++) {
        const at = (/** @type {number} */ key) => bytes[key * width + x];
        const base = below.reduce((sum, key) => sum + at(key), 0);
        const [low, high] = [y(base), y(base + at(focus.id))];
        context.fillRect(x / pane.ratio, 0, 1 / pane.ratio, high);
        context.fillRect(x / pane.ratio, low, 1 / pane.ratio, pane.height - low);
    }
    context.restore();
}

/** Finds a place for a text in each area of the last drawing: where the text has most height, at least `least` pixels,
 * and touches nothing. Pixels are the screen's. @param {Page} page @param {View} shown
 * @param {(text: string) => number} widthOf @param {number} least @param {(bytes: number) => number} yOf
 * @param {(x: number, columns: number, middle: number) => boolean} isFree */
export function areaRooms(page, shown, widthOf, least, yOf, isFree) {
    const { state, view } = page;
    const by = COLORINGS.indexOf(state.viewBy);
    const { place, keys, width } = shown.c.areas();
    const bytes = new Float64Array(view.module.memory.buffer, place, keys * width).slice();
    const below = new Float64Array(width);
    // If there are more keys than areas, the last area has no name.
    return orderOf(page, keys)
        .map((key) => {
            const low = below.map(yOf);
            const high = below.map((value, x) => yOf((below[x] = value + bytes[key * width + x])));
            const seen = shown !== view || state.focus?.by !== state.viewBy || state.focus.id === key;
            const fits = seen && key < AREAS_MOST - 1 && high.some((y, x) => low[x] - y >= least);
            const name = fits ? groupLabel(shown, state.viewBy, key) : "";
            const columns = name ? Math.ceil(widthOf(name)) : width + 1;
            let best = { x: 0, top: 0, bottom: least - 1 };
            for (let x = 0; x + columns <= width; x += NAME_STEP) {
                const top = Math.max(...high.subarray(x, x + columns));
                const bottom = Math.min(...low.subarray(x, x + columns));
                if (bottom - top > best.bottom - best.top && isFree(x, columns, (top + bottom) / 2))
                    best = { x, top, bottom };
            }
            return { ...best, name, color: view.c.key_color(by, key, isDark(page) ? 1 : 0) };
        })
        .filter(({ top, bottom }) => bottom - top >= least);
}
