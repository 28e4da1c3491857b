// Links to files beside the index.
import { make } from "../text.js";
import { rowTitle } from "./data.js";

/** The part of an address that selects a recording's rank, since the page of a log shows several.
 * @param {import("./data.js").Row} row */
export function rowView(row) {
    return row.kind === "log" && row.devices > 1 ? `#device=${row.device}` : "";
}

/**
 * @param {string} page beside the index, or in a folder below it
 * @param {string} text @param {import("./data.js").Row} row
 * @param {string} [view] "#…" of the page
 */
export function makeLink(page, text, row, view = "") {
    const link = make("a", "", text);
    link.href = page.split("/").map(encodeURIComponent).join("/") + (/^#[\w=&.,:%+~*\-]*$/.test(view) ? view : "");
    link.setAttribute("aria-label", `${text} of ${rowTitle(row)}`);
    return link;
}
