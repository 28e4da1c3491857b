// Compare: A against B, each a moment, a step or the selected range; the rows add up to the difference to the byte.
import { NOTE_MOST } from "./address.js";
import { comparedEnds, endName, LETTERS } from "./ends.js";
import { VirtualList } from "./list.js";
import { showOutline } from "./outline.js";
import { rangeEvents } from "./overlay.js";
import { curveShape } from "./paint.js";
import { askDifferences, askSteps, askSums, FREED_LATER, GROUPINGS, QUESTIONS } from "./questions.js";
import { change, goToEvent, invalidate, isDark, kept, LIST, removeMark, state, view } from "./state.js";
import { formatBytes, formatChange, formatCount, formatExactBytes, make, setText, tableFigures } from "./text.js";

/** @type {Record<string, string>} */
const BY_NAMES = { site: "call site", stack: "stack", file: "file", category: "category", stream: "stream", pool: "pool" };

const STEPS_SHOWN = 40;

/** Columns of a step's curve. */
const CURVE_WIDTH = 60;

/** Slot of the view for what B keeps for good. */
const LASTING_SLOT = 4;

/** @typedef {{element: HTMLElement, swatch: HTMLElement, text: HTMLElement, what: HTMLElement, a: HTMLElement, b: HTMLElement, delta: HTMLElement}} CompareLine */

/** @returns {CompareLine} */
function makeLine() {
    const row = make("div", "row compare-row");
    const what = make("span", "what");
    what.setAttribute("role", "rowheader");
    const [swatch, text] = [make("i", "swatch"), make("span", "row-text")];
    what.append(swatch, text);
    const [a, b, delta] = ["a", "b", "delta"].map((name) => {
        const cell = make("span", `number ${name}`);
        cell.setAttribute("role", "gridcell");
        return cell;
    });
    row.append(what, a, b, delta);
    return { element: row, swatch, text, what, a, b, delta };
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

/** @param {HTMLElement} box */
export function createCompare(box) {
    const a = makeEnd("A", (value) => change({ compareA: value }));
    const b = makeEnd("B", (value) => change({ compareB: value }));
    const swap = make("button", "quiet", "\u21c4");
    swap.type = "button";
    swap.title = "Swap A and B (x)";
    swap.setAttribute("aria-label", "Swap A and B");
    const swapEnds = () => {
        const ends = comparedEnds();
        change({ compareA: ends.b, compareB: ends.a });
    };
    swap.addEventListener("click", swapEnds);
    const by = make("select");
    by.setAttribute("aria-label", "Grouped by");
    for (const name of GROUPINGS) {
        const option = make("option", "", `by ${BY_NAMES[name]}`);
        option.value = name;
        by.append(option);
    }
    by.addEventListener("change", () => change({ compareBy: by.value }));
    const overlay = make("button", "quiet", "Overlay");
    overlay.type = "button";
    overlay.title = "Show A in the timeline, with B as an outline over it (l)";
    overlay.addEventListener("click", showOutline);
    const head = make("div", "panel-head compare-head");
    head.append(a.field, b.field, swap, overlay, by);
    const marks = make("div", "marks");
    const questions = make("div", "segmented questions");
    questions.setAttribute("role", "group");
    questions.setAttribute("aria-label", "Of a range");
    const buttons = Object.entries(QUESTIONS).map(([what, text]) => {
        const button = make("button", "", text);
        button.type = "button";
        button.addEventListener("click", () => change({ compareWhat: what }));
        questions.append(button);
        return { what, button };
    });
    const strip = make("div", "step-strip");
    strip.setAttribute("role", "group");
    strip.setAttribute("aria-label", "Steps; a click compares one as B, with Shift as A");
    const scroll = make("div", "scroll list colored compare-list");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "grid");
    scroll.setAttribute("aria-label", "Differences");
    const listHead = make("div", "list-head");
    listHead.setAttribute("role", "rowgroup");
    const names = make("div", "row compare-row");
    names.setAttribute("role", "row");
    const heads = ["", "number", "number", "number"].map((className) => {
        const cell = make("span", className);
        cell.setAttribute("role", "columnheader");
        names.append(cell);
        return cell;
    });
    listHead.append(names);
    const body = make("div", "list-rows");
    body.id = "compare-rows";
    body.setAttribute("role", "rowgroup");
    scroll.append(listHead, body);
    const sum = makeLine();
    sum.element.classList.add("sum-row");
    // It stands below the grid, not in it.
    for (const cell of sum.element.children) cell.removeAttribute("role");
    sum.swatch.hidden = true;
    const foot = make("p", "why-foot");
    box.replaceChildren(head, marks, questions, strip, scroll, sum.element, foot);

    let asked = "";
    /** @type {ReturnType<typeof askDifferences> | null} */
    let content = null;
    let figures = tableFigures(0);
    /** Of what B keeps, by key: what is never freed in the recording. Null: that is not what is asked. @type {Map<number, number> | null} */
    let lasting = null;

    /** @param {import("./questions.js").About} about */
    const keptSums = (about) => {
        if (!("from" in about) || state.compareWhat !== "kept" || about.to >= view.facts.events) return null;
        const sums = askSums(view, LASTING_SLOT, { ...about, what: "lasting" }, state.compareBy);
        return new Map(Array.from({ length: sums.groups }, (_, i) => {
            const { key, bytes } = sums.row(i);
            return [key, bytes];
        }));
    };

    /** The marks, to be named and taken away. */
    const drawMarkRow = () => {
        if (marks.contains(document.activeElement) && marks.childElementCount === state.marks.length) return;
        marks.hidden = state.marks.length === 0;
        marks.replaceChildren(...state.marks.map(({ event, note }, i) => {
            const chip = make("span", "mark-chip");
            const go = make("button", `letter letter-${LETTERS[i].toLowerCase()}`, LETTERS[i]);
            go.type = "button";
            go.title = `Go to event ${formatCount(event)}`;
            go.addEventListener("click", () => goToEvent(event));
            const words = make("input");
            words.value = note;
            words.maxLength = NOTE_MOST;
            words.placeholder = `event ${formatCount(event)}`;
            words.setAttribute("aria-label", `Note of mark ${LETTERS[i]}`);
            words.addEventListener("change", () => change({ marks: state.marks.map((mark, nth) => (nth === i ? { event, note: words.value.trim() } : mark)) }));
            const remove = make("button", "quiet", "\u2715");
            remove.type = "button";
            remove.setAttribute("aria-label", `Remove mark ${LETTERS[i]}`);
            remove.addEventListener("click", () => {
                remove.blur();
                removeMark(i);
            });
            chip.append(go, words, remove);
            return chip;
        }));
    };

    const list = new VirtualList(scroll, body, {
        make: makeLine,
        fill: (line, index) => fillLine(line, index),
        choose: (index) => {
            const row = content?.row(index);
            const kind = /** @type {import("./state.js").Focus["by"]} */ (state.compareBy);
            if (row) change({ focus: { by: kind, id: row.key }, selected: null });
        },
        redraw: () => invalidate(LIST),
    });

    /** @param {CompareLine} line @param {{a: number, b: number, delta: number}} row */
    const fillFigures = (line, row) => {
        for (const name of /** @type {const} */ (["a", "b"])) {
            setText(line[name], figures.number(row[name]));
            line[name].title = formatExactBytes(row[name]);
        }
        setText(line.delta, formatChange(row.delta, figures.number));
        line.delta.title = formatExactBytes(row.delta);
        line.delta.classList.toggle("more", row.delta > 0);
        line.delta.classList.toggle("less", row.delta < 0);
    };
    /** @param {CompareLine} line @param {number} index */
    const fillLine = (line, index) => {
        if (!content) return;
        const row = content.row(index);
        const later = lasting !== null && row.b > 0 && !lasting.get(row.key);
        setText(line.text, later ? `${row.name} \u00b7 ${FREED_LATER}` : row.name);
        line.what.title = later ? `${row.name}: a later step frees this` : lasting && row.b > 0 && lasting.get(row.key) !== row.b ? `${row.name}: ${formatBytes(lasting.get(row.key) ?? 0)} of it is never freed` : row.name;
        line.element.classList.toggle("freed-later", later);
        line.swatch.hidden = state.compareBy !== "site" && state.compareBy !== "stack";
        if (!line.swatch.hidden) line.swatch.style.background = view.siteColor(state.compareBy === "site" ? row.key : view.c.stack_site(row.key), isDark());
        fillFigures(line, row);
        const focused = state.focus?.by === state.compareBy && state.focus.id === row.key;
        line.element.classList.toggle("focused", focused);
        line.element.setAttribute("aria-selected", String(focused));
    };

    /** @param {HTMLSelectElement} select @param {string} value */
    const fillSelect = (select, value) => {
        const values = ["start", "peak", "end", ...state.marks.map(({ event }) => `e${event}`), ...askSteps(view).slice(0, 200).map((_, i) => `s${i}`)];
        if (state.moment !== null && !values.includes(`e${state.moment}`)) values.push(`e${state.moment}`);
        if (state.range) {
            const { first, end } = rangeEvents(state.range);
            values.push(`r${Math.max(0, first)}_${end}`);
        }
        if (!values.includes(value)) values.push(value);
        const options = values.map((one) => {
            const option = make("option", "", endName(one));
            option.value = one;
            return option;
        });
        select.replaceChildren(...options);
        select.value = value;
    };

    /** Each step small: its curve with what it carries over as the floor, to one scale; those around B where there are many. @param {string} valueA @param {string} valueB */
    const drawStrip = (valueA, valueB) => {
        const steps = askSteps(view);
        strip.hidden = steps.length < 2;
        const most = Math.max(1, ...steps.map(({ peak_bytes }) => peak_bytes));
        const { unit, number } = tableFigures(most, true);
        const begin = Math.max(0, Math.min(Number(/^s(\d+)$/.exec(valueB)?.[1] ?? 0) - STEPS_SHOWN / 2, steps.length - STEPS_SHOWN));
        const shown = steps.slice(begin, begin + STEPS_SHOWN);
        const words = make("span", "strip-words", `peak, ${unit}`);
        words.append(make("span", "", "carried over"), make("span", "", shown.length < steps.length ? `${STEPS_SHOWN} of ${formatCount(steps.length)}` : ""));
        strip.replaceChildren(words, ...shown.map((step, nth) => {
            const end = `s${begin + nth}`;
            const button = make("button", "step-button");
            button.type = "button";
            const curve = make("i", "strip-curve");
            curve.style.clipPath = curveShape(view.curve(0, step.from, step.to, CURVE_WIDTH, false), most);
            curve.style.setProperty("--floor", `${(step.end_bytes / most) * 100}%`);
            const grown = step.end_bytes - step.begin_bytes;
            const head = make("span", "strip-head");
            head.append(make("b", "", step.name), number(step.peak_bytes));
            button.append(head, curve, make("span", "", number(step.end_bytes)), make("span", grown > 0 ? "more" : grown < 0 ? "less" : "", formatChange(grown, number)));
            button.title = `Step ${step.name}: peak ${formatBytes(step.peak_bytes)}, carried over ${formatBytes(step.end_bytes)} (${formatChange(grown)}). A click makes it B, with Shift A`;
            button.setAttribute("aria-label", button.title);
            button.setAttribute("aria-pressed", String(valueA === end || valueB === end));
            button.classList.toggle("strip-a", valueA === end);
            button.classList.toggle("strip-b", valueB === end);
            button.addEventListener("click", (event) => change(event.shiftKey ? { compareA: end } : { compareB: end }));
            return button;
        }));
    };

    const draw = () => {
        const { a: valueA, b: valueB, aboutA: of_a, aboutB: of_b } = comparedEnds();
        const ranges = [of_a, of_b].some((about) => "from" in about);
        const withWhat = (/** @type {import("./questions.js").About} */ about) => ("from" in about ? { ...about, what: state.compareWhat } : about);
        const now = JSON.stringify([state.device, valueA, valueB, state.compareBy, state.compareWhat, kept.version, state.moment, state.range, state.marks]);
        if (asked !== now) {
            asked = now;
            content = askDifferences(view, withWhat(of_a), withWhat(of_b), state.compareBy);
            lasting = keptSums(of_b);
            figures = tableFigures(Math.max(content.a.bytes, content.b.bytes), true);
            drawMarkRow();
            fillSelect(a.select, valueA);
            fillSelect(b.select, valueB);
            drawStrip(valueA, valueB);
            list.restart();
        }
        if (!content) return;
        by.value = state.compareBy;
        questions.hidden = !ranges;
        for (const { what, button } of buttons) button.setAttribute("aria-pressed", String(what === state.compareWhat));
        setText(heads[0], BY_NAMES[state.compareBy].replace(/^./, (first) => first.toUpperCase()));
        ["A", "B", "B \u2212 A"].forEach((name, i) => setText(heads[i + 1], `${name}, ${figures.unit}`));
        const delta = content.b.bytes - content.a.bytes;
        setText(sum.text, "Sum");
        fillFigures(sum, { a: content.a.bytes, b: content.b.bytes, delta });
        overlay.hidden = !("from" in of_a && "from" in of_b);
        const last = state.compareWhat === "kept" && "from" in of_b && of_b.to >= view.facts.events;
        const lastText = last ? " No event follows B: what it keeps may be freed later." : "";
        setText(foot, `A is ${endName(valueA)}, B is ${endName(valueB)}. The differences add up to ${formatExactBytes(delta)}.${lastText}`);
        list.draw(content.count);
    };
    const whats = Object.keys(QUESTIONS);
    return { id: "compare", draw, keys: { x: swapEnds, l: showOutline, q: () => change({ compareWhat: whats[(whats.indexOf(state.compareWhat) + 1) % whats.length] }) } };
}
