// Saving: files that the page makes, and fields of a table.
import { baseName, make, makeButton } from "./text.js";

/**
 * Gives somebody a file.
 * @param {Page} page @param {Blob} blob
 * @param {string} ending
 * @param {string} [detail] after the recording's name
 */
export function saveBlob(page, blob, ending, detail = "") {
    const base = baseName(String(page.meta.file || "strata")).replace(/\.(gz|pickle|pkl|json|html)$/gi, "");
    const link = make("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${base.replace(/[^\w.+-]+/g, "_") || "strata"}${detail}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    const why = whyNotSaved();
    if (why) sayWhy(page, why);
}

/** What keeps this page from saving a file in a frame, where browsers drop it and say nothing. "": nothing. */
function whyNotSaved() {
    const { frameElement, parent } = window;
    if (parent === window || (!frameElement && self.origin !== "null")) return "";
    const words = frameElement?.getAttribute("sandbox");
    if (frameElement && (words === null || /\ballow-downloads\b/.test(words ?? ""))) return "";
    return (
        `${frameElement ? "No file was saved" : "If no file was saved"}: this page stands in a frame whose ` +
        "sandbox lacks allow-downloads. Open the page by itself, or let the frame have allow-downloads."
    );
}

/** @param {Page} page @param {string} why */
function sayWhy(page, why) {
    const dialog = make("dialog");
    const close = makeButton("", "Close", () => dialog.remove());
    dialog.addEventListener("close", () => dialog.remove());
    dialog.id = "not-saved";
    dialog.append(make("p", "", why), close);
    page.element("app", HTMLElement).append(dialog);
    dialog.showModal();
}

/** A field; a program of tables must not take a name of code for a formula. @param {string} text */
export function csvField(text) {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
