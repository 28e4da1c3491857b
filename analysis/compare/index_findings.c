/* Findings from the comparison of ranks: one for all similar rows. */
#include "analysis/compare/index_internal.h"

#include "base/sort.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A hash of some bytes (FNV-1a), continued from another; HASH_BEGIN at first. */
#define HASH_BEGIN UINT64_C(0xcbf29ce484222325)
static uint64_t hash_add(uint64_t hash, const char *bytes, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- copies: one recording counts once ---- */

static int id_compare(const void *a, const void *b) {
    const struct index_row *x = *(const struct index_row *const *)a, *y = *(const struct index_row *const *)b;
    int order = strcmp(x->recording_id, y->recording_id);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Two ranks that are known to differ may have equal recordings. */
static bool may_be_copies(const struct index_row *a, const struct index_row *b) {
    bool ranks = a->rank == b->rank || a->rank == INDEX_UNKNOWN || b->rank == INDEX_UNKNOWN;
    bool steps = a->step == b->step || a->step == INDEX_UNKNOWN || b->step == INDEX_UNKNOWN;
    return ranks && steps;
}

bool index_mark_copies(struct index *index) {
    struct index_row **order = malloc(((size_t)index->n_rows + 1) * sizeof(struct index_row *));
    uint32_t count = 0;
    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < index->n_rows; i++)
        if (index->rows[i].recording_id != NULL && index->rows[i].recording_id[0] != '\0')
            order[count++] = &index->rows[i];
    qsort(order, count, sizeof *order, id_compare);
    for (uint32_t i = 1, first = 0; i < count; i++) {
        bool equal = strcmp(order[i]->recording_id, order[first]->recording_id) == 0;
        if (equal && may_be_copies(order[first], order[i])) {
            order[i]->copy_of = order[first]->input;
            index->n_copies++;
        } else if (!equal || (order[first]->copy_of == NULL && order[i]->rank != order[first]->rank))
            first = i;
    }
    free(order);
    return true;
}

/* ---- uniting ---- */

/* A statement about a row: from its comparison or from its own report. */
struct claim {
    uint32_t row;
    const struct index_note *note; /* NULL: from the row's comparison */
    uint64_t key;
    uint32_t urgency; /* 0: first */
};

/* Adds a text and its end, so that "a" and "bc" are not "ab" and "c". */
static uint64_t key_add(uint64_t hash, const char *text) {
    return hash_add(hash_add(hash, text, text != NULL ? strlen(text) : 0), "\xff", 1);
}

/* Ranks of two logs are not united: nothing shows that they belong to one job. */
static uint64_t key_begin(const struct index_row *row) {
    return row->has_allocations ? HASH_BEGIN : key_add(HASH_BEGIN, row->group);
}

static uint64_t row_key(const struct index_row *row) {
    uint64_t key = key_add(key_begin(row), row->kind);
    if (row->odd & INDEX_ODD_OOM)
        return key;
    key = (key ^ row->odd ^ (row->difference_bytes < 0 ? 1u << 20 : 0)) * 0x100000001b3u;
    return key_add(key, row->site);
}

static int claim_compare(const void *a, const void *b) {
    const struct claim *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->urgency != y->urgency)
        return x->urgency < y->urgency ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int finding_compare(const void *a, const void *b) {
    const struct index_finding *x = a, *y = b;
    if ((x->about == INDEX_OF_OOM) != (y->about == INDEX_OF_OOM))
        return x->about == INDEX_OF_OOM ? -1 : 1;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->rows[0] != y->rows[0] ? (x->rows[0] < y->rows[0] ? -1 : 1) : strcmp(x->kind, y->kind);
}

static int row_order(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool finding_make(struct index *index, const struct claim *claims, uint32_t count) {
    struct index_finding *finding = &index->findings[index->n_findings];
    const struct index_row *row = &index->rows[claims[0].row];
    const struct index_note *note = claims[0].note;
    bool oom = (row->odd & INDEX_ODD_OOM) != 0;
    *finding = (struct index_finding){.kind = note != NULL ? note->kind : row->kind,
                                      .severity = note != NULL                   ? note->severity
                                                  : oom || row->severity >= 0.10 ? SEVERITY_HIGH
                                                  : row->severity >= 0.03        ? SEVERITY_MEDIUM
                                                                                 : SEVERITY_LOW,
                                      .confidence = note != NULL ? note->confidence : CONFIDENCE_CERTAIN,
                                      .about = note != NULL ? INDEX_OF_REPORTS
                                               : oom        ? INDEX_OF_OOM
                                                            : INDEX_OF_RANK,
                                      .site = note != NULL ? note->site : row->site,
                                      .view = note != NULL && note->view[0] != '\0' ? note->view : NULL,
                                      .against = INDEX_NOBODY};
    finding->bytes =
        note != NULL ? note->bytes
                     : (uint64_t)(row->difference_bytes < 0 ? -row->difference_bytes : row->difference_bytes);
    finding->rows = arena_alloc(index->arena, count * sizeof *finding->rows);
    if (finding->rows == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || claims[i].row != claims[i - 1].row)
            finding->rows[finding->n_rows++] = claims[i].row;
    qsort(finding->rows, finding->n_rows, sizeof *finding->rows, row_order);
    if (finding->site != NULL && finding->site[0] == '\0')
        finding->site = NULL;
    finding->title =
        note != NULL ? index_title_of_notes(index, finding, note) : index_title_of_rows(index, finding);
    finding->detail = note != NULL ? note->title : index->rows[finding->rows[0]].finding;
    index->n_findings++;
    return true;
}

/* ---- many lines of one kind ---- */

static uint64_t finding_rows_hash(const struct index_finding *finding) {
    uint64_t hash = key_add(0, finding->kind);
    for (uint32_t i = 0; i < finding->n_rows; i++)
        hash = (hash ^ finding->rows[i]) * 0x100000001b3u;
    return hash;
}

/* Puts similar findings side by side, the most severe first. */
static int alike_compare(const void *a, const void *b) {
    uint64_t x = finding_rows_hash(a), y = finding_rows_hash(b);
    return x != y ? (x < y ? -1 : 1) : finding_compare(a, b);
}

static bool findings_alike(const struct index_finding *a, const struct index_finding *b) {
    return strcmp(a->kind, b->kind) == 0 && a->about != INDEX_OF_RANK && a->n_rows == b->n_rows &&
           memcmp(a->rows, b->rows, a->n_rows * sizeof *a->rows) == 0;
}

/* Joins findings: forty lines of one leak become one finding. The first gives the title; the next are named in its
 * detail. */
static void finding_join(struct index *index, struct index_finding *first, uint32_t n_more) {
    enum { MORE_SHOWN = 8 };
    const char *what = first->about == INDEX_OF_OOM ? "time" : "line";
    first->title = index_say(index, "%s; likewise %" PRIu32 " more %s%s", first->title, n_more, what,
                             n_more == 1 ? "" : "s");
    for (uint32_t i = 1; i <= n_more && i <= MORE_SHOWN; i++) {
        const char *more = first[i].detail != NULL ? first[i].detail : "";
        first->detail = index_say(index, "%s; %.*s", first->detail, UTF8_FIT(more, 90));
    }
}

static void findings_join_alike(struct index *index) {
    uint32_t kept = 0;
    if (index->n_findings != 0)
        qsort(index->findings, index->n_findings, sizeof *index->findings, alike_compare);
    for (uint32_t from = 0, to; from < index->n_findings; from = to) {
        struct index_finding *first = &index->findings[from];
        for (to = from + 1; to < index->n_findings && findings_alike(first, &index->findings[to]);)
            to++;
        if (to - from > 1)
            finding_join(index, first, to - from - 1);
        index->findings[kept++] = *first;
    }
    index->n_findings = kept;
}

static uint32_t claims_collect(const struct index *index, struct claim *claims) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < index->n_rows; i++) {
        const struct index_row *row = &index->rows[i];
        if (row->copy_of != NULL)
            continue;
        if (row->finding != NULL)
            claims[count++] = (struct claim){i, NULL, row_key(row), 0};
        for (uint32_t k = 0; k < row->n_notes; k++) {
            const struct index_note *note = &row->notes[k];
            /* findings about the recording itself do not count for the index */
            if (note->severity != SEVERITY_INFO && !note->out_of_memory && note->title[0] != '\0')
                claims[count++] =
                    (struct claim){i, note, key_add(key_add(key_begin(row) + 1, note->kind), note->site),
                                   (uint32_t)(SEVERITY_HIGH - note->severity)};
        }
    }
    return count;
}

static bool findings_unite(struct index *index) {
    size_t most = 1;
    for (uint32_t i = 0; i < index->n_rows; i++)
        most += 1 + index->rows[i].n_notes;
    struct claim *claims = malloc(most * sizeof *claims);
    index->findings = arena_alloc(index->arena, most * sizeof *index->findings);
    bool done = claims != NULL && index->findings != NULL;
    uint32_t count = done ? claims_collect(index, claims) : 0;
    if (count != 0)
        qsort(claims, count, sizeof *claims, claim_compare);
    for (uint32_t from = 0, to; done && from < count; from = to) {
        for (to = from + 1; to < count && claims[to].key == claims[from].key;)
            to++;
        done = finding_make(index, claims + from, to - from);
    }
    if (done)
        findings_join_alike(index);
    if (done && index->n_findings != 0)
        qsort(index->findings, index->n_findings, sizeof *index->findings, finding_compare);
    free(claims);
    return done;
}

/* ---- analysis ---- */

static void outlier_fill(struct outlier_row *to, const struct index_row *row) {
    bool has_group = row->group != NULL && *row->group != '\0';
    *to = (struct outlier_row){
        .profile = &row->profile,
        .of = {{[PEER_DUMP] = (uint64_t)row->step + 1,
                [PEER_GROUP] = has_group ? hash_add(HASH_BEGIN, row->group, strlen(row->group)) | 1 : 0,
                [PEER_EP] = (uint64_t)row->place[0] + 1,
                [PEER_CP] = (uint64_t)row->place[1] + 1,
                [PEER_TP] = (uint64_t)row->place[2] + 1,
                [PEER_MODEL] = row->profile.signature}},
        .peak_bytes = row->peak_bytes,
        .end_bytes = row->end_bytes,
        .n_events = row->n_events,
        .oom = row->n_ooms != 0,
    };
}

/* The hash of a file's name without its numbers: "rank#_exit.pickle". */
static uint64_t name_hash(const char *name) {
    uint64_t hash = HASH_BEGIN;
    for (; *name != '\0'; name++)
        if (*name < '0' || *name > '9')
            hash = hash_add(hash, name, 1);
    return hash;
}

static const char *base_name(const struct index_row *row) {
    const char *slash = strrchr(row->input, '/');
    return slash != NULL ? slash + 1 : row->input;
}

/* Several dumps of one rank in a directory, such as rank0_steps and rank0_exit, are of one process at different moments:
 * they are no two ranks. There, only dumps that are called alike are compared. */
static void dumps_part(const struct index *index, struct outlier_row *rows, const uint32_t *of,
                       uint32_t count, struct sort_row *order, struct sort_row *spare) {
    SORT_BY(order, spare, count, i,
            ((uint64_t)index->rows[of[i]].rank << 32) ^ (uint64_t)index->rows[of[i]].step);
    SORT_AGAIN(order, spare, count, own,
               hash_add(HASH_BEGIN, index->rows[of[own]].input,
                        (size_t)(base_name(&index->rows[of[own]]) - index->rows[of[own]].input)));
    for (uint32_t from = 0, to; from < count; from = to) {
        bool several = false;
        to = sort_rows_end(order, count, from);
        for (uint32_t i = from + 1; i < to; i++) {
            const struct index_row *row = &index->rows[of[order[i].value]],
                                   *before = &index->rows[of[order[i - 1].value]];
            several |= row->rank != INDEX_UNKNOWN && row->has_allocations && row->rank == before->rank &&
                       row->step == before->step;
        }
        for (uint32_t i = from; several && i < to; i++)
            rows[order[i].value].of.key[PEER_DUMP] ^= name_hash(base_name(&index->rows[of[order[i].value]]));
    }
}

bool index_analyse(struct index *index) {
    struct arena scratch;
    arena_init(&scratch, arena_share(index->arena), SIZE_MAX);
    struct outlier_row *rows;
    struct sort_row *order, *spare;
    uint32_t *of, count = 0;
    bool done = ARENA_COLUMNS(&scratch, index->n_rows, rows, of, order, spare);
    for (uint32_t i = 0; done && i < index->n_rows; i++)
        if (index->rows[i].copy_of == NULL) {
            outlier_fill(&rows[count], &index->rows[i]);
            of[count++] = i;
        }
    /* by index_sort, those of one rank and step are adjacent */
    for (uint32_t i = 1; done && i < count; i++) {
        struct index_row *row = &index->rows[of[i]], *before = &index->rows[of[i - 1]];
        if (row->rank != INDEX_UNKNOWN && row->rank == before->rank && row->step == before->step)
            row->has_namesake = before->has_namesake = true;
    }
    if (done)
        dumps_part(index, rows, of, count, order, spare);
    done = done && outliers_find(rows, count, &scratch);
    for (uint32_t i = 0; done && i < count; i++)
        index_row_tell(index, &index->rows[of[i]], &rows[i], of);
    arena_release(&scratch);
    return done && findings_unite(index) && !index->lacks_memory;
}
