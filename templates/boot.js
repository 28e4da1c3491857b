// What runs first in a page: the program and the WebAssembly module stand packed in it, a third of their size.
import { unpack } from "./unpack.js";

async function runProgram() {
    if (typeof DecompressionStream !== "function")
        throw new Error("This browser has no DecompressionStream, which unpacks the page. Chrome 80, Firefox 113, Safari 16.4 or newer shows it.");
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await unpack("program"));
    document.body.append(script); // runs before append returns, and puts the whole interface into window.strata
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
