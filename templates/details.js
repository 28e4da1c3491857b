// Below the list: the pinned or highlighted allocation or group, with its stack.
import {
    ALLOCATION_FROM_BLOCK,
    ALLOCATION_REOPENED,
    ALLOCATION_STACK_OF_FREE,
    ALLOCATION_UNMATCHED_END,
} from "page_api";
import { lifetimeText, phasesOfEvent, phaseText, poolText, streamText } from "./describe.js";
import { groupColor } from "./legend.js";
import { chooseHole, keeperOfHole } from "./map_hand.js";
import { holeNow } from "./map_view.js";
import { momentWords, shownMoment } from "./moment.js";
import { addressText, askFindings, askSums, GROUP_HEADS, groupLabel, SLOTS } from "./questions.js";
import { floats } from "./session.js";
import { makeStack, stackAsText } from "./stack.js";
import { change, FOCUS_KINDS, heldMoment, isDark, momentText, newMemo, perPage, rangeEvents, select } from "./state.js";
import { fitSelection } from "./window.js";
import {
    addFact,
    copyText,
    flashButton,
    formatBytes,
    formatCount,
    formatExactBytes,
    formatPlural,
    make,
    makeButton,
    makeSwatch,
    setText,
} from "./text.js";

const detailsOf = perPage(() => ({
    /** The line that follows the moment. @type {HTMLElement | null} */
    siteLine: null,
}));

/** @param {Page} page @param {record_allocation} allocation @param {HTMLDListElement} facts */
function addLifetime(page, allocation, facts) {
    const { birth, death, request } = allocation;
    addFact(facts, "Allocated", birth < 0 ? "before the recording began" : momentText(page, birth));
    addFact(facts, "Freed", death >= page.view.facts.events ? "not in this recording" : momentText(page, death));
    if (request < death) addFact(facts, "Waited", `for another stream from ${momentText(page, request)} on`);
    if (birth >= 0 && death < page.view.facts.events)
        addFact(facts, "Lifetime", lifetimeText(page, allocation).replace(/^lived /, ""));
}

/** Notes on where this allocation's record comes from. @param {number} flags */
function flagNotes(flags) {
    return [
        flags & ALLOCATION_STACK_OF_FREE ? "Its allocation was not recorded. The stack below is that of its free." : "",
        flags & ALLOCATION_FROM_BLOCK
            ? "No event mentions it. It is known only from the final state of the memory."
            : "",
        flags & ALLOCATION_REOPENED
            ? "Its free was not recorded. It is drawn until its address was allocated again."
            : "",
        flags & ALLOCATION_UNMATCHED_END
            ? "No event frees it, but the final state has no active block at its address."
            : "",
    ].filter(Boolean);
}

function allocationFacts(/** @type {Page} */ page, /** @type {record_allocation} */ allocation) {
    const { session } = page;
    const { bytes, count, birth, stream, pool } = allocation;
    const context = session.c.context(allocation.context);
    const category = session.string(context.category);
    const facts = make("dl", "facts");
    addFact(facts, "Size", `${formatBytes(bytes)} (${formatExactBytes(bytes)})`);
    const merged = `${formatPlural(count, "allocation")} of one stack and time are one band, to keep the page small`;
    if (count > 1) addFact(facts, "Merged", merged);
    addLifetime(page, allocation, facts);
    addFact(facts, "Stream", streamText(page, stream));
    addFact(facts, "During", phasesOfEvent(page, birth).map(phaseText).join(" \u203a "));
    if (pool !== 0) addFact(facts, "Pool", poolText(page, pool));
    if (count === 1) addFact(facts, "Address", addressText(allocation));
    addFact(facts, "Compiled in", session.string(context.compile));
    addFact(facts, "Metadata", session.string(context.metadata));
    addFact(facts, "Category", category || `${session.categories[allocation.category]} (inferred)`);
    return facts;
}

/** The stack of the forward pass as text, as it was recorded.
 * @param {Page} page @param {record_allocation} allocation */
function forwardFrames(page, allocation) {
    const text = page.session.string(page.session.c.context(allocation.context).forward);
    if (!text) return [];
    return [make("details", "forward", make("summary", "", "Stack of the forward pass"), make("pre", "", text))];
}

/** Swatch and text of a group. @param {string} color @param {string} text */
const makeHeading = (color, text) => make("p", "site-heading", makeSwatch(color), make("span", "", text));

function siteHeading(/** @type {Page} */ page, /** @type {number} */ site) {
    const color = page.state.colorBy === "site" ? page.view.siteColor(site, isDark(page)) : "";
    return makeHeading(color, page.session.siteText(site));
}

function groupHeading(/** @type {Page} */ page, /** @type {Focus} */ { by, id }) {
    if (by === "site" || by === "stack") return siteHeading(page, pinnedSite(page));
    const name = by === "frame" ? page.session.siteText(id) : groupLabel(page.view, by, id);
    return makeHeading(groupColor(page, by, id), name);
}

/** A group's share of the selected range, computed once. */
const groupRangeOf = perPage(() => newMemo());

/** @type {Record<string, string>} */
const GROUP_WORDS = {
    allocated: "allocated in the selection",
    freed: "freed in the selection",
    kept: "kept at the selection\u2019s end",
    through: "alive through the selection",
    peak: "alive at the selection\u2019s highest moment",
};

/** The row of one group among the sums. @param {Page} page @param {Focus} group @param {About} about */
function groupSum(page, { by, id }, about) {
    const rows = askSums(page.view, SLOTS.once, about, by).rows();
    return rows.find(({ key }) => key === id) ?? { count: 0, bytes: 0, stack: 0 };
}

/** The pinned or highlighted thing as a group: for an allocation or a stack, its call site. @returns {Focus} */
function pinnedGroup(/** @type {Page} */ page) {
    const focus = page.state.selected === null ? page.state.focus : null;
    return focus && focus.by !== "stack" ? focus : { by: "site", id: pinnedSite(page) };
}

const groupWord = (/** @type {Focus} */ { by }) => (GROUP_HEADS[by] ?? by).toLowerCase();

function groupInRange(/** @type {Page} */ page, /** @type {Focus} */ group) {
    const { kept, state } = page;
    const { first, end } = rangeEvents(page, /** @type {{from: number, to: number}} */ (state.range));
    const what = state.rangeOf;
    return groupRangeOf(page)([state.device, kept.version, first, end, what, group], () => {
        const { count, bytes } = groupSum(page, group, { from: first, to: end, what });
        const all = `${formatPlural(count, "allocation")} of this ${groupWord(group)}`;
        return `${all}, ${formatBytes(bytes)}, ${GROUP_WORDS[what]}`;
    });
}

/** Finds out what the details say of the selected range. @param {Page} page */
export function askDetail(page) {
    const group = page.state.selected === null && page.state.focus === null ? null : pinnedGroup(page);
    if (page.state.range && group && group.by !== "frame") groupInRange(page, group);
}

function groupText(/** @type {Page} */ page, /** @type {Focus} */ group, /** @type {number} */ moment) {
    const { state, view } = page;
    if (group.by === "frame") {
        // Of a frame only the peak is known, not its bytes at each moment.
        const most = floats(view.module, view.c.spark(FOCUS_KINDS.indexOf("frame"), group.id, 1), 1)[0];
        return `Highlighted: all allocations through this frame, at most ${formatBytes(most)} at once.`;
    }
    if (state.range) return groupInRange(page, group);
    const site = group.by === "site" ? view.c.site_sum(group.id, moment) : null;
    const { count, bytes } = site ? { count: site.allocations, ...site } : groupSum(page, group, { at: moment });
    const what = `${formatPlural(count, "allocation")} of this ${groupWord(group)}`;
    return `${what}, ${formatBytes(bytes)} ${momentWords(page, moment)}`;
}

/** Fills the line about the whole group, which follows the pointer or describes the selected range.
 * @param {Page} page @param {number} moment */
export function drawSiteLine(page, moment) {
    const details = detailsOf(page);
    if (details.siteLine) setText(details.siteLine, groupText(page, pinnedGroup(page), moment));
}

/** The stack that the details show; 0: none. @param {Page} page */
export function pinnedStack(page) {
    const { state, view } = page;
    if (state.selected !== null) return view.c.allocation(state.selected).stack;
    if (state.focus?.by === "stack") return state.focus.id;
    if (state.focus?.by === "site") return stackOfSite(page, state.focus.id);
    return state.focus && state.focus.by !== "frame" ? groupSum(page, state.focus, { at: heldMoment(page) }).stack : 0;
}

function pinnedSite(/** @type {Page} */ page) {
    const { state, view } = page;
    if (state.selected === null && state.focus?.by === "site") return state.focus.id;
    return view.c.stack_site(pinnedStack(page)) >>> 0;
}

/** A stack of a call site: the one with the most bytes at the held moment, otherwise any. @param {number} site */
function stackOfSite(/** @type {Page} */ page, site) {
    const { view } = page;
    const { count } = view.groups(heldMoment(page), "site");
    for (let i = 0; i < count; i++) if (view.c.group(i).site === site) return view.c.group(i).stack;
    return Math.max(0, view.sitesOfStacks().indexOf(site));
}

/** "3 of 16", with buttons to the previous and next allocation of the same call site.
 * @param {Page} page @param {number} allocation */
function siblingsLine(page, allocation) {
    const { nth, count, previous, next } = page.view.c.siblings(allocation);
    const step = (/** @type {string} */ sign, /** @type {string} */ which, /** @type {number} */ to) => {
        const go = () => {
            select(page, to);
            change(page, { moment: Math.max(-1, page.view.c.allocation(to).birth) });
        };
        const title = `${which} allocation of this call site`;
        return makeButton("quiet", sign, go, { title, "aria-label": title, disabled: to < 0 });
    };
    const place = `${formatCount(nth)} of ${formatCount(count)}`;
    return make("p", "siblings", step("\u2039", "Previous", previous), place, step("\u203a", "Next", next));
}

/* ---- holes, and the allocations that keep them ---- */

/** Names the hole that a pinned allocation keeps, where holes are shown. @param {Page} page @param {number} id */
function keptHole(page, id) {
    const { state, view } = page;
    const event = heldMoment(page);
    if (!(state.mapOpen || state.tab === "allocator") || view.sentence("map_refusal")) return [];
    view.c.gap(event);
    const block = view.c.hole_kept(id);
    if (block < 0) return [];
    const { bytes, segment_bytes } = view.c.hole(block);
    const text = `Keeps a hole of ${formatBytes(bytes)} in a segment of ${formatBytes(segment_bytes)} `;
    const choose = () => chooseHole(page, event, block);
    return [make("p", "", text, makeButton("quiet", "Show the hole", choose, "In the map and in the list (h)"))];
}

/** Shows the chosen hole in a line. @param {Page} page @param {number} block */
function drawHole(page, block) {
    const { view } = page;
    const { bytes, allocation } = view.c.hole(block);
    const { bytes: held, stack } = view.c.allocation(allocation);
    const keeper = make("span", "hint", `kept by ${view.stackSite(stack)}, ${formatBytes(held)}`);
    const title = "Select the allocation that keeps the hole";
    const choose = makeButton("quiet", "Stack", () => keeperOfHole(page), `${title} (k)`);
    const fit = () => {
        keeperOfHole(page);
        fitSelection(page);
    };
    const show = makeButton("quiet", "In the timeline", fit, `${title}, and show its whole lifetime`);
    setText(page.ui.detailTitle, `Hole of ${formatBytes(bytes)}`);
    page.ui.detail.replaceChildren(make("p", "hint hole-line", keeper, choose, show));
}

/** The user's own frames that stand above all facts; a fold has the rest. */
const FIRST_FRAMES = 3;

function drawAllocation(/** @type {Page} */ page, /** @type {number} */ id) {
    const details = detailsOf(page);
    const allocation = page.view.c.allocation(id);
    setText(page.ui.detailTitle, `Pinned ${formatBytes(allocation.bytes)}`);
    details.siteLine = make("p", "site-line");
    const notes = flagNotes(allocation.flags).map((text) => make("p", "flag-note", text));
    page.ui.detail.replaceChildren(
        siteHeading(page, pinnedSite(page)),
        makeStack(page, allocation.stack, FIRST_FRAMES),
        details.siteLine,
        siblingsLine(page, id),
        ...keptHole(page, id),
        allocationFacts(page, allocation),
        ...notes,
        ...forwardFrames(page, allocation),
    );
}

function drawFocus(/** @type {Page} */ page, /** @type {Focus} */ focus) {
    const details = detailsOf(page);
    const stack = pinnedStack(page);
    setText(page.ui.detailTitle, focus.by === "frame" ? "Through this frame" : GROUP_HEADS[focus.by]);
    details.siteLine = make("p", "site-line");
    const which =
        focus.by === "stack" || !stack ? [] : [make("p", "site-line", "Its stack with the most bytes at that moment:")];
    page.ui.detail.replaceChildren(groupHeading(page, focus), details.siteLine, ...which, makeStack(page, stack));
}

export function drawDetail(/** @type {Page} */ page) {
    const { state } = page;
    const details = detailsOf(page);
    const pinned = state.selected !== null || state.focus !== null;
    page.ui.detailCopy.hidden = !pinned || pinnedStack(page) === 0;
    page.ui.detailClose.hidden = !pinned;
    details.siteLine = null;
    if (state.selected !== null) drawAllocation(page, state.selected);
    else if (state.focus) drawFocus(page, state.focus);
    else if (state.hole && holeNow(page) >= 0) drawHole(page, holeNow(page));
    else {
        setText(page.ui.detailTitle, "Nothing selected");
        page.ui.detail.replaceChildren(make("p", "hint", "click a band"));
    }
    page.ui.detail.scrollTop = 0;
    drawSiteLine(page, shownMoment(page));
}

/** The pinned thing in one line. @param {Page} page */
export function pinnedText(page) {
    const { state, view } = page;
    if (state.selected === null) return groupHeading(page, pinnedGroup(page)).textContent ?? "";
    const allocation = view.c.allocation(state.selected);
    const size = `${formatBytes(allocation.bytes)} (${formatExactBytes(allocation.bytes)})`;
    return `${size}, ${lifetimeText(page, allocation)}, ${addressText(allocation)}`;
}

/** Copies the stack of the pinned thing, otherwise of the failed request or the first finding. @param {Page} page
 * @param {boolean} all with its frames of C++ */
export async function copyStack(page, all) {
    const { state, view } = page;
    const { ooms } = view.facts;
    const stack =
        pinnedStack(page) ||
        (ooms && view.c.oom(ooms - 1).stack) ||
        (askFindings(view).length && view.c.finding(0).stack);
    const pinned = state.selected !== null || state.focus !== null;
    await copyText(`${pinned ? `${pinnedText(page)}\n` : ""}${stackAsText(page, stack, all)}\n`);
    flashButton(page.ui.detailCopy, "Copied");
}

export function startDetails(/** @type {Page} */ page) {
    page.ui.detailCopy.addEventListener("click", (event) => copyStack(page, event.shiftKey));
    page.ui.detailClose.addEventListener("click", () => select(page, null));
}
