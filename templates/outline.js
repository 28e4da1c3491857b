// A comparison of two ranges in the timeline: A is drawn, and B is outlined over it, beginning where A begins.
import { strokeLine, themeColor, xOfAxis, xOfEvent, xOfMoment, yOfBytes } from "./canvas.js";
import { comparedRanges, LETTERS } from "./ends.js";
import { axisNumber, axisOfEvent } from "./state.js";
import { setWindow } from "./window.js";
import { cutText, pen } from "./paint.js";
import { formatBytes } from "./text.js";

const FLAG_MOST = 140;

/** Draws a letter on a plate, with words beside it, above places that are taken. Returns the place that it takes.
 * @param {Page} page @param {Context} context @param {string} letter @param {string} text @param {number} x
 * @param {number} y @param {import("./canvas.js").Room[]} [taken] */
function drawFlag(page, context, letter, text, x, y, taken = []) {
    const words = text ? cutText(context, text, FLAG_MOST) : "";
    const width = 18 + (words ? context.measureText(words).width + 8 : 0);
    const left = Math.min(Math.max(x - 9, -9), page.plot.width + 12 - width);
    const beside = taken.filter((other) => left < other.right && left + width > other.left);
    while (beside.some(({ bottom, top }) => y < bottom && y + 17 > top)) y -= 19;
    context.fillStyle = themeColor(`--mark-${letter.toLowerCase()}`);
    context.fillRect(left, y, width, 17);
    pen(context, { fillStyle: themeColor("--surface"), textAlign: "left", textBaseline: "middle" });
    context.fillText(letter, left + 5, y + 9);
    if (words) context.fillText(words, left + 20, y + 9);
    return { left, right: left + width, top: y, bottom: y + 17 };
}

/** Draws the marks with their notes. @param {Page} page @param {Context} context @param {boolean} lines
 * @param {Pane} [pane] */
export function drawMarks(page, context, lines, pane = page.plot) {
    /** @type {import("./canvas.js").Room[]} */
    const flags = [];
    page.state.marks.forEach(({ event, note }, i) => {
        const x = xOfMoment(page, event, pane);
        if (x < 0 || x > pane.width) return;
        pen(context, { strokeStyle: themeColor(`--mark-${LETTERS[i].toLowerCase()}`), lineWidth: 2 });
        if (lines) strokeLine(page, context, x, 0, x, pane.height);
        context.lineWidth = 1 / pane.ratio;
        flags.push(drawFlag(page, context, LETTERS[i], note, x, pane.height - 18, flags));
    });
    pane.flags = flags;
}

/** B of a comparison of two ranges, for the module to draw. @param {Page} page */
export function outlineRequest(page) {
    const ranges = comparedRanges(page);
    if (!ranges) return {};
    const [from, to] = [ranges.b.from, ranges.b.to].map((event) => axisOfEvent(page, event));
    return { outline_from: from, outline_to: to, outline_shift: from - axisOfEvent(page, ranges.a.from) };
}

/** Draws B's totals in A's place, and names the highest moment of both. @param {Page} page @param {Context} context
 * @param {boolean} line the outline itself is not drawn yet */
export function drawOutline(page, context, line) {
    const { kept, plot, view } = page;
    const ranges = comparedRanges(page);
    if (!ranges) return;
    const { a, b } = ranges;
    const shift = axisOfEvent(page, b.from) - axisOfEvent(page, a.from);
    const place = (/** @type {number} */ event) => xOfAxis(page, axisOfEvent(page, event) - shift);
    const [from, to] = [Math.max(0, place(b.from)), Math.min(plot.width, place(b.to))];
    if (to <= from) return;
    if (line) traceOutline(page, context, from, to, shift);
    const [peakA, peakB] = [view.c.peak_in(a.from, a.to), view.c.peak_in(b.from, b.to)];
    const [most, other] = [view.c.live_at(peakA), view.c.live_at(peakB)];
    const change = other === most ? "" : ` (${other > most ? "+" : "\u2212"}${formatBytes(Math.abs(other - most))})`;
    const near = Math.abs(yOfBytes(page, most) - yOfBytes(page, other)) < 19;
    /** @param {string} letter @param {string} text @param {number} x @param {number} bytes */
    const flag = (letter, text, x, bytes) => {
        const y = Math.min(plot.height - 40, Math.max(2, yOfBytes(page, bytes)));
        if (x < 0 || x > plot.width) return;
        drawFlag(page, context, letter, text, x + 14, letter === "A" && near ? y + 19 : y);
    };
    if (kept.active) return;
    flag("B", `${formatBytes(other)}${change}`, place(peakB), other);
    flag("A", formatBytes(most), xOfEvent(page, peakA), most);
}

/**
 * @param {Page} page @param {Context} context @param {number} from
 * @param {number} to CSS pixels
 * @param {number} shift along the axis
 */
function traceOutline(page, context, from, to, shift) {
    const { kept, plot, state, view } = page;
    const curve = view.curve(axisNumber(page), state.from + shift, state.to + shift, plot.timeline.width, kept.active);
    context.save();
    context.beginPath();
    for (let x = Math.floor(from * plot.ratio); x < Math.ceil(to * plot.ratio); x++) {
        const y = Math.min(plot.height + 4, Math.max(-4, yOfBytes(page, curve[x])));
        context.lineTo(x / plot.ratio, y);
        context.lineTo((x + 1) / plot.ratio, y);
    }
    context.lineJoin = "round";
    for (const [color, width] of /** @type {[string, number][]} */ ([
        ["--surface", 4.5],
        ["--mark-b", 2],
    ])) {
        pen(context, { strokeStyle: themeColor(color), lineWidth: width });
        context.stroke();
    }
    context.restore();
}

/** Moves the window so that it holds A, and B where it is longer. @param {Page} page */
export function showOutline(page) {
    const ranges = comparedRanges(page);
    if (!ranges) return;
    const { a, b } = ranges;
    const begin = axisOfEvent(page, a.from);
    const width = Math.max(axisOfEvent(page, a.to) - begin, axisOfEvent(page, b.to) - axisOfEvent(page, b.from));
    setWindow(page, begin - width * 0.02, begin + width * 1.02);
}
