/*
 * Wholly free segments are a cache, not fragmentation: the allocator gives them back before a request fails. Of
 * three moments (most reserved, most live, the end) the one with the largest gap decides.
 *
 * cached_free: figure [0] bytes of segments without anything in use, [1] reserved.
 */
#include "analysis/findings/finder.h"

#include "analysis/model/fragmentation.h"

static uint32_t largest_gap(const struct timeline *timeline) {
    const uint32_t moments[] = {timeline->reserved_peak_moment, timeline->peak_moment,
                                timeline->n_moments - 1};
    uint64_t most = 0;
    uint32_t best = moments[0];
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t reserved = timeline_reserved_at(timeline, moments[i]), live = timeline->live[moments[i]];
        if (reserved <= live || reserved - live <= most)
            continue;
        most = reserved - live;
        best = moments[i];
    }
    return best;
}

bool finder_gap(struct finder *finder, struct fragmentation *gap) {
    const struct timeline *timeline = finder->timeline;
    struct segments segments;
    if (segments_refusal(timeline->trace, timeline->device) != NULL || finder->allocations->count == 0)
        return false;
    if (!segments_init(&segments, timeline->device, finder->arena) ||
        !fragmentation_find(gap, timeline, &segments, NULL, largest_gap(timeline), finder->arena)) {
        finder->failed = true;
        return false;
    }
    ARENA_DROP(finder->arena, segments.piece);
    return true;
}

void finding_cached_free_find(struct finder *finder) {
    const struct finding *cached = &finder->cached;
    if (cached->figure[0] != 0)
        finder_add(finder, cached);
}

void finding_cached_free_title(struct telling *telling) {
    TELL(telling, "%b were reserved and wholly free: a cache, not fragmentation",
         telling->finding->figure[0]);
}

void finding_cached_free_detail(struct telling *telling) {
    const struct finding *finding = telling->finding;
    TELL(telling, "They are empty segments, of %b that were reserved ", finding->figure[1]);
    if (finding->at_moment == 0)
        tell(telling, "before the first event.");
    else
        TELL(telling, "after event %n.", finding->at_moment - 1);
}
