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
import { emptyFilter, newMemo, perPage } from "./state.js";
import { formatCount, make, setText } from "./text.js";

/** The device whose streams and pools the menus list. */
const menusOf = perPage(() => newMemo());

/** The elements of the filter's fields. @param {Page} page */
const inputsOf = ({ ui }) => ({
    leastBytes: ui.filterLeastBytes,
    mostBytes: ui.filterMostBytes,
    leastAge: ui.filterLeastAge,
    mostAge: ui.filterMostAge,
    stream: ui.filterStream,
    pool: ui.filterPool,
    atPeak: ui.filterAtPeak,
    atEnd: ui.filterAtEnd,
    own: ui.filterOwn,
});

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
    const { ui, view } = page;
    fillOptions(ui.filterStream, "stream", view.facts.streams, (stream) => streamText(page, stream));
    fillOptions(ui.filterPool, "pool", view.facts.pools, (pool) => poolText(page, pool));
    ui.filterStreams.hidden = view.facts.streams < 2;
    ui.filterPools.hidden = view.facts.pools < 3;
}

export function drawFilter(/** @type {Page} */ page) {
    const { kept, state, ui } = page;
    menusOf(page)([state.device], () => fillFilterMenus(page));
    const { filter } = state;
    const inputs = inputsOf(page);
    for (const name of TEXT_FIELDS) {
        const input = inputs[name];
        if (document.activeElement !== input) input.value = filter[name];
        input.setAttribute("aria-invalid", String(kept.error !== "" && filter[name] !== ""));
    }
    for (const name of INDEX_FIELDS) inputs[name].value = String(filter[name]);
    for (const name of SWITCH_FIELDS) inputs[name].checked = filter[name];
    ui.filterOpen.classList.toggle("filter-active", kept.active);
    ui.filtered.hidden = !kept.active;
    setText(ui.filterOpen, kept.active ? `Filter: ${formatCount(kept.allocations)}` : "Filter");
    const error = kept.error && `${kept.error}. Sizes are like 20 MiB, lifetimes like 500 (events) or 2 ms.`;
    const text = kept.active ? `${keptText(page)} at the peak` : error;
    setText(ui.filterCount, filterIsEmpty(filter) ? "" : text);
    if (kept.active) setText(ui.filteredText, keptSentence(page));
}

export function startFilter(/** @type {Page} */ page) {
    const inputs = inputsOf(page);
    for (const name of TEXT_FIELDS)
        inputs[name].addEventListener("input", () => setFilter(page, { [name]: inputs[name].value }));
    for (const name of INDEX_FIELDS)
        inputs[name].addEventListener("change", () => setFilter(page, { [name]: Number(inputs[name].value) }));
    for (const name of SWITCH_FIELDS)
        inputs[name].addEventListener("change", () => setFilter(page, { [name]: inputs[name].checked }));
    for (const id of ["filter-reset", "filtered-reset"]) page.onClick(id, () => setFilter(page, emptyFilter()));
    page.ui.filterForm.addEventListener("submit", (event) => {
        event.preventDefault();
        page.ui.filter.open = false;
    });
}
