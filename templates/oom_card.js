// The card of an out-of-memory event: who made the request, the device as one bar, the memory that could not serve the
// request, and why not.
import { actionLine, breakable } from "./action_line.js";
import { phasesOfEvent, phaseText } from "./describe.js";
import { devicePlan, isServed, planCode, planRows, spareText } from "./plan_view.js";
import { prove } from "./proof.js";
import { change, momentText, topSites } from "./state.js";
import { askedText, formatAt, formatBytes, formatExactBytes, formatPlural, make, makeSwatch } from "./text.js";

/** A line on the bytes that were missing. @param {Page} page @param {record_oom} oom @param {record_oom_state} found */
function lackText(page, { size }, { lacking_bytes }) {
    if (lacking_bytes > 0) return `${formatBytes(lacking_bytes)} short of the ${formatBytes(size)} requested`;
    if (!page.session.facts.has_allocations) return `${formatBytes(size)} requested, by the log`;
    return "Enough memory, but no hole serves it";
}

/** @param {string} kind @param {number} bytes @param {number} whole @param {string} label */
function barPart(kind, bytes, whole, label) {
    const text = kind === "live" && bytes / whole > 0.2 ? label : "";
    const part = make("span", `part part-${kind}`, text, { title: `${label}: ${formatExactBytes(bytes)}` });
    part.style.flexGrow = String(bytes / whole);
    return part;
}

/** One bar with the parts of a whole, and a text for each part, in which {} stands for its bytes.
 * @param {number} whole @param {[kind: string, bytes: number, text: string][]} parts */
export function shareBar(whole, parts) {
    const [bar, key] = [make("div", "device-bar"), make("p", "bar-key")];
    for (const [kind, bytes, text] of parts) {
        if (bytes <= 0) continue;
        const label = text.replace("{}", formatBytes(bytes));
        bar.append(barPart(kind, bytes, Math.max(1, whole), label));
        const item = make("span", "", make("i", `swatch part-${kind}`), label);
        // A part with its text in the bar needs no key.
        if (!bar.lastElementChild?.textContent) key.append(item);
    }
    return [bar, key];
}

function deviceBar(/** @type {record_oom_state} */ found, /** @type {number} */ free, /** @type {number} */ capacity) {
    const { live_bytes: live, unused_bytes: unused, reserved_bytes, free_blocks_known, free_blocks } = found;
    const other = Math.max(0, capacity - reserved_bytes - free);
    return shareBar(live + unused + free + other, [
        ["live", live, "in use {}"],
        ["unused", unused, `unused {}${free_blocks_known ? ` in ${formatPlural(free_blocks, "hole")}` : ""}`],
        ["free", free, "free on the GPU {}"],
        ["other", other, "other {}"],
    ]);
}

function lackTable(/** @type {record_oom} */ { size, device_free }, /** @type {record_oom_state} */ found) {
    /** Names, bytes, and whether these can be enough. @type {[string, number, boolean][]} */
    const rows = [["Requested", size, true]];
    // The file's last state is a later one, so the sizes of the holes are upper bounds. The request failed, so a hole
    // of its size is of another pool, stream or size class.
    if (found.free_blocks_known)
        rows.push([found.exact ? "Largest hole" : "Largest hole, at most", found.largest_bytes, false]);
    rows.push(["Free on the GPU", device_free, true], ["All holes + free", found.unused_bytes + device_free, true]);
    const table = make("table", "lack");
    rows.forEach(([name, bytes, serves], i) => {
        const head = make("th", "", name, { scope: "row" });
        const enough = serves && bytes >= size;
        const lacks =
            i === rows.length - 1 && found.lacking_bytes > 0 ? ` ${formatBytes(found.lacking_bytes)} short` : "";
        const verdict = i === 0 ? "" : enough ? "\u2713 enough" : `\u2715${lacks}`;
        const said = make("td", enough ? "enough" : "short", verdict);
        table.append(make("tr", "", head, make("td", "number", formatBytes(bytes)), said));
    });
    return table;
}

/** Highlights the allocations of a call site at a moment.
 * @param {Page} page @param {number} site @param {string} text @param {number} moment */
function siteButton(page, site, text, moment) {
    const swatch = makeSwatch("");
    // The card outlives a change of the theme, so the style sheet chooses.
    for (const theme of ["light", "dark"])
        swatch.style.setProperty(`--${theme}`, page.view.siteColor(site, theme === "dark"));
    const button = make("button", "figure-link", swatch, " ", text);
    const said = `Showing what ${page.session.siteText(site)} holds ${formatAt(moment)}`;
    button.addEventListener("click", () =>
        prove(page, button, said, () => change(page, { focus: { by: "site", id: site }, selected: null, moment })),
    );
    return button;
}

/** Names who held the memory, in a sentence.
 * @param {Page} page @param {record_oom} oom @param {record_oom_state} found */
function holders(page, oom, { lacking_bytes, unused_bytes }) {
    const top = topSites(page, oom.event, 2);
    const line = make("p");
    const lacked = `Even with every free byte it would have been ${formatBytes(lacking_bytes)} short. `;
    if (lacking_bytes > 0) line.append(`The memory was in use. ${unused_bytes > 0 ? lacked : ""}`);
    if (top.length === 0) return line;
    const siteText = (/** @type {number} */ site) => page.session.siteText(site);
    line.append("Held most: ");
    top.forEach(({ site, bytes }, i) =>
        line.append(i ? ", " : "", siteButton(page, site, `${siteText(site)} ${formatBytes(bytes)}`, oom.event)),
    );
    line.append(".");
    return line;
}

/** Advice that the card's table, its first sentence or the plan contain already. */
const SAID_ABOVE = ["memory_in_use", "nothing_in_use", "not_in_one_piece"];

/** What to do, of the plan, which the page carries: the first change or set of changes that serves the request.
 * @param {Page} page */
function leastChange(page) {
    const plan = devicePlan(page);
    const first = plan?.refused === null ? planRows(plan).find(isServed) : undefined;
    if (!plan || !first) return null;
    const code = planCode(first);
    const limit = plan.budget.used_bytes;
    const fits = plan.scope === "request" ? "Gets past it" : "Fits";
    const gain = `${fits}${limit === null ? "" : `: ${spareText(first, limit)}`}`;
    const rest = plan.scope === "request" ? "; the rest of its step is not recorded" : "";
    const why = `${first.title.charAt(0).toUpperCase()}${first.title.slice(1)}${rest}.`;
    return actionLine({ head: "What to do", sure: first.certainty, code, gain, why });
}

/** What the page's writer advised, because only it could ask the model. @param {Page} page @param {number} index of the
 * event */
function follows(page, index) {
    const { meta, session, view } = page;
    // The model was asked about the last event only.
    if (index < view.facts.ooms - 1) return [];
    const all =
        /** @type {Record<string, {code: string, text: string, short_bytes: number}[]> | undefined} */ (meta.follows)?.[
            String(session.devices[view.device].ordinal)
        ] ?? [];
    const least = leastChange(page);
    const told = all.filter(({ code }) => !SAID_ABOVE.includes(code) && !(least && code === "plan"));
    const others = told.map(({ code, text, short_bytes: short }) =>
        short > 0
            ? actionLine({ head: "Not enough by itself", gain: `${formatBytes(short)} short`, why: text, grey: true })
            : code === "log_action" || code === "plan" || (code === "enable_expandable_segments" && !least)
              ? actionLine({ head: "What to do", why: text })
              : make("p", "card-advice", ...breakable(text)),
    );
    return [...(least ? [least] : []), ...others];
}

/** The parts of the card of an event. @param {number} index of the event @param {number} capacity 0: unknown */
export function oomParts(/** @type {Page} */ page, index, capacity) {
    const { view } = page;
    const oom = view.c.oom(index);
    const found = view.c.oom_state(index);
    const site = oom.stack ? view.stackSite(oom.stack) : "";
    const by = make("p", "card-by");
    if (site) by.append("by ", make("code", "", site));
    const during = phasesOfEvent(page, oom.event);
    if (during.length) by.append(` in ${during.map(phaseText).join(" \u203a ")}`);
    // Without the final segments the reserved bytes are a lower bound, from which nothing follows.
    const known = found.reserved_known !== 0 && oom.size >= 0 && oom.device_free >= 0;
    return {
        when: momentText(page, oom.event),
        title: known ? lackText(page, oom, found) : askedText(oom.size, oom.device_free),
        body: [
            by,
            ...(known ? [...deviceBar(found, oom.device_free, capacity), lackTable(oom, found)] : []),
            known ? holders(page, oom, found) : "",
            ...follows(page, index),
        ],
        event: oom.event,
        stack: oom.stack,
    };
}
