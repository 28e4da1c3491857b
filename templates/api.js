// Made by scripts/page-api from render/page/page_api.def: the records and constants that C and JavaScript share.

export const FRAME_NOISE = 0;
export const FRAME_NATIVE = 1;
export const FRAME_LIBRARY = 2;
export const FRAME_USER = 3;
export const KIND_KINETO = 1;
export const KIND_LOG = 3;
export const KIND_MEMORY_TIMELINE = 2;
export const CHECK_CLEAR = 0;
export const CHECK_FOUND = 1;
export const CHECK_NOT_JUDGED = 2;
export const ALLOCATION_STACK_OF_FREE = 1;
export const ALLOCATION_FROM_BLOCK = 2;
export const ALLOCATION_REOPENED = 4;
export const ALLOCATION_UNMATCHED_END = 8;
export const WHOLE_FILE = -2147483648;
export const DRAW_DARK = 1;
export const DRAW_FOUND = 2;
export const DRAW_RESERVED = 4;
export const DRAW_SEGMENTS = 8;
export const DRAW_MARKS = 16;
export const DRAW_RECORDED = 32;
export const DRAW_PLACED = 64;
export const BY_FRAME = 6;

/** Every colouring, in the order of its number, as [name, what the menu calls it]. @type {[string, string][]} */
export const COLORING_TITLES = [
["site", "call site"], ["size", "size"], ["age", "age"], ["stream", "stream"], ["pool", "pool"], ["category", "category"], ["each", "each allocation"],
];

/** Fields of each record, in their order. */
export const RECORDS = {
recording: [ "meta",
"settings",
"kind", "rank",
"devices", "diagnostics", "strings", "frames", "stacks", "contexts", ],
text: [ "place", "nbytes", ],
piece: [ "packed", "packed_nbytes", "target", "raw_nbytes", ],
diagnostic: [ "code", "message", "device", ],
frame: [ "file", "name", "line", "fx", ],
fx: [ "op", "name", "target", "original", ],
stack_frames: [ "place", "count", ],
context: [ "compile", "metadata", "category", "forward", ],
device: [ "ordinal", "name", "capacity_bytes", "events", "allocations", "ooms", ],
facts: [ "events", "allocations", "preexisting", "start_bytes", "peak_bytes", "peak_event",
"end_bytes", "live_at_peak", "reserved_start", "reserved_peak", "reserved_end",
"reserved_shift",
"has_time", "first_us", "ooms", "snapshots", "streams", "pools", "phases",
"internal_phases",
"phase_rows", "all_phase_rows",
"pending", ],
span: [ "from", "to", ],
oom: [ "event", "size", "device_free", "stack", ],
snapshot: [ "event", "bytes", ],
stream: [ "high", "low", ],
pool: [ "first", "second", ],
phase: [ "name", "start_us", "end_us", "internal", ],
phase_mark: [ "phase", "row", "from", "to", ],
allocation: [ "bytes", "birth",
"death", "request",
"count",
"stack", "context", "stream", "pool", "address_high", "address_low", "flags",
"category", ],
request: [ "axis", "from", "to", "width", "height", "bottom_bytes", "top_bytes",
"flags", "color_by", "capacity_bytes", "scale",
"areas",
"pinned", "held", "mark_a", "mark_b", "mark_c", "range_from", "range_to",
"outline_from", "outline_to", "outline_shift",
],
drawing: [ "pixels", "drawn", "merged", "between", ],
picked: [ "allocation", "event", ],
outline: [ "first", "count", "edges", ],
band_name: [ "site", "color", "ink",
"from", "to", "top", "bottom", ],
areas: [ "place", "keys", "width", ],
group: [ "bytes", "count", "site", "stack", "part", ],
sum: [ "allocations", "bytes", ],
kept: [ "allocations", "peak_bytes", "highest", ],
also: [ "site", "bytes", "of_free", ],
parsed: [ "words", "regexes", "wrong", "from", "until", "what", "nbytes",
],
regex: [ "text", "nbytes", "sensitive", "frames", "strings",
],
found: [ "allocations", "bytes", "before", ],
sums: [ "groups", "bytes", "count", "event", ],
sums_row: [ "bytes", "count", "key", "stack", ],
siblings: [ "nth", "count", "previous", "next", ],
pair: [ "a", "b", ],
node: [ "frame", "parent", "first_child", "children", "bytes", "self_bytes", "count",
"self_count", "before_bytes", ],
oom_state: [ "live_bytes", "reserved_bytes", "unused_bytes", "lacking_bytes", "reserved_known",
"free_blocks_known", "exact", "largest_bytes", "free_blocks", ],
held: [ "segments", "blocks", "outside", "outside_bytes", ],
segment: [ "address_high", "address_low", "bytes", "stream", "pool", "flags",
"first_block", "blocks", ],
block: [ "address_high", "address_low", "bytes", "requested_bytes", "state", "allocation",
"guessed", ],
map: [ "height", "segments", "blocks", "groups", "parts", "outside", "outside_bytes",
"row_bytes", ],
map_group: [ "y", "first_part", "parts", "segments", "free_blocks", "bytes", "free_bytes",
"pool", "stream", "small", ],
map_part: [ "segment", "x", "width", "y", "from", "segment_bytes", ],
map_cell: [ "segment", "block", "allocation", "address_high", "address_low", "bytes",
"state", "guessed", "segment_bytes", "segment_birth", "segment_stack", "pool", "stream",
"expandable", ],
map_place: [ "x", "end", "y", ],
map_label: [ "x", "end", "y", "bytes", ],
replayed: [ "grade", "allocations", "allocations_exact", "driver_events",
"driver_events_exact", "reserved_max_error_bytes", ],
gap: [ "reserved_bytes", "live_bytes", "gap_bytes", "rounding", "unsplit_tails",
"empty_segments", "holes", "expandable_tails", "private_pools", "contradictions", "exact",
"largest_hole_bytes", "segments", "pinned", "pinned_free_bytes", "pools",
],
pinned: [ "address_high", "address_low", "bytes", "free_bytes", "blocks", "allocation",
],
pool_use: [ "pool", "is_private", "segments", "allocations", "live_bytes",
"reserved_bytes", "free_bytes", ],
lanes: [ "place", "width", ],
release_group: [ "event", "count", "bytes", "taken_bytes", "cause", "out_of_memory",
"stack", ],
band: [ "bytes", "birth", "death", "stack", "stream", "pool", "expandable",
"address_high", "address_low", ],
judged: [ "turns", "steps", "phases", "growth", "findings", ],
step: [ "from", "to",
"peak_event", "begin_bytes", "peak_bytes", "end_bytes", "name", ],
part: [ "from", "to", "kind", "step",
],
finding: [ "site", "stack", "per_bytes", "per_n", "bytes", "count", "saves_peak_bytes",
"from_event", "to_event", "at_event", ],
};

/** The record that a call of a session fills; the others return a number. @type {Record<string, string>} */
export const SESSION_ROWS = {
piece: "piece",
recording: "recording",
string: "text",
diagnostic: "diagnostic",
frame: "frame",
fx: "fx",
stack_frames: "stack_frames",
context: "context",
site_text: "text",
device: "device",
category_name: "text",
};

/** The record that a call of a view fills; the others return a number. @type {Record<string, string>} */
export const VIEW_ROWS = {
facts: "facts",
whole: "span",
oom: "oom",
snapshot: "snapshot",
stream: "stream",
pool: "pool",
phase: "phase",
phase_name: "text",
allocation: "allocation",
draw: "drawing",
pick: "picked",
outline: "outline",
band_name: "band_name",
areas: "areas",
group: "group",
also: "also",
site_sum: "sum",
parse: "parsed",
regex: "regex",
kept: "kept",
matches: "found",
sums: "sums",
sums_row: "sums_row",
group_name: "text",
siblings: "siblings",
pair: "pair",
node: "node",
oom_state: "oom_state",
blocks: "held",
segment: "segment",
block: "block",
lanes: "lanes",
release_group: "release_group",
band: "band",
map_refusal: "text",
replayed: "replayed",
replay_reason: "text",
map: "map",
map_group: "map_group",
map_part: "map_part",
map_pick: "map_cell",
map_cell: "map_cell",
map_place: "map_place",
gap: "gap",
pinned: "pinned",
pool_use: "pool_use",
judged: "judged",
step: "step",
part: "part",
part_name: "text",
judged_text: "text",
check_text: "text",
finding: "finding",
finding_text: "text",
};
