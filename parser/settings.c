#include "parser/snapshot_internal.h"

#include "base/json_writer.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits; what exceeds them becomes null. Real settings have some twenty keys, but a few bytes of pickle can refer
 * any number of times to one long string, or to one list of lists. */
enum { MAX_DEPTH = 32, MAX_ITEMS = 1000, MAX_TEXT_NBYTES = 1 << 20 };

struct writing {
    const struct snapshot *snapshot;
    struct buffer out;
    uint32_t n_items;
    size_t nbytes;       /* of strings */
    uint64_t n_compared; /* pairs of keys */
};

static void string_write(struct writing *writing, uint32_t id, const char *otherwise) {
    struct json_writer json = json_writer_of(&writing->out);
    struct text text = trace_text(writing->snapshot->trace, id);
    if (text.nbytes > MAX_TEXT_NBYTES - writing->nbytes) {
        buffer_add_text(&writing->out, otherwise);
        return;
    }
    writing->nbytes += text.nbytes;
    json_string(&json, NULL, text.at, text.nbytes);
}

/* Fifteen digits, or as many as tell the number from its neighbours. */
static void float_write(struct buffer *out, uint64_t bits) {
    double number;
    char text[32];
    memcpy(&number, &bits, sizeof number);
    number += 0.0; /* not -0 */
    snprintf(text, sizeof text, "%1.15g", number);
    if (fabs(strtod(text, NULL) - number) > fabs(number) * DBL_EPSILON)
        snprintf(text, sizeof text, "%1.17g", number);
    buffer_add_text(out, isfinite(number) ? text : "null");
}

/* Does one of the next items replace this one, because it has the same key? Keys that are no strings are all "?". */
static bool is_replaced(struct writing *writing, const struct node_item *item) {
    const struct node_item *later = item_at(writing->snapshot, item->next);
    for (uint32_t n = 0; later != NULL && n < MAX_ITEMS; n++) {
        writing->n_compared++;
        if (later->key.tag == item->key.tag &&
            (item->key.tag != VALUE_STRING || later->key.bits == item->key.bits))
            return true;
        later = item_at(writing->snapshot, later->next);
    }
    return false;
}

static void value_write(struct writing *writing, const struct value *value, int depth);

static void node_write(struct writing *writing, const struct value *value, int depth) {
    bool is_dict = value->tag == VALUE_DICT, first = true;
    buffer_add_text(&writing->out, is_dict ? "{" : "[");
    ITEMS_EACH(writing->snapshot, value) {
        if (++writing->n_items > MAX_ITEMS)
            break;
        if (is_dict && is_replaced(writing, item))
            continue;
        buffer_add_text(&writing->out, first ? "" : ",");
        first = false;
        if (is_dict && item->key.tag == VALUE_STRING)
            string_write(writing, (uint32_t)item->key.bits, "\"?\"");
        else if (is_dict)
            buffer_add_text(&writing->out, "\"?\"");
        buffer_add_text(&writing->out, is_dict ? ":" : "");
        value_write(writing, &item->value, depth + 1);
    }
    buffer_add_text(&writing->out, is_dict ? "}" : "]");
}

static void value_write(struct writing *writing, const struct value *value, int depth) {
    struct buffer *out = &writing->out;
    switch (depth <= MAX_DEPTH ? value->tag : VALUE_NONE) {
    case VALUE_BOOL: buffer_add_text(out, value->bits != 0 ? "true" : "false"); break;
    case VALUE_INT: buffer_printf(out, "%" PRId64, (int64_t)value->bits); break;
    case VALUE_BIG: buffer_printf(out, "%" PRIu64, value->bits); break;
    case VALUE_FLOAT: float_write(out, value->bits); break;
    case VALUE_STRING: string_write(writing, (uint32_t)value->bits, "null"); break;
    case VALUE_NEW_LIST: buffer_add_text(out, "[]"); break;
    case VALUE_NEW_DICT: buffer_add_text(out, "{}"); break;
    case VALUE_LIST:
    case VALUE_DICT: node_write(writing, value, depth); break;
    default: buffer_add_text(out, "null");
    }
}

bool settings_text(struct snapshot *snapshot, const struct value *value, uint32_t *string) {
    struct writing writing = {.snapshot = snapshot, .out.host = arena_share(&snapshot->trace->arena)};
    *string = 0;
    if (value->tag == VALUE_NONE)
        return true;
    value_write(&writing, value, 0);
    bool done = !writing.out.failed &&
                intern_string(&snapshot->interner, writing.out.bytes, writing.out.nbytes, string);
    snapshot->made.spent_nbytes += writing.out.nbytes + writing.n_compared;
    buffer_release(&writing.out);
    return done || snapshot_fail_memory(snapshot);
}
