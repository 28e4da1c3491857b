/* Shared by the files of findings: each finding_*.c finds one kind and writes its sentences; findings.c has them in
 * a table. Private to these files. */
#pragma once

#include "analysis/findings/lives.h"
#include "analysis/findings/verdicts.h"
#include "base/numbers.h"
#include "base/sort.h"

enum {
    FINDINGS_OF_KIND = 32, /* call sites beyond these are not reported one by one */
    SAVINGS_OF_KIND =
        8 /* savings are computed for this many, the largest: each takes a pass over all moments */
};

struct telling;

struct finder {
    const struct verdicts *verdicts;
    const struct timeline *timeline;
    const struct allocations *allocations;
    struct arena *arena;
    struct lives lives;
    struct removed {                     /* taken out of the curve, until the saving is computed */
        struct sort_row *change, *spare; /* [most] moments, and which of `bytes` changes at each */
        uint64_t *bytes;                 /* [most] differences, positive or negative */
        uint64_t *each;       /* [n_moments + 1] differences, once there are many; NULL: there never were */
        uint32_t count, most; /* count == most: they are in `each` */
    } removed;
    /* what findings take out, if the verdicts want it; the last ones since finder_saves */
    struct finding_cut *cut;
    uint32_t n_cuts, cut_capacity, first_cut;
    uint32_t made; /* moment of the last recorded birth: what is alive after it counts as alive at the end */
    struct finding *finding;
    uint32_t count, capacity;
    struct {
        struct sort_row *row; /* allocations by set, in the order in which they were counted */
        uint32_t count, capacity;
        uint32_t n_sets;
    } sets;
    uint32_t looked[FINDING_KINDS]; /* copied to the findings, as are the next two */
    uint64_t spared[FINDING_KINDS];
    bool gradients_unsure;
    bool failed; /* no memory: nothing more is added */
};

/* Adds a finding. */
void finder_add(struct finder *finder, const struct finding *finding);

/* finder_remove takes an allocation out of the curve in [from, to). finder_saves stores what all removals save in
 * the finding's `saves`, `saves_known` and cuts, and puts everything back. O(1), and at worst O(moments); few
 * changes take a walk over blocks of moments. */
void finder_remove(struct finder *finder, uint32_t allocation, uint32_t from, uint32_t to);
void finder_saves(struct finder *finder, struct finding *finding);

/* Counts an allocation, and adds it to the finding's set if it is alive at the finding's at_moment. */
void finder_count(struct finder *finder, struct finding *finding, uint32_t allocation);

/* High if at least 10 % of the peak is saved, medium from 3 %. */
enum finding_severity severity_of_saving(uint64_t saves, uint64_t peak);

/* By the number of turns that show it: 2 possible, 3 likely, more certain. */
enum finding_confidence confidence_of_turns(uint32_t turns);

/* The largest number of a note, which sets the moments of the finding; 0: there is none. O(notes). */
uint64_t finder_counted(const struct finder *finder, uint8_t what, struct finding *finding);

/* The first allocation in a turn that forward() makes, or else the first on the forward side; turn->end: none.
 * O(turn). */
uint32_t finder_forward(const struct finder *finder, const struct turn *turn);

/* The moment of the first allocation that forward() makes; UINT32_MAX: none. O(allocations). */
uint32_t finder_first_forward(const struct finder *finder);

static inline enum run_side finder_side(const struct finder *finder, uint32_t allocation) {
    return side_of_letter(finder->verdicts->runs.letter[allocation]);
}

static inline uint32_t finder_site(const struct finder *finder, uint32_t allocation) {
    return finder->timeline->site[finder->allocations->stack[allocation]];
}

static inline enum finding_unit finder_unit(const struct finder *finder) {
    return finder->verdicts->turns.source >= TURNS_BACKWARD ? UNIT_TURN : UNIT_STEP;
}

/* Variant of gradients_kept: kept by the step before the recording. It has a title of its own. */
enum { KEPT_BEFORE = 2 }; /* variant */
void finder_gradients_before(struct finder *finder);

/* What a finding's sentences are made from. */
struct telling {
    const struct verdicts *verdicts;
    const struct finding *finding;
    struct words *words;
};

/* Adds a sentence with the marks of words_tell, and %S: the finding's site (for several sites the caller writes "n call
 * sites"), %U: its unit, "step" or "turn". */
void tell_figures(struct telling *telling, const char *sentence, const uint64_t *figures);
#define TELL(telling, sentence, ...) tell_figures((telling), (sentence), (const uint64_t[]){__VA_ARGS__})

static inline void tell(struct telling *telling, const char *sentence) {
    tell_figures(telling, sentence, NULL);
}

void tell_frame(struct telling *telling, uint32_t frame);

/* The peak without the memory that the finding would save. */
static inline uint64_t telling_peak_left(const struct telling *telling) {
    return telling->verdicts->timeline->peak_bytes - telling->finding->saves;
}

/* " Without it the peak would be 3.2 GiB lower (12 %)." */
void tell_saving(struct telling *telling, const char *without);

/* What to do: as a sentence that begins with a verb, and as lines of code or a setting to paste. NULL: nothing is known
 * to help. Both may have the marks of tell_figures; `figure` is theirs. */
struct advice {
    const char *action, *code;
    uint64_t figure;
};

enum kind_flags {
    KIND_OF_SET = 1,    /* about allocations, not about a request, the recording or its levels */
    KIND_OF_LEVELS = 2, /* asked of logs too, whose allocations are made up from levels */
    KIND_OF_CACHE =
        4, /* about the GPUs' caching allocator: pinned memory has its own, which keeps every block */
    KIND_NO_BYTES = 8, /* `bytes` is no amount at `at_moment` */
    KIND_EACH = 16     /* its amount is `per_bytes` */
};

/* The row of a kind: everything that the program knows of it. */
struct kind {
    const char *name; /* "leak", as in JSON */
    void (*find)(struct finder *finder);
    void (*title)(struct telling *telling);
    void (*detail)(struct telling *telling);
    const char *heading; /* "Leak", over a card */
    uint32_t flags;
    const char *change; /* what a plan says of its removal; NULL: none removes it */
    struct advice (*advise)(const struct telling *telling);
    struct advice advice; /* if `advise` is NULL */
};

/* The first members of a row. */
#define KIND(name) #name, name##_find, name##_title, name##_detail

#define FINDING_ROW(KIND, name) extern const struct kind kind_##name;
STRATA_FINDINGS(FINDING_ROW)
#undef FINDING_ROW

/* Of graphs that a backward retains. */
#define ADVICE_RETAINED                                                                               \
    (struct advice) {                                                                                 \
        "Call backward without retain_graph=True: most often that is why. Otherwise keep an "         \
        "autograd.Function's tensors with ctx.save_for_backward, or detach what the next step uses.", \
            "loss.backward()  # without retain_graph; or detach at %S", 0                             \
    }

/* Is an allocation still alive when everything has been made? */
static inline bool finder_keeps(const struct finder *finder, uint32_t allocation) {
    return finder->allocations->request[allocation] > finder->made;
}
