// Save's formats other than pictures: the allocations in view as CSV, the tree as folded stacks, the plot as SVG.
import { context2d, plotOf, themeColor, xOfAxis, yOfBytes } from "./canvas.js";
import { csvInView, isAlive } from "./each_view.js";
import { nextTurn } from "./turns.js";
import { askTree, treeObject } from "./questions.js";
import { saveBlob } from "./save.js";
import { axisNumber, flush, heldMoment, rangeEvents } from "./state.js";
import { bottomBytes, topBytes } from "./window.js";
import { formatBytes, formatCount, make } from "./text.js";

/** Lines `frame;frame BYTES`, outermost frame first, with each node's own bytes. @param {PageTree} node
 * @param {string} above @returns {Generator<string>} */
function* foldedLines(node, above) {
    const name = node.name.replace(/;/g, ",").replace(/\s+/g, " ");
    const path = above && name ? `${above};${name}` : above || name;
    const own = node.bytes - node.children.reduce((sum, child) => sum + child.bytes, 0);
    if (own > 0) yield `${path || "(no stack recorded)"} ${own}\n`;
    for (const child of node.children) yield* foldedLines(child, path);
}

/** Folded stacks of the selected range, otherwise of the memory live at the list's moment. @param {Page} page */
function foldedText(page) {
    const { state, view } = page;
    const range = state.range ? rangeEvents(page, state.range) : null;
    const about = range ? { from: range.first, to: range.end } : { at: heldMoment(page) };
    return [...foldedLines(treeObject(view, askTree(view, about, "callees"), "callees"), "")].join("");
}

/** The number of bands that are drawn one by one, the largest; the others are the grey below them. */
const BANDS_MOST = 2000;

const MARGIN = { left: 76, top: 40, right: 16, bottom: 48 };

function escaped(/** @type {unknown} */ text) {
    return String(text)
        .replace(/[^\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd") // XML forbids these
        .replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

const short = (/** @type {number} */ value) => String(Math.round(value * 100) / 100);

/** A line with steps: each of `ys` holds until the next column.
 * @param {number[]} ys @param {(i: number) => number} xOf */
function stepsPath(ys, xOf) {
    let path = "";
    ys.forEach((y, i) => {
        if (i === 0) path += `${short(xOf(0))} ${short(y)}`;
        else if (y !== ys[i - 1]) path += `H${short(xOf(i))}V${short(y)}`;
    });
    return `${path}H${short(xOf(ys.length))}`;
}

/** The largest allocations that have bands of their own. @param {Page} page @param {number[]} ids */
function largestBands(page, ids) {
    const bytes = new Map(ids.map((id) => [id, page.view.c.allocation(id).bytes]));
    return ids.sort((a, b) => (bytes.get(b) ?? 0) - (bytes.get(a) ?? 0)).slice(0, BANDS_MOST);
}

/** The colour of most pixels of a band, since lines lie over some of them.
 * @param {ImageData} pixels @param {number} x @param {number} low @param {number} high */
function shownColor(pixels, x, low, high) {
    /** @type {Map<string, number>} */
    const seen = new Map();
    for (let i = 1; i < 12; i++) {
        const y = Math.floor(high + ((low - high) * i) / 12);
        const at = (y * pixels.width + x) * 4;
        const color = pixels.data.subarray(at, at + 3).join(",");
        seen.set(color, (seen.get(color) ?? 0) + 1);
    }
    return `rgb(${[...seen].sort(([, a], [, b]) => b - a)[0][0]})`;
}

function bandPath(/** @type {Page} */ page, /** @type {number} */ id, /** @type {ImageData} */ pixels) {
    const { view } = page;
    const plot = plotOf(page);
    const { first, count, edges } = view.outline(id);
    if (count === 0) return "";
    const y = (/** @type {number} */ bytes) => Math.min(plot.height, Math.max(0, yOfBytes(page, bytes)));
    const [below, above] = [0, 1].map((edge) => Array.from({ length: count }, (_, i) => y(edges[2 * i + edge])));
    const heights = below.map((low, i) => low - above[i]);
    const most = Math.max(...heights);
    if (most < 0.2) return "";
    // Not at the edge, because the line between two bands is there.
    const tall = [...heights.keys()].filter((i) => heights[i] > most - 0.5);
    const highest = tall[tall.length >> 1];
    const back = below.slice().reverse();
    const there = (/** @type {number} */ i) => (first + i) / plot.ratio;
    const home = (/** @type {number} */ i) => (first + count - i) / plot.ratio;
    const { bytes, stack } = view.c.allocation(id);
    const color = shownColor(pixels, first + highest, below[highest] * plot.ratio, above[highest] * plot.ratio);
    const title = `${view.stackSite(stack)}, ${formatBytes(bytes)}`;
    return (
        `<path fill="${color}" d="M${stepsPath(above, there)}L${stepsPath(back, home)}Z">` +
        `<title>${escaped(title)}</title></path>\n`
    );
}

/** @param {string | number} x @param {string | number} y @param {string} anchor @param {number} dy
 * @param {string} text */
const label = (x, y, anchor, dy, text) =>
    `<text x="${x}" y="${y}" dy="${dy}" text-anchor="${anchor}">${escaped(text)}</text>\n`;

/** Ticks and their labels. @param {Page} page */
function axesText(page) {
    const { session, state, view } = page;
    const plot = plotOf(page);
    const time = state.axis === "time";
    const line = `stroke="${themeColor("--axis")}"`;
    const parts = session.ticks("bytes", bottomBytes(page), topBytes(page), 6).map((bytes) => {
        const y = short(yOfBytes(page, bytes));
        return `<path ${line} d="M0 ${y}H${plot.width}"/>${label(-6, y, "end", 4, formatBytes(bytes))}`;
    });
    const ends = /** @type {const} */ ([Math.ceil(state.from), Math.floor(state.to)]);
    for (const value of view.facts.events ? session.ticks("decimal", ...ends, 8) : []) {
        const x = short(xOfAxis(page, value));
        const text = time ? `${value / 1e6} s` : value < 0 ? "before" : formatCount(value);
        parts.push(`<path ${line} d="M${x} ${plot.height}v5"/>${label(x, plot.height, "middle", 18, text)}`);
    }
    const title = time ? "seconds since the first event" : "event";
    parts.push(label(plot.width / 2, plot.height, "middle", 38, title));
    return parts.join("");
}

/** The curves of each column's highest total and reserved bytes. @param {Page} page */
function curvesText(page) {
    const { kept, state, view } = page;
    const plot = plotOf(page);
    const width = plot.timeline.width;
    const curve = view.curve(axisNumber(page), state.from, state.to, width, kept.active);
    const x = (/** @type {number} */ i) => i / plot.ratio;
    const y = (/** @type {number} */ bytes) => Math.min(plot.height, Math.max(0, yOfBytes(page, bytes)));
    const grey = `fill="${themeColor("--axis")}" fill-opacity="0.5"`;
    const reserved = Array.from({ length: width }, (_, i) => y(view.c.reserved_at(view.c.event_of_x(i))));
    const line = `<path fill="none" stroke="${themeColor("--text")}" d="M${stepsPath(reserved, x)}"/>\n`;
    return {
        total: `<path ${grey} d="M${stepsPath(Array.from(curve, y), x)}V${plot.height}H0Z"/>\n`,
        reserved: view.facts.reserved_peak > 0 ? line : "",
    };
}

/** The current plot as lines and areas. Sums and segments, which have no bands, are embedded as an image.
 * @param {Page} page @param {number[]} ids of the allocations in view */
function svgText(page, ids) {
    flush(page);
    const { meta, state, view } = page;
    const plot = plotOf(page);
    const { width: columns, height: rows } = plot.timeline;
    const pixels = context2d(plot.timeline).getImageData(0, 0, columns, rows);
    const banded = state.viewBy === "age";
    const { total, reserved } = curvesText(page);
    const bands = banded ? largestBands(page, ids).map((id) => bandPath(page, id, pixels)) : [];
    const url = plot.timeline.toDataURL("image/png");
    const image = `<image width="${plot.width}" height="${plot.height}" href="${url}"/>\n`;
    const [width, height] = [plot.width + MARGIN.left + MARGIN.right, plot.height + MARGIN.top + MARGIN.bottom];
    const title = `${meta.title || meta.file || "Strata"} \u00b7 peak ${formatBytes(view.facts.peak_bytes)}`;
    return (
        `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
        `viewBox="0 0 ${width} ${height}" ` +
        `font-family="sans-serif" font-size="12" fill="${themeColor("--text")}">\n` +
        `<rect width="100%" height="100%" fill="${themeColor("--surface")}"/>\n` +
        `<text x="${MARGIN.left}" y="22">${escaped(title)}</text>\n` +
        `<g transform="translate(${MARGIN.left} ${MARGIN.top})">\n` +
        `${banded ? total + bands.join("") + reserved : image}${axesText(page)}</g>\n</svg>\n`
    );
}

/** @param {Page} page @returns {Promise<number[]>} */
async function idsInView(page) {
    const { state, view } = page;
    const { first, end } = rangeEvents(page, state);
    const ids = [];
    for (let id = 0; id < view.facts.allocations; id++) {
        if (isAlive(page, id, first, end)) ids.push(id);
        if (id % 20000 === 19999) await nextTurn();
    }
    return ids;
}

/** @param {Page} page @returns {[id: string, text: string, title: string, save: () => Promise<void>][]} */
function offers(page) {
    const text = (/** @type {string} */ body, /** @type {string} */ type) => new Blob([body], { type });
    const csv = async () => saveBlob(page, await csvInView(page), "csv");
    const folded = async () => saveBlob(page, text(foldedText(page), "text/plain"), "folded");
    const svg = async () => saveBlob(page, text(svgText(page, await idsInView(page)), "image/svg+xml"), "svg");
    const passing = "Those of the window that pass filter and search, with their stacks";
    return [
        ["save-csv", "CSV of the allocations in view", passing, csv],
        ["save-folded", "Folded stacks of the tree", "A line for each stack, as flame graphs want it", folded],
        ["save-svg", "SVG of the plot", "As lines and areas, each with its name", svg],
    ];
}

export function startExports(/** @type {Page} */ page) {
    const link = page.element("link", HTMLButtonElement);
    for (const [id, text, title, save] of offers(page)) {
        const button = make("button", "", text, { id, title });
        button.addEventListener("click", async () => {
            button.disabled = true;
            await save().finally(() => (button.disabled = false));
        });
        link.before(button);
    }
}
