/* A map in characters of the allocator's state when most was reserved. Private to the report. */
#pragma once

#include "render/report/report_parts.h"
#include "render/report/report_sheet.h"

/* No rows if less than a twentieth of the reserved memory is free. O(blocks). */
void report_map_make(struct report_map *map, const struct held *held);

/* Nothing without rows. */
void report_map_write(struct sheet *sheet, const struct report_map *map);
