// The side panel: the list of call sites at a moment, and what is pinned, with its stack.
import {
    FRAME_LIBRARY,
    FRAME_NATIVE,
    FRAME_NOISE,
    FRAME_USER,
    KIND_MEMORY_TIMELINE,
    LIFE_FROM_BLOCK,
    LIFE_REOPENED,
    LIFE_STACK_OF_FREE,
    LIFE_UNMATCHED_END,
} from "./host.js";
import { phasesOfEvent, phaseText } from "./lane.js";
import { categoryNames, keyColor } from "./legend.js";
import { ROWS_PRINTED, VirtualList } from "./list.js";
import { lifetimeText, plot, poolText, rangeEvents, sitesOfStacks } from "./plot.js";
import {
    COLORINGS,
    HEADER,
    heldMoment,
    host,
    invalidate,
    isDark,
    LIST,
    momentText,
    printing,
    select,
    state,
    toggleFocus,
} from "./state.js";
import {
    baseName,
    copyText,
    element,
    formatBytes,
    formatCount,
    formatExactBytes,
    formatPlural,
    formatShare,
    make,
    press,
    setText,
} from "./text.js";

export const panel = {
    listTitle: element("list-title", HTMLHeadingElement),
    listTotal: element("list-total", HTMLParagraphElement),
    listWhat: element("list-what", HTMLSpanElement),
    scroll: element("list-scroll", HTMLDivElement),
    body: element("list", HTMLDivElement),
    rest: element("list-rest", HTMLParagraphElement),
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

/** @typedef {import("./host.js").Host} Host */
/** @typedef {import("./host.js").Group} Group */
/** @typedef {import("./state.js").Focus} Focus */
/** @typedef {{element: HTMLElement, what: HTMLElement, swatch: HTMLElement, text: HTMLElement, bar: HTMLElement, bytes: HTMLElement, share: HTMLElement, count: HTMLElement}} ListRow */
/** @typedef {{groups: Host["held"], live: number, largest: number, title: string, text: string, bySite: boolean}} ListContent */

/** The event whose state the panel shows: under the pointer, else the held one. */
function shownMoment() {
    return plot.hover ? plot.hover.event : heldMoment();
}

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
    row.append(what, bytes, share, count);
    return { element: row, what, swatch, text, bar, bytes, share, count };
}

/** A stack in a line: its call site and the next user frame that called it. @param {number} stack @param {number} site */
function stackText(stack, site) {
    const frames = host.stackFrames(stack);
    const caller = frames.slice(frames.indexOf(site) + 1).find((id) => id !== site && host.c.page_frame_kind(id) === FRAME_USER);
    return caller === undefined ? host.siteText(site) : `${host.siteText(site)} \u2039 ${host.siteText(caller)}`;
}

/** Highlight that a row stands for. @param {Group} group @returns {Focus} */
function focusOfGroup(group) {
    return state.groupBy === "site" ? { by: "site", id: group.site } : { by: "stack", id: group.stack };
}

/** Colour that a call site has in the picture, "" where its allocations can have several. @param {number} site */
function rowColor(site) {
    if (state.colorBy === "site") return host.siteColor(site, isDark());
    if (state.colorBy !== "category" || !listsCategories()) return "";
    const names = categoryNames();
    const key = names.indexOf(host.siteText(site).replace(/_/g, " "));
    return keyColor(COLORINGS.indexOf("category"), key < 0 ? names.indexOf("other") : key);
}

/** @param {ListRow} row @param {number} index */
function fillRow(row, index) {
    if (!panel.content) return;
    const { live, largest, bySite } = panel.content;
    const group = host.group(index);
    const text = bySite ? host.siteText(group.site) : stackText(group.stack, group.site);
    setText(row.text, text);
    const frame = host.frame(group.site);
    row.what.title = group.site === 0 ? text : `${frame.file}${frame.line ? `:${frame.line}` : ""} ${frame.name}`;
    const color = rowColor(group.site);
    row.swatch.hidden = color === "";
    row.swatch.style.background = color;
    row.bar.style.background = color;
    row.bar.style.setProperty("--part", String(group.bytes / largest));
    setText(row.bytes, formatBytes(group.bytes));
    row.bytes.title = formatExactBytes(group.bytes);
    setText(row.share, formatShare(group.bytes, live));
    setText(row.count, formatCount(group.count));
    const focus = focusOfGroup(group);
    const focused = state.focus?.by === focus.by && state.focus.id === focus.id;
    row.element.classList.toggle("focused", focused);
    row.element.setAttribute("aria-selected", String(focused));
}

/** A memory timeline knows of each allocation its category and nothing of the code. */
export function listsCategories() {
    return host.c.page_kind() === KIND_MEMORY_TIMELINE;
}

/** Which OOM an event is; -1: none. @param {number} event */
function oomOfEvent(event) {
    for (let i = 0; i < host.c.page_oom_count(); i++) if (host.c.page_oom_event(i) === event) return i;
    return -1;
}

/** @param {number} moment */
function listTitle(moment) {
    if (plot.hover) return "At the cursor";
    if (oomOfEvent(moment) >= 0) return "When memory ran out";
    if (moment === host.c.page_peak_event()) return host.c.page_events() === 0 ? "Final state" : "At the peak";
    return "Marked moment";
}

/** What the list shows: the state at a moment, or what happened in the selected range. @param {number} moment */
function makeContent(moment) {
    const by = state.groupBy === "site" ? 0 : 1;
    const range = state.range ? rangeEvents(state.range) : null;
    if (range && state.rangeOf !== "peak") {
        const groups = host.rangeGroups(range.first, range.end, state.rangeOf === "born" ? 0 : 1, by);
        const what = state.rangeOf === "born" ? "allocated" : "freed";
        return { groups, live: groups.bytes, title: "In the selection", text: `${formatBytes(groups.bytes)} ${what} in ${formatPlural(groups.allocations, "allocation")} \u00b7 ${formatPlural(range.end - range.first, "event")}` };
    }
    const at = range ? host.c.page_peak_in(range.first, range.end) : moment;
    const groups = host.groups(at, by);
    const live = host.c.page_live_at(at);
    const oom = range ? -1 : oomOfEvent(at);
    const asked = oom < 0 ? "" : ` \u00b7 asked for ${formatBytes(host.c.page_oom_size(oom))} with ${formatBytes(host.c.page_oom_free(oom))} free on the device`;
    const place = host.c.page_events() === 0 ? "" : ` \u00b7 ${momentText(at)}${asked}`;
    const part = groups.bytes === live ? formatBytes(live) : `${formatBytes(groups.bytes)} of ${formatBytes(live)}`;
    const title = range ? "In the selection" : listTitle(moment);
    return { groups, live, title, text: `${part} in ${formatPlural(groups.allocations, "allocation")}${place}` };
}

/** The same, but made only when something that it depends on has changed. @param {number} moment @returns {ListContent} */
function listContent(moment) {
    const range = state.range ? [state.range.from, state.range.to, state.axis, state.rangeOf] : null;
    const asked = JSON.stringify([state.device, state.groupBy, range, range && state.rangeOf !== "peak" ? 0 : moment, listTitle(moment), state.filter]);
    if (panel.content && panel.asked === asked && host.held === panel.content.groups) return panel.content;
    panel.asked = asked;
    const content = makeContent(moment);
    return { ...content, largest: Math.max(1, content.groups.count ? host.group(0).bytes : 0), bySite: state.groupBy === "site" };
}

function drawRangeTabs() {
    element("range-tabs", HTMLDivElement).hidden = state.range === null;
    for (const of of /** @type {const} */ (["born", "freed", "peak"])) press(`range-${of}`, state.rangeOf === of);
}

export function drawList() {
    const moment = shownMoment();
    panel.content = listContent(moment);
    const { groups, title, text, bySite } = panel.content;
    drawRangeTabs();
    setText(panel.listTitle, title);
    setText(panel.listWhat, listsCategories() ? "Category" : bySite ? "Call site" : "Stack");
    // A line may end with the dot, and not begin with it.
    setText(panel.listTotal, text.replaceAll(" \u00b7", "\u00a0\u00b7"));
    panel.listTotal.title = formatExactBytes(groups.bytes);
    // Every row is a grid of its own, so the widest count says how wide all of them are.
    panel.scroll.style.setProperty("--count", `${Math.max(5, formatCount(groups.allocations).length)}ch`);
    panel.scroll.classList.toggle("colored", rowColor(0) !== "");
    panel.list?.draw(groups.count);
    panel.rest.hidden = !printing || groups.count <= ROWS_PRINTED;
    setText(panel.rest, `and ${formatPlural(groups.count - ROWS_PRINTED, "more row")}`);
    drawSiteLine(moment);
}

/* ---- the stack ---- */

/** Frames and folds of a stack that are there at once; what is left of a deeper one is a last fold. */
const FRAMES_MOST = 200;

/** Runs of the same frame, one after the other. @param {number[]} frames @returns {{id: number, times: number}[]} */
function elideRepeats(frames) {
    /** @type {{id: number, times: number}[]} */
    const runs = [];
    for (const id of frames) {
        const last = runs[runs.length - 1];
        if (last?.id === id) last.times++;
        else runs.push({ id, times: 1 });
    }
    return runs;
}

/** @param {{id: number, times: number}} run @param {number} site */
function makeFrame(run, site) {
    const { file, line, name } = host.frame(run.id);
    const user = host.c.page_frame_kind(run.id) === FRAME_USER;
    const item = make("li", `frame${user ? " frame-user" : ""}${run.id === site ? " frame-site" : ""}`);
    const place = make("span", "frame-place", line ? `${baseName(file)}:${line}` : baseName(file));
    const head = make("p", "frame-head");
    if (place.textContent) head.append(place, " ");
    head.append(make("span", "frame-name", name));
    if (run.times > 1) head.append(make("span", "frame-times", ` \u00d7 ${run.times}`));
    item.append(head);
    const folder = file.slice(0, file.length - baseName(file).length);
    if (folder && user) item.append(make("p", "frame-folder", folder));
    const fx = host.frameFx(run.id);
    if (fx) item.append(...makeFx(fx));
    item.title = `${file}${line ? `:${line}` : ""} ${name}`;
    return item;
}

/** The node of generated code, and the lines of the model behind it. @param {FxNode} fx */
function makeFx(fx) {
    const parts = fx.text ? [make("p", "frame-fx", fx.text)] : [];
    return fx.original ? [...parts, make("pre", "frame-fx", fx.original)] : parts;
}

/** @param {{id: number, times: number}[]} runs */
function foldLabel(runs) {
    const count = runs.reduce((sum, run) => sum + run.times, 0);
    const kinds = new Set(runs.map((run) => host.c.page_frame_kind(run.id)));
    const names = [
        kinds.has(FRAME_NATIVE) ? "C++" : "",
        kinds.has(FRAME_LIBRARY) ? "library" : "",
        kinds.has(FRAME_NOISE) ? "interpreter" : "",
    ].filter(Boolean);
    // A person's own frames are folded only where a stack is very deep.
    const which = kinds.has(FRAME_USER) ? "further" : names.join(", ");
    return `${formatCount(count)} ${which} frame${count === 1 ? "" : "s"}`;
}

/** Frames that are folded away until somebody asks. @param {{id: number, times: number}[]} runs @param {number} site */
function makeFold(runs, site) {
    const item = make("li", "fold");
    const details = make("details");
    const frames = make("ol", "frames");
    details.append(make("summary", "", foldLabel(runs)), frames);
    // The frames are made when they are first shown: a stack can have hundreds.
    details.addEventListener("toggle", () => {
        if (!frames.firstChild) frames.append(...runs.map((run) => makeFrame(run, site)));
    });
    item.append(details);
    return item;
}

/** @param {number} stack */
function makeStack(stack) {
    const site = host.c.page_stack_site(stack) >>> 0;
    const list = make("ol", "frames");
    /** @type {{id: number, times: number}[]} */
    let folded = [];
    const flush = () => {
        if (folded.length) list.append(makeFold(folded, site));
        folded = [];
    };
    for (const run of elideRepeats(host.stackFrames(stack))) {
        const shown = run.id === site || host.c.page_frame_kind(run.id) === FRAME_USER;
        if (!shown || list.childElementCount >= FRAMES_MOST) {
            folded.push(run);
            continue;
        }
        flush();
        list.append(makeFrame(run, site));
    }
    flush();
    return list;
}

/** A stack as text, one frame a line, innermost first. @param {number} stack */
function stackAsText(stack) {
    return host.stackFrames(stack).map((id) => {
        const { file, line, name } = host.frame(id);
        const fx = host.frameFx(id);
        return `${file}${line ? `:${line}` : ""} ${name}${fx?.text ? ` [${fx.text}]` : ""}`.trim();
    }).join("\n");
}

/* ---- what is pinned ---- */

/** @param {HTMLDListElement} facts @param {string} name @param {string} value @param {string} [title] */
export function addFact(facts, name, value, title) {
    if (!value) return;
    const shown = make("dd", "", value);
    if (title) shown.title = title;
    facts.append(make("dt", "", name), shown);
}

/** @param {number} life @param {HTMLDListElement} facts */
function addLifetime(life, facts) {
    const c = host.c;
    const birth = c.page_life_birth(life);
    const death = c.page_life_death(life);
    const request = c.page_life_request(life);
    addFact(facts, "Allocated", birth < 0 ? "before the recording began" : momentText(birth));
    addFact(facts, "Freed", death >= c.page_events() ? "not in this recording" : momentText(death));
    if (request < death) addFact(facts, "Waited", `for another stream from ${momentText(request)} on`);
    if (birth >= 0 && death < c.page_events()) addFact(facts, "Lifetime", lifetimeText(life).replace(/^lived /, ""));
}

/** What to know about where the record of this allocation comes from. @param {number} flags */
function flagNotes(flags) {
    return [
        flags & LIFE_STACK_OF_FREE ? "Its allocation was not recorded: the stack below is the one of its free." : "",
        flags & LIFE_FROM_BLOCK ? "No event mentions it: it is known from the final state of the memory only." : "",
        flags & LIFE_REOPENED ? "Its free was not recorded: it is taken to end where its address was allocated again." : "",
        flags & LIFE_UNMATCHED_END ? "It is alive at the end by its events, but the final state has no active block at its address." : "",
    ].filter(Boolean);
}

/** @param {number} life */
function lifeFacts(life) {
    const c = host.c;
    const facts = make("dl", "facts");
    const bytes = c.page_life_bytes(life);
    const allocations = c.page_life_allocations(life) >>> 0;
    addFact(facts, "Size", `${formatBytes(bytes)} (${formatExactBytes(bytes)})`);
    if (allocations > 1) addFact(facts, "Merged", `${formatPlural(allocations, "allocation")} of this stack and time, to keep the page small`);
    addLifetime(life, facts);
    addFact(facts, "Stream", c.page_life_stream(life) === 0 ? "0 (default)" : String(c.page_life_stream(life)));
    addFact(facts, "During", phasesOfEvent(c.page_life_birth(life)).map(phaseText).join(" \u203a "));
    if (c.page_life_pool_first(life) >= 0) addFact(facts, "Pool", poolText(life).replace(/^pool /, ""));
    if (allocations === 1) addFact(facts, "Address", host.address(life));
    const context = c.page_life_context(life) >>> 0;
    addFact(facts, "Compiled in", host.string(c.page_context_compile(context) >>> 0));
    addFact(facts, "Metadata", host.string(c.page_context_metadata(context) >>> 0));
    const category = host.string(c.page_context_category(context) >>> 0);
    addFact(facts, "Category", category || `${categoryNames()[c.page_life_category(life) >>> 0]} (inferred)`);
    return facts;
}

/** Text of the forward pass' stack, as it was recorded. @param {number} life */
function forwardFrames(life) {
    const text = host.string(host.c.page_context_forward(host.c.page_life_context(life) >>> 0) >>> 0);
    if (!text) return [];
    const details = make("details", "forward");
    details.append(make("summary", "", "Stack of the forward pass"), make("pre", "", text));
    return [details];
}

/** Swatch and text of a call site. @param {number} site */
function siteHeading(site) {
    const heading = make("p", "site-heading");
    const swatch = make("i", "swatch");
    if (state.colorBy === "site") swatch.style.background = host.siteColor(site, isDark());
    heading.append(swatch, make("span", "", host.siteText(site)));
    return heading;
}

/** Fills the line about the whole call site, which follows the pointer. @param {number} moment */
function drawSiteLine(moment) {
    if (!panel.siteLine) return;
    const site = pinnedSite();
    const live = host.c.page_site_bytes_at(site, moment);
    const when = plot.hover ? "at the cursor's moment" : moment === host.c.page_peak_event() ? "at the peak" : "at the marked moment";
    setText(panel.siteLine, `${formatPlural(host.c.page_site_lives(site), "allocation")} of this call site, ${formatBytes(live)} ${when}`);
}

/** Stack that the details show; 0: none. */
function pinnedStack() {
    if (state.selected !== null) return host.c.page_life_stack(state.selected) >>> 0;
    if (state.focus?.by === "stack") return state.focus.id;
    return state.focus ? stackOfSite(state.focus.id) : 0;
}

function pinnedSite() {
    if (state.selected === null && state.focus?.by === "site") return state.focus.id;
    return host.c.page_stack_site(pinnedStack()) >>> 0;
}

/** The stack with the most bytes among those of a call site, at the held moment; else any. @param {number} site */
function stackOfSite(site) {
    const { count } = host.groups(heldMoment(), 0);
    for (let i = 0; i < count; i++) if (host.c.page_group_site(i) >>> 0 === site) return host.group(i).stack;
    return Math.max(0, sitesOfStacks().indexOf(site));
}

/** @param {number} life */
function drawLife(life) {
    const stack = pinnedStack();
    setText(panel.detailTitle, `Pinned ${formatBytes(host.c.page_life_bytes(life))}`);
    panel.siteLine = make("p", "site-line");
    const notes = flagNotes(host.c.page_life_flags(life)).map((text) => make("p", "flag-note", text));
    panel.detail.replaceChildren(siteHeading(pinnedSite()), panel.siteLine, lifeFacts(life), ...notes, makeStack(stack), ...forwardFrames(life));
}

/** @param {Focus} focus */
function drawFocus(focus) {
    const stack = pinnedStack();
    setText(panel.detailTitle, focus.by === "site" ? "Call site" : "Stack");
    panel.siteLine = make("p", "site-line");
    const which = focus.by === "site" ? [make("p", "site-line", "Its stack with the most bytes at that moment:")] : [];
    panel.detail.replaceChildren(siteHeading(pinnedSite()), panel.siteLine, ...(stack ? which : []), makeStack(stack));
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
        panel.detail.replaceChildren(make("p", "hint", "Click an allocation in the timeline, or a row above, for its stack."));
    }
    panel.detail.scrollTop = 0;
    drawSiteLine(shownMoment());
}

async function copyPinned() {
    const life = state.selected;
    const head = life === null ? host.siteText(pinnedSite()) : `${formatBytes(host.c.page_life_bytes(life))} (${formatExactBytes(host.c.page_life_bytes(life))}), ${lifetimeText(life)}, ${host.address(life)}`;
    await copyText(`${head}\n${stackAsText(pinnedStack())}\n`);
    setText(panel.copy, "Copied");
    setTimeout(() => setText(panel.copy, "Copy"), 1500);
}

export function startPanel() {
    panel.list = new VirtualList(panel.scroll, panel.body, {
        make: makeRow,
        fill: fillRow,
        choose: (index) => toggleFocus(focusOfGroup(host.group(index))),
        redraw: () => invalidate(LIST),
    });
    panel.copy.addEventListener("click", copyPinned);
    panel.close.addEventListener("click", () => select(null));
    for (const of of /** @type {const} */ (["born", "freed", "peak"]))
        element(`range-${of}`, HTMLButtonElement).addEventListener("click", () => {
            state.rangeOf = of;
            panel.list?.restart();
            invalidate(LIST);
        });
    for (const by of /** @type {const} */ (["site", "stack"]))
        element(`group-${by}`, HTMLButtonElement).addEventListener("click", () => {
            state.groupBy = by;
            panel.list?.restart();
            invalidate(LIST | HEADER);
        });
}
