// The recordings as a list of any length: sorted by a column, narrowed by words.
import { VirtualList } from "../list.js";
import { element, formatChange, formatCount, formatExactBytes } from "../text.js";
import { make, makeButton, setAll, setText, tableFigures } from "../text.js";
import { pen, themeColor } from "../paint.js";
import { canvasContext, traceRun } from "./canvas.js";
import { SHARE_MOST } from "./data.js";
import { makeOutputs } from "./link.js";

/**
 * @typedef {import("./data.js").Row} Row
 * @typedef {{title: string, number: boolean, width: string, value: (row: Row, index: number) => number | string | null,
 * has?: boolean, cell?: (row: Row, index: number) => HTMLElement, median?: [name: string, text: (figure: number) =>
 * string]}} Column median: the name of the column whose median the writer tells, and its words
 * @typedef {ReturnType<typeof makeTable>} Table
 * @typedef {{element: HTMLElement, index: number, version: number}} Line
 */

const SPARK = { left: 1, top: 2, width: 98, height: 20, most: SHARE_MOST };

const FALLING_FIRST = ["peak", "end", "reserved", "growth", "events", "oom"];

/** @param {string | number | null} text @param {string} [className] */
const makeCell = (text, className = "") =>
    make("div", `cell ${className}`, String(text ?? "\u2013"), { role: "gridcell" });

/** The largest size of all rows. @param {Row[]} rows @param {(row: Row) => number} value */
const largest = (rows, value) => rows.reduce((most, row) => Math.max(most, Math.abs(value(row))), 0);

/** The columns. Missing numbers come last, whichever way the list is sorted. @param {Batch} batch
 * @returns {Record<string, Column>} */
function columnsOf({ rows }) {
    const growth = (/** @type {Row} */ row) => (row.steps >= 3 ? row.growth_bytes : null);
    const most = largest(rows, (row) => Math.max(row.peak_bytes, row.end_bytes, row.reserved_peak_bytes));
    const mostGrown = largest(rows, (row) => growth(row) ?? 0);
    const [figures, changes] = [tableFigures(most), tableFigures(mostGrown, true)];
    const number = (/** @type {Row} */ row, /** @type {string} */ name) =>
        row.odd.includes(name) ? "number far" : "number";
    /** A column; one that no recording needs is left out. @param {string} title @param {string} width
     * @param {Column["value"]} value @param {boolean} [has] @param {string} [kind] of its cells @returns {Column} */
    const column = (title, width, value, has = true, kind = "number") => ({
        title,
        width,
        value,
        has,
        number: kind !== "",
        cell: (row, index) => makeCell(value(row, index), kind),
    });
    /** @param {string} name @param {string} title @param {string} width @param {"peak_bytes" | "end_bytes" |
     * "reserved_peak_bytes"} field @returns {Column} */
    const bytes = (name, title, width, field) => ({
        ...column(title, width, (row) => row[field]),
        median: [field, figures.text],
        cell: (/** @type {Row} */ row) =>
            setAll(makeCell(figures.text(row[field]), number(row, name)), { title: formatExactBytes(row[field]) }),
    });
    const some = (/** @type {(row: Row) => unknown} */ has) => rows.some((row) => has(row) !== null);
    const step = (/** @type {Row} */ row) => row.step;
    const host = (/** @type {Row} */ row) => row.host;
    const group = (/** @type {Row} */ row) => (row.copy_of === null ? row.group : "copy");
    return {
        rank: column("Rank", "76px", (row) => row.rank),
        step: column("Step", "62px", step, some(step)),
        host: column("Host", "74px", host, some(host), ""),
        group: column("Group", "80px", group, some(group), ""),
        peak: bytes("peak", "Peak", "80px", "peak_bytes"),
        end: bytes("end", "End", "80px", "end_bytes"),
        reserved: bytes("reserved", "Reserved", "82px", "reserved_peak_bytes"),
        growth: {
            ...column("Growth/step", "100px", growth, some(growth)),
            median: ["growth_bytes", (figure) => formatChange(figure, changes.text)],
            cell: (row) => {
                const change = growth(row);
                return makeCell(change === null ? null : formatChange(change, changes.text), number(row, "growth"));
            },
        },
        events: {
            ...column("Events", "72px", (row) => row.events),
            median: ["events", formatCount],
            cell: (row) => makeCell(formatCount(row.events), number(row, "events")),
        },
        oom: {
            ...column("OOM", "52px", (row) => row.oom),
            cell: (row) => makeCell(row.oom ? "OOM" : "", "number oom"),
        },
        file: { title: "File", number: false, width: "minmax(100px, 1fr)", value: (row) => row.input },
    };
}

/** The rows of the list, and how they are sorted. @param {Batch} batch */
function makeTable(batch) {
    const columns = columnsOf(batch);
    return {
        batch,
        columns,
        /** Only columns that are not empty. */
        keys: Object.keys(columns).filter((key) => columns[key].has !== false),
        /** Indices of rows, in the listed order. @type {number[]} */
        order: [],
        sort: "rank",
        falling: false,
        chosen: -1,
        /** A line that was filled before the last change of order, choice or theme is filled again. */
        version: 0,
    };
}

/** @param {Table} table @param {number} a @param {number} b */
function compare({ batch, columns, sort, falling }, a, b) {
    const { value } = columns[sort];
    const [x, y] = [value(batch.rows[a], a), value(batch.rows[b], b)];
    if (x === y) return a - b;
    if (x === null || y === null) return x === null ? 1 : -1;
    return x < y === falling ? 1 : -1;
}

/** @param {Table} table @param {string} key @param {(key: string, falling: boolean) => void} sortBy */
function makeHead({ columns, sort, falling }, key, sortBy) {
    const role = "columnheader";
    if (key === "curve" || key === "open")
        return make("div", "cell", key === "curve" ? "Live memory" : "Open", { role });
    const sorted = sort === key;
    const [order, sign] = !sorted ? ["none", ""] : falling ? ["descending", " \u2193"] : ["ascending", " \u2191"];
    const turn = () => sortBy(key, sorted ? !falling : FALLING_FIRST.includes(key));
    const button = makeButton("", columns[key].title + sign, turn, {
        "data-key": key,
        title: `Sort by ${columns[key].title.toLowerCase()}`,
    });
    return make("div", columns[key].number ? "cell number" : "cell", { role, "aria-sort": order }, button);
}

/** A line below the head: of each column its median, or the median distance from it.
 * @param {Table} table @param {"median" | "mad"} figure @param {string} title */
function makeMedians({ batch, columns, keys }, figure, title) {
    const cells = keys.slice(0, -1).map((key, nth) => {
        const [name, text] = columns[key].median ?? [];
        const own = batch.data.columns.find((column) => column.name === name);
        return makeCell(nth === 0 ? title : own && text ? text(own[figure]) : "", nth === 0 ? "" : "number");
    });
    return make("div", "row medians", ...cells, makeCell(""), makeCell(""), makeCell(""), { role: "row" });
}

function showHead(/** @type {Table} */ table, /** @type {(key: string, falling: boolean) => void} */ sortBy) {
    const focused = document.activeElement?.getAttribute("data-key");
    const head = element("head", HTMLElement);
    const keys = [...table.keys.slice(0, -1), "curve", "file", "open"];
    head.replaceChildren(...keys.map((key) => makeHead(table, key, sortBy)));
    const medians = [makeMedians(table, "median", "Median"), makeMedians(table, "mad", "MAD")];
    head.parentElement?.replaceChildren(head, ...(table.batch.data.columns.length ? medians : []));
    if (focused) /** @type {HTMLElement | null} */ (head.querySelector(`[data-key="${focused}"]`))?.focus();
}

function makeSpark(/** @type {Batch} */ batch, /** @type {number} */ index) {
    const cell = makeCell("");
    const canvas = make("canvas", "", { "aria-hidden": true });
    canvas.style.width = "100px";
    cell.append(canvas);
    const context = canvasContext(canvas, 100, 24);
    pen(context, {
        lineWidth: batch.colorOf(index) ? 1.5 : 1,
        strokeStyle: batch.colorOf(index) ?? themeColor("--dim"),
    });
    traceRun(batch, index, context, SPARK);
    context.stroke();
    return cell;
}

function makeLinks(/** @type {Row} */ row) {
    const cell = makeCell("", "links");
    cell.append(...makeOutputs(row));
    return cell;
}

function fillLine(/** @type {Table} */ table, /** @type {Line} */ line, /** @type {number} */ place) {
    const { batch, columns, keys, version } = table;
    const index = table.order[place];
    if (line.index === index && line.version === version) return;
    [line.index, line.version] = [index, version];
    const row = batch.rows[index];
    line.element.classList.toggle("chosen", index === table.chosen);
    line.element.setAttribute("aria-selected", String(index === table.chosen));
    const file = setAll(makeCell(row.input), { title: row.input });
    const cells = keys.flatMap((key) => columns[key].cell?.(row, index) ?? []);
    line.element.replaceChildren(...cells, makeSpark(batch, index), file, makeLinks(row));
}

/** @param {Batch} batch @param {{choose: (index: number) => void, hover: (index: number) => void, sort: (key: string,
 * falling: boolean) => void}} use */
export function createTable(batch, use) {
    const table = makeTable(batch);
    const { columns, keys } = table;
    const widths = [...keys.slice(0, -1).map((key) => columns[key].width), "116px", columns.file.width, "94px"];
    element("table", HTMLElement).style.setProperty("--columns", widths.join(" "));
    /** @type {VirtualList<Line>} */
    const list = new VirtualList(element("table", HTMLElement), element("lines", HTMLElement), {
        make: () => {
            /** @type {Line} */
            const line = { element: make("div", "row"), index: -1, version: -1 };
            line.element.addEventListener("pointerenter", () => use.hover(line.index));
            line.element.addEventListener("pointerleave", () => use.hover(-1));
            return line;
        },
        fill: (line, place) => fillLine(table, line, place),
        choose: (place) => use.choose(table.order[place]),
        redraw: () => list.draw(table.order.length),
    });
    const onPaper = (/** @type {boolean} */ begins) => {
        list.paper = begins;
        list.draw(table.order.length);
    };
    addEventListener("beforeprint", () => onPaper(true));
    addEventListener("afterprint", () => onPaper(false));
    const redraw = () => {
        table.version++;
        list.draw(table.order.length);
    };
    return {
        order: () => table.order,
        sorts: keys,
        /** @param {(index: number) => boolean} passes @param {{sort: string, falling: boolean}} wish */
        arrange(passes, wish) {
            Object.assign(table, wish);
            table.order = batch.rows.map((_, i) => i).filter(passes);
            table.order.sort((a, b) => compare(table, a, b));
            const [n, all] = [table.order.length, batch.rows.length];
            setText(element("shown", HTMLElement), n === all ? "" : `${formatCount(n)} of ${formatCount(all)}`);
            showHead(table, use.sort);
            redraw();
        },
        /** @param {number} index -1: none @param {boolean} reveal */
        choose(index, reveal) {
            table.chosen = index;
            const place = table.order.indexOf(index);
            if (reveal && place >= 0) list.reveal(place);
            redraw();
        },
    };
}
