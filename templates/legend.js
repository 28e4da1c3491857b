// The legend below the timeline: what lines and patterns mean and, in colourings other than by call site, what each
// colour means. By call site the list beside the timeline is the legend.
import { poolName, streamText } from "./describe.js";
import { momentWords, shownMoment } from "./moment.js";
import { askSums, bytesOfKeys, SLOTS } from "./questions.js";
import { OF_FREE, PARTS } from "./session.js";
import { capacityBytes, COLORINGS, heldMoment, isDark, perPage } from "./state.js";
import {
    cssColor,
    formatBytes,
    formatCount,
    formatExactBytes,
    formatPlural,
    make,
    makeSwatch,
    setText,
    tableFigures,
} from "./text.js";

const LEGEND_MOST = 14;

const SCALE_STEPS = 16;

export const legendOf = perPage((page) => page.element("legend", HTMLUListElement));

/** @param {string} text @param {string} color @param {string} [title] */
const legendItem = (text, color, title) => make("li", "", makeSwatch(color), text, { title });

/** @param {Page} page @param {number} by @param {number} key */
export const keyColor = (page, by, key) => cssColor(page.view.c.key_color(by, key, isDark(page) ? 1 : 0));

/** The colour of a group in a picture that is coloured by such groups.
 * @param {Page} page @param {string} by @param {number} key */
export const groupColor = (page, by, key) =>
    by === page.state.colorBy ? keyColor(page, COLORINGS.indexOf(by), key) : "";

/** Adds a row of swatches, from small to large, with words at both ends and in between.
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

/** Bytes of each colour after an event. @param {Page} page @param {number} event */
const bytesOfColors = (page, event) => bytesOfKeys(askSums(page.view, SLOTS.once, { at: event }, page.state.colorBy));

/** The part of the legend that follows the moment. */
const followingOf = perPage(
    () =>
        /** @type {{when: HTMLElement | null, figures: Map<number, HTMLElement>}} */ ({
            when: null,
            figures: new Map(),
        }),
);

/** Writes the bytes of the names at the shown moment; their order stays that of the peak. @param {Page} page */
export function drawLegendFigures(page) {
    const following = followingOf(page);
    if (!following.when) return;
    const moment = shownMoment(page);
    const bytes = bytesOfColors(page, moment);
    const when = momentWords(page, moment);
    setText(following.when, `${when.charAt(0).toUpperCase()}${when.slice(1)}:`);
    const { text } = tableFigures(Math.max(...bytes.values()));
    for (const [key, figure] of following.figures) {
        setText(figure, text(bytes.get(key) ?? 0));
        figure.title = formatExactBytes(bytes.get(key) ?? 0);
    }
}

/** Adds the colours that have names, the largest at the peak first. @param {number} by @param {string[]} names */
function namedItems(/** @type {Page} */ page, by, names) {
    const following = followingOf(page);
    const peak = bytesOfColors(page, page.view.facts.peak_event);
    const known = names.map((name, key) => ({ name, key, bytes: peak.get(key) ?? 0 }));
    known.sort((a, b) => b.bytes - a.bytes || a.key - b.key);
    // Keys without bytes at the peak are listed too, except for the pool "unknown" and categories that never occur.
    const made = by === 5 ? page.view.c.categories_made() : 0;
    const shown = known
        .filter(({ bytes, key }) => bytes > 0 || by === 3 || (by === 4 && key > 0) || (made >> key) & 1)
        .slice(0, LEGEND_MOST);
    if (shown.length === 0) return [];
    const items = shown.map(({ name, key }) => {
        const item = legendItem(name, keyColor(page, by, key));
        const figure = make("span", "legend-figure");
        following.figures.set(key, figure);
        item.append(" ", figure);
        return item;
    });
    const rest = names.length - shown.length;
    if (rest > 0 && shown.length === LEGEND_MOST)
        items.push(make("li", "legend-more", `and ${formatCount(rest)} more`));
    following.when = make("li", "legend-more legend-when");
    return [following.when, ...items];
}

function colorItems(/** @type {Page} */ page) {
    const { session, state, view } = page;
    const streams = () => Array.from({ length: view.facts.streams }, (_, i) => `stream ${streamText(page, i)}`);
    const pools = () => Array.from({ length: view.facts.pools }, (_, i) => poolName(page, i));
    const named = (/** @type {string} */ pool) => (pool.startsWith("(") ? `pool ${pool}` : `${pool} pool`);
    switch (state.colorBy) {
        case "size":
            return [scaleItem(page, 1, formatBytes)];
        case "age":
            return [scaleItem(page, 2, (events) => formatPlural(events, "event"))];
        case "stream":
            return namedItems(page, 3, streams());
        case "pool":
            return namedItems(page, 4, pools().map(named));
        case "category":
            return namedItems(page, 5, session.categoryNames());
        default:
            return [];
    }
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

/** Call sites that the picture shows and the list lacks, because next to nothing of them is alive at the list's
 * moment. */
const alsoOf = perPage(() => make("li", "legend-also"));

/** Does a part of the search for them. True: it goes on. @param {Page} page */
export const findsAlsoShown = (page) => alsoOf(page).isConnected && page.view.c.also_step(heldMoment(page)) === 1;

/** Lists them once the view rests. The line exists before, so that nothing moves. @param {Page} page */
export function drawAlsoShown(page) {
    const { session, view } = page;
    const also = alsoOf(page);
    const shown = Array.from({ length: also.isConnected ? view.c.also_shown(heldMoment(page)) : 0 }, (_, i) =>
        view.c.also(i),
    );
    const { text } = tableFigures(Math.max(0, ...shown.map(({ bytes }) => bytes)));
    const items = shown.map(({ site, bytes, of_free }) => {
        const name = `${session.siteText(site)}${of_free ? PARTS[OF_FREE] : ""} ${text(bytes)}`;
        return make("span", "", makeSwatch(view.siteColor(site, isDark(page))), name);
    });
    also.replaceChildren(
        items.length
            ? "Also in the picture, each with its highest bytes:"
            : "Every colour of the picture is in the list.",
        ...items,
    );
    also.title = also.innerText;
    const rest = make("span");
    also.append(rest);
    // Entries that do not fit are counted; the title lists all of them.
    for (let left = items.length - 1; left >= 0 && also.scrollWidth > also.clientWidth; left--) {
        items[left].remove();
        setText(rest, `${formatCount(items.length - left)} more`);
        if (left === 0)
            also.replaceChildren(
                `${formatCount(items.length)} more call site${items.length === 1 ? " is" : "s are"} shown but ` +
                    `hold${items.length === 1 ? "s" : ""} nothing at this moment.`,
            );
    }
}

export function drawLegend(/** @type {Page} */ page) {
    const following = followingOf(page);
    const legendUi = legendOf(page);
    following.when = null;
    following.figures.clear();
    legendUi.replaceChildren(
        ...colorItems(page),
        ...patternItems(page),
        ...(page.state.colorBy === "site" && page.state.viewBy === "age" ? [alsoOf(page)] : []),
    );
    drawLegendFigures(page);
    legendUi.hidden = legendUi.childElementCount === 0;
}
