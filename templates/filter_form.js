// The form of the filter, and the strip with the sums of its matches.
import { poolName, streamText } from "./describe.js";
import { emptyFilter, filterIsEmpty, keptSentence, keptText, setFilter } from "./filter.js";
import { perPage } from "./state.js";
import { formatCount, make, setText } from "./text.js";

const filterUiOf = perPage((page) => ({
    menu: page.element("filter", HTMLDetailsElement),
    open: page.element("filter-open", HTMLElement),
    leastBytes: page.element("filter-least-bytes", HTMLInputElement),
    mostBytes: page.element("filter-most-bytes", HTMLInputElement),
    leastAge: page.element("filter-least-age", HTMLInputElement),
    mostAge: page.element("filter-most-age", HTMLInputElement),
    stream: page.element("filter-stream", HTMLSelectElement),
    pool: page.element("filter-pool", HTMLSelectElement),
    atPeak: page.element("filter-at-peak", HTMLInputElement),
    atEnd: page.element("filter-at-end", HTMLInputElement),
    own: page.element("filter-own", HTMLInputElement),
    count: page.element("filter-count", HTMLOutputElement),
    strip: page.element("filtered", HTMLParagraphElement),
    stripText: page.element("filtered-text", HTMLSpanElement),
    /** The device whose streams and pools the menus list. */
    device: -1,
}));

/** The most entries of a menu: nobody reads a longer one, and each entry takes time. */
const OPTIONS_MOST = 500;

/**
 * @param {HTMLSelectElement} select
 * @param {string} word of the filter
 * @param {number} count @param {(i: number) => string} name
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
    const more = option(`${formatCount(count - OPTIONS_MOST)} more: type ${word}:${OPTIONS_MOST} into the words`, -2);
    more.disabled = true;
    select.append(more);
}

/** Fills the menus with the device's streams and pools. @param {Page} page */
function fillFilterMenus(page) {
    const { state, view } = page;
    const filterUi = filterUiOf(page);
    if (filterUi.device === state.device) return;
    filterUi.device = state.device;
    fillOptions(filterUi.stream, "stream", view.facts.streams, (stream) => streamText(page, stream));
    fillOptions(filterUi.pool, "pool", view.facts.pools, (pool) => poolName(page, pool));
    page.element("filter-streams", HTMLFieldSetElement).hidden = view.facts.streams < 2;
    page.element("filter-pools", HTMLFieldSetElement).hidden = view.facts.pools < 3;
}

export function drawFilter(/** @type {Page} */ page) {
    const { kept, state } = page;
    const filterUi = filterUiOf(page);
    fillFilterMenus(page);
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
    else setText(filterUi.count, `${keptText(page)} at the peak`);
    if (kept.active) setText(filterUi.stripText, keptSentence(page));
}

export function startFilter(/** @type {Page} */ page) {
    const filterUi = filterUiOf(page);
    for (const name of /** @type {const} */ (["leastBytes", "mostBytes", "leastAge", "mostAge"]))
        filterUi[name].addEventListener("input", () => setFilter(page, { [name]: filterUi[name].value }));
    for (const name of /** @type {const} */ (["stream", "pool"]))
        filterUi[name].addEventListener("change", () => setFilter(page, { [name]: Number(filterUi[name].value) }));
    for (const name of /** @type {const} */ (["atPeak", "atEnd", "own"]))
        filterUi[name].addEventListener("change", () => setFilter(page, { [name]: filterUi[name].checked }));
    for (const id of ["filter-reset", "filtered-reset"])
        page.element(id, HTMLButtonElement).addEventListener("click", () => setFilter(page, emptyFilter()));
    page.element("filter-form", HTMLFormElement).addEventListener("submit", (event) => {
        event.preventDefault();
        filterUi.menu.open = false;
    });
}
