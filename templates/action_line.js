// The part of a card that says what to do about it: code or a setting to paste, its saving, and why.
import { copyText, flashButton, make, makeButton } from "./text.js";

/** A block of code with a button that copies it. @param {string} code */
export function codeBlock(code) {
    const copy = async () => {
        await copyText(code);
        flashButton(button, "Copied");
    };
    /** @type {HTMLButtonElement} */
    const button = makeButton("quiet", "Copy", () => void copy(), {
        "aria-label": `Copy ${code}`,
        "data-action": "code",
    });
    return make("div", "code-block", make("pre", "", make("code", "", ...breakable(code))), button);
}

/** A figure with its unit. */
const FIGURE = /([\d.,]*\d (?:%|[KMGTPE]iB|bytes|B)(?!\w))/;

/** Parts of a text between which a line may be broken: after a sign between two names, and nowhere inside of a name or
 * number, or between a figure and its unit. @param {string} text */
export const breakable = (text) =>
    text.split(FIGURE).flatMap((part, i) => (i % 2 ? [make("span", "whole", part)] : breakableNames(part)));

const breakableNames = (/** @type {string} */ text) =>
    text.split(/(?<=[\w)\]"'](?:[/_:=(]|[.,](?!\d)))(?=\w)/).flatMap((part, i) => (i ? [make("wbr"), part] : [part]));

/** What is meant by each word of certainty. @type {Record<string, string>} */
const SURE = {
    certain: "The recording shows it",
    likely: "All that the recording shows speaks for it",
    possible: "The recording does not decide it; the card says what would",
    exact: "The recording shows it to the byte",
    model: "Found by running the recorded requests through PyTorch's allocator with this change",
    estimate: "Found from the recording's sizes, without all that the change would do",
    bound: "Only the least that it can be is known",
};

/** A word of certainty, with what it means. @param {string} word */
export const sureWord = (word) => make("span", "card-sure", word, { title: SURE[word] });

/** @param {{head: string, sure?: string, code?: string, gain?: string, why?: string, grey?: boolean}} action grey: it
 * does not suffice */
export function actionLine({ head, sure = "", code = "", gain = "", why = "", grey = false }) {
    const top = make("p", "do-head", make("b", "", head), sureWord(sure));
    const box = make("div", grey ? "do-not" : "do", top);
    if (code) box.append(codeBlock(code));
    if (gain) box.append(make("p", "do-gain", ...breakable(gain)));
    if (why) box.append(make("p", "do-why", ...breakable(why)));
    return box;
}
