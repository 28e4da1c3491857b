// Figures and text as people read them, and the only gate through which text enters the document. Figures follow the
// rules of base/format.h, so the page, the PNG and the report write a number alike.

export const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

const countFormat = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function formatCount(/** @type {number} */ count) {
    // Adding zero turns -0, which rounding can leave, into 0.
    return countFormat.format(count + 0);
}

/** 1024-based, one decimal from GiB up or where it says something, never "1024.0 MiB". @param {number} bytes */
export function formatBytes(bytes) {
    let unit = 0;
    while (unit < 6 && bytes >= 1024 ** (unit + 1)) unit++;
    for (; ; unit++) {
        const one = 1024 ** unit;
        const tenths = Math.floor(bytes / one) * 10 + Math.floor(((bytes % one) * 10 + one / 2) / one);
        if (tenths >= 10240 && unit < 6) continue;
        const decimal = bytes % one === 0 && unit < 3 ? "" : `.${tenths % 10}`;
        return `${formatCount(Math.floor(tenths / 10))}${decimal} ${BYTE_UNITS[unit]}`;
    }
}

/** The number format of a table whose largest figure is `most`: one unit, a fixed number of decimals, by the rule of
 * format_unit and format_bytes_in (base/format.h). fine: by that of format_unit_fine, for changes. @param {number} most
 * @param {boolean} [fine] */
export function tableFigures(most, fine = false) {
    let unit = 0;
    while (unit < 6 && most >= 1000 * 1024 ** unit) unit++;
    let digits = unit === 0 ? 0 : most < 100 * 1024 ** unit ? 2 : 1;
    if (fine && unit > 2) [unit, digits] = digits === 2 ? [unit - 1, 1] : [unit, 2];
    const [one, parts] = [1024 ** unit, 10 ** digits];
    const number = (/** @type {number} */ bytes) => {
        const shown = Math.floor(((bytes % one) * parts + one / 2) / one);
        const whole = Math.floor(bytes / one) + Math.floor(shown / parts);
        if (bytes > 0 && whole === 0 && shown === 0) return `<${(1 / parts).toFixed(digits)}`;
        return `${formatCount(whole)}${digits ? `.${String(shown % parts).padStart(digits, "0")}` : ""}`;
    };
    return {
        unit: unit ? BYTE_UNITS[unit] : "bytes",
        number,
        text: (/** @type {number} */ bytes) => `${number(bytes)} ${BYTE_UNITS[unit]}`,
    };
}

/** "+1.5 GiB", "\u22124 MiB", "0". @param {number} bytes @param {(bytes: number) => string} [figure] */
export const formatChange = (bytes, figure = formatBytes) =>
    bytes === 0 ? "0" : `${bytes > 0 ? "+" : "\u2212"}${figure(Math.abs(bytes))}`;

/** "1,234 bytes", with a true minus sign. @param {number} bytes */
export const formatExactBytes = (bytes) => `${formatCount(bytes).replace("-", "\u2212")} bytes`;

/** @param {number} first @param {string} firstUnit @param {number} second @param {string} secondUnit */
function formatPair(first, firstUnit, second, secondUnit) {
    const head = `${formatCount(first)} ${firstUnit}`;
    return second === 0 ? head : `${head} ${second} ${secondUnit}`;
}

/** @param {number} us microseconds @returns {string} */
export function formatDuration(us) {
    if (us < 0) return `-${formatDuration(-us)}`;
    us = Math.round(us);
    if (us < 1000) return `${us} \u00b5s`;
    if (us < 9950) return `${us % 1000 === 0 ? us / 1000 : (Math.floor((us + 50) / 100) / 10).toFixed(1)} ms`;
    if (us < 999500) return `${Math.floor((us + 500) / 1000)} ms`;
    if (us < 59950000) return `${us % 1e6 === 0 ? us / 1e6 : (Math.floor((us + 50000) / 1e5) / 10).toFixed(1)} s`;
    const seconds = Math.floor((us + 500000) / 1e6);
    if (seconds < 3600) return formatPair(Math.floor(seconds / 60), "min", seconds % 60, "s");
    const minutes = Math.floor((seconds + 30) / 60);
    if (minutes < 24 * 60) return formatPair(Math.floor(minutes / 60), "h", minutes % 60, "min");
    const hours = Math.floor((minutes + 30) / 60);
    return formatPair(Math.floor(hours / 24), "d", hours % 24, "h");
}

/** "31 %". A share above zero is at least "<1 %", a share below the whole at most ">99 %".
 * @param {number} part @param {number} whole */
export function formatShare(part, whole) {
    const percent = whole === 0 ? 0 : Math.floor((part * 200 + whole) / (2 * whole));
    if (part > 0 && percent === 0) return "<1 %";
    if (part < whole && percent === 100) return ">99 %";
    return `${percent} %`;
}

/** "event 18,204", or "before the first event". @param {number} event */
export const formatEvent = (event) => (event < 0 ? "before the first event" : `event ${formatCount(event)}`);

/** "at event 18,204", or "before the first event". @param {number} event */
export const formatAt = (event) => `${event < 0 ? "" : "at "}${formatEvent(event)}`;

/** "1 event", "2 events". @param {number} count @param {string} noun */
export const formatPlural = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;

/** The number of decimals that show a multiple of `step` (in the same unit) exactly, at most `most`.
 * @param {number} step @param {number} most */
export function decimalsOf(step, most) {
    for (let decimals = 0; decimals < most; decimals++) {
        const scaled = step * 10 ** decimals;
        if (Math.abs(scaled - Math.round(scaled)) < 1e-9 * Math.max(1, scaled)) return decimals;
    }
    return most;
}

/** A path without its folders. @param {string} path */
export const baseName = (path) => path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);

/** "train.py:41 forward", with its whole path. @param {Frame} frame */
export const frameText = ({ file, line, name }) => `${file}${line ? `:${line}` : ""} ${name}`;

/** 0xRRGGBB as a CSS colour. @param {number} rgb */
export const cssColor = (rgb) => `#${(rgb & 0xffffff).toString(16).padStart(6, "0")}`;

/** The stripes of a call site that is the second with its colour, as raster_texture of render/raster/raster.h draws
 * them: the first two. @param {number} value 0xRRGGBB, and above it 1 where it has some */
export const stripesOf = (value) => (value >>> 24 ? [4, 10].map((from) => ({ ink: "#fff6", wide: 2, from })) : []);

/** A call site's colour as a background. @param {number} value 0xRRGGBB, and above it the texture */
export function cssTexture(value) {
    const stops = stripesOf(value).flatMap(({ ink, wide, from }) => [
        `#0000 ${from - 2 * wide}px ${from}px`,
        `${ink} ${from}px ${from + wide}px`,
    ]);
    return (stops.length ? `repeating-linear-gradient(90deg,${stops}) ` : "") + cssColor(value);
}

/**
 * Finds an element by id. The template is part of the program, so a missing element is a mistake.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function element(id, type) {
    const found = document.getElementById(id);
    if (!(found instanceof type)) throw new Error(`The template has no ${type.name} "${id}".`);
    return found;
}

/** The elements of page.html by their ids, "trust-body" as trustBody. @param {string} suffix of the ids of a copy
 * @returns {PageElements} */
export function elementsOf(suffix) {
    const all = Array.from(document.querySelectorAll("[id]")).filter(({ id }) => id.endsWith(suffix));
    const nameOf = (/** @type {string} */ id) => id.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
    const named = all.map((one) => [nameOf(one.id.slice(0, one.id.length - suffix.length)), one]);
    return /** @type {any} */ (Object.fromEntries(named));
}

/** Sets properties of an element, and by the same names its attributes: those with a "-", and `role`.
 * @template {HTMLElement} T @param {T} target @param {Record<string, unknown>} fields undefined: it stays as it is */
export function setAll(target, fields) {
    for (const [name, value] of Object.entries(fields).filter(([, value]) => value !== undefined))
        if (name === "role" || name.includes("-")) target.setAttribute(name, String(value));
        else Reflect.set(target, name, value);
    return target;
}

/**
 * Makes an element. Text from the snapshot enters the document only here and in setText, always as text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {string} [className] @param {...(string | Node | Record<string, unknown>)} parts what it holds,
 * and objects with what setAll sets
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className, ...parts) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (made instanceof HTMLButtonElement) made.type = "button";
    for (const part of parts)
        if (typeof part === "string" || part instanceof Node) made.append(part);
        else setAll(made, part);
    return made;
}

/** @param {string} className @param {string} text @param {() => void} press
 * @param {string | Record<string, unknown>} [more] its title, or what setAll sets */
export function makeButton(className, text, press, more = {}) {
    const button = make("button", className, text, typeof more === "string" ? { title: more } : more);
    button.addEventListener("click", press);
    return button;
}

/** A small square of a colour. @param {string} color of CSS; "": the style sheet's */
export function makeSwatch(color) {
    const swatch = make("i", "swatch");
    swatch.style.background = color;
    return swatch;
}

/** Makes a row of a table. @param {"td" | "th"} tag @param {string} className
 * @param {[className: string, content: string | Node][]} cells */
export const makeTableRow = (tag, className, cells) =>
    make("tr", className, ...cells.map(([kind, content]) => make(tag, kind, content)));

/** Makes a box with a role, and a name for screen readers. @param {string} role @param {string} className
 * @param {string} [label] */
export const makeBox = (role, className, label) => make("div", className, { role, "aria-label": label });

/** Joins what is said, "1.5 GiB \u00b7 3 events"; what is empty is left out. @param {...(string | null)} parts */
export const dotted = (...parts) => parts.filter(Boolean).join(" \u00b7 ");

/** The word after this one in a list that goes round. @param {readonly string[]} words @param {string} word */
export const after = (words, word) => words[(words.indexOf(word) + 1) % words.length];

/** Ends an event that was acted on here. @param {Event} event */
export function consume(event) {
    event.preventDefault();
    event.stopPropagation();
}

/** Fills a box with buttons of which one is pressed. Returns a function that presses one. @param {HTMLElement} box
 * @param {[key: string, text: string][]} choices @param {(key: string) => void} act
 * @param {(key: string) => string} [idOf] the buttons' ids */
export function makeChoices(box, choices, act, idOf) {
    const label = box.getAttribute("aria-label");
    const buttons = choices.map(([key, text]) => {
        const title = label ? `${label}: ${text}` : "";
        return makeButton("", text, () => act(key), { "data-choice": key, id: idOf?.(key), title });
    });
    box.replaceChildren(...buttons);
    return (/** @type {string} */ chosen) => {
        for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.choice === chosen));
    };
}

/** Writes a text only if it has changed, so that an unchanged list needs no layout.
 * @param {HTMLElement} target @param {string} text */
export function setText(target, text) {
    if (target.textContent !== text) target.textContent = text;
}

const GIB = 1024 ** 3;

/** Two decimals from 1 GiB on, as a plan is written. @param {number} bytes */
export const formatFine = (bytes) => (bytes < GIB ? formatBytes(bytes) : `${(bytes / GIB).toFixed(2)} GiB`);

/** Says for a moment on a button that something was done. @param {HTMLButtonElement} button @param {string} text */
export function flashButton(button, text) {
    const before = (button.dataset.text ??= button.textContent ?? "");
    setText(button, text);
    setTimeout(() => setText(button, before), 1500);
}

export async function copyText(/** @type {string} */ text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        // Not every browser gives a page from a file the clipboard; the old way needs a selected field.
        const field = make("textarea", "offscreen", text);
        field.value = text;
        document.body.append(field);
        field.select();
        document.execCommand("copy");
        field.remove();
    }
}

/** The name of a device. A profiler counts the CPU's memory too, under the number -1. @param {number} ordinal */
export const deviceName = (ordinal) => (ordinal === -2 ? "host (pinned)" : ordinal < 0 ? "CPU" : String(ordinal));

/** @param {HTMLDListElement} facts @param {string} name @param {string} value */
export function addFact(facts, name, value) {
    if (value) facts.append(make("dt", "", name), make("dd", "", value));
}

/** Integer of [least, most), or null for anything else.
 * @param {string | null} text @param {number} least @param {number} most */
export function boundedInteger(text, least, most) {
    const number = text === null || text === "" ? NaN : Number(text);
    // Adding zero turns -0 into 0.
    return Number.isInteger(number) && number >= least && number < most ? number + 0 : null;
}

/** Two numbers "a_b" in rising order, or null. @param {string | null} text */
export function numberPair(text) {
    const parts = (text ?? "").split("_");
    const [from, to] = parts.length === 2 && parts.every(Boolean) ? parts.map(Number) : [NaN, NaN];
    return Number.isFinite(from) && Number.isFinite(to) && from < to ? { from, to } : null;
}

/** The requested and the free bytes, in words; a log may print neither: -1.
 * @param {number} size @param {number} free */
export function askedText(size, free) {
    if (size < 0) return "the log does not print what was requested";
    return `${formatBytes(size)} requested${free < 0 ? "" : `, ${formatBytes(free)} free on the GPU`}`;
}
