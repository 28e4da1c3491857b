// "Save PNG": draws the current view on a canvas: title, timeline with its axes and lane, legend or call sites.
import { addressOf, writeHash } from "./address.js";
import { FRAME_USER } from "page_api";
import { axisHeight, context2d, cutText, pen, theme, themeColor } from "./canvas.js";
import { pinnedStack, pinnedText } from "./details.js";
import { picturedRows } from "./device_rows.js";
import { LETTERS } from "./ends.js";
import { keptText } from "./filter.js";
import { legendEntries } from "./legend.js";
import { mapForPicture } from "./map_view.js";
import { rangeText } from "./overlay.js";
import { saveBlob } from "./save.js";
import { allocationWord, capacityBytes, drawApart, heldMoment, isDark, momentText, timedDevices } from "./state.js";
import {
    copyText,
    cssColor,
    deviceName,
    dotted,
    flashButton,
    formatBytes,
    formatPlural,
    formatShare,
    stripesOf,
    tableFigures,
} from "./text.js";

const PICTURE_ROWS = 8;

/** The most frames of the pinned stack. */
const PICTURE_FRAMES = 8;

const ROW = 20;

/** Height of title and subtitle. */
const HEAD = 52;

/** @typedef {{color?: string, stripes?: ReturnType<typeof stripesOf>, text: string, strong?: boolean, line?: "line" |
 * "dash"}} PictureLine a swatch or a line, and a text */

/** The legend's title and its lines: a colour and a text. @param {Page} page @returns {PictureLine[]} */
function legendLines(page) {
    const { state, view } = page;
    const moment = heldMoment(page);
    const steps = page.ui.legend.querySelectorAll(".legend-step");
    if (["size", "age"].includes(state.colorBy))
        return [
            { text: "Colours", strong: true },
            ...Array.from(steps, (step) => ({
                color: /** @type {HTMLElement | null} */ (step.querySelector("i"))?.style.background ?? "",
                text: /** @type {HTMLElement} */ (step).title,
            })).filter((_, i) => i % 3 === 0),
        ];
    const live = view.c.live_at(moment);
    const { entries, bytes } = legendEntries(page, moment, PICTURE_ROWS);
    const sum = bytes === live ? formatBytes(live) : `${formatBytes(bytes)} of ${formatBytes(live)}`;
    const peak = `At the peak${view.facts.events ? `, ${momentText(page, moment)}` : ""}`;
    const when = moment === view.facts.peak_event ? peak : `After ${momentText(page, moment)}`;
    const figure = tableFigures(entries[0]?.bytes ?? 0).text;
    return [
        { text: dotted(when, sum), strong: true },
        ...entries.map(({ color, name, bytes: part, focus }) => {
            const value = focus.by === "site" ? view.c.site_color(focus.id, isDark(page) ? 1 : 0) : 0;
            const text = `${name}  ${figure(part)} (${formatShare(part, live)})`;
            return { color: value ? cssColor(value) : color, stripes: stripesOf(value), text };
        }),
    ];
}

/** The key of the picture's lines and plates. @param {Page} page @returns {PictureLine[]} */
function keyLines(page) {
    const { search, state, view } = page;
    /** @type {PictureLine[]} */
    const keys = [];
    if (view.facts.reserved_peak > 0)
        keys.push({ text: `reserved \u00b7 at most ${formatBytes(view.facts.reserved_peak)}`, line: "line" });
    if (capacityBytes(page)) keys.push({ text: `capacity ${formatBytes(capacityBytes(page))}`, line: "dash" });
    if (state.range) keys.push({ color: themeColor("--select"), text: `selected: ${rangeText(page, state.range)}` });
    state.marks.forEach(({ event, note }, i) =>
        keys.push({
            color: themeColor(`--mark-${LETTERS[i].toLowerCase()}`),
            text: `${LETTERS[i]}: ${momentText(page, event)}${note && ` \u00b7 ${note}`}`,
        }),
    );
    const { allocations, bytesAtPeak } = search.result;
    const found = `${formatPlural(allocations, allocationWord(page))}, ${formatBytes(bytesAtPeak)} at the peak`;
    if (state.search && search.ready)
        keys.push({ color: themeColor("--hit"), text: dotted(`search: ${state.search}`, found) });
    return keys;
}

export const pictureLines = (/** @type {Page} */ page) => [...legendLines(page), ...keyLines(page)];

/** The pinned thing, with the user's own frames of its stack. @param {Page} page @returns {PictureLine[]} */
function pinnedLines(page) {
    const { session, state, view } = page;
    const stack = pinnedStack(page);
    if (state.selected === null && stack === 0) return [];
    const frames = session.stackFrames(stack);
    const own = frames
        .filter((id, i) => view.c.frame_kind(id) === FRAME_USER && id !== frames[i - 1])
        .slice(0, PICTURE_FRAMES);
    const rest = frames.length - own.length;
    const title = state.selected === null ? "Highlighted" : "Pinned";
    const lines = [
        { text: `${title}: ${pinnedText(page)}`, strong: true },
        ...own.map((id, i) => ({ text: `${i ? "\u2039 " : ""}${session.siteText(id)}` })),
    ];
    return rest > 0 ? [...lines, { text: `${formatPlural(rest, "other frame")}` }] : lines;
}

/** The picture's title and the line below it. @param {Page} page @param {number} rows */
function pictureTitle(page, rows) {
    const { kept, meta, session, state, view } = page;
    const all = timedDevices(page).length;
    const device = state.all
        ? `${rows < all ? `${rows} of ` : ""}${formatPlural(all, "device")}`
        : `device ${deviceName(session.devices[state.device].ordinal)}`;
    const peak = state.all ? "on one axis of time" : `peak ${formatBytes(view.facts.peak_bytes)}`;
    const by = `coloured by ${page.ui.color.selectedOptions[0]?.text ?? state.colorBy}`;
    const filter = kept.active ? `filtered: ${keptText(page)}` : "";
    return { title: String(meta.title || meta.file || "Strata"), more: dotted(device, peak, by, filter) };
}

/** Draws lines of one part of the picture, in columns below a heading. @param {Context} context
 * @param {PictureLine[]} lines @param {number} top @param {number} width @param {number} columns */
function drawLines(context, lines, top, width, columns) {
    const column = (width - 32) / columns;
    const rows = Math.ceil(lines.filter(({ strong }) => !strong).length / columns);
    const head = lines[0]?.strong ? 1 : 0;
    lines.forEach(({ color, stripes = [], text, strong, line }, i) => {
        const nth = i - head;
        const x = strong ? 16 : 16 + Math.floor(nth / rows) * column;
        const y = top + (strong ? 0 : head + (nth % rows)) * ROW;
        context.fillStyle = color ?? themeColor("--text");
        if (line)
            for (let at = 0; at < 16; at += line === "dash" ? 7 : 16)
                context.fillRect(x + at, y + 9, line === "dash" ? 5 : 16, 1);
        else if (color) context.fillRect(x, y + 3, 12, 12);
        for (const { ink, wide, from } of stripes) {
            context.fillStyle = ink;
            context.fillRect(x + from, y + 3, wide, 12);
        }
        pen(context, { font: `${strong ? "600 " : ""}12px ${theme.font}`, fillStyle: themeColor("--text") });
        const indent = line || color ? 20 : 0;
        context.fillText(cutText(context, text, (strong ? width - 32 : column - 10) - indent), x + indent, y + 9);
    });
    return (rows + head) * ROW;
}

/** Draws the labels of the markers, which are elements on the page.
 * @param {Context} context @param {HTMLElement} markers @param {number} top */
function drawPictureMarkers(context, markers, top) {
    context.font = `12px ${theme.font}`;
    for (const button of markers.querySelectorAll("button")) {
        const middle = button.offsetLeft;
        const half = button.offsetWidth / 2;
        context.fillStyle = getComputedStyle(button).backgroundColor;
        context.beginPath();
        context.roundRect(middle - half, top + button.offsetTop, half * 2, 20, 9);
        context.fill();
        pen(context, { fillStyle: getComputedStyle(button).color, textAlign: "center" });
        context.fillText(button.textContent ?? "", middle, top + button.offsetTop + 10);
        context.textAlign = "left";
    }
}

/**
 * Draws a line of text on the picture.
 * @param {Context} context @param {string} text
 * @param {number} y its middle
 * @param {number} width of the picture
 * @param {string} [font] @param {string} [color]
 */
function drawTitle(context, text, y, width, font = "12px", color = "--dim") {
    pen(context, { font: `${font} ${theme.font}`, fillStyle: themeColor(color) });
    context.fillText(cutText(context, text, width - 32), 16, y);
}

/**
 * Draws the picture on a canvas, step by step.
 * @param {Page} page
 * @param {number} scale pixels for each CSS pixel
 * @param {boolean} inside whether names and lines are written in the plot
 * @param {boolean} [worded] with its title and what its colours are
 */
export function* makePicture(page, scale, inside, worded = true) {
    const { gutter, plot } = page;
    const pictured = yield* picturedRows(page, scale, inside);
    yield;
    const below = mapForPicture(page, scale);
    yield;
    const width = plot.width + gutter.left + gutter.right;
    const columns = width >= 900 ? 2 : 1;
    const parts = [
        { lines: legendLines(page), columns },
        { lines: keyLines(page), columns },
        { lines: pinnedLines(page), columns: 1 },
    ].filter(({ lines }) => worded && lines.length > 0);
    const rowsOf = (/** @type {typeof parts[0]} */ { lines, columns: most }) =>
        lines.filter(({ strong }) => strong).length + Math.ceil(lines.filter(({ strong }) => !strong).length / most);
    let height = worded ? HEAD : 0;
    const tops = pictured.map(({ head, height: own, pane }) => {
        const top = height + (head ? ROW : 0);
        height = top + own + (pane === plot ? axisHeight(page) : 8);
        return top;
    });
    const mapTop = height + (below ? below.lines.length * ROW + 4 : 0);
    if (below) height = mapTop + below.height + 8;
    const partsTop = height;
    height += parts.reduce((sum, part) => sum + rowsOf(part) * ROW + 8, 0) + 8;
    const canvas = document.createElement("canvas");
    const context = context2d(canvas);
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    context.scale(scale, scale);
    context.fillStyle = themeColor("--surface");
    context.fillRect(0, 0, width, height);
    const { title, more } = pictureTitle(page, pictured.length);
    context.textBaseline = "middle";
    if (worded) drawTitle(context, title, 18, width, "600 15px", "--text");
    if (worded) drawTitle(context, more, 38, width);
    const place = (/** @type {HTMLCanvasElement} */ from, /** @type {number} */ x, /** @type {number} */ y) => {
        context.drawImage(from, x, y, from.width / scale, from.height / scale);
        return { x: x * scale, y: y * scale, width: from.width, height: from.height };
    };
    const rows = pictured.map(({ device, pane, head, timeline, axes }, i) => {
        const placed = place(timeline, gutter.left, tops[i] + gutter.top);
        place(axes, 0, tops[i]);
        drawPictureMarkers(context, pane.markers, tops[i]);
        if (head) drawTitle(context, head, tops[i] - 4, width, "600 12px", "--text");
        return { device: page.session.devices[device].ordinal, ...placed };
    });
    below?.lines.forEach((line, i) => {
        const y = mapTop - 14 - (below.lines.length - 1 - i) * ROW;
        drawTitle(context, line, y, width, i ? "12px" : "600 12px", i ? "--dim" : "--text");
    });
    const mapPlace = below ? place(below.picture, gutter.left, mapTop) : null;
    if (below && inside) place(below.marks, 0, mapTop);
    let top = partsTop;
    for (const { lines, columns: most } of parts) top += drawLines(context, lines, top, width, most) + 8;
    const own = rows[pictured.findIndex(({ pane }) => pane === plot)];
    return { canvas, plot: own, rows: page.state.all ? rows : [], map: mapPlace };
}

/**
 * The picture as a PNG, and the places in it.
 * @param {Page} page @param {number} scale pixels for each CSS pixel @param {boolean} inside see makePicture
 */
export async function pictureFile(page, scale, inside) {
    const { canvas, ...places } = await drawApart(page, makePicture(page, scale, inside));
    /** @type {Blob | null} */
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    if (!blob) throw new Error("There is not enough memory in this tab for the picture.");
    return { blob, ...places };
}

async function savePicture(/** @type {Page} */ page, /** @type {number} */ scale) {
    const { session, state } = page;
    const device = state.all ? "-devices" : `-device${deviceName(session.devices[state.device].ordinal)}`;
    const { blob } = await pictureFile(page, scale, true);
    saveBlob(page, blob, "png", `${device}${scale > 1 ? `-${scale}x` : ""}`);
}

export function startPicture(/** @type {Page} */ page) {
    page.onClick("save", () => savePicture(page, 1));
    page.onClick("save-2", () => savePicture(page, 2));
    page.onClick("link", async () => {
        writeHash(page);
        await copyText(location.href.replace(/#.*/, "") + addressOf(page));
        flashButton(page.ui.link, "Copied");
    });
}
