/* Findings: what Strata concludes from a recording, each a sentence with the figures that justify it. The sentences
 * are made here, so that every output says the same. Freestanding. */
#pragma once

#include "base/words.h"

/* All kinds, in the order of the search: leaks and growing buffers come before kinds that they explain, because a
 * site is blamed only once. A new kind needs a file finding_NAME.c with its row, and a line here. */
#define STRATA_FINDINGS(X)                          \
    X(OUT_OF_MEMORY, out_of_memory)                 \
    X(UNUSED_GRAPH, unused_graph)                   \
    X(LEAK, leak)                                   \
    X(GROWING_BUFFER, growing_buffer)               \
    X(GRADIENTS_KEPT, gradients_kept)               \
    X(HELD_OVER, held_over)                         \
    X(OPTIMIZER_TEMPORARIES, optimizer_temporaries) \
    X(FRAGMENTATION, fragmentation)                 \
    X(RETRY_FLUSH, retry_flush)                     \
    X(CACHE_CHURN, cache_churn)                     \
    X(LEVELS_RISE, levels_rise)                     \
    X(STOPS_AT_PEAK, stops_at_peak)                 \
    X(STARTS_LATE, starts_late)                     \
    X(HISTORY_FULL, history_full)                   \
    X(NO_HISTORY, no_history)

enum finding_kind {
#define STRATA_FINDING_KIND(kind, name) FINDING_##kind,
    STRATA_FINDINGS(STRATA_FINDING_KIND)
#undef STRATA_FINDING_KIND
        FINDING_KINDS
};

enum finding_severity { SEVERITY_INFO, SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };
enum finding_confidence { CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };
/* How an optimizer goes over the parameters: the variant of optimizer_temporaries. */
enum finding_way { WAY_FOREACH, WAY_SINGLE, WAY_OWN, WAYS };

/* The variant of leak: what is kept, a line's tensors or the graphs of backwards that retain them. */
enum finding_leak_variant { LEAK_OF_TENSORS, LEAK_OF_GRAPHS };

enum finding_unit { UNIT_NONE, UNIT_STEP, UNIT_TURN, UNIT_LAYER };

struct finding {
    uint8_t kind, severity, confidence;
    uint8_t unit;         /* enum finding_unit of what follows */
    uint8_t variant;      /* meaning depends on the kind: see its file */
    bool saves_known;     /* `saves` is defined */
    bool grows;           /* each unit adds per_bytes until the loop ends: later ones need more */
    uint32_t per_n;       /* so many units */
    uint32_t set;         /* only during the search: number of its set; 0: none */
    uint64_t per_bytes;   /* bytes in each unit */
    uint32_t site, stack; /* frame id and stack of the largest site; 0: none */
    uint32_t n_sites;     /* number of sites it is about; 0 if sites do not matter */
    uint32_t count;       /* its allocations alive at `at_moment` */
    uint64_t bytes;       /* of these */
    uint64_t saves;       /* the peak less the peak without them */
    uint32_t from_moment, to_moment, at_moment, n_ids;
    union { /* further figures, by kind */
        struct {
            uint64_t requested, device_free; /* may be OOM_UNKNOWN */
            uint64_t reserved, n_events;
        } oom;
        struct finding_leak {
            uint64_t bytes, count; /* kept; allocations */
            uint32_t n_turns;      /* that were judged */
            uint32_t other;        /* frame id of the second line, if there are several */
        } leak;
        struct finding_growing {
            uint64_t first_bytes, last_bytes; /* of the longest chain */
            uint32_t n_links, n_chains;       /* allocations of it; chains of the call site */
        } growing;
        struct {
            uint64_t most_bytes, count,
                n_forwards; /* kept at once; allocations of these; forwards that began with some */
            bool at_least;  /* the saving is a lower bound */
        } gradients;
        struct {
            uint64_t older_bytes; /* of what is held, older than the recording */
            uint32_t n_pairs;     /* of turns */
            bool graph;
        } held;
        struct {
            uint64_t unused, reserved, requested;
        } fragmentation;
        struct {
            uint64_t n, bytes, largest; /* flushes; given back in all, and by the largest */
            uint64_t n_ooms, again;     /* out-of-memory events after one; bytes asked for again */
        } releases;
        struct {
            uint64_t first, last;  /* levels */
            uint32_t level, label; /* which level; interned text of the lines */
            uint64_t first_line, last_line;
        } rise;
        uint64_t without_origin; /* bytes without a stack of origin, of those that are older */
        uint64_t max_entries;
        struct {
            uint64_t bytes, with_stacks;
        } blocks;
    };
    uint32_t first_cut, n_cuts; /* the cuts that `saves` is computed from */
    /* [n_ids] rising: the allocations it is about, alive at `at_moment`; NULL: it is not about a set */
    const uint32_t *ids;
};

/* An allocation to be removed in the moments [from, to); `to` at or beyond its death: for good. `from` is at the soonest
 * and at the latest this. */
struct finding_cut {
    uint32_t allocation, soonest, latest, to;
};

struct findings {
    uint32_t count;
    struct finding *finding; /* most urgent first */
    struct finding_cut *cut; /* by finding, if the verdicts have cuts; otherwise NULL */
    uint32_t looked
        /* for kinds that verdicts_check asks about: number of places that could have shown it */
        [FINDING_KINDS];
    uint64_t spared[FINDING_KINDS]; /* bytes in each step that would be a finding if they raised the peak */
    /* there may be older gradients to which a backward adds */
    bool gradients_unsure;
};

/* "leak", "high", "likely", "step" (NULL: none), as in JSON. */
const char *finding_kind_name(enum finding_kind kind);
/* "free what each turn keeps": what a plan says of its removal; NULL: no plan removes it. */
const char *finding_change(enum finding_kind kind);
extern const char *const finding_severity_name[];   /* by enum finding_severity */
extern const char *const finding_confidence_name[]; /* by enum finding_confidence */
extern const char *const finding_unit_name[];       /* by enum finding_unit */
extern const char *const finding_way_name[];        /* by enum finding_way */

struct verdicts;

/* Sets `bitmap[allocations.count / 64 + 1]` to the finding's set. False: it is about a request or the recording,
 * not a set. O(n_ids). */
bool finding_set(const struct finding *finding, uint64_t *bitmap);

/* Room enough for every title and detail, because names of files are cut. */
enum { FINDING_TEXT_NBYTES = 2048 };

/* The title (one line without a full stop) and the sentences with the figures, into `text`, cut at capacity - 1
 * bytes and always terminated. They return the full length. */
uint32_t finding_title(const struct verdicts *verdicts, const struct finding *finding, char *text,
                       uint32_t capacity);
uint32_t finding_detail(const struct verdicts *verdicts, const struct finding *finding, char *text,
                        uint32_t capacity);

/* The last part of the detail: what to do. As above; empty if nothing is known to help. */
uint32_t finding_action(const struct verdicts *verdicts, const struct finding *finding, char *text,
                        uint32_t capacity);

/* Does what to do name strata plan? A plan that is known stands in its place. */
static inline bool finding_asks_plan(const struct finding *finding) {
    return finding->kind == FINDING_FRAGMENTATION || finding->kind == FINDING_RETRY_FLUSH;
}

/* The detail without its last part. As above. */
uint32_t finding_facts(const struct verdicts *verdicts, const struct finding *finding, char *text,
                       uint32_t capacity);

/* "Gradients not cleared" for "gradients_kept"; a kind of another version stays as it is. */
const char *kind_title(const char *kind);

/* Gives a title the capital letter of a sentence, unless it begins with a name of code. */
void finding_capitalize(char *title);

/* The title below the kind's: without its words, and with a capital letter unless it begins with a name of code. As
 * above. */
uint32_t finding_headline(const struct verdicts *verdicts, const struct finding *finding, char *text,
                          uint32_t capacity);

/* The amount beside the title: "+24 MiB a step", "3 × 1.5 GiB", "1.5 GiB", "". As above. */
uint32_t finding_amount(const struct finding *finding, char *text, uint32_t capacity);

/* What to do as lines of code or a setting to paste; "": none. As above. */
uint32_t finding_code(const struct verdicts *verdicts, const struct finding *finding, char *text,
                      uint32_t capacity);

/* Does `bytes` mean an amount at `at_moment`? */
bool finding_has_bytes(const struct finding *finding);

/* The hash of a page that shows it: "#device=0&at=573&focus=line_train.py:41%20step". Capacity and result as
 * above. */
uint32_t finding_view(const struct verdicts *verdicts, const struct finding *finding, char *text,
                      uint32_t capacity);
