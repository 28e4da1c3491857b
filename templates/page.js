// Starts all parts of a page, and draws those that are out of date.
import { COLORING_TITLES } from "page_api";
import { fitOpening, setDevice, showAll } from "./address.js";
import { plotOf } from "./canvas.js";
import { askDetail, drawDetail, startDetails } from "./details.js";
import { drawRows, placeRows } from "./device_rows.js";
import { startFilter } from "./filter_form.js";
import { ALL, drawDrawn, drawHeader, openTrust, uiOf } from "./header.js";
import { goToOom, showKeys } from "./keys.js";
import { inTurns } from "./turns.js";
import { laneHeight, laneOf, startLane } from "./lane.js";
import { drawLegend } from "./legend.js";
import { drawMap, mapOf } from "./map_view.js";
import { startMap } from "./map_hand.js";
import { placeLaneSplitter, startLaneSplitter } from "./memory_lane.js";
import { drawMinimap, placeBrush, startMinimap } from "./minimap.js";
import { drawOverlay } from "./overlay.js";
import { startMenus } from "./menus.js";
import { startPanel } from "./panel.js";
import { startPalette } from "./palette.js";
import { startExports } from "./exports.js";
import { placeOfText } from "./go_to.js";
import { makePaper } from "./paper.js";
import { startPicture } from "./picture.js";
import { drawTimelineAxes, isPlotMoved, layoutPlot, layStack, lightFocus, showStack } from "./plot.js";
import { startPlot } from "./pointer.js";
import { drawGroups, drawProof, startGroups, startProof } from "./proof.js";
import { goToMatch, setOnly, setSearch } from "./search.js";
import { askParts } from "./questions.js";
import { drawSide, isSidePlaced, placeSide, startSide } from "./side.js";
import { startSheet } from "./sheet.js";
import { speakSoon } from "./spoken.js";
import {
    AXES,
    change,
    DETAIL,
    drawBeforeActing,
    eventOfAxis,
    EVERYTHING,
    flush,
    HEADER,
    invalidate,
    LEGEND,
    LIST,
    MAP,
    MINIMAP,
    momentText,
    OVERLAY,
    setPaper,
    setViewBy,
    STACK,
    startState,
    THEMES,
    TIMELINE,
    VIEWINGS,
} from "./state.js";
import { fitBytes, fitSelection, fitWindow, goToEvent, setAxis } from "./window.js";
import { after, deviceName, dotted, formatBytes, formatEvent, formatPlural, make, setAll, setText } from "./text.js";

/* ---- the one draw ---- */

/** Draws these parts. Between two steps the browser may show the page, so what belongs together is one step.
 * @param {Page} page @param {number} parts @returns {Generator<undefined, void>} */
function* draw(page, parts) {
    const { state } = page;
    const map = mapOf(page);
    const first = plotOf(page).draws === 0;
    if (first && !page.opening) {
        askParts(page.view);
        yield;
    }
    // A comparison of ranges adds rows to the lane.
    if (parts & LIST && laneHeight(page) !== laneOf(page).height) parts |= TIMELINE;
    // The stack takes longest, so it is ready before anything else of the page changes, unless its room will change.
    let laid = (parts & STACK) !== 0 && isSidePlaced(page) && !isPlotMoved(page);
    if (laid) yield* layStack(page);
    // Parts that can change the timeline's room are drawn before it.
    if (parts & HEADER) drawHeader(page);
    if (parts & (HEADER | DETAIL | OVERLAY)) lightFocus(page);
    if (parts & (HEADER | OVERLAY)) drawProof(page);
    if (first && page.opening) {
        // Of so many allocations most are drawn in groups. What is written about that takes room from the plot.
        drawGroups(page, true);
        drawDrawn(page, true);
    }
    if (first) yield;
    map.box.hidden = map.split.hidden = !state.mapOpen;
    placeRows(page);
    const moved = (parts & LIST) !== 0 && placeSide(page);
    if ((moved || parts & (TIMELINE | HEADER | LEGEND)) && layoutPlot(page)) {
        parts |= TIMELINE | MINIMAP;
        laid = false;
        yield;
    }
    if (parts & STACK) {
        if (!laid) yield* layStack(page);
        showStack(page);
        drawGroups(page);
        if (first) yield;
    }
    if (parts & AXES) {
        drawTimelineAxes(page);
        drawDrawn(page);
        placeLaneSplitter(page);
        placeBrush(page);
        describeTimeline(page);
        if (first) yield;
    }
    if (parts & MINIMAP) {
        drawMinimap(page);
        placeBrush(page);
    }
    if (parts & (OVERLAY | AXES)) {
        drawOverlay(page);
        drawLegend(page);
        drawRows(page, (parts & AXES) !== 0);
    }
    if (parts & (MAP | AXES | OVERLAY)) drawMap(page, !(parts & (MAP | AXES)));
    yield;
    if (parts & DETAIL) {
        askDetail(page);
        yield;
        drawDetail(page);
    }
    yield;
    // Who needs categories, which are found before the findings, in turns.
    if (parts & LIST && !(page.opening && state.tab === "who")) drawSide(page);
    if (first && isPlotMoved(page)) invalidate(page, TIMELINE | MINIMAP);
    if (parts & HEADER) speakSoon(page);
}

/** Describes the timeline in a sentence, for people who do not see the canvas. @param {Page} page */
function describeTimeline(page) {
    const { state, view } = page;
    const first = Math.max(-1, Math.floor(eventOfAxis(page, state.from)));
    const end = Math.max(first + 1, Math.ceil(eventOfAxis(page, state.to)));
    const peak = view.c.peak_in(first, end);
    plotOf(page).timeline.setAttribute(
        "aria-label",
        `Stacked allocations from ${formatEvent(first)} to ${formatEvent(end - 1)}; highest ` +
            `${formatBytes(view.c.live_at(peak))} at ${momentText(page, peak)}.`,
    );
}

/* ---- paper ---- */

function setPrinting(/** @type {Page} */ page, /** @type {boolean} */ begins) {
    setPaper(page, begins);
    document.documentElement.classList.toggle("printing", begins);
    invalidate(page, EVERYTHING);
    flush(page);
    if (begins) document.body.append(makePaper(page));
    else for (const paper of document.querySelectorAll(".paper")) paper.remove();
}

/* ---- toolbar ---- */

function startToolbar(/** @type {Page} */ page) {
    const ui = uiOf(page);
    const goToPeak = () => goToEvent(page, page.view.facts.peak_event);
    ui.color.append(...COLORING_TITLES.map(([name, title]) => new Option(title, name)));
    ui.color.addEventListener("change", () => change(page, { colorBy: ui.color.value }));
    ui.device.addEventListener("change", () => {
        showAll(page, ui.device.value === ALL);
        if (ui.device.value !== ALL) setDevice(page, Number(ui.device.value));
    });
    page.onClick("peak", goToPeak);
    page.onClick("reserved", () => fitWindow(page));
    page.onClick("oom", () => goToOom(page));
    page.onClick("finding", () => {
        change(page, { tab: "why" });
        flush(page);
        page.element("panel-why", HTMLDivElement).querySelector("summary")?.focus();
        page.element("panel-why", HTMLDivElement).scrollTop = 0;
    });
    page.onClick("trust", () => openTrust(page));
    page.element("own-tab", HTMLButtonElement).hidden = parent === window || !/^(http|file)/.test(location.protocol);
    page.onClick("own-tab", () => window.open(location.href));
    page.onClick("help", () => showKeys(page));
    page.onClick("about", () => openTrust(page));
    page.onClick("fit-opening", () => fitOpening(page));
    page.onClick("fit-peak", goToPeak);
    page.onClick("fit-selection", () => fitSelection(page));
    page.onClick("fit", () => fitWindow(page));
    page.onClick("fit-bytes", () => fitBytes(page, plotOf(page).timeline.width));
    page.onClick("axis-events", () => setAxis(page, "events"));
    page.onClick("axis-time", () => setAxis(page, "time"));
    for (const viewing of VIEWINGS) page.onClick(`view-${viewing}`, () => setViewBy(page, viewing));
    page.onClick("theme", () => change(page, { theme: after(THEMES, page.state.theme) }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => invalidate(page, EVERYTHING));
}

function startSearch(/** @type {Page} */ page) {
    const ui = uiOf(page);
    let timer = 0;
    const placeOf = () => placeOfText(page, ui.search.value, ui.search.dataset.goTo === "1");
    const now = () => {
        clearTimeout(timer);
        // A moment is something to go to, not to search for.
        const words = placeOf() ? "" : ui.search.value;
        if (words !== page.state.search) setSearch(page, words);
    };
    const goTo = () => {
        const go = placeOf()?.go;
        if (!go) return;
        ui.search.value = "";
        plotOf(page).box.focus();
        go();
    };
    ui.search.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(now, 150);
        invalidate(page, HEADER);
    });
    ui.search.addEventListener("blur", () => {
        delete ui.search.dataset.goTo;
        invalidate(page, HEADER);
    });
    ui.search.addEventListener("keydown", (event) => {
        if (event.key === "Escape") {
            ui.search.value = "";
            now();
            ui.search.blur();
        } else if (event.key === "Enter") {
            event.preventDefault();
            now();
            if (placeOf()) goTo();
            else goToMatch(page, event.shiftKey ? -1 : 1);
        }
    });
    page.element("search-form", HTMLFormElement).addEventListener("submit", (event) => event.preventDefault());
    page.onClick("search-next", () => goToMatch(page, 1));
    page.onClick("search-previous", () => goToMatch(page, -1));
    page.onClick("search-only", () => setOnly(page, !page.state.only));
}

/* ---- start ---- */

/** "GPU 0", or the name of a device without a number. @param {string} name */
const deviceLabel = (name) => (/^\d+$/.test(name) ? `GPU ${name}` : name);

function fillDevices(/** @type {Page} */ page) {
    const { session, view } = page;
    const ui = uiOf(page);
    for (const [i, { ordinal, name, events }] of session.devices.entries()) {
        const text = deviceName(ordinal);
        const label = dotted(deviceLabel(text), formatPlural(events, "event"));
        ui.device.append(setAll(new Option(text, String(i)), { title: session.string(name), label }));
    }
    if (session.devices.filter((device) => device.events > 0).length > 1)
        ui.device.append(make("option", "", "All devices on one axis", { value: ALL, disabled: !view.facts.has_time }));
    // Finding the longest of a thousand names would take time before anything is seen, so the browser sizes the menu.
    if (session.facts.devices > 64) ui.device.style.setProperty("field-sizing", "content");
    // A device's peak takes as long as its layout, so that of large devices is found only when somebody opens the menu.
    const events = session.devices.reduce((sum, device) => sum + device.events, 0);
    const name = () => void inTurns(namePeaks(page), () => {});
    if (events < PEAKS_AT_ONCE) setTimeout(name);
    for (const type of ["pointerenter", "focus"]) ui.device.addEventListener(type, name, { once: true });
}

const PEAKS_AT_ONCE = 200000;

/** Adds each device's peak to the menu. @param {Page} page */
function* namePeaks(page) {
    const { session } = page;
    for (const option of Array.from(uiOf(page).device.options).slice(0, session.facts.devices)) {
        const [index, label] = [Number(option.value), deviceLabel(option.text)];
        const peak = `peak ${formatBytes(session.devicePeak(index))}`;
        option.label = dotted(label, peak, formatPlural(session.devices[index].events, "event"));
        yield;
    }
}

/** Shows a recording in the page's elements. Everything that belongs to it is made here, from the page alone.
 * @param {Page} page @param {() => void} changed something that the address shows
 * @param {(parts: number) => void} [drawn] */
export function openPage(page, changed, drawn) {
    const { meta } = page;
    startState(
        page,
        function* (parts) {
            yield* draw(page, parts);
            drawn?.(parts);
        },
        changed,
    );
    const file = page.element("file", HTMLParagraphElement);
    setText(file, String(meta.title || meta.file || ""));
    file.title = String(meta.file ?? "");
    fillDevices(page);
    page.element("app", HTMLDivElement).hidden = false;
}

/** No ring stands around what the mouse holds, though a key such as Shift was pressed before. */
function followHand() {
    const { dataset } = document.documentElement;
    addEventListener("pointerdown", () => (dataset.hand = "pointer"), true);
    const keys = (/** @type {KeyboardEvent} */ { key }) =>
        /^(Shift|Control|Alt|Meta)$/.test(key) || delete dataset.hand;
    addEventListener("keydown", keys, true);
}

/** Starts mouse, keys and the parts beside the timeline, once the address is read. @param {Page} page */
export function startPage(page) {
    drawBeforeActing(page, page.element("side", HTMLElement));
    drawBeforeActing(page, page.element("map", HTMLElement));
    followHand();
    startPlot(page);
    startMinimap(page);
    startMap(page);
    startPanel(page);
    startDetails(page);
    startSide(page);
    startSheet(page);
    startLane(page);
    startLaneSplitter(page);
    startFilter(page);
    startPicture(page);
    startExports(page);
    startProof(page);
    startGroups(page);
    startToolbar(page);
    startMenus(page);
    startSearch(page);
    startPalette(page);
    addEventListener("beforeprint", () => setPrinting(page, true));
    addEventListener("afterprint", () => setPrinting(page, false));
}
