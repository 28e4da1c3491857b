// Compare: A against B, where each is a moment, a step or the selected range. The rows add up to the difference to the
// byte.
import { cleanNote, NOTE_MOST } from "./address.js";
import { comparedEnds, comparedRanges, endName, lastIsCut, LETTERS, removeMark } from "./ends.js";
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
import { axisOfEvent, change, invalidate, isDark, isFocused, LIST, newMemo, rangeEvents } from "./state.js";
import {
    asSum,
    END_COLUMNS,
    fillEnds,
    fillName,
    firstBelow,
    makeLine,
    nameEnds,
    showChosen,
    showColor,
    showFold,
    Table,
    unfolded,
} from "./table.js";
import { goToEvent, setWindow } from "./window.js";
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

/** @typedef {ReturnType<typeof makeRow>} CompareLine */
/** @typedef {{name: string, key: number, a: number, b: number, delta: number, never: number | null, focus: Focus |
 * null, nested: boolean}} CompareRow never: of B, what is never freed, where that is asked */

function makeRow() {
    const line = makeLine("row compare-row", ["a", "b", "delta"]);
    const spark = make("i", "compare-spark");
    line.element.append(make("span", "compare-curve", spark, { role: "gridcell" }));
    return { ...line, spark };
}

function makeEnd(/** @type {string} */ letter, /** @type {(value: string) => void} */ choose) {
    const select = make("select", "", { "aria-label": `${letter}: what is compared` });
    select.addEventListener("change", () => choose(select.value));
    const name = make("b", `letter letter-${letter.toLowerCase()}`, letter);
    return { field: make("label", "compare-end", name, select), select };
}

/** Compares with another end. The window then has both ranges, where two are compared. @param {Page} page
 * @param {Partial<PageState>} ends */
function chooseEnd(page, ends) {
    change(page, ends);
    const ranges = comparedRanges(page);
    if (!ranges) return;
    const places = [ranges.a, ranges.b].flatMap(({ from, to }) => [axisOfEvent(page, from), axisOfEvent(page, to)]);
    const [first, last] = [Math.min(...places), Math.max(...places)];
    if (first < page.state.from || last > page.state.to) setWindow(page, first, last);
}

function swapEnds(/** @type {Page} */ page) {
    const ends = comparedEnds(page);
    change(page, { compareA: ends.b, compareB: ends.a });
}

/** Makes the marks, which can be named and removed. @param {Page} page */
const makeMarks = (page) =>
    page.state.marks.map(({ event, note }, i) => {
        const [letter, place] = [LETTERS[i], `event ${formatCount(event)}`];
        const goThere = () => goToEvent(page, event);
        const go = makeButton(`letter letter-${letter.toLowerCase()}`, letter, goThere, `Go to ${place}`);
        const named = { "aria-label": `Note of mark ${letter}`, placeholder: place };
        const words = make("input", "", { value: note, maxLength: NOTE_MOST, ...named });
        words.addEventListener("change", () => {
            const noted = { event, note: cleanNote(words.value) };
            change(page, { marks: page.state.marks.map((mark, nth) => (nth === i ? noted : mark)) });
        });
        const take = () => {
            remove.blur();
            removeMark(page, i);
        };
        /** @type {HTMLButtonElement} */
        const remove = makeButton("quiet", "\u2715", take, { "aria-label": `Remove mark ${letter}` });
        return make("span", "mark-chip", go, words, remove);
    });

/** @param {Page} page @param {HTMLSelectElement} select @param {string} value */
function fillSelect(page, select, value) {
    const { state, view } = page;
    const marks = state.marks.map(({ event }) => `e${event}`);
    const steps = askSteps(view).map((_, i) => `s${i}`);
    const values = ["start", "peak", "end", ...marks, ...steps.slice(0, 200)];
    if (state.moment !== null) values.push(`e${state.moment}`);
    if (state.range) {
        const { first, end } = rangeEvents(page, state.range);
        values.push(`r${Math.max(0, first)}_${end}`);
    }
    const all = new Set([...values, value]);
    select.replaceChildren(...Array.from(all, (one) => new Option(endName(page, one), one)));
    select.value = value;
}

/** Makes each step small, to one scale: its curve over a floor of the memory carried over. If there are many steps,
 * those around B. @param {Page} page @param {string} valueA @param {string} valueB */
function makeStrip(page, valueA, valueB) {
    const steps = askSteps(page.view);
    const most = Math.max(1, ...steps.map(({ peak_bytes }) => peak_bytes));
    const { unit, number } = tableFigures(most, true);
    const first = Number(/^s(\d+)$/.exec(valueB)?.[1] ?? 0) - STEPS_SHOWN / 2;
    const begin = Math.max(0, Math.min(first, steps.length - STEPS_SHOWN));
    const shown = steps.slice(begin, begin + STEPS_SHOWN);
    const part = shown.length < steps.length ? `${STEPS_SHOWN} of ${formatCount(steps.length)}` : "";
    const carried = make("span", "", "carried over");
    const words = make("span", "strip-words", `peak, ${unit}`, carried, make("span", "", part));
    const buttons = shown.map((step, nth) => {
        const end = `s${begin + nth}`;
        const curve = make("i", "strip-curve");
        curve.style.clipPath = curveShape(page.view.curve(0, step.from, step.to, CURVE_WIDTH, false), most);
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
            chooseEnd(page, event.shiftKey ? { compareA: end } : { compareB: end }),
        );
        return button;
    });
    return [words, ...buttons];
}

/** Makes the row of a group. @param {Page} page @param {import("./questions.js").Difference} difference
 * @param {string} by @param {Map<number, number> | null} forGood @returns {CompareRow} */
function rowOf(page, { name, key, a, b, delta }, by, forGood) {
    const text = by === "category" ? name.replace(/_/g, " ") : name;
    const never = forGood ? (forGood.get(key) ?? 0) : null;
    const focus = { by: /** @type {Focus["by"]} */ (by), id: key };
    return { name: text, key, a, b, delta, never, focus, nested: by !== page.state.compareBy };
}

/** @param {Page} page @param {CompareRow} row */
function swatchColor(page, { focus, nested }) {
    const { view } = page;
    if (!focus || (nested && focus.by !== "site")) return "";
    if (focus.by === "site") return view.siteColor(focus.id, isDark(page));
    if (focus.by === "stack") return view.siteColor(view.c.stack_site(focus.id), isDark(page));
    return groupColor(page, focus.by, focus.id);
}

export function createCompare(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    const { kept, state, view } = page;
    const endA = makeEnd("A", (compareA) => chooseEnd(page, { compareA }));
    const endB = makeEnd("B", (compareB) => chooseEnd(page, { compareB }));
    const swapped = { title: "Swap A and B (x)", "aria-label": "Swap A and B" };
    const swap = makeButton("quiet", "\u21c4", () => swapEnds(page), swapped);
    const ways = GROUPINGS.map((name) => new Option(`by ${GROUP_HEADS[name].toLowerCase()}`, name));
    const by = make("select", "", { "aria-label": "Grouped by" }, ...ways);
    by.addEventListener("change", () => change(page, { compareBy: by.value }));
    const laid = "Show A in the timeline, with B as an outline over it (l)";
    const overlay = makeButton("quiet", "Overlay", () => showOutline(page), laid);
    const head = make("div", "panel-head compare-head", endA.field, endB.field, swap, overlay, by);
    const marks = make("div", "marks");
    const questions = makeBox("group", "segmented questions", "Of a range");
    const press = makeChoices(questions, Object.entries(COMPARE_QUESTIONS), (compareWhat) =>
        change(page, { compareWhat }),
    );
    const strip = makeBox("group", "step-strip", "Steps; a click compares one as B, with Shift as A");
    const sum = asSum(makeRow());
    sum.swatch.hidden = sum.fold.hidden = sum.spark.hidden = true;
    setText(sum.text, "Sum");
    const foot = make("p", "why-foot");
    const compared = newMemo();
    let content = /** @type {ReturnType<typeof askDifferences>} */ ({ changed: 0 });
    let figures = tableFigures(0);
    /** By key: the bytes that B keeps and the recording never frees. Null: this is not asked for.
     * @type {Map<number, number> | null} */
    let lasting = null;
    /** Keys of the groups whose call sites are shown. @type {Set<number>} */
    const open = new Set();
    let rows = { count: 0, rowAt: (/** @type {number} */ _) => /** @type {CompareRow | null} */ (null) };
    const unfolds = () => state.compareBy !== "site" && state.compareBy !== "stack";
    const isOpen = (/** @type {CompareRow} */ { nested, key }) => (!nested && unfolds() ? open.has(key) : null);

    /** @param {About} about @param {string} by @param {import("./questions.js").Within} [within] */
    function keptSums(about, by, within) {
        if (!("from" in about) || state.compareWhat !== "kept" || about.to >= view.facts.events) return null;
        return bytesOfKeys(askSums(view, SLOTS.below, { ...about, what: "lasting" }, by, within));
    }

    /** The question about an end, with what is asked of it. @param {About} about */
    const withWhat = (about) => ("from" in about ? { ...about, what: state.compareWhat } : about);

    /** Call sites of one group; those beyond the limit are one row. @param {CompareRow} group
     * @returns {CompareRow[]} */
    function sitesOf({ key }) {
        const { aboutA, aboutB } = comparedEnds(page);
        const within = { by: state.compareBy, key };
        const forGood = keptSums(aboutB, "site", within);
        const found = listDifferences(view, withWhat(aboutA), withWhat(aboutB), "site", within);
        const sites = found.rows.map((row) => rowOf(page, row, "site", forGood));
        return firstBelow(sites, (others, name) => {
            const total = (/** @type {"a" | "b" | "delta"} */ part) => others.reduce((all, row) => all + row[part], 0);
            const totals = { a: total("a"), b: total("b"), delta: total("delta") };
            return { name, key: -1, ...totals, never: null, focus: null, nested: true };
        });
    }

    /** Finds the rows in sight. After a card's button was pressed, the row of the card's call site comes first. */
    function layRows() {
        const rowAt = (/** @type {number} */ i) => rowOf(page, content.row(i), state.compareBy, lasting);
        const site = state.compareBy === "site" ? provedSite(page) : 0;
        rows = { count: content.changed, rowAt };
        if (!site && open.size === 0) return;
        const all = unfolded(content.changed, rowAt, (row) => isOpen(row) === true, sitesOf);
        const first = all.findIndex(({ key }) => site && key === site);
        if (first > 0) all.unshift(...all.splice(first, 1));
        rows = { count: all.length, rowAt: (i) => all[i] };
    }

    function turn(/** @type {CompareRow} */ { key }) {
        if (!open.delete(key)) open.add(key);
        layRows();
        invalidate(page, LIST);
    }

    /** @type {Table<CompareLine, CompareRow>} */
    const table = new Table(
        page,
        "compare-rows",
        [...END_COLUMNS, ["Run", "compare-curve"]],
        {
            make: makeRow,
            fill(line, row) {
                const { name, b, never, nested, focus } = row;
                fillName(line, name, name, b, never);
                showFold(line, nested, isOpen(row));
                showColor(line, swatchColor(page, row));
                fillEnds(line, row, figures.number);
                line.spark.hidden = nested || !focus;
                if (!nested && focus) drawSpark(page, line.spark, focus);
                showChosen(line.element, isFocused(page, focus));
            },
            choose(row) {
                if (!row.focus) return;
                // A row that is chosen once more folds.
                if (isOpen(row) === false || (isOpen(row) && isFocused(page, row.focus))) turn(row);
                change(page, { focus: row.focus, selected: null });
            },
            isOpen,
            turn,
        },
        { "aria-label": "Differences" },
        { kind: "colored two-lines", row: "row compare-row" },
    );
    box.replaceChildren(head, marks, questions, strip, table.scroll, sum.element, foot);

    /** Places an end in the run: its part of each curve gets its colour. @param {string} name @param {About} about */
    function placeEnd(name, about) {
        const whole = view.facts.events + 1;
        const { from, to } =
            "from" in about ? about : { from: Number(about.at) - 0.02 * whole, to: Number(about.at) + 0.02 * whole };
        table.scroll.style.setProperty(`--${name}-from`, `${((from + 1) / whole) * 100}%`);
        table.scroll.style.setProperty(`--${name}-to`, `${((to + 1) / whole) * 100}%`);
    }

    /** Compares again. @param {ReturnType<typeof comparedEnds>} ends */
    function renew({ a, b, aboutA, aboutB }) {
        content = askDifferences(view, withWhat(aboutA), withWhat(aboutB), state.compareBy);
        lasting = keptSums(aboutB, state.compareBy);
        open.clear();
        layRows();
        placeEnd("a", aboutA);
        placeEnd("b", aboutB);
        figures = tableFigures(Math.max(content.a.bytes, content.b.bytes), true);
        // While somebody writes a note, its field stays.
        if (!marks.contains(document.activeElement) || marks.childElementCount !== state.marks.length)
            marks.replaceChildren(...makeMarks(page));
        marks.hidden = state.marks.length === 0;
        fillSelect(page, endA.select, a);
        fillSelect(page, endB.select, b);
        strip.replaceChildren(...makeStrip(page, a, b));
        strip.hidden = askSteps(view).length < 2;
        table.list.restart();
    }

    function draw() {
        const ends = comparedEnds(page);
        const { aboutA, aboutB } = ends;
        const { device, compareBy, compareWhat, moment, range } = state;
        const asked = [device, ends.a, ends.b, compareBy, compareWhat, kept.version, moment, range, state.marks];
        compared([...asked, provedSite(page)], () => renew(ends));
        by.value = compareBy;
        table.scroll.setAttribute("role", unfolds() ? "treegrid" : "grid");
        questions.hidden = !("from" in aboutA || "from" in aboutB);
        press(compareWhat);
        nameEnds(table, GROUP_HEADS[compareBy], figures.unit);
        const { a, b, changed, count } = content;
        fillEnds(sum, { a: a.bytes, b: b.bytes }, figures.number);
        overlay.hidden = !("from" in aboutA && "from" in aboutB);
        const last = compareWhat === "kept" && "from" in aboutB && aboutB.to >= view.facts.events;
        const lastText = last ? "The recording ends with B, so some of this may be freed later." : "";
        const left = formatPlural(count - changed, "row");
        const same = `${left} without a difference ${count - changed === 1 ? "is" : "are"} left out. `;
        const delta = b.bytes - a.bytes;
        const total = `The rows add up to ${formatChange(delta, figures.text)}. ${count > changed ? same : ""}`;
        setText(
            foot,
            `A is ${endName(page, ends.a)}, B is ${endName(page, ends.b)}. ` +
                `${changed ? total : "There is no difference between them. "}${lastText}`,
        );
        foot.title = formatExactBytes(delta);
        table.draw(rows.count, rows.rowAt);
    }

    return {
        id: "compare",
        draw,
        keys: {
            x: () => swapEnds(page),
            l: () => showOutline(page),
            q: () => change(page, { compareWhat: after(Object.keys(COMPARE_QUESTIONS), state.compareWhat) }),
        },
    };
}
