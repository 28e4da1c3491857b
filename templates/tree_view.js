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

/** What the tree and its icicle share. @typedef {ReturnType<typeof newTree>} Tree */
/** @typedef {{node: number, level: number, small: number[], itself: boolean, text: string, frame: number,
 * bytes: number, count: number, before_bytes: number}} TreeRow a node, the small children of one, or what one holds
 * itself; its name, if that is not its frame's */
/** @typedef {ReturnType<typeof makeRow>} TreeLine */

const newTree = (/** @type {Page} */ page) => ({
    page,
    /** @type {record_node[]} */
    nodes: [],
    /** Nodes that have the words of the search, or lie below one that has them; null: there are no words.
     * @type {Uint8Array | null} */
    met: null,
    /** The number of levels. */
    deepest: 1,
    /** Is it compared with mark A? */
    against: false,
});

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

/** Marks the nodes whose text has the words, and all nodes above them. @param {Tree} tree @param {number} count
 * @param {string} wanted */
function search(tree, count, wanted) {
    const { session } = tree.page;
    const met = new Uint8Array(count);
    // A frame can be in many nodes.
    /** @type {Map<number, boolean>} */
    const named = new Map();
    const isNamed = (/** @type {number} */ frame) => {
        const known = named.get(frame) ?? session.siteText(frame).toLowerCase().includes(wanted);
        named.set(frame, known);
        return known;
    };
    for (let i = count; i-- > 1;) {
        if (isNamed(node(tree, i).frame)) met[i] = 1;
        if (met[i]) met[node(tree, i).parent] = 1;
    }
    return met;
}

export function createTree(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    const { kept, session, state, view } = page;
    const tree = newTree(page);
    const at = (/** @type {number} */ index) => node(tree, index);
    const title = make("h2", "", "");
    const total = make("p", "panel-total");
    const directions = makeBox("group", "segmented", "Direction of the tree");
    const press = makeChoices(
        directions,
        TREES.map((direction) => [direction, DIRECTIONS[direction]]),
        (treeDirection) => change(page, { treeDirection }),
    );
    const turnChange = () => change(page, { treeChange: !state.treeChange });
    const changes = makeButton("quiet", "Since A", turnChange, "Colour by what has changed since mark A");
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
    const goBack = () => change(page, { treeFrom: 0 });
    const back = makeButton("quiet", "Everything", goBack, "Back to the whole tree (Backspace)");
    const tools = make("div", "tree-tools", words, depth, levels, here, back, only);
    const icicle = makeBox("group", "icicle", "Icicle of callers");
    // Focusable, so that keys scroll it if it scrolls.
    icicle.tabIndex = 0;
    const askedFor = newMemo();
    /** The planting whose rows are shown, the words that were searched last, and the number of nodes. */
    let [shown, searched, count] = [{}, "", 0];
    /** The number of the planted tree that is shown. */
    let own = 0;
    /** Nodes that are open, and those of which all small children are shown. @type {Set<number>[]} */
    let [open, opened] = [new Set(), new Set()];
    /** @type {TreeRow[]} */
    let rows = [];
    let figures = tableFigures(0);
    /** Boxes above the tree's: callers of its first frame. @type {import("./tree_icicle.js").IcicleBox[]} */
    let over = [];

    /** The file of a node's frame. @param {number} index */
    const fileOf = (index) => session.siteText(at(index).frame).replace(/:.*/s, "");

    /** Adds a row for the small children of a node, or for those of them that come through a frame.
     * @param {number} parent @param {number} level @param {number[]} small @param {number} [through] */
    function addMany(parent, level, small, through) {
        const sum = (/** @type {"bytes" | "count" | "before_bytes"} */ part) =>
            small.reduce((all, i) => all + at(i)[part], 0);
        const noun = level === 0 && state.treeDirection === "callers" ? "site" : "row";
        const many = `${formatPlural(small.length, noun)} below 1 %`;
        const file = small.every((i) => fileOf(i) === fileOf(small[0])) ? fileOf(small[0]) : "";
        const text = through ? `${session.siteText(through)} \u00b7 ${many}` : file ? `${many} in ${file}` : many;
        const figures = { bytes: sum("bytes"), count: sum("count"), before_bytes: sum("before_bytes") };
        rows.push({ node: parent, level, small, itself: false, text, frame: at(parent).frame, ...figures });
    }

    /** Adds the small children of a node: as one row, or as two if most come through one frame, which then names them.
     * @param {number} parent @param {number} level @param {number[]} small */
    function addSmall(parent, level, small) {
        const { first_child, children } = at(parent);
        const all = new Set(small);
        const large = Array.from({ length: children }, (_, i) => first_child + i).filter((i) => !all.has(i));
        const common = state.treeDirection === "callers" ? commonFrame(at, small, large) : null;
        common?.small.forEach((i) => all.delete(i));
        if (common) addMany(parent, level, common.small, common.frame);
        if (all.size) addMany(parent, level, [...all]);
    }

    /** Adds rows for a node's children; the small ones share a row. @param {number} parent @param {number} level */
    function addChildren(parent, level) {
        const { first_child, children, bytes, frame, self_bytes, self_count } = at(parent);
        /** @type {number[]} */
        const small = [];
        for (let i = first_child; i < first_child + children; i++) {
            if (tree.met && !tree.met[i]) continue;
            if (!tree.met && at(i).bytes < bytes * SMALL_SHARE && children > 3 && !opened.has(parent)) small.push(i);
            else addNode(i, level);
        }
        if (small.length) addSmall(parent, level, small);
        if (tree.met || !parent || self_bytes === 0 || children === 0) return;
        const figures = { bytes: self_bytes, count: self_count, before_bytes: 0 };
        rows.push({ node: parent, level, small: [], itself: true, text: "itself", frame, ...figures });
    }

    function addNode(/** @type {number} */ index, /** @type {number} */ level) {
        const { frame, bytes, count, before_bytes } = at(index);
        rows.push({ node: index, level, small: [], itself: false, text: "", frame, bytes, count, before_bytes });
        if (tree.met || open.has(index)) addChildren(index, level + 1);
    }

    function renew() {
        rows = [];
        figures = tableFigures(at(0).children ? at(at(0).first_child).bytes : 0);
        addChildren(0, 0);
    }

    function fill(/** @type {TreeLine} */ line, /** @type {TreeRow} */ row) {
        const { frame, level, itself, bytes } = row;
        const many = row.small.length > 0;
        const whole = at(0).bytes;
        const color = view.siteColor(frame, isDark(page));
        const folds = !itself && at(row.node).children > 0;
        line.what.style.paddingLeft = `${level * 14}px`;
        setText(line.fold, many ? "\u25b8" : !folds ? "" : open.has(row.node) ? "\u25be" : "\u25b8");
        setText(line.text, row.text || nodeName(view, state.treeDirection, frame, level));
        line.what.title = line.text.textContent ?? "";
        line.swatch.hidden = many;
        line.swatch.style.background = color;
        line.bar.style.background = many ? "" : color;
        line.bar.style.setProperty("--part", String(whole ? bytes / whole : 0));
        setText(line.bytes, figures.text(bytes));
        line.bytes.title = formatExactBytes(bytes);
        setText(line.share, formatShare(bytes, whole));
        setText(line.count, formatCount(row.count));
        const since = bytes - row.before_bytes;
        setText(line.delta, tree.against && !itself ? formatChange(since, figures.text) : "");
        line.delta.classList.toggle("more", since > 0);
        line.delta.classList.toggle("less", since < 0);
        showChosen(line.element, !many && !itself && isFocused(page, focusOf(page, frame, level)));
        line.element.setAttribute("aria-expanded", String(open.has(row.node)));
    }

    /** Opens or closes a row, and highlights allocations through its frame. @param {TreeRow} row */
    function choose(row) {
        keepTree();
        if (row.itself) return;
        if (row.small.length) opened.add(row.node);
        else {
            if (!open.delete(row.node)) open.add(row.node);
            const focus = focusOf(page, row.frame, row.level);
            if (focus) change(page, { focus, selected: null });
        }
        renew();
        invalidate(page, LIST);
    }

    /** The moment or the range that the tree is about. @returns {About} */
    function about() {
        if (!state.range) return { at: heldMoment(page) };
        const { first, end } = rangeEvents(page, state.range);
        return { from: first, to: end, what: state.rangeOf };
    }

    /** Plants a tree and forgets the nodes of the previous one. @param {string} direction */
    function plant(direction) {
        tree.nodes = [];
        own = planted.count + 1;
        const before = tree.against ? (state.marks[0]?.event ?? null) : null;
        count = askTree(view, about(), direction, before, state.treeFrom);
    }

    /** Plants the tree again if a script has planted another one. */
    function keepTree() {
        if (own !== planted.count) plant(state.treeDirection);
    }

    /** Finds the callers of the tree's first frame, which are drawn above it. */
    function callersAbove() {
        if (!state.treeFrom || state.treeDirection !== "callees") return [];
        tree.met = null;
        plant("callers");
        return boxesOf(tree, "callers");
    }

    /** Does a row have only small ones below it? @param {number} index */
    function onlySmall(index) {
        const { first_child, children, bytes } = at(index);
        return children > 3 && at(first_child).bytes < bytes * SMALL_SHARE;
    }

    /** Searches the tree, and opens the way down to where the memory divides. */
    function begin() {
        searched = words.value;
        const wanted = searched.trim().toLowerCase();
        tree.met = wanted && count <= SEARCHED_MOST ? search(tree, count, wanted) : null;
        [open, opened] = [new Set(), new Set()];
        for (let index = 0, level = 0; level < 6 && at(index).children > 0; level++) {
            index = at(index).first_child;
            if (onlySmall(index)) break;
            open.add(index);
            if (at(index).bytes < at(0).bytes * 0.3) break;
        }
        renew();
        drawIcicle(tree, over, icicle, depth, levels);
        table.list.restart();
    }

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
        { make: makeRow, fill, choose, isOpen: (row) => (row.small.length ? null : open.has(row.node)), turn: choose },
        { "aria-label": "Tree of callers" },
        { kind: "colored", role: "treegrid" },
    );
    box.replaceChildren(head, tools, icicle, table.scroll);

    function draw() {
        const question = about();
        const { device, focus, treeDirection, treeFrom, treeDepth, treeChange } = state;
        const before = state.marks[0]?.event ?? null;
        tree.against = before !== null && "at" in question;
        const of = [device, question, treeDirection, treeFrom, kept.version, before, treeDepth, treeChange];
        const planting = askedFor([...of, isDark(page)], () => {
            tree.deepest = 1;
            over = callersAbove();
            plant(treeDirection);
            return {};
        });
        keepTree();
        if (shown !== planting || searched !== words.value) begin();
        shown = planting;
        const { bytes, count: allocations, before_bytes } = at(0);
        const event = "at" in question ? Number(question.at) : null;
        const moment = event === view.facts.peak_event ? "At the peak" : "At the marked moment";
        setText(title, event === null ? "In the selection" : moment);
        const large = words.value.trim() && !tree.met;
        const said = dotted(
            `${formatBytes(bytes)} in ${formatPlural(allocations, "allocation")}`,
            event !== null && view.facts.events ? momentText(page, event) : "",
            large ? `more than ${formatCount(SEARCHED_MOST)} nodes: the tree is not searched` : "",
            view.c.tree_cut() ? "the outermost callers are left out" : "",
            tree.against ? `${formatChange(bytes - before_bytes)} since A` : "",
            treeFrom ? `through ${session.siteText(treeFrom)}` : "",
        );
        setText(total, said);
        changes.hidden = !tree.against;
        changes.setAttribute("aria-pressed", String(treeChange));
        table.scroll.classList.toggle("against", tree.against);
        only.hidden = !focus || !["frame", "site", "file"].includes(focus.by);
        here.hidden = focus?.by !== "frame" || focus.id === treeFrom;
        back.hidden = treeFrom === 0;
        press(treeDirection);
        table.scroll.style.setProperty("--count", `${Math.max(5, formatCount(allocations).length)}ch`);
        table.draw(rows.length, (i) => rows[i]);
    }

    return {
        id: "tree",
        draw,
        keys: { c: () => change(page, { treeDirection: after(TREES, state.treeDirection) }), Backspace: goBack },
    };
}
