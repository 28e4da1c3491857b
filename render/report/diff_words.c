/* The sentences of a difference. */
#include "base/format.h"
#include "base/utf8.h"
#include "layout/site.h"
#include "render/report/diff.h"

#include <stdio.h>
#include <string.h>

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

static const char *plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

static void new_text(const struct site_profile *profile, const char *verb, char *text, size_t capacity) {
    struct figure largest = format_bytes(profile->largest);
    bool one_size = profile->bytes == profile->largest * profile->count;
    snprintf(text, capacity, "%s: %s allocation%s of %s%s", verb, format_count(profile->count).text,
             plural(profile->count), one_size ? "" : "up to ", largest.text);
}

/* Writes where a cause that several sites share is found: "in 12 call sites, most of it at x". */
static void where_text(const struct cause *cause, const char *site, char *text, size_t capacity) {
    if (cause->n_sites <= 1)
        snprintf(text, capacity, "%s", site);
    else
        snprintf(text, capacity, "%s and %s other call site%s", site, format_count(cause->n_sites - 1).text,
                 plural(cause->n_sites - 1));
}

static void size_text(const struct cause *cause, const char *where, char *text, size_t capacity) {
    snprintf(text, capacity, "%s: %s %s at a time; it was %s before%s", where,
             cause->to > cause->from ? "larger allocations," : "smaller allocations,",
             format_bytes(cause->to).text, format_bytes(cause->from).text, cause->mean ? " (means)" : "");
    if (cause->n_sites > 1 || cause->follows)
        snprintf(text, capacity, "%s %s %s at a time (%s%s instead of %s), %s", where,
                 cause->n_sites == 1 ? "allocates" : "allocate", cause->to > cause->from ? "more" : "less",
                 cause->n_sites == 1 ? "" : "the first: ", format_bytes(cause->to).text,
                 format_bytes(cause->from).text,
                 cause->kind == CAUSE_DTYPE || cause->inside == CAUSE_DTYPE
                     ? "because the data type is another: the weights change too, or the inputs do not"
                 : cause->follows ? "by the square of it, as with another sequence length"
                                  : "as with another batch size or sequence length");
}

static void often_text(const struct cause *cause, const char *where, char *text, size_t capacity) {
    snprintf(text, capacity, "%s %s %s: %s%s time%s%s; it was %s before", where,
             cause->n_sites == 1 ? "allocates" : "allocate",
             cause->to > cause->from ? "more often" : "less often", cause->n_sites == 1 ? "" : "the first ",
             format_count(cause->to).text, plural(cause->to), cause->per_step ? " a step" : "",
             format_count(cause->from).text);
}

static const char *death_name(uint8_t death) {
    static const char *const names[] = {
        "", "forward", "backward", "the optimizer's step", "a later step", "the end of the recording"};
    return names[death];
}

/* Writes "x is kept through backward; it was freed in forward before". Of several sites, the first one's places
 * are known. */
static void kept_by_phase_text(const struct cause *cause, const char *where, char *text, size_t capacity) {
    bool one = cause->n_sites == 1, later = cause->dies_a < cause->dies_b;
    uint8_t kept = later ? cause->dies_b : cause->dies_a, freed = later ? cause->dies_a : cause->dies_b;
    const char *to = kept <= DIES_IN_OPTIMIZER ? "through" : "to";
    char head[SITE_NBYTES + 200];
    snprintf(head, sizeof head,
             one     ? "%s is"
             : later ? "%s are kept longer: the first is"
                     : "%s are freed earlier: the first is",
             where);
    if (later)
        snprintf(text, capacity, "%s kept %s %s; it was freed in %s before", head, to, death_name(kept),
                 death_name(freed));
    else
        snprintf(text, capacity, "%s freed in %s; it was kept %s %s before", head, death_name(freed), to,
                 death_name(kept));
}

static void kept_text(const struct diff *diff, const struct cause *cause, const char *where, char *text,
                      size_t capacity) {
    const struct compare_site *site = &diff->comparison.site[cause->row];
    bool longer = cause->bytes > 0, places = cause->dies_a != DIES_UNKNOWN && cause->dies_b != DIES_UNKNOWN;
    char allocations[160] = "";
    bool lives = longer ? cause->to > cause->from : cause->to < cause->from;
    if (places && lives && cause->dies_a != cause->dies_b && (cause->dies_a < cause->dies_b) == longer) {
        kept_by_phase_text(cause, where, text, capacity);
        return;
    }
    /* The median lifetime may say the opposite: where gradients add up, the few that stay do not move it. */
    if (lives)
        snprintf(allocations, sizeof allocations, " an allocation lives for about %s events, %s before;",
                 format_count(cause->to).text, format_count(cause->from).text);
    bool told = longer ? site->b.count > site->a.count : site->b.count < site->a.count;
    const char *kept = longer ? "kept longer" : "freed earlier", *verb = cause->n_sites == 1 ? "is" : "are",
               *of = cause->n_sites == 1 ? "" : " of the first,";
    if (told)
        snprintf(text, capacity, "%s %s %s:%s%s %s %s alive here, %s before", where, verb, kept, of,
                 allocations, format_count(site->b.count).text, site->b.count == 1 ? "is" : "are",
                 format_count(site->a.count).text);
    else /* there are as many as before, but larger or smaller ones */
        snprintf(text, capacity, "%s %s %s:%s%s %s of it are alive here, %s before", where, verb, kept, of,
                 allocations, format_bytes(site->b.bytes).text, format_bytes(site->a.bytes).text);
}

static void moved_text(const struct diff *diff, const struct cause *cause, const char *site, char *text,
                       size_t capacity) {
    const struct compare_site *row = &diff->comparison.site[cause->row];
    static const char *const whys[] = {[SITE_SAME] = "",
                                       [SITE_MOVED] = "only the line differs",
                                       [SITE_RENAMED] = "the file has another name",
                                       [SITE_BY_STACK] = "called from the same lines",
                                       [SITE_BY_SIZES] = "the same sizes, for the same purpose",
                                       [SITE_ALONE] = ""};
    char before[SITE_NBYTES];
    site_text(diff->a.timeline->trace, row->a.site, before, sizeof before);
    snprintf(text, capacity, "%s was %s before (%s)", site, before, whys[row->match]);
}

/* Writes "B runs no backward: 5 call sites of A's, the first backward of DivBackward0". */
static void phase_text(const struct cause *cause, const char *site, char *text, size_t capacity) {
    snprintf(text, capacity, "only %s runs %s: %s call site%s of it, %s %s", cause->from ? "A" : "B",
             cause->phase == SIDE_BACKWARD ? "a backward" : "an optimizer's step",
             format_count(cause->n_sites).text, plural(cause->n_sites),
             cause->n_sites == 1 ? "which is" : "the largest is", site);
}

/* Writes "in forward B reaches 80.0 GiB at most and A 38.0 GiB, which the compared moments do not show: x and 5 other
 * call sites ...". */
static void elsewhere_text(const struct diff *diff, const struct cause *cause, const char *where, char *text,
                           size_t capacity) {
    const struct phase_peak *peak = &diff->phase[cause->phase - SPAN_FORWARD];
    char how[SITE_NBYTES * 2];
    switch (cause->inside) {
    case CAUSE_OFTEN: often_text(cause, where, how, sizeof how); break;
    case CAUSE_ELSEWHERE: snprintf(how, sizeof how, "most at %s", where); break;
    default: size_text(cause, where, how, sizeof how); break;
    }
    snprintf(text, capacity,
             "in %s B reaches %s at most and A %s, which the compared moments do not show%s%s",
             cause->phase == SPAN_OPTIMIZER ? "the optimizer's step" : span_kind_name[cause->phase],
             format_bytes(peak->b_bytes).text, format_bytes(peak->a_bytes).text,
             cause->n_sites == 0 ? "" : ": ", cause->n_sites == 0 ? "" : how);
}

/* Writes "event 181". */
static void event_text(uint32_t moment, char *text, size_t capacity) {
    snprintf(text, capacity, moment == 0 ? "before the first event" : "event %s",
             format_count(moment == 0 ? 0 : moment - 1).text);
}

static void moment_text(const struct diff *diff, const struct cause *cause, const char *where, char *text,
                        size_t capacity) {
    char a[64], b[64];
    event_text(diff->a.moment, a, sizeof a);
    event_text(diff->b.moment, b, sizeof b);
    snprintf(text, capacity, "%s %s as before; %s only because the moments differ (%s and %s)", where,
             cause->n_sites == 1 ? "behaves" : "behave", cause->n_sites == 1 ? "it differs" : "they differ",
             a, b);
}

static void older_text(const struct cause *cause, const char *where, char *text, size_t capacity) {
    snprintf(text, capacity, "%s: %s allocation%s older than the recording; it was %s before", where,
             cause->to == 0 ? "no" : format_count(cause->to).text, plural(cause->to),
             cause->from == 0 ? "none" : format_count(cause->from).text);
}

/* Writes the sentence about a cause: what changed at its site. */
static void cause_what(const struct diff *diff, const struct cause *cause, const char *site,
                       const char *where, char *what, size_t capacity) {
    const struct compare_site *row = &diff->comparison.site[cause->row];
    char head[SITE_NBYTES + 100];
    switch (cause->kind) {
    case CAUSE_NEW:
        snprintf(head, sizeof head, "%s is new", site);
        new_text(&row->b, head, what, capacity);
        break;
    case CAUSE_GONE:
        snprintf(head, sizeof head, "%s is gone", site);
        new_text(&row->a, head, what, capacity);
        break;
    case CAUSE_DTYPE:
    case CAUSE_SIZE: size_text(cause, where, what, capacity); break;
    case CAUSE_OFTEN: often_text(cause, where, what, capacity); break;
    case CAUSE_OLDER: older_text(cause, where, what, capacity); break;
    case CAUSE_KEPT: kept_text(diff, cause, where, what, capacity); break;
    case CAUSE_PHASE: phase_text(cause, site, what, capacity); break;
    case CAUSE_ELSEWHERE: elsewhere_text(diff, cause, where, what, capacity); break;
    case CAUSE_MOMENT: moment_text(diff, cause, where, what, capacity); break;
    case CAUSE_MOVED:
    case CAUSE_KINDS: moved_text(diff, cause, site, what, capacity); break;
    }
}

void diff_cause_sentence(const struct diff *diff, const struct cause *cause, char *text, size_t capacity) {
    const struct compare_site *row = &diff->comparison.site[cause->row];
    char site[SITE_NBYTES], where[SITE_NBYTES + 100], what[SITE_NBYTES * 3];
    diff_site_text(diff, row, site, sizeof site);
    if (cause->freed_here)
        snprintf(site + strlen(site), sizeof site - strlen(site), " (where it was freed)");
    where_text(cause, site, where, sizeof where);
    if (!trace_has_allocations(diff->a.timeline->trace)) { /* recordings of servers have budgets instead */
        snprintf(what, sizeof what, "%s: %s, %s before", site, format_bytes(row->b.bytes).text,
                 format_bytes(row->a.bytes).text);
    } else {
        cause_what(diff, cause, site, where, what, sizeof what);
    }
    snprintf(text, capacity, "%s%s", cause->kind != CAUSE_MOVED && cause->follows ? "with it, " : "", what);
    utf8_trim(text);
}

void diff_cause_text(const struct diff *diff, const struct cause *cause, char *text, size_t capacity) {
    char sentence[SITE_NBYTES * 3 + 16];
    diff_cause_sentence(diff, cause, sentence, sizeof sentence);
    if (cause->kind == CAUSE_MOVED)
        snprintf(text, capacity, "%s", sentence);
    else
        snprintf(text, capacity, "%s: %s", format_bytes_change(cause->bytes).text, sentence);
    utf8_trim(text);
}
