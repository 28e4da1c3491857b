/* A small JSON file as a tree of cJSON. */
#pragma once

#include "base/arena.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/* The fault of a file's content, with its offset. */
struct json_fault {
    char text[160]; /* ": the key \"files\" is there twice (offset 12)"; "": it is not that */
};

/* NULL: not there, not a plain file (a pipe is not waited for), larger than 64 MiB, not JSON to the letter of RFC 8259, with
 * a key twice in one object, or a tree that takes more than `memory_nbytes`; nothing is printed; errno is then ENOMEM
 * where there was no memory, another error where the file could not be opened or read, E2BIG for the limit, and 0 for what the
 * file says, which `fault` (NULL: not asked) names. Delete it with cJSON_Delete. Not thread safe. O(n log n). */
cJSON *json_file_read(const char *path, size_t memory_nbytes, struct json_fault *fault);

/* A member of an object; NULL: none. */
static inline cJSON *json_member(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Members of an object; `missing` if there is none of this name and kind, and for numbers beyond 2^62. */
int64_t json_file_number(const cJSON *object, const char *name, int64_t missing);
const char *json_file_text(const cJSON *object, const char *name, const char *missing);

/* A copy of a text that outlives the tree; "" of NULL. NULL: no memory. */
const char *json_file_keep(struct arena *arena, const char *text);
