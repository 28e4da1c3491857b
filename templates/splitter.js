// Handles between two parts of the page: dragged, moved by arrows, and reset by a double click or Home.

/** @typedef {{read: () => number, write: (pixels: number | null) => void, least: number, most: () => number, sign: 1 |
 * -1}} Split pixels of the part that it sizes; null: as the style sheet says; sign 1: it grows with the coordinate */

/** @param {HTMLElement} handle @param {Split} split */
export function makeSplitter(handle, { read, write, least, most, sign }) {
    const upright = handle.getAttribute("aria-orientation") === "vertical";
    /** @type {{at: number, size: number} | null} */
    let drag = null;
    const highest = () => Math.max(least, most());
    const tell = () => {
        handle.setAttribute("aria-valuemin", String(least));
        handle.setAttribute("aria-valuemax", String(Math.round(highest())));
        handle.setAttribute("aria-valuenow", String(Math.round(read())));
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
        event.preventDefault();
        event.stopPropagation();
    });
    handle.addEventListener("pointermove", (event) => drag && set(drag.size + sign * (place(event) - drag.at)));
    for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => (drag = null));
    handle.addEventListener("dblclick", (event) => {
        event.stopPropagation();
        set(null);
    });
    handle.addEventListener("focus", tell);
    handle.addEventListener("keydown", (event) => {
        const by =
            {
                ArrowLeft: upright ? -16 : 0,
                ArrowRight: upright ? 16 : 0,
                ArrowUp: upright ? 0 : -16,
                ArrowDown: upright ? 0 : 16,
            }[event.key] ?? 0;
        if (by) set(read() + sign * by);
        else if (event.key === "Home") set(null);
        else return;
        event.preventDefault();
        event.stopPropagation();
    });
    tell();
    return { tell };
}
