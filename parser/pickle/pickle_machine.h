/*
 * The state of the pickle machine, shared by the files that execute opcodes: pickle.c (all of them, one by one, with
 * pickle_rare.c, pickle_text.c and pickle_functions.c), pickle_dict.c (whole dicts, the fast way), pickle_list.c (whole
 * lists of references), pickle_cut.c (what a truncated pickle leaves) and pickle_file.c (from the first opcode to what
 * follows the last). Private to them.
 */
#pragma once

#include "parser/cursor.h"
#include "parser/snapshot.h"

#include <assert.h>

/*
 * The memo. A pickle has two or three entries for an event, so each packs a value into 4 bytes:   | tag 5 | bits 27 |
 * What does not fit (large integers, floats, ids above 134 million) goes to `box`. VALUE_UNSET as tag means "never
 * put".
 */
enum { MEMO_BITS = 27, VALUE_UNSET = 31, VALUE_BOXED = 30 };
static_assert((int)VALUE_FUNCTION < (int)VALUE_BOXED, "a tag takes 5 bits");

struct memo {
    uint32_t *entry;
    uint32_t count, capacity;
    struct memo_box {
        uint64_t bits;
        uint8_t tag;
    } * box;
    uint32_t n_boxed, box_capacity;
};

/*
 * Lists that are nothing but memo references to frames, by their raw bytes. Memo entries do not change, so equal bytes
 * are equal stacks, and nearly every stack of a real file is met again this way without being decoded. A training loop
 * repeats itself: the list that came next the last time is tried before any other.
 */
struct list_cache {
    struct list_entry {
        uint64_t hash;   /* of the raw bytes without the APPENDS after them */
        uint32_t offset; /* of the raw bytes in `bytes`, with the APPENDS */
        uint32_t nbytes; /* without it */
        uint32_t stack;
        uint32_t next; /* the entry that came after this one the last time */
    } * entry;         /* entry 0 means "none" */
    uint32_t count, capacity;
    struct row_table table; /* of entries, by their hash */
    uint32_t last;          /* the entry that came last */
    uint32_t *recent; /* the entry that was met last, by a hash of the first bytes; may be out of date */
    uint8_t *bytes;
    uint32_t n_bytes, bytes_capacity;
};

enum { MAX_DICT_PAIRS = 24 };

/* How an integer is written: BININT1, BININT2, BININT, or LONG1 of so many bytes. */
struct integer_form {
    uint64_t opcode_mask; /* bytes of the opcode, and of the length that follows LONG1's */
    uint64_t mask, sign;  /* bits of the number, and the highest of one that may be negative */
    uint8_t at, nbytes;   /* of the number, and of all */
};

/* The keys of the previous dict, as opcodes in the file. The dicts of a list have the same keys in the same order, and
 * mostly integers of the same form, so one comparison recognises each next key together with the form of its integer. */
struct dict_recipe {
    struct dict_step {
        uint64_t opcodes; /* BINGET or LONG_BINGET with its argument, and behind it those of the integer */
        uint64_t key_mask, mask;  /* of the key: 2 or 5 bytes; of all: 0 if the value was no integer */
        uint64_t keys;            /* bits of the keys up to this one */
        struct integer_form form; /* its places count from the key's */
        uint8_t nbytes;           /* of the key */
        uint8_t key;              /* enum key */
    } step[MAX_DICT_PAIRS + 1];   /* the last is never known */
    uint32_t count;
};

/* Texts of up to 8 bytes that come anew with every event, such as "N/A", by their bytes. */
enum { SHORT_TEXTS = 64 };
struct short_text {
    uint64_t bytes;
    uint32_t nbytes; /* 0: empty */
    uint32_t string;
};

/* The callables that a pickle may call. */
enum function {
    FUNCTION_FIRST_ARGUMENT,
    FUNCTION_APPLIED, /* the same; its first argument is on the stack, in place of the tuple of all */
    FUNCTION_ORDERED_DICT
};

struct machine {
    struct cursor *cursor;
    struct arena *arena;
    struct snapshot snapshot;
    struct value *stack;
    uint32_t n_stack, stack_capacity;
    uint32_t *mark;
    uint32_t n_marks, mark_capacity;
    struct memo memo;
    struct list_cache lists;
    struct dict_recipe recipe;
    struct short_text short_text[SHORT_TEXTS];
    uint64_t opcode_offset; /* of the opcode that is being executed */
    bool stopped;
};

/* Little-endian numbers, unaligned. */
static inline uint32_t load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load_u64(const uint8_t *p) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return word;
#else
    return load_u32(p) | (uint64_t)load_u32(p + 4) << 32;
#endif
}

/* The integer of this form at `p`. */
static inline uint64_t integer_of(const struct integer_form *form, const uint8_t *p) {
    return ((load_u64(p + form->at) & form->mask) ^ form->sign) - form->sign;
}

/* ---- errors: each notes the first one and returns false ---- */

bool machine_fail(struct machine *machine, enum read_code code, const char *message);
bool machine_fail_memory(struct machine *machine);

/* The snapshot has set code and message; the place is the machine's. */
bool machine_fail_snapshot(struct machine *machine);

/* ---- pickle.c ---- */

/* Before the first opcode. */
bool machine_begin(struct machine *machine);

/* Up to STOP. False: an error, or the end of the input. */
bool machine_run(struct machine *machine);

/* ---- stack ---- */

bool machine_push_slow(struct machine *machine, struct value value);
bool machine_mark(struct machine *machine);

static inline bool machine_push(struct machine *machine, struct value value) {
    if (machine->n_stack == machine->stack_capacity)
        return machine_push_slow(machine, value);
    machine->stack[machine->n_stack++] = value;
    return true;
}

static inline bool machine_push_bits(struct machine *machine, enum value_tag tag, uint64_t bits) {
    return machine_push(machine, (struct value){.tag = (uint8_t)tag, .bits = bits});
}

static inline struct value *machine_top(struct machine *machine) {
    return &machine->stack[machine->n_stack - 1];
}

/* Values above the last mark may be taken, those below not. */
static inline uint32_t stack_floor(const struct machine *machine) {
    return machine->n_marks == 0 ? 0 : machine->mark[machine->n_marks - 1];
}

/* Are there this many values above the innermost mark? Otherwise notes an error. */
bool machine_has(struct machine *machine, uint32_t count);

/* A string of these bytes. */
bool machine_push_string(struct machine *machine, const uint8_t *bytes, size_t nbytes);

/* ---- memo ---- */

/* GET and PUT. GET of an entry that was never put is an error. */
bool memo_get(struct machine *machine, uint64_t index);
bool memo_put(struct machine *machine, uint32_t index);

/* Packs a value whose bits fit. */
static inline uint32_t memo_entry(unsigned tag, uint32_t bits) {
    return (uint32_t)tag << MEMO_BITS | bits;
}

static inline unsigned memo_tag(uint32_t entry) {
    return entry >> MEMO_BITS;
}

static inline uint32_t memo_bits(uint32_t entry) {
    return entry & ((UINT32_C(1) << MEMO_BITS) - 1);
}

bool memo_append_slow(struct machine *machine, enum value_tag tag, uint64_t bits);

/* MEMOIZE. The count cannot exceed the number of bytes, because the opcode is one. */
static inline bool memo_append(struct machine *machine, enum value_tag tag, uint64_t bits) {
    struct memo *memo = &machine->memo;
    if (memo->count == memo->capacity || bits >> MEMO_BITS != 0)
        return memo_append_slow(machine, tag, bits);
    memo->entry[memo->count++] = memo_entry(tag, (uint32_t)bits);
    return true;
}

/* Updates the memo after a container has changed its kind (it was empty and is a stack now). */
bool memo_update(struct machine *machine, const struct value *value);

/* Marks the memo's entry of a container that nothing needs any more. */
void memo_spend(struct machine *machine, const struct value *value);

/* Takes the state of a container from the memo: it may have been filled through another reference. */
void value_refresh(const struct machine *machine, struct value *value);

/* Makes stack[first .. first + count) ready to be put into a container: complete dicts get their shape. */
bool values_settle(struct machine *machine, uint32_t first, uint32_t count);

/* ---- containers ---- */

/* Does the next opcode apply to the top of the stack: put it into the memo, as the C++ pickler does with complete
 * values, duplicate it or drop it? */
static inline bool is_about_top(uint8_t opcode) {
    return opcode == 'q' || opcode == 'r' || opcode == 'p' || opcode == 0x94 || opcode == '2' ||
           opcode == '0';
}

static inline bool top_is_next(const struct machine *machine) {
    const struct cursor *cursor = machine->cursor;
    return cursor->p < cursor->end && is_about_top(*cursor->p);
}

/* An event whose list is open right below goes there at once, so that a batch of millions needs no stack. */
bool event_pass_on(struct machine *machine);

/* Takes the last mark: items are stack[*first .. n_stack). */
bool mark_pop(struct machine *machine, uint32_t *first);

/* Adds stack[first ..) to the list below them and drops them. */
bool list_extend(struct machine *machine, uint32_t list_at, uint32_t first);

/* Fills the dict at `dict_at` with the pairs from `first` on. */
bool dict_extend(struct machine *machine, uint32_t dict_at, uint32_t first, bool complete);

/* Two's complement of any length. A number of more than 64 bits is saturated; no field of a snapshot has one. */
bool long_push(struct machine *machine, uint64_t nbytes);

/* ---- pickle_list.c ---- */

/* `p` is after a MARK. If a run of references to frames and an APPENDS follow, sets `stack` and returns the place
 * after the APPENDS. NULL: something else, or an error (then the cursor's error is set). O(bytes of the list). */
const uint8_t *list_take(struct machine *machine, const uint8_t *p, uint32_t *stack);

/* A memo entry was overwritten: equal bytes need not be equal stacks any more. */
void list_cache_forget(struct machine *machine);
void list_cache_release(struct machine *machine);

/* ---- pickle_dict.c ---- */

/*
 * Reads the dict at whose MARK the cursor is (it is on top of the stack; its memo opcode, if it has one, was run).
 * Known keys with small values are read without the stack; if something else comes, all is handed to the machine as if
 * it had read it itself. Then reads the following events of the same list, as far as they have the usual form. False:
 * an error.
 */
bool dict_take(struct machine *machine);

/* EMPTY_DICT, MEMOIZE, MARK. */
static inline bool dict_begins(const uint8_t *p) {
    return p[0] == '}' && p[1] == 0x94 && p[2] == '(';
}

/* False: no integer, or one of more than 8 bytes. */
static inline bool integer_form(const uint8_t *p, struct integer_form *form) {
    unsigned nbytes = *p == 'K' ? 1 : *p == 'M' ? 2 : *p == 'J' ? 4 : *p == 0x8a ? p[1] : 0;
    if (nbytes == 0 || nbytes > 8)
        return false;
    uint8_t at = *p == 0x8a ? 2 : 1;
    uint64_t sign = UINT64_C(1) << (8 * nbytes - 1);
    *form = (struct integer_form){.opcode_mask = at == 2 ? 0xFFFF : 0xFF,
                                  .mask = sign - 1 + sign,
                                  .sign = *p == 'K' || *p == 'M' ? 0 : sign,
                                  .at = at,
                                  .nbytes = (uint8_t)(at + nbytes)};
    return true;
}

/* ---- pickle_text.c: opcodes of protocol 0, each with a line of text ---- */

bool op_int_line(struct machine *machine);
bool op_float_line(struct machine *machine);
bool op_unicode_line(struct machine *machine);
bool op_string_line(struct machine *machine);
bool op_get_line(struct machine *machine);
bool op_put_line(struct machine *machine);

/* ---- pickle_rare.c: opcodes that no snapshot needs ---- */

bool op_list(struct machine *machine);
bool op_dict(struct machine *machine);
bool op_drop_to_mark(struct machine *machine, bool keep_opaque);
bool op_pop(struct machine *machine);
bool op_additems(struct machine *machine);
bool op_long4(struct machine *machine);
bool op_proto(struct machine *machine);
bool op_dup(struct machine *machine);
bool op_stop(struct machine *machine);

/* ---- pickle_functions.c: a few harmless functions; all else that would run code is refused by name ---- */

bool op_global(struct machine *machine);
bool op_stack_global(struct machine *machine);
bool op_reduce(struct machine *machine);
bool op_other(struct machine *machine, uint8_t opcode);

/* ---- pickle_cut.c ---- */

/* The root of a truncated pickle, for snapshot_finish. False: none, or an error. */
bool cut_root(struct machine *machine, struct value *root);
