// Tables whose rows a VirtualList fills: their frame, their cells, and the figures of two ends.
import { FREED_LATER } from "./questions.js";
import {
    formatBytes,
    formatChange,
    formatCount,
    formatExactBytes,
    make,
    makeBox,
    makeSwatch,
    setText,
} from "./text.js";

/** @param {string} role @param {string} [className] @param {string} [text] */
export function makeCell(role, className, text = "") {
    const cell = make("span", className, text);
    cell.setAttribute("role", role);
    return cell;
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

/** Makes the scrolling box with the heads of its columns, and the box of the rows. @param {string} id of what holds the
 * rows @param {HTMLElement[]} heads @param {{kind?: string, row?: string, role?: string}} [classes] */
export function makeGrid(id, heads, { kind = "", row = "row", role = "grid" } = {}) {
    const scroll = makeBox(role, `scroll list ${kind}`);
    const [head, names, body] = [
        makeBox("rowgroup", "list-head"),
        makeBox("row", row),
        makeBox("rowgroup", "list-rows"),
    ];
    scroll.tabIndex = 0;
    names.setAttribute("aria-rowindex", "1");
    names.append(...heads);
    head.append(names);
    body.id = id;
    scroll.append(head, body);
    return { scroll, body };
}

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

/** Lets the arrow keys open and close the active row. @param {HTMLElement} scroll
 * @param {() => {open: boolean, turn: () => void} | null} active null: it does not unfold */
export function foldByArrows(scroll, active) {
    scroll.addEventListener("keydown", (event) => {
        const row = ["ArrowRight", "ArrowLeft"].includes(event.key) ? active() : null;
        if (!row) return;
        if (row.open !== (event.key === "ArrowRight")) row.turn();
        event.preventDefault();
        event.stopPropagation();
    });
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

const ENDS = ["A", "B", "B \u2212 A"];

/** Makes the heads for a name and the figures of two ends; `setUnit` writes the figures' unit. */
export function makeEndHeads() {
    const heads = ["", ...ENDS].map((name) => makeCell("columnheader", name && "number"));
    const setUnit = (/** @type {string} */ unit) =>
        ENDS.forEach((name, i) => setText(heads[i + 1], `${name}, ${unit}`));
    return { heads, setUnit };
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
