// Menus of the header and the toolbar. One is open at a time; Escape, a click elsewhere and a choice close it.
import { consume } from "./text.js";

function startMenu(/** @type {HTMLDetailsElement} */ menu) {
    const summary = /** @type {HTMLElement} */ (menu.querySelector("summary"));
    const close = () => {
        menu.open = false;
        summary.focus();
    };
    menu.addEventListener("keydown", (event) => {
        const items = Array.from(menu.querySelectorAll(".menu-list button:not([hidden])"));
        const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        if (event.key === "Escape" && menu.open) close();
        else if (by && items.length) {
            menu.open = true;
            const at = items.findIndex((item) => item === document.activeElement);
            /** @type {HTMLElement} */ (items[(at + by + items.length) % items.length]).focus();
        } else return;
        consume(event);
    });
    menu.querySelector(".menu-list")?.addEventListener("click", (event) => {
        // The menu stays open to show that the link was copied.
        if (event.target instanceof HTMLButtonElement && event.target.id !== "link") close();
    });
}

/** Makes a button unfold a part of a narrow window: the tools, the legend. @param {HTMLElement} part
 * @param {HTMLButtonElement} open */
function startFold(part, open) {
    const show = (/** @type {boolean} */ shown) => {
        part.classList.toggle("unfolded", shown);
        open.setAttribute("aria-expanded", String(shown));
    };
    open.addEventListener("click", () => show(!part.classList.contains("unfolded")));
    for (const element of [part, open])
        element.addEventListener("keydown", (event) => {
            if (event.key !== "Escape" || !part.classList.contains("unfolded")) return;
            show(false);
            open.focus();
            event.stopPropagation();
        });
    document.addEventListener("pointerdown", ({ target }) => {
        if (target instanceof Node && !part.contains(target) && !open.contains(target)) show(false);
    });
}

export function startMenus(/** @type {Page} */ page) {
    const menus = Array.from(page.ui.app.querySelectorAll("details.menu"));
    const closeOthers = (/** @type {Node} */ of) => {
        for (const menu of menus) if (menu instanceof HTMLDetailsElement && !menu.contains(of)) menu.open = false;
    };
    for (const menu of menus) if (menu instanceof HTMLDetailsElement) startMenu(menu);
    startFold(page.ui.tools, page.ui.toolsOpen);
    startFold(page.ui.legend, page.ui.legendOpen);
    for (const type of ["pointerdown", "focusin"])
        document.addEventListener(type, ({ target }) => target instanceof Node && closeOthers(target));
}
