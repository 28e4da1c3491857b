// Handles between two parts of the page: dragged, moved by arrows, and reset by a double click or Home.

import { consume, setAll } from "./text.js";

/** @typedef {{read: () => number, write: (pixels: number | null) => void, least: number, most: () => number, sign: 1 |
 * -1}} Split pixels of the part that it sizes; null: as the style sheet says; sign 1: it grows with the coordinate */

/** @param {HTMLElement} handle @param {Split} split */
export function makeSplitter(handle, { read, write, least, most, sign }) {
    const upright = handle.getAttribute("aria-orientation") === "vertical";
    /** @type {{at: number, size: number} | null} */
    let drag = null;
    const highest = () => Math.max(least, most());
    const tell = () => {
        const [max, now] = [Math.round(highest()), Math.round(read())];
        setAll(handle, { "aria-valuemin": least, "aria-valuemax": max, "aria-valuenow": now });
    };
    const set = (/** @type {number | null} */ size) => {
        write(size === null ? null : Math.min(Math.max(size, least), highest()));
        tell();
    };
    const place = (/** @type {PointerEvent} */ event) => (upright ? event.clientX : event.clientY);
    handle.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        drag = { at: place(event), size: read() };
        handle.setPointerCapture(event.pointerId);
        consume(event);
    });
    handle.addEventListener("pointermove", (event) => drag && set(drag.size + sign * (place(event) - drag.at)));
    for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => (drag = null));
    handle.addEventListener("dblclick", (event) => {
        event.stopPropagation();
        set(null);
    });
    handle.addEventListener("focus", tell);
    handle.addEventListener("keydown", (event) => {
        const by = { [upright ? "ArrowLeft" : "ArrowUp"]: -16, [upright ? "ArrowRight" : "ArrowDown"]: 16 }[event.key];
        if (by) set(read() + sign * by);
        else if (event.key === "Home") set(null);
        else return;
        consume(event);
    });
    tell();
}
