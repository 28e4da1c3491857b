/* Makes the page of a recipe, redacted or not, with a limited size or not, and reads it again. Every page must be
 * readable; if nothing was merged, it must have the same content. */
#include "analysis/loop/category.h"
#include "render/page/html.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/recipe.h"
#include "tests/fuzz/target.h"
#include "trace/redact.h"

#include <string.h>

/* Compares only what the page keeps in any case. */
static void same_check(const struct trace *a, const struct trace *b) {
    EXAMINE_CHECK(a->n_devices == b->n_devices);
    for (uint32_t i = 0; i < a->n_devices; i++) {
        const struct device_trace *x = &a->devices[i], *y = &b->devices[i];
        EXAMINE_CHECK(x->n_events == y->n_events && x->allocations.count == y->allocations.count);
        EXAMINE_CHECK(x->allocations.count == 0 ||
                      memcmp(x->allocations.size, y->allocations.size,
                             x->allocations.count * sizeof *x->allocations.size) == 0);
        EXAMINE_CHECK(x->allocations.count == 0 ||
                      memcmp(x->allocations.death, y->allocations.death,
                             x->allocations.count * sizeof *x->allocations.death) == 0);
    }
}

static void read_back(const struct buffer *page, const struct trace *trace, bool merged) {
    struct trace back;
    struct read_error error;
    if (!examine_read(&back, page->bytes, page->nbytes, &error))
        EXAMINE_CHECK(error.code == READ_NO_MEMORY);
    else if (!merged)
        same_check(trace, &back);
    trace_release(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes) {
    uint8_t choice = recipe_u8(&bytes, &nbytes), size = recipe_u8(&bytes, &nbytes);
    struct html_options options = {.file = "input", .fingerprint = "xxh128:", .theme = "auto", .threads = 1};
    struct html_outcome outcome;
    struct trace trace;
    if (choice & 1) /* the page without a recording has some 200 KB */
        options.max_nbytes = 150000 + size * 1000U;
    if (examine_read_recipe(&trace, bytes, nbytes) &&
        (!(choice & 2) || trace_redact(&trace, true, category_is_known))) {
        struct buffer page = {.host = arena_share(&trace.arena)};
        enum html_result result = html_render(&page, &trace, arena_share(&trace.arena), &options, &outcome);
        if (result == HTML_DONE) {
            EXAMINE_CHECK(options.max_nbytes == 0 || page.nbytes <= options.max_nbytes);
            read_back(&page, &trace, outcome.n_merged != 0 || outcome.n_hidden != 0);
        } else {
            EXAMINE_CHECK(result == HTML_TOO_LARGE || trace.arena.limit_hit);
        }
        buffer_release(&page);
    }
    trace_release(&trace);
    return 0;
}
