// The data of the index's page, and what follows from it: which recordings share a colour.
// Everything that comes from file names enters the document as text (make, setText); the writer makes sure that names
// of pages hold only letters, digits, '.', '_', '-' and '/'.

/**
 * @typedef {{bytes: number, median_bytes: number, site: string}} Difference
 * @typedef {{kind: string, kind_title: string, severity: string, title: string, view: string}} Note
 * @typedef {{input: string, kind?: string, rank: number | null, step: number | null, device: number, devices: number,
 * input_bytes: number,
 * events: number, peak_bytes: number, peak_event: number, end_bytes: number, reserved_peak_bytes: number,
 * reserved_end_bytes: number,
 * capacity_bytes: number | null, oom: number, oom_requested_bytes?: number, oom_free_bytes?: number, truncation: string
 * | null,
 * peak_score: number, odd: string[], host: string | null, local_rank: number | null, group: string | null,
 * steps: number, mid_step: boolean,
 * growth_bytes: number, copy_of: string | null, page: string | null, sidecar: string, png: string | null,
 * diff?: string | null, made_of?: string | null, plan?: string | null, finding: string | null,
 * differences: Difference[], notes: Note[], samples: string, times?: string, steps_at: number[][], namesake: boolean}}
 * Row
 * @typedef {{input: string, reason: string}} Refusal
 * @typedef {{kind: string, kind_title: string, severity: string, title: string, detail: string, site: string | null,
 * bytes: number, count:
 * number,
 *   ranks: number[], rows: number[], view: string | null}} Finding
 * @typedef {{files: number, done: number, failed: number, skipped: number, out_of_memory: number, odd: number, copies:
 * number,
 *   events: number, input_bytes: number, lowest_peak_bytes: number, median_peak_bytes: number,
 *   highest_peak_bytes: number}} Totals
 * @typedef {{name: string, median: number, mad: number}} Column
 * @typedef {{version: string, totals: Totals, columns: Column[], notes: string[], findings: Finding[], failed:
 * Refusal[], skipped: Refusal[],
 *   span_us: number, step_stride: number, rows: Row[]}} Data
 * @typedef {ReturnType<typeof createBatch>} Batch
 */

/** The share that stands for the highest peak of all. */
export const SHARE_MOST = 65535;

/** Colours of odd recordings on both themes, which colour-blind people can tell apart too. */
const ODD_COLORS = ["#d55e00", "#2b83c6", "#009e73", "#c85a9a", "#c68a00", "#7b5be0", "#8c6d31", "#d13b3b"];

/** @param {string} text base64 of 16-bit shares */
function decodeShares(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Uint16Array(bytes.buffer);
}

export function rowTitle(/** @type {Row} */ row) {
    if (row.rank === null)
        return row.kind === "log" && row.devices > 1
            ? `${row.input}, ${row.device < 0 ? "host" : `GPU ${row.device}`}`
            : row.input;
    return `rank ${row.rank}${row.step === null ? "" : `, step ${row.step}`}${row.namesake ? ` (${row.input})` : ""}`;
}

/** The key of a recording's colour: all steps of a rank share one. @param {Row} row */
const groupOf = (row) => row.rank ?? rowTitle(row);

/** "ranks 2, 5-9" from rising numbers, of which at most `most` are named.
 * @param {number[]} numbers @param {number} [most] */
export function rangesText(numbers, most = 6) {
    const parts = [];
    for (let i = 0, to; i < numbers.length; i = to) {
        for (to = i + 1; to < numbers.length && numbers[to] === numbers[to - 1] + 1;) to++;
        parts.push(to - i > 1 ? `${numbers[i]}\u2013${numbers[to - 1]}` : String(numbers[i]));
    }
    return parts.length > most ? `${parts.slice(0, most).join(", ")} \u2026` : parts.join(", ");
}

/** The most letters of a text that people read; names of files and of C++ templates may have hundreds. */
const TEXT_MOST = 1000;

/** Fields that only the program reads; they may be of any length. */
const PACKED = new Set(["samples", "times"]);

/** Cuts texts that are too long for a page. @param {any} value an object or a list from the writer */
function shorten(value) {
    for (const name in value) {
        const own = value[name];
        if (typeof own === "object" && own !== null) shorten(own);
        else if (typeof own === "string" && own.length > TEXT_MOST && !PACKED.has(name))
            value[name] = `${own.slice(0, TEXT_MOST)}\u2026`;
    }
}

/** Reads the writer's data, whose texts come from files that anybody may have written. @param {string} text
 * @returns {Data} */
export function readData(text) {
    const data = JSON.parse(text);
    shorten(data);
    return data;
}

export function createBatch(/** @type {Data} */ data) {
    const rows = data.rows;
    const samples = rows.map((row) => decodeShares(row.samples));
    const times = rows.map((row) => (row.times ? decodeShares(row.times) : null));
    /** The recordings that are compared: all but copies. */
    const own = [...rows.keys()].filter((index) => rows[index].copy_of === null);
    // Odd rows, the most severe first: those with a finding, in the order of the findings.
    const oddRows = [...new Set(data.findings.flatMap((finding) => finding.rows))].filter(
        (index) => rows[index].finding !== null,
    );
    /** One row for each colour. @type {Map<number | string, number>} */
    const oddGroups = new Map();
    for (const index of oddRows) if (!oddGroups.has(groupOf(rows[index]))) oddGroups.set(groupOf(rows[index]), index);
    const keys = new Map([...oddGroups.keys()].map((key, i) => [key, i]));
    const colors = new Map(
        oddRows.map((index) => [index, ODD_COLORS[(keys.get(groupOf(rows[index])) ?? 0) % ODD_COLORS.length]]),
    );
    return {
        data,
        rows,
        samples,
        times,
        own,
        oddRows,
        oddGroups,
        /** @param {number} index */
        colorOf: (index) => colors.get(index),
        /** The bytes that a share stands for. @param {number} share */
        bytesOf: (share) => (share / SHARE_MOST) * data.totals.highest_peak_bytes,
    };
}
