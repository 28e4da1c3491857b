/* A small JSON file as a tree of cJSON. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

/* The fault of a file's content, and its place. */
struct json_fault {
    char text[160]; /* ": the key \"files\" is there twice (offset 12)"; "": the content is not at fault */
};

/* Reads a file; delete the tree with cJSON_Delete. Prints nothing. NULL: the file is missing, unreadable, not a plain
 * file (it never waits for a pipe), larger than 64 MiB, not strictly JSON (RFC 8259), has a key twice in one object,
 * or its tree needs more than `memory_nbytes`. errno is then ENOMEM without memory, E2BIG for the limit, 0 for faulty
 * content (which `fault`, unless NULL, names), or why the file cannot be opened or read. Not thread safe.
 * O(n log n). */
cJSON *json_file_read(const char *path, size_t memory_nbytes, struct json_fault *fault);

/* A member of an object; NULL: none. */
static inline cJSON *json_member(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* The member `name` as a number or text; `missing` if there is none of that kind, or the number is beyond 2^62. */
int64_t json_file_number(const cJSON *object, const char *name, int64_t missing);

/* An item as a whole number within bounds: clamped to them; `least` if it is no number. */
int64_t json_file_bounded(const cJSON *item, int64_t least, int64_t most);
const char *json_file_text(const cJSON *object, const char *name, const char *missing);
