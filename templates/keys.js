// The page's keys.
import { fitOpening, goToView, showAll } from "./address.js";
import { plotOf } from "./canvas.js";
import { copyStack } from "./details.js";
import { nextDevice } from "./device_rows.js";
import { KIND_TITLES } from "./finding_words.js";
import { uiOf } from "./header.js";
import { viewBack } from "./history.js";
import { keeperOfHole, nextHole, toggleMap } from "./map_hand.js";
import { openPalette } from "./palette.js";
import { endProof } from "./proof.js";
import { askFindings } from "./questions.js";
import { setSearch } from "./search.js";
import { openTab, sideKey, viewCommands } from "./side.js";
import { axisOfEvent, change, flush, HEADER, heldMoment, invalidate, markAt, perPage, select } from "./state.js";
import { fitBytes, fitSelection, fitWindow, goToEvent, panWindow, setAxis, zoomWindow } from "./window.js";

/** `o`: goes to the first OOM, then to the one after the marked moment. @param {Page} page */
export function goToOom(page) {
    const { state, view } = page;
    const events = Array.from({ length: view.facts.ooms }, (_, i) => view.c.oom(i).event);
    const next = events.find((event) => event > (state.moment ?? -2)) ?? events[0];
    if (next !== undefined) goToEvent(page, next);
}

/** Undoes one thing, the most recent kind first. @param {Page} page */
function undoOne(page) {
    const { state } = page;
    if (endProof(page)) return;
    if (state.range) change(page, { range: null });
    else if (state.selected !== null || state.focus) select(page, null);
    else if (state.hole) change(page, { hole: null });
    else if (state.moment !== null) change(page, { moment: null });
    else if (state.search) searchFor(page, "");
}

/** @param {Page} page @param {string} words */
function searchFor(page, words) {
    uiOf(page).search.value = words;
    setSearch(page, words);
}

/** `m`: marks the moment under the pointer, otherwise the held one, as A, then B, then A again. @param {Page} page */
function markMoment(page) {
    const plot = plotOf(page);
    markAt(page, plot.hover ? plot.hover.event : heldMoment(page));
}

/** The event that is `by` further on. @param {Page} page @param {number} event @param {number} by */
function neighbour(page, event, by) {
    return Math.min(page.view.facts.events - 1, Math.max(-1, event + by));
}

/** `,` and `.`: move the held moment by one event. @param {Page} page @param {number} by */
function stepMoment(page, by) {
    page.state.pointer = null;
    goToEvent(page, neighbour(page, heldMoment(page), by));
}

/** Where a range made with Shift begins, and where it is now. */
const stretchOf = perPage(
    () => /** @type {{anchor: number, at: number, range: PageState["range"]}} */ ({ anchor: 0, at: 0, range: null }),
);

/** Shift with `,` and `.`: make a range of events one longer or shorter. @param {Page} page @param {number} by */
function stretchRange(page, by) {
    const { state } = page;
    const stretch = stretchOf(page);
    if (!state.range || state.range !== stretch.range) stretch.anchor = stretch.at = heldMoment(page);
    else stretch.at = neighbour(page, stretch.at, by);
    const [first, last] = [stretch.anchor, stretch.at].sort((a, b) => a - b);
    stretch.range = { from: axisOfEvent(page, first), to: axisOfEvent(page, last + 1) };
    if (stretch.range.to > state.to || stretch.range.from < state.from) panWindow(page, by * 0.25);
    change(page, { range: stretch.range });
}

/** Enter: pins the allocation under the pointer, otherwise the one that the held moment's event made or freed.
 * @param {Page} page */
function pinMoment(page) {
    const plot = plotOf(page);
    const allocation = plot.hover ? plot.hover.allocation : page.view.c.allocation_at(heldMoment(page));
    if (plot.hover) change(page, { moment: plot.hover.event });
    select(page, allocation === null || allocation < 0 ? null : allocation);
}

/** `e`: opens the search, which takes a number alone as an event. @param {Page} page */
function askWhere(page) {
    uiOf(page).search.dataset.goTo = "1";
    invalidate(page, HEADER);
    uiOf(page).search.focus();
}

const keyActionsOf = perPage(
    (page) =>
        /** @type {Record<string, () => void>} */ ({
            w: () => zoomWindow(page, 1.5, keyMiddle(page)),
            s: () => zoomWindow(page, 1 / 1.5, keyMiddle(page)),
            a: () => panWindow(page, -0.15),
            d: () => panWindow(page, 0.15),
            "+": () => zoomWindow(page, 1.5, keyMiddle(page)),
            "-": () => zoomWindow(page, 1 / 1.5, keyMiddle(page)),
            0: () => fitWindow(page),
            9: () => fitOpening(page),
            e: () => askWhere(page),
            f: () => fitSelection(page),
            v: () => fitBytes(page, plotOf(page).timeline.width),
            p: () => goToEvent(page, page.view.facts.peak_event),
            o: () => goToOom(page),
            t: () => page.state.all || setAxis(page, page.state.axis === "events" ? "time" : "events"),
            n: () => nextDevice(page),
            r: () => showAll(page, !page.state.all),
            "/": () => uiOf(page).search.focus(),
            1: () => openTab(page, 0),
            2: () => openTab(page, 1),
            3: () => openTab(page, 2),
            4: () => openTab(page, 3),
            5: () => openTab(page, 4),
            6: () => openTab(page, 5),
            g: () => toggleMap(page),
            h: () => nextHole(page),
            k: () => keeperOfHole(page),
            m: () => markMoment(page),
            "[": viewBack,
            "]": () => history.forward(),
            ",": () => stepMoment(page, -1),
            ".": () => stepMoment(page, 1),
            Enter: () => pinMoment(page),
            "?": () => uiOf(page).keysDialog.showModal(),
            Escape: () => undoOne(page),
        }),
);

/** @type {Record<string, string>} */
const arrowKeys = { ArrowUp: "w", ArrowDown: "s", ArrowLeft: "a", ArrowRight: "d" };

/** Where keys zoom: at the pointer, otherwise in the middle. @param {Page} page */
function keyMiddle(page) {
    return page.state.pointer ? page.state.pointer.x / plotOf(page).width : 0.5;
}

/** The texts for the keys' help; the side adds those of the tabs. @type {[name: string, key: string][]} */
const KEY_NAMES = [
    ["Go to the peak", "p"],
    ["Go to the out-of-memory moment", "o"],
    ["Show the whole run", "0"],
    ["The window that the page opened with", "9"],
    ["Go to an event, a time or a step", "e"],
    ["Fit the selection", "f"],
    ["Fit the height to the window", "v"],
    ["Zoom in", "w"],
    ["Zoom out", "s"],
    ["Pan left", "a"],
    ["Pan right", "d"],
    ["Map of segments and blocks", "g"],
    ["The largest hole, then the next smaller one", "h"],
    ["What keeps the chosen hole", "k"],
    ["Mark this moment: A, then B, then C", "m"],
    ["One event back", ","],
    ["One event forward", "."],
    ["Switch between events and seconds", "t"],
    ["Back to the previous view", "["],
    ["Forward to the next view", "]"],
    ["Search", "/"],
    ["All devices on one axis of time, or one alone", "r"],
    ["The next device", "n"],
    ["Keys and mouse", "?"],
];

/** Every command: those with a key, and the page's buttons and choices. @returns {import("./palette.js").Command[]} */
function commands(/** @type {Page} */ page) {
    const ui = uiOf(page);
    const app = page.element("app", HTMLDivElement);
    const buttons = [
        ...app.querySelectorAll(
            "button:not([hidden], .tabs *, .who-forms *, .figure, .frames *, .grip), [id^=filter-open]",
        ),
    ].filter(
        (button) =>
            button instanceof HTMLElement &&
            (button.offsetParent !== null || button.closest(".menu, .card") !== null) &&
            button.textContent?.trim() &&
            button.getAttribute("aria-label") !== "Copy stack",
    );
    const named = buttons.map((button) => {
        const group =
            button.closest(".card")?.querySelector(".card-kind")?.textContent ??
            button.closest("[role=group]")?.getAttribute("aria-label")?.replace(/:.*/, "");
        const words = Array.from(button.childNodes, (node) => (node.nodeName === "KBD" ? "" : node.textContent));
        const name = (button.getAttribute("aria-label") ?? words.join("")).trim();
        return { name: group ? `${group}: ${name}` : name, act: () => /** @type {HTMLElement} */ (button).click() };
    });
    const chosen = [ui.color, ui.device].flatMap((select) =>
        Array.from(select.options, (option) => ({
            name: `${select === ui.color ? "Colour by" : "Device"} ${option.label || option.text}`,
            act: () => {
                select.value = option.value;
                select.dispatchEvent(new Event("change"));
            },
        })),
    );
    const found = askFindings(page.view).map((finding) => ({
        name: `${KIND_TITLES[finding.kind]}: ${finding.title}`,
        act: () => goToView(page, finding.view),
    }));
    return [
        ...KEY_NAMES.map(([name, key]) => ({ name, key, act: keyActionsOf(page)[key] })),
        ...viewCommands(page),
        { name: "Copy stack", act: () => copyStack(page, false) },
        ...named,
        ...chosen,
        ...found,
    ];
}

/** @param {Page} page @param {KeyboardEvent} event */
export function pressKey(page, event) {
    const keyActions = keyActionsOf(page);
    const target = event.target instanceof Element ? event.target : document.body;
    if (
        (event.ctrlKey || event.metaKey) &&
        event.key.toLowerCase() === "k" &&
        !document.querySelector("dialog[open]")
    ) {
        event.preventDefault();
        openPalette(page, commands(page), (words) => ({
            name: `Search for “${words}”`,
            key: "/",
            act: () => searchFor(page, words),
        }));
        return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog, input, select, textarea")) return;
    // On a button, Enter presses the button.
    if (event.key === "Enter" && target !== plotOf(page).box && target !== document.body) return;
    const shifted = event.shiftKey ? { Comma: -1, Period: 1 }[event.code] : undefined;
    if (shifted) {
        event.preventDefault();
        stretchRange(page, shifted);
        return;
    }
    // In something that scrolls, arrows scroll.
    if (event.key in arrowKeys && target.closest(".scroll")) return;
    const key = arrowKeys[event.key] ?? (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    const action = sideKey(page, key) ?? (Object.hasOwn(keyActions, key) ? keyActions[key] : undefined);
    if (!action) return;
    event.preventDefault();
    // What lies under the pointer must be up to date, because a key may act on it.
    flush(page);
    action();
}
