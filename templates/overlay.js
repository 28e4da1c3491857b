// What follows the pointer, on a canvas of its own: outlines, the crosshair, the tip, the selected range.
import { areaEdges, areaTotals, showsAreas } from "./areas.js";
import { GUTTER, plot, startCanvas, strokeLine, themeColor, xOfAxis, xOfEvent, xOfMoment, yOfBytes } from "./canvas.js";
import { lifetimeText, phaseText, poolText } from "./describe.js";
import { lane, phaseLines } from "./lane.js";
import { mapAllocation } from "./map_view.js";
import { GHOST_WIDTH, visibleGhosts } from "./markers.js";
import { inMemoryLane, memoryLaneTip } from "./memory_lane.js";
import { FRAME_USER } from "./api.js";
import { drawMarks, drawOutline } from "./outline.js";
import { askFindings, askSteps } from "./questions.js";
import { invalidate, kept, LIST, momentText, rangeEvents, session, state, view } from "./state.js";
import { formatBytes, formatDuration, formatPlural, formatShare, make } from "./text.js";

/* ---- what follows the pointer ---- */

/** What is under a CSS pixel of the timeline. @param {number} x @param {number} y */
export function pickAt(x, y) {
    const column = Math.min(plot.timeline.width - 1, Math.floor(x * plot.ratio));
    const row = Math.min(plot.timeline.height - 1, Math.floor(y * plot.ratio));
    const picked = view.pick(column, row);
    const bands = state.viewBy === "segments";
    return {
        ...picked,
        band: bands ? picked.allocation : null,
        allocation: bands || showsAreas() ? null : picked.allocation,
    };
}

/** @typedef {import("./canvas.js").Pane} Pane */
/** @typedef {import("./session.js").View} View */

/**
 * Outline of an allocation's band.
 * @param {CanvasRenderingContext2D} context
 * @param {number} allocation
 * @param {string} color
 * @param {Pane} [pane]
 */
export function outlineAllocation(context, allocation, color, pane = plot) {
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
        const y = yOfBytes(edges[2 * i + 1], pane);
        context.lineTo(first + i / ratio, y);
        context.lineTo(first + (i + 1) / ratio, y);
    }
    for (let i = count - 1; i >= 0; i--) {
        const y = yOfBytes(edges[2 * i], pane);
        context.lineTo(first + (i + 1) / ratio, y);
        context.lineTo(first + i / ratio, y);
    }
    context.closePath();
    context.lineJoin = "round";
    context.strokeStyle = themeColor("--surface");
    context.lineWidth = 4;
    context.stroke();
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.stroke();
    context.restore();
}

/**
 * A plate over the axis hides whole labels: half of a number would be another number.
 * @param {CanvasRenderingContext2D} context
 * @param {number} from
 * @param {number} to
 * @param {number} y
 */
function hideLabels(context, from, to, y) {
    context.fillStyle = themeColor("--surface");
    for (const label of plot.labels)
        if (label.to > from && label.from < to) context.fillRect(label.from - 1, y, label.to - label.from + 2, 19);
}

/**
 * A small label on a plate.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} x its middle
 * @param {number} y its top
 */
function drawPlate(context, text, x, y) {
    const half = context.measureText(text).width / 2 + 7;
    const middle = Math.min(Math.max(x, half), plot.width + GUTTER.right - half);
    if (y > plot.height) hideLabels(context, middle - half, middle + half, y);
    context.fillStyle = themeColor("--text");
    context.beginPath();
    context.roundRect(middle - half, y, half * 2, 19, 4);
    context.fill();
    context.fillStyle = themeColor("--surface");
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, middle, y + 10);
}

/** @param {CanvasRenderingContext2D} context @param {Pane} pane */
function drawRange(context, pane) {
    if (!state.range) return;
    const from = Math.max(0, xOfAxis(state.range.from));
    const to = Math.min(pane.width, xOfAxis(state.range.to));
    if (to < 0 || from > pane.width) return;
    context.fillStyle = themeColor("--select");
    context.fillRect(from, 0, to - from, pane.height);
    context.strokeStyle = themeColor("--accent");
    strokeLine(context, from, 0, from, pane.height);
    strokeLine(context, to, 0, to, pane.height);
    drawPlate(
        context,
        `${rangeText(state.range, pane.view)}${pane === plot ? " \u00b7 f zooms" : ""}`,
        (from + to) / 2,
        6,
    );
}

/** @param {{from: number, to: number}} range @param {View} [shown] */
export function rangeText(range, shown = view) {
    const { c, facts } = shown;
    const { first, end } = rangeEvents(range, shown);
    const peak = c.live_at(c.peak_in(first, end));
    const us = state.axis === "time" ? range.to - range.from : c.event_us(end) - c.event_us(first);
    const time = facts.has_time ? ` \u00b7 ${formatDuration(us)}` : "";
    return `${formatPlural(end - first, "event")}${time} \u00b7 highest ${formatBytes(peak)}`;
}

/**
 * The requests that failed in the window, dashed on top of what was alive: the last ones, which have room.
 * @param {CanvasRenderingContext2D} context
 * @param {Pane} pane
 * @param {boolean} [named] boxes that stand in the timeline are drawn already
 */
function drawGhosts(context, pane, named = false) {
    for (const { left, top, bottom, size } of visibleGhosts(pane)) {
        if (!named || left > pane.width) drawGhost(context, pane, left, top, bottom);
        if (bottom - top < 34) continue;
        const [number, unit] = formatBytes(size).split(" ");
        context.fillStyle = themeColor("--bad");
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(number, left + GHOST_WIDTH / 2, (top + bottom) / 2 - 7);
        context.fillText(unit, left + GHOST_WIDTH / 2, (top + bottom) / 2 + 8);
    }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Pane} pane
 * @param {number} left
 * @param {number} top
 * @param {number} bottom
 */
function drawGhost(context, pane, left, top, bottom) {
    context.fillStyle = themeColor("--ghost");
    context.fillRect(left, top, GHOST_WIDTH, bottom - top);
    context.strokeStyle = themeColor("--bad");
    context.lineWidth = 2;
    context.setLineDash([5, 3]);
    context.strokeRect(left + 1, top + 1, GHOST_WIDTH - 2, bottom - top - 2);
    context.setLineDash([]);
    context.lineWidth = 1 / pane.ratio;
}

/**
 * Where memory ran out: all that the process could have then, which the request goes beyond.
 * @param {CanvasRenderingContext2D} context
 * @param {Pane} pane
 */
function drawCeiling(context, pane) {
    const { c, facts } = pane.view;
    const last = facts.ooms - 1;
    const [ghost] = visibleGhosts(pane).slice(-1);
    if (!ghost || kept.active || c.oom(last).size !== ghost.size) return;
    const { reserved_known, reserved_bytes } = c.oom_state(last);
    const bytes = reserved_bytes + c.oom(last).device_free;
    const y = yOfBytes(bytes, pane);
    if (!reserved_known || y < 14 || y > pane.height) return;
    context.fillStyle = themeColor("--bad");
    if (ghost.top < y) context.fillRect(ghost.left, ghost.top, GHOST_WIDTH, Math.min(y, ghost.bottom) - ghost.top);
    context.strokeStyle = context.fillStyle = themeColor("--text");
    context.setLineDash([6, 4]);
    strokeLine(context, 0, y, pane.width, y);
    context.setLineDash([]);
    haloText(
        context,
        pane.width < 420
            ? `reserved + free ${formatBytes(bytes)}`
            : `all this process can have: ${formatBytes(bytes)} (reserved + free)`,
        8,
        y - 4,
    );
}

/**
 * A text that can be read on whatever lies there.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} x
 * @param {number} y its base line
 */
function haloText(context, text, x, y) {
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = themeColor("--surface");
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
    context.lineWidth = 1 / plot.ratio;
}

/**
 * While a leak is highlighted: what each step begins with, and by how much that rises.
 * @param {CanvasRenderingContext2D} context
 * @param {Pane} pane
 */
function drawCarried(context, pane) {
    const { view } = pane;
    if (kept.active || (state.finding === null && state.focus?.by !== "site")) return;
    const index = askFindings(view).findIndex(
        ({ kind, per }, i) =>
            kind === "leak" &&
            per?.unit === "step" &&
            (state.finding === null ? view.c.finding(i).site === state.focus?.id : i === state.finding),
    );
    if (index < 0) return;
    const dots = askSteps(view)
        .slice(1)
        .map(({ from, begin_bytes }) => ({ x: xOfEvent(from, pane), y: yOfBytes(begin_bytes, pane) }))
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
    haloText(context, `+${formatBytes(askFindings(view)[index].per?.bytes ?? 0)} in every step`, x + 4, y - 9);
    context.strokeStyle = themeColor("--bad");
    context.lineWidth = 2;
    for (const dot of dots) {
        context.fillStyle = themeColor("--surface");
        context.beginPath();
        context.arc(dot.x, dot.y, 3.5, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
    }
    context.lineWidth = 1 / plot.ratio;
}

/** Line of the moment that the list is held at. @param {CanvasRenderingContext2D} context @param {Pane} pane */
function drawHeldMoment(context, pane) {
    if (state.moment === null) return;
    const x = xOfMoment(state.moment, pane);
    if (x < 0 || x > pane.width) return;
    context.strokeStyle = themeColor("--accent");
    strokeLine(context, x, 0, x, pane.height);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} event */
function drawCrosshair(context, x, event) {
    context.strokeStyle = themeColor("--cross");
    strokeLine(context, x, 0, x, plot.height);
    const live = `${kept.active ? "all live" : "live"} ${formatBytes(view.c.live_at(event))}`;
    const reserved = view.facts.reserved_peak > 0 ? `reserved ${formatBytes(view.c.reserved_at(event))}` : "";
    drawPlate(
        context,
        [momentText(event), live, reserved].filter(Boolean).join(" \u00b7 "),
        x,
        plot.height + lane.height + 6,
    );
}

/**
 * A dot on the upper edge of each area.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} event
 */
function drawEdges(context, x, event) {
    context.strokeStyle = themeColor("--surface");
    context.lineWidth = 1.5;
    for (const { bytes, color } of areaEdges(event)) {
        const y = yOfBytes(bytes);
        if (y < 0 || y > plot.height) continue;
        context.fillStyle = color;
        context.beginPath();
        context.arc(x, y, 4, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
    }
}

/**
 * What stays over the stack of any device when nobody points.
 * @param {CanvasRenderingContext2D} context
 * @param {Pane} pane
 */
export function drawHeld(context, pane) {
    context.lineWidth = 1 / pane.ratio;
    drawRange(context, pane);
    drawGhosts(context, pane);
    drawCeiling(context, pane);
    drawCarried(context, pane);
    drawHeldMoment(context, pane);
    if (pane === plot) drawOutline(context, true);
    drawMarks(context, true, pane);
    context.lineWidth = 1 / pane.ratio;
}

/**
 * What a picture has over a stack that has its range, marks and outlines already.
 * @param {CanvasRenderingContext2D} context
 * @param {Pane} pane
 * @param {boolean} inside whether anything is written in the plot
 */
export function drawOverPicture(context, pane, inside) {
    if (!inside) {
        context.beginPath();
        context.rect(pane.width, -GUTTER.top, GUTTER.right, pane.height + GUTTER.top);
        context.clip();
    }
    drawGhosts(context, pane, true);
    if (!inside) return;
    drawCeiling(context, pane);
    drawCarried(context, pane);
    if (pane === plot) drawOutline(context, false);
    drawMarks(context, false, pane);
}

export function drawOverlay() {
    const context = startCanvas(plot.overlay);
    drawHeld(context, plot);
    const segments = state.viewBy === "segments";
    if (state.selected !== null && state.viewBy === "age")
        outlineAllocation(context, state.selected, themeColor("--accent"));
    const mapped = mapAllocation();
    if (mapped !== null && mapped !== state.selected && !segments)
        outlineAllocation(context, mapped, themeColor("--text"));
    plot.hover = state.pointer ? pickAt(state.pointer.x, state.pointer.y) : null;
    if (plot.hover && state.pointer) {
        if (plot.hover.band !== null) outlineAllocation(context, plot.hover.band, themeColor("--text"));
        if (plot.hover.allocation !== null && plot.hover.allocation !== state.selected)
            outlineAllocation(context, plot.hover.allocation, themeColor("--text"));
        context.lineWidth = 1 / plot.ratio;
        drawCrosshair(context, state.pointer.x, plot.hover.event);
        if (showsAreas()) drawEdges(context, state.pointer.x, plot.hover.event);
    }
    const x = state.all ? plot.pointed : null;
    if (x !== null) drawCrosshair(context, x, view.c.event_of_x(x * plot.ratio));
    showTip();
    tellList();
}

const list = { timer: 0 };

/**
 * The list follows what is under the pointer, also where the view moves below it; but its sums must not slow the
 * pointer down where tens of thousands are alive.
 */
function tellList() {
    const event = plot.hover?.event ?? NaN;
    if (Object.is(event, plot.told)) return;
    plot.told = event;
    if (list.timer === 0)
        list.timer = setTimeout(() => {
            list.timer = 0;
            invalidate(LIST);
        }, 60);
}

const TIP_FRAMES = 3;

/** The innermost lines of the user's own code, the call site first. @param {number} stack @param {number} site */
function tipFrames(stack, site) {
    const frames = [site];
    const ids = session.stackFrames(stack);
    for (let i = ids.indexOf(site) + 1; i < ids.length && frames.length < TIP_FRAMES; i++)
        if (ids[i] !== frames[frames.length - 1] && view.c.frame_kind(ids[i]) === FRAME_USER) frames.push(ids[i]);
    return frames.map((id) => session.siteText(id));
}

/** The first lines of what a click tells in full. @param {number} id @param {number} event @param {View} shown */
function tipLines(id, event, shown) {
    const allocation = shown.c.allocation(id);
    const { bytes, count, stream, pool } = allocation;
    const live = shown.c.live_at(event);
    return {
        size: formatBytes(bytes),
        share: `${formatShare(bytes, live)} of ${formatBytes(live)} at this moment`,
        frames: tipFrames(allocation.stack, shown.c.stack_site(allocation.stack) >>> 0),
        lived: lifetimeText(allocation, shown),
        place: [
            count === 1 ? "" : `${formatPlural(count, "allocation")} merged`,
            `stream ${stream}`,
            pool === 0 ? "" : poolText(pool, shown),
        ]
            .filter(Boolean)
            .join(" \u00b7 "),
    };
}

/** A tip about an allocation. @param {number} id @param {number} event @param {View} [shown] */
export function allocationTip(id, event, shown = view) {
    const lines = tipLines(id, event, shown);
    const head = make("p", "tip-head", lines.size);
    head.append(make("span", "tip-share", lines.share));
    const frames = lines.frames.map((text, i) =>
        make("p", i === 0 ? "tip-site" : "tip-site tip-dim", i === 0 ? text : `\u2039 ${text}`),
    );
    return [head, ...frames, make("p", "", lines.lived), make("p", "tip-dim", lines.place)];
}

/** A tip about a band of the lane. @param {import("./lane.js").PhaseMark} mark @param {View} [shown] */
export function phaseTip(mark, shown = view) {
    const { when, events } = phaseLines(mark, shown);
    return [make("p", "tip-site", phaseText(mark.name)), make("p", "", when), make("p", "tip-dim", events)];
}

const TIP_AREAS = 8;

/** Sums at the cursor, the largest first. @param {number} event @param {{x: number, y: number}} pointer */
function showAreaTip(event, pointer) {
    const head = make("p", "tip-head", formatBytes(view.c.live_at(event)));
    head.append(make("span", "tip-share", momentText(event)));
    const rows = areaTotals(event)
        .slice(0, TIP_AREAS)
        .map(({ name, bytes, color }) => {
            const row = make("p", "tip-row");
            const swatch = make("i", "swatch");
            swatch.style.background = color;
            row.append(swatch, make("span", "", name), make("b", "", formatBytes(bytes)));
            return row;
        });
    plot.tip.replaceChildren(head, ...rows);
    plot.tip.hidden = false;
    placeTip(pointer);
}

/**
 * A segment: who asked for it, and how long it was held.
 * @param {number} index
 * @param {{x: number, y: number}} pointer
 */
function showBandTip(index, pointer) {
    const band = view.c.band(index);
    const head = make("p", "tip-head", formatBytes(band.bytes));
    head.append(make("span", "tip-share", band.expandable ? "mapped for an expandable segment" : "segment"));
    const site = band.stack ? session.siteText(view.c.stack_site(band.stack)) : "who asked for it was not recorded";
    const place = [`stream ${band.stream}`, band.pool === 0 ? "" : poolText(band.pool)]
        .filter(Boolean)
        .join(" \u00b7 ");
    plot.tip.replaceChildren(
        head,
        make("p", "tip-site", site),
        make("p", "", lifetimeText(band)),
        make("p", "tip-dim", place),
    );
    plot.tip.hidden = false;
    placeTip(pointer);
}

function showTip() {
    if (plot.left) {
        plot.tip.hidden = true;
        return;
    }
    if (!lane.hover && state.lanePointer && inMemoryLane(state.lanePointer)) {
        plot.tip.replaceChildren(...memoryLaneTip(state.lanePointer));
        plot.tip.hidden = false;
        placeTip(state.lanePointer);
        return;
    }
    if (lane.hover && state.lanePointer) {
        plot.tip.replaceChildren(...phaseTip(lane.hover));
        plot.tip.hidden = false;
        placeTip(state.lanePointer);
        return;
    }
    if (plot.hover && state.pointer && showsAreas()) {
        showAreaTip(plot.hover.event, state.pointer);
        return;
    }
    if (plot.hover && plot.hover.band !== null && state.pointer) {
        showBandTip(plot.hover.band, state.pointer);
        return;
    }
    const allocation = plot.hover?.allocation ?? null;
    if (allocation === null || !plot.hover || !state.pointer) {
        plot.tip.hidden = true;
        return;
    }
    plot.tip.replaceChildren(...allocationTip(allocation, plot.hover.event));
    plot.tip.hidden = false;
    placeTip(state.pointer);
}

/** Beside the pointer, on the side that has room. @param {{x: number, y: number}} pointer */
function placeTip(pointer) {
    const { offsetWidth, offsetHeight } = plot.tip;
    const x = pointer.x + GUTTER.left;
    const y = pointer.y + GUTTER.top;
    const right = x + 16 + offsetWidth <= plot.box.clientWidth;
    const left = right ? x + 16 : Math.max(0, x - 16 - offsetWidth);
    const top = Math.min(Math.max(0, y - offsetHeight - 12), plot.box.clientHeight - offsetHeight);
    plot.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}
