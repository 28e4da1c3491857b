// Compare: A against B, each a moment, a step or the selected range; the rows add up to the difference to the byte.
import { VirtualList } from "./list.js";
import { askDifferences, askSteps, GROUPINGS } from "./questions.js";
import { change, heldMoment, invalidate, isDark, kept, LIST, session, state, view } from "./state.js";
import { formatBytes, formatCount, formatExactBytes, make, setText } from "./text.js";

/** @type {Record<string, string>} */
const QUESTIONS = { peak: "At its highest", allocated: "Allocated in it", freed: "Freed in it", kept: "Kept at its end", through: "Alive through it" };

/** @type {Record<string, string>} */
const BY_NAMES = { site: "call site", stack: "stack", file: "file", category: "category", stream: "stream", pool: "pool" };

const STEPS_SHOWN = 40;

/** "+1.5 GiB", "\u22124 MiB", "0". @param {number} bytes */
function formatChange(bytes) {
    if (bytes === 0) return "0";
    return `${bytes > 0 ? "+" : "\u2212"}${formatBytes(Math.abs(bytes))}`;
}

/** An end of the comparison as the address has it: "peak", "end", "e123", "s3", "r10_90". @param {string} text @returns {import("./questions.js").About | null} */
function aboutOfText(text) {
    const { events, peak_event } = view.facts;
    if (text === "peak") return { at: peak_event };
    if (text === "end") return { at: events - 1 };
    if (text === "start") return { at: -1 };
    const event = /^e(-?\d+)$/.exec(text);
    if (event) return { at: Math.min(events - 1, Math.max(-1, Number(event[1]))) };
    const range = /^r(\d+)_(\d+)$/.exec(text);
    if (range && Number(range[1]) < Number(range[2])) return { from: Number(range[1]), to: Math.min(events, Number(range[2])) };
    const step = /^s(\d+)$/.exec(text);
    const found = step ? askSteps(view)[Number(step[1])] : undefined;
    return found && found.to > found.from ? { from: found.from, to: found.to } : null;
}

/** @param {string} text */
function endName(text) {
    if (text === "peak") return "the peak";
    if (text === "end") return "the end";
    if (text === "start") return "the start";
    if (text.startsWith("s")) return `step ${askSteps(view)[Number(text.slice(1))]?.name ?? ""}`;
    if (text.startsWith("r")) return `events ${text.slice(1).split("_").map((part) => formatCount(Number(part))).join(" to ")}`;
    return `event ${formatCount(Number(text.slice(1)))}`;
}

/** What a recording is compared by at first: its last step with the one before, else its start with its peak. */
function defaultEnds() {
    const { length } = askSteps(view);
    return length > 1 ? { a: `s${length - 2}`, b: `s${length - 1}` } : { a: "start", b: "peak" };
}

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
    swap.title = "Swap A and B (s)";
    swap.setAttribute("aria-label", "Swap A and B");
    const swapEnds = () => change({ compareA: state.compareB || defaultEnds().b, compareB: state.compareA || defaultEnds().a });
    swap.addEventListener("click", swapEnds);
    const by = make("select");
    by.setAttribute("aria-label", "Grouped by");
    for (const name of GROUPINGS) {
        const option = make("option", "", `by ${BY_NAMES[name]}`);
        option.value = name;
        by.append(option);
    }
    by.addEventListener("change", () => change({ compareBy: by.value }));
    const head = make("div", "panel-head compare-head");
    head.append(a.field, b.field, swap, by);
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
    const heads = ["", "A", "B", "B \u2212 A"].map((name, i) => {
        const cell = make("span", i ? "number" : "", name);
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
    box.replaceChildren(head, questions, strip, scroll, sum.element, foot);

    let asked = "";
    /** @type {ReturnType<typeof askDifferences> | null} */
    let content = null;

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
            setText(line[name], formatBytes(row[name]));
            line[name].title = formatExactBytes(row[name]);
        }
        setText(line.delta, formatChange(row.delta));
        line.delta.title = formatExactBytes(row.delta);
        line.delta.classList.toggle("more", row.delta > 0);
        line.delta.classList.toggle("less", row.delta < 0);
    };
    /** @param {CompareLine} line @param {number} index */
    const fillLine = (line, index) => {
        if (!content) return;
        const row = content.row(index);
        setText(line.text, row.name);
        line.what.title = row.name;
        line.swatch.hidden = state.compareBy !== "site" && state.compareBy !== "stack";
        if (!line.swatch.hidden) line.swatch.style.background = session.siteColor(state.compareBy === "site" ? row.key : view.c.stack_site(row.key), isDark());
        fillFigures(line, row);
        const focused = state.focus?.by === state.compareBy && state.focus.id === row.key;
        line.element.classList.toggle("focused", focused);
        line.element.setAttribute("aria-selected", String(focused));
    };

    /** @param {HTMLSelectElement} select @param {string} value */
    const fillSelect = (select, value) => {
        const values = ["start", "peak", "end", ...askSteps(view).slice(0, 200).map((_, i) => `s${i}`)];
        if (state.moment !== null) values.push(`e${state.moment}`);
        if (state.range && state.axis === "events") values.push(`r${Math.max(0, Math.ceil(state.range.from))}_${Math.ceil(state.range.to)}`);
        if (!values.includes(value)) values.push(value);
        const options = values.map((one) => {
            const option = make("option", "", endName(one));
            option.value = one;
            return option;
        });
        select.replaceChildren(...options);
        select.value = value;
    };

    /** @param {string} valueA @param {string} valueB */
    const drawStrip = (valueA, valueB) => {
        const steps = askSteps(view);
        strip.hidden = steps.length < 2;
        const most = Math.max(1, ...steps.map(({ peak_bytes }) => peak_bytes));
        strip.replaceChildren(...steps.slice(0, STEPS_SHOWN).map((step, i) => {
            const button = make("button", "step-button");
            button.type = "button";
            const bar = make("i", "strip-bar");
            bar.style.height = `${(step.peak_bytes / most) * 40}px`;
            const carried = make("i", "strip-carried");
            carried.style.height = `${(step.end_bytes / most) * 40}px`;
            const bars = make("span", "strip-bars");
            bars.append(bar, carried);
            button.append(bars, make("span", "step-name", step.name));
            button.title = `Step ${step.name}: peak ${formatBytes(step.peak_bytes)}, carried over ${formatBytes(step.end_bytes)} (${formatChange(step.end_bytes - step.begin_bytes)}). A click makes it B, with Shift A`;
            button.classList.toggle("strip-a", valueA === `s${i}`);
            button.classList.toggle("strip-b", valueB === `s${i}`);
            button.addEventListener("click", (event) => change(event.shiftKey ? { compareA: `s${i}` } : { compareB: `s${i}` }));
            return button;
        }));
    };

    const draw = () => {
        const ends = defaultEnds();
        const [valueA, valueB] = [state.compareA || ends.a, state.compareB || ends.b];
        const [of_a, of_b] = [aboutOfText(valueA) ?? { at: -1 }, aboutOfText(valueB) ?? { at: heldMoment() }];
        const ranges = [of_a, of_b].some((about) => "from" in about);
        const withWhat = (/** @type {import("./questions.js").About} */ about) => ("from" in about ? { ...about, what: state.compareWhat } : about);
        const now = JSON.stringify([state.device, valueA, valueB, state.compareBy, state.compareWhat, kept.version, state.moment, state.range]);
        if (asked !== now) {
            asked = now;
            content = askDifferences(view, withWhat(of_a), withWhat(of_b), state.compareBy);
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
        const delta = content.b.bytes - content.a.bytes;
        setText(sum.text, "Sum");
        fillFigures(sum, { a: content.a.bytes, b: content.b.bytes, delta });
        setText(foot, `A is ${endName(valueA)}, B is ${endName(valueB)}. The differences add up to ${formatExactBytes(delta)}.`);
        list.draw(content.count);
    };
    const whats = Object.keys(QUESTIONS);
    return { id: "compare", draw, keys: { x: swapEnds, q: () => change({ compareWhat: whats[(whats.indexOf(state.compareWhat) + 1) % whats.length] }) } };
}
