// Search over all allocations, not only the visible ones. A frame matches when its text "file:line function" holds what
// was typed (capitals make no difference) or matches a /regular expression/, and so does what torch.fx noted with it, and
// the texts noted with an allocation: compile context, metadata, category. An allocation matches when a frame of its stack does, or one of its texts.
import { plot } from "./plot.js";
import { axisOfEvent, DETAIL, HEADER, host, invalidate, LIST, OVERLAY, setWindow, state, TIMELINE } from "./state.js";

export const search = {
    /** What the mask below was made for. */
    text: "",
    /** One byte for each stack. @type {Uint8Array} */
    mask: new Uint8Array(0),
    /** One byte for each context. @type {Uint8Array} */
    contexts: new Uint8Array(0),
    /** True while the module holds these masks. */
    applied: false,
    /** @type {SearchResult} */
    result: { allocations: 0, bytesAtPeak: 0 },
    /** Device that the result is of. */
    device: -1,
    /** What is wrong with a regular expression. */
    error: "",
    /** Text of every frame, made when the first search needs it. @type {string[] | null} */
    frameTexts: null,
};

function frameTexts() {
    search.frameTexts ??= Array.from({ length: host.c.page_frame_count() }, (_, id) => {
        const { file, line, name } = host.frame(id);
        const fx = host.frameFx(id);
        return `${file}${line ? `:${line}` : ""} ${name}${fx ? `\n${fx.text}\n${fx.original}` : ""}`;
    });
    return search.frameTexts;
}

/** @param {string} text @returns {(frame: string) => boolean} */
function matcherOf(text) {
    const parts = /^\/(.+)\/([a-z]*)$/s.exec(text);
    if (parts) {
        // A sticky or global expression would remember where it stopped in the frame before.
        const expression = new RegExp(parts[1], parts[2].replace(/[gy]/g, "") || "i");
        return (frame) => expression.test(frame);
    }
    const wanted = text.toLowerCase();
    return (frame) => frame.toLowerCase().includes(wanted);
}

/** Marks the stacks that have a frame which matches. @param {(frame: string) => boolean} matches */
function maskOfMatches(matches) {
    const frames = Uint8Array.from(frameTexts(), (text, id) => (id !== 0 && matches(text) ? 1 : 0));
    const mask = new Uint8Array(host.c.page_stack_count());
    for (let stack = 1; stack < mask.length; stack++) {
        // A parent has a smaller id, so it is known by now.
        const inherited = mask[host.c.page_stack_parent(stack) >>> 0];
        mask[stack] = inherited || frames[host.c.page_stack_frame(stack) >>> 0];
    }
    return mask;
}

/** Marks the contexts with a text that matches. @param {(text: string) => boolean} matches */
function contextsOfMatches(matches) {
    const c = host.c;
    const mask = new Uint8Array(c.page_context_count());
    const known = new Map([[0, 0]]);
    const test = (/** @type {number} */ id) => {
        const before = known.get(id);
        if (before !== undefined) return before;
        const answer = matches(host.string(id)) ? 1 : 0;
        known.set(id, answer);
        return answer;
    };
    for (let i = 1; i < mask.length; i++)
        mask[i] = test(c.page_context_compile(i) >>> 0) | test(c.page_context_metadata(i) >>> 0) | test(c.page_context_category(i) >>> 0);
    return mask;
}

/** Brings the mask up to the text; a wrong regular expression matches nothing and says why. */
function updateSearch() {
    if (search.text === state.search && search.mask.length !== 0) return;
    search.text = state.search;
    search.device = -1;
    search.error = "";
    search.applied = false;
    try {
        const matches = matcherOf(state.search);
        search.mask = maskOfMatches(matches);
        search.contexts = contextsOfMatches(matches);
    } catch (error) {
        // Browsers repeat the expression, which stands beside it.
        const reason = error instanceof Error ? error.message.replace(/^Invalid regular expression: (\/.*\/\w*: )?/s, "") : String(error);
        search.error = `Not a regular expression: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
        search.mask = new Uint8Array(host.c.page_stack_count());
        search.contexts = new Uint8Array(host.c.page_context_count());
    }
}

/** Hands the mask to the module; false if nothing is searched for, or nothing that can be understood. */
export function applySearchMask() {
    if (!state.search) return false;
    updateSearch();
    if (search.error) return false;
    if (search.applied) return true;
    host.bytes(host.c.page_mask(), search.mask.length).set(search.mask);
    host.bytes(host.c.page_context_mask(), search.contexts.length).set(search.contexts);
    search.applied = true;
    // The module has one mask: whatever was highlighted in it is gone.
    plot.focusMask = "";
    return true;
}

/** Counts for the current device. @returns {SearchResult} */
export function searchResult() {
    if (!applySearchMask()) return { allocations: 0, bytesAtPeak: 0 };
    if (search.device !== state.device) {
        search.device = state.device;
        search.result = { allocations: host.c.page_mask_lives(), bytesAtPeak: host.c.page_mask_peak_bytes() };
    }
    return search.result;
}

/** @param {string} text @returns {SearchResult} */
export function setSearch(text) {
    state.search = text;
    state.focus = null;
    invalidate(TIMELINE | OVERLAY | LIST | DETAIL | HEADER);
    return searchResult();
}

/** Pins the next match after the pinned allocation (or the one before it), in order of birth. @param {1 | -1} direction */
export function goToMatch(direction) {
    if (!applySearchMask()) return;
    const life = host.c.page_next_match(state.selected ?? (direction === 1 ? -1 : host.c.page_lives()), direction);
    if (life < 0) return;
    state.selected = life;
    state.focus = null;
    showLife(life);
}

/** Moves the window if the allocation is outside of it. @param {number} life */
function showLife(life) {
    const birth = axisOfEvent(host.c.page_life_birth(life));
    const death = axisOfEvent(host.c.page_life_death(life));
    const width = state.to - state.from;
    if (death < state.from || birth > state.to) setWindow(birth - width * 0.3, birth + width * 0.7);
    invalidate(TIMELINE | OVERLAY | LIST | DETAIL);
}
