// The page's keys.
import { fitOpening, goToView, showAll } from "./address.js";
import { copyStack } from "./details.js";
import { nextDevice } from "./device_rows.js";
import { markAt } from "./ends.js";
import { viewBack } from "./history.js";
import { keeperOfHole, nextHole, toggleMap } from "./map_hand.js";
import { openPalette } from "./palette.js";
import { endProof } from "./proof.js";
import { askCards, askFindings } from "./questions.js";
import { setSearch } from "./search.js";
import { openTab, sideKey, tabKeys, viewCommands } from "./side.js";
import { axisOfEvent, change, flush, HEADER, heldMoment, invalidate, perPage, select } from "./state.js";
import { element, make } from "./text.js";
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
    /** @type {HTMLElement | null} */
    const stack = page.ui.panelWhy.querySelector('[data-action="stack"][aria-expanded="true"]');
    if (stack?.offsetParent) stack.click();
    else if (state.range) change(page, { range: null });
    else if (state.selected !== null || state.focus) select(page, null);
    else if (state.hole) change(page, { hole: null });
    else if (state.moment !== null) change(page, { moment: null });
    else if (state.search) searchFor(page, "");
}

function searchFor(/** @type {Page} */ page, /** @type {string} */ words) {
    page.ui.search.value = words;
    setSearch(page, words);
}

/** `m`: marks the moment under the pointer, otherwise the held one, as A, then B, then A again. @param {Page} page */
function markMoment(page) {
    const { plot } = page;
    markAt(page, plot.hover ? plot.hover.event : heldMoment(page));
}

/** The event that is `by` further on. @param {Page} page @param {number} event @param {number} by */
const neighbour = (page, event, by) => Math.min(page.view.facts.events - 1, Math.max(-1, event + by));

/** `,` and `.`: move the held moment by one event. @param {Page} page @param {number} by */
function stepMoment(page, by) {
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
    const { plot } = page;
    const allocation = plot.hover ? plot.hover.allocation : page.view.c.allocation_at(heldMoment(page));
    if (plot.hover) change(page, { moment: plot.hover.event });
    select(page, allocation === null || allocation < 0 ? null : allocation);
}

/** `e`: opens the search, which takes a number alone as an event. @param {Page} page */
function askWhere(page) {
    page.ui.search.dataset.goTo = "1";
    invalidate(page, HEADER);
    page.ui.search.focus();
}

/** Keys, what they are called in the palette and in the sheet of keys ("": in neither), what they do, and where there
 * is nothing to do, in which pages they are offered.
 * @type {[key: string, name: string, act: (page: Page) => unknown, offered?: (page: Page) => boolean][]} */
const KEYS = [
    ["p", "Go to the peak", (page) => goToEvent(page, page.view.facts.peak_event)],
    ["o", "Go to the out-of-memory moment, then to the next one", goToOom, ({ view }) => view.facts.ooms > 0],
    ["0", "Show the whole run", fitWindow],
    ["9", "The window that the page opened with", fitOpening],
    ["e", "Go to an event, a time or a step: 2737, 62 ms, step 4, peak, oom", askWhere],
    ["f", "Fit the selected range, else the pinned allocation, else the whole run", fitSelection],
    ["v", "Fit the height to the window, or back to the whole run", (page) => fitBytes(page, page.plot.timeline.width)],
    ["w", "Zoom in", (page) => zoomWindow(page, 1.5, keyMiddle(page))],
    ["s", "Zoom out", (page) => zoomWindow(page, 1 / 1.5, keyMiddle(page))],
    ["a", "Pan left", (page) => panWindow(page, -0.15)],
    ["d", "Pan right", (page) => panWindow(page, 0.15)],
    ["g", "Map of segments and blocks; in it arrows move, Enter pins", toggleMap, hasMap],
    ["h", "The largest hole, then the next smaller one", nextHole, hasMap],
    ["k", "What keeps the chosen hole", keeperOfHole, hasMap],
    ["m", "Mark this moment: A, then B; Alt+click does the same", markMoment],
    [",", "One event back; with Shift select a range", (page) => stepMoment(page, -1)],
    [".", "One event forward; with Shift select a range", (page) => stepMoment(page, 1)],
    [
        "t",
        "Switch between events and seconds",
        (page) => page.state.all || setAxis(page, page.state.axis === "events" ? "time" : "events"),
        ({ view }) => Boolean(view.facts.has_time),
    ],
    ["[", "Back to the previous view", viewBack],
    ["]", "Forward to the next view", () => history.forward()],
    ["/", "Search; Enter next match, Shift+Enter previous", (page) => page.ui.search.focus()],
    ["r", "All devices on one axis of time, or one alone", (page) => showAll(page, !page.state.all), hasDevices],
    ["n", "The next device", nextDevice, hasDevices],
    ["?", "Keys and mouse", showKeys],
    ["+", "", (page) => zoomWindow(page, 1.5, keyMiddle(page))],
    ["-", "", (page) => zoomWindow(page, 1 / 1.5, keyMiddle(page))],
    ["Enter", "", pinMoment],
    ["Escape", "", undoOne],
    ...[1, 2, 3, 4, 5, 6].map(
        (nth) =>
            /** @type {[string, string, (page: Page) => void]} */ ([`${nth}`, "", (page) => openTab(page, nth - 1)]),
    ),
];

/** What no key of the page's own does, and keys of its parts. @type {[what: string, text: string][]} */
const HANDS = [
    ["Wheel", "Zoom at the cursor; with Alt or over the axis of bytes zoom the bytes; with Shift pan; a pinch zooms"],
    ["Drag", "Pan; with Shift select a range"],
    ["Touch", "Drag pans, two fingers zoom, a tap pins"],
    ["Click", "Pin an allocation and its moment; a phase below the plot becomes the selected range"],
    ["Double click", "Show the whole run"],
    ["Enter", "Pin what is under the pointer, else what the marked event made or freed"],
    ["Escape", "Close, then undo highlight, selection, pin and search"],
    ["Ctrl+K", "Every command by its name"],
    ["In a list", "Arrows, Home and End move, Enter highlights"],
    ["In Tree", "c turns the tree, Backspace shows the whole tree"],
    ["In Compare", "x swaps A and B, q asks the next question (of a selected range also in Who), l lays B over A"],
];

/** @param {Page} page */
function hasMap({ view }) {
    return view.sentence("map_refusal") === "";
}

/** @param {Page} page */
function hasDevices({ session }) {
    return session.devices.length > 1;
}

/** The commands with a key that the page offers. @param {Page} page */
const offeredKeys = (page) => KEYS.filter(([, name, , offered]) => name && (offered?.(page) ?? true));

/** Shows the sheet of keys, from its top. @param {Page} page */
export function showKeys(page) {
    const { keysDialog } = page.ui;
    const row = (/** @type {string} */ what, /** @type {string} */ text) =>
        make("tr", "", make("th", "", what, { scope: "row" }), make("td", "", text));
    const keys = offeredKeys(page).map(([key, name]) => row(key, name));
    const tabs = tabKeys(page).map(({ key, name }) => row(key, `Open ${name}, with the keyboard in the panel`));
    const hands = HANDS.map(([what, text]) => row(what, text));
    element("keys-body", HTMLTableSectionElement).replaceChildren(
        ...hands.slice(0, 5),
        ...keys,
        ...tabs,
        ...hands.slice(5),
    );
    keysDialog.showModal();
    keysDialog.scrollTop = 0;
}

const ACTIONS = new Map(KEYS.map(([key, , act]) => [key, act]));

/** @type {Record<string, string>} */
const arrowKeys = { ArrowUp: "w", ArrowDown: "s", ArrowLeft: "a", ArrowRight: "d" };

/** The place at which keys zoom: the pointer, otherwise the held moment, or the middle if that is not in the window.
 * @param {Page} page */
function keyMiddle(page) {
    const { from, pointer, to } = page.state;
    if (pointer) return pointer.x / page.plot.width;
    const at = (axisOfEvent(page, heldMoment(page) + 0.5) - from) / (to - from);
    return at >= 0 && at <= 1 ? at : 0.5;
}

/** Every command: those with a key, and the page's buttons and choices. @returns {import("./palette.js").Command[]} */
function commands(/** @type {Page} */ page) {
    const { ui } = page;
    const which = "button:not([hidden], .tabs *, .who-forms *, .figure, .frames *, .grip), [id^=filter-open]";
    const buttons = Array.from(page.ui.app.querySelectorAll(which)).filter(
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
    const found = askCards(page.view).map(({ kind, headline }, i) => ({
        name: `${kind}: ${headline}`,
        act: () => goToView(page, askFindings(page.view)[i].view),
    }));
    return [
        ...offeredKeys(page).map(([key, name, act]) => ({ name, key, act: () => void act(page) })),
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
    if (event.key === "Enter" && target !== page.ui.plot && target !== document.body) return;
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
