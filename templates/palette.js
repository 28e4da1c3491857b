// Ctrl+K: lists every command by name, with its key.
import { perPage } from "./state.js";
import { make } from "./text.js";

/** @typedef {{name: string, key?: string, act: () => void}} Command */

const paletteOf = perPage(({ suffix, ui }) => {
    const { palette, paletteList: list, paletteWords: typed } = ui;
    /** What is offered, with the command for every typed text; what was found, and which of it Enter takes. */
    let all = /** @type {Command[]} */ ([]);
    let last = /** @type {(words: string) => Command} */ ((name) => ({ name, act() {} }));
    let found = /** @type {Command[]} */ ([]);
    let at = 0;

    function mark() {
        Array.from(list.children).forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
        list.children[at]?.scrollIntoView({ block: "nearest" });
        typed.setAttribute("aria-activedescendant", `palette-${at}${suffix}`);
    }

    function take(/** @type {Command | undefined} */ command) {
        if (!command) return;
        palette.close();
        command.act();
    }

    /** Finds the entries whose names have every word, followed by those for every text. */
    function find() {
        const words = typed.value.toLowerCase().split(/\s+/).filter(Boolean);
        found = all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
        if (words.length) found.push(last(typed.value.trim()));
        at = 0;
        list.replaceChildren(
            ...found.map((command, i) => {
                const named = { id: `palette-${i}${suffix}`, role: "option" };
                const item = make("li", "", command.name, command.key ? make("kbd", "", command.key) : "", named);
                item.addEventListener("click", () => take(command));
                return item;
            }),
        );
        mark();
    }

    typed.addEventListener("input", find);
    typed.addEventListener("keydown", (event) => {
        const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        if (event.key === "Enter") take(found[at]);
        else if (by) at = (at + by + found.length) % found.length;
        else return;
        event.preventDefault();
        mark();
    });
    return (/** @type {Command[]} */ commands, /** @type {(words: string) => Command} */ forWords) => {
        [all, last] = [commands, forWords];
        typed.value = "";
        find();
        palette.showModal();
    };
});

/** @param {Page} page @param {Command[]} commands @param {(words: string) => Command} last for every text */
export const openPalette = (page, commands, last) => paletteOf(page)(commands, last);
