// Live memory of all recordings on one scale: the median and the band of 5 to 95 %, of a few recordings each curve, and
// above them in colour the recordings with a finding. The axis along is steps, time, or each run from its first to its
// last event.
import { element, formatBytes, formatCount, formatDuration, make, makeChoices, makeSwatch } from "../text.js";
import { pen, themeColor } from "../paint.js";
import { canvasContext, countStep, lastBefore, tickStep, traceCurve, watchPointer } from "./canvas.js";
import { rowTitle, SHARE_MOST } from "./data.js";

/**
 * @typedef {{from: number, to: number, place: (index: number) => (i: number) => number}} Axis
 * @typedef {ReturnType<typeof makeCurves>} Curves
 * @typedef {ReturnType<typeof box>} Area
 * @typedef {{low: Uint16Array, middle: Uint16Array, high: Uint16Array, known: Uint8Array}} Band
 */

const COLUMNS = 360;
/** Fewer recordings are drawn curve by curve. */
const BAND_LEAST = 5;
const GREY = "#8a99ad";
const LEGEND_SHOWN = 12;
const TIP_REACH = 24;
const HEIGHT = 270;
const LEFT = 74;
const TOP = 8;
const BOTTOM = 26;

export const AXES = /** @type {const} */ (["step", "time", "run"]);
/** @type {Record<string, string>} */
const AXIS_TITLES = { step: "Step", time: "Time", run: "Events" };

/** The place of each sample of a run along the steps, all of which have the same width. @param {number[][]} steps */
function stepPlace(steps) {
    const first = steps[0];
    const last = steps[steps.length - 1];
    const before = steps[steps.length - 2];
    // A step that did not end is drawn as wide as its part of the previous step's length.
    const width = last[1] || !before ? 1 : Math.min(1, (last[3] - last[2]) / Math.max(1, before[3] - before[2]));
    return (/** @type {number} */ share) => {
        if (share <= first[2]) return first[0] - Math.min(0.5, (first[2] - share) / Math.max(1, first[3] - first[2]));
        if (share >= last[3])
            return last[0] + width + Math.min(0.5, (share - last[3]) / Math.max(1, last[3] - last[2]));
        if (share >= last[2]) return last[0] + (width * (share - last[2])) / Math.max(1, last[3] - last[2]);
        const low = lastBefore(steps.length - 1, (i) => steps[i][2] <= share);
        const step = steps[low];
        const next = steps[low + 1];
        const [end, number] = share <= step[3] || !next ? [step[3], step[0] + 1] : [next[2], next[0]];
        return step[0] + Math.min(1, (share - step[2]) / Math.max(1, end - step[2])) * (number - step[0]);
    };
}

/** @param {Batch} batch @returns {Record<string, Axis>} */
function axesOf(batch) {
    const { rows, samples, times } = batch;
    const run = (/** @type {number} */ index) => {
        const last = Math.max(1, samples[index].length - 1);
        return (/** @type {number} */ i) => i / last;
    };
    /** @type {Record<string, Axis>} */
    const axes = { run: { from: 0, to: 1, place: run } };
    const stepped = rows.filter((row) => row.steps_at.length > 1);
    if (stepped.length > rows.length / 2) {
        const from = stepped.reduce((least, { steps_at: [first] }) => Math.min(least, first[0]), Infinity);
        const to = stepped.reduce((most, { steps_at }) => Math.max(most, Number(steps_at.at(-1)?.[0]) + 1), -Infinity);
        axes.step = {
            from,
            to,
            place: (index) => {
                if (rows[index].steps_at.length === 0) return () => -1;
                const place = stepPlace(rows[index].steps_at);
                const along = run(index);
                // Samples after the last step lie at the edge.
                return (i) => Math.min(1, (place(along(i) * SHARE_MOST) - from) / (to - from));
            },
        };
    }
    if (batch.data.span_us > 0 && times.every((list) => list !== null))
        axes.time = { from: 0, to: batch.data.span_us, place: (index) => (i) => (times[index]?.[i] ?? 0) / SHARE_MOST };
    return axes;
}

/** Finds the live bytes of all recordings, column by column. @param {Batch} batch @param {Axis} axis
 * @returns {Band} */
function bandOf(batch, axis) {
    const n = batch.own.length;
    const values = new Uint16Array(n * COLUMNS);
    const counts = new Uint32Array(COLUMNS);
    for (const index of batch.own) {
        const place = axis.place(index);
        const shares = batch.samples[index];
        let [before, filled] = [-1, -1];
        for (let i = 0; i < shares.length; i++) {
            const column = Math.floor(place(i) * COLUMNS);
            if (column < 0 || column >= COLUMNS) continue;
            // A column takes the highest of its samples; a column between two samples takes the earlier one.
            if (column === filled) {
                const at = column * n + counts[column] - 1;
                values[at] = Math.max(values[at], shares[i]);
                before = values[at];
                continue;
            }
            for (let between = filled + 1; filled >= 0 && between < column; between++)
                values[between * n + counts[between]++] = before;
            values[column * n + counts[column]++] = shares[i];
            [filled, before] = [column, shares[i]];
        }
    }
    const [low, middle, high] = [0, 1, 2].map(() => new Uint16Array(COLUMNS));
    const band = { low, middle, high, known: new Uint8Array(COLUMNS) };
    for (let column = 0; column < COLUMNS; column++) {
        const count = counts[column];
        // Once most recordings have ended, the few that go on do not stand for all.
        if (count * 2 < n) continue;
        const sorted = values.subarray(column * n, column * n + count).sort();
        band.known[column] = 1;
        band.low[column] = sorted[Math.ceil((count - 1) * 0.05)];
        band.middle[column] = sorted[Math.floor((count - 1) * 0.5)];
        band.high[column] = sorted[Math.floor((count - 1) * 0.95)];
    }
    return band;
}

function box(/** @type {Curves} */ curves) {
    const step = tickStep(curves.scaleBytes);
    const topBytes = Math.max(step, Math.ceil((curves.scaleBytes * 1.02) / step) * step);
    return {
        left: LEFT,
        top: TOP,
        width: Math.max(50, curves.plot.clientWidth - LEFT - 10),
        height: HEIGHT - TOP - BOTTOM,
        most: (SHARE_MOST * topBytes) / curves.scaleBytes,
        topBytes,
        step,
    };
}

function drawGrid(/** @type {Curves} */ curves, /** @type {Context} */ context, /** @type {Area} */ area) {
    pen(context, { font: "11px system-ui, sans-serif", textBaseline: "middle", lineWidth: 1, textAlign: "right" });
    for (let bytes = 0; bytes <= area.topBytes; bytes += area.step) {
        const y = Math.round(area.top + area.height * (1 - bytes / area.topBytes)) + 0.5;
        context.strokeStyle = themeColor("--line");
        context.beginPath();
        context.moveTo(area.left, y);
        context.lineTo(area.left + area.width, y);
        context.stroke();
        context.fillStyle = themeColor("--dim");
        context.fillText(formatBytes(bytes), area.left - 8, y);
    }
    drawTicks(curves, context, area);
}

function drawTicks(/** @type {Curves} */ curves, /** @type {Context} */ context, /** @type {Area} */ area) {
    const axis = curves.axes[curves.axisName];
    const y = area.top + area.height + 14;
    const put = (/** @type {string} */ text, /** @type {number} */ share) => {
        const x = area.left + share * area.width;
        context.textAlign = share < 0.03 ? "left" : share > 0.97 ? "right" : "center";
        context.fillText(text, x, y);
    };
    context.fillStyle = themeColor("--dim");
    if (curves.axisName === "run") {
        put("first event", 0);
        put("last event", 1);
        return;
    }
    const span = axis.to - axis.from;
    const step = countStep(span, Math.floor(area.width / 80));
    for (let at = curves.axisName === "step" ? Math.ceil(axis.from / step) * step : 0; at < axis.to; at += step) {
        // A step's number stands below its middle, a time at its moment.
        const share = (at - axis.from + (curves.axisName === "step" ? 0.5 : 0)) / span;
        const text = curves.axisName === "step" ? (at === axis.from ? `step ${at}` : String(at)) : formatDuration(at);
        if (share <= 1) put(text, share);
    }
}

function drawBand(/** @type {Curves} */ curves, /** @type {Context} */ context, /** @type {Area} */ area) {
    const { low, middle, high, known } = bandOf(curves.batch, curves.axes[curves.axisName]);
    const x = (/** @type {number} */ column) => area.left + ((column + 0.5) / COLUMNS) * area.width;
    const y = (/** @type {number} */ share) => area.top + area.height * (1 - share / area.most);
    context.fillStyle = context.strokeStyle = GREY;
    for (let from = 0, to; from < COLUMNS; from = to + 1) {
        for (to = from; to < COLUMNS && known[to];) to++;
        if (to === from) continue;
        context.globalAlpha = 0.28;
        context.beginPath();
        for (let i = from; i < to; i++) context.lineTo(x(i), y(high[i]));
        for (let i = to - 1; i >= from; i--) context.lineTo(x(i), y(low[i]));
        context.fill();
        pen(context, { globalAlpha: 1, lineWidth: 1.2 });
        context.beginPath();
        for (let i = from; i < to; i++) context.lineTo(x(i), y(middle[i]));
        context.stroke();
    }
}

/** @param {Curves} curves @param {Context} context @param {number} index @param {number} width
 * @param {string} color @param {Area} area */
function drawOne(curves, context, index, width, color, area) {
    pen(context, { lineWidth: width, strokeStyle: color });
    traceCurve(context, curves.samples[index], curves.axes[curves.axisName].place(index), area);
    context.stroke();
}

function drawBelow(/** @type {Curves} */ curves, /** @type {Area} */ area) {
    const key = [curves.plot.clientWidth, window.devicePixelRatio, themeColor("--dim"), curves.axisName].join();
    if (curves.below && key === curves.belowKey) return curves.below;
    [curves.below, curves.belowKey] = [document.createElement("canvas"), key];
    const context = canvasContext(curves.below, curves.plot.clientWidth, HEIGHT);
    drawGrid(curves, context, area);
    context.lineJoin = "round";
    if (curves.banded) drawBand(curves, context, area);
    context.globalAlpha = 0.75;
    for (const index of curves.banded ? [] : curves.batch.own)
        if (!curves.batch.colorOf(index)) drawOne(curves, context, index, 1.1, GREY, area);
    context.globalAlpha = 1;
    return curves.below;
}

/** Draws a mark where a recording ran out of memory: at its last sample.
 * @param {Curves} curves @param {Context} context @param {number} index @param {Area} area */
function drawOom(curves, context, index, area) {
    const shares = curves.samples[index];
    const i = shares.length - 1;
    const at = curves.axes[curves.axisName].place(index)(i);
    if (!curves.rows[index].oom || i < 0 || at < 0 || at > 1.001) return;
    const [x, y] = [area.left + at * area.width, area.top + area.height * (1 - shares[i] / area.most)];
    context.fillStyle = themeColor("--bad");
    context.beginPath();
    context.arc(x, y, 4, 0, 7);
    context.fill();
    if (index !== curves.chosen) return;
    const text = "out of memory";
    pen(context, { font: "11px system-ui, sans-serif", textBaseline: "middle" });
    const width = context.measureText(text).width;
    const left = Math.min(x - width / 2 - 7, area.left + area.width - width - 14);
    const middle = y < area.top + 26 ? y + 17 : y - 17;
    context.beginPath();
    context.roundRect(left, middle - 9, width + 14, 18, 9);
    context.fill();
    pen(context, { fillStyle: themeColor("--surface"), textAlign: "left" });
    context.fillText(text, left + 7, middle + 0.5);
}

function draw(/** @type {Curves} */ curves) {
    curves.plot.style.height = `${HEIGHT}px`;
    const area = box(curves);
    const context = canvasContext(curves.canvas, curves.plot.clientWidth, HEIGHT);
    context.drawImage(drawBelow(curves, area), 0, 0, curves.plot.clientWidth, HEIGHT);
    pen(context, { lineJoin: "round", globalAlpha: curves.batch.oddRows.length > 60 ? 0.5 : 1 });
    // The most severe is drawn last, so that it lies on top.
    for (const index of [...curves.batch.oddRows].reverse())
        drawOne(curves, context, index, 1.3, curves.batch.colorOf(index) ?? "", area);
    context.globalAlpha = 1;
    for (const index of [curves.hovered, curves.chosen])
        if (index >= 0) drawOne(curves, context, index, 2.6, curves.batch.colorOf(index) ?? themeColor("--text"), area);
    for (const index of curves.batch.oddRows.length > 60 ? [curves.chosen] : [...curves.batch.oddRows, curves.chosen])
        if (index >= 0) drawOom(curves, context, index, area);
}

function showLegend(/** @type {Curves} */ curves) {
    const item = (/** @type {string} */ color, /** @type {string} */ text) =>
        make("li", "", makeSwatch(color), make("span", "", text));
    const { own, colorOf } = curves.batch;
    const n = curves.banded ? own.length : own.filter((index) => !colorOf(index)).length;
    const items = n ? [item(GREY, `${curves.banded ? "median and 5 to 95 %" : "each"} of ${formatCount(n)}`)] : [];
    const groups = [...curves.batch.oddGroups];
    for (const [key, index] of groups.slice(0, LEGEND_SHOWN))
        items.push(item(curves.batch.colorOf(index) ?? "", typeof key === "number" ? `rank ${key}` : key));
    if (groups.length > LEGEND_SHOWN)
        items.push(make("li", "dim", `and ${formatCount(groups.length - LEGEND_SHOWN)} more with a finding`));
    element("legend", HTMLElement).replaceChildren(...items);
}

/** The recording whose curve is nearest to a point of the plot; -1: none is near.
 * @param {Curves} curves @param {number} x @param {number} y */
function nearest(curves, x, y) {
    const area = box(curves);
    const at = (x - area.left) / area.width;
    let best = -1;
    let distance = TIP_REACH;
    if (at < 0 || at > 1) return -1;
    curves.rows.forEach((row, index) => {
        const shares = curves.samples[index];
        if (shares.length === 0 || row.copy_of !== null) return;
        const place = curves.axes[curves.axisName].place(index);
        const low = lastBefore(shares.length - 1, (i) => place(i) <= at);
        const next = Math.min(shares.length - 1, low + 1);
        const [from, to] = [place(low), place(next)];
        if (Math.abs(from - at) > 0.05 && (at < from || at > to)) return;
        const part = to > from ? Math.min(1, Math.max(0, (at - from) / (to - from))) : 0;
        const share = shares[low] + (shares[next] - shares[low]) * part;
        const away = Math.abs(area.top + area.height * (1 - share / area.most) - y);
        // Of two that are about equally near, people mean the odd one.
        if (away < distance - (best >= 0 && curves.batch.colorOf(best) && !curves.batch.colorOf(index) ? 3 : 0))
            [distance, best] = [away, index];
    });
    return best;
}

/** The contents of the plot, and its canvas. @param {Batch} batch */
function makeCurves(batch) {
    const axes = axesOf(batch);
    const names = AXES.filter((name) => name in axes);
    const { rows, samples } = batch;
    return {
        ...{ batch, rows, samples, axes, names },
        plot: element("plot", HTMLElement),
        canvas: element("curves", HTMLCanvasElement),
        scaleBytes: Math.max(1, batch.data.totals.highest_peak_bytes),
        banded: batch.own.length >= BAND_LEAST,
        axisName: names[0],
        chosen: -1,
        hovered: -1,
        /** The layer below the coloured curves, drawn once for each size, theme and axis. @type {HTMLCanvasElement?} */
        below: null,
        belowKey: "",
    };
}

/** @param {Batch} batch
 * @param {{choose: (index: number) => void, hover: (index: number) => void, axis: (name: string) => void}} use */
export function createCurves(batch, use) {
    const curves = makeCurves(batch);
    const { rows, names } = curves;
    /** @type {[string, string][]} */
    const choices = names.map((name) => [name, AXIS_TITLES[name]]);
    const mark = makeChoices(element("axes", HTMLElement), names.length > 1 ? choices : [], use.axis);
    const find = (/** @type {number} */ x, /** @type {number} */ y) => nearest(curves, x, y);
    const tell = (/** @type {number} */ index) => {
        const { end_bytes, oom, peak_bytes } = rows[index];
        const figures = `peak ${formatBytes(peak_bytes)}, end ${formatBytes(end_bytes)}`;
        return `${rowTitle(rows[index])}: ${figures}${oom ? ", out of memory" : ""}`;
    };
    watchPointer(curves.canvas, element("plot-tip", HTMLElement), { find, tell, ...use });
    return {
        axes: names,
        nearest: find,
        showLegend: () => showLegend(curves),
        /** @param {{axis: string, chosen: number, hovered: number}} wish */
        show({ axis, chosen, hovered }) {
            const axisName = names.find((name) => name === axis) ?? names[0];
            Object.assign(curves, { axisName, chosen, hovered });
            mark(axisName);
            draw(curves);
        },
    };
}
