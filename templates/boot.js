// Runs first in a page: unpacks its elements, styles and program, which are packed like the WebAssembly module.
import { nextTurn } from "./turns.js";
import { makeUnpack } from "./unpack.js";

const { body } = document;

/** Puts a text into a new element, which takes effect at once.
 * @param {string} text @param {"style" | "script"} kind @param {HTMLElement} place */
function carry(text, kind, place) {
    const element = document.createElement(kind);
    element.textContent = text;
    place.append(element);
    // The page's policy applies no style and runs no program other than those that were written into the page.
    if ("sheet" in element && !element.sheet) throw new TypeError("its style does not apply");
}

/** @returns {Promise<void>} */
async function runProgram() {
    if (!self.DecompressionStream)
        throw new Error(
            "This browser has no DecompressionStream, which unpacks the page. Chrome 80, Firefox 113, " +
                "Safari 16.4 or newer shows it.",
        );
    const unpack = await makeUnpack();
    const unpackText = async (/** @type {string} */ id) => new TextDecoder().decode(await unpack(id));
    carry(await unpackText("style"), "style", document.head);
    // The markup comes from the build: nothing of a recording is in it.
    body.insertAdjacentHTML("beforeend", await unpackText("markup"));
    self.strata = /** @type {PageApi} */ (/** @type {unknown} */ ({ ready, unpack })); // the program unpacks the rest
    const program = await unpackText("program");
    await nextTurn();
    carry(program, "script", body); // puts the whole interface into self.strata
    if (self.strata.ready === ready) throw new TypeError("its program does not run");
    return self.strata.ready;
}

/** Our own sentences are plain errors; any other error means that the file was changed after it was written.
 * @param {any} error */
function sentenceOf(error) {
    if (error?.constructor === Error) return error.message;
    return (
        "This page cannot be shown: the file is probably damaged (" +
        `${error?.message ?? error}). Copy it again, or write it afresh with Strata; ` +
        "if that does not help, please report it."
    );
}

/** @param {unknown} error */
function showFailure(error) {
    const [failure, ...others] = ["failure", "loading", "app"].map((id) => document.getElementById(id));
    if (!failure?.hidden) return;
    // Half a page would be taken for a whole one, so nothing of it is shown.
    for (const other of others) if (other) other.hidden = true;
    failure.hidden = false;
    failure.textContent = sentenceOf(error);
}

// Without scripts nothing is being read, so nothing is said about reading.
body.insertAdjacentHTML(
    "afterbegin",
    "<div id=loading><b>Strata</b><progress id=progress max=1 value=0 aria-labelledby=stage-name></progress>" +
        "<p id=stage-name>Reading</div>",
);

// Scripts that come before the program can await strata.ready all the same.
const ready = runProgram();
ready.catch(showFailure);
self.strata = /** @type {PageApi} */ ({ ready });
