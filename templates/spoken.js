// Texts for screen readers: what was opened, done or found, each said once and as a sentence. Nothing here follows the
// pointer, and while the page is open no other part of it is a live region.
import { lifetimeText } from "./describe.js";
import { filterIsEmpty, keptSentence } from "./filter.js";
import { askFindings } from "./questions.js";
import { placeOfMatch } from "./search.js";
import { allocationWord, drawn, perPage } from "./state.js";
import { formatBytes, formatCount, formatPlural, setText } from "./text.js";

/** Changes within this time are said together: people type, and a click changes several things. */
const SAID_AFTER_MS = 400;

/** The last text of each kind, which is not repeated. */
const saidOf = perPage(() => ({
    started: false,
    opened: false,
    filter: "",
    search: "",
    selected: /** @type {number | null} */ (null),
    moved: false,
    timer: 0,
}));

export function say(/** @type {Page} */ page, /** @type {string} */ text) {
    setText(page.ui.spoken, text);
}

/** The file, and its most urgent finding. @param {Page} page */
function openedText({ meta, view }) {
    const [first] = askFindings(view);
    const urgent = first?.severity === "high" ? ` The most urgent of what was found: ${first.title}.` : "";
    return `${meta.title || meta.file} is open.${urgent}`;
}

function filterText(/** @type {Page} */ page) {
    const { kept } = page;
    if (kept.active) return keptSentence(page);
    return kept.error && `The filter is not understood: ${kept.error}.`;
}

function searchText(/** @type {Page} */ page) {
    const { search } = page;
    if (page.state.search === "") return "";
    const { allocations, bytesAtPeak } = search.result;
    const many = formatPlural(allocations, allocationWord(page));
    return search.error || `The search finds ${many}, ${formatBytes(bytesAtPeak)} at the peak.`;
}

/** The pinned thing, and its place among the matches, in words. @param {Page} page */
function pinText(page) {
    const { state, view } = page;
    if (state.selected === null) return "Nothing selected.";
    const allocation = view.c.allocation(state.selected);
    const place = placeOfMatch(page);
    const which = place ? `${formatCount(place)} of ${formatCount(page.search.result.allocations)}` : "Pinned";
    const what = `${formatBytes(allocation.bytes)} of ${view.stackSite(allocation.stack)}`;
    return `${which}: ${what}, ${lifetimeText(page, allocation)}.`;
}

/** Is a search or a filter still running? @param {Page} page */
function isSearching(page) {
    const { kept, state } = page;
    return page.search.running || !(kept.active || kept.error || filterIsEmpty(state.filter));
}

async function speak(/** @type {Page} */ page) {
    const { state, view } = page;
    const said = saidOf(page);
    if (isSearching(page)) return speakSoon(page);
    await drawn(page);
    /** @type {string[]} */
    const sentences = [];
    if (!said.opened) sentences.push(openedText(page));
    if (!said.opened || said.moved) sentences.push(String(page.plot.timeline.getAttribute("aria-label")));
    const now = { filter: filterText(page), search: searchText(page) };
    if (now.filter !== said.filter)
        sentences.push(now.filter || `No filter: all ${formatPlural(view.facts.allocations, allocationWord(page))}.`);
    if (now.search !== said.search) sentences.push(now.search);
    if (state.selected !== said.selected) sentences.push(pinText(page));
    Object.assign(said, { opened: true, moved: false, selected: state.selected, ...now });
    if (sentences.length) say(page, sentences.join(" "));
}

/** Begins, when the page is drawn for the first time. @param {Page} page */
export function startSpoken(page) {
    saidOf(page).started = true;
    speakSoon(page);
}

/** After a drawing: says what has changed since the last time, once everything is done.
 * @param {boolean} [moved] to a view of before */
export function speakSoon(/** @type {Page} */ page, moved = false) {
    const said = saidOf(page);
    if (!said.started) return;
    said.moved ||= moved;
    clearTimeout(said.timer);
    said.timer = setTimeout(() => void speak(page), SAID_AFTER_MS);
}
