// The differences, beside the timelines: causes as cards, and call sites, files, categories or calls as rows that add
// up.
import { invalidate, isDark, LIST } from "../state.js";
import {
    asSum,
    END_COLUMNS,
    fillEnds,
    makeLine,
    nameEnds,
    setName,
    showChosen,
    showColor,
    showFold,
    Table,
} from "../table.js";
import {
    baseName,
    dotted,
    formatBytes,
    formatChange,
    formatCount,
    formatExactBytes,
    formatPlural,
    make,
    makeBox,
    makeButton,
    makeChoices,
    setText,
    tableFigures,
} from "../text.js";
import { inTurns } from "../turns.js";
import { rowsAt, rowsOfFigures } from "./rows.js";
import { makePairs } from "./tree.js";

/** @typedef {import("./tree.js").Pair} Call */
/** @typedef {{open: Set<Call>, pairs: ReturnType<typeof makePairs>, rows: () => Call[]}} Calls */
/** @typedef {import("./rows.js").Row & {level?: number}} Row */
/** @typedef {import("../pair.js").Pair} Pair */

const CAUSES_SHOWN = 60;

/** The kinds of rows, and what one row is called. */
export const ROWS = /** @type {Record<string, string>} */ ({
    causes: "Causes",
    site: "Call sites",
    file: "Files",
    category: "Categories",
    module: "Modules",
    calls: "Tree",
});

const HOW = /** @type {Record<string, string>} */ ({
    step: "each at the peak of its step",
    annotation: "at the peak of the same annotation",
    event: "at the given moments",
});

/** The moments that the rows are of. */
const MOMENTS = { compared: "Compared moments", held: "At the cursors" };

const makeRow = () => makeLine("row pair-row", ["a", "b", "delta"]);

/** The difference in total, in a sentence. @param {import("./rows.js").Figures} figures */
function makeVerdict(figures) {
    const { a_bytes, b_bytes, delta_bytes: delta, filter } = figures;
    const sign = delta > 0 ? "more" : delta < 0 ? "less" : "";
    const figure = make("b", sign, formatChange(delta), { title: formatExactBytes(delta) });
    const ends = `${formatBytes(a_bytes)} \u2192 ${formatBytes(b_bytes)}`;
    const part = filter ? ` of what passes \u201c${filter}\u201d` : "";
    const how = ` ${HOW[figures.aligned_by] ?? "at the peaks"}`;
    return make("p", "verdict", figure, `${how}: ${ends}${part}. ${formatPlural(figures.causes.length, "cause")}.`);
}

/** Makes a cause's card, with the button that highlights its call site.
 * @param {Pair} pair @param {Pair["figures"]["causes"][0]} cause */
function makeCause(pair, { sentence, site, bytes, kind, sites }) {
    const colour = bytes > 0 ? "more" : bytes < 0 ? "less" : "";
    const text = bytes === 0 ? "moved" : formatChange(bytes);
    const figure = make("b", colour, text, { title: formatExactBytes(bytes) });
    const facts = dotted(bytes === 0 ? "" : kind, sites > 1 ? formatPlural(sites, "call site") : "");
    const head = make("p", "cause-head", figure, make("span", "pane-dim", facts));
    const show = makeButton("quiet", "Show in both", () => pair.toggleSite(site), `Highlight ${site}`);
    const parts = [head, make("p", "card-title", sentence), make("p", "card-actions", show)];
    return { card: make("article", `card cause${colour && ` cause-${colour}`}`, ...parts), site, show };
}

/** The most causes on the sheet of paper that comes before those of both recordings. */
const CAUSES_PRINTED = 12;

export function makeDifferencePaper(/** @type {Pair} */ pair) {
    const { figures } = pair;
    const cards = figures.causes.slice(0, CAUSES_PRINTED).map((cause) => makeCause(pair, cause).card);
    const title = `${baseName(figures.a.file)} \u2192 ${baseName(figures.b.file)}`;
    return make("section", "paper", make("h1", "", title), makeVerdict(figures), ...cards);
}

function makeCauses(/** @type {Pair} */ pair) {
    const all = pair.figures.causes;
    const made = all.slice(0, CAUSES_SHOWN).map((cause) => makeCause(pair, cause));
    const box = make("div", "scroll why", { tabIndex: 0 }, ...made.map(({ card }) => card));
    const rest = all.length - CAUSES_SHOWN;
    if (all.length === 0) box.append(make("p", "hint", "No call site differs at the compared moments."));
    if (rest > 0) box.append(make("p", "hint", `and ${formatCount(rest)} smaller ones; strata diff --json has all.`));
    const draw = () => {
        for (const { site, show } of made) show.setAttribute("aria-pressed", String(pair.litSite() === site));
    };
    return { box, draw };
}

/** Makes the calls, of which others can be shown below; the way down to where the difference divides is open.
 * @param {Pair} pair @returns {Generator<undefined, Calls>} */
function* makeCalls(pair) {
    const pairs = makePairs(...pair.ends(), pair.renames);
    /** @type {Set<Call>} */
    const open = new Set();
    const weight = (/** @type {Call} */ one) => Math.abs(one.b - one.a) || Math.max(one.a, one.b) / 1e6;
    for (let at = pairs.root, level = 0; level < 8; level++) {
        const below = yield* pairs.open(at);
        if (below.length === 0) break;
        const largest = below.reduce((most, one) => (weight(one) > weight(most) ? one : most));
        if (level > 2 && weight(largest) * 2 < weight(at)) break;
        open.add(largest);
        at = largest;
    }
    /** @param {Call} one @returns {Call[]} */
    const below = (one) =>
        (one.children ?? []).flatMap((child) => (open.has(child) ? [child, ...below(child)] : [child]));
    return { open, pairs, rows: () => below(pairs.root) };
}

/** Sums the rows without a parent. @param {Row[]} rows */
function sumOf(rows) {
    const top = rows.filter(({ level = 0 }) => level === 0);
    return top.reduce((all, { a, b }) => ({ a: all.a + a, b: all.b + b }), { a: 0, b: 0 });
}

function makeChoice(/** @type {[key: string, text: string][]} */ choices, /** @type {(key: string) => void} */ act) {
    const box = makeBox("group", "segmented");
    return { box, press: makeChoices(box, choices, act) };
}

/** Makes the rows of one kind, which are added up once they are asked for.
 * @param {Pair} pair @param {Page} page @param {HTMLElement} box of the view; nothing is added up while it is hidden */
function createRows(pair, page, box) {
    const sum = asSum(makeRow());
    sum.swatch.hidden = sum.fold.hidden = true;
    setText(sum.text, "Sum");
    const foot = make("p", "why-foot");

    let asked = "";
    /** @type {Row[]} */
    let rows = [];
    /** For the tree, whose rows are calls. @type {Calls | null} */
    let calls = null;
    let figures = tableFigures(0, true);
    const turn = (/** @type {Row} */ row) => {
        const [at, of] = [/** @type {Call} */ (row), calls];
        if (!of) return;
        const show = () => {
            rows = of.rows();
            invalidate(page, LIST);
        };
        if (of.open.delete(at)) return show();
        const opened = () => {
            of.open.add(at);
            show();
        };
        void inTurns(of.pairs.open(at), opened, () => calls !== of);
    };
    /** Is the row open? null: it calls nothing. @param {Row} row */
    const isOpen = (row) => {
        const at = /** @type {Call} */ (row);
        return calls?.pairs.folds(at) ? calls.open.has(at) : null;
    };
    /** @type {Table<ReturnType<typeof makeRow>, Row>} */
    const table = new Table(
        page,
        "pair-rows",
        END_COLUMNS,
        {
            make: makeRow,
            fill(line, row) {
                const moved = row.before && row.before !== row.name ? ` (A: ${row.before})` : "";
                setName(line.text, row.name);
                const counts = `: ${formatPlural(row.aCount, "allocation")} in A, ${formatCount(row.bCount)} in B`;
                line.what.title = `${row.name}${moved}${calls ? "" : counts}`;
                line.what.style.paddingLeft = row.level ? `${row.level * 14}px` : "";
                showFold(line, false, isOpen(row));
                const named = ["site", "calls"].includes(pair.shown.rows);
                showColor(line, named ? pair.siteColor(row.name, isDark(page)) : "");
                fillEnds(line, row, figures.number, "\u2013");
                line.element.classList.toggle("pair-gone", row.b === 0 && row.a > 0);
                showChosen(line.element, pair.litSite() === row.name);
            },
            choose(row) {
                if (calls) turn(row);
                else if (pair.shown.rows === "site") pair.toggleSite(row.name);
            },
            isOpen,
            turn,
        },
        { "aria-label": "Differences" },
        { kind: "two-lines", row: "row pair-row", role: "treegrid" },
    );

    /** @returns {Generator<undefined, Row[]>} */
    function* find() {
        const { rows: kind } = pair.shown;
        // The colours of swatches are found by names.
        if (kind === "site" || kind === "calls") for (const { view } of pair.pages) yield* view.namedSites();
        if (kind === "calls") return (calls = yield* makeCalls(pair)).rows();
        const found = { site: pair.figures.sites, category: pair.figures.categories }[kind];
        return found && pair.asFound() ? rowsOfFigures(found) : yield* rowsAt(...pair.ends(), kind, pair.renames);
    }
    const show = (/** @type {Row[]} */ found) => {
        rows = found;
        const total = sumOf(rows);
        figures = tableFigures(Math.max(total.a, total.b), true);
        nameEnds(table, ROWS[pair.shown.rows], figures.unit);
        fillEnds(sum, total, figures.number);
        setText(foot, `${formatPlural(rows.length, "row")}, adding up to ${formatExactBytes(total.b - total.a)}.`);
        table.list.restart();
    };
    const ask = (/** @type {string} */ now) => {
        let drawing = true;
        [asked, calls, rows] = [now, null, []];
        setText(foot, "adding them up \u2026");
        const done = (/** @type {Row[]} */ found) => {
            show(found);
            if (!drawing) invalidate(page, LIST);
        };
        // Other tabs ask the module for other sums meanwhile.
        void inTurns(find(), done, () => {
            if (box.offsetParent === null) asked = "";
            return asked !== now;
        });
        drawing = false;
    };
    /** @param {string} now what the rows are about */
    const draw = (now) => {
        if (now !== asked || calls?.pairs.isStale()) ask(now);
        table.draw(rows.length, (i) => rows[i]);
    };
    return { parts: [table.scroll, sum.element, foot], draw };
}

/** Makes the view of the side. @param {Pair} pair @returns {import("../side.js").Registered[1]} */
export const createDifference = (pair) => (page, box) => {
    const causes = makeCauses(pair);
    const by = makeChoice(Object.entries(ROWS), (rows) => pair.change({ rows }));
    const when = makeChoice(Object.entries(MOMENTS), (at) => pair.change({ at }));
    const says = make("span", "pane-dim");
    const head = make("div", "panel-head", makeVerdict(pair.figures), by.box, when.box, says);
    const rows = createRows(pair, page, box);
    box.replaceChildren(head, causes.box, ...rows.parts);
    return {
        id: "difference",
        draw() {
            // The other page does not show its side.
            if (box.offsetParent === null) return;
            const { rows: kind, at } = pair.shown;
            by.press(kind);
            when.press(at);
            const isCauses = kind === "causes";
            causes.box.hidden = !isCauses;
            for (const part of [...rows.parts, when.box, says]) part.hidden = isCauses;
            if (isCauses) return causes.draw();
            const moments = pair.ends().map(({ about }) => ("at" in about ? about.at : 0));
            const words = moments.map((event) => (Number(event) < 0 ? "start" : formatCount(Number(event))));
            setText(says, `A at ${words[0]}, B at ${words[1]}`);
            rows.draw(
                JSON.stringify([kind, moments, pair.pages.map(({ kept, state }) => [kept.version, state.device])]),
            );
        },
        keys: {
            q: () => pair.change({ at: pair.shown.at === "held" ? "compared" : "held" }),
            l: () => pair.change({ linked: !pair.shown.linked }),
        },
    };
};
