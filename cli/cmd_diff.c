#include "analysis/findings/budget.h"
#include "base/format.h"
#include "base/json_writer.h"
#include "cli/browser.h"
#include "cli/convert.h"
#include "cli/ending.h"
#include "cli/exit_code.h"
#include "cli/filter.h"
#include "cli/memory.h"
#include "cli/render.h"
#include "cli/terminal.h"
#include "cli/window.h"
#include "render/page/html.h"
#include "render/png/diff_chart.h"
#include "render/report/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- operands ---- */

/* A recording and a moment in it: "run.pickle#device=1#step=3", "run.pickle#at=peak-500". */
struct operand {
    char *path; /* the path without the keys; owned */
    bool has_device, has_step;
    int32_t device;
    uint64_t step;      /* number of the step as people see it */
    struct position at; /* POSITION_NONE: not given */
};

static bool key_read(struct operand *operand, const char *key, const char *value) {
    if (strcmp(key, "device") == 0)
        return operand->has_device = ordinal_parse(value, &operand->device);
    if (strcmp(key, "at") == 0)
        return position_parse(value, &operand->at);
    operand->has_step = strcmp(key, "step") == 0;
    return operand->has_step && number_parse(value, 0, UINT32_MAX, &operand->step);
}

/* Reads "device=1#step=3", in place. NULL: understood; otherwise the part that is not. */
static const char *keys_read(struct operand *operand, char *text) {
    while (*text != '\0') {
        size_t length = strcspn(text, "#&");
        char *next = text + length + (text[length] != '\0'), *value = strchr(text, '=');
        text[length] = '\0';
        if (value == NULL)
            return text;
        *value = '\0';
        if (!key_read(operand, text, value + 1)) {
            *value = '=';
            return text;
        }
        text = next;
    }
    return NULL;
}

/* Splits an operand; its keys begin with # or &, after the last slash. A path that exists is taken whole. The path is
 * to be freed also after a failure. False: printed. */
static bool operand_parse(struct operand *operand, const char *word) {
    *operand = (struct operand){.path = memory_text("%s", word)};
    char *slash = strrchr(operand->path, '/'), *keys = strchr(slash != NULL ? slash : operand->path, '#');
    if (keys == NULL || access(word, F_OK) == 0)
        return true;
    *keys = '\0';
    const char *wrong = keys_read(operand, keys + 1);
    if (wrong != NULL)
        terminal_error(word, "\"%s\" is not one of #step=3, #at=peak (or an event) and #device=1", wrong);
    if (wrong == NULL && operand->has_step && operand->at.base != POSITION_NONE) {
        terminal_error(word, "#step and #at are two moments; give one");
        wrong = "";
    }
    return wrong == NULL;
}

/* ---- one side ---- */

struct side {
    struct operand operand;
    struct settings settings; /* settings for reading it: with the operand's path and device */
    struct recording recording;
    bool open;
    struct arena scratch;
    struct timeline timeline;
    struct filter_set filter;
    struct selection selection;
    struct verdicts verdicts;
    uint32_t moment;
    char shown[512]; /* the file's name and the keys after it */
};

static struct side *side_new(void) {
    return memory_alloc(1, sizeof(struct side));
}

static void side_free(struct side *side) {
    if (side->open) {
        arena_release(&side->scratch);
        recording_release(&side->recording);
    }
    free(side->operand.path);
    free(side);
}

static int side_no_memory(const struct side *side) {
    return recording_print_no_memory(&side->recording, side->scratch.limit_hit);
}

static int side_compute(struct side *side, uint32_t device) {
    const struct recording *recording = &side->recording;
    if (!timeline_init(&side->timeline, &recording->trace, device, &side->scratch) ||
        !verdicts_init(&side->verdicts, &side->timeline, &side->scratch))
        return side_no_memory(side);
    if (!filter_set_make(&side->filter, recording, side->settings.filter, &side->scratch))
        return EXIT_CODE_FAILED;
    if (side->filter.query != NULL &&
        !selection_make(&side->selection, &side->timeline, side->filter.query, NULL, &side->scratch))
        return side_no_memory(side);
    side->moment = side->timeline.peak_moment;
    return EXIT_CODE_DONE;
}

/* Opens a side, reads it and computes its timeline; another side uses `used` bytes of the memory. Returns an enum
 * exit_code. */
static int side_open(struct side *side, const char *word, const struct settings *settings, size_t used) {
    uint32_t device;
    int code;
    side->settings = *settings;
    if (!operand_parse(&side->operand, word))
        return EXIT_CODE_USAGE;
    side->settings.input = side->operand.path;
    if (side->operand.has_device) {
        side->settings.has_device = true;
        side->settings.device = side->operand.device;
    }
    size_t limit = settings->max_memory_nbytes;
    side->settings.max_memory_nbytes = limit > used ? limit - used : 1;
    if (!recording_open(&side->recording, &side->settings))
        return EXIT_CODE_FAILED;
    side->open = true;
    arena_init(&side->scratch, memory_host(), SIZE_MAX);
    if (!recording_read(&side->recording, &side->settings))
        return EXIT_CODE_FAILED;
    if (!recording_choose_device(&side->recording, &side->settings, &device, &code))
        return code;
    if (!trace_has_allocations(&side->recording.trace) &&
        !budget_is_drawn(&side->recording.trace.devices[device])) {
        terminal_error(
            side->recording.input.shown,
            "is a log: it holds levels, not allocations that could be compared; strata report shows "
            "its levels");
        return EXIT_CODE_FAILED;
    }
    if ((code = filter_look(&side->recording, &side->settings, &device)) != EXIT_CODE_DONE)
        return code;
    recording_scratch(&side->recording, &side->scratch);
    snprintf(side->shown, sizeof side->shown, "%s%s", side->recording.input.name,
             word + strlen(side->operand.path));
    return side_compute(side, device);
}

static int64_t step_number(const struct side *side, uint32_t step) {
    return turns_number(&side->verdicts.turns, side->verdicts.steps.span[step].step);
}

/* Index of the step with this number; the number of steps if there is none. */
static uint32_t step_find(const struct side *side, int64_t number) {
    uint32_t step = 0;
    while (step < side->verdicts.steps.count && step_number(side, step) != number)
        step++;
    return step;
}

static int step_missing(const struct side *side) {
    uint32_t count = side->verdicts.steps.count;
    if (count == 0)
        terminal_error(side->recording.input.shown,
                       "has no steps: neither annotations nor repetition shows any");
    else
        terminal_error(side->recording.input.shown,
                       "has no step %" PRIu64 "; its steps are %" PRId64 " to %" PRId64, side->operand.step,
                       step_number(side, 0), step_number(side, count - 1));
    return EXIT_CODE_USAGE;
}

/* Finds the moment that the operand names after the path. */
static int side_moment(struct side *side) {
    const struct operand *operand = &side->operand;
    const char *reason = NULL;
    uint32_t step = step_find(side, (int64_t)operand->step);
    if (operand->at.base != POSITION_NONE &&
        !window_moment(&side->timeline, operand->at, &side->moment, &reason)) {
        terminal_error(side->recording.input.shown, "#at: %s", reason);
        return EXIT_CODE_USAGE;
    }
    if (!operand->has_step)
        return EXIT_CODE_DONE;
    if (step == side->verdicts.steps.count)
        return step_missing(side);
    side->moment = side->verdicts.steps.span[step].peak_moment;
    return EXIT_CODE_DONE;
}

static bool moment_is_given(const struct side *side) {
    return side->operand.has_step || side->operand.at.base != POSITION_NONE;
}

/* ---- alignment ---- */

/* Aligns the step of A that holds its peak (or the nearest one) with the same step of B, by number where both are
 * numbered. */
static bool align_steps(struct side *a, struct side *b) {
    const struct spans *of_a = &a->verdicts.steps, *of_b = &b->verdicts.steps;
    uint32_t step = 0;
    if (of_a->count == 0 || of_b->count == 0)
        return false;
    while (step + 1 < of_a->count && of_a->span[step].to_moment < a->timeline.peak_moment)
        step++;
    uint32_t other = step_find(b, step_number(a, step));
    if (other == of_b->count)
        other = step < of_b->count ? step : of_b->count - 1;
    a->moment = of_a->span[step].peak_moment;
    b->moment = of_b->span[other].peak_moment;
    return true;
}

static bool is_annotation(const struct side *side, const struct span *span, struct text name) {
    return span->kind == SPAN_ANNOTATION && text_equals(trace_text(side->timeline.trace, span->name), name);
}

/* Aligns the innermost annotation around A's peak with the one of B that has its name and number; if B has fewer, with
 * the last of that name. */
static bool align_annotations(struct side *a, struct side *b) {
    const struct spans *of_a = &a->verdicts.phases, *of_b = &b->verdicts.phases;
    const struct span *around = NULL, *same = NULL;
    uint32_t nth = 0;
    for (const struct span *span = of_a->span; span < of_a->span + of_a->count; span++)
        if (span->kind == SPAN_ANNOTATION && span->from_moment <= a->timeline.peak_moment &&
            a->timeline.peak_moment <= span->to_moment)
            around = span;
    if (around == NULL)
        return false;
    struct text name = trace_text(a->timeline.trace, around->name);
    for (const struct span *span = of_a->span; span <= around; span++)
        nth += is_annotation(a, span, name);
    for (const struct span *span = of_b->span; span < of_b->span + of_b->count && nth > 0; span++)
        if (is_annotation(b, span, name)) {
            same = span;
            nth--;
        }
    if (same == NULL)
        return false;
    a->moment = around->peak_moment;
    b->moment = same->peak_moment;
    return true;
}

/* Sets both moments. */
static enum diff_alignment sides_align(struct side *a, struct side *b, enum align align) {
    if (moment_is_given(a) || moment_is_given(b))
        return a->operand.has_step && b->operand.has_step ? DIFF_BY_STEP : DIFF_BY_EVENT;
    a->moment = a->timeline.peak_moment;
    b->moment = b->timeline.peak_moment;
    if (align == ALIGN_STEP && align_steps(a, b))
        return DIFF_BY_STEP;
    if (align == ALIGN_ANNOTATION && align_annotations(a, b))
        return DIFF_BY_ANNOTATION;
    if (align != ALIGN_PEAK)
        terminal_note(b->recording.input.shown,
                      align == ALIGN_STEP ? "it or the first has no steps; each is compared at its peak"
                                          : "shares no annotation around the first's peak; each is "
                                            "compared at its peak");
    return DIFF_BY_PEAK;
}

/* The exit code after a failed write: a fault of the target was printed already, anything else is lack of memory. */
static int side_not_written(const struct side *side, const struct buffer *out) {
    return out->refused ? EXIT_CODE_FAILED : side_no_memory(side);
}

static struct diff_side diff_side_of(const struct side *side) {
    return (struct diff_side){.file = side->shown,
                              .fingerprint = side->recording.fingerprint,
                              .timeline = &side->timeline,
                              .keep = side->filter.query != NULL ? side->selection.keep : NULL,
                              .moment = side->moment,
                              .verdicts = &side->verdicts};
}

static bool is_picture(const struct settings *settings) {
    return ending_kind(settings->output) == ENDING_PICTURE;
}

static bool is_page(const struct settings *settings) {
    return ending_kind(settings->output) == ENDING_PAGE;
}

static const struct timeline *side_shown(const struct side *side) {
    return side->filter.query != NULL ? &side->selection.timeline : &side->timeline;
}

/* Draws the difference. Returns an enum exit_code. */
static int diff_draw(struct buffer *out, const struct diff *diff, const struct side *a, const struct side *b,
                     const struct settings *settings, struct arena *arena) {
    struct chart_options options = picture_options_of(&a->recording, settings);
    options.fingerprint_b = diff->b.fingerprint;
    enum chart_error error = diff_chart_png(out, diff, side_shown(a), side_shown(b), &options, arena);
    if (error == CHART_OK)
        return EXIT_CODE_DONE;
    return error == CHART_NO_MEMORY ? side_not_written(b, out) : picture_print_error(NULL, error, settings);
}

static struct html_options page_options_of(const struct side *side) {
    const struct settings *settings = &side->settings;
    return (struct html_options){.file = side->shown,
                                 .fingerprint = side->recording.fingerprint,
                                 .theme = settings->theme,
                                 .device = side->timeline.device->ordinal,
                                 .max_nbytes = settings->max_html_nbytes};
}

/* Turns the result of writing the page into an exit code, and prints why it failed. */
static int page_answer(enum html_result result, const struct side *a, const struct side *b,
                       const struct html_outcome *of_a, const struct html_outcome *of_b) {
    if (result == HTML_NO_MEMORY)
        return side_no_memory(b);
    if (result == HTML_TOO_LARGE) {
        terminal_error(b->settings.output, "the page cannot be made as small as %s (see --max-html-size)",
                       format_bytes(b->settings.max_html_nbytes).text);
        return EXIT_CODE_FAILED;
    }
    page_note_merged(&a->recording, of_a);
    page_note_merged(&b->recording, of_b);
    return EXIT_CODE_DONE;
}

/* Writes the page of both sides. Returns an enum exit_code. */
static int diff_show(struct buffer *out, const struct diff *diff, struct side *a, struct side *b) {
    char title[sizeof a->shown + sizeof b->shown + 16];
    struct buffer figures = {.host = arena_share(&b->scratch)};
    struct html_options of_a = page_options_of(a), of_b = page_options_of(b);
    struct html_outcome outcome_a = {0}, outcome_b = {0};
    struct diff_page page = {.title = title,
                             .a = &a->recording.trace,
                             .b = &b->recording.trace,
                             .host = arena_share(&b->recording.trace.arena),
                             .of_a = &of_a,
                             .of_b = &of_b,
                             .figures = &figures};
    enum html_result result = HTML_NO_MEMORY;
    snprintf(title, sizeof title, "%s against %s", b->shown, a->shown);
    if (diff_write_figures(&figures, diff))
        result = diff_page_render(out, &page, &outcome_a, &outcome_b);
    buffer_release(&figures);
    return out->refused ? EXIT_CODE_FAILED : page_answer(result, a, b, &outcome_a, &outcome_b);
}

static int diff_one(struct diff_writer *writer, struct side *a, struct side *b,
                    const struct settings *settings) {
    struct arena arena;
    arena_init(&arena, arena_share(&b->scratch), SIZE_MAX);
    enum diff_alignment aligned_by = sides_align(a, b, settings->align);
    struct diff diff = {.a = diff_side_of(a),
                        .b = diff_side_of(b),
                        .aligned_by = aligned_by,
                        .by = settings->group,
                        .filter = settings->filter[0] != '\0' ? settings->filter : NULL};
    writer->arena = &arena;
    int code = diff_compute(&diff, &arena) ? EXIT_CODE_DONE : side_no_memory(b);
    if (code == EXIT_CODE_DONE && is_picture(settings))
        code = diff_draw(writer->out, &diff, a, b, settings, &arena);
    else if (code == EXIT_CODE_DONE && is_page(settings))
        code = diff_show(writer->out, &diff, a, b);
    else if (code == EXIT_CODE_DONE && !diff_write(writer, &diff))
        code = side_not_written(b, writer->out);
    writer->arena = NULL;
    arena_release(&arena);
    return code;
}

/* Compares each of the other operands with the first; one at a time is in memory. `output` NULL: none gets a file of
 * its own. */
static int diff_others(struct diff_writer *writer, struct side *base, const struct settings *settings,
                       const struct output *output) {
    int code = EXIT_CODE_DONE;
    diff_begin(writer);
    for (uint32_t i = 1; code == EXIT_CODE_DONE && i < settings->n_inputs; i++) {
        struct side *side = side_new();
        code = side_open(side, settings->inputs[i], settings,
                         base->recording.trace.arena.used_nbytes + base->scratch.used_nbytes);
        if (code == EXIT_CODE_DONE && output != NULL && !output_spares(output, &side->recording.input))
            code = EXIT_CODE_FAILED;
        if (code == EXIT_CODE_DONE)
            code = side_moment(side);
        if (code == EXIT_CODE_DONE)
            code = diff_one(writer, base, side, settings);
        side_free(side);
    }
    writer->arena = &base->scratch;
    return code == EXIT_CODE_DONE && !diff_end(writer) ? side_not_written(base, writer->out) : code;
}

bool difference_render(struct buffer *out, const char *a, const char *b, const struct settings *settings) {
    char *inputs[] = {(char *)(uintptr_t)a, (char *)(uintptr_t)b};
    struct settings own = *settings;
    struct diff_options options = {.format = REPORT_TEXT};
    struct diff_writer writer = {.out = out, .options = &options};
    struct side *base = side_new();
    own.inputs = inputs;
    own.n_inputs = 2;
    own.output = "difference.html";
    own.has_device = false;
    bool done = side_open(base, a, &own, 0) == EXIT_CODE_DONE && side_moment(base) == EXIT_CODE_DONE &&
                diff_others(&writer, base, &own, NULL) == EXIT_CODE_DONE;
    side_free(base);
    return done;
}

static int diff_write_all(struct side *base, const struct settings *settings, const struct output *output) {
    struct diff_options options = {.format = settings->format,
                                   .look = terminal_look(settings->output),
                                   .top = settings->top,
                                   .as_several = settings->n_inputs > 2};
    struct buffer out = {0};
    struct output_stream stream;
    struct json_writer json = json_writer_of(&out);
    struct diff_writer writer = {.out = &out, .options = &options, .json = &json};
    output_stream(&stream, output, &out);
    int code = side_moment(base);
    if (code == EXIT_CODE_DONE)
        code = diff_others(&writer, base, settings, output);
    code = output_end(&stream, code);
    diff_writer_release(&writer);
    buffer_release(&out);
    return code;
}

/* Chooses the format by the output's ending where no option names one. False: printed. */
static bool format_choose(struct settings *settings) {
    if (!ending_choose("diff", settings))
        return false;
    if ((is_picture(settings) || is_page(settings)) && settings->n_inputs > 2) {
        terminal_error(settings->output, "a %s shows two recordings, and more were given",
                       is_page(settings) ? "page" : "picture");
        return false;
    }
    return true;
}

static int diff_read(struct side *base, const struct settings *settings) {
    struct output output;
    struct output_request request = convert_words_request(settings, ".diff");
    request.binary = is_picture(settings) || is_page(settings);
    int code = side_open(base, settings->inputs[0], settings, 0);
    if (code != EXIT_CODE_DONE)
        return code;
    if (!output_choose(&output, &request, &base->recording.input))
        return EXIT_CODE_FAILED;
    code = diff_write_all(base, settings, &output);
    if (code == EXIT_CODE_DONE)
        browser_open(settings, output.path);
    output_release(&output);
    return code;
}

static int diff_run(const struct settings *given) {
    struct settings settings = *given;
    if (settings.n_inputs < 2) {
        terminal_error(NULL, "diff: two recordings are needed, and only one was given");
        return EXIT_CODE_USAGE;
    }
    if (settings.group == COMPARE_BY_STACK) {
        terminal_error(NULL,
                       "diff: --group stack is the report's: two recordings have no names for stacks in "
                       "common; --group site matches call sites");
        return EXIT_CODE_USAGE;
    }
    if (!format_choose(&settings))
        return EXIT_CODE_USAGE;
    struct side *base = side_new();
    int code = diff_read(base, &settings);
    side_free(base);
    return code;
}

const struct verb verb_diff = {
    .name = "diff",
    .bit = VERB_DIFF,
    .summary = "what changed between two recordings, cause first",
    .operands = "A B [C...]",
    .about = "Compares B with A: one sentence per cause, largest difference first, then every call site; the "
             "differences\n"
             "add up to that of the totals. Several recordings are each compared with the first. After a "
             "path, #step=3,\n"
             "#at=peak (or an event) and #device=1 choose a moment and a device.\n",
    .examples = "  strata diff before.pickle after.pickle\n"
                "  strata diff --markdown eager.pickle compiled.pickle -o change.md\n"
                "  strata diff run.pickle#step=3 run.pickle#step=7\n"
                "  strata diff a.pickle b.pickle -o change.html\n"
                "  strata diff a.pickle b.pickle -o change.png\n"
                "  strata diff --json --align step a.pickle b.pickle | jq .causes\n",
    .run = diff_run,
};
