// The filter: which allocations are stacked at all. The module keeps one bit for each; here are the form, its words
// ("20 MiB", "500", "2 ms") and the counts.
import { search } from "./search.js";
import {
    boundedInteger,
    HEADER,
    host,
    invalidate,
    LEGEND,
    LIST,
    MINIMAP,
    OVERLAY,
    state,
    TIMELINE,
} from "./state.js";
import { element, formatBytes, formatCount, formatPlural, make, setText } from "./text.js";

/** Units of sizes, 1024-based also without the i, as on the command line. */
const SIZE_UNITS = "BKMGTP";
/** @type {Record<string, number>} */
const AGE_UNITS = { us: 1, "\u00b5s": 1, ms: 1e3, s: 1e6, min: 60e6, h: 3600e6 };

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
};

/** What the module's filter leaves. */
export const kept = {
    active: false,
    allocations: 0,
    bytesAtPeak: 0,
    /** Top of the y axis, where what is left would fill less than a third of the whole run's; 0: that one. */
    top: 0,
};

/** @returns {PageFilter} */
export function emptyFilter() {
    return { leastBytes: "", mostBytes: "", leastAge: "", mostAge: "", stream: -1, pool: -1, atPeak: false, atEnd: false, own: false };
}

/** True if the filter takes nothing away. @param {PageFilter} filter */
function filterIsEmpty(filter) {
    return JSON.stringify(filter) === JSON.stringify(emptyFilter());
}

/** Bytes of "20 MiB", "4k" or "512"; null: no size; NaN: not understood. @param {string} text @returns {number | null} */
function sizeOfText(text) {
    if (text.trim() === "") return null;
    const parts = /^\s*(\d+(?:\.\d+)?)\s*((?:[kmgtp]i?)?)b?\s*$/i.exec(text);
    if (!parts) return NaN;
    return Math.round(Number(parts[1]) * 1024 ** Math.max(0, SIZE_UNITS.indexOf(parts[2].charAt(0).toUpperCase() || "B")));
}

/** Events of "500", or microseconds of "2 ms". @param {string} text @returns {{value: number, us: boolean} | null} */
function ageOfText(text) {
    if (text.trim() === "") return null;
    const parts = /^\s*(\d+(?:\.\d+)?)\s*([a-z\u00b5]*)\s*$/i.exec(text);
    const unit = parts?.[2].toLowerCase() ?? "?";
    if (!parts || !(unit === "" || unit in AGE_UNITS || /^events?$/.test(unit))) return { value: NaN, us: false };
    return unit in AGE_UNITS ? { value: Number(parts[1]) * AGE_UNITS[unit], us: true } : { value: Number(parts[1]), us: false };
}

/** The bounds that the module takes; null where a word is not understood. @param {PageFilter} filter */
function filterBounds(filter) {
    const ages = [ageOfText(filter.leastAge), ageOfText(filter.mostAge)];
    const us = ages.some((age) => age?.us);
    // One unit for both: a bare number beside a time is a time of the same kind.
    if (ages.some((age) => age && Number.isNaN(age.value)) || (us && ages.some((age) => age && !age.us && age.value !== 0))) return null;
    const bytes = [sizeOfText(filter.leastBytes), sizeOfText(filter.mostBytes)];
    if (bytes.some(Number.isNaN)) return null;
    return { leastBytes: bytes[0] ?? 0, mostBytes: bytes[1] ?? Infinity, leastAge: ages[0]?.value ?? 0, mostAge: ages[1]?.value ?? Infinity, us };
}

/** Brings the module's filter up to the state. */
function applyFilter() {
    const { filter } = state;
    const bounds = filterBounds(filter);
    search.device = -1;
    kept.active = !filterIsEmpty(filter) && bounds !== null;
    kept.top = 0;
    if (!kept.active || !bounds) {
        host.c.page_filter_off();
        return;
    }
    const code = host.c.page_filter(
        bounds.leastBytes, bounds.mostBytes, bounds.leastAge, bounds.mostAge, bounds.us ? 1 : 0,
        filter.stream, filter.pool, filter.atPeak ? 1 : 0, filter.atEnd ? 1 : 0, filter.own ? 1 : 0,
    );
    if (code !== 0) throw new Error("There is not enough memory in this tab for the filter.");
    kept.allocations = host.c.page_kept();
    kept.bytesAtPeak = host.c.page_kept_peak_bytes();
    const highest = host.c.page_kept_highest();
    if (highest > 0 && highest * 3 < host.c.page_headroom(-1, host.c.page_events(), 0)) kept.top = Math.ceil((highest * 17) / 16);
}

/** @param {Partial<PageFilter>} change */
export function setFilter(change) {
    state.filter = { ...state.filter, ...change };
    if (state.filter.stream >= host.c.page_stream_count()) state.filter.stream = -1;
    if (state.filter.pool >= host.c.page_pool_count()) state.filter.pool = -1;
    applyFilter();
    invalidate(TIMELINE | OVERLAY | LIST | HEADER | LEGEND | MINIMAP);
}

/** For the hash: what differs from the empty filter. @param {PageFilter} filter */
export function filterToText(filter) {
    const empty = emptyFilter();
    const parts = Object.entries(filter).filter(([name, value]) => value !== empty[/** @type {keyof PageFilter} */ (name)]);
    return parts.length ? new URLSearchParams(parts.map(([name, value]) => [name, String(value)])).toString() : "";
}

/** @param {string | null} text @returns {PageFilter} */
export function filterOfText(text) {
    const filter = emptyFilter();
    const parts = new URLSearchParams(text ?? "");
    for (const name of /** @type {const} */ (["leastBytes", "mostBytes", "leastAge", "mostAge"])) filter[name] = (parts.get(name) ?? "").slice(0, 40);
    for (const name of /** @type {const} */ (["stream", "pool"])) filter[name] = boundedInteger(parts.get(name), 0, 65536) ?? -1;
    for (const name of /** @type {const} */ (["atPeak", "atEnd", "own"])) filter[name] = parts.get(name) === "true";
    return filter;
}

/* ---- the form ---- */

/** @param {number} stream index */
export function streamText(stream) {
    if (stream === 0) return "0 (default)";
    const high = host.c.page_stream_high(stream) >>> 0;
    const low = host.c.page_stream_low(stream) >>> 0;
    const handle = high ? `${high.toString(16)}${low.toString(16).padStart(8, "0")}` : low.toString(16);
    return `${stream} (0x${handle})`;
}

/** @param {number} pool index */
export function poolName(pool) {
    if (pool === 0) return "unknown";
    const [first, second] = [host.c.page_pool_first(pool), host.c.page_pool_second(pool)];
    return first === 0 && second === 0 ? "default" : `(${first}, ${second})`;
}

/** @param {HTMLSelectElement} select @param {string[]} names */
function fillOptions(select, names) {
    const option = (/** @type {string} */ text, /** @type {number} */ value) => {
        const made = make("option", "", text);
        made.value = String(value);
        return made;
    };
    select.replaceChildren(option("all", -1), ...names.map(option));
}

/** Streams and pools belong to the device. */
export function fillFilterMenus() {
    const count = (/** @type {number} */ length) => Array.from({ length }, (_, i) => i);
    fillOptions(filterUi.stream, count(host.c.page_stream_count()).map(streamText));
    fillOptions(filterUi.pool, count(host.c.page_pool_count()).map(poolName));
    element("filter-streams", HTMLFieldSetElement).hidden = host.c.page_stream_count() < 2;
    element("filter-pools", HTMLFieldSetElement).hidden = host.c.page_pool_count() < 3;
}

export function drawFilter() {
    const { filter } = state;
    const active = !filterIsEmpty(filter);
    for (const name of /** @type {const} */ (["leastBytes", "mostBytes", "leastAge", "mostAge"])) {
        const input = filterUi[name];
        if (document.activeElement !== input) input.value = filter[name];
        const wrong = name.endsWith("Bytes") ? Number.isNaN(sizeOfText(filter[name])) : Number.isNaN(ageOfText(filter[name])?.value);
        input.setAttribute("aria-invalid", String(wrong));
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
    else if (!kept.active) setText(filterUi.count, "Sizes are like 20 MiB, lifetimes like 500 (events) or 2 ms.");
    else setText(filterUi.count, `${keptText()} at the peak`);
    if (kept.active) setText(filterUi.stripText, keptSentence());
}

/** "12 of 1,014 allocations, 1.2 GiB of 7.3 GiB". */
export function keptText() {
    const { c } = host;
    return `${formatCount(kept.allocations)} of ${formatPlural(c.page_lives() >>> 0, "allocation")} \u00b7 ${formatBytes(kept.bytesAtPeak)} of ${formatBytes(c.page_peak_bytes())}`;
}

/** What the page shows of a filtered recording, and what it shows of all of it. */
function keptSentence() {
    const line = host.c.page_reserved_peak() > 0 && !kept.top ? ", the reserved line" : "";
    const others = `The header's figures${line} and the marks are those of all.`;
    if (kept.allocations === 0) return `No allocation passes the filter. ${others}`;
    return `Filtered: ${keptText()} at the peak${kept.top ? ", on a scale of their own" : ""}. ${others}`;
}

export function startFilter() {
    for (const name of /** @type {const} */ (["leastBytes", "mostBytes", "leastAge", "mostAge"]))
        filterUi[name].addEventListener("input", () => setFilter({ [name]: filterUi[name].value }));
    for (const name of /** @type {const} */ (["stream", "pool"]))
        filterUi[name].addEventListener("change", () => setFilter({ [name]: Number(filterUi[name].value) }));
    for (const name of /** @type {const} */ (["atPeak", "atEnd", "own"]))
        filterUi[name].addEventListener("change", () => setFilter({ [name]: filterUi[name].checked }));
    for (const id of ["filter-reset", "filtered-reset"]) element(id, HTMLButtonElement).addEventListener("click", () => setFilter(emptyFilter()));
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
