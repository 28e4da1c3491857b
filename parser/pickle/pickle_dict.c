/* Reads whole dicts in one step: nearly all events, blocks and frames of real files. */
#include "parser/pickle/pickle_machine.h"

#include "parser/keys.h"

enum { MAX_PAIR_NBYTES = 2 * 260 }; /* a key and the longest value, a text of 255 bytes */

/* ---- values: each returns the place of the next opcode; NULL: anything else, or an error. What is rare is not
 * inlined, so that the loop over the pairs keeps its registers. ---- */

static inline const uint8_t *scalar_set(struct value *value, enum value_tag tag, uint64_t bits,
                                        const uint8_t *next) {
    *value = (struct value){.tag = (uint8_t)tag, .bits = bits};
    return next;
}

static inline bool short_text_intern(struct machine *machine, const uint8_t *bytes, uint32_t nbytes,
                                     uint32_t *id) {
    uint64_t word = load_u64(bytes) & UINT64_MAX >> 8 * (8 - nbytes);
    struct short_text *cached = &machine->short_text[word * 0x9E3779B97F4A7C15u >> 58];
    if (cached->nbytes == nbytes && cached->bytes == word) {
        *id = cached->string;
        return true;
    }
    if (!intern_string(&machine->snapshot.interner, bytes, nbytes, id))
        return machine_fail_memory(machine);
    *cached = (struct short_text){.bytes = word, .nbytes = nbytes, .string = *id};
    return true;
}

static inline const uint8_t *text_take(struct machine *machine, const uint8_t *p, struct value *value) {
    uint32_t id, nbytes = p[1];
    if (p[2 + nbytes] != 0x94)
        return NULL;
    if (nbytes != 0 && nbytes <= 8) {
        if (!short_text_intern(machine, p + 2, nbytes, &id))
            return NULL;
    } else if (!intern_string(&machine->snapshot.interner, p + 2, nbytes, &id)) {
        machine_fail_memory(machine);
        return NULL;
    }
    return memo_append(machine, VALUE_STRING, id) ? scalar_set(value, VALUE_STRING, id, p + 3 + nbytes)
                                                  : NULL;
}

static inline const uint8_t *stack_take(struct machine *machine, const uint8_t *p, struct value *value) {
    uint32_t stack;
    if (p[1] != 0x94)
        return NULL;
    *value = (struct value){.tag = VALUE_NEW_LIST, .memo = machine->memo.count + 1};
    if (p[2] == 'h' || p[2] == 'j' || p[2] == 'u')
        return memo_append(machine, VALUE_NEW_LIST, 0) ? p + 2 : NULL;
    const uint8_t *next = p[2] == '(' ? list_take(machine, p + 3, &stack) : NULL;
    if (next == NULL || !memo_append(machine, VALUE_STACK, stack))
        return NULL;
    value->tag = VALUE_STACK;
    value->bits = stack;
    return next;
}

static __attribute__((noinline)) const uint8_t *pair_take(struct machine *machine, const uint8_t *p,
                                                          struct value *value) {
    struct value items[2] = {{.tag = VALUE_INT, .bits = p[1]}, {.tag = VALUE_INT, .bits = p[3]}};
    if (p[4] != 0x86 || p[5] != 0x94)
        return NULL;
    if (!snapshot_tuple(&machine->snapshot, items, 2, value)) {
        machine_fail_snapshot(machine);
        return NULL;
    }
    return memo_append(machine, VALUE_PAIR, value->bits) ? p + 6 : NULL;
}

/* A reference to a text, a pool id, a frame or a stack; values that may still change are left to the general
 * machine. */
static inline const uint8_t *reference_take(struct machine *machine, uint32_t index, struct value *value,
                                            const uint8_t *next) {
    if (index >= machine->memo.count || memo_tag(machine->memo.entry[index]) > VALUE_STACK)
        return NULL;
    uint32_t entry = machine->memo.entry[index];
    *value = (struct value){.tag = (uint8_t)memo_tag(entry),
                            .memo = memo_tag(entry) >= VALUE_FRAME ? index + 1 : 0,
                            .bits = memo_bits(entry)};
    return next;
}

/* An integer that is written otherwise than in the dict before. Notes its form in the step of its key. NULL: none. */
static __attribute__((noinline)) const uint8_t *number_take(struct dict_step *step, const uint8_t *p,
                                                            struct value *value) {
    const uint8_t *number = p + step->nbytes;
    struct integer_form form;
    if (!integer_form(number, &form))
        return NULL;
    scalar_set(value, VALUE_INT, integer_of(&form, number), number);
    step->mask = step->key_mask | form.opcode_mask << 8 * step->nbytes;
    step->opcodes = load_u64(p) & step->mask;
    step->form = form;
    step->form.at = (uint8_t)(form.at + step->nbytes);
    step->form.nbytes = (uint8_t)(form.nbytes + step->nbytes);
    return number + form.nbytes;
}

/* One small value, behind the key at `p`. The frequent ones come first and have a branch each: a table of jumps would be
 * one branch for all of them, which is predicted worse. */
static inline const uint8_t *value_take(struct machine *machine, struct dict_step *step, const uint8_t *p,
                                        struct value *value) {
    const uint8_t *at = p + step->nbytes;
    if (*at == 'h')
        return reference_take(machine, at[1], value, at + 2);
    if (*at == 'j')
        return reference_take(machine, load_u32(at + 1), value, at + 5);
    if (*at == 0x8c)
        return text_take(machine, at, value);
    if (*at == ']')
        return stack_take(machine, at, value);
    if (*at == 'K' && at[2] == 'K')
        return pair_take(machine, at, value);
    return number_take(step, p, value);
}

/* ---- keys ---- */

/* Makes step `n` of the recipe from the key at `p` (later ones are forgotten). False: no known key, the dict has it
 * already, or there are too many. */
static __attribute__((noinline)) bool key_learn(struct machine *machine, const uint8_t *p, uint32_t n) {
    struct dict_recipe *recipe = &machine->recipe;
    unsigned nbytes = *p == 'h' ? 2 : 5;
    uint32_t index = *p == 'h' ? p[1] : load_u32(p + 1);
    recipe->count = n;
    if (n == MAX_DICT_PAIRS || (*p != 'h' && *p != 'j') || index >= machine->memo.count)
        return false;
    uint32_t key = machine->memo.entry[index] - memo_entry(VALUE_STRING, 1);
    uint64_t before = n == 0 ? 0 : recipe->step[n - 1].keys, mask = (UINT64_C(1) << 8 * nbytes) - 1;
    if (key > KEY_LAST_KEY || (before >> key & 1) != 0)
        return false;
    recipe->step[recipe->count++] = (struct dict_step){.opcodes = load_u64(p) & mask,
                                                       .key_mask = mask,
                                                       .keys = before | UINT64_C(1) << key,
                                                       .nbytes = (uint8_t)nbytes,
                                                       .key = (uint8_t)key};
    return true;
}

/* Reads pairs of known keys and small values into the snapshot's view of a dict, and leaves the cursor after the last
 * of them. They become the first steps of the recipe. Returns how many there are. */
static uint32_t pairs_take(struct machine *machine, uint64_t *key_mask) {
    struct cursor *cursor = machine->cursor;
    struct dict_recipe *recipe = &machine->recipe;
    struct value *values = machine->snapshot.key_value;
    struct dict_step *step = recipe->step;
    const struct dict_step *known = step + recipe->count;
    const uint8_t *p = cursor->p, *end = cursor->end;
    for (; end - p >= MAX_PAIR_NBYTES; step++) {
        uint64_t other = step < known ? load_u64(p) ^ step->opcodes : UINT64_MAX;
        if ((other & step->mask) == 0 && step->mask != 0) {
            values[step->key] = (struct value){.tag = VALUE_INT, .bits = integer_of(&step->form, p)};
            p += step->form.nbytes;
            continue;
        }
        if ((other & step->key_mask) != 0 || step == known) {
            if (*p == 'u' || !key_learn(machine, p, (uint32_t)(step - recipe->step)))
                break;
            known = step + 1;
        }
        const uint8_t *next = value_take(machine, step, p, &values[step->key]);
        if (next == NULL)
            break;
        p = next;
    }
    cursor->p = p;
    *key_mask = step == recipe->step ? 0 : step[-1].keys;
    return (uint32_t)(step - recipe->step);
}

/* Gives keys and values to the general machine, as if it had read them itself. */
static bool pairs_push(struct machine *machine, uint32_t n_pairs) {
    if (!machine_mark(machine))
        return false;
    for (uint32_t i = 0; i < n_pairs; i++) {
        uint8_t key = machine->recipe.step[i].key;
        if (!machine_push_bits(machine, VALUE_STRING, key + UINT64_C(1)) ||
            !machine_push(machine, machine->snapshot.key_value[key]))
            return false;
    }
    return true;
}

/* The list of events that is open right below the top of the stack, or NULL. */
static struct value *events_below(struct machine *machine) {
    if (machine->n_marks == 0 || machine->n_stack < 2 ||
        machine->mark[machine->n_marks - 1] != machine->n_stack - 1 || top_is_next(machine))
        return NULL;
    struct value *list = machine_top(machine) - 1;
    value_refresh(machine, list);
    return list->tag == VALUE_NEW_LIST || list->tag == VALUE_EVENTS ? list : NULL;
}

/* Records the dict in view as an event of its list, and drops it from the stack. */
static bool event_record(struct machine *machine, struct value *list) {
    const struct value *dict = machine_top(machine);
    enum value_tag before = list->tag;
    if (!snapshot_append_dict(&machine->snapshot, list))
        return machine_fail_snapshot(machine);
    if (dict->memo != 0)
        machine->memo.entry[dict->memo - 1] = memo_entry(VALUE_SPENT, 0); /* it was an empty dict */
    machine->n_stack--;
    machine->cursor->n_events = machine->snapshot.n_events;
    return before == list->tag || memo_update(machine, list);
}

/* SETITEMS of a dict that was read whole. A dict of unknown shape is left to the general machine. */
static bool dict_complete(struct machine *machine, uint64_t mask, uint32_t n_pairs) {
    struct value *dict = machine_top(machine);
    machine->snapshot.key_mask = mask;
    machine->cursor->p++;
    struct value *events = mask >> KEY_ACTION & 1 ? events_below(machine) : NULL;
    if (events != NULL)
        return event_record(machine, events);
    if (!snapshot_shape(&machine->snapshot, dict))
        return machine_fail_snapshot(machine);
    if (dict->tag != VALUE_NEW_DICT)
        return memo_update(machine, dict) && event_pass_on(machine);
    machine->cursor->p--;
    return pairs_push(machine, n_pairs);
}

/* Reads the dict at whose MARK the cursor is. `*whole`: all of it was read. */
static bool dict_take_one(struct machine *machine, bool *whole) {
    struct cursor *cursor = machine->cursor;
    uint64_t mask;
    cursor->p++;
    uint32_t n_pairs = pairs_take(machine, &mask);
    *whole = n_pairs != 0 && cursor->p < cursor->end && *cursor->p == 'u';
    if (cursor->error->code != READ_OK)
        return false;
    return *whole ? dict_complete(machine, mask, n_pairs) : pairs_push(machine, n_pairs);
}

bool dict_take(struct machine *machine) {
    struct cursor *cursor = machine->cursor;
    uint32_t depth = machine->n_stack;
    for (;;) {
        bool whole;
        if (!dict_take_one(machine, &whole))
            return false;
        if (!whole || machine->n_stack != depth - 1)
            return true;
        if (cursor->end - cursor->p < MAX_PAIR_NBYTES || !dict_begins(cursor->p))
            return true;
        machine->opcode_offset = cursor_offset(cursor);
        if (!machine_push(machine, (struct value){.tag = VALUE_NEW_DICT, .memo = machine->memo.count + 1}) ||
            !memo_append(machine, VALUE_NEW_DICT, 0))
            return false;
        cursor->p += 2;
    }
}
