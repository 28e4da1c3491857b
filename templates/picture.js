// "Save PNG": what is shown, composed on a canvas: title, timeline with its axes and lane, legend or call sites.
import { hashOfState, writeHash } from "./address.js";
import { context2d, cutText, GUTTER, plot, theme, themeColor } from "./canvas.js";
import { keptText } from "./filter.js";
import { legendUi } from "./legend.js";
import { saveBlob } from "./save.js";
import { PARTS } from "./session.js";
import { flush, heldMoment, isDark, kept, meta, session, state, view } from "./state.js";
import { baseName, copyText, cssColor, deviceName, element, formatBytes, formatShare, setText, stripesOf } from "./text.js";

const PICTURE_ROWS = 8;

/** One line of the legend: a colour and a text. @returns {{color: string, stripes: ReturnType<typeof stripesOf>, text: string}[]} */
function pictureLegend() {
    if (state.colorBy === "site") {
        const moment = heldMoment();
        const live = view.c.live_at(moment);
        view.groups(moment, "parts");
        return view.firstGroups(PICTURE_ROWS).map(({ bytes, site, part }) => {
            const color = view.c.site_color(site, isDark() ? 1 : 0);
            const text = `${session.siteText(site)}${PARTS[part]}  ${formatBytes(bytes)} (${formatShare(bytes, live)})`;
            return { color: cssColor(color), stripes: stripesOf(color), text };
        });
    }
    const steps = legendUi.querySelectorAll(".legend-step");
    const chips = steps.length ? Array.from(steps).filter((_, i) => i % 3 === 0) : legendUi.querySelectorAll("li:not(.legend-key, .legend-more)");
    return Array.from(chips, (chip) => ({
        color: /** @type {HTMLElement | null} */ (chip.querySelector("i"))?.style.background ?? "",
        stripes: [],
        text: steps.length ? /** @type {HTMLElement} */ (chip).title : chip.textContent ?? "",
    }));
}

/** What the picture is of, in a line. */
function pictureTitle() {
    const device = `device ${deviceName(session.devices[state.device].ordinal)}`;
    const filter = kept.active ? ` \u00b7 filtered: ${keptText()}` : "";
    return { title: String(meta.title || meta.file || "Strata"), more: `${device} \u00b7 peak ${formatBytes(view.facts.peak_bytes)} \u00b7 coloured by ${element("color", HTMLSelectElement).selectedOptions[0]?.text ?? state.colorBy}${filter}` };
}

/** @param {CanvasRenderingContext2D} context @param {{color: string, stripes: ReturnType<typeof stripesOf>, text: string}[]} rows @param {number} top @param {number} width */
function drawPictureLegend(context, rows, top, width) {
    const columns = width >= 900 ? 2 : 1;
    const column = (width - 32) / columns;
    rows.forEach(({ color, stripes, text }, i) => {
        const x = 16 + (i % columns) * column;
        const y = top + Math.floor(i / columns) * 20;
        context.fillStyle = color;
        context.fillRect(x, y + 3, 12, 12);
        for (const { ink, wide, from } of stripes) {
            context.fillStyle = ink;
            context.fillRect(x + from, y + 3, wide, 12);
        }
        context.fillStyle = themeColor("--text");
        context.fillText(cutText(context, text, column - 30), x + 20, y + 9);
    });
}

/** Labels of the markers are elements; on the picture they are drawn. @param {CanvasRenderingContext2D} context @param {number} top */
function drawPictureMarkers(context, top) {
    for (const button of plot.markers.querySelectorAll("button")) {
        const middle = button.offsetLeft;
        const half = button.offsetWidth / 2;
        context.fillStyle = getComputedStyle(button).backgroundColor;
        context.beginPath();
        context.roundRect(middle - half, top + button.offsetTop, half * 2, 20, 9);
        context.fill();
        context.fillStyle = getComputedStyle(button).color;
        context.textAlign = "center";
        context.fillText(button.textContent ?? "", middle, top + button.offsetTop + 10);
        context.textAlign = "left";
    }
}

/** The picture as a canvas, in the screen's pixels. */
function makePicture() {
    flush();
    const rows = pictureLegend();
    const width = plot.width + GUTTER.left + GUTTER.right;
    const plotHeight = plot.height + GUTTER.top + GUTTER.bottom;
    const columns = width >= 900 ? 2 : 1;
    const height = 52 + plotHeight + Math.ceil(rows.length / columns) * 20 + 16;
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * plot.ratio);
    canvas.height = Math.round(height * plot.ratio);
    const context = context2d(canvas);
    context.scale(plot.ratio, plot.ratio);
    context.fillStyle = themeColor("--surface");
    context.fillRect(0, 0, width, height);
    const { title, more } = pictureTitle();
    context.textBaseline = "middle";
    context.fillStyle = themeColor("--text");
    context.font = `600 15px ${theme.font}`;
    context.fillText(cutText(context, title, width - 32), 16, 18);
    context.font = `12px ${theme.font}`;
    context.fillStyle = themeColor("--dim");
    context.fillText(cutText(context, more, width - 32), 16, 38);
    const draw = (/** @type {HTMLCanvasElement} */ from, /** @type {number} */ x, /** @type {number} */ y) =>
        context.drawImage(from, x, y, from.width / plot.ratio, from.height / plot.ratio);
    draw(plot.timeline, GUTTER.left, 52 + GUTTER.top);
    draw(plot.axes, 0, 52);
    drawPictureMarkers(context, 52);
    drawPictureLegend(context, rows, 52 + plotHeight, width);
    return canvas;
}

function savePicture() {
    makePicture().toBlob((blob) => {
        if (blob) saveBlob(blob, "png", `-device${deviceName(session.devices[state.device].ordinal)}`);
    }, "image/png");
}

/** Where the page is, for a link: of a file its name, since the folders are nobody else's. */
function pageName() {
    const address = location.href.replace(/#.*/, "");
    return location.protocol === "file:" ? decodeURIComponent(baseName(address)) : address;
}

/** Says for a moment that something was done. @param {HTMLButtonElement} button @param {string} text */
function flashButton(button, text) {
    const before = button.dataset.text ?? button.textContent ?? "";
    button.dataset.text = before;
    setText(button, text);
    setTimeout(() => setText(button, before), 1500);
}

export function startPicture() {
    element("save", HTMLButtonElement).addEventListener("click", savePicture);
    const link = element("link", HTMLButtonElement);
    link.addEventListener("click", async () => {
        writeHash();
        await copyText(pageName() + hashOfState());
        flashButton(link, "Copied");
    });
}
