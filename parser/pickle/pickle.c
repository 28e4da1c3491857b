/* The pickle machine: every opcode that snapshots are made of. */
#include "parser/pickle/pickle_machine.h"

#include <inttypes.h>

/* Limits, each with its own error. docs/inputs-reference.md lists them. */
enum {
    MAX_STRING_NBYTES = 256 << 20, /* the longest string a snapshot holds is a formatted stack: some 100 KB */
    MAX_LONG_NBYTES = 1024,        /* integers: 9 bytes are the most that mean anything here */
    MAX_STACK_VALUES =
        32 << 20, /* values of containers that are not complete: 512 MiB, and as much again while they grow */
    MAX_MARKS = 100000 /* nesting; real files nest 8 deep */
};

/* ---- errors ---- */

bool machine_fail(struct machine *machine, enum read_code code, const char *message) {
    return cursor_fail(machine->cursor, code, machine->opcode_offset, "%s", message);
}

bool machine_fail_memory(struct machine *machine) {
    return machine_fail(machine, READ_NO_MEMORY,
                        machine->arena->limit_hit ? "the memory limit is reached (see --max-memory)"
                                                  : "not enough memory");
}

bool machine_fail_snapshot(struct machine *machine) {
    struct read_error *error = machine->cursor->error;
    error->offset = machine->opcode_offset;
    return cursor_fail(machine->cursor, error->code, error->offset, "%s", "");
}

/* ---- stack ---- */

bool machine_push_slow(struct machine *machine, struct value value) {
    if (machine->n_stack >= MAX_STACK_VALUES)
        return machine_fail(machine, READ_LIMIT,
                            "more than 33,554,432 values are waiting for their container");
    if (!ARENA_GROW(machine->arena, machine->stack, machine->stack_capacity, (uint64_t)machine->n_stack + 1))
        return machine_fail_memory(machine);
    machine->stack[machine->n_stack++] = value;
    return true;
}

/* Allocates the stack before the first push, so that places in it have addresses. */
bool machine_begin(struct machine *machine) {
    return ARENA_GROW(machine->arena, machine->stack, machine->stack_capacity, 1) ||
           machine_fail_memory(machine);
}

bool machine_has(struct machine *machine, uint32_t count) {
    return machine->n_stack - stack_floor(machine) >= count ||
           machine_fail(machine, READ_BAD_STACK, "an opcode finds too few values");
}

bool machine_mark(struct machine *machine) {
    if (machine->n_marks >= MAX_MARKS)
        return machine_fail(machine, READ_LIMIT, "containers are nested more than 100,000 deep");
    if (machine->n_marks == machine->mark_capacity &&
        !ARENA_GROW(machine->arena, machine->mark, machine->mark_capacity, (uint64_t)machine->n_marks + 1))
        return machine_fail_memory(machine);
    machine->mark[machine->n_marks++] = machine->n_stack;
    return true;
}

/* Takes the last mark: items are stack[*first .. n_stack). */
bool mark_pop(struct machine *machine, uint32_t *first) {
    *first = 0;
    if (machine->n_marks == 0)
        return machine_fail(machine, READ_BAD_STACK, "an opcode finds no mark");
    *first = machine->mark[--machine->n_marks];
    return true;
}

/* ---- memo ---- */

/* Finds the box for a value that does not fit into the entry: the entry's own, or a new one. UINT32_MAX: an error. */
static uint32_t box_take(struct machine *machine, uint32_t entry) {
    struct memo *memo = &machine->memo;
    if (memo_tag(entry) == VALUE_BOXED)
        return memo_bits(entry);
    if (memo->n_boxed >> MEMO_BITS != 0) {
        machine_fail(machine, READ_LIMIT, "the memo has more than 134 million large values");
        return UINT32_MAX;
    }
    if (!ARENA_GROW(machine->arena, memo->box, memo->box_capacity, (uint64_t)memo->n_boxed + 1)) {
        machine_fail_memory(machine);
        return UINT32_MAX;
    }
    return memo->n_boxed++;
}

static bool entry_pack(struct machine *machine, const struct value *value, uint32_t *entry) {
    if (value->bits >> MEMO_BITS == 0) {
        *entry = memo_entry(value->tag, (uint32_t)value->bits);
        return true;
    }
    uint32_t box = box_take(machine, *entry);
    if (box == UINT32_MAX)
        return false;
    machine->memo.box[box] = (struct memo_box){value->bits, value->tag};
    *entry = memo_entry(VALUE_BOXED, box);
    return true;
}

static struct value entry_unpack(const struct machine *machine, uint32_t index) {
    uint32_t entry = machine->memo.entry[index];
    struct value value = {.tag = (uint8_t)memo_tag(entry), .bits = memo_bits(entry)};
    if (value.tag == VALUE_BOXED) {
        const struct memo_box *box = &machine->memo.box[value.bits];
        value = (struct value){.tag = box->tag, .bits = box->bits};
    }
    value.memo = value.tag >= VALUE_FRAME ? index + 1 : 0;
    return value;
}

/* Indices are dense in real files. One above the number of bytes read so far is an attack on memory. */
static bool memo_reserve(struct machine *machine, uint32_t index) {
    struct memo *memo = &machine->memo;
    if (index < memo->count)
        return true;
    if (index > machine->opcode_offset)
        return machine_fail(machine, READ_LIMIT, "a memo index is larger than the number of bytes so far");
    if (index >= memo->capacity &&
        !ARENA_GROW(machine->arena, memo->entry, memo->capacity, (uint64_t)index + 1))
        return machine_fail_memory(machine);
    while (memo->count <= index)
        memo->entry[memo->count++] = memo_entry(VALUE_UNSET, 0);
    return true;
}

/* An entry of the memo was overwritten: forgets everything learnt from bytes that refer to the memo. */
static void memo_overwritten(struct machine *machine) {
    list_cache_forget(machine);
    machine->recipe.count = 0;
}

bool memo_put(struct machine *machine, uint32_t index) {
    if (!machine_has(machine, 1) || !memo_reserve(machine, index))
        return false;
    if (memo_tag(machine->memo.entry[index]) != VALUE_UNSET)
        memo_overwritten(machine);
    struct value *top = &machine->stack[machine->n_stack - 1];
    if (top->tag >= VALUE_FRAME)
        top->memo = index + 1;
    return entry_pack(machine, top, &machine->memo.entry[index]);
}

bool memo_append_slow(struct machine *machine, enum value_tag tag, uint64_t bits) {
    struct memo *memo = &machine->memo;
    if (!ARENA_GROW(machine->arena, memo->entry, memo->capacity, (uint64_t)memo->count + 1))
        return machine_fail_memory(machine);
    memo->entry[memo->count] = memo_entry(VALUE_UNSET, 0);
    const struct value value = {.tag = (uint8_t)tag, .bits = bits};
    return entry_pack(machine, &value, &memo->entry[memo->count++]);
}

bool memo_get(struct machine *machine, uint64_t index) {
    if (index >= machine->memo.count || memo_tag(machine->memo.entry[index]) == VALUE_UNSET)
        return cursor_fail(machine->cursor, READ_BAD_VALUE, machine->opcode_offset,
                           "memo entry %" PRIu64 " is used before it is set", index);
    return machine_push(machine, entry_unpack(machine, (uint32_t)index));
}

bool memo_update(struct machine *machine, const struct value *value) {
    return value->memo == 0 || entry_pack(machine, value, &machine->memo.entry[value->memo - 1]);
}

void memo_spend(struct machine *machine, const struct value *value) {
    struct memo *memo = &machine->memo;
    if (value->memo == 0)
        return;
    uint32_t *entry = &memo->entry[value->memo - 1];
    if (memo_tag(*entry) == VALUE_BOXED && memo_bits(*entry) + 1 == memo->n_boxed)
        memo->n_boxed--; /* events come one at a time, and so one box is enough for them */
    *entry = memo_entry(VALUE_SPENT, 0);
}

void value_refresh(const struct machine *machine, struct value *value) {
    if (value->memo != 0 && value->tag >= VALUE_NEW_LIST)
        *value = entry_unpack(machine, value->memo - 1);
}

bool values_settle(struct machine *machine, uint32_t first, uint32_t count) {
    for (uint32_t i = first; i < first + count; i++) {
        struct value *value = &machine->stack[i];
        value_refresh(machine, value);
        if (value->tag != VALUE_DICT && value->tag != VALUE_LIST)
            continue;
        uint8_t before = value->tag;
        if (!snapshot_settle(&machine->snapshot, value))
            return machine_fail_snapshot(machine);
        if (value->tag != before && !memo_update(machine, value))
            return false;
    }
    return true;
}

/* ---- containers ---- */

/* The memo opcode that follows the beginning of a container (on top of the stack), if there is one. */
static inline bool container_memo(struct machine *machine) {
    struct cursor *cursor = machine->cursor;
    const uint8_t *p = cursor->p;
    if (cursor->end - p < 8)
        return true;
    switch (*p) {
    case 0x94:
        cursor->p += 1;
        machine->stack[machine->n_stack - 1].memo = machine->memo.count + 1;
        return memo_append(machine, machine->stack[machine->n_stack - 1].tag, 0);
    case 'q': cursor->p += 2; return memo_put(machine, p[1]);
    case 'r': cursor->p += 5; return memo_put(machine, load_u32(p + 1));
    default: return true;
    }
}

/* The cursor is at the MARK of a list that was just begun: if the list has only references to frames, it is read in
 * one step. */
static bool references_take(struct machine *machine) {
    uint32_t stack;
    const uint8_t *next = list_take(machine, machine->cursor->p + 1, &stack);
    if (next == NULL)
        return machine->cursor->error->code == READ_OK;
    struct value *list = machine_top(machine);
    list->tag = VALUE_STACK;
    list->bits = stack;
    machine->cursor->p = next;
    return memo_update(machine, list);
}

/* EMPTY_LIST, with the memo opcode after it. */
static bool op_empty_list(struct machine *machine) {
    struct cursor *cursor = machine->cursor;
    return machine_push_bits(machine, VALUE_NEW_LIST, 0) && container_memo(machine) &&
           (cursor->end - cursor->p < 8 || *cursor->p != '(' || cursor->source->plainly ||
            references_take(machine));
}

/* EMPTY_DICT, with the memo opcode after it. */
static bool op_empty_dict(struct machine *machine) {
    struct cursor *cursor = machine->cursor;
    return machine_push_bits(machine, VALUE_NEW_DICT, 0) && container_memo(machine) &&
           (cursor->end - cursor->p < 8 || *cursor->p != '(' || cursor->source->plainly ||
            dict_take(machine));
}

/* Adds stack[first ..) to the list below them and drops them. */
bool list_extend(struct machine *machine, uint32_t list_at, uint32_t first) {
    struct value *list = &machine->stack[list_at];
    uint32_t count = machine->n_stack - first;
    value_refresh(machine, list);
    if (list->tag == VALUE_SPENT || list->tag == VALUE_OPAQUE) {
        machine->n_stack = first;
        return true;
    }
    if (list->tag < VALUE_STACK || list->tag == VALUE_EVENT || list->tag == VALUE_BLOCK ||
        list->tag == VALUE_SEGMENT || list->tag == VALUE_NEW_DICT || list->tag == VALUE_DICT ||
        list->tag == VALUE_FUNCTION)
        return machine_fail(machine, READ_BAD_STACK, "APPEND finds something that is not a list");
    if (!values_settle(machine, first, count))
        return false;
    struct value before = *list;
    if (!snapshot_append(&machine->snapshot, list, machine->stack + first, count))
        return machine_fail_snapshot(machine);
    machine->n_stack = first;
    return (before.tag == list->tag && before.bits == list->bits) || memo_update(machine, list);
}

static bool op_append(struct machine *machine) {
    return machine_has(machine, 2) && list_extend(machine, machine->n_stack - 2, machine->n_stack - 1);
}

static bool op_appends(struct machine *machine) {
    uint32_t first;
    if (!mark_pop(machine, &first))
        return false;
    if (first <= stack_floor(machine))
        return machine_fail(machine, READ_BAD_STACK, "APPENDS finds no list");
    return list_extend(machine, first - 1, first);
}

bool event_pass_on(struct machine *machine) {
    struct value *event = &machine->stack[machine->n_stack - 1];
    if (event->tag == VALUE_EVENT && top_is_next(machine))
        return true;
    if (event->tag != VALUE_EVENT || machine->n_marks == 0 ||
        machine->mark[machine->n_marks - 1] != machine->n_stack - 1 || machine->n_stack < 2)
        return true;
    struct value *list = event - 1;
    value_refresh(machine, list);
    if (list->tag != VALUE_NEW_LIST && list->tag != VALUE_EVENTS)
        return true;
    memo_spend(machine, event);
    enum value_tag before = list->tag;
    if (!snapshot_append(&machine->snapshot, list, event, 1))
        return machine_fail_snapshot(machine);
    machine->n_stack--;
    machine->cursor->n_events = machine->snapshot.n_events;
    return before == list->tag || memo_update(machine, list);
}

/* Fills the dict at `dict_at` with the pairs from `first` on. */
bool dict_extend(struct machine *machine, uint32_t dict_at, uint32_t first, bool complete) {
    uint32_t n_values = machine->n_stack - first;
    if (n_values % 2 != 0)
        return machine_fail(machine, READ_BAD_STACK, "SETITEMS finds a key without a value");
    struct value *dict = &machine->stack[dict_at];
    value_refresh(machine, dict);
    if (dict->tag != VALUE_NEW_DICT && dict->tag != VALUE_DICT)
        return machine_fail(machine, READ_BAD_STACK, "SETITEM finds something that is not an open dict");
    if (!values_settle(machine, first, n_values))
        return false;
    const struct value *pairs = machine->stack + first;
    bool done = complete && dict->tag == VALUE_NEW_DICT
                    ? snapshot_dict(&machine->snapshot, pairs, n_values / 2, dict)
                    : n_values == 0 || snapshot_dict_add(&machine->snapshot, dict, pairs, n_values / 2);
    if (!done)
        return machine_fail_snapshot(machine);
    machine->n_stack = first;
    return memo_update(machine, dict) && event_pass_on(machine);
}

static bool op_setitem(struct machine *machine) {
    return machine_has(machine, 3) && dict_extend(machine, machine->n_stack - 3, machine->n_stack - 2, false);
}

static bool op_setitems(struct machine *machine) {
    uint32_t first;
    if (!mark_pop(machine, &first))
        return false;
    if (first <= stack_floor(machine))
        return machine_fail(machine, READ_BAD_STACK, "SETITEMS finds no dict");
    return dict_extend(machine, first - 1, first, true);
}

/* A tuple of arguments is never stored: an event in it would count as an element of a list. */
static bool arguments_take(struct machine *machine, uint32_t first) {
    if (first <= stack_floor(machine) || machine->stack[first - 1].tag != VALUE_FUNCTION ||
        machine->stack[first - 1].bits != FUNCTION_FIRST_ARGUMENT)
        return false;
    machine->stack[first - 1].bits = FUNCTION_APPLIED;
    machine->n_stack = first + 1;
    return true;
}

static bool tuple_make(struct machine *machine, uint32_t first) {
    uint32_t count = machine->n_stack - first;
    struct value tuple;
    if (!values_settle(machine, first, count))
        return false;
    if (count != 0 && arguments_take(machine, first))
        return true;
    if (!snapshot_tuple(&machine->snapshot, machine->stack + first, count, &tuple))
        return machine_fail_snapshot(machine);
    machine->n_stack = first;
    return machine_push(machine, tuple);
}

static bool op_tuple(struct machine *machine) {
    uint32_t first;
    return mark_pop(machine, &first) && tuple_make(machine, first);
}

static bool op_tuple_of(struct machine *machine, uint32_t count) {
    return machine_has(machine, count) && tuple_make(machine, machine->n_stack - count);
}

/* ---- numbers ---- */

/* Two's complement of any length. A number of more than 64 bits is saturated; no field of a snapshot has one. */
bool long_push(struct machine *machine, uint64_t nbytes) {
    struct cursor *cursor = machine->cursor;
    if (nbytes > MAX_LONG_NBYTES)
        return machine_fail(machine, READ_BAD_LENGTH, "an integer is longer than 1,024 bytes");
    if (!cursor_need(cursor, (size_t)nbytes))
        return false;
    const uint8_t *p = cursor->p;
    cursor->p += nbytes;
    bool negative = nbytes != 0 && p[nbytes - 1] >> 7 != 0;
    uint64_t bits = negative ? UINT64_MAX : 0;
    for (size_t i = nbytes < 8 ? (size_t)nbytes : 8; i-- > 0;)
        bits = bits << 8 | p[i];
    bool wide = false; /* bytes beyond the eighth that are more than a repeated sign */
    for (uint64_t i = 8; i < nbytes; i++)
        wide |= p[i] != (negative ? 0xFF : 0);
    if (negative)
        return machine_push_bits(machine, VALUE_INT, wide || bits <= INT64_MAX ? (uint64_t)INT64_MIN : bits);
    if (wide)
        bits = UINT64_MAX;
    return machine_push_bits(machine, bits > INT64_MAX ? VALUE_BIG : VALUE_INT, bits);
}

static bool op_binfloat(struct machine *machine) {
    uint64_t bits =
        __builtin_bswap64(cursor_uint(machine->cursor, 8)); /* big-endian, alone among the opcodes */
    return machine_push_bits(machine, VALUE_FLOAT, bits);
}

/* ---- strings ---- */

bool machine_push_string(struct machine *machine, const uint8_t *bytes, size_t nbytes) {
    uint32_t id;
    return (intern_string(&machine->snapshot.interner, bytes, nbytes, &id) || machine_fail_memory(machine)) &&
           machine_push_bits(machine, VALUE_STRING, id);
}

/* The cursor is after the length, which is not trusted: the bytes are read before memory is taken for them. */
static bool string_push(struct machine *machine, uint64_t nbytes) {
    struct cursor *cursor = machine->cursor;
    if (cursor->error->code != READ_OK)
        return false;
    if (nbytes > MAX_STRING_NBYTES)
        return machine_fail(machine, READ_BAD_LENGTH, "a string is longer than 256 MiB");
    if (!cursor_need(cursor, (size_t)nbytes))
        return false;
    const uint8_t *bytes = cursor->p;
    cursor->p += nbytes;
    return machine_push_string(machine, bytes, (size_t)nbytes);
}

/* Skips bytes that nothing uses, in steps, so that no length makes the buffer grow. */
static bool bytes_skip(struct machine *machine, uint64_t nbytes) {
    struct cursor *cursor = machine->cursor;
    while (nbytes != 0 && cursor->error->code == READ_OK) {
        size_t step = nbytes < CURSOR_LOOKAHEAD ? (size_t)nbytes : CURSOR_LOOKAHEAD;
        if (!cursor_need(cursor, step))
            return false;
        cursor->p += step;
        nbytes -= step;
    }
    return cursor->error->code == READ_OK && machine_push_bits(machine, VALUE_OPAQUE, 0);
}

/* Executes one opcode. The most frequent ones come first. */
static bool opcode_run(struct machine *machine, uint8_t opcode) {
    struct cursor *cursor = machine->cursor;
    switch (opcode) {
    case 'h': return memo_get(machine, cursor_u8(cursor));                          /* BINGET */
    case 'j': return memo_get(machine, cursor_uint(cursor, 4));                     /* LONG_BINGET */
    case 0x94: return memo_put(machine, machine->memo.count);                       /* MEMOIZE */
    case 'K': return machine_push_bits(machine, VALUE_INT, cursor_u8(cursor));      /* BININT1 */
    case 'M': return machine_push_bits(machine, VALUE_INT, cursor_uint(cursor, 2)); /* BININT2 */
    case 'J':
        return machine_push_bits(machine, VALUE_INT,
                                 (uint64_t)(int64_t)(int32_t)cursor_uint(cursor, 4)); /* BININT */
    case 0x8a: return long_push(machine, cursor_u8(cursor));                          /* LONG1 */
    case '}': return op_empty_dict(machine);                                          /* EMPTY_DICT */
    case '(': return machine_mark(machine);                                           /* MARK */
    case 'u': return op_setitems(machine);                                            /* SETITEMS */
    case ']': return op_empty_list(machine);                                          /* EMPTY_LIST */
    case 'e': return op_appends(machine);                                             /* APPENDS */
    case 0x8c: return string_push(machine, cursor_u8(cursor));                        /* SHORT_BINUNICODE */
    case 'X': return string_push(machine, cursor_uint(cursor, 4));                    /* BINUNICODE */
    case 'q': return memo_put(machine, cursor_u8(cursor));                            /* BINPUT */
    case 'r': return memo_put(machine, (uint32_t)cursor_uint(cursor, 4));             /* LONG_BINPUT */
    case 'a': return op_append(machine);                                              /* APPEND */
    case 's': return op_setitem(machine);                                             /* SETITEM */
    case 0x86: return op_tuple_of(machine, 2);                                        /* TUPLE2 */
    case 'N': return machine_push_bits(machine, VALUE_NONE, 0);                       /* NONE */
    case 0x88: return machine_push_bits(machine, VALUE_BOOL, 1);                      /* NEWTRUE */
    case 0x89: return machine_push_bits(machine, VALUE_BOOL, 0);                      /* NEWFALSE */
    case 0x95: return (void)cursor_uint(cursor, 8), cursor->error->code == READ_OK;   /* FRAME */
    case 'G': return op_binfloat(machine);                                            /* BINFLOAT */
    case '.': return op_stop(machine);                                                /* STOP */
    case 0x80: return op_proto(machine);                                              /* PROTO */
    case 0x85: return op_tuple_of(machine, 1);                                        /* TUPLE1 */
    case 0x87: return op_tuple_of(machine, 3);                                        /* TUPLE3 */
    case 't': return op_tuple(machine);                                               /* TUPLE */
    case ')': return machine_push_bits(machine, VALUE_NEW_LIST, 0);                   /* EMPTY_TUPLE */
    case 'l': return op_list(machine);                                                /* LIST */
    case 'd': return op_dict(machine);                                                /* DICT */
    case '0': return op_pop(machine);                                                 /* POP */
    case '1': return op_drop_to_mark(machine, false);                                 /* POP_MARK */
    case '2': return op_dup(machine);                                                 /* DUP */
    case 0x8f: return machine_push_bits(machine, VALUE_OPAQUE, 0);                    /* EMPTY_SET */
    case 0x90: return op_additems(machine);                                           /* ADDITEMS */
    case 0x91: return op_drop_to_mark(machine, true);                                 /* FROZENSET */
    case 0x8b: return op_long4(machine);                                              /* LONG4 */
    case 'I':
    case 'L': return op_int_line(machine);                          /* INT, LONG */
    case 'F': return op_float_line(machine);                        /* FLOAT */
    case 'V': return op_unicode_line(machine);                      /* UNICODE */
    case 'S': return op_string_line(machine);                       /* STRING */
    case 'U': return string_push(machine, cursor_u8(cursor));       /* SHORT_BINSTRING */
    case 'T': return string_push(machine, cursor_uint(cursor, 4));  /* BINSTRING */
    case 0x8d: return string_push(machine, cursor_uint(cursor, 8)); /* BINUNICODE8 */
    case 'C': return bytes_skip(machine, cursor_u8(cursor));        /* SHORT_BINBYTES */
    case 'B': return bytes_skip(machine, cursor_uint(cursor, 4));   /* BINBYTES */
    case 0x8e:                                                      /* BINBYTES8 */
    case 0x96: return bytes_skip(machine, cursor_uint(cursor, 8));  /* BYTEARRAY8 */
    case 'g': return op_get_line(machine);                          /* GET */
    case 'p': return op_put_line(machine);                          /* PUT */
    case 'c': return op_global(machine);                            /* GLOBAL */
    case 0x93: return op_stack_global(machine);                     /* STACK_GLOBAL */
    case 'R': return op_reduce(machine);                            /* REDUCE */
    default: return op_other(machine, opcode);
    }
}

/* The length of an opcode with its fixed-size argument. */
static size_t opcode_nbytes(uint8_t opcode) {
    switch (opcode) {
    case 'h':
    case 'K':
    case 'q':
    case 'U':
    case 'C':
    case 0x80:
    case 0x8a:
    case 0x8c: return 1 + 1;
    case 'M': return 1 + 2;
    case 'j':
    case 'J':
    case 'r':
    case 'X':
    case 'T':
    case 'B':
    case 0x8b: return 1 + 4;
    case 'G':
    case 0x8d:
    case 0x8e:
    case 0x95:
    case 0x96: return 1 + 8;
    default: return 1;
    }
}

/* Reads ahead so that opcodes find their arguments. At the end of the input, an opcode without its arguments is not
 * executed, because arguments of zero could not be told from real ones. */
static bool lookahead_get(struct cursor *cursor) {
    if (!cursor->at_end && !cursor_fill(cursor, CURSOR_LOOKAHEAD) && cursor->error->code != READ_OK)
        return false;
    return cursor->p == cursor->end || cursor_need(cursor, opcode_nbytes(*cursor->p));
}

bool machine_run(struct machine *machine) {
    struct cursor *cursor = machine->cursor;
    while (!machine->stopped) {
        if (cursor->end - cursor->p < CURSOR_LOOKAHEAD && !lookahead_get(cursor))
            return false;
        machine->opcode_offset = cursor_offset(cursor);
        if (cursor->p == cursor->end)
            return cursor_fail(cursor, READ_TRUNCATED, machine->opcode_offset,
                               "the file ends before the pickle does");
        cursor->n_steps++;
        if (!opcode_run(machine, *cursor->p++) || cursor->error->code != READ_OK)
            return false;
    }
    return true;
}
