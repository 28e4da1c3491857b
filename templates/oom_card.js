// The card of an out-of-memory event: who asked, the device as one bar, what could not serve the request, and why not.
import { deviceParts } from "./allocator.js";
import { momentText, session, view } from "./state.js";
import { BYTE_UNITS, formatBytes, formatExactBytes, formatPlural, make } from "./text.js";

/** Figures in one unit, small enough that the ones that differ look different. @param {number[]} values */
function formatAlike(values) {
    const largest = Math.max(...values);
    let unit = 0;
    while (unit < 6 && largest >= 1024 ** (unit + 1)) unit++;
    const text = (/** @type {number} */ bytes) => `${(bytes / 1024 ** unit).toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ${BYTE_UNITS[unit]}`;
    const distinct = new Set(values).size;
    const least = Math.min(...values.filter((value) => value > 0), largest);
    while (unit > 0 && (new Set(values.map(text)).size < distinct || least < 0.1 * 1024 ** unit)) unit--;
    return values.map(text);
}

/** What was lacking, in a line. @param {record_oom} oom @param {ReturnType<typeof deviceParts>} parts */
function lackText({ size, device_free }, parts) {
    const have = parts.holes + device_free;
    if (have < size) return `${formatBytes(size - have)} short of the ${formatBytes(size)} asked for`;
    return `Not short of memory, but of one hole of ${formatBytes(size)}`;
}

/** @param {string} kind @param {number} bytes @param {number} whole @param {string} label */
function barPart(kind, bytes, whole, label) {
    const part = make("span", `part part-${kind}`, kind === "live" && bytes / whole > 0.2 ? label : "");
    part.style.flexGrow = String(bytes / whole);
    part.title = `${label}: ${formatExactBytes(bytes)}`;
    return part;
}

/** @param {ReturnType<typeof deviceParts>} parts @param {number} free @param {number} capacity */
function deviceBar(parts, free, capacity) {
    const other = Math.max(0, capacity - parts.reserved - free);
    const whole = Math.max(1, parts.reserved + free + other);
    const bar = make("div", "device-bar");
    bar.append(barPart("live", parts.used, whole, `live ${formatBytes(parts.used)}`));
    if (parts.holes > 0) bar.append(barPart("hole", parts.holes, whole, `holes ${formatBytes(parts.holes)}`));
    if (free > 0) bar.append(barPart("free", free, whole, `free ${formatBytes(free)}`));
    if (other > 0) bar.append(barPart("other", other, whole, `other ${formatBytes(other)}`));
    const key = make("p", "bar-key");
    const entry = (/** @type {string} */ kind, /** @type {string} */ text) => {
        const swatch = make("i", `swatch part-${kind}`);
        const item = make("span");
        item.append(swatch, text);
        return item;
    };
    key.append(entry("live", `live ${formatBytes(parts.used)}`), entry("hole", `holes ${formatBytes(parts.holes)} in ${formatPlural(parts.count, "place")}`), entry("free", `free ${formatBytes(free)}`));
    if (other > 0) key.append(entry("other", `other ${formatBytes(other)}`));
    return [bar, key];
}

/** @param {record_oom} oom @param {ReturnType<typeof deviceParts>} parts */
function lackTable(oom, parts) {
    const all = parts.holes + oom.device_free;
    const values = [oom.size, parts.largest, oom.device_free, all];
    const texts = formatAlike(values);
    const table = make("table", "lack");
    ["Asked for", "Largest hole", "Free on the device", "All holes + free"].forEach((name, i) => {
        const row = make("tr");
        const head = make("th", "", name);
        head.scope = "row";
        const enough = values[i] >= oom.size;
        const verdict = i === 0 ? "" : enough ? "\u2713 enough" : i === 3 ? `\u2715 ${formatBytes(oom.size - all)} short` : "\u2715";
        row.append(head, make("td", "number", texts[i]), make("td", enough ? "enough" : "short", verdict));
        table.append(row);
    });
    return table;
}

/** Who held the memory, in a sentence. @param {record_oom} oom @param {ReturnType<typeof deviceParts>} parts */
function holderText(oom, parts) {
    view.groups(oom.event, "site");
    const top = view.firstGroups(2).map(({ site, bytes }) => `${session.siteText(site)} ${formatBytes(bytes)}`);
    const really = parts.holes + oom.device_free < oom.size ? "The memory was really in use. Most of it" : "Most of what was in use";
    return top.length ? `${really}: ${top.join(", ")}.` : "";
}

/** The card's parts for an event. @param {number} index of the event @param {number} capacity 0: unknown */
export function oomParts(index, capacity) {
    const oom = view.c.oom(index);
    const parts = deviceParts(view, oom.event);
    const site = oom.stack ? session.siteText(view.c.stack_site(oom.stack)) : "";
    const by = make("p", "card-by");
    if (site) by.append("by ", make("code", "", site));
    const body = parts.reserved > 0 ? [...deviceBar(parts, oom.device_free, capacity), lackTable(oom, parts)] : [];
    return {
        when: momentText(oom.event),
        title: parts.reserved > 0 ? lackText(oom, parts) : `${formatBytes(oom.size)} asked for, ${formatBytes(oom.device_free)} free on the device`,
        body: [by, ...body, make("p", "", holderText(oom, parts))],
        event: oom.event,
        stack: oom.stack,
    };
}
