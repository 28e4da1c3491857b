// Marks that follow the pointer, on a canvas of their own: outlines, crosshair, tip, selected range.
import { areaEdges, areaTotals, showsAreas } from "./areas.js";
import { pen, startCanvas, strokeLine, themeColor, xOfAxis, xOfEvent, xOfMoment, yOfBytes } from "./canvas.js";
import { lifetimeText, phaseText, poolText, streamText } from "./describe.js";
import { phaseLines } from "./lane.js";
import { keeperNow, mapAllocation } from "./map_view.js";
import { GHOST_WIDTH, visibleGhosts } from "./markers.js";
import { inMemoryLane, memoryLaneTip } from "./memory_lane.js";
import { FRAME_USER } from "page_api";
import { drawMarks, drawOutline } from "./outline.js";
import { askFindings, askSteps } from "./questions.js";
import { endApart, invalidate, LIST, momentText, perPage, rangeEvents } from "./state.js";
import { dotted, formatBytes, formatDuration, formatFine, formatPlural, formatShare } from "./text.js";
import { make, makeSwatch } from "./text.js";

/** Finds the allocation or segment under a CSS pixel of the timeline.
 * @param {Page} page @param {number} x @param {number} y */
export function pickAt(page, x, y) {
    const { plot } = page;
    endApart(page);
    const column = Math.min(plot.timeline.width - 1, Math.floor(x * plot.ratio));
    const row = Math.min(plot.timeline.height - 1, Math.floor(y * plot.ratio));
    const picked = page.view.pick(column, row);
    const bands = page.state.viewBy === "segments";
    return {
        ...picked,
        band: bands ? picked.allocation : null,
        allocation: bands || showsAreas(page) ? null : picked.allocation,
    };
}

/** Outlines an allocation's band. @param {Page} page @param {Context} context @param {number} allocation
 * @param {string} color @param {Pane} [pane] */
export function outlineAllocation(page, context, allocation, color, pane = page.plot) {
    const { first: column, count, edges } = pane.view.outline(allocation);
    if (count === 0) return;
    const { ratio } = pane;
    const first = column / ratio;
    context.save();
    context.beginPath();
    context.rect(-2, -2, pane.width + 4, pane.height + 4);
    context.clip();
    context.beginPath();
    for (let i = 0; i < count; i++) {
        const y = yOfBytes(page, edges[2 * i + 1], pane);
        context.lineTo(first + i / ratio, y);
        context.lineTo(first + (i + 1) / ratio, y);
    }
    for (let i = count - 1; i >= 0; i--) {
        const y = yOfBytes(page, edges[2 * i], pane);
        context.lineTo(first + (i + 1) / ratio, y);
        context.lineTo(first + i / ratio, y);
    }
    context.closePath();
    pen(context, { lineJoin: "round", strokeStyle: themeColor("--surface"), lineWidth: 4 });
    context.stroke();
    pen(context, { strokeStyle: color, lineWidth: 2 });
    context.stroke();
    context.restore();
}

/** Hides each label that a plate over the axis touches: half of a number would be another number. @param {Page} page
 * @param {Context} context @param {number} from @param {number} to @param {number} y */
function hideLabels(page, context, from, to, y) {
    context.fillStyle = themeColor("--surface");
    for (const label of page.plot.labels)
        if (label.to > from && label.from < to) context.fillRect(label.from - 1, y, label.to - label.from + 2, 19);
}

/**
 * Draws a small label on a plate.
 * @param {Page} page @param {Context} context @param {string} text
 * @param {number} x its middle
 * @param {number} y its top
 */
function drawPlate(page, context, text, x, y) {
    const { plot } = page;
    const half = context.measureText(text).width / 2 + 7;
    const middle = Math.min(Math.max(x, half), plot.width + page.gutter.right - half);
    if (y > plot.height) hideLabels(page, context, middle - half, middle + half, y);
    context.fillStyle = themeColor("--text");
    context.beginPath();
    context.roundRect(middle - half, y, half * 2, 19, 4);
    context.fill();
    pen(context, { fillStyle: themeColor("--surface"), textAlign: "center", textBaseline: "middle" });
    context.fillText(text, middle, y + 10);
}

function drawRange(/** @type {Page} */ page, /** @type {Context} */ context, /** @type {Pane} */ pane) {
    const { state } = page;
    if (!state.range) return;
    const from = Math.max(0, xOfAxis(page, state.range.from));
    const to = Math.min(pane.width, xOfAxis(page, state.range.to));
    if (to < 0 || from > pane.width) return;
    context.fillStyle = themeColor("--select");
    context.fillRect(from, 0, to - from, pane.height);
    context.strokeStyle = themeColor("--accent");
    strokeLine(page, context, from, 0, from, pane.height);
    strokeLine(page, context, to, 0, to, pane.height);
    const hint = pane === page.plot ? "f zooms" : "";
    drawPlate(page, context, dotted(rangeText(page, state.range, pane.view), hint), (from + to) / 2, 6);
}

/** @param {Page} page @param {{from: number, to: number}} range @param {View} [shown] */
export function rangeText(page, range, shown = page.view) {
    const { c, facts } = shown;
    const { first, end } = rangeEvents(page, range, shown);
    const peak = c.live_at(c.peak_in(first, end));
    const us = page.state.axis === "time" ? range.to - range.from : c.event_us(end) - c.event_us(first);
    const time = facts.has_time ? formatDuration(us) : "";
    return dotted(formatPlural(end - first, "event"), time, `highest ${formatBytes(peak)}`);
}

/** Draws the failed requests in the window, dashed, on the live memory: the last ones that have room.
 * @param {Page} page @param {Context} context @param {Pane} pane @param {boolean} [named] boxes that stand in the
 * timeline are drawn already */
function drawGhosts(page, context, pane, named = false) {
    for (const { left, top, bottom, size } of visibleGhosts(page, pane)) {
        if (!named || left > pane.width) drawGhost(context, pane, left, top, bottom);
        if (bottom - top < 34) continue;
        const [number, unit] = formatBytes(size).split(" ");
        pen(context, { fillStyle: themeColor("--bad"), textAlign: "center", textBaseline: "middle" });
        context.fillText(number, left + GHOST_WIDTH / 2, (top + bottom) / 2 - 7);
        context.fillText(unit, left + GHOST_WIDTH / 2, (top + bottom) / 2 + 8);
    }
}

/** @param {Context} context @param {Pane} pane @param {number} left @param {number} top @param {number} bottom */
function drawGhost(context, pane, left, top, bottom) {
    context.fillStyle = themeColor("--ghost");
    context.fillRect(left, top, GHOST_WIDTH, bottom - top);
    pen(context, { strokeStyle: themeColor("--bad"), lineWidth: 2 });
    context.setLineDash([5, 3]);
    context.strokeRect(left + 1, top + 1, GHOST_WIDTH - 2, bottom - top - 2);
    context.setLineDash([]);
    context.lineWidth = 1 / pane.ratio;
}

/** Draws the limit that the process ran into, which the request exceeds.
 * @param {Page} page @param {Context} context @param {Pane} pane */
function drawCeiling(page, context, pane) {
    const { c, facts } = pane.view;
    const last = facts.ooms - 1;
    const [ghost] = visibleGhosts(page, pane).slice(-1);
    if (!ghost || page.kept.active || c.oom(last).size !== ghost.size) return;
    const { reserved_known, reserved_bytes } = c.oom_state(last);
    const bytes = reserved_bytes + c.oom(last).device_free;
    const y = yOfBytes(page, bytes, pane);
    if (!reserved_known || y > pane.height) return;
    context.fillStyle = themeColor("--bad");
    if (ghost.top < y) context.fillRect(ghost.left, ghost.top, GHOST_WIDTH, Math.min(y, ghost.bottom) - ghost.top);
    context.strokeStyle = context.fillStyle = themeColor("--text");
    context.setLineDash([6, 4]);
    if (y >= 0) strokeLine(page, context, 0, y, pane.width, y);
    context.setLineDash([]);
    const words = pane.width < 420 || y < 14 ? "at most" : "is all this process can get (reserved + free)";
    const said = `${y < 0 ? "\u25b2 " : ""}${formatBytes(bytes)} ${words}`;
    // The limit is always named: below its line where there is no room above, and, if it lies above the picture, by its
    // direction.
    const marked = page.state.marks.length > 0 && y < 14; // where their names stand
    haloText(page, context, said, marked ? pane.width / 2 : 8, y < 14 ? Math.max(0, y) + 14 : y - 4);
}

/** Draws what a change of the plan needs: a line, and the rest of the failed request.
 * @param {Page} page @param {Context} context @param {Pane} pane */
function drawPlanned(page, context, pane) {
    const { planned } = page.state;
    if (!planned || pane !== page.plot) return;
    const y = yOfBytes(page, planned.bytes, pane);
    const [ghost] = visibleGhosts(page, pane).slice(-1);
    context.strokeStyle = context.fillStyle = themeColor("--good");
    context.lineWidth = 2;
    if (ghost && y < ghost.bottom)
        context.strokeRect(ghost.left + 5, y, GHOST_WIDTH - 10, Math.max(4, ghost.bottom - y));
    context.setLineDash([4, 3]);
    strokeLine(page, context, 0, y, ghost?.left ?? pane.width, y);
    context.setLineDash([]);
    // A title that is too long stands only in the strip above.
    const texts = [`${formatFine(planned.bytes)} needed with ${planned.title}`, `${formatFine(planned.bytes)} needed`];
    const fits = context.measureText(texts[0]).width < pane.width - 16;
    haloText(page, context, texts[fits ? 0 : 1], 8, y + 14);
}

/** Draws a text with a halo, so that it can be read on anything. @param {Page} page @param {Context} context
 * @param {string} text @param {number} x @param {number} y its base line */
function haloText(page, context, text, x, y) {
    pen(context, {
        textAlign: "left",
        textBaseline: "alphabetic",
        lineWidth: 3,
        lineJoin: "round",
        strokeStyle: themeColor("--surface"),
    });
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
    context.lineWidth = 1 / page.plot.ratio;
}

/** While a leak is highlighted: draws the level at which each step begins, and how it rises.
 * @param {Page} page @param {Context} context @param {Pane} pane */
function drawCarried(page, context, pane) {
    const { kept, state } = page;
    const { view } = pane;
    if (page.opening || kept.active || (state.finding === null && state.focus?.by !== "site")) return;
    const index = askFindings(view).findIndex(
        ({ kind, per }, i) =>
            kind === "leak" &&
            per?.unit === "step" &&
            (state.finding === null ? view.c.finding(i).site === state.focus?.id : i === state.finding),
    );
    if (index < 0) return;
    const dots = askSteps(view)
        .slice(1)
        .map(({ from, begin_bytes }) => ({ x: xOfEvent(page, from, pane), y: yOfBytes(page, begin_bytes, pane) }))
        .filter(({ x }) => x >= 0 && x <= pane.width);
    if (dots.length < 2) return;
    context.strokeStyle = context.fillStyle = themeColor("--bad");
    context.lineWidth = 1.5;
    context.setLineDash([4, 3]);
    context.beginPath();
    for (const { x, y } of dots) context.lineTo(x, y);
    context.stroke();
    context.setLineDash([]);
    const { x, y } = dots[Math.floor(dots.length / 2)];
    haloText(page, context, `+${formatBytes(askFindings(view)[index].per?.bytes ?? 0)} in every step`, x + 4, y - 9);
    pen(context, { strokeStyle: themeColor("--bad"), lineWidth: 2 });
    for (const dot of dots) {
        context.fillStyle = themeColor("--surface");
        context.beginPath();
        context.arc(dot.x, dot.y, 3.5, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
    }
    context.lineWidth = 1 / page.plot.ratio;
}

/** Draws the line of the moment at which the list is held. @param {Context} context @param {Pane} pane */
function drawHeldMoment(/** @type {Page} */ page, context, pane) {
    if (page.state.moment === null) return;
    const x = xOfMoment(page, page.state.moment, pane);
    if (x < 0 || x > pane.width) return;
    context.strokeStyle = themeColor("--accent");
    strokeLine(page, context, x, 0, x, pane.height);
}

/** @param {Page} page @param {Context} context @param {number} x @param {number} event */
function drawCrosshair(page, context, x, event) {
    const { kept, plot, view } = page;
    context.strokeStyle = themeColor("--cross");
    strokeLine(page, context, x, 0, x, plot.height);
    const live = `${kept.active ? "all live" : "live"} ${formatBytes(view.c.live_at(event))}`;
    const reserved = view.facts.reserved_peak > 0 ? `reserved ${formatBytes(view.c.reserved_at(event))}` : "";
    drawPlate(page, context, dotted(momentText(page, event), live, reserved), x, plot.height + page.lane.height + 6);
}

/** Draws a dot on the upper edge of each area.
 * @param {Page} page @param {Context} context @param {number} x @param {number} event */
function drawEdges(page, context, x, event) {
    pen(context, { strokeStyle: themeColor("--surface"), lineWidth: 1.5 });
    for (const { bytes, color } of areaEdges(page, event)) {
        const y = yOfBytes(page, bytes);
        if (y < 0 || y > page.plot.height) continue;
        context.fillStyle = color;
        context.beginPath();
        context.arc(x, y, 4, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
    }
}

/** Draws the marks over the stack of any device that stay when nobody points.
 * @param {Page} page @param {Context} context @param {Pane} pane */
export function drawHeld(page, context, pane) {
    context.lineWidth = 1 / pane.ratio;
    drawRange(page, context, pane);
    drawGhosts(page, context, pane);
    drawCeiling(page, context, pane);
    drawPlanned(page, context, pane);
    drawCarried(page, context, pane);
    drawHeldMoment(page, context, pane);
    if (pane === page.plot) drawOutline(page, context, true);
    drawMarks(page, context, true, pane);
    context.lineWidth = 1 / pane.ratio;
}

/** Draws a picture's marks over a stack that already has its range, marks and outlines. @param {Page} page
 * @param {Context} context @param {Pane} pane @param {boolean} inside whether anything is written in the plot */
export function drawOverPicture(page, context, pane, inside) {
    const { gutter } = page;
    if (!inside) {
        context.beginPath();
        context.rect(pane.width, -gutter.top, gutter.right, pane.height + gutter.top);
        context.clip();
    }
    drawGhosts(page, context, pane, true);
    if (!inside) return;
    drawCeiling(page, context, pane);
    drawPlanned(page, context, pane);
    drawCarried(page, context, pane);
    if (pane === page.plot) drawOutline(page, context, false);
    drawMarks(page, context, false, pane);
}

export function drawOverlay(/** @type {Page} */ page) {
    const { plot, state, view } = page;
    const context = startCanvas(page, page.ui.overlay);
    drawHeld(page, context, plot);
    const segments = state.viewBy === "segments";
    if (state.selected !== null && state.viewBy === "age")
        outlineAllocation(page, context, state.selected, themeColor("--accent"));
    const keeper = keeperNow(page);
    if (keeper >= 0 && keeper !== state.selected && state.viewBy === "age")
        outlineAllocation(page, context, keeper, themeColor("--bad"));
    const mapped = mapAllocation(page);
    if (mapped !== null && mapped !== state.selected && !segments)
        outlineAllocation(page, context, mapped, themeColor("--text"));
    plot.hover = state.pointer ? pickAt(page, state.pointer.x, state.pointer.y) : null;
    if (plot.hover && state.pointer) {
        if (plot.hover.band !== null) outlineAllocation(page, context, plot.hover.band, themeColor("--text"));
        if (plot.hover.allocation !== null && plot.hover.allocation !== state.selected)
            outlineAllocation(page, context, plot.hover.allocation, themeColor("--text"));
        context.lineWidth = 1 / plot.ratio;
        drawCrosshair(page, context, state.pointer.x, plot.hover.event);
        if (showsAreas(page)) drawEdges(page, context, state.pointer.x, plot.hover.event);
    }
    const x = state.all || page.beside ? plot.pointed : null;
    if (x !== null) drawCrosshair(page, context, x, view.c.event_of_x(x * plot.ratio));
    showTip(page);
    tellList(page);
}

const listOf = perPage(() => ({ timer: 0 }));

/** Makes the list follow the pointer, also if the view moves below it. With tens of thousands of live allocations its
 * sums wait, so that they do not slow down the pointer. */
function tellList(/** @type {Page} */ page) {
    const { plot } = page;
    const list = listOf(page);
    const event = plot.hover?.event ?? NaN;
    if (Object.is(event, plot.told)) return;
    plot.told = event;
    if (list.timer === 0)
        list.timer = setTimeout(() => {
            list.timer = 0;
            invalidate(page, LIST);
        }, 60);
}

const TIP_FRAMES = 3;

/** The innermost frames of the user's own code, beginning with the call site.
 * @param {number} stack @param {number} site */
function tipFrames(/** @type {Page} */ { session, view }, stack, site) {
    const frames = [site];
    const ids = session.stackFrames(stack);
    for (let i = ids.indexOf(site) + 1; i < ids.length && frames.length < TIP_FRAMES; i++)
        if (ids[i] !== frames[frames.length - 1] && view.c.frame_kind(ids[i]) === FRAME_USER) frames.push(ids[i]);
    return frames.map((id) => session.siteText(id));
}

/** The first lines of the details, which a click shows in full.
 * @param {number} id @param {number} event @param {View} shown */
function tipLines(/** @type {Page} */ page, id, event, shown) {
    const allocation = shown.c.allocation(id);
    const { bytes, count, stream, pool } = allocation;
    const live = shown.c.live_at(event);
    return {
        size: formatBytes(bytes),
        share: `${formatShare(bytes, live)} of ${formatBytes(live)} at this moment`,
        frames: tipFrames(page, allocation.stack, shown.c.stack_site(allocation.stack) >>> 0),
        lived: lifetimeText(page, allocation, shown),
        place: dotted(
            count === 1 ? "" : `${formatPlural(count, "allocation")} merged`,
            `stream ${stream}`,
            pool === 0 ? "" : poolText(page, pool, shown),
        ),
    };
}

/** Makes the tip about an allocation.
 * @param {Page} page @param {number} id @param {number} event @param {View} [shown] */
export function allocationTip(page, id, event, shown = page.view) {
    const lines = tipLines(page, id, event, shown);
    const head = make("p", "tip-head", lines.size, make("span", "tip-share", lines.share));
    const frames = lines.frames.map((text, i) =>
        make("p", i === 0 ? "tip-site" : "tip-site tip-dim", i === 0 ? text : `\u2039 ${text}`),
    );
    return [head, ...frames, make("p", "", lines.lived), make("p", "tip-dim", lines.place)];
}

/** Makes the tip about a band of the lane. @param {import("./lane.js").PhaseMark} mark @param {View} [shown] */
export function phaseTip(/** @type {Page} */ page, mark, shown = page.view) {
    const { when, events } = phaseLines(page, mark, shown);
    return [make("p", "tip-site", phaseText(mark.name)), make("p", "", when), make("p", "tip-dim", events)];
}

const TIP_AREAS = 8;

/** Makes the tip about the sums at the cursor, the largest first. @param {Page} page @param {number} event */
function areaTip(page, event) {
    const moment = make("span", "tip-share", momentText(page, event));
    const rows = areaTotals(page, event).map(({ name, bytes, color }) =>
        make("p", "tip-row", makeSwatch(color), make("span", "", name), make("b", "", formatBytes(bytes))),
    );
    return [make("p", "tip-head", formatBytes(page.view.c.live_at(event)), moment), ...rows.slice(0, TIP_AREAS)];
}

/** Makes a segment's tip: which line requested it, how long it was held. @param {Page} page @param {number} index */
function bandTip(page, index) {
    const { view } = page;
    const band = view.c.band(index);
    const kind = make("span", "tip-share", band.expandable ? "mapped for an expandable segment" : "segment");
    const head = make("p", "tip-head", formatBytes(band.bytes), kind);
    const site = band.stack ? view.stackSite(band.stack) : "the line that requested it was not recorded";
    const place = dotted(streamText(page, band.stream), band.pool === 0 ? "" : poolText(page, band.pool));
    return [head, make("p", "tip-site", site), make("p", "", lifetimeText(page, band)), make("p", "tip-dim", place)];
}

/** The tip about what lies under the pointer; null: nothing does. @param {Page} page */
function tipNow(page) {
    const { lanePointer, pointer } = page.state;
    const { hover } = page.plot;
    const phase = page.lane.hover;
    if (lanePointer && phase) return phaseTip(page, phase);
    if (lanePointer && inMemoryLane(page, lanePointer)) return memoryLaneTip(page, lanePointer);
    if (!pointer || !hover) return null;
    if (showsAreas(page)) return areaTip(page, hover.event);
    if (hover.band !== null) return bandTip(page, hover.band);
    return hover.allocation === null ? null : allocationTip(page, hover.allocation, hover.event);
}

function showTip(/** @type {Page} */ page) {
    const { plot } = page;
    const parts = plot.left ? null : tipNow(page);
    page.ui.tip.hidden = parts === null;
    if (!parts) return;
    page.ui.tip.replaceChildren(...parts);
    const { lanePointer, pointer } = page.state;
    placeTip(page, /** @type {{x: number, y: number}} */ (lanePointer ?? pointer));
}

/** Places the tip beside the pointer, on the side that has room.
 * @param {Page} page @param {{x: number, y: number}} pointer */
function placeTip(page, pointer) {
    const { gutter } = page;
    const { offsetWidth, offsetHeight } = page.ui.tip;
    const x = pointer.x + gutter.left;
    const y = pointer.y + gutter.top;
    const right = x + 16 + offsetWidth <= page.ui.plot.clientWidth;
    const left = right ? x + 16 : Math.max(0, x - 16 - offsetWidth);
    const top = Math.min(Math.max(0, y - offsetHeight - 12), page.ui.plot.clientHeight - offsetHeight);
    page.ui.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}
