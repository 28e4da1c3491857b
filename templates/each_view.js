// Each: a table of the allocations that the search finds (of all, if nothing is searched), in any order, and as CSV.
import { poolText } from "./describe.js";
import { AT_ONCE, nextTurn } from "./turns.js";
import { addressText, ORDERS } from "./questions.js";
import { csvField, makeCsv, saveBlob } from "./save.js";
import { showAllocation } from "./search.js";
import { change, invalidate, LIST, perPage, rangeEvents, usOfEvent } from "./state.js";
import { makeCell, showChosen, Table } from "./table.js";
import {
    formatBytes,
    formatCount,
    formatDuration,
    formatExactBytes,
    formatPlural,
    frameText,
    make,
    makeButton,
    setText,
    tableFigures,
} from "./text.js";

/** @typedef {record_allocation & {id: number}} EachRow */

/** The columns: their orders, heads and texts. @type {[order: string, head: string, text: (page: Page, row: EachRow) =>
 * string][]} */
const COLUMNS = [
    ["site", "Call site", (page, { stack }) => page.view.stackSite(stack)],
    ["category", "Category", (page, { category }) => page.session.categories[category]],
    ["birth", "Made at", (_, { birth }) => (birth < 0 ? "before" : formatCount(birth))],
    ["lifetime", "Lived", (page, { birth, death }) => livedText(page, birth, death)],
    ["bytes", "Size", (page, { bytes }) => rowsOf(page).figure(bytes)],
];

const NUMBERS = ["birth", "lifetime", "bytes"];

/** The class of a column's cells. @param {string} order */
const kindOf = (order) => `each-${order}${NUMBERS.includes(order) ? " number" : ""}`;

function livedText(/** @type {Page} */ page, /** @type {number} */ birth, /** @type {number} */ death) {
    const { view } = page;
    const events = formatCount(Math.min(death, view.facts.events) - birth);
    if (death >= view.facts.events) return "to the end";
    return view.facts.has_time && birth >= 0
        ? formatDuration(usOfEvent(page, death) - usOfEvent(page, birth))
        : `${events} events`;
}

/** The number of rows, and whether they are still being sorted. */
const rowsOf = perPage(() => ({ asked: "", count: 0, waiting: false, figure: formatBytes }));

/** Begins to list what the search finds of the allocations alive in the events [first, end), in an order of ORDERS.
 * Returns what goes on with it: true as long as there is more. @param {View} view @param {string} order */
function listMatches(view, order, first = -1, end = view.facts.events) {
    const code = view.c.match_rows(ORDERS.indexOf(order.replace("-", "")), Number(order.startsWith("-")), first, end);
    return () => code === 0 && view.c.match_step() === 1;
}

/** The allocations of the list, in the module's memory. @param {View} view */
function listedIds({ c, module }) {
    const { place, count } = c.match_list();
    return new Uint32Array(module.memory.buffer, place, count);
}

/** Lists the rows again, then calls `done`: before it returns or, with many allocations, after turns of the browser;
 * never if other rows are asked for meanwhile. @param {Page} page @param {string} asked @param {() => void} done */
async function listRows(page, asked, done) {
    const { state, view } = page;
    const rows = rowsOf(page);
    const of = view;
    const goOn = listMatches(of, state.order);
    while (goOn())
        if (of.facts.allocations > AT_ONCE) {
            await nextTurn();
            if (rows.asked !== asked || view !== of) return;
        }
    rows.waiting = false;
    const { count, largest_bytes } = of.c.match_list();
    rows.count = count;
    rows.figure = tableFigures(largest_bytes, true).text;
    done();
}

/** Brings the rows up to the search, the filter and the order; `done`: see listRows. @param {() => void} done */
function updateRows(/** @type {Page} */ page, done) {
    const { kept, state } = page;
    const rows = rowsOf(page);
    const asked = JSON.stringify([state.device, page.search.version, kept.version, state.order]);
    if (rows.asked === asked) return;
    Object.assign(rows, { asked, count: 0, waiting: true });
    void listRows(page, asked, done);
}

/* ---- CSV ---- */

const CSV_HEADS = (
    "allocation bytes made_at_event freed_at_event made_at_us freed_at_us stream pool category address call_site " +
    "stack"
).split(" ");

/** Fields of a row. @param {Page} page @param {number} id @param {Map<number, string>} stacks texts of stacks so far */
function csvRow(page, id, stacks) {
    const { session, view } = page;
    const allocation = view.c.allocation(id);
    const { bytes, birth, death, stream, pool, category, stack, count } = allocation;
    let text = stacks.get(stack);
    if (text === undefined) {
        const frames = session.stack(stack).map((frame) => frameText(frame).trim());
        text = [view.stackSite(stack), frames.join(" < ")].map(csvField).join(",");
        stacks.set(stack, text);
    }
    // What lies outside of the recording is not known.
    const moments = [birth < 0 ? null : birth, death < view.facts.events ? death : null];
    const times = moments.map((event) => (event === null || !view.facts.has_time ? "" : usOfEvent(page, event)));
    const what = [csvField(poolText(page, pool)), csvField(session.categories[category])];
    const address = count === 1 ? addressText(allocation) : "";
    return [id, bytes, ...moments.map((event) => event ?? ""), ...times, stream, ...what, address, text];
}

/** Makes CSV of the allocations that are listed. @param {Page} page @param {(done: number) => void} progress */
async function csvOfRows(page, progress) {
    const ids = listedIds(page.view).slice();
    const stacks = new Map();
    const goesOn = (/** @type {number} */ done) => (progress(done), true);
    const csv = await makeCsv(CSV_HEADS, ids.length, (i) => csvRow(page, ids[i], stacks), goesOn);
    return /** @type {Blob} */ (csv);
}

async function saveCsv(/** @type {Page} */ page, /** @type {HTMLButtonElement} */ button) {
    button.disabled = true;
    while (rowsOf(page).waiting) await nextTurn();
    const tell = (/** @type {number} */ done) => setText(button, `CSV ${Math.floor(done * 100)} %`);
    saveBlob(page, await csvOfRows(page, tell), "csv");
    setText(button, "Save CSV");
    button.disabled = false;
}

/** The allocations alive in the window, or those that the search finds, as CSV. @param {Page} page */
export async function csvInView(page) {
    const { state, view } = page;
    const rows = rowsOf(page);
    while (rows.waiting) await nextTurn();
    rows.asked = "";
    const { first, end } = rangeEvents(page, state);
    const goOn = listMatches(view, "birth", first, end);
    while (goOn()) if (view.facts.allocations > AT_ONCE) await nextTurn();
    const csv = csvOfRows(page, () => {});
    invalidate(page, LIST);
    return csv;
}

/* ---- the table ---- */

function makeRow() {
    const cells = COLUMNS.map(([order]) => makeCell("gridcell", kindOf(order)));
    return { element: make("div", "each-row", ...cells), cells };
}

/** @param {Page} page @param {ReturnType<typeof makeRow>} line @param {EachRow} row */
function fillRow(page, { element, cells }, row) {
    COLUMNS.forEach(([, , text], i) => setText(cells[i], text(page, row)));
    cells[0].title = cells[0].textContent ?? "";
    cells[COLUMNS.length - 1].title = formatExactBytes(row.bytes);
    showChosen(element, row.id === page.state.selected);
}

function turnOrder(/** @type {Page} */ page, /** @type {string} */ order) {
    const now = page.state.order;
    const falls = now.replace("-", "") === order ? !now.startsWith("-") : ["lifetime", "bytes"].includes(order);
    change(page, { order: falls ? `-${order}` : order });
}

/** A line on the contents of the table. @param {Page} page */
function headText(page) {
    const rows = rowsOf(page);
    const { search } = page;
    if (rows.waiting) return "sorting \u2026";
    const all = formatPlural(rows.count, "allocation");
    if (!page.state.search) return `${all}${page.kept.active ? " that pass the filter" : ""}; a search narrows them`;
    if (search.running) return "searching \u2026";
    return search.error || `${all} that the search finds, ${formatBytes(search.result.bytesAtPeak)} at the peak`;
}

export function createEach(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    const { state, view } = page;
    const title = make("h2", "", "Each allocation", { id: `each-title${page.suffix}` });
    const total = make("p", "panel-total");
    /** @type {HTMLButtonElement} */
    const save = makeButton("quiet", "Save CSV", () => void saveCsv(page, save));
    /** @type {Table<ReturnType<typeof makeRow>, EachRow>} */
    const table = new Table(
        page,
        "each",
        COLUMNS.map(([order, head]) => [head, kindOf(order), order]),
        {
            make: makeRow,
            fill: (line, row) => fillRow(page, line, row),
            choose({ id }) {
                change(page, { selected: id, focus: null });
                showAllocation(page, id);
            },
            sort: (order) => turnOrder(page, order),
        },
        { "aria-labelledby": title.id },
        { kind: "each", row: "each-row" },
    );
    box.append(make("div", "panel-head", title, save, total), table.scroll);
    const rowAt = (/** @type {number} */ index) => {
        const id = listedIds(view)[index];
        return id === undefined ? null : { ...view.c.allocation(id), id };
    };
    const draw = () => {
        let drawing = true;
        updateRows(page, () => {
            table.list.restart();
            if (!drawing) invalidate(page, LIST);
        });
        drawing = false;
        setText(total, headText(page));
        table.showOrder(state.order.replace("-", ""), state.order.startsWith("-"));
        table.draw(rowsOf(page).count, rowAt);
    };
    return { id: "each", draw };
}
