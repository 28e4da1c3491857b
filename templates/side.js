// The side: one view at a time of the registry below. A view is a factory createX(box) -> { id, draw, keys?, count? };
// another one is its module, one line here, and its tab and panel in page.html.
import { createAllocator } from "./allocator_view.js";
import { createCompare } from "./compare_view.js";
import { drawSiteLine } from "./details.js";
import { createEach } from "./each_view.js";
import { shownMoment } from "./moment.js";
import { drawList, LIST_KEYS } from "./panel.js";
import { makeSplitter } from "./splitter.js";
import { change, state } from "./state.js";
import { element, make, setText } from "./text.js";
import { createTree } from "./tree_view.js";
import { createWhy } from "./why.js";

/**
 * @typedef {{id: string, draw: () => void, keys?: Record<string, () => void>, count?: () => number, urgent?: () =>
 * boolean}} SideView
 */

/** @type {[id: string, create: (box: HTMLElement) => SideView][]} */
const REGISTRY = [
    ["why", createWhy],
    ["who", () => ({ id: "who", draw: drawList, keys: LIST_KEYS })],
    ["tree", () => createTree(side.tree)],
    ["compare", createCompare],
    ["allocator", createAllocator],
    ["each", createEach],
];

const side = {
    /** @type {SideView[]} */
    views: [],
    /** The tree, which stands in its tab, or in the list's place where that is grouped as a tree. */
    tree: make("div", "tree-box"),
    /** The tab that is open, and whether it is a tree. */
    placed: "",
    /** Widths that somebody has chosen, by tab. @type {Map<string, number>} */
    widths: new Map(),
};

const tabOf = (/** @type {string} */ id) => element(`tab-${id}`, HTMLButtonElement);

const panelOf = (/** @type {string} */ id) => element(`panel-${id}`, HTMLDivElement);

/** The view of the open tab. */
function current() {
    return side.views.find(({ id }) => id === state.tab) ?? side.views[1];
}

function groupsAsTree() {
    return current().id === "who" && state.groupBy === "tree";
}

function placeTree() {
    const asTree = groupsAsTree();
    const home = panelOf(asTree ? "who" : "tree");
    if (side.tree.parentElement !== home) home.append(side.tree);
    panelOf("who").classList.toggle("as-tree", asTree);
}

/** Views that have a say in keys, the inmost first. */
function inHand() {
    return groupsAsTree() ? [treeView(), current()] : [current()];
}

const treeView = () => side.views[REGISTRY.findIndex(([id]) => id === "tree")];

/** What stands beside the timeline, before either is drawn. True: it may be of another width. */
export function placeSide() {
    const shown = current();
    for (const { id, count, urgent } of side.views) {
        const tab = tabOf(id);
        tab.setAttribute("aria-selected", String(id === shown.id));
        tab.tabIndex = id === shown.id ? 0 : -1;
        panelOf(id).hidden = id !== shown.id;
        const number = count?.() ?? 0;
        const badge = tab.querySelector("span");
        if (badge) {
            setText(badge, number ? String(number) : "");
            badge.classList.toggle("tab-urgent", urgent?.() ?? false);
        }
    }
    applyWidth();
    placeTree();
    const now = `${shown.id} ${groupsAsTree()}`;
    const moved = now !== side.placed;
    side.placed = now;
    return moved;
}

export function drawSide() {
    for (const one of inHand()) one.draw();
    drawSiteLine(shownMoment());
}

/** What a key does in the open view. @param {string} key */
export function sideKey(key) {
    return inHand().find(({ keys }) => keys?.[key])?.keys?.[key];
}

/** `1` to `6`. @param {number} nth */
export function openTab(nth) {
    if (side.views[nth]) change({ tab: side.views[nth].id });
}

const SIDE_LEAST = 280;

const STAGE_LEAST = 520;

function applyWidth() {
    const width = side.widths.get(current().id);
    element("main", HTMLElement).style.setProperty("--side", width === undefined ? "" : `${width}px`);
}

function startWidth() {
    const box = element("side", HTMLElement);
    makeSplitter(element("split-side", HTMLDivElement), {
        read: () => box.offsetWidth,
        write: (pixels) => {
            if (pixels === null) side.widths.delete(current().id);
            else side.widths.set(current().id, pixels);
            applyWidth();
        },
        least: SIDE_LEAST,
        most: () => innerWidth - STAGE_LEAST,
        sign: -1,
    });
}

export function startSide() {
    startWidth();
    for (const [id, create] of REGISTRY) {
        side.views.push(create(panelOf(id)));
        tabOf(id).addEventListener("click", () => change({ tab: id }));
        tabOf(id).addEventListener("keydown", (event) => {
            const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            if (by === 0) return;
            const next = side.views[(side.views.findIndex((view) => view.id === state.tab) + by + side.views.length) % side.views.length];
            change({ tab: next.id });
            tabOf(next.id).focus();
            event.preventDefault();
            event.stopPropagation();
        });
    }
}
