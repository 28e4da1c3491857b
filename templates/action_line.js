// The line of a card that says what to do about it.
import { make } from "./text.js";

/** The advice in one line, with its saving; grey if it does not suffice.
 * @param {string} head @param {string} gain @param {string} text @param {boolean} [grey] */
export function actionLine(head, gain, text, grey) {
    const line = make("p", "do-head", make("b", "", head), make("b", "", gain));
    return make("div", grey ? "do-not" : "do", line, make("p", "", text));
}
