// Shared by all timelines: canvases in a box, lines, labels, the axis of bytes, the mouse.
import { clearCanvas, lineScale, pen, sizeCanvas, themeColor, tickUnit } from "./paint.js";
import { BYTE_UNITS, decimalsOf, make, setAll } from "./text.js";

/** @typedef {{zoom: (factor: number, at: number) => void, pan: (share: number) => void, hover: (event: number | null,
 * at: {x: number, y: number}) => void, choose: (event: number, allocation: number | null) => void, fit: () => void}}
 * Hands actions of the mouse */

/** Formats by decimals: making a format takes longer than drawing the labels of an axis. */
const TICK_FORMATS = [0, 1, 2, 3].map(
    (decimals) => new Intl.NumberFormat("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }),
);

/**
 * Makes canvases in a box that takes all room: for the pixels of the plot, its surroundings, and the pointer's marks.
 * @param {string} name @param {HTMLElement} box
 * @param {{left: number, right: number, top: number, bottom: number}} gutter CSS pixels around the plot
 * @param {() => number} below pixels below the plot besides the axis
 */
export function makeStage(name, box, gutter, below) {
    const [pixels, axes, overlay] = ["pixels", "axes", "overlay"].map((part) => make("canvas", `pane-${part}`));
    setAll(pixels, { role: "img", id: `timeline-${name}` });
    const room = make("div", "pane-room", axes, pixels, overlay);
    box.append(room);
    const stage = { room, pixels, axes, overlay, width: 1, height: 1, ratio: 1 };
    const measure = () => {
        const ratio = devicePixelRatio || 1;
        const width = Math.max(40, room.clientWidth - gutter.left - gutter.right);
        const height = Math.max(24, room.clientHeight - gutter.top - gutter.bottom - below());
        if (width === stage.width && height === stage.height && ratio === stage.ratio) return;
        Object.assign(stage, { width, height, ratio });
        sizeCanvas(pixels, width, height, ratio);
        pixels.style.left = `${gutter.left}px`;
        pixels.style.top = `${gutter.top}px`;
        for (const canvas of [axes, overlay]) sizeCanvas(canvas, room.clientWidth, room.clientHeight, ratio);
    };
    /** Clears a canvas so that (0, 0) is the plot's corner. @param {HTMLCanvasElement} canvas */
    const begin = (canvas) => {
        const context = clearCanvas(canvas, stage.ratio, gutter);
        context.lineWidth = 1;
        return context;
    };
    return { stage, measure, begin };
}

/** @param {Context} context @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
export function line(context, x0, y0, x1, y1) {
    context.beginPath();
    context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
    context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    context.stroke();
}

/**
 * Draws a label on a coloured ground, kept inside of the plot.
 * @param {Context} context @param {string} text
 * @param {number} x its middle
 * @param {number} y
 * @param {number} width of the plot
 * @param {string} ground
 */
export function pill(context, text, x, y, width, ground) {
    const half = context.measureText(text).width / 2 + 9;
    const middle = Math.min(Math.max(x, half), width - half);
    context.fillStyle = ground;
    context.beginPath();
    context.roundRect(middle - half, y, half * 2, 20, 10);
    context.fill();
    pen(context, { fillStyle: themeColor("--surface"), textAlign: "center", textBaseline: "middle" });
    context.fillText(text, middle, y + 10.5);
    return { from: middle - half, to: middle + half };
}

/** Draws the labels of bytes for the lines that the module draws behind a stack, one in 70 of its pixels; with `lines`,
 * draws the lines too. @param {Context} context @param {View} view @param {number} low @param {number} high
 * @param {{width: number, height: number, ratio: number}} size @param {boolean} lines */
export function drawBytes(context, view, low, high, { width, height, ratio }, lines) {
    const room = Math.min(12, Math.max(2, Math.floor((height * ratio) / (70 * lineScale(ratio)))));
    const [most, base] = [Math.max(high, -low), Math.max(0, low)];
    // The module's axes begin at zero; the same ticks are used below it.
    const share = (most - base) / (high - low);
    const above = view.session.ticks("bytes", base, most, Math.max(2, Math.round(room * share)));
    const step = above.length > 1 ? above[1] - above[0] : above[0] || most;
    const below = above.filter((bytes) => bytes > 0 && -bytes >= low).map((bytes) => -bytes);
    const ticks = [...above.filter((bytes) => bytes <= high), ...below];
    const unit = tickUnit(step, above[above.length - 1] ?? most);
    const decimals = decimalsOf(step / 1024 ** unit, 3);
    pen(context, { textBaseline: "middle", textAlign: "right" });
    for (const bytes of ticks) {
        const y = height * (1 - (bytes - low) / (high - low));
        context.strokeStyle = themeColor("--line");
        if (lines) line(context, 0, y, width, y);
        context.fillStyle = themeColor("--dim");
        context.fillText(TICK_FORMATS[decimals].format(bytes / 1024 ** unit).replace("-", "\u2212"), -10, y);
    }
    context.fillStyle = themeColor("--text");
    context.fillText(BYTE_UNITS[unit], -10, -14);
}

/** How far a wheel has turned, in pixels. @param {WheelEvent} event */
export function wheelPixels({ deltaMode, deltaX, deltaY }) {
    const pixels = deltaMode === 1 ? 30 : deltaMode === 2 ? 400 : 1;
    return { along: deltaX * pixels, across: deltaY * pixels };
}

/** Listens to the mouse on a plot. @param {ReturnType<typeof makeStage>["stage"]} stage
 * @param {(x: number, y: number) => {event: number, allocation: number | null} | null} at @param {Hands} hands */
export function listen(stage, at, hands) {
    /** @type {{x: number, moved: boolean} | null} */
    let drag = null;
    const place = (/** @type {MouseEvent} */ event) => {
        const box = stage.pixels.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const { room } = stage;
    room.addEventListener("pointerdown", (event) => {
        const { x, y } = place(event);
        if (event.button !== 0 || x < 0 || y < 0 || x >= stage.width || y > stage.height + 60) return;
        drag = { x, moved: false };
        room.setPointerCapture(event.pointerId);
    });
    room.addEventListener("pointermove", (event) => {
        const { x, y } = place(event);
        if (drag && (drag.moved || Math.abs(x - drag.x) > 3)) {
            hands.pan((drag.x - x) / stage.width);
            drag = { x, moved: true };
        } else hands.hover(x >= 0 && x < stage.width ? (at(x, y)?.event ?? null) : null, { x, y });
    });
    room.addEventListener("pointerup", (event) => {
        const finished = drag;
        drag = null;
        const { x, y } = place(event);
        const found = finished && !finished.moved ? at(x, y) : null;
        if (found) hands.choose(found.event, found.allocation);
    });
    room.addEventListener("pointercancel", () => (drag = null));
    room.addEventListener("pointerleave", (event) => !drag && hands.hover(null, place(event)));
    room.addEventListener("dblclick", hands.fit);
    room.addEventListener(
        "wheel",
        (event) => {
            event.preventDefault();
            const { along, across } = wheelPixels(event);
            const at = Math.min(1, Math.max(0, place(event).x / stage.width));
            if (event.shiftKey || Math.abs(along) > Math.abs(across)) hands.pan((along || across) / stage.width);
            else hands.zoom(Math.exp(-across * (event.ctrlKey ? 0.01 : 0.002)), at);
        },
        { passive: false },
    );
}
