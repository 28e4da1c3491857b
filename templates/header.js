// Header and toolbar: the file, its figures, what to know before trusting them.
import { KIND_LOG, WHOLE_FILE } from "./api.js";
import { plot } from "./canvas.js";
import { findingFigure, KIND_TITLES } from "./finding_words.js";
import { drawFilter } from "./filter_form.js";
import { misreadSentence } from "./history.js";
import { oomMarker } from "./markers.js";
import { listsCategories } from "./panel.js";
import { askFindings, LIST_GROUPINGS } from "./questions.js";
import { placeOfMatch, search, updateSearch } from "./search.js";
import {
    allocationWord,
    capacityBytes,
    isDark,
    kept,
    meta,
    momentText,
    session,
    state,
    view,
    VIEWINGS,
} from "./state.js";
import {
    addFact,
    askedText,
    deviceName,
    element,
    formatBytes,
    formatCount,
    formatExactBytes,
    formatPlural,
    make,
    press,
    setText,
} from "./text.js";

export const ui = {
    device: element("device", HTMLSelectElement),
    peak: element("peak", HTMLButtonElement),
    reserved: element("reserved", HTMLButtonElement),
    oom: element("oom", HTMLButtonElement),
    finding: element("finding", HTMLButtonElement),
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

/** What the menu of devices calls all of them. */
export const ALL = "all";

/* ---- header and toolbar ---- */

/** @param {HTMLButtonElement} button @param {string} name @param {string} value @param {string} more */
function fillFigure(button, name, value, more) {
    button.replaceChildren(make("span", "figure-name", name), make("b", "", value));
    if (more) button.append(make("span", "figure-more", more));
}

function drawFigures() {
    fillFigure(
        ui.peak,
        "Peak",
        formatBytes(view.facts.peak_bytes),
        view.facts.events ? momentText(view.facts.peak_event) : "",
    );
    ui.peak.title =
        `${formatExactBytes(view.facts.peak_bytes)} in ` +
        `${formatPlural(view.facts.live_at_peak, allocationWord())}. Go to the peak (p)`;
    // A memory timeline knows nothing of what the allocator holds.
    ui.reserved.hidden = view.facts.reserved_peak === 0;
    fillFigure(ui.reserved, "Reserved", formatBytes(view.facts.reserved_peak), "");
    ui.reserved.title =
        `The allocator held ${formatExactBytes(view.facts.reserved_peak)} of the device at most. Show the ` +
        "whole run";
    const ooms = view.facts.ooms;
    ui.oom.hidden = ooms === 0;
    if (ooms) ui.oom.title = `${oomMarker(0).title}. Go there (o)`;
    if (ooms)
        fillFigure(
            ui.oom,
            view.c.oom(0).device_free < 0 ? "OOM" : "OOM asked",
            view.c.oom(0).device_free < 0
                ? askedText(view.c.oom(0).size, -1)
                : `${formatBytes(view.c.oom(0).size)}, ${formatBytes(view.c.oom(0).device_free)} free`,
            ooms > 1 ? `and ${formatPlural(ooms - 1, "more time")}` : "",
        );
}

/** The most urgent of what was found; an OOM has a figure of its own. */
function drawFinding() {
    const [first] = askFindings(view);
    ui.finding.hidden = view.facts.ooms > 0 || !["high", "medium"].includes(first?.severity);
    if (ui.finding.hidden) return;
    fillFigure(
        ui.finding,
        `! ${KIND_TITLES[first.kind] ?? first.kind}`,
        `${first.per ? "+" : ""}${findingFigure(first)}`,
        "",
    );
    ui.finding.title = `${first.title}. Show why (1)`;
}

/** Diagnostics of the current device and of the file. */
function shownDiagnostics() {
    const ordinal = session.devices[state.device].ordinal;
    return session.diagnostics().filter(({ device }) => device === WHOLE_FILE || device === ordinal);
}

function drawTrust() {
    const count = shownDiagnostics().length;
    setText(ui.trust, count === 0 ? "\u2713 Complete" : `! ${formatPlural(count, "note")}`);
    ui.trust.classList.toggle("badge-noted", count > 0);
    ui.trust.title =
        count === 0 ? "Nothing in the file speaks against the picture" : "What to know before trusting the picture";
}

/** The allocator's settings, one a line; a table of equal values is one value. @param {string} json */
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

export function openTrust() {
    const notes = shownDiagnostics();
    const list = make("ul", "notes");
    for (const { code, message } of notes) {
        const item = make("li", "", message);
        item.append(" ", make("code", "", code));
        list.append(item);
    }
    const parts = [
        notes.length
            ? list
            : make(
                  "p",
                  "",
                  "Nothing in the file speaks against the picture: every allocation has its events, and " +
                      "they agree with the final state.",
              ),
    ];
    const facts = make("dl", "facts");
    addFact(facts, "File", String(meta.file ?? ""));
    addFact(facts, meta.fingerprint ? "Fingerprint" : "SHA-256", String(meta.fingerprint ?? meta.sha256 ?? ""));
    addFact(facts, "Made by", `Strata ${String(meta.version ?? "")}`);
    addFact(facts, "Allocator", settingsText(session.string(session.facts.settings)));
    ui.trustBody.replaceChildren(...parts, facts);
    ui.trustDialog.showModal();
}

function drawSearch() {
    const searching = state.search !== "";
    updateSearch();
    const { result, error, running } = search;
    if (document.activeElement !== ui.search && ui.search.value !== state.search) ui.search.value = state.search;
    for (const id of ["search-next", "search-previous", "search-only"])
        element(id, HTMLButtonElement).hidden = !searching || result.allocations === 0;
    ui.search.setAttribute("aria-invalid", String(error !== ""));
    const place = placeOfMatch();
    const count = place
        ? `${formatCount(place)} of ${formatCount(result.allocations)}`
        : formatPlural(result.allocations, "allocation");
    const text = running ? "searching \u2026" : error || `${count} \u00b7 ${formatBytes(result.bytesAtPeak)}`;
    setText(ui.found, searching ? text : "");
    ui.found.title = searching
        ? error ||
          `${formatPlural(result.allocations, "allocation")}, ${formatExactBytes(result.bytesAtPeak)} at the peak`
        : "";
    ui.found.classList.toggle("found-wrong", error !== "");
}

/** What the file says about where it comes from. */
function drawOrigin() {
    const kinds = ["", "Kineto trace", "memory timeline", "log: levels, not allocations", "series"];
    const rank = session.facts.rank;
    const name = session.string(session.devices[state.device].name);
    const text = [rank >= 0 ? `rank ${rank}` : "", kinds[session.facts.kind] ?? "", name]
        .filter(Boolean)
        .join(" \u00b7 ");
    const origin = element("origin", HTMLParagraphElement);
    setText(origin, text);
    origin.title = capacityBytes() ? `${text ? `${text} \u00b7 ` : ""}capacity ${formatBytes(capacityBytes())}` : text;
    origin.hidden = text === "";
}

export function drawHeader() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    drawOrigin();
    drawFilter();
    drawFigures();
    drawFinding();
    drawTrust();
    drawSearch();
    ui.device.value = state.all ? ALL : String(state.device);
    ui.color.value = state.colorBy;
    setText(ui.theme, `Theme: ${state.theme}`);
    for (const viewing of VIEWINGS) press(`view-${viewing}`, state.viewBy === viewing);
    press("axis-events", state.axis === "events");
    press("axis-time", state.axis === "time");
    for (const by of LIST_GROUPINGS) press(`group-${by}`, state.groupBy === by);
    element("group-by", HTMLDivElement).hidden = listsCategories() && state.groupBy === "site";
    press("search-only", state.only);
    const time = element("axis-time", HTMLButtonElement);
    time.disabled = !view.facts.has_time;
    time.title = time.disabled ? "This file has no times" : "";
    // Devices have nothing but time in common.
    element("axis-events", HTMLButtonElement).disabled = state.all;
    const pressed = element(`view-${state.viewBy}`, HTMLButtonElement).textContent;
    setText(
        element("tools-open", HTMLButtonElement),
        `${pressed} \u00b7 ${ui.color.selectedOptions[0]?.text} \u00b7 ${state.axis === "time" ? "seconds" : "events"}`,
    );
    drawNote();
}

/** Says why there is little or nothing to see. */
function emptyReason() {
    const other = Array.from({ length: session.facts.devices }, (_, i) => i).find((i) => session.devices[i].events > 1);
    const elsewhere =
        other === undefined || other === state.device
            ? ""
            : ` Device ${deviceName(session.devices[other].ordinal)} has a history of ` +
              `${formatPlural(session.devices[other].events, "event")}.`;
    const hint = " Call torch.cuda.memory._record_memory_history() before what you want to see.";
    if (view.facts.events === 0)
        return (
            "No history was recorded for this device, so there is no timeline: the picture is the state when " +
            `the snapshot was taken.${elsewhere || hint}`
        );
    if (view.facts.events === 1 && session.facts.kind !== KIND_LOG)
        return (
            "The recording of this device has a single event, so there is no timeline: the picture is the " +
            `state before and after it.${elsewhere || hint}`
        );
    if (view.facts.allocations === 0) return `Nothing was allocated on this device while it was recorded.${elsewhere}`;
    return "";
}

function drawNote() {
    const reason = [misreadSentence(state.misread), emptyReason()].filter(Boolean).join(" ");
    setText(ui.note, reason);
    ui.note.hidden = reason === "";
}

export function drawDrawn() {
    const { drawn, merged, between } = plot;
    const short = between ? `, ${formatCount(between)} shorter than a pixel column` : "";
    press("fit-bytes", state.top !== 0);
    setText(ui.drawn, `${formatCount(drawn + merged)} visible at this zoom${short}`);
    const bands = view.facts.allocations;
    const all =
        typeof meta.allocations === "number"
            ? `${formatPlural(bands, "band")} of ${formatPlural(meta.allocations, "allocation")}`
            : formatPlural(bands, "allocation");
    const filter = kept.active ? " The filter hides the others." : "";
    ui.drawn.title =
        `${formatCount(drawn)} with bands of their own, ${formatCount(merged)} thinner than a pixel, drawn ` +
        `as exact sums; ${formatCount(between)} began and ended between two pixel columns: they appear when ` +
        `you zoom in. The page holds ${all}.${filter}`;
}
