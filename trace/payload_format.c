#include "trace/payload_format.h"

const uint8_t payload_magic[8] = {'S', 'T', 'R', 'A', 'T', 'A', 'P', '1'};

#define FIELD(row, member, coding, domain, other) \
    { offsetof(struct row, member), sizeof(((struct row *)0)->member), coding, domain, other }

/* Rows of a struct, by some of its fields; `first` 1: row 0 means "none" and is not stored. */
#define TABLE(name, section, row, first, ...)                                            \
    const struct table payload_##name##_table = {section,                                \
                                                 sizeof(row),                            \
                                                 first,                                  \
                                                 sizeof((struct field[]){__VA_ARGS__}) / \
                                                     sizeof(struct field),               \
                                                 {__VA_ARGS__}}

/* Rows that are numbers. */
#define PLAIN_TABLE(name, section, type, first, coding, domain) \
    TABLE(name, section, type, first, {0, sizeof(type), coding, domain, 0})

TABLE(file, SECTION_FILE, struct file_row, 0, FIELD(file_row, settings, AS_IT_IS, OF_STRINGS, 0),
      FIELD(file_row, meta, AS_IT_IS, OF_STRINGS, 0), FIELD(file_row, kind, AS_IT_IS, OF_KINDS, 0),
      FIELD(file_row, rank, AS_SIGNED, OF_SIGNED, 0));

TABLE(fx, SECTION_FX, struct fx, 1, FIELD(fx, op, AS_STEP, OF_STRINGS, 0),
      FIELD(fx, name, AS_STEP, OF_STRINGS, 0), FIELD(fx, target, AS_STEP, OF_STRINGS, 0),
      FIELD(fx, original_trace, AS_STEP, OF_STRINGS, 0));

TABLE(frame, SECTION_FRAMES, struct frame, 1, FIELD(frame, file, AS_STEP, OF_STRINGS, 0),
      FIELD(frame, name, AS_STEP, OF_STRINGS, 0), FIELD(frame, line, AS_IT_IS, OF_ANY, 0),
      FIELD(frame, fx, AS_STEP, OF_FX, 0));

PLAIN_TABLE(frame_owner, SECTION_FRAME_OWNERS, uint8_t, 1, AS_IT_IS, OF_OWNERS);

TABLE(context, SECTION_CONTEXTS, struct context, 1, FIELD(context, compile_context, AS_STEP, OF_STRINGS, 0),
      FIELD(context, user_metadata, AS_STEP, OF_STRINGS, 0), FIELD(context, category, AS_STEP, OF_STRINGS, 0),
      FIELD(context, forward_frames, AS_STEP, OF_STRINGS, 0));

TABLE(annotation, SECTION_ANNOTATIONS, struct annotation, 0, FIELD(annotation, time_us, AS_STEP, OF_ANY, 0),
      FIELD(annotation, name, AS_IT_IS, OF_STRINGS, 0), FIELD(annotation, device, AS_SIGNED, OF_SIGNED, 0),
      FIELD(annotation, stage, AS_IT_IS, OF_STAGES, 0));

TABLE(diagnostic, SECTION_DIAGNOSTICS, struct diagnostic, 0, FIELD(diagnostic, code, AS_IT_IS, OF_STRINGS, 0),
      FIELD(diagnostic, message, AS_IT_IS, OF_STRINGS, 0),
      FIELD(diagnostic, device, AS_SIGNED, OF_SIGNED, 0));

TABLE(diagnostic_number, SECTION_DIAGNOSTIC_NUMBERS, struct diagnostic, 0,
      FIELD(diagnostic, key, AS_IT_IS, OF_STRINGS, 0), FIELD(diagnostic, number[0], AS_IT_IS, OF_ANY, 0),
      FIELD(diagnostic, number[1], AS_IT_IS, OF_ANY, 0), FIELD(diagnostic, number[2], AS_IT_IS, OF_ANY, 0));

TABLE(device, SECTION_DEVICES, struct device_row, 0, FIELD(device_row, n_events, AS_IT_IS, OF_ANY, 0),
      FIELD(device_row, preexisting, AS_IT_IS, OF_ANY, 0), FIELD(device_row, first_us, AS_SIGNED, OF_ANY, 0),
      FIELD(device_row, ordinal, AS_SIGNED, OF_SIGNED, 0), FIELD(device_row, name, AS_IT_IS, OF_STRINGS, 0),
      FIELD(device_row, capacity_bytes, AS_IT_IS, OF_ANY, 0));

PLAIN_TABLE(stream, SECTION_STREAMS, uint64_t, 0, AS_STEP, OF_ANY);

TABLE(pool, SECTION_POOLS, struct pool_id, 0, FIELD(pool_id, first, AS_IT_IS, OF_ANY, 0),
      FIELD(pool_id, second, AS_IT_IS, OF_ANY, 0));

PLAIN_TABLE(allocation_stack, SECTION_ALLOCATION_STACKS, uint32_t, 0, AS_STEP, OF_STACKS);

PLAIN_TABLE(allocation_size, SECTION_ALLOCATION_SIZES, uint64_t, 0, AS_IT_IS, OF_ANY);

TABLE(segment_event, SECTION_SEGMENT_EVENTS, struct segment_event, 0,
      FIELD(segment_event, event, AS_RISE, OF_EVENTS, 0), FIELD(segment_event, stack, AS_IT_IS, OF_STACKS, 0),
      FIELD(segment_event, size, AS_IT_IS, OF_ANY, 0), FIELD(segment_event, address, AS_NEXT, OF_ANY, 2),
      FIELD(segment_event, stream, AS_IT_IS, OF_STREAMS, 0),
      FIELD(segment_event, change, AS_IT_IS, OF_SEGMENT_CHANGES, 0));

TABLE(oom, SECTION_OOMS, struct oom_event, 0, FIELD(oom_event, event, AS_RISE, OF_EVENTS, 0),
      FIELD(oom_event, stack, AS_IT_IS, OF_STACKS, 0), FIELD(oom_event, size, AS_IT_IS, OF_ANY, 0),
      FIELD(oom_event, device_free, AS_IT_IS, OF_ANY, 0));

TABLE(oom_place, SECTION_OOM_PLACES, struct oom_place, 0, FIELD(oom_place, stream, AS_IT_IS, OF_STREAMS, 0),
      FIELD(oom_place, pool, AS_IT_IS, OF_POOLS, 0));

TABLE(snapshot, SECTION_SNAPSHOTS, struct snapshot_event, 0,
      FIELD(snapshot_event, event, AS_RISE, OF_EVENTS, 0), FIELD(snapshot_event, size, AS_IT_IS, OF_ANY, 0));

TABLE(note, SECTION_NOTES, struct note, 0, FIELD(note, event, AS_RISE, OF_EVENTS, 0),
      FIELD(note, text, AS_IT_IS, OF_STRINGS, 0), FIELD(note, number, AS_IT_IS, OF_ANY, 0),
      FIELD(note, what, AS_IT_IS, OF_NOTES, 0));

TABLE(segment, SECTION_SEGMENTS, struct segment, 0, FIELD(segment, block_count, AS_IT_IS, OF_ANY, 0),
      FIELD(segment, first_block, AS_NEXT, OF_ANY, 0), FIELD(segment, total_size, AS_IT_IS, OF_ANY, 0),
      FIELD(segment, address, AS_NEXT, OF_ANY, 2), FIELD(segment, active_size, AS_BELOW, OF_ANY, 2),
      FIELD(segment, allocated_size, AS_BELOW, OF_ANY, 4),
      FIELD(segment, requested_size, AS_BELOW, OF_ANY, 5), FIELD(segment, stack, AS_IT_IS, OF_STACKS, 0),
      FIELD(segment, stream, AS_IT_IS, OF_STREAMS, 0), FIELD(segment, pool, AS_IT_IS, OF_POOLS, 0),
      FIELD(segment, flags, AS_IT_IS, OF_SEGMENT_FLAGS, 0));

TABLE(block, SECTION_BLOCKS, struct block, 0, FIELD(block, size, AS_IT_IS, OF_ANY, 0),
      FIELD(block, address, AS_NEXT, OF_ANY, 0), FIELD(block, requested_size, AS_BELOW, OF_ANY, 0),
      FIELD(block, stack, AS_IT_IS, OF_STACKS, 0), FIELD(block, state, AS_IT_IS, OF_BLOCK_STATES, 0));

#define PLACE(name, owner, rows, count, capacity, ids) \
    { &payload_##name##_table, offsetof(struct owner, rows), offsetof(struct owner, count), capacity, ids }
#define CAPACITY(member) offsetof(struct trace, member)

const struct table_place payload_trace_places[TRACE_PLACES] = {
    PLACE(fx, trace, fx.fx, fx.count, CAPACITY(fx.capacity), OF_FX),
    PLACE(frame, trace, frames.frame, frames.count, CAPACITY(frames.capacity), OF_FRAMES),
    PLACE(context, trace, contexts.context, contexts.count, CAPACITY(contexts.capacity), OF_CONTEXTS),
    PLACE(annotation, trace, annotations, n_annotations, 0, OF_ANY),
    PLACE(diagnostic, trace, diagnostics, n_diagnostics, CAPACITY(diagnostics_capacity), OF_ANY)};

const struct table_place payload_device_places[DEVICE_PLACES] = {
    PLACE(stream, device_trace, streams, n_streams, 0, OF_STREAMS),
    PLACE(pool, device_trace, pools, n_pools, 0, OF_POOLS),
    PLACE(segment_event, device_trace, segment_events, n_segment_events, 0, OF_ANY),
    PLACE(oom, device_trace, ooms, n_ooms, 0, OF_ANY),
    PLACE(snapshot, device_trace, snapshots, n_snapshots, 0, OF_ANY),
    PLACE(segment, device_trace, segments, n_segments, 0, OF_ANY),
    PLACE(block, device_trace, blocks, n_blocks, 0, OF_ANY),
    PLACE(note, device_trace, notes, n_notes, 0, OF_ANY),
    PLACE(oom_place, device_trace, oom_places, n_oom_places, 0, OF_ANY)};

void payload_limits_init(uint64_t *limit) {
    bytes_zero(limit, N_DOMAINS * sizeof *limit);
    limit[OF_ANY] = UINT64_MAX;
    limit[OF_SEGMENT_CHANGES] = SEGMENT_UNMAP + 1;
    limit[OF_SEGMENT_FLAGS] = (SEGMENT_EXPANDABLE | SEGMENT_SMALL) + 1;
    limit[OF_BLOCK_STATES] = BLOCK_PENDING_FREE + 1;
    limit[OF_STAGES] = ANNOTATION_END + 1;
    limit[OF_KINDS] = TRACE_KINDS;
    limit[OF_NOTES] = NOTE_KINDS;
    limit[OF_OWNERS] = OWNER_USER + 1;
}

void payload_classify_completions(const struct device_trace *device, uint8_t *class, uint32_t from,
                                  uint32_t to) {
    const struct allocations *allocations = &device->allocations;
    for (uint32_t i = from; i < to; i++)
        if (allocations->death[i] > 0 && allocations->death[i] <= device->n_events &&
            allocations->request[i] == allocations->death[i])
            class[allocations->death[i] - 1] = EVENT_COMPLETION;
}

void payload_classify_births(const struct device_trace *device, uint8_t *class, uint32_t from, uint32_t to) {
    const struct allocations *allocations = &device->allocations;
    for (uint32_t i = from < allocations->preexisting ? allocations->preexisting : from; i < to; i++)
        class[allocations->birth[i] - 1] = EVENT_BIRTH;
}
