// Links to files beside the index.
import { make } from "../text.js";
import { rowTitle } from "./data.js";

/** Links to a recording's page and picture. @param {import("./data.js").Row} row */
export function makeOutputs(row) {
    // The page of a log shows several ranks.
    const view = row.kind === "log" && row.devices > 1 ? `#device=${row.device}` : "";
    const page = row.page === null ? null : makeLink(row.page, "Page", row, view);
    const png = row.png === null ? null : makeLink(row.png, "PNG", row);
    return [page, png].filter((link) => link !== null);
}

/**
 * @param {string} page beside the index, or in a folder below it
 * @param {string} text @param {import("./data.js").Row} row
 * @param {string} [view] "#…" of the page
 */
export function makeLink(page, text, row, view = "") {
    const path = page.split("/").map(encodeURIComponent).join("/");
    const href = path + (/^#[\w=&.,:%+~*\-]*$/.test(view) ? view : "");
    return make("a", "", text, { href, "aria-label": `${text} of ${rowTitle(row)}` });
}
