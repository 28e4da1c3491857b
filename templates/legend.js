// The legend below the timeline: what each colour of the picture is, with its bytes and share at the cursor's moment,
// the largest first, and what lines and patterns mean. It has as many rows as fit, so that no moment moves the plot.
import { momentWords, shownMoment } from "./moment.js";
import { askSums, groupLabel, SLOTS } from "./questions.js";
import { PARTS } from "./session.js";
import { capacityBytes, COLORINGS, isDark, newMemo, perPage, toggleFocus } from "./state.js";
import {
    cssColor,
    formatBytes,
    formatCount,
    formatExactBytes,
    formatPlural,
    formatShare,
    make,
    makeSwatch,
    setText,
    tableFigures,
} from "./text.js";

const SCALE_STEPS = 16;

/** The least width of an entry, in CSS pixels. */
const ENTRY_WIDTH = 235;

const legendOf = perPage(() => newMemo());

const linesOf = perPage(() => newMemo());

/** @param {Page} page @param {number} by @param {number} key */
export const keyColor = (page, by, key) => cssColor(page.view.c.key_color(by, key, isDark(page) ? 1 : 0));

/** The colour of a group in a picture that is coloured by such groups.
 * @param {Page} page @param {string} by @param {number} key */
export const groupColor = (page, by, key) =>
    by === page.state.colorBy ? keyColor(page, COLORINGS.indexOf(by), key) : "";

/** Makes a row of swatches, from small to large, with words at both ends and in between.
 * @param {Page} page @param {number} by @param {(value: number) => string} format */
function scaleItem(page, by, format) {
    const item = make("li", "legend-scale");
    const begins = Array.from({ length: SCALE_STEPS }, (_, key) => page.view.c.key_from(by, key));
    const below = `below ${format(begins.find((value, key) => key > 0 && value > 0) ?? 0)}`;
    for (const [key, from] of begins.entries()) {
        // A short recording does not use all of them.
        if (key > 0 && from === 0) continue;
        const swatch = make("i");
        swatch.style.background = keyColor(page, by, key);
        const words = key === 0 ? below : format(from);
        const name = key % 5 === 0 ? make("b", "", words) : "";
        item.append(make("span", "legend-step", swatch, name, { title: key === 0 ? below : `from ${words}` }));
    }
    return item;
}

/** @typedef {{color: string, name: string, bytes: number, focus: Focus}} Entry */

/** The entries of a moment, the largest first, at most so many, and the bytes of all. @param {Page} page
 * @param {number} event @param {number} most @returns {{entries: Entry[], bytes: number, count: number}} */
export function legendEntries(page, event, most) {
    const { session, state, view } = page;
    const by = /** @type {Focus["by"]} */ (state.colorBy);
    if (by === "site" || state.colorBy === "each") {
        const { count, bytes } = view.groups(event, "parts");
        const entries = view.firstGroups(most).map(({ site, part, bytes }) => {
            const focus = /** @type {Focus} */ ({ by: "site", id: site });
            return {
                color: by === "site" ? view.siteColor(site, isDark(page)) : "",
                name: session.siteText(site) + PARTS[part],
                bytes,
                focus,
            };
        });
        return { entries, bytes, count };
    }
    const sums = askSums(view, SLOTS.once, { at: event }, by);
    const entry = (/** @type {number} */ key, /** @type {number} */ bytes) => {
        return { color: groupColor(page, by, key), name: groupLabel(view, by, key), bytes, focus: { by, id: key } };
    };
    const entries = Array.from({ length: Math.min(most, sums.groups) }, (_, i) => {
        const { key, bytes } = sums.row(i);
        return entry(key, bytes);
    });
    // What the picture shows at other moments follows, where there is room.
    const seen = new Set(entries.map(({ focus }) => focus.id));
    const counts = { stream: view.facts.streams, pool: view.facts.pools, category: session.categories.length };
    const made = state.colorBy === "category" ? view.c.categories_made() : -1;
    const known = /** @type {Record<string, number>} */ (counts)[state.colorBy];
    for (let key = state.colorBy === "pool" ? 1 : 0; key < known && entries.length < most; key++)
        if (!seen.has(key) && (made < 0 || (made >> key) & 1)) entries.push(entry(key, 0));
    return { entries, bytes: sums.bytes, count: Math.max(sums.groups, entries.length) };
}

/** Rows of the legend, and how many entries lie side by side. @param {HTMLElement} box */
function legendRoom(box) {
    const { columnGap, gridTemplateRows, paddingLeft, paddingRight } = getComputedStyle(box);
    const rows = gridTemplateRows.split(" ").length;
    const width = box.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    const gap = parseFloat(columnGap) || 0;
    return { rows, columns: Math.max(1, Math.floor((width + gap) / (ENTRY_WIDTH + gap))) };
}

/** @param {string} name @param {string} figure @param {string} share @param {string} title */
const entryParts = (name, figure, share, title) => [
    make("span", "legend-name", name, { title }),
    make("span", "legend-bytes", figure),
    make("span", "legend-share", share),
];

/** Draws what the colours are at the shown moment. @param {Page} page */
export function drawLegend(page) {
    const { kept, state, ui } = page;
    // Parts of call sites need categories, which are found in turns.
    if (page.opening || ui.legend.offsetParent === null) return;
    const moment = shownMoment(page);
    const { rows, columns } = legendRoom(ui.legend);
    const room = [rows, columns, capacityBytes(page), page.search.version, state.only];
    const keys = [state.device, moment, state.colorBy, isDark(page), kept.version, ...room];
    legendOf(page)(keys, () => fillLegend(page, moment, rows, columns));
}

/** Lines that are shown where it is folded. One column names what holds a fifth of the peak, at most three things; not
 * of the moment, because no moment moves the plot. @param {Page} page @param {number} columns */
function foldedLines(page, columns) {
    const { kept, search, state, view } = page;
    const large = () => {
        const { entries, bytes } = legendEntries(page, view.facts.peak_event, 3);
        return Math.max(1, entries.filter((entry) => entry.bytes * 5 >= bytes).length);
    };
    return columns > 1 ? 1 : linesOf(page)([state.device, state.colorBy, kept.version, search.version], large);
}

/** @param {Page} page @param {number} moment @param {number} rows @param {number} columns */
function fillLegend(page, moment, rows, columns) {
    const { state, view } = page;
    const { legend: box, legendOpen: open } = page.ui;
    box.style.setProperty("--columns", String(columns));
    const scales = {
        size: () => scaleItem(page, 1, formatBytes),
        age: () => scaleItem(page, 2, (events) => formatPlural(events, "event")),
    };
    const scale = /** @type {Record<string, () => HTMLElement>} */ (scales)[state.colorBy];
    setText(open, "more");
    if (scale) {
        box.replaceChildren(scale(), ...patternItems(page));
        return;
    }
    const keys = rows * columns < 9 ? [] : patternItems(page);
    const most = rows * columns - 1 - keys.length;
    const { entries, bytes, count } = legendEntries(page, moment, most);
    const { text } = tableFigures(entries[0]?.bytes ?? 0);
    const items = entries.map(({ color, name, bytes: part, focus }) => {
        const title = `${name}: ${formatExactBytes(part)} ${momentWords(page, moment)}`;
        const words = entryParts(name, text(part), formatShare(part, bytes), title);
        const item = make("li", "legend-entry", makeSwatch(color), ...words);
        item.addEventListener("click", () => toggleFocus(page, focus));
        return item;
    });
    const rest = bytes - entries.reduce((sum, entry) => sum + entry.bytes, 0);
    const more = `${formatCount(count - entries.length)} more`;
    if (count > entries.length) {
        const title = `All others: ${formatExactBytes(rest)}; Who lists them`;
        const words = entryParts(more, text(rest), formatShare(rest, bytes), title);
        items.push(make("li", "legend-entry legend-rest", make("i", "swatch"), ...words));
    }
    box.setAttribute("aria-label", `${formatBytes(bytes)} ${momentWords(page, moment)}, by colour`);
    const lines = foldedLines(page, columns);
    box.parentElement?.style.setProperty("--lines", String(lines));
    setText(open, `${formatCount(Math.max(0, count - columns * lines))} more`);
    box.replaceChildren(...items, ...keys);
    view.held = { count: 0, allocations: 0, bytes: 0 };
}

/** @param {string} kind @param {string} text @param {string} title */
const patternItem = (kind, text, title) => make("li", "legend-key", make("i", `key-${kind}`), text, { title });

/** Lines and patterns that this recording can show. @param {Page} page */
function patternItems(page) {
    const { view } = page;
    const items = [];
    if (view.facts.reserved_peak > 0) items.push(patternItem("line", "reserved", "What PyTorch holds of the GPU"));
    if (capacityBytes(page) > 0)
        items.push(patternItem("dash", `capacity ${formatBytes(capacityBytes(page))}`, "Memory of the GPU"));
    const older = "Allocated before the recording began: paler, with dots";
    if (view.facts.preexisting > 0) items.push(patternItem("dots", "older than the recording", older));
    const waits = "Its memory cannot be used again until that stream is done";
    if (view.facts.pending > 0) items.push(patternItem("hatch", "freed, waits for another stream", waits));
    return items;
}
