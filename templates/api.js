// Made by scripts/page-api from render/page/page_api.def: the records and constants that C and JavaScript share.

export const FRAME_NOISE = 0;
export const FRAME_NATIVE = 1;
export const FRAME_LIBRARY = 2;
export const FRAME_USER = 3;
export const KIND_KINETO = 1;
export const KIND_MEMORY_TIMELINE = 2;
export const LIFE_STACK_OF_FREE = 1;
export const LIFE_FROM_BLOCK = 2;
export const LIFE_REOPENED = 4;
export const LIFE_UNMATCHED_END = 8;
export const WHOLE_FILE = -2147483648;
export const DRAW_DARK = 1;
export const DRAW_FADED = 2;
export const DRAW_RESERVED = 4;

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
"flags", "color_by", "capacity_bytes", ],
drawing: [ "pixels", "drawn", "merged", ],
picked: [ "allocation", "event", ],
outline: [ "first", "count", "edges", ],
group: [ "bytes", "count", "site", "stack", ],
sum: [ "allocations", "bytes", ],
bounds: [ "least_bytes", "most_bytes", "least_age", "most_age", "age_in_us", "stream",
"pool", "at_peak", "at_end", "own", ],
kept: [ "allocations", "peak_bytes", "highest", ],
};

/** The record that a call of a session fills; null: it returns a number. */
export const SESSION_CALLS = {
release: null,
reserve: null,
open: null,
pieces: null,
piece: "piece",
unpack: null,
recording: "recording",
string: "text",
diagnostic: "diagnostic",
frame: "frame",
fx: "fx",
stack_frames: "stack_frames",
stack_parent: null,
stack_frame: null,
context: "context",
site_text: "text",
site_color: null,
device: "device",
device_peak: null,
category_name: "text",
ticks_decimal: null,
ticks_bytes: null,
ticks: null,
};

/** The record that a call of a view fills; null: it returns a number. */
export const VIEW_CALLS = {
release: null,
device: null,
facts: "facts",
whole: "span",
event_us: null,
event_at_us: null,
live_at: null,
reserved_at: null,
peak_in: null,
headroom: null,
oom: "oom",
snapshot: "snapshot",
stream: "stream",
pool: "pool",
phase: "phase",
phase_marks: null,
phase_mark_rows: null,
allocation: "allocation",
stack_site: null,
frame_kind: null,
request: null,
draw: "drawing",
pick: "picked",
outline: "outline",
x_of_event: null,
event_of_x: null,
curve: null,
groups: null,
range_groups: null,
group: "group",
stack_mask: null,
context_mask: null,
matches: "sum",
next_match: null,
site_sum: "sum",
bounds: null,
filter: null,
filter_off: null,
kept: "kept",
key_color: null,
key_from: null,
key_bytes: null,
};
