// The module's two handles with JavaScript's types: a Session is a recording, a View one device of it with its window,
// filter and picture. There may be any number of both. `c` of each holds the module's calls, bound to the handle
// (page_api.def lists them); the other methods turn their results into text and objects.
import { RECORDS, SESSION_ROWS, VIEW_ROWS } from "page_api";
import { cssTexture } from "./text.js";
import { atOnce } from "./turns.js";

/** @typedef {record_group} Group allocations of a call site or of a stack */
/** @typedef {"site" | "stack" | "parts"} GroupBy the grouping of lists with many rows; parts of call sites: an
 * optimizer's kinds of state, and allocations known by their free */

/** Call sites that are named between two turns of the browser. */
const SITES_AT_ONCE = 1000;

const GROUP_BYS = ["site", "stack", "parts"];

/** The ending of a site's name, by enum group_part, as in the picture. */
export const OF_FREE = 3;
export const PARTS = ["", " (state)", " (temporary)", " (freed here)"];

/** @typedef {{count: number, allocations: number, bytes: number}} Held totals of the groups that a view holds */

/** A part of the module's memory as a typed array, made each time, because the memory moves when it grows.
 * @param {ModuleExports} module @param {number} place @param {number} count */
export const floats = (module, place, count) => new Float64Array(module.memory.buffer, place >>> 0, count);

/** A record of the module as an object.
 * @param {ModuleExports} module @param {readonly string[]} fields @param {number} place @param {string} call */
export function readRecord(module, fields, place, call) {
    if (place === 0) throw new RangeError(`${call}: there is none, or there is not enough memory in this tab.`);
    const numbers = floats(module, place, fields.length);
    /** @type {Record<string, number>} */
    const record = {};
    for (let i = 0; i < fields.length; i++) record[fields[i]] = numbers[i];
    return record;
}

/** A record or, where there is none, null. @param {ModuleExports} module @param {readonly string[]} fields
 * @param {number} place */
const recordOrNone = (module, fields, place) => (place === 0 ? null : readRecord(module, fields, place, ""));

/** @template C @typedef {{[K in keyof C]: C[K] extends (...numbers: infer N) => infer R ? (...numbers: N) => R | null :
 * never}} OrNone the same calls, for records that may not be there */

/** Records of the module, whose number comes first. @param {ModuleExports} module @param {readonly string[]} fields
 * @param {number} place @param {string} call */
function readRows(module, fields, place, call) {
    if (place === 0) throw new RangeError(`${call}: there is not enough memory in this tab.`);
    const first = (place >>> 0) + 8;
    const length = floats(module, place, 1)[0];
    return Array.from({ length }, (_, i) => readRecord(module, fields, first + 8 * fields.length * i, call));
}

/** Binds the calls of a kind of handle to one. WebAssembly returns 32-bit numbers as signed ones, so results that the
 * list of calls marks as a place or a count are made unsigned here. @param {ModuleExports} module
 * @param {"session_" | "view_"} kind @param {Record<string, string | [string]>} rows what fills a record or records
 * @param {number} handle @param {typeof readRecord | typeof recordOrNone} [read] */
export function bindCalls(module, kind, rows, handle, read = readRecord) {
    /** @type {Record<string, (...numbers: number[]) => unknown>} */
    const bound = {};
    for (const exported of Object.keys(module)) {
        if (!exported.startsWith(kind)) continue;
        const name = exported.slice(kind.length);
        const call = module[exported].bind(null, handle);
        const fields = /** @type {Record<string, readonly string[]>} */ (RECORDS)[String(rows[name])];
        const reads = Array.isArray(rows[name]) ? readRows : read;
        bound[name] = fields ? (...numbers) => reads(module, fields, call(...numbers), name) : call;
    }
    return bound;
}

/** Writes a record for the module to read. @param {ModuleExports} module @param {number} place
 * @param {readonly string[]} fields @param {Record<string, number>} values */
export function writeRecord(module, place, fields, values) {
    floats(module, place, fields.length).set(fields.map((field) => values[field]));
}

/** The values for what a request leaves out: no marks, no areas. */
const PLAIN = {
    ...{ scale: 1, areas: 0, pinned: -2, held: -2, mark_a: -2, mark_b: -2 },
    ...{ range_from: 0, range_to: 0, outline_from: 0, outline_to: 0, outline_shift: 0 },
};

export class Session {
    /** Makes an empty session, which load.js fills. @param {ModuleExports} module */
    constructor(module) {
        this.module = module;
        this.handle = module.session_new() >>> 0;
        if (this.handle === 0) throw new Error("There is not enough memory in this tab.");
        this.c = /** @type {SessionCalls} */ (
            /** @type {unknown} */ (bindCalls(module, "session_", SESSION_ROWS, this.handle))
        );
        this.decoder = new TextDecoder();
        /** @type {Map<number, string>} */
        this.strings = new Map();
        /** @type {Map<number, string>} */
        this.siteTexts = new Map();
        /** The recording's contents, known once it is read. */
        this.facts = /** @type {record_recording} */ ({});
        /** @type {record_device[]} */
        this.devices = [];
        /** Names of categories as people write them: "optimizer state". @type {string[]} */
        this.categories = [];
        /** The categories from the lowest area up. @type {number[]} */
        this.areaOrder = [];
    }

    /** Reads facts and devices, once the recording is in the module. */
    start() {
        this.facts = this.c.recording();
        this.devices = this.c.devices();
        const categories = this.c.category_names();
        this.categories = categories.map((name) => this.decode(name).replace(/_/g, " "));
        this.areaOrder = categories.map(({ nth_area }) => nth_area);
    }

    /** @param {number} place @param {number} nbytes */
    bytes(place, nbytes) {
        return new Uint8Array(this.module.memory.buffer, place >>> 0, nbytes);
    }

    /** @param {record_text} text */
    decode(text) {
        return this.decoder.decode(this.bytes(text.place, text.nbytes));
    }

    /** @param {number} id */
    string(id) {
        const known = this.strings.get(id);
        if (known !== undefined) return known;
        const text = this.decode(this.c.string(id));
        this.strings.set(id, text);
        return text;
    }

    /** A frame as the report spells it. @param {number} id */
    frame(id) {
        const { file, line, name } = this.c.frame(id);
        return { file: this.string(file), line, name: this.string(name) };
    }

    /** What torch.fx noted on a frame of generated code: "linear: call_function torch.nn.functional.linear", and the
     * model's code that it was generated from. @param {number} id of the frame */
    frameFx(id) {
        const { fx } = this.c.frame(id);
        if (fx === 0) return null;
        const record = this.c.fx(fx);
        const [name, op, target] = [record.name, record.op, record.target].map((text) => this.string(text));
        const node = [op, target].filter(Boolean).join(" ");
        return { text: [name, node].filter(Boolean).join(": "), original: this.string(record.original).trimEnd() };
    }

    /** Frame ids of a stack, innermost first. @param {number} stack */
    stackFrames(stack) {
        const { place, count } = this.c.stack_frames(stack);
        return Array.from(new Uint32Array(this.module.memory.buffer, place, count));
    }

    /** Frames of a stack, innermost first. @param {number} stack */
    stack(stack) {
        return this.stackFrames(stack).map((id) => this.frame(id));
    }

    /** "train.py:41 forward". @param {number} site a frame id */
    siteText(site) {
        const known = this.siteTexts.get(site);
        if (known !== undefined) return known;
        const text = this.decode(this.c.site_text(site));
        this.siteTexts.set(site, text);
        return text;
    }

    /** Round values for an axis.
     * @param {"bytes" | "decimal"} kind @param {number} low @param {number} high @param {number} most */
    ticks(kind, low, high, most) {
        return this.c.ticks(kind === "bytes" ? 1 : 0, low, high, most).map(({ at }) => at);
    }

    /** Facts that the writer added. @returns {Record<string, unknown>} */
    meta() {
        return this.facts.meta === 0 ? {} : JSON.parse(this.string(this.facts.meta));
    }

    /** @param {number[]} devices ordinals */
    diagnostics(...devices) {
        return this.c
            .diagnostics()
            .filter(({ device }) => devices.includes(device))
            .map(({ code, message, device }) => ({ code: this.string(code), message: this.string(message), device }));
    }

    /** Index of the device with an ordinal, -1: none. @param {number} ordinal */
    deviceIndex(ordinal) {
        return this.devices.findIndex((device) => device.ordinal === ordinal);
    }
}

export class View {
    /** @param {Session} session @param {number} device index */
    constructor(session, device) {
        this.session = session;
        this.module = session.module;
        this.handle = this.module.view_new(session.handle, device) >>> 0;
        if (this.handle === 0) throw new Error("There is not enough memory in this tab for this device.");
        this.c = /** @type {ViewCalls} */ (
            /** @type {unknown} */ (bindCalls(this.module, "view_", VIEW_ROWS, this.handle))
        );
        /** @type {OrNone<ViewCalls> | null} */
        this.finds = null;
        this.device = device;
        this.facts = this.c.facts();
        /** The call site of every stack, asked for once. @type {Uint32Array | null} */
        this.sites = null;
        /** The call sites by their names. @type {Map<string, number> | null} */
        this.named = null;
        /** Totals of the groups that the view holds now. @type {Held} */
        this.held = { count: 0, allocations: 0, bytes: 0 };
        /** Texts of phases and parts, by their key. @type {Map<string, string[]>} */
        this.names = new Map();
    }

    /** The same calls where there may be no record: null. Made when first asked for, because most views need none. */
    get find() {
        const bind = () => bindCalls(this.module, "view_", VIEW_ROWS, this.handle, recordOrNone);
        return (this.finds ??= /** @type {OrNone<ViewCalls>} */ (/** @type {unknown} */ (bind())));
    }

    /** The name of a stack's call site. @param {number} stack */
    stackSite(stack) {
        return this.session.siteText(this.c.stack_site(stack));
    }

    /** The number of the search's matches that were made in each column.
     * @param {number} axis @param {number} from @param {number} to @param {number} width */
    hits(axis, from, to, width) {
        const place = this.c.hits(axis, from, to, width) >>> 0;
        return place === 0 ? new Float64Array(0) : floats(this.module, place, width);
    }

    /** The texts for a phase: its whole name, then shorter ones. @param {number} phase */
    phaseNames(phase) {
        return this.namesOf(`phase ${this.c.phase(phase).name}`, (nth) => this.c.phase_name(phase, nth));
    }

    /** The texts for forward, backward and the like. @param {number} kind */
    partNames(kind) {
        return this.namesOf(`part ${kind}`, (nth) => this.c.part_name(kind, nth));
    }

    /** @param {string} key @param {(nth: number) => record_text} ask */
    namesOf(key, ask) {
        let names = this.names.get(key);
        if (!names) {
            names = [this.session.decode(ask(0))];
            for (let text; (text = ask(names.length)).nbytes > 0;) names.push(this.session.decode(text));
            names = names.map((name) => name.replace(/[\u0000-\u001f\u007f]/g, " ") || "(no name)");
            this.names.set(key, names);
        }
        return names;
    }

    /** Changes to another device of the same recording. @param {number} index */
    setDevice(index) {
        if (this.c.device(index) !== 0) throw new Error("There is not enough memory in this tab for this device.");
        this.device = index;
        this.facts = this.c.facts();
    }

    /** A text of the module; "" if it has none. @param {"map_refusal" | "replay_text" | "peak_made"} name */
    sentence(name) {
        const text = this.find[name]();
        return text ? this.session.decode(text) : "";
    }

    /** The colour of a call site as a CSS background. @param {number} site @param {boolean} dark */
    siteColor(site, dark) {
        return cssTexture(this.c.site_color(site, dark ? 1 : 0));
    }

    sitesOfStacks() {
        this.sites ??= Uint32Array.from({ length: this.session.facts.stacks }, (_, i) => this.c.stack_site(i));
        return this.sites;
    }

    /** Asks for a drawing, which c.lay_out() begins and c.draw() makes. @param {Partial<record_request>} request */
    request(request) {
        writeRecord(this.module, this.c.request(), RECORDS.request, { ...PLAIN, ...request });
    }

    /** The last drawing, whose pixels lie in the module's memory.
     * @param {record_drawing} drawing @param {number} width @param {number} height */
    image({ pixels }, width, height) {
        const bytes = new Uint8ClampedArray(this.module.memory.buffer, pixels, width * height * 4);
        return new ImageData(bytes, width, height);
    }

    /** The thing under a pixel of the last drawing. @param {number} column @param {number} row */
    pick(column, row) {
        const { allocation, event } = this.c.pick(column, row);
        return { allocation: allocation < 0 ? null : allocation, event };
    }

    /** The edges of an allocation's band in the last drawing: pairs of bytes, from column `first` on.
     * @param {number} allocation */
    outline(allocation) {
        const { first, count, edges } = this.c.outline(allocation);
        return { first, count, edges: count ? floats(this.module, edges, count * 2) : new Float64Array(0) };
    }

    /** The highest total of each column, of all allocations or of those that the filter leaves.
     * @param {number} axis @param {number} from @param {number} to @param {number} width @param {boolean} kept */
    curve(axis, from, to, width, kept) {
        const place = this.c.curve(axis, from, to, width, kept ? 1 : 0) >>> 0;
        return place === 0 ? new Float64Array(width) : floats(this.module, place, width).slice();
    }

    /** The same for a window that reaches beyond the run: NaN outside of the run.
     * @param {number} axis @param {number} from @param {number} to @param {number} width @param {boolean} kept */
    curveBeyond(axis, from, to, width, kept) {
        const columns = new Float64Array(width).fill(NaN);
        const whole = this.c.whole(axis);
        const scale = width / (to - from);
        const begin = Math.max(0, Math.round((whole.from - from) * scale));
        const end = Math.min(width, Math.round((whole.to - from) * scale));
        if (end > begin)
            columns.set(this.curve(axis, from + begin / scale, from + end / scale, end - begin, kept), begin);
        return columns;
    }

    /** Call sites of all stacks by their names. @returns {Generator<undefined, Map<string, number>>} */
    *namedSites() {
        const named = new Map();
        let n = 0;
        for (const site of this.named ? [] : new Set(this.sitesOfStacks())) {
            const text = this.session.siteText(site);
            if (!named.has(text)) named.set(text, site);
            if (++n % SITES_AT_ONCE === 0) yield;
        }
        return (this.named ??= named);
    }

    /** The call site with this name, in any stack; -1: none. @param {string} text */
    siteOfText(text) {
        return atOnce(this.namedSites()).get(text) ?? -1;
    }

    /** Groups the allocations alive after an event, by falling bytes. Returns the totals; c.group() reads one group.
     * The groups stay in the module, so a million of them make no objects here.
     * @param {number} event @param {GroupBy} by */
    groups(event, by) {
        return this.rangeGroups(event, event, 0, by);
    }

    /** Groups the answer to a question about the events [from, to). @param {number} from @param {number} to
     * @param {number} what as the module counts it @param {GroupBy} by @returns {Held} */
    rangeGroups(from, to, what, by) {
        return (this.held = this.c.groups(from, to, what, GROUP_BYS.indexOf(by)));
    }

    /** The first groups of the last request. @param {number} most */
    firstGroups(most) {
        return Array.from({ length: Math.min(most, this.held.count) }, (_, i) => this.c.group(i));
    }
}
