// The side panel's list: who holds the memory at a moment, or the events of a range.
import { plotOf } from "./canvas.js";
import { fillName, firstBelow, foldByArrows, makeLine, showChosen, showColor, showFold } from "./grid.js";
import { groupColor, keyColor } from "./legend.js";
import { VirtualList } from "./list.js";
import { shownMoment } from "./moment.js";
import { askSums, bytesOfKeys, GROUP_HEADS, GROUPINGS, groupName, QUESTIONS, SLOTS, WHATS } from "./questions.js";
import { csvField, makeCsv, saveBlob } from "./save.js";
import { searchOf } from "./search.js";
import { PARTS } from "./session.js";
import { drawSpark } from "./sparks.js";
import { stackText, tellStacks, TOLD_MOST, toldOf } from "./stack_words.js";
import {
    allocationWord,
    change,
    COLORINGS,
    invalidate,
    isDark,
    isStale,
    LIST,
    momentText,
    perPage,
    rangeEvents,
    toggleFocus,
} from "./state.js";
import {
    after,
    askedText,
    dotted,
    formatBytes,
    formatCount,
    formatExactBytes,
    formatPlural,
    formatShare,
    frameText,
    make,
    makeButton,
    makeChoices,
    setText,
    tableFigures,
} from "./text.js";

export const panelOf = perPage((page) => ({
    listTitle: page.element("list-title", HTMLHeadingElement),
    listTotal: page.element("list-total", HTMLParagraphElement),
    /** @type {HTMLElement} */
    listWhat: page.element("list-what", HTMLSpanElement),
    scroll: page.element("list-scroll", HTMLDivElement),
    body: page.element("list", HTMLDivElement),
    save: page.element("list-save", HTMLButtonElement),
    /** The contents of the list. @type {ListContent | null} */
    content: null,
    /** The request of the contents. While it stays the same, the module's groups are read again without being
     * made again. */
    asked: "",
    /** @type {VirtualList<ListRow> | null} */
    list: null,
}));

/** @typedef {import("./session.js").Held} Held */
/** @typedef {ReturnType<typeof makeRow>} ListRow */
/** @typedef {{bytes: number, count: number, name: string, title: string, color: string, focus: Focus, part: number,
 * nested?: boolean, never?: number}} ListEntry never: of a nested one, what is never freed */
/** @typedef {{groups: Held, live: number, title: string, text: string, about: About, lasting?:
 * Map<string, number> | null}} ListSummary lasting: of what is kept, by row, what is never freed */
/** @typedef {ListSummary & {largest: number, figure: (bytes: number) => string, entry: (index: number) => ListEntry,
 * rows: (number | ListEntry)[] | null}} ListContent rows: those in sight, of the list by number, and call sites below
 * them; null: the list's alone */

function makeRow() {
    const [spark, bar] = [make("i", "spark"), make("i", "bar")];
    /** What it shows: a click means that, even if something else has been asked of the module since. */
    const entry = /** @type {ListEntry | null} */ (null);
    return { ...makeLine("row", ["bytes", "share", "count"], spark, bar), spark, bar, entry };
}

/** The colour of a call site in the picture; "" if its allocations can have several. @param {number} site */
function rowColor(/** @type {Page} */ page, site) {
    const { session, state, view } = page;
    if (state.colorBy === "site") return view.siteColor(site, isDark(page));
    if (state.colorBy !== "category" || !listsCategories(page)) return "";
    const names = session.categoryNames();
    const key = names.indexOf(session.siteText(site).replace(/_/g, " "));
    return keyColor(page, COLORINGS.indexOf("category"), key < 0 ? names.indexOf("other") : key);
}

/** A row by call site or by stack. @param {Page} page @param {number} index @returns {ListEntry} */
function siteEntry(page, index) {
    const { session, state, view } = page;
    const { bytes, count, site, stack, part } = view.c.group(index);
    const bySite = state.groupBy === "site";
    const text = bySite ? session.siteText(site) : stackText(page, stack, site) + (toldOf(page).words.get(stack) ?? "");
    const name = text + PARTS[part];
    const title = site === 0 ? name : frameText(session.frame(site));
    /** @type {Focus} */
    const focus = bySite ? { by: "site", id: site } : { by: "stack", id: stack };
    return { bytes, count, name, title, color: rowColor(page, site), focus, part };
}

/** A row by file, category, stream or pool. @param {Page} page @param {number} index @returns {ListEntry} */
function sumEntry(page, index) {
    const { state, view } = page;
    const by = /** @type {Focus["by"]} */ (state.groupBy);
    const { bytes, count, key } = view.c.sums_row(SLOTS.list, index);
    const name = groupName(view, GROUPINGS.indexOf(by), key).replace(/_/g, by === "category" ? " " : "_");
    return { bytes, count, name, title: name, color: groupColor(page, by, key), focus: { by, id: key }, part: 0 };
}

/** Groups whose call sites are shown; they belong to a device and a grouping. */
const openOf = perPage(() => /** @type {{of: string, ids: Set<number>}} */ ({ of: "", ids: new Set() }));

function openIds(/** @type {Page} */ page) {
    const open = openOf(page);
    const of = `${page.state.device} ${page.state.groupBy}`;
    if (open.of !== of) Object.assign(open, { of, ids: new Set() });
    return open.ids;
}

/** Call sites of a row. @param {Page} page @param {ListEntry} group @param {About} about @param {boolean} lasting
 * whether it is asked what is never freed @returns {ListEntry[]} */
function sitesBelow(page, { focus }, about, lasting) {
    const ask = (/** @type {About} */ of) =>
        askSums(page.view, SLOTS.below, of, "site", { by: focus.by, key: focus.id });
    const kept = lasting ? bytesOfKeys(ask({ ...about, what: "lasting" })) : null;
    const sums = ask(about);
    const all = sums.rows().map(({ bytes, count, key }, i) => {
        const own = { focus: { by: /** @type {const} */ ("site"), id: key }, part: 0, nested: true };
        const [name, never] = [sums.name(i), kept ? (kept.get(key) ?? 0) : bytes];
        return { ...own, bytes, count, name, title: name, color: rowColor(page, key), never };
    });
    return firstBelow(all, (others, name) => {
        const total = (/** @type {"bytes" | "count" | "never"} */ figure) =>
            others.reduce((sum, row) => sum + row[figure], 0);
        const figures = { bytes: total("bytes"), count: total("count"), never: total("never") };
        return { ...figures, name, title: name, color: "", focus, part: 0, nested: true };
    });
}

/** Rows in sight if some are unfolded.
 * @param {Page} page @param {ListSummary} content @param {(index: number) => ListEntry} entry */
function unfoldedRows(page, { groups, about, lasting }, entry) {
    if (!listsSums(page) || openIds(page).size === 0) return null;
    return Array.from({ length: groups.count }, (_, i) => [
        i,
        ...(openIds(page).has(entry(i).focus.id) ? sitesBelow(page, entry(i), about, Boolean(lasting)) : []),
    ]).flat();
}

/** @param {Page} page @param {number} index in sight */
function rowAt(page, index) {
    const { rows, entry } = /** @type {ListContent} */ (panelOf(page).content);
    const row = rows ? rows[index] : index;
    return typeof row === "number" ? entry(row) : row;
}

/** Does the row have call sites of its own below it? @param {Page} page @param {ListEntry} row */
const folds = (page, { nested }) => !nested && listsSums(page);

/** Shows or hides the call sites below a row. @param {Page} page @param {ListEntry} row */
function turn(page, { focus: { id } }) {
    if (!openIds(page).delete(id)) openIds(page).add(id);
    invalidate(page, LIST);
}

/** @param {Page} page @param {Focus} focus */
const isFocused = (page, { by, id }) => page.state.focus?.by === by && page.state.focus.id === id;

/** A row that is in the document, as it is shown there; null: it is not. @param {Page} page @param {number} index */
function shownRow(page, index) {
    const { list } = panelOf(page);
    const row = list?.rows[index - list.first];
    return row && !row.element.hidden ? row.entry : null;
}

/** Chooses a row. A row that is chosen once more is no longer highlighted, and folds.
 * @param {Page} page @param {number} index */
function chooseRow(page, index) {
    const row = shownRow(page, index);
    if (!row) return;
    if (folds(page, row) && (isFocused(page, row.focus) || !openIds(page).has(row.focus.id))) turn(page, row);
    toggleFocus(page, row.focus);
}

/** The fold of the active row, which the arrow keys open and close. @param {Page} page */
function activeFold(page) {
    const row = shownRow(page, panelOf(page).list?.active ?? -1);
    if (!row || !folds(page, row)) return null;
    return { open: openIds(page).has(row.focus.id), turn: () => turn(page, row) };
}

function fillRow(/** @type {Page} */ page, /** @type {ListRow} */ row, /** @type {number} */ index) {
    const panel = panelOf(page);
    if (!panel.content) return;
    const { live, largest, figure, lasting } = panel.content;
    const one = rowAt(page, index);
    row.entry = one;
    const { bytes, count, name, title, color, focus, part, nested = false } = one;
    const never = one.never ?? (lasting ? (lasting.get(rowKey(focus, part)) ?? 0) : bytes);
    fillName(row, name, title, bytes, never);
    showFold(row, nested, folds(page, one) ? openIds(page).has(focus.id) : null);
    showColor(row, color);
    row.bar.style.background = color;
    row.bar.style.setProperty("--part", String(bytes / largest));
    row.spark.hidden = nested;
    row.spark.style.background = color;
    if (!nested) drawSpark(page, row.spark, focus);
    setText(row.bytes, figure(bytes));
    row.bytes.title = formatExactBytes(bytes);
    setText(row.share, formatShare(bytes, live));
    setText(row.count, formatCount(count));
    showChosen(row.element, isFocused(page, focus));
}

/** Does it list categories? A memory timeline knows of each allocation only its category, nothing of the code.
 * @param {Page} page */
export const listsCategories = (page) => !page.session.facts.has_call_sites;

/** The number of the out-of-memory event at an event; -1: there is none. @param {Page} page @param {number} event */
function oomOfEvent(page, event) {
    for (let i = 0; i < page.view.facts.ooms; i++) if (page.view.c.oom(i).event === event) return i;
    return -1;
}

function listTitle(/** @type {Page} */ page, /** @type {number} */ moment) {
    if (plotOf(page).hover) return "At the cursor";
    if (oomOfEvent(page, moment) >= 0) return "When memory ran out";
    if (moment === page.view.facts.peak_event) return page.view.facts.events === 0 ? "Final state" : "At the peak";
    return "Marked moment";
}

/** The list's groups, of a moment or of a range. @param {Page} page @param {About} about @returns {Held} */
function listGroups(page, about) {
    const { state, view } = page;
    const by = state.groupBy;
    if (by === "site" || by === "stack") {
        const parts = by === "site" ? "parts" : by;
        if ("at" in about) return view.groups(Number(about.at), parts);
        return view.rangeGroups(about.from, about.to, WHATS.indexOf(about.what ?? "peak"), parts);
    }
    const { groups, count, bytes } = askSums(view, SLOTS.list, about, by);
    return { count: groups, allocations: count, bytes };
}

/** A row's key. @param {Focus} focus @param {number} part */
const rowKey = ({ id }, part) => `${id} ${part}`;

/** By row: bytes of a range's allocations that are never freed. @param {{from: number, to: number}} range */
function lastingBytes(/** @type {Page} */ page, range) {
    const { count } = listGroups(page, { ...range, what: "lasting" });
    return new Map(
        Array.from({ length: count }, (_, i) => {
            const { focus, part, bytes } = listsSums(page) ? sumEntry(page, i) : siteEntry(page, i);
            return [rowKey(focus, part), bytes];
        }),
    );
}

/** Are rows sums by file, category, stream or pool? @param {Page} page */
const listsSums = (page) => page.state.groupBy !== "site" && page.state.groupBy !== "stack";

/** The words after the total, for each question. @type {Record<string, string>} */
const RANGE_WORDS = { allocated: "allocated in", freed: "freed in", kept: "kept in", through: "alive through it in" };

/** The list's contents for the selected range.
 * @param {Page} page @param {{first: number, end: number}} range @returns {ListSummary} */
function rangeContent(page, { first, end }) {
    const { state, view } = page;
    const about = { from: first, to: end, what: state.rangeOf };
    // Nothing is known of what comes after the end of the recording.
    const lasting = state.rangeOf === "kept" && end < view.facts.events ? lastingBytes(page, about) : null;
    const never = lasting && [...lasting.values()].reduce((sum, bytes) => sum + bytes, 0);
    const groups = listGroups(page, about);
    const many = formatPlural(groups.allocations, allocationWord(page));
    const what = `${formatBytes(groups.bytes)} ${RANGE_WORDS[state.rangeOf]} ${many}`;
    const ends = state.rangeOf === "kept" ? "the recording ends here: it may be freed later" : "";
    const later = never === null ? ends : `${formatBytes(never)} is never freed`;
    const text = dotted(what, formatPlural(end - first, "event"), later);
    return { groups, live: groups.bytes, about, title: "In the selection", text, lasting };
}

/** The list's contents: the state at a moment, or the events of the selected range. @param {Page} page
 * @param {number} moment @returns {ListSummary} */
function makeContent(page, moment) {
    const { state, view } = page;
    const range = state.range ? rangeEvents(page, state.range) : null;
    if (range && state.rangeOf !== "peak") return rangeContent(page, range);
    const at = range ? view.c.peak_in(range.first, range.end) : moment;
    const groups = listGroups(page, { at });
    const live = view.c.live_at(at);
    const oom = range ? -1 : oomOfEvent(page, at);
    const { size, device_free: free } = oom < 0 ? { size: 0, device_free: 0 } : view.c.oom(oom);
    const given =
        free < 0 ? askedText(size, -1) : `requested ${formatBytes(size)} with ${formatBytes(free)} free on the GPU`;
    const place = view.facts.events === 0 ? "" : dotted(momentText(page, at), oom < 0 ? "" : given);
    const part = groups.bytes === live ? formatBytes(live) : `${formatBytes(groups.bytes)} of ${formatBytes(live)}`;
    const title = range ? "In the selection" : listTitle(page, moment);
    const text = dotted(`${part} in ${formatPlural(groups.allocations, allocationWord(page))}`, place);
    return { groups, live, about: { at }, title, text };
}

/** The contents, made again only if something that they depend on has changed. @param {Page} page
 * @param {number} moment @returns {ListContent} */
function listContent(page, moment) {
    const { kept, state, view } = page;
    const panel = panelOf(page);
    const { colorBy, device, groupBy, rangeOf, sortBy } = state;
    const range = state.range ? [state.range.from, state.range.to, state.axis, rangeOf] : null;
    const of = [device, groupBy, range, range && rangeOf !== "peak" ? 0 : moment, listTitle(page, moment)];
    const versions = [kept.version, searchOf(page).version];
    const asked = JSON.stringify([...of, ...versions, sortBy, colorBy, [...openIds(page)]]);
    const bySums = listsSums(page);
    if (panel.content && panel.asked === asked && (bySums || view.held === panel.content.groups)) return panel.content;
    panel.asked = asked;
    const content = makeContent(page, moment);
    if (state.groupBy === "stack") tellStacks(page);
    const entry = (/** @type {number} */ index) => (bySums ? sumEntry : siteEntry)(page, index);
    const order = sortedRows(page, content.groups.count, entry);
    if (state.groupBy === "stack" && content.groups.count > TOLD_MOST)
        content.text += ` \u00b7 more than ${formatCount(TOLD_MOST)} stacks: names may repeat`;
    if (staysByBytes(page, content.groups.count))
        content.text += ` \u00b7 more than ${formatCount(SORTED_MOST)} rows: sorted by bytes only`;
    const largest = Math.max(1, content.groups.count ? entry(0).bytes : 0);
    const sorted = order ? (/** @type {number} */ index) => entry(order[index]) : entry;
    const rows = unfoldedRows(page, content, sorted);
    return { ...content, entry: sorted, rows, largest, figure: tableFigures(largest).text };
}

/** If there are more rows than these, they stay in the order of their bytes. */
const SORTED_MOST = 100000;

/** @param {Page} page @param {number} count */
const staysByBytes = (page, count) => count > SORTED_MOST && !page.state.sortBy.endsWith("bytes");

/** Rows in the requested order; null: the module's order, by falling bytes.
 * @param {Page} page @param {number} count @param {(index: number) => ListEntry} entry */
function sortedRows(page, count, entry) {
    const { state } = page;
    if (state.sortBy === "bytes" || staysByBytes(page, count)) return null;
    const order = Array.from({ length: count }, (_, i) => i);
    const by = state.sortBy.replace("-", "");
    if (by === "name" || by === "count") {
        const keys = order.map((i) => (by === "name" ? entry(i).name : -entry(i).count));
        order.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
    }
    return state.sortBy.startsWith("-") ? order.reverse() : order;
}

/** @param {Page} page @param {string} what a key of QUESTIONS */
function askOfRange(page, what) {
    change(page, { rangeOf: what });
    panelOf(page).list?.restart();
}

/** Keys of the list: `q` asks the next question about a range. */
export const listKeysOf = perPage((page) => ({
    q: () => page.state.range && askOfRange(page, after(Object.keys(QUESTIONS), page.state.rangeOf)),
}));

/** Saves the current list as a table. @param {Page} page */
async function saveList(page) {
    const panel = panelOf(page);
    const content = listContent(page, shownMoment(page));
    panel.content = content;
    const { groups, entry, lasting } = content;
    const what = csvField(panel.listWhat.textContent ?? "");
    const heads = [what, "bytes", "count", ...(lasting ? ["never_freed_bytes"] : [])];
    const row = (/** @type {number} */ i) => {
        const { name, bytes, count, focus, part } = entry(i);
        const kept = lasting ? [lasting.get(rowKey(focus, part)) ?? 0] : [];
        return [csvField(name), bytes, count, ...kept];
    };
    // Other rows may take their place meanwhile.
    const blob = await makeCsv(heads, groups.count, row, () => panel.content === content && !isStale(page, LIST));
    if (blob) saveBlob(page, blob, "csv", `-${page.state.groupBy}`);
}

/** The sort order of a click on each head of the list. */
const SORTS = ["name", "bytes", "bytes", "count"];

/** A click on a head sorts by it; another click reverses the order. @param {Page} page */
function startSorting(page) {
    const panel = panelOf(page);
    panel.scroll.querySelectorAll(".list-head [role=columnheader]").forEach((cell, i) => {
        const sort = () => {
            change(page, { sortBy: page.state.sortBy === SORTS[i] ? `-${SORTS[i]}` : SORTS[i] });
            panel.list?.restart();
        };
        cell.replaceChildren(makeButton("sort", cell.textContent ?? "", sort));
    });
    panel.listWhat = /** @type {HTMLElement} */ (panel.listWhat.firstElementChild);
}

function drawSorting(/** @type {Page} */ page, /** @type {number} */ count) {
    const order = staysByBytes(page, count) ? "bytes" : page.state.sortBy;
    panelOf(page)
        .scroll.querySelectorAll(".list-head [role=columnheader]")
        .forEach((cell, i) => {
            const by = order.replace("-", "");
            if (SORTS[i] !== by || i === 2) cell.removeAttribute("aria-sort");
            else cell.setAttribute("aria-sort", (by === "name") === order.startsWith("-") ? "descending" : "ascending");
        });
}

function drawRangeTabs(/** @type {Page} */ page) {
    page.element("range-tabs", HTMLDivElement).hidden = page.state.range === null;
    for (const what of Object.keys(QUESTIONS)) page.press(`range-${what}`, page.state.rangeOf === what);
}

export function drawList(/** @type {Page} */ page) {
    const panel = panelOf(page);
    drawRangeTabs(page);
    const moment = shownMoment(page);
    panel.content = listContent(page, moment);
    const { groups, title, text, entry, rows } = panel.content;
    const count = rows?.length ?? groups.count;
    panel.scroll.setAttribute("role", listsSums(page) ? "treegrid" : "grid");
    drawSorting(page, groups.count);
    setText(panel.listTitle, title);
    setText(panel.listWhat, listsCategories(page) ? "Category" : GROUP_HEADS[page.state.groupBy]);
    // A line may end with the dot but not begin with it.
    setText(panel.listTotal, text.replaceAll(" \u00b7", "\u00a0\u00b7"));
    panel.listTotal.title = formatExactBytes(groups.bytes);
    // Every row is a grid of its own, so the widest count sets the width for all.
    panel.scroll.style.setProperty("--count", `${Math.max(5, formatCount(groups.allocations).length)}ch`);
    panel.scroll.classList.toggle("colored", groups.count > 0 && entry(0).color !== "");
    panel.list?.draw(count);
}

export function startPanel(/** @type {Page} */ page) {
    const panel = panelOf(page);
    startSorting(page);
    panel.list = new VirtualList(panel.scroll, panel.body, {
        make: makeRow,
        fill: (row, index) => fillRow(page, row, index),
        choose: (index) => chooseRow(page, index),
        redraw: () => invalidate(page, LIST),
    });
    foldByArrows(panel.scroll, () => activeFold(page));
    makeChoices(
        page.element("range-tabs", HTMLDivElement),
        Object.entries(QUESTIONS),
        (what) => askOfRange(page, what),
        (what) => `range-${what}${page.suffix}`,
    );
    panel.save.addEventListener("click", () => void saveList(page));
    const groups = page.element("group-by", HTMLSelectElement);
    groups.addEventListener("change", () => {
        change(page, { groupBy: groups.value });
        panel.list?.restart();
    });
}
