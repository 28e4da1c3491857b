// Draws a tree as an icicle: a box for each node, as wide as its bytes.
import { inkOn } from "./paint.js";
import { nodeName } from "./questions.js";
import { change, isDark } from "./state.js";
import { cssTexture, formatBytes, formatPlural, formatShare, make, setText } from "./text.js";

/** @typedef {import("./tree_view.js").Tree} Tree */
/** @typedef {{index: number, frame: number, bytes: number, before_bytes: number, text: string, from: number, width:
 * number, level: number, faded: boolean}} IcicleBox */

/** Narrower boxes are left out, with everything below them. */
const BOX_LEAST = 1 / 300;

const DEPTH_MOST = 30;

const BOX_HEIGHT = 22;

/** A colour from less (teal) over equal (grey) to more (orange) bytes.
 * @param {Page} page @param {number} bytes @param {number} before */
function changeColor(page, bytes, before) {
    const share = Math.max(-1, Math.min(1, (bytes - before) / Math.max(1, bytes, before)));
    const [to, grey] = [share > 0 ? [224, 122, 41] : [11, 132, 127], isDark(page) ? [70, 78, 90] : [222, 225, 232]];
    return grey.reduce(
        (color, part, i) => color * 256 + Math.round(part + (to[i] - part) * Math.sqrt(Math.abs(share))),
        0,
    );
}

/** The highlight of a node; a function with several lines has none. @param {Page} page @param {number} frame
 * @param {number} level @returns {Focus | null} */
export function focusOf(page, frame, level) {
    if (page.state.treeDirection !== "places") return { by: "frame", id: frame };
    return level === 0 ? { by: "file", id: frame } : level === 2 ? { by: "site", id: frame } : null;
}

/** @param {Tree} tree @param {number} index */
export const node = (tree, index) => (tree.nodes[index] ??= tree.page.view.c.node(index));

/** The boxes of the planted tree that are wide enough to be seen. @param {Tree} tree @param {string} direction
 * @returns {IcicleBox[]} */
export function boxesOf(tree, direction) {
    const whole = node(tree, 0).bytes;
    /** @type {IcicleBox[]} */
    const boxes = [];
    const add = (/** @type {number} */ index, /** @type {number} */ from, /** @type {number} */ level) => {
        const { first_child, children, frame, bytes, before_bytes } = node(tree, index);
        const width = bytes / whole;
        if (width < BOX_LEAST || level > DEPTH_MOST) return;
        tree.deepest = Math.max(tree.deepest, level);
        if (level > tree.page.state.treeDepth) return;
        const text = index === 0 ? "everything" : nodeName(tree.page.view, direction, frame, level - 1);
        const faded = tree.met !== null && !tree.met[index];
        boxes.push({ index, frame, bytes, before_bytes, text, from, width, level, faded });
        let at = from;
        for (let i = first_child; i < first_child + children; i++) {
            add(i, at, level + 1);
            at += node(tree, i).bytes / whole;
        }
    };
    if (whole > 0) add(0, 0, 0);
    return boxes;
}

/** @param {Tree} tree @param {IcicleBox} drawn @param {number} whole @param {number} row */
function makeBox(tree, { index, frame, bytes, before_bytes, text, from, width, level, faded }, whole, row) {
    const title = `${text}: ${formatBytes(bytes)} (${formatShare(bytes, whole)})`;
    const part = make("button", "icicle-box", width > 0.08 ? text : "", { tabIndex: -1, title });
    part.style.left = `${from * 100}%`;
    part.style.width = `${width * 100}%`;
    part.style.top = `${row * BOX_HEIGHT}px`;
    if (index && !faded) {
        const color =
            tree.against && tree.page.state.treeChange
                ? changeColor(tree.page, bytes, before_bytes)
                : tree.page.view.c.site_color(frame, isDark(tree.page) ? 1 : 0);
        part.style.background = cssTexture(color);
        part.style.color = inkOn(color);
    }
    part.classList.toggle("faded", faded);
    part.classList.toggle("icicle-root", index === 0);
    part.addEventListener("click", () => {
        const focus = index === 0 ? null : focusOf(tree.page, frame, level - 1);
        if (index === 0 || focus) change(tree.page, { focus, selected: null });
    });
    return part;
}

/** Draws the planted tree; if it begins with a frame, with the callers in `over` above it.
 * @param {Tree} tree @param {IcicleBox[]} over @param {HTMLElement} icicle @param {HTMLInputElement} depth
 * @param {HTMLElement} levels in words */
export function drawIcicle(tree, over, icicle, depth, levels) {
    const { treeDepth, treeDirection, treeFrom } = tree.page.state;
    const whole = node(tree, 0).bytes;
    const below = boxesOf(tree, treeDirection);
    const above = Math.max(0, ...over.map(({ level }) => level - 1));
    // Between callers and callees the frame appears once, since the root would only repeat it.
    const first = treeFrom && treeDirection !== "places" ? 1 : 0;
    const callers = over.filter(({ level }) => level > 1);
    icicle.replaceChildren(
        ...callers.map((drawn) => makeBox(tree, drawn, whole, above + 1 - drawn.level)),
        ...below
            .filter(({ level }) => level >= first)
            .map((drawn) => makeBox(tree, drawn, whole, above + drawn.level - first)),
    );
    depth.max = String(tree.deepest);
    depth.value = String(Math.min(treeDepth, tree.deepest));
    setText(levels, `${depth.value} of ${formatPlural(tree.deepest, "level")}`);
    const high = above + 1 - first + Math.max(0, ...below.map(({ level }) => level));
    icicle.style.height = whole > 0 ? `${high * BOX_HEIGHT}px` : "0";
}
