#include "parser/settings.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 32, MAX_ITEMS = 100000 };

static cJSON *json_of(struct snapshot *snapshot, const struct value *value, int depth, uint32_t *n_items);

static cJSON *json_of_string(const struct snapshot *snapshot, uint32_t id) {
    uint32_t nbytes;
    const uint8_t *bytes = trace_string(snapshot->trace, id, &nbytes);
    char *text = strndup((const char *)bytes, nbytes);
    cJSON *json = text == NULL ? NULL : cJSON_CreateString(text);
    free(text);
    return json;
}

/* cJSON keeps numbers as doubles; integers are written by us so that they stay exact. */
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

static void item_add(struct snapshot *snapshot, cJSON *parent, const struct node_item *item, cJSON *child) {
    if (item->key.tag == VALUE_NONE) {
        cJSON_AddItemToArray(parent, child);
        return;
    }
    cJSON *key = item->key.tag == VALUE_STRING ? json_of_string(snapshot, (uint32_t)item->key.bits) : NULL;
    cJSON_DeleteItemFromObjectCaseSensitive(parent, key == NULL ? "?" : key->valuestring);
    cJSON_AddItemToObject(parent, key == NULL ? "?" : key->valuestring, child);
    cJSON_Delete(key);
}

static cJSON *json_of_node(struct snapshot *snapshot, const struct value *value, int depth,
                           uint32_t *n_items) {
    cJSON *json = value->tag == VALUE_DICT ? cJSON_CreateObject() : cJSON_CreateArray();
    uint32_t at = snapshot->nodes.row[value->bits].first;
    for (; at != 0 && ++*n_items <= MAX_ITEMS; at = snapshot->items.row[at - 1].next) {
        const struct node_item *item = &snapshot->items.row[at - 1];
        cJSON *child = json_of(snapshot, &item->value, depth + 1, n_items);
        if (child != NULL)
            item_add(snapshot, json, item, child);
    }
    return json;
}

static cJSON *json_of(struct snapshot *snapshot, const struct value *value, int depth, uint32_t *n_items) {
    if (depth > MAX_DEPTH)
        return cJSON_CreateNull();
    switch (value->tag) {
    case VALUE_BOOL: return cJSON_CreateBool(value->bits != 0);
    case VALUE_INT:
    case VALUE_BIG: return json_of_integer(value);
    case VALUE_FLOAT: return json_of_float(value);
    case VALUE_STRING: return json_of_string(snapshot, (uint32_t)value->bits);
    case VALUE_NEW_LIST: return cJSON_CreateArray();
    case VALUE_NEW_DICT: return cJSON_CreateObject();
    case VALUE_LIST:
    case VALUE_DICT: return json_of_node(snapshot, value, depth, n_items);
    default: return cJSON_CreateNull();
    }
}

bool settings_text(struct snapshot *snapshot, const struct value *value, uint32_t *string) {
    uint32_t n_items = 0;
    *string = 0;
    if (value->tag == VALUE_NONE)
        return true;
    cJSON *json = json_of(snapshot, value, 0, &n_items);
    char *text = json == NULL ? NULL : cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    bool done = text != NULL && intern_string(&snapshot->interner, text, strlen(text), string);
    cJSON_free(text);
    if (!done && snapshot->error->code == READ_OK) {
        snapshot->error->code = READ_NO_MEMORY;
        snprintf(snapshot->error->message, sizeof snapshot->error->message, "not enough memory");
    }
    return done;
}
