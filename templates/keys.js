// What keys do.
import { goToView, showAll } from "./address.js";
import { plot } from "./canvas.js";
import { nextDevice } from "./device_rows.js";
import { KIND_TITLES } from "./finding_words.js";
import { ui } from "./header.js";
import { viewBack } from "./history.js";
import { toggleMap } from "./map_view.js";
import { openPalette } from "./palette.js";
import { endProof } from "./proof.js";
import { askFindings } from "./questions.js";
import { setSearch } from "./search.js";
import { openTab, sideKey } from "./side.js";
import {
    axisOfEvent,
    change,
    fitBytes,
    fitSelection,
    fitWindow,
    flush,
    goToEvent,
    heldMoment,
    markAt,
    panWindow,
    select,
    setAxis,
    state,
    view,
    zoomWindow,
} from "./state.js";

/* ---- keys ---- */

/** `o`: the first OOM, then the one after the marked moment. */
export function goToOom() {
    const events = Array.from({ length: view.facts.ooms }, (_, i) => view.c.oom(i).event);
    const next = events.find((event) => event > (state.moment ?? -2)) ?? events[0];
    if (next !== undefined) goToEvent(next);
}

/** Undoes one thing at a time, the most recent kind first. */
function undoOne() {
    if (endProof()) return;
    if (state.range) change({ range: null });
    else if (state.selected !== null || state.focus) select(null);
    else if (state.moment !== null) change({ moment: null });
    else if (state.search) searchFor("");
}

/** @param {string} words */
function searchFor(words) {
    ui.search.value = words;
    setSearch(words);
}

/** `m`: the moment under the pointer, else the held one, becomes A, then B, and then A again. */
function markMoment() {
    markAt(plot.hover ? plot.hover.event : heldMoment());
}

/** An event, `by` further on. @param {number} event @param {number} by */
function neighbour(event, by) {
    return Math.min(view.facts.events - 1, Math.max(-1, event + by));
}

/** `,` and `.`: the held moment, by one event. @param {number} by */
function stepMoment(by) {
    state.pointer = null;
    goToEvent(neighbour(heldMoment(), by));
}

/**
 * The range that Shift makes, from where it began to where it is.
 * @type {{anchor: number, at: number, range: typeof state.range}}
 */
const stretch = { anchor: 0, at: 0, range: null };

/** Shift with `,` and `.`: a range of events, one longer or shorter. @param {number} by */
function stretchRange(by) {
    if (!state.range || state.range !== stretch.range) stretch.anchor = stretch.at = heldMoment();
    else stretch.at = neighbour(stretch.at, by);
    const [first, last] = [stretch.anchor, stretch.at].sort((a, b) => a - b);
    stretch.range = { from: axisOfEvent(first), to: axisOfEvent(last + 1) };
    if (stretch.range.to > state.to || stretch.range.from < state.from) panWindow(by * 0.25);
    change({ range: stretch.range });
}

/** Enter: what is under the pointer, else what the held moment's event made or freed. */
function pinMoment() {
    const allocation = plot.hover ? plot.hover.allocation : view.c.allocation_at(heldMoment());
    if (plot.hover) change({ moment: plot.hover.event });
    select(allocation === null || allocation < 0 ? null : allocation);
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
    v: () => fitBytes(plot.timeline.width),
    p: () => goToEvent(view.facts.peak_event),
    o: goToOom,
    t: () => state.all || setAxis(state.axis === "events" ? "time" : "events"),
    n: nextDevice,
    r: () => showAll(!state.all),
    "/": () => ui.search.focus(),
    1: () => openTab(0),
    2: () => openTab(1),
    3: () => openTab(2),
    4: () => openTab(3),
    5: () => openTab(4),
    6: () => openTab(5),
    g: toggleMap,
    m: markMoment,
    "[": viewBack,
    "]": () => history.forward(),
    ",": () => stepMoment(-1),
    ".": () => stepMoment(1),
    Enter: pinMoment,
    "?": () => ui.keysDialog.showModal(),
    Escape: undoOne,
};

/** @type {Record<string, string>} */
const arrowKeys = { ArrowUp: "w", ArrowDown: "s", ArrowLeft: "a", ArrowRight: "d" };

/** Where keys zoom: at the pointer, else in the middle. */
function keyMiddle() {
    return state.pointer ? state.pointer.x / plot.width : 0.5;
}

/** What the keys do, in words. @type {[name: string, key: string][]} */
const KEY_NAMES = [
    ["Go to the peak", "p"],
    ["Go to the out-of-memory moment", "o"],
    ["Show the whole run", "0"],
    ["Fit the selection", "f"],
    ["Fit the height to the window", "v"],
    ["Zoom in", "w"],
    ["Zoom out", "s"],
    ["Pan left", "a"],
    ["Pan right", "d"],
    ["Why: what was found", "1"],
    ["Who holds the memory", "2"],
    ["Tree of callers and callees", "3"],
    ["Compare A with B", "4"],
    ["Allocator: why more is reserved than in use", "5"],
    ["Each allocation that the search finds", "6"],
    ["Map of segments and blocks", "g"],
    ["Mark this moment: A, then B, then C", "m"],
    ["One event back", ","],
    ["One event on", "."],
    ["Switch between events and seconds", "t"],
    ["Back to the view before", "["],
    ["Forward to the view after", "]"],
    ["Search", "/"],
    ["All devices on one axis of time, or one alone", "r"],
    ["The next device", "n"],
    ["Keys and mouse", "?"],
];

/** Every command: those with a key, and the page's buttons and choices. @returns {import("./palette.js").Command[]} */
function commands() {
    const buttons = [
        ...document.querySelectorAll(
            ".app button[id]:not([hidden], .tabs button, .figures button, .figure), #filter-open",
        ),
    ].filter(
        (button) =>
            button instanceof HTMLElement &&
            (button.offsetParent !== null || button.closest("#tools") !== null) &&
            button.textContent?.trim(),
    );
    const named = buttons.map((button) => {
        const group = button.closest("[role=group]")?.getAttribute("aria-label")?.replace(/:.*/, "");
        const name = (button.getAttribute("aria-label") ?? button.textContent ?? "").trim();
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
    const found = askFindings(view).map((finding) => ({
        name: `${KIND_TITLES[finding.kind]}: ${finding.title}`,
        act: () => goToView(finding.view),
    }));
    return [...KEY_NAMES.map(([name, key]) => ({ name, key, act: keyActions[key] })), ...named, ...chosen, ...found];
}

/** @param {KeyboardEvent} event */
export function pressKey(event) {
    const target = event.target instanceof Element ? event.target : document.body;
    if (
        (event.ctrlKey || event.metaKey) &&
        event.key.toLowerCase() === "k" &&
        !document.querySelector("dialog[open]")
    ) {
        event.preventDefault();
        openPalette(commands(), (words) => ({ name: `Search for “${words}”`, key: "/", act: () => searchFor(words) }));
        return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog, input, select, textarea")) return;
    // A button's Enter is the button's.
    if (event.key === "Enter" && target !== plot.box && target !== document.body) return;
    const shifted = event.shiftKey ? { Comma: -1, Period: 1 }[event.code] : undefined;
    if (shifted) {
        event.preventDefault();
        stretchRange(shifted);
        return;
    }
    // Arrows scroll what can be scrolled.
    if (event.key in arrowKeys && target.closest(".scroll")) return;
    const key = arrowKeys[event.key] ?? (event.key.length === 1 ? event.key.toLowerCase() : event.key);
    const action = sideKey(key) ?? (Object.hasOwn(keyActions, key) ? keyActions[key] : undefined);
    if (!action) return;
    event.preventDefault();
    // What a key means can be what lies under the pointer now.
    flush();
    action();
}
