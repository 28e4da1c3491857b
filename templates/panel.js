// The side panel's list: who holds the memory at a moment, or the events of a range.
import { groupColor, keyColor } from "./legend.js";
import { shownMoment } from "./moment.js";
import { askSums, bytesOfKeys, GROUP_HEADS, groupLabel, QUESTIONS, SLOTS, WHATS } from "./questions.js";
import { csvField, makeCsv, saveBlob } from "./save.js";
import { PARTS } from "./session.js";
import { drawSpark } from "./sparks.js";
import { fillName, firstBelow, makeLine, showChosen, showColor, showFold, Table, unfolded } from "./table.js";
import { stackText, tellStacks, TOLD_MOST, toldOf } from "./stack_words.js";
import {
    allocationWord,
    change,
    COLORINGS,
    invalidate,
    isDark,
    isFocused,
    isStale,
    LIST,
    momentText,
    newMemo,
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
    makeChoices,
    setText,
    tableFigures,
} from "./text.js";

/** @typedef {import("./session.js").Held} Held */
/** @typedef {ReturnType<typeof makeRow>} ListRow */
/** @typedef {{bytes: number, count: number, name: string, title: string, color: string, focus: Focus, part: number,
 * nested?: boolean, never?: number}} ListEntry never: of a nested one, what is never freed */
/** @typedef {{groups: Held, live: number, title: string, text: string, about: About, lasting?:
 * Map<string, number> | null}} ListSummary lasting: of what is kept, by row, what is never freed */
/** @typedef {ListSummary & {largest: number, figure: (bytes: number) => string, entry: (index: number) => ListEntry,
 * rows: ListEntry[] | null}} ListContent rows: those in sight where some are open, with call sites below them */

function makeRow() {
    const [spark, bar] = [make("i", "spark"), make("i", "bar")];
    return { ...makeLine("row", ["bytes", "share", "count"], spark, bar), spark, bar };
}

/** The colour of a call site in the picture; "" if its allocations can have several. @param {number} site */
function rowColor(/** @type {Page} */ page, site) {
    const { session, state, view } = page;
    if (state.colorBy === "site") return view.siteColor(site, isDark(page));
    if (state.colorBy !== "category" || !listsCategories(page)) return "";
    const names = session.categories;
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
    const name = groupLabel(view, by, key);
    return { bytes, count, name, title: name, color: groupColor(page, by, key), focus: { by, id: key }, part: 0 };
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

/** Does it list categories? A memory timeline knows of each allocation only its category, nothing of the code.
 * @param {Page} page */
export const listsCategories = (page) => !page.session.facts.has_call_sites;

/** The number of the out-of-memory event at an event; -1: there is none. @param {Page} page @param {number} event */
function oomOfEvent(page, event) {
    for (let i = 0; i < page.view.facts.ooms; i++) if (page.view.c.oom(i).event === event) return i;
    return -1;
}

function listTitle(/** @type {Page} */ page, /** @type {number} */ moment) {
    if (page.plot.hover) return "At the cursor";
    if (oomOfEvent(page, moment) >= 0) return "When memory ran out";
    if (moment === page.view.facts.peak_event) return page.view.facts.events === 0 ? "Final state" : "At the peak";
    return "Marked moment";
}

/** The list's groups, of a moment or of a range. @param {Page} page @param {About} about @returns {Held} */
function listGroups({ state, view }, about) {
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

/** The head over the rows' names. @param {Page} page */
const nameHead = (page) => (listsCategories(page) ? "Category" : GROUP_HEADS[page.state.groupBy]);

/** @type {import("./table.js").Column[]} */
const COLUMNS = [
    ["Call site", "", "name"],
    ["Bytes", "number", "bytes"],
    ["Share", "number", "bytes"],
    ["Count", "number", "count"],
];

export function createWho(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    const { kept, state, ui, view } = page;
    /** @type {ListContent | null} */
    let content = null;
    /** The request of the contents. While it stays the same, the module's groups are read again without being made
     * again. */
    let asked = "";
    /** Groups whose call sites are shown; they belong to a device and a grouping. */
    const openOf = newMemo();
    const open = () => /** @type {Set<number>} */ (openOf([state.device, state.groupBy], () => new Set()));
    const isOpen = (/** @type {ListEntry} */ { nested, focus }) =>
        !nested && listsSums(page) ? open().has(focus.id) : null;

    function turn(/** @type {ListEntry} */ { focus }) {
        if (!open().delete(focus.id)) open().add(focus.id);
        invalidate(page, LIST);
    }

    function fill(/** @type {ListRow} */ line, /** @type {ListEntry} */ row) {
        const { live, largest, figure, lasting } = /** @type {ListContent} */ (content);
        const { bytes, count, name, title, color, focus, part, nested = false } = row;
        const never = row.never ?? (lasting ? (lasting.get(rowKey(focus, part)) ?? 0) : bytes);
        fillName(line, name, title, bytes, never);
        showFold(line, nested, isOpen(row));
        showColor(line, color);
        line.bar.style.background = color;
        line.bar.style.setProperty("--part", String(bytes / largest));
        line.spark.hidden = nested;
        line.spark.style.background = color;
        if (!nested) drawSpark(page, line.spark, focus);
        setText(line.bytes, figure(bytes));
        line.bytes.title = formatExactBytes(bytes);
        setText(line.share, formatShare(bytes, live));
        setText(line.count, formatCount(count));
        showChosen(line.element, isFocused(page, focus));
    }

    /** @type {Table<ListRow, ListEntry>} */
    const table = new Table(
        page,
        "list",
        COLUMNS,
        {
            make: makeRow,
            fill,
            isOpen,
            turn,
            choose(row) {
                // A row that is chosen once more is no longer highlighted, and folds.
                if (isOpen(row) === false || (isOpen(row) && isFocused(page, row.focus))) turn(row);
                toggleFocus(page, row.focus);
            },
            sort: (order) => changeList({ sortBy: state.sortBy === order ? `-${order}` : order }),
        },
        { "aria-labelledby": ui.listTitle.id, "aria-describedby": ui.listTotal.id },
        { kind: "two-lines" },
    );
    box.append(table.scroll);
    table.heads[3].title = "Allocations";

    /** Changes what is listed, from its first row on. @param {Partial<PageState>} fields */
    function changeList(fields) {
        change(page, fields);
        table.list.restart();
    }

    /** The contents, made again only if something that they depend on has changed. @returns {ListContent} */
    function listContent() {
        const moment = shownMoment(page);
        const { colorBy, device, groupBy, rangeOf, sortBy } = state;
        const range = state.range ? [state.range.from, state.range.to, state.axis, rangeOf] : null;
        const of = [device, groupBy, range, range && rangeOf !== "peak" ? 0 : moment, listTitle(page, moment)];
        const now = JSON.stringify([...of, kept.version, page.search.version, sortBy, colorBy, [...open()]]);
        const bySums = listsSums(page);
        if (content && asked === now && (bySums || view.held === content.groups)) return content;
        asked = now;
        const made = makeContent(page, moment);
        const { groups, about, lasting } = made;
        if (groupBy === "stack") tellStacks(page);
        const own = (/** @type {number} */ index) => (bySums ? sumEntry : siteEntry)(page, index);
        const order = sortedRows(page, groups.count, own);
        if (groupBy === "stack" && groups.count > TOLD_MOST)
            made.text += ` \u00b7 more than ${formatCount(TOLD_MOST)} stacks: names may repeat`;
        if (staysByBytes(page, groups.count))
            made.text += ` \u00b7 more than ${formatCount(SORTED_MOST)} rows: sorted by bytes only`;
        const largest = Math.max(1, groups.count ? own(0).bytes : 0);
        const entry = order ? (/** @type {number} */ index) => own(order[index]) : own;
        const below = (/** @type {ListEntry} */ row) => sitesBelow(page, row, about, Boolean(lasting));
        const rows = bySums && open().size ? unfolded(groups.count, entry, (row) => isOpen(row) === true, below) : null;
        return (content = { ...made, entry, rows, largest, figure: tableFigures(largest).text });
    }

    /** Saves the current list as a table. */
    async function saveList() {
        const saved = listContent();
        const { groups, entry, lasting } = saved;
        const heads = [csvField(nameHead(page)), "bytes", "count", ...(lasting ? ["never_freed_bytes"] : [])];
        const row = (/** @type {number} */ i) => {
            const { name, bytes, count, focus, part } = entry(i);
            const never = lasting ? [lasting.get(rowKey(focus, part)) ?? 0] : [];
            return [csvField(name), bytes, count, ...never];
        };
        // Other rows may take their place meanwhile.
        const blob = await makeCsv(heads, groups.count, row, () => content === saved && !isStale(page, LIST));
        if (blob) saveBlob(page, blob, "csv", `-${state.groupBy}`);
    }

    const ask = (/** @type {string} */ rangeOf) => changeList({ rangeOf });
    const press = makeChoices(ui.rangeTabs, Object.entries(QUESTIONS), ask, (what) => `range-${what}${page.suffix}`);
    page.onClick("list-save", () => void saveList());
    ui.groupBy.addEventListener("change", () => changeList({ groupBy: ui.groupBy.value }));
    return {
        id: "who",
        draw() {
            ui.rangeTabs.hidden = state.range === null;
            press(state.rangeOf);
            const { groups, title, text, entry, rows } = listContent();
            table.scroll.setAttribute("role", listsSums(page) ? "treegrid" : "grid");
            const order = staysByBytes(page, groups.count) ? "bytes" : state.sortBy;
            const by = order.replace("-", "");
            table.showOrder(by, (by === "name") === order.startsWith("-"));
            setText(ui.listTitle, title);
            setText(/** @type {HTMLElement} */ (table.heads[0].firstElementChild), nameHead(page));
            // A line may end with the dot but not begin with it.
            setText(ui.listTotal, text.replaceAll(" \u00b7", "\u00a0\u00b7"));
            ui.listTotal.title = formatExactBytes(groups.bytes);
            // Every row is a grid of its own, so the widest count sets the width for all.
            table.scroll.style.setProperty("--count", `${Math.max(5, formatCount(groups.allocations).length)}ch`);
            table.scroll.classList.toggle("colored", groups.count > 0 && entry(0).color !== "");
            table.draw(rows?.length ?? groups.count, (index) => (rows ? rows[index] : entry(index)));
        },
        keys: { q: () => state.range && changeList({ rangeOf: after(Object.keys(QUESTIONS), state.rangeOf) }) },
    };
}
