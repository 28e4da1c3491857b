// The form of the filter, and the strip that says what it leaves.
import { poolName, streamText } from "./describe.js";
import { emptyFilter, filterIsEmpty, keptSentence, keptText, setFilter } from "./filter.js";
import { kept, state, view } from "./state.js";
import { element, formatCount, make, setText } from "./text.js";

const filterUi = {
    menu: element("filter", HTMLDetailsElement),
    open: element("filter-open", HTMLElement),
    leastBytes: element("filter-least-bytes", HTMLInputElement),
    mostBytes: element("filter-most-bytes", HTMLInputElement),
    leastAge: element("filter-least-age", HTMLInputElement),
    mostAge: element("filter-most-age", HTMLInputElement),
    stream: element("filter-stream", HTMLSelectElement),
    pool: element("filter-pool", HTMLSelectElement),
    atPeak: element("filter-at-peak", HTMLInputElement),
    atEnd: element("filter-at-end", HTMLInputElement),
    own: element("filter-own", HTMLInputElement),
    count: element("filter-count", HTMLOutputElement),
    strip: element("filtered", HTMLParagraphElement),
    stripText: element("filtered-text", HTMLSpanElement),
    /** Device that the menus are of. */
    device: -1,
};

/** Nobody reads more of a menu, and each entry takes a page's time. */
const OPTIONS_MOST = 500;

/**
 * @param {HTMLSelectElement} select
 * @param {string} word of the filter
 * @param {number} count
 * @param {(i: number) => string} name
 */
function fillOptions(select, word, count, name) {
    const option = (/** @type {string} */ text, /** @type {number} */ value) => {
        const made = make("option", "", text);
        made.value = String(value);
        return made;
    };
    select.replaceChildren(
        option("all", -1),
        ...Array.from({ length: Math.min(count, OPTIONS_MOST) }, (_, i) => option(name(i), i)),
    );
    if (count <= OPTIONS_MOST) return;
    const more = option(`${formatCount(count - OPTIONS_MOST)} more: ${word}:${OPTIONS_MOST} among the words`, -2);
    more.disabled = true;
    select.append(more);
}

/** Streams and pools belong to the device. */
function fillFilterMenus() {
    if (filterUi.device === state.device) return;
    filterUi.device = state.device;
    fillOptions(filterUi.stream, "stream", view.facts.streams, streamText);
    fillOptions(filterUi.pool, "pool", view.facts.pools, (pool) => poolName(pool));
    element("filter-streams", HTMLFieldSetElement).hidden = view.facts.streams < 2;
    element("filter-pools", HTMLFieldSetElement).hidden = view.facts.pools < 3;
}

export function drawFilter() {
    fillFilterMenus();
    const { filter } = state;
    const active = !filterIsEmpty(filter);
    for (const name of /** @type {const} */ (["leastBytes", "mostBytes", "leastAge", "mostAge"])) {
        const input = filterUi[name];
        if (document.activeElement !== input) input.value = filter[name];
        input.setAttribute("aria-invalid", String(kept.error !== "" && filter[name] !== ""));
    }
    filterUi.stream.value = String(filter.stream);
    filterUi.pool.value = String(filter.pool);
    filterUi.atPeak.checked = filter.atPeak;
    filterUi.atEnd.checked = filter.atEnd;
    filterUi.own.checked = filter.own;
    filterUi.open.classList.toggle("filter-active", kept.active);
    filterUi.strip.hidden = !kept.active;
    setText(filterUi.open, kept.active ? `Filter: ${formatCount(kept.allocations)}` : "Filter");
    if (!active) setText(filterUi.count, "");
    else if (!kept.active)
        setText(
            filterUi.count,
            kept.error ? `${kept.error}. Sizes are like 20 MiB, lifetimes like 500 (events) or 2 ms.` : "",
        );
    else setText(filterUi.count, `${keptText()} at the peak`);
    if (kept.active) setText(filterUi.stripText, keptSentence());
}

export function startFilter() {
    for (const name of /** @type {const} */ (["leastBytes", "mostBytes", "leastAge", "mostAge"]))
        filterUi[name].addEventListener("input", () => setFilter({ [name]: filterUi[name].value }));
    for (const name of /** @type {const} */ (["stream", "pool"]))
        filterUi[name].addEventListener("change", () => setFilter({ [name]: Number(filterUi[name].value) }));
    for (const name of /** @type {const} */ (["atPeak", "atEnd", "own"]))
        filterUi[name].addEventListener("change", () => setFilter({ [name]: filterUi[name].checked }));
    for (const id of ["filter-reset", "filtered-reset"])
        element(id, HTMLButtonElement).addEventListener("click", () => setFilter(emptyFilter()));
    element("filter-form", HTMLFormElement).addEventListener("submit", (event) => {
        event.preventDefault();
        filterUi.menu.open = false;
    });
    document.addEventListener("pointerdown", (event) => {
        if (event.target instanceof Node && !filterUi.menu.contains(event.target)) filterUi.menu.open = false;
    });
    filterUi.menu.addEventListener("keydown", (event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        filterUi.menu.open = false;
        filterUi.open.focus();
    });
}
