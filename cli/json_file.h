/* A small JSON file as a tree of cJSON. */
#ifndef STRATA_CLI_JSON_FILE_H
#define STRATA_CLI_JSON_FILE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* NULL: not there, no plain file (a pipe is not waited for), larger than 64 MiB, not JSON, or a tree that takes more than
 * `memory_nbytes`; nothing is printed. Delete it with cJSON_Delete. Not thread safe. */
cJSON *json_file_read(const char *path, size_t memory_nbytes);

#endif
