// Ctrl+K: every command by its name, with its key.
import { element, make } from "./text.js";

/** @typedef {{name: string, key?: string, act: () => void}} Command */

const ui = {
    dialog: element("palette", HTMLDialogElement),
    words: element("palette-words", HTMLInputElement),
    list: element("palette-list", HTMLUListElement),
};

/** What is offered now, and which of it Enter takes. @type {{all: Command[], found: Command[], at: number}} */
const offer = { all: [], found: [], at: 0 };

function mark() {
    Array.from(ui.list.children).forEach((item, i) => item.setAttribute("aria-selected", String(i === offer.at)));
    ui.list.children[offer.at]?.scrollIntoView({ block: "nearest" });
    ui.words.setAttribute("aria-activedescendant", offer.found.length ? `palette-${offer.at}` : "");
}

/** Those whose names have every word. */
function find() {
    const words = ui.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    offer.found = offer.all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
    offer.at = 0;
    ui.list.replaceChildren(...offer.found.map((command, i) => {
        const item = make("li", "", command.name);
        item.id = `palette-${i}`;
        if (command.key) item.append(make("kbd", "", command.key));
        item.addEventListener("click", () => take(command));
        return item;
    }));
    if (!offer.found.length) ui.list.append(make("li", "palette-none", "No command has these words"));
    for (const item of ui.list.children) item.setAttribute("role", "option");
    mark();
}

/** @param {Command | undefined} command */
function take(command) {
    if (!command) return;
    ui.dialog.close();
    command.act();
}

/** @param {KeyboardEvent} event */
function pressWords(event) {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === "Enter") take(offer.found[offer.at]);
    else if (by && offer.found.length) offer.at = (offer.at + by + offer.found.length) % offer.found.length;
    else return;
    event.preventDefault();
    mark();
}

/** @param {Command[]} commands */
export function openPalette(commands) {
    offer.all = commands;
    ui.words.value = "";
    find();
    ui.dialog.showModal();
}

export function startPalette() {
    ui.words.addEventListener("input", find);
    ui.words.addEventListener("keydown", pressWords);
}
