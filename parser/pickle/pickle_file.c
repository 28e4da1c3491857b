/* Reads a pickle, from its first opcode to the bytes after its last. */
#include "parser/pickle/pickle.h"

#include "parser/pickle/pickle_machine.h"

#include <string.h>

static void machine_release(struct machine *machine) {
    ARENA_DROP(machine->arena, machine->stack);
    ARENA_DROP(machine->arena, machine->mark);
    ARENA_DROP(machine->arena, machine->memo.entry);
    ARENA_DROP(machine->arena, machine->memo.box);
    list_cache_release(machine);
}

/* The value on top of the stack at STOP. */
static bool root_take(struct machine *machine, struct value *root) {
    uint32_t top = machine->n_stack - 1;
    if (!values_settle(machine, top, 1))
        return false;
    *root = machine->stack[top];
    return true;
}

/* Uses the contents of a truncated pickle if it has any events; otherwise the error stays. */
static bool cut_read(struct machine *machine) {
    struct read_error *error = machine->cursor->error, truncated = *error;
    struct value root;
    error->code = READ_OK;
    bool found = cut_root(machine, &root);
    machine_release(machine);
    bool done = found && snapshot_finish(&machine->snapshot, root) &&
                snapshot_diagnose_cut(&machine->snapshot, truncated.offset);
    if (!done && error->code != READ_NO_MEMORY)
        *error = truncated;
    return done || cursor_fail(machine->cursor, error->code, error->offset, "%s", "");
}

/* The limit on bytes read after STOP: the input may have no end. */
static const uint64_t MAX_TRAILING_NBYTES = UINT64_C(1) << 30;

static bool pickle_follows(struct cursor *cursor) {
    return cursor_fill(cursor, 2) && cursor->p[0] == 0x80 && cursor->p[1] >= 2 && cursor->p[1] <= 5;
}

/* Skips line ends and zeros, which only pad a file: the rest of a recording has other bytes too. */
static uint64_t padding_skip(struct cursor *cursor) {
    uint64_t nbytes = 0;
    for (; nbytes < MAX_TRAILING_NBYTES && cursor_fill(cursor, 1); nbytes++) {
        if (*cursor->p != '\0' && *cursor->p != '\n' && *cursor->p != '\r')
            break;
        cursor->p++;
    }
    return nbytes;
}

/* Do the zip's own bytes follow, as after a stored member whose length comes after it? */
static bool descriptor_follows(struct cursor *cursor) {
    return cursor_fill(cursor, 4) && memcmp(cursor->p, "PK\7\10", 4) == 0;
}

/* Reports bytes after STOP. Of two processes that wrote one file, the longer pickle's rest is there. */
static bool trailing_diagnose(struct cursor *cursor, struct trace *trace) {
    const char *key = pickle_follows(cursor) ? "trailing_bytes/pickle" : "trailing_bytes";
    uint64_t numbers[DIAGNOSTIC_NUMBERS] = {padding_skip(cursor)};
    bool is_padding = cursor->p == cursor->end || (numbers[0] == 0 && descriptor_follows(cursor));
    if (is_padding)
        return cursor->error->code == READ_OK;
    while (numbers[0] < MAX_TRAILING_NBYTES && cursor_fill(cursor, 1)) {
        numbers[0] += (uint64_t)(cursor->end - cursor->p);
        cursor->p = cursor->end;
    }
    numbers[1] = numbers[0] >= MAX_TRAILING_NBYTES;
    if (cursor->error->code != READ_OK)
        return false;
    return trace_diagnose(trace, key, ORDINAL_NONE, numbers) ||
           cursor_fail_memory(cursor, cursor_offset(cursor));
}

bool pickle_read(struct cursor *cursor, struct trace *trace) {
    struct machine machine = {.cursor = cursor, .arena = &trace->arena};
    struct value root;
    bool done = snapshot_init(&machine.snapshot, trace, cursor) || machine_fail_snapshot(&machine);
    done = done && machine_begin(&machine) && machine_run(&machine) && root_take(&machine, &root);
    if (!done && cursor->error->code == READ_TRUNCATED) {
        done = cut_read(&machine);
    } else {
        machine_release(&machine); /* the memo is large: freed before the columns are joined */
        done = done && (snapshot_finish(&machine.snapshot, root) || machine_fail_snapshot(&machine)) &&
               trailing_diagnose(cursor, trace);
    }
    snapshot_release(&machine.snapshot);
    return done;
}
