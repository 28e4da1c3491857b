// Unpacks inert elements of the page, which hold the program and the WebAssembly module.
import { nextTurn } from "./turns.js";
import code from "unpack.wasm.gz"; // templates/unpack.c, gzipped, in base64

/** @typedef {{memory: WebAssembly.Memory, room(digits: number): number, open(digits: number): number,
 * more(steps: number): number}} Unpacker */

/** Compiles the small module that unpacks everything else. @returns {Promise<WebAssembly.Module>} */
async function compileUnpacker() {
    if (!self.WebAssembly)
        throw new Error(
            "This browser has no WebAssembly (or it is switched off), which computes the picture. A current " +
                "Chrome, Firefox or Safari shows this page.",
        );
    const zipped = new Blob([Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0))]);
    const bytes = new Response(zipped.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    return WebAssembly.compile(await bytes).catch((error) => {
        if (/unsafe-eval|Content.Security|\bCSP\b/i.test(String(error)))
            throw new Error(
                "The server of this page forbids WebAssembly, which computes the picture: its " +
                    "Content-Security-Policy lacks 'wasm-unsafe-eval' in script-src. Save the page as a " +
                    "file: then it opens anywhere.",
            );
        throw error;
    });
}

/** Milliseconds of work at a time, because other work waits: below 50 even on a machine that is half as fast. */
const TURN = 20;

/** Bytes and matches that take about a millisecond. */
const STEPS = 16384;

/** Decodes the bytes that an inert element holds. @param {Unpacker} unpacker @param {string} text */
async function unpacked({ memory, room, open, more }, text) {
    const place = room(text.length);
    if (place) new TextEncoder().encodeInto(text, new Uint8Array(memory.buffer, place, text.length));
    const nbytes = place && open(text.length);
    let state = nbytes ? 1 : -1;
    for (let until = performance.now() + TURN; state > 0; state = more(STEPS))
        if (performance.now() > until) {
            await nextTurn();
            until = performance.now() + TURN;
        }
    if (state < 0) throw new TypeError("it was changed");
    return new Uint8Array(memory.buffer, place + text.length, nbytes);
}

/** What unpacks an inert element, in a task of its own. */
export async function makeUnpack() {
    const module = await compileUnpacker();
    return async (/** @type {string} */ id) => {
        await nextTurn();
        try {
            const { exports } = await WebAssembly.instantiate(module);
            const unpacker = /** @type {Unpacker} */ (/** @type {unknown} */ (exports));
            return await unpacked(unpacker, document.getElementById(id)?.textContent ?? "");
        } catch {
            throw new TypeError(`its ${id} does not unpack`); // one sentence in every browser
        }
    };
}
