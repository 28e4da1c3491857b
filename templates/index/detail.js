// One recording, beside the pictures: its findings, figures and curve, and its differences from the median.
import { addFact, copyText, element, formatBytes, formatChange, formatCount, formatEvent } from "../text.js";
import { formatPlural, make, makeButton, makeTableRow, tableFigures } from "../text.js";
import { pen, themeColor } from "../paint.js";
import { canvasContext, traceRun } from "./canvas.js";
import { rowTitle, SHARE_MOST } from "./data.js";
import { makeLink, makeOutputs } from "./link.js";

/** @typedef {import("./data.js").Row} Row */

/** The heads of a table: a name, then figures. @param {string} name @param {string[]} figures */
const makeHeads = (name, ...figures) => makeTableRow("th", "", [["", name], ...numbers(figures)]);

/** Cells of figures. @param {string[]} figures @returns {[className: string, figure: string][]} */
const numbers = (figures) => figures.map((figure) => ["number", figure]);

function makeDifferences(/** @type {Row} */ { differences }) {
    const { text } = tableFigures(Math.max(0, ...differences.flatMap(({ bytes, median_bytes: own }) => [bytes, own])));
    const lines = differences.map(({ site, bytes, median_bytes: median }) => {
        /** @type {[string, string]} */
        const change = [bytes < median ? "number less" : "number more", formatChange(bytes - median, text)];
        return makeTableRow("td", "", [["site", site], ...numbers([text(bytes), text(median)]), change]);
    });
    return make("table", "", makeHeads("Call site", "Here", "Median", "Difference"), ...lines);
}

/** Makes one card for each kind: it shows the first note, and links to the others.
 * @param {import("./data.js").Note[]} notes @param {string | null} page @param {Row} row */
function makeNoteCards(notes, page, row) {
    /** @type {Map<string, HTMLElement>} */
    const kinds = new Map();
    for (const note of notes) {
        const there = kinds.get(note.kind);
        const card = there ?? make("div", `card ${note.severity}`);
        if (there) card.append(make("p", "", note.title));
        else card.append(make("p", "card-kind", note.kind_title), make("p", "card-title", note.title));
        if (note.view && page !== null) card.append(makeLink(page, "Show it in the page", row, note.view));
        kinds.set(note.kind, card);
    }
    return [...kinds.values()];
}

function makeCards(/** @type {Row} */ row) {
    const cards = makeNoteCards(row.notes, row.page, row);
    if (row.finding !== null) {
        const words = [make("p", "card-kind", "Among the ranks"), make("p", "card-title", row.finding)];
        cards.unshift(make("div", `card ${row.oom ? "high" : "medium"}`, ...words));
    }
    for (const text of [row.plan, row.made_of]) if (text) cards.unshift(make("p", "made-of", text));
    return cards;
}

function makeCurve(/** @type {Batch} */ batch, /** @type {number} */ index) {
    const canvas = make("canvas", "detail-curve", { "aria-hidden": true });
    const width = 340;
    const context = canvasContext(canvas, width, 70);
    const box = { left: 0, top: 2, width, height: 68, most: SHARE_MOST };
    traceRun(batch, index, context, box);
    context.lineTo(width, 70);
    context.lineTo(0, 70);
    pen(context, { fillStyle: batch.colorOf(index) ?? themeColor("--curve"), globalAlpha: 0.45 });
    context.fill();
    context.globalAlpha = 1;
    traceRun(batch, index, context, box);
    context.strokeStyle = batch.colorOf(index) ?? themeColor("--curve");
    context.stroke();
    return canvas;
}

/** The recording with the median peak of the others of its step. @param {Batch} batch @param {number} index */
function medianOf(batch, index) {
    const others = batch.own
        .filter((other) => other !== index && batch.rows[other].step === batch.rows[index].step)
        .sort((a, b) => batch.rows[a].peak_bytes - batch.rows[b].peak_bytes || a - b);
    return /** @type {Row | undefined} */ (batch.rows[others[(others.length - 1) >> 1]]);
}

/** Links to the page of the difference if there is one, otherwise shows the command that makes it.
 * @param {Batch} batch @param {Row} row @param {number} index */
function makeCompare(batch, row, index) {
    if (row.diff) return makeLink(row.diff, "Difference from the median rank", row);
    const median = row.kind === "log" ? undefined : medianOf(batch, index);
    if (!median) return null;
    const quote = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`;
    const command = `strata diff ${quote(median.page ?? median.input)} ${quote(row.page ?? row.input)}`;
    const copy = async () => {
        await copyText(command);
        button.textContent = `Copied: with ${rowTitle(median)}`;
    };
    const button = makeButton("quiet", "Copy the command that compares it", copy, command);
    return button;
}

function makeFacts(/** @type {Row} */ row) {
    const list = make("dl", "facts");
    const add = (/** @type {string} */ name, /** @type {string} */ value) => addFact(list, name, value);
    add("Peak", `${formatBytes(row.peak_bytes)}, ${formatEvent(row.peak_event)}`);
    add("End", formatBytes(row.end_bytes));
    const capacity = row.capacity_bytes === null ? "" : ` of ${formatBytes(row.capacity_bytes)}`;
    add("Reserved", `${formatBytes(row.reserved_peak_bytes)} at most${capacity}`);
    const part = row.mid_step ? (row.oom ? "; out of memory in the next one" : "; dumped in mid-step") : "";
    add("Steps", row.steps || row.mid_step ? `${formatCount(row.steps)} complete${part}` : "none found");
    add("Growth", row.steps >= 3 ? `${formatChange(row.growth_bytes)} per step` : "");
    add("Copy of", row.copy_of ?? "");
    add("Group", row.group ?? "");
    add("Host", row.host ?? "");
    add("Device", row.devices > 1 ? `${row.device} of ${row.devices}` : String(row.device));
    add("File", `${formatBytes(row.input_bytes)}, ${formatPlural(row.events, "event")}`);
    return list;
}

export function createDetail(/** @type {Batch} */ batch) {
    const detail = element("detail", HTMLElement);
    return {
        /** @param {number} index */
        show(index) {
            if (index < 0) {
                const hint =
                    "Choose a recording in a picture or in the list. Its figures and findings, and how it differs " +
                    "from the others, are shown here.";
                return detail.replaceChildren(make("p", "dim", batch.rows.length ? hint : ""));
            }
            const row = batch.rows[index];
            const head = make("h3", "", "Against the median");
            detail.replaceChildren(
                make("h2", "", rowTitle(row)),
                make("p", "dim path", row.input),
                ...makeCards(row),
                make("p", "links", ...makeOutputs(row), makeCompare(batch, row, index) ?? ""),
                makeFacts(row),
                makeCurve(batch, index),
                ...(row.truncation === null ? [] : [make("p", "", row.truncation)]),
                ...(row.differences.length ? [head, makeDifferences(row)] : []),
            );
        },
    };
}
