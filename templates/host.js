// The C side of the page: loads the WebAssembly module and the payload that this file carries, and gives its results
// JavaScript types. Offsets and ids are unsigned 32-bit numbers, which WebAssembly hands over as signed ones.
import { cssColor } from "./text.js";
import { unpack } from "./unpack.js";

export const FRAME_NOISE = 0;
export const FRAME_NATIVE = 1;
export const FRAME_LIBRARY = 2;
export const FRAME_USER = 3;
export const KIND_MEMORY_TIMELINE = 2;
export const WHOLE_FILE = -(2 ** 31); // where a diagnostic names its device; the CPU is -1
export const LIFE_STACK_OF_FREE = 1;
export const LIFE_FROM_BLOCK = 2;
export const LIFE_REOPENED = 4;
export const LIFE_UNMATCHED_END = 8;

const PAYLOAD_ERRORS = new Map([
    [-1, "there is not enough memory in this tab"],
    [-2, "the data is not of this version of Strata"],
    [-3, "the data ends too early; the file was probably cut off"],
    [-4, "a section of the data is damaged"],
    [-5, "a value in the data is out of range"],
]);

/** Text of the whole group is decoded at once; 4 characters are 3 bytes, so steps join without a rest. */
const BASE64_STEP = 4 << 20;

/** Gives the browser the chance to draw. A timer and no animation frame: those rest in hidden tabs. */
export function nextTurn() {
    return new Promise((resolve) => setTimeout(resolve, 0));
}

/** @param {string} text @param {Uint8Array} to @param {number} at */
function decodeBase64(text, to, at) {
    const bytes = atob(text);
    for (let i = 0; i < bytes.length; i++) to[at + i] = bytes.charCodeAt(i);
    return at + bytes.length;
}

/** Bytes that a base64 text stands for. @param {string} text */
function base64Length(text) {
    const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
    return (text.length / 4) * 3 - padding;
}

/** Text of an inert element. @param {string} id */
function carriedText(id) {
    return document.getElementById(id)?.textContent?.trim() ?? "";
}

/** Inflates one piece into exactly `to.length` bytes. @param {Uint8Array} packed @param {Uint8Array} to */
async function inflateInto(packed, to) {
    const stream = new DecompressionStream("deflate");
    const writer = stream.writable.getWriter();
    // A damaged piece shows on the reading side; without a handler it would be reported a second time here.
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

/** @typedef {{bytes: number, count: number, site: number, stack: number}} Group allocations of a call site or of a stack */

export class Host {
    /** @param {HostExports} c */
    constructor(c) {
        this.c = c;
        this.decoder = new TextDecoder();
        /** @type {Map<number, string>} */
        this.strings = new Map();
        /** @type {Map<number, string>} */
        this.siteTexts = new Map();
        /** Totals of the groups that the module holds now. */
        this.held = { count: 0, allocations: 0, bytes: 0 };
    }

    /** Views are made anew each time: the memory moves when it grows. @param {number} offset @param {number} nbytes */
    bytes(offset, nbytes) {
        return new Uint8Array(this.c.memory.buffer, offset >>> 0, nbytes);
    }

    /** @param {number} offset @param {number} count */
    floats(offset, count) {
        return new Float64Array(this.c.memory.buffer, offset >>> 0, count);
    }

    /** @param {number} id */
    string(id) {
        const known = this.strings.get(id);
        if (known !== undefined) return known;
        const nbytes = this.c.page_string_nbytes(id) >>> 0;
        const text = this.decoder.decode(this.bytes(this.c.page_string(id), nbytes));
        this.strings.set(id, text);
        return text;
    }

    /** @param {number} frame @returns {Frame} */
    frame(frame) {
        return {
            file: this.string(this.c.page_frame_file(frame)),
            line: this.c.page_frame_line(frame) >>> 0,
            name: this.string(this.c.page_frame_name(frame)),
        };
    }

    /** @param {number} frame @returns {FxNode | null} */
    frameFx(frame) {
        const fx = this.c.page_frame_fx(frame) >>> 0;
        if (fx === 0) return null;
        const [name, op, target] = [this.c.page_fx_name(fx), this.c.page_fx_op(fx), this.c.page_fx_target(fx)].map((id) => this.string(id >>> 0));
        const node = [op, target].filter(Boolean).join(" ");
        return { text: [name, node].filter(Boolean).join(": "), original: this.string(this.c.page_fx_original(fx) >>> 0).trimEnd() };
    }

    /** Frame ids of a stack, innermost first. @param {number} stack */
    stackFrames(stack) {
        const depth = this.c.page_stack_depth(stack);
        if (depth === 0) return [];
        // The memory may move to make room for them, so they are asked for before it is looked at.
        const at = this.c.page_stack_frames(stack) >>> 0;
        return Array.from(new Uint32Array(this.c.memory.buffer, at, depth));
    }

    /** @param {number} stack @returns {Frame[]} */
    stack(stack) {
        return this.stackFrames(stack).map((frame) => this.frame(frame));
    }

    /** "train.py:41 forward". @param {number} site a frame id */
    siteText(site) {
        const known = this.siteTexts.get(site);
        if (known !== undefined) return known;
        const at = this.c.page_site_text(site);
        const text = this.decoder.decode(this.bytes(at, this.c.page_site_text_nbytes() >>> 0));
        this.siteTexts.set(site, text);
        return text;
    }

    /** @param {number} site @param {boolean} dark */
    siteColor(site, dark) {
        return cssColor(this.c.page_site_color(site, dark ? 1 : 0));
    }

    /** Address as people write it. @param {number} life */
    address(life) {
        const high = this.c.page_life_address_high(life) >>> 0;
        const low = this.c.page_life_address_low(life) >>> 0;
        return high ? `0x${high.toString(16)}${low.toString(16).padStart(8, "0")}` : `0x${low.toString(16)}`;
    }

    /**
     * What is alive after an event, in groups by falling bytes: totals over all. group() reads them.
     * @param {number} event @param {number} by 0 call site, 1 stack
     */
    groups(event, by) {
        return this.holdGroups(this.c.page_groups(event, by) >>> 0);
    }

    /**
     * The same of what was allocated (0) or freed (1) in the events [from, to).
     * @param {number} from @param {number} to @param {number} what @param {number} by
     */
    rangeGroups(from, to, what, by) {
        return this.holdGroups(this.c.page_range_groups(from, to, what, by) >>> 0);
    }

    /** @param {number} count */
    holdGroups(count) {
        let [allocations, bytes] = [0, 0];
        for (let i = 0; i < count; i++) {
            allocations += this.c.page_group_count(i) >>> 0;
            bytes += this.c.page_group_bytes(i);
        }
        this.held = { count, allocations, bytes };
        return this.held;
    }

    /** One of the groups that were asked for last; they stay in the module, so a million of them make no objects here. @param {number} i @returns {Group} */
    group(i) {
        const c = this.c;
        return { bytes: c.page_group_bytes(i), count: c.page_group_count(i) >>> 0, site: c.page_group_site(i) >>> 0, stack: c.page_group_stack(i) >>> 0 };
    }

    /** The first of the groups that were asked for last. @param {number} most */
    firstGroups(most) {
        return Array.from({ length: Math.min(most, this.held.count) }, (_, i) => this.group(i));
    }

    /** Round values of an axis. @param {"bytes" | "decimal"} kind @param {number} low @param {number} high @param {number} most */
    ticks(kind, low, high, most) {
        const count =
            kind === "bytes" ? this.c.page_ticks_bytes(low, high, most) : this.c.page_ticks_decimal(low, high, most);
        return count === 0 ? [] : Array.from(this.floats(this.c.page_ticks(), count));
    }

    /** Highest total per column, or what the filter leaves of it. @param {number} axis @param {number} from @param {number} to @param {number} width @param {boolean} kept */
    curve(axis, from, to, width, kept) {
        const at = this.c.page_curve(axis, from, to, width, kept ? 1 : 0) >>> 0;
        return at === 0 ? new Float64Array(width) : this.floats(at, width).slice();
    }

    /** Facts that the writer added. @returns {Record<string, unknown>} */
    meta() {
        const id = this.c.page_meta();
        return id === 0 ? {} : JSON.parse(this.string(id));
    }

    diagnostics() {
        return Array.from({ length: this.c.page_diagnostic_count() }, (_, i) => ({
            code: this.string(this.c.page_diagnostic_code(i)),
            message: this.string(this.c.page_diagnostic_message(i)),
            device: this.c.page_diagnostic_device(i),
        }));
    }
}

/** @param {number} code @param {string} step */
function checkPayload(code, step) {
    if (code !== 0) throw new Error(`${step}: ${PAYLOAD_ERRORS.get(code) ?? `error ${code}`}.`);
}

/** Starts the module. @returns {Promise<HostExports>} */
async function loadModule() {
    const { instance } = await WebAssembly.instantiate(await unpack("module")).catch((error) => {
        throw new Error(`This browser cannot run the program in this page, which needs WebAssembly with vectors: Chrome 91, Firefox 89, Safari 16.4 or newer. (${error instanceof Error ? error.message : error})`);
    });
    return /** @type {HostExports} */ (/** @type {unknown} */ (instance.exports));
}

/** Copies the payload into the module's memory. @param {HostExports} c @param {(done: number) => void} report */
async function loadPayload(c, report) {
    const text = carriedText("payload");
    const nbytes = base64Length(text);
    const offset = c.page_reserve(nbytes) >>> 0;
    if (offset === 0) throw new Error("There is not enough memory in this tab for the data.");
    const target = new Uint8Array(c.memory.buffer, offset, nbytes);
    for (let i = 0, at = 0; i < text.length; i += BASE64_STEP) {
        at = decodeBase64(text.slice(i, i + BASE64_STEP), target, at);
        report(i / text.length);
        await nextTurn();
    }
    checkPayload(c.page_open(), "The data cannot be opened");
}

/** Inflates all pieces, a few at a time: streams work beside the main thread. @param {HostExports} c @param {(done: number) => void} report */
async function inflatePieces(c, report) {
    const count = c.page_piece_count();
    const { buffer } = c.memory;
    let next = 0;
    const work = async () => {
        while (next < count) {
            const piece = next++;
            report(piece / count);
            await inflateInto(
                new Uint8Array(buffer, c.page_piece_packed(piece) >>> 0, c.page_piece_packed_nbytes(piece) >>> 0),
                new Uint8Array(buffer, c.page_piece_target(piece) >>> 0, c.page_piece_raw_nbytes(piece) >>> 0),
            );
        }
    };
    await Promise.all(Array.from({ length: 4 }, work)).catch((error) => {
        throw new Error(`The data is damaged: ${error instanceof Error ? error.message : error}`);
    });
}

/** What this browser lacks, as a sentence; "" if nothing. */
function missingFeature() {
    if (typeof WebAssembly !== "object")
        return "This browser has no WebAssembly (or it is switched off), which computes the picture. A current Chrome, Firefox or Safari shows this page.";
    return "";
}

/** Everything up to a device. @param {(stage: string, done: number) => void} report */
export async function loadHost(report) {
    const missing = missingFeature();
    if (missing) throw new Error(missing);
    if (!carriedText("module") || !carriedText("payload"))
        throw new Error("This is Strata's empty template: it carries no recording. `strata html SNAPSHOT` makes a page of one.");
    report("Starting", 0);
    const c = await loadModule();
    await loadPayload(c, (done) => report("Reading the data", 0.02 + done * 0.38));
    await inflatePieces(c, (done) => report("Unpacking", 0.4 + done * 0.4));
    report("Arranging the allocations", 0.8);
    await nextTurn();
    checkPayload(c.page_unpack(), "The data cannot be read");
    return new Host(c);
}
