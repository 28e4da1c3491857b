// The filter: which allocations are stacked at all. The module keeps one bit for each; here are the form, its words
// ("20 MiB", "500", "2 ms") and the counts.
import { change, kept, state, view } from "./state.js";
import { boundedInteger, formatBytes, formatCount, formatPlural } from "./text.js";

/** Units of sizes, 1024-based also without the i, as on the command line. */
const SIZE_UNITS = "BKMGTP";

/** @type {Record<string, number>} */
const AGE_UNITS = { us: 1, "\u00b5s": 1, ms: 1e3, s: 1e6, min: 60e6, h: 3600e6 };

/** @returns {PageFilter} */
export function emptyFilter() {
    return { leastBytes: "", mostBytes: "", leastAge: "", mostAge: "", stream: -1, pool: -1, atPeak: false, atEnd: false, own: false };
}

/** True if the filter takes nothing away. @param {PageFilter} filter */
export function filterIsEmpty(filter) {
    return JSON.stringify(filter) === JSON.stringify(emptyFilter());
}

/** Bytes of "20 MiB", "4k" or "512"; null: no size; NaN: not understood. @param {string} text @returns {number | null} */
export function sizeOfText(text) {
    if (text.trim() === "") return null;
    const parts = /^\s*(\d+(?:\.\d+)?)\s*((?:[kmgtp]i?)?)b?\s*$/i.exec(text);
    if (!parts) return NaN;
    return Math.round(Number(parts[1]) * 1024 ** Math.max(0, SIZE_UNITS.indexOf(parts[2].charAt(0).toUpperCase() || "B")));
}

/** Events of "500", or microseconds of "2 ms". @param {string} text @returns {{value: number, us: boolean} | null} */
export function ageOfText(text) {
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
    return {
        least_bytes: bytes[0] ?? 0, most_bytes: bytes[1] ?? Infinity, least_age: ages[0]?.value ?? 0, most_age: ages[1]?.value ?? Infinity, age_in_us: us ? 1 : 0,
        stream: filter.stream, pool: filter.pool, at_peak: filter.atPeak ? 1 : 0, at_end: filter.atEnd ? 1 : 0, own: filter.own ? 1 : 0,
    };
}

/** Brings the module's filter up to the state. */
function applyFilter() {
    const { filter } = state;
    const bounds = filterBounds(filter);
    kept.active = !filterIsEmpty(filter) && bounds !== null;
    kept.top = 0;
    kept.version++;
    if (!kept.active || !bounds) {
        view.c.filter_off();
        return;
    }
    const { allocations, peak_bytes, highest } = view.filter(bounds);
    Object.assign(kept, { allocations, bytesAtPeak: peak_bytes });
    if (highest > 0 && highest * 3 < view.c.headroom(-1, view.facts.events, 0)) kept.top = Math.ceil((highest * 17) / 16);
}

/** Fields that are not named stay; emptyFilter() takes all of it away. @param {Partial<PageFilter>} fields */
export function setFilter(fields) {
    const filter = { ...state.filter, ...fields };
    if (filter.stream >= view.facts.streams) filter.stream = -1;
    if (filter.pool >= view.facts.pools) filter.pool = -1;
    change({ filter });
    applyFilter();
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

/** "12 of 1,014 allocations, 1.2 GiB of 7.3 GiB". */
export function keptText() {
    return `${formatCount(kept.allocations)} of ${formatPlural(view.facts.allocations, "allocation")} \u00b7 ${formatBytes(kept.bytesAtPeak)} of ${formatBytes(view.facts.peak_bytes)}`;
}

/** What the page shows of a filtered recording, and what it shows of all of it. */
export function keptSentence() {
    const line = view.facts.reserved_peak > 0 && !kept.top ? ", the reserved line" : "";
    const others = `The header's figures${line} and the marks are those of all.`;
    if (kept.allocations === 0) return `No allocation passes the filter. ${others}`;
    return `Filtered: ${keptText()} at the peak${kept.top ? ", on a scale of their own" : ""}. ${others}`;
}
