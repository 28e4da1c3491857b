/* What a device's peak consists of, as a sentence and its figures: the peak's phase, all categories alive in it,
 * and the most that one finding can save. Freestanding. */
#pragma once

#include "analysis/findings/verdicts.h"

enum peak_phase { PEAK_FORWARD, PEAK_BACKWARD, PEAK_OPTIMIZER, PEAK_OTHER, PEAK_BEFORE, PEAK_UNKNOWN };

struct peak_made {
    enum peak_phase phase;
    uint32_t n_parts;
    struct {
        uint8_t category;
        uint64_t bytes;
    } part[CATEGORY_COUNT]; /* by falling bytes, then by name; they add up to the peak */
    /* one of the verdicts' findings, not a sum, because savings overlap; NULL: none */
    const struct finding *avoidable;
};

/* "before the first event", for JSON. */
extern const char *const peak_phase_name[]; /* by enum peak_phase */

/* O(allocations). */
void peak_made_of(struct peak_made *made, const struct verdicts *verdicts);

/* The sentences, into `text`, cut at capacity - 1 bytes and always terminated. Returns the full length. */
uint32_t peak_made_text(const struct peak_made *made, const struct verdicts *verdicts, char *text,
                        uint32_t capacity);
