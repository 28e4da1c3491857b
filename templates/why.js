// Why: what Strata concludes, as cards with figures and buttons that show the evidence.
import { CHECK_CLEAR, CHECK_FOUND } from "page_api";
import { actionLine, breakable, sureWord } from "./action_line.js";
import { REPLAYED_AT_ONCE, replayOnce } from "./replay.js";
import { oomParts, shareBar } from "./oom_card.js";
import { curveShape } from "./paint.js";
import { wholeSteps } from "./ends.js";
import { bestSetting, devicePlan, planCode } from "./plan_view.js";
import { prove, showFinding, shownName } from "./proof.js";
import { askCards, askFindings, askSteps, askSums, findingIds, findingsCount, listSums, SLOTS } from "./questions.js";
import { floats } from "./session.js";
import { makeStack, stackAsText } from "./stack.js";
import { askAll, capacityBytes, change, momentText, newMemo } from "./state.js";
import { consume, copyText, formatAt, formatBytes, formatCount, formatEvent } from "./text.js";
import { make, makeBox, makeButton, setAll, tableFigures } from "./text.js";

const STEPS_SHOWN = 12;

const OPEN_MOST = 3;

/** @param {string} text @param {() => void} act @param {boolean} [first] */
const actionButton = (text, act, first) => makeButton(first ? "quiet first-action" : "quiet", text, act);

/** Gives a button its action's name for scripts. @param {string} action @param {HTMLButtonElement} button */
const named = (action, button) => setAll(button, { "data-action": action });

/** A finding's live bytes at the end of each step: for a leak those of its set, for gradients those of all gradients,
 * otherwise those of its call site. @param {Page} page @param {PageFinding} finding @param {number} index
 * @param {number[]} ends */
function bytesAtEnds(page, { kind }, index, ends) {
    const { site } = page.view.c.finding(index);
    if (kind === "leak") {
        const set = (findingIds(page.view, index) ?? []).map((id) => page.view.c.allocation(id));
        return ends.map((end) => set.reduce((sum, { birth, bytes }) => sum + (birth <= end ? bytes : 0), 0));
    }
    if (kind !== "gradients_kept") return ends.map((end) => page.view.c.site_sum(site, end).bytes);
    const gradients = (/** @type {View} */ all, /** @type {number} */ at) =>
        listSums(askSums(all, SLOTS.once, { at }, "category")).find(({ name }) => name === "gradient")?.bytes ?? 0;
    return askAll(page, (all) => ends.map((at) => gradients(all, at)));
}

/** The steps of a finding; for a leak, up to the moment that its card is about. @param {Page} page
 * @param {PageFinding} finding @returns {{name: string, to: number}[]} */
function barSteps(page, { kind, at_event: at }) {
    const steps = askSteps(page.view);
    if (kind !== "leak") return steps;
    const before = steps.filter(({ to }) => to - 1 <= at);
    const name = at === page.view.facts.peak_event ? "peak" : formatEvent(at);
    return before[before.length - 1]?.to === at + 1 ? before : [...before, { name, to: at + 1 }];
}

/** Draws the bytes alive at the end of each step, with the new part of each red; draws nothing if they do not add up to
 * the title's figure. @param {Page} page @param {PageFinding} finding @param {number} index */
function stepBars(page, finding, index) {
    const steps = barSteps(page, finding).slice(-STEPS_SHOWN);
    if (steps.length < 2) return [];
    const ends = steps.map(({ to }) => to - 1);
    const bytes = bytesAtEnds(page, finding, index, ends);
    const most = Math.max(...bytes);
    if (most === 0 || (finding.kind !== "levels_rise" && most !== finding.bytes)) return [];
    const { text, number, unit } = tableFigures(most);
    const said = bytes.map((value, i) => `${steps[i].name} ${text(value)}`).join(", ");
    const bars = makeBox("img", "step-bars", `Alive at the end of each step: ${said}`);
    steps.forEach(({ name }, i) => {
        const bar = make("div", "step-bar");
        const old = i === 0 ? 0 : Math.min(bytes[i], bytes[i - 1]);
        bar.style.setProperty("--share", String(bytes[i] / most));
        bar.style.setProperty("--new", `${bytes[i] ? ((bytes[i] - old) / bytes[i]) * 100 : 0}%`);
        const value = make("span", "step-value", number(bytes[i]), make("span", "step-unit", ` ${unit}`));
        bars.append(make("div", "step-column", value, bar, make("span", "step-name", name)));
    });
    return [bars];
}

/** Columns of the run's curve on a card. */
const RUN_WIDTH = 160;

/** A call site's curve. @param {View} all @param {number} site */
function sparkOf(all, site) {
    const place = all.c.spark(0, site, RUN_WIDTH) >>> 0;
    return place ? floats(all.module, place, RUN_WIDTH).slice() : null;
}

/** Draws the run in small: live memory, the finding's call site in it, and where the finding is.
 * @param {Page} page @param {PageFinding} finding @param {record_finding} record */
function runPicture(page, finding, record) {
    const { session, view } = page;
    const { events, peak_bytes } = view.facts;
    if (events < 2) return [];
    const site = record.site ? ` with ${session.siteText(record.site)}` : "";
    const moment = momentText(page, finding.at_event);
    const box = makeBox("img", "run-picture", `The whole run${site}; the line is at ${moment}.`);
    const layer = (/** @type {string} */ name, /** @type {Float64Array} */ curve) => {
        const shape = make("i", name);
        shape.style.clipPath = curveShape(curve, Math.max(1, peak_bytes));
        box.append(shape);
    };
    const place = (/** @type {number} */ event) => `${((Math.max(0, event) / events) * 100).toFixed(2)}%`;
    const range = make("i", "run-range");
    range.style.left = place(finding.from_event);
    range.style.right = `calc(100% - ${place(finding.to_event)})`;
    if (finding.to_event > finding.from_event) box.append(range);
    layer("run-live", view.curve(0, 0, events, RUN_WIDTH, false));
    const spark = record.site ? askAll(page, (all) => sparkOf(all, record.site)) : null;
    if (spark) layer("run-site", spark);
    const mark = make("i", "run-mark");
    mark.style.left = place(finding.at_event);
    if (finding.at_event >= 0) box.append(mark);
    return [box];
}

/** Draws the reserved memory, by why it is not in use. @param {Page} page @param {PageFinding} finding */
function gapPicture(page, { at_event: at }) {
    const { view } = page;
    if (view.sentence("map_refusal") || view.facts.events > REPLAYED_AT_ONCE) return [];
    replayOnce(page, REPLAYED_AT_ONCE);
    const { reserved_bytes, live_bytes, gap_bytes, empty_segments } = view.c.gap(at);
    const unused = Math.max(0, gap_bytes - empty_segments);
    return shareBar(reserved_bytes, [
        ["live", live_bytes, "live {}"],
        ["empty", empty_segments, "{} in empty segments"],
        ["unused", unused, "{} unused in the other segments"],
    ]);
}

/** Is the finding about memory that is reserved but not in use? @param {PageFinding} finding */
const isOfGap = ({ kind }) => kind === "fragmentation";

/** A finding's picture. @param {Page} page @param {PageFinding} finding @param {number} index */
function findingPicture(page, finding, index) {
    if (isOfGap(finding)) return gapPicture(page, finding);
    const bars = finding.per?.unit === "step" ? stepBars(page, finding, index) : [];
    return bars.length ? bars : runPicture(page, finding, page.view.c.finding(index));
}

/** @param {Page} page @param {PageFinding} finding @param {string} code */
function findingAction(page, { action, saves_peak_bytes: saves, site, bytes }, code) {
    const gain = saves ? `${formatBytes(saves)} off the peak` : "";
    if (action) return [actionLine({ head: "What to do", code, gain, why: action })];
    // Without stacks nothing can be named.
    const nameless = bytes > 0 && site === null && page.session.facts.stacks <= 1;
    const why = "Record with stacks to see which line allocates it.";
    return nameless ? [actionLine({ head: "Call site not recorded", why, grey: true })] : [];
}

function findingBody(/** @type {Page} */ page, /** @type {PageFinding} */ finding, /** @type {number} */ index) {
    const { facts, code } = askCards(page.view)[index];
    return [
        ...findingPicture(page, finding, index),
        make("p", "card-facts", ...breakable(facts)),
        ...findingAction(page, finding, code),
    ];
}

/** The setting that would have reserved much less, where there is one. @param {Page} page */
function settingCard(page) {
    const best = bestSetting(page);
    if (!best) return [];
    const words = { kind: "Setting", headline: best.text, amount: "" };
    const card = makeCard(words, "medium", best.row.certainty, true);
    card.append(
        actionLine({ head: "What to do", code: planCode(best.row) }),
        make("p", "card-actions", provingButton(page, "Show why", "Showing what is reserved", { tab: "allocator" })),
    );
    return [card];
}

/**
 * Makes a button that shows another view, from which Escape comes back.
 * @param {Page} page @param {string} text
 * @param {string} said of what is shown
 * @param {Partial<PageState>} fields
 * @param {number} [site] whose row a comparison has first
 */
function provingButton(page, text, said, fields, site = 0) {
    /** @type {HTMLButtonElement} */
    const button = actionButton(text, () => prove(page, button, said, () => change(page, fields), site));
    return button;
}

/** Makes a button that unfolds the stack behind a card. @param {HTMLElement} row @param {number} stack */
function stackButton(/** @type {Page} */ page, row, stack) {
    /** @type {HTMLElement | null} */
    let shown = null;
    const turn = () => {
        if (shown) shown.remove();
        else row.after((shown = makeStack(page, stack)));
        if (!shown?.isConnected) shown = null;
        button.setAttribute("aria-expanded", String(shown !== null));
    };
    /** @type {HTMLButtonElement} */
    const button = makeButton("quiet", "Stack", turn, { "data-action": "stack", "aria-expanded": false });
    return button;
}

/** The text of the button that shows a card's evidence. @param {Page} page @param {PageFinding} finding
 * @param {number} index */
function showText(page, finding, index) {
    const has = page.view.c.finding_ids(index).count >= 0;
    const things = finding.kind === "gradients_kept" ? " gradients" : "";
    if (!has) return `${finding.at_event < 0 ? "Show" : "Go to"} ${shownName(finding)}`;
    return `Show the ${finding.count === 1 ? "allocation" : `${formatCount(finding.count)}${things}`}`;
}

/** Makes the button that shows the evidence for the card's sentence.
 * @param {Page} page @param {PageFinding} finding @param {number} index @param {string} text */
function showButton(page, finding, index, text) {
    const button = actionButton(text, () => showFinding(page, button, finding, index), true);
    return named("show", button);
}

/** Makes the button that compares the ends of two whole steps, if the card's set is larger at the second.
 * @param {Page} page @param {PageFinding} finding @param {record_finding} record */
function compareButton(page, finding, record) {
    const steps = askSteps(page.view);
    const whole = wholeSteps(page);
    if (finding.kind !== "leak" || !record.site || !whole) return [];
    const { first, last } = whole;
    const alive = (/** @type {number} */ nth) => page.view.c.site_sum(record.site, steps[nth].to - 1).bytes;
    if (alive(last) <= alive(first)) return [];
    const [from, to] = [first, last].map((nth) => `step ${steps[nth].name.replace("#", "")}`);
    const ends = { compareA: `s${first}`, compareB: `s${last}` };
    const fields = { tab: "compare", ...ends, compareWhat: "end", compareBy: "site" };
    const said = `Comparing what is alive at the end of ${from} and of ${to}`;
    return [named("compare", provingButton(page, `Compare ${from} with ${to}`, said, fields, record.site))];
}

/** A finding's buttons. @param {PageFinding} finding @param {record_finding} record @param {number} index */
function findingActions(/** @type {Page} */ page, finding, record, index) {
    const row = make("p", "card-actions", showButton(page, finding, index, showText(page, finding, index)));
    if (isOfGap(finding) && !page.view.sentence("map_refusal")) {
        const moment = finding.at_event;
        const shows = `Showing the map ${formatAt(moment)}`;
        row.append(provingButton(page, "Show the map", shows, { mapOpen: true, moment }));
        // Nothing keeps a segment that is wholly free.
        const what = finding.kind === "fragmentation" ? "what keeps it" : "the empty segments";
        const said = `Showing ${what} ${formatAt(moment)}`;
        row.append(provingButton(page, `Show ${what}`, said, { tab: "allocator", moment }));
    }
    row.append(...compareButton(page, finding, record));
    if (record.stack) row.append(stackButton(page, row, record.stack));
    row.append(copyButton(page, `${askCards(page.view)[index].headline}. ${finding.detail}`, record.stack));
    return row;
}

/** Makes the button that copies the finding with its stack; with Shift, also the stack's C++ frames.
 * @param {Page} page @param {string} text @param {number} stack */
function copyButton(page, text, stack) {
    const button = named("copy", make("button", "quiet", "Copy"));
    button.addEventListener(
        "click",
        ({ shiftKey }) => void copyText(`${text}\n${stack ? stackAsText(page, stack, shiftKey) : ""}\n`),
    );
    return button;
}

/** @param {{kind: string, headline: string, amount: string}} words @param {string} severity @param {string} confidence
 * @param {boolean} open */
function makeCard({ kind, headline, amount }, severity, confidence, open) {
    const figure = make("span", "card-figure", amount);
    const head = make("span", "card-head", make("b", "card-kind", kind), sureWord(confidence), figure);
    const title = make("span", "card-title", ...breakable(headline));
    return make("details", `card card-${severity}`, { open }, make("summary", "", head, title));
}

/** @param {Page} page @param {PageFinding} finding @param {number} index @param {boolean} open */
function oomCard(page, finding, index, open) {
    const last = oomParts(page, page.view.facts.ooms - 1, capacityBytes(page));
    const { kind } = askCards(page.view)[index];
    const card = makeCard({ kind, headline: last.title, amount: last.when }, "high", finding.confidence, open);
    const actions = make("p", "card-actions", showButton(page, finding, index, "Show the request"));
    const held = page.view.c.live_at(last.event);
    const who = `ho held ${formatBytes(held)}`;
    const fields = { tab: "who", moment: last.event, range: null, groupBy: "site" };
    if (held > 0) actions.append(provingButton(page, `W${who}`, `Showing w${who} ${formatAt(last.event)}`, fields));
    if (last.stack) actions.append(stackButton(page, actions, last.stack));
    const [plan, shows] = ["What would make it fit", "Showing what would make it fit"];
    if (devicePlan(page)) actions.append(named("plan", provingButton(page, plan, shows, { tab: "plan" })));
    actions.append(copyButton(page, `${last.title}. ${finding.detail}`, last.stack));
    card.append(...last.body, actions);
    return card;
}

/** @param {Page} page @param {PageFinding} finding @param {number} index @param {boolean} open */
function findingCard(page, finding, index, open) {
    if (finding.kind === "out_of_memory" && page.view.facts.ooms > 0) return oomCard(page, finding, index, open);
    const record = page.view.c.finding(index);
    const card = makeCard(askCards(page.view)[index], finding.severity, finding.confidence, open);
    const actions = findingActions(page, finding, record, index);
    card.append(actions);
    // The rest of a card is made when it is first opened, because the bars of every step take time.
    const fill = () => {
        if (actions.previousElementSibling?.tagName === "SUMMARY") actions.before(...findingBody(page, finding, index));
    };
    if (open) fill();
    card.addEventListener("toggle", fill);
    return card;
}

/** Lists the checks other than growth: a tick if the fault would have been seen, a dash if it could not be seen. */
function checkList(/** @type {Page} */ { session, view }) {
    const list = make("ul", "looked-for");
    for (let i = 0, check; (check = view.find.check(i)); i++) {
        if (check.state === CHECK_FOUND) continue;
        const clear = check.state === CHECK_CLEAR;
        const named = { role: "img", "aria-label": clear ? "not found:" : "not judged:" };
        const sign = make("span", clear ? "sign clear" : "sign", clear ? "✓" : "–", named);
        list.append(make("li", "", sign, ...breakable(session.decode(check))));
    }
    return list;
}

/** Says what was judged and what could not be, as in the report: nothing reassures about the rest. @param {Page} page
 * @param {number} count of findings */
function judgedFoot(page, count) {
    const foot = make("div", count === 0 ? "why-foot alone" : "why-foot");
    const list = checkList(page);
    if (count === 0) foot.append(make("p", "nothing", "Nothing found among the kinds that could be judged."));
    foot.append(make("p", "", ...breakable(page.session.decode(page.view.c.judged_text()))));
    if (list.childElementCount === 0) return foot;
    foot.append(make("details", "", { open: count === 0 }, make("summary", "", "What was checked"), list));
    return foot;
}

/** The sentence on the parts of the peak, which comes before everything else. @param {Page} page */
function peakMade(page) {
    const made = page.view.sentence("peak_made");
    return made ? [make("p", "peak-made", ...breakable(made))] : [];
}

/** Numbers the cards as scripts know them. If a document has two pages, those of the chosen one are numbered.
 * @param {Page} page */
export function nameCards(page) {
    const inHand = !page.beside || page.ui.app.classList.contains("in-hand");
    for (const [i, card] of page.ui.panelWhy.querySelectorAll(".card").entries())
        if (inHand) card.setAttribute("data-finding", String(i));
        else card.removeAttribute("data-finding");
}

export function createWhy(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    const { view } = page;
    const drawn = newMemo();
    const fill = () => {
        const findings = askFindings(view);
        const cards = findings.map((finding, i) =>
            findingCard(page, finding, i, i < OPEN_MOST && (finding.severity === "high" || i === 0)),
        );
        const foot = judgedFoot(page, findings.length);
        box.replaceChildren(...cards, ...peakMade(page), foot);
        nameCards(page);
        box.prepend(...settingCard(page));
    };
    const draw = () => {
        if (page.opening) box.textContent = "Looking for findings \u2026";
        else drawn([view.device], fill);
    };
    const step = (/** @type {number} */ by) => {
        const cards = Array.from(box.querySelectorAll("summary"));
        const at = cards.findIndex((card) => card.parentElement?.contains(document.activeElement));
        cards[Math.min(cards.length - 1, Math.max(0, at + by))]?.focus();
    };
    box.addEventListener("keydown", (event) => {
        const { target } = event;
        if (!(target instanceof HTMLElement) || !target.matches("summary, button")) return;
        const press = (/** @type {string} */ button) => {
            const found = target.closest(".card")?.querySelector(button);
            if (found instanceof HTMLButtonElement) found.click();
        };
        if (event.key === "ArrowDown") step(1);
        else if (event.key === "ArrowUp") step(-1);
        else if (event.key === "Enter" && target.tagName === "SUMMARY") press(".first-action");
        else if (event.key === "c") press("[data-action=compare]");
        else return;
        consume(event);
    });
    return {
        id: "why",
        draw,
        count: () => findingsCount(page),
        urgent: () => !page.opening && askFindings(view).some(({ severity }) => severity === "high"),
    };
}
