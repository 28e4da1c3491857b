// Starts the page, draws what is out of date, and turns keys, mouse and scripts into changes of the state.
import { drawFilter, kept, setFilter, startFilter } from "./filter.js";
import { loadHost, nextTurn, WHOLE_FILE } from "./host.js";
import { lane, phaseAt, selectPhase, startLane } from "./lane.js";
import { categoryNames, drawLegend } from "./legend.js";
import { drawMinimap, placeBrush, startMinimap } from "./minimap.js";
import { addFact, drawDetail, drawList, listsCategories, panel, startPanel } from "./panel.js";
import { startPicture } from "./picture.js";
import {
    axisOfX,
    drawOverlay,
    drawTimeline,
    layoutPlot,
    oomMarker,
    pickAt,
    plot,
    poolText,
    rangeEvents,
} from "./plot.js";
import { goToMatch, search, searchResult, setSearch } from "./search.js";
import {
    axisOfEvent,
    capacityBytes,
    COLORINGS,
    DETAIL,
    deviceIndex,
    eventOfAxis,
    EVERYTHING,
    fitBytes,
    fitSelection,
    fitWindow,
    flush,
    frame,
    goToEvent,
    hashWritten,
    HEADER,
    host,
    invalidate,
    isDark,
    LEGEND,
    LIST,
    meta,
    MINIMAP,
    momentText,
    OVERLAY,
    panWindow,
    readHash,
    scheduleHash,
    select,
    setAxis,
    setBytes,
    setDevice,
    setPaper,
    setWindow,
    startState,
    state,
    THEMES,
    TIMELINE,
    topBytes,
    zoomBytes,
    zoomWindow,
} from "./state.js";
import {
    deviceName,
    element,
    formatBytes,
    formatCount,
    formatEvent,
    formatExactBytes,
    formatPlural,
    make,
    press,
    setText,
} from "./text.js";

const ui = {
    device: element("device", HTMLSelectElement),
    peak: element("peak", HTMLButtonElement),
    reserved: element("reserved", HTMLButtonElement),
    oom: element("oom", HTMLButtonElement),
    trust: element("trust", HTMLButtonElement),
    trustBody: element("trust-body", HTMLDivElement),
    trustDialog: element("trust-dialog", HTMLDialogElement),
    theme: element("theme", HTMLButtonElement),
    keysDialog: element("keys-dialog", HTMLDialogElement),
    color: element("color", HTMLSelectElement),
    search: element("search", HTMLInputElement),
    found: element("found", HTMLOutputElement),
    drawn: element("drawn", HTMLParagraphElement),
    note: element("note", HTMLParagraphElement),
    failure: element("failure", HTMLDivElement),
};

/* ---- header and toolbar ---- */

/** @param {HTMLButtonElement} button @param {string} name @param {string} value @param {string} more */
function fillFigure(button, name, value, more) {
    button.replaceChildren(make("span", "figure-name", name), make("b", "", value));
    if (more) button.append(make("span", "figure-more", more));
}

function drawFigures() {
    const c = host.c;
    fillFigure(ui.peak, "Peak", formatBytes(c.page_peak_bytes()), c.page_events() ? momentText(c.page_peak_event()) : "");
    ui.peak.title = `${formatExactBytes(c.page_peak_bytes())} in ${formatPlural(c.page_live_at_peak(), "allocation")}. Go to the peak (p)`;
    // A memory timeline knows nothing of what the allocator holds.
    ui.reserved.hidden = c.page_reserved_peak() === 0;
    fillFigure(ui.reserved, "Reserved", formatBytes(c.page_reserved_peak()), "");
    ui.reserved.title = `The allocator held ${formatExactBytes(c.page_reserved_peak())} of the device at most. Show the whole run`;
    const ooms = c.page_oom_count();
    ui.oom.hidden = ooms === 0;
    if (ooms) ui.oom.title = `${oomMarker(0).title}. Go there (o)`;
    if (ooms) fillFigure(ui.oom, "OOM asked for", formatBytes(c.page_oom_size(0)), ooms > 1 ? `and ${formatPlural(ooms - 1, "more time")}` : "");
}

/** Diagnostics of the current device and of the file. */
function shownDiagnostics() {
    const ordinal = host.c.page_device_ordinal(state.device);
    return host.diagnostics().filter(({ device }) => device === WHOLE_FILE || device === ordinal);
}

function drawTrust() {
    const count = shownDiagnostics().length;
    setText(ui.trust, count === 0 ? "\u2713 Complete" : `! ${formatPlural(count, "note")}`);
    ui.trust.classList.toggle("badge-noted", count > 0);
    ui.trust.title = count === 0 ? "Nothing in the file speaks against the picture" : "What to know before trusting the picture";
}

/** The allocator's settings, one a line; a table of equal values is one value. @param {string} json */
function settingsText(json) {
    if (!json) return "";
    const valueText = (/** @type {unknown} */ value) => {
        if (typeof value !== "object" || value === null) return String(value);
        const values = Object.values(value);
        return values.length && values.every((other) => other === values[0]) ? `${values[0]} (all)` : JSON.stringify(value);
    };
    return Object.entries(JSON.parse(json)).map(([name, value]) => `${name}: ${valueText(value)}`).join("\n");
}

function openTrust() {
    const notes = shownDiagnostics();
    const list = make("ul", "notes");
    for (const { code, message } of notes) {
        const item = make("li", "", message);
        item.append(" ", make("code", "", code));
        list.append(item);
    }
    const parts = [notes.length ? list : make("p", "", "Nothing in the file speaks against the picture: every allocation has its events, and they agree with the final state.")];
    const facts = make("dl", "facts");
    addFact(facts, "File", String(meta.file ?? ""));
    addFact(facts, meta.fingerprint ? "Fingerprint" : "SHA-256", String(meta.fingerprint ?? meta.sha256 ?? ""));
    addFact(facts, "Made by", `Strata ${String(meta.version ?? "")}`);
    addFact(facts, "Allocator", settingsText(host.string(host.c.page_settings() >>> 0)));
    ui.trustBody.replaceChildren(...parts, facts);
    ui.trustDialog.showModal();
}

function drawSearch() {
    const searching = state.search !== "";
    if (document.activeElement !== ui.search && ui.search.value !== state.search) ui.search.value = state.search;
    const result = searchResult();
    element("search-next", HTMLButtonElement).hidden = !searching || result.allocations === 0;
    element("search-previous", HTMLButtonElement).hidden = !searching || result.allocations === 0;
    ui.search.setAttribute("aria-invalid", String(searching && search.error !== ""));
    const text = searching && search.error ? search.error : `${formatPlural(result.allocations, "allocation")} \u00b7 ${formatBytes(result.bytesAtPeak)} at the peak`;
    setText(ui.found, searching ? text : "");
    ui.found.title = searching ? search.error || formatExactBytes(result.bytesAtPeak) : "";
    ui.found.classList.toggle("found-wrong", searching && search.error !== "");
}

/** What the file says about where it comes from. */
function drawOrigin() {
    const kinds = ["", "Kineto trace", "memory timeline"];
    const rank = host.c.page_rank();
    const name = host.string(host.c.page_device_name(state.device) >>> 0);
    const text = [rank >= 0 ? `rank ${rank}` : "", kinds[host.c.page_kind()] ?? "", name].filter(Boolean).join(" \u00b7 ");
    const origin = element("origin", HTMLParagraphElement);
    setText(origin, text);
    origin.title = capacityBytes() ? `${text ? `${text} \u00b7 ` : ""}capacity ${formatBytes(capacityBytes())}` : text;
    origin.hidden = text === "";
}

function drawHeader() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    drawOrigin();
    drawFilter();
    drawFigures();
    drawTrust();
    drawSearch();
    ui.device.value = String(state.device);
    ui.color.value = state.colorBy;
    setText(ui.theme, `Theme: ${state.theme}`);
    press("axis-events", state.axis === "events");
    press("axis-time", state.axis === "time");
    press("group-site", state.groupBy === "site");
    press("group-stack", state.groupBy === "stack");
    element("group-by", HTMLDivElement).hidden = listsCategories();
    const time = element("axis-time", HTMLButtonElement);
    time.disabled = !host.c.page_has_time();
    time.title = time.disabled ? "This file has no times" : "";
    drawNote();
}

/** Says why there is little or nothing to see. */
function emptyReason() {
    const c = host.c;
    const other = Array.from({ length: c.page_device_count() }, (_, i) => i).find((i) => c.page_device_events(i) > 1);
    const elsewhere = other === undefined || other === state.device ? "" : ` Device ${deviceName(c.page_device_ordinal(other))} has a history of ${formatPlural(c.page_device_events(other), "event")}.`;
    const hint = " Call torch.cuda.memory._record_memory_history() before what you want to see.";
    if (c.page_events() === 0)
        return `No history was recorded for this device, so there is no timeline: the picture is the state when the snapshot was taken.${elsewhere || hint}`;
    if (c.page_events() === 1)
        return `The recording of this device has a single event, so there is no timeline: the picture is the state before and after it.${elsewhere || hint}`;
    if (c.page_lives() === 0) return `Nothing was allocated on this device while it was recorded.${elsewhere}`;
    return "";
}

function drawNote() {
    const reason = emptyReason();
    setText(ui.note, reason);
    ui.note.hidden = reason === "";
}

function drawDrawn() {
    const drawn = host.c.page_drawn() >>> 0;
    const merged = host.c.page_merged() >>> 0;
    const hidden = kept.active ? "The filter hides the others." : "Nothing is left out.";
    const bands = host.c.page_lives() >>> 0;
    const all = typeof meta.allocations === "number" ? `${formatPlural(bands, "band")} of ${formatPlural(meta.allocations, "allocation")}` : formatPlural(bands, "allocation");
    setText(ui.drawn, `${formatCount(drawn + merged)} of ${all} in view`);
    ui.drawn.title = `${formatCount(drawn)} with bands of their own; ${formatCount(merged)} thinner than a pixel, drawn as exact sums. ${hidden}`;
}

/* ---- the one draw ---- */

function draw() {
    const parts = frame.parts;
    cancelAnimationFrame(frame.request);
    frame.request = 0;
    frame.parts = 0;
    // What can change the room that is left for the timeline comes before it.
    if (parts & HEADER) drawHeader();
    if (parts & LEGEND) drawLegend();
    if (parts & (TIMELINE | HEADER | LEGEND)) layoutPlot();
    if (parts & TIMELINE) {
        drawTimeline();
        drawDrawn();
        placeBrush();
        describeTimeline();
    }
    if (parts & MINIMAP) {
        drawMinimap();
        placeBrush();
    }
    if (parts & (OVERLAY | TIMELINE)) drawOverlay();
    if (parts & DETAIL) drawDetail();
    if (parts & LIST) drawList();
}

/** A sentence for those who do not see the canvas. */
function describeTimeline() {
    const c = host.c;
    const first = Math.max(-1, Math.floor(eventOfAxis(state.from)));
    const end = Math.max(first + 1, Math.ceil(eventOfAxis(state.to)));
    const peak = c.page_peak_in(first, end);
    plot.timeline.setAttribute("aria-label", `Stacked allocations from ${formatEvent(first)} to ${formatEvent(end - 1)}; highest ${formatBytes(c.page_live_at(peak))} at ${momentText(peak)}.`);
}

/* ---- mouse ---- */

/** What a drag on the timeline does. @type {{x: number, y: number, from: number, to: number, bottom: number, top: number, range: boolean, moved: boolean} | null} */
let drag = null;

/** CSS pixel of the timeline. @param {MouseEvent} event */
function plotPoint(event) {
    const box = plot.timeline.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** @param {{x: number, y: number}} point */
function insidePlot({ x, y }) {
    return x >= 0 && y >= 0 && x < plot.width && y < plot.height;
}

/** Where each finger (or the mouse) that is down lies. @type {Map<number, {x: number, y: number}>} */
const fingers = new Map();
/** What two fingers hold on to: the positions under them when the second came down. @type {{a: number, b: number} | null} */
let pinch = null;

/** Two fingers no longer pan or pin. */
function startPinch() {
    drag = null;
    state.pointer = null;
    const [a, b] = [...fingers.values()].map(({ x }) => axisOfX(x));
    pinch = Math.abs(a - b) > 0 ? { a, b } : null;
}

/** Keeps what was under each finger under it. */
function movePinch() {
    const [first, second] = [...fingers.values()];
    if (!pinch || !second || Math.abs(first.x - second.x) < 8) return;
    const scale = (pinch.b - pinch.a) / (second.x - first.x);
    if (scale <= 0) return;
    const from = pinch.a - first.x * scale;
    setWindow(from, from + plot.width * scale);
}

/** @param {PointerEvent} event */
function plotDown(event) {
    const point = plotPoint(event);
    fingers.set(event.pointerId, point);
    if (fingers.size === 2) startPinch();
    if (fingers.size > 1) return;
    const mark = event.button === 0 ? phaseAt(point) : null;
    if (mark) selectPhase(mark);
    if (event.button !== 0 || !insidePlot(point)) return;
    drag = { ...point, from: state.from, to: state.to, bottom: state.bottom, top: topBytes(), range: event.shiftKey, moved: false };
    plot.box.setPointerCapture(event.pointerId);
}

/** @param {{x: number, y: number}} point */
function dragTo(point) {
    if (!drag) return;
    if (Math.hypot(point.x - drag.x, point.y - drag.y) > 3) drag.moved = true;
    if (!drag.moved) return;
    if (drag.range) {
        const [a, b] = [drag.x, point.x].map((x) => axisOfX(Math.min(Math.max(x, 0), plot.width)));
        state.range = a === b ? null : { from: Math.min(a, b), to: Math.max(a, b) };
        invalidate(OVERLAY | LIST);
        return;
    }
    const shift = ((drag.x - point.x) / plot.width) * (drag.to - drag.from);
    setWindow(drag.from + shift, drag.to + shift);
    if (state.top) {
        const rise = ((point.y - drag.y) / plot.height) * (drag.top - drag.bottom);
        setBytes(drag.bottom + rise, drag.top + rise);
    }
}

/** @param {PointerEvent} event */
function plotMove(event) {
    const point = plotPoint(event);
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, point);
    if (pinch) {
        movePinch();
        return;
    }
    dragTo(point);
    state.pointer = insidePlot(point) && !drag?.moved ? point : null;
    lane.hover = drag ? null : phaseAt(point);
    state.lanePointer = lane.hover ? point : null;
    invalidate(OVERLAY);
    scheduleList();
}

/** @param {PointerEvent} event */
function plotUp(event) {
    fingers.delete(event.pointerId);
    if (fingers.size === 0) pinch = null;
    const finished = drag;
    drag = null;
    if (!finished) return;
    if (finished.moved) {
        scheduleHash();
        return;
    }
    const { life, event: moment } = pickAt(plotPoint(event).x, plotPoint(event).y);
    state.moment = moment;
    select(life);
}

function plotLeave() {
    if (drag) return;
    state.pointer = null;
    state.lanePointer = null;
    lane.hover = null;
    invalidate(OVERLAY);
    scheduleList();
}

let listTimer = 0;

/** The list follows the pointer, but its sums must not slow the pointer down where tens of thousands are alive. */
function scheduleList() {
    if (listTimer === 0)
        listTimer = setTimeout(() => {
            listTimer = 0;
            frame.parts |= LIST;
            invalidate(OVERLAY);
        }, 60);
}

/** @param {WheelEvent} event */
function plotWheel(event) {
    const point = plotPoint(event);
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 400 : 1;
    const along = event.deltaX * pixels;
    const across = event.deltaY * pixels;
    const at = Math.min(1, Math.max(0, point.x / plot.width));
    if (event.ctrlKey || event.altKey) zoomBytes(Math.exp(-across * 0.002), 1 - Math.min(1, Math.max(0, point.y / plot.height)));
    else if (event.shiftKey || Math.abs(along) > Math.abs(across)) panWindow((along || across) / plot.width);
    else zoomWindow(Math.exp(-across * 0.002), at);
}

/** What a pinch on a trackpad has come to so far. */
let gestureScale = 1;

/**
 * Safari on a Mac sends these for a trackpad, where other browsers send a wheel with Ctrl; on a touchscreen it sends them
 * besides the pointers that are followed already.
 * @param {Event} event
 */
function plotGesture(event) {
    const gesture = /** @type {MouseEvent & { scale: number }} */ (event);
    event.preventDefault();
    if (event.type === "gesturechange" && fingers.size === 0) zoomWindow(gesture.scale / gestureScale, Math.min(1, Math.max(0, plotPoint(gesture).x / plot.width)));
    gestureScale = event.type === "gesturechange" ? gesture.scale : 1;
}

/** A canvas that changes its size is empty, so the new picture must come within the same frame. */
function resizePlot() {
    if (!layoutPlot()) return;
    frame.parts |= TIMELINE | MINIMAP;
    draw();
}

function startPlot() {
    plot.box.addEventListener("pointerdown", plotDown);
    plot.box.addEventListener("pointermove", plotMove);
    plot.box.addEventListener("pointerup", plotUp);
    plot.box.addEventListener("pointercancel", (event) => {
        fingers.delete(event.pointerId);
        pinch = null;
        drag = null;
    });
    plot.box.addEventListener("pointerleave", plotLeave);
    plot.box.addEventListener("wheel", plotWheel, { passive: false });
    for (const type of ["gesturestart", "gesturechange", "gestureend"]) plot.box.addEventListener(type, plotGesture);
    plot.box.addEventListener("dblclick", fitWindow);
    new ResizeObserver(resizePlot).observe(plot.box);
}

/* ---- keys ---- */

/** `o`: the first OOM, then the one after the marked moment. */
function goToOom() {
    const events = Array.from({ length: host.c.page_oom_count() }, (_, i) => host.c.page_oom_event(i));
    const next = events.find((event) => event > (state.moment ?? -2)) ?? events[0];
    if (next !== undefined) goToEvent(next);
}

/** Undoes one thing at a time, the most recent kind first. */
function undoOne() {
    if (state.range) state.range = null;
    else if (state.selected !== null || state.focus) select(null);
    else if (state.moment !== null) state.moment = null;
    else if (state.search) {
        ui.search.value = "";
        setSearch("");
    }
    invalidate(OVERLAY | LIST | DETAIL);
}

/** @type {Record<string, () => void>} */
const keyActions = {
    w: () => zoomWindow(1.5, keyMiddle()),
    s: () => zoomWindow(1 / 1.5, keyMiddle()),
    a: () => panWindow(-0.15),
    d: () => panWindow(0.15),
    "+": () => zoomWindow(1.5, keyMiddle()),
    "-": () => zoomWindow(1 / 1.5, keyMiddle()),
    0: fitWindow,
    f: fitSelection,
    v: fitBytes,
    p: () => goToEvent(host.c.page_peak_event()),
    o: goToOom,
    t: () => setAxis(state.axis === "events" ? "time" : "events"),
    "/": () => ui.search.focus(),
    "?": () => ui.keysDialog.showModal(),
    Escape: undoOne,
};

/** @type {Record<string, string>} */
const arrowKeys = { ArrowUp: "w", ArrowDown: "s", ArrowLeft: "a", ArrowRight: "d" };

/** Where keys zoom: at the pointer, else in the middle. */
function keyMiddle() {
    return state.pointer ? state.pointer.x / plot.width : 0.5;
}

/** @param {KeyboardEvent} event */
function pressKey(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog, input, select, textarea")) return;
    // Arrows scroll what can be scrolled.
    if (event.key in arrowKeys && target.closest(".scroll")) return;
    const key = arrowKeys[event.key] ?? (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    const action = Object.hasOwn(keyActions, key) ? keyActions[key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
}

/* ---- paper ---- */

/** @param {boolean} begins */
function setPrinting(begins) {
    setPaper(begins);
    document.documentElement.classList.toggle("printing", begins);
    if (panel.list) {
        panel.list.paper = begins;
        panel.list.measure();
    }
    frame.parts |= EVERYTHING;
    draw();
}

/* ---- toolbar ---- */

function startToolbar() {
    ui.device.addEventListener("change", () => setDevice(Number(ui.device.value)));
    ui.peak.addEventListener("click", () => goToEvent(host.c.page_peak_event()));
    ui.reserved.addEventListener("click", fitWindow);
    ui.oom.addEventListener("click", goToOom);
    ui.trust.addEventListener("click", openTrust);
    element("help", HTMLButtonElement).addEventListener("click", () => ui.keysDialog.showModal());
    element("fit", HTMLButtonElement).addEventListener("click", fitWindow);
    element("axis-events", HTMLButtonElement).addEventListener("click", () => setAxis("events"));
    element("axis-time", HTMLButtonElement).addEventListener("click", () => setAxis("time"));
    ui.color.addEventListener("change", () => {
        state.colorBy = ui.color.value;
        invalidate(TIMELINE | LIST | DETAIL | LEGEND);
    });
    ui.theme.addEventListener("click", () => {
        state.theme = THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length];
        invalidate(EVERYTHING);
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => invalidate(EVERYTHING));
}

function startSearch() {
    let timer = 0;
    const now = () => {
        clearTimeout(timer);
        if (ui.search.value !== state.search) setSearch(ui.search.value);
    };
    ui.search.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(now, 150);
    });
    ui.search.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
            ui.search.value = "";
            now();
            ui.search.blur();
        } else if (event.key === "Enter") {
            event.preventDefault();
            now();
            goToMatch(event.shiftKey ? -1 : 1);
        }
    });
    element("search-form", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
    element("search-next", HTMLButtonElement).addEventListener("click", () => goToMatch(1));
    element("search-previous", HTMLButtonElement).addEventListener("click", () => goToMatch(-1));
}

/* ---- for scripts ---- */

/** The largest call sites at the peak. @param {number} most */
function topAtPeak(most) {
    host.groups(host.c.page_peak_event(), 0);
    return host.firstGroups(most);
}

/** The current device's object of `strata report --json`. */
function summaryOfDevice() {
    const c = host.c;
    const live = c.page_peak_bytes();
    return {
        device: c.page_device_ordinal(state.device),
        events: c.page_events() >>> 0,
        allocations: c.page_lives() >>> 0,
        preexisting: c.page_preexisting() >>> 0,
        start_bytes: c.page_start_bytes(),
        peak_bytes: live,
        peak_event: c.page_peak_event(),
        end_bytes: c.page_end_bytes(),
        live_at_peak: c.page_live_at_peak() >>> 0,
        reserved_start_bytes: c.page_reserved_start(),
        reserved_peak_bytes: c.page_reserved_peak(),
        reserved_end_bytes: c.page_reserved_end(),
        reserved_shift_bytes: c.page_reserved_shift(),
        top_at_peak: topAtPeak(20).map((group) => ({
            bytes: group.bytes,
            count: group.count,
            share: live === 0 ? 0 : group.bytes / live,
            site: host.siteText(group.site),
            stack: host.stack(group.stack),
        })),
        oom: Array.from({ length: c.page_oom_count() }, (_, i) => ({
            event: c.page_oom_event(i),
            requested_bytes: c.page_oom_size(i),
            device_free_bytes: c.page_oom_free(i),
        })),
    };
}

/** @returns {PageView} */
function currentView() {
    return {
        device: host.c.page_device_ordinal(state.device),
        from: eventOfAxis(state.from),
        to: eventOfAxis(state.to),
        axis: state.axis,
        colorBy: state.colorBy,
        search: state.search,
        selected: state.selected,
        filter: { ...state.filter },
        range: state.range ? { from: rangeEvents(state.range).first, to: rangeEvents(state.range).end } : null,
    };
}

/** @param {Parameters<PageApi["setView"]>[0]} change */
function changeView(change) {
    if (change.device !== undefined) {
        const index = deviceIndex(change.device);
        if (index < 0) throw new RangeError(`There is no device ${change.device}.`);
        if (index !== state.device) setDevice(index);
    }
    if (change.axis !== undefined) setAxis(change.axis);
    if (change.from !== undefined || change.to !== undefined) {
        const view = currentView();
        setWindow(axisOfEvent(change.from ?? view.from), axisOfEvent(change.to ?? view.to));
    }
    if (change.colorBy !== undefined) {
        if (!COLORINGS.includes(change.colorBy)) throw new RangeError(`There is no colouring "${change.colorBy}".`);
        state.colorBy = change.colorBy;
        invalidate(TIMELINE | LIST | DETAIL | LEGEND | HEADER);
    }
    if (change.filter !== undefined) setFilter(change.filter);
    if (change.range !== undefined) state.range = change.range && { from: axisOfEvent(change.range.from), to: axisOfEvent(change.range.to) };
    if (change.range !== undefined) invalidate(LIST);
    if (change.search !== undefined) setSearch(change.search);
    if (change.selected !== undefined) {
        if (change.selected !== null && !(change.selected >= 0 && change.selected < host.c.page_lives()))
            throw new RangeError(`There is no allocation ${change.selected}.`);
        select(change.selected);
    }
    invalidate(OVERLAY | HEADER);
    flush();
    return currentView();
}

/** @param {number} x @param {number} y CSS pixels of the timeline @returns {PagePick | null} */
function pickForScripts(x, y) {
    flush();
    if (!insidePlot({ x, y })) return null;
    const { life } = pickAt(x, y);
    return life === null ? null : allocationForScripts(life);
}

/** @param {number} life @returns {PagePick} */
function allocationForScripts(life) {
    return {
        allocation: life,
        bytes: host.c.page_life_bytes(life),
        birth: host.c.page_life_birth(life),
        death: host.c.page_life_death(life),
        stream: host.c.page_life_stream(life),
        stack: host.stack(host.c.page_life_stack(life) >>> 0),
    };
}

/** @param {Promise<void>} ready @returns {PageApi} */
function makeApi(ready) {
    return {
        ready,
        devices: () =>
            Array.from({ length: host.c.page_device_count() }, (_, i) => ({
                device: host.c.page_device_ordinal(i),
                events: host.c.page_device_events(i) >>> 0,
                allocations: host.c.page_device_lives(i) >>> 0,
            })),
        summary: summaryOfDevice,
        view: currentView,
        setView: changeView,
        pick: pickForScripts,
        allocation: (life) => {
            const c = host.c;
            if (!(Number.isInteger(life) && life >= 0 && life < c.page_lives())) throw new RangeError(`There is no allocation ${life}.`);
            const context = c.page_life_context(life) >>> 0;
            return {
                ...allocationForScripts(life),
                pool: poolText(life),
                category: categoryNames()[c.page_life_category(life) >>> 0],
                compileContext: host.string(c.page_context_compile(context) >>> 0),
                userMetadata: host.string(c.page_context_metadata(context) >>> 0),
            };
        },
        phases: () => {
            flush();
            return lane.marks.map(({ name, row, from, to }) => ({ name, row, from, to }));
        },
        search: (text) => {
            const result = setSearch(text);
            ui.search.value = text;
            flush();
            return { ...result };
        },
        stats: () => {
            flush();
            return {
                allocations: host.c.page_lives() >>> 0,
                drawn: host.c.page_drawn() >>> 0,
                merged: host.c.page_merged() >>> 0,
                frameMs: plot.frameMs.slice(),
                memoryBytes: host.c.memory.buffer.byteLength,
                kept: host.c.page_kept(),
                draws: plot.draws,
            };
        },
    };
}

/* ---- start ---- */

/** @param {string} stage @param {number} done 0..1 */
function reportProgress(stage, done) {
    element("progress", HTMLProgressElement).value = done;
    setText(element("stage-name", HTMLParagraphElement), stage);
}

function fillDevices() {
    const c = host.c;
    for (let i = 0; i < c.page_device_count(); i++) {
        const option = make("option", "", deviceName(c.page_device_ordinal(i)));
        option.title = host.string(c.page_device_name(i) >>> 0);
        option.label = `${option.text} \u00b7 ${formatPlural(c.page_device_events(i) >>> 0, "event")}`;
        option.value = String(i);
        ui.device.append(option);
    }
}

async function start() {
    const loaded = await loadHost(reportProgress);
    reportProgress("Drawing", 0.95);
    await nextTurn();
    startState(loaded, draw);
    if (host.c.page_device_count() === 0) throw new Error("The file holds no device: no segments, no blocks and no events.");
    const file = element("file", HTMLParagraphElement);
    setText(file, String(meta.title || meta.file || ""));
    file.title = String(meta.file ?? "");
    fillDevices();
    element("loading", HTMLDivElement).hidden = true;
    element("app", HTMLDivElement).hidden = false;
    readHash(location.hash || String(meta.view ?? ""));
    startPlot();
    startMinimap();
    startPanel();
    startLane();
    startFilter();
    startPicture();
    startToolbar();
    startSearch();
    document.addEventListener("keydown", pressKey);
    addEventListener("beforeprint", () => setPrinting(true));
    addEventListener("afterprint", () => setPrinting(false));
    addEventListener("hashchange", () => {
        if (location.hash !== hashWritten) readHash(location.hash);
    });
    flush();
}

/** @param {unknown} error */
function showFailure(error) {
    element("loading", HTMLDivElement).hidden = true;
    ui.failure.hidden = false;
    setText(ui.failure, error instanceof Error ? error.message : String(error));
}

const ready = start();
// A script that awaits strata.ready hears of a failure itself; everybody reads it on the page.
ready.catch(showFailure);
window.strata = makeApi(ready);
