// Saves files that the page makes, and writes fields of a table.
import { baseName, make, makeButton, setAll, setText } from "./text.js";
import { nextTurn } from "./turns.js";

/** Offers a file for saving. @param {Page} page @param {Blob} blob @param {string} ending @param {string} [detail]
 * after the recording's name */
export function saveBlob(page, blob, ending, detail = "") {
    const base = baseName(String(page.meta.file || "strata")).replace(/\.(gz|pickle|pkl|json|html)$/gi, "");
    const name = base.replace(/[^\w.+-]+/g, "_") || "strata";
    const link = make("a", "", { href: URL.createObjectURL(blob), download: `${name}${detail}.${ending}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    const why = whyNotSaved();
    if (why) void sayWhy(page, why, blob);
}

/** Why this page cannot save a file: it is in a frame in which browsers drop files silently. "": it can. */
function whyNotSaved() {
    const { frameElement, parent } = window;
    if (parent === window || (!frameElement && self.origin !== "null")) return "";
    const words = frameElement?.getAttribute("sandbox");
    if (frameElement && (words === null || /\ballow-downloads\b/.test(words ?? ""))) return "";
    return (
        `${frameElement ? "No file was saved" : "If no file was saved"}: this page stands in a frame whose ` +
        "sandbox lacks allow-downloads. Copy it from here, or open the page by itself."
    );
}

/** Shows a file's contents for copying: a picture, or text with a button that copies it. @param {Blob} blob */
async function copyable(blob) {
    const isPicture = blob.type === "image/png";
    const shown = isPicture ? make("img") : make("textarea");
    if (isPicture) setAll(shown, { src: URL.createObjectURL(blob), alt: "The picture" });
    else setAll(shown, { value: await blob.text(), readOnly: true, "aria-label": "The text" });
    const copy = async () => {
        if (shown instanceof HTMLImageElement)
            await navigator.clipboard.write([new ClipboardItem({ [blob.type]: blob })]);
        else {
            // Many frames deny scripts the clipboard, but not the copy of a selection.
            shown.select();
            document.execCommand("copy");
        }
    };
    const button = makeButton("quiet", isPicture ? "Copy picture" : "Copy text", () =>
        copy().then(
            () => setText(button, "Copied"),
            () => setText(button, "Not allowed here: copy it with the right mouse button or a long press"),
        ),
    );
    return [shown, button];
}

async function sayWhy(/** @type {Page} */ page, /** @type {string} */ why, /** @type {Blob} */ blob) {
    /** @type {HTMLDialogElement} */
    const dialog = make("dialog", "dialog", { id: "not-saved" }, make("p", "", why), ...(await copyable(blob)));
    dialog.append(makeButton("quiet", "Close", () => dialog.close()));
    dialog.addEventListener("close", () => dialog.remove());
    page.ui.app.append(dialog);
    dialog.showModal();
}

/** A field of a table, written so that a spreadsheet does not take a name of code for a formula.
 * @param {string} text */
export function csvField(text) {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** Rows of CSV between two turns of the browser, so that no task is long. */
const ROWS_AT_ONCE = 2000;

/**
 * Makes CSV, in turns with the browser; null: `goesOn` has said no.
 * @param {string[]} heads @param {number} count @param {(i: number) => (string | number)[]} row fields of a row
 * @param {(done: number) => boolean} goesOn told after each turn which part is done, from 0 to 1
 */
export async function makeCsv(heads, count, row, goesOn) {
    const parts = [new Blob([`\ufeff${heads.join(",")}\r\n`])];
    for (let at = 0; at < count; at += ROWS_AT_ONCE) {
        if (at > 0) await nextTurn();
        if (!goesOn(at / count)) return null;
        let text = "";
        for (let i = at; i < Math.min(count, at + ROWS_AT_ONCE); i++) text += `${row(i).join(",")}\r\n`;
        parts.push(new Blob([text]));
    }
    return new Blob(parts, { type: "text/csv" });
}
