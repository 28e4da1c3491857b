/* A sidecar's data about a device beyond the report: the profile by which ranks are compared. docs/cluster.md has its
 * form. */
#pragma once

#include "analysis/compare/index.h"
#include "base/json_writer.h"
#include "cli/batch/batch.h"

#include <cjson/cJSON.h>

/* Adds the members "steps", "calls", "tables" and more to an object. False: no memory. */
bool profile_add(struct json_writer *json, const struct timeline *timeline, struct arena *arena);

/* Reads the profile back. Members that are missing or malformed are left out, and counts are bounded. */
void profile_read(struct index_row *row, const cJSON *device, struct batch *batch);
