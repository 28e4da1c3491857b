// The side panel: the list of call sites at a moment, and what is pinned, with its stack.
import {
    FRAME_USER, KIND_MEMORY_TIMELINE, ALLOCATION_FROM_BLOCK, ALLOCATION_REOPENED, ALLOCATION_STACK_OF_FREE, ALLOCATION_UNMATCHED_END,
} from "./api.js";
import { plot } from "./canvas.js";
import { lifetimeText, phasesOfEvent, phaseText, poolText } from "./describe.js";
import { keyColor } from "./legend.js";
import { ROWS_PRINTED, VirtualList } from "./list.js";
import { momentWords, shownMoment } from "./moment.js";
import { rangeEvents } from "./overlay.js";
import { curveShape } from "./paint.js";
import { addressText, askSums, FREED_LATER, GROUPINGS, groupName, QUESTIONS, WHATS } from "./questions.js";
import { csvField, saveBlob } from "./save.js";
import { search } from "./search.js";
import { floats, PARTS } from "./session.js";
import { makeStack, stackAsText } from "./stack.js";
import {
    change, COLORINGS, FOCUS_KINDS, heldMoment, invalidate, isDark, kept, lifeWord, LIST, momentText, printing,
    select, session, state, toggleFocus, view,
} from "./state.js";
import {
    addFact, copyText, element, formatBytes, formatCount, formatExactBytes, formatPlural, formatShare, make, press,
    setText,
} from "./text.js";

export const panel = {
    listTitle: element("list-title", HTMLHeadingElement),
    listTotal: element("list-total", HTMLParagraphElement),
    /** @type {HTMLElement} */
    listWhat: element("list-what", HTMLSpanElement),
    scroll: element("list-scroll", HTMLDivElement),
    body: element("list", HTMLDivElement),
    rest: element("list-rest", HTMLParagraphElement),
    save: element("list-save", HTMLButtonElement),
    /** What the list holds. @type {ListContent | null} */
    content: null,
    /** What that was asked for with: as long as it is the same, the module's groups are read again and not made again. */
    asked: "",
    /** @type {VirtualList<ListRow> | null} */
    list: null,
    detailTitle: element("detail-title", HTMLHeadingElement),
    detail: element("detail", HTMLDivElement),
    copy: element("detail-copy", HTMLButtonElement),
    close: element("detail-close", HTMLButtonElement),
    /** Line of the details that follows the moment. @type {HTMLElement | null} */
    siteLine: null,
};

/** Slot of the view that the list has for itself. */
const LIST_SLOT = 0;

/** @type {Record<string, string>} */
const GROUP_HEADS = { site: "Call site", stack: "Stack", file: "File", category: "Category", stream: "Stream", pool: "Pool" };

/** @typedef {import("./session.js").Held} Held */
/** @typedef {import("./state.js").Focus} Focus */
/** @typedef {{element: HTMLElement, what: HTMLElement, swatch: HTMLElement, text: HTMLElement, bar: HTMLElement, spark: HTMLElement, bytes: HTMLElement, share: HTMLElement, count: HTMLElement}} ListRow */
/** @typedef {{bytes: number, count: number, name: string, title: string, color: string, focus: Focus, part: number}} ListEntry */
/** @typedef {{groups: Held, live: number, title: string, text: string, lasting?: Map<string, number> | null}} ListSummary lasting: of what is kept, by row, what is never freed */
/** @typedef {ListSummary & {largest: number, entry: (index: number) => ListEntry}} ListContent */

/* ---- the list ---- */

/** @param {string} role @param {string} className */
function makeListCell(role, className) {
    const cell = make("span", className);
    cell.setAttribute("role", role);
    return cell;
}

/** @returns {ListRow} */
function makeRow() {
    const row = make("div", "row");
    const what = makeListCell("rowheader", "what");
    const swatch = make("i", "swatch");
    const text = make("span", "row-text");
    const bar = make("i", "bar");
    what.append(swatch, text, bar);
    const [bytes, share, count] = ["bytes", "share", "count"].map((name) => makeListCell("gridcell", `number ${name}`));
    const spark = make("i", "spark");
    what.insertBefore(spark, bar);
    row.append(what, bytes, share, count);
    return { element: row, what, swatch, text, bar, spark, bytes, share, count };
}

/** A stack in a line: its call site and the next user frame that called it. @param {number} stack @param {number} site */
function stackText(stack, site) {
    const frames = session.stackFrames(stack);
    const caller = frames.slice(frames.indexOf(site) + 1).find((id) => id !== site && view.c.frame_kind(id) === FRAME_USER);
    return caller === undefined ? session.siteText(site) : `${session.siteText(site)} \u2039 ${session.siteText(caller)}`;
}

/** More stacks than these are not told apart: reading all their frames would take too long. */
const TOLD_MOST = 20000;

/** What tells stacks with one label apart, by stack. @type {{of: unknown, words: Map<number, string>}} */
const told = { of: null, words: new Map() };

/** Words behind the labels of stacks that would look the same: the innermost frame that not all of them have, else a number. */
function tellStacks() {
    if (told.of === view.held) return;
    told.of = view.held;
    told.words.clear();
    if (view.held.count > TOLD_MOST) return;
    /** @type {Map<string, number[]>} */
    const same = new Map();
    for (let i = 0; i < view.held.count; i++) {
        const { site, stack } = view.group(i);
        const label = stackText(stack, site);
        same.set(label, [...(same.get(label) ?? []), stack]);
    }
    for (const stacks of same.values()) if (stacks.length > 1) tellApart(stacks);
}

/** @param {number[]} stacks */
function tellApart(stacks) {
    /** @type {Map<string, number>} */
    const holders = new Map();
    const texts = stacks.map((stack) => [...new Set(session.stackFrames(stack).map((id) => session.siteText(id)))]);
    for (const frames of texts) for (const text of frames) holders.set(text, (holders.get(text) ?? 0) + 1);
    /** @type {Map<string, number>} */
    const used = new Map();
    stacks.forEach((stack, i) => {
        const own = texts[i].filter((text) => (holders.get(text) ?? 0) < stacks.length).sort((a, b) => (holders.get(a) ?? 0) - (holders.get(b) ?? 0))[0] ?? "";
        const nth = (used.get(own) ?? 0) + 1;
        used.set(own, nth);
        told.words.set(stack, `${own && ` \u2026 ${own}`}${nth > 1 || !own ? ` (${nth})` : ""}`);
    });
}

/** Colour that a call site has in the picture, "" where its allocations can have several. @param {number} site */
function rowColor(site) {
    if (state.colorBy === "site") return view.siteColor(site, isDark());
    if (state.colorBy !== "category" || !listsCategories()) return "";
    const names = session.categoryNames();
    const key = names.indexOf(session.siteText(site).replace(/_/g, " "));
    return keyColor(COLORINGS.indexOf("category"), key < 0 ? names.indexOf("other") : key);
}

/** A row by call site or by stack. @param {number} index @returns {ListEntry} */
function siteEntry(index) {
    const { bytes, count, site, stack, part } = view.group(index);
    const bySite = state.groupBy === "site";
    const name = (bySite ? session.siteText(site) : stackText(stack, site) + (told.words.get(stack) ?? "")) + PARTS[part];
    const frame = session.frame(site);
    const title = site === 0 ? name : `${frame.file}${frame.line ? `:${frame.line}` : ""} ${frame.name}`;
    return { bytes, count, name, title, color: rowColor(site), focus: bySite ? { by: "site", id: site } : { by: "stack", id: stack }, part };
}

/** The colour of a group that the picture is coloured by. @param {string} by @param {number} key */
function groupColor(by, key) {
    return by === state.colorBy ? keyColor(COLORINGS.indexOf(by), key) : "";
}

/** A row by file, category, stream or pool. @param {number} index @returns {ListEntry} */
function sumEntry(index) {
    const by = /** @type {Focus["by"]} */ (state.groupBy);
    const { bytes, count, key } = view.c.sums_row(LIST_SLOT, index);
    const name = groupName(view, GROUPINGS.indexOf(by), key).replace(/_/g, by === "category" ? " " : "_");
    return { bytes, count, name, title: name, color: groupColor(by, key), focus: { by, id: key }, part: 0 };
}

/** @param {ListRow} row @param {number} index */
function fillRow(row, index) {
    if (!panel.content) return;
    const { live, largest, entry, lasting } = panel.content;
    const { bytes, count, name, title, color, focus, part } = entry(index);
    const never = lasting ? lasting.get(rowKey(focus, part)) ?? 0 : bytes;
    const later = never === 0 && bytes > 0;
    setText(row.text, later ? `${name} \u00b7 ${FREED_LATER}` : name);
    row.what.title = later ? `${title}: a later step frees this` : never < bytes ? `${title}: ${formatBytes(never)} of it is never freed` : title;
    row.element.classList.toggle("freed-later", later);
    row.swatch.hidden = color === "";
    row.swatch.style.background = color;
    row.bar.style.background = color;
    row.bar.style.setProperty("--part", String(bytes / largest));
    row.spark.style.background = color;
    drawSpark(row.spark, focus);
    setText(row.bytes, formatBytes(bytes));
    row.bytes.title = formatExactBytes(bytes);
    setText(row.share, formatShare(bytes, live));
    setText(row.count, formatCount(count));
    const focused = state.focus?.by === focus.by && state.focus.id === focus.id;
    row.element.classList.toggle("focused", focused);
    row.element.setAttribute("aria-selected", String(focused));
}

/** A memory timeline knows of each allocation its category and nothing of the code. */
export function listsCategories() {
    return session.facts.kind === KIND_MEMORY_TIMELINE;
}

/** Which OOM an event is; -1: none. @param {number} event */
function oomOfEvent(event) {
    for (let i = 0; i < view.facts.ooms; i++) if (view.c.oom(i).event === event) return i;
    return -1;
}

/** @param {number} moment */
function listTitle(moment) {
    if (plot.hover) return "At the cursor";
    if (oomOfEvent(moment) >= 0) return "When memory ran out";
    if (moment === view.facts.peak_event) return view.facts.events === 0 ? "Final state" : "At the peak";
    return "Marked moment";
}

/** Groups by what the list is grouped by: of a moment, or of what happened in a range. @param {import("./questions.js").About} about @returns {Held} */
function listGroups(about) {
    const by = state.groupBy;
    if (by === "site" || by === "stack") {
        const parts = by === "site" ? "parts" : by;
        if ("at" in about) return view.groups(Number(about.at), parts);
        return view.rangeGroups(about.from, about.to, WHATS.indexOf(about.what ?? "peak"), parts);
    }
    const { groups, count, bytes } = askSums(view, LIST_SLOT, about, by);
    return { count: groups, allocations: count, bytes };
}

/** What tells rows apart. @param {Focus} focus @param {number} part */
function rowKey({ id }, part) {
    return `${id} ${part}`;
}

/** Of what is allocated in a range: what is never freed, by row. @param {{from: number, to: number}} range */
function lastingBytes(range) {
    const { count } = listGroups({ ...range, what: "lasting" });
    return new Map(Array.from({ length: count }, (_, i) => {
        const { focus, part, bytes } = listsSums() ? sumEntry(i) : siteEntry(i);
        return [rowKey(focus, part), bytes];
    }));
}

/** Rows are sums by file, category, stream or pool. */
function listsSums() {
    return state.groupBy !== "site" && state.groupBy !== "stack";
}

/** How the total of each question goes on. @type {Record<string, string>} */
const RANGE_WORDS = { allocated: "allocated in", freed: "freed in", kept: "kept in", through: "alive through it in" };

/** What the list shows of the selected range. @param {{first: number, end: number}} range @returns {ListSummary} */
function rangeContent({ first, end }) {
    const about = { from: first, to: end, what: state.rangeOf };
    // With an end of the recording nothing is known of what follows.
    const lasting = state.rangeOf === "kept" && end < view.facts.events ? lastingBytes(about) : null;
    const never = lasting && [...lasting.values()].reduce((sum, bytes) => sum + bytes, 0);
    const groups = listGroups(about);
    const text = `${formatBytes(groups.bytes)} ${RANGE_WORDS[state.rangeOf]} ${formatPlural(groups.allocations, lifeWord())}`;
    const later = never === null ? (state.rangeOf === "kept" ? " \u00b7 no event follows: it may be freed later" : "") : ` \u00b7 ${formatBytes(never)} is never freed`;
    return { groups, live: groups.bytes, title: "In the selection", text: `${text} \u00b7 ${formatPlural(end - first, "event")}${later}`, lasting };
}

/** What the list shows: the state at a moment, or what happened in the selected range. @param {number} moment @returns {ListSummary} */
function makeContent(moment) {
    const range = state.range ? rangeEvents(state.range) : null;
    if (range && state.rangeOf !== "peak") return rangeContent(range);
    const at = range ? view.c.peak_in(range.first, range.end) : moment;
    const groups = listGroups({ at });
    const live = view.c.live_at(at);
    const oom = range ? -1 : oomOfEvent(at);
    const asked = oom < 0 ? "" : ` \u00b7 asked for ${formatBytes(view.c.oom(oom).size)} with ${formatBytes(view.c.oom(oom).device_free)} free on the device`;
    const place = view.facts.events === 0 ? "" : ` \u00b7 ${momentText(at)}${asked}`;
    const part = groups.bytes === live ? formatBytes(live) : `${formatBytes(groups.bytes)} of ${formatBytes(live)}`;
    const title = range ? "In the selection" : listTitle(moment);
    return { groups, live, title, text: `${part} in ${formatPlural(groups.allocations, lifeWord())}${place}` };
}

/** The same, but made only when something that it depends on has changed. @param {number} moment @returns {ListContent} */
function listContent(moment) {
    const range = state.range ? [state.range.from, state.range.to, state.axis, state.rangeOf] : null;
    const asked = JSON.stringify([state.device, state.groupBy, range, range && state.rangeOf !== "peak" ? 0 : moment, listTitle(moment), kept.version, search.version, state.sortBy]);
    const bySums = listsSums();
    if (panel.content && panel.asked === asked && (bySums || view.held === panel.content.groups)) return panel.content;
    panel.asked = asked;
    const content = makeContent(moment);
    if (state.groupBy === "stack") tellStacks();
    const entry = bySums ? sumEntry : siteEntry;
    const order = sortedRows(content.groups.count, entry);
    if (state.groupBy === "stack" && content.groups.count > TOLD_MOST) content.text += ` \u00b7 above ${formatCount(TOLD_MOST)} stacks, names may repeat`;
    if (staysByBytes(content.groups.count)) content.text += ` \u00b7 above ${formatCount(SORTED_MOST)} rows, the order stays by bytes`;
    return { ...content, entry: order ? (index) => entry(order[index]) : entry, largest: Math.max(1, content.groups.count ? entry(0).bytes : 0) };
}

/** More rows than these stay in the order of their bytes. */
const SORTED_MOST = 100000;

/** @param {number} count */
const staysByBytes = (count) => count > SORTED_MOST && !state.sortBy.endsWith("bytes");

/** Rows in the order that was asked for; null: as the module has them, by falling bytes. @param {number} count @param {(index: number) => ListEntry} entry */
function sortedRows(count, entry) {
    if (state.sortBy === "bytes" || staysByBytes(count)) return null;
    const order = Array.from({ length: count }, (_, i) => i);
    const by = state.sortBy.replace("-", "");
    if (by === "name") {
        const names = order.map((i) => entry(i).name);
        order.sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
    } else if (by === "count") {
        const counts = order.map((i) => entry(i).count);
        order.sort((a, b) => counts[b] - counts[a] || a - b);
    }
    return state.sortBy.startsWith("-") ? order.reverse() : order;
}

/** @param {string} what a key of QUESTIONS */
function askOfRange(what) {
    change({ rangeOf: what });
    panel.list?.restart();
}

/** Keys of the list: `q` asks the next question of a range. */
export const LIST_KEYS = {
    q: () => {
        const whats = Object.keys(QUESTIONS);
        if (state.range) askOfRange(whats[(whats.indexOf(state.rangeOf) + 1) % whats.length]);
    },
};

/** Rows between two turns of the browser: no task may be long. */
const CSV_ROWS = 5000;

/** The list as it stands, as a table. */
async function saveList() {
    const { content } = panel;
    if (!content) return;
    const { groups, entry, lasting } = content;
    const parts = [`\ufeff${[csvField(panel.listWhat.textContent ?? ""), "bytes", "count", ...(lasting ? ["never_freed_bytes"] : [])].join(",")}\r\n`];
    for (let i = 0; i < groups.count && panel.content === content; i++) {
        const { name, bytes, count, focus, part } = entry(i);
        parts.push(`${[csvField(name), bytes, count, ...(lasting ? [lasting.get(rowKey(focus, part)) ?? 0] : [])].join(",")}\r\n`);
        if (i % CSV_ROWS === CSV_ROWS - 1) await new Promise((resolve) => setTimeout(resolve));
    }
    // Other rows have taken their place meanwhile.
    if (panel.content === content) saveBlob(new Blob(parts, { type: "text/csv" }), "csv", `-${state.groupBy}`);
}

/** What a click on each head of the list sorts by. */
const SORTS = ["name", "bytes", "bytes", "count"];

/** A click on a head sorts by it, another one the other way round. */
function startSorting() {
    panel.scroll.querySelectorAll(".list-head [role=columnheader]").forEach((cell, i) => {
        const button = make("button", "sort", cell.textContent ?? "");
        button.type = "button";
        cell.replaceChildren(button);
        button.addEventListener("click", () => {
            change({ sortBy: state.sortBy === SORTS[i] ? `-${SORTS[i]}` : SORTS[i] });
            panel.list?.restart();
        });
    });
    panel.listWhat = /** @type {HTMLElement} */ (panel.listWhat.firstElementChild);
}

/** @param {number} count */
function drawSorting(count) {
    const order = staysByBytes(count) ? "bytes" : state.sortBy;
    panel.scroll.querySelectorAll(".list-head [role=columnheader]").forEach((cell, i) => {
        const by = order.replace("-", "");
        if (SORTS[i] !== by || i === 2) cell.removeAttribute("aria-sort");
        else cell.setAttribute("aria-sort", (by === "name") === order.startsWith("-") ? "descending" : "ascending");
    });
}

/* ---- what each row held over the run ---- */

const SPARK_WIDTH = 56;

/** Curves by what they are of, and rows that wait for theirs. */
const sparks = { known: /** @type {Map<string, Float64Array>} */ (new Map()), waiting: /** @type {Map<string, Focus>} */ (new Map()), timer: 0 };

/** One curve at a time, so that nothing waits for many. */
function nextSpark() {
    sparks.timer = 0;
    const [first] = sparks.waiting;
    if (!first) return invalidate(LIST);
    const [name, { by, id }] = first;
    sparks.waiting.delete(name);
    const place = view.c.spark(FOCUS_KINDS.indexOf(by), id, SPARK_WIDTH) >>> 0;
    if (name === sparkName({ by, id })) sparks.known.set(name, place ? floats(view.module, place, SPARK_WIDTH).slice() : new Float64Array(SPARK_WIDTH));
    sparks.timer = setTimeout(nextSpark);
}

/** @param {Focus} focus */
function sparkName({ by, id }) {
    return `${state.device} ${kept.version} ${by} ${id}`;
}

/** @param {HTMLElement} bar @param {Focus} focus */
function drawSpark(bar, focus) {
    const curve = sparks.known.get(sparkName(focus));
    if (!curve) {
        if (sparks.waiting.size < 200) sparks.waiting.set(sparkName(focus), focus);
        sparks.timer ||= setTimeout(nextSpark, 100);
        bar.style.clipPath = "inset(100%)";
        return;
    }
    bar.style.clipPath = curveShape(curve, Math.max(1, ...curve));
}

function drawRangeTabs() {
    element("range-tabs", HTMLDivElement).hidden = state.range === null;
    for (const what of Object.keys(QUESTIONS)) press(`range-${what}`, state.rangeOf === what);
}

export function drawList() {
    const moment = shownMoment();
    panel.content = listContent(moment);
    const { groups, title, text, entry } = panel.content;
    drawRangeTabs();
    drawSorting(groups.count);
    setText(panel.listTitle, title);
    setText(panel.listWhat, listsCategories() ? "Category" : GROUP_HEADS[state.groupBy]);
    // A line may end with the dot, and not begin with it.
    setText(panel.listTotal, text.replaceAll(" \u00b7", "\u00a0\u00b7"));
    panel.listTotal.title = formatExactBytes(groups.bytes);
    // Every row is a grid of its own, so the widest count says how wide all of them are.
    panel.scroll.style.setProperty("--count", `${Math.max(5, formatCount(groups.allocations).length)}ch`);
    panel.scroll.classList.toggle("colored", groups.count > 0 && entry(0).color !== "");
    panel.list?.draw(groups.count);
    panel.rest.hidden = !printing || groups.count <= ROWS_PRINTED;
    setText(panel.rest, `and ${formatPlural(groups.count - ROWS_PRINTED, "more row")}`);
    drawSiteLine(moment);
}

/** @param {record_allocation} allocation @param {HTMLDListElement} facts */
function addLifetime(allocation, facts) {
    const { birth, death, request } = allocation;
    addFact(facts, "Allocated", birth < 0 ? "before the recording began" : momentText(birth));
    addFact(facts, "Freed", death >= view.facts.events ? "not in this recording" : momentText(death));
    if (request < death) addFact(facts, "Waited", `for another stream from ${momentText(request)} on`);
    if (birth >= 0 && death < view.facts.events) addFact(facts, "Lifetime", lifetimeText(allocation).replace(/^lived /, ""));
}

/** What to know about where the record of this allocation comes from. @param {number} flags */
function flagNotes(flags) {
    return [
        flags & ALLOCATION_STACK_OF_FREE ? "Its allocation was not recorded: the stack below is the one of its free." : "",
        flags & ALLOCATION_FROM_BLOCK ? "No event mentions it: it is known from the final state of the memory only." : "",
        flags & ALLOCATION_REOPENED ? "Its free was not recorded: it is taken to end where its address was allocated again." : "",
        flags & ALLOCATION_UNMATCHED_END ? "It is alive at the end by its events, but the final state has no active block at its address." : "",
    ].filter(Boolean);
}

/** @param {record_allocation} allocation */
function lifeFacts(allocation) {
    const { bytes, count, birth, stream, pool } = allocation;
    const context = session.c.context(allocation.context);
    const category = session.string(context.category);
    const facts = make("dl", "facts");
    addFact(facts, "Size", `${formatBytes(bytes)} (${formatExactBytes(bytes)})`);
    if (count > 1) addFact(facts, "Merged", `${formatPlural(count, "allocation")} of this stack and time, to keep the page small`);
    addLifetime(allocation, facts);
    addFact(facts, "Stream", stream === 0 ? "0 (default)" : String(stream));
    addFact(facts, "During", phasesOfEvent(birth).map(phaseText).join(" \u203a "));
    if (pool !== 0) addFact(facts, "Pool", poolText(pool).replace(/^pool /, ""));
    if (count === 1) addFact(facts, "Address", addressText(allocation));
    addFact(facts, "Compiled in", session.string(context.compile));
    addFact(facts, "Metadata", session.string(context.metadata));
    addFact(facts, "Category", category || `${session.categoryNames()[allocation.category]} (inferred)`);
    return facts;
}

/** Text of the forward pass' stack, as it was recorded. @param {record_allocation} allocation */
function forwardFrames(allocation) {
    const text = session.string(session.c.context(allocation.context).forward);
    if (!text) return [];
    const details = make("details", "forward");
    details.append(make("summary", "", "Stack of the forward pass"), make("pre", "", text));
    return [details];
}

/** Swatch and text of a call site. @param {number} site */
function siteHeading(site) {
    const heading = make("p", "site-heading");
    const swatch = make("i", "swatch");
    if (state.colorBy === "site") swatch.style.background = view.siteColor(site, isDark());
    heading.append(swatch, make("span", "", session.siteText(site)));
    return heading;
}

/** @param {Focus} focus */
function groupHeading({ by, id }) {
    if (by === "site" || by === "stack") return siteHeading(pinnedSite());
    const name = by === "frame" ? session.siteText(id) : groupName(view, GROUPINGS.indexOf(by), id).replace(/_/g, by === "category" ? " " : "_");
    const heading = make("p", "site-heading");
    const swatch = make("i", "swatch");
    swatch.style.background = groupColor(by, id);
    heading.append(swatch, make("span", "", name));
    return heading;
}

/** What of a group the selected range has; summing up is for once. @type {{asked: string, text: string}} */
const groupRange = { asked: "", text: "" };

/** @type {Record<string, string>} */
const GROUP_WORDS = { allocated: "allocated in the selection", freed: "freed in the selection", kept: "kept at the selection\u2019s end", through: "alive through the selection", peak: "alive at the selection\u2019s highest moment" };

/** The row of one group among the sums. @param {Focus} group @param {import("./questions.js").About} about */
function groupSum({ by, id }, about) {
    const sums = askSums(view, 3, about, by);
    for (let i = 0; i < sums.groups; i++) if (sums.row(i).key === id) return sums.row(i);
    return { count: 0, bytes: 0, stack: 0 };
}

/** What is pinned or highlighted, as a group: of an allocation or a stack its call site. @returns {Focus} */
function pinnedGroup() {
    const focus = state.selected === null ? state.focus : null;
    return focus && focus.by !== "stack" ? focus : { by: "site", id: pinnedSite() };
}

const groupWord = (/** @type {Focus} */ { by }) => (GROUP_HEADS[by] ?? by).toLowerCase();

/** @param {Focus} group */
function groupInRange(group) {
    const { first, end } = rangeEvents(/** @type {{from: number, to: number}} */ (state.range));
    const asked = JSON.stringify([state.device, kept.version, first, end, state.rangeOf, group]);
    if (groupRange.asked === asked) return groupRange.text;
    const what = state.rangeOf;
    const { count, bytes } = groupSum(group, { from: first, to: end, what });
    const text = `${formatPlural(count, "allocation")} of this ${groupWord(group)}, ${formatBytes(bytes)}, ${GROUP_WORDS[what]}`;
    Object.assign(groupRange, { asked, text });
    return text;
}

/** @param {Focus} group @param {number} at */
function sumAt(group, at) {
    const { count, bytes } = groupSum(group, { at });
    return { allocations: count, bytes };
}

/** @param {Focus} group @param {number} moment */
function groupText(group, moment) {
    // The most of what goes through a frame is known, and not how much that is at each moment.
    if (group.by === "frame") return `What goes through this frame is highlighted: at most ${formatBytes(floats(view.module, view.c.spark(FOCUS_KINDS.indexOf("frame"), group.id, 1), 1)[0])} at once.`;
    if (state.range) return groupInRange(group);
    const { allocations: count, bytes } = group.by === "site" ? view.c.site_sum(group.id, moment) : sumAt(group, moment);
    return `${formatPlural(count, "allocation")} of this ${groupWord(group)}, ${formatBytes(bytes)} ${momentWords(moment)}`;
}

/** Fills the line about the whole group, which follows the pointer, or speaks of the selected range. @param {number} moment */
function drawSiteLine(moment) {
    if (panel.siteLine) setText(panel.siteLine, groupText(pinnedGroup(), moment));
}

/** Stack that the details show; 0: none. */
export function pinnedStack() {
    if (state.selected !== null) return view.c.allocation(state.selected).stack;
    if (state.focus?.by === "stack") return state.focus.id;
    if (state.focus?.by === "site") return stackOfSite(state.focus.id);
    return state.focus && state.focus.by !== "frame" ? groupSum(state.focus, { at: heldMoment() }).stack : 0;
}

function pinnedSite() {
    if (state.selected === null && state.focus?.by === "site") return state.focus.id;
    return view.c.stack_site(pinnedStack()) >>> 0;
}

/** The stack with the most bytes among those of a call site, at the held moment; else any. @param {number} site */
function stackOfSite(site) {
    const { count } = view.groups(heldMoment(), "site");
    for (let i = 0; i < count; i++) if (view.group(i).site === site) return view.group(i).stack;
    return Math.max(0, view.sitesOfStacks().indexOf(site));
}

/** "3 of 16", with the ones before and after it of the same call site. @param {number} life */
function siblingsLine(life) {
    const { nth, count, previous, next } = view.c.siblings(life);
    const line = make("p", "siblings");
    const step = (/** @type {string} */ sign, /** @type {string} */ name, /** @type {number} */ to) => {
        const button = make("button", "quiet", sign);
        button.type = "button";
        button.disabled = to < 0;
        button.title = name;
        button.setAttribute("aria-label", name);
        button.addEventListener("click", () => {
            select(to);
            change({ moment: Math.max(-1, view.c.allocation(to).birth) });
        });
        return button;
    };
    line.append(step("\u2039", "The one before of this call site", previous), `${formatCount(nth)} of ${formatCount(count)}`, step("\u203a", "The next one of this call site", next));
    return line;
}

/** @param {number} life */
function drawLife(life) {
    const allocation = view.c.allocation(life);
    setText(panel.detailTitle, `Pinned ${formatBytes(allocation.bytes)}`);
    panel.siteLine = make("p", "site-line");
    const siblings = siblingsLine(life);
    const notes = flagNotes(allocation.flags).map((text) => make("p", "flag-note", text));
    panel.detail.replaceChildren(siteHeading(pinnedSite()), panel.siteLine, siblings, lifeFacts(allocation), ...notes, makeStack(allocation.stack), ...forwardFrames(allocation));
}

/** @param {Focus} focus */
function drawFocus(focus) {
    const stack = pinnedStack();
    setText(panel.detailTitle, focus.by === "frame" ? "Through this frame" : GROUP_HEADS[focus.by]);
    panel.siteLine = make("p", "site-line");
    const which = focus.by === "stack" || !stack ? [] : [make("p", "site-line", "Its stack with the most bytes at that moment:")];
    panel.detail.replaceChildren(groupHeading(focus), panel.siteLine, ...which, makeStack(stack));
}

export function drawDetail() {
    const pinned = state.selected !== null || state.focus !== null;
    panel.copy.hidden = !pinned || pinnedStack() === 0;
    panel.close.hidden = !pinned;
    panel.siteLine = null;
    if (state.selected !== null) drawLife(state.selected);
    else if (state.focus) drawFocus(state.focus);
    else {
        setText(panel.detailTitle, "Nothing pinned");
        panel.detail.replaceChildren(make("p", "hint", "click a band for its stack"));
    }
    panel.detail.scrollTop = 0;
    drawSiteLine(shownMoment());
}

/** What is pinned, in a line. */
export function pinnedText() {
    if (state.selected === null) return groupHeading(pinnedGroup()).textContent ?? "";
    const allocation = view.c.allocation(state.selected);
    return `${formatBytes(allocation.bytes)} (${formatExactBytes(allocation.bytes)}), ${lifetimeText(allocation)}, ${addressText(allocation)}`;
}

async function copyPinned() {
    await copyText(`${pinnedText()}\n${stackAsText(pinnedStack())}\n`);
    setText(panel.copy, "Copied");
    setTimeout(() => setText(panel.copy, "Copy"), 1500);
}

export function startPanel() {
    startSorting();
    panel.list = new VirtualList(panel.scroll, panel.body, {
        make: makeRow,
        fill: fillRow,
        choose: (index) => panel.content && toggleFocus(panel.content.entry(index).focus),
        redraw: () => invalidate(LIST),
    });
    panel.copy.addEventListener("click", copyPinned);
    panel.close.addEventListener("click", () => select(null));
    element("range-tabs", HTMLDivElement).append(...Object.entries(QUESTIONS).map(([what, text]) => {
        const button = make("button", "", text);
        button.type = "button";
        button.id = `range-${what}`;
        button.addEventListener("click", () => askOfRange(what));
        return button;
    }));
    panel.save.addEventListener("click", () => void saveList());
    for (const by of GROUPINGS)
        element(`group-${by}`, HTMLButtonElement).addEventListener("click", () => {
            change({ groupBy: by });
            panel.list?.restart();
        });
}
