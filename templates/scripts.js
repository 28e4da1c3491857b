// The page for scripts: window.strata (docs/page.md, "For scripts").
import { setDevice, showAll } from "./address.js";
import { checkView, makeCalls, NAMES, valueText } from "./calls.js";
import { plotOf } from "./canvas.js";
import { poolText } from "./describe.js";
import { rowFigures } from "./device_rows.js";
import { setFilter } from "./filter.js";
import { uiOf } from "./header.js";
import { laneOf } from "./lane.js";
import { mapOf } from "./map_view.js";
import { laneFigures } from "./memory_lane.js";
import { pickAt } from "./overlay.js";
import { makePicture } from "./picture.js";
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
import { searchOf, setSearch } from "./search.js";
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
    const live = view.facts.peak_bytes;
    return {
        device: session.devices[state.device].ordinal,
        events: view.facts.events,
        allocations: view.facts.allocations,
        preexisting: view.facts.preexisting,
        start_bytes: view.facts.start_bytes,
        peak_bytes: live,
        peak_event: view.facts.peak_event,
        end_bytes: view.facts.end_bytes,
        live_at_peak: view.facts.live_at_peak,
        reserved_start_bytes: view.facts.reserved_start,
        reserved_peak_bytes: view.facts.reserved_peak,
        reserved_end_bytes: view.facts.reserved_end,
        reserved_shift_bytes: view.facts.reserved_shift,
        top_at_peak: topSites(page, view.facts.peak_event, 20).map((group) => ({
            bytes: group.bytes,
            count: group.count,
            share: live === 0 ? 0 : group.bytes / live,
            site: session.siteText(group.site),
            ...(group.part === OF_FREE ? { stack_is: "free" } : {}),
            stack: session.stack(group.stack),
        })),
        oom: Array.from({ length: view.facts.ooms }, (_, i) => ({
            event: view.c.oom(i).event,
            requested_bytes: view.c.oom(i).size < 0 ? null : view.c.oom(i).size,
            device_free_bytes: view.c.oom(i).device_free < 0 ? null : view.c.oom(i).device_free,
        })),
    };
}

/** @param {Page} page @returns {PageView} */
function currentView(page) {
    const { session, state } = page;
    return {
        device: session.devices[state.device].ordinal,
        from: eventOfAxis(page, state.from),
        to: eventOfAxis(page, state.to),
        axis: state.axis,
        colorBy: state.colorBy,
        search: state.search,
        selected: state.selected,
        filter: { ...state.filter },
        map: state.mapOpen ? state.mapOrder : null,
        range: state.range
            ? { from: rangeEvents(page, state.range).first, to: rangeEvents(page, state.range).end }
            : null,
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
            to: isNumber,
            colorBy: (colorBy) => COLORINGS.includes(colorBy),
            filter: (filter) => {
                /** @type {Record<string, unknown>} */
                const empty = { ...emptyFilter() };
                return Object.entries(filter ?? {}).every(
                    ([name, value]) => typeof value === typeof empty[name] && !Number.isNaN(value),
                );
            },
            range: (range) => range === null || (isNumber(range.from) && isNumber(range.to)),
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

/** @param {Page} page @param {Parameters<PageApi["setView"]>[0]} wanted */
async function changeView(page, wanted = {}) {
    const { kept, session, state } = page;
    checkView(fieldsOf(page), wanted);
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
    if (wanted.range !== undefined)
        change(page, {
            range:
                wanted.range &&
                rangeInRun(page, {
                    from: axisOfEvent(page, wanted.range.from),
                    to: axisOfEvent(page, wanted.range.to),
                }),
        });
    if (wanted.map !== undefined)
        change(page, { mapOpen: wanted.map !== null, mapOrder: wanted.map ?? state.mapOrder });
    if (wanted.search !== undefined) setSearch(page, wanted.search);
    if (wanted.selected !== undefined) select(page, wanted.selected);
    await drawn(page);
    await Promise.all([searchOf(page).done, kept.done]);
    await drawn(page);
    return currentView(page);
}

/** @param {Page} page @param {number} x @param {number} y CSS pixels of the timeline @returns {PagePick | null} */
function pickForScripts(page, x, y) {
    flush(page);
    if (!isNumber(x) || !isNumber(y) || !insidePlot(page, { x, y })) return null;
    const { allocation } = pickAt(page, x, y);
    return allocation === null ? null : allocationForScripts(page, allocation);
}

/** @param {Page} page @param {number} allocation @returns {PagePick} */
function allocationForScripts(page, allocation) {
    const { bytes, birth, death, stream, stack } = page.view.c.allocation(allocation);
    return { allocation, bytes, birth, death, stream, stack: page.session.stack(stack) };
}

/** The first frame with this name; 0 if no name is given. @param {Page} page @param {string} [name] */
function frameOf(page, name) {
    if (name === undefined) return 0;
    for (let frame = 1; frame < page.session.facts.frames; frame++)
        if (page.session.siteText(frame) === name) return frame;
    throw new RangeError(`There is no frame ${valueText(name)}.`);
}

/**
 * The subject of a question: a moment (by default the peak) or a range.
 * @param {{at?: number | "peak", from?: number, to?: number, what?: string}} question
 * @returns {About}
 */
function aboutOf({ at = "peak", from, to, what }) {
    return from !== undefined && to !== undefined ? { from, to, what } : { at };
}

/** A page's calls for scripts. */
export const callsOf = perPage((page) => {
    const { kept, session, view } = page;
    const search = searchOf(page);
    const plot = plotOf(page);
    return /** @type {Omit<PageApi, "ready">} */ ({
        devices: () =>
            Array.from({ length: session.facts.devices }, (_, i) => ({
                device: session.devices[i].ordinal,
                events: session.devices[i].events,
                allocations: session.devices[i].allocations,
            })),
        summary: () => summaryOfDevice(page),
        view: () => currentView(page),
        setView: (wanted) => changeView(page, wanted),
        pick: (x, y) => pickForScripts(page, x, y),
        allocation: (allocation) => {
            if (!(Number.isInteger(allocation) && allocation >= 0 && allocation < view.facts.allocations))
                throw new RangeError(`There is no allocation ${valueText(allocation)}.`);
            const { pool, category, context: id } = view.c.allocation(allocation);
            const context = session.c.context(id);
            return {
                ...allocationForScripts(page, allocation),
                pool: poolText(page, pool),
                category: session.categoryNames()[category],
                compileContext: session.string(context.compile),
                userMetadata: session.string(context.metadata),
            };
        },
        rows: () => {
            flush(page);
            return rowFigures(page);
        },
        phases: () => {
            flush(page);
            return laneOf(page)
                .marks.filter(({ phase }) => phase >= 0)
                .map(({ name, row, from, to }) => ({ name, row, from, to }));
        },
        search: async (text) => {
            if (typeof text !== "string") throw new RangeError("A search is a text.");
            setSearch(page, text);
            uiOf(page).search.value = text;
            flush(page);
            await search.done;
            return { ...search.result };
        },
        findings: () => askFindings(view).map((finding, i) => ({ ...finding, ids: findingIds(view, i) })),
        lit: () => {
            flush(page);
            return litNow(page);
        },
        groups: (question = {}) => listSums(askSums(view, SLOTS.once, aboutOf(question), question.by ?? "site")),
        tree: (question = {}) => {
            const direction = question.direction ?? "callees";
            const about = aboutOf(question);
            const through = frameOf(page, question.through);
            const treeOf = (/** @type {import("./questions.js").Within | null} */ within = null) =>
                treeObject(view, askTree(view, about, direction, null, through, within), direction);
            const { by } = question;
            if (!by) return treeOf();
            const sums = askSums(view, SLOTS.once, about, by);
            const children = listSums(sums).map((group, i) => ({
                ...group,
                children: treeOf({ by, key: sums.row(i).key }).children,
            }));
            return { name: "", bytes: sums.bytes, count: sums.count, children };
        },
        compare: ({ a, b, by = "site" } = /** @type {any} */ ({})) => {
            const { a: sumsA, b: sumsB, rows: found } = listDifferences(view, a, b, by);
            const rows = found.map(({ name, a: bytesA, b: bytesB, delta }) => ({
                name,
                a_bytes: bytesA,
                b_bytes: bytesB,
                delta_bytes: delta,
            }));
            return { a_bytes: sumsA.bytes, b_bytes: sumsB.bytes, rows };
        },
        picture: ({ scale = 1, names = true } = {}) => {
            if (scale !== 1 && scale !== 2) throw new RangeError("A picture is 1 or 2 times as large.");
            const { canvas, ...places } = makePicture(page, scale, names);
            return { url: canvas.toDataURL("image/png"), ...places };
        },
        lanes: () => {
            flush(page);
            return laneFigures(page);
        },
        gap: ({ at = "peak" } = {}) => {
            const refusal = view.sentence("map_refusal");
            if (refusal) throw new Error(`Nothing can be said about segments: ${refusal}.`);
            const { from } = extentOf(view, { at });
            view.c.replay();
            return view.c.gap(from);
        },
        blocks: ({ at = "peak" } = {}) => askBlocks(view, at),
        stats: () => {
            flush(page);
            return {
                allocations: view.facts.allocations,
                drawn: plot.drawn,
                merged: plot.merged,
                frameMs: plot.frameMs.slice(),
                memoryBytes: session.module.memory.buffer.byteLength,
                kept: kept.active ? kept.allocations : view.facts.allocations,
                draws: plot.draws,
                mapMs: mapOf(page).frameMs.slice(),
            };
        },
    });
});

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
