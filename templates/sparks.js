// Small curves of each row's memory over the run.
import { curveShape } from "./paint.js";
import { floats } from "./session.js";
import { FOCUS_KINDS, invalidate, isLarge, LIST, perPage } from "./state.js";

const SPARK_WIDTH = 56;

/** So many allocations take some milliseconds. */
const SPARKED_AT_ONCE = 500000;

/** Curves that are known, and rows that wait for theirs. */
const sparksOf = perPage(() => ({
    known: /** @type {Map<string, Float64Array>} */ (new Map()),
    waiting: /** @type {Map<string, Focus>} */ (new Map()),
    timer: 0,
}));

/** Finds one curve at a time, each in turns, so that nothing has to wait for many. @param {Page} page */
function nextSpark(page) {
    const sparks = sparksOf(page);
    const { c, module } = page.view;
    sparks.timer = 0;
    const [first] = sparks.waiting;
    if (!first) return invalidate(page, LIST);
    const [name, { by, id }] = first;
    const kind = FOCUS_KINDS.indexOf(by);
    sparks.timer = setTimeout(() => nextSpark(page));
    if (name === sparkName(page, { by, id })) {
        if (isLarge(page) && c.spark_step(kind, id, SPARKED_AT_ONCE) === 1) return;
        const place = c.spark(kind, id, SPARK_WIDTH) >>> 0;
        sparks.known.set(name, place ? floats(module, place, SPARK_WIDTH).slice() : new Float64Array(SPARK_WIDTH));
    }
    sparks.waiting.delete(name);
}

/** @param {Page} page @param {Focus} focus */
const sparkName = (page, { by, id }) => `${page.state.device} ${page.kept.version} ${by} ${id}`;

/** Shows the highest bytes of a group over the run as the shape of an element, once they are known.
 * @param {Page} page @param {HTMLElement} bar @param {Focus} focus */
export function drawSpark(page, bar, focus) {
    const sparks = sparksOf(page);
    const curve = sparks.known.get(sparkName(page, focus));
    if (!curve) {
        if (sparks.waiting.size < 200) sparks.waiting.set(sparkName(page, focus), focus);
        sparks.timer ||= setTimeout(() => nextSpark(page), 100);
        bar.style.clipPath = "inset(100%)";
        return;
    }
    bar.style.clipPath = curveShape(curve, Math.max(1, ...curve));
}
