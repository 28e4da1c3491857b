// Tree: who holds the memory, by who calls whom, as an icicle and as a table whose rows unfold.
import { setFilter } from "./filter.js";
import { askTree, nodeName, planted, TREES } from "./questions.js";
import { change, heldMoment, invalidate, isDark, isFocused, LIST, momentText, newMemo, rangeEvents } from "./state.js";
import { makeLine, showChosen, Table } from "./table.js";
import {
    after,
    baseName,
    dotted,
    formatBytes,
    formatChange,
    formatCount,
    formatExactBytes,
    formatPlural,
    formatShare,
    make,
    makeBox,
    makeButton,
    makeChoices,
    setText,
    tableFigures,
} from "./text.js";
import { boxesOf, drawIcicle, focusOf, node } from "./tree_icicle.js";
import { commonFrame } from "./tree_small.js";

/** A tree with more nodes is not searched. */
const SEARCHED_MOST = 200000;

/** Nodes below this share of their parent's bytes are one row until somebody unfolds it. */
const SMALL_SHARE = 0.01;

/** @typedef {ReturnType<typeof makeTree>} Tree */
/** @typedef {{node: number, level: number, small: number[], frame?: number, itself?: boolean}} TreeRow a node, the
 * small children of one (those that come through a frame), or what one holds itself */
/** @typedef {ReturnType<typeof makeRow>} TreeLine */

function makeRow() {
    const bar = make("i", "bar");
    return { ...makeLine("row", ["bytes", "share", "count", "delta"], bar), bar };
}

/** The filter's word for allocations through a frame. @param {Page} page @param {number} frame */
function frameWord(page, frame) {
    const { file, line, name } = page.session.frame(frame);
    const words = [line ? `${baseName(file)}:${line}` : baseName(file), name].filter(Boolean).join(" ");
    return `"${words.replaceAll('"', "")}"`;
}

const DIRECTIONS = { callees: "Callers first", callers: "Call sites first", places: "By file" };

const focusWord = (/** @type {Page} */ page, /** @type {Focus} */ { by, id }) =>
    by === "file" ? `file:"${baseName(page.session.frame(id).file).replaceAll('"', "")}"` : frameWord(page, id);

/** Adds the small children of a node: as one row, or as two if most come through one frame, which then names them.
 * @param {Tree} tree @param {number} parent @param {number} level @param {number[]} small */
function addSmall(tree, parent, level, small) {
    if (small.length === 0) return;
    const { first_child, children } = node(tree, parent);
    const all = new Set(small);
    const large = Array.from({ length: children }, (_, i) => first_child + i).filter((i) => !all.has(i));
    const common = tree.state.treeDirection === "callers" ? commonFrame((i) => node(tree, i), small, large) : null;
    common?.small.forEach((i) => all.delete(i));
    if (common) tree.rows.push({ node: parent, level, ...common });
    if (all.size) tree.rows.push({ node: parent, level, small: [...all] });
}

/** Does a row have only small ones below it? @param {Tree} tree @param {number} index */
function onlySmall(tree, index) {
    const { first_child, children, bytes } = node(tree, index);
    return children > 3 && node(tree, first_child).bytes < bytes * SMALL_SHARE;
}

/** The words of a row of small ones. @param {Tree} tree @param {TreeRow} row */
function smallText(tree, { small, frame, level }) {
    const noun = level === 0 && tree.state.treeDirection === "callers" ? "site" : "row";
    const many = `${formatPlural(small.length, noun)} below 1 %`;
    if (frame) return `${tree.session.siteText(frame)} \u00b7 ${many}`;
    const below = small.every((i) => baseOf(tree, i) === baseOf(tree, small[0])) ? baseOf(tree, small[0]) : "";
    return below ? `${many} in ${below}` : many;
}

/** Adds rows for a node's children; the small ones share a row.
 * @param {Tree} tree @param {number} parent @param {number} level */
function addChildren(tree, parent, level) {
    const { first_child, children, bytes } = node(tree, parent);
    /** @type {number[]} */
    const small = [];
    for (let i = first_child; i < first_child + children; i++) {
        if (tree.met && !tree.met[i]) continue;
        if (!tree.met && node(tree, i).bytes < bytes * SMALL_SHARE && children > 3 && !tree.opened.has(parent))
            small.push(i);
        else addNode(tree, i, level);
    }
    addSmall(tree, parent, level, small);
    const { self_bytes } = node(tree, parent);
    if (!tree.met && parent && self_bytes > 0 && children > 0)
        tree.rows.push({ node: parent, level, small: [], itself: true });
}

function addNode(/** @type {Tree} */ tree, /** @type {number} */ index, /** @type {number} */ level) {
    tree.rows.push({ node: index, level, small: [] });
    if (tree.met || tree.open.has(index)) addChildren(tree, index, level + 1);
}

/** Marks the nodes whose text has the words, and all nodes above them. @param {Tree} tree */
function search(tree) {
    const { count } = tree;
    const wanted = tree.words.value.trim().toLowerCase();
    tree.searched = tree.words.value;
    tree.met = wanted && count <= SEARCHED_MOST ? new Uint8Array(count) : null;
    if (!tree.met) return;
    // A frame can be in many nodes.
    /** @type {Map<number, boolean>} */
    const named = new Map();
    const isNamed = (/** @type {number} */ frame) => {
        const known = named.get(frame) ?? tree.session.siteText(frame).toLowerCase().includes(wanted);
        named.set(frame, known);
        return known;
    };
    for (let i = count; i-- > 1;) {
        if (isNamed(node(tree, i).frame)) tree.met[i] = 1;
        if (tree.met[i]) tree.met[node(tree, i).parent] = 1;
    }
}

function renew(/** @type {Tree} */ tree) {
    tree.rows = [];
    tree.figures = tableFigures(node(tree, 0).children ? node(tree, node(tree, 0).first_child).bytes : 0);
    addChildren(tree, 0, 0);
}

/** The file of a node's frame. @param {Tree} tree @param {number} index */
const baseOf = (tree, index) => tree.session.siteText(node(tree, index).frame).replace(/:.*/s, "");

function fillLine(/** @type {Tree} */ tree, /** @type {TreeLine} */ line, /** @type {TreeRow} */ row) {
    const { frame, children, self_bytes, self_count } = node(tree, row.node);
    const many = row.small.length > 0;
    const add = (/** @type {{bytes: number, count: number, before_bytes: number}} */ all, /** @type {number} */ i) => ({
        bytes: all.bytes + node(tree, i).bytes,
        count: all.count + node(tree, i).count,
        before_bytes: all.before_bytes + node(tree, i).before_bytes,
    });
    const itself = row.itself ?? false;
    const sum = many
        ? row.small.reduce(add, { bytes: 0, count: 0, before_bytes: 0 })
        : itself
          ? { bytes: self_bytes, count: self_count, before_bytes: 0 }
          : node(tree, row.node);
    const whole = node(tree, 0).bytes;
    line.what.style.paddingLeft = `${row.level * 14}px`;
    setText(line.fold, many ? "\u25b8" : children === 0 || itself ? "" : tree.open.has(row.node) ? "\u25be" : "\u25b8");
    const name = () => nodeName(tree.view, tree.state.treeDirection, frame, row.level);
    setText(line.text, itself ? "itself" : many ? smallText(tree, row) : name());
    line.what.title = line.text.textContent ?? "";
    line.swatch.hidden = many;
    line.swatch.style.background = tree.view.siteColor(frame, isDark(tree.page));
    line.bar.style.background = many ? "" : tree.view.siteColor(frame, isDark(tree.page));
    line.bar.style.setProperty("--part", String(whole ? sum.bytes / whole : 0));
    setText(line.bytes, tree.figures.text(sum.bytes));
    line.bytes.title = formatExactBytes(sum.bytes);
    setText(line.share, formatShare(sum.bytes, whole));
    setText(line.count, formatCount(sum.count));
    const since = sum.bytes - sum.before_bytes;
    setText(line.delta, tree.against && !itself ? formatChange(since, tree.figures.text) : "");
    line.delta.classList.toggle("more", since > 0);
    line.delta.classList.toggle("less", since < 0);
    const isLit = isFocused(tree.page, focusOf(tree.page, frame, row.level));
    showChosen(line.element, !many && !itself && isLit);
    line.element.setAttribute("aria-expanded", String(tree.open.has(row.node)));
}

/** Opens or closes a row, and highlights allocations through its frame. @param {Tree} tree @param {TreeRow} row */
function choose(tree, row) {
    keepTree(tree);
    if (row.itself) return;
    if (row.small.length) tree.opened.add(row.node);
    else {
        if (!tree.open.delete(row.node)) tree.open.add(row.node);
        const focus = focusOf(tree.page, node(tree, row.node).frame, row.level);
        if (focus) change(tree.page, { focus, selected: null });
    }
    renew(tree);
    invalidate(tree.page, LIST);
}

/** Plants a tree and forgets the nodes of the previous one.
 * @param {Tree} tree @param {About} question @param {string} direction */
function plant(tree, question, direction) {
    tree.nodes = [];
    tree.own = planted.count + 1;
    const before = tree.against ? (tree.state.marks[0]?.event ?? null) : null;
    tree.count = askTree(tree.view, question, direction, before, tree.state.treeFrom);
}

/** Plants the tree again if a script has planted another one. @param {Tree} tree */
function keepTree(tree) {
    if (tree.own !== planted.count) plant(tree, about(tree), tree.state.treeDirection);
}

/** Finds the callers of the tree's first frame, which are drawn above it. @param {Tree} tree @param {About} question */
function callersAbove(tree, question) {
    if (!tree.state.treeFrom || tree.state.treeDirection !== "callees") return [];
    tree.met = null;
    plant(tree, question, "callers");
    return boxesOf(tree, "callers");
}

/** The moment or the range that the tree is about. @param {Tree} tree @returns {About} */
function about(tree) {
    if (!tree.state.range) return { at: heldMoment(tree.page) };
    const { first, end } = rangeEvents(tree.page, tree.state.range);
    return { from: first, to: end, what: tree.state.rangeOf };
}

function draw(/** @type {Tree} */ tree) {
    const question = about(tree);
    const before = tree.state.marks[0]?.event ?? null;
    tree.against = before !== null && "at" in question;
    const { device, treeDirection, treeFrom, treeDepth, treeChange } = tree.state;
    const of = [device, question, treeDirection, treeFrom, tree.kept.version, before, treeDepth, treeChange];
    const planted = tree.planted([...of, isDark(tree.page)], () => {
        tree.deepest = 1;
        tree.over = callersAbove(tree, question);
        plant(tree, question, treeDirection);
        return {};
    });
    keepTree(tree);
    if (tree.shown !== planted || tree.searched !== tree.words.value) {
        tree.shown = planted;
        search(tree);
        tree.open = new Set();
        tree.opened = new Set();
        // The way down to where the memory divides is open at first.
        for (let at = 0, level = 0; level < 6 && node(tree, at).children > 0; level++) {
            at = node(tree, at).first_child;
            if (onlySmall(tree, at)) break;
            tree.open.add(at);
            if (node(tree, at).bytes < node(tree, 0).bytes * 0.3) break;
        }
        renew(tree);
        drawIcicle(tree, tree.over);
        tree.table.list.restart();
    }
    const { bytes, count } = node(tree, 0);
    const at = "at" in question ? Number(question.at) : null;
    const moment = at === tree.view.facts.peak_event ? "At the peak" : "At the marked moment";
    setText(tree.title, at === null ? "In the selection" : moment);
    const large = tree.words.value.trim() && !tree.met;
    const total = dotted(
        `${formatBytes(bytes)} in ${formatPlural(count, "allocation")}`,
        at !== null && tree.view.facts.events ? momentText(tree.page, at) : "",
        large ? `more than ${formatCount(SEARCHED_MOST)} nodes: the tree is not searched` : "",
        tree.view.c.tree_cut() ? "the outermost callers are left out" : "",
        tree.against ? `${formatChange(bytes - node(tree, 0).before_bytes)} since A` : "",
        treeFrom ? `through ${tree.session.siteText(treeFrom)}` : "",
    );
    setText(tree.total, total);
    tree.changes.hidden = !tree.against;
    tree.changes.setAttribute("aria-pressed", String(tree.state.treeChange));
    tree.table.scroll.classList.toggle("against", tree.against);
    tree.only.hidden = !tree.state.focus || !["frame", "site", "file"].includes(tree.state.focus.by);
    tree.here.hidden = tree.state.focus?.by !== "frame" || tree.state.focus.id === tree.state.treeFrom;
    tree.back.hidden = tree.state.treeFrom === 0;
    tree.press(tree.state.treeDirection);
    tree.table.scroll.style.setProperty("--count", `${Math.max(5, formatCount(count).length)}ch`);
    tree.table.draw(tree.rows.length, (i) => tree.rows[i]);
}

function goBack(/** @type {Page} */ page) {
    change(page, { treeFrom: 0 });
}

/** The view's elements, and their contents. @param {Page} page @param {HTMLElement} box
 * @param {Omit<import("./table.js").Filling<TreeLine, TreeRow>, "make">} use */
function makeTree(page, box, use) {
    const { state } = page;
    const title = make("h2", "", "");
    const total = make("p", "panel-total");
    const directions = makeBox("group", "segmented", "Direction of the tree");
    const press = makeChoices(
        directions,
        TREES.map((direction) => [direction, DIRECTIONS[direction]]),
        (treeDirection) => change(page, { treeDirection }),
    );
    const turn = () => change(page, { treeChange: !state.treeChange });
    const changes = makeButton("quiet", "Since A", turn, "Colour by what has changed since mark A");
    const head = make("div", "panel-head", title, directions, changes, total);
    const hint = "Search in the tree";
    const words = make("input", "", { type: "search", placeholder: hint, "aria-label": hint });
    words.addEventListener("input", () => invalidate(page, LIST));
    const depth = make("input", "", { type: "range", min: "1", "aria-label": "Levels of the icicle" });
    depth.addEventListener("input", () => change(page, { treeDepth: Number(depth.value) }));
    const levels = make("span", "tree-levels");
    const keep = () =>
        state.focus && setFilter(page, { words: `${state.filter.words} ${focusWord(page, state.focus)}`.trim() });
    const only = makeButton("quiet", "Only these", keep, "Remove all that does not go through this frame");
    const start = () => change(page, { treeFrom: state.focus?.id ?? 0 });
    const here = makeButton("quiet", "From here", start, "Start here: callers above, calls below");
    const back = makeButton("quiet", "Everything", () => goBack(page), "Back to the whole tree (Backspace)");
    const tools = make("div", "tree-tools", words, depth, levels, here, back, only);
    const icicle = makeBox("group", "icicle", "Icicle of callers");
    // Focusable, so that keys scroll it if it scrolls.
    icicle.tabIndex = 0;
    /** @type {Table<TreeLine, TreeRow>} */
    const table = new Table(
        page,
        "tree-rows",
        [
            ["Frame", ""],
            ["Bytes", "number"],
            ["Share", "number"],
            ["Count", "number"],
            ["\u2212 A", "number delta"],
        ],
        { make: makeRow, ...use },
        { "aria-label": "Tree of callers" },
        { kind: "colored", role: "treegrid" },
    );
    box.replaceChildren(head, tools, icicle, table.scroll);
    const { kept, session, view } = page;
    return {
        ...{ page, kept, session, state, view },
        ...{ title, total, press, changes, words, depth, levels, only, here, back, icicle, table },
        planted: newMemo(),
        /** The planting whose rows are shown. */
        shown: {},
        /** The words that were searched last. */
        searched: "",
        /** The number of nodes. */
        count: 0,
        /** @type {record_node[]} */
        nodes: [],
        /** Boxes above the tree's: callers of its first frame. @type {import("./tree_icicle.js").IcicleBox[]} */
        over: [],
        /** @type {Set<number>} */
        open: new Set(),
        /** @type {Set<number>} */
        opened: new Set(),
        /** @type {TreeRow[]} */
        rows: [],
        figures: tableFigures(0),
        /** Nodes that have the words of the search, or lie below one that has them; null: there are no words.
         * @type {Uint8Array | null} */
        met: null,
        /** The number of the planted tree that is shown. */
        own: 0,
        /** The number of levels of the tree. */
        deepest: 1,
        /** Is the tree compared with mark A? */
        against: false,
    };
}

export function createTree(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    /** @type {Tree} */
    const tree = makeTree(page, box, {
        fill: (line, row) => fillLine(tree, line, row),
        choose: (row) => choose(tree, row),
        isOpen: (row) => (row.small.length ? null : tree.open.has(row.node)),
        turn: (row) => choose(tree, row),
    });
    return {
        id: "tree",
        draw: () => draw(tree),
        keys: {
            c: () => change(page, { treeDirection: after(TREES, page.state.treeDirection) }),
            Backspace: () => goBack(page),
        },
    };
}
