#include "parser/pickle/pickle_machine.h"

/*
 * The stack at the cut, for example (a mark is a bar):
 *
 *     root | "segments" list "device_traces" list | list of device 0, list of device 1 | event ... | "action" "alloc" ...
 *
 * Events reached their lists when they were complete. Only the lists have not reached the root.
 */
struct wreck {
    uint32_t first, end; /* of the lists of the devices on the stack */
    uint32_t events_end; /* after the events that wait for the last of them: [end, events_end) */
};

/* The first mark at `from` or above, or the top of the stack. */
static uint32_t mark_from(const struct machine *machine, uint32_t from) {
    for (uint32_t i = 0; i < machine->n_marks; i++)
        if (machine->mark[i] >= from)
            return machine->mark[i];
    return machine->n_stack;
}

/* `at` is the place of device_traces, which may have a mark of its own. */
static struct wreck wreck_find(const struct machine *machine, uint32_t at) {
    struct wreck wreck = {.first = at + 1};
    uint32_t mark = mark_from(machine, at + 1);
    wreck.end = mark == at + 1 && mark < machine->n_stack ? mark_from(machine, at + 2) : mark;
    wreck.events_end = mark_from(machine, wreck.end + 1);
    return wreck;
}

/* Adds the events among stack[first .. end) to `list`. The last value may still lack some of its keys. */
static bool wreck_events(struct machine *machine, uint32_t first, uint32_t end, struct value *list) {
    for (uint32_t i = first; i < end; i++) {
        struct value *value = &machine->stack[i];
        if (i + 1 < end && !values_settle(machine, i, 1))
            return false;
        if (value->tag == VALUE_EVENT && !snapshot_append(&machine->snapshot, list, value, 1))
            return machine_fail_snapshot(machine);
    }
    return true;
}

static bool wreck_is_list(const struct value *value) {
    return value->tag == VALUE_NEW_LIST || value->tag == VALUE_EVENTS;
}

/* Puts the lists of the devices into device_traces. The last of them is the one that is cut. */
static bool wreck_join(struct machine *machine, struct wreck wreck, struct value *traces) {
    int32_t n_devices =
        traces->tag == VALUE_LIST ? (int32_t)machine->snapshot.nodes.row[traces->bits].count : 0;
    for (uint32_t at = wreck.first; at < wreck.end;) {
        struct value *list = &machine->stack[at++];
        value_refresh(machine, list);
        if (!wreck_is_list(list))
            continue;
        uint32_t next = at; /* an event may wait for APPEND, without a mark */
        while (next < wreck.end && !wreck_is_list(&machine->stack[next]))
            next++;
        uint32_t end = next == wreck.end ? wreck.events_end : next;
        if (!wreck_events(machine, at, end, list) || !snapshot_append(&machine->snapshot, traces, list, 1))
            return false;
        at = next;
        n_devices++;
    }
    machine->snapshot.first_cut_device = n_devices == 0 ? 0 : n_devices - 1;
    return true;
}

/* A key and the available part of its value, at stack[at]. */
static bool wreck_pair(struct machine *machine, struct value *root, uint32_t at) {
    struct value pair[2] = {machine->stack[at], {.tag = VALUE_NONE}};
    uint32_t value_at = at + 1;
    while (value_at < machine->n_stack && machine->stack[value_at].tag == VALUE_FUNCTION)
        value_at++;
    if (value_at == machine->n_stack || !snapshot_is_traces_key(&pair[0]))
        return true;
    pair[1] = machine->stack[value_at];
    value_refresh(machine, &pair[1]);
    if (pair[1].tag != VALUE_NEW_LIST && pair[1].tag != VALUE_LIST)
        return true;
    return wreck_join(machine, wreck_find(machine, value_at), &pair[1]) &&
           (snapshot_dict_add(&machine->snapshot, root, pair, 1) || machine_fail_snapshot(machine));
}

bool cut_root(struct machine *machine, struct value *root) {
    uint32_t at = 0;
    while (at < machine->n_stack && machine->stack[at].tag == VALUE_FUNCTION)
        at++;
    if (at == machine->n_stack)
        return false;
    *root = machine->stack[at++];
    value_refresh(machine, root);
    if (root->tag != VALUE_NEW_DICT && root->tag != VALUE_DICT)
        return false;
    uint32_t open = mark_from(machine, at + 1);
    for (; at < machine->n_stack && machine->stack[at].tag == VALUE_STRING; at += 2) {
        bool complete = at + 2 < open && machine->stack[at + 2].tag == VALUE_STRING;
        if (!complete)
            return wreck_pair(machine, root, at);
        if (!values_settle(machine, at, 2) ||
            !snapshot_dict_add(&machine->snapshot, root, &machine->stack[at], 1))
            return false;
    }
    return true;
}
