// Moments worth a mark: the peak, out of memory, earlier snapshots. Their lines, and labels that never touch.
import { context2d, GUTTER, middleOfEvent, plot, strokeLine, themeColor, xOfEvent, yOfBytes } from "./canvas.js";
import { goToEvent, momentText, view } from "./state.js";
import { formatBytes, formatExactBytes, make } from "./text.js";

/* ---- markers ---- */

/** @param {number} i */
export function oomMarker(i) {
    const event = view.c.oom(i).event;
    const title = `Out of memory: ${formatBytes(view.c.oom(i).size)} asked for, ${formatBytes(view.c.oom(i).device_free)} free on the device; ${momentText(event)}`;
    return { event, kind: "oom", text: "Out of memory", title };
}

/** Snapshots that were taken while this one was recorded. A loop that takes thousands gets marks for the first ones. */
function snapshotMarkers() {
    return Array.from({ length: Math.min(SNAPSHOTS_MOST, view.facts.snapshots) }, (_, i) => {
        const event = view.c.snapshot(i).event;
        const title = `Earlier snapshot: ${formatBytes(view.c.snapshot(i).bytes)} active; ${momentText(event)}`;
        return { event, kind: "snapshot", text: "Snapshot", title };
    });
}

/** Moments worth a mark that are inside of the window, the most important first. */
export function visibleMarkers() {
    const peak = view.facts.peak_event;
    const list = Array.from({ length: view.facts.ooms }, (_, i) => oomMarker(i));
    const title = `Peak: ${formatExactBytes(view.facts.peak_bytes)}, ${momentText(peak)}`;
    list.splice(1, 0, { event: peak, kind: "peak", text: `Peak ${formatBytes(view.facts.peak_bytes)}`, title });
    list.push(...snapshotMarkers());
    return list.map((mark) => ({ ...mark, x: middleOfEvent(mark.event) })).filter((mark) => mark.x >= 0 && mark.x <= plot.width);
}

/** @param {CanvasRenderingContext2D} context */
export function drawMarkerLines(context) {
    for (const mark of visibleMarkers()) {
        const y = Math.min(plot.height, Math.max(0, yOfBytes(view.c.live_at(mark.event))));
        context.strokeStyle = themeColor(mark.kind === "oom" ? "--bad" : mark.kind === "peak" ? "--text" : "--dim");
        context.setLineDash([3, 3]);
        strokeLine(context, mark.x, -4, mark.x, mark.kind === "peak" ? y : plot.height);
        context.setLineDash([]);
    }
}

export const GHOST_WIDTH = 44;

/** Room right of the timeline: where the recording ends with an OOM, for the request that failed. */
export function rightGutter() {
    const { ooms, events } = view.facts;
    const ends = ooms > 0 && events - view.c.oom(ooms - 1).event <= Math.max(2, events / 50);
    return ends ? GHOST_WIDTH + 20 : 16;
}

const GHOSTS_MOST = 8;

/** Where the requests that failed in the window stand on what was alive, in CSS pixels. */
export function visibleGhosts() {
    const ghosts = [];
    for (let i = Math.max(0, view.facts.ooms - GHOSTS_MOST); i < view.facts.ooms; i++) {
        const { event, size } = view.c.oom(i);
        const at = xOfEvent(event);
        if (at < 0 || at > plot.width) continue;
        const live = view.c.live_at(event);
        ghosts.push({ left: Math.min(at, plot.width + GUTTER.right - 16 - GHOST_WIDTH), top: Math.max(0, yOfBytes(live + size)), bottom: yOfBytes(live), size });
    }
    return ghosts;
}

/** @type {Record<string, string>} */
const MARKER_SIGNS = { oom: "\u2715", peak: "\u25be", snapshot: "\u25cb" };

const SNAPSHOTS_MOST = 200;

/** Farthest that a label may stand from its line, in CSS pixels. */
const MARKER_SHIFT = 160;

/**
 * Middle of a label near x that touches no other: where it is, or beside what is in the way, in the order of the lines.
 * Null: there is no room nearby.
 * @param {{from: number, to: number, x: number}[]} taken @param {number} x @param {number} half
 */
function markerPlace(taken, x, half) {
    const clip = (/** @type {number} */ at) => Math.min(Math.max(at, half), plot.width - half);
    const free = (/** @type {number} */ at) => taken.every((other) => at + half < other.from || at - half > other.to);
    const beside = taken.flatMap((other) => {
        const places = [other.from - half - 3, other.to + half + 3];
        return x <= other.x ? places : places.reverse();
    });
    const place = [x, ...beside].map(clip).find((at) => free(at) && Math.abs(at - x) <= MARKER_SHIFT);
    return place ?? null;
}

/** Puts the labels of the markers above the timeline; where there is no room for a label, a sign; where there is none for that, nothing but the line. */
export function placeMarkers() {
    plot.markers.replaceChildren();
    const context = context2d(plot.axes);
    /** @type {{from: number, to: number, x: number}[]} */
    const taken = [];
    for (const mark of visibleMarkers()) {
        for (const text of [mark.text, MARKER_SIGNS[mark.kind]]) {
            const half = context.measureText(text).width / 2 + 8;
            const place = markerPlace(taken, mark.x, half);
            if (place === null) continue;
            taken.push({ from: place - half, to: place + half, x: mark.x });
            const button = make("button", `marker marker-${mark.kind}`, text);
            button.type = "button";
            button.title = mark.title;
            button.tabIndex = -1;
            button.style.left = `${GUTTER.left + place}px`;
            button.addEventListener("click", () => goToEvent(mark.event));
            plot.markers.append(button);
            break;
        }
    }
}
