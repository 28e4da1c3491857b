// Tables whose rows a VirtualList fills: their frame, their cells, and figures of two ends.
import { formatChange, formatExactBytes, make, setText } from "./text.js";

/** @param {string} role @param {string} [className] @param {string} [text] */
export function makeCell(role, className, text) {
    const cell = make("span", className, text);
    cell.setAttribute("role", role);
    return cell;
}

/** Cells of figures, one for each name. @param {string[]} names */
export function makeFigures(...names) {
    return names.map((name) => makeCell("gridcell", `number ${name}`));
}

/** What a row is called, with its signs in front. @param {...HTMLElement} parts */
export function makeRowHead(...parts) {
    const what = makeCell("rowheader", "what");
    what.append(...parts);
    return what;
}

/** @param {string} role @param {string} className */
function makeBox(role, className) {
    const box = make("div", className);
    box.setAttribute("role", role);
    return box;
}

/**
 * What scrolls, with the heads of its columns, and what holds the rows.
 * @param {string} id of what holds the rows @param {HTMLElement[]} heads @param {{kind?: string, row?: string, role?: string}} [classes]
 */
export function makeGrid(id, heads, { kind = "", row = "row", role = "grid" } = {}) {
    const scroll = makeBox(role, `scroll list ${kind}`);
    const [head, names, body] = [makeBox("rowgroup", "list-head"), makeBox("row", row), makeBox("rowgroup", "list-rows")];
    scroll.tabIndex = 0;
    names.setAttribute("aria-rowindex", "1");
    names.append(...heads);
    head.append(names);
    body.id = id;
    scroll.append(head, body);
    return { scroll, body };
}

/* ---- two ends ---- */

const ENDS = ["A", "B", "B \u2212 A"];

/** Heads of a name and the figures of two ends; `setUnit` writes the unit of them. */
export function makeEndHeads() {
    const heads = ["", ...ENDS].map((name) => makeCell("columnheader", name && "number"));
    const setUnit = (/** @type {string} */ unit) => ENDS.forEach((name, i) => setText(heads[i + 1], `${name}, ${unit}`));
    return { heads, setUnit };
}

/** @param {{a: HTMLElement, b: HTMLElement, delta: HTMLElement}} cells @param {{a: number, b: number}} row @param {(bytes: number) => string} figure @param {string} [nothing] in place of 0 */
export function fillEnds(cells, { a, b }, figure, nothing) {
    for (const [cell, bytes] of /** @type {[HTMLElement, number][]} */ ([[cells.a, a], [cells.b, b]])) {
        setText(cell, (bytes === 0 && nothing) || figure(bytes));
        cell.title = formatExactBytes(bytes);
    }
    setText(cells.delta, formatChange(b - a, figure));
    cells.delta.title = formatExactBytes(b - a);
    cells.delta.classList.toggle("more", b > a);
    cells.delta.classList.toggle("less", b < a);
}

/** The row of the sum, which stands below the grid, not in it. @template {{element: HTMLElement}} Line @param {Line} line */
export function asSum(line) {
    line.element.classList.add("sum-row");
    for (const cell of line.element.children) cell.removeAttribute("role");
    return line;
}
