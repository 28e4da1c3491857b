// The proof of a card: its set alone is bright, at its moment, and a strip above the plot counts what is lit. Esc goes
// back to what was shown before, the window included.
import { goToView, hashOfState, readHash } from "./address.js";
import { askFindings } from "./questions.js";
import { search } from "./search.js";
import { change, heldMoment, state, view } from "./state.js";
import { element, formatBytes, formatCount, formatEvent, formatPlural, make } from "./text.js";

const shown = {
    /**
     * The address to go back to, the button that was pressed, and the sentence where there is no set.
     * @type {{back: string, button: HTMLElement, text: string} | null}
     */
    proof: null,
};

/** What is bright now, of what is alive at the moment; null: nothing is fainter than the rest. */
export function litNow() {
    const found = state.finding === null && !state.focus && state.search !== "" && search.ready;
    if (state.finding === null && !state.focus && !found) return null;
    const event = heldMoment();
    const { place, ids, allocations, bytes } = view.c.lit(event, found ? 1 : 0);
    return {
        ids: Array.from(new Uint32Array(view.module.memory.buffer, place, ids)),
        count: allocations,
        bytes,
        event,
    };
}

/**
 * Shows something, of which `text` is said where no set is lit.
 * @param {HTMLElement} button
 * @param {string} text
 * @param {() => void} show
 */
export function prove(button, text, show) {
    shown.proof = { back: shown.proof?.back ?? hashOfState(), button, text };
    show();
}

/** Exactly what a card speaks of. @param {HTMLElement} button @param {PageFinding} finding @param {number} index */
export function showFinding(button, finding, index) {
    prove(button, `Showing event ${formatCount(finding.at_event)}`, () => {
        goToView(finding.view);
        const at = finding.at_event;
        if (at >= 0) change({ moment: at === view.facts.peak_event ? null : at });
        const has = view.c.finding_ids(index).count >= 0;
        change({ focus: null, finding: has ? index : null });
    });
}

/** Goes back to what was shown before; false: nothing is being proved. */
export function endProof() {
    if (!shown.proof && state.finding === null) return false;
    if (!shown.proof) {
        change({ finding: null });
        return true;
    }
    const { back, button } = shown.proof;
    shown.proof = null;
    readHash(back);
    button.focus();
    drawProof();
    return true;
}

/** What the strip says of a lit set. @param {number} index */
function litText(index) {
    const finding = askFindings(view)[index];
    const { count, bytes, event } = countLit();
    const things = finding.kind === "gradients_kept" ? "gradient" : "allocation";
    const of =
        finding.site && finding.kind === "leak" ? ` of ${finding.site} that are never freed` : " of this finding";
    return [`Showing the ${formatPlural(count, things)}${of}`, `${formatBytes(bytes)} at ${formatEvent(event)}`];
}

function countLit() {
    const event = heldMoment();
    const { allocations, bytes } = view.c.lit(event, 0);
    return { count: allocations, bytes, event };
}

/** The strip above the plot; before the plot is laid out, since it takes room from it. */
export function drawProof() {
    const strip = element("proof", HTMLParagraphElement);
    // Another view has taken its place: there is nothing to go back from.
    const lit = state.finding !== null;
    strip.hidden = !shown.proof && !lit;
    if (strip.hidden) return;
    const [text, figures] = lit ? litText(/** @type {number} */ (state.finding)) : [shown.proof?.text ?? "", ""];
    element("proof-text", HTMLSpanElement).replaceChildren(make("b", "", text), figures ? ` ${figures}` : "");
}

export function startProof() {
    element("proof-end", HTMLButtonElement).addEventListener("click", () => endProof());
}
