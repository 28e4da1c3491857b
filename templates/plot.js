// The timeline. Its canvas holds the module's pixels and nothing else; axes, markers and the pointer's marks are on
// canvases of their own, so hovering never draws the stack again.
import {
    DRAW_DARK,
    DRAW_FITTED,
    DRAW_FOUND,
    DRAW_GROUPED,
    DRAW_MARKS,
    DRAW_PLACED,
    DRAW_RECORDED,
    DRAW_RESERVED,
    DRAW_SEGMENTS,
} from "page_api";
import { showsAreas, veilAreas } from "./areas.js";
import { findsNames, nameBandsSoon, writeNames } from "./band_names.js";
import {
    axisHeight,
    context2d,
    lineScale,
    pen,
    pixelsOf,
    sizeCanvas,
    startCanvas,
    strokeLine,
    themeColor,
    xOfAxis,
    yOfBytes,
} from "./canvas.js";
import { drawLane, laneHeight } from "./lane.js";
import { drawMarkerLines, GHOST_WIDTH, placeMarkers, rightGutter, visibleGhosts, visibleMarkers } from "./markers.js";
import { outlineRequest } from "./outline.js";
import { drawOverPicture } from "./overlay.js";
import { updateSearch } from "./search.js";
import {
    axisNumber,
    capacityBytes,
    clockShift,
    COLORINGS,
    FOCUS_KINDS,
    isDark,
    newMemo,
    perPage,
    usOfEvent,
} from "./state.js";
import { atOnce } from "./turns.js";
import { fittedOf, mayFit, wantedBytes } from "./window.js";
import { decimalsOf, formatBytes, formatCount } from "./text.js";
import { drawBytes } from "./stage.js";

const FRAMES_KEPT = 60;

/** The room that the plot should have. @param {Page} page */
function roomOf(page) {
    const { left, top } = page.gutter;
    const lane = laneHeight(page);
    const [right, bottom] = [rightGutter(page), axisHeight(page) + lane];
    const width = Math.max(40, Math.floor(page.ui.plot.clientWidth) - left - right);
    const height = Math.max(40, Math.floor(page.ui.plot.clientHeight) - top - bottom);
    return { lane, right, bottom, width, height, ratio: devicePixelRatio || 1 };
}

function isOtherRoom(/** @type {Page} */ { plot }, /** @type {ReturnType<typeof roomOf>} */ { width, height, ratio }) {
    return width !== plot.width || height !== plot.height || ratio !== plot.ratio;
}

/** Does the plot have another size than its box gives it? @param {Page} page */
export const isPlotMoved = (page) => isOtherRoom(page, roomOf(page));

/** Measures the box. True: something has changed. The canvases follow with the next stack: with another size they are
 * empty. @param {Page} page */
export function layoutPlot(page) {
    const room = roomOf(page);
    const { lane, right, bottom, width, height, ratio } = room;
    const moved = isOtherRoom(page, room);
    page.lane.height = lane;
    Object.assign(page.gutter, { right, bottom });
    if (moved) Object.assign(page.plot, { width, height, ratio, moved });
    return moved;
}

/** Gives the canvases the plot's size. @param {Page} page */
function sizePlot(page) {
    const { plot } = page;
    const { left, top, right, bottom } = page.gutter;
    const { width, height, ratio } = plot;
    plot.moved = false;
    sizeCanvas(plot.timeline, width, height, ratio);
    plot.timeline.style.left = `${left}px`;
    plot.timeline.style.top = `${top}px`;
    for (const canvas of [plot.axes, page.ui.overlay])
        sizeCanvas(canvas, width + left + right, height + top + bottom, ratio);
}

/* ---- the stack ---- */

/** The state that the view's highlight shows. */
const litOf = perPage(() => newMemo());

/** Updates the view's highlight to the state. @param {Page} page */
export function lightFocus(page) {
    const { state, view } = page;
    litOf(page)([state.device, state.focus, state.finding], () => {
        if (state.finding !== null) view.c.light_finding(state.finding);
        else if (state.focus) view.c.light(FOCUS_KINDS.indexOf(state.focus.by), state.focus.id);
        else view.c.light_off();
    });
}

/**
 * The stack of a device in a window, as the state wants it.
 * @param {Page} page @param {{width: number, height: number}} pixels @param {View} shown
 * @param {number} from @param {number} to @param {number} bottom
 * @param {number} top bytes at the edges
 * @param {boolean} found its search is done
 * @param {Partial<record_request>} [laid] marks that lie over it
 */
function stackRequest(page, { width, height }, shown, from, to, bottom, top, found, laid) {
    const { state, view } = page;
    const fading = !state.focus && state.finding === null && found ? DRAW_FOUND : 0;
    return {
        axis: axisNumber(page),
        from,
        to,
        width,
        height,
        bottom_bytes: bottom,
        top_bytes: top,
        // Beside other devices the window may reach beyond this device's recording.
        flags:
            (isDark(page) ? DRAW_DARK : 0) |
            fading |
            DRAW_RESERVED |
            (laid ? DRAW_MARKS : 0) |
            (state.viewBy === "segments" ? DRAW_SEGMENTS : 0) |
            (state.all || page.beside ? DRAW_RECORDED : state.bands ? 0 : DRAW_GROUPED) |
            (!laid && !state.all && !page.beside && mayFit(page) ? DRAW_FITTED : 0) |
            (laid && shown !== view ? DRAW_PLACED : 0),
        color_by: COLORINGS.indexOf(state.colorBy),
        capacity_bytes: capacityBytes(page, shown.device),
        scale: lineScale(page.plot.ratio),
        areas: showsAreas(page) ? COLORINGS.indexOf(state.viewBy) : 0,
        ...laid,
    };
}

/** Draws such a stack on a canvas, step by step. @param {HTMLCanvasElement} canvas
 * @param {Parameters<typeof stackRequest>} stack */
function* drawStackOn(canvas, ...stack) {
    const [, , shown] = stack;
    shown.request(stackRequest(...stack));
    while (shown.c.lay_out() === 1) yield;
    yield;
    context2d(canvas).putImageData(shown.image(shown.c.draw(), canvas.width, canvas.height), 0, 0);
}

/** Draws such a stack on a canvas at once. @param {Page} page @param {HTMLCanvasElement} canvas @param {View} shown
 * @param {number} from @param {number} to @param {number} bottom @param {number} top @param {boolean} found */
export function drawStack(page, canvas, shown, from, to, bottom, top, found) {
    atOnce(drawStackOn(canvas, page, canvas, shown, from, to, bottom, top, found));
}

/** Makes the pixels of the stack, step by step; showStack() shows them. @param {Page} page */
export function* layStack(page) {
    const { plot, state, view } = page;
    let ms = 0;
    /** @template T @param {() => T} act */
    const timed = (act) => {
        const begin = performance.now();
        const result = act();
        ms += performance.now() - begin;
        return result;
    };
    updateSearch(page);
    lightFocus(page);
    const size = { width: pixelsOf(plot.width, plot.ratio), height: pixelsOf(plot.height, plot.ratio) };
    const { bottom, top } = wantedBytes(page);
    view.request(stackRequest(page, size, view, state.from, state.to, bottom, top, page.search.ready));
    while (timed(() => view.c.lay_out()) === 1) yield;
    yield;
    const drawing = timed(() => view.c.draw());
    plot.laid = { drawing, ...size, ms };
    yield;
}

/** Shows the stack that is laid, and once it rests the names of its bands. @param {Page} page */
export function showStack(page) {
    const { plot } = page;
    if (!plot.laid) return;
    const { drawing, width, height, ms } = plot.laid;
    const { pixels, bottom, top, ...counts } = drawing;
    const begin = performance.now();
    plot.laid = null;
    if (plot.moved) sizePlot(page);
    context2d(plot.timeline).putImageData(page.view.image(drawing, width, height), 0, 0);
    Object.assign(plot, counts);
    Object.assign(fittedOf(page), { bottom, top });
    plot.draws++;
    plot.frameMs.push(ms + performance.now() - begin);
    if (plot.frameMs.length > FRAMES_KEPT) plot.frameMs.shift();
    nameBandsSoon(page, plot);
}

/** Draws the surroundings, after the stack. @param {Page} page */
export function drawTimelineAxes(page) {
    drawAxes(page);
    placeMarkers(page, page.plot);
}

/** A picture's marks over the stack, for the module to draw.
 * @param {Page} page @param {Pane} pane */
function laidOver(page, pane) {
    const { state } = page;
    const own = pane === page.plot;
    // In another device's row they lie at their times.
    const shift = own ? 0 : clockShift(page, pane.view);
    const [held, mark_a, mark_b] = [state.moment, ...[0, 1].map((i) => state.marks[i]?.event ?? null)].map((event) =>
        own ? (event ?? -2) : event === null ? NaN : usOfEvent(page, event) + shift,
    );
    const { from, to } = state.range ?? { from: -shift, to: -shift };
    const marks = { held, mark_a, mark_b, range_from: from + shift, range_to: to + shift };
    return own ? { pinned: state.selected ?? -2, ...marks, ...outlineRequest(page) } : marks;
}

/**
 * Draws a timeline and its surroundings for a picture, on canvases of their own, step by step.
 * @param {Page} page @param {Pane} pane @param {import("./lane.js").Lane} lane
 * @param {boolean} found its search is done
 * @param {number} scale pixels for each CSS pixel
 * @param {boolean} inside whether names and lines are written in the plot
 */
export function* drawForPicture(page, pane, lane, found, scale, inside) {
    const { gutter, plot } = page;
    const { timeline, axes, ratio } = pane;
    const made = { timeline: document.createElement("canvas"), axes: document.createElement("canvas"), ratio: scale };
    /** Does something with the picture's canvases; between two steps the pane has those of the screen again.
     * @template T @param {() => T} act */
    const onPicture = (act) => {
        Object.assign(pane, made);
        try {
            return act();
        } finally {
            Object.assign(pane, { timeline, axes, ratio });
        }
    };
    sizeCanvas(made.timeline, pane.width, pane.height, scale);
    const height = gutter.top + pane.height + lane.height;
    sizeCanvas(made.axes, pane.width + gutter.left + gutter.right, height + axisHeight(page), scale);
    const { view, from, to, bottom, top } = pane;
    const laid = { ...laidOver(page, pane), scale: lineScale(scale) };
    yield* drawStackOn(made.timeline, page, made.timeline, view, from, to, bottom, top, found, laid);
    yield;
    onPicture(() => (pane === plot ? drawAxes(page) : drawAround(page, pane, lane, found)));
    yield;
    while (inside && onPicture(() => findsNames(page, pane))) yield;
    if (inside) onPicture(() => writeNames(page, pane));
    yield;
    onPicture(() => {
        const over = context2d(made.axes);
        if (!inside) over.clearRect(0, 0, pane.width, pane.height);
        over.lineWidth = 1 / scale;
        drawOverPicture(page, over, pane, inside);
    });
    return { timeline: made.timeline, axes: made.axes, height };
}

/* ---- axes ---- */

/** The label of a moment in seconds (in short runs milliseconds). @param {number} us @param {number} step
 * @param {number} unit microseconds */
function timeLabel(us, step, unit) {
    return (us / unit).toLocaleString("en-US", {
        minimumFractionDigits: decimalsOf(step / unit, 6),
        maximumFractionDigits: decimalsOf(step / unit, 6),
    });
}

/** Ticks along the axis whose labels do not touch. @param {Page} page @param {Context} context @param
 * {(value: number, step: number) => string} label */
function alongTicks({ plot, session, state }, context, label) {
    for (let most = Math.min(20, Math.max(2, Math.floor(plot.width / 90))); ; most--) {
        const ticks = session.ticks("decimal", Math.ceil(state.from), Math.floor(state.to), most);
        const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
        const labels = ticks.map((value) => label(value, step));
        // The labels at the ends are the widest. Measuring all labels for every attempt would cost more than the rest
        // of the axes.
        const ends = [labels[0] ?? "", labels[labels.length - 1] ?? ""];
        const widest = Math.max(...ends.map((text) => context.measureText(text).width));
        const room = (step / (state.to - state.from)) * plot.width;
        if (most <= 2 || ticks.length < 2 || widest + 24 <= room)
            return ticks.map((value, i) => ({ value, text: labels[i] }));
    }
}

function drawAlongAxis(/** @type {Page} */ page, /** @type {Context} */ context) {
    const { plot, state, view } = page;
    const time = state.axis === "time";
    const unit = Math.max(Math.abs(state.from), Math.abs(state.to)) < 1e5 ? 1e3 : 1e6;
    const label = (/** @type {number} */ value, /** @type {number} */ step) =>
        time ? timeLabel(value, step, unit) : value < 0 ? "before" : formatCount(value);
    const ticks = view.facts.events === 0 ? [] : alongTicks(page, context, label);
    const base = plot.height + page.lane.height;
    plot.labels = [];
    pen(context, { textAlign: "center", textBaseline: "top" });
    for (const { value, text } of ticks) {
        const x = xOfAxis(page, value);
        context.strokeStyle = themeColor("--axis");
        strokeLine(page, context, x, base, x, base + 5);
        context.fillStyle = themeColor("--dim");
        const half = context.measureText(text).width / 2;
        const middle = Math.min(x, plot.width + page.gutter.right - half - 4);
        context.fillText(text, middle, base + 8);
        plot.labels.push({ from: middle - half, to: middle + half });
    }
    const whose = state.all ? " of this device" : "";
    const since = `${unit === 1e3 ? "milliseconds" : "seconds"} since the first event${whose}`;
    const title = view.facts.events === 0 ? "the state when the snapshot was taken" : time ? since : "event";
    const low = axisHeight(page) < 40;
    const short = time ? (unit === 1e3 ? "ms" : "s") : title;
    pen(context, { fillStyle: themeColor("--text"), textAlign: low && ticks.length ? "right" : "center" });
    if (low && ticks.length) context.fillText(short, -24, base + 8);
    else context.fillText(title, plot.width / 2, base + (low ? 8 : 28));
}

/** Names lines far above the picture at its upper edge, so that they need not be in it. @param {Context} context
 * @param {{text: string, bytes: number, reserved: boolean}[]} lines @param {Pane} pane */
function nameHigher(context, lines, pane) {
    lines
        .sort((a, b) => b.bytes - a.bytes)
        .forEach(({ text, bytes, reserved }, i) => {
            const label = `\u25b2 ${reserved ? `reserved ${formatBytes(bytes)}` : text}`;
            const width = context.measureText(label).width + 12;
            const [x, y] = [pane.width - width - 4, 4 + i * 22];
            pane.lineNames.push({ left: x, right: x + width, top: y, bottom: y + 18 });
            pen(context, { fillStyle: themeColor("--raised"), strokeStyle: themeColor("--axis") });
            context.beginPath();
            context.roundRect(x, y, width, 18, 4);
            context.fill();
            context.stroke();
            pen(context, { fillStyle: themeColor("--text"), textAlign: "left", textBaseline: "middle" });
            context.fillText(label, x + 6, y + 10);
        });
}

/** Draws a break where the axis of bytes does not begin with 0. @param {Page} page @param {Context} context */
function breakAxis({ plot }, context) {
    if (plot.bottom === 0) return;
    context.fillStyle = themeColor("--surface");
    context.fillRect(-5, plot.height - 13, 10, 8);
    context.strokeStyle = themeColor("--text");
    context.beginPath();
    for (const y of [plot.height - 12, plot.height - 6]) {
        context.moveTo(-5, y + 2);
        context.lineTo(5, y - 2);
    }
    context.stroke();
}

/** Draws ticks above the timeline where the allocations that the search finds were made.
 * @param {Page} page @param {Context} context @param {Pane} pane */
function drawHits(page, context, pane) {
    context.fillStyle = themeColor("--hit");
    pane.view.hits(axisNumber(page), pane.from, pane.to, pane.timeline.width).forEach((hits, x) => {
        if (hits > 0) context.fillRect(x / pane.ratio - 0.5, -5, 1 + 1 / pane.ratio, 4);
    });
}

/** The most bytes that a line has from one x to another.
 * @param {(x: number) => number} bytesAt @param {number} from @param {number} to */
function highest(bytesAt, from, to) {
    let most = bytesAt(to - 2);
    for (let x = Math.max(0, from); x < to; x += 4) most = Math.max(most, bytesAt(x));
    return most;
}

/** Names the lines of reserved bytes and of the capacity, at the right end and clear of each other.
 * @param {Page} page @param {Context} context @param {Pane} pane */
function nameLines(page, context, pane) {
    const { view } = pane;
    const capacity = capacityBytes(page, view.device);
    const reservedAt = (/** @type {number} */ x) => view.c.reserved_at(view.c.event_of_x(x * pane.ratio));
    // Beside other devices the lines end where this one's recording ends.
    const axis = page.state.all ? 1 : axisNumber(page);
    const ends = page.state.all || page.beside;
    const end = ends ? Math.min(pane.width, xOfAxis(page, view.c.whole(axis).to, pane)) : pane.width;
    const lines =
        view.facts.reserved_peak > 0 && end > 80
            ? [{ text: "reserved", bytes: reservedAt(end - 8), reserved: true }]
            : [];
    if (capacity) lines.push({ text: `capacity ${formatBytes(capacity)}`, bytes: capacity, reserved: false });
    pane.lineNames = [];
    const all = lines.map((line) => ({ ...line, y: yOfBytes(page, line.bytes, pane) }));
    const placed = all.filter(({ y }) => y > 0 && y < pane.height);
    const higher = all.filter(({ y }) => y <= 0);
    nameHigher(context, higher, pane);
    const near = placed.length > 1 && Math.abs(placed[0].y - placed[1].y) < 18;
    // Obstacles for names, from right to left: the markers' lines, and the ghosts of failed requests.
    const marks = visibleMarkers(page, pane).map(({ x }) => ({ from: x, to: x }));
    for (const { left } of visibleGhosts(page, pane)) marks.push({ from: left, to: left + GHOST_WIDTH });
    marks.sort((a, b) => b.to - a.to);
    pen(context, { textAlign: "right", lineJoin: "round" });
    placed.forEach(({ text, y: atEnd, reserved }, i) => {
        const width = context.measureText(text).width;
        const right = marks.reduce(
            (at, { from, to }) => (from < at + 4 && to > at - width - 4 ? from - 6 : at),
            (reserved ? end : pane.width) - 6,
        );
        const y = reserved ? yOfBytes(page, highest(reservedAt, right - width, right), pane) : atEnd;
        // If two names are near each other, the lower one goes below its line.
        const isTaken = pane.lineNames.some(
            (other) => other.right > right - width && y < other.bottom + 18 && y > other.top,
        );
        const below = y < 18 || (near && i === 0) || isTaken;
        const line = isTaken ? Math.max(y, ...pane.lineNames.map(({ bottom }) => bottom - 2)) : y;
        context.textBaseline = below ? "top" : "bottom";
        pane.lineNames.push({
            left: right - width - 4,
            right: right + 4,
            top: below ? line : y - 20,
            bottom: below ? line + 20 : y,
        });
        pen(context, { lineWidth: 3, strokeStyle: themeColor("--surface") });
        context.strokeText(text, right, below ? line + 4 : y - 3);
        context.fillStyle = themeColor("--text");
        context.fillText(text, right, below ? line + 4 : y - 3);
    });
    context.lineWidth = 1 / pane.ratio;
}

/**
 * Draws the surroundings of the stack of any device.
 * @param {Page} page @param {Pane} pane
 * @param {import("./lane.js").Lane} lane below it
 * @param {boolean} found its search is done
 */
export function drawAround(page, pane, lane, found) {
    const context = startCanvas(page, pane.axes, pane);
    const { width, height } = pane;
    veilAreas(page, context, pane);
    context.lineWidth = 1 / pane.ratio;
    drawBytes(context, pane.view, pane.bottom, pane.top, pane, false);
    drawLane(page, context, pane, lane);
    pen(context, { lineWidth: 1 / pane.ratio, strokeStyle: themeColor("--axis") });
    strokeLine(page, context, 0, 0, 0, height);
    strokeLine(page, context, 0, height, width, height);
    if (lane.height) strokeLine(page, context, 0, height + lane.height, width, height + lane.height);
    if (found) drawHits(page, context, pane);
    nameLines(page, context, pane);
    drawMarkerLines(page, context, pane);
    return context;
}

function drawAxes(/** @type {Page} */ page) {
    const context = drawAround(page, page.plot, page.lane, page.search.ready);
    drawAlongAxis(page, context);
    breakAxis(page, context);
}
