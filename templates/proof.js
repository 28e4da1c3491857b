// Shows the proof of a card: only its set is bright, at its moment, and a strip above the plot counts what is lit. Esc
// goes back to the view before, with its window.
import { fitOpening, goToView, hashOfState, readHash, writeHash } from "./address.js";
import { askFindings } from "./questions.js";
import { setSearch } from "./search.js";
import { change, flush, HEADER, heldMoment, invalidate, perPage } from "./state.js";
import { formatBytes, formatAt, formatEvent, formatPlural, make, setText } from "./text.js";

const shownOf = perPage(() => ({
    /** The address to go back to, the button that was pressed, the sentence if there is no set, and the call site that
     * the card is about. @type {{back: string, button: HTMLElement, text: string, site: number} | null} */
    proof: null,
}));

/** The bright part of the allocations alive at the moment; null: nothing is faded. @param {Page} page */
export function litNow(page) {
    const { state, view } = page;
    const found = state.finding === null && !state.focus && state.search !== "" && page.search.ready;
    if (state.finding === null && !state.focus && !found) return null;
    const event = heldMoment(page);
    const { place, ids, allocations: count, bytes } = view.c.lit(event, found ? 1 : 0);
    return { ids: Array.from(new Uint32Array(view.module.memory.buffer, place, ids)), count, bytes, event };
}

/** Shows a view; the strip says `text` if no set is lit. @param {Page} page @param {HTMLElement} button
 * @param {string} text @param {() => void} show @param {number} [site] whose row a comparison has first */
export function prove(page, button, text, show, site = 0) {
    const shown = shownOf(page);
    shown.proof = { back: shown.proof?.back ?? hashOfState(page), button, text, site };
    change(page, { planned: null, finding: null, focus: null });
    if (page.state.search) setSearch(page, "");
    show();
    invalidate(page, HEADER);
}

/** The call site that the card is about; 0: none. @param {Page} page */
export const provedSite = (page) => shownOf(page).proof?.site ?? 0;

/** What a card without a set shows. @param {PageFinding} finding */
export const shownName = ({ kind, at_event: at }) =>
    kind === "out_of_memory" ? "the request" : at >= 0 ? formatEvent(at) : "the recording";

/** Highlights exactly the set of a card.
 * @param {HTMLElement} button @param {PageFinding} finding @param {number} index */
export function showFinding(/** @type {Page} */ page, button, finding, index) {
    const { at_event: at, kind } = finding;
    prove(page, button, `Showing ${shownName(finding)}`, () => {
        goToView(page, finding.view);
        if (kind === "out_of_memory") fitOpening(page);
        if (at >= 0) change(page, { moment: at === page.view.facts.peak_event ? null : at });
        const has = page.view.c.finding_ids(index).count >= 0;
        change(page, { focus: null, finding: has ? index : null });
    });
}

/** Ends the proof, because another view takes its place. @param {Page} page */
export function leaveProof(page) {
    shownOf(page).proof = null;
    change(page, { planned: null });
    invalidate(page, HEADER);
}

/** Goes back to the view before. False: there is no proof to end. @param {Page} page */
export function endProof(page) {
    const shown = shownOf(page);
    if (!shown.proof && page.state.finding === null) return false;
    if (!shown.proof) {
        change(page, { finding: null });
        return true;
    }
    const { back, button } = shown.proof;
    leaveProof(page);
    readHash(page, back);
    flush(page);
    writeHash(page);
    button.focus();
    return true;
}

/** The strip's text about the set that is lit. @param {Page} page @param {number} index */
function litText(page, index) {
    const finding = askFindings(page.view)[index];
    const event = heldMoment(page);
    const { allocations: count, bytes } = page.view.c.lit(event, 0);
    const things = finding.kind === "gradients_kept" ? "gradient" : "allocation";
    const are = count === 1 ? "is" : "are";
    const of = finding.site && finding.kind === "leak" ? ` of ${finding.site} that ${are} kept` : "";
    return [`Showing the ${formatPlural(count, things)}${of}`, `${formatBytes(bytes)} ${formatAt(event)}`];
}

/** Draws the strip above the plot. It takes room from the plot, so this comes before the plot's layout.
 * @param {Page} page */
export function drawProof(page) {
    const shown = shownOf(page);
    const strip = page.ui.proof;
    // Another view has taken its place, so there is nothing to go back to.
    const { finding } = page.state;
    strip.hidden = !shown.proof && finding === null;
    if (strip.hidden) return;
    const [text, figures] = finding === null ? [shown.proof?.text ?? "", ""] : litText(page, finding);
    page.ui.proofText.replaceChildren(make("b", "", text), figures ? ` \u00b7 ${figures}` : "");
}

export function startProof(/** @type {Page} */ page) {
    page.onClick("proof-end", () => endProof(page));
}

/** Says that bands of a call site are drawn as one, and offers to draw each. @param {Page} page
 * @param {boolean} [expected] it will be so */
export function drawGroups(page, expected = false) {
    const strip = page.ui.groups;
    const { dense, groups } = page.plot;
    const each = page.state.bands === "each";
    strip.hidden = !expected && groups === 0 && !(dense > 0 && each);
    if (strip.hidden) return;
    page.ui.groupsText.replaceChildren(
        make("b", "", each ? "Each by itself" : "Grouped by call site"),
        make("span", "", `: most are under 3 px high here${each ? "" : "; grey: smaller call sites"}`),
    );
    setText(page.ui.groupsEach, each ? "Group them" : "Show each");
}

export function startGroups(/** @type {Page} */ page) {
    page.onClick("groups-each", () => change(page, { bands: page.state.bands ? "" : "each" }));
}
