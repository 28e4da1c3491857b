/*
 * What the page's JavaScript calls: the C side of the page, compiled to WebAssembly. One page, one payload, one
 * current device; all memory is the module's linear memory. JavaScript passes numbers and reads results in place, so
 * every "pointer" below is an offset into linear memory, valid until the next call that is not marked [reads].
 *
 * i64 parameters and results are BigInt in JavaScript; everything that fits a double exactly (bytes, microseconds,
 * positions along the axis in 1/65536) is passed as f64 instead, so that the page needs no BigInt at all.
 *
 * Protocol: page_reserve(nbytes) -> write the payload there -> page_open() -> for each piece i in [0,
 * page_piece_count()): inflate [packed, packed_nbytes) into [target, raw_nbytes) -> page_unpack() -> page_device(index)
 * -> draw.
 */
#ifndef STRATA_RENDER_PAGE_PAGE_HOST_H
#define STRATA_RENDER_PAGE_PAGE_HOST_H

#include <stdint.h>

/* ---- loading; each returns 0 or a negative enum payload_error ---- */
uint32_t page_reserve(uint32_t nbytes); /* room for the payload; 0: no memory */
int32_t page_open(void);
uint32_t page_piece_count(void);
uint32_t page_piece_packed(uint32_t piece); /* offset of the deflated bytes (zlib format) */
uint32_t page_piece_packed_nbytes(uint32_t piece);
uint32_t page_piece_target(uint32_t piece);
uint32_t page_piece_raw_nbytes(uint32_t piece);
int32_t page_unpack(void); /* decodes and frees the payload */

/* ---- text: ids of strings and frames, [reads] ---- */
uint32_t page_string(uint32_t id); /* offset of the UTF-8 bytes */
uint32_t page_string_nbytes(uint32_t id);
uint32_t
page_meta(void); /* string id of the JSON object {"file", "fingerprint", "version", "title", "theme", ...} */
uint32_t page_settings(void); /* string id of allocator_settings as JSON; 0: none */
uint32_t page_diagnostic_count(void);
uint32_t page_diagnostic_code(uint32_t i);    /* string id */
uint32_t page_diagnostic_message(uint32_t i); /* string id */
int32_t page_diagnostic_device(uint32_t i);   /* its ordinal; the lowest number of all: the file */
uint32_t page_frame_file(uint32_t frame);     /* string id */
uint32_t page_frame_name(uint32_t frame);     /* string id */
uint32_t page_frame_line(uint32_t frame);     /* 0: none */
int32_t
page_frame_kind(uint32_t frame); /* enum frame_kind of layout/site.h: 0 noise, 1 native, 2 library, 3 user */
uint32_t page_frame_fx(uint32_t frame); /* what torch.fx noted with a frame of generated code; 0: nothing */
uint32_t page_fx_op(uint32_t fx);       /* string ids */
uint32_t page_fx_name(uint32_t fx);
uint32_t page_fx_target(uint32_t fx);
uint32_t page_fx_original(uint32_t fx);     /* lines of the model's code that it was generated from */
uint32_t page_stack_site(uint32_t stack);   /* frame id of the call site; 0: no stack */
uint32_t page_stack_frames(uint32_t stack); /* offset of u32 frame ids, innermost first; length: */
uint32_t page_stack_depth(uint32_t stack);
uint32_t page_stack_parent(uint32_t stack); /* the stack without its innermost frame; smaller than `stack` */
uint32_t page_stack_frame(uint32_t stack);  /* its innermost frame; stack 0: 0 */
uint32_t
page_site_text(uint32_t site); /* offset of "train.py:41 forward" (site_text of layout/site.h); length: */
uint32_t page_site_text_nbytes(void);
uint32_t page_site_color(uint32_t site, int32_t dark); /* 0xRRGGBB */
uint32_t page_context_compile(uint32_t context);       /* string ids */
uint32_t page_context_metadata(uint32_t context);
uint32_t page_context_category(uint32_t context);
uint32_t page_context_forward(uint32_t context);

/* ---- devices ---- */
uint32_t page_device_count(void);
int32_t page_device_ordinal(uint32_t index);
uint32_t
page_device_name(uint32_t index); /* string id, e.g. of "NVIDIA H100 80GB HBM3"; 0: the file does not say */
double page_device_capacity(uint32_t index); /* bytes; 0: the file does not say */
uint32_t page_kind(void);                    /* enum trace_kind */
int32_t page_rank(void);                     /* -1: the file does not say */
uint32_t page_device_events(uint32_t index);
uint32_t page_device_lives(uint32_t index);
int32_t page_device(uint32_t index); /* makes it the current one; builds its timeline the first time */

/* ---- the current device, [reads] ---- */
uint32_t page_events(void);
uint32_t page_lives(void);
uint32_t page_preexisting(void);
double page_start_bytes(void);
double page_peak_bytes(void);
double page_peak_event(void); /* -1: before the first event */
double page_end_bytes(void);
uint32_t page_live_at_peak(void);
double page_reserved_start(void);
double page_reserved_peak(void);
double page_reserved_end(void);
double page_reserved_shift(void); /* added to every reserved figure: see layout/timeline.h */
/* a good top of the y axis for the events [from, to), bytes; capacity 0: none */
double page_headroom(double from, double to, double capacity_bytes);
int32_t page_has_time(void);
double page_first_us(void);         /* Unix time of event 0, microseconds */
double page_fit_from(int32_t axis); /* the whole run (view_fit of layout/scene.h), events or microseconds */
double page_fit_to(int32_t axis);
double
page_event_us(double event); /* time of an event since the first, microseconds; -1 gives its beginning */
double page_live_at(double event); /* bytes alive after the event; -1: before the first */
double page_reserved_at(double event);
double page_event_at_us(double us);          /* last event at or before */
double page_peak_in(double from, double to); /* event of the highest total in [from, to) */
uint32_t page_oom_count(void);
double page_oom_event(uint32_t i);
double page_oom_size(uint32_t i);
double page_oom_free(uint32_t i);

uint32_t page_snapshot_count(void); /* snapshots taken while this one was recorded */
double page_snapshot_event(uint32_t i);
double page_snapshot_bytes(uint32_t i);
uint32_t page_stream_count(void); /* the streams' handles, in two halves; stream 0 is the default one */
uint32_t page_stream_high(uint32_t stream);
uint32_t page_stream_low(uint32_t stream);
uint32_t page_pool_count(void); /* ids; pool 0 stands for "unknown", pool 1 is the default pool */
double page_pool_first(uint32_t pool);
double page_pool_second(uint32_t pool);

/* ---- phases: annotations of the current device, [reads] but for page_phase_marks ---- */
uint32_t page_phase_count(int32_t internal); /* of internal ones, or of all others */
uint32_t page_phase_rows(int32_t internal);  /* depth of the nesting, with or without internal ones */
uint32_t page_phase_name(uint32_t phase);    /* string id */
double page_phase_start_us(uint32_t phase);  /* since the first event */
double page_phase_end_us(uint32_t phase);    /* -1: it goes on to the end */
int32_t page_phase_internal(uint32_t phase); /* a timer of the compiler and the like */
/* Bands in the window of the last draw, in rows below most_rows: returns their number. page_phase_mark_rows(): offset
 * of f64 {phase, row, from, to}, pixels. At most two per pixel and row. */
uint32_t page_phase_marks(int32_t internal, uint32_t most_rows);
uint32_t page_phase_mark_rows(void);

/* ---- one allocation of the current device, [reads] ---- */
double page_life_bytes(uint32_t life);
double page_life_birth(uint32_t life); /* event; -1: before the first */
double page_life_death(uint32_t life); /* event; page_events(): still there at the end */
double page_life_request(
    uint32_t life); /* event of free_requested where it waited for another stream, else = death */
uint32_t page_life_stack(uint32_t life);
uint32_t page_life_context(uint32_t life);
uint32_t page_life_stream(uint32_t life);   /* small number, 0: default stream */
double page_life_pool_first(uint32_t life); /* pool id pair; -1: unknown */
double page_life_pool_second(uint32_t life);
uint32_t page_life_address_high(uint32_t life);
uint32_t page_life_address_low(uint32_t life);
uint32_t page_life_flags(uint32_t life); /* enum life_flag of trace/trace.h */

/* ---- drawing and picking ---- */
/* axis: 0 events, 1 microseconds since the first event; from/to in that unit (fractions allowed, rounded to 1/65536).
 * Draws the current device and returns the offset of width * height RGBA pixels; 0: no memory. `flags`: 1 dark, 2 fade
 * what does not match, 4 line of reserved bytes. */
uint32_t page_draw(int32_t axis, double from, double to, uint32_t width, uint32_t height, double bottom_bytes,
                   double top_bytes, uint32_t flags, uint32_t color_by, double capacity_bytes);
uint32_t page_drawn(void);  /* of the last draw: allocations with bands of their own */
uint32_t page_merged(void); /* of the last draw: allocations drawn as part of a sum */
/* What is under a pixel of the last draw: the allocation, or -1. The moment's event is in page_picked_event(). */
double page_pick(uint32_t x, uint32_t y);
double page_picked_event(void);
/* Band of an allocation in the last draw: returns its number of columns (0: not visible), from page_outline_first() on.
 * page_outline_edges(): offset of f64 pairs, one per column: bytes below the band, bytes up to its upper edge.
 * O(bands). */
uint32_t page_outline(uint32_t life);
uint32_t page_outline_first(void);
uint32_t page_outline_edges(void);
double page_x_of_event(double event); /* pixel position of an event's begin in the last draw, fractions */
double page_event_of_x(double x);     /* event shown at a pixel column of the last draw */
/* Total of the highest moment in each of `width` columns of [from, to) (events axis or microseconds): offset of
 * f64[width]. `kept`: at the same moments, what the filter leaves of it, in O(lives * log width). */
uint32_t page_curve(int32_t axis, double from, double to, uint32_t width, int32_t kept);

/* ---- groups and search ---- */
/* Groups at an event: returns their number; then by index, sorted by falling bytes. by: 0 call site, 1 identical stack.
 */
uint32_t page_groups(double event, uint32_t by);
/* The same of what happened in the events [from, to). what: 0 allocated there, 1 freed there. */
uint32_t page_range_groups(double from, double to, uint32_t what, uint32_t by);
double page_group_bytes(uint32_t i);
uint32_t page_group_count(uint32_t i);
uint32_t page_group_site(uint32_t i);
uint32_t page_group_stack(uint32_t i);
/* Marks stacks: page_mask() is u8[page_stack_count()], written by JavaScript, used by page_draw with flag 2. */
uint32_t page_stack_count(void);
uint32_t page_frame_count(void);
uint32_t page_string_count(void);
uint32_t page_mask(void);
uint32_t page_context_count(void);
uint32_t page_context_mask(void); /* the same for contexts: u8[page_context_count()] */
double page_next_match(
    double life,
    int32_t step); /* the next marked allocation after `life` (step 1) or before it (-1); -1: none */
double page_mask_lives(void);          /* allocations of the current device whose stack is marked */
double page_mask_peak_bytes(void);     /* their bytes alive at the peak */
double page_site_lives(uint32_t site); /* allocations of the device with this call site, all times */
double page_site_bytes_at(uint32_t site, double event);

/* ---- the filter: what it hides is neither drawn nor picked nor grouped; a new device has none ---- */
/* Bounds are inclusive; ages in events or microseconds; stream and pool are indices, -1: all. 0 or an enum
 * payload_error. */
int32_t page_filter(double least_bytes, double most_bytes, double least_age, double most_age,
                    int32_t age_in_us, int32_t stream, int32_t pool, int32_t at_peak, int32_t at_end,
                    int32_t own);
void page_filter_off(void);
double page_kept(void);            /* allocations that are left */
double page_kept_peak_bytes(void); /* their bytes alive at the peak */
double page_kept_highest(void);    /* their highest total, or a little more in long recordings. O(lives) */

/* ---- legends: keys of render/raster/raster.h, [reads] ---- */
uint32_t page_key_color(uint32_t by, uint32_t key, int32_t dark); /* 0xRRGGBB */
double page_key_from(uint32_t by, uint32_t key); /* least value of a step of size (bytes) or age (events) */
uint32_t
page_category_name(uint32_t category); /* offset of the terminated name; 0: there is no such category */
double page_key_bytes(uint32_t by, uint32_t key, double event); /* bytes alive with this colour. O(lives) */
uint32_t page_life_category(uint32_t life);
uint32_t
page_pending_count(void); /* allocations that waited for another stream when they were freed. O(lives) */

/* ---- axes: returns the number of ticks, values are f64 at page_ticks() ---- */
uint32_t page_ticks_decimal(double low, double high, uint32_t most);
uint32_t page_ticks_bytes(double low, double high, uint32_t most);
uint32_t page_ticks(void);

#endif
