// Draws B less A over the run, column by column.
import { context2d, pen, themeColor } from "../paint.js";
import { drawBytes, line, makeStage, listen, pill } from "../stage.js";
import { formatChange, formatCount, make } from "../text.js";
import { differenceOf } from "./axes.js";

/** @typedef {{from: number, to: number}} Span */
/** @typedef {import("../stage.js").Hands} Hands */

const GUTTER = { left: 66, right: 16, top: 24, bottom: 22 };

/** Draws the numbers of events below the plot. @param {Context} context @param {View} view @param {Span} window
 * @param {number} width @param {number} y @param {string} title */
function drawEvents(context, view, { from, to }, width, y, title) {
    const most = Math.min(10, Math.max(2, Math.floor(width / 120)));
    const ticks = view.session.ticks("decimal", Math.ceil(from), Math.floor(to), most);
    pen(context, { textBaseline: "top", textAlign: "center", fillStyle: themeColor("--dim") });
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

export function createCurve(/** @type {View} */ a, /** @type {View} */ b, /** @type {Hands} */ hands) {
    const what = make("span", "pane-dim", "highest total of B less that of A, column by column");
    const box = make("section", "pair-curve", make("p", "pair-head", make("b", "", "B \u2212 A"), what));
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
        const known = columns.filter((value) => !Number.isNaN(value));
        const [low, high] = [known.reduce((a, b) => Math.min(a, b), 0), known.reduce((a, b) => Math.max(a, b), 0)];
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
        /** @param {Span} window of A's events @param {import("./axes.js").Anchor[]} anchors @param {boolean} kept
         * @param {number | null} cursor @param {boolean} pixels */
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
            const change = value === 0 ? "the same" : formatChange(value);
            const text = Number.isNaN(value) ? "only one of them runs here" : change;
            pill(context, text, x, -22, stage.width, themeColor("--text"));
        },
    };
}
