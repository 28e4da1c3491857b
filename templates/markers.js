// Marks for moments that people look for: the peak, out of memory, earlier snapshots. Draws their lines, and labels
// that never touch.
import { context2d, middleOfEvent, strokeLine, themeColor, xOfEvent, yOfBytes } from "./canvas.js";
import { once } from "./questions.js";
import { momentText, timedDevices } from "./state.js";
import { askedText, formatBytes, formatExactBytes, makeButton } from "./text.js";

/** @param {Page} page @param {number} i @param {View} [shown] */
export function oomMarker(page, i, shown = page.view) {
    const { event, size, device_free } = shown.c.oom(i);
    const title = `Out of memory: ${askedText(size, device_free)}; ` + `${momentText(page, event, shown)}`;
    return { event, kind: "oom", text: "Out of memory", title };
}

const SNAPSHOTS_MOST = 200;

const askSnapshots = once((view) => view.c.snapshots().slice(0, SNAPSHOTS_MOST));

/** Marks snapshots that were taken during the recording. If a loop took thousands, only the first ones are marked.
 * @param {Page} page @param {View} shown */
function snapshotMarkers(page, shown) {
    return askSnapshots(shown).map(({ event, bytes }) => {
        const title = `Earlier snapshot: ${formatBytes(bytes)} active; ${momentText(page, event, shown)}`;
        return { event, kind: "snapshot", text: "Snapshot", title };
    });
}

/** The marks inside of the window, the most important first. @param {Pane} [pane] */
export function visibleMarkers(/** @type {Page} */ page, pane = page.plot) {
    const shown = pane.view;
    const { peak_event: peak, peak_bytes: bytes } = shown.facts;
    const list = Array.from({ length: shown.facts.ooms }, (_, i) => oomMarker(page, i, shown));
    const title = `Peak: ${formatExactBytes(bytes)}, ${momentText(page, peak, shown)}`;
    list.splice(1, 0, { event: peak, kind: "peak", text: `Peak ${formatBytes(bytes)}`, title });
    list.push(...snapshotMarkers(page, shown));
    return list
        .map((mark) => ({ ...mark, x: middleOfEvent(page, mark.event, pane) }))
        .filter((mark) => mark.x >= 0 && mark.x <= pane.width);
}

/** Where a mark's line ends: that of the peak stands on the stack. @param {Page} page
 * @param {{kind: string, event: number}} mark @param {Pane} pane */
export const markerBottom = (page, { kind, event }, pane) =>
    kind === "peak"
        ? Math.min(pane.height, Math.max(0, yOfBytes(page, pane.view.c.live_at(event), pane)))
        : pane.height;

export function drawMarkerLines(/** @type {Page} */ page, /** @type {Context} */ context, /** @type {Pane} */ pane) {
    for (const mark of visibleMarkers(page, pane)) {
        context.strokeStyle = themeColor(mark.kind === "oom" ? "--bad" : mark.kind === "peak" ? "--text" : "--dim");
        context.setLineDash([3, 3]);
        strokeLine(page, context, mark.x, -4, mark.x, markerBottom(page, mark, pane));
        context.setLineDash([]);
    }
}

export const GHOST_WIDTH = 44;

/** Does a recording of so many events end with this request? The module decides alike (raster_ghost_is_last). */
const isLast = (/** @type {number} */ events, /** @type {number} */ event) =>
    events - event <= Math.max(2, events / 50);

/** The room right of the timeline for the failed request, if a shown recording ends with an out-of-memory event. */
export function rightGutter(/** @type {Page} */ page) {
    const { beside, session, state, view } = page;
    const shown = state.all
        ? timedDevices(page).map((i) => session.devices[i])
        : (beside?.views ?? [view]).map((one) => one.session.devices[one.device]);
    const ends = shown.some(({ events, last_oom }) => last_oom >= 0 && isLast(events, last_oom));
    return ends ? GHOST_WIDTH + 20 : 16;
}

const GHOSTS_MOST = 8;

/** The boxes of the failed requests in the window: they stand on the live memory; in CSS pixels.
 * @param {Pane} [pane] */
export function visibleGhosts(/** @type {Page} */ page, pane = page.plot) {
    const { c, facts } = pane.view;
    const ghosts = [];
    for (let i = Math.max(0, facts.ooms - GHOSTS_MOST); i < facts.ooms; i++) {
        const { event, size, device_free } = c.oom(i);
        if (size < 0 || device_free < 0) continue;
        const at = xOfEvent(page, event, pane);
        if (at < 0 || at > pane.width) continue;
        const live = c.live_at(event);
        const beyond = isLast(facts.events, event) ? pane.width + 4 : pane.width - GHOST_WIDTH;
        ghosts.push({
            left: at + GHOST_WIDTH > pane.width ? beyond : at,
            top: Math.max(0, yOfBytes(page, live + size, pane)),
            bottom: yOfBytes(page, live, pane),
            size,
        });
    }
    return ghosts;
}

/** @type {Record<string, string>} */
const MARKER_SIGNS = { oom: "\u2715", peak: "\u25be", snapshot: "\u25cb" };

/** The largest distance of a label from its line, in CSS pixels. */
const MARKER_SHIFT = 160;

/** The middle of a label near x that touches no other label: at x, or beside the label in its way, in the order of the
 * lines. Null: there is no room nearby. @param {{from: number, to: number, x: number}[]} taken @param {number} x
 * @param {number} half @param {number} width of the timeline */
function markerPlace(taken, x, half, width) {
    const clip = (/** @type {number} */ at) => Math.min(Math.max(at, half), width - half);
    const free = (/** @type {number} */ at) => taken.every((other) => at + half < other.from || at - half > other.to);
    const beside = taken.flatMap((other) => {
        const places = [other.from - half - 3, other.to + half + 3];
        return x <= other.x ? places : places.reverse();
    });
    const place = [x, ...beside].map(clip).find((at) => free(at) && Math.abs(at - x) <= MARKER_SHIFT);
    return place ?? null;
}

/** Puts the labels of the markers above the timeline: a sign where a label has no room, only the line where a sign has
 * none either. @param {Page} page @param {Pane} pane */
export function placeMarkers(page, pane) {
    pane.markers.replaceChildren();
    const context = context2d(pane.axes);
    /** @type {{from: number, to: number, x: number}[]} */
    const taken = [];
    for (const mark of visibleMarkers(page, pane)) {
        for (const text of [mark.text, MARKER_SIGNS[mark.kind]]) {
            const half = context.measureText(text).width / 2 + 8;
            const place = markerPlace(taken, mark.x, half, pane.width);
            if (place === null) continue;
            taken.push({ from: place - half, to: place + half, x: mark.x });
            const more = { title: mark.title, tabIndex: -1 };
            const button = makeButton(`marker marker-${mark.kind}`, text, () => pane.go(mark.event), more);
            button.style.left = `${page.gutter.left + place}px`;
            pane.markers.append(button);
            break;
        }
    }
}
