// What runs first in a page: styles, program and the WebAssembly module stand packed in it, a third of their size.
import { unpack } from "./unpack.js";

/** Puts the text of an inert element into a new one, which takes effect before this returns. @param {string} id @param {"style" | "script"} kind */
async function carry(id, kind) {
    const element = document.createElement(kind);
    element.textContent = new TextDecoder().decode(await unpack(id));
    document[kind === "style" ? "head" : "body"].append(element);
}

async function runProgram() {
    if (typeof DecompressionStream !== "function")
        throw new Error("This browser has no DecompressionStream, which unpacks the page. Chrome 80, Firefox 113, Safari 16.4 or newer shows it.");
    await carry("style", "style");
    await carry("program", "script"); // puts the whole interface into window.strata
    return window.strata.ready;
}

/** @param {unknown} error */
function showFailure(error) {
    const failure = document.getElementById("failure");
    const loading = document.getElementById("loading");
    if (!failure || !loading || !failure.hidden) return;
    loading.hidden = true;
    failure.hidden = false;
    failure.textContent = error instanceof Error ? error.message : String(error);
}

// Who comes before the program is there can await strata.ready all the same.
const ready = runProgram();
ready.catch(showFailure);
window.strata = /** @type {PageApi} */ ({ ready });
