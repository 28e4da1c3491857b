// Searches all allocations, not only the visible ones. Words are those of the filter (layout/filter.h), joined by AND;
// allocations that do not match are faded. The module understands the words; a regular expression is matched in a
// worker (words.js).
import { axisOfEvent, change, EVERYTHING, invalidate } from "./state.js";
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

/** Pins the next match after (or before) the pinned one, in order of birth; at first the first (or the last) of all.
 * @param {Page} page @param {1 | -1} direction */
export function goToMatch(page, direction) {
    const { search, state, view } = page;
    if (!search.ready) return;
    const begin = direction === 1 ? -1 : view.facts.allocations;
    const allocation = view.c.next_match(placeOfMatch(page) ? Number(state.selected) : begin, direction);
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

/** Moves the window if the allocation lies outside of it, and makes it narrower where its band would be a hair.
 * @param {Page} page @param {number} id */
export function showAllocation(page, id) {
    const { plot, state, view } = page;
    const { birth, death } = view.c.allocation(id);
    const [from, to] = [axisOfEvent(page, birth), axisOfEvent(page, death)];
    const now = state.to - state.from;
    const isHair = ((to - from) / now) * plot.width < 3;
    const width = isHair ? Math.min(now, (to - from) * 10) : now;
    if (isHair || to < state.from || from > state.to) setWindow(page, from - width * 0.3, from + width * 0.7);
}
