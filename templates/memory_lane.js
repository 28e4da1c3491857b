// The lane between timeline and phases: what is reserved and not in use, the largest free block, how many segments
// there are, when the driver was called, and when memory was given back, and why.
import { GUTTER, plot, strokeLine, themeColor, xOfEvent } from "./canvas.js";
import { replayOnce, REPLAYED_AT_ONCE } from "./map_view.js";
import { floats } from "./session.js";
import { makeSplitter } from "./splitter.js";
import { change, momentText, session, state, view } from "./state.js";
import { element, formatBytes, formatPlural, make } from "./text.js";

const HEIGHT = 46;

const HEIGHT_LEAST = 20;

/** The timeline keeps so much of the height. */
const PLOT_LEAST = 120;

/** Below this the timeline needs the room. */
const STAGE_LEAST = 300;

const CAUSES = [
    "The program gave memory back (empty_cache)",
    "A request found no memory, so what was cached was given back",
    "Garbage collection gave memory back",
    "Memory was given back (no stacks tell why)",
];

const RETRY = 1;

/** What the last drawing knows of each column. */
const columns = {
    unused: new Float64Array(0),
    largest: new Float64Array(0),
    segments: new Float64Array(0),
    calls: new Float64Array(0),
};

/**
 * Times that memory was given back, of the device with the index.
 * @type {{device: number, groups: record_release_group[]}}
 */
const releases = { device: -1, groups: [] };

/** CSS pixels of the lane itself, as somebody has dragged it. */
const laneSize = () => state.laneSize || HEIGHT;

/** Height in CSS pixels, with what is free below it. */
export function memoryLaneHeight() {
    const known = view.facts.reserved_peak > 0 && view.facts.events > 1 && view.sentence("map_refusal") === "";
    return known && state.viewBy !== "segments" && plot.box.clientHeight >= STAGE_LEAST ? laneSize() + 4 : 0;
}

function allReleases() {
    if (releases.device !== state.device) {
        releases.device = state.device;
        releases.groups = Array.from({ length: view.c.releases() >>> 0 }, (_, i) => view.c.release_group(i));
    }
    return releases.groups;
}

/** The event that is behind a group: memory is back. @param {record_release_group} group */
const endOf = ({ event, count }) => event + count - 1;

/** Reads the figures of the columns that were drawn last. */
function readColumns() {
    const { place, width } = view.c.lanes();
    const numbers = floats(view.module, place, width * 4).slice();
    [columns.unused, columns.largest, columns.segments, columns.calls] = [0, 1, 2, 3].map((i) =>
        numbers.subarray(i * width, (i + 1) * width),
    );
}

/** The replay tells the largest free block; it waits until the picture is there. */
function replayLater() {
    if (view.facts.events <= REPLAYED_AT_ONCE) setTimeout(() => replayOnce(REPLAYED_AT_ONCE));
}

/**
 * A line along the columns, or what is below it.
 * @param {CanvasRenderingContext2D} context
 * @param {Float64Array} values
 * @param {(value: number) => number} y
 * @param {boolean} fill
 * @param {number} base
 */
function trace(context, values, y, fill, base) {
    context.beginPath();
    if (fill) context.moveTo(0, base);
    for (let x = 0; x < values.length; x++) {
        if (x > 0 && x + 1 < values.length && values[x] === values[x - 1] && values[x] === values[x + 1]) continue;
        context.lineTo(x / plot.ratio, y(values[x]));
        context.lineTo((x + 1) / plot.ratio, y(values[x]));
    }
    if (fill) {
        context.lineTo(plot.width, base);
        context.fill();
    } else context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {number} top its y */
export function drawMemoryLane(context, top) {
    if (memoryLaneHeight() === 0) return;
    readColumns();
    const base = top + laneSize();
    const room = laneSize() - 10;
    const most = columns.unused.reduce((a, b) => Math.max(a, b), 1);
    const mostSegments = columns.segments.reduce((a, b) => Math.max(a, b), 1);
    const y = (/** @type {number} */ bytes) => base - 5 - (Math.min(bytes, most) / most) * room;
    context.fillStyle = themeColor("--raised");
    context.fillRect(0, top + 2, plot.width, laneSize() - 2);
    context.fillStyle = themeColor("--unused-soft");
    trace(context, columns.unused, y, true, base - 5);
    context.lineWidth = 1;
    context.strokeStyle = themeColor("--unused");
    trace(context, columns.unused, y, false, base);
    context.strokeStyle = themeColor("--text");
    if (columns.largest[0] < 0) replayLater();
    else trace(context, columns.largest, y, false, base);
    context.strokeStyle = themeColor("--axis");
    context.setLineDash([3, 2]);
    trace(context, columns.segments, (n) => base - 5 - (n / mostSegments) * room, false, base);
    context.setLineDash([]);
    context.fillStyle = themeColor("--dim");
    columns.calls.forEach(
        (calls, x) => calls > 0 && context.fillRect(x / plot.ratio, base - 4, Math.max(1, 1 / plot.ratio), 4),
    );
    drawReleases(context, top, base);
    context.fillStyle = themeColor("--dim");
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("unused", -8, top + 12);
    if (laneSize() >= 34) context.fillText(formatBytes(most), -8, top + 27, GUTTER.left - 10);
    context.lineWidth = 1 / plot.ratio;
}

/** @param {CanvasRenderingContext2D} context @param {number} top @param {number} base */
function drawReleases(context, top, base) {
    let last = -9;
    for (const group of allReleases()) {
        const x = xOfEvent(endOf(group));
        if (x < 0 || x > plot.width || (x - last < 3 && group.cause !== RETRY)) continue;
        last = x;
        context.fillStyle = context.strokeStyle = themeColor(group.cause === RETRY ? "--bad" : "--dim");
        context.setLineDash([3, 3]);
        strokeLine(context, x, top + 8, x, base);
        context.setLineDash([]);
        context.beginPath();
        context.moveTo(x - 5, top + 2);
        context.lineTo(x + 5, top + 2);
        context.lineTo(x, top + 9);
        context.fill();
    }
}

const split = element("split-lanes", HTMLDivElement);

/**
 * The splitter lies beside the border, on the axis: over it, it would take taps that are meant for the lowest bands.
 */
export function placeLaneSplitter() {
    split.hidden = memoryLaneHeight() === 0;
    split.style.top = `${GUTTER.top + plot.height - 2}px`;
}

export function startLaneSplitter() {
    makeSplitter(split, {
        read: laneSize,
        write: (pixels) =>
            change({ laneSize: pixels === null || Math.round(pixels) === HEIGHT ? 0 : Math.round(pixels) }),
        least: HEIGHT_LEAST,
        most: () => plot.height + laneSize() - PLOT_LEAST,
        sign: -1,
    });
}

/** Is a point of the timeline in the lane? @param {{x: number, y: number}} point */
export function inMemoryLane({ x, y }) {
    return memoryLaneHeight() > 0 && x >= 0 && x < plot.width && y >= plot.height && y < plot.height + laneSize();
}

/** What the lane says at a point. @param {{x: number, y: number}} point */
export function memoryLaneTip({ x }) {
    const column = Math.min(columns.unused.length - 1, Math.max(0, Math.floor(x * plot.ratio)));
    const event = view.c.event_of_x(column);
    const head = make("p", "tip-head", formatBytes(columns.unused[column]));
    head.append(make("span", "tip-share", "reserved and not in use"));
    const largest =
        columns.largest[column] >= 0 ? `largest free block ${formatBytes(columns.largest[column])} \u00b7 ` : "";
    const calls = columns.calls[column] ? `${formatPlural(columns.calls[column], "call")} of the driver \u00b7 ` : "";
    const near = allReleases()
        .filter((group) => Math.abs(xOfEvent(endOf(group)) - x) < 6)
        .slice(0, 3);
    const marks = near.map((group) =>
        make(
            "p",
            "",
            `${CAUSES[group.cause] ?? CAUSES[3]}: ${formatBytes(group.bytes)} in ` +
                `${formatPlural(group.count, "call")}${group.out_of_memory ? "; it was not enough" : ""}` +
                `${group.stack ? `, ${session.siteText(view.c.stack_site(group.stack))}` : ""}.`,
        ),
    );
    return [
        head,
        make("p", "", `${largest}${formatPlural(columns.segments[column], "segment")}`),
        ...marks,
        make("p", "tip-dim", `${calls}${momentText(event)}`),
    ];
}

/** For scripts: the columns' figures. */
export function laneFigures() {
    return memoryLaneHeight() === 0
        ? null
        : {
              unused: [...columns.unused],
              largestHole: [...columns.largest],
              segments: [...columns.segments],
              calls: [...columns.calls],
          };
}
