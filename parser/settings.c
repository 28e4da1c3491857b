#include "parser/settings.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits; what exceeds them becomes null. Real settings have some twenty keys, but a few bytes of pickle can refer
 * any number of times to one long string, or to one list of lists. */
enum { MAX_DEPTH = 32, MAX_ITEMS = 1000, MAX_TEXT_NBYTES = 1 << 20 };

struct spent {
    uint32_t n_items;
    size_t nbytes;       /* of strings */
    uint64_t n_compared; /* keys, each compared with those before it in its dict */
};

/* NULL: no memory. */
static cJSON *json_of(struct snapshot *snapshot, const struct value *value, int depth, struct spent *spent);

static cJSON *json_of_string(const struct snapshot *snapshot, uint32_t id, struct spent *spent) {
    uint32_t nbytes;
    const uint8_t *bytes = trace_string(snapshot->trace, id, &nbytes);
    if (nbytes > MAX_TEXT_NBYTES - spent->nbytes)
        return cJSON_CreateNull();
    spent->nbytes += nbytes;
    char *text = strndup((const char *)bytes, nbytes);
    cJSON *json = text == NULL ? NULL : cJSON_CreateString(text);
    free(text);
    return json;
}

/* cJSON keeps numbers as doubles; integers are written here so that they stay exact. */
static cJSON *json_of_integer(const struct value *value) {
    char text[32];
    if (value->tag == VALUE_BIG)
        snprintf(text, sizeof text, "%" PRIu64, value->bits);
    else
        snprintf(text, sizeof text, "%" PRId64, (int64_t)value->bits);
    return cJSON_CreateRaw(text);
}

static cJSON *json_of_float(const struct value *value) {
    double number;
    memcpy(&number, &value->bits, sizeof number);
    return cJSON_CreateNumber(number);
}

/* Takes ownership of `child`, which may be NULL. False: no memory. */
static bool item_add(struct snapshot *snapshot, cJSON *parent, const struct node_item *item, cJSON *child,
                     struct spent *spent) {
    bool in_list = item->key.tag == VALUE_NONE, added = false;
    cJSON *key = item->key.tag == VALUE_STRING ? json_of_string(snapshot, (uint32_t)item->key.bits, spent)
                                               : cJSON_CreateNull();
    if (child != NULL && key != NULL && in_list)
        added = cJSON_AddItemToArray(parent, child);
    else if (child != NULL && key != NULL) {
        const char *name = cJSON_IsString(key) ? key->valuestring : "?";
        cJSON_DeleteItemFromObjectCaseSensitive(parent, name);
        added = cJSON_AddItemToObject(parent, name, child);
    }
    if (!added)
        cJSON_Delete(child);
    cJSON_Delete(key);
    return added;
}

static cJSON *json_of_node(struct snapshot *snapshot, const struct value *value, int depth,
                           struct spent *spent) {
    cJSON *json = value->tag == VALUE_DICT ? cJSON_CreateObject() : cJSON_CreateArray();
    uint32_t at = json != NULL ? snapshot->nodes.row[value->bits].first : 0, n = 0;
    for (; at != 0 && ++spent->n_items <= MAX_ITEMS; at = snapshot->items.row[at - 1].next) {
        const struct node_item *item = &snapshot->items.row[at - 1];
        cJSON *child = json_of(snapshot, &item->value, depth + 1, spent);
        spent->n_compared += n++;
        if (!item_add(snapshot, json, item, child, spent)) {
            cJSON_Delete(json);
            return NULL;
        }
    }
    return json;
}

static cJSON *json_of(struct snapshot *snapshot, const struct value *value, int depth, struct spent *spent) {
    if (depth > MAX_DEPTH)
        return cJSON_CreateNull();
    switch (value->tag) {
    case VALUE_BOOL: return cJSON_CreateBool(value->bits != 0);
    case VALUE_INT:
    case VALUE_BIG: return json_of_integer(value);
    case VALUE_FLOAT: return json_of_float(value);
    case VALUE_STRING: return json_of_string(snapshot, (uint32_t)value->bits, spent);
    case VALUE_NEW_LIST: return cJSON_CreateArray();
    case VALUE_NEW_DICT: return cJSON_CreateObject();
    case VALUE_LIST:
    case VALUE_DICT: return json_of_node(snapshot, value, depth, spent);
    default: return cJSON_CreateNull();
    }
}

bool settings_text(struct snapshot *snapshot, const struct value *value, uint32_t *string) {
    struct spent spent = {0};
    *string = 0;
    if (value->tag == VALUE_NONE)
        return true;
    cJSON *json = json_of(snapshot, value, 0, &spent);
    char *text = json == NULL ? NULL : cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    bool done = text != NULL && intern_string(&snapshot->interner, text, strlen(text), string);
    snapshot->made.spent_nbytes += (text != NULL ? strlen(text) : 0) + spent.n_compared;
    cJSON_free(text);
    if (!done && snapshot->error->code == READ_OK) {
        snapshot->error->code = READ_NO_MEMORY;
        snprintf(snapshot->error->message, sizeof snapshot->error->message, "not enough memory");
    }
    return done;
}
