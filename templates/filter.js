// The filter: which allocations are stacked at all. Its fields become words of one grammar (layout/filter.h), which the
// module understands; the address and the command line use the same words.
import { change, emptyFilter, perPage } from "./state.js";
import { dotted, formatBytes, formatCount, formatPlural } from "./text.js";
import { Matcher, selectWords } from "./words.js";

const FILTER_SLOT = 0;

/** The number of times that the filter has run, and the matcher of its expressions. */
const runsOf = perPage(() => /** @type {{count: number, matcher: Matcher | null}} */ ({ count: 0, matcher: null }));

/** The word of each field; words have no blanks: "20 MiB" is size:>=20MiB. */
const TEXTS = /** @type {const} */ ({
    leastBytes: "size:>=",
    mostBytes: "size:<=",
    leastAge: "age:>=",
    mostAge: "age:<=",
});
const INDICES = /** @type {const} */ ({ stream: "stream:", pool: "pool:" });
const SWITCHES = /** @type {const} */ ({ atPeak: "alive:peak", atEnd: "alive:end", own: "own:yes" });

/** The names of fields of each kind. */
export const TEXT_FIELDS = namesOf(TEXTS);
export const INDEX_FIELDS = namesOf(INDICES);
export const SWITCH_FIELDS = namesOf(SWITCHES);

/** @template {object} T @param {T} fields @returns {(keyof T)[]} */
function namesOf(fields) {
    return /** @type {(keyof T)[]} */ (Object.keys(fields));
}

/** Does the filter leave everything? @param {PageFilter} filter */
export const filterIsEmpty = (filter) => filterWords(filter) === "";

/** The filter as words. @param {PageFilter} filter */
export function filterWords(filter) {
    const texts = TEXT_FIELDS.map((name) => [TEXTS[name], filter[name].replace(/\s+/g, "")]);
    return [
        filter.words.trim(),
        ...texts.map(([word, value]) => value && word + value),
        ...INDEX_FIELDS.map((name) => (filter[name] >= 0 ? INDICES[name] + filter[name] : "")),
        ...SWITCH_FIELDS.map((name) => (filter[name] ? SWITCHES[name] : "")),
    ]
        .filter(Boolean)
        .join(" ");
}

/** Sets the field that a word stands for. False: no field has this word. @param {PageFilter} filter
 * @param {string} word */
function takeWord(filter, word) {
    const after = (/** @type {string} */ begin) => (word.startsWith(begin) ? word.slice(begin.length) : "");
    const text = TEXT_FIELDS.find((name) => /^\d\S*$/.test(after(TEXTS[name])));
    const index = INDEX_FIELDS.find((name) => /^\d{1,5}$/.test(after(INDICES[name])));
    const on = SWITCH_FIELDS.find((name) => word === SWITCHES[name]);
    if (text) filter[text] = after(TEXTS[text]);
    if (index) filter[index] = Number(after(INDICES[index]));
    if (on) filter[on] = true;
    return Boolean(text ?? index ?? on);
}

/** The fields of the form for words; words without a field stay words. @param {string | null} text
 * @returns {PageFilter} */
export function filterOfText(text) {
    const filter = emptyFilter();
    const words = (text ?? "").match(/(?:"[^"]*"|\/(?:\\.|[^/\\])*\/|\S)+/g) ?? [];
    const others = words.filter((word) => !takeWord(filter, word));
    return { ...filter, words: others.join(" ") };
}

function finishFilter(/** @type {Page} */ page, /** @type {string} */ error) {
    const { kept, view } = page;
    kept.error = error;
    kept.active = error === "";
    kept.top = 0;
    kept.version++;
    if (kept.active) {
        const { allocations, peak_bytes, highest } = view.c.kept();
        Object.assign(kept, { allocations, bytesAtPeak: peak_bytes });
        if (highest > 0 && highest * 3 < view.c.headroom(-1, view.facts.events, 0))
            kept.top = Math.ceil((highest * 17) / 16);
    }
    change(page, { filtered: kept.version });
}

/** Updates the view's filter to the state. @param {Page} page */
function applyFilter(page) {
    const { kept, session, state, view } = page;
    const runs = runsOf(page);
    const words = filterWords(state.filter);
    const nth = ++runs.count;
    Object.assign(kept, { active: false, error: "", top: 0 });
    view.c.filter_off();
    if (words === "") {
        kept.version++;
        change(page, { filtered: kept.version });
        return;
    }
    runs.matcher ??= new Matcher(session);
    const isCurrent = () => nth === runs.count;
    const done = (/** @type {string} */ error) => finishFilter(page, error);
    kept.done = selectWords(view, runs.matcher, FILTER_SLOT, words, isCurrent, done);
}

/** Does the device have the stream and the pool that the filter names? @param {Page} page @param {PageFilter} filter */
export const hasStreamAndPool = (page, { stream, pool }) =>
    stream < page.view.facts.streams && pool < page.view.facts.pools;

/** Sets fields of the filter; the others stay. Give emptyFilter() to clear it. @param {Partial<PageFilter>} fields */
export function setFilter(/** @type {Page} */ page, fields) {
    const { state, view } = page;
    const filter = { ...state.filter, ...fields };
    if (filter.stream >= view.facts.streams) filter.stream = -1;
    if (filter.pool >= view.facts.pools) filter.pool = -1;
    change(page, { filter });
    applyFilter(page);
}

/** "12 of 1,014 allocations, 1.2 GiB of 7.3 GiB". @param {Page} page */
export function keptText({ kept, view }) {
    const count = `${formatCount(kept.allocations)} of ${formatPlural(view.facts.allocations, "allocation")}`;
    return dotted(count, `${formatBytes(kept.bytesAtPeak)} of ${formatBytes(view.facts.peak_bytes)}`);
}

/** The filtered figures of a recording beside those of the whole, in a sentence. @param {Page} page */
export function keptSentence(page) {
    const { kept, view } = page;
    const line = view.facts.reserved_peak > 0 && !kept.top ? ", the reserved line" : "";
    const others = `The header's figures${line} and the marks still count all allocations.`;
    if (kept.allocations === 0) return `No allocation passes the filter. ${others}`;
    return `Filtered: ${keptText(page)} at the peak${kept.top ? ", with a scale of its own" : ""}. ${others}`;
}
