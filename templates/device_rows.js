// All devices on one axis: the devices other than the chosen one are rows above and below the timeline, each with its
// own scale of bytes. Window, cursor, selected range, marked moment, search, filter and highlight are the same in all
// of them.
import { setDevice } from "./address.js";
import { nameBandsSoon } from "./band_names.js";
import { axisOfX, pen, startCanvas, strokeLine, themeColor } from "./canvas.js";
import { filterWords } from "./filter.js";
import { emptyLane, phaseAt, phasesHeight, selectPhase } from "./lane.js";
import { placeMarkers } from "./markers.js";
import { allocationTip, drawHeld, outlineAllocation, phaseTip } from "./overlay.js";
import { drawAround, drawForPicture, drawStack, drawTimelineAxes, layStack, showStack } from "./plot.js";
import {
    capacityBytes,
    change,
    clockShift,
    endApart,
    FOCUS_KINDS,
    invalidate,
    OVERLAY,
    perPage,
    rangeEvents,
    askAll,
    select,
    timedDevices,
    TIMELINE,
} from "./state.js";
import { fitWindow, goToEvent, panWindow, zoomWindow } from "./window.js";
import { deviceName, dotted, formatBytes, formatDuration, formatPlural, make } from "./text.js";
import { makeBox, makeButton, setText } from "./text.js";
import { listen, makeStage } from "./stage.js";
import { View } from "./session.js";
import { atOnce, inTurns } from "./turns.js";
import { Matcher, selectWords } from "./words.js";

/** @typedef {ReturnType<typeof makeHead> & {device: number, box: HTMLElement}} Place where a device's row is */
/** @typedef {ReturnType<typeof createRow>} Row */
/** @typedef {{event: number, allocation: number | null}} Hover */

/** Groups of places, one place for each device, and the rows that exist, by the device's index; those last seen come
 * last. */
const rowsOf = perPage((page) => ({
    groups: makeGroups(page),
    /** The part below the timeline of the group that has the selected device. */
    rest: make("div", "pane-group"),
    made: /** @type {Map<number, Row>} */ (new Map()),
    making: false,
    /** Counts changes other than the cursor's. */
    version: 0,
    /** The chosen device and the head of the timeline itself. */
    own: /** @type {{device: number, head: HTMLElement, cursor: HTMLElement} | null} */ (null),
}));

/** The most rows that are kept, since each has canvases and a picture in the module's memory; and the size of a
 * group. */
const ROWS_KEPT = 32;

/** The margins around a row's plot: the timeline's, so that one moment has one x. */
const roundOf = perPage((page) => ({
    left: page.gutter.left,
    top: page.gutter.top,
    bottom: 5,
    get right() {
        return page.gutter.right;
    },
}));

/** The cursor's place, for every row. @param {Page} page */
const cursorX = (page) => (page.state.pointer ? page.state.pointer.x : page.plot.pointed);

function headText(/** @type {Page} */ page, /** @type {View} */ shown, /** @type {boolean} */ inHand) {
    const { peak_bytes, peak_event, events } = shown.facts;
    const at = formatDuration(shown.c.event_us(peak_event) - clockShift(page, shown));
    const hand = inHand ? "list, tabs and header are of this device" : "";
    return dotted(`peak ${formatBytes(peak_bytes)} at ${at}`, hand, formatPlural(events, "event"));
}

/** The line above a device's timeline; its button chooses the device. @param {number} device index */
function makeHead(/** @type {Page} */ page, device) {
    const title = "List, tabs and header are of this device (n: of the next one)";
    const name = `Device ${deviceName(page.session.devices[device].ordinal)}`;
    const button = makeButton("quiet", name, () => setDevice(page, device), title);
    const [cursor, facts] = [make("b", "pane-cursor"), make("span", "pane-dim")];
    return { head: make("p", "pane-head", button, cursor, facts), button, facts, cursor };
}

/** @param {Page} page @param {number} device @returns {Place} */
function makePlace(page, device) {
    const head = makeHead(page, device);
    return { device, box: make("section", "pane-plot", { "aria-label": head.head.textContent }), ...head };
}

/** CSS pixels of a row without its lane, and of the line above it. */
const [ROW_LEAST, HEAD_LEAST] = [130, 24];

/** @typedef {{box: HTMLElement, devices: number[], places: Place[]}} Group without places until it is in sight */

/** @param {Page} page @returns {Group[]} */
function makeGroups(page) {
    const all = timedDevices(page);
    return Array.from({ length: Math.ceil(all.length / ROWS_KEPT) }, (_, i) => {
        const box = make("div", `pane-group${all.length > ROWS_KEPT ? " many" : ""}`);
        const devices = all.slice(i * ROWS_KEPT, (i + 1) * ROWS_KEPT);
        box.style.height = `${devices.length * (ROW_LEAST + HEAD_LEAST)}px`;
        return { box, devices, places: [] };
    });
}

/** Fills a group with its places; in the group of the chosen device some lie below the timeline.
 * @param {Group} group */
function openGroup(/** @type {Page} */ page, group) {
    const inHand = page.state.device;
    if (group.places.length === 0) group.places = group.devices.map((device) => makePlace(page, device));
    const fill = (/** @type {HTMLElement} */ box, /** @type {(device: number) => boolean} */ isThere) =>
        box.replaceChildren(...group.places.flatMap(({ device, head, box }) => (isThere(device) ? [head, box] : [])));
    const isSplit = group.devices.includes(inHand);
    group.box.style.height = "";
    fill(group.box, (device) => device < inHand || !isSplit);
    if (isSplit) fill(rowsOf(page).rest, (device) => device > inHand);
}

/** Keeps filter, search and highlight of a row's view equal to those of the page.
 * @param {Page} page @param {View} shown */
function makeFollower(page, shown) {
    const { session, state } = page;
    const matcher = new Matcher(session);
    /** The state's highlight, filter and search that the view has. */
    const has = { focus: "", filter: "", search: "", found: false };
    let version = 0;
    /** @param {0 | 1} slot of the filter, the search @param {string} words @param {(error: string) => void} done */
    const find = async (slot, words, done) => {
        const asked = ++version;
        await selectWords(shown, matcher, slot, words, () => asked === version, done);
    };
    const follow = async () => {
        const focus = JSON.stringify(state.focus);
        if (focus !== has.focus) {
            has.focus = focus;
            // Streams and pools are numbered by device.
            if (state.focus && !["stream", "pool"].includes(state.focus.by))
                shown.c.light(FOCUS_KINDS.indexOf(state.focus.by), state.focus.id);
            else shown.c.light_off();
        }
        const filter = filterWords(state.filter);
        if (filter === has.filter && state.search === has.search) return;
        Object.assign(has, { filter, search: state.search, found: false });
        if (filter) await find(0, filter, (error) => error && shown.c.filter_off());
        else shown.c.filter_off();
        if (has.search) await find(1, has.search, (error) => (has.found = error === ""));
        invalidate(page, TIMELINE);
    };
    return { has, follow, stop: () => void version++ };
}

/** Writes beside the pointer what lies under it in a row: a phase, or an allocation. @param {Page} page
 * @param {HTMLElement} tip @param {Pane & ReturnType<typeof makeStage>["stage"]} pane
 * @param {ReturnType<typeof phaseAt>} mark @param {Hover | null} hover @param {{x: number, y: number}} point */
function showTip(page, tip, pane, mark, hover, { x, y }) {
    tip.hidden = !mark && hover?.allocation == null;
    if (mark) tip.replaceChildren(...phaseTip(page, mark, pane.view));
    else if (hover?.allocation != null)
        tip.replaceChildren(
            ...allocationTip(page, hover.allocation, hover.event, pane.view),
            make("p", "tip-dim", "on this device; a click makes the device active and pins the allocation"),
        );
    else return;
    const left = x + 16 + tip.offsetWidth <= pane.width ? x + 16 : Math.max(0, x - 16 - tip.offsetWidth);
    tip.style.transform =
        `translate(${Math.round(left + roundOf(page).left)}px, ` +
        `${Math.round(Math.min(y, Math.max(0, pane.room.clientHeight - tip.offsetHeight)))}px)`;
}

function createRow(/** @type {Page} */ page, /** @type {Place} */ { device, box, facts, cursor }) {
    const { session, state } = page;
    const shown = new View(session, device);
    const ROUND = roundOf(page);
    const { plot } = page;
    const lane = emptyLane();
    const { stage, measure } = makeStage(`device-${device}`, box, ROUND, () => lane.height);
    const [markers, tip] = [make("div"), makeBox("tooltip", "tip")];
    stage.room.append(markers, tip);
    const { has, stop, follow } = makeFollower(page, shown);
    /** @type {Pane & typeof stage} */
    const pane = Object.assign(stage, {
        view: shown,
        timeline: stage.pixels,
        markers,
        from: 0,
        to: 1,
        bottom: 0,
        top: 1,
        resting: 0,
        lineNames: [],
        flags: [],
        axisOf: (/** @type {number} */ event) => shown.c.event_us(event),
        go: (/** @type {number} */ event) => {
            setDevice(page, device);
            goToEvent(page, event);
        },
    });
    /** The thing under the pointer. @type {Hover | null} */
    let hover = null;
    let drawn = -1;
    const topBytes = () => {
        const { events } = shown.facts;
        const { highest } = has.filter ? shown.c.kept() : { highest: 0 };
        return highest > 0 && highest * 3 < shown.c.headroom(-1, events, 0)
            ? Math.ceil((highest * 17) / 16)
            : shown.c.headroom(-1, events, capacityBytes(page, device));
    };
    const drawOverlay = () => {
        const context = startCanvas(page, stage.overlay, pane);
        drawHeld(page, context, pane);
        if (hover !== null && hover.allocation !== null)
            outlineAllocation(page, context, hover.allocation, themeColor("--text"), pane);
        const x = cursorX(page);
        pen(context, { lineWidth: 1 / pane.ratio, strokeStyle: themeColor("--cross") });
        if (x !== null) strokeLine(page, context, x, 0, x, stage.height);
    };
    const eventAt = (/** @type {number} */ x) => shown.c.event_of_x(x * stage.ratio);
    const at = (/** @type {number} */ x, /** @type {number} */ y) => {
        if (x < 0 || y < 0 || x >= stage.width || y >= stage.height) return null;
        endApart(page);
        const { allocation, event } = shown.pick(Math.floor(x * stage.ratio), Math.floor(y * stage.ratio));
        return { event, allocation: state.viewBy === "age" ? allocation : null };
    };
    listen(stage, at, {
        zoom: (factor, at) => zoomWindow(page, factor, at),
        pan: (share) => panWindow(page, share),
        fit: () => fitWindow(page),
        hover: (event, point) => {
            plot.pointed = event === null ? null : point.x;
            hover = at(point.x, point.y);
            showTip(page, tip, pane, phaseAt(page, point, pane, lane), hover, point);
            invalidate(page, OVERLAY);
        },
        choose: (event, allocation) => {
            plot.pointed = null;
            setDevice(page, device);
            change(page, { moment: event });
            select(page, allocation);
        },
    });
    stage.room.addEventListener("pointerdown", ({ button, clientX, clientY }) => {
        const { left, top: upper } = stage.pixels.getBoundingClientRect();
        const mark = button === 0 ? phaseAt(page, { x: clientX - left, y: clientY - upper }, pane, lane) : null;
        if (mark) selectPhase(page, mark, shown);
    });
    tip.hidden = true;
    return {
        shown,
        pane,
        remove() {
            clearTimeout(pane.resting);
            stop();
            box.replaceChildren();
            shown.c.release();
        },
        /** @param {number} scale @param {boolean} inside */
        picture: (scale, inside) => atOnce(drawForPicture(page, pane, lane, has.found, scale, inside)),
        /** The row's event at the cursor; null: nobody points. */
        at: () => {
            const x = cursorX(page);
            return x === null ? null : eventAt(x);
        },
        draw() {
            if (drawn !== rowsOf(page).version) {
                drawn = rowsOf(page).version;
                void follow();
                lane.height = phasesHeight(page, shown, lane);
                box.style.flexBasis = `${ROW_LEAST + lane.height}px`;
                measure();
                const shift = clockShift(page, shown);
                Object.assign(pane, { from: state.from + shift, to: state.to + shift, top: topBytes() });
                drawStack(page, stage.pixels, shown, pane.from, pane.to, 0, pane.top, has.found);
                drawAround(page, pane, lane, has.found);
                placeMarkers(page, pane);
                nameBandsSoon(page, pane);
                setText(facts, headText(page, shown, false));
                stage.pixels.setAttribute(
                    "aria-label",
                    `Allocations of device ${deviceName(session.devices[device].ordinal)}; highest ` +
                        `${formatBytes(shown.facts.peak_bytes)}.`,
                );
            }
            drawOverlay();
            setText(cursor, cursorText(page, device, shown));
        },
    };
}

/** Puts the rows around the timeline, by device, or removes them where one device is shown. Call it before the timeline
 * is measured. */
export function placeRows(/** @type {Page} */ page) {
    const { state, ui, view } = page;
    if (!state.all && !ui.main.classList.contains("rows")) return;
    ui.main.classList.toggle("rows", state.all);
    const rows = rowsOf(page);
    const asked = state.all ? state.device : -1;
    if (asked === (rows.own?.device ?? -1)) return;
    const { groups, rest, own } = rows;
    own?.head.remove();
    rows.own = null;
    if (!state.all) return [rest, ...groups.map(({ box }) => box)].forEach((box) => box.remove());
    const { head, button, facts, cursor } = makeHead(page, state.device);
    button.setAttribute("aria-pressed", "true");
    rows.own = { device: state.device, head, cursor };
    setText(facts, headText(page, view, true));
    const inHand = groups.findIndex(({ devices }) => devices.includes(state.device));
    rest.className = groups[0].box.className;
    groups.forEach((group, i) => {
        const wasSplit = group.places.length * 2 !== group.box.childElementCount;
        if (i === inHand || wasSplit) openGroup(page, group);
    });
    const boxes = groups.map(({ box }) => box);
    page.ui.plot.before(...boxes.slice(0, inHand + 1), head);
    page.ui.plot.after(rest, ...boxes.slice(inHand + 1));
    if (page.ui.plot.parentElement) page.ui.plot.parentElement.onscroll = () => invalidate(page, OVERLAY);
}

/** The places that can be seen. On paper nothing scrolls, so all that are kept can be seen. */
function placesInSight(/** @type {Page} */ page) {
    const { groups, rest } = rowsOf(page);
    if (page.printing && groups.length === 1) return groups[0].places.filter(({ box }) => box.isConnected);
    const { top = 0, bottom = 0 } = page.ui.plot.parentElement?.getBoundingClientRect() ?? {};
    const isSeen = (/** @type {HTMLElement} */ box) => {
        const own = box.getBoundingClientRect();
        return own.height > 0 && own.bottom > top && own.top < bottom;
    };
    return groups.flatMap((group) => {
        const isSplit = group.devices.includes(page.state.device);
        if (groups.length > 1 && !isSeen(group.box) && !(isSplit && isSeen(rest))) return [];
        if (group.places.length === 0) openGroup(page, group);
        return group.places.filter(({ box }) => isSeen(box));
    });
}

/** Removes rows that were made before many others and are not in sight. @param {Page} page @param {Place[]} seen */
function dropRows(page, seen) {
    const { made } = rowsOf(page);
    for (const [device, row] of made) {
        if (made.size <= ROWS_KEPT) return;
        if (seen.some((place) => place.device === device)) continue;
        made.delete(device);
        row.remove();
    }
}

function* makeRows(/** @type {Page} */ page, /** @type {Place[]} */ places) {
    const { made } = rowsOf(page);
    for (const place of places) {
        if (!page.state.all) return;
        while (page.session.c.prepare(place.device, 1) === 1) yield;
        if (made.has(place.device)) continue;
        const row = createRow(page, place);
        made.set(place.device, row);
        row.draw();
        yield;
    }
}

/** A device's event at the cursor; null: nobody points.
 * @param {Page} page @param {number} device @param {View} shown */
function cursorEvent(page, device, shown) {
    const [plot, x] = [page.plot, cursorX(page)];
    if (device === page.state.device && plot.hover) return plot.hover.event;
    if (x === null) return null;
    if (shown === page.view) return shown.c.event_of_x(x * plot.ratio);
    const row = rowsOf(page).made.get(device);
    return row ? row.at() : shown.c.event_at_us(axisOfX(page, x) + clockShift(page, shown));
}

/** A device's live bytes at the cursor. @param {Page} page @param {number} device @param {View} shown */
function cursorText(page, device, shown) {
    const event = cursorEvent(page, device, shown);
    if (event === null) return "";
    const reserved = shown.facts.reserved_peak > 0 ? ` \u00b7 reserved ${formatBytes(shown.c.reserved_at(event))}` : "";
    return `live ${formatBytes(shown.c.live_at(event))}${reserved}`;
}

/** @param {Page} page @param {boolean} pixels whether more than the cursor is another */
export function drawRows(page, pixels) {
    if (!page.state.all) return;
    const rows = rowsOf(page);
    if (pixels) rows.version++;
    if (rows.own) setText(rows.own.cursor, cursorText(page, page.state.device, page.view));
    const seen = placesInSight(page);
    for (const { device } of seen) rows.made.get(device)?.draw();
    const missing = seen.filter(({ device }) => !rows.made.has(device));
    if (missing.length === 0 || rows.making) return;
    rows.making = true;
    void inTurns(makeRows(page, missing), () => {
        rows.making = false;
        dropRows(page, placesInSight(page));
        // Rows may have been scrolled into sight meanwhile.
        invalidate(page, OVERLAY);
    });
}

/** @typedef {ReturnType<Row["picture"]> & {device: number, pane: Pane, head: string}} Pictured */

/**
 * Draws the timeline and the shown rows of other devices on canvases of their own, from the top; if there are many
 * devices, only those in sight. Each row, which may be removed between two steps, is one step.
 * @param {Page} page @param {number} scale @param {boolean} inside
 * @returns {Generator<undefined, Pictured[]>}
 */
export function* picturedRows(page, scale, inside) {
    const { plot, session, state, view } = page;
    const { groups, made: rows } = rowsOf(page);
    const kept = groups.length === 1 ? groups[0].places : placesInSight(page);
    const missing = kept.filter(({ device }) => state.all && device !== state.device && !rows.has(device));
    yield* makeRows(page, missing);
    /** @type {Pictured[]} */
    const pictured = [];
    for (const device of state.all ? timedDevices(page) : [state.device]) {
        const inHand = device === state.device;
        const row = kept.some((place) => place.device === device) ? rows.get(device) : undefined;
        const head = (/** @type {View} */ shown) =>
            state.all ? `Device ${deviceName(session.devices[device].ordinal)}  ${headText(page, shown, false)}` : "";
        if (inHand) {
            const made = yield* drawForPicture(page, plot, page.lane, page.search.ready, scale, inside);
            pictured.push({ ...made, device, pane: plot, head: head(view) });
        } else if (row) pictured.push({ ...row.picture(scale, inside), device, pane: row.pane, head: head(row.shown) });
        yield;
    }
    yield* layStack(page);
    showStack(page);
    drawTimelineAxes(page);
    drawRows(page, true);
    return pictured;
}

/** `n`: chooses the next device. @param {Page} page */
export function nextDevice(page) {
    const { session, state } = page;
    const all = state.all ? timedDevices(page) : session.devices.map((_, i) => i);
    setDevice(page, all[(all.indexOf(state.device) + 1) % all.length]);
}

/** For scripts: each device's part of the window, and its figures at the cursor. @param {Page} page */
export function rowFigures(page) {
    const { session, state, view } = page;
    if (!state.all) return [];
    return timedDevices(page).map((device) => {
        const inHand = device === state.device;
        const figures = (/** @type {View} */ shown) => {
            const { first, end } = rangeEvents(page, state, shown);
            const event = cursorEvent(page, device, shown);
            const cursor = event === null ? null : { event, bytes: shown.c.live_at(event) };
            const [part, { peak_bytes }] = [{ from_event: first, to_event: end }, shown.facts];
            return { device: session.devices[device].ordinal, in_hand: inHand, ...part, peak_bytes, cursor };
        };
        const shown = inHand ? view : rowsOf(page).made.get(device)?.shown;
        return shown ? figures(shown) : askAll(page, figures, device);
    });
}
