// The table: columns, rows as values, which a VirtualList shows; and what several tables have in their lines.
import { VirtualList } from "./list.js";
import { FREED_LATER } from "./questions.js";
import { invalidate, LIST } from "./state.js";
import {
    consume,
    formatBytes,
    formatChange,
    formatCount,
    formatExactBytes,
    make,
    makeButton,
    makeSwatch,
    setText,
} from "./text.js";

/** @param {string} role @param {string} [className] @param {string} [text] */
export function makeCell(role, className, text = "") {
    return make("span", className, text, { role });
}

/**
 * Makes a row: a name with a fold and a swatch in front of it, then figures.
 * @template {string} Name
 * @param {string} className @param {Name[]} figures classes of their cells @param {...HTMLElement} more after the name
 */
export function makeLine(className, figures, ...more) {
    const element = make("div", className);
    const what = makeCell("rowheader", "what");
    const [fold, swatch, text] = [make("i", "fold-sign"), makeSwatch(""), make("span", "row-text")];
    what.append(fold, swatch, text, ...more);
    const cells = figures.map((name) => /** @type {const} */ ([name, makeCell("gridcell", `number ${name}`)]));
    element.append(what, ...cells.map(([, cell]) => cell));
    const named = /** @type {Record<Name, HTMLElement>} */ (Object.fromEntries(cells));
    return { element, what, fold, swatch, text, ...named };
}

/** Shows a row's colour; "": it has none. @param {{swatch: HTMLElement}} line @param {string} color */
export function showColor({ swatch }, color) {
    swatch.hidden = color === "";
    swatch.style.background = color;
}

/** @param {HTMLElement} element of a row @param {boolean} chosen */
export function showChosen(element, chosen) {
    element.classList.toggle("focused", chosen);
    element.setAttribute("aria-selected", String(chosen));
}

/** @typedef {[head: string, className: string, sort?: string]} Column sort: a click on the head asks for this order */

/**
 * What fills a table. A row that unfolds is open or not; one that does not is null.
 * @template Line, Row
 * @typedef {{make: () => Line, fill: (line: Line, row: Row) => void, choose: (row: Row) => void, sort?: (order: string)
 * => void, isOpen?: (row: Row) => boolean | null, turn?: (row: Row) => void}} Filling
 */

/** Rows are values: a click or a key means the row that its line shows, whatever has been asked of the module since.
 * @template {{element: HTMLElement}} Line @template Row */
export class Table {
    /** @param {Page} page @param {string} id of what holds the rows @param {Column[]} columns
     * @param {Filling<Line, Row>} use @param {Record<string, string>} label attributes that name it
     * @param {{kind?: string, row?: string, role?: string}} [classes] */
    constructor(page, id, columns, use, label, { kind = "", row = "row", role = "grid" } = {}) {
        this.use = use;
        this.columns = columns;
        this.heads = columns.map(([head, className, sort]) => {
            const cell = makeCell("columnheader", className, sort ? "" : head);
            if (sort) cell.append(makeButton("sort", head, () => use.sort?.(sort)));
            return cell;
        });
        const names = make("div", row, ...this.heads, { role: "row", "aria-rowindex": 1 });
        const head = make("div", "list-head", names, { role: "rowgroup" });
        const body = make("div", "list-rows", { role: "rowgroup", id: id + page.suffix });
        const named = { ...label, id: `${id}-scroll${page.suffix}`, role, tabIndex: 0 };
        this.scroll = make("div", `scroll list ${kind}`, head, body, named);
        /** The row of each line. @type {WeakMap<Line, Row>} */
        this.shown = new WeakMap();
        this.rowAt = (/** @type {number} */ index) => /** @type {Row | null} */ (null);
        this.list = new VirtualList(this.scroll, body, {
            make: use.make,
            fill: (line, index) => {
                const row = this.rowAt(index);
                if (row === null) return;
                this.shown.set(line, row);
                use.fill(line, row);
            },
            choose: (index) => {
                const row = this.lineRow(index);
                if (row !== null) use.choose(row);
            },
            redraw: () => invalidate(page, LIST),
        });
        this.scroll.addEventListener("keydown", (event) => this.fold(event));
    }

    /** The row in a line that is in the document; null: it is not. @param {number} index */
    lineRow(index) {
        const line = this.list.rows[index - this.list.first];
        return line && !line.element.hidden ? (this.shown.get(line) ?? null) : null;
    }

    /** Arrow keys open and close the active row. @param {KeyboardEvent} event */
    fold(event) {
        const row = ["ArrowRight", "ArrowLeft"].includes(event.key) ? this.lineRow(this.list.active) : null;
        const open = row === null ? null : (this.use.isOpen?.(row) ?? null);
        if (row === null || open === null) return;
        if (open !== (event.key === "ArrowRight")) this.use.turn?.(row);
        consume(event);
    }

    /** @param {number} count @param {(index: number) => Row | null} rowAt */
    draw(count, rowAt) {
        this.rowAt = rowAt;
        this.list.draw(count);
    }

    /** Marks the head by which the rows are sorted. @param {string} order @param {boolean} falls */
    showOrder(order, falls) {
        const at = this.columns.findIndex(([, , sort]) => sort === order);
        for (const head of this.heads) head.removeAttribute("aria-sort");
        this.heads[at]?.setAttribute("aria-sort", falls ? "descending" : "ascending");
    }
}

/** Rows of which some are open, with what is below those.
 * @template Row
 * @param {number} count @param {(index: number) => Row} rowAt @param {(row: Row) => boolean} isOpen
 * @param {(row: Row) => Row[]} below
 */
export const unfolded = (count, rowAt, isOpen, below) =>
    Array.from({ length: count }, (_, i) => rowAt(i)).flatMap((row) => (isOpen(row) ? [row, ...below(row)] : [row]));

/** The most call sites that are shown below a row; the others are summed in one more row. */
const BELOW_MOST = 100;

/**
 * The first of many call sites, and one row for the others, which `sum` makes of them.
 * @template Row, More
 * @param {Row[]} all
 * @param {(others: Row[], name: string) => More} sum
 * @returns {(Row | More)[]}
 */
export function firstBelow(all, sum) {
    const others = all.slice(BELOW_MOST);
    return others.length ? [...all.slice(0, BELOW_MOST), sum(others, `${formatCount(others.length)} more`)] : all;
}

/**
 * @param {{element: HTMLElement, what: HTMLElement, fold: HTMLElement}} line
 * @param {boolean} nested it lies below another
 * @param {boolean | null} open null: nothing lies below it
 */
export function showFold({ element, what, fold }, nested, open) {
    what.classList.toggle("nested", nested);
    fold.hidden = open === null;
    setText(fold, open ? "\u25be" : "\u25b8");
    if (open === null) element.removeAttribute("aria-expanded");
    else element.setAttribute("aria-expanded", String(open));
}

/** Writes a call site's name, with `file:line` as an element of its own: what follows that is cut first.
 * @param {HTMLElement} target @param {string} name */
export function setName(target, name) {
    if (target.textContent === name) return;
    const place = /^\S+:\d+/.exec(name)?.[0] ?? "";
    target.replaceChildren(make("span", "", place), name.slice(place.length));
}

/** Writes a row's name, and how many of its bytes are never freed.
 * @param {{element: HTMLElement, what: HTMLElement, text: HTMLElement}} line @param {string} name @param {string} title
 * @param {number} bytes @param {number | null} never null: that is not what is asked */
export function fillName(line, name, title, bytes, never) {
    const later = never === 0 && bytes > 0;
    setName(line.text, later ? `${name} \u00b7 ${FREED_LATER}` : name);
    line.what.title = later
        ? `${title}: a later step frees this`
        : never !== null && never < bytes
          ? `${title}: ${formatBytes(never)} of it is never freed`
          : title;
    line.element.classList.toggle("freed-later", later);
}

/** The columns of a name and the figures of two ends. @type {Column[]} */
export const END_COLUMNS = ["", "A", "B", "B \u2212 A"].map((head) => [head, head && "number"]);

/** Writes what the rows are, and the unit of their figures, above them. @param {{heads: HTMLElement[]}} table
 * @param {string} name @param {string} unit */
export function nameEnds({ heads }, name, unit) {
    END_COLUMNS.forEach(([head], i) => setText(heads[i], head ? `${head}, ${unit}` : name));
}

/** @param {{a: HTMLElement, b: HTMLElement, delta: HTMLElement}} cells @param {{a: number, b: number}} row
 * @param {(bytes: number) => string} figure @param {string} [nothing] in place of 0 */
export function fillEnds(cells, { a, b }, figure, nothing) {
    for (const [cell, bytes] of /** @type {[HTMLElement, number][]} */ ([
        [cells.a, a],
        [cells.b, b],
    ])) {
        setText(cell, (bytes === 0 && nothing) || figure(bytes));
        cell.title = formatExactBytes(bytes);
    }
    setText(cells.delta, formatChange(b - a, figure));
    cells.delta.title = formatExactBytes(b - a);
    cells.delta.classList.toggle("more", b > a);
    cells.delta.classList.toggle("less", b < a);
}

/**
 * Turns a line into that of the sum, which stands below the grid, not in it.
 * @template {{element: HTMLElement}} Line
 * @param {Line} line
 */
export function asSum(line) {
    line.element.classList.add("sum-row");
    for (const cell of line.element.children) cell.removeAttribute("role");
    return line;
}
