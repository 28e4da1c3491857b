// What differs, beside the timelines: causes as cards, call sites and categories as rows that sum up, the tree of both.
import { asSum, fillEnds, makeEndHeads, makeFigures, makeGrid, makeRowHead } from "./grid.js";
import { VirtualList } from "./list.js";
import { askSums, askTree } from "./questions.js";
import {
    formatBytes,
    formatChange,
    formatCount,
    formatExactBytes,
    formatPlural,
    make,
    setText,
    tableFigures,
} from "./text.js";

/** @typedef {import("./session.js").View} View */
/**
 * @typedef {{site?: string, category?: string, a_site?: string, a_bytes: number, b_bytes: number, a_count: number,
 * b_count: number, match?: string}} FigureRow
 */
/** @typedef {{file: string, fingerprint: string, device: number, event: number}} FigureSide */
/**
 * @typedef {{a: FigureSide, b: FigureSide, aligned_by: string, filter?: string, a_bytes: number, b_bytes: number,
 * delta_bytes: number, peak_delta_bytes: number, causes: {title: string, site: string, bytes: number, kind: string,
 * sites: number}[], sites: FigureRow[], categories: FigureRow[], matches: {site: string, a_site: string}[]}} Figures
 * what the verb found, as `strata diff --json` has it
 */
/** @typedef {{name: string, before: string, a: number, b: number, aCount: number, bCount: number}} Row */
/** @typedef {{name: string} | null} Focus */
/**
 * @typedef {{focus: () => Focus, setFocus: (name: string | null) => void, color: (name: string) => string, renames:
 * Map<string, string>}} Shared what the panels share
 */

const CAUSES_SHOWN = 60;

/* ---- rows of two moments ---- */

/** By falling size of the difference, then falling bytes. @param {Row} x @param {Row} y */
function byDifference(x, y) {
    return Math.abs(y.b - y.a) - Math.abs(x.b - x.a) || y.b + y.a - x.b - x.a || (x.name < y.name ? -1 : 1);
}

/** Rows of the verb, as they are. @param {FigureRow[]} rows @returns {Row[]} */
export function rowsOfFigures(rows) {
    return rows.map((row) => ({
        name: row.site ?? (row.category ?? "").replace(/_/g, " "),
        before: row.a_site ?? "",
        a: row.a_bytes,
        b: row.b_bytes,
        aCount: row.a_count,
        bCount: row.b_count,
    }));
}

/**
 * Rows of any two moments; a call site of A that has another name in B is in the row of that name.
 * @param {View} a
 * @param {number} eventA
 * @param {View} b
 * @param {number} eventB
 * @param {string} by
 * @param {Map<string, string>} renames
 * @returns {Row[]}
 */
export function rowsAt(a, eventA, b, eventB, by, renames) {
    /** @type {Map<string, Row>} */
    const rows = new Map();
    const rowOf = (/** @type {string} */ name) => {
        const row = rows.get(name) ?? { name, before: "", a: 0, b: 0, aCount: 0, bCount: 0 };
        rows.set(name, row);
        return row;
    };
    const text = (/** @type {string} */ name) => (by === "category" ? name.replace(/_/g, " ") : name);
    const ofA = askSums(a, 0, { at: eventA }, by);
    for (let i = 0; i < ofA.groups; i++) {
        const [name, { bytes, count }] = [ofA.name(i), ofA.row(i)];
        const row = rowOf(text((by === "site" && renames.get(name)) || name));
        if (row.name !== text(name)) row.before = name;
        row.a += bytes;
        row.aCount += count;
    }
    const ofB = askSums(b, 0, { at: eventB }, by);
    for (let i = 0; i < ofB.groups; i++) {
        const row = rowOf(text(ofB.name(i)));
        row.b += ofB.row(i).bytes;
        row.bCount += ofB.row(i).count;
    }
    return [...rows.values()].sort(byDifference);
}

/* ---- causes ---- */

/** @param {Figures} figures @param {Shared} shared */
export function createCauses(figures, shared) {
    const box = make("div", "scroll why");
    box.tabIndex = 0;
    /** @type {{name: string, button: HTMLElement}[]} */
    const buttons = [];
    for (const { title, site, bytes, kind, sites } of figures.causes.slice(0, CAUSES_SHOWN)) {
        const card = make("article", "card cause");
        card.classList.toggle("cause-more", bytes > 0);
        card.classList.toggle("cause-less", bytes < 0);
        const [amount, sentence] = /^([+-]?[\d.,]+ \w+): (.*)$/s.exec(title)?.slice(1) ?? [formatChange(bytes), title];
        const head = make("p", "cause-head");
        const figure = make(
            "b",
            bytes > 0 ? "more" : bytes < 0 ? "less" : "",
            bytes === 0 ? "moved" : amount.replace("-", "\u2212"),
        );
        figure.title = formatExactBytes(bytes);
        head.append(
            figure,
            make(
                "span",
                "two-dim",
                [bytes === 0 ? "" : kind, sites > 1 ? formatPlural(sites, "call site") : ""]
                    .filter(Boolean)
                    .join(" \u00b7 "),
            ),
        );
        const actions = make("p", "card-actions");
        const show = make("button", "quiet", "Show in both");
        show.type = "button";
        show.title = `Highlight ${site}`;
        show.addEventListener("click", () => shared.setFocus(shared.focus()?.name === site ? null : site));
        actions.append(show);
        buttons.push({ name: site, button: show });
        card.append(head, make("p", "card-title", sentence), actions);
        box.append(card);
    }
    const rest = figures.causes.length - CAUSES_SHOWN;
    if (figures.causes.length === 0) box.append(make("p", "hint", "No call site differs at the compared moments."));
    if (rest > 0)
        box.append(make("p", "hint", `and ${formatCount(rest)} smaller ones; strata diff --json has them all.`));
    return {
        box,
        draw: () => {
            for (const { name, button } of buttons)
                button.setAttribute("aria-pressed", String(shared.focus()?.name === name));
        },
    };
}

/* ---- rows ---- */

/**
 * @typedef {{element: HTMLElement, swatch: HTMLElement, text: HTMLElement, what: HTMLElement, a: HTMLElement, b:
 * HTMLElement, delta: HTMLElement, barA: HTMLElement, barB: HTMLElement}} Line
 */

/** @returns {Line} */
function makeLine() {
    const row = make("div", "row two-row");
    const [swatch, text] = [make("i", "swatch"), make("span", "row-text")];
    const what = makeRowHead(swatch, text);
    const [a, b, delta] = makeFigures("a", "b", "delta");
    const bars = make("span", "two-bars");
    const [barA, barB] = [make("i", "bar-a"), make("i", "bar-b")];
    bars.append(barA, barB);
    row.append(what, a, b, delta, bars);
    return { element: row, swatch, text, what, a, b, delta, barA, barB };
}

/**
 * @param {Line} line
 * @param {{a: number, b: number}} row
 * @param {number} most the largest of all
 * @param {(bytes: number) => string} figure
 */
function fillFigures(line, { a, b }, most, figure) {
    fillEnds(line, { a, b }, figure, "\u2013");
    line.barA.style.width = `${most ? (100 * a) / most : 0}%`;
    line.barB.style.width = `${most ? (100 * b) / most : 0}%`;
}

/** The frame of a list with three columns of figures, and its sum. @param {string} id @param {string} what */
function makeList(id, what) {
    const { heads, setUnit } = makeEndHeads();
    const { scroll, body } = makeGrid(id, heads, { kind: "two-list", row: "row two-row" });
    scroll.setAttribute("aria-label", "Differences");
    setText(heads[0], what);
    /** One unit for all rows and the sum, which stands in the heads. @param {{a: number, b: number}} sums */
    const figuresOf = ({ a, b }) => {
        const { unit, number } = tableFigures(Math.max(a, b), true);
        setUnit(unit);
        return number;
    };
    const sum = asSum(makeLine());
    sum.swatch.hidden = true;
    setText(sum.text, "Sum");
    return { scroll, body, sum, figuresOf };
}

/**
 * @param {string} id
 * @param {string} what
 * @param {Shared} shared
 * @param {boolean} sites whether a row is a call site
 */
export function createRows(id, what, shared, sites) {
    const { scroll, body, sum, figuresOf } = makeList(id, what);
    const box = make("div", "two-part");
    const foot = make("p", "why-foot");
    box.append(scroll, sum.element, foot);
    /** @type {Row[]} */
    let rows = [];
    let most = 1;
    let figure = formatBytes;
    const list = new VirtualList(scroll, body, {
        make: makeLine,
        fill: (line, index) => {
            const row = rows[index];
            const moved = row.before && row.before !== row.name ? ` (A: ${row.before})` : "";
            setText(line.text, row.name);
            line.what.title =
                `${row.name}${moved}: ${formatPlural(row.aCount, "allocation")} in A, ` +
                `${formatCount(row.bCount)} in B`;
            line.swatch.hidden = !sites;
            if (sites) line.swatch.style.background = shared.color(row.name);
            fillFigures(line, row, most, figure);
            const focused = sites && shared.focus()?.name === row.name;
            line.element.classList.toggle("focused", focused);
            line.element.setAttribute("aria-selected", String(focused));
        },
        choose: (index) =>
            sites && shared.setFocus(shared.focus()?.name === rows[index].name ? null : rows[index].name),
        redraw: () => list.draw(rows.length),
    });
    return {
        box,
        /** @param {Row[]} next */
        set(next) {
            rows = next;
            most = Math.max(1, ...rows.slice(0, 2000).map(({ a, b }) => Math.max(a, b)));
            const total = rows.reduce((all, { a, b }) => ({ a: all.a + a, b: all.b + b }), { a: 0, b: 0 });
            figure = figuresOf(total);
            fillFigures(sum, total, 0, figure);
            setText(
                foot,
                `${formatPlural(rows.length, sites ? "call site" : "category").replace("categorys", "categories")}` +
                    `; the differences add up to ${formatExactBytes(total.b - total.a)}.`,
            );
        },
        draw() {
            list.measure();
            list.draw(rows.length);
        },
    };
}

/* ---- tree ---- */

/**
 * @typedef {{name: string, nodeA: number, nodeB: number, a: number, b: number, level: number, children: Pair[] | null}}
 * Pair a node of both trees; -1: not in that one
 */

/** A name without its line: what stays where only the line has moved. @param {string} name */
function withoutLine(name) {
    return name.replace(/:\d+ /, " ");
}

/** Trees of both recordings as one. @param {View} a @param {View} b @param {Map<string, string>} renames */
function makePairs(a, b, renames) {
    const child = (/** @type {View} */ view, /** @type {number} */ parent) => {
        if (parent < 0) return [];
        const { first_child, children } = view.c.node(parent);
        return Array.from({ length: children }, (_, i) => {
            const { frame, bytes } = view.c.node(first_child + i);
            return { node: first_child + i, name: view.session.siteText(frame), bytes };
        });
    };
    /** @param {Pair} pair */
    const childrenOf = (pair) => {
        if (pair.children) return pair.children;
        const [ofA, ofB] = [child(a, pair.nodeA), child(b, pair.nodeB)];
        const pairs = ofB.map(({ node, name, bytes }) => ({
            name,
            nodeA: -1,
            nodeB: node,
            a: 0,
            b: bytes,
            level: pair.level + 1,
            children: null,
        }));
        /** @type {Map<string, Pair>} */
        const open = new Map(pairs.map((one) => [one.name, one]));
        const meet = (/** @type {{node: number, bytes: number}} */ one, /** @type {string} */ name) => {
            const found = open.get(name);
            if (!found || found.nodeA >= 0) return false;
            Object.assign(found, { nodeA: one.node, a: one.bytes });
            return true;
        };
        let left = ofA.filter((one) => !meet(one, renames.get(one.name) ?? one.name));
        // Of what is left, calls from another line of the same function, where there is no doubt which.
        const names = pairs.filter(({ nodeA }) => nodeA < 0).map(({ name }) => withoutLine(name));
        const once = (/** @type {string[]} */ list, /** @type {string} */ name) =>
            list.filter((one) => one === name).length === 1;
        const leftNames = left.map(({ name }) => withoutLine(name));
        left = left.filter((one) => {
            const name = withoutLine(one.name);
            const found =
                once(names, name) && once(leftNames, name)
                    ? pairs.find((pair) => pair.nodeA < 0 && withoutLine(pair.name) === name)
                    : undefined;
            return !found || !meet(one, found.name);
        });
        const gone = left.map(({ node, name, bytes }) => ({
            name,
            nodeA: node,
            nodeB: -1,
            a: bytes,
            b: 0,
            level: pair.level + 1,
            children: null,
        }));
        pair.children = [...pairs, ...gone];
        return pair.children;
    };
    const [rootA, rootB] = [a.c.node(0), b.c.node(0)];
    /** @type {Pair} */
    const root = { name: "", nodeA: 0, nodeB: 0, a: rootA.bytes, b: rootB.bytes, level: -1, children: null };
    return { root, childrenOf };
}

/** How much of the larger side the difference is, with its sign. @param {Pair} pair */
function changeOf({ a, b }) {
    return (b - a) / Math.max(1, a, b);
}

/** @param {Shared} shared */
export function createTreePanel(shared) {
    const box = make("div", "two-part");
    const icicle = make("div", "icicle two-icicle");
    icicle.setAttribute("aria-label", "Widths are B's bytes, colours the change; the table below says the same");
    const key = make("p", "two-key");
    key.append(
        make("span", "", "Width: B now"),
        make("i", "key-more"),
        make("span", "", "more"),
        make("i", "key-same"),
        make("span", "", "same"),
        make("i", "key-less"),
        make("span", "", "less"),
    );
    const gone = make("p", "two-gone");
    const { scroll, body, sum, figuresOf } = makeList("two-tree", "Call");
    box.append(icicle, key, gone, scroll, sum.element);
    let figure = formatBytes;
    /** @type {ReturnType<typeof makePairs>} */
    let pairs = { root: { name: "", nodeA: -1, nodeB: -1, a: 0, b: 0, level: -1, children: [] }, childrenOf: () => [] };
    /** @type {Set<Pair>} */
    const open = new Set();
    /** @type {Pair[]} */
    let rows = [];
    const renew = () => {
        rows = [];
        const add = (/** @type {Pair} */ pair) => {
            rows.push(pair);
            if (open.has(pair)) for (const one of pairs.childrenOf(pair)) add(one);
        };
        for (const one of pairs.childrenOf(pairs.root)) add(one);
    };
    const toggle = (/** @type {Pair} */ pair) => {
        if (open.has(pair)) open.delete(pair);
        else open.add(pair);
        renew();
        list.draw(rows.length);
    };
    const list = new VirtualList(scroll, body, {
        make: makeLine,
        fill: (line, index) => {
            const pair = rows[index];
            const parent = pairs.childrenOf(pair).length > 0;
            line.what.style.paddingLeft = `${pair.level * 14}px`;
            setText(line.text, `${parent ? (open.has(pair) ? "\u25be" : "\u25b8") : "\u2007"} ${pair.name}`);
            line.what.title = pair.name;
            line.swatch.style.background = shared.color(pair.name);
            line.element.classList.toggle("two-gone-row", pair.nodeB < 0);
            line.element.setAttribute("aria-expanded", String(open.has(pair)));
            fillFigures(line, pair, Math.max(pairs.root.a, pairs.root.b), figure);
        },
        choose: (index) => toggle(rows[index]),
        redraw: () => list.draw(rows.length),
    });
    scroll.addEventListener("keydown", (event) => {
        const pair = rows[list.active];
        if (!pair || (event.key !== "ArrowRight" && event.key !== "ArrowLeft")) return;
        event.preventDefault();
        event.stopPropagation();
        if (open.has(pair) !== (event.key === "ArrowRight")) toggle(pair);
    });

    const drawIcicle = () => {
        icicle.replaceChildren();
        const whole = pairs.root.b;
        let depth = 0;
        const add = (/** @type {Pair} */ pair, /** @type {number} */ from) => {
            const width = pair.b / whole;
            const level = pair.level + 1;
            if (width < 0.004 || level > 9) return;
            depth = Math.max(depth, level);
            const change = changeOf(pair);
            const part = make("button", "icicle-box two-box", width > 0.08 ? pair.name || "everything" : "");
            part.type = "button";
            part.tabIndex = -1;
            part.title = `${pair.name || "everything"}: ${formatBytes(pair.b)} (${formatChange(pair.b - pair.a)})`;
            Object.assign(part.style, { left: `${from * 100}%`, width: `${width * 100}%`, top: `${level * 22}px` });
            part.classList.add(change > 0 ? "box-more" : change < 0 ? "box-less" : "box-same");
            part.style.setProperty("--strength", String(0.25 + 0.75 * Math.abs(change)));
            part.addEventListener("click", () => pair.name && shared.setFocus(pair.name));
            icicle.append(part);
            let at = from;
            for (const one of pairs.childrenOf(pair)) {
                add(one, at);
                at += one.b / whole;
            }
        };
        if (whole > 0) add(pairs.root, 0);
        icicle.style.height = whole > 0 ? `${(depth + 1) * 22}px` : "0";
    };
    return {
        box,
        /** @param {View} a @param {number} eventA @param {View} b @param {number} eventB @param {Row[]} sites */
        set(a, eventA, b, eventB, sites) {
            askTree(a, { at: eventA }, "callees");
            askTree(b, { at: eventB }, "callees");
            pairs = makePairs(a, b, shared.renames);
            open.clear();
            // The way down to where the difference divides is open.
            const weight = (/** @type {Pair} */ pair) => Math.abs(pair.b - pair.a) || Math.max(pair.a, pair.b) / 1e6;
            for (let at = pairs.root, level = 0; level < 8; level++) {
                const largest = pairs
                    .childrenOf(at)
                    .reduce(
                        (/** @type {Pair | null} */ best, one) => (!best || weight(one) > weight(best) ? one : best),
                        null,
                    );
                if (!largest || (level > 2 && weight(largest) * 2 < weight(at))) break;
                open.add(largest);
                at = largest;
            }
            renew();
            figure = figuresOf(pairs.root);
            fillFigures(sum, pairs.root, 0, figure);
            const lost = sites.filter((row) => row.a > 0 && row.bCount === 0);
            gone.hidden = lost.length === 0;
            const bytes = lost.reduce((all, row) => all + row.a, 0);
            setText(
                gone,
                `Gone since A: ${formatBytes(bytes)} of ${formatPlural(lost.length, "call site")}: ${lost
                    .slice(0, 4)
                    .map(({ name }) => name)
                    .join(", ")}${lost.length > 4 ? ", \u2026" : ""}`,
            );
            drawIcicle();
            list.restart();
        },
        draw() {
            list.measure();
            list.draw(rows.length);
        },
    };
}
