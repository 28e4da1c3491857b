// Names of call sites on the bands that have room for them, of areas in the areas: written when the view rests, since nobody reads while dragging.
import { areaRooms, showsAreas } from "./areas.js";
import { context2d, middleOfEvent, plot, theme, yOfBytes } from "./canvas.js";
import { drawAlsoShown } from "./legend.js";
import { GHOST_WIDTH, visibleGhosts, visibleMarkers } from "./markers.js";
import { session, state, view } from "./state.js";
import { cssColor } from "./text.js";

const REST_MS = 120;
const ROWS = 15;
const COLUMNS = 48;
const PAD = 4;

let timer = 0;

/** What a name must not lie on: lines of the markers, ghosts of requests that failed, and the names of lines. */
function obstacles() {
    const lines = visibleMarkers().map(({ x }) => ({ left: x - 2, right: x + 2, top: 0, bottom: plot.height }));
    const marks = state.marks.map(({ event }) => middleOfEvent(event)).map((x) => ({ left: x - 2, right: x + 2, top: 0, bottom: plot.height }));
    const ghosts = visibleGhosts().map(({ left, top, bottom }) => ({ left: left - 2, right: left + GHOST_WIDTH + 2, top, bottom }));
    return [...lines, ...ghosts, ...plot.lineNames, ...marks, ...plot.flags];
}

/** Whole, or without the name of the function. @param {string} text */
function wordings(text) {
    const place = /^\S*\d(?= )/.exec(text)?.[0];
    return place ? [text, place] : [text];
}

/** The first place in a room, from its left, that nothing else has. @param {{from: number, to: number}} room @param {number} width @param {number} top @param {ReturnType<typeof obstacles>} taken */
function placeIn(room, width, top, taken) {
    for (let x = room.from; x + width <= room.to; ) {
        const other = taken.find(({ left, right, top: upper, bottom }) => left < x + width && right > x && upper < top + ROWS && bottom > top);
        if (!other) return x;
        x = other.right;
    }
    return null;
}

/** Black or white, whichever has more contrast to the colour. @param {string} color "#rrggbb" */
function inkOf(color) {
    const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(color.slice(at, at + 2), 16) / 255) ** 2.2);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#000" : "#fff";
}

/** @param {CanvasRenderingContext2D} context @param {ReturnType<typeof obstacles>} taken */
function nameAreas(context, taken) {
    const { ratio } = plot;
    const widthOf = (/** @type {string} */ text) => (context.measureText(text).width + 2 * PAD) * ratio;
    const yOf = (/** @type {number} */ bytes) => Math.min(plot.height, Math.max(0, yOfBytes(bytes))) * ratio;
    const isFree = (/** @type {number} */ x, /** @type {number} */ columns, /** @type {number} */ middle) =>
        placeIn({ from: x / ratio, to: (x + columns) / ratio }, columns / ratio, middle / ratio - ROWS / 2, taken) === x / ratio;
    for (const { name, color, x, top, bottom } of areaRooms(widthOf, ROWS * ratio, yOf, isFree)) {
        context.fillStyle = inkOf(color);
        context.fillText(name, x / ratio + PAD, (top + bottom) / 2 / ratio + 0.5);
    }
}

/** @param {CanvasRenderingContext2D} context @param {ReturnType<typeof obstacles>} taken */
function nameBands(context, taken) {
    const names = view.c.band_names(Math.ceil(ROWS * plot.ratio), Math.ceil(COLUMNS * plot.ratio));
    for (let i = 0; i < names; i++) {
        const { site, color, ink, from, to, top, bottom } = view.c.band_name(i);
        const room = { from: from / plot.ratio + PAD, to: to / plot.ratio - PAD };
        const upper = (top + bottom) / 2 / plot.ratio - ROWS / 2;
        for (const text of wordings(session.siteText(site))) {
            const width = context.measureText(text).width + 2 * PAD;
            const x = placeIn(room, width, upper, taken);
            if (x === null) continue;
            context.fillStyle = cssColor(color);
            context.fillRect(x, upper, width, ROWS);
            context.fillStyle = cssColor(ink);
            context.fillText(text, x + PAD, upper + ROWS / 2 + 0.5);
            break;
        }
    }
}

/** Writes them at once. */
export function writeNames() {
    const context = context2d(plot.axes);
    context.save();
    context.font = `${showsAreas() ? "600 12px" : "11px"} ${theme.font}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    (showsAreas() ? nameAreas : nameBands)(context, obstacles());
    context.restore();
    drawAlsoShown();
}

/** After a drawing: the next one takes what was written away. */
export function nameBandsSoon() {
    clearTimeout(timer);
    timer = setTimeout(writeNames, REST_MS);
}
