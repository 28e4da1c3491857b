// Allocator: why more is reserved than in use at the marked moment, what keeps mostly empty segments, and what each
// memory pool holds; the figures of the report, by the same code.
import { poolName } from "./describe.js";
import { replayOnce, replaysOf } from "./map_view.js";
import { addressText } from "./questions.js";
import { change, heldMoment, isDark, momentText } from "./state.js";
import { formatBytes, formatExactBytes, formatPlural, formatShare, make, tableFigures } from "./text.js";

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

const GRADES = ["exact", "near", "refused"];

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

/** @param {number} bytes @param {(bytes: number) => string} figure */
function bytesCell(bytes, figure) {
    const cell = make("span", "", bytes < 0 ? `\u2212${figure(-bytes)}` : figure(bytes));
    cell.title = formatExactBytes(Math.abs(bytes));
    return cell;
}

/** @param {record_gap} gap */
function causesTable(gap) {
    const figure = tableFigures(Math.abs(gap.gap_bytes)).text;
    const rows = CAUSES.filter(([key]) => gap[key] !== 0)
        .sort((a, b) => Math.abs(gap[b[0]]) - Math.abs(gap[a[0]]))
        .map(([key, text, hint]) => {
            const name = make("span", "", text);
            name.title = hint;
            return [
                name,
                bytesCell(gap[key], figure),
                gap[key] > 0 && gap.gap_bytes > 0 ? formatShare(gap[key], gap.gap_bytes) : "",
            ];
        });
    return table(
        "figures-table",
        ["Why", "Bytes", "Share"],
        [...rows, ["Unused", bytesCell(gap.gap_bytes, figure), ""]],
    );
}

/** A mostly empty segment, and what keeps it. @param {Page} page @param {number} index */
function pinnedRow(page, index) {
    const { session, view } = page;
    const { bytes, free_bytes, blocks, allocation, ...address } = view.c.pinned(index);
    const { stack, bytes: held } = view.c.allocation(allocation);
    const site = view.c.stack_site(stack);
    const button = make("button", "quiet pinned");
    button.title = `${addressText(address)}: selects the allocation, with its stack`;
    const swatch = make("i", "swatch");
    swatch.style.background = view.siteColor(site, isDark(page));
    const line = make("span", "tip-row");
    line.append(
        swatch,
        make("span", "tip-site", session.siteText(site)),
        make("b", "", `${formatBytes(held)}${blocks > 1 ? `, and ${formatPlural(blocks - 1, "more block")}` : ""}`),
    );
    button.append(make("span", "", `${formatBytes(bytes - free_bytes)} keep a segment of ${formatBytes(bytes)}`), line);
    button.addEventListener("click", () =>
        change(page, {
            moment: heldMoment(page),
            selected: allocation,
            focus: site ? { by: "site", id: site } : null,
            mapOpen: true,
        }),
    );
    return button;
}

/** @param {Page} page @param {number} count */
function poolsTable(page, count) {
    const uses = Array.from({ length: count }, (_, i) => page.view.c.pool_use(i));
    const figure = tableFigures(Math.max(...uses.map((use) => use.reserved_bytes))).text;
    const rows = uses.map((use) => {
        const name = make("span", "", poolName(page, use.pool));
        name.title = use.is_private
            ? `${formatPlural(use.segments, "segment")}; what is free in it serves no other request`
            : formatPlural(use.segments, "segment");
        return [name, ...[use.live_bytes, use.free_bytes, use.reserved_bytes].map((bytes) => bytesCell(bytes, figure))];
    });
    const kept = uses.filter((use) => use.is_private).reduce((sum, use) => sum + use.free_bytes, 0);
    const note = make(
        "p",
        "why-foot",
        `Private pools keep ${formatBytes(kept)} of free memory from all other requests.`,
    );
    return [make("h3", "", "Memory pools"), table("figures-table", ["Pool", "In use", "Free", "Reserved"], rows), note];
}

/** What the replay says of the model. @param {Page} page */
function replayText(page) {
    const { view } = page;
    const place = /** @type {(handle: number) => number} */ (view.module.view_replayed)(view.handle);
    if (place === 0) return "";
    const {
        grade,
        allocations,
        allocations_exact: exact,
        driver_events: driver,
        driver_events_exact: driverExact,
    } = view.c.replayed();
    if (GRADES[grade] === "refused") return `Replay check: refused, because ${view.sentence("replay_reason")}.`;
    return (
        `Replay check: ${exact.toLocaleString("en-US")} of ${formatPlural(allocations, "allocation")}, ` +
        `${driverExact.toLocaleString("en-US")} of ${formatPlural(driver, "driver allocation")} reproduced` +
        `${GRADES[grade] === "exact" ? " and the reserved curve exactly" : ""}.`
    );
}

/** @param {Page} page @param {HTMLElement} box */
export function createAllocator(page, box) {
    const { state, view } = page;
    let asked = "";
    const draw = () => {
        const event = heldMoment(page);
        const now = JSON.stringify([replaysOf(page).over, state.device, event, isDark(page)]);
        if (now === asked) return;
        asked = now;
        const title = make(
            "h2",
            "",
            `Unused ${event === view.facts.peak_event ? "at the peak" : `after ${momentText(page, event)}`}`,
        );
        const head = make("div", "panel-head");
        head.append(title);
        const refusal = view.sentence("map_refusal");
        if (refusal) {
            box.replaceChildren(head, make("p", "why-foot", `Nothing can be said about segments: ${refusal}.`));
            return;
        }
        replayOnce(page);
        const gap = view.c.gap(event);
        head.append(
            make(
                "p",
                "panel-total",
                `${formatBytes(gap.reserved_bytes)} reserved \u00b7 ${formatBytes(gap.live_bytes)} in ` +
                    `use \u00b7 largest free block ${formatBytes(gap.largest_hole_bytes)}`,
            ),
        );
        const body = make("div", "scroll allocator");
        body.tabIndex = 0;
        body.append(
            causesTable(gap),
            make(
                "p",
                "why-foot",
                `All parts add up to ${formatExactBytes(gap.gap_bytes)}: reserved less requested.` +
                    (gap.exact
                        ? ""
                        : " Sizes of some blocks are the least they can be, so remainders may be among the holes."),
            ),
        );
        if (gap.pinned) {
            body.append(
                make(
                    "h3",
                    "",
                    `${formatPlural(gap.pinned, "segment")} less than a quarter in use, ` +
                        `${formatBytes(gap.pinned_free_bytes)} free`,
                ),
            );
            for (let i = 0; i < Math.min(10, gap.pinned); i++) body.append(pinnedRow(page, i));
        }
        if (gap.pools > 1) body.append(...poolsTable(page, gap.pools));
        const check = replayText(page);
        if (check) body.append(make("p", "why-foot", check));
        box.replaceChildren(head, body);
    };
    return { id: "allocator", draw };
}
