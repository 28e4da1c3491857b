// Plan: which changes would make it fit, those with the least effort first, as `strata plan` found when the page was
// written. Choosing a row shows its change in the timeline.
import { breakable } from "./action_line.js";
import { carriedText } from "./load.js";
import { prove } from "./proof.js";
import { change, newMemo, perPage } from "./state.js";
import { consume, dotted, formatFine, make, makeButton } from "./text.js";

/**
 * @typedef {{live_peak_bytes_min: number, live_peak_bytes_max: number | null, peak_reserved_bytes_min: number | null,
 * peak_reserved_bytes_max: number | null, fits: string | null}} Figures
 * @typedef {Figures & {id: string, title: string, code: string, cost: string, certainty: string, share: number | null,
 * saves_peak_bytes: number, saves_reserved_bytes: number | null}} Change
 * @typedef {Figures & {changes: string[], cost: string, certainty: string, share: number | null, title: string,
 * code: string[]}} Plan
 * @typedef {{device: number, refused: string | null, scope: string, answer: string | null,
 * setting: {change: string, text: string} | null, fits: string | null,
 * as_recorded: Figures,
 * recorded: {ended_by_oom: boolean}, changes: Change[],
 * budget: {used_bytes: number | null, from: string | null},
 * plans: Plan[]}} DevicePlan
 * @typedef {Figures & {id: string, title: string, code: string | string[], cost: string, certainty: string,
 * share: number | null}} Row
 */

/** @type {Record<string, string>} */
const COST_WORDS = { none: "nothing", time: "time", precision: "precision", elsewhere: "transfers" };

/** The plans of all devices, which the page carries. */
const plansOf = perPage(
    () => /** @type {{devices: DevicePlan[]}} */ (JSON.parse(carriedText("plan") || '{"devices":[]}')),
);

/** @type {Record<string, string>} */
const SERVED_WORDS = { yes: "", with_retries: ", after retries", request: " at the failed request" };

/** The plan of the shown device; null: it has none. @param {Page} page */
export function devicePlan(page) {
    const { ordinal } = page.session.devices[page.view.device];
    return plansOf(page).devices.find(({ device }) => device === ordinal) ?? null;
}

/** Is the change enough? */
export const isServed = (/** @type {Row} */ { fits }) =>
    fits === "yes" || fits === "with_retries" || fits === "request";

/** The setting that saves much of what is reserved, and the plan's sentence on it; null: there is none.
 * @param {Page} page */
export function bestSetting(page) {
    const plan = devicePlan(page);
    const row = plan?.changes.find(({ id }) => id === plan.setting?.change);
    return row && plan?.setting ? { row, text: plan.setting.text } : null;
}

/** Is only the lower end of its range known? @param {Figures} row */
const isBound = (row) => row.live_peak_bytes_max === null;

/** The memory in use that a row needs; for a bound, the least that is known. @param {Figures} row */
export const needed = (row) => row.live_peak_bytes_max ?? row.live_peak_bytes_min;

/** The best saving of a change. A set that serves counts as one that saves. @param {Figures & {saves_peak_bytes?:
 * number, saves_reserved_bytes?: number | null}} row */
const saves = (row) => Math.max(row.saves_peak_bytes ?? 1, row.saves_reserved_bytes ?? 0);

/** Rows that are served come first, bounds last; then by effort, then in the listed order. @param {DevicePlan} plan
 * @returns {Row[]} */
export function planRows({ plans, changes }) {
    const listed = new Set(changes.map(({ id }) => id));
    const sets = plans
        .filter(({ changes: [id], changes: { length } }) => length > 1 || !listed.has(id))
        .map((plan) => ({ ...plan, id: plan.changes.join("+") }));
    const effort = (/** @type {Row} */ row) =>
        Object.keys(COST_WORDS).indexOf(row.cost) + Math.min(0.99, row.share ?? 0) + (isBound(row) ? 9 : 0);
    return [...sets, ...changes].sort((a, b) => Number(isServed(b)) - Number(isServed(a)) || effort(a) - effort(b));
}

/** What a change is as code or settings to paste. @param {Row} row */
export const planCode = ({ code }) => [code].flat().join("\n");

/** The bytes to spare below the limit of a row that is served. @param {Row} row @param {number} limit */
export const spareText = (row, limit) => `${formatFine(Math.max(0, limit - needed(row)))} to spare`;

/** A row's figure with its verdict: the bytes to spare below the limit, or those missing.
 * @param {Row} row @param {DevicePlan["budget"]} budget */
export function verdict(row, { used_bytes: limit }) {
    const figure = make("b", "", `${isBound(row) ? "not below " : ""}${formatFine(needed(row))}`);
    if (limit === null || isBound(row)) return make("span", "plan-verdict", figure);
    const short = needed(row) - limit;
    const lacks = short > 0 ? `at least ${formatFine(short)} short` : "does not fit";
    const words = isServed(row) ? `\u2713 ${spareText(row, limit)}${SERVED_WORDS[row.fits ?? ""]}` : `\u2715 ${lacks}`;
    return make("span", "plan-verdict", figure, make("span", isServed(row) ? "enough" : "short", ` ${words}`));
}

/** Draws memory in use dark, reserved memory as an outline, the limit as a line.
 * @param {Row} row @param {number} most @param {number | null} limit */
function bar(row, most, limit) {
    const box = make("span", `plan-bar${isServed(row) ? " fits" : isBound(row) ? " bound" : ""}`);
    const part = (/** @type {string} */ name, /** @type {number} */ bytes) => {
        const made = make("i", name);
        made.style.width = `${((bytes / most) * 100).toFixed(2)}%`;
        box.append(made);
    };
    if (row.peak_reserved_bytes_max !== null) part("plan-reserved", row.peak_reserved_bytes_max);
    part("plan-live", needed(row));
    if (limit !== null) part("plan-limit", limit);
    return box;
}

const costText = (/** @type {Row} */ { cost, share, certainty }) =>
    `costs ${share ? `about ${Math.round(share * 100)} % ` : ""}${COST_WORDS[cost]} \u00b7 ${certainty}`;

/** @param {Page} page @param {Row} row @param {number} nth 0: it does not suffice
 * @param {number} most @param {DevicePlan["budget"]} budget */
function rowButton(page, row, nth, most, budget) {
    const words = make(
        "span",
        "plan-words",
        make("b", "plan-title", ...breakable(row.title)),
        make("span", "plan-cost", costText(row)),
        ...[row.code].flat().map((code) => make("code", "plan-code", ...breakable(code))),
    );
    const said = verdict(row, budget);
    const figures = make("span", "plan-figures", bar(row, most, budget.used_bytes), said);
    const reserved = row.peak_reserved_bytes_max;
    if (reserved !== null)
        figures.append(make("span", "plan-cost", `${formatFine(reserved)} reserved without a limit`));
    const show = () => change(page, { planned: { title: row.title, bytes: needed(row) } });
    const pressed = page.state.planned?.title === row.title;
    const data = { "data-action": "plan", "data-change": row.id, "data-fits": row.fits ?? "", "aria-pressed": pressed };
    const showIt = () => prove(page, button, dotted(row.title, said.textContent), show);
    /** @type {HTMLButtonElement} */
    const button = makeButton("plan-row", "", showIt, data);
    button.append(make("span", "plan-nth", nth ? String(nth) : "–"), words, figures);
    return button;
}

/** Why there is no plan. @param {record_recording} facts */
const unplanned = ({ has_allocations, has_segments }) =>
    has_segments
        ? "Nothing was planned when this page was written."
        : has_allocations
          ? "Nothing can be planned: a plan needs segments and addresses, which only a snapshot has."
          : "Nothing can be planned: a log has only levels. Record a snapshot to see what to change.";

const commandLine = (/** @type {Page} */ page) =>
    make("p", "plan-cost", "Another limit: ", make("code", "", `strata plan --gpu 24GiB '${page.meta.file}'`));

function drawPlan(/** @type {Page} */ page, /** @type {DevicePlan} */ plan, /** @type {HTMLElement} */ box) {
    const limit = plan.budget.used_bytes;
    const rows = planRows(plan);
    const n = rows.filter(isServed).length;
    const most = Math.max(limit ?? 0, ...rows.map((row) => row.peak_reserved_bytes_max ?? needed(row)));
    const asked = plan.budget.from === "gpu" ? "what --gpu leaves" : "what the process had";
    const against = limit === null ? "" : `; limit ${formatFine(limit)}, ${asked}`;
    const recorded = `As recorded ${formatFine(needed(plan.as_recorded))} in use${against}.`;
    box.append(make("h2", "", plan.answer ?? "The recording shows no limit"), make("p", "plan-cost", recorded));
    const useless = rows.filter((row) => !isServed(row) && saves(row) <= 0);
    const titles = `No effect here: ${useless.map(({ title }) => title).join(", ")}`;
    const fold = make("details", "plan-cost", make("summary", "", ...breakable(titles)));
    let heading = "";
    rows.forEach((row, i) => {
        const none = useless.includes(row);
        const own = isBound(row) ? "Only a bound is known" : limit === null ? "" : "Not enough by itself";
        if (i >= n && !none && own !== heading) box.append(make("h3", "", (heading = own)));
        (none ? fold : box).append(rowButton(page, row, i < n ? i + 1 : 0, most, plan.budget));
    });
    if (useless.length) box.append(fold);
}

/** @param {Page} page @param {HTMLElement} box @returns {import("./side.js").SideView} */
export function createPlan(page, box) {
    box.classList.add("plan");
    const rows = () =>
        /** @type {HTMLButtonElement[]} */ ([...box.querySelectorAll(".plan-row")]).filter((row) => row.offsetParent);
    box.addEventListener("keydown", (event) => {
        const by = event.key === "ArrowDown" ? 1 : -1;
        if (by < 0 && event.key !== "ArrowUp") return;
        rows()[rows().findIndex((row) => row === document.activeElement) + by]?.focus();
        consume(event);
    });
    const drawn = newMemo();
    const fill = () => {
        const focused = rows().findIndex((row) => row === document.activeElement);
        box.replaceChildren();
        const plan = devicePlan(page);
        if (plan && plan.refused === null) drawPlan(page, plan, box);
        else if (plan) box.append(make("p", "plan-cost", `Nothing is planned: ${plan.refused}.`));
        else box.append(make("p", "plan-cost", unplanned(page.session.facts)));
        if (page.session.facts.has_segments) box.append(commandLine(page));
        rows()[focused]?.focus();
    };
    return { id: "plan", draw: () => drawn([page.state.device, page.state.planned?.title], fill) };
}
