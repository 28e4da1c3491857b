/* Draws in characters the allocator's state when most was reserved. Private to the report. */
#pragma once

#include "render/report/report_parts.h"
#include "render/report/report_sheet.h"

/* Makes the map. It has no rows if less than a twentieth of the reserved memory is free. O(blocks). */
void report_map_make(struct report_map *map, const struct held *held);

/* Writes the map; nothing if it has no rows. */
void report_map_write(struct sheet *sheet, const struct report_map *map);
