// The timeline: its canvas holds the module's pixels and nothing else. Axes, markers and what follows the pointer lie on
// canvases of their own, so hovering never draws the stack again.
import { kept } from "./filter.js";
import { drawLane, lane, laneHeight, phaseLines, phaseText } from "./lane.js";
import { applySearchMask, search } from "./search.js";
import {
    axisNumber,
    capacityBytes,
    COLORINGS,
    eventOfAxis,
    goToEvent,
    host,
    isDark,
    momentText,
    state,
    topBytes,
    usOfEvent,
} from "./state.js";
import {
    BYTE_UNITS,
    decimalsOf,
    element,
    formatBytes,
    formatCount,
    formatDuration,
    formatExactBytes,
    formatPlural,
    formatShare,
    make,
} from "./text.js";

/** CSS pixels around the timeline, for labels. */
export const GUTTER = { left: 66, top: 30, right: 16, bottom: 46 };
/** Of these, what the labels of the axis below the lane take. */
const AXIS_HEIGHT = 46;
const DRAW_DARK = 1;
const DRAW_FADED = 2;
const DRAW_RESERVED = 4;
const FRAMES_KEPT = 60;

export const plot = {
    box: element("plot", HTMLDivElement),
    timeline: element("timeline", HTMLCanvasElement),
    axes: element("axes", HTMLCanvasElement),
    overlay: element("overlay", HTMLCanvasElement),
    markers: element("markers", HTMLDivElement),
    tip: element("tip", HTMLDivElement),
    /** CSS pixels of the timeline. */
    width: 1,
    height: 1,
    /** Device pixels per CSS pixel. */
    ratio: 1,
    /** Milliseconds of the last drawings of the stack. @type {number[]} */
    frameMs: [],
    /** Drawings of the stack so far. */
    draws: 0,
    /** Highlight that the module's mask holds, if it is not the search's. */
    focusMask: "",
    /** Labels of the axis along, in CSS pixels. @type {{from: number, to: number}[]} */
    labels: [],
    /** What the last overlay found under the pointer. @type {{life: number | null, event: number} | null} */
    hover: null,
};

/** What the style sheet says, read once per theme: asking it makes the browser compute styles. */
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

/** @param {HTMLCanvasElement} canvas */
export function context2d(canvas) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser gives no canvas to draw on.");
    return context;
}

/** Gives a canvas its size in CSS pixels; the backing store follows the screen's pixels. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {number} ratio */
export function sizeCanvas(canvas, width, height, ratio) {
    const backingWidth = Math.max(1, Math.round(width * ratio));
    const backingHeight = Math.max(1, Math.round(height * ratio));
    if (canvas.width !== backingWidth) canvas.width = backingWidth;
    if (canvas.height !== backingHeight) canvas.height = backingHeight;
    canvas.style.width = `${backingWidth / ratio}px`;
    canvas.style.height = `${backingHeight / ratio}px`;
}

/** Measures the box; true if something has changed. */
export function layoutPlot() {
    const ratio = devicePixelRatio || 1;
    lane.height = laneHeight();
    GUTTER.bottom = AXIS_HEIGHT + lane.height;
    const width = Math.max(40, Math.floor(plot.box.clientWidth) - GUTTER.left - GUTTER.right);
    const height = Math.max(40, Math.floor(plot.box.clientHeight) - GUTTER.top - GUTTER.bottom);
    if (width === plot.width && height === plot.height && ratio === plot.ratio) return false;
    plot.width = width;
    plot.height = height;
    plot.ratio = ratio;
    sizeCanvas(plot.timeline, width, height, ratio);
    plot.timeline.style.left = `${GUTTER.left}px`;
    plot.timeline.style.top = `${GUTTER.top}px`;
    for (const canvas of [plot.axes, plot.overlay])
        sizeCanvas(canvas, width + GUTTER.left + GUTTER.right, height + GUTTER.top + GUTTER.bottom, ratio);
    return true;
}

/* ---- positions in CSS pixels of the timeline ---- */

/** @param {number} position along the axis */
function xOfAxis(position) {
    return ((position - state.from) / (state.to - state.from)) * plot.width;
}

/** @param {number} x */
export function axisOfX(x) {
    return state.from + (x / plot.width) * (state.to - state.from);
}

/** @param {number} event */
function xOfEvent(event) {
    return host.c.page_x_of_event(event) / plot.ratio;
}

/** @param {number} bytes */
function yOfBytes(bytes) {
    return plot.height * (1 - (bytes - state.bottom) / (topBytes() - state.bottom));
}

/* ---- the stack ---- */

/** True if something is highlighted, so that the rest fades. */
function markMask() {
    if (!state.focus) return applySearchMask();
    const key = `${state.focus.by}_${state.focus.id}`;
    if (plot.focusMask === key && !search.applied) return true;
    plot.focusMask = key;
    search.applied = false;
    host.bytes(host.c.page_context_mask(), host.c.page_context_count()).fill(0);
    const mask = host.bytes(host.c.page_mask(), host.c.page_stack_count());
    const { by, id } = state.focus;
    if (by === "stack") {
        mask.fill(0);
        mask[id] = 1;
        return true;
    }
    const sites = sitesOfStacks();
    for (let i = 0; i < mask.length; i++) mask[i] = sites[i] === id ? 1 : 0;
    return true;
}

/** Call site of every stack, asked for once. @type {Uint32Array | null} */
let knownSites = null;
export function sitesOfStacks() {
    knownSites ??= Uint32Array.from({ length: host.c.page_stack_count() }, (_, i) => host.c.page_stack_site(i) >>> 0);
    return knownSites;
}

export function drawTimeline() {
    const begin = performance.now();
    const { width, height } = plot.timeline;
    const faded = markMask();
    const flags = (isDark() ? DRAW_DARK : 0) | (faded ? DRAW_FADED : 0) | DRAW_RESERVED;
    const at =
        host.c.page_draw(
            axisNumber(), state.from, state.to, width, height, state.bottom, topBytes(), flags,
            COLORINGS.indexOf(state.colorBy), capacityBytes(),
        ) >>> 0;
    if (at === 0) throw new Error("There is not enough memory in this tab to draw this.");
    const pixels = new Uint8ClampedArray(host.c.memory.buffer, at, width * height * 4);
    context2d(plot.timeline).putImageData(new ImageData(pixels, width, height), 0, 0);
    plot.draws++;
    plot.frameMs.push(performance.now() - begin);
    if (plot.frameMs.length > FRAMES_KEPT) plot.frameMs.shift();
    drawAxes();
    placeMarkers();
}

/* ---- axes ---- */

/** Unit in which ticks are short: that of the highest, or a smaller one where the step needs it. @param {number} step @param {number} highest */
function tickUnit(step, highest) {
    for (let unit = 4; unit > 0; unit--) if (highest >= 1024 ** unit && decimalsOf(step / 1024 ** unit, 3) < 3) return unit;
    return 0;
}

/** A cleared canvas, scaled so that 1 is a CSS pixel and (0, 0) the timeline's corner. @param {HTMLCanvasElement} canvas */
function startCanvas(canvas) {
    const context = context2d(canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(plot.ratio, 0, 0, plot.ratio, GUTTER.left * plot.ratio, GUTTER.top * plot.ratio);
    themeColor("--text");
    context.font = `12px ${theme.font}`;
    return context;
}

/** Straight line on the pixel grid. @param {CanvasRenderingContext2D} context @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function strokeLine(context, x0, y0, x1, y1) {
    const snap = (/** @type {number} */ v) => (Math.round(v * plot.ratio) + 0.5) / plot.ratio;
    context.beginPath();
    context.moveTo(snap(x0), snap(y0));
    context.lineTo(snap(x1), snap(y1));
    context.stroke();
}

/** Labels for the lines that the module draws behind the stack: one in 70 of its pixels. @param {CanvasRenderingContext2D} context */
function drawBytesAxis(context) {
    const most = Math.min(12, Math.max(2, Math.floor(plot.timeline.height / 70)));
    const ticks = host.ticks("bytes", state.bottom, topBytes(), most);
    const step = ticks.length > 1 ? ticks[1] - ticks[0] : topBytes();
    const unit = tickUnit(step, ticks[ticks.length - 1] ?? 0);
    const decimals = decimalsOf(step / 1024 ** unit, 3);
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const bytes of ticks) {
        context.fillStyle = themeColor("--dim");
        const text = (bytes / 1024 ** unit).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
        context.fillText(text, -10, yOfBytes(bytes));
    }
    context.fillStyle = themeColor("--text");
    context.textBaseline = "alphabetic";
    context.fillText(BYTE_UNITS[unit], -10, -16);
}

/** Label of a moment in seconds (or milliseconds in short runs). @param {number} us @param {number} step @param {number} unit microseconds */
function timeLabel(us, step, unit) {
    return (us / unit).toLocaleString("en-US", {
        minimumFractionDigits: decimalsOf(step / unit, 6),
        maximumFractionDigits: decimalsOf(step / unit, 6),
    });
}

/** Ticks along the axis with labels that do not touch. @param {CanvasRenderingContext2D} context @param {(value: number, step: number) => string} label */
function alongTicks(context, label) {
    for (let most = Math.min(20, Math.max(2, Math.floor(plot.width / 90))); ; most--) {
        const ticks = host.ticks("decimal", Math.ceil(state.from), Math.floor(state.to), most);
        const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
        const labels = ticks.map((value) => label(value, step));
        // The labels at the ends are the widest; measuring all of them, for every attempt, would cost more than the rest of the axes.
        const ends = [labels[0] ?? "", labels[labels.length - 1] ?? ""];
        const widest = Math.max(...ends.map((text) => context.measureText(text).width));
        const room = (step / (state.to - state.from)) * plot.width;
        if (most <= 2 || ticks.length < 2 || widest + 24 <= room) return ticks.map((value, i) => ({ value, text: labels[i] }));
    }
}

/** @param {CanvasRenderingContext2D} context */
function drawAlongAxis(context) {
    const time = state.axis === "time";
    const unit = Math.max(Math.abs(state.from), Math.abs(state.to)) < 1e5 ? 1e3 : 1e6;
    const eventLabel = (/** @type {number} */ event) => (event < 0 ? "before" : formatCount(event));
    const ticks = host.c.page_events() === 0 ? [] : alongTicks(context, (value, step) => (time ? timeLabel(value, step, unit) : eventLabel(value)));
    const base = plot.height + lane.height;
    plot.labels = [];
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const { value, text } of ticks) {
        const x = xOfAxis(value);
        context.strokeStyle = themeColor("--axis");
        strokeLine(context, x, base, x, base + 5);
        context.fillStyle = themeColor("--dim");
        const half = context.measureText(text).width / 2;
        const middle = Math.min(x, plot.width + GUTTER.right - half - 1);
        context.fillText(text, middle, base + 8);
        plot.labels.push({ from: middle - half, to: middle + half });
    }
    const title = host.c.page_events() === 0 ? "the state when the snapshot was taken" : time ? `${unit === 1e3 ? "milliseconds" : "seconds"} since the first event` : "event";
    context.fillStyle = themeColor("--text");
    context.fillText(title, plot.width / 2, base + 28);
}

/** Names the lines of reserved bytes and of the capacity, at the right end and clear of each other. @param {CanvasRenderingContext2D} context */
function nameLines(context) {
    const capacity = capacityBytes();
    const end = eventOfAxis(state.to);
    const lines = host.c.page_reserved_peak() > 0 ? [{ text: "reserved", bytes: host.c.page_reserved_at(Math.ceil(end) - 1), reserved: true }] : [];
    if (capacity) lines.push({ text: `capacity ${formatBytes(capacity)}`, bytes: capacity, reserved: false });
    const placed = lines.map((line) => ({ ...line, y: yOfBytes(line.bytes) })).filter(({ y }) => y > 0 && y < plot.height);
    const near = placed.length > 1 && Math.abs(placed[0].y - placed[1].y) < 18;
    const marks = visibleMarkers().map(({ x }) => x).sort((a, b) => b - a);
    context.textAlign = "right";
    context.lineJoin = "round";
    placed.forEach(({ text, y: atEnd, reserved }, i) => {
        // Clear of the markers' lines, too.
        const width = context.measureText(text).width;
        const right = marks.reduce((at, x) => (x < at + 4 && x > at - width - 4 ? x - 6 : at), plot.width - 6);
        const y = reserved && right < plot.width - 6 ? yOfBytes(host.c.page_reserved_at(host.c.page_event_of_x((right - 2) * plot.ratio))) : atEnd;
        // The lower one of two that are near goes below its line.
        const below = y < 18 || (near && i === 0);
        context.textBaseline = below ? "top" : "bottom";
        context.lineWidth = 3;
        context.strokeStyle = themeColor("--surface");
        context.strokeText(text, right, below ? y + 4 : y - 3);
        context.fillStyle = themeColor("--text");
        context.fillText(text, right, below ? y + 4 : y - 3);
    });
    context.lineWidth = 1 / plot.ratio;
}

function drawAxes() {
    const context = startCanvas(plot.axes);
    context.lineWidth = 1 / plot.ratio;
    drawBytesAxis(context);
    drawAlongAxis(context);
    drawLane(context, plot.height);
    context.lineWidth = 1 / plot.ratio;
    context.strokeStyle = themeColor("--axis");
    strokeLine(context, 0, 0, 0, plot.height);
    strokeLine(context, 0, plot.height, plot.width, plot.height);
    if (lane.height) strokeLine(context, 0, plot.height + lane.height, plot.width, plot.height + lane.height);
    nameLines(context);
    drawMarkerLines(context);
}

/* ---- markers ---- */

/** @param {number} i */
export function oomMarker(i) {
    const c = host.c;
    const event = c.page_oom_event(i);
    const title = `Out of memory: ${formatBytes(c.page_oom_size(i))} asked for, ${formatBytes(c.page_oom_free(i))} free on the device; ${momentText(event)}`;
    return { event, kind: "oom", text: "Out of memory", title };
}

/** Snapshots that were taken while this one was recorded. A loop that takes thousands gets marks for the first ones. */
function snapshotMarkers() {
    const c = host.c;
    return Array.from({ length: Math.min(SNAPSHOTS_MOST, c.page_snapshot_count()) }, (_, i) => {
        const event = c.page_snapshot_event(i);
        const title = `Earlier snapshot: ${formatBytes(c.page_snapshot_bytes(i))} active; ${momentText(event)}`;
        return { event, kind: "snapshot", text: "Snapshot", title };
    });
}

/** Moments worth a mark that are inside of the window, the most important first. */
function visibleMarkers() {
    const c = host.c;
    const peak = c.page_peak_event();
    const list = Array.from({ length: c.page_oom_count() }, (_, i) => oomMarker(i));
    const title = `Peak: ${formatExactBytes(c.page_peak_bytes())}, ${momentText(peak)}`;
    list.splice(1, 0, { event: peak, kind: "peak", text: `Peak ${formatBytes(c.page_peak_bytes())}`, title });
    list.push(...snapshotMarkers());
    const middle = (/** @type {number} */ event) => (xOfEvent(event) + Math.max(xOfEvent(event), Math.min(xOfEvent(event + 1), plot.width))) / 2;
    return list.map((mark) => ({ ...mark, x: middle(mark.event) })).filter((mark) => mark.x >= 0 && mark.x <= plot.width);
}

/** @param {CanvasRenderingContext2D} context */
function drawMarkerLines(context) {
    for (const mark of visibleMarkers()) {
        const y = Math.min(plot.height, Math.max(0, yOfBytes(host.c.page_live_at(mark.event))));
        context.strokeStyle = themeColor(mark.kind === "oom" ? "--bad" : mark.kind === "peak" ? "--text" : "--dim");
        context.setLineDash([3, 3]);
        strokeLine(context, mark.x, -4, mark.x, mark.kind === "peak" ? y : plot.height);
        context.setLineDash([]);
    }
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
function placeMarkers() {
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

/* ---- what follows the pointer ---- */

/** What is under a CSS pixel of the timeline. @param {number} x @param {number} y */
export function pickAt(x, y) {
    const column = Math.min(plot.timeline.width - 1, Math.floor(x * plot.ratio));
    const row = Math.min(plot.timeline.height - 1, Math.floor(y * plot.ratio));
    const life = host.c.page_pick(column, row);
    return { life: life < 0 ? null : life, event: host.c.page_picked_event() };
}

/** Outline of an allocation's band. @param {CanvasRenderingContext2D} context @param {number} life @param {string} color */
function outlineLife(context, life, color) {
    const count = host.c.page_outline(life);
    if (count === 0) return;
    const first = host.c.page_outline_first() / plot.ratio;
    const edges = host.floats(host.c.page_outline_edges(), count * 2);
    context.save();
    context.beginPath();
    context.rect(-2, -2, plot.width + 4, plot.height + 4);
    context.clip();
    context.beginPath();
    for (let i = 0; i < count; i++) {
        const y = yOfBytes(edges[2 * i + 1]);
        context.lineTo(first + i / plot.ratio, y);
        context.lineTo(first + (i + 1) / plot.ratio, y);
    }
    for (let i = count - 1; i >= 0; i--) {
        const y = yOfBytes(edges[2 * i]);
        context.lineTo(first + (i + 1) / plot.ratio, y);
        context.lineTo(first + i / plot.ratio, y);
    }
    context.closePath();
    context.lineJoin = "round";
    context.strokeStyle = themeColor("--surface");
    context.lineWidth = 4;
    context.stroke();
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.stroke();
    context.restore();
}

/** A plate over the axis hides whole labels: half of a number would be another number. @param {CanvasRenderingContext2D} context @param {number} from @param {number} to @param {number} y */
function hideLabels(context, from, to, y) {
    context.fillStyle = themeColor("--surface");
    for (const label of plot.labels)
        if (label.to > from && label.from < to) context.fillRect(label.from - 1, y, label.to - label.from + 2, 19);
}

/** A small label on a plate. @param {CanvasRenderingContext2D} context @param {string} text @param {number} x its middle @param {number} y its top */
function drawPlate(context, text, x, y) {
    const half = context.measureText(text).width / 2 + 7;
    const middle = Math.min(Math.max(x, half), plot.width + GUTTER.right - half);
    if (y > plot.height) hideLabels(context, middle - half, middle + half, y);
    context.fillStyle = themeColor("--text");
    context.beginPath();
    context.roundRect(middle - half, y, half * 2, 19, 4);
    context.fill();
    context.fillStyle = themeColor("--surface");
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, middle, y + 10);
}

/** @param {CanvasRenderingContext2D} context */
function drawRange(context) {
    if (!state.range) return;
    const from = Math.max(0, xOfAxis(state.range.from));
    const to = Math.min(plot.width, xOfAxis(state.range.to));
    if (to < 0 || from > plot.width) return;
    context.fillStyle = themeColor("--select");
    context.fillRect(from, 0, to - from, plot.height);
    context.strokeStyle = themeColor("--accent");
    strokeLine(context, from, 0, from, plot.height);
    strokeLine(context, to, 0, to, plot.height);
    drawPlate(context, rangeText(state.range), (from + to) / 2, 6);
}

/** Events of a range along the axis: [first, end). @param {{from: number, to: number}} range */
export function rangeEvents(range) {
    const first = Math.max(-1, Math.ceil(eventOfAxis(range.from)));
    return { first, end: Math.min(host.c.page_events(), Math.max(first + 1, Math.ceil(eventOfAxis(range.to)))) };
}

/** @param {{from: number, to: number}} range */
function rangeText(range) {
    const { first, end } = rangeEvents(range);
    const peak = host.c.page_live_at(host.c.page_peak_in(first, end));
    const time = host.c.page_has_time() ? ` \u00b7 ${formatDuration(usOfEvent(end) - usOfEvent(first))}` : "";
    return `${formatPlural(end - first, "event")}${time} \u00b7 highest ${formatBytes(peak)} \u00b7 f zooms`;
}

/** Line of the moment that the list is held at. @param {CanvasRenderingContext2D} context */
function drawHeldMoment(context) {
    if (state.moment === null) return;
    const x = xOfEvent(state.moment);
    if (x < 0 || x > plot.width) return;
    context.strokeStyle = themeColor("--accent");
    strokeLine(context, x, 0, x, plot.height);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} event */
function drawCrosshair(context, x, event) {
    context.strokeStyle = themeColor("--cross");
    strokeLine(context, x, 0, x, plot.height);
    const live = `${kept.active ? "all live" : "live"} ${formatBytes(host.c.page_live_at(event))}`;
    const reserved = host.c.page_reserved_peak() > 0 ? `reserved ${formatBytes(host.c.page_reserved_at(event))}` : "";
    drawPlate(context, [momentText(event), live, reserved].filter(Boolean).join(" \u00b7 "), x, plot.height + lane.height + 6);
}

export function drawOverlay() {
    const context = startCanvas(plot.overlay);
    context.lineWidth = 1 / plot.ratio;
    drawRange(context);
    drawHeldMoment(context);
    if (state.selected !== null) outlineLife(context, state.selected, themeColor("--accent"));
    plot.hover = state.pointer ? pickAt(state.pointer.x, state.pointer.y) : null;
    if (plot.hover && state.pointer) {
        if (plot.hover.life !== null && plot.hover.life !== state.selected)
            outlineLife(context, plot.hover.life, themeColor("--text"));
        context.lineWidth = 1 / plot.ratio;
        drawCrosshair(context, state.pointer.x, plot.hover.event);
    }
    showTip();
}

/** The first lines of what a click tells in full. @param {number} life @param {number} event */
function tipLines(life, event) {
    const c = host.c;
    const bytes = c.page_life_bytes(life);
    const live = c.page_live_at(event);
    const site = c.page_stack_site(c.page_life_stack(life)) >>> 0;
    return {
        size: formatBytes(bytes),
        share: `${formatShare(bytes, live)} of ${formatBytes(live)} at this moment`,
        site: host.siteText(site),
        life: lifetimeText(life),
        place: [c.page_life_allocations(life) === 1 ? "" : `${formatPlural(c.page_life_allocations(life) >>> 0, "allocation")} merged`, `stream ${c.page_life_stream(life)}`, c.page_life_pool_first(life) < 0 ? "" : poolText(life)].filter(Boolean).join(" \u00b7 "),
    };
}

function showTip() {
    if (lane.hover && state.lanePointer) {
        const { when, events } = phaseLines(lane.hover.phase);
        plot.tip.replaceChildren(make("p", "tip-site", phaseText(lane.hover.name)), make("p", "", when), make("p", "tip-dim", events));
        plot.tip.hidden = false;
        placeTip(state.lanePointer);
        return;
    }
    const life = plot.hover?.life ?? null;
    if (life === null || !plot.hover || !state.pointer) {
        plot.tip.hidden = true;
        return;
    }
    const lines = tipLines(life, plot.hover.event);
    const head = make("p", "tip-head", lines.size);
    head.append(make("span", "tip-share", lines.share));
    const rows = [make("p", "tip-site", lines.site), make("p", "", lines.life), make("p", "tip-dim", lines.place)];
    plot.tip.replaceChildren(head, ...rows);
    plot.tip.hidden = false;
    placeTip(state.pointer);
}

/** Beside the pointer, on the side that has room. @param {{x: number, y: number}} pointer */
function placeTip(pointer) {
    const { offsetWidth, offsetHeight } = plot.tip;
    const x = pointer.x + GUTTER.left;
    const y = pointer.y + GUTTER.top;
    const right = x + 16 + offsetWidth <= plot.box.clientWidth;
    const left = right ? x + 16 : Math.max(0, x - 16 - offsetWidth);
    const top = Math.min(Math.max(0, y - offsetHeight - 12), plot.box.clientHeight - offsetHeight);
    plot.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

/* ---- one allocation in words ---- */

/** "1,234 events (12.3 ms)", with what is special about its ends. @param {number} life */
export function lifetimeText(life) {
    const c = host.c;
    const birth = c.page_life_birth(life);
    const death = c.page_life_death(life);
    const events = formatPlural(death - birth, "event");
    const time = c.page_has_time() && birth >= 0 && death < c.page_events() ? ` (${formatDuration(usOfEvent(death) - usOfEvent(birth))})` : "";
    if (birth < 0 && death >= c.page_events()) return "alive in the whole recording";
    if (birth < 0) return `older than the recording, freed at ${momentText(death)}`;
    if (death >= c.page_events()) return `from ${momentText(birth)} to the end`;
    return `lived ${events}${time}`;
}

/** @param {number} life */
export function poolText(life) {
    const first = host.c.page_life_pool_first(life);
    const second = host.c.page_life_pool_second(life);
    if (first < 0) return "pool unknown";
    return first === 0 && second === 0 ? "default pool" : `pool (${first}, ${second})`;
}
