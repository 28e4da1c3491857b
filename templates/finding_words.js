// Names of findings, for the page and the index.
import { formatBytes } from "./text.js";

/** @type {Record<string, string>} */
export const KIND_TITLES = {
    out_of_memory: "Out of memory",
    leak: "Leak",
    growing_buffer: "Growing buffer",
    gradients_kept: "Gradients not cleared",
    held_over: "Kept too long",
    kept_per_layer: "Kept per layer",
    fragmentation: "Fragmentation",
    retry_flush: "Near miss",
    cache_churn: "Cache emptied and refilled",
    private_pool_held: "Private pool",
    stops_at_peak: "Stops at its peak",
    starts_late: "Starts late",
    rank_odd: "Differs",
    rank_only_line: "Only on one rank",
    levels_rise: "Levels rise",
    optimizer_temporaries: "Optimizer's temporaries",
    unused_graph: "Unused graph",
    autocast_copies: "Autocast's copies",
    next_step_peak: "Next step's peak",
    offloaded: "Offloaded",
    history_full: "Recording was full",
    no_history: "No events recorded",
    cached_free: "Cached, not in use",
};

/** Kinds that grow from step to step. For other kinds `per` is what each step makes anew. */
const GROWING = ["leak", "growing_buffer", "levels_rise"];

/** A finding's amount as text: "+24 MiB a step", "1.5 GiB", "". @param {PageFinding} finding */
export function findingFigure({ kind, per, bytes, title }) {
    // Only amounts that every step adds are shown as "a step".
    if (per && GROWING.includes(kind) && / in each of \d/.test(title))
        return `${per.n} \u00d7 ${formatBytes(per.bytes)}`;
    if (per && GROWING.includes(kind)) return `+${formatBytes(per.bytes)} a ${per.unit}`;
    return bytes > 0 ? formatBytes(bytes) : "";
}

/** A title as a headline: without the kind, which stands above it, and with a capital letter unless it begins with a
 * name of code. @param {string} title */
export function titleText(title) {
    const text = title.replace(/^(nearly )?out of memory: /, "");
    const [first] = text.split(" ");
    return /^[a-z]+$/.test(first) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
