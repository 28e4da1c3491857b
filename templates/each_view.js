// Each: a table of the allocations that the search finds (of all, where nothing is searched), in any order, and as CSV.
import { poolText } from "./describe.js";
import { makeCell, makeGrid } from "./grid.js";
import { VirtualList } from "./list.js";
import { nextTurn } from "./load.js";
import { addressText, ORDERS } from "./questions.js";
import { csvField, saveBlob } from "./save.js";
import { search, showAllocation } from "./search.js";
import { change, invalidate, kept, LIST, session, state, usOfEvent, view } from "./state.js";
import {
    formatBytes,
    formatCount,
    formatDuration,
    formatExactBytes,
    formatPlural,
    make,
    setText,
    tableFigures,
} from "./text.js";
import { AT_ONCE } from "./words.js";

/** @typedef {{element: HTMLElement, cells: HTMLElement[]}} EachRow */

/** @type {[order: string, head: string, text: (allocation: record_allocation) => string][]} */
const COLUMNS = [
    ["site", "Call site", ({ stack }) => session.siteText(view.c.stack_site(stack) >>> 0)],
    ["category", "Category", ({ category }) => session.categoryNames()[category]],
    ["birth", "Made at", ({ birth }) => (birth < 0 ? "before" : formatCount(birth))],
    ["lifetime", "Lived", ({ birth, death }) => livedText(birth, death)],
    ["bytes", "Size", ({ bytes }) => rows.figure(bytes)],
];

const NUMBERS = ["birth", "lifetime", "bytes"];

/** @param {number} birth @param {number} death */
function livedText(birth, death) {
    const events = formatCount(Math.min(death, view.facts.events) - birth);
    if (death >= view.facts.events) return "to the end";
    return view.facts.has_time && birth >= 0 ? formatDuration(usOfEvent(death) - usOfEvent(birth)) : `${events} events`;
}

/** How many rows there are, and whether they are being put in order. */
const rows = { asked: "", count: 0, waiting: false, figure: formatBytes };

/**
 * Lists the rows anew: `done` is called before this returns, or where allocations are many, after turns of the browser;
 * not at all, if others are asked for meanwhile. @param {string} asked @param {() => void} done
 */
async function listRows(asked, done) {
    const of = view;
    let code = of.c.match_rows(ORDERS.indexOf(state.order.replace("-", "")), state.order.startsWith("-") ? 1 : 0);
    while (code === 0 && of.c.match_step() === 1)
        if (of.facts.allocations > AT_ONCE) {
            await nextTurn();
            if (rows.asked !== asked || view !== of) return;
        }
    rows.waiting = false;
    rows.count = of.c.match_count();
    rows.figure = tableFigures(of.c.largest_match(), true).text;
    done();
}

/** Brings the rows up to the search, the filter and the order; `done`: see listRows. @param {() => void} done */
function updateRows(done) {
    const asked = JSON.stringify([state.device, search.version, kept.version, state.order]);
    if (rows.asked === asked) return;
    Object.assign(rows, { asked, count: 0, waiting: true });
    void listRows(asked, done);
}

/* ---- CSV ---- */

const CSV_HEAD = [
    "allocation",
    "bytes",
    "made_at_event",
    "freed_at_event",
    "made_at_us",
    "freed_at_us",
    "stream",
    "pool",
    "category",
    "address",
    "call_site",
    "stack",
];

/** Rows between two turns of the browser: no task may be long. */
const CSV_ROWS = 2000;

/** @param {number} id @param {Map<number, string>} stacks what was written of each stack before */
function csvRow(id, stacks) {
    const allocation = view.c.allocation(id);
    const { bytes, birth, death, stream, pool, category, stack, count } = allocation;
    let text = stacks.get(stack);
    if (text === undefined) {
        const frames = session
            .stack(stack)
            .map(({ file, line, name }) => `${file}${line ? `:${line}` : ""} ${name}`.trim());
        text = [session.siteText(view.c.stack_site(stack) >>> 0), frames.join(" < ")].map(csvField).join(",");
        stacks.set(stack, text);
    }
    const ends = death < view.facts.events;
    const times = view.facts.has_time ? [birth < 0 ? "" : usOfEvent(birth), ends ? usOfEvent(death) : ""] : ["", ""];
    const fields = [
        id,
        bytes,
        birth < 0 ? "" : birth,
        ends ? death : "",
        ...times,
        stream,
        csvField(poolText(pool)),
        csvField(session.categoryNames()[category]),
        count === 1 ? addressText(allocation) : "",
    ];
    return `${fields.join(",")},${text}\r\n`;
}

/** The table as it stands, piece by piece. @param {(part: number) => void} progress @returns {Promise<Blob>} */
async function makeCsv(progress) {
    const ids = Float64Array.from({ length: rows.count }, (_, i) => view.c.match_row(i));
    const stacks = new Map();
    /** @type {Blob[]} */
    const parts = [new Blob([`\ufeff${CSV_HEAD.join(",")}\r\n`])];
    for (let at = 0; at < ids.length; at += CSV_ROWS) {
        let text = "";
        for (const id of ids.subarray(at, at + CSV_ROWS)) text += csvRow(id, stacks);
        parts.push(new Blob([text]));
        progress(at / ids.length);
        await new Promise((resolve) => setTimeout(resolve));
    }
    return new Blob(parts, { type: "text/csv" });
}

/** @param {HTMLButtonElement} button */
async function saveCsv(button) {
    button.disabled = true;
    while (rows.waiting) await nextTurn();
    const blob = await makeCsv((part) => setText(button, `CSV ${Math.floor(part * 100)} %`));
    saveBlob(blob, "csv");
    setText(button, "Save CSV");
    button.disabled = false;
}

/* ---- the table ---- */

/** @param {string} role @param {string} order */
function makeColumnCell(role, order) {
    return makeCell(role, NUMBERS.includes(order) ? `each-${order} number` : `each-${order}`);
}

/** @returns {EachRow} */
function makeRow() {
    const element = make("div", "each-row");
    const cells = COLUMNS.map(([order]) => makeColumnCell("gridcell", order));
    element.append(...cells);
    return { element, cells };
}

/** @param {EachRow} row @param {number} index */
function fillRow({ element, cells }, index) {
    const id = view.c.match_row(index);
    if (id < 0) return;
    const allocation = view.c.allocation(id);
    COLUMNS.forEach(([, , text], i) => setText(cells[i], text(allocation)));
    cells[0].title = cells[0].textContent ?? "";
    cells[COLUMNS.length - 1].title = formatExactBytes(allocation.bytes);
    element.classList.toggle("focused", id === state.selected);
    element.setAttribute("aria-selected", String(id === state.selected));
}

/** @param {string} order */
function turnOrder(order) {
    const falling = NUMBERS.includes(order) && order !== "birth";
    const now = state.order.replace("-", "") === order;
    change({ order: now ? (state.order.startsWith("-") ? order : `-${order}`) : falling ? `-${order}` : order });
}

/** What the table is of. */
function headText() {
    if (rows.waiting) return "putting them in order \u2026";
    if (!state.search)
        return (
            `${formatPlural(rows.count, "allocation")}${kept.active ? " that pass the filter" : ""}; a ` +
            "search narrows them"
        );
    if (search.running) return "searching \u2026";
    return (
        search.error ||
        `${formatPlural(rows.count, "allocation")} that the search finds, ` +
            `${formatBytes(search.result.bytesAtPeak)} at the peak`
    );
}

/** @param {HTMLElement} box */
export function createEach(box) {
    const top = make("div", "panel-head");
    const title = make("h2", "", "Each allocation");
    const total = make("p", "panel-total");
    const save = make("button", "quiet", "Save CSV");
    title.id = "each-title";
    save.type = "button";
    save.addEventListener("click", () => void saveCsv(save));
    top.append(title, save, total);
    const heads = COLUMNS.map(([order, name]) => {
        const cell = makeColumnCell("columnheader", order);
        const button = make("button", "each-head", name);
        button.type = "button";
        button.addEventListener("click", () => turnOrder(order));
        cell.append(button);
        return cell;
    });
    const { scroll, body } = makeGrid("each", heads, { kind: "each", row: "each-row" });
    scroll.setAttribute("aria-labelledby", title.id);
    box.append(top, scroll);
    const list = new VirtualList(scroll, body, {
        make: makeRow,
        fill: fillRow,
        choose: (index) => {
            const allocation = view.c.match_row(index);
            change({ selected: allocation, focus: null });
            showAllocation(allocation);
        },
        redraw: () => invalidate(LIST),
    });
    const draw = () => {
        let drawing = true;
        updateRows(() => {
            list.restart();
            if (!drawing) invalidate(LIST);
        });
        drawing = false;
        setText(total, headText());
        COLUMNS.forEach(([order], i) => {
            const sorted = state.order.replace("-", "") === order;
            heads[i].setAttribute(
                "aria-sort",
                sorted ? (state.order.startsWith("-") ? "descending" : "ascending") : "none",
            );
        });
        list.draw(rows.count);
    };
    return { id: "each", draw };
}
