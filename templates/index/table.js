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
 * has?: boolean}} Column
 * @typedef {{element: HTMLElement, index: number, version: number}} Line
 */

const SPARK = { left: 1, top: 2, width: 98, height: 20, most: SHARE_MOST };

/**
 * Missing numbers come last, whichever way the list is sorted.
 * @param {Batch} batch
 * @returns {Record<string, Column>}
 */
function columnsOf(batch) {
    const { rows } = batch;
    return {
        rank: { title: "Rank", number: true, width: "62px", value: (row) => row.rank },
        step: {
            title: "Step",
            number: true,
            width: "62px",
            value: (row) => row.step,
            has: rows.some((row) => row.step !== null),
        },
        host: {
            title: "Host",
            number: false,
            width: "74px",
            value: (row) => row.host,
            has: rows.some((row) => row.host !== null),
        },
        cohort: {
            title: "Cohort",
            number: false,
            width: "80px",
            value: (_, index) => batch.cohortOf(index)?.number ?? null,
            has: batch.cohorts.length > 1 && batch.cohorts[0].rows.length > 1,
        },
        peak: { title: "Peak", number: true, width: "80px", value: (row) => row.peak_bytes },
        end: { title: "End", number: true, width: "80px", value: (row) => row.end_bytes },
        reserved: { title: "Reserved", number: true, width: "82px", value: (row) => row.reserved_peak_bytes },
        growth: {
            title: "Growth/step",
            number: true,
            width: "100px",
            value: (row) => (row.steps >= 3 ? row.growth_bytes : null),
            has: rows.some((row) => row.steps >= 3),
        },
        events: { title: "Events", number: true, width: "72px", value: (row) => row.events },
        oom: { title: "OOM", number: true, width: "52px", value: (row) => row.oom },
        file: { title: "File", number: false, width: "minmax(100px, 1fr)", value: (row) => row.input },
    };
}

const FALLING_FIRST = ["peak", "end", "reserved", "growth", "events", "oom"];

/** @param {string} text @param {string} [className] */
function makeCell(text, className = "") {
    const cell = make("div", `cell ${className}`, text);
    cell.setAttribute("role", "gridcell");
    return cell;
}

/** The largest size of any row. @param {Row[]} rows @param {(row: Row) => number} value */
function largest(rows, value) {
    return rows.reduce((most, row) => Math.max(most, Math.abs(value(row))), 0);
}

/**
 * @param {Batch} batch
 * @param {{choose: (index: number) => void, hover: (index: number) => void, sort: (key: string, falling: boolean) =>
 * void}} use
 */
export function createTable(batch, use) {
    const { rows, data } = batch;
    const columns = columnsOf(batch);
    const keys = Object.keys(columns).filter((key) => columns[key].has !== false);
    const figures = tableFigures(
        largest(rows, (row) => Math.max(row.peak_bytes, row.end_bytes, row.reserved_peak_bytes)),
    );
    const changes = tableFigures(
        largest(rows, (row) => (row.steps >= 3 ? row.growth_bytes : 0)),
        true,
    );
    const shape = element("table", HTMLElement).style;
    /** Indices of rows, as they are listed. @type {number[]} */
    let order = [];
    let [sort, falling, chosen] = ["rank", false, -1];
    /** Lines that were filled before the last change of order, choice or theme are filled again. */
    let version = 0;
    shape.setProperty(
        "--columns",
        [
            ...keys.slice(0, -1).map((key) => columns[key].width),
            "116px",
            columns.file.width,
            !data.series?.length ? "94px" : rows.some((row) => row.png !== null) ? "152px" : "112px",
        ].join(" "),
    );

    /** @param {number} a @param {number} b */
    function compare(a, b) {
        const { value } = columns[sort];
        const [x, y] = [value(rows[a], a), value(rows[b], b)];
        if (x === y) return a - b;
        if (x === null || y === null) return x === null ? 1 : -1;
        const order = x < y ? -1 : 1;
        return falling ? -order : order;
    }

    function showHead() {
        const focused = document.activeElement?.getAttribute("data-key");
        const cells = [...keys.slice(0, -1), "curve", "file", "open"].map((key) => {
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
            button.type = "button";
            button.dataset.key = key;
            button.addEventListener("click", () =>
                use.sort(key, sort === key ? !falling : FALLING_FIRST.includes(key)),
            );
            cell.append(button);
            return cell;
        });
        const head = element("head", HTMLElement);
        head.replaceChildren(...cells);
        if (focused) /** @type {HTMLElement | null} */ (head.querySelector(`[data-key="${focused}"]`))?.focus();
    }

    /** @param {number} index */
    function makeSpark(index) {
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

    /** @param {Row} row @param {number} index */
    function makeLinks(row, index) {
        const cell = makeCell("", "links");
        const series = batch.seriesOf(index);
        if (row.page !== null) cell.append(makeLink(row.page, "Page", row, rowView(row)));
        if (series) cell.append(makeLink(series.page, "Dumps", row));
        if (row.png !== null) cell.append(makeLink(row.png, "PNG", row));
        return cell;
    }

    /** @type {Record<string, (row: Row, index: number) => HTMLElement>} */
    const cells = {
        rank: (row) => makeCell(row.rank === null ? "\u2013" : String(row.rank), "number"),
        step: (row) => makeCell(row.step === null ? "\u2013" : String(row.step), "number"),
        host: (row) => makeCell(row.host ?? "\u2013"),
        cohort: (row, index) => makeCell(row.copy_of !== null ? "copy" : (batch.cohortOf(index)?.name ?? "\u2013")),
        peak: (row) => bytesCell(row.peak_bytes, row.odd.includes("peak")),
        end: (row) => bytesCell(row.end_bytes, row.odd.includes("end")),
        reserved: (row) => bytesCell(row.reserved_peak_bytes, false),
        growth: (row) =>
            makeCell(
                row.steps >= 3 ? formatChange(row.growth_bytes, changes.text) : "\u2013",
                row.odd.includes("growth") ? "number far" : "number",
            ),
        events: (row) => makeCell(formatCount(row.events), row.odd.includes("events") ? "number far" : "number"),
        oom: (row) => makeCell(row.oom ? "OOM" : "", "number oom"),
    };

    /** @param {number} bytes @param {boolean} far */
    function bytesCell(bytes, far) {
        const cell = makeCell(figures.text(bytes), far ? "number far" : "number");
        cell.title = formatExactBytes(bytes);
        return cell;
    }

    /** @param {Line} line @param {number} place */
    function fillLine(line, place) {
        const index = order[place];
        if (line.index === index && line.version === version) return;
        [line.index, line.version] = [index, version];
        const row = rows[index];
        line.element.classList.toggle("chosen", index === chosen);
        line.element.setAttribute("aria-selected", String(index === chosen));
        const file = makeCell(row.input);
        file.title = row.input;
        line.element.replaceChildren(
            ...keys.slice(0, -1).map((key) => cells[key](row, index)),
            makeSpark(index),
            file,
            makeLinks(row, index),
        );
    }

    /** @type {VirtualList<Line>} */
    const list = new VirtualList(element("table", HTMLElement), element("lines", HTMLElement), {
        make: () => {
            /** @type {Line} */
            const line = { element: make("div", "row"), index: -1, version: -1 };
            line.element.addEventListener("pointerenter", () => use.hover(line.index));
            line.element.addEventListener("pointerleave", () => use.hover(-1));
            return line;
        },
        fill: fillLine,
        choose: (place) => use.choose(order[place]),
        redraw: () => list.draw(order.length),
    });
    for (const [event, begins] of /** @type {const} */ ([
        ["beforeprint", true],
        ["afterprint", false],
    ]))
        addEventListener(event, () => {
            list.paper = begins;
            list.draw(order.length);
        });

    return {
        order: () => order,
        sorts: keys,
        /** @param {(index: number) => boolean} passes @param {{sort: string, falling: boolean}} wish */
        arrange(passes, wish) {
            sort = wish.sort;
            falling = wish.falling;
            order = rows.map((_, i) => i).filter(passes);
            order.sort(compare);
            setText(
                element("shown", HTMLElement),
                order.length === rows.length ? "" : `${formatCount(order.length)} of ${formatCount(rows.length)}`,
            );
            showHead();
            version++;
            list.draw(order.length);
        },
        /** @param {number} index -1: none @param {boolean} reveal */
        choose(index, reveal) {
            chosen = index;
            const place = order.indexOf(index);
            if (reveal && place >= 0) list.reveal(place);
            version++;
            list.draw(order.length);
        },
    };
}
