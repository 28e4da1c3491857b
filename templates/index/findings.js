// The differences among the recordings; equal findings of several ranks are one. Without any, a sentence says so.
import { element, formatCount, formatPlural, make, makeButton, makeSwatch, setText } from "../text.js";
import { rangesText } from "./data.js";

/** @typedef {import("./data.js").Finding} Finding */

const FINDINGS_SHOWN = 12;

function calmSentence(/** @type {Batch} */ batch) {
    if (batch.rows.length === 0) return "There is no recording to compare.";
    return batch.rows.length < 4
        ? "Fewer than four recordings: too few to call one of them different."
        : "No recording is far from the median in its peak, its end or its number of events, " +
              "and none ran out of memory.";
}

export function createFindings(/** @type {Batch} */ batch, /** @type {{choose: (index: number) => void}} */ use) {
    const { data, rows } = batch;
    let shown = FINDINGS_SHOWN;
    let chosen = -1;

    function makeItem(/** @type {Finding} */ finding) {
        const [index] = finding.rows;
        const choose = () => {
            // A finding that is chosen again leads to the next of its recordings.
            const at = finding.rows.indexOf(chosen);
            if (index !== undefined) use.choose(finding.rows[(at + 1) % finding.rows.length]);
        };
        const pressed = {
            "aria-pressed": finding.rows.includes(chosen),
            title: `Choose the recording: ${finding.title}`,
        };
        const button = makeButton(`finding ${finding.severity}`, "", choose, pressed);
        if (index !== undefined) button.append(makeSwatch(batch.colorOf(index) ?? "var(--curve)"));
        button.append(make("span", "kind", finding.kind_title), make("span", "title", finding.title));
        const title = finding.ranks.length ? `ranks ${rangesText(finding.ranks, 40)}` : undefined;
        if (finding.rows.length > 1)
            button.append(make("span", "count dim", `${formatCount(finding.rows.length)} recordings`, { title }));
        return make("li", "", button);
    }

    function draw() {
        const items = data.findings.slice(0, shown).map(makeItem);
        if (items.length === 0) items.push(make("li", "dim", calmSentence(batch)));
        const list = element("findings", HTMLElement);
        const focused = [...list.querySelectorAll("button")].findIndex((button) => button === document.activeElement);
        list.replaceChildren(...items);
        if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
        const more = element("findings-more", HTMLButtonElement);
        more.hidden = shown >= data.findings.length;
        setText(more, `Show all ${formatCount(data.findings.length)}`);
    }

    const merged = data.findings.some((finding) => finding.rows.length > 1);
    const said = `${formatPlural(data.findings.length, "finding")}${merged ? ", equal ones shown once" : ""}`;
    setText(element("findings-count", HTMLElement), rows.length && data.findings.length ? said : "");
    element("findings-more", HTMLButtonElement).addEventListener("click", () => {
        shown = data.findings.length;
        draw();
    });
    return {
        /** @param {number} index */
        show(index) {
            chosen = index;
            draw();
        },
    };
}
