// Allocator: why more is reserved than in use at the marked moment, which allocations keep mostly empty segments, and
// what each memory pool holds. The figures are the report's, from the same code.
import { poolText } from "./describe.js";
import { holeNow } from "./map_view.js";
import { chooseHole } from "./map_hand.js";
import { replayOnce, replaysOf } from "./replay.js";
import { devicePlan, isServed, planRows, verdict } from "./plan_view.js";
import { heldMoment, isDark, momentText, newMemo } from "./state.js";
import { dotted, formatBytes, formatExactBytes, formatFine, formatPlural, formatShare } from "./text.js";
import { make, makeSwatch, tableFigures } from "./text.js";

/** @type {[keyof record_gap, string, string][]} */
const CAUSES = [
    ["holes", "Holes", "in segments of the default pool"],
    ["empty_segments", "Empty segments", "empty_cache() would give them back"],
    ["expandable_tails", "Free ends of expandable segments", "they can be unmapped, and grow again"],
    ["private_pools", "Free in private pools", "of CUDA graphs and MemPools; nothing else can use it"],
    ["unsplit_tails", "Rounding inside blocks", ""],
    ["rounding", "Rounding up", ""],
    ["contradictions", "Unexplained: the file contradicts itself", ""],
];

/** @param {string} className @param {string[]} heads @param {(HTMLElement | string)[][]} rows */
function table(className, heads, rows) {
    const made = make("table", className);
    const head = made.createTHead().insertRow();
    for (const name of heads) head.append(make("th", "", name));
    const body = made.createTBody();
    for (const cells of rows) {
        const row = body.insertRow();
        for (const cell of cells) row.insertCell().append(cell);
    }
    return made;
}

function bytesCell(/** @type {number} */ bytes, /** @type {(bytes: number) => string} */ figure) {
    const text = bytes < 0 ? `\u2212${figure(-bytes)}` : figure(bytes);
    return make("span", "", text, { title: formatExactBytes(Math.abs(bytes)) });
}

function causesTable(/** @type {record_gap} */ gap) {
    const figure = tableFigures(Math.abs(gap.gap_bytes)).text;
    const rows = CAUSES.filter(([key]) => gap[key] !== 0)
        .sort((a, b) => Math.abs(gap[b[0]]) - Math.abs(gap[a[0]]))
        .map(([key, text, title]) => [
            make("span", "", text, { title }),
            bytesCell(gap[key], figure),
            gap[key] > 0 && gap.gap_bytes > 0 ? formatShare(gap[key], gap.gap_bytes) : "",
        ]);
    const sum = ["Unused", bytesCell(gap.gap_bytes, figure), ""];
    return table("figures-table", ["Why", "Bytes", "Share"], [...rows, sum]);
}

/* ---- holes ---- */

/** The most rows of the list; smaller entries are summed up. */
const HOLES_MOST = 12;

/** @typedef {record_hole & {block: number}} Hole */

/** The largest holes after an event, and the sum of the smaller ones. @param {Page} page @param {number} event */
function largestHoles(page, event) {
    const { c } = page.view;
    /** @type {Hole[]} */
    const holes = [];
    c.gap(event);
    const chosen = holeNow(page);
    for (let block = c.next_hole(-1); block >= 0; block = c.next_hole(block)) {
        if (holes.length >= HOLES_MOST) break;
        holes.push({ ...c.hole(block), block });
    }
    const { after_count: count, after_bytes: bytes } = holes.at(-1) ?? { after_count: 0, after_bytes: 0 };
    if (chosen >= 0 && !holes.some(({ block }) => block === chosen)) holes.push({ ...c.hole(chosen), block: chosen });
    return { holes, count, bytes };
}

/** Draws the holes by size, as parts of all. @param {Hole[]} holes @param {number} rest bytes of the smaller ones */
function holesBar(holes, rest) {
    const bar = make("div", "holes-bar");
    const parts = [...holes.map((hole) => hole.bytes), rest].filter((bytes) => bytes > 0);
    const all = parts.reduce((sum, bytes) => sum + bytes, 0);
    for (const bytes of parts) {
        const part = make("span", "", bytes * 5 > all ? formatBytes(bytes) : "", { title: formatBytes(bytes) });
        part.style.flexGrow = String(bytes);
        bar.append(part);
    }
    return bar;
}

/** A button that selects the allocation that keeps a hole's segment, with its stack.
 * @param {Page} page @param {number} moment @param {Hole} hole */
function keeperButton(page, moment, { used_bytes, segment_bytes, blocks, allocation, block }) {
    const { session, view } = page;
    const { stack, bytes: held, birth } = view.c.allocation(allocation);
    const site = view.c.stack_site(stack);
    const title = `Selects the allocation, with its stack${birth < 0 ? "" : `; made at ${momentText(page, birth)}`}`;
    const swatch = makeSwatch(view.siteColor(site, isDark(page)));
    const more = blocks > 1 ? `${formatBytes(held)}, and ${formatPlural(blocks - 1, "more block")}` : "";
    const words = make("span", "", `${formatBytes(used_bytes)} keep a segment of ${formatBytes(segment_bytes)}`);
    const name = make("span", "tip-site", session.siteText(site));
    const line = make("span", "tip-row", swatch, name, make("small", "", more));
    const button = make("button", "quiet pinned", words, line, { title });
    button.addEventListener("click", (event) => {
        event.stopPropagation();
        chooseHole(page, moment, block, allocation);
    });
    return button;
}

function holesTable(/** @type {Page} */ page, /** @type {number} */ event) {
    const { holes, count, bytes } = largestHoles(page, event);
    if (holes.length === 0) return [];
    const bar = holesBar(holes, bytes);
    // The best comes first, by bytes released per byte that would have to be freed.
    holes.sort((a, b) => b.segment_bytes * a.used_bytes - a.segment_bytes * b.used_bytes);
    const made = table(
        "figures-table holes",
        ["Hole", "What keeps its segment", "Given back"],
        holes.map((hole) => {
            const size = make("button", "quiet", formatBytes(hole.bytes));
            const title =
                "Bytes that go back to the driver if everything in the segment is freed; below, per byte freed";
            const times = make("small", "", `\u00d7 ${(hole.segment_bytes / hole.used_bytes).toFixed(1)}`);
            const back = make("span", "", formatBytes(hole.segment_bytes), make("br"), times, { title });
            return [size, keeperButton(page, event, hole), back];
        }),
    );
    made.setAttribute("role", "grid");
    for (const [i, { block }] of holes.entries()) {
        const row = made.tBodies[0].rows[i];
        row.setAttribute("aria-selected", String(block === holeNow(page)));
        row.addEventListener("click", () => chooseHole(page, event, block));
    }
    const rest = count ? [make("p", "why-foot", `${formatPlural(count, "smaller hole")}: ${formatBytes(bytes)}`)] : [];
    return [make("h3", "", `${formatPlural(holes.length + count, "hole")}, by size`), bar, made, ...rest];
}

function poolsTable(/** @type {Page} */ page, /** @type {record_pool_use[]} */ uses) {
    const figure = tableFigures(Math.max(...uses.map((use) => use.reserved_bytes))).text;
    const rows = uses.map((use) => {
        const only = use.is_private ? "; its free memory serves only requests of this pool" : "";
        const name = make("span", "", poolText(page, use.pool), {
            title: formatPlural(use.segments, "segment") + only,
        });
        return [name, ...[use.live_bytes, use.free_bytes, use.reserved_bytes].map((bytes) => bytesCell(bytes, figure))];
    });
    const kept = uses.filter((use) => use.is_private).reduce((sum, use) => sum + use.free_bytes, 0);
    const said = `Private pools keep ${formatBytes(kept)} of free memory from all other requests.`;
    const note = make("p", "why-foot", said);
    return [make("h3", "", "Memory pools"), table("figures-table", ["Pool", "In use", "Free", "Reserved"], rows), note];
}

/* ---- settings ---- */

/** A sentence on the bytes that the last failed request lacked even with all free memory. @param {Page} page */
function lackedText({ view }) {
    const last = view.facts.ooms - 1;
    const { lacking_bytes: lacking, reserved_known: known } = last < 0 ? NOTHING_LACKED : view.c.oom_state(last);
    return known && lacking > 0 ? `Even without holes it would have been ${formatBytes(lacking)} short.` : "";
}

const NOTHING_LACKED = { lacking_bytes: 0, reserved_known: 0 };

/** Answers whether other settings of the allocator would have served the request, with the plan's figures.
 * @param {Page} page */
function settingsBox(page) {
    const plan = devicePlan(page);
    const rows = plan?.refused === null ? planRows(plan).filter(({ id }) => id.startsWith("settings:")) : [];
    if (!plan || rows.length === 0) return [];
    const ended = plan.recorded.ended_by_oom;
    const spared = (/** @type {import("./plan_view.js").Row} */ row) =>
        (plan.as_recorded.peak_reserved_bytes_max ?? 0) - (row.peak_reserved_bytes_max ?? 0);
    const asks = make("b", "", ended ? "Would it have helped?" : "Would it help?");
    const answer = make("b", "", rows.some((row) => (ended ? isServed(row) : spared(row) > 0)) ? "yes" : "no");
    const head = make("p", "helped-head", asks, answer);
    const box = make("section", "helped", head, make("p", "", ended ? lackedText(page) : ""));
    for (const row of rows) {
        const line = make("p", "", make("code", "", row.title), ended ? " needs " : " ");
        if (ended) line.append(verdict(row, plan.budget));
        else
            line.append(
                `reserves ${formatFine(row.peak_reserved_bytes_max ?? 0)}, ` +
                    `${formatFine(Math.abs(spared(row)))} ${spared(row) < 0 ? "more" : "less"} (${row.certainty})`,
            );
        box.append(line);
    }
    return [box];
}

export function createAllocator(/** @type {Page} */ page, /** @type {HTMLElement} */ box) {
    const { state, view } = page;
    const drawn = newMemo();
    const fill = (/** @type {number} */ event) => {
        const when = event === view.facts.peak_event ? "at the peak" : `after ${momentText(page, event)}`;
        const head = make("div", "panel-head", make("h2", "", `Unused ${when}`));
        const refusal = view.sentence("map_refusal");
        if (refusal)
            return box.replaceChildren(head, make("p", "why-foot", `Nothing can be said about segments: ${refusal}.`));
        replayOnce(page);
        const gap = view.c.gap(event);
        const largest = view.c.next_hole(-1);
        const hole = largest < 0 ? "no holes" : `largest hole ${formatBytes(view.c.hole(largest).bytes)}`;
        const [reserved, live] = [formatBytes(gap.reserved_bytes), formatBytes(gap.live_bytes)];
        head.append(make("p", "panel-total", dotted(`${reserved} reserved`, `${live} in use`, hole)));
        const bound = " Some block sizes are lower bounds, so unused ends of blocks may count as holes.";
        const sum = `All parts add up to ${formatExactBytes(gap.gap_bytes)}: reserved less requested.`;
        const foot = make("p", "why-foot", sum + (gap.exact ? "" : bound));
        const body = make("div", "scroll allocator", { tabIndex: 0 }, causesTable(gap), foot);
        body.append(...holesTable(page, event), ...settingsBox(page));
        const pools = view.c.pool_uses();
        if (pools.length > 1) body.append(...poolsTable(page, pools));
        const check = view.sentence("replay_text");
        if (check) body.append(make("p", "why-foot", check));
        box.replaceChildren(head, body);
        body.querySelector("tr[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    };
    const draw = () => {
        const event = heldMoment(page);
        drawn([replaysOf(page).over, state.device, event, isDark(page), holeNow(page)], () => fill(event));
    };
    return { id: "allocator", draw };
}
