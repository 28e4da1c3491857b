// On narrow screens the details are a sheet over the lower edge, with three heights: a grip, keys and tabs change them.
import { consume } from "./text.js";

const HEIGHTS = ["low", "half", "full"];

/** A drag over this many pixels changes the sheet by one height. */
const DRAG = 40;

export function startSheet(/** @type {Page} */ page) {
    const grip = page.ui.grip;
    const { dataset } = page.ui.main;
    const nth = () => HEIGHTS.indexOf(dataset.sheet ?? "");
    const set = (/** @type {number} */ height) => (dataset.sheet = HEIGHTS[Math.min(2, Math.max(0, height))]);
    let from = 0;
    let moved = 0;
    grip.addEventListener("pointerdown", (event) => {
        from = event.clientY;
        moved = 0;
        grip.setPointerCapture(event.pointerId);
    });
    grip.addEventListener("pointermove", (event) => {
        if (!grip.hasPointerCapture(event.pointerId) || Math.abs(event.clientY - from) < DRAG) return;
        moved = Math.sign(event.clientY - from);
        set(nth() - moved);
        from += moved * DRAG * 3;
    });
    grip.addEventListener("click", () => {
        if (!moved) set((nth() + 1) % 3);
        moved = 0;
    });
    grip.addEventListener("keydown", (event) => {
        const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
        if (!by) return;
        set(nth() + by);
        consume(event);
    });
    page.ui.side.addEventListener("click", ({ target }) => {
        if (target instanceof Element && target.closest("[role=tab]") && nth() === 0) set(1);
    });
}
