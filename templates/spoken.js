// What a reader of screens hears: what was opened, done or found, each once and as a sentence. Nothing here follows the
// pointer, and no other part of the page is a live region while it is open.
import { plot } from "./canvas.js";
import { lifetimeText } from "./describe.js";
import { filterIsEmpty, keptSentence } from "./filter.js";
import { askFindings } from "./questions.js";
import { placeOfMatch, search } from "./search.js";
import { allocationWord, flush, kept, meta, session, state, view } from "./state.js";
import { element, formatBytes, formatCount, formatPlural, setText } from "./text.js";

/** What follows within this time is said together: people type, and a click changes several things. */
const SAID_AFTER_MS = 400;

/** What was said last of each kind, so that it is not said again. */
const said = {
    started: false,
    opened: false,
    filter: "",
    search: "",
    selected: /** @type {number | null} */ (null),
    moved: false,
    timer: 0,
};

/** @param {string} text */
export function say(text) {
    setText(element("spoken", HTMLParagraphElement), text);
}

/** The file, and what is most urgent in it. */
function openedText() {
    const [first] = askFindings(view);
    return (
        `${meta.title || meta.file} is open.` +
        `${first?.severity === "high" ? ` The most urgent of what was found: ${first.title}.` : ""}`
    );
}

function filterText() {
    if (kept.active) return keptSentence();
    return kept.error && `The filter is not understood: ${kept.error}.`;
}

function searchText() {
    if (state.search === "") return "";
    const { allocations, bytesAtPeak } = search.result;
    return (
        search.error ||
        `The search finds ${formatPlural(allocations, allocationWord())}, ${formatBytes(bytesAtPeak)} at the peak.`
    );
}

/** What is pinned, and its place among the matches. */
function pinText() {
    if (state.selected === null) return "Nothing is pinned.";
    const allocation = view.c.allocation(state.selected);
    const place = placeOfMatch();
    const which = place ? `${formatCount(place)} of ${formatCount(search.result.allocations)}` : "Pinned";
    return (
        `${which}: ${formatBytes(allocation.bytes)} of ` +
        `${session.siteText(view.c.stack_site(allocation.stack) >>> 0)}, ${lifetimeText(allocation)}.`
    );
}

/** Words are looked for, or a filter's. */
function isSearching() {
    return search.running || !(kept.active || kept.error || filterIsEmpty(state.filter));
}

function speak() {
    if (isSearching()) return speakSoon();
    flush();
    /** @type {string[]} */
    const sentences = [];
    if (!said.opened) sentences.push(openedText());
    if (!said.opened || said.moved) sentences.push(String(plot.timeline.getAttribute("aria-label")));
    const now = { filter: filterText(), search: searchText() };
    if (now.filter !== said.filter)
        sentences.push(now.filter || `No filter: all ${formatPlural(view.facts.allocations, allocationWord())}.`);
    if (now.search !== said.search) sentences.push(now.search);
    if (state.selected !== said.selected) sentences.push(pinText());
    Object.assign(said, { opened: true, moved: false, selected: state.selected, ...now });
    if (sentences.length) say(sentences.join(" "));
}

/** The page is drawn for the first time. */
export function startSpoken() {
    said.started = true;
    speakSoon();
}

/** After a drawing: says what was done since, when all of it is done. @param {boolean} [moved] to a view of before */
export function speakSoon(moved = false) {
    if (!said.started) return;
    said.moved ||= moved;
    clearTimeout(said.timer);
    said.timer = setTimeout(speak, SAID_AFTER_MS);
}
