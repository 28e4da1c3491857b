// Header and toolbar: the file, its figures, and what to know before trusting them.
import { WHOLE_FILE } from "page_api";
import { openingWindow } from "./address.js";
import { drawFilter } from "./filter_form.js";
import { misreadSentence } from "./history.js";
import { oomMarker } from "./markers.js";
import { placeOfText } from "./go_to.js";
import { breakable } from "./action_line.js";
import { askCards, askFindings } from "./questions.js";
import { placeOfMatch, updateSearch } from "./search.js";
import { allocationWord, capacityBytes, isDark, momentText, rangeEvents, VIEWINGS, wholeRange } from "./state.js";
import {
    addFact,
    askedText,
    deviceName,
    dotted,
    formatBytes,
    formatCount,
    formatExactBytes,
    formatPlural,
    make,
    setText,
} from "./text.js";

/** The menu's entry for all devices. */
export const ALL = "all";

/** @param {HTMLButtonElement} button @param {string} name @param {string} value @param {string} more */
function fillFigure(button, name, value, more) {
    const parts = [make("span", "figure-name", name), make("b", "", value)];
    button.replaceChildren(...parts, more ? make("span", "figure-more", more) : "");
}

function drawFigures(/** @type {Page} */ page) {
    const { ui, view } = page;
    const { events, live_at_peak, ooms, peak_bytes, peak_event, reserved_peak } = view.facts;
    fillFigure(ui.peak, "Peak", formatBytes(peak_bytes), events ? momentText(page, peak_event) : "");
    const many = formatPlural(live_at_peak, allocationWord(page));
    ui.peak.title = `${formatExactBytes(peak_bytes)} in ${many}. Go to the peak (p)`;
    // A memory timeline has nothing about the allocator.
    ui.reserved.hidden = reserved_peak === 0;
    fillFigure(ui.reserved, "Reserved", formatBytes(reserved_peak), "");
    const held = `The allocator held ${formatExactBytes(reserved_peak)} of the device at most`;
    ui.reserved.title = `${held}. Show the whole run`;
    ui.oom.hidden = ooms === 0;
    if (ooms) ui.oom.title = `${oomMarker(page, 0).title}. Go there (o)`;
    if (ooms === 0) return;
    const { size, device_free } = page.view.c.oom(ooms - 1);
    const { lacking_bytes } = page.view.c.oom_state(ooms - 1);
    const lacks = device_free >= 0 && lacking_bytes > 0;
    const text = lacks ? `${formatBytes(lacking_bytes)} short of ${formatBytes(size)}` : askedText(size, device_free);
    fillFigure(ui.oom, "Out of memory", text, ooms > 1 ? `and ${formatPlural(ooms - 1, "time")} before` : "");
}

/** Shows the most urgent finding; an out-of-memory event has a figure of its own. @param {Page} page */
function drawFinding(page) {
    const { ui } = page;
    const [first] = page.opening ? [] : askFindings(page.view);
    ui.finding.hidden = page.view.facts.ooms > 0 || !["high", "medium"].includes(first?.severity);
    if (ui.finding.hidden) return;
    const [{ kind, headline, amount }] = askCards(page.view);
    fillFigure(ui.finding, `! ${kind}`, amount, "");
    ui.finding.title = `${headline}. Show why (1)`;
}

/** Diagnostics of the current device and of the file. @param {Page} page */
function shownDiagnostics({ session, state }) {
    return session.diagnostics(WHOLE_FILE, session.devices[state.device].ordinal);
}

function drawTrust(/** @type {Page} */ page) {
    const { ui } = page;
    const count = shownDiagnostics(page).length;
    setText(ui.trust, count === 0 ? "\u2713 Complete" : `! ${formatPlural(count, "note")}`);
    ui.trust.classList.toggle("badge-noted", count > 0);
    ui.trust.title = count === 0 ? "Complete: events and final state agree" : "How far to trust this";
}

/** The allocator's settings, one a line; a table whose values are all equal is one value. @param {string} json */
function settingsText(json) {
    if (!json) return "";
    const valueText = (/** @type {unknown} */ value) => {
        if (typeof value !== "object" || value === null) return String(value);
        const values = Object.values(value);
        return values.length && values.every((other) => other === values[0])
            ? `${values[0]} (all)`
            : JSON.stringify(value);
    };
    return Object.entries(JSON.parse(json))
        .map(([name, value]) => `${name}: ${valueText(value)}`)
        .join("\n");
}

export function openTrust(/** @type {Page} */ page) {
    const { meta, session, ui } = page;
    const notes = shownDiagnostics(page);
    const items = notes.map(({ code, message }) => make("li", "", ...breakable(message), { title: code }));
    const calm = make("p", "", "Complete: events and final state agree.");
    const facts = make("dl", "facts");
    addFact(facts, "File", String(meta.file ?? ""));
    addFact(facts, meta.fingerprint ? "Fingerprint" : "SHA-256", String(meta.fingerprint ?? meta.sha256 ?? ""));
    addFact(facts, "Made by", `Strata ${String(meta.version ?? "")}`);
    addFact(facts, "Allocator", settingsText(session.string(session.facts.settings)));
    ui.trustBody.replaceChildren(notes.length ? make("ul", "notes", ...items) : calm, facts);
    ui.trustDialog.showModal();
}

const SEARCH_HINT = "Search or go to: attention.py, size:>100M, event 2737";

const GO_TO_HINT = "Go to: 2737, 62 ms, step 4, peak, oom";

function drawSearch(/** @type {Page} */ page) {
    const { state, ui } = page;
    const searching = state.search !== "";
    updateSearch(page);
    const { result, error, running } = page.search;
    const moment = placeOfText(page, ui.search.value, ui.search.dataset.goTo === "1");
    if (document.activeElement !== ui.search && ui.search.value !== state.search && !moment)
        ui.search.value = state.search;
    for (const id of ["search-next", "search-previous", "search-only"])
        page.element(id, HTMLButtonElement).hidden = !searching || result.allocations === 0;
    ui.search.setAttribute("aria-invalid", String(error !== ""));
    const place = placeOfMatch(page);
    const count = place
        ? `${formatCount(place)} of ${formatCount(result.allocations)}`
        : formatPlural(result.allocations, "allocation");
    const text = running ? "searching \u2026" : error || `${count} \u00b7 ${formatBytes(result.bytesAtPeak)}`;
    ui.search.placeholder = ui.search.dataset.goTo ? GO_TO_HINT : SEARCH_HINT;
    setText(ui.found, searching ? text : moment ? `${moment.go ? "Enter: go to " : ""}${moment.name}` : "");
    const found = formatPlural(result.allocations, "allocation");
    const exact = `${found}, ${formatExactBytes(result.bytesAtPeak)} at the peak`;
    ui.found.title = searching ? error || exact : "";
    ui.found.classList.toggle("found-wrong", error !== "");
}

/** The file's own notes on where it comes from. @param {Page} page */
function drawOrigin(page) {
    const { session, state } = page;
    const kinds = ["", "Kineto trace", "memory timeline", "log: levels, not allocations", "series"];
    const rank = session.facts.rank;
    const name = session.string(session.devices[state.device].name);
    const text = dotted(rank >= 0 ? `rank ${rank}` : "", kinds[session.facts.kind], name);
    const origin = page.ui.origin;
    setText(origin, text);
    origin.title = dotted(text, capacityBytes(page) ? `capacity ${formatBytes(capacityBytes(page))}` : "");
    origin.hidden = text === "";
}

export function drawHeader(/** @type {Page} */ page) {
    const { state, ui, view } = page;
    document.documentElement.dataset.theme = isDark(page) ? "dark" : "light";
    drawOrigin(page);
    drawFilter(page);
    drawFigures(page);
    drawFinding(page);
    drawTrust(page);
    drawSearch(page);
    ui.device.value = state.all ? ALL : String(state.device);
    ui.color.value = state.colorBy;
    setText(ui.theme, `Theme: ${state.theme}`);
    for (const viewing of VIEWINGS) page.press(`view-${viewing}`, state.viewBy === viewing);
    page.press("axis-events", state.axis === "events");
    page.press("axis-time", state.axis === "time");
    ui.groupBy.value = state.groupBy;
    page.press("search-only", state.only);
    const time = page.ui.axisTime;
    time.disabled = !view.facts.has_time;
    time.title = time.disabled ? "This file has no times" : "";
    // Devices have only time in common.
    page.ui.axisEvents.disabled = state.all;
    const pressed = page.element(`view-${state.viewBy}`, HTMLButtonElement).textContent;
    const axis = state.axis === "time" ? " \u00b7 seconds" : "";
    const [order, color] = [pressed?.replace(" over time", "") ?? "", ui.color.selectedOptions[0]?.text ?? ""];
    const how = `${dotted(order, color.toLowerCase() === order.toLowerCase() ? "" : color)}${axis}`;
    setText(page.ui.viewOpen, how);
    setText(page.ui.toolsOpen, how);
    drawNote(page);
}

/** Says why there is little or nothing to see. @param {Page} page */
function emptyReason({ session, state, view }) {
    const other = session.devices.findIndex((device) => device.events > 1);
    const { ordinal, events } = session.devices[other < 0 ? state.device : other];
    const history = ` Device ${deviceName(ordinal)} has a history of ${formatPlural(events, "event")}.`;
    const elsewhere = other < 0 || other === state.device ? "" : history;
    const hint = elsewhere || " Call torch.cuda.memory._record_memory_history() before what you want to see.";
    const none = "so there is no timeline: the picture is the state";
    if (view.facts.events === 0)
        return `No history was recorded for this device, ${none} when the snapshot was taken.${hint}`;
    if (view.facts.events === 1 && session.facts.has_allocations)
        return `The recording of this device has a single event, ${none} before and after it.${hint}`;
    if (view.facts.allocations === 0) return `Nothing was allocated on this device while it was recorded.${elsewhere}`;
    return "";
}

function drawNote(/** @type {Page} */ page) {
    const { ui } = page;
    const reason = [misreadSentence(page.state.misread), emptyReason(page)].filter(Boolean).join(" ");
    setText(ui.note, reason);
    ui.note.hidden = reason === "";
}

/** The name of the part of the run that the window shows. @param {Page} page */
function windowName(page) {
    const { state } = page;
    const is = (/** @type {{from: number, to: number}} */ { from, to }) =>
        Math.abs(state.from - from) < 0.002 && Math.abs(state.to - to) < 0.002;
    const opening = openingWindow(page);
    if (is(wholeRange(page))) return "Whole run";
    if (is(opening)) return opening.name;
    const { first, end } = rangeEvents(page, state);
    return formatPlural(end - first, "event");
}

/** Writes the line below the plot. @param {Page} page @param {boolean} [expected] only holds its room, before the
 * plot's is measured: how many allocations are shown is known later */
export function drawDrawn(page, expected = false) {
    const { kept, meta, state, ui, view } = page;
    const { allocations: bands } = view.facts;
    const { drawn, merged, between } = expected ? { drawn: bands, merged: 0, between: bands } : page.plot;
    if (ui.drawn.parentElement) ui.drawn.parentElement.style.visibility = expected ? "hidden" : "";
    const opening = openingWindow(page);
    const reopen = page.ui.fitOpening;
    setText(page.ui.windowOpen, windowName(page));
    reopen.hidden = opening.name === "Whole run";
    reopen.replaceChildren(`${opening.name} `, make("kbd", "", "9"));
    const short = between ? `, ${formatCount(between)} too short to see here` : "";
    page.press("fit-bytes", state.top !== 0);
    const above = page.plot.bottom ? ` \u00b7 from ${formatBytes(page.plot.bottom)} up` : "";
    setText(ui.drawn, `${formatPlural(drawn + merged, allocationWord(page))} shown${short}${above}`);
    const of = typeof meta.allocations === "number" ? meta.allocations : null;
    const own = formatPlural(bands, of === null ? "allocation" : "band");
    const all = of === null ? own : `${own} of ${formatPlural(of, "allocation")}`;
    const filter = kept.active ? " The filter hides the others." : "";
    ui.drawn.title =
        `${formatCount(drawn)} with bands of their own, ${formatCount(merged)} in exact ` +
        `sums; ${formatCount(between)} began and ended between two pixel columns: they appear when ` +
        `you zoom in. The page holds ${all}.${filter}`;
}
