// The map below the timeline: the allocator's segments, one row each, after the event at the cursor, otherwise the
// marked event, otherwise the peak. The module lays it out and draws its pixels; labels and outlines are drawn over
// them.
import { DRAW_DARK, DRAW_FOUND } from "page_api";
import { context2d, cutText, pen, sizeCanvas, theme, themeColor } from "./canvas.js";
import { lifetimeText, poolText, streamText } from "./describe.js";
import { addressText } from "./questions.js";
import { replayOnce, replaysOf } from "./replay.js";
import { COLORINGS, heldMoment, isDark, MAP_ORDERS, momentText } from "./state.js";
import { dotted, formatBytes, formatPlural, make, makeSwatch, setText } from "./text.js";

const LABEL_LEAST = 52;

const FREE_WIDTH = 3;

export const newMap = (/** @type {Page} */ { ui }) => ({
    picture: ui.mapPicture,
    marks: ui.mapMarks,
    /** The event that is shown. */
    event: -2,
    /** The current layout. @type {record_map | null} */
    laid: null,
    /** The map's CSS pixel under the pointer. @type {{x: number, y: number} | null} */
    pointer: null,
    /** The block under the pointer, or the one that the keys have reached; -1: none. */
    block: -1,
    /** Milliseconds that the last drawings took. @type {number[]} */
    frameMs: [],
    /** The request of the current layout. */
    asked: "",
    /** The facts object of the device that the map was laid out for. Choosing a device makes a new object, even for the
     * same device. @type {object | null} */
    laidFor: null,
});

/** The event whose memory is shown. @param {Page} page */
function mapEvent(page) {
    const { plot } = page;
    return plot.hover && page.state.pointer ? plot.hover.event : heldMoment(page);
}

/** The allocation under the pointer on the map; null: none. @param {Page} page */
export function mapAllocation({ map, state, view }) {
    if (!state.mapOpen || map.block < 0 || !map.laid || map.laidFor !== view.facts) return null;
    const { allocation } = view.c.map_cell(map.block);
    return allocation < 0 ? null : allocation;
}

/** Lays the map out again unless nothing has changed. @param {Page} page */
function layOut(page) {
    const { gutter, map, plot, state, view } = page;
    const replays = replaysOf(page);
    const { ratio, width } = plot;
    const event = mapEvent(page);
    const room = page.ui.mapScroll.clientHeight;
    const now = JSON.stringify([replays.over, state.device, event, state.mapOrder, plot.timeline.width, room, ratio]);
    if (now === map.asked) return;
    const allocation = mapAllocation(page);
    map.asked = now;
    map.event = event;
    map.laid = view.c.map(
        event,
        MAP_ORDERS.indexOf(state.mapOrder),
        plot.timeline.width,
        Math.round(room * ratio),
        Math.round(ratio * 256),
    );
    map.block = allocation === null ? -1 : view.c.map_block_of(allocation);
    page.ui.mapSpace.style.height = `${Math.max(room, map.laid.height / ratio + 8)}px`;
    for (const canvas of [map.picture, map.marks])
        sizeCanvas(canvas, width + (canvas === map.marks ? gutter.left + gutter.right : 0), room, ratio);
    map.picture.style.left = `${gutter.left}px`;
    const gap = view.c.gap(event);
    const largest = view.c.next_hole(-1);
    const hole = largest < 0 ? null : view.c.hole(largest);
    const holes = hole && `${formatPlural(hole.after_count + 1, "hole")}, the largest ${formatBytes(hole.bytes)}`;
    const about = dotted(
        momentText(page, event),
        formatPlural(map.laid.segments, "segment"),
        `reserved ${formatBytes(gap.reserved_bytes)}`,
        `in use ${formatBytes(gap.live_bytes)}`,
        holes ?? "no holes",
        gap.empty_segments > 0 ? `empty segments ${formatBytes(gap.empty_segments)}` : "",
    );
    setText(page.ui.mapAbout, about);
    const { outside, outside_bytes, segments } = map.laid;
    const many = formatPlural(outside, "allocation");
    const strays = `${many} (${formatBytes(outside_bytes)}) lie outside of all segments. `;
    const sizes =
        replays.under === state.device
            ? "Sizes of blocks are being looked up."
            : "Some blocks may be up to 1 MiB larger than drawn: the recording does not say.";
    setText(page.ui.mapNote, (outside ? strays : "") + (gap.exact || !segments ? "" : sizes));
    page.ui.mapNote.hidden = page.ui.mapNote.textContent === "";
}

/** The y of the map's first row that is shown, in the screen's pixels. @param {Page} page */
export const scrolled = (page) => Math.round(page.ui.mapScroll.scrollTop * page.plot.ratio);

function drawPicture(/** @type {Page} */ page) {
    const { map, state, view } = page;
    const { width, height } = map.picture;
    const found = !state.focus && page.search.ready ? DRAW_FOUND : 0;
    const laid = /** @type {record_map} */ (map.laid);
    const place =
        view.c.map_draw(
            Math.min(scrolled(page), laid.height),
            height,
            (isDark(page) ? DRAW_DARK : 0) | found,
            COLORINGS.indexOf(state.colorBy),
        ) >>> 0;
    if (place === 0) return;
    context2d(map.picture).putImageData(
        new ImageData(new Uint8ClampedArray(view.module.memory.buffer, place, width * height * 4), width, height),
        0,
        0,
    );
}

/** "default pool, stream 7, up to 1 MiB" @param {Page} page @param {record_map_group} group */
function groupText(page, group) {
    const pool = poolText(page, group.pool);
    const stream = page.view.facts.streams > 1 ? streamText(page, group.stream) : "";
    return dotted(pool, stream, group.small ? "up to 1 MiB" : "above 1 MiB");
}

/** Headings of the groups and labels of the rows, in CSS pixels.
 * @param {Page} page @param {Context} context @param {number} top @param {number} bottom */
function drawNames(page, context, top, bottom) {
    const { gutter, plot, view } = page;
    const laid = /** @type {record_map} */ (page.map.laid);
    const { ratio } = plot;
    context.textBaseline = "alphabetic";
    for (let i = 0; i < laid.groups; i++) {
        const group = view.c.map_group(i);
        const y = group.y / ratio - top;
        if (y > bottom - top) break;
        if (y < -22) continue;
        pen(context, { textAlign: "left", font: `600 12px ${theme.font}`, fillStyle: themeColor("--text") });
        const name = cutText(context, groupText(page, group), plot.width);
        const after = context.measureText(name).width + 12;
        context.fillText(name, gutter.left, y + 16);
        pen(context, { font: `12px ${theme.font}`, fillStyle: themeColor("--dim") });
        const figures = [
            formatPlural(group.segments, "segment"),
            formatBytes(group.bytes),
            `free ${formatBytes(group.free_bytes)} in ${formatPlural(group.free_blocks, "block")}`,
        ];
        while (figures.length && context.measureText(figures.join(", ")).width > plot.width - after) figures.pop();
        context.fillText(figures.join(", "), gutter.left + after, y + 16);
    }
    pen(context, { font: `11px ${theme.font}`, textAlign: "right" });
    let last = NaN;
    for (let i = view.c.map_part_from(Math.round(top * ratio)) >>> 0; i < laid.parts; i++) {
        const part = view.c.map_part(i);
        const y = part.y / ratio - top;
        if (y > bottom - top) break;
        const beside = i + 1 < laid.parts && view.c.map_part(i + 1).y === part.y;
        if (part.y === last || part.from > 0) continue;
        last = part.y;
        context.fillText(beside ? "small" : formatBytes(part.segment_bytes), gutter.left - 8, y + 11);
    }
}

/** Writes sizes on the free blocks that have room for them. @param {Context} context @param {number} top */
function drawFreeSizes(/** @type {Page} */ page, context, top) {
    const { view } = page;
    const { ratio } = page.plot;
    pen(context, { font: `600 11px ${theme.font}`, textAlign: "center", lineJoin: "round" });
    const least = Math.round(LABEL_LEAST * ratio);
    for (const { x, end, y, bytes } of view.c.map_labels(scrolled(page), page.map.picture.height, least)) {
        const middle = page.gutter.left + (x + end) / 2 / ratio;
        pen(context, { lineWidth: FREE_WIDTH, strokeStyle: themeColor("--unused-soft") });
        context.strokeText(formatBytes(bytes), middle, y / ratio - top + 11);
        context.fillStyle = themeColor("--text");
        context.fillText(formatBytes(bytes), middle, y / ratio - top + 11);
    }
}

/** @param {Context} context @param {number} block @param {string} color @param {number} top */
function outlineBlock(/** @type {Page} */ page, context, block, color, top) {
    const { plot, view } = page;
    for (let nth = 0; nth < 64; nth++) {
        const found = view.find.map_place(block, nth);
        if (!found) return;
        const { x, end, y } = found;
        const [left, width] = [page.gutter.left + x / plot.ratio - 1, Math.max(3, (end - x) / plot.ratio + 2)];
        pen(context, { lineWidth: 4, strokeStyle: themeColor("--surface") });
        context.strokeRect(left, y / plot.ratio - top - 1, width, 16);
        pen(context, { lineWidth: 2, strokeStyle: color });
        context.strokeRect(left, y / plot.ratio - top - 1, width, 16);
    }
}

/** The hole that is chosen at the held moment; -1: none. @param {Page} page */
export function holeNow(page) {
    const { hole } = page.state;
    const event = heldMoment(page);
    if (!hole || hole.event !== event || page.view.sentence("map_refusal")) return -1;
    page.view.c.gap(event);
    return page.view.find.hole(hole.block)?.blocks ? hole.block : -1;
}

/** The largest allocation that keeps the chosen hole; -1: no hole is chosen. @param {Page} page */
export function keeperNow(page) {
    const hole = page.state.hole ? holeNow(page) : -1;
    return hole < 0 ? -1 : page.view.c.hole(hole).allocation;
}

/** Draws the marks that follow the pointer, here and on the timeline. @param {Page} page */
function drawMarks(page) {
    const { map, plot, state, view } = page;
    const context = context2d(map.marks);
    const top = scrolled(page) / plot.ratio;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, map.marks.width, map.marks.height);
    context.setTransform(plot.ratio, 0, 0, plot.ratio, 0, 0);
    themeColor("--text");
    drawNames(page, context, top, top + page.ui.mapScroll.clientHeight);
    drawFreeSizes(page, context, top);
    const selected = state.selected === null ? -1 : view.c.map_block_of(state.selected);
    const hovered =
        plot.hover && state.pointer && plot.hover.allocation !== null
            ? view.c.map_block_of(plot.hover.allocation)
            : map.block;
    if (selected >= 0) outlineBlock(page, context, selected, themeColor("--accent"), top);
    const hole = map.event === state.hole?.event ? holeNow(page) : -1;
    if (hole >= 0) {
        outlineBlock(page, context, hole, themeColor("--accent"), top);
        const keeper = view.c.map_block_of(view.c.hole(hole).allocation);
        if (keeper >= 0) outlineBlock(page, context, keeper, themeColor("--bad"), top);
    }
    if (hovered >= 0 && hovered !== selected && hovered !== hole)
        outlineBlock(page, context, hovered, themeColor("--text"), top);
}

export function tipRows(/** @type {Page} */ page, /** @type {number} */ block) {
    const { session, view } = page;
    const cell = view.c.map_cell(block);
    view.c.gap(page.map.event);
    const hole = cell.allocation < 0 ? view.c.hole(block) : null;
    const what = !hole ? "of a segment" : hole.blocks ? "hole in a segment" : "free: an empty segment";
    const share = make("span", "tip-share", `${what} of ${formatBytes(cell.segment_bytes)}`);
    const head = make("p", "tip-head", formatBytes(cell.bytes), share);
    const since = cell.segment_birth < 0 ? "" : `segment since ${momentText(page, cell.segment_birth)}`;
    const place = dotted(addressText(cell), cell.expandable ? "expandable segment" : "", since);
    if (hole) {
        const kept = hole.blocks
            ? `Kept by ${formatPlural(hole.blocks, "block")}, ${formatBytes(hole.used_bytes)}: ` +
              view.stackSite(view.c.allocation(hole.allocation).stack)
            : "empty_cache() would give it back";
        const asker = cell.segment_stack
            ? [make("p", "", "The segment was requested by"), make("p", "tip-site", view.stackSite(cell.segment_stack))]
            : [];
        return [head, make("p", "", kept), ...asker, make("p", "tip-dim", place)];
    }
    const allocation = view.c.allocation(cell.allocation);
    const site = view.c.stack_site(allocation.stack);
    const swatch = makeSwatch(view.siteColor(site, isDark(page)));
    const line = make("p", "tip-row", swatch, make("span", "tip-site", session.siteText(site)));
    const requested = allocation.bytes === cell.bytes ? "" : `${formatBytes(allocation.bytes)} requested`;
    const lived = cell.state === 2 ? "freed, waits for another stream" : lifetimeText(page, allocation);
    return [head, line, make("p", "", dotted(requested, lived)), make("p", "tip-dim", place)];
}

function showTip(/** @type {Page} */ page) {
    const { map, plot } = page;
    page.ui.mapTip.hidden = map.block < 0 || !map.laid;
    if (page.ui.mapTip.hidden) return;
    page.ui.mapTip.replaceChildren(...tipRows(page, map.block));
    const { x, end, y } = page.view.c.map_place(map.block, 0);
    const at = map.pointer ?? { x: (x + end) / 2 / plot.ratio, y: y / plot.ratio - scrolled(page) / plot.ratio };
    const { offsetWidth, offsetHeight } = page.ui.mapTip;
    const { clientWidth, clientHeight } = page.ui.map;
    const head = page.ui.mapScroll.offsetTop;
    const left = Math.min(Math.max(8, at.x + page.gutter.left + 16), clientWidth - offsetWidth - 8);
    const below = at.y + head + 24;
    const topmost = below + offsetHeight <= clientHeight ? below : at.y + head - offsetHeight - 12;
    page.ui.mapTip.style.transform = `translate(${Math.round(left)}px, ${Math.round(topmost)}px)`;
}

/** Draws the visible part of the map, or (`marksOnly`) only the marks that follow the pointer.
 * @param {boolean} [marksOnly] */
export function drawMap(/** @type {Page} */ page, marksOnly) {
    const { map, state, view } = page;
    const refusal = state.mapOpen ? view.sentence("map_refusal") : "";
    if (map.laidFor !== view.facts) renewMap(page);
    page.ui.map.hidden = !state.mapOpen;
    page.press("map-open", state.mapOpen);
    if (!state.mapOpen) return;
    for (const order of MAP_ORDERS) page.press(`map-${order}`, order === state.mapOrder);
    page.ui.mapScroll.hidden = refusal !== "";
    if (refusal) {
        map.laid = null;
        map.asked = "";
        page.ui.mapTip.hidden = true;
        page.ui.mapNote.hidden = false;
        setText(page.ui.mapAbout, "");
        setText(page.ui.mapNote, `There is no map: ${refusal}.`);
        return;
    }
    const begin = performance.now();
    const before = map.asked;
    replayOnce(page);
    layOut(page);
    if (!marksOnly || before !== map.asked) drawPicture(page);
    drawMarks(page);
    showTip(page);
    map.frameMs.push(performance.now() - begin);
    if (map.frameMs.length > 60) map.frameMs.shift();
}

/** Draws the visible part of the map at `scale` pixels per CSS pixel, with its heading; null: the map is not open.
 * @param {Page} page @param {number} scale */
export function mapForPicture(page, scale) {
    const { map, plot } = page;
    if (!page.state.mapOpen || !map.laid) return null;
    const { timeline, ratio } = plot;
    const { picture, marks } = map;
    const made = { picture: document.createElement("canvas"), marks: document.createElement("canvas") };
    const fine = document.createElement("canvas");
    fine.width = Math.round(plot.width * scale);
    Object.assign(plot, { ratio: scale, timeline: fine });
    Object.assign(map, made);
    map.asked = "";
    layOut(page);
    drawPicture(page);
    drawMarks(page);
    Object.assign(plot, { timeline, ratio });
    Object.assign(map, { picture, marks });
    map.asked = "";
    drawMap(page);
    return {
        ...made,
        height: page.ui.mapScroll.clientHeight,
        lines: [`Map: ${page.ui.mapAbout.textContent}`, page.ui.mapNote.textContent ?? ""].filter(Boolean),
    };
}

/** Forgets the map, as the module did when another device was chosen. @param {Page} page */
function renewMap(page) {
    const { map } = page;
    map.laidFor = page.view.facts;
    map.asked = "";
    map.block = -1;
}
