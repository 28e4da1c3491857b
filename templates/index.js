// The index of a batch: which rank is different, and why. Uses text.js and list.js. Everything from file names enters the document as
// text (make, setText); names of pages are checked by the writer to hold letters, digits, '.', '_' and '-' only.
import { VirtualList } from "./list.js";
import {
    element,
    formatBytes,
    formatCount,
    formatEvent,
    formatExactBytes,
    formatPlural,
    make,
    setText,
} from "./text.js";

/**
 * @typedef {{bytes: number, median_bytes: number, site: string}} Difference
 * @typedef {{input: string, rank: number | null, step: number | null, device: number, devices: number, input_bytes: number,
 *   events: number, peak_bytes: number, peak_event: number, end_bytes: number, reserved_peak_bytes: number, oom: number,
 *   oom_requested_bytes?: number, oom_free_bytes?: number, truncation: string | null, peak_score: number, odd: string[], page: string, png: string | null,
 *   finding: string | null, differences: Difference[], samples: number[]}} Row
 * @typedef {{input: string, reason: string}} Refusal
 * @typedef {{files: number, done: number, failed: number, skipped: number, out_of_memory: number, odd: number, events: number,
 *   input_bytes: number, lowest_peak_bytes: number, median_peak_bytes: number, highest_peak_bytes: number}} Totals
 * @typedef {{version: string, totals: Totals, notes: string[], findings: {title: string, rows: number[]}[], failed: Refusal[], skipped: Refusal[],
 *   rows: Row[]}} Data
 * @typedef {"rank" | "step" | "peak" | "end" | "events" | "oom" | "file"} SortKey
 */

const SAMPLE_MOST = 65535;
const FINDINGS_SHOWN = 12;
const LEGEND_SHOWN = 16;
const TIP_REACH = 24;

/** Colours of odd recordings, told apart by colour-blind eyes too; on both themes. */
const ODD_COLORS = ["#d55e00", "#2b83c6", "#009e73", "#c85a9a", "#c68a00", "#7b5be0", "#8c6d31", "#d13b3b"];

/** @type {Data} */
const data = JSON.parse(element("data", HTMLScriptElement).textContent ?? "{}");
const rows = data.rows;
const scaleBytes = Math.max(1, data.totals.highest_peak_bytes);

/** Odd rows, the most severe first: those with a finding, in the order of the findings. @type {number[]} */
const oddRows = rankFindings();
/** What shares a colour: all steps of a rank. One of the odd rows for each, the most severe first. @type {Map<number | string, number>} */
const oddGroups = new Map();
for (const index of oddRows) if (!oddGroups.has(groupOf(rows[index]))) oddGroups.set(groupOf(rows[index]), index);
const groupKeys = [...oddGroups.keys()];
/** @type {Map<number, string>} */
const colorOf = new Map(oddRows.map((index) => [index, ODD_COLORS[groupKeys.indexOf(groupOf(rows[index])) % ODD_COLORS.length]]));

const state = {
    /** @type {SortKey} */ sort: "rank",
    falling: false,
    only: "all",
    filter: "",
    chosen: -1,
    hovered: -1,
    /** Indices of rows, as they are listed. @type {number[]} */ order: [],
};

function rankFindings() {
    const seen = new Set(data.findings.flatMap((finding) => finding.rows));
    return [...seen].filter((index) => rows[index].finding !== null);
}

/** @param {Row} row */
function groupOf(row) {
    return row.rank ?? row.input;
}

/** @param {Row} row */
function rowTitle(row) {
    if (row.rank === null) return row.input;
    return row.step === null ? `rank ${row.rank}` : `rank ${row.rank}, step ${row.step}`;
}

/** @param {string} name */
function cssVariable(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* ---- what stands above the pictures ---- */

function showTotals() {
    const totals = data.totals;
    const parts = [
        formatPlural(totals.done, "recording"),
        `peaks ${formatBytes(totals.lowest_peak_bytes)} to ${formatBytes(totals.highest_peak_bytes)}, median ${formatBytes(totals.median_peak_bytes)}`,
    ];
    if (totals.out_of_memory) parts.push(`${formatCount(totals.out_of_memory)} out of memory`);
    if (totals.failed) parts.push(`${formatCount(totals.failed)} failed`);
    if (totals.skipped) parts.push(`${formatCount(totals.skipped)} skipped`);
    setText(element("totals", HTMLElement), parts.join(" \u00b7 "));
}

function showNotes() {
    const list = element("notes", HTMLElement);
    list.hidden = data.notes.length === 0;
    list.replaceChildren(...data.notes.map((note) => make("li", "", note)));
}

/** @param {number} index */
function makeSwatch(index) {
    const swatch = make("span", "swatch");
    swatch.style.background = colorOf.get(index) ?? cssVariable("--curve");
    return swatch;
}

/** @param {number} count */
function showFindings(count) {
    const items = data.findings.slice(0, count).map((finding) => {
        const item = make("li");
        const button = make("button", "finding");
        button.type = "button";
        const [index] = finding.rows;
        if (index !== undefined) button.append(makeSwatch(index));
        button.append(make("span", "", finding.title));
        button.addEventListener("click", () => index !== undefined && choose(index, true));
        item.append(button);
        return item;
    });
    if (items.length === 0) items.push(make("li", "dim", calmSentence()));
    element("findings", HTMLElement).replaceChildren(...items);
    const more = element("findings-more", HTMLButtonElement);
    more.hidden = count >= data.findings.length;
    setText(more, `Show all ${formatCount(data.findings.length)}`);
}

function calmSentence() {
    if (rows.length === 0) return "There is no recording to compare.";
    return rows.length < 4
        ? "Fewer than four recordings: too few to call one of them different."
        : "No recording is far from the median of the others in its peak, its end or its number of events, and none ran out of memory.";
}

/** @param {string} kind @param {Refusal[]} refusals */
function showRefusals(kind, refusals) {
    element(`${kind}-section`, HTMLElement).hidden = refusals.length === 0;
    setText(element(`${kind}-title`, HTMLElement), `${formatPlural(refusals.length, "file")} ${kind}`);
    const lines = refusals.map((refusal) => {
        const line = make("tr");
        line.append(make("td", "", refusal.input), make("td", "", refusal.reason));
        return line;
    });
    element(kind, HTMLElement).replaceChildren(...lines);
}

/* ---- canvases ---- */

/** A canvas in device pixels, cleared; drawing is in CSS pixels. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
function canvasContext(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser has no canvas.");
    context.scale(ratio, ratio);
    return context;
}

/** @param {CanvasRenderingContext2D} context @param {number[]} samples @param {{left: number, top: number, width: number, height: number, most: number}} box */
function traceCurve(context, samples, box) {
    const last = Math.max(1, samples.length - 1);
    context.beginPath();
    samples.forEach((sample, i) => {
        const x = box.left + (i / last) * box.width;
        const y = box.top + box.height * (1 - sample / box.most);
        if (i === 0) context.moveTo(x, y);
        else context.lineTo(x, y);
    });
}

/** Round steps of bytes, about five up to `most`. @param {number} most */
function tickStep(most) {
    const unit = 1024 ** Math.floor(Math.log2(Math.max(1, most)) / 10);
    const raw = most / unit / 5;
    const ten = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((factor) => factor * ten >= raw) ?? 10;
    return Math.max(1, step * ten * unit);
}

function plotBox() {
    const plot = element("plot", HTMLElement);
    const step = tickStep(scaleBytes);
    const top = Math.max(step, Math.ceil((scaleBytes * 1.02) / step) * step);
    return {
        left: 66,
        top: 8,
        width: Math.max(50, plot.clientWidth - 74),
        height: plot.clientHeight - 16,
        most: (SAMPLE_MOST * top) / scaleBytes,
        topBytes: top,
        step,
    };
}

/** @param {CanvasRenderingContext2D} context @param {ReturnType<typeof plotBox>} box */
function drawAxis(context, box) {
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.lineWidth = 1;
    for (let bytes = 0; bytes <= box.topBytes; bytes += box.step) {
        const y = Math.round(box.top + box.height * (1 - bytes / box.topBytes)) + 0.5;
        context.strokeStyle = cssVariable("--line");
        context.beginPath();
        context.moveTo(box.left, y);
        context.lineTo(box.left + box.width, y);
        context.stroke();
        context.fillStyle = cssVariable("--dim");
        context.fillText(formatBytes(bytes), box.left - 6, y);
    }
}

/** The grey mass is drawn once per size and theme; what is coloured or under the cursor changes above it. @type {HTMLCanvasElement | null} */
let mass = null;
let massKey = "";

/** @param {ReturnType<typeof plotBox>} box */
function drawMass(box) {
    const plot = element("plot", HTMLElement);
    const key = [plot.clientWidth, plot.clientHeight, window.devicePixelRatio, cssVariable("--curve")].join();
    if (mass && key === massKey) return mass;
    mass = document.createElement("canvas");
    massKey = key;
    const context = canvasContext(mass, plot.clientWidth, plot.clientHeight);
    drawAxis(context, box);
    context.strokeStyle = cssVariable("--curve");
    context.globalAlpha = Math.min(0.75, Math.max(0.07, 14 / rows.length));
    rows.forEach((row, i) => {
        if (colorOf.has(i)) return;
        traceCurve(context, row.samples, box);
        context.stroke();
    });
    return mass;
}

/** @param {CanvasRenderingContext2D} context @param {number} index @param {number} width @param {ReturnType<typeof plotBox>} box */
function drawOne(context, index, width, box) {
    context.lineWidth = width;
    context.strokeStyle = colorOf.get(index) ?? cssVariable("--text");
    traceCurve(context, rows[index].samples, box);
    context.stroke();
}

function drawCurves() {
    const plot = element("plot", HTMLElement);
    const box = plotBox();
    const below = drawMass(box);
    const context = canvasContext(element("curves", HTMLCanvasElement), plot.clientWidth, plot.clientHeight);
    context.drawImage(below, 0, 0, plot.clientWidth, plot.clientHeight);
    context.lineJoin = "round";
    // The most severe last, so that it lies on top.
    const many = oddRows.length > 60 ? 0.5 : 1;
    context.globalAlpha = many;
    for (const index of [...oddRows].reverse()) drawOne(context, index, 1.3, box);
    context.globalAlpha = 1;
    for (const index of [state.hovered, state.chosen]) if (index >= 0) drawOne(context, index, 2.6, box);
}

function showLegend() {
    const items = [...oddGroups].slice(0, LEGEND_SHOWN).map(([key, index]) => {
        const item = make("li");
        item.append(makeSwatch(index), make("span", "", typeof key === "number" ? `rank ${key}` : key));
        return item;
    });
    if (oddGroups.size > LEGEND_SHOWN) items.push(make("li", "dim", `and ${formatCount(oddGroups.size - LEGEND_SHOWN)} more`));
    if (oddRows.length && oddRows.length < rows.length) {
        const others = make("li");
        others.append(makeSwatch(-1), make("span", "", `the other ${formatCount(rows.length - oddRows.length)}`));
        items.push(others);
    }
    element("legend", HTMLElement).replaceChildren(...items);
}

/** The recording whose curve is nearest to a point of the plot; -1: none is near. @param {number} x @param {number} y */
function nearestCurve(x, y) {
    const box = plotBox();
    const at = (x - box.left) / box.width;
    let best = -1;
    let distance = TIP_REACH;
    if (at < 0 || at > 1) return -1;
    rows.forEach((row, i) => {
        if (row.samples.length === 0) return;
        const exact = at * (row.samples.length - 1);
        const left = Math.floor(exact);
        const right = Math.min(row.samples.length - 1, left + 1);
        const sample = row.samples[left] + (row.samples[right] - row.samples[left]) * (exact - left);
        const away = Math.abs(box.top + box.height * (1 - sample / box.most) - y);
        // Of two that are equally near, the odd one is what people point at.
        if (away < distance - (colorOf.has(best) && !colorOf.has(i) ? 3 : 0)) {
            distance = away;
            best = i;
        }
    });
    return best;
}

/** @param {Row} row */
function tipText(row) {
    const oom = row.oom ? ", out of memory" : "";
    return `${rowTitle(row)}: peak ${formatBytes(row.peak_bytes)}, end ${formatBytes(row.end_bytes)}${oom}`;
}

/** @param {HTMLElement} tip @param {number} index @param {number} x @param {number} y @param {number} width */
function placeTip(tip, index, x, y, width) {
    tip.hidden = index < 0;
    if (index < 0) return;
    setText(tip, tipText(rows[index]));
    tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 14}px`;
}

/* ---- heat strip ---- */

/** Recordings in a grid: ranks along, one line per step. Recordings without a rank follow one after the other. */
function heatGrid() {
    const steps = [...new Set(rows.map((row) => row.step))].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
    const ranks = [...new Set(rows.map((row) => row.rank))].filter((rank) => rank !== null).sort((a, b) => a - b);
    const columnOfRank = new Map(ranks.map((rank, i) => [rank, i]));
    /** @type {number[][]} */
    const lines = steps.map(() => []);
    rows.forEach((row, i) => {
        const line = lines[steps.indexOf(row.step)];
        let column = row.rank === null ? ranks.length : (columnOfRank.get(row.rank) ?? 0);
        while (row.rank === null && line[column] !== undefined) column++;
        // Of two files of one rank and step, the one further from the others.
        const there = line[column];
        if (there === undefined || Math.abs(rows[there].peak_score) < Math.abs(row.peak_score)) line[column] = i;
    });
    const columns = Math.max(1, ...lines.map((line) => line.length));
    return { steps, lines, columns };
}

const heat = heatGrid();

/** Deviation from the median that gets the full colour: small differences shall look small. */
const heatScale = Math.max(
    data.totals.median_peak_bytes * 0.05,
    data.totals.highest_peak_bytes - data.totals.median_peak_bytes,
    data.totals.median_peak_bytes - data.totals.lowest_peak_bytes,
    1,
);

/** @param {Row} row */
function heatColor(row) {
    const share = (row.peak_bytes - data.totals.median_peak_bytes) / heatScale;
    const strength = Math.sqrt(Math.min(1, Math.abs(share)));
    const dark = document.documentElement.dataset.theme === "dark";
    const from = dark ? [44, 50, 58] : [232, 236, 241];
    const to = share >= 0 ? [213, 94, 0] : [43, 131, 198];
    const mix = from.map((channel, i) => Math.round(channel + (to[i] - channel) * strength));
    return `rgb(${mix.join()})`;
}

/** The recording of a pixel column of a line: where several share it, the one furthest from the others. @param {number[]} line @param {number} from @param {number} to */
function heatCell(line, from, to) {
    let best = -1;
    for (let column = from; column < to; column++) {
        const index = line[column];
        if (index === undefined) continue;
        const further = best < 0 || Math.abs(rows[index].peak_bytes - data.totals.median_peak_bytes) > Math.abs(rows[best].peak_bytes - data.totals.median_peak_bytes);
        if (further) best = index;
    }
    return best;
}

function heatBox() {
    const canvas = element("heat", HTMLCanvasElement);
    const width = Math.max(50, canvas.parentElement?.clientWidth ?? 50);
    const lineHeight = heat.lines.length === 1 ? 34 : Math.max(3, Math.min(18, Math.floor(220 / heat.lines.length)));
    const cells = Math.min(heat.columns, Math.floor(width));
    return { width, lineHeight, cells, height: lineHeight * heat.lines.length };
}

function drawHeat() {
    const canvas = element("heat", HTMLCanvasElement);
    const box = heatBox();
    canvas.style.height = `${box.height}px`;
    const context = canvasContext(canvas, box.width, box.height);
    heat.lines.forEach((line, nth) => {
        /** @type {number[]} */
        const marked = [];
        for (let cell = 0; cell < box.cells; cell++) {
            const index = heatCellAt(line, cell, box.cells);
            if (index < 0) continue;
            if (colorOf.has(index)) marked.push(cell);
            drawHeatCell(context, box, index, cell, nth, 1);
        }
        // Among thousands a cell is a hair's breadth; those that matter are drawn again, wide enough to be seen.
        for (const cell of marked) drawHeatCell(context, box, heatCellAt(line, cell, box.cells), cell, nth, 3);
    });
}

/** @param {CanvasRenderingContext2D} context @param {ReturnType<typeof heatBox>} box @param {number} index @param {number} cell @param {number} nth line @param {number} least width */
function drawHeatCell(context, box, index, cell, nth, least) {
    const gap = box.width / box.cells > 6 ? 1 : 0;
    const left = Math.round((cell / box.cells) * box.width);
    const right = Math.round(((cell + 1) / box.cells) * box.width);
    const width = Math.max(least, right - left - gap);
    context.fillStyle = heatColor(rows[index]);
    context.fillRect(left, nth * box.lineHeight, width, box.lineHeight - (heat.lines.length > 1 ? gap : 0));
    if (!rows[index].oom) return;
    const foot = Math.min(8, Math.ceil(box.lineHeight / 3));
    context.fillStyle = cssVariable("--bad");
    context.fillRect(left, (nth + 1) * box.lineHeight - foot, width, foot);
}

/** @param {number[]} line @param {number} cell @param {number} cells */
function heatCellAt(line, cell, cells) {
    const from = Math.floor((cell * heat.columns) / cells);
    return heatCell(line, from, Math.max(from + 1, Math.floor(((cell + 1) * heat.columns) / cells)));
}

/** @param {number} x @param {number} y */
function heatAt(x, y) {
    const box = heatBox();
    const line = heat.lines[Math.floor(y / box.lineHeight)];
    const cell = Math.floor((x / box.width) * box.cells);
    return line && cell >= 0 && cell < box.cells ? heatCellAt(line, cell, box.cells) : -1;
}

function showHeatScale() {
    const steps = heat.steps.length > 1 ? `, ${formatPlural(heat.steps.length, "step")} from top to bottom` : "";
    const oom = data.totals.out_of_memory ? "; a red foot: out of memory" : "";
    setText(
        element("strip-scale", HTMLElement),
        `by rank from left to right${steps}; grey: the median, ${formatBytes(data.totals.median_peak_bytes)}; orange: above; blue: below${oom}`,
    );
}

/* ---- table ---- */

/** Missing numbers come last, whichever way the list is sorted. @type {Record<SortKey, {title: string, number: boolean, value: (row: Row) => number | string | null}>} */
const COLUMNS = {
    rank: { title: "Rank", number: true, value: (row) => row.rank },
    step: { title: "Step", number: true, value: (row) => row.step },
    peak: { title: "Peak", number: true, value: (row) => row.peak_bytes },
    end: { title: "End", number: true, value: (row) => row.end_bytes },
    events: { title: "Events", number: true, value: (row) => row.events },
    oom: { title: "OOM", number: true, value: (row) => row.oom },
    file: { title: "File", number: false, value: (row) => row.input },
};

/** @param {number} a @param {number} b */
function compareRows(a, b) {
    const { value } = COLUMNS[state.sort];
    const [x, y] = [value(rows[a]), value(rows[b])];
    if (x === y) return a - b;
    if (x === null || y === null) return x === null ? 1 : -1;
    const order = x < y ? -1 : 1;
    return state.falling ? -order : order;
}

/** @param {Row} row */
function passes(row) {
    if (state.only === "odd" && row.finding === null) return false;
    if (state.only === "oom" && !row.oom) return false;
    const filter = state.filter.trim().toLowerCase();
    if (filter === "") return true;
    return /^\d+$/.test(filter) && row.rank === Number(filter) ? true : row.input.toLowerCase().includes(filter);
}

function sortTable() {
    state.order = rows.map((_, i) => i).filter((i) => passes(rows[i]));
    state.order.sort(compareRows);
    setText(element("shown", HTMLElement), state.order.length === rows.length ? "" : `${formatCount(state.order.length)} of ${formatCount(rows.length)}`);
    showHead();
    renewTable();
}

/** @param {SortKey} key */
function sortBy(key) {
    state.falling = state.sort === key ? !state.falling : ["peak", "end", "events", "oom"].includes(key);
    state.sort = key;
    sortTable();
}

function showHead() {
    /** @type {(SortKey | "curve" | "open")[]} */
    const keys = ["rank", "step", "peak", "end", "events", "oom", "curve", "file", "open"];
    const focused = document.activeElement?.getAttribute("data-key");
    const cells = keys.map((key) => {
        const cell = make("div", "cell");
        cell.setAttribute("role", "columnheader");
        if (key === "curve" || key === "open") {
            cell.textContent = key === "curve" ? "Live memory" : "Open";
            return cell;
        }
        const sorted = state.sort === key;
        if (COLUMNS[key].number) cell.classList.add("number");
        cell.setAttribute("aria-sort", !sorted ? "none" : state.falling ? "descending" : "ascending");
        const button = make("button", "", COLUMNS[key].title + (!sorted ? "" : state.falling ? " \u2193" : " \u2191"));
        button.type = "button";
        button.dataset.key = key;
        button.addEventListener("click", () => sortBy(key));
        cell.append(button);
        return cell;
    });
    const head = element("head", HTMLElement);
    head.replaceChildren(...cells);
    if (focused) /** @type {HTMLElement | null} */ (head.querySelector(`[data-key="${focused}"]`))?.focus();
}

/** @typedef {{element: HTMLElement, index: number, version: number}} Line */

/** The list of recordings, once it is in the document. @type {VirtualList<Line> | null} */
let table = null;
/** Lines that were filled before the last change of order, choice or theme are filled again. */
let tableVersion = 0;

function drawTable() {
    table?.draw(state.order.length);
}

function renewTable() {
    tableVersion++;
    drawTable();
}

/** @param {string} text @param {string} [className] */
function makeCell(text, className = "") {
    const cell = make("div", `cell ${className}`, text);
    cell.setAttribute("role", "gridcell");
    return cell;
}

/** @param {string} page @param {string} text @param {Row} row */
function makeLink(page, text, row) {
    const link = make("a", "", text);
    link.href = encodeURIComponent(page);
    link.setAttribute("aria-label", `${text} of ${rowTitle(row)}`);
    return link;
}

/** @param {number} index */
function makeSpark(index) {
    const cell = makeCell("");
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    canvas.style.width = "134px";
    cell.append(canvas);
    const context = canvasContext(canvas, 134, 24);
    context.lineWidth = colorOf.has(index) ? 1.5 : 1;
    context.strokeStyle = colorOf.get(index) ?? cssVariable("--dim");
    traceCurve(context, rows[index].samples, { left: 1, top: 2, width: 132, height: 20, most: SAMPLE_MOST });
    context.stroke();
    return cell;
}

/** @param {Row} row */
function makeLinks(row) {
    const cell = makeCell("", "links");
    cell.append(makeLink(row.page, "Page", row));
    if (row.png !== null) cell.append(makeLink(row.png, "PNG", row));
    return cell;
}

/** @returns {Line} */
function makeLine() {
    const line = { element: make("div", "row"), index: -1, version: -1 };
    line.element.addEventListener("pointerenter", () => hover(line.index));
    line.element.addEventListener("pointerleave", () => hover(-1));
    return line;
}

/** @param {Line} line @param {number} place */
function fillLine(line, place) {
    const index = state.order[place];
    if (line.index === index && line.version === tableVersion) return;
    line.index = index;
    line.version = tableVersion;
    const row = rows[index];
    line.element.classList.toggle("chosen", index === state.chosen);
    line.element.setAttribute("aria-selected", String(index === state.chosen));
    const file = makeCell(row.input);
    file.title = row.input;
    const peak = makeCell(formatBytes(row.peak_bytes), row.odd.includes("peak") ? "number far" : "number");
    peak.title = formatExactBytes(row.peak_bytes);
    const end = makeCell(formatBytes(row.end_bytes), row.odd.includes("end") ? "number far" : "number");
    end.title = formatExactBytes(row.end_bytes);
    line.element.replaceChildren(
        makeCell(row.rank === null ? "\u2013" : String(row.rank), "number"),
        makeCell(row.step === null ? "\u2013" : String(row.step), "number"),
        peak,
        end,
        makeCell(formatCount(row.events), row.odd.includes("events") ? "number far" : "number"),
        makeCell(row.oom ? "OOM" : "", "number oom"),
        makeSpark(index),
        file,
        makeLinks(row),
    );
}

function startTable() {
    table = new VirtualList(element("table", HTMLElement), element("lines", HTMLElement), {
        make: makeLine,
        fill: fillLine,
        choose: (place) => choose(state.order[place], false),
        redraw: drawTable,
    });
}

/* ---- choosing one ---- */

/** @param {number} index */
function hover(index) {
    if (state.hovered === index) return;
    state.hovered = index;
    requestAnimationFrame(drawCurves);
}

/** @param {number} index @param {boolean} reveal scrolls the table to it */
function choose(index, reveal) {
    state.chosen = state.chosen === index && !reveal ? -1 : index;
    const place = state.order.indexOf(index);
    if (reveal && place >= 0) table?.reveal(place);
    renewTable();
    drawCurves();
    showDetail();
}

/** @param {Row} row */
function makeDifferences(row) {
    const table = make("table");
    const head = make("tr");
    head.append(make("th", "number", "Here"), make("th", "number", "Median"), make("th", "number", "Difference"), make("th", "", "Call site, at the peak"));
    table.append(head);
    for (const difference of row.differences) {
        const line = make("tr");
        const change = difference.bytes - difference.median_bytes;
        line.append(
            make("td", "number", formatBytes(difference.bytes)),
            make("td", "number", formatBytes(difference.median_bytes)),
            make("td", "number", `${change < 0 ? "-" : "+"}${formatBytes(Math.abs(change))}`),
            make("td", "", difference.site),
        );
        table.append(line);
    }
    return table;
}

function showDetail() {
    const detail = element("detail", HTMLElement);
    detail.hidden = state.chosen < 0;
    if (state.chosen < 0) return;
    const row = rows[state.chosen];
    const facts = [
        `peak ${formatBytes(row.peak_bytes)} (${formatEvent(row.peak_event)})`,
        `end ${formatBytes(row.end_bytes)}`,
        `reserved at most ${formatBytes(row.reserved_peak_bytes)}`,
        formatPlural(row.events, "event"),
        row.devices > 1 ? `device ${row.device} of ${row.devices}` : `device ${row.device}`,
        `file of ${formatBytes(row.input_bytes)}`,
    ];
    const title = make("h2", "", rowTitle(row));
    const links = make("p");
    links.append(makeLink(row.page, "Page", row));
    if (row.png !== null) links.append(" \u00b7 ", makeLink(row.png, "PNG", row));
    const parts = [title, make("p", "dim", row.input), make("p", "", facts.join(" \u00b7 "))];
    if (row.finding !== null) parts.push(make("p", "far", row.finding));
    if (row.truncation !== null) parts.push(make("p", "", row.truncation));
    parts.push(links);
    if (row.differences.length) parts.push(makeDifferences(row));
    detail.replaceChildren(...parts);
}

/* ---- theme, events, start ---- */

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
/** @type {string | null} */ let themeWish = null;

function applyTheme() {
    const theme = themeWish ?? (systemDark.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    setText(element("theme", HTMLButtonElement), theme === "dark" ? "Light" : "Dark");
    drawAll();
}

function drawAll() {
    drawCurves();
    drawHeat();
    renewTable();
    showLegend();
}

/** @param {HTMLElement} target @param {HTMLElement} tip @param {(x: number, y: number) => number} find */
function watchPointer(target, tip, find) {
    target.addEventListener("pointermove", (event) => {
        const box = target.getBoundingClientRect();
        const [x, y] = [event.clientX - box.left, event.clientY - box.top];
        const index = find(x, y);
        placeTip(tip, index, x, y, box.width);
        hover(index);
    });
    target.addEventListener("pointerleave", () => {
        tip.hidden = true;
        hover(-1);
    });
    target.addEventListener("click", (event) => {
        const box = target.getBoundingClientRect();
        const index = find(event.clientX - box.left, event.clientY - box.top);
        if (index >= 0) choose(index, true);
    });
}

function watch() {
    element("theme", HTMLButtonElement).addEventListener("click", () => {
        themeWish = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
        applyTheme();
    });
    systemDark.addEventListener("change", applyTheme);
    element("findings-more", HTMLButtonElement).addEventListener("click", () => showFindings(data.findings.length));
    element("only", HTMLSelectElement).addEventListener("change", (event) => {
        state.only = /** @type {HTMLSelectElement} */ (event.target).value;
        sortTable();
    });
    element("filter", HTMLInputElement).addEventListener("input", (event) => {
        state.filter = /** @type {HTMLInputElement} */ (event.target).value;
        sortTable();
    });
    for (const [event, begins] of /** @type {const} */ ([["beforeprint", true], ["afterprint", false]]))
        addEventListener(event, () => {
            if (table) table.paper = begins;
            drawTable();
        });
    watchPointer(element("curves", HTMLCanvasElement), element("plot-tip", HTMLElement), nearestCurve);
    watchPointer(element("heat", HTMLCanvasElement), element("heat-tip", HTMLElement), heatAt);
    new ResizeObserver(drawAll).observe(element("plot", HTMLElement));
}

function start() {
    element("app", HTMLElement).hidden = false;
    showTotals();
    showNotes();
    showFindings(FINDINGS_SHOWN);
    showRefusals("failed", data.failed);
    showRefusals("skipped", data.skipped);
    showHeatScale();
    startTable();
    sortTable();
    applyTheme();
    watch();
}

/** For scripts and the console. */
Object.assign(window, {
    strata: {
        ready: new Promise((done) => {
            try {
                start();
            } catch (error) {
                const failure = element("failure", HTMLElement);
                failure.hidden = false;
                setText(failure, `The page could not be drawn: ${error}`);
                throw error;
            }
            requestAnimationFrame(() => done(true));
        }),
        rows: () => state.order.map((index) => rows[index]),
        sort: (/** @type {SortKey} */ key) => sortBy(key),
        choose: (/** @type {number} */ index) => choose(index, true),
        pick: nearestCurve,
    },
});
