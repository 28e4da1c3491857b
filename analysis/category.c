#include "analysis/category.h"

#include "base/bytes.h"

static const char *const names[CATEGORY_COUNT] = {
    [CATEGORY_OTHER] = "other",           [CATEGORY_PARAMETER] = "parameter",
    [CATEGORY_GRADIENT] = "gradient",     [CATEGORY_OPTIMIZER_STATE] = "optimizer_state",
    [CATEGORY_ACTIVATION] = "activation", [CATEGORY_TEMPORARY] = "temporary",
    [CATEGORY_INPUT] = "input",           [CATEGORY_AUTOGRAD_DETAIL] = "autograd_detail",
    [CATEGORY_UNKNOWN] = "unknown",
};

const char *category_name(enum category category) {
    return names[category];
}

/* ---- text ---- */

struct text {
    const uint8_t *at;
    uint32_t nbytes;
};

static struct text text_of(const struct trace *trace, uint32_t string) {
    struct text text;
    text.at = trace_string(trace, string, &text.nbytes);
    return text;
}

static uint32_t word_matched(struct text text, uint32_t at, const char *word) {
    uint32_t i = 0;
    while (word[i] != '\0' && at + i < text.nbytes && text.at[at + i] == (uint8_t)word[i])
        i++;
    return i;
}

static bool text_is(struct text text, const char *word) {
    return word_matched(text, 0, word) == text.nbytes && word[text.nbytes] == '\0';
}

static bool text_contains(struct text text, const char *word) {
    for (uint32_t at = 0; at < text.nbytes; at++)
        if (word[word_matched(text, at, word)] == '\0')
            return true;
    return false;
}

static bool contains_any(struct text text, const char *const *words, uint32_t n_words) {
    for (uint32_t i = 0; i < n_words; i++)
        if (text_contains(text, words[i]))
            return true;
    return false;
}

static bool is_any(struct text text, const char *const *words, uint32_t n_words) {
    for (uint32_t i = 0; i < n_words; i++)
        if (text_is(text, words[i]))
            return true;
    return false;
}

#define CONTAINS_ANY(text, words) contains_any(text, words, sizeof(words) / sizeof *(words))
#define IS_ANY(text, words)       is_any(text, words, sizeof(words) / sizeof *(words))

enum category category_by_name(const uint8_t *name, uint32_t nbytes) {
    for (uint32_t i = 0; i < CATEGORY_COUNT; i++)
        if (text_is((struct text){name, nbytes}, names[i]))
            return (enum category)i;
    return CATEGORY_COUNT;
}

/* ---- stacks ---- */

/* What a text says as a file and as the name of a function. */
enum {
    MARK_KNOWN = 1,
    FILE_AUTOGRAD = 2,
    FILE_MODULES = 4,
    FILE_PARAMETER = 8,
    FILE_OPTIMIZER = 16,
    FILE_DATA = 32,
    NAME_ENGINE = 64, /* of autograd */
    NAME_BACKWARD = 128,
    NAME_ACCUMULATES = 256,
    NAME_OF_MODULE = 512, /* what of a module makes, fills or moves it */
    NAME_LOADS = 1024
};

static unsigned file_marks(struct text file) {
    static const char *const autograd[] = {"torch/autograd/__init__.py", "torch/autograd/graph.py",
                                           "torch/_tensor.py"};
    static const char *const optimizer[] = {"/optim/", "/optimizers/", "/ops/adam/"};
    return (CONTAINS_ANY(file, autograd) ? FILE_AUTOGRAD : 0u) |
           (text_contains(file, "torch/nn/modules/") ? FILE_MODULES : 0u) |
           (text_contains(file, "torch/nn/parameter.py") ? FILE_PARAMETER : 0u) |
           (CONTAINS_ANY(file, optimizer) ? FILE_OPTIMIZER : 0u) |
           (text_contains(file, "torch/utils/data/") ? FILE_DATA : 0u);
}

static unsigned name_marks(struct text name) {
    static const char *const engine[] = {
        "torch::autograd::Engine::", "torch::autograd::python::PythonEngine::",
        "autograd::engine::evaluate_function"};
    static const char *const backward[] = {"backward", "_engine_run_backward", "grad"};
    static const char *const accumulate[] = {"torch::autograd::AccumulateGrad",
                                             "autograd::utils::clone_obey_contract"};
    static const char *const of_module[] = {"_apply",   "convert",         "to", "cuda", "to_empty",
                                            "__init__", "reset_parameters"};
    static const char *const loads[] = {"load_state_dict", "_load_from_state_dict", "from_pretrained"};
    return (CONTAINS_ANY(name, engine) ? NAME_ENGINE : 0u) | (IS_ANY(name, backward) ? NAME_BACKWARD : 0u) |
           (CONTAINS_ANY(name, accumulate) ? NAME_ACCUMULATES : 0u) |
           (IS_ANY(name, of_module) ? NAME_OF_MODULE : 0u) | (IS_ANY(name, loads) ? NAME_LOADS : 0u);
}

static unsigned string_marks(const struct trace *trace, uint16_t *marks, uint32_t string) {
    struct text text = text_of(trace, string);
    if (marks[string] == 0)
        marks[string] = (uint16_t)(MARK_KNOWN | file_marks(text) | name_marks(text));
    return marks[string];
}

static uint8_t frame_traits(unsigned file, unsigned name) {
    bool backward = (name & NAME_ENGINE) || ((name & NAME_BACKWARD) && (file & FILE_AUTOGRAD));
    bool loads =
        ((name & NAME_OF_MODULE) && (file & FILE_MODULES)) || (name & NAME_LOADS) || (file & FILE_PARAMETER);
    return (uint8_t)((backward ? STACK_BACKWARD : 0) | (name & NAME_ACCUMULATES ? STACK_ACCUMULATES : 0) |
                     (file & FILE_OPTIMIZER ? STACK_OPTIMIZER : 0) | (loads ? STACK_LOADS : 0) |
                     (file & FILE_DATA ? STACK_DATA : 0));
}

/* Each text is looked at once, however many frames have it. */
static bool frames_traits(const struct trace *trace, uint8_t *traits, struct arena *arena) {
    uint16_t *marks = arena_column(arena, trace->strings.count, sizeof *marks);
    if (marks == NULL)
        return false;
    bytes_zero(marks, trace->strings.count * sizeof *marks);
    traits[0] = 0;
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        const struct frame *frame = &trace->frames.frame[i];
        traits[i] =
            frame_traits(string_marks(trace, marks, frame->file), string_marks(trace, marks, frame->name));
    }
    ARENA_DROP(arena, marks);
    return true;
}

bool stack_traits(const struct trace *trace, uint8_t *traits, struct arena *arena) {
    uint8_t *of_frame = arena_column(arena, trace->frames.count, sizeof *of_frame);
    if (of_frame == NULL || !frames_traits(trace, of_frame, arena))
        return false;
    traits[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        const struct stack *stack = &trace->stacks.stack[i];
        traits[i] = (uint8_t)(traits[stack->parent] | of_frame[stack->frame]);
    }
    ARENA_DROP(arena, of_frame);
    return true;
}

/* ---- lives ---- */

enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER };

static enum phase phase_of(uint8_t traits) {
    return traits & STACK_OPTIMIZER  ? PHASE_OPTIMIZER
           : traits & STACK_BACKWARD ? PHASE_BACKWARD
                                     : PHASE_FORWARD;
}

/* What comes after an allocation: when something is next allocated in each phase. UINT32_MAX: never. */
struct ahead {
    uint32_t next[3];
    uint32_t failure; /* moment of the next out-of-memory event, or the end of the recording */
};

static uint32_t next_of_other_phase(const struct ahead *ahead, enum phase phase) {
    uint32_t a = ahead->next[(phase + 1) % 3], b = ahead->next[(phase + 2) % 3];
    return a < b ? a : b;
}

enum { SHORT_LIFE = 200 }; /* events */

/* CATEGORY_COUNT: the recording ends before it could tell. */
static enum category forward_category(const struct lives *lives, uint32_t life, const struct ahead *ahead) {
    uint32_t birth = lives->birth[life], death = lives->death[life];
    if (birth == 0)
        return CATEGORY_OTHER;
    if (death > ahead->next[PHASE_BACKWARD])
        return CATEGORY_ACTIVATION;
    /* What goes because the run fails would have lived longer. */
    bool ends_in_time =
        ahead->next[PHASE_BACKWARD] != UINT32_MAX || (death < ahead->failure && death - birth <= SHORT_LIFE);
    return ends_in_time ? CATEGORY_TEMPORARY : CATEGORY_COUNT;
}

/* CATEGORY_COUNT: the recording ends before it could tell. */
static enum category category_inferred(const struct lives *lives, uint32_t life, uint8_t traits,
                                       const struct ahead *ahead) {
    enum phase phase = phase_of(traits);
    if (lives->stack[life] == 0 || (lives->flags[life] & LIFE_STACK_OF_FREE))
        return CATEGORY_OTHER;
    bool outlives_phase = lives->death[life] > next_of_other_phase(ahead, phase);
    if (phase == PHASE_OPTIMIZER)
        return outlives_phase ? CATEGORY_OPTIMIZER_STATE : CATEGORY_TEMPORARY;
    if (phase == PHASE_BACKWARD)
        return outlives_phase || (traits & STACK_ACCUMULATES) ? CATEGORY_GRADIENT : CATEGORY_TEMPORARY;
    if (traits & STACK_LOADS)
        return CATEGORY_PARAMETER;
    return traits & STACK_DATA ? CATEGORY_INPUT : forward_category(lives, life, ahead);
}

/* CATEGORY_COUNT: it does not say. */
static enum category category_of_context(const struct trace *trace, uint32_t context) {
    struct text text = text_of(trace, trace->contexts.context[context].category);
    if (text.nbytes == 0)
        return CATEGORY_COUNT;
    enum category category = category_by_name(text.at, text.nbytes);
    return category == CATEGORY_COUNT ? CATEGORY_OTHER : category;
}

/* From the last to the first, so that what comes after an allocation is known. */
static void lives_categorise(const struct timeline *timeline, const uint8_t *traits, uint8_t *category) {
    const struct lives *lives = &timeline->device->lives;
    const struct device_trace *device = timeline->device;
    struct ahead ahead = {{UINT32_MAX, UINT32_MAX, UINT32_MAX}, device->n_events + 1};
    uint32_t n_ooms = device->n_ooms;
    for (uint32_t i = lives->count; i-- > 0;) {
        uint32_t stack = lives->stack[i];
        while (n_ooms > 0 && device->ooms[n_ooms - 1].event >= lives->birth[i])
            ahead.failure = device->ooms[--n_ooms].event + 1;
        enum category own = category_of_context(timeline->trace, lives->context[i]);
        if (own == CATEGORY_COUNT)
            own = category_inferred(lives, i, traits[stack], &ahead);
        category[i] = (uint8_t)own;
        if (lives->birth[i] != 0 && stack != 0)
            ahead.next[phase_of(traits[stack])] = lives->birth[i];
    }
}

/* What the recording's end leaves open is what most of the same stack were: with a loop of steps cut off by an
 * out-of-memory error, the steps before tell. */
static bool open_ones_settle(const struct timeline *timeline, uint8_t *category, struct arena *arena) {
    const struct lives *lives = &timeline->device->lives;
    size_t n_stacks = timeline->trace->stacks.count;
    int32_t *balance = arena_column(arena, n_stacks, sizeof *balance); /* activations less temporaries */
    if (balance == NULL)
        return false;
    bytes_zero(balance, n_stacks * sizeof *balance);
    for (uint32_t i = 0; i < lives->count; i++)
        balance[lives->stack[i]] +=
            (category[i] == CATEGORY_ACTIVATION) - (category[i] == CATEGORY_TEMPORARY);
    for (uint32_t i = 0; i < lives->count; i++) {
        int32_t most = balance[lives->stack[i]];
        if (category[i] == CATEGORY_COUNT)
            category[i] = most > 0 ? CATEGORY_ACTIVATION : most < 0 ? CATEGORY_TEMPORARY : CATEGORY_OTHER;
    }
    ARENA_DROP(arena, balance);
    return true;
}

bool categories_find(const struct timeline *timeline, uint8_t *category, struct arena *arena) {
    uint8_t *traits = arena_column(arena, timeline->trace->stacks.count, sizeof *traits);
    if (traits == NULL || !stack_traits(timeline->trace, traits, arena))
        return false;
    lives_categorise(timeline, traits, category);
    ARENA_DROP(arena, traits);
    return open_ones_settle(timeline, category, arena);
}
