// The lane below the timeline: what the program said it was doing, as nested bands. The module finds the bands of the
// window (at most a few per pixel); here they are drawn on the canvas of the axes.
import { cutText, GUTTER, plot, themeColor, xOfAxis } from "./canvas.js";
import { phaseIds, phaseText } from "./describe.js";
import { phaseColor } from "./paint.js";
import { comparedRanges } from "./ends.js";
import { drawMemoryLane, memoryLaneHeight } from "./memory_lane.js";
import { askParts } from "./questions.js";
import { axisOfEvent, change, isDark, session, state, view, wholeRange } from "./state.js";
import { element, formatBytes, formatCount, formatDuration, formatPlural, setText } from "./text.js";

const LANE_ROW = 18;

const LANE_ROWS_PLAIN = 4;

const LANE_ROWS_ALL = 10;

/** @typedef {{phase: number, row: number, from: number, to: number, name: string, text?: string, part?: import("./questions.js").Part}} PhaseMark CSS pixels of the timeline */

/** Parts of steps, where the program annotated nothing or two ranges are compared, are bands without a phase. */
const NO_PHASE = -1;

export const lane = {
    fold: element("lane-fold", HTMLButtonElement),
    /** CSS pixels between the timeline and its axis; of them, what lies above the phases. */
    height: 0,
    inset: 0,
    /** Rows of the program's own phases, the first ones. */
    ownRows: 0,
    /** Bands of the last drawing. @type {PhaseMark[]} */
    marks: [],
    /** The one under the pointer. @type {PhaseMark | null} */
    hover: null,
};

/** Rows that the lane has room for. */
function laneRows() {
    const rows = state.internals ? view.facts.all_phase_rows : view.facts.phase_rows;
    return Math.min(rows, state.internals ? LANE_ROWS_ALL : LANE_ROWS_PLAIN);
}

/** Whether anything happened in the recorded time; of the device with the index. @type {{device: number, any: boolean}} */
const lanePhases = { device: -1, any: false };

function hasPhases() {
    if (lanePhases.device !== state.device) {
        const end = view.c.event_us(view.facts.events - 1);
        lanePhases.device = state.device;
        lanePhases.any = phaseIds().some((phase) => {
            const until = view.c.phase(phase).end_us;
            return view.c.phase(phase).start_us <= end && (until === -1 || until > 0);
        });
    }
    return lanePhases.any;
}

/** Rows of parts below the program's own phases: each has its events and where it begins instead. @returns {{from: number, to: number, shift: number, letter: string}[]} */
function partRows() {
    if (view.facts.events < 2 || !askParts(view).length) return [];
    const ranges = comparedRanges();
    if (ranges) {
        const { a, b } = ranges;
        return [{ ...a, shift: 0, letter: "A" }, { ...b, shift: axisOfEvent(a.from) - axisOfEvent(b.from), letter: "B" }];
    }
    return hasPhases() ? [] : [{ from: -1, to: view.facts.events, shift: 0, letter: "" }];
}

/** Height in CSS pixels; none without a timeline; where there is nothing but what is folded away, one row for its button. */
export function laneHeight() {
    lane.inset = memoryLaneHeight();
    return lane.inset + phasesHeight();
}

function phasesHeight() {
    const folded = view.facts.internal_phases > 0;
    const own = view.facts.events < 2 || !hasPhases() ? 0 : Math.max(laneRows(), folded ? 1 : 0);
    const rows = own + partRows().length;
    lane.ownRows = own;
    return rows === 0 ? 0 : rows * LANE_ROW + 4;
}

/** The bands of the window that was drawn last. @param {number} ratio device pixels per CSS pixel @returns {PhaseMark[]} */
function findPhaseMarks(ratio) {
    return view.phaseMarks(state.internals, laneRows()).map(({ phase, row, from, to }) => {
        return { phase, row, from: from / ratio, to: to / ratio, name: session.string(view.c.phase(phase).name) };
    });
}

/** Parts of a row that are at least a pixel wide in the window. @param {ReturnType<typeof partRows>[0]} range @param {number} row @returns {PhaseMark[]} */
function partMarks({ from, to, shift }, row) {
    return askParts(view).filter((part) => part.to > from && part.from < to).map((part) => {
        const [left, right] = [Math.max(part.from, from), Math.min(part.to, to)].map((event) => xOfAxis(axisOfEvent(event) + shift));
        return { phase: NO_PHASE, row, from: Math.max(0, left), to: Math.min(plot.width, right), name: part.name, part };
    }).filter((mark) => mark.to - mark.from >= 1);
}

/** What of a name is written in a box: all of it, else "#5" of "ProfilerStep#5", else as much as can be recognised; "": nothing, and there is no box, as in the PNG. @param {CanvasRenderingContext2D} context @param {string} name @param {number} room */
function boxText(context, name, room) {
    const fits = (/** @type {string} */ text) => context.measureText(text).width <= room;
    const number = /#[^#]+$/.exec(name)?.[0];
    if (room < 8) return "";
    return number && !fits(name) && fits(number) ? number : fits(name) || room >= 40 ? cutText(context, name, room) : "";
}

/** @param {CanvasRenderingContext2D} context @param {number} top y of the lane */
export function drawLane(context, top) {
    drawMemoryLane(context, top);
    top += lane.inset;
    lane.marks = lane.ownRows === 0 ? [] : findPhaseMarks(plot.ratio);
    const rows = lane.height === lane.inset ? [] : partRows();
    rows.forEach((row, i) => {
        const y = top + 3 + (lane.ownRows + i) * LANE_ROW;
        lane.marks.push(...partMarks(row, lane.ownRows + i));
        if (!row.letter) return;
        context.fillStyle = themeColor(`--mark-${row.letter.toLowerCase()}`);
        context.textAlign = "right";
        context.textBaseline = "middle";
        context.fillText(row.letter, -8, y + LANE_ROW / 2);
    });
    const text = themeColor("--text");
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (const mark of lane.marks) {
        mark.text = boxText(context, phaseText(mark.name), mark.to - mark.from - 7);
        if (!mark.text) continue;
        const y = top + 3 + mark.row * LANE_ROW;
        context.fillStyle = phaseColor(mark.name, isDark());
        context.fillRect(mark.from, y, mark.to - mark.from - 1, LANE_ROW - 2);
        context.fillStyle = text;
        context.fillText(mark.text, mark.from + 3, y + (LANE_ROW - 2) / 2 + 0.5);
    }
    placeFold(top);
}

/** The button that shows and hides internal phases. @param {number} top */
function placeFold(top) {
    const internals = view.facts.internal_phases;
    lane.fold.hidden = internals === 0 || lane.height === lane.inset;
    if (lane.fold.hidden) return;
    setText(lane.fold, `${state.internals ? "\u2212" : "+"}${formatCount(internals)}`);
    lane.fold.title = `${state.internals ? "Hide" : "Show"} ${formatPlural(internals, "internal phase")}, such as the compiler's timers`;
    lane.fold.setAttribute("aria-label", lane.fold.title);
    lane.fold.setAttribute("aria-pressed", String(state.internals));
    lane.fold.style.top = `${GUTTER.top + top + 3}px`;
}

/** The band under a point, the last drawn of several. @param {{x: number, y: number}} point @returns {PhaseMark | null} */
export function phaseAt({ x, y }) {
    const row = Math.floor((y - plot.height - lane.inset - 3) / LANE_ROW);
    if (lane.height === lane.inset || y < plot.height + lane.inset || y >= plot.height + lane.height || x < 0 || x > plot.width) return null;
    const hit = lane.marks.filter((mark) => mark.text && mark.row === row && x >= mark.from - 1 && x <= Math.max(mark.to, mark.from + 2));
    return hit[hit.length - 1] ?? null;
}

/** Both ends of a phase along the axis. @param {number} phase */
function phaseRange(phase) {
    const whole = wholeRange();
    const start = view.c.phase(phase).start_us;
    const end = view.c.phase(phase).end_us;
    if (state.axis === "time") return { from: Math.max(whole.from, start), to: end < 0 ? whole.to : Math.min(whole.to, end) };
    return { from: Math.max(whole.from, view.c.event_at_us(start)), to: end < 0 ? whole.to : Math.min(whole.to, view.c.event_at_us(end)) };
}

/** A phase in words. @param {PhaseMark} mark */
export function phaseLines({ phase, part }) {
    if (part) {
        const time = view.facts.has_time ? `${formatDuration(view.c.event_us(part.to) - view.c.event_us(Math.max(0, part.from)))} \u00b7 ` : "";
        return { when: `${time}told by what ran (inferred)`, events: `${formatPlural(part.to - part.from, "event")} \u00b7 highest ${formatBytes(view.c.live_at(view.c.peak_in(part.from, part.to)))}` };
    }
    const start = view.c.phase(phase).start_us;
    const end = view.c.phase(phase).end_us;
    const first = Math.max(0, view.c.event_at_us(start) + 1);
    const last = end < 0 ? view.facts.events : view.c.event_at_us(end) + 1;
    const peak = view.c.live_at(last > first ? view.c.peak_in(first, last) : first - 1);
    return {
        when: end < 0 ? `from ${formatDuration(start)} on; its end was not recorded` : `${formatDuration(end - start)}, from ${formatDuration(start)} to ${formatDuration(end)}`,
        events: `${formatPlural(last - first, "event")} \u00b7 highest ${formatBytes(peak)}`,
    };
}

/** A click on a phase selects its range. @param {PhaseMark} mark */
export function selectPhase(mark) {
    const range = mark.part ? { from: axisOfEvent(mark.part.from), to: axisOfEvent(mark.part.to) } : phaseRange(mark.phase);
    if (range.to <= range.from) return;
    change({ range });
}

export function startLane() {
    lane.fold.addEventListener("click", () => change({ internals: !state.internals }));
}
