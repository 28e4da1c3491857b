// All devices on one axis: those that are not in hand are rows above and below the timeline, each with its own scale of
// bytes. Window, cursor, selected range, marked moment, search, filter and highlight are the same in all of them.
import { setDevice } from "./address.js";
import { GUTTER, plot, themeColor } from "./canvas.js";
import { filterWords } from "./filter.js";
import { drawStack } from "./plot.js";
import {
    capacityBytes, change, clockShift, FOCUS_KINDS, fitWindow, invalidate, OVERLAY, panWindow, select, session,
    state, TIMELINE, timedViews, usOfEvent, view, zoomWindow,
} from "./state.js";
import { deviceName, element, formatBytes, formatDuration, formatPlural, formatShare, make, setText } from "./text.js";
import { drawBytes, line, listen, makeStage, pill } from "./two_stage.js";
import { Matcher, selectWords } from "./words.js";

/** @typedef {import("./session.js").View} View */
/** @typedef {ReturnType<typeof createRow>} Row */

/** By the device's index. @type {Map<number, Row>} */
const rows = new Map();

/** Around a row's plot; what lies beside the timeline lies beside it, so that one moment has one x. */
const ROUND = { left: GUTTER.left, top: 20, bottom: 5, get right() { return GUTTER.right; } };

/** CSS pixel along the timeline under the pointer, in whichever row it is; null: it is in none. @type {number | null} */
let pointed = null;

/** The crosshair of all rows but the one that is pointed at with more. */
export function rowPointer() {
    return state.all ? pointed : null;
}

/** Where the cursor is, for every row. */
function cursorX() {
    return state.pointer ? state.pointer.x : pointed;
}

/** @param {View} shown @param {boolean} inHand */
function headText(shown, inHand) {
    const { peak_bytes, peak_event, events } = shown.facts;
    const at = formatDuration(shown.c.event_us(peak_event) - clockShift(shown));
    return [`peak ${formatBytes(peak_bytes)} at ${at}`, inHand ? "list, tabs and header speak of this device" : "", formatPlural(events, "event")].filter(Boolean).join(" \u00b7 ");
}

/** The line above a device's timeline; its button takes the device in hand. @param {number} device index */
function makeHead(device) {
    const head = make("p", "two-head");
    const button = make("button", "quiet", `Device ${deviceName(session.devices[device].ordinal)}`);
    button.type = "button";
    button.title = "List, tabs and header speak of this device (n: of the next one)";
    button.addEventListener("click", () => setDevice(device));
    const facts = make("span", "two-dim");
    head.append(button, facts);
    return { head, button, facts };
}

/** @param {number} device index @param {View} shown */
function createRow(device, shown) {
    const box = make("section", "two-plot");
    const { head, facts } = makeHead(device);
    const { stage, measure, begin } = makeStage(`device-${device}`, box, ROUND, () => 0);
    const tip = make("div", "tip");
    tip.setAttribute("role", "tooltip");
    box.setAttribute("aria-label", head.textContent ?? "");
    stage.room.append(tip);
    const matcher = new Matcher(session);
    /** What the view holds now of the state's highlight, filter and search. */
    const has = { focus: "", filter: "", search: "", found: false };
    let version = 0;
    const position = (/** @type {number} */ us) => ((us - state.from) / (state.to - state.from)) * stage.width;

    /** @param {0 | 1} slot of the filter, the search @param {string} words @param {(error: string) => void} done */
    const find = async (slot, words, done) => {
        const asked = ++version;
        await selectWords(shown, matcher, slot, words, () => asked === version, done);
    };
    /** Brings filter, search and highlight up to the state. */
    const follow = async () => {
        const focus = JSON.stringify(state.focus);
        if (focus !== has.focus) {
            has.focus = focus;
            // Streams and pools are numbered by device.
            if (state.focus && !["stream", "pool"].includes(state.focus.by)) shown.c.light(FOCUS_KINDS.indexOf(state.focus.by), state.focus.id);
            else shown.c.light_off();
        }
        const filter = filterWords(state.filter);
        if (filter === has.filter && state.search === has.search) return;
        Object.assign(has, { filter, search: state.search, found: false });
        if (filter) await find(0, filter, (error) => error && shown.c.filter_off());
        else shown.c.filter_off();
        if (has.search) await find(1, has.search, (error) => (has.found = error === ""));
        invalidate(TIMELINE);
    };
    const topBytes = () => {
        const whole = shown.c.headroom(-1, shown.facts.events, capacityBytes(device));
        const { highest } = has.filter ? shown.c.kept() : { highest: 0 };
        return highest > 0 && highest * 3 < whole ? (highest * 17) / 16 : whole;
    };
    const drawOverlay = () => {
        const context = begin(stage.overlay);
        if (state.range) {
            const [from, to] = [position(state.range.from), position(state.range.to)].map((x) => Math.min(stage.width, Math.max(0, x)));
            const { first, end } = eventsOf(shown, state.range);
            context.fillStyle = themeColor("--select");
            context.fillRect(from, 0, to - from, stage.height);
            if (to > from) pill(context, `highest ${formatBytes(shown.c.live_at(shown.c.peak_in(first, end)))}`, (from + to) / 2, 2, stage.width, themeColor("--dim"));
        }
        const held = state.moment === null ? -1 : position(usOfEvent(state.moment));
        context.strokeStyle = themeColor("--accent");
        if (held >= 0 && held <= stage.width) line(context, held, 0, held, stage.height);
        const x = cursorX();
        if (x === null) return;
        context.strokeStyle = themeColor("--cross");
        line(context, x, 0, x, stage.height);
        pill(context, formatBytes(shown.c.live_at(eventAt(x))), x, stage.height - 22, stage.width, themeColor("--text"));
    };
    const eventAt = (/** @type {number} */ x) => shown.c.event_of_x(x * stage.ratio);
    const at = (/** @type {number} */ x, /** @type {number} */ y) => {
        if (x < 0 || y < 0 || x >= stage.width || y >= stage.height) return null;
        const { allocation, event } = shown.pick(Math.floor(x * stage.ratio), Math.floor(y * stage.ratio));
        return { event, allocation: state.viewBy === "age" ? allocation : null };
    };
    /** @param {{x: number, y: number}} point */
    const showTip = ({ x, y }) => {
        const found = at(x, y);
        tip.hidden = found?.allocation == null;
        if (!found || found.allocation === null) return;
        const { bytes, stack } = shown.c.allocation(found.allocation);
        const live = shown.c.live_at(found.event);
        const first = make("p", "tip-head", formatBytes(bytes));
        first.append(make("span", "tip-share", `${formatShare(bytes, live)} of ${formatBytes(live)} on this device`));
        tip.replaceChildren(first, make("p", "tip-site", session.siteText(shown.c.stack_site(stack))), make("p", "tip-dim", "a click takes the device in hand and pins this"));
        const left = x + 16 + tip.offsetWidth <= stage.width ? x + 16 : Math.max(0, x - 16 - tip.offsetWidth);
        tip.style.transform = `translate(${Math.round(left + ROUND.left)}px, ${Math.round(Math.min(y, Math.max(0, stage.height - tip.offsetHeight)))}px)`;
    };
    listen(stage, at, {
        zoom: zoomWindow,
        pan: panWindow,
        fit: fitWindow,
        hover: (event, point) => {
            pointed = event === null ? null : point.x;
            tip.hidden = true;
            if (pointed !== null) showTip(point);
            invalidate(OVERLAY);
        },
        choose: (event, allocation) => {
            pointed = null;
            setDevice(device);
            change({ moment: event });
            select(allocation);
        },
    });
    tip.hidden = true;
    return {
        head,
        box,
        shown,
        facts,
        /** The event that the row shows at the cursor; null: nobody points. */
        cursor: () => {
            const x = cursorX();
            return x === null ? null : eventAt(x);
        },
        /** @param {boolean} pixels whether more than the cursor is another */
        draw(pixels) {
            if (pixels) {
                void follow();
                measure();
                const shift = clockShift(shown);
                const top = topBytes();
                drawStack(stage.pixels, shown, state.from + shift, state.to + shift, 0, top, has.found);
                const context = begin(stage.axes);
                drawBytes(context, shown, 0, top, stage, false);
                context.strokeStyle = themeColor("--axis");
                line(context, 0, 0, 0, stage.height);
                line(context, 0, stage.height, stage.width, stage.height);
                setText(facts, headText(shown, false));
                stage.pixels.setAttribute("aria-label", `Allocations of device ${deviceName(session.devices[device].ordinal)}; highest ${formatBytes(shown.facts.peak_bytes)}.`);
            }
            drawOverlay();
        },
    };
}

/** Events [first, end) of a device in a range of the time of the one in hand. @param {View} shown @param {{from: number, to: number}} range */
function eventsOf(shown, { from, to }) {
    const shift = clockShift(shown);
    const first = shown.c.event_at_us(from + shift);
    return { first, end: Math.max(first + 1, shown.c.event_at_us(to + shift) + 1) };
}

/** The head of the timeline itself. @type {{device: number, head: HTMLElement, facts: HTMLElement} | null} */
let own = null;

/** Puts the rows around the timeline, by device; takes them away where one device is shown. Before the timeline is measured. */
export function placeRows() {
    element("main", HTMLElement).classList.toggle("rows", state.all);
    const asked = state.all ? state.device : -1;
    if (asked === (own?.device ?? -1)) return;
    own?.head.remove();
    own = null;
    for (const { head, box } of rows.values()) {
        head.remove();
        box.remove();
    }
    if (!state.all) return;
    for (const [device, shown] of timedViews()) {
        if (device !== state.device && !rows.has(device)) rows.set(device, createRow(device, shown));
        const row = rows.get(device);
        if (device < state.device && row) plot.box.before(row.head, row.box);
    }
    const { head, button, facts } = makeHead(state.device);
    button.setAttribute("aria-pressed", "true");
    own = { device: state.device, head, facts };
    setText(facts, headText(view, true));
    plot.box.before(head);
    for (const device of [...timedViews().keys()].reverse()) {
        const row = rows.get(device);
        if (device > state.device && row) plot.box.after(row.head, row.box);
    }
}

/** @param {boolean} pixels whether more than the cursor is another */
export function drawRows(pixels) {
    if (state.all) for (const [device, row] of rows) if (device !== state.device) row.draw(pixels);
}

/** `n`: the next device. */
export function nextDevice() {
    const all = state.all ? [...timedViews().keys()] : session.devices.map((_, i) => i);
    setDevice(all[(all.indexOf(state.device) + 1) % all.length]);
}

/** For scripts: each device's part of the window, and what it has at the cursor. */
export function rowFigures() {
    if (!state.all) return [];
    return [...timedViews()].map(([device, shown]) => {
        const inHand = device === state.device;
        const { first, end } = eventsOf(inHand ? view : shown, state);
        const event = inHand ? (plot.hover?.event ?? (pointed === null ? null : view.c.event_of_x(pointed * plot.ratio))) : rows.get(device)?.cursor() ?? null;
        return { device: session.devices[device].ordinal, in_hand: inHand, from_event: first, to_event: end, peak_bytes: shown.facts.peak_bytes, cursor: event === null ? null : { event, bytes: shown.c.live_at(event) } };
    });
}
