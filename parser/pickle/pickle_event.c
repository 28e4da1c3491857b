/*
 * Reads events fast. A list of events is millions of small dicts with the same keys in the same order, so each is
 * read straight into a struct event. An event with the same layout as one before is recognised as a whole. Otherwise
 * its keys are compared one by one with the recipe of the event before, and its layout is learnt.
 *
 * The result equals that of the general machine (tests/unit/parser/pickle_fast_test.c and tests/fuzz read inputs both
 * ways). Only the memo changes before an event is complete; if something unexpected comes, the memo is cut back and
 * pickle_dict.c reads the event from its beginning.
 */
#include "parser/pickle/pickle_machine.h"

#include "base/bytes.h"
#include "parser/keys.h"

#include <stddef.h>

/* Room for every pair of an event that has at most one list of frames: 24 keys of 5 bytes with values of at most 14. */
enum { EVENT_NBYTES = 512, LONGEST_SHORT_TEXT = 8 };
_Static_assert(EVENT_NBYTES > MAX_DICT_PAIRS * (5 + 14), "a whole event is at hand");

/* ---- values: each returns the place of the next opcode; NULL: something else, or an error ---- */

static inline const uint8_t *integer_take(const uint8_t *p, uint64_t *bits) {
    struct integer_form form;
    if (!integer_form(p, &form))
        return NULL;
    *bits = integer_of(&form, p);
    return p + form.nbytes;
}

/* The bits of a value with this tag that is in the memo. */
static inline const uint8_t *known_take(const struct machine *machine, const uint8_t *p, enum value_tag tag,
                                        uint32_t *bits) {
    bool is_short = *p == 'h';
    uint32_t index = is_short ? p[1] : load_u32(p + 1);
    if ((!is_short && *p != 'j') || index >= machine->memo.count ||
        memo_tag(machine->memo.entry[index]) != (unsigned)tag)
        return NULL;
    *bits = memo_bits(machine->memo.entry[index]);
    return p + (is_short ? 2 : 5);
}

static inline const uint8_t *word_take(struct machine *machine, const uint8_t *p, uint32_t *string) {
    if (*p != 0x8c)
        return known_take(machine, p, VALUE_STRING, string);
    struct value value;
    const uint8_t *next = p[1] <= LONGEST_SHORT_TEXT ? text_take(machine, p, &value) : NULL;
    *string = next == NULL ? 0 : (uint32_t)value.bits;
    return next;
}

/* A list of frames, or a reference to one in the memo. The next opcode must be available too. */
static inline const uint8_t *frames_take(struct machine *machine, const uint8_t *p, uint32_t *stack) {
    if (*p != ']')
        return known_take(machine, p, VALUE_STACK, stack);
    const uint8_t *next = p[1] == 0x94 && p[2] == '(' ? list_take(machine, p + 3, stack) : NULL;
    return next != NULL && machine->cursor->end - next >= EVENT_NBYTES &&
                   memo_append(machine, VALUE_STACK, *stack)
               ? next
               : NULL;
}

static const uint8_t *pool_take(struct machine *machine, const uint8_t *p, struct event *event) {
    struct value value = {0};
    uint32_t pair = 0;
    const uint8_t *next =
        *p == 'K' ? pair_take(machine, p, &value) : known_take(machine, p, VALUE_PAIR, &pair);
    if (next != NULL)
        event->pool = machine->snapshot.pairs.row[*p == 'K' ? value.bits : pair];
    return next;
}

/* How a value is read. All but KIND_OTHER have a place in a draft. */
enum kind { KIND_OTHER, KIND_FRAMES, KIND_WORD, KIND_TEXT, KIND_INTEGER };

/* The kind of a key's value, and where a draft keeps it. KIND_OTHER: a draft does not keep it. */
static enum kind key_kind(uint8_t key, size_t *place) {
    switch (key) {
    case KEY_ADDR: *place = offsetof(struct event_draft, event.address); return KIND_INTEGER;
    case KEY_SIZE: *place = offsetof(struct event_draft, event.size); return KIND_INTEGER;
    case KEY_STREAM: *place = offsetof(struct event_draft, event.stream); return KIND_INTEGER;
    case KEY_TIME_US: *place = offsetof(struct event_draft, event.time_us); return KIND_INTEGER;
    case KEY_DEVICE_FREE: *place = offsetof(struct event_draft, device_free); return KIND_INTEGER;
    case KEY_ACTION: *place = offsetof(struct event_draft, action); return KIND_WORD;
    case KEY_COMPILE_CONTEXT:
        *place = offsetof(struct event_draft, context.compile_context);
        return KIND_WORD;
    case KEY_USER_METADATA: *place = offsetof(struct event_draft, context.user_metadata); return KIND_WORD;
    case KEY_CATEGORY: *place = offsetof(struct event_draft, context.category); return KIND_WORD;
    case KEY_FRAMES: *place = offsetof(struct event_draft, event.stack); return KIND_FRAMES;
    default: *place = 0; return KIND_OTHER;
    }
}

static inline void draft_set(struct event_draft *draft, size_t place, const void *value, size_t nbytes) {
    bytes_copy((uint8_t *)draft + place, value, nbytes);
}

/* The value of `key` at `p`, however it is written. */
static const uint8_t *value_take(struct machine *machine, uint8_t key, const uint8_t *p,
                                 struct event_draft *draft) {
    size_t place;
    uint64_t bits = 0;
    uint32_t id = 0;
    enum kind kind = key_kind(key, &place);
    if (kind == KIND_OTHER)
        return key == KEY_POOL_ID ? pool_take(machine, p, &draft->event) : NULL;
    const uint8_t *next = kind == KIND_INTEGER  ? integer_take(p, &bits)
                          : kind == KIND_FRAMES ? frames_take(machine, p, &id)
                                                : word_take(machine, p, &id);
    if (next != NULL && kind == KIND_INTEGER)
        draft_set(draft, place, &bits, sizeof bits);
    else if (next != NULL)
        draft_set(draft, place, &id, sizeof id);
    return next;
}

/* ---- the recipe ---- */

/* Makes a step that recognises the opcode of an integer together with its key. False: the value is not an integer. */
static bool step_learn_integer(struct event_step *step, const uint8_t *p) {
    if (!integer_form(p + step->key_nbytes, &step->form))
        return false;
    step->kind = KIND_INTEGER;
    step->mask = step->key_mask | step->form.opcode_mask << 8 * step->key_nbytes;
    step->opcodes = load_u64(p) & step->mask;
    step->form.at = (uint8_t)(step->form.at + step->key_nbytes);
    step->form.nbytes = (uint8_t)(step->form.nbytes + step->key_nbytes);
    return true;
}

/* Makes a step that recognises a short text together with its key: every event of a program that is not compiled has
 * the text "N/A". */
static void step_learn_text(struct machine *machine, struct event_step *step, const uint8_t *p) {
    const uint8_t *value = p + step->key_nbytes;
    if (*value == 'h' || *value == 'j')
        step->kind = KIND_WORD;
    if (*value != 0x8c || value[1] == 0 || value[1] > 5 || value[2 + value[1]] != 0x94 ||
        !short_text_intern(machine, value + 2, value[1], &step->string))
        return;
    step->kind = KIND_TEXT;
    step->form.mask = UINT64_MAX >> 8 * (5 - value[1]);
    step->form.nbytes = (uint8_t)(step->key_nbytes + value[1] + 3);
    step->text = load_u64(value) & step->form.mask;
}

/* Makes step `n` of the pair at `p`. False: the key is not known, or the event has it already. */
static bool step_learn(struct machine *machine, const uint8_t *p, uint32_t n) {
    struct event_recipe *recipe = &machine->event_recipe;
    struct dict_step key;
    recipe->count = n;
    uint64_t others = n == 0 ? 0 : recipe->step[n - 1].keys;
    if (n == MAX_DICT_PAIRS || !key_find(machine, p, &key) || (others >> key.key & 1) != 0)
        return false;
    struct event_step *step = &recipe->step[n];
    *step = (struct event_step){.opcodes = key.opcode,
                                .mask = key.opcode_mask,
                                .key_mask = key.opcode_mask,
                                .keys = others | UINT64_C(1) << key.key,
                                .key = key.key,
                                .key_nbytes = key.nbytes};
    size_t place;
    enum kind kind = key_kind(key.key, &place);
    step->place = (uint8_t)place;
    if (kind == KIND_FRAMES)
        step->kind = KIND_FRAMES;
    else if (kind == KIND_INTEGER)
        (void)step_learn_integer(step, p);
    else if (kind == KIND_WORD)
        step_learn_text(machine, step, p);
    recipe->count = n + 1;
    return true;
}

/* Reads the pair at `p`, which is not written as in step `n`: its value or its key is another. */
static const uint8_t *pair_take_other(struct machine *machine, const uint8_t *p, uint32_t n,
                                      struct event_draft *draft) {
    const struct event_recipe *recipe = &machine->event_recipe;
    const struct event_step *step = &recipe->step[n];
    bool known = n < recipe->count && ((load_u64(p) ^ step->opcodes) & step->key_mask) == 0;
    return known || step_learn(machine, p, n) ? value_take(machine, step->key, p + step->key_nbytes, draft)
                                              : NULL;
}

/* Is the text at `p` that of the step? */
static inline bool text_follow(struct machine *machine, const struct event_step *step, const uint8_t *p) {
    return (load_u64(p + step->key_nbytes) & step->form.mask) == step->text &&
           memo_append(machine, VALUE_STRING, step->string);
}

/* Reads the pair at `p`, if it is written as in `step`. NULL: it is not, or an error. */
static inline const uint8_t *pair_follow(struct machine *machine, const uint8_t *p, struct event_step *step,
                                         struct event_draft *draft) {
    uint64_t bits, other = load_u64(p) ^ step->opcodes;
    uint32_t id;
    if ((other & step->mask) != 0 && ((other & step->key_mask) != 0 || !step_learn_integer(step, p)))
        return NULL;
    if (step->kind == KIND_INTEGER) { /* the most frequent, so tested first */
        bits = integer_of(&step->form, p);
        draft_set(draft, step->place, &bits, sizeof bits);
        return p + step->form.nbytes;
    }
    if (step->kind == KIND_WORD) {
        p = known_take(machine, p + step->key_nbytes, VALUE_STRING, &id);
    } else if (step->kind == KIND_TEXT) {
        id = step->string;
        p = text_follow(machine, step, p) ? p + step->form.nbytes : NULL;
    } else {
        p = step->kind == KIND_FRAMES ? frames_take(machine, p + step->key_nbytes, &id) : NULL;
    }
    if (p != NULL)
        draft_set(draft, step->place, &id, sizeof id);
    return p;
}

/* Reads pairs as long as they follow the recipe, from step `*n` on. */
static inline const uint8_t *pairs_follow(struct machine *machine, const uint8_t *p, uint32_t *n,
                                          struct event_draft *draft) {
    struct event_recipe *recipe = &machine->event_recipe;
    struct event_step *step = &recipe->step[*n], *end = &recipe->step[recipe->count];
    for (; step < end; step++) {
        const uint8_t *next = pair_follow(machine, p, step, draft);
        if (next == NULL)
            break;
        p = next;
    }
    *n = (uint32_t)(step - recipe->step);
    return p;
}

/* Reads all pairs from `p` on and returns the place of the SETITEMS after them; NULL: something else, or an error. */
static const uint8_t *fields_take(struct machine *machine, const uint8_t *p, struct event_draft *draft) {
    uint32_t n = 0;
    for (p = pairs_follow(machine, p, &n, draft); *p != 'u'; p = pairs_follow(machine, p, &n, draft)) {
        p = pair_take_other(machine, p, n++, draft);
        if (p == NULL)
            return NULL;
    }
    uint64_t keys = n == 0 ? 0 : machine->event_recipe.step[n - 1].keys;
    draft->event.has_time = keys >> KEY_TIME_US & 1;
    draft->event.has_pool = keys >> KEY_POOL_ID & 1;
    return keys >> KEY_ACTION & 1 ? p : NULL;
}

static bool event_finish(struct machine *machine, struct event_draft *draft) {
    struct event *event = &draft->event;
    event->action = snapshot_action(draft->action);
    event->address = event->action == ACTION_OOM ? draft->device_free : event->address;
    event->size = event->size <= INT64_MAX ? event->size : 0;
    event->context = 0;
    return (event->action != ACTION_ALLOC && event->action != ACTION_ANNOTATE) ||
           snapshot_context(&machine->snapshot, draft->context, &event->context);
}

/* ---- layouts ---- */

typedef uint64_t u64x2 __attribute__((vector_size(16)));

static inline u64x2 u64x2_load(const uint8_t *from) {
    u64x2 lanes;
    bytes_copy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline bool layout_fits(const struct event_layout *layout, const uint8_t *p) {
    u64x2 other = {0, 0};
    for (size_t i = 0; i < LAYOUT_NBYTES; i += sizeof other)
        other |= (u64x2_load(p + i) ^ u64x2_load(layout->fixed + i)) & u64x2_load(layout->mask + i);
    return (other[0] | other[1]) == 0;
}

void layouts_forget(struct machine *machine) {
    struct event_layouts *layouts = &machine->layouts;
    uint64_t n_missed = layouts->n_missed;
    *layouts = (struct event_layouts){.n_missed = n_missed};
    layouts->row[0].mask[0] = 1; /* 0 is no EMPTY_DICT, so no event has this layout */
}

/* The layout that was guessed is not the one that was found. From now on the first byte in which the two differ
 * chooses between them. */
static void layouts_tell_apart(struct event_layouts *layouts, uint32_t guessed, uint32_t found) {
    const struct event_layout *a = &layouts->row[guessed], *b = &layouts->row[found];
    uint32_t at = 0;
    while (at < LAYOUT_NBYTES && ((a->fixed[at] ^ b->fixed[at]) & a->mask[at] & b->mask[at]) == 0)
        at++;
    if (at == LAYOUT_NBYTES)
        return;
    layouts->guess_at = (uint8_t)at;
    for (uint32_t row = 0; row < layouts->count; row++)
        layouts->guess[layouts->row[row].fixed[at]] = (uint8_t)row;
    layouts->guess[b->fixed[at]] = (uint8_t)found;
}

static inline const struct event_layout *layout_guess(const struct machine *machine, const uint8_t *p) {
    return &machine->layouts.row[machine->layouts.guess[p[machine->layouts.guess_at]]];
}

/* Searches all known layouts for that of the event at `p`. NULL: it has none of them. */
static const struct event_layout *layout_find(struct machine *machine, const uint8_t *p) {
    struct event_layouts *layouts = &machine->layouts;
    for (uint32_t i = 0; i < layouts->count; i++)
        if (layout_fits(&layouts->row[i], p)) {
            layouts_tell_apart(layouts, layouts->guess[p[layouts->guess_at]], i);
            return &layouts->row[i];
        }
    return NULL;
}

/* Reads the event at `p`, which has this layout, up to its SETITEMS. NULL: its action or its frames do not fit the
 * layout, the memo must grow, or an error. */
static inline const uint8_t *layout_take(struct machine *machine, const struct event_layout *layout,
                                         const uint8_t *p, const struct recorder *recorder,
                                         struct event_draft *draft) {
    struct memo *memo = &machine->memo;
    *draft = layout->draft;
    for (uint32_t i = 0; i < layout->n_numbers; i++) {
        uint64_t bits = integer_of(&layout->number[i].form, p);
        draft_set(draft, layout->number[i].place, &bits, sizeof bits);
    }
    recorder_expect(recorder, draft->event.address);
    if (memo->capacity - memo->count < LAYOUT_MEMO ||
        known_take(machine, p + layout->action_at, VALUE_STRING, &draft->action) == NULL)
        return NULL;
    bytes_copy(&memo->entry[memo->count], layout->memo, sizeof layout->memo);
    memo->count += layout->n_memo;
    p += layout->nbytes;
    return layout->has_frames ? frames_take(machine, p, &draft->event.stack) : p;
}

/* Adds the pair at `p`, which the recipe's `step` has just read. False: it may be written otherwise the next time. */
static bool layout_add(struct event_layout *layout, const struct event_step *step, const uint8_t *p) {
    uint32_t n_fixed = step->key_nbytes, nbytes = step->form.nbytes;
    if (((load_u64(p) ^ step->opcodes) & step->mask) != 0)
        return false;
    if (step->kind == KIND_INTEGER) {
        if (layout->n_numbers == LAYOUT_NUMBERS)
            return false;
        struct layout_number *number = &layout->number[layout->n_numbers++];
        *number = (struct layout_number){step->form, step->place};
        number->form.at = (uint8_t)(step->form.at + layout->nbytes);
        n_fixed = step->form.at;
    } else if (step->kind == KIND_TEXT) {
        if (layout->n_memo == LAYOUT_MEMO || (load_u64(p + n_fixed) & step->form.mask) != step->text)
            return false;
        layout->memo[layout->n_memo++] = memo_entry(VALUE_STRING, step->string);
        n_fixed = nbytes;
    } else if (step->kind == KIND_WORD) {
        nbytes = n_fixed + (p[n_fixed] == 'h' ? 2 : 5);
        if (p[n_fixed] != 'h' && p[n_fixed] != 'j')
            return false;
        if (step->key == KEY_ACTION)
            layout->action_at = (uint8_t)(layout->nbytes + n_fixed);
        n_fixed = step->key == KEY_ACTION ? n_fixed + 1 : nbytes;
    } else {
        layout->has_frames = step->kind == KIND_FRAMES;
        nbytes = n_fixed;
    }
    for (uint32_t i = 0; i < n_fixed; i++)
        layout->mask[layout->nbytes + i] = 0xFF;
    layout->nbytes = (uint8_t)(layout->nbytes + nbytes);
    return step->kind != KIND_OTHER;
}

/* Counts an event that no layout fits. False: too many of the events fit none, so learning this one would not pay. */
static bool layouts_miss(struct machine *machine) {
    enum { MISSES_AT_FIRST = 64, EVENTS_PER_MISS = 4 };
    struct event_layouts *layouts = &machine->layouts;
    bool few = layouts->n_missed <= MISSES_AT_FIRST + machine->snapshot.n_events / EVENTS_PER_MISS;
    layouts->n_missed += few;
    if (!few && layouts->count != 0)
        layouts_forget(machine);
    return few;
}

/* Learns the layout of the event at `p`, which was just read by the recipe. */
static void layout_learn(struct machine *machine, const uint8_t *p, const struct event_draft *draft) {
    enum { LONGEST_PAIR = 5 + 10 };
    struct event_layouts *layouts = &machine->layouts;
    struct event_layout layout = {.mask = {0xFF, 0xFF, 0xFF},
                                  .draft = *draft,
                                  .memo = {memo_entry(VALUE_SPENT, 0)},
                                  .n_memo = 1,
                                  .nbytes = 3};
    const struct event_step *step = machine->event_recipe.step;
    for (; !layout.has_frames && p[layout.nbytes] != 'u'; step++)
        if (layout.nbytes > LAYOUT_NBYTES - LONGEST_PAIR || !layout_add(&layout, step, p + layout.nbytes))
            return;
    if (layout.action_at == 0)
        return;
    for (uint32_t i = 0; i < LAYOUT_NBYTES; i++)
        layout.fixed[i] = p[i] & layout.mask[i];
    uint32_t at = (uint32_t)(layouts->n_missed % MAX_LAYOUTS);
    if (layouts->count < MAX_LAYOUTS)
        at = layouts->count++;
    layouts->row[at] = layout;
    layouts_tell_apart(layouts, layouts->guess[p[layouts->guess_at]], at);
}

/* ---- events ---- */

/* The event at `p` up to its SETITEMS, with this layout. NULL: something else, the memo is as it was, or an error. */
static inline const uint8_t *draft_take(struct machine *machine, const struct event_layout *layout,
                                        const uint8_t *p, const struct recorder *recorder,
                                        struct event_draft *draft) {
    uint32_t n_memo = machine->memo.count;
    const uint8_t *end = layout_take(machine, layout, p, recorder, draft);
    if (end != NULL && *end == 'u' && !is_about_top(end[1]))
        return end;
    machine->memo.count = n_memo;
    return NULL;
}

/* The same for an event that does not have the guessed layout: by another layout, or else by its keys. */
static __attribute__((noinline)) const uint8_t *draft_take_other(struct machine *machine, const uint8_t *p,
                                                                 const struct recorder *recorder,
                                                                 struct event_draft *draft) {
    const enum read_code *code = &machine->cursor->error->code;
    const struct event_layout *layout = *code == READ_OK ? layout_find(machine, p) : NULL;
    const uint8_t *end = layout != NULL ? draft_take(machine, layout, p, recorder, draft) : NULL;
    if (end != NULL || *code != READ_OK)
        return end;
    uint32_t n_memo = machine->memo.count;
    *draft = (struct event_draft){.action = 0};
    end = memo_append(machine, VALUE_SPENT, 0) ? fields_take(machine, p + 3, draft) : NULL;
    if (end == NULL || *code != READ_OK || is_about_top(end[1])) {
        machine->memo.count = n_memo;
        return NULL;
    }
    if (layouts_miss(machine) && layout == NULL)
        layout_learn(machine, p, draft);
    return end;
}

/* Reads and records the event whose EMPTY_DICT is at `p`. NULL: nothing was changed, or an error. */
static inline const uint8_t *event_take(struct machine *machine, const uint8_t *p,
                                        struct recorder *recorder) {
    struct event_draft draft;
    const struct event_layout *layout = layout_guess(machine, p);
    const uint8_t *end = layout_fits(layout, p) ? draft_take(machine, layout, p, recorder, &draft) : NULL;
    if (end == NULL)
        end = draft_take_other(machine, p, recorder, &draft);
    if (end == NULL)
        return NULL;
    if (!event_finish(machine, &draft) || !recorder_event(recorder, &draft.event)) {
        machine_fail_memory(machine);
        return NULL;
    }
    machine->snapshot.n_events++;
    return end + 1;
}

bool events_take(struct machine *machine) {
    struct cursor *cursor = machine->cursor;
    struct value *list = machine_top(machine);
    if (list->tag != VALUE_EVENTS || machine->n_marks == 0 ||
        machine->mark[machine->n_marks - 1] != machine->n_stack)
        return true;
    struct recorder *recorder = &machine->snapshot.recorders.row[list->bits];
    while (cursor->end - cursor->p >= EVENT_NBYTES && dict_begins(cursor->p)) {
        machine->opcode_offset = cursor_offset(cursor);
        const uint8_t *next = event_take(machine, cursor->p, recorder);
        if (next == NULL)
            break;
        cursor->p = next;
    }
    cursor->n_events = machine->snapshot.n_events;
    return cursor->error->code == READ_OK;
}
