// The side shows one view at a time of the registry below. A view is a factory createX(box) -> { id, draw, keys?,
// count? }. A new view needs its module, one line here, and its tab and panel in page.html.
import { createAllocator } from "./allocator_view.js";
import { createCompare } from "./compare_view.js";
import { drawSiteLine } from "./details.js";
import { createEach } from "./each_view.js";
import { shownMoment } from "./moment.js";
import { createWho, listsCategories } from "./panel.js";
import { createPlan, devicePlan } from "./plan_view.js";
import { makeSplitter } from "./splitter.js";
import { change, drawn, perPage } from "./state.js";
import { consume, setAll, setText } from "./text.js";
import { createTree } from "./tree_view.js";
import { createWhy } from "./why.js";

/** @typedef {{id: string, draw: () => void, keys?: Record<string, () => void>, count?: () => number, urgent?: () =>
 * boolean}} SideView */

/** Its name is the palette's. @typedef {[id: string, create: (page: Page, box: HTMLElement) => SideView, name: string]}
 * Registered */

/** @type {Registered[]} */
const REGISTRY = [
    ["why", createWhy, "Why: what was found"],
    ["who", createWho, "List of who holds the memory"],
    ["tree", createTree, "Tree of callers and callees"],
    ["compare", createCompare, "Compare A with B"],
    ["allocator", createAllocator, "Allocator: why more is reserved than in use"],
    ["each", createEach, "Each allocation that the search finds"],
    ["plan", createPlan, "Plan: what would fit, and what it costs"],
];

const sideOf = perPage(() => ({
    /** @type {SideView[]} */
    views: [],
    /** The view that is placed now. */
    placed: "",
}));

const tabOf = (/** @type {Page} */ page, /** @type {string} */ id) => page.element(`tab-${id}`, HTMLButtonElement);

const panelOf = (/** @type {Page} */ page, /** @type {string} */ id) => page.element(`panel-${id}`, HTMLDivElement);

/** The view of the open tab. @param {Page} page */
function current(page) {
    const side = sideOf(page);
    return side.views.find(({ id }) => id === page.state.tab) ?? side.views[1];
}

/** The forms of Who, which share its tab. */
const FORMS = ["who", "tree", "each"];

/** The tab of a view. @param {string} id */
const tabIdOf = (id) => (FORMS.includes(id) ? "who" : id);

/** Is the open view the one that is placed? @param {Page} page */
export const isSidePlaced = (page) => current(page).id === sideOf(page).placed;

/** Updates the side before side and timeline are drawn. True: its width may have changed. @param {Page} page */
export function placeSide(page) {
    const side = sideOf(page);
    const shown = current(page);
    page.ui.whoForms.hidden = tabIdOf(shown.id) !== "who";
    page.ui.groupBy.hidden = shown.id !== "who" || (listsCategories(page) && page.state.groupBy === "site");
    for (const id of FORMS) page.press(`form-${id}`, id === shown.id);
    for (const { id, count, urgent } of side.views) {
        panelOf(page, id).hidden = id !== shown.id;
        if (tabIdOf(id) !== id) continue;
        const isOpen = id === tabIdOf(shown.id);
        const hidden = !hasContent(page, id);
        const tab = setAll(tabOf(page, id), { "aria-selected": isOpen, tabIndex: isOpen ? 0 : -1, hidden });
        const number = count?.() ?? 0;
        const badge = tab.querySelector("span");
        if (badge) {
            setText(badge, number ? String(number) : "");
            badge.classList.toggle("tab-urgent", urgent?.() ?? false);
        }
    }
    const moved = shown.id !== side.placed;
    side.placed = shown.id;
    return moved;
}

export function drawSide(/** @type {Page} */ page) {
    current(page).draw();
    drawSiteLine(page, shownMoment(page));
}

/** Handles a key in the open view. @param {Page} page @param {string} key */
export const sideKey = (page, key) => current(page).keys?.[key];

/** The tabs in their order. A tab without a view is not shown. */
const TABS = ["why", "plan", "who", "compare", "allocator"];

/** @param {Page} page */
const tabsOf = (page) => [...page.first.map(([id]) => id), ...TABS];

/** Has a view something to say of the shown device? One that an address opens is there all the same.
 * @param {Page} page @param {string} id */
function hasContent(page, id) {
    if (tabIdOf(page.state.tab) === id) return true;
    if (id === "plan") return devicePlan(page)?.budget.used_bytes != null;
    if (id === "allocator") return page.view.sentence("map_refusal") === "";
    return id !== "compare" || page.view.facts.events > 0;
}

/** @param {Page} page */
const shownTabs = (page) =>
    tabsOf(page).filter((id) => sideOf(page).views.some((view) => view.id === id) && hasContent(page, id));

/** The keys of the tabs that are shown, and their names. @param {Page} page */
export const tabKeys = (page) =>
    shownTabs(page).map((id) => ({
        key: String(tabsOf(page).indexOf(id) + 1),
        name: tabOf(page, id).childNodes[0].textContent?.trim() ?? "",
    }));

/** Opens a view and puts the focus into its panel. @param {Page} page @param {string} id */
async function openView(page, id) {
    if (current(page).id !== id) change(page, { tab: id });
    await drawn(page);
    if (current(page).id !== id) return;
    const panel = panelOf(page, id);
    const inner = panel.querySelector("summary, [tabindex='0']");
    if (inner instanceof HTMLElement) inner.focus();
    else panel.focus();
}

/** `1` and on: opens the tab; Who in the form that it has. @param {Page} page @param {number} nth */
export function openTab(page, nth) {
    const id = tabsOf(page)[nth];
    const { id: shown } = current(page);
    if (shownTabs(page).includes(id)) openView(page, tabIdOf(shown) === id ? shown : id);
}

/** The commands that open each view, in the order of the tabs. A form of Who has no key of its own. @param {Page} page
 * @returns {import("./palette.js").Command[]} */
export function viewCommands(page) {
    const names = new Map([...page.first, ...REGISTRY].map(([id, , name]) => [id, name]));
    const tabs = tabsOf(page);
    return shownTabs(page).flatMap((tab) => {
        const nth = tabs.indexOf(tab);
        const key = String(nth + 1);
        if (tab !== "who") return [{ name: names.get(tab) ?? tab, key, act: () => openTab(page, nth) }];
        return [
            { name: "Who holds the memory", key, act: () => openTab(page, nth) },
            ...FORMS.map((id) => ({ name: names.get(id) ?? id, act: () => openView(page, id) })),
        ];
    });
}

const SIDE_LEAST = 280;

const STAGE_LEAST = 520;

function startWidth(/** @type {Page} */ page) {
    const box = page.ui.side;
    makeSplitter(page.ui.splitSide, {
        read: () => box.offsetWidth,
        write: (pixels) => page.ui.main.style.setProperty("--side", pixels === null ? "" : `${pixels}px`),
        least: SIDE_LEAST,
        most: () => innerWidth - STAGE_LEAST,
        sign: -1,
    });
}

export function startSide(/** @type {Page} */ page) {
    const side = sideOf(page);
    startWidth(page);
    for (const [id, create] of [...page.first, ...REGISTRY]) side.views.push(create(page, panelOf(page, id)));
    for (const id of FORMS) page.onClick(`form-${id}`, () => change(page, { tab: id }));
    for (const id of tabsOf(page)) {
        const tab = tabOf(page, id);
        tab.addEventListener("click", () => change(page, { tab: id }));
        tab.addEventListener("keydown", (event) => {
            const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            if (by === 0) return;
            const tabs = shownTabs(page);
            const next = tabs[(tabs.indexOf(id) + by + tabs.length) % tabs.length];
            change(page, { tab: next });
            tabOf(page, next).focus();
            consume(event);
        });
    }
}
