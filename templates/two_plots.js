// The timelines of two recordings, each a factory's own canvases, and the curve of their difference.
import { DRAW_DARK, DRAW_RESERVED } from "./api.js";
import { boxText, context2d, lineScale, phaseColor, themeColor } from "./paint.js";
import { askSteps } from "./questions.js";
import { COLORINGS } from "./state.js";
import { formatBytes, formatCount, formatPlural, make, setText } from "./text.js";
import { differenceOf } from "./two_axes.js";
import { drawBytes, line, listen, makeStage, pill } from "./two_stage.js";

/** @typedef {import("./session.js").View} View */
/** @typedef {{letter: "a" | "b", view: View, moment: number, file: string}} Side */
/** @typedef {{from: number, to: number}} Span */
/**
 * @typedef {{top: number, dark: boolean, color: string, window: Span, cursor: number | null, held: boolean}} Shown what
 * a timeline shows; the cursor is an event with fractions
 */
/** @typedef {import("./two_stage.js").Hands} Hands */

const GUTTER = { left: 66, right: 16, top: 24, bottom: 22 };
const LANE_ROW = 18;
const LANE_ROWS = 2;

/**
 * Event numbers below the plot.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Span} window
 * @param {number} width
 * @param {number} y
 * @param {string} title
 */
function drawEvents(context, view, { from, to }, width, y, title) {
    const ticks = view.session.ticks(
        "decimal",
        Math.ceil(from),
        Math.floor(to),
        Math.min(10, Math.max(2, Math.floor(width / 120))),
    );
    context.textBaseline = "top";
    context.textAlign = "center";
    context.fillStyle = themeColor("--dim");
    const room = context.measureText(title).width + 14;
    for (const event of ticks.filter((tick) => tick >= 0)) {
        const x = ((event - from) / (to - from)) * width;
        context.strokeStyle = themeColor("--axis");
        line(context, x, y, x, y + 4);
        const text = formatCount(event);
        const half = context.measureText(text).width / 2;
        if (x + half < width - room) context.fillText(text, x, y + 6);
    }
    context.textAlign = "right";
    context.fillText(title, width, y + 6);
}

/* ---- one recording ---- */

/** Bands below a timeline: what the program noted, else the steps that were found. @param {View} view */
function makeLane(view) {
    const rows =
        view.facts.phase_rows > 0 ? Math.min(LANE_ROWS, view.facts.phase_rows) : askSteps(view).length > 1 ? 1 : 0;
    const named = view.facts.phase_rows > 0;
    /** @param {Span} window @param {number} width @param {{x: number, ratio: number}} drawn */
    const marks = (window, width, drawn) => {
        if (named)
            return view.phaseMarks(false, rows).map(({ phase, row, from, to }) => {
                return {
                    row,
                    from: drawn.x + from / drawn.ratio,
                    to: drawn.x + to / drawn.ratio,
                    names: view.phaseNames(phase),
                };
            });
        const x = (/** @type {number} */ event) => ((event - window.from) / (window.to - window.from)) * width;
        const steps = askSteps(view).map(({ name, from, to }) => ({
            row: 0,
            from: Math.max(0, x(from)),
            to: Math.min(width, x(to)),
            names: [`step ${name}`, name],
        }));
        return steps.filter(({ from, to }) => to - from > 1);
    };
    return { rows, height: rows ? rows * LANE_ROW + 4 : 0, marks };
}

/** @param {Side} side @param {Hands} hands */
export function createTimeline(side, hands) {
    const { view, letter } = side;
    const lane = makeLane(view);
    const box = make("section", "two-plot");
    box.dataset.side = letter;
    const head = make("p", "two-head");
    const device = view.session.devices[view.device].ordinal;
    const facts = make(
        "span",
        "two-dim",
        [
            `device ${device}`,
            formatPlural(view.facts.events, "event"),
            `peak ${formatBytes(view.facts.peak_bytes)}`,
        ].join(" \u00b7 "),
    );
    const says = make("span", "two-says");
    head.append(
        make("b", `letter letter-${letter}`, letter.toUpperCase()),
        make("b", "two-file", side.file),
        facts,
        says,
    );
    box.append(head);
    const { stage, measure, begin } = makeStage(letter, box, GUTTER, () => lane.height);
    stage.pixels.setAttribute(
        "aria-label",
        `Allocations of ${letter.toUpperCase()} over the run; highest ${formatBytes(view.facts.peak_bytes)}.`,
    );
    const whole = view.c.whole(0);
    /** Where the run lies in the plot, in its pixels, and what it shows there. */
    const drawn = { x: 0, width: 0, from: 0, to: 1 };
    /** @type {Shown} */
    let shown = { top: 1, dark: false, color: "site", window: { from: 0, to: 1 }, cursor: null, held: false };

    /** The window may reach beyond the run: what is drawn is the run's part of it, on whole pixels. */
    const clip = () => {
        const { from, to } = shown.window;
        const scale = stage.pixels.width / (to - from);
        const x0 = Math.max(0, Math.round((whole.from - from) * scale));
        const x1 = Math.min(stage.pixels.width, Math.round((whole.to - from) * scale));
        Object.assign(drawn, { x: x0, width: Math.max(0, x1 - x0), from: from + x0 / scale, to: from + x1 / scale });
    };
    const xOf = (/** @type {number} */ event) =>
        ((event - shown.window.from) / (shown.window.to - shown.window.from)) * stage.width;

    const drawPixels = () => {
        const context = context2d(stage.pixels);
        context.clearRect(0, 0, stage.pixels.width, stage.pixels.height);
        clip();
        if (drawn.width === 0) return;
        const { image } = view.draw({
            axis: 0,
            from: drawn.from,
            to: drawn.to,
            width: drawn.width,
            height: stage.pixels.height,
            bottom_bytes: 0,
            top_bytes: shown.top,
            flags: (shown.dark ? DRAW_DARK : 0) | DRAW_RESERVED,
            color_by: COLORINGS.indexOf(shown.color),
            capacity_bytes: 0,
            scale: lineScale(stage.ratio),
        });
        context.putImageData(image, drawn.x, 0);
    };
    const drawLane = (/** @type {CanvasRenderingContext2D} */ context) => {
        if (lane.rows === 0 || drawn.width === 0) return;
        for (const { row, from, to, names } of lane.marks(shown.window, stage.width, {
            x: drawn.x / stage.ratio,
            ratio: stage.ratio,
        })) {
            const text = boxText(context, names, to - from - 9);
            if (!text) continue;
            const y = stage.height + 3 + row * LANE_ROW;
            context.fillStyle = phaseColor(names[0], shown.dark);
            context.fillRect(from, y, to - from - 1, LANE_ROW - 2);
            context.fillStyle = themeColor("--text");
            context.textAlign = "left";
            context.textBaseline = "middle";
            context.fillText(text, from + 4, y + LANE_ROW / 2 - 0.5);
        }
    };
    const drawAxes = () => {
        const context = begin(stage.axes);
        drawBytes(context, view, 0, shown.top, stage, false);
        drawLane(context);
        context.strokeStyle = themeColor("--axis");
        line(context, 0, 0, 0, stage.height);
        line(context, 0, stage.height, stage.width, stage.height);
        drawEvents(context, view, shown.window, stage.width, stage.height + lane.height, "event");
    };
    /** Peak and compared moment, then the cursor, which may lie over them. */
    const drawOverlay = () => {
        const context = begin(stage.overlay);
        const { peak_event, peak_bytes } = view.facts;
        const marks = [{ event: peak_event, text: `Peak ${formatBytes(peak_bytes)}` }];
        if (side.moment !== peak_event)
            marks.push({ event: side.moment, text: `Compared ${formatBytes(view.c.live_at(side.moment))}` });
        let taken = { from: Infinity, to: -Infinity };
        for (const { event, text } of marks) {
            const x = xOf(event + 0.5);
            if (x < 0 || x > stage.width) continue;
            context.strokeStyle = themeColor("--dim");
            context.setLineDash([3, 3]);
            line(context, x, 0, x, stage.height);
            context.setLineDash([]);
            const half = context.measureText(text).width / 2 + 9;
            if (x + half > taken.from && x - half < taken.to) continue;
            taken = pill(context, text, x, -22, stage.width, themeColor("--text"));
        }
        if (shown.cursor === null) return;
        const x = xOf(shown.cursor + 0.5);
        if (x < 0 || x > stage.width) return;
        const color = themeColor(`--mark-${letter}`);
        context.strokeStyle = color;
        context.lineWidth = shown.held ? 2 : 1;
        line(context, x, 0, x, stage.height + lane.height);
        pill(context, formatBytes(view.c.live_at(eventOf(shown.cursor))), x, 4, stage.width, color);
    };
    /** The event whose state a place along the axis shows. @param {number} place */
    const eventOf = (place) => Math.min(view.facts.events - 1, Math.max(-1, Math.floor(place)));
    /** @param {number} x @param {number} y CSS pixels of the plot */
    const at = (x, y) => {
        const column = Math.floor(x * stage.ratio) - drawn.x;
        const row = Math.floor(y * stage.ratio);
        if (column < 0 || column >= drawn.width) return null;
        if (row < 0 || row >= stage.pixels.height) return { event: view.c.event_of_x(column), allocation: null };
        const { event, allocation } = view.pick(column, row);
        return { event, allocation };
    };
    listen(stage, at, hands);
    return {
        box,
        at,
        measure,
        eventOf,
        /** @param {Shown} next @param {boolean} pixels whether more than the cursor is another */
        draw(next, pixels) {
            shown = next;
            if (pixels) {
                measure();
                drawPixels();
                drawAxes();
            }
            drawOverlay();
            const cursor = shown.cursor === null ? null : eventOf(shown.cursor);
            setText(
                says,
                cursor === null ? "" : cursor < 0 ? "before the first event" : `event ${formatCount(cursor)}`,
            );
        },
    };
}

/* ---- the difference ---- */

/** @param {View} a @param {View} b @param {Hands} hands */
export function createDifference(a, b, hands) {
    const box = make("section", "two-plot");
    const head = make("p", "two-head");
    head.append(
        make("b", "two-file", "B \u2212 A"),
        make("span", "two-dim", "highest total of B less that of A, column by column"),
    );
    box.append(head);
    const { stage, measure, begin } = makeStage("difference", box, GUTTER, () => 0);
    /** @type {Span} */
    let shown = { from: 0, to: 1 };
    let columns = new Float64Array(0);
    /** @param {number} x */
    const at = (x) => ({ event: shown.from + (x / stage.width) * (shown.to - shown.from) - 0.5, allocation: null });
    listen(stage, at, hands);

    const drawCurve = () => {
        const context = context2d(stage.pixels);
        context.setTransform(1, 0, 0, 1, 0, 0);
        context.clearRect(0, 0, stage.pixels.width, stage.pixels.height);
        let [low, high] = [0, 0];
        for (const value of columns) {
            if (value < low) low = value;
            if (value > high) high = value;
        }
        const margin = (high - low) * 0.06 || 1;
        const [bottom, top] = [low < 0 ? low - margin : 0, high > 0 || low === 0 ? high + margin : 0];
        const y = (/** @type {number} */ bytes) => stage.pixels.height * (1 - (bytes - bottom) / (top - bottom));
        for (const sign of [1, -1]) {
            context.fillStyle = themeColor(sign > 0 ? "--more" : "--less");
            columns.forEach((value, x) => {
                if (value * sign > 0)
                    context.fillRect(x, Math.min(y(0), y(value)), 1, Math.max(1, Math.abs(y(value) - y(0))));
            });
        }
        return { bottom, top };
    };
    return {
        box,
        measure,
        /**
         * @param {Span} window of A's events
         * @param {import("./two_axes.js").Anchor[]} anchors
         * @param {boolean} kept
         * @param {number | null} cursor
         * @param {boolean} pixels
         */
        draw(window, anchors, kept, cursor, pixels) {
            shown = window;
            if (pixels) {
                measure();
                columns = differenceOf(a, b, anchors, window, stage.pixels.width, kept);
                const { bottom, top } = drawCurve();
                const context = begin(stage.axes);
                drawBytes(context, a, bottom, top, stage, true);
                context.strokeStyle = themeColor("--axis");
                line(context, 0, 0, 0, stage.height);
                const zero = stage.height * (1 - (0 - bottom) / (top - bottom));
                line(context, 0, zero, stage.width, zero);
                drawEvents(context, a, window, stage.width, stage.height, "event of A");
            }
            const context = begin(stage.overlay);
            const x = cursor === null ? -1 : ((cursor + 0.5 - window.from) / (window.to - window.from)) * stage.width;
            if (x < 0 || x > stage.width) return;
            context.strokeStyle = themeColor("--cross");
            line(context, x, 0, x, stage.height);
            const value = columns[Math.min(columns.length - 1, Math.floor(x * stage.ratio))];
            const text = Number.isNaN(value)
                ? "one of them does not run here"
                : value === 0
                  ? "the same"
                  : `${value > 0 ? "+" : "\u2212"}${formatBytes(Math.abs(value))}`;
            pill(context, text, x, -22, stage.width, themeColor("--text"));
        },
    };
}
