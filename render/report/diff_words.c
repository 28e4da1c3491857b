/* The sentences of a difference. */
#include "base/words.h"
#include "layout/site.h"
#include "render/report/diff.h"

enum { SITE_NBYTES = 400 };

const char *diff_change_name(enum site_change change) {
    static const char *const names[] = {[CHANGE_NEW] = "new",
                                        [CHANGE_GONE] = "gone",
                                        [CHANGE_GROWN] = "grown",
                                        [CHANGE_SHRUNK] = "shrunk",
                                        [CHANGE_SAME] = "same"};
    return names[change];
}

void diff_site_text(const struct diff *diff, const struct compare_site *site, char *text, size_t capacity) {
    bool of_b = profile_exists(&site->b);
    const struct timeline *timeline = of_b ? diff->b.timeline : diff->a.timeline;
    site_text(timeline->trace, of_b ? site->b.site : site->a.site, text, (uint32_t)capacity);
}

/* A cause on its way into words. */
struct cause_telling {
    const struct diff *diff;
    const struct cause *cause;
    const struct compare_site *row;
    struct words words;
};

/* %S: the call site, %W: it and how many others, %A: its name in A. */
static bool cause_mark(void *context, char mark) {
    struct cause_telling *telling = context;
    const struct cause *cause = telling->cause;
    char site[SITE_NBYTES];
    if (mark == 'A')
        site_text(telling->diff->a.timeline->trace, telling->row->a.site, site, sizeof site);
    else if (mark == 'S' || mark == 'W')
        diff_site_text(telling->diff, telling->row, site, sizeof site);
    else
        return false;
    words_say(&telling->words, site);
    if (mark != 'A' && cause->freed_here)
        words_say(&telling->words, " (where it was freed)");
    if (mark == 'W' && cause->n_sites > 1)
        WORDS_TELL(&telling->words, " and %n other call site%s", cause->n_sites - 1);
    return true;
}

static void tell_figures(struct cause_telling *telling, const char *sentence, const uint64_t *figures) {
    words_tell(&telling->words, sentence, figures, cause_mark, telling);
}
#define TELL(telling, sentence, ...) tell_figures((telling), (sentence), (const uint64_t[]){__VA_ARGS__})

static void tell(struct cause_telling *telling, const char *sentence) {
    tell_figures(telling, sentence, NULL);
}

static void size_tell(struct cause_telling *telling) {
    const struct cause *cause = telling->cause;
    TELL(telling,
         cause->to > cause->from
             ? "%W %0(allocates|allocate) more at a time (%0(|the first: )%1b instead of %2b)"
             : "%W %0(allocates|allocate) less at a time (%0(|the first: )%1b instead of %2b)",
         cause->n_sites, cause->to, cause->from);
    tell(telling, cause->kind == CAUSE_DTYPE || cause->inside == CAUSE_DTYPE
                      ? ", because the data type is another: the weights change too, or the inputs do not"
                  : cause->follows     ? ", by the square of it, as with another sequence length"
                  : cause->n_sites > 1 ? ", as with another batch size or sequence length"
                  : cause->mean        ? ", in the mean"
                                       : "");
}

static void often_tell(struct cause_telling *telling) {
    const struct cause *cause = telling->cause;
    TELL(telling,
         cause->to > cause->from ? "%W %0(allocates|allocate) more often: %0(|the first )%1n time%1s"
                                 : "%W %0(allocates|allocate) less often: %0(|the first )%1n time%1s",
         cause->n_sites, cause->to);
    TELL(telling, cause->per_step ? " a step; it was %n before" : "; it was %n before", cause->from);
}

/* Tells "x is kept through backward; it was freed in forward before". Of several sites, the first one's places are
 * known. */
static void kept_by_phase_tell(struct cause_telling *telling) {
    static const char *const deaths[] = {
        "", "forward", "backward", "the optimizer's step", "a later step", "the end of the recording"};
    const struct cause *cause = telling->cause;
    bool later = cause->dies_a < cause->dies_b;
    uint8_t kept = later ? cause->dies_b : cause->dies_a, freed = later ? cause->dies_a : cause->dies_b;
    const char *keeps = kept <= DIES_IN_OPTIMIZER ? "kept through " : "kept to ";
    tell(telling, cause->n_sites == 1 ? "%W is "
                  : later             ? "%W are kept longer: the first is "
                                      : "%W are freed earlier: the first is ");
    tell(telling, later ? keeps : "freed in ");
    tell(telling, deaths[later ? kept : freed]);
    tell(telling, "; it was ");
    tell(telling, later ? "freed in " : keeps);
    tell(telling, deaths[later ? freed : kept]);
    tell(telling, " before");
}

static void kept_tell(struct cause_telling *telling) {
    const struct cause *cause = telling->cause;
    const struct compare_site *site = telling->row;
    bool longer = cause->bytes > 0, places = cause->dies_a != DIES_UNKNOWN && cause->dies_b != DIES_UNKNOWN;
    if (places && cause->dies_a != cause->dies_b && (cause->dies_a < cause->dies_b) == longer) {
        kept_by_phase_tell(telling);
        return;
    }
    TELL(telling,
         longer ? "%W %0(is|are) kept longer:%0(| of the first,)"
                : "%W %0(is|are) freed earlier:%0(| of the first,)",
         cause->n_sites);
    if (longer ? site->b.count > site->a.count : site->b.count < site->a.count)
        TELL(telling, " %n %(is|are) alive in B, %n in A", site->b.count, site->a.count);
    else /* there are as many as before, but larger or smaller ones */
        TELL(telling, " %b of it are alive in B, %b in A", site->b.bytes, site->a.bytes);
}

static void moved_tell(struct cause_telling *telling) {
    static const char *const whys[] = {[SITE_SAME] = "",
                                       [SITE_MOVED] = "only the line differs",
                                       [SITE_RENAMED] = "the file has another name",
                                       [SITE_BY_STACK] = "called from the same lines",
                                       [SITE_BY_SIZES] = "the same sizes, for the same purpose",
                                       [SITE_ALONE] = ""};
    tell(telling, "%S was %A before (");
    tell(telling, whys[telling->row->match]);
    tell(telling, ")");
}

/* Tells "in forward B reaches 80.0 GiB at most and A 38.0 GiB, which the compared moments do not show: x and 5 other
 * call sites ...". */
static void elsewhere_tell(struct cause_telling *telling) {
    const struct cause *cause = telling->cause;
    const struct phase_peak *peak = &telling->diff->phase[cause->phase - SPAN_FORWARD];
    tell(telling, "in ");
    tell(telling, cause->phase == SPAN_OPTIMIZER ? "the optimizer's step" : span_kind_name[cause->phase]);
    TELL(telling, " B reaches %b at most and A %b, which the compared moments do not show", peak->b_bytes,
         peak->a_bytes);
    if (cause->n_sites == 0)
        return;
    tell(telling, ": ");
    switch (cause->inside) {
    case CAUSE_OFTEN: often_tell(telling); break;
    case CAUSE_ELSEWHERE: tell(telling, "most at %W"); break;
    default: size_tell(telling); break;
    }
}

/* Tells what changed at the cause's site. */
static void cause_tell(struct cause_telling *telling) {
    const struct cause *cause = telling->cause;
    bool is_new = cause->kind == CAUSE_NEW;
    const struct site_profile *profile = is_new ? &telling->row->b : &telling->row->a;
    switch (cause->kind) {
    case CAUSE_NEW:
    case CAUSE_GONE:
        tell(telling, is_new ? "%S is new" : "%S is gone");
        TELL(telling,
             profile->bytes == profile->largest * profile->count ? ": %n allocation%s of %b"
                                                                 : ": %n allocation%s of up to %b",
             profile->count, profile->largest);
        break;
    case CAUSE_DTYPE:
    case CAUSE_SIZE: size_tell(telling); break;
    case CAUSE_OFTEN: often_tell(telling); break;
    case CAUSE_OLDER:
        TELL(telling,
             cause->to == 0 ? "%W: no allocation%0s older than the recording; it was "
                            : "%W: %0n allocation%s older than the recording; it was ",
             cause->to);
        TELL(telling, cause->from == 0 ? "none before" : "%n before", cause->from);
        break;
    case CAUSE_KEPT: kept_tell(telling); break;
    case CAUSE_PHASE: /* "only A runs a backward: 5 call sites of it, the largest is DivBackward0" */
        tell(telling, cause->from ? "only A runs " : "only B runs ");
        tell(telling, cause->phase == SIDE_BACKWARD ? "a backward" : "an optimizer's step");
        TELL(telling, ": %n call site%s of it, %(which is|the largest is) %S", cause->n_sites);
        break;
    case CAUSE_ELSEWHERE: elsewhere_tell(telling); break;
    case CAUSE_MOMENT:
        TELL(telling,
             cause->bytes > 0 ? "%W %0(holds|hold) more at these moments"
                              : "%W %0(holds|hold) less at these moments",
             cause->n_sites);
        break;
    case CAUSE_MOVED:
    case CAUSE_KINDS: moved_tell(telling); break;
    }
}

void diff_cause_text(const struct diff *diff, const struct cause *cause, bool with_bytes, char *text,
                     size_t capacity) {
    struct cause_telling telling = {
        diff, cause, &diff->comparison.site[cause->row], {text, (uint32_t)capacity, 0}};
    if (with_bytes && cause->kind != CAUSE_MOVED) {
        tell(&telling, format_bytes_change(cause->bytes).text);
        tell(&telling, ": ");
    }
    tell(&telling, cause->kind != CAUSE_MOVED && cause->follows ? "with it, " : "");
    if (trace_has_allocations(diff->a.timeline->trace))
        cause_tell(&telling);
    else /* recordings of servers have budgets instead */
        TELL(&telling, "%S: %b, %b before", telling.row->b.bytes, telling.row->a.bytes);
    (void)words_end(&telling.words);
}
