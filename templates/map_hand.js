// Mouse and keys on the map: they point at blocks, go from one to the next, and choose holes and the allocations that
// keep them.
import { holeNow, scrolled, tipRows } from "./map_view.js";
import { say } from "./spoken.js";
import { makeSplitter } from "./splitter.js";
import { change, flush, heldMoment, invalidate, MAP, MAP_ORDERS, OVERLAY, perPage } from "./state.js";
import { consume } from "./text.js";

const MAP_MARKS = MAP | OVERLAY;

function pointAt(/** @type {Page} */ page, /** @type {PointerEvent} */ event) {
    const { map, plot } = page;
    const box = map.picture.getBoundingClientRect();
    map.pointer = { x: event.clientX - box.left, y: event.clientY - box.top };
    const cell = pick(page, map.pointer.x * plot.ratio, map.pointer.y * plot.ratio + scrolled(page));
    if (cell === map.block && cell < 0) return;
    map.block = cell;
    invalidate(page, MAP_MARKS);
}

/** Block at a pixel of the map; -1: none. @param {Page} page @param {number} x @param {number} y */
function pick(page, x, y) {
    const { view } = page;
    if (!page.map.laid || x < 0 || y < 0) return -1;
    const at = [Math.floor(x), Math.floor(y)];
    return view.find.map_pick(at[0], at[1])?.block ?? -1;
}

/** Chooses a hole, or the allocation that keeps it, both in the map and in the list of holes. @param {Page} page
 * @param {number} event @param {number} block @param {number} [keeper] an allocation */
export function chooseHole(page, event, block, keeper) {
    const site = keeper === undefined ? 0 : page.view.c.stack_site(page.view.c.allocation(keeper).stack);
    change(page, {
        moment: event,
        hole: { event, block },
        selected: keeper ?? null,
        focus: site ? { by: "site", id: site } : null,
        mapOpen: true,
        tab: "allocator",
    });
    flush(page);
    goToBlock(page, keeper === undefined ? block : page.view.c.map_block_of(keeper));
}

/** `h`: chooses the largest hole, or the next smaller one. @param {Page} page */
export function nextHole(page) {
    const { view } = page;
    if (view.sentence("map_refusal")) return;
    view.c.gap(heldMoment(page));
    const block = view.c.next_hole(holeNow(page));
    if (block >= 0) chooseHole(page, heldMoment(page), block);
}

/** `k`: goes to the allocation that keeps the chosen hole. @param {Page} page */
export function keeperOfHole(page) {
    const block = holeNow(page);
    if (block >= 0) chooseHole(page, heldMoment(page), block, page.view.c.hole(block).allocation);
}

/** Pins the allocation in a block at that moment. @param {Page} page */
function pinBlock(page) {
    const { map, view } = page;
    if (map.block < 0) return;
    const { allocation } = view.c.map_cell(map.block);
    view.c.gap(map.event);
    if (allocation < 0 && view.c.hole(map.block).blocks > 0) return chooseHole(page, map.event, map.block);
    const site = allocation < 0 ? 0 : view.c.stack_site(view.c.allocation(allocation).stack);
    change(page, {
        moment: map.event,
        hole: null,
        selected: allocation < 0 ? null : allocation,
        focus: site ? { by: "site", id: site } : null,
    });
}

/** Goes to a block and brings it into view. @param {Page} page @param {number} block */
function goToBlock(page, block) {
    const { map } = page;
    if (!map.laid || block < 0 || block >= map.laid.blocks) return;
    map.block = block;
    map.pointer = null;
    const words = tipRows(page, block).map(({ childNodes }) =>
        Array.from(childNodes, (node) => node.textContent).join(" "),
    );
    say(page, words.join(", "));
    const y = page.view.c.map_place(block, 0).y / page.plot.ratio;
    if (y < page.ui.mapScroll.scrollTop + 22) page.ui.mapScroll.scrollTop = Math.max(0, y - 24);
    else if (y + 16 > page.ui.mapScroll.scrollTop + page.ui.mapScroll.clientHeight)
        page.ui.mapScroll.scrollTop = y + 24 - page.ui.mapScroll.clientHeight;
    invalidate(page, MAP_MARKS);
}

/** Goes to the nearest block in the row above or below. @param {Page} page @param {number} by */
function stepRow(page, by) {
    const { map } = page;
    if (map.block < 0) goToBlock(page, 0);
    else {
        const { x, end, y } = page.view.c.map_place(map.block, 0);
        const pitch = 16 * page.plot.ratio;
        for (let at = y + pitch / 2 + by * pitch; map.laid && at >= 0 && at < map.laid.height; at += (by * pitch) / 2) {
            const block = pick(page, Math.min((x + end) / 2, map.picture.width - 1), at);
            if (block >= 0 && page.view.c.map_place(block, 0).y !== y) {
                goToBlock(page, block);
                return;
            }
        }
    }
}

const keysOf = perPage(
    (page) =>
        /** @type {Record<string, () => void>} */ ({
            ArrowRight: () => goToBlock(page, page.map.block + 1),
            ArrowLeft: () => goToBlock(page, page.map.block - 1),
            ArrowDown: () => stepRow(page, 1),
            ArrowUp: () => stepRow(page, -1),
            Enter: () => pinBlock(page),
        }),
);

function pressMapKey(/** @type {Page} */ page, /** @type {KeyboardEvent} */ event) {
    const keys = keysOf(page);
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
    consume(event);
    keys[event.key]();
}

export function toggleMap(/** @type {Page} */ page) {
    change(page, { mapOpen: !page.state.mapOpen });
}

const MAP_LEAST = 140;

export function startMap(/** @type {Page} */ page) {
    const { map } = page;
    makeSplitter(page.ui.splitMap, {
        read: () => page.ui.map.offsetHeight,
        write: (pixels) => {
            page.ui.map.style.flex = pixels === null ? "" : `0 0 ${pixels}px`;
            invalidate(page, MAP);
        },
        least: MAP_LEAST,
        most: () => page.ui.map.offsetHeight + page.ui.plot.offsetHeight - MAP_LEAST,
        sign: -1,
    });
    page.ui.mapScroll.addEventListener("scroll", () => invalidate(page, MAP));
    page.ui.mapScroll.addEventListener("pointermove", (event) => pointAt(page, event));
    page.ui.mapScroll.addEventListener("pointerleave", () => {
        map.pointer = null;
        map.block = -1;
        invalidate(page, MAP_MARKS);
    });
    page.ui.mapScroll.addEventListener("click", () => pinBlock(page));
    page.ui.mapScroll.addEventListener("keydown", (event) => pressMapKey(page, event));
    for (const mapOrder of MAP_ORDERS) page.onClick(`map-${mapOrder}`, () => change(page, { mapOrder }));
    page.onClick("map-open", () => toggleMap(page));
    page.onClick("map-close", () => toggleMap(page));
    new ResizeObserver(() => invalidate(page, MAP)).observe(page.ui.mapScroll);
}
