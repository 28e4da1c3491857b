// Made by scripts/page-api from render/page/page_api.def: what the WebAssembly module exports, as its handles offer it.
type Fields<K extends keyof typeof import("./api.js").RECORDS> = Record<(typeof import("./api.js").RECORDS)[K][number], number>;
interface record_recording extends Fields<"recording"> {}
interface record_text extends Fields<"text"> {}
interface record_piece extends Fields<"piece"> {}
interface record_diagnostic extends Fields<"diagnostic"> {}
interface record_frame extends Fields<"frame"> {}
interface record_fx extends Fields<"fx"> {}
interface record_stack_frames extends Fields<"stack_frames"> {}
interface record_context extends Fields<"context"> {}
interface record_device extends Fields<"device"> {}
interface record_facts extends Fields<"facts"> {}
interface record_span extends Fields<"span"> {}
interface record_oom extends Fields<"oom"> {}
interface record_snapshot extends Fields<"snapshot"> {}
interface record_stream extends Fields<"stream"> {}
interface record_pool extends Fields<"pool"> {}
interface record_phase extends Fields<"phase"> {}
interface record_phase_mark extends Fields<"phase_mark"> {}
interface record_allocation extends Fields<"allocation"> {}
interface record_request extends Fields<"request"> {}
interface record_drawing extends Fields<"drawing"> {}
interface record_picked extends Fields<"picked"> {}
interface record_outline extends Fields<"outline"> {}
interface record_band_name extends Fields<"band_name"> {}
interface record_areas extends Fields<"areas"> {}
interface record_group extends Fields<"group"> {}
interface record_sum extends Fields<"sum"> {}
interface record_kept extends Fields<"kept"> {}
interface record_also extends Fields<"also"> {}
interface record_parsed extends Fields<"parsed"> {}
interface record_regex extends Fields<"regex"> {}
interface record_found extends Fields<"found"> {}
interface record_lit extends Fields<"lit"> {}
interface record_sums extends Fields<"sums"> {}
interface record_sums_row extends Fields<"sums_row"> {}
interface record_siblings extends Fields<"siblings"> {}
interface record_pair extends Fields<"pair"> {}
interface record_node extends Fields<"node"> {}
interface record_oom_state extends Fields<"oom_state"> {}
interface record_held extends Fields<"held"> {}
interface record_segment extends Fields<"segment"> {}
interface record_block extends Fields<"block"> {}
interface record_map extends Fields<"map"> {}
interface record_map_group extends Fields<"map_group"> {}
interface record_map_part extends Fields<"map_part"> {}
interface record_map_cell extends Fields<"map_cell"> {}
interface record_map_place extends Fields<"map_place"> {}
interface record_map_label extends Fields<"map_label"> {}
interface record_replayed extends Fields<"replayed"> {}
interface record_gap extends Fields<"gap"> {}
interface record_hole extends Fields<"hole"> {}
interface record_pool_use extends Fields<"pool_use"> {}
interface record_lanes extends Fields<"lanes"> {}
interface record_release_group extends Fields<"release_group"> {}
interface record_band extends Fields<"band"> {}
interface record_step extends Fields<"step"> {}
interface record_part extends Fields<"part"> {}
interface record_finding extends Fields<"finding"> {}
interface record_ids extends Fields<"ids"> {}
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
prepare(device: number, all: number): number;
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
band_names_step(rows: number, columns: number): number;
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
matches(): record_found;
matches_until(allocation: number): number;
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
spark_step(by: number, key: number, at_once: number): number;
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
steps(): number;
findings(): number;
step(index: number): record_step;
parts(): number;
part(index: number): record_part;
part_name(kind: number, nth: number): record_text;
layer_after(index: number, from: number, to: number): number;
layer(index: number): record_part;
peak_made(): record_text;
judged_text(): record_text;
check(index: number): number;
check_text(index: number): record_text;
finding(index: number): record_finding;
finding_ids(index: number): record_ids;
finding_text(index: number, which: number): record_text;
}
