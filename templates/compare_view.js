// Compare: A against B, where each is a moment, a step or the selected range. The rows add up to the difference to the
// byte.
import { cleanNote, NOTE_MOST } from "./address.js";
import { comparedEnds, endName, lastIsCut, LETTERS, removeMark } from "./ends.js";
import { groupColor } from "./legend.js";
import { showOutline } from "./outline.js";
import { curveShape } from "./paint.js";
import { provedSite } from "./proof.js";
import {
    askDifferences,
    askSteps,
    askSums,
    bytesOfKeys,
    COMPARE_QUESTIONS,
    GROUP_HEADS,
    GROUPINGS,
    listDifferences,
    SLOTS,
} from "./questions.js";
import { drawSpark } from "./sparks.js";
import { change, invalidate, isDark, isFocused, LIST, newMemo, rangeEvents } from "./state.js";
import {
    asSum,
    END_COLUMNS,
    fillEnds,
    fillName,
    firstBelow,
    makeCell,
    makeLine,
    nameEnds,
    showChosen,
    showColor,
    showFold,
    Table,
    unfolded,
} from "./table.js";
import { goToEvent } from "./window.js";
import {
    after,
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
} from "./text.js";

const STEPS_SHOWN = 40;

/** Columns of a step's curve. */
const CURVE_WIDTH = 60;

/** @typedef {ReturnType<typeof makeCompare>} Compare */
/** @typedef {ReturnType<typeof makeRow>} CompareLine */
/** @typedef {{name: string, key: number, a: number, b: number, delta: number, never: number | null, focus: Focus |
 * null, nested: boolean}} CompareRow never: of B, what is never freed, where that is asked */

function makeRow() {
    const line = makeLine("row compare-row", ["a", "b", "delta"]);
    const curve = makeCell("gridcell", "compare-curve");
    const spark = make("i", "compare-spark");
    curve.append(spark);
    line.element.append(curve);
    return { ...line, spark };
}

function makeEnd(/** @type {string} */ letter, /** @type {(value: string) => void} */ choose) {
    const select = make("select", "", { "aria-label": `${letter}: what is compared` });
    select.addEventListener("change", () => choose(select.value));
    const name = make("b", `letter letter-${letter.toLowerCase()}`, letter);
    return { field: make("label", "compare-end", name, select), select };
}

function swapEnds(/** @type {Page} */ page) {
    const ends = comparedEnds(page);
    change(page, { compareA: ends.b, compareB: ends.a });
}

/** @param {Compare} compare @param {About} about @param {string} by
 * @param {import("./questions.js").Within} [within] */
function keptSums(compare, about, by, within) {
    if (!("from" in about) || compare.state.compareWhat !== "kept" || about.to >= compare.view.facts.events)
        return null;
    return bytesOfKeys(askSums(compare.view, SLOTS.below, { ...about, what: "lasting" }, by, within));
}

/** Draws the marks, which can be named and removed. @param {Compare} compare */
function drawMarkRow(compare) {
    if (
        compare.marks.contains(document.activeElement) &&
        compare.marks.childElementCount === compare.state.marks.length
    )
        return;
    compare.marks.hidden = compare.state.marks.length === 0;
    compare.marks.replaceChildren(
        ...compare.state.marks.map(({ event, note }, i) => {
            const [letter, place] = [LETTERS[i], `event ${formatCount(event)}`];
            const goThere = () => goToEvent(compare.page, event);
            const go = makeButton(`letter letter-${letter.toLowerCase()}`, letter, goThere, `Go to ${place}`);
            const named = { "aria-label": `Note of mark ${letter}`, placeholder: place };
            const words = make("input", "", { value: note, maxLength: NOTE_MOST, ...named });
            words.addEventListener("change", () => {
                const noted = { event, note: cleanNote(words.value) };
                change(compare.page, { marks: compare.state.marks.map((mark, nth) => (nth === i ? noted : mark)) });
            });
            const take = () => {
                remove.blur();
                removeMark(compare.page, i);
            };
            /** @type {HTMLButtonElement} */
            const remove = makeButton("quiet", "\u2715", take, { "aria-label": `Remove mark ${letter}` });
            return make("span", "mark-chip", go, words, remove);
        }),
    );
}

/** @param {Compare} compare @param {{name: string, key: number, a: number, b: number, delta: number}} row
 * @param {string} by @param {Map<number, number> | null} forGood @returns {CompareRow} */
function rowOf(compare, { name, key, a, b, delta }, by, forGood) {
    const text = by === "category" ? name.replace(/_/g, " ") : name;
    const never = forGood ? (forGood.get(key) ?? 0) : null;
    const focus = { by: /** @type {Focus["by"]} */ (by), id: key };
    return { name: text, key, a, b, delta, never, focus, nested: by !== compare.state.compareBy };
}

/** @param {Compare} compare */
const unfolds = (compare) => compare.state.compareBy !== "site" && compare.state.compareBy !== "stack";

/** @param {Compare} compare @param {CompareRow} row */
const isOpen = (compare, { nested, key }) => (!nested && unfolds(compare) ? compare.open.has(key) : null);

/** The question about an end, with what is asked of it. @param {Compare} compare @param {About} about */
const withWhat = (compare, about) => ("from" in about ? { ...about, what: compare.state.compareWhat } : about);

/** Call sites of one group; those beyond the limit are one row. @param {Compare} compare @param {number} key
 * @returns {CompareRow[]} */
function sitesOf(compare, key) {
    const { aboutA, aboutB } = comparedEnds(compare.page);
    const within = { by: compare.state.compareBy, key };
    const forGood = keptSums(compare, aboutB, "site", within);
    const [a, b] = [withWhat(compare, aboutA), withWhat(compare, aboutB)];
    const { rows } = listDifferences(compare.view, a, b, "site", within);
    const sites = rows.map((row) => rowOf(compare, row, "site", forGood));
    return firstBelow(sites, (others, name) => {
        const total = (/** @type {"a" | "b" | "delta"} */ part) => others.reduce((all, row) => all + row[part], 0);
        const figures = { a: total("a"), b: total("b"), delta: total("delta") };
        return { name, key: -1, ...figures, never: null, focus: null, nested: true };
    });
}

/** The rows in sight. After a card's button was pressed, the row of the card's call site comes first.
 * @param {Compare} compare */
function rowsOf(compare) {
    const { content, page, state } = compare;
    const rowAt = (/** @type {number} */ i) => rowOf(compare, content.row(i), state.compareBy, compare.lasting);
    const site = state.compareBy === "site" ? provedSite(page) : 0;
    if (!site && compare.open.size === 0) return { count: content.changed, rowAt };
    const below = (/** @type {CompareRow} */ { key }) => sitesOf(compare, key);
    const rows = unfolded(content.changed, rowAt, (row) => isOpen(compare, row) === true, below);
    const first = rows.findIndex(({ key }) => site && key === site);
    if (first > 0) rows.unshift(...rows.splice(first, 1));
    return { count: rows.length, rowAt: (/** @type {number} */ i) => rows[i] };
}

/** Shows or hides the call sites below a row. @param {Compare} compare @param {CompareRow} row */
function turn(compare, { key }) {
    if (!compare.open.delete(key)) compare.open.add(key);
    compare.rows = rowsOf(compare);
    invalidate(compare.page, LIST);
}

function swatchColor(/** @type {Compare} */ compare, /** @type {CompareRow} */ { focus, nested }) {
    if (!focus || (nested && focus.by !== "site")) return "";
    if (focus.by === "site") return compare.view.siteColor(focus.id, isDark(compare.page));
    return focus.by === "stack"
        ? compare.view.siteColor(compare.view.c.stack_site(focus.id), isDark(compare.page))
        : groupColor(compare.page, focus.by, focus.id);
}

function fillLine(/** @type {Compare} */ compare, /** @type {CompareLine} */ line, /** @type {CompareRow} */ row) {
    const { name, b, never, nested } = row;
    const color = swatchColor(compare, row);
    fillName(line, name, name, b, never);
    showFold(line, nested, isOpen(compare, row));
    showColor(line, color);
    fillEnds(line, row, compare.figures.number);
    line.spark.hidden = nested || !row.focus;
    if (!nested && row.focus) drawSpark(compare.page, line.spark, row.focus);
    showChosen(line.element, isFocused(compare.page, row.focus));
}

/** Places A and B in the run: their part of each curve gets their colour.
 * @param {Compare} compare @param {string} name @param {About} about */
function placeEnd(compare, name, about) {
    const whole = compare.view.facts.events + 1;
    const { from, to } =
        "from" in about ? about : { from: Number(about.at) - 0.02 * whole, to: Number(about.at) + 0.02 * whole };
    compare.table.scroll.style.setProperty(`--${name}-from`, `${((from + 1) / whole) * 100}%`);
    compare.table.scroll.style.setProperty(`--${name}-to`, `${((to + 1) / whole) * 100}%`);
}

/** @param {Compare} compare @param {HTMLSelectElement} select @param {string} value */
function fillSelect(compare, select, value) {
    const marks = compare.state.marks.map(({ event }) => `e${event}`);
    const steps = askSteps(compare.view).map((_, i) => `s${i}`);
    const values = ["start", "peak", "end", ...marks, ...steps.slice(0, 200)];
    if (compare.state.moment !== null && !values.includes(`e${compare.state.moment}`))
        values.push(`e${compare.state.moment}`);
    if (compare.state.range) {
        const { first, end } = rangeEvents(compare.page, compare.state.range);
        values.push(`r${Math.max(0, first)}_${end}`);
    }
    if (!values.includes(value)) values.push(value);
    select.replaceChildren(...values.map((one) => new Option(endName(compare.page, one), one)));
    select.value = value;
}

/** Draws each step small, to one scale: its curve over a floor of the memory carried over. If there are many steps,
 * those around B. @param {Compare} compare @param {string} valueA @param {string} valueB */
function drawStrip(compare, valueA, valueB) {
    const steps = askSteps(compare.view);
    compare.strip.hidden = steps.length < 2;
    const most = Math.max(1, ...steps.map(({ peak_bytes }) => peak_bytes));
    const { unit, number } = tableFigures(most, true);
    const first = Number(/^s(\d+)$/.exec(valueB)?.[1] ?? 0) - STEPS_SHOWN / 2;
    const begin = Math.max(0, Math.min(first, steps.length - STEPS_SHOWN));
    const shown = steps.slice(begin, begin + STEPS_SHOWN);
    const part = shown.length < steps.length ? `${STEPS_SHOWN} of ${formatCount(steps.length)}` : "";
    const carried = make("span", "", "carried over");
    const words = make("span", "strip-words", `peak, ${unit}`, carried, make("span", "", part));
    compare.strip.replaceChildren(
        words,
        ...shown.map((step, nth) => {
            const end = `s${begin + nth}`;
            const curve = make("i", "strip-curve");
            curve.style.clipPath = curveShape(compare.view.curve(0, step.from, step.to, CURVE_WIDTH, false), most);
            curve.style.setProperty("--floor", `${(step.end_bytes / most) * 100}%`);
            const grown = step.end_bytes - step.begin_bytes;
            const isCut = lastIsCut(steps) && step === steps[steps.length - 1];
            const head = make("span", "strip-head", make("b", "", step.name), number(step.peak_bytes));
            const sign = isCut ? "" : grown > 0 ? "more" : grown < 0 ? "less" : "";
            const since = make("span", sign, isCut ? "cut off" : formatChange(grown, number));
            const title =
                `Step ${step.name}${isCut ? ", cut off" : ""}: peak ${formatBytes(step.peak_bytes)}, carried over ` +
                `${formatBytes(step.end_bytes)} (${formatChange(grown)}). A click makes it B, with Shift A`;
            const said = { title, "aria-label": title, "aria-pressed": valueA === end || valueB === end };
            const left = make("span", "", number(step.end_bytes));
            const button = make("button", "step-button", head, curve, left, since, said);
            button.classList.toggle("strip-a", valueA === end);
            button.classList.toggle("strip-b", valueB === end);
            button.classList.toggle("strip-cut", isCut);
            button.addEventListener("click", (event) =>
                change(compare.page, event.shiftKey ? { compareA: end } : { compareB: end }),
            );
            return button;
        }),
    );
}

/** Compares again. @param {Compare} compare @param {ReturnType<typeof comparedEnds>} ends */
function renew(compare, { a, b, aboutA, aboutB }) {
    const { compareBy } = compare.state;
    compare.content = askDifferences(compare.view, withWhat(compare, aboutA), withWhat(compare, aboutB), compareBy);
    compare.lasting = keptSums(compare, aboutB, compareBy);
    compare.open.clear();
    compare.rows = rowsOf(compare);
    placeEnd(compare, "a", aboutA);
    placeEnd(compare, "b", aboutB);
    compare.figures = tableFigures(Math.max(compare.content.a.bytes, compare.content.b.bytes), true);
    drawMarkRow(compare);
    fillSelect(compare, compare.a.select, a);
    fillSelect(compare, compare.b.select, b);
    drawStrip(compare, a, b);
    compare.table.list.restart();
}

function draw(/** @type {Compare} */ compare) {
    const ends = comparedEnds(compare.page);
    const { a: valueA, b: valueB, aboutA: of_a, aboutB: of_b } = ends;
    const ranges = [of_a, of_b].some((about) => "from" in about);
    const { device, compareBy, compareWhat, moment, range, marks } = compare.state;
    const asked = [device, valueA, valueB, compareBy, compareWhat, compare.kept.version, moment, range, marks];
    compare.compared([...asked, provedSite(compare.page)], () => renew(compare, ends));
    compare.by.value = compare.state.compareBy;
    compare.table.scroll.setAttribute("role", unfolds(compare) ? "treegrid" : "grid");
    compare.questions.hidden = !ranges;
    compare.press(compare.state.compareWhat);
    nameEnds(compare.table, GROUP_HEADS[compareBy], compare.figures.unit);
    const delta = compare.content.b.bytes - compare.content.a.bytes;
    setText(compare.sum.text, "Sum");
    fillEnds(compare.sum, { a: compare.content.a.bytes, b: compare.content.b.bytes }, compare.figures.number);
    compare.overlay.hidden = !("from" in of_a && "from" in of_b);
    const last = compare.state.compareWhat === "kept" && "from" in of_b && of_b.to >= compare.view.facts.events;
    const lastText = last ? "The recording ends with B, so some of this may be freed later." : "";
    const { changed, count } = compare.content;
    const left = formatPlural(count - changed, "row");
    const same = `${left} without a difference ${count - changed === 1 ? "is" : "are"} left out. `;
    const sum = `The rows add up to ${formatChange(delta, compare.figures.text)}. ${count > changed ? same : ""}`;
    setText(
        compare.foot,
        `A is ${endName(compare.page, valueA)}, B is ${endName(compare.page, valueB)}. ` +
            `${changed ? sum : "There is no difference between them. "}${lastText}`,
    );
    compare.foot.title = formatExactBytes(delta);
    compare.table.draw(compare.rows.count, compare.rows.rowAt);
}

/** The view's elements, and their contents. @param {Page} page @param {HTMLElement} box
 * @param {Omit<import("./table.js").Filling<CompareLine, CompareRow>, "make">} use */
function makeCompare(page, box, use) {
    const a = makeEnd("A", (value) => change(page, { compareA: value }));
    const b = makeEnd("B", (value) => change(page, { compareB: value }));
    const swapped = { title: "Swap A and B (x)", "aria-label": "Swap A and B" };
    const swap = makeButton("quiet", "\u21c4", () => swapEnds(page), swapped);
    const ways = GROUPINGS.map((name) => new Option(`by ${GROUP_HEADS[name].toLowerCase()}`, name));
    const by = make("select", "", { "aria-label": "Grouped by" }, ...ways);
    by.addEventListener("change", () => change(page, { compareBy: by.value }));
    const laid = "Show A in the timeline, with B as an outline over it (l)";
    const overlay = makeButton("quiet", "Overlay", () => showOutline(page), laid);
    const head = make("div", "panel-head compare-head", a.field, b.field, swap, overlay, by);
    const marks = make("div", "marks");
    const questions = makeBox("group", "segmented questions", "Of a range");
    const press = makeChoices(questions, Object.entries(COMPARE_QUESTIONS), (what) =>
        change(page, { compareWhat: what }),
    );
    const strip = makeBox("group", "step-strip", "Steps; a click compares one as B, with Shift as A");
    /** @type {Table<CompareLine, CompareRow>} */
    const table = new Table(
        page,
        "compare-rows",
        [...END_COLUMNS, ["Run", "compare-curve"]],
        { make: makeRow, ...use },
        { "aria-label": "Differences" },
        { kind: "colored compare-list", row: "row compare-row" },
    );
    const sum = asSum(makeRow());
    sum.swatch.hidden = sum.fold.hidden = sum.spark.hidden = true;
    const foot = make("p", "why-foot");
    box.replaceChildren(head, marks, questions, strip, table.scroll, sum.element, foot);
    const { kept, state, view } = page;
    const parts = { a, b, by, overlay, marks, questions, press, strip, table, sum, foot };
    return {
        ...{ page, kept, state, view },
        ...parts,
        compared: newMemo(),
        content: /** @type {ReturnType<typeof askDifferences>} */ ({ changed: 0 }),
        figures: tableFigures(0),
        /** By key: the bytes that B keeps and the recording never frees. Null: this is not asked for.
         * @type {Map<number, number> | null} */
        lasting: null,
        /** Keys of the groups whose call sites are shown. @type {Set<number>} */
        open: new Set(),
        rows: { count: 0, rowAt: (/** @type {number} */ _) => /** @type {CompareRow | null} */ (null) },
    };
}

export function createCompare(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    /** @type {Compare} */
    const compare = makeCompare(page, box, {
        fill: (line, row) => fillLine(compare, line, row),
        isOpen: (row) => isOpen(compare, row),
        turn: (row) => turn(compare, row),
        choose(row) {
            if (!row.focus) return;
            // A row that is chosen once more folds.
            if (isOpen(compare, row) === false || (isOpen(compare, row) && isFocused(page, row.focus)))
                turn(compare, row);
            change(page, { focus: row.focus, selected: null });
        },
    });
    return {
        id: "compare",
        draw: () => draw(compare),
        keys: {
            x: () => swapEnds(page),
            l: () => showOutline(page),
            q: () => change(page, { compareWhat: after(Object.keys(COMPARE_QUESTIONS), page.state.compareWhat) }),
        },
    };
}
