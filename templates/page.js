// Starts the page and draws what is out of date.
import { COLORING_TITLES } from "./api.js";
import { followAddress, readHash, scheduleHash, setDevice, showAll } from "./address.js";
import { plot } from "./canvas.js";
import { drawDetail, startDetails } from "./details.js";
import { drawRows, placeRows } from "./device_rows.js";
import { startFilter } from "./filter_form.js";
import { ALL, drawDrawn, drawHeader, openTrust, ui } from "./header.js";
import { goToOom, pressKey } from "./keys.js";
import { lane, laneHeight, startLane } from "./lane.js";
import { drawLegend, drawLegendFigures } from "./legend.js";
import { loadPage, nextTurn } from "./load.js";
import { drawMap, map, startMap } from "./map_view.js";
import { placeLaneSplitter, startLaneSplitter } from "./memory_lane.js";
import { drawMinimap, placeBrush, startMinimap } from "./minimap.js";
import { drawOverlay } from "./overlay.js";
import { panel, startPanel } from "./panel.js";
import { startPalette } from "./palette.js";
import { startPicture } from "./picture.js";
import { drawTimelineAxes, drawTimelineStack, layoutPlot, lightFocus } from "./plot.js";
import { startPlot } from "./pointer.js";
import { drawProof, startProof } from "./proof.js";
import { makeApi } from "./scripts.js";
import { goToMatch, setOnly, setSearch } from "./search.js";
import { View } from "./session.js";
import { drawSide, placeSide, startSide } from "./side.js";
import { speakSoon, startSpoken } from "./spoken.js";
import {
    AXES,
    change,
    DETAIL,
    eventOfAxis,
    EVERYTHING,
    fitBytes,
    fitWindow,
    flush,
    flushInTurns,
    goToEvent,
    HEADER,
    invalidate,
    LEGEND,
    LIST,
    MAP,
    meta,
    MINIMAP,
    momentText,
    OVERLAY,
    session,
    setAxis,
    setPaper,
    setViewBy,
    STACK,
    startState,
    state,
    THEMES,
    TIMELINE,
    view,
    VIEWINGS,
} from "./state.js";
import { deviceName, element, formatBytes, formatEvent, formatPlural, make, setText } from "./text.js";

/* ---- the one draw ---- */

/** @param {number} parts */
function draw(parts) {
    // A comparison of ranges has rows of its own in the lane.
    if (parts & LIST && laneHeight() !== lane.height) parts |= TIMELINE;
    // What can change the room that is left for the timeline comes before it.
    if (parts & HEADER) drawHeader();
    if (parts & (HEADER | DETAIL | OVERLAY)) lightFocus();
    if (parts & (HEADER | OVERLAY)) drawProof();
    if (parts & LEGEND) drawLegend();
    else if (parts & LIST) drawLegendFigures();
    map.box.hidden = map.split.hidden = !state.mapOpen;
    placeRows();
    const moved = (parts & LIST) !== 0 && placeSide();
    if ((moved || parts & (TIMELINE | HEADER | LEGEND)) && layoutPlot()) parts |= TIMELINE | MINIMAP;
    if (parts & STACK) drawTimelineStack();
    if (parts & AXES) {
        drawTimelineAxes();
        drawDrawn();
        placeLaneSplitter();
        placeBrush();
        describeTimeline();
    }
    if (parts & MINIMAP) {
        drawMinimap();
        placeBrush();
    }
    if (parts & (OVERLAY | AXES)) {
        drawOverlay();
        drawRows((parts & AXES) !== 0);
    }
    if (parts & (MAP | AXES | OVERLAY)) drawMap(!(parts & (MAP | AXES)));
    if (parts & DETAIL) drawDetail();
    if (parts & LIST) drawSide();
    if (parts & HEADER) speakSoon();
}

/** A sentence for those who do not see the canvas. */
function describeTimeline() {
    const first = Math.max(-1, Math.floor(eventOfAxis(state.from)));
    const end = Math.max(first + 1, Math.ceil(eventOfAxis(state.to)));
    const peak = view.c.peak_in(first, end);
    plot.timeline.setAttribute(
        "aria-label",
        `Stacked allocations from ${formatEvent(first)} to ${formatEvent(end - 1)}; highest ` +
            `${formatBytes(view.c.live_at(peak))} at ${momentText(peak)}.`,
    );
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
    invalidate(EVERYTHING);
    flush();
}

/* ---- toolbar ---- */

function startToolbar() {
    ui.color.append(...COLORING_TITLES.map(([name, title]) => new Option(title, name)));
    ui.device.addEventListener("change", () => {
        showAll(ui.device.value === ALL);
        if (ui.device.value !== ALL) setDevice(Number(ui.device.value));
    });
    ui.peak.addEventListener("click", () => goToEvent(view.facts.peak_event));
    ui.reserved.addEventListener("click", fitWindow);
    ui.oom.addEventListener("click", goToOom);
    ui.finding.addEventListener("click", () => {
        change({ tab: "why" });
        flush();
        element("panel-why", HTMLDivElement).querySelector("summary")?.focus();
        element("panel-why", HTMLDivElement).scrollTop = 0;
    });
    ui.trust.addEventListener("click", openTrust);
    element("help", HTMLButtonElement).addEventListener("click", () => ui.keysDialog.showModal());
    element("fit", HTMLButtonElement).addEventListener("click", fitWindow);
    element("fit-bytes", HTMLButtonElement).addEventListener("click", () => fitBytes(plot.timeline.width));
    element("axis-events", HTMLButtonElement).addEventListener("click", () => setAxis("events"));
    element("axis-time", HTMLButtonElement).addEventListener("click", () => setAxis("time"));
    ui.color.addEventListener("change", () => change({ colorBy: ui.color.value }));
    for (const viewing of VIEWINGS)
        element(`view-${viewing}`, HTMLButtonElement).addEventListener("click", () => setViewBy(viewing));
    ui.theme.addEventListener("click", () =>
        change({ theme: THEMES[(THEMES.indexOf(state.theme) + 1) % THEMES.length] }),
    );
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => invalidate(EVERYTHING));
}

/** Where the window is narrow, the toolbar is a menu. */
function startTools() {
    const [tools, open] = [element("tools", HTMLDivElement), element("tools-open", HTMLButtonElement)];
    const show = (/** @type {boolean} */ shown) => {
        tools.classList.toggle("tools-shown", shown);
        open.setAttribute("aria-expanded", String(shown));
    };
    open.addEventListener("click", () => show(!tools.classList.contains("tools-shown")));
    tools.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !tools.classList.contains("tools-shown")) return;
        show(false);
        open.focus();
        event.stopPropagation();
    });
    document.addEventListener("pointerdown", ({ target }) => {
        if (target instanceof Node && !tools.contains(target) && !open.contains(target)) show(false);
    });
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
    element("search-only", HTMLButtonElement).addEventListener("click", () => setOnly(!state.only));
}

/* ---- start ---- */

/** @param {string} stage @param {number} done 0..1 */
function reportProgress(stage, done) {
    element("progress", HTMLProgressElement).value = done;
    setText(element("stage-name", HTMLParagraphElement), stage);
}

function fillDevices() {
    for (let i = 0; i < session.facts.devices; i++) {
        const option = make("option", "", deviceName(session.devices[i].ordinal));
        option.title = session.string(session.devices[i].name);
        option.label = `${option.text} \u00b7 ${formatPlural(session.devices[i].events, "event")}`;
        option.value = String(i);
        ui.device.append(option);
    }
    if (session.devices.filter((device) => device.events > 0).length > 1) {
        const all = new Option("All devices on one axis", ALL);
        all.disabled = !view.facts.has_time;
        ui.device.append(all);
    }
    // A peak takes as long as it takes to lay out a device: large ones wait until somebody looks at the menu.
    const events = session.devices.reduce((sum, device) => sum + device.events, 0);
    if (events < PEAKS_AT_ONCE) setTimeout(namePeaks);
    for (const type of ["pointerenter", "focus"]) ui.device.addEventListener(type, namePeaks, { once: true });
}

const PEAKS_AT_ONCE = 200000;

/** Adds each device's peak to the menu. */
function namePeaks() {
    for (const option of Array.from(ui.device.options).slice(0, session.facts.devices)) {
        const events = formatPlural(session.devices[Number(option.value)].events, "event");
        option.label =
            `${option.text} \u00b7 peak ${formatBytes(session.devicePeak(Number(option.value)))} \u00b7 ` + `${events}`;
    }
}

async function start() {
    const loaded = await loadPage(reportProgress);
    reportProgress("Drawing", 0.95);
    await nextTurn();
    if (loaded.facts.devices === 0) throw new Error("The file holds no device: no segments, no blocks and no events.");
    startState(new View(loaded, 0), draw, scheduleHash);
    const file = element("file", HTMLParagraphElement);
    setText(file, String(meta.title || meta.file || ""));
    file.title = String(meta.file ?? "");
    fillDevices();
    element("loading", HTMLDivElement).hidden = true;
    element("app", HTMLDivElement).hidden = false;
    readHash(location.hash || String(meta.view ?? ""));
    startPlot();
    startMinimap();
    startMap();
    startPanel();
    startDetails();
    startSide();
    startLane();
    startLaneSplitter();
    startFilter();
    startPicture();
    startProof();
    startToolbar();
    startTools();
    startSearch();
    startPalette();
    document.addEventListener("keydown", pressKey);
    addEventListener("beforeprint", () => setPrinting(true));
    addEventListener("afterprint", () => setPrinting(false));
    addEventListener("popstate", () => {
        followAddress();
        speakSoon(true);
    });
    await flushInTurns(nextTurn);
    startSpoken();
}

/** A fault of the module is ours: say so, and what helps to mend it. @param {unknown} error */
function showFault(error) {
    if (!(error instanceof WebAssembly.RuntimeError)) return;
    const { version, fingerprint } = meta;
    ui.failure.hidden = false;
    setText(
        ui.failure,
        `This page has met a fault of its own (${error.message}); what it shows may be out of date, and ` +
            `reloading it starts afresh. Please report it with what you did last, version ${version} of ` +
            `Strata and the recording's fingerprint ${fingerprint}. The recording itself is not needed at ` +
            "first.",
    );
}

addEventListener("error", ({ error }) => showFault(error));
addEventListener("unhandledrejection", ({ reason }) => showFault(reason));

const ready = start();

// boot.js says what has failed.
ready.catch(() => {});

window.strata = makeApi(ready);
