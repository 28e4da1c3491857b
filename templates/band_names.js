// Writes names of call sites on the bands, and names of areas in the areas, that have room for them, once the view
// rests: nobody reads while dragging.
import { areaRooms, showsAreas } from "./areas.js";
import { context2d, pen, theme, xOfMoment, yOfBytes } from "./canvas.js";
import { GHOST_WIDTH, markerBottom, visibleGhosts, visibleMarkers } from "./markers.js";
import { inkOn } from "./paint.js";
import { AXES, isStale } from "./state.js";
import { cssColor } from "./text.js";

const REST_MS = 120;
const ROWS = 15;
const COLUMNS = 48;
const PAD = 4;

/** Places that names must not touch: lines of the markers, ghosts of failed requests, and the names of lines.
 * @param {Page} page @param {Pane} pane */
function obstacles(page, pane) {
    const standing = (/** @type {number} */ x, bottom = pane.height) => ({ left: x - 2, right: x + 2, top: 0, bottom });
    const lines = visibleMarkers(page, pane).map((mark) => standing(mark.x, markerBottom(page, mark, pane)));
    const marks = page.state.marks.map(({ event }) => standing(xOfMoment(page, event, pane)));
    const ghosts = visibleGhosts(page, pane).map(({ left, top, bottom }) => {
        return { left: left - 2, right: left + GHOST_WIDTH + 2, top, bottom };
    });
    return [...lines, ...ghosts, ...pane.lineNames, ...marks, ...pane.flags];
}

/** A name in one line, without the function, and in two lines, each with the rooms for it. @param {string} text
 * @returns {[lines: string[], rooms: number[]][]} */
function wordings(text) {
    const place = /^\S*\d(?= )/.exec(text)?.[0];
    const off = (/** @type {number} */ at) => Math.abs(at - text.length / 2);
    const blanks = Array.from(text.matchAll(/ /g), ({ index = 0 }) => index).sort((a, b) => off(a) - off(b));
    const middle = place?.length ?? blanks[0] ?? 0;
    const ways = [text, ...(place ? [place] : [])].map((words) => [[words], [1, 0]]);
    if (middle > 0) ways.push([[text.slice(0, middle), text.slice(middle + 1)], [2]]);
    return /** @type {[string[], number[]][]} */ (ways);
}

/** The first free place in a room, from the left. @param {{from: number, to: number}} room @param {number} width
 * @param {number} top @param {ReturnType<typeof obstacles>} taken @param {number} [height] */
function placeIn(room, width, top, taken, height = ROWS) {
    for (let x = room.from; x + width <= room.to;) {
        const other = taken.find(
            (one) => one.left < x + width && one.right > x && one.top < top + height && one.bottom > top,
        );
        if (!other) return x;
        x = other.right;
    }
    return null;
}

/** @param {Context} context @param {ReturnType<typeof obstacles>} taken @param {Pane} pane */
function nameAreas(/** @type {Page} */ page, context, taken, pane) {
    const { ratio } = pane;
    const widthOf = (/** @type {string} */ text) => (context.measureText(text).width + 2 * PAD) * ratio;
    const yOf = (/** @type {number} */ bytes) =>
        Math.min(pane.height, Math.max(0, yOfBytes(page, bytes, pane))) * ratio;
    const isFree = (/** @type {number} */ x, /** @type {number} */ columns, /** @type {number} */ middle) =>
        placeIn({ from: x / ratio, to: (x + columns) / ratio }, columns / ratio, middle / ratio - ROWS / 2, taken) ===
        x / ratio;
    for (const { name, color, x, top, bottom } of areaRooms(page, pane.view, widthOf, ROWS * ratio, yOf, isFree)) {
        context.fillStyle = inkOn(color);
        context.fillText(name, x / ratio + PAD, (top + bottom) / 2 / ratio + 0.5);
    }
}

/** Rooms of each band. */
const ROOMS = 3;

/** Pixels that a band must have for a name. @param {number} ratio @returns {[rows: number, columns: number]} */
const leastRoom = (ratio) => [Math.ceil(ROWS * ratio), Math.ceil(COLUMNS * ratio)];

/** @param {Page} page @param {Context} context @param {ReturnType<typeof obstacles>} taken @param {Pane} pane */
function nameBands(page, context, taken, { view, ratio }) {
    const rooms = view.c.band_rooms(...leastRoom(ratio));
    for (let i = 0; i < rooms.length; i += ROOMS) {
        const ways = wordings(page.session.decode(view.c.band_text(i / ROOMS))).flatMap(([lines, fitting]) =>
            fitting.map((which) => ({ lines, ...rooms[i + which] })),
        );
        for (const { lines, color, ink, from, to, top, bottom } of ways) {
            const room = { from: from / ratio + PAD / 2, to: to / ratio - PAD / 2 };
            const width = Math.max(...lines.map((text) => context.measureText(text).width)) + PAD;
            const height = lines.length * ROWS;
            const upper = (top + bottom) / 2 / ratio - height / 2;
            const x = placeIn(room, width, upper, taken, height);
            if (x === null) continue;
            context.fillStyle = cssColor(color);
            context.fillRect(x, upper, width, height);
            context.fillStyle = cssColor(ink);
            for (const [nth, text] of lines.entries())
                context.fillText(text, x + PAD / 2, upper + (nth + 0.5) * ROWS + 0.5);
            break;
        }
    }
}

/** Does a part of the search for bands that have room. True: it goes on. @param {Page} page @param {Pane} pane */
export function findsNames(page, { view, ratio }) {
    return !showsAreas(page) && view.c.band_names_step(...leastRoom(ratio)) === 1;
}

/** Writes the names at once. @param {Page} page @param {Pane} pane */
export function writeNames(page, pane) {
    const context = context2d(pane.axes);
    context.save();
    pen(context, {
        font: `${showsAreas(page) ? "600 12px" : "11px"} ${theme.font}`,
        textAlign: "left",
        textBaseline: "middle",
    });
    (showsAreas(page) ? nameAreas : nameBands)(page, context, obstacles(page, pane), pane);
    context.restore();
}

/** Writes the names a moment after a drawing; the next drawing removes them. Each part of the search for them has a
 * turn of its own, and so has what the legend adds. @param {Page} page @param {Pane} pane */
export function nameBandsSoon(page, pane, ms = REST_MS) {
    clearTimeout(pane.resting);
    pane.resting = setTimeout(() => {
        // Findings come first, and a drawing that has begun or is due: its axes would remove the names.
        if (page.opening || isStale(page, AXES)) return nameBandsSoon(page, pane);
        if (findsNames(page, pane)) return nameBandsSoon(page, pane, 0);
        writeNames(page, pane);
    }, ms);
}
