// Searches all allocations, not only the visible ones. Words are those of the filter (layout/filter.h), joined by AND;
// allocations that do not match are faded. The module understands the words; a regular expression is matched in a
// worker (words.js).
import { axisOfEvent, change, eventOfAxis, EVERYTHING, invalidate } from "./state.js";
import { setWindow } from "./window.js";
import { Matcher, selectWords } from "./words.js";

const SEARCH_SLOT = 1;

export const newSearch = () => ({
    /** The last search, with device and filter. */
    asked: "",
    /** Does the view have the matches? */
    ready: false,
    running: false,
    /** Counts the results, because sums of an older result are out of date. */
    version: 0,
    result: { allocations: 0, bytesAtPeak: 0 },
    /** The fault of the words; "": none. */
    error: "",
    /** @type {Matcher | null} */
    matcher: null,
    /** Resolves when the running search is done. @type {Promise<void>} */
    done: Promise.resolve(),
});

function finishSearch(/** @type {Page} */ page, /** @type {string} */ error) {
    const { allocations, bytes } = error ? { allocations: 0, bytes: 0 } : page.view.c.matches();
    const result = { allocations, bytesAtPeak: bytes };
    Object.assign(page.search, { error, ready: !error, running: false, result });
    applyOnly(page);
    invalidate(page, EVERYTHING);
}

/** Narrows list and sums to the matches, or widens them to all. @param {Page} page */
function applyOnly(page) {
    const { search } = page;
    search.version++;
    page.view.c.narrow(page.state.only && search.ready ? 1 : 0);
}

export function setOnly(/** @type {Page} */ page, /** @type {boolean} */ only) {
    change(page, { only });
    applyOnly(page);
}

/** Updates the matches to the words, the device and the filter. @param {Page} page */
export function updateSearch(page) {
    const { kept, search, session, state, view } = page;
    const asked = JSON.stringify([state.device, kept.version, state.search]);
    if (search.asked === asked) return;
    const result = { allocations: 0, bytesAtPeak: 0 };
    Object.assign(search, { asked, ready: false, error: "", running: state.search !== "", result });
    if (!state.search) {
        // The old matches are dropped: without a search the table lists all allocations.
        view.c.words(SEARCH_SLOT, 0);
        applyOnly(page);
        return;
    }
    search.matcher ??= new Matcher(session);
    const isCurrent = () => search.asked === asked;
    const done = (/** @type {string} */ error) => finishSearch(page, error);
    search.done = selectWords(view, search.matcher, SEARCH_SLOT, state.search, isCurrent, done);
}

export function setSearch(/** @type {Page} */ page, /** @type {string} */ text) {
    change(page, { search: text, focus: null });
    updateSearch(page);
}

/** Does a part of the allocation lie in the window? @param {Page} page @param {number} allocation */
function isInWindow(page, allocation) {
    const { state, view } = page;
    const { birth, death } = view.c.allocation(allocation);
    return axisOfEvent(page, death) >= state.from && axisOfEvent(page, birth) <= state.to;
}

/** The start of a walk through the matches: the pinned allocation if it is in sight, otherwise the window's edge.
 * @param {Page} page @param {1 | -1} direction */
function matchesFrom(page, direction) {
    const { state, view } = page;
    if (state.selected !== null && isInWindow(page, state.selected)) return state.selected;
    const edge = view.c.allocation_from(Math.ceil(eventOfAxis(page, direction === 1 ? state.from : state.to)));
    return direction === 1 ? edge - 1 : edge;
}

/** Pins the next match after (or before) the pinned allocation, in order of birth; at first the first match in the
 * window. @param {Page} page @param {1 | -1} direction */
export function goToMatch(page, direction) {
    if (!page.search.ready) return;
    const allocation = page.view.c.next_match(matchesFrom(page, direction), direction);
    if (allocation < 0) return;
    change(page, { selected: allocation, focus: null });
    showAllocation(page, allocation);
}

/** The place of the pinned allocation among the matches, "3 of 96"; 0: it is not one of them, or none is pinned. */
export function placeOfMatch(/** @type {Page} */ page) {
    const { state, view } = page;
    if (!page.search.ready || state.selected === null || view.c.next_match(state.selected - 1, 1) !== state.selected)
        return 0;
    return view.c.matches_until(state.selected) >>> 0;
}

/** Moves the window if the allocation lies outside of it. @param {Page} page @param {number} id */
export function showAllocation(page, id) {
    const { state, view } = page;
    const allocation = view.c.allocation(id);
    const birth = axisOfEvent(page, allocation.birth);
    const death = axisOfEvent(page, allocation.death);
    const width = state.to - state.from;
    if (death < state.from || birth > state.to) setWindow(page, birth - width * 0.3, birth + width * 0.7);
}
