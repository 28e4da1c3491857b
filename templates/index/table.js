// The recordings as a list of any length: sorted by a column, narrowed by words.
import { VirtualList } from "../list.js";
import { element, formatChange, formatCount, formatExactBytes, make, setText, tableFigures } from "../text.js";
import { canvasContext, cssVariable, traceCurve } from "./canvas.js";
import { SHARE_MOST } from "./data.js";
import { makeLink, rowView } from "./link.js";

/**
 * @typedef {import("./data.js").Batch} Batch
 * @typedef {import("./data.js").Row} Row
 * @typedef {{title: string, number: boolean, width: string, value: (row: Row, index: number) => number | string | null,
 * has?: boolean, cell?: (row: Row, index: number) => HTMLElement}} Column
 * @typedef {ReturnType<typeof makeTable>} Table
 * @typedef {{element: HTMLElement, index: number, version: number}} Line
 */

const SPARK = { left: 1, top: 2, width: 98, height: 20, most: SHARE_MOST };

const FALLING_FIRST = ["peak", "end", "reserved", "growth", "events", "oom"];

/** @param {string | number | null} text @param {string} [className] */
function makeCell(text, className = "") {
    const cell = make("div", `cell ${className}`, String(text ?? "\u2013"));
    cell.setAttribute("role", "gridcell");
    return cell;
}

/** The largest size of all rows. @param {Row[]} rows @param {(row: Row) => number} value */
function largest(rows, value) {
    return rows.reduce((most, row) => Math.max(most, Math.abs(value(row))), 0);
}

/**
 * The columns. Missing numbers come last, whichever way the list is sorted.
 * @param {Batch} batch
 * @returns {Record<string, Column>}
 */
function columnsOf({ rows, cohorts, cohortOf }) {
    const figures = tableFigures(
        largest(rows, (row) => Math.max(row.peak_bytes, row.end_bytes, row.reserved_peak_bytes)),
    );
    const changes = tableFigures(
        largest(rows, (row) => (row.steps >= 3 ? row.growth_bytes : 0)),
        true,
    );
    const number = (/** @type {Row} */ row, /** @type {string} */ name) =>
        row.odd.includes(name) ? "number far" : "number";
    /** @param {string} name @param {string} title @param {string} width @param {(row: Row) => number} value */
    const bytes = (name, title, width, value) => ({
        title,
        number: true,
        width,
        value,
        cell: (/** @type {Row} */ row) => {
            const cell = makeCell(figures.text(value(row)), number(row, name));
            cell.title = formatExactBytes(value(row));
            return cell;
        },
    });
    return {
        rank: {
            title: "Rank",
            number: true,
            width: "62px",
            value: (row) => row.rank,
            cell: (row) => makeCell(row.rank, "number"),
        },
        step: {
            title: "Step",
            number: true,
            width: "62px",
            value: (row) => row.step,
            has: rows.some((row) => row.step !== null),
            cell: (row) => makeCell(row.step, "number"),
        },
        host: {
            title: "Host",
            number: false,
            width: "74px",
            value: (row) => row.host,
            has: rows.some((row) => row.host !== null),
            cell: (row) => makeCell(row.host),
        },
        cohort: {
            title: "Cohort",
            number: false,
            width: "80px",
            value: (_, index) => cohortOf(index)?.number ?? null,
            has: cohorts.length > 1 && cohorts[0].rows.length > 1,
            cell: (row, index) => makeCell(row.copy_of !== null ? "copy" : (cohortOf(index)?.name ?? null)),
        },
        peak: bytes("peak", "Peak", "80px", (row) => row.peak_bytes),
        end: bytes("end", "End", "80px", (row) => row.end_bytes),
        reserved: bytes("reserved", "Reserved", "82px", (row) => row.reserved_peak_bytes),
        growth: {
            title: "Growth/step",
            number: true,
            width: "100px",
            value: (row) => (row.steps >= 3 ? row.growth_bytes : null),
            has: rows.some((row) => row.steps >= 3),
            cell: (row) =>
                makeCell(row.steps >= 3 ? formatChange(row.growth_bytes, changes.text) : null, number(row, "growth")),
        },
        events: {
            title: "Events",
            number: true,
            width: "72px",
            value: (row) => row.events,
            cell: (row) => makeCell(formatCount(row.events), number(row, "events")),
        },
        oom: {
            title: "OOM",
            number: true,
            width: "52px",
            value: (row) => row.oom,
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
    const cell = make("div", "cell");
    cell.setAttribute("role", "columnheader");
    if (key === "curve" || key === "open") {
        cell.textContent = key === "curve" ? "Live memory" : "Open";
        return cell;
    }
    const sorted = sort === key;
    if (columns[key].number) cell.classList.add("number");
    cell.setAttribute("aria-sort", !sorted ? "none" : falling ? "descending" : "ascending");
    const button = make("button", "", columns[key].title + (!sorted ? "" : falling ? " \u2193" : " \u2191"));
    button.dataset.key = key;
    button.addEventListener("click", () => sortBy(key, sorted ? !falling : FALLING_FIRST.includes(key)));
    cell.append(button);
    return cell;
}

/** @param {Table} table @param {(key: string, falling: boolean) => void} sortBy */
function showHead(table, sortBy) {
    const focused = document.activeElement?.getAttribute("data-key");
    const head = element("head", HTMLElement);
    const keys = [...table.keys.slice(0, -1), "curve", "file", "open"];
    head.replaceChildren(...keys.map((key) => makeHead(table, key, sortBy)));
    if (focused) /** @type {HTMLElement | null} */ (head.querySelector(`[data-key="${focused}"]`))?.focus();
}

/** @param {Batch} batch @param {number} index */
function makeSpark(batch, index) {
    const cell = makeCell("");
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    canvas.style.width = "100px";
    cell.append(canvas);
    const context = canvasContext(canvas, 100, 24);
    const last = Math.max(1, batch.samples[index].length - 1);
    context.lineWidth = batch.colorOf(index) ? 1.5 : 1;
    context.strokeStyle = batch.colorOf(index) ?? cssVariable("--dim");
    traceCurve(context, batch.samples[index], (i) => i / last, SPARK);
    context.stroke();
    return cell;
}

/** @param {Batch} batch @param {Row} row @param {number} index */
function makeLinks(batch, row, index) {
    const cell = makeCell("", "links");
    const series = batch.seriesOf(index);
    if (row.page !== null) cell.append(makeLink(row.page, "Page", row, rowView(row)));
    if (series) cell.append(makeLink(series.page, "Dumps", row));
    if (row.png !== null) cell.append(makeLink(row.png, "PNG", row));
    return cell;
}

/** @param {Table} table @param {Line} line @param {number} place */
function fillLine(table, line, place) {
    const { batch, columns, keys, version } = table;
    const index = table.order[place];
    if (line.index === index && line.version === version) return;
    [line.index, line.version] = [index, version];
    const row = batch.rows[index];
    line.element.classList.toggle("chosen", index === table.chosen);
    line.element.setAttribute("aria-selected", String(index === table.chosen));
    const file = makeCell(row.input);
    file.title = row.input;
    const cells = keys.flatMap((key) => columns[key].cell?.(row, index) ?? []);
    line.element.replaceChildren(...cells, makeSpark(batch, index), file, makeLinks(batch, row, index));
}

/**
 * @param {Batch} batch
 * @param {{choose: (index: number) => void, hover: (index: number) => void, sort: (key: string, falling: boolean) =>
 * void}} use
 */
export function createTable(batch, use) {
    const table = makeTable(batch);
    const { columns, keys } = table;
    const links = !batch.data.series?.length ? "94px" : batch.rows.some((row) => row.png !== null) ? "152px" : "112px";
    element("table", HTMLElement).style.setProperty(
        "--columns",
        [...keys.slice(0, -1).map((key) => columns[key].width), "116px", columns.file.width, links].join(" "),
    );
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
    for (const [event, begins] of /** @type {const} */ ([
        ["beforeprint", true],
        ["afterprint", false],
    ]))
        addEventListener(event, () => {
            list.paper = begins;
            list.draw(table.order.length);
        });
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
