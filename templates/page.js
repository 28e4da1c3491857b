// Starts all parts of a page, and draws those that are out of date.
import { COLORING_TITLES } from "page_api";
import { fitOpening, setDevice, showAll } from "./address.js";
import { newGutter, newPlot } from "./canvas.js";
import { askDetail, drawDetail, startDetails } from "./details.js";
import { drawRows, placeRows } from "./device_rows.js";
import { startFilter } from "./filter_form.js";
import { ALL, drawDrawn, drawHeader, openTrust } from "./header.js";
import { goToOom, showKeys } from "./keys.js";
import { inTurns } from "./turns.js";
import { emptyLane, startLane } from "./lane.js";
import { drawLegend } from "./legend.js";
import { drawMap, newMap } from "./map_view.js";
import { startMap } from "./map_hand.js";
import { placeLaneSplitter, startLaneSplitter } from "./memory_lane.js";
import { minimapOf } from "./minimap.js";
import { drawOverlay } from "./overlay.js";
import { startMenus } from "./menus.js";
import { startExports } from "./exports.js";
import { placeOfText } from "./go_to.js";
import { makePaper } from "./paper.js";
import { startPicture } from "./picture.js";
import { drawTimelineAxes, isPlotMoved, layoutPlot, layStack, lightFocus, showStack } from "./plot.js";
import { startPlot } from "./pointer.js";
import { drawGroups, drawProof, startGroups, startProof } from "./proof.js";
import { goToMatch, newSearch, setOnly, setSearch } from "./search.js";
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
    newKept,
    newState,
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
import {
    after,
    deviceName,
    dotted,
    element,
    elementsOf,
    formatBytes,
    formatEvent,
    formatPlural,
    make,
    setAll,
    setText,
} from "./text.js";

/** What a page has before its parts. @param {View} view @param {string} suffix of the ids of its elements
 * @param {import("./state.js").Beside | null} beside */
export function newPage(view, suffix, beside) {
    return {
        session: view.session,
        view,
        beside,
        suffix,
        /** Views of the side that come before the usual ones. @type {import("./side.js").Registered[]} */
        first: [],
        /** While steps and findings are being found: what is known of them.
         * @type {{findings: number, parts: boolean, layers: boolean} | null} */
        opening: null,
        /** Facts that the writer of the page added. @type {Record<string, unknown>} */
        meta: view.session.meta(),
        state: newState(),
        /** The result of the module's filter. */
        kept: newKept(),
        /** Is the page being printed? Paper is light. */
        printing: false,
        ui: elementsOf(suffix),
        /** An element whose id is put together. @template {HTMLElement} T @param {string} id @param {new () => T} type
         * @returns {T} */
        element: (id, type) => element(id + suffix, type),
        /** @param {string} id @param {boolean} pressed */
        press: (id, pressed) => element(id + suffix, HTMLButtonElement).setAttribute("aria-pressed", String(pressed)),
        /** @param {string} id @param {(event: MouseEvent) => void} act */
        onClick: (id, act) => element(id + suffix, HTMLButtonElement).addEventListener("click", act),
    };
}

/** Makes a shown recording. Every function that shows a part of it takes this as its first argument. A document may
 * have several. @param {Parameters<typeof newPage>} parts */
export function createPage(...parts) {
    const page = /** @type {Page} */ (newPage(...parts));
    Object.assign(page, { gutter: newGutter(), lane: emptyLane(), search: newSearch() });
    return Object.assign(page, { map: newMap(page), plot: newPlot(page) });
}

/* ---- the one draw ---- */

/** Draws these parts. Between two steps the browser may show the page, so what belongs together is one step.
 * @param {Page} page @param {number} parts @returns {Generator<undefined, void>} */
function* draw(page, parts) {
    const { state } = page;
    const first = page.plot.draws === 0;
    if (first && !page.opening) {
        askParts(page.view);
        yield;
    }
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
    page.ui.map.hidden = page.ui.splitMap.hidden = !state.mapOpen;
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
        minimapOf(page).placeBrush();
        describeTimeline(page);
        if (first) yield;
    }
    if (parts & MINIMAP) {
        minimapOf(page).draw();
        minimapOf(page).placeBrush();
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
    page.plot.timeline.setAttribute(
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
    const { ui } = page;
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
        page.ui.panelWhy.querySelector("summary")?.focus();
        page.ui.panelWhy.scrollTop = 0;
    });
    page.onClick("trust", () => openTrust(page));
    page.ui.ownTab.hidden = parent === window || !/^(http|file)/.test(location.protocol);
    page.onClick("own-tab", () => window.open(location.href));
    page.onClick("help", () => showKeys(page));
    page.onClick("about", () => openTrust(page));
    page.onClick("fit-opening", () => fitOpening(page));
    page.onClick("fit-peak", goToPeak);
    page.onClick("fit-selection", () => fitSelection(page));
    page.onClick("fit", () => fitWindow(page));
    page.onClick("fit-bytes", () => fitBytes(page, page.plot.timeline.width));
    page.onClick("axis-events", () => setAxis(page, "events"));
    page.onClick("axis-time", () => setAxis(page, "time"));
    for (const viewing of VIEWINGS) page.onClick(`view-${viewing}`, () => setViewBy(page, viewing));
    page.onClick("theme", () => change(page, { theme: after(THEMES, page.state.theme) }));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => invalidate(page, EVERYTHING));
}

function startSearch(/** @type {Page} */ page) {
    const { ui } = page;
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
        page.ui.plot.focus();
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
    page.ui.searchForm.addEventListener("submit", (event) => event.preventDefault());
    page.onClick("search-next", () => goToMatch(page, 1));
    page.onClick("search-previous", () => goToMatch(page, -1));
    page.onClick("search-only", () => setOnly(page, !page.state.only));
}

/* ---- start ---- */

/** "GPU 0", or the name of a device without a number. @param {string} name */
const deviceLabel = (name) => (/^\d+$/.test(name) ? `GPU ${name}` : name);

function fillDevices(/** @type {Page} */ page) {
    const { session, ui, view } = page;
    for (const [i, { ordinal, name, events }] of session.devices.entries()) {
        const text = deviceName(ordinal);
        const label = dotted(deviceLabel(text), formatPlural(events, "event"));
        ui.device.append(setAll(new Option(text, String(i)), { title: session.string(name), label }));
    }
    if (session.devices.filter((device) => device.events > 0).length > 1)
        ui.device.append(make("option", "", "All devices on one axis", { value: ALL, disabled: !view.facts.has_time }));
    // Finding the longest of a thousand names would take time before anything is seen, so the browser sizes the menu.
    if (session.devices.length > 64) ui.device.style.setProperty("field-sizing", "content");
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
    for (const option of Array.from(page.ui.device.options).slice(0, session.devices.length)) {
        const [index, label] = [Number(option.value), deviceLabel(option.text)];
        const peak = `peak ${formatBytes(session.c.device_peak(index))}`;
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
    const file = page.ui.file;
    setText(file, String(meta.title || meta.file || ""));
    file.title = String(meta.file ?? "");
    fillDevices(page);
    page.ui.app.hidden = false;
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
    drawBeforeActing(page, page.ui.side);
    drawBeforeActing(page, page.ui.map);
    followHand();
    startPlot(page);
    minimapOf(page);
    startMap(page);
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
    addEventListener("beforeprint", () => setPrinting(page, true));
    addEventListener("afterprint", () => setPrinting(page, false));
}
