/* The words of a filter, and the allocations that they keep: a byte with the length of the words | the words | the recipe. */
#include "analysis/findings/selection.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

/* Every word, and the text in it, lies where its offsets say. */
static void words_check(const struct filter *filter, const char *text, uint32_t nbytes) {
    EXAMINE_CHECK(filter->n_words <= FILTER_WORDS_MAX && filter->n_regexes <= filter->n_words);
    for (uint32_t i = 0; i < filter->n_words; i++) {
        const struct filter_word *word = &filter->word[i];
        EXAMINE_CHECK(word->from < word->until && word->until <= nbytes);
        EXAMINE_CHECK(i == 0 || word[-1].until <= word->from);
        EXAMINE_CHECK(word->nbytes == 0 ||
                      (word->text >= text && word->text + word->nbytes <= text + nbytes));
        EXAMINE_CHECK(word->kind != FILTER_REGEX || word->nth_regex < filter->n_regexes);
    }
}

/* Matches every expression with every second frame and string. */
static const struct filter_regex *regexes_make(const struct trace *trace, uint32_t count,
                                               struct arena *arena) {
    uint32_t n = trace->frames.count > trace->strings.count ? trace->frames.count : trace->strings.count;
    uint64_t *bits = arena_alloc(arena, (n / 64 + (size_t)1) * sizeof *bits);
    struct filter_regex *regexes = arena_alloc(arena, (count + (size_t)1) * sizeof *regexes);
    EXAMINE_CHECK(bits != NULL && regexes != NULL);
    if (bits == NULL || regexes == NULL)
        return NULL;
    memset(bits, 0x55, (n / 64 + (size_t)1) * sizeof *bits);
    for (uint32_t i = 0; i < count; i++)
        regexes[i] = (struct filter_regex){bits, bits};
    return regexes;
}

static void device_select(const struct trace *trace, uint32_t device, struct filter_query *query) {
    struct arena arena;
    struct timeline whole;
    struct selection some;
    arena_init(&arena, fuzz_host, FUZZ_TRACE_NBYTES);
    query->regexes = regexes_make(trace, query->filter.n_regexes, &arena);
    if (timeline_init(&whole, trace, device, &arena) && selection_make(&some, &whole, query, NULL, &arena)) {
        EXAMINE_CHECK(some.allocations <= filter_count(&whole, NULL));
        EXAMINE_CHECK(some.allocations == filter_count(&whole, some.keep));
        EXAMINE_CHECK(some.timeline.peak_bytes <= whole.peak_bytes);
        for (uint32_t moment = 0; moment < whole.n_moments; moment++)
            EXAMINE_CHECK(some.timeline.live[moment] <= whole.live[moment]);
        if (query->filter.n_words == 0)
            EXAMINE_CHECK(some.timeline.peak_bytes == whole.peak_bytes);
    } else {
        EXAMINE_CHECK(arena.limit_hit);
    }
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    uint8_t length = recipe_u8(&bytes, &nbytes);
    uint32_t n = length < nbytes ? length : (uint32_t)nbytes;
    char *text = malloc(n + (size_t)1); /* no terminator: the sanitizers see where it ends */
    struct filter_query query = {.text = text};
    struct filter_error error = {.what = NULL};
    struct trace trace;
    EXAMINE_CHECK(text != NULL);
    if (text != NULL && n != 0)
        memcpy(text, bytes, n);
    if (!filter_parse(&query.filter, text, n, &error)) {
        EXAMINE_CHECK(error.what != NULL && error.from <= error.until && error.until <= n);
        EXAMINE_CHECK(query.filter.n_words == 0);
    } else {
        words_check(&query.filter, text, n);
        if (examine_read_recipe(&trace, bytes + n, nbytes - n))
            for (uint32_t i = 0; i < trace.n_devices; i++)
                device_select(&trace, i, &query);
        trace_release(&trace);
    }
    free(text);
    return 0;
}
