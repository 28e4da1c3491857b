// Tree: who holds the memory, by who calls whom, as an icicle and as a table whose rows open.
import { setFilter } from "./filter.js";
import { makeCell, makeFigures, makeGrid, makeRowHead } from "./grid.js";
import { VirtualList } from "./list.js";
import { askTree, nodeName, planted, TREES } from "./questions.js";
import { change, heldMoment, invalidate, isDark, LIST, momentText, rangeEvents } from "./state.js";
import {
    baseName,
    cssTexture,
    formatBytes,
    formatChange,
    formatCount,
    formatExactBytes,
    formatPlural,
    formatShare,
    make,
    setText,
    tableFigures,
} from "./text.js";
import { commonFrame } from "./tree_small.js";

/** Narrower boxes of the icicle are left out, and deeper ones. */
const BOX_LEAST = 1 / 300;

const DEPTH_MOST = 30;

/** More nodes than these are not searched through. */
const SEARCHED_MOST = 200000;

/** What holds less than this share of its parent's bytes is one row, until somebody opens it. */
const SMALL_SHARE = 0.01;

/**
 * @typedef {{node: number, level: number, small: number[], frame?: number, itself?: boolean}} TreeRow a node, the small
 * children of one (those that come through a frame), or what one holds itself
 */
/**
 * @typedef {{element: HTMLElement, what: HTMLElement, fold: HTMLElement, swatch: HTMLElement, text: HTMLElement, bar:
 * HTMLElement, bytes: HTMLElement, share: HTMLElement, count: HTMLElement, change: HTMLElement}} TreeLine
 */

/** Black or white, whichever can be read on a colour. @param {number} rgb */
function textOn(rgb) {
    const linear = (/** @type {number} */ value) =>
        (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = 0.2126 * linear((rgb >> 16) & 255) + 0.7152 * linear((rgb >> 8) & 255) + 0.0722 * linear(rgb & 255);
    return light > 0.179 ? "#000" : "#fff";
}

/** @returns {TreeLine} */
function makeLine() {
    const row = make("div", "row");
    const [fold, swatch, text, bar] = [
        make("i", "fold-sign"),
        make("i", "swatch"),
        make("span", "row-text"),
        make("i", "bar"),
    ];
    const what = makeRowHead(fold, swatch, text, bar);
    const [bytes, share, count, change] = makeFigures("bytes", "share", "count", "delta");
    row.append(what, bytes, share, count, change);
    return { element: row, what, fold, swatch, text, bar, bytes, share, count, change };
}

/**
 * A colour from less (teal) by what is the same (grey) to more (orange).
 * @param {Page} page @param {number} bytes
 * @param {number} before
 */
function changeColor(page, bytes, before) {
    const share = Math.max(-1, Math.min(1, (bytes - before) / Math.max(1, bytes, before)));
    const [to, grey] = [share > 0 ? [224, 122, 41] : [11, 132, 127], isDark(page) ? [70, 78, 90] : [222, 225, 232]];
    return grey.reduce(
        (color, part, i) => color * 256 + Math.round(part + (to[i] - part) * Math.sqrt(Math.abs(share))),
        0,
    );
}

/** The word of a filter that leaves what goes through a frame. @param {Page} page @param {number} frame */
function frameWord(page, frame) {
    const { file, line, name } = page.session.frame(frame);
    return (
        `"` +
        `${[line ? `${baseName(file)}:${line}` : baseName(file), name].filter(Boolean).join(" ").replaceAll('"', "")}` +
        `"`
    );
}

const DIRECTIONS = { callees: "Callers first", callers: "Call sites first", places: "By file" };

const BOX_HEIGHT = 22;

/**
 * @typedef {{index: number, frame: number, bytes: number, before_bytes: number, text: string, from: number, width:
 * number, level: number, faded: boolean}} IcicleBox
 */

/** @param {Page} page @param {import("./state.js").Focus} focus */
function focusWord(page, { by, id }) {
    return by === "file" ? `file:"${baseName(page.session.frame(id).file).replaceAll('"', "")}"` : frameWord(page, id);
}

/**
 * What a node is highlighted as; a function of several lines is nothing that can be.
 * @param {Page} page @param {number} frame
 * @param {number} level
 * @returns {import("./state.js").Focus | null}
 */
function focusOf(page, frame, level) {
    if (page.state.treeDirection !== "places") return { by: "frame", id: frame };
    return level === 0 ? { by: "file", id: frame } : level === 2 ? { by: "site", id: frame } : null;
}

/** @param {Page} page @param {HTMLElement} box */
export function createTree(page, box) {
    const { kept, session, state, view } = page;
    const title = make("h2", "", "");
    const total = make("p", "panel-total");
    const directions = make("div", "segmented");
    directions.setAttribute("role", "group");
    directions.setAttribute("aria-label", "Direction of the tree");
    const buttons = TREES.map((direction) => {
        const button = make("button", "", DIRECTIONS[direction]);
        button.type = "button";
        button.addEventListener("click", () => change(page, { treeDirection: direction }));
        directions.append(button);
        return { button, direction };
    });
    const head = make("div", "panel-head");
    const changes = make("button", "quiet", "Since A");
    changes.type = "button";
    changes.title = "Colour by what has changed since mark A";
    changes.addEventListener("click", () => change(page, { treeChange: !state.treeChange }));
    head.append(title, directions, changes, total);
    const tools = make("div", "tree-tools");
    const words = make("input");
    words.type = "search";
    words.placeholder = "Search in the tree";
    words.setAttribute("aria-label", "Search in the tree");
    words.addEventListener("input", () => {
        asked = "";
        invalidate(page, LIST);
    });
    const depth = make("input");
    depth.type = "range";
    depth.min = "1";
    depth.setAttribute("aria-label", "Levels of the icicle");
    depth.addEventListener("input", () => change(page, { treeDepth: Number(depth.value) }));
    const levels = make("span", "tree-levels");
    const only = make("button", "quiet", "Only these");
    only.type = "button";
    only.title = "Take out what does not go through this frame";
    only.addEventListener("click", () => {
        if (state.focus) setFilter(page, { words: `${state.filter.words} ${focusWord(page, state.focus)}`.trim() });
    });
    const here = make("button", "quiet", "From here");
    here.type = "button";
    here.title = "Begin with this frame: who called it above, what it called below";
    here.addEventListener("click", () => change(page, { treeFrom: state.focus?.id ?? 0 }));
    const back = make("button", "quiet", "Everything");
    back.type = "button";
    back.title = "Back to the whole tree (Backspace)";
    const goBack = () => change(page, { treeFrom: 0 });
    back.addEventListener("click", goBack);
    tools.append(words, depth, levels, here, back, only);
    const icicle = make("div", "icicle");
    const heads = [
        ["Frame", ""],
        ["Bytes", "number"],
        ["Share", "number"],
        ["Count", "number"],
        ["\u2212 A", "number delta"],
    ].map(([name, kind]) => makeCell("columnheader", kind, name));
    const { scroll, body } = makeGrid(`tree-rows${page.suffix}`, heads, { kind: "colored", role: "treegrid" });
    scroll.setAttribute("aria-label", "Tree of callers");
    box.replaceChildren(head, tools, icicle, scroll);

    let asked = "";
    /** @type {record_node[]} */
    let nodes = [];
    /** @type {Set<number>} */
    let open = new Set();
    /** @type {Set<number>} */
    let opened = new Set();
    /** @type {TreeRow[]} */
    let rows = [];
    let figures = tableFigures(0);
    /**
     * Nodes that the words of the search are in, or below which they are; null: there are none.
     * @type {Uint8Array | null}
     */
    let met = null;
    /** Which of the planted trees is the one that is shown. */
    let own = 0;
    /** Levels that there are. */
    let deepest = 1;
    /** It is held against mark A. */
    let against = false;

    const list = new VirtualList(scroll, body, {
        make: makeLine,
        fill: (line, index) => fillLine(line, rows[index]),
        choose: (index) => choose(rows[index]),
        redraw: () => invalidate(page, LIST),
    });

    /** @param {number} index */
    const node = (index) => (nodes[index] ??= view.c.node(index));

    /**
     * The small children of a node: one row, or two where most come through a frame that says what they are.
     * @param {number} parent
     * @param {number} level
     * @param {number[]} small
     */
    const addSmall = (parent, level, small) => {
        if (small.length === 0) return;
        const { first_child, children } = node(parent);
        const all = new Set(small);
        const large = Array.from({ length: children }, (_, i) => first_child + i).filter((i) => !all.has(i));
        const common = state.treeDirection === "callers" ? commonFrame(node, small, large) : null;
        common?.small.forEach((i) => all.delete(i));
        if (common) rows.push({ node: parent, level, ...common });
        if (all.size) rows.push({ node: parent, level, small: [...all] });
    };
    /** What a row says for itself already: below it are nothing but small ones. @param {number} index */
    const onlySmall = (index) => {
        const { first_child, children, bytes } = node(index);
        return children > 3 && node(first_child).bytes < bytes * SMALL_SHARE;
    };
    /** Words of a row of small ones. @param {TreeRow} row */
    const smallText = ({ small, frame, level }) => {
        const many =
            `${formatPlural(small.length, level === 0 && state.treeDirection === "callers" ? "site" : "row")}` +
            " below 1 %";
        if (frame) return `${session.siteText(frame)} \u00b7 ${many}`;
        const below = small.every((i) => baseOf(i) === baseOf(small[0])) ? baseOf(small[0]) : "";
        return below ? `${many} in ${below}` : many;
    };
    /** Rows of a node's children, the small ones in one. @param {number} parent @param {number} level */
    const addChildren = (parent, level) => {
        const { first_child, children, bytes } = node(parent);
        /** @type {number[]} */
        const small = [];
        for (let i = first_child; i < first_child + children; i++) {
            if (met && !met[i]) continue;
            if (!met && node(i).bytes < bytes * SMALL_SHARE && children > 3 && !opened.has(parent)) small.push(i);
            else addNode(i, level);
        }
        addSmall(parent, level, small);
        const { self_bytes } = node(parent);
        if (!met && parent && self_bytes > 0 && children > 0)
            rows.push({ node: parent, level, small: [], itself: true });
    };
    /** @param {number} index @param {number} level */
    const addNode = (index, level) => {
        rows.push({ node: index, level, small: [] });
        if (met || open.has(index)) addChildren(index, level + 1);
    };
    /** Marks what the words are in, and all above. @param {number} count */
    const search = (count) => {
        const wanted = words.value.trim().toLowerCase();
        met = wanted && count <= SEARCHED_MOST ? new Uint8Array(count) : null;
        if (!met) return;
        // A frame stands in many nodes.
        /** @type {Map<number, boolean>} */
        const named = new Map();
        const isNamed = (/** @type {number} */ frame) => {
            const known = named.get(frame) ?? session.siteText(frame).toLowerCase().includes(wanted);
            named.set(frame, known);
            return known;
        };
        for (let i = count; i-- > 1;) {
            if (isNamed(node(i).frame)) met[i] = 1;
            if (met[i]) met[node(i).parent] = 1;
        }
    };
    const renew = () => {
        rows = [];
        figures = tableFigures(node(0).children ? node(node(0).first_child).bytes : 0);
        addChildren(0, 0);
    };

    /** File of a node's frame. @param {number} index */
    const baseOf = (index) => session.siteText(node(index).frame).replace(/:.*/s, "");

    /** @param {TreeLine} line @param {TreeRow} row */
    const fillLine = (line, row) => {
        const { frame, children, self_bytes, self_count } = node(row.node);
        const many = row.small.length > 0;
        const add = (
            /** @type {{bytes: number, count: number, before_bytes: number}} */ all,
            /** @type {number} */ i,
        ) => ({
            bytes: all.bytes + node(i).bytes,
            count: all.count + node(i).count,
            before_bytes: all.before_bytes + node(i).before_bytes,
        });
        const itself = row.itself ?? false;
        const sum = many
            ? row.small.reduce(add, { bytes: 0, count: 0, before_bytes: 0 })
            : itself
              ? { bytes: self_bytes, count: self_count, before_bytes: 0 }
              : node(row.node);
        const whole = node(0).bytes;
        line.what.style.paddingLeft = `${row.level * 14}px`;
        setText(line.fold, many ? "\u25b8" : children === 0 || itself ? "" : open.has(row.node) ? "\u25be" : "\u25b8");
        setText(
            line.text,
            itself ? "itself" : many ? smallText(row) : nodeName(view, state.treeDirection, frame, row.level),
        );
        line.what.title = line.text.textContent ?? "";
        line.swatch.hidden = many;
        line.swatch.style.background = view.siteColor(frame, isDark(page));
        line.bar.style.background = many ? "" : view.siteColor(frame, isDark(page));
        line.bar.style.setProperty("--part", String(whole ? sum.bytes / whole : 0));
        setText(line.bytes, figures.text(sum.bytes));
        line.bytes.title = formatExactBytes(sum.bytes);
        setText(line.share, formatShare(sum.bytes, whole));
        setText(line.count, formatCount(sum.count));
        const since = sum.bytes - sum.before_bytes;
        setText(line.change, against && !itself ? formatChange(since, figures.text) : "");
        line.change.classList.toggle("more", since > 0);
        line.change.classList.toggle("less", since < 0);
        const focus = focusOf(page, frame, row.level);
        const focused =
            !many && !itself && state.focus !== null && state.focus.by === focus?.by && state.focus.id === frame;
        line.element.classList.toggle("focused", focused);
        line.element.setAttribute("aria-selected", String(focused));
        line.element.setAttribute("aria-expanded", String(open.has(row.node)));
    };

    /** Opens or closes a row; what goes through its frame is highlighted. @param {TreeRow} row */
    const choose = (row) => {
        keepTree();
        if (row.itself) return;
        if (row.small.length) opened.add(row.node);
        else {
            if (open.has(row.node)) open.delete(row.node);
            else open.add(row.node);
            const focus = focusOf(page, node(row.node).frame, row.level);
            if (focus) change(page, { focus, selected: null });
        }
        renew();
        invalidate(page, LIST);
    };

    /** Boxes of the planted tree that are wide enough to be seen. @param {string} direction @returns {IcicleBox[]} */
    const boxesOf = (direction) => {
        const whole = node(0).bytes;
        /** @type {IcicleBox[]} */
        const boxes = [];
        /** @param {number} index @param {number} from @param {number} level */
        const add = (index, from, level) => {
            const { first_child, children, frame, bytes, before_bytes } = node(index);
            const width = bytes / whole;
            if (width < BOX_LEAST || level > DEPTH_MOST) return;
            deepest = Math.max(deepest, level);
            if (level > state.treeDepth) return;
            const text = index === 0 ? "everything" : nodeName(view, direction, frame, level - 1);
            boxes.push({
                index,
                frame,
                bytes,
                before_bytes,
                text,
                from,
                width,
                level,
                faded: met !== null && !met[index],
            });
            let at = from;
            for (let i = first_child; i < first_child + children; i++) {
                add(i, at, level + 1);
                at += node(i).bytes / whole;
            }
        };
        if (whole > 0) add(0, 0, 0);
        return boxes;
    };

    /** @param {IcicleBox} drawn @param {number} whole @param {number} row */
    const makeBox = ({ index, frame, bytes, before_bytes, text, from, width, level, faded }, whole, row) => {
        const part = make("button", "icicle-box", width > 0.08 ? text : "");
        part.type = "button";
        part.tabIndex = -1;
        part.title = `${text}: ${formatBytes(bytes)} (${formatShare(bytes, whole)})`;
        part.style.left = `${from * 100}%`;
        part.style.width = `${width * 100}%`;
        part.style.top = `${row * BOX_HEIGHT}px`;
        if (index && !faded) {
            const color =
                against && state.treeChange
                    ? changeColor(page, bytes, before_bytes)
                    : view.c.site_color(frame, isDark(page) ? 1 : 0);
            part.style.background = cssTexture(color);
            part.style.color = textOn(color);
        }
        part.classList.toggle("faded", faded);
        part.classList.toggle("icicle-root", index === 0);
        part.addEventListener("click", () => {
            const focus = index === 0 ? null : focusOf(page, frame, level - 1);
            if (index === 0 || focus) change(page, { focus, selected: null });
        });
        return part;
    };

    /**
     * The tree that is planted; from one frame on, with the callers above that `over` has.
     * @param {IcicleBox[]} over
     */
    const drawIcicle = (over) => {
        const whole = node(0).bytes;
        const below = boxesOf(state.treeDirection);
        const rows = Math.max(0, ...over.map(({ level }) => level - 1));
        // Between callers and callees the frame itself stands once; the root says nothing more.
        const first = state.treeFrom && state.treeDirection !== "places" ? 1 : 0;
        const parts = [
            ...over.filter(({ level }) => level > 1).map((drawn) => makeBox(drawn, whole, rows + 1 - drawn.level)),
            ...below
                .filter(({ level }) => level >= first)
                .map((drawn) => makeBox(drawn, whole, rows + drawn.level - first)),
        ];
        icicle.replaceChildren(...parts);
        depth.max = String(deepest);
        depth.value = String(Math.min(state.treeDepth, deepest));
        setText(levels, `${Math.min(state.treeDepth, deepest)} of ${formatPlural(deepest, "level")}`);
        icicle.style.height =
            whole > 0 ? `${(rows + 1 - first + Math.max(0, ...below.map(({ level }) => level))) * BOX_HEIGHT}px` : "0";
    };

    /**
     * Plants a tree and forgets what was read of the one before.
     * @param {import("./questions.js").About} question
     * @param {string} direction
     */
    const plant = (question, direction) => {
        nodes = [];
        own = planted.count + 1;
        return askTree(view, question, direction, against ? (state.marks[0]?.event ?? null) : null, state.treeFrom);
    };

    /** A script may have planted another. */
    const keepTree = () => {
        if (own !== planted.count) plant(about(), state.treeDirection);
    };

    /**
     * Who called the frame that the tree begins with: they stand above it.
     * @param {import("./questions.js").About} question
     */
    const callersAbove = (question) => {
        if (!state.treeFrom || state.treeDirection !== "callees") return [];
        met = null;
        plant(question, "callers");
        return boxesOf("callers");
    };

    /** The moment or the range that the tree is of. @returns {import("./questions.js").About} */
    const about = () => {
        if (!state.range) return { at: heldMoment(page) };
        const { first, end } = rangeEvents(page, state.range);
        return { from: first, to: end, what: state.rangeOf };
    };

    const draw = () => {
        const question = about();
        const before = state.marks[0]?.event ?? null;
        against = before !== null && "at" in question;
        const now = JSON.stringify([
            state.device,
            question,
            state.treeDirection,
            state.treeFrom,
            kept.version,
            isDark(page),
            before,
            state.treeDepth,
            state.treeChange,
        ]);
        if (asked !== now) {
            asked = now;
            deepest = 1;
            const over = callersAbove(question);
            search(plant(question, state.treeDirection));
            open = new Set();
            opened = new Set();
            // The way down to where the memory divides is open.
            for (let at = 0, level = 0; level < 6 && node(at).children > 0; level++) {
                at = node(at).first_child;
                if (onlySmall(at)) break;
                open.add(at);
                if (node(at).bytes < node(0).bytes * 0.3) break;
            }
            renew();
            drawIcicle(over);
            list.restart();
        }
        keepTree();
        const { bytes, count } = node(0);
        setText(
            title,
            "at" in question
                ? question.at === view.facts.peak_event
                    ? "At the peak"
                    : "At the marked moment"
                : "In the selection",
        );
        setText(
            total,
            `${formatBytes(bytes)} in ${formatPlural(count, "allocation")}` +
                `${"at" in question && view.facts.events ? ` \u00b7 ${momentText(page, Number(question.at))}` : ""}`,
        );
        if (words.value.trim() && !met)
            total.textContent += ` \u00b7 above ${formatCount(SEARCHED_MOST)} nodes, the tree is not searched`;
        if (against) total.textContent += ` \u00b7 ${formatChange(bytes - node(0).before_bytes)} since A`;
        changes.hidden = !against;
        changes.setAttribute("aria-pressed", String(state.treeChange));
        scroll.classList.toggle("against", against);
        only.hidden = !state.focus || !["frame", "site", "file"].includes(state.focus.by);
        here.hidden = state.focus?.by !== "frame" || state.focus.id === state.treeFrom;
        back.hidden = state.treeFrom === 0;
        if (state.treeFrom) total.textContent += ` \u00b7 through ${session.siteText(state.treeFrom)}`;
        for (const { button, direction } of buttons)
            button.setAttribute("aria-pressed", String(state.treeDirection === direction));
        scroll.style.setProperty("--count", `${Math.max(5, formatCount(count).length)}ch`);
        list.draw(rows.length);
    };

    scroll.addEventListener("keydown", (event) => {
        const row = rows[list.active];
        if (!row || row.small.length || !(event.key === "ArrowRight" || event.key === "ArrowLeft")) return;
        const wanted = event.key === "ArrowRight";
        if (open.has(row.node) !== wanted) choose(row);
        event.preventDefault();
        event.stopPropagation();
    });
    return {
        id: "tree",
        draw,
        keys: {
            c: () =>
                change(page, {
                    treeDirection: TREES[(TREES.findIndex((tree) => tree === state.treeDirection) + 1) % TREES.length],
                }),
            Backspace: goBack,
        },
    };
}
