/* Compares the call sites of two recordings: what each did (profiles), which are the same (matching), and how they
 * differ. */
#include "analysis/compare/compare.h"

#include "analysis/loop/category.h"
#include "base/hashed.h"
#include "base/search.h"
#include "base/sort.h"
#include "layout/site.h"

enum {
    NEAR_LINES = 40,   /* a line that moved further is another line, unless many moved equally far */
    SHIFT_PAIRS = 256, /* limit on the shifts tried for one function */
    RENAMES_MAX = 256, /* files that only one side has, of each side */
    CALLERS_MAX = 64
};

/* ---- profiles ---- */

struct profiles {
    struct site_profile *profile;
    struct site_key *key;
    uint32_t *other; /* index on the other side; COMPARE_NONE */
    uint8_t *match;  /* enum site_match */
    uint32_t count;
};

/* Binary logarithm in 1/256, the fraction linear. */
static uint32_t log2_q8(uint32_t number) {
    if (number == 0)
        return 0;
    unsigned whole = 31u - (unsigned)__builtin_clz(number);
    return whole << 8 | ((number << (31 - whole)) >> 23 & 0xff);
}

static void profile_add(struct site_profile *profile, const struct compare_side *side, uint32_t allocation) {
    const struct allocations *allocations = &side->timeline->device->allocations;
    uint64_t size = allocations->size[allocation], n = allocation_stands_for(allocations, allocation);
    bool alive =
        allocations->birth[allocation] <= side->moment && side->moment < allocations->death[allocation];
    if (allocation < allocations->preexisting) {
        profile->older += n;
        profile->freed_here += (allocations->flags[allocation] & ALLOCATION_STACK_OF_FREE) != 0 ? n : 0;
    } else {
        profile->made += n;
        profile->made_bytes += size;
        profile->in_steps += side->steps_from <= allocations->birth[allocation] &&
                                     allocations->birth[allocation] < side->steps_until
                                 ? n
                                 : 0;
        profile->lifetime_bits +=
            n * log2_q8(allocations->death[allocation] - allocations->birth[allocation]);
    }
    if (side->category != NULL)
        profile->categories |= 1u << side->category[allocation];
    if (side->runs != NULL && allocation >= allocations->preexisting)
        profile->parts |= 1u << side_of_letter(side->runs->letter[allocation]);
    profile->sizes += n * hash_mix(0, size);
    profile->least_bytes = size < profile->least_bytes ? size : profile->least_bytes;
    profile->most_bytes = size > profile->most_bytes ? size : profile->most_bytes;
    profile->at_end += allocations->death[allocation] >= side->timeline->n_moments ? n : 0;
    if (!alive)
        return;
    if (profile->count == 0)
        profile->stack = allocations->stack[allocation];
    profile->bytes += size;
    profile->count += n;
    profile->largest = larger_of(profile->largest, size);
}

/* Makes the profiles of sites, in the order of their first allocation, and each frame's profile + 1. */
static bool profiles_find(struct profiles *profiles, const struct compare_side *side, struct arena *arena) {
    const struct timeline *timeline = side->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t n_frames = timeline->trace->frames.count, capacity = 0;
    uint32_t *same = arena_column(arena, n_frames, sizeof *same),
             *of = arena_zeros(arena, n_frames, sizeof *of);
    bool done = same != NULL && of != NULL && frames_same(timeline->trace, same, arena);
    for (uint32_t i = 0; done && i < allocations->count; i++) {
        if (!filter_keeps(side->keep, i))
            continue;
        uint32_t site = same[timeline->site[allocations->stack[i]]];
        if (of[site] == 0) {
            done = ARENA_GROW(arena, profiles->profile, capacity, (uint64_t)profiles->count + 1);
            if (!done)
                break;
            profiles->profile[profiles->count] = (struct site_profile){
                .site = site, .stack = allocations->stack[i], .least_bytes = UINT64_MAX};
            of[site] = ++profiles->count;
        }
        profile_add(&profiles->profile[of[site] - 1], side, i);
    }
    ARENA_DROP(arena, of, same);
    return done;
}

static bool profiles_init(struct profiles *profiles, const struct compare_side *side, struct arena *arena) {
    if (!profiles_find(profiles, side, arena))
        return false;
    if (!ARENA_COLUMNS(arena, profiles->count, profiles->key, profiles->other, profiles->match))
        return false;
    for (uint32_t i = 0; i < profiles->count; i++) {
        profiles->key[i] = site_key_of(side->timeline->trace, profiles->profile[i].site);
        profiles->other[i] = COMPARE_NONE;
        profiles->match[i] = SITE_ALONE;
    }
    return true;
}

static void profiles_drop(struct profiles *profiles, struct arena *arena) {
    ARENA_DROP(arena, profiles->match, profiles->other, profiles->key, profiles->profile);
}

struct matching {
    const struct compare_side *side_a, *side_b;
    struct profiles a, b;
    struct arena *arena;
};

static void pair(struct matching *matching, uint32_t a, uint32_t b, enum site_match match) {
    matching->a.other[a] = b;
    matching->b.other[b] = a;
    matching->a.match[a] = matching->b.match[b] = (uint8_t)match;
}

/* ---- renamed files ---- */

/* Functions by file, sorted, without duplicates. */
struct functions {
    struct sort_row *row; /* key: hash of the file, value: index of a profile */
    uint32_t count;
};

/* The profiles' indices, sorted by a key, equal ones by another. NULL: no memory. */
static struct sort_row *profiles_sorted(const struct profiles *profiles,
                                        uint64_t (*key)(const struct site_key *site),
                                        uint64_t (*then)(const struct site_key *site), struct arena *arena) {
    struct sort_row *rows = NULL, *spare = NULL;
    if (!ARENA_COLUMNS(arena, profiles->count, rows, spare))
        return NULL;
    SORT_BY(rows, spare, profiles->count, i, then(&profiles->key[i]));
    SORT_AGAIN(rows, spare, profiles->count, own, key(&profiles->key[own]));
    ARENA_DROP(arena, spare);
    return rows;
}

static uint64_t key_of_file(const struct site_key *site) {
    return site->file;
}

static uint64_t key_of_name(const struct site_key *site) {
    return site->function;
}

struct file_run {
    uint32_t from, until; /* rows */
    uint32_t renamed;     /* index of a run of the other side + 1 */
};

/* Files that the other side does not have. The first file, "no file", never counts. */
static uint32_t lone_files(const struct functions *own, const struct functions *others,
                           struct file_run *runs) {
    uint32_t n = 0;
    for (uint32_t from = 0, until; from < own->count && n < RENAMES_MAX; from = until) {
        until = sort_rows_end(own->row, own->count, from);
        uint64_t file = own->row[from].key;
        uint32_t at = SEARCH(0, others->count, i, others->row[i].key < file);
        if (file != 0 && (at == others->count || others->row[at].key != file))
            runs[n++] = (struct file_run){from, until, 0};
    }
    return n;
}

/* Similarity of two files: twice the number of function names in both over the sum of their functions, in
 * thousandths. Agreeing lines are added to break ties. */
static uint32_t similarity(const struct matching *matching, const struct functions *fa, struct file_run a,
                           const struct functions *fb, struct file_run b) {
    uint32_t common = 0, lines = 0, n_a = a.until - a.from, n_b = b.until - b.from;
    for (uint32_t i = a.from, k = b.from; i < a.until && k < b.until;) {
        const struct site_key *ka = &matching->a.key[fa->row[i].value],
                              *kb = &matching->b.key[fb->row[k].value];
        if (ka->function == kb->function) {
            common++;
            lines += ka->line == kb->line;
            i++;
            k++;
        } else if (ka->function < kb->function) {
            i++;
        } else {
            k++;
        }
    }
    return (uint32_t)((uint64_t)common * 2000000 / (n_a + n_b)) / 1000 * 1000 + (lines < 999 ? lines : 999);
}

/* Pairs the most similar files first, as long as at least half of both agrees. */
static void renames_choose(struct matching *matching, const struct functions *fa, struct file_run *a,
                           uint32_t n_a, const struct functions *fb, struct file_run *b, uint32_t n_b) {
    for (uint32_t round = 0; round < n_a && round < 32; round++) {
        uint32_t best = 0, best_a = 0, best_b = 0;
        for (uint32_t i = 0; i < n_a; i++)
            for (uint32_t k = 0; k < n_b; k++) {
                uint32_t same =
                    a[i].renamed + b[k].renamed == 0 ? similarity(matching, fa, a[i], fb, b[k]) : 0;
                if (same > best) {
                    best = same;
                    best_a = i;
                    best_b = k;
                }
            }
        if (best < 500000)
            return;
        a[best_a].renamed = best_b + 1;
        b[best_b].renamed = best_a + 1;
        for (uint32_t i = b[best_b].from; i < b[best_b].until; i++)
            matching->b.key[fb->row[i].value].file = fa->row[a[best_a].from].key;
    }
}

static bool renames_find(struct matching *matching) {
    struct functions fa = {.count = matching->a.count}, fb = {.count = matching->b.count};
    struct file_run *runs = arena_column(matching->arena, 2 * RENAMES_MAX, sizeof *runs);
    fa.row = profiles_sorted(&matching->a, key_of_file, key_of_name, matching->arena);
    fb.row = profiles_sorted(&matching->b, key_of_file, key_of_name, matching->arena);
    bool done = runs != NULL && fa.row != NULL && fb.row != NULL;
    if (done) {
        uint32_t n_a = lone_files(&fa, &fb, runs), n_b = lone_files(&fb, &fa, runs + RENAMES_MAX);
        /* Hundreds of unmatched files on both sides mean two different programs. */
        if ((uint64_t)n_a * n_b <= 4096)
            renames_choose(matching, &fa, runs, n_a, &fb, runs + RENAMES_MAX, n_b);
    }
    ARENA_DROP(matching->arena, fa.row, fb.row, runs);
    return done;
}

/* ---- lines of one function ---- */

/* Sites of one function on both sides, by rising line. */
struct function_pair {
    struct matching *matching;
    const struct sort_row *a, *b; /* values are indices of profiles */
    uint32_t n_a, n_b;
};

static int64_t line_a(const struct function_pair *pairs, uint32_t i) {
    return pairs->matching->a.key[pairs->a[i].value].line;
}

static int64_t line_b(const struct function_pair *pairs, uint32_t i) {
    return pairs->matching->b.key[pairs->b[i].value].line;
}

/* The number of A's lines that B has `shift` further down, times 2^32; equal sizes of allocations break ties. */
static uint64_t shift_score(const struct function_pair *pairs, int64_t shift) {
    uint64_t score = 0;
    for (uint32_t i = 0, k = 0; i < pairs->n_a && k < pairs->n_b;) {
        int64_t apart = line_b(pairs, k) - line_a(pairs, i) - shift;
        if (apart == 0) {
            const struct matching *m = pairs->matching;
            score += (UINT64_C(1) << 32) + (m->a.profile[pairs->a[i].value].most_bytes ==
                                            m->b.profile[pairs->b[k].value].most_bytes);
            i++;
            k++;
        } else if (apart < 0) {
            k++;
        } else {
            i++;
        }
    }
    return score;
}

/* By how many lines the function has moved: the shift that matches most lines, the smallest of equal ones. */
static int64_t best_shift(const struct function_pair *pairs) {
    int64_t best = 0;
    uint64_t best_score = shift_score(pairs, 0);
    bool all = (uint64_t)pairs->n_a * pairs->n_b <= SHIFT_PAIRS;
    for (uint32_t i = 0; i < pairs->n_a; i += all ? 1 : pairs->n_a / 4 + 1)
        for (uint32_t k = 0; k < pairs->n_b; k += all ? 1 : pairs->n_b / 4 + 1) {
            int64_t shift = line_b(pairs, k) - line_a(pairs, i);
            uint64_t score = shift_score(pairs, shift);
            if (score > best_score || (score == best_score && magnitude_of(shift) < magnitude_of(best))) {
                best = shift;
                best_score = score;
            }
        }
    return best;
}

static enum site_match match_of(const struct matching *matching, uint32_t a, uint32_t b) {
    const struct trace *trace_b = matching->side_b->timeline->trace;
    if (site_key_of(trace_b, matching->b.profile[b].site).file != matching->a.key[a].file)
        return SITE_RENAMED;
    return matching->a.key[a].line == matching->b.key[b].line ? SITE_SAME : SITE_MOVED;
}

static void pair_shifted(const struct function_pair *pairs, int64_t shift) {
    for (uint32_t i = 0, k = 0; i < pairs->n_a && k < pairs->n_b;) {
        int64_t apart = line_b(pairs, k) - line_a(pairs, i) - shift;
        if (apart == 0)
            pair(pairs->matching, pairs->a[i].value, pairs->b[k].value,
                 match_of(pairs->matching, pairs->a[i].value, pairs->b[k].value));
        i += apart >= 0;
        k += apart <= 0;
    }
}

/* Pairs the remaining lines, in order, that are near each other after the shift. */
static void pair_near(const struct function_pair *pairs, int64_t shift) {
    struct matching *matching = pairs->matching;
    for (uint32_t i = 0, k = 0; i < pairs->n_a && k < pairs->n_b;) {
        uint32_t a = pairs->a[i].value, b = pairs->b[k].value;
        int64_t apart = line_b(pairs, k) - line_a(pairs, i) - shift;
        if (matching->a.other[a] != COMPARE_NONE) {
            i++;
        } else if (matching->b.other[b] != COMPARE_NONE) {
            k++;
        } else if (magnitude_of(apart) <= NEAR_LINES) {
            pair(matching, a, b, match_of(matching, a, b));
            i++;
            k++;
        } else {
            i += apart > 0;
            k += apart < 0;
        }
    }
}

static uint64_t key_of_function(const struct site_key *site) {
    return hash_mix(site->file, site->function);
}

static uint64_t key_of_line(const struct site_key *site) {
    return site->line;
}

static bool functions_match(struct matching *matching) {
    uint32_t n_a = matching->a.count, n_b = matching->b.count;
    struct sort_row *a = profiles_sorted(&matching->a, key_of_function, key_of_line, matching->arena);
    struct sort_row *b = profiles_sorted(&matching->b, key_of_function, key_of_line, matching->arena);
    bool done = a != NULL && b != NULL;
    for (uint32_t i = 0, k = 0; done && i < n_a && k < n_b;) {
        uint32_t i_end = sort_rows_end(a, n_a, i), k_end = sort_rows_end(b, n_b, k);
        bool same = a[i].key == b[k].key, before = a[i].key < b[k].key;
        if (same) {
            struct function_pair pairs = {matching, a + i, b + k, i_end - i, k_end - k};
            int64_t shift = best_shift(&pairs);
            pair_shifted(&pairs, shift);
            pair_near(&pairs, shift);
        }
        i = same || before ? i_end : i;
        k = same || !before ? k_end : k;
    }
    ARENA_DROP(matching->arena, b, a);
    return done;
}

/* ---- equal callers ---- */

/* Hash of the user's frames outside of the site, without their lines; 0: none. */
static uint64_t callers_hash(const struct compare_side *side, const struct site_profile *profile) {
    const struct timeline *timeline = side->timeline;
    const struct stack_table *stacks = &timeline->trace->stacks;
    uint64_t hash = 0;
    uint32_t site = timeline->site[profile->stack], walked = 0;
    bool outside = false;
    for (uint32_t at = profile->stack; at != 0 && walked < CALLERS_MAX; at = stack_parent(stacks, at)) {
        if (outside && timeline_frame_is_user(timeline, stacks->frame[at])) {
            struct site_key key = site_key_of(timeline->trace, stacks->frame[at]);
            hash = hash_mix(hash, key.function);
            walked++;
        }
        outside |= stacks->frame[at] == site;
    }
    return hash;
}

static uint32_t callers_rows(const struct profiles *profiles, const struct compare_side *side,
                             struct sort_row *rows) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < profiles->count; i++) {
        uint64_t hash = profiles->other[i] == COMPARE_NONE && profiles->profile[i].site != 0
                            ? callers_hash(side, &profiles->profile[i])
                            : 0;
        if (hash != 0)
            rows[n++] = (struct sort_row){hash, i};
    }
    return n;
}

static uint32_t sizes_rows(const struct profiles *profiles, struct sort_row *rows) {
    static const uint32_t lasting[] = {1u << CATEGORY_PARAMETER, 1u << CATEGORY_GRADIENT,
                                       1u << CATEGORY_OPTIMIZER_STATE};
    uint32_t n = 0;
    for (uint32_t i = 0; i < profiles->count; i++)
        for (uint32_t k = 0; k < 3 && profiles->other[i] == COMPARE_NONE; k++)
            if (profiles->profile[i].categories == lasting[k])
                rows[n++] = (struct sort_row){profiles->profile[i].sizes + k, i};
    return n;
}

/* Sites of both sides by a key. */
struct keyed {
    struct sort_row *a, *b, *spare;
    uint32_t n_a, n_b;
};

/* Pairs sites that are the only ones of their side with a key, if they are alike. */
static void keyed_match(struct matching *matching, const struct keyed *keyed, enum site_match match,
                        bool (*alike)(const struct site_key *a, const struct site_key *b)) {
    const struct sort_row *a = keyed->a, *b = keyed->b;
    sort_rows(keyed->a, keyed->spare, keyed->n_a);
    sort_rows(keyed->b, keyed->spare, keyed->n_b);
    for (uint32_t i = 0, k = 0; i < keyed->n_a && k < keyed->n_b;) {
        uint32_t i_end = sort_rows_end(a, keyed->n_a, i), k_end = sort_rows_end(b, keyed->n_b, k);
        bool same = a[i].key == b[k].key, before = a[i].key < b[k].key;
        if (same && i_end == i + 1 && k_end == k + 1 &&
            (alike == NULL || alike(&matching->a.key[a[i].value], &matching->b.key[b[k].value])))
            pair(matching, a[i].value, b[k].value, match);
        i = same || before ? i_end : i;
        k = same || !before ? k_end : k;
    }
}

static bool are_near(const struct site_key *a, const struct site_key *b) {
    return a->file == b->file || a->function == b->function;
}

/* Pairs a site with the only other one that has its callers, in the same file or function; then sites whose
 * allocations have one category and the same sizes. */
static bool callers_match(struct matching *matching) {
    struct arena *arena = matching->arena;
    uint32_t most = matching->a.count > matching->b.count ? matching->a.count : matching->b.count;
    struct keyed keyed = {0};
    bool done = ARENA_COLUMNS(arena, most, keyed.a, keyed.b, keyed.spare);
    if (done) {
        keyed.n_a = callers_rows(&matching->a, matching->side_a, keyed.a);
        keyed.n_b = callers_rows(&matching->b, matching->side_b, keyed.b);
        keyed_match(matching, &keyed, SITE_BY_STACK, are_near);
        keyed.n_a = sizes_rows(&matching->a, keyed.a);
        keyed.n_b = sizes_rows(&matching->b, keyed.b);
        keyed_match(matching, &keyed, SITE_BY_SIZES, NULL);
    }
    ARENA_DROP(arena, keyed.spare, keyed.b, keyed.a);
    return done;
}

/* ---- rows ---- */

enum site_change compare_change(uint64_t a_bytes, uint64_t b_bytes, uint64_t a_count, uint64_t b_count) {
    if (a_bytes == b_bytes && a_count == b_count)
        return CHANGE_SAME;
    if (a_count == 0 || b_count == 0)
        return a_count == 0 ? CHANGE_NEW : CHANGE_GONE;
    return (a_bytes != b_bytes ? a_bytes < b_bytes : a_count < b_count) ? CHANGE_GROWN : CHANGE_SHRUNK;
}

static void row_add(struct comparison *comparison, const struct site_profile *a, const struct site_profile *b,
                    enum site_match match) {
    static const struct site_profile none = {.site = COMPARE_NONE};
    struct compare_site site = {.a = a != NULL ? *a : none, .b = b != NULL ? *b : none, .match = match};
    site.change = compare_change(site.a.bytes, site.b.bytes, site.a.count, site.b.count);
    comparison->a_bytes += site.a.bytes;
    comparison->b_bytes += site.b.bytes;
    comparison->n_listed += site.a.count + site.b.count != 0;
    comparison->site[comparison->n_sites++] = site;
}

static void rows_add(struct comparison *comparison, const struct matching *matching) {
    const struct profiles *a = &matching->a, *b = &matching->b;
    for (uint32_t i = 0; i < a->count; i++) {
        bool both = a->other[i] != COMPARE_NONE;
        row_add(comparison, &a->profile[i], both ? &b->profile[a->other[i]] : NULL,
                (enum site_match)a->match[i]);
    }
    for (uint32_t i = 0; i < b->count; i++)
        if (b->other[i] == COMPARE_NONE)
            row_add(comparison, NULL, &b->profile[i], SITE_ALONE);
}

/* As struct comparison orders its rows. */
static uint64_t row_key(const void *record, uint32_t nth) {
    const struct site_profile *a = &((const struct compare_site *)record)->a,
                              *b = &((const struct compare_site *)record)->b;
    const uint64_t keys[] = {a->count + b->count == 0, ~magnitude_of(compare_delta(a->bytes, b->bytes)),
                             ~b->bytes, ~a->bytes};
    return keys[nth];
}

bool compare_sites(struct comparison *comparison, const struct compare_side *a, const struct compare_side *b,
                   struct arena *arena) {
    struct matching matching = {.side_a = a, .side_b = b, .arena = arena};
    *comparison = (struct comparison){0};
    bool done = profiles_init(&matching.a, a, arena) && profiles_init(&matching.b, b, arena) &&
                renames_find(&matching) && functions_match(&matching) && callers_match(&matching);
    if (done) {
        comparison->site =
            arena_column(arena, (uint64_t)matching.a.count + matching.b.count, sizeof *comparison->site);
        done = comparison->site != NULL;
    }
    if (done) {
        rows_add(comparison, &matching);
        done =
            sort_records(comparison->site, comparison->n_sites, sizeof *comparison->site, row_key, 4, arena);
    }
    profiles_drop(&matching.a, arena);
    profiles_drop(&matching.b, arena);
    return done;
}
