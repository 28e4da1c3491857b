// Compare: A against B, each a moment, a step or the selected range; the rows add up to the difference to the byte.
import { cleanNote, NOTE_MOST } from "./address.js";
import { comparedEnds, endName, LETTERS } from "./ends.js";
import {
    asSum,
    fillEnds,
    fillName,
    firstBelow,
    foldByArrows,
    makeCell,
    makeEndHeads,
    makeFigures,
    makeGrid,
    makeRowHead,
    showFold,
} from "./grid.js";
import { groupColor } from "./legend.js";
import { VirtualList } from "./list.js";
import { showOutline } from "./outline.js";
import { curveShape } from "./paint.js";
import { askDifferences, askSteps, askSums, COMPARE_QUESTIONS, GROUPINGS, listDifferences } from "./questions.js";
import { drawSpark } from "./sparks.js";
import { change, goToEvent, invalidate, isDark, LIST, rangeEvents, removeMark } from "./state.js";
import { formatBytes, formatChange, formatCount, formatExactBytes, make, setText, tableFigures } from "./text.js";

/** @type {Record<string, string>} */
const BY_NAMES = {
    site: "call site",
    stack: "stack",
    file: "file",
    category: "category",
    stream: "stream",
    pool: "pool",
    module: "layer",
};

const STEPS_SHOWN = 40;

/** Columns of a step's curve. */
const CURVE_WIDTH = 60;

/** Slot of the view for what B keeps for good. */
const LASTING_SLOT = 4;

/**
 * @typedef {{element: HTMLElement, fold: HTMLElement, swatch: HTMLElement, text: HTMLElement, what: HTMLElement, a:
 * HTMLElement, b: HTMLElement, delta: HTMLElement, spark: HTMLElement}} CompareLine
 */
/**
 * @typedef {{name: string, key: number, a: number, b: number, delta: number, never: number | null, focus:
 * import("./state.js").Focus | null, nested: boolean}} CompareRow never: of B, what is never freed, where that is asked
 */

/** @returns {CompareLine} */
function makeLine() {
    const row = make("div", "row compare-row");
    const [fold, swatch, text] = [make("i", "fold-sign"), make("i", "swatch"), make("span", "row-text")];
    const what = makeRowHead(fold, swatch, text);
    const [a, b, delta] = makeFigures("a", "b", "delta");
    const curve = makeCell("gridcell", "compare-curve");
    const spark = make("i", "compare-spark");
    curve.append(spark);
    row.append(what, a, b, delta, curve);
    return { element: row, fold, swatch, text, what, a, b, delta, spark };
}

/** @param {string} letter @param {(value: string) => void} choose */
function makeEnd(letter, choose) {
    const field = make("label", "compare-end");
    const select = make("select");
    select.setAttribute("aria-label", `${letter}: what is compared`);
    select.addEventListener("change", () => choose(select.value));
    field.append(make("b", `letter letter-${letter.toLowerCase()}`, letter), select);
    return { field, select };
}

/** @param {Page} page @param {HTMLElement} box */
export function createCompare(page, box) {
    const { kept, state, view } = page;
    const a = makeEnd("A", (value) => change(page, { compareA: value }));
    const b = makeEnd("B", (value) => change(page, { compareB: value }));
    const swap = make("button", "quiet", "\u21c4");
    swap.type = "button";
    swap.title = "Swap A and B (x)";
    swap.setAttribute("aria-label", "Swap A and B");
    const swapEnds = () => {
        const ends = comparedEnds(page);
        change(page, { compareA: ends.b, compareB: ends.a });
    };
    swap.addEventListener("click", swapEnds);
    const by = make("select");
    by.setAttribute("aria-label", "Grouped by");
    for (const name of GROUPINGS) {
        const option = make("option", "", `by ${BY_NAMES[name]}`);
        option.value = name;
        by.append(option);
    }
    by.addEventListener("change", () => change(page, { compareBy: by.value }));
    const overlay = make("button", "quiet", "Overlay");
    overlay.type = "button";
    overlay.title = "Show A in the timeline, with B as an outline over it (l)";
    overlay.addEventListener("click", () => showOutline(page));
    const head = make("div", "panel-head compare-head");
    head.append(a.field, b.field, swap, overlay, by);
    const marks = make("div", "marks");
    const questions = make("div", "segmented questions");
    questions.setAttribute("role", "group");
    questions.setAttribute("aria-label", "Of a range");
    const buttons = Object.entries(COMPARE_QUESTIONS).map(([what, text]) => {
        const button = make("button", "", text);
        button.type = "button";
        button.addEventListener("click", () => change(page, { compareWhat: what }));
        questions.append(button);
        return { what, button };
    });
    const strip = make("div", "step-strip");
    strip.setAttribute("role", "group");
    strip.setAttribute("aria-label", "Steps; a click compares one as B, with Shift as A");
    const { heads, setUnit } = makeEndHeads();
    const { scroll, body } = makeGrid(
        `compare-rows${page.suffix}`,
        [...heads, makeCell("columnheader", "compare-curve", "Run")],
        { kind: "colored compare-list", row: "row compare-row" },
    );
    scroll.setAttribute("aria-label", "Differences");
    const sum = asSum(makeLine());
    sum.swatch.hidden = sum.fold.hidden = sum.spark.hidden = true;
    const foot = make("p", "why-foot");
    box.replaceChildren(head, marks, questions, strip, scroll, sum.element, foot);

    let asked = "";
    /** @type {ReturnType<typeof askDifferences> | null} */
    let content = null;
    let figures = tableFigures(0);
    /**
     * Of what B keeps, by key: what is never freed in the recording. Null: that is not what is asked.
     * @type {Map<number, number> | null}
     */
    let lasting = null;
    /** Keys of the groups whose call sites are shown, and those below each. @type {Map<number, CompareRow[]>} */
    const open = new Map();
    /**
     * Rows in sight: the comparison's, by number, and call sites below them; null: the comparison's alone.
     * @type {(number | CompareRow)[] | null}
     */
    let rows = null;

    /**
     * @param {import("./questions.js").About} about
     * @param {string} by
     * @param {import("./questions.js").Within} [within]
     */
    const keptSums = (about, by, within) => {
        if (!("from" in about) || state.compareWhat !== "kept" || about.to >= view.facts.events) return null;
        const sums = askSums(view, LASTING_SLOT, { ...about, what: "lasting" }, by, within);
        return new Map(
            Array.from({ length: sums.groups }, (_, i) => {
                const { key, bytes } = sums.row(i);
                return [key, bytes];
            }),
        );
    };

    /** The marks, to be named and taken away. */
    const drawMarkRow = () => {
        if (marks.contains(document.activeElement) && marks.childElementCount === state.marks.length) return;
        marks.hidden = state.marks.length === 0;
        marks.replaceChildren(
            ...state.marks.map(({ event, note }, i) => {
                const chip = make("span", "mark-chip");
                const go = make("button", `letter letter-${LETTERS[i].toLowerCase()}`, LETTERS[i]);
                go.type = "button";
                go.title = `Go to event ${formatCount(event)}`;
                go.addEventListener("click", () => goToEvent(page, event));
                const words = make("input");
                words.value = note;
                words.maxLength = NOTE_MOST;
                words.placeholder = `event ${formatCount(event)}`;
                words.setAttribute("aria-label", `Note of mark ${LETTERS[i]}`);
                words.addEventListener("change", () =>
                    change(page, {
                        marks: state.marks.map((mark, nth) =>
                            nth === i ? { event, note: cleanNote(words.value) } : mark,
                        ),
                    }),
                );
                const remove = make("button", "quiet", "\u2715");
                remove.type = "button";
                remove.setAttribute("aria-label", `Remove mark ${LETTERS[i]}`);
                remove.addEventListener("click", () => {
                    remove.blur();
                    removeMark(page, i);
                });
                chip.append(go, words, remove);
                return chip;
            }),
        );
    };

    const list = new VirtualList(scroll, body, {
        make: makeLine,
        fill: (line, index) => fillLine(line, index),
        choose: (index) => {
            const row = rowAt(index);
            if (!row?.focus) return;
            // Chosen once more, a row folds.
            if (folds(row) && (isFocused(row) || !open.has(row.key))) turn(row);
            change(page, { focus: row.focus, selected: null });
        },
        redraw: () => invalidate(page, LIST),
    });

    /**
     * @param {{name: string, key: number, a: number, b: number, delta: number}} row
     * @param {string} by
     * @param {Map<number, number> | null} forGood
     * @returns {CompareRow}
     */
    const rowOf = ({ name, key, a, b, delta }, by, forGood) => ({
        name: by === "category" ? name.replace(/_/g, " ") : name,
        key,
        a,
        b,
        delta,
        never: forGood ? (forGood.get(key) ?? 0) : null,
        focus: { by: /** @type {import("./state.js").Focus["by"]} */ (by), id: key },
        nested: by !== state.compareBy,
    });
    /** @param {number} index @returns {CompareRow | null} */
    const rowAt = (index) => {
        const row = rows ? rows[index] : index;
        if (typeof row !== "number") return row ?? null;
        return content && row < content.count ? rowOf(content.row(row), state.compareBy, lasting) : null;
    };
    /** @param {CompareRow} row */
    const isFocused = ({ focus }) => focus !== null && state.focus?.by === focus.by && state.focus.id === focus.id;
    const unfolds = () => state.compareBy !== "site" && state.compareBy !== "stack";
    /** A row has call sites of its own below it. @param {CompareRow} row */
    const folds = ({ nested }) => !nested && unfolds();

    /** What is asked of an end. @param {import("./questions.js").About} about */
    const withWhat = (about) => ("from" in about ? { ...about, what: state.compareWhat } : about);

    /** Call sites of one group; those beyond the most are one row. @param {number} key @returns {CompareRow[]} */
    const sitesOf = (key) => {
        const { aboutA, aboutB } = comparedEnds(page);
        const within = { by: state.compareBy, key };
        const forGood = keptSums(aboutB, "site", within);
        const sites = listDifferences(view, withWhat(aboutA), withWhat(aboutB), "site", within).rows.map((row) =>
            rowOf(row, "site", forGood),
        );
        return firstBelow(sites, (others, name) => {
            const total = (/** @type {"a" | "b" | "delta"} */ part) => others.reduce((all, row) => all + row[part], 0);
            return {
                name,
                key: -1,
                a: total("a"),
                b: total("b"),
                delta: total("delta"),
                never: null,
                focus: null,
                nested: true,
            };
        });
    };
    /** Shows the call sites below a row, or no more. @param {CompareRow} row */
    const turn = ({ key }) => {
        if (!open.delete(key)) open.set(key, sitesOf(key));
        rows = open.size ? [] : null;
        for (let i = 0; rows && i < (content?.count ?? 0); i++)
            rows.push(i, ...(open.get(content?.row(i).key ?? -1) ?? []));
        invalidate(page, LIST);
    };
    foldByArrows(scroll, () => {
        const row = rowAt(list.active);
        return row && folds(row) ? { open: open.has(row.key), turn: () => turn(row) } : null;
    });

    /** @param {CompareRow} row */
    const swatchColor = ({ focus, nested }) => {
        if (!focus || (nested && focus.by !== "site")) return "";
        if (focus.by === "site") return view.siteColor(focus.id, isDark(page));
        return focus.by === "stack"
            ? view.siteColor(view.c.stack_site(focus.id), isDark(page))
            : groupColor(page, focus.by, focus.id);
    };
    /** @param {CompareLine} line @param {number} index */
    const fillLine = (line, index) => {
        const row = rowAt(index);
        if (!row) return;
        const { name, b, never, nested } = row;
        const color = swatchColor(row);
        fillName(line, name, name, b, never);
        showFold(line, nested, folds(row) ? open.has(row.key) : null);
        line.swatch.hidden = color === "";
        line.swatch.style.background = color;
        fillEnds(line, row, figures.number);
        line.spark.hidden = nested || !row.focus;
        if (!nested && row.focus) drawSpark(page, line.spark, row.focus);
        line.element.classList.toggle("focused", isFocused(row));
        line.element.setAttribute("aria-selected", String(isFocused(row)));
    };

    /**
     * Where A and B lie in the run: their part of each curve has their colour.
     * @param {string} name
     * @param {import("./questions.js").About} about
     */
    const placeEnd = (name, about) => {
        const whole = view.facts.events + 1;
        const { from, to } =
            "from" in about ? about : { from: Number(about.at) - 0.02 * whole, to: Number(about.at) + 0.02 * whole };
        scroll.style.setProperty(`--${name}-from`, `${((from + 1) / whole) * 100}%`);
        scroll.style.setProperty(`--${name}-to`, `${((to + 1) / whole) * 100}%`);
    };

    /** @param {HTMLSelectElement} select @param {string} value */
    const fillSelect = (select, value) => {
        const values = [
            "start",
            "peak",
            "end",
            ...state.marks.map(({ event }) => `e${event}`),
            ...askSteps(view)
                .slice(0, 200)
                .map((_, i) => `s${i}`),
        ];
        if (state.moment !== null && !values.includes(`e${state.moment}`)) values.push(`e${state.moment}`);
        if (state.range) {
            const { first, end } = rangeEvents(page, state.range);
            values.push(`r${Math.max(0, first)}_${end}`);
        }
        if (!values.includes(value)) values.push(value);
        const options = values.map((one) => {
            const option = make("option", "", endName(page, one));
            option.value = one;
            return option;
        });
        select.replaceChildren(...options);
        select.value = value;
    };

    /**
     * Each step small: its curve with what it carries over as the floor, to one scale; those around B where there are
     * many.
     * @param {string} valueA
     * @param {string} valueB
     */
    const drawStrip = (valueA, valueB) => {
        const steps = askSteps(view);
        strip.hidden = steps.length < 2;
        const most = Math.max(1, ...steps.map(({ peak_bytes }) => peak_bytes));
        const { unit, number } = tableFigures(most, true);
        const begin = Math.max(
            0,
            Math.min(Number(/^s(\d+)$/.exec(valueB)?.[1] ?? 0) - STEPS_SHOWN / 2, steps.length - STEPS_SHOWN),
        );
        const shown = steps.slice(begin, begin + STEPS_SHOWN);
        const words = make("span", "strip-words", `peak, ${unit}`);
        words.append(
            make("span", "", "carried over"),
            make("span", "", shown.length < steps.length ? `${STEPS_SHOWN} of ${formatCount(steps.length)}` : ""),
        );
        strip.replaceChildren(
            words,
            ...shown.map((step, nth) => {
                const end = `s${begin + nth}`;
                const button = make("button", "step-button");
                button.type = "button";
                const curve = make("i", "strip-curve");
                curve.style.clipPath = curveShape(view.curve(0, step.from, step.to, CURVE_WIDTH, false), most);
                curve.style.setProperty("--floor", `${(step.end_bytes / most) * 100}%`);
                const grown = step.end_bytes - step.begin_bytes;
                const head = make("span", "strip-head");
                head.append(make("b", "", step.name), number(step.peak_bytes));
                button.append(
                    head,
                    curve,
                    make("span", "", number(step.end_bytes)),
                    make("span", grown > 0 ? "more" : grown < 0 ? "less" : "", formatChange(grown, number)),
                );
                button.title =
                    `Step ${step.name}: peak ${formatBytes(step.peak_bytes)}, carried over ` +
                    `${formatBytes(step.end_bytes)} (${formatChange(grown)}). A click makes it B, with Shift ` +
                    "A";
                button.setAttribute("aria-label", button.title);
                button.setAttribute("aria-pressed", String(valueA === end || valueB === end));
                button.classList.toggle("strip-a", valueA === end);
                button.classList.toggle("strip-b", valueB === end);
                button.addEventListener("click", (event) =>
                    change(page, event.shiftKey ? { compareA: end } : { compareB: end }),
                );
                return button;
            }),
        );
    };

    const draw = () => {
        const { a: valueA, b: valueB, aboutA: of_a, aboutB: of_b } = comparedEnds(page);
        const ranges = [of_a, of_b].some((about) => "from" in about);
        const now = JSON.stringify([
            state.device,
            valueA,
            valueB,
            state.compareBy,
            state.compareWhat,
            kept.version,
            state.moment,
            state.range,
            state.marks,
        ]);
        if (asked !== now) {
            asked = now;
            content = askDifferences(view, withWhat(of_a), withWhat(of_b), state.compareBy);
            lasting = keptSums(of_b, state.compareBy);
            open.clear();
            rows = null;
            placeEnd("a", of_a);
            placeEnd("b", of_b);
            figures = tableFigures(Math.max(content.a.bytes, content.b.bytes), true);
            drawMarkRow();
            fillSelect(a.select, valueA);
            fillSelect(b.select, valueB);
            drawStrip(valueA, valueB);
            list.restart();
        }
        if (!content) return;
        by.value = state.compareBy;
        scroll.setAttribute("role", unfolds() ? "treegrid" : "grid");
        questions.hidden = !ranges;
        for (const { what, button } of buttons) button.setAttribute("aria-pressed", String(what === state.compareWhat));
        setText(
            heads[0],
            BY_NAMES[state.compareBy].replace(/^./, (first) => first.toUpperCase()),
        );
        setUnit(figures.unit);
        const delta = content.b.bytes - content.a.bytes;
        setText(sum.text, "Sum");
        fillEnds(sum, { a: content.a.bytes, b: content.b.bytes }, figures.number);
        overlay.hidden = !("from" in of_a && "from" in of_b);
        const last = state.compareWhat === "kept" && "from" in of_b && of_b.to >= view.facts.events;
        const lastText = last ? " The recording ends with B, so some of this may be freed later." : "";
        setText(
            foot,
            `A is ${endName(page, valueA)}, B is ${endName(page, valueB)}. The rows add up to ` +
                `${formatChange(delta, figures.text)}.${lastText}`,
        );
        foot.title = formatExactBytes(delta);
        list.draw(rows?.length ?? content.count);
    };
    const whats = Object.keys(COMPARE_QUESTIONS);
    return {
        id: "compare",
        draw,
        keys: {
            x: swapEnds,
            l: () => showOutline(page),
            q: () => change(page, { compareWhat: whats[(whats.indexOf(state.compareWhat) + 1) % whats.length] }),
        },
    };
}
