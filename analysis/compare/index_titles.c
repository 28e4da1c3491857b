/* The title of a finding: its ranks, and the statement about them. */
#include "analysis/compare/index_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t distinct_ranks(const struct index *index, const uint32_t *rows, uint32_t count) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += i == 0 || index->rows[rows[i]].rank == INDEX_UNKNOWN ||
             index->rows[rows[i]].rank != index->rows[rows[i - 1]].rank;
    return n;
}

/* "rank 3, 2 steps" for rows of one rank. */
static void one_rank_text(const struct index *index, const uint32_t *rows, uint32_t count, char *text) {
    bool steps = true;
    for (uint32_t i = 0; i < count; i++)
        steps = steps && index->rows[rows[i]].step != INDEX_UNKNOWN && !index->rows[rows[i]].has_namesake;
    snprintf(text, RANKS_SHOWN, "rank %" PRId64 ", %" PRIu32 " %s", index->rows[rows[0]].rank, count,
             steps ? "steps" : "recordings");
}

/* "ranks 2, 5-9" for rows sorted by rank; files without a rank are counted. */
static void ranks_text(const struct index *index, const uint32_t *rows, uint32_t count, char *text) {
    if (distinct_ranks(index, rows, count) == 1 && index->rows[rows[0]].rank != INDEX_UNKNOWN) {
        one_rank_text(index, rows, count, text);
        return;
    }
    size_t used = (size_t)snprintf(text, RANKS_SHOWN, "ranks ");
    uint32_t unnamed = 0, shown = 0;
    for (uint32_t i = 0, to; i < count; i = to) {
        int64_t from = index->rows[rows[i]].rank, last = from;
        to = i + 1;
        if (from == INDEX_UNKNOWN) {
            unnamed++;
            continue;
        }
        for (; to < count && (index->rows[rows[to]].rank == last || index->rows[rows[to]].rank == last + 1);
             to++)
            last = index->rows[rows[to]].rank;
        if (used + 60 > RANKS_SHOWN) {
            snprintf(text + used, RANKS_SHOWN - used, " and more");
            return;
        }
        used += (size_t)snprintf(text + used, RANKS_SHOWN - used,
                                 last > from ? "%s%" PRId64 "-%" PRId64 : "%s%" PRId64,
                                 shown++ != 0 ? ", " : "", from, last);
    }
    if (unnamed != 0)
        snprintf(shown != 0 ? text + used : text, shown != 0 ? RANKS_SHOWN - used : RANKS_SHOWN,
                 shown != 0 ? " and %" PRIu32 " more" : "%" PRIu32 " recordings", unnamed);
}

static bool of_host(const struct index_row *row, const char *host) {
    return row->copy_of == NULL && row->host != NULL && strcmp(row->host, host) == 0;
}

/* " (all of node3)": if the rows are exactly those of one host, the host is odd. */
static void host_text(const struct index *index, const struct index_finding *finding, char *text,
                      size_t capacity) {
    const char *host = index->rows[finding->rows[0]].host;
    uint32_t n_there = 0, n_elsewhere = 0;
    *text = '\0';
    for (uint32_t i = 0; host != NULL && *host != '\0' && i < finding->n_rows; i++)
        if (!of_host(&index->rows[finding->rows[i]], host))
            return;
    for (uint32_t i = 0; host != NULL && *host != '\0' && i < index->n_rows; i++) {
        n_there += of_host(&index->rows[i], host);
        n_elsewhere += index->rows[i].copy_of == NULL && !of_host(&index->rows[i], host);
    }
    if (n_there >= finding->n_rows && n_there != 0 && n_elsewhere != 0)
        snprintf(text, capacity, " (%s of %.100s)", n_there == finding->n_rows ? "all" : "several", host);
}

/* The row that ran out of memory first: by step, then by event. */
static uint32_t first_oom(const struct index *index, const uint32_t *rows, uint32_t count) {
    uint32_t first = rows[0];
    for (uint32_t i = 1; i < count; i++) {
        const struct index_row *a = &index->rows[rows[i]], *b = &index->rows[first];
        if (a->profile.oom_step < b->profile.oom_step ||
            (a->profile.oom_step == b->profile.oom_step && a->oom_event < b->oom_event))
            first = rows[i];
    }
    return first;
}

/* The sentence about one row, without its subject. */
static const char *predicate_of(const struct index_row *row) {
    struct subject subject = index_subject(row, "");
    size_t length = strlen(subject.text);
    return strncmp(row->finding, subject.text, length) == 0 ? row->finding + length : row->finding;
}

void index_title_of_rows(const struct index *index, const struct index_finding *finding, char *title) {
    const struct index_row *row = &index->rows[finding->rows[0]];
    uint32_t n_ranks = distinct_ranks(index, finding->rows, finding->n_rows);
    char ranks[RANKS_SHOWN + 120];
    if (finding->n_rows == 1) {
        snprintf(title, FINDING_CAPACITY, "%s", row->finding);
        return;
    }
    ranks_text(index, finding->rows, finding->n_rows, ranks);
    if (n_ranks > 1)
        host_text(index, finding, ranks + strlen(ranks), 120);
    if (n_ranks == 1 && row->rank != INDEX_UNKNOWN && !row->has_namesake && row->step != INDEX_UNKNOWN)
        snprintf(title, FINDING_CAPACITY, "%s, as in step %" PRId64 ":%s", ranks, row->step,
                 predicate_of(row));
    else if (n_ranks == 1 && row->rank != INDEX_UNKNOWN)
        snprintf(title, FINDING_CAPACITY, "%s, as in %.200s:%s", ranks, row->input, predicate_of(row));
    else if (row->odd & INDEX_ODD_OOM) {
        const struct index_row *first = &index->rows[first_oom(index, finding->rows, finding->n_rows)];
        snprintf(title, FINDING_CAPACITY, "%" PRIu32 " ranks ran out of memory, %s first (%s)", n_ranks,
                 index_subject(first, "").text, ranks);
    } else
        snprintf(title, FINDING_CAPACITY, "%s are alike; %s", ranks, row->finding);
}

void index_title_of_notes(const struct index *index, const struct index_finding *finding,
                          const struct index_note *note, char *title) {
    char ranks[RANKS_SHOWN + 120];
    if (finding->n_rows > 1) {
        ranks_text(index, finding->rows, finding->n_rows, ranks);
        host_text(index, finding, ranks + strlen(ranks), 120);
    } else
        snprintf(ranks, sizeof ranks, "%.150s", index_subject(&index->rows[finding->rows[0]], "").text);
    snprintf(title, FINDING_CAPACITY, "%s: %.1000s", ranks, note->title);
}
