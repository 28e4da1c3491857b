// A map with ranks along, and from top to bottom the steps of a recording (or the recordings of a rank, or parts of the
// run). Each cell shows how far a figure is from the median of its line.
import { element, formatBytes, formatCount, makeChoices, setText } from "../text.js";
import { pen, themeColor } from "../paint.js";
import { canvasContext, countStep, watchPointer } from "./canvas.js";
import { rowTitle } from "./data.js";

/**
 * @typedef {import("./data.js").Row} Row
 * @typedef {{index: number, bytes: number, away: number}} Cell
 * @typedef {{name: string, cells: (Cell | undefined)[]}} Line
 * @typedef {ReturnType<typeof makeHeat>} Heat
 * @typedef {ReturnType<typeof layout>} Box
 */

const LABELS = 64;
const PARTS = 16;
const AXIS_HEIGHT = 22;

/** @type {Record<string, {title: string, value: (row: Row) => number | null, perStep?: 4 | 5}>} */
const FIGURES = {
    peak: { title: "Peak", value: (row) => row.peak_bytes, perStep: 4 },
    end: { title: "Carried over", value: (row) => row.end_bytes, perStep: 5 },
    reserved: { title: "Reserved", value: (row) => row.reserved_peak_bytes },
    unused: { title: "Unused", value: (row) => Math.max(0, row.reserved_end_bytes - row.end_bytes) },
    growth: { title: "Growth", value: (row) => (row.steps >= 3 ? row.growth_bytes : null) },
    headroom: {
        title: "Headroom",
        value: (row) => (row.capacity_bytes === null ? null : row.capacity_bytes - row.reserved_peak_bytes),
    },
};

function columnsOf(/** @type {Batch} */ batch) {
    const known = new Set(batch.rows.flatMap(({ rank }) => (rank === null ? [] : [rank])));
    const ranks = [...known].sort((a, b) => a - b);
    const place = new Map(ranks.map((rank, i) => [rank, i]));
    let next = ranks.length;
    const ofRow = batch.rows.map((row) => (row.rank === null ? next++ : (place.get(row.rank) ?? 0)));
    return { ranks, ofRow, count: Math.max(1, next) };
}

/** Computes how far each cell is from the median of its line. @param {Line} line */
function lineMeasure(line) {
    const cells = line.cells.filter((cell) => cell !== undefined);
    const median = Float64Array.from(cells, ({ bytes }) => bytes).sort()[cells.length >> 1];
    for (const cell of cells) cell.away = cell.bytes - median;
    return line;
}

/** The lines of a figure. If two files are in one place, the one further from the others counts. @param {Batch} batch
 * @param {ReturnType<typeof columnsOf>} columns @param {string} figure @returns {Line[]} */
function linesOf(batch, columns, figure) {
    const { rows } = batch;
    const { value, perStep } = FIGURES[figure];
    const files = [...new Set(rows.map((row) => row.step))].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
    /** @type {Map<number, Line>} */
    const lines = new Map();
    /** @param {number} place @param {string} name @param {number} index @param {number | null} bytes */
    const put = (place, name, index, bytes) => {
        if (bytes === null) return;
        const line = lines.get(place) ?? { name, cells: [] };
        lines.set(place, line);
        const there = line.cells[columns.ofRow[index]];
        if (there !== undefined && Math.abs(rows[there.index].peak_score) >= Math.abs(rows[index].peak_score)) return;
        line.cells[columns.ofRow[index]] = { index, bytes, away: 0 };
    };
    const stepped = perStep !== undefined && files.length === 1 && rows.some((row) => row.steps_at.length > 1);
    rows.forEach((row, index) => {
        if (row.copy_of !== null) return;
        if (stepped)
            for (const step of row.steps_at) put(step[0], `step ${step[0]}`, index, batch.bytesOf(step[perStep]));
        else if (perStep === undefined || files.length > 1) {
            const place = files.indexOf(row.step);
            put(place, row.step === null ? "" : `step ${row.step}`, index, value(row));
        } else
            for (let part = 0; part < PARTS; part++) {
                const shares = batch.samples[index];
                const [from, to] = [part, part + 1].map((nth) => Math.floor((nth * shares.length) / PARTS));
                const some = shares.subarray(from, Math.max(from + 1, to));
                const share = perStep === 4 ? some.reduce((most, each) => Math.max(most, each), 0) : (some.at(-1) ?? 0);
                put(part, part === 0 ? "begin" : part === PARTS - 1 ? "end" : "", index, batch.bytesOf(share));
            }
    });
    return [...lines.keys()].sort((a, b) => a - b).map((place) => lineMeasure(/** @type {Line} */ (lines.get(place))));
}

/** The distance that gets the full colour; it is not too small, so that small differences look small.
 * @param {Batch} batch @param {Line[]} lines */
function scaleOf(batch, lines) {
    let most = Math.max(1, batch.data.totals.median_peak_bytes * 0.05);
    for (const line of lines)
        for (const cell of line.cells) if (cell !== undefined) most = Math.max(most, Math.abs(cell.away));
    return most;
}

function picture(/** @type {Heat} */ heat) {
    const made = heat.known.get(heat.figure);
    if (made) return made;
    const lines = linesOf(heat.batch, heat.columns, heat.figure);
    const fresh = { lines, scale: scaleOf(heat.batch, lines) };
    heat.known.set(heat.figure, fresh);
    return fresh;
}

function layout(/** @type {Heat} */ heat) {
    const { lines } = picture(heat);
    const width = Math.max(80, (heat.canvas.parentElement?.clientWidth ?? 80) - LABELS - 2);
    const lineHeight = lines.length <= 1 ? 34 : Math.max(2, Math.min(18, Math.floor(200 / lines.length)));
    const columns = heat.columns.count;
    const height = lineHeight * lines.length + AXIS_HEIGHT;
    return { left: LABELS, columns, width, lineHeight, cells: Math.min(columns, Math.floor(width)), height };
}

/** Left edge of a cell. @param {Box} box @param {number} cell */
const leftOf = (box, cell) => box.left + Math.round((cell / box.cells) * box.width);

/** The place of a recording's cell. @param {Heat} heat @param {Box} box @param {number} index */
function placeOf(heat, box, index) {
    const cell = Math.floor((heat.columns.ofRow[index] * box.cells) / heat.columns.count);
    return { left: leftOf(box, cell), width: leftOf(box, cell + 1) - leftOf(box, cell) };
}

function columnsAt(/** @type {Box} */ box, /** @type {number} */ cell) {
    const from = Math.floor((cell * box.columns) / box.cells);
    return { from, to: Math.max(from + 1, Math.floor(((cell + 1) * box.columns) / box.cells)) };
}

/** The cell at a place; if several ranks share a pixel column, the one furthest from the others.
 * @param {Box} box @param {Line} line @param {number} cell */
function cellAt(box, line, cell) {
    const { from, to } = columnsAt(box, cell);
    /** @type {Cell | undefined} */
    let best;
    for (let column = from; column < to; column++) {
        const one = line.cells[column];
        if (one && (!best || Math.abs(one.away) > Math.abs(best.away))) best = one;
    }
    return best;
}

function colorOf(/** @type {number} */ away, /** @type {number} */ scale) {
    const strength = Math.sqrt(Math.min(1, Math.abs(away / scale)));
    const from = document.documentElement.dataset.theme === "dark" ? [44, 50, 58] : [226, 230, 236];
    const to = away >= 0 ? [200, 94, 20] : [14, 124, 118];
    return `rgb(${from.map((channel, i) => Math.round(channel + (to[i] - channel) * strength)).join()})`;
}

/** @param {Heat} heat @param {Context} context @param {string} text @param {number} y */
function label(heat, context, text, y) {
    pen(context, { fillStyle: themeColor("--dim"), textAlign: "right", textBaseline: "middle" });
    context.fillText(text, LABELS - 8, y);
}

/** A pattern for cells without data, so that nobody takes them for the median. @param {Context} context */
function hatch(context) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    if (!pen) return themeColor("--surface");
    pen.strokeStyle = themeColor("--line");
    for (const shift of [-6, 0, 6]) {
        pen.beginPath();
        pen.moveTo(shift, 6);
        pen.lineTo(shift + 6, 0);
        pen.stroke();
    }
    return context.createPattern(tile, "repeat") ?? themeColor("--surface");
}

function drawLines(/** @type {Heat} */ heat, /** @type {Context} */ context, /** @type {Box} */ box) {
    const { lines, scale } = picture(heat);
    context.fillStyle = hatch(context);
    context.fillRect(LABELS, 0, box.width, box.lineHeight * lines.length);
    const labelled = countStep(lines.length, Math.floor((box.lineHeight * lines.length) / 15));
    const gap = box.width / box.cells > 6 ? 1 : 0;
    lines.forEach((line, nth) => {
        const y = nth * box.lineHeight;
        if (nth % labelled === 0 || (labelled > 1 && line.name === "end"))
            label(heat, context, line.name, y + box.lineHeight / 2);
        /** @type {number[]} */
        const marked = [];
        const draw = (/** @type {number} */ cell, /** @type {number} */ least) => {
            const one = cellAt(box, line, cell);
            if (!one) return;
            context.fillStyle = colorOf(one.away, scale);
            const width = Math.max(least, leftOf(box, cell + 1) - leftOf(box, cell) - gap);
            context.fillRect(leftOf(box, cell), y, width, box.lineHeight - (box.lineHeight > 5 ? 1 : 0));
        };
        for (let cell = 0; cell < box.cells; cell++) {
            const one = cellAt(box, line, cell);
            if (one && heat.batch.colorOf(one.index)) marked.push(cell);
            draw(cell, 1);
        }
        // Among thousands a cell is thinner than a hair, so cells that matter are drawn again, wide enough to be seen.
        for (const cell of marked) draw(cell, 3);
    });
    drawFeet(heat, context, box);
}

/** Draws a red foot below a rank that ran out of memory.
 * @param {Heat} heat @param {Context} context @param {Box} box */
function drawFeet(heat, context, box) {
    context.fillStyle = themeColor("--bad");
    const bottom = box.height - AXIS_HEIGHT;
    heat.batch.rows.forEach((row, index) => {
        if (!row.oom) return;
        const { left, width } = placeOf(heat, box, index);
        context.fillRect(left, bottom - 3, Math.max(3, width), 5);
    });
}

function drawAxis(/** @type {Heat} */ heat, /** @type {Context} */ context, /** @type {Box} */ box) {
    const step = countStep(heat.columns.count, Math.floor(box.width / 60));
    const y = box.height - AXIS_HEIGHT + 12;
    pen(context, { fillStyle: themeColor("--dim"), textBaseline: "middle" });
    for (let column = 0; column < heat.columns.ranks.length; column += step) {
        const x = LABELS + ((column + 0.5) / heat.columns.count) * box.width;
        context.textAlign = x < LABELS + 30 ? "left" : x > LABELS + box.width - 30 ? "right" : "center";
        context.fillText((column === 0 ? "rank " : "") + heat.columns.ranks[column], column === 0 ? LABELS : x, y);
    }
}

/** @param {Heat} heat @param {Context} context @param {Box} box @param {number} index @param {string} color */
function drawCursor(heat, context, box, index, color) {
    if (index < 0) return;
    const { left, width } = placeOf(heat, box, index);
    pen(context, { strokeStyle: color, lineWidth: 1.5 });
    context.strokeRect(left - 1, 0.5, Math.max(3, width) + 1, box.height - AXIS_HEIGHT + 1);
}

function draw(/** @type {Heat} */ heat) {
    const box = layout(heat);
    heat.canvas.style.height = `${box.height}px`;
    const context = canvasContext(heat.canvas, box.width + LABELS + 2, box.height);
    context.font = "11px system-ui, sans-serif";
    drawLines(heat, context, box);
    drawAxis(heat, context, box);
    drawCursor(heat, context, box, heat.hovered, themeColor("--dim"));
    drawCursor(heat, context, box, heat.chosen, themeColor("--accent"));
    showScale(heat);
}

function showScale(/** @type {Heat} */ heat) {
    const { lines, scale } = picture(heat);
    setText(element("heat-least", HTMLElement), `\u2212${formatBytes(scale)}`);
    setText(element("heat-most", HTMLElement), `+${formatBytes(scale)} to the median`);
    element("heat-ramp", HTMLElement).style.background =
        `linear-gradient(to right, ${[-1, -0.25, 0, 0.25, 1].map((share) => colorOf(share, 1)).join()})`;
    const ends = `from ${lines[0]?.name || "first"} to ${lines.at(-1)?.name || "last"}`;
    const rows = lines.length > 1 ? `; ${formatCount(lines.length)} lines ${ends}` : "";
    const what = `${FIGURES[heat.figure].title} of each recording by rank`;
    heat.canvas.setAttribute("aria-label", `${what}, as its distance from the median${rows}`);
}

function lineAt(/** @type {Heat} */ heat, /** @type {number} */ x, /** @type {number} */ y) {
    const box = layout(heat);
    const { lines } = picture(heat);
    const cell = Math.floor(((x - LABELS) / box.width) * box.cells);
    if (cell < 0 || cell >= box.cells) return undefined;
    const line = lines[Math.floor(y / box.lineHeight)];
    return line && { line, one: cellAt(box, line, cell) };
}

function tell(/** @type {Heat} */ heat, /** @type {number} */ index, /** @type {number} */ x, /** @type {number} */ y) {
    const hit = lineAt(heat, x, y);
    const row = heat.batch.rows[index];
    if (!hit?.one) return `${rowTitle(row)}: peak ${formatBytes(row.peak_bytes)}`;
    const { away, bytes } = hit.one;
    const far = `${formatBytes(Math.abs(away))} ${away > 0 ? "above" : "below"} the median`;
    const line = hit.line.name && row.step === null ? `, ${hit.line.name}` : "";
    const amount = `${bytes < 0 ? "\u2212" : ""}${formatBytes(Math.abs(bytes))}`;
    const figure = `${FIGURES[heat.figure].title.toLowerCase()} ${amount}`;
    const oom = row.oom ? "; out of memory" : "";
    return `${rowTitle(row)}${line}: ${figure}, ${away === 0 ? "the median" : far}${oom}`;
}

/** The contents of the picture, and its canvas. @param {Batch} batch */
function makeHeat(batch) {
    return {
        batch,
        canvas: element("heat", HTMLCanvasElement),
        columns: columnsOf(batch),
        /** @type {Map<string, {lines: Line[], scale: number}>} */
        known: new Map(),
        figure: "peak",
        chosen: -1,
        hovered: -1,
    };
}

/** @param {Batch} batch
 * @param {{choose: (index: number) => void, hover: (index: number) => void, figure: (name: string) => void}} use */
export function createHeat(batch, use) {
    const heat = makeHeat(batch);
    const known = Object.entries(FIGURES).filter(([, { value }]) => batch.rows.some((row) => value(row) !== null));
    /** @type {[string, string][]} */
    const choices = known.map(([name, { title }]) => [name, title]);
    const mark = makeChoices(element("figures", HTMLElement), choices, use.figure);
    watchPointer(heat.canvas, element("heat-tip", HTMLElement), {
        find: (x, y) => lineAt(heat, x, y)?.one?.index ?? -1,
        tell: (index, x, y) => tell(heat, index, x, y),
        ...use,
    });
    return {
        figures: known.map(([name]) => name),
        /** @param {{figure: string, chosen: number, hovered: number}} wish */
        show(wish) {
            Object.assign(heat, wish);
            mark(wish.figure);
            draw(heat);
        },
    };
}
