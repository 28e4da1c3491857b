#include "parser/host_pairs.h"

#include "base/search.h"
#include "base/sort.h"

enum {
    LOOKED_BACK = 256
}; /* allocations of one size before a moment: what is older is no copy of this step */

static int64_t birth_us(const struct device_trace *device, uint32_t allocation) {
    return device->time_us[device->allocations.birth[allocation] - 1];
}

static bool is_in_use(const struct device_trace *device, uint32_t allocation, int64_t us) {
    uint32_t death = device->allocations.death[allocation];
    return death > device->n_events || device->time_us[death - 1] > us;
}

/* `order`: allocations made in the recording, by size, then by birth. */
static bool has_pair(const struct device_trace *device, const struct sort_row *order, uint32_t n,
                     uint64_t size, int64_t us) {
    uint32_t low = 0, high = n;
    SEARCH(low, high, i,
           order[i].key < size || (order[i].key == size && birth_us(device, order[i].value) <= us));
    for (uint32_t back = 0; low > 0 && back < LOOKED_BACK && order[low - 1].key == size; back++, low--)
        if (is_in_use(device, order[low - 1].value, us))
            return true;
    return false;
}

static void pairs_add(const struct device_trace *host, const struct device_trace *device,
                      const struct sort_row *order, uint32_t n, uint64_t *count, uint64_t *nbytes) {
    const struct allocations *allocations = &host->allocations;
    for (uint32_t i = allocations->preexisting; i < allocations->count; i++)
        if (has_pair(device, order, n, allocations->size[i], birth_us(host, i))) {
            *count += 1;
            *nbytes += allocations->size[i];
        }
}

bool host_pairs_count(struct trace *trace, const struct device_trace *host, uint64_t *count,
                      uint64_t *nbytes) {
    *count = *nbytes = 0;
    for (uint32_t d = 0; d < trace->n_devices && host->time_us != NULL; d++) {
        const struct device_trace *device = &trace->devices[d];
        uint32_t first = device->allocations.preexisting, n = device->allocations.count - first;
        if (device->ordinal < 0 || device->time_us == NULL || n == 0)
            continue;
        struct sort_row *order = arena_column(&trace->arena, (uint64_t)n * 2, sizeof *order);
        if (order == NULL)
            return false;
        for (uint32_t i = 0; i < n; i++)
            order[i] = (struct sort_row){device->allocations.size[first + i], first + i};
        sort_rows(order, order + n, n); /* stable: allocations are in the order of birth */
        pairs_add(host, device, order, n, count, nbytes);
        ARENA_DROP(&trace->arena, order);
    }
    return true;
}
