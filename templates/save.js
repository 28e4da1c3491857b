// Saving: files that the page makes, and fields of a table.
import { baseName, make } from "./text.js";

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
}

/** A field; a program of tables must not take a name of code for a formula. @param {string} text */
export function csvField(text) {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}
