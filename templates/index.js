// The index of a batch: which rank is different, and why. The reader's choice is one state, which the address carries.
import { checkView, makeCalls, NAMES, valueText } from "./calls.js";
import { misreadSentence } from "./history.js";
import { createCurves } from "./index/curves.js";
import { createBatch, readData } from "./index/data.js";
import { createDetail } from "./index/detail.js";
import { createFindings } from "./index/findings.js";
import { createHeat } from "./index/heat.js";
import { createState } from "./index/state.js";
import { createTable } from "./index/table.js";
import { createWords } from "./index/words.js";
import { dotted, element, formatBytes, formatCount, formatPlural, make, makeButton, setText } from "./text.js";

/** @typedef {import("./index/data.js").Refusal} Refusal */

function showTotals(/** @type {Batch["data"]["totals"]} */ totals) {
    const peaks = `${formatBytes(totals.lowest_peak_bytes)} to ${formatBytes(totals.highest_peak_bytes)}`;
    const text = dotted(
        formatPlural(totals.done, "recording"),
        `peaks ${peaks}, median ${formatBytes(totals.median_peak_bytes)}`,
        totals.copies ? formatPlural(totals.copies, "copy").replace("copys", "copies") : "",
        totals.failed ? `${formatCount(totals.failed)} failed` : "",
        totals.skipped ? `${formatCount(totals.skipped)} skipped` : "",
    );
    setText(element("totals", HTMLElement), text);
}

/** Shows notes on the whole batch, and the parts of the address that mean nothing.
 * @param {string[]} said @param {string[]} words */
function showNotes(said, words) {
    const misread = misreadSentence(words);
    const sentences = misread ? [misread, ...said] : said;
    const notes = element("notes", HTMLElement);
    notes.hidden = sentences.length === 0;
    notes.replaceChildren(...sentences.map((sentence) => make("li", "", sentence)));
}

/** Shows badges, each of which asks the list for its recordings.
 * @param {Batch} batch @param {(words: string) => void} ask */
function showBadges({ rows, data }, ask) {
    /** @type {Map<string, {title: string, count: number}>} */
    const kinds = new Map();
    for (const { notes } of rows) {
        const urgent = notes.filter(({ severity, kind }) => severity !== "info" && kind !== "out_of_memory");
        for (const [kind, title] of new Map(urgent.map((note) => [note.kind, note.kind_title])))
            kinds.set(kind, { title, count: (kinds.get(kind)?.count ?? 0) + 1 });
    }
    const most = [...kinds].sort(([, a], [, b]) => b.count - a.count).slice(0, 3);
    /** @type {[words: string, count: number, text: string][]} */
    const badges = [
        ["oom", data.totals.out_of_memory, "out of memory"],
        ["odd", rows.filter((row) => row.finding !== null).length, "odd"],
        ...most.map(
            ([kind, { title, count }]) => /** @type {[string, number, string]} */ ([kind, count, title.toLowerCase()]),
        ),
    ];
    const made = badges.map(([words, count, text]) => {
        const className = words === "oom" ? "badge bad" : "badge";
        return count
            ? makeButton(className, `${formatCount(count)} ${text}`, () => ask(words), {
                  "data-words": words,
                  title: `List only these: ${text}`,
              })
            : "";
    });
    element("badges", HTMLElement).replaceChildren(...made);
}

function start() {
    const batch = createBatch(readData(element("data", HTMLScriptElement).textContent ?? "{}"));
    const { data, rows } = batch;
    let hovered = -1;
    let frame = 0;

    const choose = (/** @type {number} */ index) => state.change({ row: state.get().row === index ? -1 : index });
    const hover = (/** @type {number} */ index) => {
        if (hovered === index) return;
        hovered = index;
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(drawPictures);
    };
    element("app", HTMLElement).hidden = false;
    showTotals(data.totals);
    showBadges(batch, (words) => state.change({ words: state.get().words === words ? "" : words }));
    const findings = createFindings(batch, { choose: (index) => state.change({ row: index }) });
    const heat = createHeat(batch, { choose, hover, figure: (figure) => state.change({ figure }) });
    const curves = createCurves(batch, { choose, hover, axis: (axis) => state.change({ axis }) });
    const table = createTable(batch, { choose, hover, sort: (sort, falling) => state.change({ sort, falling }) });
    const detail = createDetail(batch);
    const search = element("words", HTMLInputElement);
    const known = { sort: table.sorts, figure: heat.figures, axis: curves.axes };
    const state = createState(rows, known, batch.oddRows[0] ?? -1, (before, choice) => {
        showNotes(data.notes, state.misread());
        if (before.theme !== choice.theme) applyTheme();
        if (before.words !== choice.words || before.sort !== choice.sort || before.falling !== choice.falling)
            arrange();
        if (before.row !== choice.row) {
            table.choose(choice.row, true);
            findings.show(choice.row);
            detail.show(choice.row);
        }
        drawPictures();
    });

    function drawPictures() {
        const { figure, axis, row } = state.get();
        heat.show({ figure, chosen: row, hovered });
        curves.show({ axis, chosen: row, hovered });
    }

    function arrange() {
        const { words, sort, falling } = state.get();
        if (search.value !== words) search.value = words;
        const passes = createWords(words, rows);
        table.arrange(passes, { sort, falling });
        for (const badge of element("badges", HTMLElement).querySelectorAll("button"))
            badge.setAttribute("aria-pressed", String(badge.dataset.words === words));
    }

    const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

    function applyTheme() {
        const theme = state.get().theme || (systemDark.matches ? "dark" : "light");
        document.documentElement.dataset.theme = theme;
        const other = theme === "dark" ? "Light" : "Dark";
        setText(element("theme", HTMLButtonElement), other);
        element("theme", HTMLButtonElement).title = `${other} colours`;
        curves.showLegend();
        arrange();
        findings.show(state.get().row);
        detail.show(state.get().row);
    }

    search.addEventListener("input", () => state.change({ words: search.value }));
    addEventListener("keydown", (event) => {
        const typing = event.target instanceof HTMLInputElement;
        if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
            event.preventDefault();
            search.select();
            search.focus();
        } else if (event.key === "Escape") {
            if (typing) search.blur();
            else if (state.get().row >= 0) state.change({ row: -1 });
        }
    });
    element("theme", HTMLButtonElement).addEventListener("click", () =>
        state.change({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" }),
    );
    systemDark.addEventListener("change", () => {
        applyTheme();
        drawPictures();
    });
    showRefusals("failed", data.failed);
    showRefusals("skipped", data.skipped);
    showNotes(data.notes, state.misread());
    applyTheme();
    if (state.get().row >= 0) table.choose(state.get().row, true);
    drawPictures();
    new ResizeObserver(drawPictures).observe(element("plot", HTMLElement));
    return callsOf({ rows, data, table, heat, curves, state });
}

/** Calls for scripts and the console. @param {{rows: Batch["rows"], data: Batch["data"], table: ReturnType<typeof
 * createTable>, heat: ReturnType<typeof createHeat>, curves: ReturnType<typeof createCurves>, state: ReturnType<typeof
 * createState>}} index */
function callsOf({ rows, data, table, heat, curves, state }) {
    /** The choice, in the page's words. */
    const view = () => {
        const { row, words, ...choice } = state.get();
        return { ...choice, search: words, filter: { words }, selected: row < 0 ? null : row };
    };
    const isRow = (/** @type {unknown} */ row) => Number.isInteger(row) && Object.hasOwn(rows, String(row));
    /** @type {Record<string, (value: any) => boolean>} */
    const fields = {
        sort: (sort) => table.sorts.includes(sort),
        falling: (falling) => typeof falling === "boolean",
        search: (search) => typeof search === "string",
        filter: (filter) => ["string", "undefined"].includes(typeof filter?.words),
        selected: (row) => row === null || isRow(row),
        figure: (figure) => heat.figures.includes(figure),
        axis: (axis) => curves.axes.includes(axis),
        theme: (theme) => ["", "light", "dark"].includes(theme),
    };
    /** @param {any} wanted */
    const setView = async (wanted = {}) => {
        checkView(fields, wanted);
        const { search: words = wanted.filter ? (wanted.filter.words ?? "") : undefined, selected, ...rest } = wanted;
        const asked = { ...rest, words, row: selected === null ? -1 : selected };
        const known = Object.entries(asked).filter(([name, value]) => value !== undefined && name in state.get());
        state.change(Object.fromEntries(known));
        return view();
    };
    return {
        view,
        setView,
        summary: () => data.totals,
        findings: () => data.findings,
        rows: () => table.order().map((index) => rows[index]),
        search: async (/** @type {unknown} */ words) => {
            if (typeof words !== "string") throw new RangeError("A search is a text.");
            await setView({ search: words });
            return { rows: table.order().length };
        },
        sort: (/** @type {string} */ sort) => {
            checkView(fields, { sort });
            if (sort !== undefined) state.change({ sort, falling: state.get().sort === sort && !state.get().falling });
        },
        choose: (/** @type {number} */ row = -1) => {
            if (row !== -1 && !isRow(row)) throw new RangeError(`There is no recording ${valueText(row)}.`);
            state.change({ row });
        },
        pick: (/** @type {number} */ x, /** @type {number} */ y) =>
            [x, y].every(Number.isFinite) ? curves.nearest(x, y) : null,
    };
}

function showRefusals(/** @type {string} */ kind, /** @type {Refusal[]} */ refusals) {
    element(`${kind}-section`, HTMLElement).hidden = refusals.length === 0;
    setText(element(`${kind}-title`, HTMLElement), `${formatPlural(refusals.length, "file")} ${kind}`);
    const lines = refusals.map(({ input, reason }) => make("tr", "", make("td", "", input), make("td", "", reason)));
    element(kind, HTMLElement).replaceChildren(...lines);
}

/** Starts the index and returns its calls for scripts and the console. */
function begin() {
    try {
        return start();
    } catch (error) {
        const failure = element("failure", HTMLElement);
        failure.hidden = false;
        setText(failure, `The page could not be drawn: ${error}`);
        throw error;
    }
}

/** @type {Record<string, (...asked: any[]) => unknown>} */
const calls = begin();
const ready = new Promise((done) => requestAnimationFrame(() => done(true)));
window.strata = makeCalls(ready, [...new Set([...NAMES, ...Object.keys(calls)])], (name) => {
    if (!Object.hasOwn(calls, name)) throw new Error(`strata.${name} needs one recording: ask its page.`);
    return calls[name];
});
