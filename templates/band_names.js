// Names of call sites on the bands that have room for them: written when the view rests, since nobody reads while dragging.
import { showsAreas } from "./areas.js";
import { context2d, plot, theme } from "./canvas.js";
import { GHOST_WIDTH, visibleGhosts, visibleMarkers } from "./markers.js";
import { session, view } from "./state.js";
import { cssColor } from "./text.js";

const REST_MS = 120;
const ROWS = 15;
const COLUMNS = 48;
const PAD = 4;

let timer = 0;

/** What a name must not lie on: lines of the markers, ghosts of requests that failed, and the names of lines. */
function obstacles() {
    const lines = visibleMarkers().map(({ x }) => ({ left: x - 2, right: x + 2, top: 0, bottom: plot.height }));
    const ghosts = visibleGhosts().map(({ left, top, bottom }) => ({ left: left - 2, right: left + GHOST_WIDTH + 2, top, bottom }));
    return [...lines, ...ghosts, ...plot.lineNames];
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

function nameBands() {
    const context = context2d(plot.axes);
    const taken = obstacles();
    context.save();
    context.font = `11px ${theme.font}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
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
    context.restore();
}

/** After a drawing: the next one takes what was written away. */
export function nameBandsSoon() {
    clearTimeout(timer);
    if (!showsAreas()) timer = setTimeout(nameBands, REST_MS);
}
