// The form of the filter, and the strip with the sums of its matches.
import { poolText, streamText } from "./describe.js";
import {
    filterIsEmpty,
    INDEX_FIELDS,
    keptSentence,
    keptText,
    setFilter,
    SWITCH_FIELDS,
    TEXT_FIELDS,
} from "./filter.js";
import { emptyFilter, perPage } from "./state.js";
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

/** @param {HTMLSelectElement} select @param {string} word of the filter @param {number} count
 * @param {(i: number) => string} name */
function fillOptions(select, word, count, name) {
    select.replaceChildren(
        new Option("all", "-1"),
        ...Array.from({ length: Math.min(count, OPTIONS_MOST) }, (_, i) => new Option(name(i), String(i))),
    );
    if (count <= OPTIONS_MOST) return;
    const more = `${formatCount(count - OPTIONS_MOST)} more: type ${word}:${OPTIONS_MOST} into the words`;
    select.append(make("option", "", more, { value: "-2", disabled: true }));
}

/** Fills the menus with the device's streams and pools. @param {Page} page */
function fillFilterMenus(page) {
    const { state, view } = page;
    const filterUi = filterUiOf(page);
    if (filterUi.device === state.device) return;
    filterUi.device = state.device;
    fillOptions(filterUi.stream, "stream", view.facts.streams, (stream) => streamText(page, stream));
    fillOptions(filterUi.pool, "pool", view.facts.pools, (pool) => poolText(page, pool));
    page.element("filter-streams", HTMLFieldSetElement).hidden = view.facts.streams < 2;
    page.element("filter-pools", HTMLFieldSetElement).hidden = view.facts.pools < 3;
}

export function drawFilter(/** @type {Page} */ page) {
    const { kept, state } = page;
    const filterUi = filterUiOf(page);
    fillFilterMenus(page);
    const { filter } = state;
    for (const name of TEXT_FIELDS) {
        const input = filterUi[name];
        if (document.activeElement !== input) input.value = filter[name];
        input.setAttribute("aria-invalid", String(kept.error !== "" && filter[name] !== ""));
    }
    for (const name of INDEX_FIELDS) filterUi[name].value = String(filter[name]);
    for (const name of SWITCH_FIELDS) filterUi[name].checked = filter[name];
    filterUi.open.classList.toggle("filter-active", kept.active);
    filterUi.strip.hidden = !kept.active;
    setText(filterUi.open, kept.active ? `Filter: ${formatCount(kept.allocations)}` : "Filter");
    const error = kept.error && `${kept.error}. Sizes are like 20 MiB, lifetimes like 500 (events) or 2 ms.`;
    const text = kept.active ? `${keptText(page)} at the peak` : error;
    setText(filterUi.count, filterIsEmpty(filter) ? "" : text);
    if (kept.active) setText(filterUi.stripText, keptSentence(page));
}

export function startFilter(/** @type {Page} */ page) {
    const filterUi = filterUiOf(page);
    for (const name of TEXT_FIELDS)
        filterUi[name].addEventListener("input", () => setFilter(page, { [name]: filterUi[name].value }));
    for (const name of INDEX_FIELDS)
        filterUi[name].addEventListener("change", () => setFilter(page, { [name]: Number(filterUi[name].value) }));
    for (const name of SWITCH_FIELDS)
        filterUi[name].addEventListener("change", () => setFilter(page, { [name]: filterUi[name].checked }));
    for (const id of ["filter-reset", "filtered-reset"]) page.onClick(id, () => setFilter(page, emptyFilter()));
    page.element("filter-form", HTMLFormElement).addEventListener("submit", (event) => {
        event.preventDefault();
        filterUi.menu.open = false;
    });
}
