// The page's keys.
import { fitOpening, goToView, showAll } from "./address.js";
import { plotOf } from "./canvas.js";
import { copyStack } from "./details.js";
import { nextDevice } from "./device_rows.js";
import { markAt } from "./ends.js";
import { KIND_TITLES } from "./finding_words.js";
import { uiOf } from "./header.js";
import { viewBack } from "./history.js";
import { keeperOfHole, nextHole, toggleMap } from "./map_hand.js";
import { openPalette } from "./palette.js";
import { endProof } from "./proof.js";
import { askFindings } from "./questions.js";
import { setSearch } from "./search.js";
import { openTab, sideKey, viewCommands } from "./side.js";
import { axisOfEvent, change, flush, HEADER, heldMoment, invalidate, perPage, select } from "./state.js";
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

function searchFor(/** @type {Page} */ page, /** @type {string} */ words) {
    uiOf(page).search.value = words;
    setSearch(page, words);
}

/** `m`: marks the moment under the pointer, otherwise the held one, as A, then B, then A again. @param {Page} page */
function markMoment(page) {
    const plot = plotOf(page);
    markAt(page, plot.hover ? plot.hover.event : heldMoment(page));
}

/** The event that is `by` further on. @param {Page} page @param {number} event @param {number} by */
const neighbour = (page, event, by) => Math.min(page.view.facts.events - 1, Math.max(-1, event + by));

/** `,` and `.`: move the held moment by one event. @param {Page} page @param {number} by */
function stepMoment(page, by) {
    page.state.pointer = null;
    goToEvent(page, neighbour(page, heldMoment(page), by));
}

/** The begin and the current end of a range made with Shift. */
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

/** Keys, their names in the palette ("": none, or the side has it), and what they do.
 * @type {[key: string, name: string, act: (page: Page) => unknown][]} */
const KEYS = [
    ["p", "Go to the peak", (page) => goToEvent(page, page.view.facts.peak_event)],
    ["o", "Go to the out-of-memory moment", goToOom],
    ["0", "Show the whole run", fitWindow],
    ["9", "The window that the page opened with", fitOpening],
    ["e", "Go to an event, a time or a step", askWhere],
    ["f", "Fit the selection", fitSelection],
    ["v", "Fit the height to the window", (page) => fitBytes(page, plotOf(page).timeline.width)],
    ["w", "Zoom in", (page) => zoomWindow(page, 1.5, keyMiddle(page))],
    ["s", "Zoom out", (page) => zoomWindow(page, 1 / 1.5, keyMiddle(page))],
    ["a", "Pan left", (page) => panWindow(page, -0.15)],
    ["d", "Pan right", (page) => panWindow(page, 0.15)],
    ["g", "Map of segments and blocks", toggleMap],
    ["h", "The largest hole, then the next smaller one", nextHole],
    ["k", "What keeps the chosen hole", keeperOfHole],
    ["m", "Mark this moment: A, then B, then C", markMoment],
    [",", "One event back", (page) => stepMoment(page, -1)],
    [".", "One event forward", (page) => stepMoment(page, 1)],
    [
        "t",
        "Switch between events and seconds",
        (page) => page.state.all || setAxis(page, page.state.axis === "events" ? "time" : "events"),
    ],
    ["[", "Back to the previous view", viewBack],
    ["]", "Forward to the next view", () => history.forward()],
    ["/", "Search", (page) => uiOf(page).search.focus()],
    ["r", "All devices on one axis of time, or one alone", (page) => showAll(page, !page.state.all)],
    ["n", "The next device", nextDevice],
    ["?", "Keys and mouse", (page) => uiOf(page).keysDialog.showModal()],
    ["+", "", (page) => zoomWindow(page, 1.5, keyMiddle(page))],
    ["-", "", (page) => zoomWindow(page, 1 / 1.5, keyMiddle(page))],
    ["Enter", "", pinMoment],
    ["Escape", "", undoOne],
    ...[1, 2, 3, 4, 5, 6].map(
        (nth) =>
            /** @type {[string, string, (page: Page) => void]} */ ([`${nth}`, "", (page) => openTab(page, nth - 1)]),
    ),
];

const ACTIONS = new Map(KEYS.map(([key, , act]) => [key, act]));

/** @type {Record<string, string>} */
const arrowKeys = { ArrowUp: "w", ArrowDown: "s", ArrowLeft: "a", ArrowRight: "d" };

/** The place at which keys zoom: the pointer, otherwise the middle. @param {Page} page */
const keyMiddle = (page) => (page.state.pointer ? page.state.pointer.x / plotOf(page).width : 0.5);

/** Every command: those with a key, and the page's buttons and choices. @returns {import("./palette.js").Command[]} */
function commands(/** @type {Page} */ page) {
    const ui = uiOf(page);
    const which = "button:not([hidden], .tabs *, .who-forms *, .figure, .frames *, .grip), [id^=filter-open]";
    const buttons = Array.from(page.element("app", HTMLDivElement).querySelectorAll(which)).filter(
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
        ...KEYS.filter(([, name]) => name).map(([key, name, act]) => ({ name, key, act: () => void act(page) })),
        ...viewCommands(page),
        { name: "Copy stack", act: () => copyStack(page, false) },
        ...named,
        ...chosen,
        ...found,
    ];
}

export function pressKey(/** @type {Page} */ page, /** @type {KeyboardEvent} */ event) {
    const target = event.target instanceof Element ? event.target : document.body;
    const control = event.ctrlKey || event.metaKey;
    if (control && event.key.toLowerCase() === "k" && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        const last = (/** @type {string} */ words) => {
            return { name: `Search for “${words}”`, key: "/", act: () => searchFor(page, words) };
        };
        return openPalette(page, commands(page), last);
    }
    if (control || event.altKey || target.closest("dialog, input, select, textarea")) return;
    // On a button, Enter presses the button.
    if (event.key === "Enter" && target !== plotOf(page).box && target !== document.body) return;
    const shifted = event.shiftKey ? { Comma: -1, Period: 1 }[event.code] : undefined;
    if (shifted) {
        event.preventDefault();
        return stretchRange(page, shifted);
    }
    // In something that scrolls, arrows scroll.
    if (event.key in arrowKeys && target.closest(".scroll")) return;
    const key = arrowKeys[event.key] ?? (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    const action = sideKey(page, key) ?? ACTIONS.get(key);
    if (!action) return;
    event.preventDefault();
    // The thing under the pointer must be up to date, because a key may act on it.
    flush(page);
    action(page);
}
