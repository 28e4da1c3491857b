#include "analysis/findings/peak_made.h"

#include "base/numbers.h"
#include "base/text.h"

enum { PARTS_SAID = 3 };

const char *const peak_phase_name[] = {[PEAK_FORWARD] = "forward",
                                       [PEAK_BACKWARD] = "backward",
                                       [PEAK_OPTIMIZER] = "optimizer",
                                       [PEAK_OTHER] = "other",
                                       [PEAK_BEFORE] = "before the first event",
                                       [PEAK_UNKNOWN] = "unknown"};

/* The phase of the last allocation born at or before the peak. */
static enum peak_phase phase_of(const struct verdicts *verdicts) {
    const struct timeline *timeline = verdicts->timeline;
    const struct phase_runs *runs = &verdicts->runs;
    static const uint8_t phases[] = {[PHASE_HOST] = PEAK_OTHER,
                                     [PHASE_FORWARD] = PEAK_FORWARD,
                                     [PHASE_BACKWARD] = PEAK_BACKWARD,
                                     [PHASE_OPTIMIZER] = PEAK_OPTIMIZER,
                                     [PHASE_UNKNOWN] = PEAK_UNKNOWN};
    if (timeline->peak_moment == 0)
        return PEAK_BEFORE;
    uint32_t behind = recorded_from(runs, timeline->peak_moment + 1);
    if (!verdicts->judged.phases || behind == 0)
        return PEAK_UNKNOWN;
    uint8_t letter = runs->letter[runs->first_allocation + behind - 1];
    /* C++ frames do not tell a forward from what the program does itself */
    return runs->stacks == STACKS_NATIVE && letter == PHASE_HOST ? PEAK_UNKNOWN
                                                                 : (enum peak_phase)phases[letter];
}

static void parts_sum(struct peak_made *made, const struct verdicts *verdicts) {
    uint64_t bytes[CATEGORY_COUNT];
    verdicts_categories_at(verdicts, verdicts->timeline->peak_moment, NULL, bytes);
    for (uint32_t category = 0; category < CATEGORY_COUNT; category++) {
        uint32_t at = made->n_parts;
        if (bytes[category] == 0)
            continue;
        for (; at > 0 && (made->part[at - 1].bytes < bytes[category] ||
                          (made->part[at - 1].bytes == bytes[category] &&
                           word_is_before(category_label[category].name,
                                          category_label[made->part[at - 1].category].name)));
             at--)
            made->part[at] = made->part[at - 1];
        made->part[at].category = (uint8_t)category;
        made->part[at].bytes = bytes[category];
        made->n_parts++;
    }
}

void peak_made_of(struct peak_made *made, const struct verdicts *verdicts) {
    *made = (struct peak_made){.phase = phase_of(verdicts)};
    parts_sum(made, verdicts);
    for (uint32_t i = 0; i < verdicts->findings.count; i++) {
        const struct finding *finding = &verdicts->findings.finding[i];
        if (finding->saves_known && finding->saves != 0 && finding->confidence != CONFIDENCE_POSSIBLE &&
            finding->severity != SEVERITY_INFO &&
            (made->avoidable == NULL || finding->saves > made->avoidable->saves))
            made->avoidable = finding;
    }
}

uint32_t peak_made_text(const struct peak_made *made, const struct verdicts *verdicts, char *text,
                        uint32_t capacity) {
    static const char *const places[] = {[PEAK_FORWARD] = "in a forward",
                                         [PEAK_BACKWARD] = "in a backward",
                                         [PEAK_OPTIMIZER] = "in the optimizer's step",
                                         [PEAK_OTHER] = "outside of the model",
                                         [PEAK_BEFORE] = "before the first event",
                                         [PEAK_UNKNOWN] = "in a phase that is not known"};
    struct words words = {text, capacity, 0};
    uint64_t peak = verdicts->timeline->peak_bytes;
    WORDS_TELL(&words, "The peak of %b is reached ", peak);
    words_say(&words, places[made->phase]);
    for (uint32_t i = 0; i < made->n_parts && i < PARTS_SAID; i++) {
        uint64_t bytes = made->part[i].bytes;
        if (i > 0 && !is_percent(bytes, peak, 1))
            break;
        WORDS_TELL(&words, i == 0 ? ": %p " : ", %p ", bytes, peak);
        words_say(&words, category_label[made->part[i].category].title);
    }
    words_say(&words, ".");
    if (made->avoidable != NULL && is_percent(made->avoidable->saves, peak, 1))
        WORDS_TELL(&words, " %b of it can be avoided.", made->avoidable->saves);
    return words_end(&words);
}
