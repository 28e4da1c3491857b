// Search over all allocations, not only the visible ones. A frame matches when its text "file:line function" holds what
// was typed (capitals make no difference) or matches a /regular expression/, and so does what torch.fx noted with it, and
// the texts noted with an allocation: compile context, metadata, category. An allocation matches when a frame of its stack does, or one of its texts.
import { axisOfEvent, change, kept, session, setWindow, state, view } from "./state.js";

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
    /** Device and filter that the result is of. */
    counted: "",
    /** Highlight that the view's mask holds, if it is not the search's. */
    focus: "",
    /** What is wrong with a regular expression. */
    error: "",
    /** Text of every frame, made when the first search needs it. @type {string[] | null} */
    frameTexts: null,
};

function frameTexts() {
    search.frameTexts ??= Array.from({ length: session.facts.frames }, (_, id) => {
        const { file, line, name } = session.frame(id);
        const fx = session.frameFx(id);
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
    const mask = new Uint8Array(session.facts.stacks);
    for (let stack = 1; stack < mask.length; stack++) {
        // A parent has a smaller id, so it is known by now.
        const inherited = mask[session.c.stack_parent(stack)];
        mask[stack] = inherited || frames[session.c.stack_frame(stack)];
    }
    return mask;
}

/** Marks the contexts with a text that matches. @param {(text: string) => boolean} matches */
function contextsOfMatches(matches) {
    const mask = new Uint8Array(session.facts.contexts);
    const known = new Map([[0, 0]]);
    const test = (/** @type {number} */ id) => {
        const before = known.get(id);
        if (before !== undefined) return before;
        const answer = matches(session.string(id)) ? 1 : 0;
        known.set(id, answer);
        return answer;
    };
    for (let i = 1; i < mask.length; i++)
        mask[i] = test(session.c.context(i).compile) | test(session.c.context(i).metadata) | test(session.c.context(i).category);
    return mask;
}

/** Brings the mask up to the text; a wrong regular expression matches nothing and says why. */
function updateSearch() {
    if (search.text === state.search && search.mask.length !== 0) return;
    search.text = state.search;
    search.counted = "";
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
        search.mask = new Uint8Array(session.facts.stacks);
        search.contexts = new Uint8Array(session.facts.contexts);
    }
}

/** Hands the mask to the module; false if nothing is searched for, or nothing that can be understood. */
export function applySearchMask() {
    if (!state.search) return false;
    updateSearch();
    if (search.error) return false;
    if (search.applied) return true;
    const masks = view.masks();
    masks.stacks.set(search.mask);
    masks.contexts.set(search.contexts);
    search.applied = true;
    // The view has one mask: whatever was highlighted in it is gone.
    search.focus = "";
    return true;
}

/** Counts for the current device. @returns {SearchResult} */
export function searchResult() {
    if (!applySearchMask()) return { allocations: 0, bytesAtPeak: 0 };
    const counted = `${state.device} ${kept.version}`;
    if (search.counted !== counted) {
        const { allocations, bytes } = view.c.matches();
        Object.assign(search, { counted, result: { allocations, bytesAtPeak: bytes } });
    }
    return search.result;
}

/** @param {string} text @returns {SearchResult} */
export function setSearch(text) {
    change({ search: text, focus: null });
    return searchResult();
}

/** Pins the next match after the pinned allocation (or the one before it), in order of birth. @param {1 | -1} direction */
export function goToMatch(direction) {
    if (!applySearchMask()) return;
    const life = view.c.next_match(state.selected ?? (direction === 1 ? -1 : view.facts.allocations), direction);
    if (life < 0) return;
    change({ selected: life, focus: null });
    showLife(life);
}

/** Moves the window if the allocation is outside of it. @param {number} life */
function showLife(life) {
    const allocation = view.c.allocation(life);
    const birth = axisOfEvent(allocation.birth);
    const death = axisOfEvent(allocation.death);
    const width = state.to - state.from;
    if (death < state.from || birth > state.to) setWindow(birth - width * 0.3, birth + width * 0.7);
}
