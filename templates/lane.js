// The lane below the timeline: what the program noted about its work, as nested bands. The module finds the bands of
// the window (at most a few per pixel); here they are drawn on the canvas of the axes.
import { themeColor, xOfAxis } from "./canvas.js";
import { boxText, pen, phaseColor } from "./paint.js";
import { comparedRanges } from "./ends.js";
import { drawMemoryLane, hasLaneRoom, memoryLaneHeight } from "./memory_lane.js";
import { askLayers, askParts, once } from "./questions.js";
import { axisNumber, axisOfEvent, change, clockShift, isDark, wholeRange } from "./state.js";
import { dotted, formatBytes, formatCount, formatDuration, formatPlural, setAll, setText } from "./text.js";

const LANE_ROW = 18;

const LANE_ROWS_PLAIN = 4;

const LANE_ROWS_ALL = 10;

/** @typedef {{phase: number, row: number, from: number, to: number, name: string, text?: string, part?:
 * import("./questions.js").Part}} PhaseMark CSS pixels of the timeline */

/** The phase of a band without one: a part of a step, where the program annotated nothing or two ranges are
 * compared. */
const NO_PHASE = -1;

/** A lane about which nothing is known yet. */
export const emptyLane = () => ({
    /** CSS pixels between the timeline and its axis; `inset`: those of them above the phases. */
    height: 0,
    inset: 0,
    /** The number of rows of the program's own phases, which come first. */
    ownRows: 0,
    /** Bands of the last drawing. @type {PhaseMark[]} */
    marks: [],
    /** The band under the pointer. @type {PhaseMark | null} */
    hover: null,
});

/** @typedef {ReturnType<typeof emptyLane>} Lane */

/** The number of rows that the lane has room for. @param {Page} page @param {View} shown */
function laneRows(page, { facts }) {
    const rows = page.state.internals ? facts.all_phase_rows : facts.phase_rows;
    const plain = hasLaneRoom(page) ? LANE_ROWS_PLAIN : 1;
    return Math.min(rows, page.state.internals ? LANE_ROWS_ALL : plain);
}

/** Did anything happen in the recorded time? */
const hasPhases = once(({ c, facts }) => {
    const end = c.event_us(facts.events - 1);
    return Array.from({ length: facts.phases }, (_, i) => c.phase(i)).some(
        ({ start_us, end_us }) => start_us <= end && (end_us === -1 || end_us > 0),
    );
});

/** @typedef {{from: number, to: number, shift: number, letter: string, layers?: boolean}} PartRow events, how far they
 * are shifted, its letter, and whether its parts are layers */

/** Rows below the program's own phases: parts of steps, and layers. Null: nothing is known of any step.
 * @param {Page} page @param {View} shown @returns {PartRow[] | null} */
function partRows(page, shown) {
    const { opening } = page;
    // If "other" is the only phase, the lane has nothing to show.
    if (shown.facts.events < 2 || !(opening?.parts ?? askParts(shown).some(({ name }) => name !== "other")))
        return null;
    const whole = { from: -1, to: shown.facts.events, shift: 0, letter: "" };
    const rows = hasPhases(shown) ? [] : [whole];
    const layers = hasLaneRoom(page) && (opening?.layers ?? shown.c.layers(-1, Infinity, 1).length > 0);
    return layers ? [...rows, { ...whole, layers }] : rows;
}

/** While two ranges are compared, they take the place of all other rows. Null: none are. @param {Page} page
 * @param {View} shown @returns {PartRow[] | null} */
function comparedRows(page, shown) {
    const ranges = shown === page.view && hasLaneRoom(page) && partRows(page, shown) ? comparedRanges(page) : null;
    if (!ranges) return null;
    const { a, b } = ranges;
    const shift = axisOfEvent(page, a.from) - axisOfEvent(page, b.from);
    return [
        { ...a, shift: 0, letter: "A" },
        { ...b, shift, letter: "B" },
    ];
}

/** Height of the lane in CSS pixels: none without a timeline; one row for the button if everything is folded away. */
export function laneHeight(/** @type {Page} */ page) {
    const { lane } = page;
    lane.inset = memoryLaneHeight(page);
    return lane.inset + phasesHeight(page, page.view, lane);
}

export function phasesHeight(/** @type {Page} */ page, /** @type {View} */ shown, /** @type {Lane} */ lane) {
    const { events, internal_phases } = shown.facts;
    const own = events < 2 || !hasPhases(shown) ? 0 : Math.max(laneRows(page, shown), internal_phases > 0 ? 1 : 0);
    const parts = partRows(page, shown);
    // A comparison has two rows; the timeline keeps its size when one is opened.
    const least = parts && shown === page.view && hasLaneRoom(page) ? 2 : 0;
    const rows = Math.max(least, own + (parts?.length ?? 0));
    lane.ownRows = comparedRows(page, shown) ? 0 : own;
    return rows === 0 ? 0 : rows * LANE_ROW + 4;
}

/** The bands of the window that was drawn last. @param {Page} page @param {Pane} pane @returns {PhaseMark[]} */
function findPhaseMarks(page, { view, ratio }) {
    return view.c.phase_marks(Number(page.state.internals), laneRows(page, view)).map(({ phase, row, from, to }) => {
        return { phase, row, from: from / ratio, to: to / ratio, name: page.session.string(view.c.phase(phase).name) };
    });
}

/** The parts of a row that lie in the window. @param {Page} page @param {Pane} pane
 * @param {PartRow} range @param {number} row @returns {PhaseMark[]} */
function partMarks(page, pane, { from, to, shift, layers }, row) {
    /** @type {import("./questions.js").Part[]} */
    let parts = [];
    if (page.opening) return [];
    if (!layers) parts = askParts(pane.view).filter((part) => part.to > from && part.from < to);
    else {
        // Only layers in the window; if there are more than pixels, none is wide enough to be drawn.
        const [first, last] = [0, pane.width * pane.ratio - 1].map((x) => pane.view.c.event_of_x(x));
        parts = askLayers(pane.view, first, last, pane.width);
    }
    return parts
        .map((part) => {
            const [left, right] = [Math.max(part.from, from), Math.min(part.to, to)].map((event) =>
                xOfAxis(page, pane.axisOf(event) + shift, pane),
            );
            const { name } = part;
            return { phase: NO_PHASE, row, from: Math.max(0, left), to: Math.min(pane.width, right), name, part };
        })
        .filter((mark) => mark.to > mark.from);
}

/** @param {Page} page @param {Context} context @param {Pane} pane @param {Lane} lane below it */
export function drawLane(page, context, pane, lane) {
    const { plot } = page;
    let top = pane.height;
    if (pane === plot) {
        // After the last event nothing is known.
        const { left } = page.gutter;
        const end = xOfAxis(page, page.view.c.whole(axisNumber(page)).to);
        context.save();
        context.beginPath();
        context.rect(-left, top, left + end, lane.height);
        context.clip();
        drawMemoryLane(page, context, top);
        context.restore();
    }
    top += lane.inset;
    lane.marks = lane.ownRows === 0 ? [] : findPhaseMarks(page, pane);
    const rows = lane.height === lane.inset ? [] : (comparedRows(page, pane.view) ?? partRows(page, pane.view) ?? []);
    rows.forEach((row, i) => {
        const y = top + 3 + (lane.ownRows + i) * LANE_ROW;
        const all = partMarks(page, pane, row, lane.ownRows + i);
        const marks = all.filter((mark) => mark.to - mark.from >= (row.layers ? 3 : 1));
        lane.marks.push(...marks);
        if (row.layers && all.length && !marks.length) {
            pen(context, { fillStyle: themeColor("--dim"), textAlign: "left", textBaseline: "middle" });
            context.fillText("layers: zoom in", 3, y + LANE_ROW / 2);
        }
        if (!row.letter) return;
        pen(context, {
            fillStyle: themeColor(`--mark-${row.letter.toLowerCase()}`),
            textAlign: "right",
            textBaseline: "middle",
        });
        context.fillText(row.letter, -8, y + LANE_ROW / 2);
    });
    const text = themeColor("--text");
    pen(context, { textAlign: "left", textBaseline: "middle" });
    for (const mark of lane.marks) {
        mark.text = boxText(context, mark.part?.names ?? pane.view.phaseNames(mark.phase), mark.to - mark.from - 7);
        if (mark.part?.name.startsWith("layer")) mark.text ||= " "; // a layer is a band without its name too
        if (!mark.text) continue;
        const y = top + 3 + mark.row * LANE_ROW;
        context.fillStyle = phaseColor(mark.name, isDark(page));
        context.fillRect(mark.from, y, mark.to - mark.from - 1, LANE_ROW - 2);
        context.fillStyle = text;
        context.fillText(mark.text, mark.from + 3, y + (LANE_ROW - 2) / 2 + 0.5);
    }
    if (lane.marks.length + rows.length > 0 && lane.marks.every((mark) => !mark.text)) {
        context.fillStyle = themeColor("--dim");
        context.fillText("phases: zoom in to see them", 3, top + 3 + (LANE_ROW - 2) / 2 + 0.5);
    }
    if (pane === plot) placeFold(page, top);
}

/** The button that shows and hides internal phases. @param {Page} page @param {number} top */
function placeFold(page, top) {
    const { state, view } = page;
    const fold = page.ui.laneFold;
    const { lane } = page;
    const internals = view.facts.internal_phases;
    fold.hidden = internals === 0 || lane.height === lane.inset;
    if (fold.hidden) return;
    setText(fold, `${state.internals ? "\u2212" : "+"}${formatCount(internals)}`);
    const verb = state.internals ? "Hide" : "Show";
    const title = `${verb} ${formatPlural(internals, "internal phase")}, such as the compiler's timers`;
    setAll(fold, { title, "aria-label": title, "aria-pressed": state.internals });
    fold.style.top = `${page.gutter.top + top + 3}px`;
}

/** The band under a point; if there are several, the one that was drawn last. @param {Page} page
 * @param {{x: number, y: number}} point @param {Pane} [pane] @param {Lane} [ofPane] @returns {PhaseMark | null} */
export function phaseAt(page, { x, y }, pane = page.plot, ofPane = page.lane) {
    const { height, inset, marks } = ofPane;
    const row = Math.floor((y - pane.height - inset - 3) / LANE_ROW);
    if (height === inset || y < pane.height + inset || y >= pane.height + height || x < 0 || x > pane.width)
        return null;
    const hit = marks.filter(
        (mark) => mark.text && mark.row === row && x >= mark.from - 1 && x <= Math.max(mark.to, mark.from + 2),
    );
    return hit[hit.length - 1] ?? null;
}

/** Both ends of a phase along the axis. @param {Page} page @param {number} phase @param {View} shown */
function phaseRange(page, phase, shown) {
    const { state, view } = page;
    const whole = wholeRange(page);
    const shift = clockShift(page, shown);
    const start = shown.c.phase(phase).start_us - shift;
    const end = shown.c.phase(phase).end_us;
    if (state.axis === "time")
        return { from: Math.max(whole.from, start), to: end < 0 ? whole.to : Math.min(whole.to, end - shift) };
    return {
        from: Math.max(whole.from, view.c.event_at_us(start)),
        to: end < 0 ? whole.to : Math.min(whole.to, view.c.event_at_us(end)),
    };
}

/** A phase in words. @param {Page} page @param {PhaseMark} mark @param {View} [shown] */
export function phaseLines(page, { phase, part }, shown = page.view) {
    const { c, facts } = shown;
    const eventsText = (/** @type {number} */ events, /** @type {number} */ peak) =>
        dotted(formatPlural(events, "event"), `highest ${formatBytes(peak)}`);
    if (part) {
        const us = c.event_us(part.to) - c.event_us(Math.max(0, part.from));
        const when = dotted(facts.has_time ? formatDuration(us) : "", "inferred from what ran");
        return { when, events: eventsText(part.to - part.from, c.live_at(c.peak_in(part.from, part.to))) };
    }
    const { start_us: start, end_us: end } = c.phase(phase);
    const shift = clockShift(page, shown);
    const first = Math.max(0, c.event_at_us(start) + 1);
    const last = end < 0 ? facts.events : c.event_at_us(end) + 1;
    const peak = c.live_at(last > first ? c.peak_in(first, last) : first - 1);
    const from = `from ${formatDuration(start - shift)}`;
    const whole = `${formatDuration(end - start)}, ${from} to ${formatDuration(end - shift)}`;
    const when = end < 0 ? `${from} on; its end was not recorded` : whole;
    return { when, events: eventsText(last - first, peak) };
}

/** A click on a phase selects its range. @param {Page} page @param {PhaseMark} mark @param {View} [shown] */
export function selectPhase(page, { part, phase }, shown = page.view) {
    const shift = clockShift(page, shown);
    const place = (/** @type {number} */ event) =>
        shown === page.view ? axisOfEvent(page, event) : shown.c.event_us(event) - shift;
    const range = part ? { from: place(part.from), to: place(part.to) } : phaseRange(page, phase, shown);
    if (range.to <= range.from) return;
    change(page, { range });
}

export function startLane(/** @type {Page} */ page) {
    page.onClick("lane-fold", () => change(page, { internals: !page.state.internals }));
}
