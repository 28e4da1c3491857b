/* A small JSON file as a tree of cJSON. */
#ifndef STRATA_CLI_JSON_FILE_H
#define STRATA_CLI_JSON_FILE_H

#include <cjson/cJSON.h>

/* NULL: not there, larger than 64 MiB, not JSON, or no memory; nothing is printed. Delete it with cJSON_Delete. */
cJSON *json_file_read(const char *path);

#endif
