// Save's formats other than pictures: the allocations in view as CSV, the tree as folded stacks.
import { csvInView } from "./each_view.js";
import { askTree, treeObject } from "./questions.js";
import { saveBlob } from "./save.js";
import { heldMoment, rangeEvents } from "./state.js";
import { make } from "./text.js";

/** Lines `frame;frame BYTES`, outermost frame first, with each node's own bytes. @param {PageTree} node
 * @param {string} above @returns {Generator<string>} */
function* foldedLines(node, above) {
    const name = node.name.replace(/;/g, ",").replace(/\s+/g, " ");
    const path = above && name ? `${above};${name}` : above || name;
    const own = node.bytes - node.children.reduce((sum, child) => sum + child.bytes, 0);
    if (own > 0) yield `${path || "(no stack recorded)"} ${own}\n`;
    for (const child of node.children) yield* foldedLines(child, path);
}

/** Folded stacks of the selected range, otherwise of the memory live at the list's moment. @param {Page} page */
function foldedText(page) {
    const { state, view } = page;
    const range = state.range ? rangeEvents(page, state.range) : null;
    const about = range ? { from: range.first, to: range.end } : { at: heldMoment(page) };
    return [...foldedLines(treeObject(view, askTree(view, about, "callees"), "callees"), "")].join("");
}

/** @param {Page} page @returns {[id: string, text: string, title: string, save: () => Promise<void>][]} */
function offers(page) {
    const csv = async () => saveBlob(page, await csvInView(page), "csv");
    const folded = async () => saveBlob(page, new Blob([foldedText(page)], { type: "text/plain" }), "folded");
    const passing = "Those of the window that pass filter and search, with their stacks";
    return [
        ["save-csv", "CSV of the allocations in view", passing, csv],
        ["save-folded", "Folded stacks of the tree", "A line for each stack, as flame graphs want it", folded],
    ];
}

export function startExports(/** @type {Page} */ page) {
    const link = page.ui.link;
    for (const [id, text, title, save] of offers(page)) {
        const button = make("button", "", text, { id, title });
        button.addEventListener("click", async () => {
            button.disabled = true;
            await save().finally(() => (button.disabled = false));
        });
        link.before(button);
    }
}
