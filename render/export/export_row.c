/* Makes of an allocation the row that CSV and SQLite write. */
#include "render/export/export_parts.h"

#include <inttypes.h>
#include <stdio.h>

/* Finds the span in which an allocation was made. The spans do not overlap and have rising begins; `*next` is the first
 * that begins later. */
static const struct span *span_at(const struct spans *spans, uint32_t *next, uint32_t birth) {
    while (*next < spans->count && spans->span[*next].kind != SPAN_ANNOTATION &&
           spans->span[*next].from_moment <= birth)
        ++*next;
    const struct span *span = *next != 0 ? &spans->span[*next - 1] : NULL;
    return span != NULL && birth <= span->to_moment ? span : NULL;
}

static void row_times(struct export_row *row, const struct export_device *device, uint32_t allocation) {
    const struct allocations *allocations = &device->device->allocations;
    const int64_t *time_us = device->device->time_us;
    uint32_t birth = allocations->birth[allocation], death = allocations->death[allocation];
    bool freed = death <= device->device->n_events;
    row->older = birth == 0;
    row->alloc_event = row->older ? EXPORT_NO_EVENT : export_event(birth);
    row->free_event = freed ? export_event(death) : EXPORT_NO_EVENT;
    row->timed = time_us != NULL;
    row->alloc_us = row->timed && !row->older ? time_us[birth - 1] : 0;
    row->free_us = row->timed && freed && death > 0 ? time_us[death - 1] : 0;
}

static void row_pool(struct export_row *row, const struct device_trace *device, uint16_t pool) {
    const struct pool_id *id = &device->pools[pool];
    row->pool[0] = '\0';
    if (pool == POOL_DEFAULT)
        snprintf(row->pool, sizeof row->pool, "default");
    else if (pool != POOL_UNKNOWN)
        snprintf(row->pool, sizeof row->pool, "%" PRIu64 ",%" PRIu64, id->first, id->second);
}

static void row_where(struct export_row *row, const struct export_device *device, uint32_t allocation) {
    const struct allocations *allocations = &device->device->allocations;
    row->bytes = allocations->size[allocation];
    row->address = allocations->address[allocation];
    row->address_text[0] = '\0';
    if (row->address != 0)
        snprintf(row->address_text, sizeof row->address_text, "0x%" PRIx64, row->address);
    row->stream = allocations->stream[allocation];
    row_pool(row, device->device, allocations->pool[allocation]);
}

static void row_meaning(struct export_row *row, struct export_rows *rows, uint32_t allocation) {
    const struct verdicts *verdicts = &rows->device->verdicts;
    const struct allocations *allocations = &rows->device->device->allocations;
    uint32_t birth = allocations->birth[allocation];
    const struct span *step = row->older ? NULL : span_at(&verdicts->steps, &rows->step, birth);
    const struct span *phase = row->older ? NULL : span_at(&verdicts->phases, &rows->phase, birth);
    row->category = category_label[verdicts->category[allocation]].name;
    row->step = step != NULL ? turns_number(&verdicts->turns, step->step) : EXPORT_NO_STEP;
    row->phase = phase != NULL ? span_kind_name[phase->kind] : NULL;
    row->stack = allocations->stack[allocation];
    row->site = rows->device->timeline.site[row->stack];
}

bool export_rows_next(struct export_rows *rows, struct export_row *row) {
    const struct allocations *allocations = &rows->device->device->allocations;
    while (rows->next < allocations->count && !export_keeps(rows->device, rows->next))
        rows->next++;
    if (rows->next >= allocations->count)
        return false;
    uint32_t allocation = rows->next++;
    row->id = rows->device->first_id + allocation;
    row_times(row, rows->device, allocation);
    row_where(row, rows->device, allocation);
    row_meaning(row, rows, allocation);
    return true;
}
