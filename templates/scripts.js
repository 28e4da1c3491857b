// The page for scripts: window.strata (docs/page.md, "For scripts").
import { hashOfState, readHash, setDevice, showAll } from "./address.js";
import { checkView, makeCalls, NAMES, valueText } from "./calls.js";
import { poolText } from "./describe.js";
import { rowFigures } from "./device_rows.js";
import { setFilter } from "./filter.js";
import { laneFigures } from "./memory_lane.js";
import { pickAt } from "./overlay.js";
import { pictureFile } from "./picture.js";
import { litNow } from "./proof.js";
import { insidePlot } from "./pointer.js";
import {
    askBlocks,
    askFindings,
    askSums,
    askTree,
    extentOf,
    findingIds,
    listDifferences,
    listSums,
    SLOTS,
    treeObject,
} from "./questions.js";
import { setSearch } from "./search.js";
import { OF_FREE } from "./session.js";
import {
    axisOfEvent,
    change,
    COLORINGS,
    drawn,
    emptyFilter,
    eventOfAxis,
    flush,
    MAP_ORDERS,
    perPage,
    rangeEvents,
    rangeInRun,
    select,
    topSites,
} from "./state.js";
import { setAxis, setWindow } from "./window.js";

/** The current device as `strata report --json` describes it. @param {Page} page */
function summaryOfDevice(page) {
    const { session, state, view } = page;
    const { events, allocations, preexisting, start_bytes, peak_bytes, peak_event } = view.facts;
    const { end_bytes, live_at_peak, ooms } = view.facts;
    const orNull = (/** @type {number} */ bytes) => (bytes < 0 ? null : bytes);
    return {
        device: session.devices[state.device].ordinal,
        ...{ events, allocations, preexisting, start_bytes, peak_bytes, peak_event, end_bytes, live_at_peak },
        reserved_start_bytes: view.facts.reserved_start,
        reserved_peak_bytes: view.facts.reserved_peak,
        reserved_end_bytes: view.facts.reserved_end,
        reserved_shift_bytes: view.facts.reserved_shift,
        top_at_peak: topSites(page, peak_event, 20).map(({ bytes, count, site, part, stack }) => ({
            bytes,
            count,
            share: peak_bytes === 0 ? 0 : bytes / peak_bytes,
            site: session.siteText(site),
            ...(part === OF_FREE ? { stack_is: "free" } : {}),
            stack: session.stack(stack),
        })),
        oom: Array.from({ length: ooms }, (_, i) => {
            const { event, size, device_free } = view.c.oom(i);
            return { event, requested_bytes: orNull(size), device_free_bytes: orNull(device_free) };
        }),
    };
}

/** The view. Events count from 0; -1 is before the first. The map's order is null if it is folded away.
 * @param {Page} page */
function currentView(page) {
    const { session, state } = page;
    const { axis, colorBy, filter, mapOpen, mapOrder, search, selected } = state;
    const range = state.range && rangeEvents(page, state.range);
    return {
        device: session.devices[state.device].ordinal,
        from: eventOfAxis(page, state.from),
        to: eventOfAxis(page, state.to),
        ...{ axis, colorBy, search, selected },
        filter: { ...filter },
        map: mapOpen ? mapOrder : null,
        range: range && { from: range.first, to: range.end },
    };
}

const isNumber = (/** @type {unknown} */ value) => typeof value === "number" && !Number.isNaN(value);

/** The values that a view's fields may have. */
const fieldsOf = perPage(
    (page) =>
        /** @type {Record<string, (value: any, wanted: any) => boolean>} */ ({
            device: (device) => page.session.deviceIndex(device) >= 0,
            axis: (axis) => axis === "events" || axis === "time",
            from: isNumber,
            to: (to, { from }) => isNumber(to) && !(to < from),
            colorBy: (colorBy) => COLORINGS.includes(colorBy),
            filter: (filter) => {
                /** @type {Record<string, unknown>} */
                const empty = { ...emptyFilter() };
                return Object.entries(filter ?? {}).every(
                    ([name, value]) => typeof value === typeof empty[name] && !Number.isNaN(value),
                );
            },
            range: (range) => range === null || (isNumber(range.from) && isNumber(range.to) && range.from < range.to),
            map: (map) => map === null || MAP_ORDERS.includes(map),
            search: (search) => typeof search === "string",
            selected: (selected, { device }) => {
                const index = device === undefined ? page.state.device : page.session.deviceIndex(device);
                return (
                    selected === null ||
                    (Number.isInteger(selected) && selected >= 0 && selected < page.session.devices[index].allocations)
                );
            },
        }),
);

/** @typedef {Partial<Omit<ReturnType<typeof currentView>, "filter"> & {filter: Partial<PageFilter>}>} ViewChange */

/** @param {Page} page @param {ViewChange} wanted */
async function changeView(page, wanted = {}) {
    const { kept, session, state } = page;
    checkView(fieldsOf(page), wanted);
    const back = hashOfState(page);
    if (wanted.device !== undefined) {
        const index = session.deviceIndex(wanted.device);
        if (index !== state.device) setDevice(page, index);
    }
    if (wanted.axis === "events") showAll(page, false);
    if (wanted.axis !== undefined) setAxis(page, wanted.axis);
    if (wanted.from !== undefined || wanted.to !== undefined) {
        const now = currentView(page);
        setWindow(page, axisOfEvent(page, wanted.from ?? now.from), axisOfEvent(page, wanted.to ?? now.to));
    }
    if (wanted.colorBy !== undefined) change(page, { colorBy: wanted.colorBy });
    if (wanted.filter !== undefined) setFilter(page, { ...emptyFilter(), ...wanted.filter });
    if (wanted.range !== undefined) {
        const [from, to] = [wanted.range?.from ?? NaN, wanted.range?.to ?? NaN].map((at) => axisOfEvent(page, at));
        change(page, { range: wanted.range && rangeInRun(page, { from, to }) });
    }
    if (wanted.map !== undefined)
        change(page, { mapOpen: wanted.map !== null, mapOrder: wanted.map ?? state.mapOrder });
    if (wanted.search !== undefined) setSearch(page, wanted.search);
    if (wanted.selected !== undefined) select(page, wanted.selected);
    await drawn(page);
    await Promise.all([page.search.done, kept.done]);
    // Words show only now whether they can be understood.
    const reason = (wanted.search && page.search.error) || (wanted.filter && kept.error);
    if (reason) readHash(page, back);
    await drawn(page);
    if (reason) throw new RangeError(reason.endsWith(".") ? reason : `The view's words are wrong: ${reason}.`);
    return currentView(page);
}

/** @param {Page} page @param {number} x @param {number} y CSS pixels of the timeline */
function pickForScripts(page, x, y) {
    flush(page);
    if (!isNumber(x) || !isNumber(y) || !insidePlot(page, { x, y })) return null;
    const { allocation } = pickAt(page, x, y);
    return allocation === null ? null : allocationForScripts(page, allocation);
}

/** @param {Page} page @param {number} allocation */
function allocationForScripts(page, allocation) {
    const { bytes, birth, death, stream, stack } = page.view.c.allocation(allocation);
    return { allocation, bytes, birth, death, stream, stack: page.session.stack(stack) };
}

/** @param {Blob} blob @returns {Promise<string>} */
function dataUrl(blob) {
    const reader = new FileReader();
    return new Promise((resolve, reject) => {
        reader.onload = () => resolve(String(reader.result));
        reader.onerror = () => reject(reader.error);
        reader.readAsDataURL(blob);
    });
}

/** The first frame with this name; 0 if no name is given. @param {Session} session @param {string} [name] */
function frameOf(session, name) {
    if (name === undefined) return 0;
    for (let frame = 1; frame < session.facts.frames; frame++) if (session.siteText(frame) === name) return frame;
    throw new RangeError(`There is no frame ${valueText(name)}.`);
}

/** @typedef {{at?: number | "peak"}} AtMoment */
/** @typedef {AtMoment & {from?: number, to?: number, what?: string, by?: string}} Question */
/** @typedef {Question & {direction?: "callees" | "callers" | "places", through?: string}} TreeQuestion */

/** Refuses a moment outside of the recording. @template T @param {View} view @param {T} about @returns {T} */
function inRun({ facts }, about) {
    const { at } = /** @type {AtMoment} */ (about ?? {});
    if (typeof at === "number" && (at < -1 || at >= facts.events)) throw new RangeError(`There is no event ${at}.`);
    return about;
}

/** The subject of a question: a moment (by default the peak) or a range. @param {View} view @param {Question} question
 * @returns {About} */
const aboutOf = (view, { at = "peak", from, to, what }) =>
    inRun(view, from === undefined && to === undefined ? { at } : /** @type {any} */ ({ from, to, what }));

/** Calls about the recording and the view of it. @param {Page} page */
const callsOfView = (page) => ({
    devices: () =>
        page.session.devices.map(({ ordinal: device, events, allocations }) => ({ device, events, allocations })),
    summary: () => summaryOfDevice(page),
    view: () => currentView(page),
    setView: (/** @type {ViewChange} */ wanted) => changeView(page, wanted),
    allocation: (/** @type {number} */ allocation) => {
        const { session, view } = page;
        if (!(Number.isInteger(allocation) && allocation >= 0 && allocation < view.facts.allocations))
            throw new RangeError(`There is no allocation ${valueText(allocation)}.`);
        const { pool, category, context: id } = view.c.allocation(allocation);
        const context = session.c.context(id);
        return {
            ...allocationForScripts(page, allocation),
            pool: poolText(page, pool),
            category: session.categories[category],
            compileContext: session.string(context.compile),
            userMetadata: session.string(context.metadata),
        };
    },
    search: async (/** @type {string} */ text) => {
        if (typeof text !== "string") throw new RangeError("A search is a text.");
        await changeView(page, { search: text });
        page.ui.search.value = text;
        return { ...page.search.result };
    },
    findings: () => askFindings(page.view).map((finding, i) => ({ ...finding, ids: findingIds(page.view, i) })),
});

/** Questions about sets of allocations and the allocator. @param {Page} page */
const callsOfQuestions = ({ session, view }) => ({
    groups: (/** @type {Question} */ question = {}) =>
        listSums(askSums(view, SLOTS.once, aboutOf(view, question), question.by ?? "site")),
    tree: (/** @type {TreeQuestion} */ question = {}) => {
        const { by, direction = "callees" } = question;
        const about = aboutOf(view, question);
        const through = frameOf(session, question.through);
        const treeOf = (/** @type {import("./questions.js").Within | null} */ within = null) =>
            treeObject(view, askTree(view, about, direction, null, through, within), direction);
        if (!by) return treeOf();
        const sums = askSums(view, SLOTS.once, about, by);
        const below = (/** @type {number} */ i) => treeOf({ by, key: sums.row(i).key }).children;
        const children = listSums(sums).map((group, i) => ({ ...group, children: below(i) }));
        return { name: "", bytes: sums.bytes, count: sums.count, children };
    },
    compare: ({ a, b, by = "site" } = /** @type {any} */ ({})) => {
        const { a: ofA, b: ofB, rows } = listDifferences(view, inRun(view, a), inRun(view, b), by);
        const asTold = (/** @type {import("./questions.js").Difference} */ { name, a, b, delta }) => {
            return { name, a_bytes: a, b_bytes: b, delta_bytes: delta };
        };
        return { a_bytes: ofA.bytes, b_bytes: ofB.bytes, rows: rows.map(asTold) };
    },
    gap: (/** @type {AtMoment} */ { at = "peak" } = {}) => {
        const refusal = view.sentence("map_refusal");
        if (refusal) throw new Error(`Nothing can be said about segments: ${refusal}.`);
        const { from } = extentOf(view, inRun(view, { at }));
        view.c.replay();
        return view.c.gap(from);
    },
    blocks: (/** @type {AtMoment} */ { at = "peak" } = {}) => askBlocks(view, inRun(view, { at }).at),
});

/** Calls about what is drawn, which is up to date first. @param {Page} page */
function callsOfDrawing(page) {
    const { kept, session, view } = page;
    /** @template T @param {() => T} read */
    const onScreen = (read) => () => {
        flush(page);
        return read();
    };
    return {
        pick: (/** @type {number} */ x, /** @type {number} */ y) => pickForScripts(page, x, y),
        rows: onScreen(() => rowFigures(page)),
        lit: onScreen(() => litNow(page)),
        lanes: onScreen(() => laneFigures(page)),
        phases: onScreen(() => {
            const own = page.lane.marks.filter(({ phase }) => phase >= 0);
            return own.map(({ name, row, from, to }) => ({ name, row, from, to }));
        }),
        picture: async ({ scale = 1, names = true } = {}) => {
            if (scale !== 1 && scale !== 2) throw new RangeError("A picture is 1 or 2 times as large.");
            const { blob, ...places } = await pictureFile(page, scale, names);
            return { url: await dataUrl(blob), ...places };
        },
        stats: onScreen(() => {
            const [{ allocations }, { drawn, merged, draws, frameMs }] = [view.facts, page.plot];
            const times = { frameMs: frameMs.slice(), mapMs: page.map.frameMs.slice() };
            const memoryBytes = session.module.memory.buffer.byteLength;
            const passing = kept.active ? kept.allocations : allocations;
            return { allocations, drawn, merged, draws, ...times, memoryBytes, kept: passing };
        }),
    };
}

/** A page's calls for scripts. */
export const callsOf = perPage((page) => ({
    ...callsOfView(page),
    ...callsOfQuestions(page),
    ...callsOfDrawing(page),
}));

/**
 * Makes the calls for scripts; they say so if there is no recording yet, or never will be.
 * @param {Promise<void>} ready
 * @param {() => Page | null} inHand the page that they act on
 * @param {string[]} [names] of further calls
 * @param {() => object} [own] which take the place of the page's
 * @returns {PageApi}
 */
export function makeApi(ready, inHand, names = [], own = () => ({})) {
    return makeCalls(ready, [...NAMES, ...names], (name) => {
        const page = inHand();
        if (!page) throw new Error(`strata.${name} needs the recording: await strata.ready first.`);
        return /** @type {any} */ ({ ...callsOf(page), ...own() })[name];
    });
}
