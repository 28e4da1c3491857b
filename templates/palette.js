// Ctrl+K: every command by its name, with its key.
import { element, make } from "./text.js";

/** @typedef {{name: string, key?: string, act: () => void}} Command */

const ui = {
    dialog: element("palette", HTMLDialogElement),
    words: element("palette-words", HTMLInputElement),
    list: element("palette-list", HTMLUListElement),
};

/**
 * What is offered now, what is always offered for words that were typed, and which Enter takes.
 * @type {{all: Command[], last: (words: string) => Command, found: Command[], at: number}}
 */
const offer = { all: [], last: (name) => ({ name, act() {} }), found: [], at: 0 };

function mark() {
    Array.from(ui.list.children).forEach((item, i) => item.setAttribute("aria-selected", String(i === offer.at)));
    ui.list.children[offer.at]?.scrollIntoView({ block: "nearest" });
    ui.words.setAttribute("aria-activedescendant", `palette-${offer.at}`);
}

/** Those whose names have every word, and after them what can be done with any words. */
function find() {
    const words = ui.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    offer.found = offer.all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
    if (words.length) offer.found.push(offer.last(ui.words.value.trim()));
    offer.at = 0;
    ui.list.replaceChildren(
        ...offer.found.map((command, i) => {
            const item = make("li", "", command.name);
            item.id = `palette-${i}`;
            if (command.key) item.append(make("kbd", "", command.key));
            item.addEventListener("click", () => take(command));
            return item;
        }),
    );
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
    else if (by) offer.at = (offer.at + by + offer.found.length) % offer.found.length;
    else return;
    event.preventDefault();
    mark();
}

/** @param {Command[]} commands @param {(words: string) => Command} last */
export function openPalette(commands, last) {
    Object.assign(offer, { all: commands, last });
    ui.words.value = "";
    find();
    ui.dialog.showModal();
}

export function startPalette() {
    ui.words.addEventListener("input", find);
    ui.words.addEventListener("keydown", pressWords);
}
