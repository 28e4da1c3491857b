// Brings the recording that this file carries into the WebAssembly module, in slices, so that the page stays alive.
import { toldErrors } from "./calls.js";
import { Session } from "./session.js";
import { element, formatPlural, make, makeButton, setText } from "./text.js";
import { nextTurn, STEPS_MS, turns } from "./turns.js";

export const PAYLOAD_ERRORS = new Map([
    [-1, "there is not enough memory in this tab; strata html --max-html-size makes a smaller page"],
    [-2, "the data was written by another version of Strata"],
    [-3, "the data ends too early; the file was probably cut off"],
    [-4, "a section of the data is damaged"],
    [-5, "a value in the data is out of range"],
]);

/** boot.js, which has unpacked this program, unpacks the module too. */
const { unpack } = /** @type {{unpack: Awaited<ReturnType<typeof import("./unpack.js").makeUnpack>>}} */ (
    /** @type {unknown} */ (window.strata)
);

const AFRESH = " Copy the file again, or write it afresh with Strata.";

/** The same words in every browser, because browsers' own errors differ. */
export const damaged = () => new Error(`The data is damaged.${AFRESH}`);

/** Characters that are decoded at once: 4 characters are 3 bytes, so steps join without a remainder. */
export const BASE64_STEP = 1 << 20;

export function decodeBase64(/** @type {string} */ text, /** @type {Uint8Array} */ to, /** @type {number} */ at) {
    const room = to.subarray(at);
    try {
        if (room.setFromBase64) return at + room.setFromBase64(text).written;
        const bytes = atob(text);
        for (let i = 0; i < bytes.length; i++) to[at + i] = bytes.charCodeAt(i);
        return at + bytes.length;
    } catch {
        throw damaged();
    }
}

/** The number of bytes that a base64 text holds. @param {string} text */
export function base64Length(text) {
    const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
    return (text.length / 4) * 3 - padding;
}

/** Text of an inert element. @param {string} id */
export const carriedText = (id) => document.getElementById(id)?.textContent?.trim() ?? "";

/** Inflates one piece into exactly `to.length` bytes. @param {Uint8Array} packed @param {Uint8Array} to */
export async function inflateInto(packed, to) {
    const stream = new DecompressionStream("deflate");
    const writer = stream.writable.getWriter();
    // The reading side reports a damaged piece; without a handler it would be reported a second time here.
    writer.write(packed.slice()).catch(() => {});
    writer.close().catch(() => {});
    const reader = stream.readable.getReader();
    let at = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (at + value.length > to.length) throw new Error("A piece of the data is longer than announced.");
        to.set(value, at);
        at += value.length;
    }
    if (at !== to.length) throw new Error("A piece of the data is shorter than announced.");
}

export function checkPayload(/** @type {number} */ code, /** @type {string} */ step) {
    if (code !== 0)
        throw new Error(`${step}: ${PAYLOAD_ERRORS.get(code) ?? `error ${code}`}.${code === -1 ? "" : AFRESH}`);
}

/** Starts the module. @returns {Promise<ModuleExports>} */
export async function loadModule() {
    const { instance } = await WebAssembly.instantiate(await unpack("module")).catch((error) => {
        throw new Error(
            "This browser cannot run the program in this page, which needs WebAssembly with vectors: " +
                "Chrome 91, Firefox 89, Safari 16.4 or newer. (" +
                `${error instanceof Error ? error.message : error})`,
        );
    });
    return /** @type {ModuleExports} */ (/** @type {unknown} */ (instance.exports));
}

/** Copies the payload into the module's memory. @param {Session} session @param {string} text base64
 * @param {(done: number) => void} report */
export async function loadPayload(session, text, report) {
    const nbytes = base64Length(text);
    const place = session.c.reserve(nbytes) >>> 0;
    if (place === 0) throw new Error("There is not enough memory in this tab for the data.");
    const target = session.bytes(place, nbytes);
    for (let i = 0, at = 0; i < text.length; i += BASE64_STEP) {
        at = decodeBase64(text.slice(i, i + BASE64_STEP), target, at);
        report(i / text.length);
        await nextTurn();
    }
    checkPayload(session.c.open(), "The data cannot be opened");
}

/** Inflates all pieces, a few at a time. Some browsers inflate in the main thread, where promises alone would never let
 * them draw. @param {Session} session @param {(done: number) => void} report */
export async function inflatePieces(session, report) {
    const pieces = session.c.pieces();
    const turn = turns();
    let next = 0;
    const work = async () => {
        while (next < pieces.length) {
            await turn();
            if (next === pieces.length) return;
            report(next / pieces.length);
            const { packed, packed_nbytes, target, raw_nbytes } = pieces[next++];
            await inflateInto(session.bytes(packed, packed_nbytes), session.bytes(target, raw_nbytes));
        }
    };
    await Promise.all(Array.from({ length: 4 }, work)).catch(() => {
        throw damaged();
    });
}

/** Repeats a step until it no longer returns 1. The number of steps is not known before.
 * @param {() => number} step @param {(done: number) => void} report */
async function inSteps(step, report) {
    let code = 1;
    for (let n = 0; code === 1; n++) {
        report(1 - 1 / (1 + n / 8));
        await nextTurn();
        for (const start = performance.now(); code === 1 && performance.now() - start < STEPS_MS;) code = step();
    }
    checkPayload(code, "The data cannot be read");
}

/** Reads a recording into a new session of the module.
 * @param {ModuleExports} module @param {string} payload base64 @param {(stage: string, done: number) => void} report */
export async function loadSession(module, payload, report) {
    const session = new Session(module);
    await loadPayload(session, payload, (done) => report("Reading the data", 0.02 + done * 0.38));
    await inflatePieces(session, (done) => report("Unpacking", 0.4 + done * 0.4));
    const arranged = (/** @type {number} */ done) => report("Arranging the allocations", 0.8 + done * 0.08);
    await inSteps(() => session.c.unpack(), arranged);
    session.start();
    return session;
}

/** Answers questions about the first device in turns: all, or those that its first picture asks.
 * @param {Session} session @param {boolean} all @param {(stage: string, done: number) => void} report */
export async function prepareFirst(session, all, report) {
    const [first] = session.devices;
    const events = formatPlural(first?.events ?? 0, "event");
    const read = (/** @type {number} */ done) => report(`Reading ${events}`, 0.88 + done * 0.07);
    if (first) await inSteps(() => session.c.prepare(0, Number(all)), read);
}

/** What the writer of the page knew of the findings of a large recording, which is therefore drawn before they are
 * found; null: they are found first. An address that speaks of them would only wait for them.
 * @returns {Page["opening"]} */
export function knownOpening() {
    const known = document.getElementById("opening")?.getAttribute("value");
    return known && !/finding|categ|layer|module/.test(location.hash) ? JSON.parse(known) : null;
}

/** Reads the recording that this page carries. @param {(stage: string, done: number) => void} report */
export async function loadPage(report) {
    if (!carriedText("module") || !carriedText("payload"))
        throw new Error("This page carries no recording. `strata html SNAPSHOT` makes a page of one.");
    report("Reading", 0);
    return loadSession(await loadModule(), carriedText("payload"), report);
}

/* ---- while it is read, and when something fails ---- */

/** @param {string} stage @param {number} done 0..1 */
export function reportProgress(stage, done) {
    element("progress", HTMLProgressElement).value = done;
    setText(element("stage-name", HTMLParagraphElement), stage);
}

/** A fault in a page that is shown is ours: says so, asks for the details that help to mend it, and offers the view
 * before it.
 * @param {unknown} error @param {Page | null} page @param {(page: Page) => void} goBack */
function showFault(error, page, goBack) {
    if (!page || !(error instanceof Error) || toldErrors.has(error)) return;
    const { version, fingerprint } = page.meta;
    const failure = element("failure", HTMLDivElement);
    failure.hidden = false;
    failure.classList.add("over");
    const back = () => {
        failure.hidden = true;
        goBack(page);
    };
    failure.replaceChildren(
        make(
            "p",
            "",
            `This page has a fault of its own (${error.message}). What it shows may be out of date. Please report it ` +
                `with what you did last, version ${version} of Strata and the recording's fingerprint ` +
                `${fingerprint}. The recording itself is not needed at first.`,
        ),
        make(
            "p",
            "card-actions",
            makeButton("quiet", "Back to the view before", back),
            makeButton("quiet", "Start afresh", () => location.reload()),
        ),
    );
}

/** @param {() => Page | null} inHand @param {(page: Page) => void} goBack */
export function startFaults(inHand, goBack) {
    addEventListener("error", ({ error }) => showFault(error, inHand(), goBack));
    addEventListener("unhandledrejection", ({ reason }) => showFault(reason, inHand(), goBack));
}
