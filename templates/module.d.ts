// Made by scripts/page-api from render/page/page_api.def: what the WebAssembly module exports, as its handles offer it.
interface record_recording { meta: number;
settings: number;
kind: number; rank: number;
has_allocations: number; has_call_sites: number; has_segments: number;
devices: number; diagnostics: number; strings: number; frames: number; stacks: number; contexts: number; }
interface record_text { place: number; nbytes: number; }
interface record_piece { packed: number; packed_nbytes: number; target: number; raw_nbytes: number; }
interface record_diagnostic { code: number; message: number; device: number; }
interface record_frame { file: number; name: number; line: number; fx: number; }
interface record_fx { op: number; name: number; target: number; original: number; }
interface record_stack_frames { place: number; count: number; }
interface record_context { compile: number; metadata: number; category: number; forward: number; }
interface record_device { ordinal: number; name: number; capacity_bytes: number; events: number; allocations: number; ooms: number;
last_oom: number; first_us: number; from_us: number;
to_us: number; }
interface record_facts { events: number; allocations: number; preexisting: number; start_bytes: number; peak_bytes: number; peak_event: number;
end_bytes: number; live_at_peak: number; reserved_start: number; reserved_peak: number; reserved_end: number;
host_most: number;
reserved_shift: number;
has_time: number; first_us: number; ooms: number; snapshots: number; streams: number; pools: number; phases: number;
internal_phases: number;
phase_rows: number; all_phase_rows: number;
pending: number; }
interface record_span { from: number; to: number; }
interface record_oom { event: number; size: number; device_free: number; stack: number; }
interface record_snapshot { event: number; bytes: number; }
interface record_stream { high: number; low: number; }
interface record_pool { first: number; second: number; }
interface record_phase { name: number; start_us: number; end_us: number; internal: number; }
interface record_phase_mark { phase: number; row: number; from: number; to: number; }
interface record_allocation { bytes: number; birth: number;
death: number; request: number;
count: number;
stack: number; context: number; stream: number; pool: number; address_high: number; address_low: number; flags: number;
category: number; }
interface record_request { axis: number; from: number; to: number; width: number; height: number; bottom_bytes: number; top_bytes: number;
flags: number; color_by: number; capacity_bytes: number; scale: number;
areas: number;
pinned: number; held: number; mark_a: number; mark_b: number; mark_c: number; range_from: number; range_to: number;
outline_from: number; outline_to: number; outline_shift: number;
}
interface record_drawing { pixels: number; drawn: number; merged: number; between: number; dense: number; groups: number; bottom: number; top: number; }
interface record_picked { allocation: number; event: number; }
interface record_outline { first: number; count: number; edges: number; }
interface record_band_name { site: number; color: number; ink: number;
from: number; to: number; top: number; bottom: number; }
interface record_areas { place: number; keys: number; width: number; }
interface record_group { bytes: number; count: number; site: number; stack: number; part: number; }
interface record_sum { allocations: number; bytes: number; }
interface record_kept { allocations: number; peak_bytes: number; highest: number; }
interface record_also { site: number; bytes: number; of_free: number; }
interface record_parsed { words: number; regexes: number; wrong: number; from: number; until: number; what: number; nbytes: number;
}
interface record_regex { text: number; nbytes: number; sensitive: number; frames: number; strings: number;
}
interface record_found { allocations: number; bytes: number; before: number; }
interface record_lit { place: number; ids: number; allocations: number; bytes: number; }
interface record_sums { groups: number; bytes: number; count: number; event: number; }
interface record_sums_row { bytes: number; count: number; key: number; stack: number; }
interface record_siblings { nth: number; count: number; previous: number; next: number; }
interface record_pair { a: number; b: number; }
interface record_node { frame: number; parent: number; first_child: number; children: number; bytes: number; self_bytes: number; count: number;
self_count: number; before_bytes: number; }
interface record_oom_state { live_bytes: number; reserved_bytes: number; unused_bytes: number; lacking_bytes: number; reserved_known: number;
free_blocks_known: number; exact: number; largest_bytes: number; free_blocks: number; }
interface record_held { segments: number; blocks: number; outside: number; outside_bytes: number; }
interface record_segment { address_high: number; address_low: number; bytes: number; stream: number; pool: number; flags: number;
first_block: number; blocks: number; }
interface record_block { address_high: number; address_low: number; bytes: number; requested_bytes: number; state: number; allocation: number;
guessed: number; }
interface record_map { height: number; segments: number; blocks: number; groups: number; parts: number; outside: number; outside_bytes: number;
row_bytes: number; }
interface record_map_group { y: number; first_part: number; parts: number; segments: number; free_blocks: number; bytes: number; free_bytes: number;
pool: number; stream: number; small: number; }
interface record_map_part { segment: number; x: number; width: number; y: number; from: number; segment_bytes: number; }
interface record_map_cell { segment: number; block: number; allocation: number; address_high: number; address_low: number; bytes: number;
state: number; guessed: number; segment_bytes: number; segment_birth: number; segment_stack: number; pool: number; stream: number;
expandable: number; }
interface record_map_place { x: number; end: number; y: number; }
interface record_map_label { x: number; end: number; y: number; bytes: number; }
interface record_replayed { grade: number; allocations: number; allocations_exact: number; driver_events: number;
driver_events_exact: number; reserved_max_error_bytes: number; }
interface record_gap { reserved_bytes: number; live_bytes: number; gap_bytes: number; rounding: number; unsplit_tails: number;
empty_segments: number; holes: number; expandable_tails: number; private_pools: number; contradictions: number; exact: number;
largest_hole_bytes: number; segments: number; pinned: number; pinned_free_bytes: number; pools: number;
}
interface record_hole { bytes: number; segment_bytes: number; used_bytes: number; blocks: number; allocation: number; after_count: number;
after_bytes: number; }
interface record_pool_use { pool: number; is_private: number; segments: number; allocations: number; live_bytes: number;
reserved_bytes: number; free_bytes: number; }
interface record_lanes { place: number; width: number; }
interface record_release_group { event: number; count: number; bytes: number; taken_bytes: number; cause: number; out_of_memory: number;
stack: number; }
interface record_band { bytes: number; birth: number; death: number; stack: number; stream: number; pool: number; expandable: number;
address_high: number; address_low: number; }
interface record_judged { turns: number; steps: number; phases: number; growth: number; findings: number; }
interface record_step { from: number; to: number;
peak_event: number; begin_bytes: number; peak_bytes: number; end_bytes: number; name: number; }
interface record_part { from: number; to: number; kind: number; step: number;
}
interface record_finding { site: number; stack: number; per_bytes: number; per_n: number; bytes: number; count: number; saves_peak_bytes: number;
from_event: number; to_event: number; at_event: number; own: number; }
interface record_ids { place: number; count: number; }
interface ModuleCalls {
session_new(): number;
view_new(session: number, device: number): number;
}
interface SessionCalls {
release(): number;
reserve(nbytes: number): number;
open(): number;
pieces(): number;
piece(index: number): record_piece;
unpack(): number;
prepare(device: number): number;
recording(): record_recording;
string(id: number): record_text;
diagnostic(index: number): record_diagnostic;
frame(id: number): record_frame;
fx(id: number): record_fx;
stack_frames(stack: number): record_stack_frames;
stack_parent(stack: number): number;
stack_frame(stack: number): number;
context(id: number): record_context;
site_text(site: number): record_text;
device(index: number): record_device;
device_peak(index: number): number;
category_name(category: number): record_text;
category_at(nth: number): number;
ticks_decimal(low: number, high: number, most: number): number;
ticks_bytes(low: number, high: number, most: number): number;
ticks(): number;
}
interface ViewCalls {
release(): number;
device(index: number): number;
facts(): record_facts;
whole(axis: number): record_span;
event_us(event: number): number;
event_at_us(us: number): number;
live_at(event: number): number;
reserved_at(event: number): number;
peak_in(from: number, to: number): number;
headroom(from: number, to: number, capacity_bytes: number): number;
oom(index: number): record_oom;
snapshot(index: number): record_snapshot;
stream(index: number): record_stream;
pool(index: number): record_pool;
phase(index: number): record_phase;
phase_name(index: number, nth: number): record_text;
phase_marks(internal: number, most_rows: number): number;
phase_mark_rows(): number;
allocation(id: number): record_allocation;
allocation_from(event: number): number;
allocation_at(event: number): number;
stack_site(stack: number): number;
site_color(site: number, dark: number): number;
frame_kind(frame: number): number;
request(): number;
lay_out(): number;
draw(): record_drawing;
pick(x: number, y: number): record_picked;
outline(allocation: number): record_outline;
x_of_event(event: number): number;
event_of_x(x: number): number;
band_names(rows: number, columns: number): number;
band_name(index: number): record_band_name;
areas(): record_areas;
curve(axis: number, from: number, to: number, width: number, kept: number): number;
groups(event: number, by: number): number;
range_groups(from: number, to: number, what: number, by: number): number;
group(index: number): record_group;
also_step(event: number): number;
also_shown(event: number): number;
also(index: number): record_also;
site_sum(site: number, event: number): record_sum;
key_color(by: number, key: number, dark: number): number;
key_from(by: number, key: number): number;
key_bytes(by: number, key: number, event: number): number;
categories_made(): number;
words(slot: number, nbytes: number): number;
parse(slot: number): record_parsed;
regex(slot: number, nth: number): record_regex;
select(slot: number): number;
filter_off(): number;
kept(): record_kept;
matches(until: number): record_found;
next_match(allocation: number, step: number): number;
hits(axis: number, from: number, to: number, width: number): number;
narrow(on: number): number;
match_rows(by: number, falling: number): number;
match_step(): number;
match_count(): number;
match_row(index: number): number;
largest_match(): number;
light(by: number, key: number): number;
light_finding(index: number): number;
light_off(): number;
lit(event: number, found: number): record_lit;
sums(slot: number, what: number, from: number, to: number, by: number): record_sums;
sums_within(by: number, key: number): number;
sums_row(slot: number, index: number): record_sums_row;
group_name(by: number, key: number): record_text;
spark(by: number, key: number, width: number): number;
siblings(allocation: number): record_siblings;
pairs(a: number, b: number): number;
pair(index: number): record_pair;
tree(what: number, from: number, to: number, direction: number, before: number): number;
tree_through(frame: number): number;
tree_cut(): number;
node(index: number): record_node;
oom_state(index: number): record_oom_state;
blocks(event: number): record_held;
segment(index: number): record_segment;
block(index: number): record_block;
lanes(): record_lanes;
releases(): number;
release_group(index: number): record_release_group;
band(index: number): record_band;
map_refusal(): record_text;
replay(): number;
replay_some(operations: number): number;
replayed(): record_replayed;
replay_reason(): record_text;
map(event: number, order: number, width: number, room: number, ratio_q8: number): record_map;
map_draw(scroll: number, height: number, flags: number, color_by: number): number;
map_group(index: number): record_map_group;
map_part_from(y: number): number;
map_part(index: number): record_map_part;
map_pick(x: number, y: number): record_map_cell;
map_cell(block: number): record_map_cell;
map_block_of(allocation: number): number;
map_place(block: number, nth: number): record_map_place;
map_labels(scroll: number, height: number, least: number): number;
map_label_rows(): number;
gap(event: number): record_gap;
next_hole(block: number): number;
hole(block: number): record_hole;
hole_kept(allocation: number): number;
pool_use(index: number): record_pool_use;
judged(): record_judged;
step(index: number): record_step;
parts(): number;
part(index: number): record_part;
part_name(kind: number, nth: number): record_text;
layers(): number;
layer(index: number): record_part;
peak_made(): record_text;
judged_text(): record_text;
check(index: number): number;
check_text(index: number): record_text;
finding(index: number): record_finding;
finding_ids(index: number): record_ids;
finding_text(index: number, which: number): record_text;
}
