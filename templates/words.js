// Words of a search or a filter (layout/filter.h). The module understands them. Regular expressions among them are
// matched here, in a worker that has the texts and nothing else, so that no expression, however bad, stops the page.
import { frameText } from "./text.js";
import { AT_ONCE, nextTurn } from "./turns.js";

/** The most time that an expression may take. */
const PATIENCE_MS = 2000;

/** @typedef {{frames: Uint8Array, strings: Uint8Array}} Hits one byte for each text */

/** The worker's whole program; it sees nothing outside of itself. */
function matchTexts() {
    /** @type {{frames: string[], strings: string[]}} */
    let texts = { frames: [], strings: [] };
    self.onmessage = ({ data }) => {
        if (data.texts) return void (texts = data.texts);
        const expression = new RegExp(data.source, data.flags);
        const test = (/** @type {string[]} */ list) => Uint8Array.from(list, (text) => (expression.test(text) ? 1 : 0));
        self.postMessage(null);
        self.postMessage({ frames: test(texts.frames), strings: test(texts.strings) });
    };
}

export class Matcher {
    /** @param {Session} session */
    constructor(session) {
        this.session = session;
        /** @type {Worker | null} */
        this.worker = null;
        /** Ids of the strings that an allocation or a frame notes. @type {number[] | null} */
        this.noted = null;
        this.cancel = () => {};
    }

    /** The ids of the texts of contexts and torch.fx. */
    notedStrings() {
        if (this.noted) return this.noted;
        const { c, facts } = this.session;
        const ids = new Set();
        for (let i = 1; i < facts.contexts; i++) {
            const { compile, metadata, category } = c.context(i);
            for (const id of [compile, metadata, category]) if (id !== 0) ids.add(id);
        }
        for (let i = 1; i < facts.frames; i++) {
            const { fx } = c.frame(i);
            if (fx === 0) continue;
            const { op, name, target, original } = c.fx(fx);
            for (const id of [op, name, target, original]) if (id !== 0) ids.add(id);
        }
        this.noted = [...ids];
        return this.noted;
    }

    texts() {
        const textOf = (/** @type {number} */ id) => (id === 0 ? "" : frameText(this.session.frame(id)));
        const frames = Array.from({ length: this.session.facts.frames }, (_, id) => textOf(id));
        return { frames, strings: this.notedStrings().map((id) => this.session.string(id)) };
    }

    start() {
        const url = URL.createObjectURL(new Blob([`(${matchTexts})()`], { type: "text/javascript" }));
        const worker = new Worker(url);
        URL.revokeObjectURL(url);
        worker.postMessage({ texts: this.texts() });
        return worker;
    }

    stop() {
        this.worker?.terminate();
        this.worker = null;
    }

    /** Finds the texts that an expression matches. A later request replaces one that still runs. @param {string} source
     * @param {string} flags @returns {Promise<Hits>} */
    match(source, flags) {
        this.cancel();
        return new Promise((resolve, reject) => {
            const nowhere = "The expression cannot be matched in this browser.";
            try {
                this.worker ??= this.start();
            } catch {
                // A page inside of another one may not start a worker.
                throw new Error(nowhere);
            }
            const { worker } = this;
            let timer = 0;
            const end = (/** @type {() => void} */ tell) => {
                clearTimeout(timer);
                this.cancel = () => {};
                tell();
            };
            const give_up = (/** @type {string} */ why) => {
                this.stop();
                end(() => reject(new Error(why)));
            };
            const slow =
                `The expression takes longer than ${PATIENCE_MS / 1000} s on the names of this recording, so it was ` +
                "stopped. Try a simpler one, without a repeat inside a repeat.";
            this.cancel = () => give_up("superseded");
            // The worker says first that it begins, because the time that a browser takes to start it does not count.
            worker.onmessage = ({ data }) => {
                if (data === null) timer = setTimeout(() => give_up(slow), PATIENCE_MS);
                else end(() => resolve(data));
            };
            worker.onerror = () => give_up(nowhere);
            worker.postMessage({ source, flags });
        });
    }
}

/** Hands a text to the module. @param {View} view @param {number} slot @param {string} text */
function writeWords(view, slot, text) {
    const bytes = new TextEncoder().encode(text);
    const place = view.c.words(slot, bytes.length) >>> 0;
    if (place === 0) throw new Error("There is not enough memory in this tab.");
    view.session.bytes(place, bytes.length).set(bytes);
    return bytes;
}

/** The fault of the words, as a sentence; "": none. @param {View} view @param {number} slot @param {string} text */
function wordsError(view, slot, text) {
    const bytes = writeWords(view, slot, text);
    const { wrong, from, until, what, nbytes } = view.c.parse(slot);
    if (!wrong) return "";
    const word = new TextDecoder().decode(bytes.slice(from, until));
    return `\u201c${word}\u201d ${view.session.decode({ place: what, nbytes })}`;
}

/** Compiles the expressions of a slot, so that a wrong one is known at once.
 * @param {View} view @param {number} slot @param {number} count */
function expressionsOf(view, slot, count) {
    return Array.from({ length: count }, (_, nth) => {
        const { text, nbytes, sensitive } = view.c.regex(slot, nth);
        const source = view.session.decode({ place: text, nbytes });
        return { source, flags: new RegExp(source, sensitive ? "" : "i").flags };
    });
}

/** @param {View} view @param {number} slot @param {number} nth @param {Hits} hits @param {number[]} noted */
function writeHits(view, slot, nth, hits, noted) {
    const { frames, strings } = view.c.regex(slot, nth);
    const mark = (/** @type {number} */ place, /** @type {number} */ id) => {
        view.session.bytes(place + (id >> 3), 1)[0] |= 1 << (id & 7);
    };
    hits.frames.forEach((hit, id) => hit && mark(frames, id));
    hits.strings.forEach((hit, i) => hit && mark(strings, noted[i]));
}

function reasonOf(/** @type {unknown} */ error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!(error instanceof SyntaxError)) return message;
    // Browsers repeat the expression, which is shown beside the error anyway.
    const reason = message.replace(/^Invalid regular expression: (\/.*\/\w*: )?/s, "");
    return `Not a regular expression: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`;
}

/** Finds the matches of words and calls `done` with the error ("": none): before this returns if there is no expression
 * and few allocations, otherwise after the whole search; not at all if other words came in between. @param {View} view
 * @param {Matcher} matcher @param {number} slot @param {string} text @param {() => boolean} current
 * @param {(error: string) => void} done */
export async function selectWords(view, matcher, slot, text, current, done) {
    try {
        const error = wordsError(view, slot, text);
        if (error) return done(error);
        const expressions = expressionsOf(view, slot, view.c.parse(slot).regexes);
        for (const [nth, { source, flags }] of expressions.entries()) {
            const hits = await matcher.match(source, flags);
            if (!current()) return;
            writeHits(view, slot, nth, hits, matcher.notedStrings());
        }
        for (let code = view.c.select(slot); code !== 0; code = view.c.select(slot)) {
            if (code !== 1) throw new Error("There is not enough memory in this tab for this.");
            if (view.facts.allocations <= AT_ONCE) continue;
            await nextTurn();
            if (!current()) return;
        }
        done("");
    } catch (error) {
        if (current()) done(reasonOf(error));
    }
}
