// The side: one view at a time of the registry below. A view is a factory createX(box) -> { id, draw, keys?, count? };
// another one is its module, one line here, and its tab and panel in page.html.
import { createAllocator } from "./allocator_view.js";
import { createCompare } from "./compare_view.js";
import { drawSiteLine } from "./details.js";
import { createEach } from "./each_view.js";
import { shownMoment } from "./moment.js";
import { drawList, listKeysOf } from "./panel.js";
import { makeSplitter } from "./splitter.js";
import { change, perPage } from "./state.js";
import { make, setText } from "./text.js";
import { createTree } from "./tree_view.js";
import { createWhy } from "./why.js";

/**
 * @typedef {{id: string, draw: () => void, keys?: Record<string, () => void>, count?: () => number, urgent?: () =>
 * boolean}} SideView
 */

/** @typedef {[id: string, create: (page: Page, box: HTMLElement) => SideView]} Registered */

/** @type {Registered[]} */
const REGISTRY = [
    ["why", createWhy],
    ["who", (page) => ({ id: "who", draw: () => drawList(page), keys: listKeysOf(page) })],
    ["tree", (page) => createTree(page, sideOf(page).tree)],
    ["compare", createCompare],
    ["allocator", createAllocator],
    ["each", createEach],
];

const sideOf = perPage(() => ({
    /** @type {SideView[]} */
    views: [],
    /** The tree, which stands in its tab, or in the list's place where that is grouped as a tree. */
    tree: make("div", "tree-box"),
    /** The tab that is open, and whether it is a tree. */
    placed: "",
    /** Widths that somebody has chosen, by tab. @type {Map<string, number>} */
    widths: new Map(),
}));

const tabOf = (/** @type {Page} */ page, /** @type {string} */ id) => page.element(`tab-${id}`, HTMLButtonElement);

const panelOf = (/** @type {Page} */ page, /** @type {string} */ id) => page.element(`panel-${id}`, HTMLDivElement);

/** The view of the open tab. @param {Page} page */
function current(page) {
    const side = sideOf(page);
    return side.views.find(({ id }) => id === page.state.tab) ?? side.views[1];
}

function groupsAsTree(/** @type {Page} */ page) {
    return current(page).id === "who" && page.state.groupBy === "tree";
}

function placeTree(/** @type {Page} */ page) {
    const side = sideOf(page);
    const asTree = groupsAsTree(page);
    const home = panelOf(page, asTree ? "who" : "tree");
    if (side.tree.parentElement !== home) home.append(side.tree);
    panelOf(page, "who").classList.toggle("as-tree", asTree);
}

/** Views that have a say in keys, the inmost first. @param {Page} page */
function inHand(page) {
    return groupsAsTree(page) ? [treeView(page), current(page)] : [current(page)];
}

const treeView = (/** @type {Page} */ page) => sideOf(page).views.find(({ id }) => id === "tree") ?? current(page);

/** What stands beside the timeline, before either is drawn. True: it may be of another width. @param {Page} page */
export function placeSide(page) {
    const side = sideOf(page);
    const shown = current(page);
    for (const { id, count, urgent } of side.views) {
        const tab = tabOf(page, id);
        tab.setAttribute("aria-selected", String(id === shown.id));
        tab.tabIndex = id === shown.id ? 0 : -1;
        panelOf(page, id).hidden = id !== shown.id;
        const number = count?.() ?? 0;
        const badge = tab.querySelector("span");
        if (badge) {
            setText(badge, number ? String(number) : "");
            badge.classList.toggle("tab-urgent", urgent?.() ?? false);
        }
    }
    applyWidth(page);
    placeTree(page);
    const now = `${shown.id} ${groupsAsTree(page)}`;
    const moved = now !== side.placed;
    side.placed = now;
    return moved;
}

export function drawSide(/** @type {Page} */ page) {
    for (const one of inHand(page)) one.draw();
    drawSiteLine(page, shownMoment(page));
}

/** What a key does in the open view. @param {Page} page @param {string} key */
export function sideKey(page, key) {
    return inHand(page).find(({ keys }) => keys?.[key])?.keys?.[key];
}

/** `1` to `6`. @param {Page} page @param {number} nth */
export function openTab(page, nth) {
    const side = sideOf(page);
    if (side.views[nth]) change(page, { tab: side.views[nth].id });
}

const SIDE_LEAST = 280;

const STAGE_LEAST = 520;

function applyWidth(/** @type {Page} */ page) {
    const width = sideOf(page).widths.get(current(page).id);
    page.element("main", HTMLElement).style.setProperty("--side", width === undefined ? "" : `${width}px`);
}

function startWidth(/** @type {Page} */ page) {
    const side = sideOf(page);
    const box = page.element("side", HTMLElement);
    makeSplitter(page.element("split-side", HTMLDivElement), {
        read: () => box.offsetWidth,
        write: (pixels) => {
            if (pixels === null) side.widths.delete(current(page).id);
            else side.widths.set(current(page).id, pixels);
            applyWidth(page);
        },
        least: SIDE_LEAST,
        most: () => innerWidth - STAGE_LEAST,
        sign: -1,
    });
}

export function startSide(/** @type {Page} */ page) {
    const side = sideOf(page);
    startWidth(page);
    for (const [id, create] of [...page.first, ...REGISTRY]) {
        side.views.push(create(page, panelOf(page, id)));
        tabOf(page, id).addEventListener("click", () => change(page, { tab: id }));
        tabOf(page, id).addEventListener("keydown", (event) => {
            const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            if (by === 0) return;
            const next =
                side.views[
                    (side.views.findIndex((view) => view.id === page.state.tab) + by + side.views.length) %
                        side.views.length
                ];
            change(page, { tab: next.id });
            tabOf(page, next.id).focus();
            event.preventDefault();
            event.stopPropagation();
        });
    }
}
