// Ctrl+K: lists every command by name, with its key.
import { perPage } from "./state.js";
import { make } from "./text.js";

/** @typedef {{name: string, key?: string, act: () => void}} Command */

/** What is offered: the current entries, the entries for every typed text, and the one that Enter takes. */
const offerOf = perPage(
    () =>
        /** @type {{all: Command[], last: (words: string) => Command, found: Command[], at: number}} */ ({
            all: [],
            last: (name) => ({ name, act() {} }),
            found: [],
            at: 0,
        }),
);

function mark(/** @type {Page} */ page) {
    const { ui } = page;
    const offer = offerOf(page);
    Array.from(ui.paletteList.children).forEach((item, i) =>
        item.setAttribute("aria-selected", String(i === offer.at)),
    );
    ui.paletteList.children[offer.at]?.scrollIntoView({ block: "nearest" });
    ui.paletteWords.setAttribute("aria-activedescendant", `palette-${offer.at}${page.suffix}`);
}

/** Finds the entries whose names have every word, followed by those for every text. @param {Page} page */
function find(page) {
    const { ui } = page;
    const offer = offerOf(page);
    const words = ui.paletteWords.value.toLowerCase().split(/\s+/).filter(Boolean);
    offer.found = offer.all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
    if (words.length) offer.found.push(offer.last(ui.paletteWords.value.trim()));
    offer.at = 0;
    ui.paletteList.replaceChildren(
        ...offer.found.map((command, i) => {
            const named = { id: `palette-${i}${page.suffix}`, role: "option" };
            const item = make("li", "", command.name, command.key ? make("kbd", "", command.key) : "", named);
            item.addEventListener("click", () => take(page, command));
            return item;
        }),
    );
    mark(page);
}

function take(/** @type {Page} */ page, /** @type {Command | undefined} */ command) {
    if (!command) return;
    page.ui.palette.close();
    command.act();
}

function pressWords(/** @type {Page} */ page, /** @type {KeyboardEvent} */ event) {
    const offer = offerOf(page);
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter") take(page, offer.found[offer.at]);
    else if (by) offer.at = (offer.at + by + offer.found.length) % offer.found.length;
    else return;
    event.preventDefault();
    mark(page);
}

/** @param {Page} page @param {Command[]} commands @param {(words: string) => Command} last */
export function openPalette(page, commands, last) {
    const { ui } = page;
    Object.assign(offerOf(page), { all: commands, last });
    ui.paletteWords.value = "";
    find(page);
    ui.palette.showModal();
}

export function startPalette(/** @type {Page} */ page) {
    const { ui } = page;
    ui.paletteWords.addEventListener("input", () => find(page));
    ui.paletteWords.addEventListener("keydown", (event) => pressWords(page, event));
}
