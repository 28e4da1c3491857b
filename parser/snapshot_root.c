#include "parser/snapshot_internal.h"

#include <stdio.h>

static const struct value *dict_find(const struct snapshot *snapshot, const struct value *dict,
                                     enum key key) {
    const struct value *found = NULL;
    if (dict == NULL || dict->tag != VALUE_DICT)
        return NULL;
    ITEMS_EACH(snapshot, dict) {
        if (value_is_word(&item->key, key))
            found = &item->value; /* a repeated key replaces the one before */
    }
    return found;
}

/* The recorder of a device; made here if no list of events brought one. */
static bool recorder_of_device(struct snapshot *snapshot, int32_t ordinal, struct recorder **recorder) {
    for (uint32_t i = 0; i < snapshot->recorders.count; i++) {
        *recorder = &snapshot->recorders.row[i];
        if ((*recorder)->device.ordinal == ordinal)
            return true;
    }
    if (!snapshot_recorder_add(snapshot, ordinal))
        return false;
    *recorder = &snapshot->recorders.row[snapshot->recorders.count - 1];
    return true;
}

/* Records the events of a list that began with something else, so that its kind was not seen while it was read; what
 * else is in it is counted. Leaves a list without events as it is. */
static bool mixed_record(struct snapshot *snapshot, struct value *list) {
    struct value events = {.tag = VALUE_NEW_LIST};
    uint64_t others = 0;
    ITEMS_EACH(snapshot, list) {
        if (item->value.tag != VALUE_EVENT)
            others++;
        else if (!snapshot_append(snapshot, &events, &item->value, 1))
            return false;
    }
    if (events.tag != VALUE_EVENTS)
        return true;
    snapshot->n_misplaced += others;
    *list = events;
    return true;
}

/* Events that have no number yet become those of a device. */
static void events_number(struct snapshot *snapshot, const struct value *list, int32_t ordinal) {
    if (list->tag == VALUE_EVENTS && snapshot->recorders.row[list->bits].device.ordinal < 0)
        snapshot->recorders.row[list->bits].device.ordinal = ordinal;
}

/* Of a list of lists, one for each device, or of one device's events alone. */
static bool devices_number(struct snapshot *snapshot, const struct value *traces) {
    int32_t ordinal = 0;
    if (traces != NULL && traces->tag != VALUE_LIST)
        events_number(snapshot, traces, ordinal);
    if (traces == NULL || traces->tag != VALUE_LIST)
        return true;
    ITEMS_EACH(snapshot, traces) {
        struct value *list = &snapshot->items.row[item - snapshot->items.row].value;
        if (list->tag == VALUE_LIST && !mixed_record(snapshot, list))
            return false;
        events_number(snapshot, list, ordinal++);
    }
    return true;
}

/* The first list of events in a list of lists, or the list of events itself. */
static const struct value *events_of(const struct snapshot *snapshot, const struct value *traces) {
    if (traces == NULL || traces->tag != VALUE_LIST)
        return traces != NULL && traces->tag == VALUE_EVENTS ? traces : NULL;
    ITEMS_EACH(snapshot, traces) {
        if (item->value.tag == VALUE_EVENTS)
            return &item->value;
    }
    return NULL;
}

/* Makes the events of pinned memory a device of their own, unless their list is a GPU's already. */
static void host_number(struct snapshot *snapshot, const struct value *traces) {
    const struct value *events = events_of(snapshot, traces);
    if (events != NULL && snapshot->recorders.row[events->bits].device.ordinal == ORDINAL_NONE)
        snapshot->recorders.row[events->bits].device.ordinal = ORDINAL_HOST;
}

static bool segment_record(struct snapshot *snapshot, const struct staged_segment *staged, int32_t ordinal) {
    struct recorder *recorder;
    if (!recorder_of_device(snapshot, ordinal, &recorder))
        return false;
    if (!recorder_segment(recorder, &staged->segment, staged->stream, staged->pool))
        return snapshot_fail_memory(snapshot);
    uint64_t address = staged->segment.address;
    for (uint32_t at = staged->blocks.first; at != 0; at = snapshot->blocks.row[at - 1].next) {
        struct staged_block *row = &snapshot->blocks.row[at - 1];
        if (!row->has_address)
            row->block.address = address; /* torch 2.0 has no addresses: blocks are contiguous */
        address = row->block.address + row->block.size;
        if (!recorder_block(recorder, &row->block))
            return snapshot_fail_memory(snapshot);
    }
    return true;
}

/* Records the final segments of the devices, or all as those of one. If the events of a device do not reach the end,
 * its segments would look older than the recording, so they are left out. */
static bool segments_record(struct snapshot *snapshot, const struct value *segments, int32_t ordinal) {
    if (segments == NULL || segments->tag != VALUE_SEGMENTS)
        return true;
    for (uint32_t at = snapshot->chains.row[segments->bits].first; at != 0;
         at = snapshot->segments.row[at - 1].next) {
        const struct staged_segment *row = &snapshot->segments.row[at - 1];
        if ((ordinal != ORDINAL_NONE || row->device < snapshot->first_cut_device) &&
            !segment_record(snapshot, row, ordinal != ORDINAL_NONE ? ordinal : row->device))
            return false;
    }
    return true;
}

/* Records the segments of pinned memory: a list of segments, or a list of such lists. */
static bool host_segments_record(struct snapshot *snapshot, const struct value *segments) {
    if (segments == NULL || snapshot->first_cut_device != INT32_MAX)
        return true;
    if (segments->tag != VALUE_LIST)
        return segments_record(snapshot, segments, ORDINAL_HOST);
    ITEMS_EACH(snapshot, segments) {
        if (!segments_record(snapshot, &item->value, ORDINAL_HOST))
            return false;
    }
    return true;
}

static bool devices_finish(struct snapshot *snapshot) {
    struct trace *trace = snapshot->trace;
    trace->devices =
        arena_alloc(&trace->arena, ((size_t)snapshot->recorders.count + 1) * sizeof *trace->devices);
    if (trace->devices == NULL)
        return snapshot_fail_memory(snapshot);
    /* By rising ordinal; lists of events without a device are skipped. */
    for (int64_t last = ORDINAL_NONE;;) {
        struct recorder *next = NULL;
        for (uint32_t i = 0; i < snapshot->recorders.count; i++) {
            struct recorder *recorder = &snapshot->recorders.row[i];
            if (recorder->interner != NULL && recorder->device.ordinal > last &&
                (next == NULL || recorder->device.ordinal < next->device.ordinal))
                next = recorder;
        }
        if (next == NULL)
            return true;
        last = next->device.ordinal;
        if (!recorder_finish(next, &trace->devices[trace->n_devices]))
            return snapshot_fail_memory(snapshot);
        trace->n_devices++;
    }
}

/* One flag for all devices, or one per device. */
static bool overflow_of(const struct snapshot *snapshot, const struct value *flag, int32_t ordinal) {
    if (flag == NULL)
        return false;
    if (flag->tag == VALUE_PAIR)
        return ordinal < 2 && (ordinal == 0 ? snapshot->pairs.row[flag->bits].first
                                            : snapshot->pairs.row[flag->bits].second) != 0;
    if (flag->tag != VALUE_LIST)
        return value_uint(flag) != 0;
    uint32_t at = snapshot->nodes.row[flag->bits].first;
    for (int32_t i = 0; at != 0 && i < ordinal; i++)
        at = snapshot->items.row[at - 1].next;
    return at != 0 && value_uint(&snapshot->items.row[at - 1].value) != 0;
}

static bool overflow_diagnose(struct snapshot *snapshot, const struct value *root,
                              const struct value *settings) {
    const struct value *flag = dict_find(snapshot, root, KEY_TRACE_ALLOC_OVERFLOWED);
    if (flag == NULL)
        flag = dict_find(snapshot, settings, KEY_TRACE_ALLOC_OVERFLOWED);
    struct trace *trace = snapshot->trace;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        const struct device_trace *device = &trace->devices[i];
        bool overflown = overflow_of(snapshot, flag, device->ordinal) && device->n_events != 0;
        uint64_t numbers[DIAGNOSTIC_NUMBERS] = {overflown ? 0 : device_history_full(device)};
        if ((overflown || numbers[0] != 0) &&
            !trace_diagnose(trace, overflown ? "overflow" : "history_full", device->ordinal, numbers))
            return snapshot_fail_memory(snapshot);
    }
    return true;
}

/* Adds a diagnostic if its first number is not 0. */
static bool count_diagnose(struct snapshot *snapshot, const char *key, int32_t ordinal,
                           const uint64_t numbers[DIAGNOSTIC_NUMBERS]) {
    return numbers[0] == 0 || trace_diagnose(snapshot->trace, key, ordinal, numbers) ||
           snapshot_fail_memory(snapshot);
}

static bool left_out_diagnose(struct snapshot *snapshot) {
    const uint64_t misplaced[DIAGNOSTIC_NUMBERS] = {snapshot->n_misplaced},
                   texts[DIAGNOSTIC_NUMBERS] = {snapshot->made.n_left_out, MADE_TEXT_NBYTES, MADE_TEXT_SHARE},
                   sizes[DIAGNOSTIC_NUMBERS] = {snapshot->n_sizes_unread};
    return count_diagnose(snapshot, "misplaced", ORDINAL_NONE, misplaced) &&
           count_diagnose(snapshot, "sizes_unread", ORDINAL_NONE, sizes) &&
           count_diagnose(snapshot, "texts_left_out", ORDINAL_NONE, texts);
}

/* Reports how much is lost by rounding up to powers of two: pinned memory is neither split nor shared. */
static bool rounding_diagnose(struct snapshot *snapshot) {
    const struct device_trace *host = trace_device(snapshot->trace, ORDINAL_HOST);
    uint64_t numbers[DIAGNOSTIC_NUMBERS] = {0};
    for (uint32_t i = 0; host != NULL && i < host->n_blocks; i++) {
        const struct block *block = &host->blocks[i];
        if (block->state == BLOCK_INACTIVE || block->requested_size > block->size)
            continue;
        numbers[0] += block->size - block->requested_size;
        numbers[1] += block->size;
    }
    return count_diagnose(snapshot, "host_rounding", ORDINAL_HOST, numbers);
}

/* The sentence contains the key's name, so it is made here and not from numbers. */
static bool unread_tell(struct snapshot *snapshot, uint32_t key) {
    enum { NAME_MOST = 80 };
    struct trace *trace = snapshot->trace;
    struct text name = trace_text(trace, key);
    char text[NAME_MOST + 80];
    bool cut = name.nbytes > NAME_MOST;
    int n = snprintf(text, sizeof text, "The key \"%.*s%s\" of the snapshot is not read.",
                     (int)(cut ? NAME_MOST : name.nbytes), (const char *)name.at, cut ? "\xe2\x80\xa6" : "");
    uint32_t message = trace_string_add(trace, text, (size_t)n);
    if (message == 0 || !trace_diagnose(trace, "unread_key", ORDINAL_NONE, NULL))
        return false;
    struct diagnostic *diagnostic = &trace->diagnostics[trace->n_diagnostics - 1];
    diagnostic->message = message;
    diagnostic->key = 0;
    return true;
}

/* Notes unknown keys of the root: a newer PyTorch may record more than is shown. */
static bool unread_diagnose(struct snapshot *snapshot, const struct value *root) {
    static const enum key known[] = {
        KEY_SEGMENTS,           KEY_DEVICE_TRACES,        KEY_TRACES,
        KEY_ALLOCATOR_SETTINGS, KEY_EXTERNAL_ANNOTATIONS, KEY_TRACE_ALLOC_OVERFLOWED,
        KEY_LAST_KEY,           KEY_HOST_SEGMENTS,        KEY_HOST_TRACES};
    uint32_t at = root->tag == VALUE_DICT ? snapshot->nodes.row[root->bits].first : 0, n_unread = 0;
    for (const struct node_item *item = item_at(snapshot, at); item != NULL;
         item = item_at(snapshot, item->next)) {
        uint32_t name = item->key.tag == VALUE_STRING ? (uint32_t)item->key.bits : 0;
        bool is_known = false,
             is_dict = item->value.tag == VALUE_DICT; /* a dict is no list of segments or events */
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= is_word(name, known[i]) && (!is_dict || known[i] == KEY_ALLOCATOR_SETTINGS);
        if (!is_known && ++n_unread <= UNREAD_TOLD && !unread_tell(snapshot, name))
            return snapshot_fail_memory(snapshot);
    }
    for (uint32_t i = 0; i < UNREAD_TOLD && snapshot->unread[i] != 0; i++)
        if (!unread_tell(snapshot, snapshot->unread[i]))
            return snapshot_fail_memory(snapshot);
    return true;
}

/* Pinned memory may have several lists of events. Only the first is read; the others are reported by their index. */
static bool host_lists_diagnose(struct snapshot *snapshot, const struct value *traces) {
    const struct value *read = events_of(snapshot, traces);
    uint32_t at = read != NULL && read != traces ? snapshot->nodes.row[traces->bits].first : 0, n_unread = 0;
    for (uint32_t place = 0; at != 0; at = snapshot->items.row[at - 1].next, place++) {
        const struct value *list = &snapshot->items.row[at - 1].value;
        if (list->tag != VALUE_EVENTS || list->bits == read->bits || ++n_unread > UNREAD_TOLD)
            continue;
        char name[32];
        int n = snprintf(name, sizeof name, "host_traces[%u]", place);
        uint32_t key = trace_string_add(snapshot->trace, name, (size_t)n);
        if (key == 0 || !unread_tell(snapshot, key))
            return snapshot_fail_memory(snapshot);
    }
    return true;
}

static bool nothing_diagnose(struct snapshot *snapshot) {
    return snapshot->trace->n_devices != 0 ||
           trace_diagnose(snapshot->trace, "empty_snapshot", ORDINAL_NONE, NULL) ||
           snapshot_fail_memory(snapshot);
}

bool snapshot_is_traces_key(const struct value *key) {
    return value_is_word(key, KEY_DEVICE_TRACES) || value_is_word(key, KEY_TRACES);
}

bool snapshot_diagnose_cut(struct snapshot *snapshot, uint64_t offset) {
    uint64_t numbers[DIAGNOSTIC_NUMBERS] = {offset};
    for (uint32_t i = 0; i < snapshot->trace->n_devices; i++)
        numbers[1] += snapshot->trace->devices[i].n_events;
    if (numbers[1] == 0)
        return snapshot_fail(snapshot, READ_TRUNCATED, "the file ends before its first event");
    bool cut = snapshot->first_cut_device != INT32_MAX;
    if (cut)
        numbers[2] = (uint64_t)snapshot->first_cut_device;
    return trace_diagnose(snapshot->trace, cut ? "truncated/devices" : "truncated", ORDINAL_NONE, numbers) ||
           snapshot_fail_memory(snapshot);
}

static bool root_is_snapshot(const struct snapshot *snapshot, const struct value *root) {
    static const enum key keys[] = {KEY_SEGMENTS, KEY_DEVICE_TRACES, KEY_TRACES, KEY_HOST_TRACES,
                                    KEY_HOST_SEGMENTS};
    /* memory_snapshot() has only segments; some keep the events of one device alone */
    bool found = root->tag == VALUE_SEGMENTS || root->tag == VALUE_EVENTS || root->tag == VALUE_NEW_LIST;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        found |= dict_find(snapshot, root, keys[i]) != NULL;
    return found;
}

bool snapshot_finish(struct snapshot *snapshot, struct value root) {
    if (!root_is_snapshot(snapshot, &root))
        return snapshot_fail(snapshot, READ_BAD_SHAPE,
                             "this is not a memory snapshot: it has neither segments nor device_traces");
    const struct value *segments = root.tag == VALUE_DICT ? dict_find(snapshot, &root, KEY_SEGMENTS) : &root;
    const struct value *traces = dict_find(snapshot, &root, KEY_DEVICE_TRACES);
    const struct value *settings = dict_find(snapshot, &root, KEY_ALLOCATOR_SETTINGS);
    if (traces == NULL)
        traces = root.tag == VALUE_EVENTS ? &root : dict_find(snapshot, &root, KEY_TRACES);
    if (!devices_number(snapshot, traces))
        return false;
    const struct value *host_traces = dict_find(snapshot, &root, KEY_HOST_TRACES);
    host_number(snapshot, host_traces);
    if (settings != NULL && !settings_text(snapshot, settings, &snapshot->trace->settings))
        return false;
    return segments_record(snapshot, segments, ORDINAL_NONE) &&
           host_segments_record(snapshot, dict_find(snapshot, &root, KEY_HOST_SEGMENTS)) &&
           devices_finish(snapshot) &&
           (interner_finish(&snapshot->interner) || snapshot_fail_memory(snapshot)) &&
           overflow_diagnose(snapshot, &root, settings) && rounding_diagnose(snapshot) &&
           left_out_diagnose(snapshot) && unread_diagnose(snapshot, &root) &&
           host_lists_diagnose(snapshot, host_traces) && nothing_diagnose(snapshot);
}
