// The lane between timeline and phases: memory that is reserved but not in use, the largest free block, the number of
// segments, calls of the driver, and releases of memory with their reasons.
import { pen, strokeLine, themeColor, xOfEvent } from "./canvas.js";
import { once } from "./questions.js";
import { REPLAYED_AT_ONCE, replayOnce } from "./replay.js";
import { floats } from "./session.js";
import { makeSplitter } from "./splitter.js";
import { change, momentText, perPage } from "./state.js";
import { dotted, formatBytes, formatPlural, make } from "./text.js";

const HEIGHT = 46;

const HEIGHT_LEAST = 20;

/** Height of the host's memory, below the rest. */
const HOST_HEIGHT = 30;

/** The timeline keeps at least this height. */
const PLOT_LEAST = 120;

/** In a lower stage the timeline needs all the room. */
const STAGE_LEAST = 400;

const CAUSES = [
    "The program gave memory back (empty_cache)",
    "The driver refused a request, so PyTorch gave its cache back",
    "Garbage collection gave memory back",
    "Memory was given back (no stacks tell why)",
];

const RETRY = 1;

/** Figures of each column in the last drawing. */
const columnsOf = perPage(() => ({
    unused: new Float64Array(0),
    largest: new Float64Array(0),
    segments: new Float64Array(0),
    calls: new Float64Array(0),
    host: new Float64Array(0),
}));

/** When memory was given back. */
const askReleases = once(({ c }) => c.releases());

/** The height of the lane in CSS pixels, as the user has dragged it. @param {Page} page */
const laneSize = (page) => page.state.laneSize || HEIGHT;

/** The height of the allocator's part, with the free memory below it; 0: nothing is known of it. @param {Page} page */
function deviceHeight(page) {
    const { facts } = page.view;
    const known = facts.reserved_peak > 0 && facts.events > 1 && page.view.sentence("map_refusal") === "";
    return known ? laneSize(page) + 4 : 0;
}

/** Does the timeline leave room for more than one row below it? @param {Page} page */
export const hasLaneRoom = (page) => Boolean(page.beside) || page.ui.plot.clientHeight >= STAGE_LEAST;

/** Height in CSS pixels. @param {Page} page */
export function memoryLaneHeight(page) {
    const { state, view } = page;
    return state.viewBy !== "segments" && page.ui.plot.clientHeight >= STAGE_LEAST
        ? deviceHeight(page) + (view.facts.host_most && HOST_HEIGHT)
        : 0;
}

/** The event after a group of releases, when the memory is back. @param {record_release_group} group */
const endOf = ({ event, count }) => event + count - 1;

/** Reads the figures of the columns that were drawn last. @param {Page} page */
function readColumns(page) {
    const columns = columnsOf(page);
    const { place, width } = page.view.c.lanes();
    const numbers = floats(page.view.module, place, width * 5).slice();
    [columns.unused, columns.largest, columns.segments, columns.calls, columns.host] = [0, 1, 2, 3, 4].map((i) =>
        numbers.subarray(i * width, (i + 1) * width),
    );
}

/** Starts the replay, which finds the largest free block, once the picture is drawn. @param {Page} page */
function replayLater(page) {
    if (page.view.facts.events <= REPLAYED_AT_ONCE) setTimeout(() => replayOnce(page, REPLAYED_AT_ONCE));
}

/** Draws a line along the columns, or fills the area below it. @param {Page} page @param {Context} context
 * @param {Float64Array} values @param {(value: number) => number} y @param {boolean} fill @param {number} base */
function trace({ plot }, context, values, y, fill, base) {
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

/** @param {Page} page @param {Context} context @param {number} top its y */
export function drawMemoryLane(page, context, top) {
    if (memoryLaneHeight(page) === 0) return;
    const device = deviceHeight(page);
    readColumns(page);
    pen(context, { textAlign: "right", textBaseline: "middle" });
    if (device) drawDevice(page, context, top);
    if (page.view.facts.host_most) drawHost(page, context, top + device);
    context.lineWidth = 1 / page.plot.ratio;
}

function drawHost(/** @type {Page} */ page, /** @type {Context} */ context, /** @type {number} */ top) {
    const most = page.view.facts.host_most;
    const base = top + HOST_HEIGHT - 4;
    const y = (/** @type {number} */ bytes) => base - (bytes / most) * (HOST_HEIGHT - 6);
    pen(context, { lineWidth: 1, fillStyle: themeColor("--line") });
    trace(page, context, columnsOf(page).host, y, true, base);
    context.strokeStyle = context.fillStyle = themeColor("--dim");
    trace(page, context, columnsOf(page).host, y, false, base);
    context.fillText("host", -8, top + 12);
    context.fillText(formatBytes(most), -8, top + 25, page.gutter.left - 10);
}

function drawDevice(/** @type {Page} */ page, /** @type {Context} */ context, /** @type {number} */ top) {
    const columns = columnsOf(page);
    const { plot } = page;
    const base = top + laneSize(page);
    const room = laneSize(page) - 10;
    const most = columns.unused.reduce((a, b) => Math.max(a, b), 1);
    const mostSegments = columns.segments.reduce((a, b) => Math.max(a, b), 1);
    const y = (/** @type {number} */ bytes) => base - 5 - (Math.min(bytes, most) / most) * room;
    context.fillStyle = themeColor("--raised");
    context.fillRect(0, top + 2, plot.width, laneSize(page) - 2);
    context.fillStyle = themeColor("--unused-soft");
    trace(page, context, columns.unused, y, true, base - 5);
    pen(context, { lineWidth: 1, strokeStyle: themeColor("--unused") });
    trace(page, context, columns.unused, y, false, base);
    context.strokeStyle = themeColor("--text");
    if (columns.largest[0] < 0) replayLater(page);
    else trace(page, context, columns.largest, y, false, base);
    context.strokeStyle = themeColor("--axis");
    context.setLineDash([3, 2]);
    trace(page, context, columns.segments, (n) => base - 5 - (n / mostSegments) * room, false, base);
    context.setLineDash([]);
    context.fillStyle = themeColor("--dim");
    columns.calls.forEach(
        (calls, x) => calls > 0 && context.fillRect(x / plot.ratio, base - 4, Math.max(1, 1 / plot.ratio), 4),
    );
    drawReleases(page, context, top, base);
    context.fillStyle = themeColor("--dim");
    context.fillText("unused", -8, top + 12);
    if (laneSize(page) >= 34) context.fillText(formatBytes(most), -8, top + 27, page.gutter.left - 10);
}

/** @param {Page} page @param {Context} context @param {number} top @param {number} base */
function drawReleases(page, context, top, base) {
    let last = -9;
    for (const group of askReleases(page.view)) {
        const x = xOfEvent(page, endOf(group));
        if (x < 0 || x > page.plot.width || (x - last < 3 && group.cause !== RETRY)) continue;
        last = x;
        context.fillStyle = context.strokeStyle = themeColor(group.cause === RETRY ? "--bad" : "--dim");
        context.setLineDash([3, 3]);
        strokeLine(page, context, x, top + 8, x, base);
        context.setLineDash([]);
        context.beginPath();
        context.moveTo(x - 5, top + 2);
        context.lineTo(x + 5, top + 2);
        context.lineTo(x, top + 9);
        context.fill();
    }
}

/** Places the splitter beside the border, on the axis: on the border it would catch taps that are meant for the lowest
 * bands. */
export function placeLaneSplitter(/** @type {Page} */ page) {
    const split = page.ui.splitLanes;
    split.hidden = memoryLaneHeight(page) === 0 || deviceHeight(page) === 0;
    split.style.top = `${page.gutter.top + page.plot.height - 2}px`;
}

export function startLaneSplitter(/** @type {Page} */ page) {
    makeSplitter(page.ui.splitLanes, {
        read: () => laneSize(page),
        write: (pixels) =>
            change(page, { laneSize: pixels === null || Math.round(pixels) === HEIGHT ? 0 : Math.round(pixels) }),
        least: HEIGHT_LEAST,
        most: () => page.plot.height + laneSize(page) - PLOT_LEAST,
        sign: -1,
    });
}

/** Is a point of the timeline in the lane? @param {Page} page @param {{x: number, y: number}} point */
export function inMemoryLane(page, { x, y }) {
    const { plot } = page;
    return x >= 0 && x < plot.width && y >= plot.height && y < plot.height + memoryLaneHeight(page);
}

/** The lane's text at a point. @param {Page} page @param {{x: number, y: number}} point */
export function memoryLaneTip(page, { x }) {
    const { view } = page;
    const columns = columnsOf(page);
    const column = Math.min(columns.unused.length - 1, Math.max(0, Math.floor(x * page.plot.ratio)));
    const event = view.c.event_of_x(column);
    const host = columns.host[column]
        ? [make("p", "", `${formatBytes(columns.host[column])} of the host's memory`)]
        : [];
    if (!deviceHeight(page)) return [...host, make("p", "tip-dim", momentText(page, event))];
    const share = make("span", "tip-share", "reserved and not in use");
    const head = make("p", "tip-head", formatBytes(columns.unused[column]), share);
    const largest = columns.largest[column] >= 0 ? `largest free block ${formatBytes(columns.largest[column])}` : "";
    const calls = columns.calls[column] ? `${formatPlural(columns.calls[column], "call")} of the driver` : "";
    const near = askReleases(view).filter((group) => Math.abs(xOfEvent(page, endOf(group)) - x) < 6);
    const marks = near.slice(0, 3).map(({ cause, bytes, count, out_of_memory, stack }) => {
        const what = `${CAUSES[cause] ?? CAUSES[3]}: ${formatBytes(bytes)} in ${formatPlural(count, "call")}`;
        const by = stack ? `, ${view.stackSite(stack)}` : "";
        return make("p", "", `${what}${out_of_memory ? "; it was not enough" : ""}${by}.`);
    });
    const segments = make("p", "", dotted(largest, formatPlural(columns.segments[column], "segment")));
    return [head, segments, ...marks, ...host, make("p", "tip-dim", dotted(calls, momentText(page, event)))];
}

/** For scripts: the columns' figures. @param {Page} page */
export function laneFigures(page) {
    const columns = columnsOf(page);
    const lists = [columns.unused, columns.largest, columns.segments, columns.calls, columns.host];
    const [unused, largestHole, segments, calls, host] = lists.map((values) => [...values]);
    return memoryLaneHeight(page) === 0 ? null : { unused, largestHole, segments, calls, host };
}
