// Search over all allocations, not only the visible ones: words as in the filter (layout/filter.h), joined by AND. What
// does not match fades. The module knows what the words mean; a regular expression is matched in a worker (words.js).
import {
    axisOfEvent,
    change,
    eventOfAxis,
    EVERYTHING,
    invalidate,
    kept,
    session,
    setWindow,
    state,
    view,
} from "./state.js";
import { Matcher, selectWords } from "./words.js";

const SEARCH_SLOT = 1;

export const search = {
    /** What was asked for last, and of which device and filter. */
    asked: "",
    /** The view holds what was found. */
    ready: false,
    running: false,
    /** Counts what was found so far: sums of what an older one left are out of date. */
    version: 0,
    /** @type {SearchResult} */
    result: { allocations: 0, bytesAtPeak: 0 },
    /** What is wrong with the words. */
    error: "",
    /** @type {Matcher | null} */
    matcher: null,
    /** Resolves when what runs is done. @type {Promise<void>} */
    done: Promise.resolve(),
};

function askedNow() {
    return JSON.stringify([state.device, kept.version, state.search]);
}

/** @param {string} error */
function finishSearch(error) {
    const found = error ? { allocations: 0, bytes: 0 } : view.c.matches(-1);
    Object.assign(search, {
        error,
        ready: !error,
        running: false,
        result: { allocations: found.allocations, bytesAtPeak: found.bytes },
    });
    applyOnly();
    invalidate(EVERYTHING);
}

/** List and sums of nothing but the matches, or of all again. */
function applyOnly() {
    search.version++;
    view.c.narrow(state.only && search.ready ? 1 : 0);
}

/** @param {boolean} only */
export function setOnly(only) {
    change({ only });
    applyOnly();
}

/** Brings what is found up to the words, the device and the filter. */
export function updateSearch() {
    const asked = askedNow();
    if (search.asked === asked) return;
    Object.assign(search, {
        asked,
        ready: false,
        error: "",
        running: state.search !== "",
        result: { allocations: 0, bytesAtPeak: 0 },
    });
    if (!state.search) {
        // What was found before is given back: a table of what nothing narrows is of all.
        view.c.words(SEARCH_SLOT, 0);
        applyOnly();
        return;
    }
    search.matcher ??= new Matcher(session);
    search.done = selectWords(
        view,
        search.matcher,
        SEARCH_SLOT,
        state.search,
        () => search.asked === asked,
        finishSearch,
    );
}

/** @param {string} text */
export function setSearch(text) {
    change({ search: text, focus: null });
    updateSearch();
}

/** Is a part of the allocation in the window? @param {number} allocation */
function isInWindow(allocation) {
    const { birth, death } = view.c.allocation(allocation);
    return axisOfEvent(death) >= state.from && axisOfEvent(birth) <= state.to;
}

/**
 * Where going through the matches begins: at the pinned allocation, where it is in sight, else at the window's edge.
 * @param {1 | -1} direction
 */
function matchesFrom(direction) {
    if (state.selected !== null && isInWindow(state.selected)) return state.selected;
    const edge = view.c.allocation_from(Math.ceil(eventOfAxis(direction === 1 ? state.from : state.to)));
    return direction === 1 ? edge - 1 : edge;
}

/**
 * Pins the next match after the pinned allocation (or the one before it), in order of birth; first the first in the
 * window.
 * @param {1 | -1} direction
 */
export function goToMatch(direction) {
    if (!search.ready) return;
    const allocation = view.c.next_match(matchesFrom(direction), direction);
    if (allocation < 0) return;
    change({ selected: allocation, focus: null });
    showAllocation(allocation);
}

/** "3 of 96": the place of the pinned allocation among the matches; 0: it is none of them, or none is pinned. */
export function placeOfMatch() {
    if (!search.ready || state.selected === null || view.c.next_match(state.selected - 1, 1) !== state.selected)
        return 0;
    return view.c.matches(state.selected).before;
}

/** Moves the window if the allocation is outside of it. @param {number} id */
export function showAllocation(id) {
    const allocation = view.c.allocation(id);
    const birth = axisOfEvent(allocation.birth);
    const death = axisOfEvent(allocation.death);
    const width = state.to - state.from;
    if (death < state.from || birth > state.to) setWindow(birth - width * 0.3, birth + width * 0.7);
}
