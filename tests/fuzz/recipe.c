#include "tests/fuzz/recipe.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EVENTS = 600, N_DEVICES = 3 };

/* ---- the pickle ---- */

struct pickle {
    uint8_t *bytes;
    size_t nbytes, capacity;
};

static void put(struct pickle *pickle, const void *bytes, size_t nbytes) {
    if (pickle->nbytes + nbytes > pickle->capacity) {
        pickle->capacity = (pickle->nbytes + nbytes) * 2;
        pickle->bytes = realloc(pickle->bytes, pickle->capacity);
        if (pickle->bytes == NULL)
            abort();
    }
    memcpy(pickle->bytes + pickle->nbytes, bytes, nbytes);
    pickle->nbytes += nbytes;
}

static void put_op(struct pickle *pickle, char op) {
    put(pickle, &op, 1);
}

static void put_text(struct pickle *pickle, const char *text) {
    uint8_t head[2] = {0x8c, (uint8_t)strlen(text)};
    put(pickle, head, 2);
    put(pickle, text, head[1]);
}

/* LONG1, with a byte above it so that it is not negative. */
static void put_unsigned(struct pickle *pickle, uint64_t value) {
    uint8_t bytes[11] = {0x8a, 9};
    for (unsigned i = 0; i < 8; i++)
        bytes[2 + i] = (uint8_t)(value >> 8 * i);
    put(pickle, bytes, sizeof bytes);
}

static void put_signed(struct pickle *pickle, int64_t value) {
    uint8_t bytes[10] = {0x8a, 8};
    for (unsigned i = 0; i < 8; i++)
        bytes[2 + i] = (uint8_t)((uint64_t)value >> 8 * i);
    put(pickle, bytes, sizeof bytes);
}

static void put_member(struct pickle *pickle, const char *key, uint64_t value) {
    put_text(pickle, key);
    put_unsigned(pickle, value);
}

static void put_text_member(struct pickle *pickle, const char *key, const char *value) {
    put_text(pickle, key);
    put_text(pickle, value);
}

/* ---- the recipe ---- */

struct recipe {
    const uint8_t *bytes;
    size_t nbytes;
    uint8_t what;
    uint64_t time_us;
    uint64_t shift; /* added to addresses, so that each step of a loop has its own */
    struct pickle out;
};

uint8_t recipe_u8(const uint8_t **bytes, size_t *nbytes) {
    if (*nbytes == 0)
        return 0;
    (*nbytes)--;
    return *(*bytes)++;
}

static uint8_t next(struct recipe *recipe) {
    return recipe_u8(&recipe->bytes, &recipe->nbytes);
}

/* A small multiple of 512, or a number near a power of two where arithmetic may wrap. */
static uint64_t size_next(struct recipe *recipe) {
    static const uint64_t edges[] = {0,          1ULL << 31, 1ULL << 32, 1ULL << 53,
                                     1ULL << 61, 1ULL << 62, 1ULL << 63};
    uint8_t kind = next(recipe), n = next(recipe);
    if (kind < 192)
        return (uint64_t)(n + 1) << (9 + kind % 24);
    if (kind < 200)
        return n;
    return edges[kind % (sizeof edges / sizeof *edges)] + n - 128;
}

/* One of few addresses, so that they repeat. */
static uint64_t address_next(struct recipe *recipe) {
    uint8_t n = next(recipe);
    if (n < 250)
        return 0x7f0000000000 + ((uint64_t)(n & 63) << 21) + recipe->shift;
    return UINT64_MAX - ((uint64_t)(n & 3) << 9);
}

static uint64_t time_next(struct recipe *recipe) {
    uint8_t kind = next(recipe);
    if (kind < 224)
        recipe->time_us += (uint64_t)kind * kind;
    else if (kind < 240)
        recipe->time_us -= (uint64_t)kind << (kind - 224);
    else
        recipe->time_us = (1ULL << (kind - 240) * 4) - kind % 2;
    return recipe->time_us;
}

static const char *const files[] = {"/home/someone/project/train.py",
                                    "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py",
                                    "/usr/lib/python3.11/site-packages/torch/optim/adam.py",
                                    "/opt/torch/csrc/autograd/engine.cpp",
                                    "??",
                                    "<frozen importlib._bootstrap>",
                                    "model.py",
                                    "</script><script>alert(1)</script>"};
static const char *const names[] = {"forward",
                                    "_call_impl",
                                    "step",
                                    "torch::autograd::Engine::evaluate_function",
                                    "{lambda(int)#1}::operator()",
                                    "backward",
                                    "\xe2\x80\xae<b>&\"'\n\x7f",
                                    ""};
static const char *const actions[] = {"alloc",
                                      "free_requested",
                                      "free_completed",
                                      "segment_alloc",
                                      "segment_free",
                                      "segment_map",
                                      "segment_unmap",
                                      "oom",
                                      "snapshot",
                                      "annotate",
                                      "alloc",
                                      "alloc",
                                      "free_requested",
                                      "free_completed",
                                      "workspace_snapshot",
                                      "nothing known"};
static const char *const texts[] = {
    "",          "N/A",        "forward", "{\"category\": \"weights\"}", "ProfilerStep#12",
    "optimizer", "## loss ##", "\xff"};
enum {
    N_FILES = sizeof files / sizeof *files,
    N_NAMES = sizeof names / sizeof *names,
    N_ACTIONS = sizeof actions / sizeof *actions,
    N_TEXTS = sizeof texts / sizeof *texts
};

static void frame_put(struct pickle *out, unsigned number) {
    put_op(out, '}');
    put_op(out, '(');
    put_text_member(out, "filename", files[number % N_FILES]);
    put_text_member(out, "name", names[number / 3 % N_NAMES]);
    put_member(out, "line", number);
    if (number % 16 == 7) {
        put_text_member(out, "fx_node_op", "call_module");
        put_text_member(out, "fx_original_trace", files[0]);
    }
    put_op(out, 'u');
}

static void frames_put(struct recipe *recipe, const char *key) {
    unsigned first = next(recipe), n = first % 5;
    put_text(&recipe->out, key);
    put_op(&recipe->out, ']');
    put_op(&recipe->out, '(');
    for (unsigned i = 0; i < n; i++)
        frame_put(&recipe->out, first / 5 + i * 7);
    put_op(&recipe->out, 'e');
}

/* Fields that only some events have. */
static void event_put_rarities(struct recipe *recipe, uint8_t which) {
    struct pickle *out = &recipe->out;
    if (which & 1)
        put_text_member(out, "user_metadata", texts[next(recipe) % N_TEXTS]);
    if (which & 2)
        put_text_member(out, "compile_context", texts[next(recipe) % N_TEXTS]);
    if (which & 4)
        put_text_member(out, "category", texts[next(recipe) % N_TEXTS]);
    if (which & 8) {
        put_text(out, "pool_id");
        put_unsigned(out, next(recipe) % 3);
        put_unsigned(out, next(recipe) % 3);
        put_op(out, (char)0x86); /* a tuple of two */
    }
    if (which & 16)
        frames_put(recipe, "forward_frames");
}

static void event_put(struct recipe *recipe) {
    struct pickle *out = &recipe->out;
    const char *action = actions[next(recipe) % N_ACTIONS];
    put_op(out, '}');
    put_op(out, '(');
    put_text_member(out, "action", action);
    put_member(out, strcmp(action, "oom") == 0 ? "device_free" : "addr", address_next(recipe));
    put_member(out, "size", size_next(recipe));
    uint8_t which = next(recipe);
    put_member(out, "stream", which >> 6);
    if ((recipe->what & 8) == 0)
        put_member(out, "time_us", time_next(recipe));
    frames_put(recipe, "frames");
    if (which & 32)
        event_put_rarities(recipe, next(recipe));
    put_op(out, 'u');
}

/* A training loop: each step reads the same bytes again. Allocations that a step does not free stay. */
static void loop_put(struct recipe *recipe) {
    size_t nbytes = next(recipe) * 4U;
    unsigned n_steps = next(recipe) % 16 + 2, n_events = 0;
    nbytes = nbytes < recipe->nbytes ? nbytes : recipe->nbytes;
    struct recipe rest = *recipe;
    for (unsigned step = 0; step < n_steps; step++) {
        recipe->bytes = rest.bytes;
        recipe->nbytes = nbytes;
        recipe->shift = (uint64_t)(step + 1) << 32;
        for (; recipe->nbytes != 0 && n_events < MOST_EVENTS; n_events++)
            event_put(recipe);
    }
    recipe->bytes = rest.bytes + nbytes;
    recipe->nbytes = rest.nbytes - nbytes;
    recipe->shift = 0;
}

static void events_put(struct recipe *recipe) {
    unsigned n_devices = recipe->what % N_DEVICES + 1;
    put_text(&recipe->out, "device_traces");
    put_op(&recipe->out, ']');
    put_op(&recipe->out, '(');
    for (unsigned device = 0; device < n_devices; device++) {
        unsigned most = device + 1 < n_devices ? 1U + next(recipe) : MOST_EVENTS;
        put_op(&recipe->out, ']');
        put_op(&recipe->out, '(');
        if (recipe->what & 128)
            loop_put(recipe);
        for (unsigned i = 0; i < most && recipe->nbytes > 64; i++)
            event_put(recipe);
        put_op(&recipe->out, 'e');
    }
    put_op(&recipe->out, 'e');
}

static void block_put(struct recipe *recipe) {
    static const char *const states[] = {"active_allocated", "inactive", "active_pending_free",
                                         "active_awaiting_free"};
    struct pickle *out = &recipe->out;
    put_op(out, '}');
    put_op(out, '(');
    put_member(out, "address", address_next(recipe));
    put_member(out, "size", size_next(recipe));
    put_member(out, "requested_size", size_next(recipe));
    put_text_member(out, "state", states[next(recipe) % 4]);
    frames_put(recipe, "frames");
    put_op(out, 'u');
}

static void segment_put(struct recipe *recipe) {
    struct pickle *out = &recipe->out;
    uint8_t which = next(recipe);
    put_op(out, '}');
    put_op(out, '(');
    put_member(out, "device", which % N_DEVICES);
    put_member(out, "address", address_next(recipe));
    put_member(out, "total_size", size_next(recipe));
    put_member(out, "stream", which >> 6);
    put_text_member(out, "segment_type", which & 4 ? "small" : "large");
    put_text(out, "is_expandable");
    put_op(out, which & 8 ? (char)0x88 : (char)0x89);
    put_text(out, "blocks");
    put_op(out, ']');
    put_op(out, '(');
    for (unsigned i = 0; i < (which >> 4 & 3U); i++)
        block_put(recipe);
    put_op(out, 'e');
    put_op(out, 'u');
}

static void segments_put(struct recipe *recipe) {
    unsigned n = next(recipe) % 8;
    put_text(&recipe->out, "segments");
    put_op(&recipe->out, ']');
    put_op(&recipe->out, '(');
    for (unsigned i = 0; i < n; i++)
        segment_put(recipe);
    put_op(&recipe->out, 'e');
}

static void annotations_put(struct recipe *recipe) {
    struct pickle *out = &recipe->out;
    unsigned n = next(recipe) % 16;
    put_text(out, "external_annotations");
    put_op(out, ']');
    put_op(out, '(');
    for (unsigned i = 0; i < n; i++) {
        uint8_t which = next(recipe);
        put_op(out, '}');
        put_op(out, '(');
        put_text(out, "device");
        put_signed(out, which % 4 - 1);
        put_text_member(out, "stage", which & 16 ? "END" : "START");
        put_text_member(out, "name", texts[which >> 5]);
        put_member(out, "time_us", (uint64_t)next(recipe) * next(recipe));
        put_op(out, 'u');
    }
    put_op(out, 'e');
}

static void settings_put(struct recipe *recipe) {
    struct pickle *out = &recipe->out;
    put_text(out, "allocator_settings");
    put_op(out, '}');
    put_op(out, '(');
    put_text_member(out, "PYTORCH_CUDA_ALLOC_CONF", texts[next(recipe) % N_TEXTS]);
    put_member(out, "max_split_size", size_next(recipe));
    put_text(out, "expandable_segments");
    put_op(out, recipe->what & 64 ? (char)0x88 : (char)0x89);
    put_text(out, "garbage_collection_threshold");
    put(out, "G\x3f\xe0\0\0\0\0\0\0", 9); /* 0.5 */
    put_op(out, 'u');
}

uint8_t *recipe_make(const uint8_t *bytes, size_t nbytes, size_t *made_nbytes) {
    struct recipe recipe = {.bytes = bytes, .nbytes = nbytes, .time_us = 1700000000000000};
    recipe.what = next(&recipe);
    if (recipe.what == RECIPE_SAMPLE)
        return recipe_make_sample(recipe.bytes, recipe.nbytes, made_nbytes);
    put(&recipe.out, "\x80\x04}(", 4);
    if (recipe.what & 32)
        settings_put(&recipe);
    if (recipe.what & 16)
        annotations_put(&recipe);
    segments_put(&recipe);
    events_put(&recipe);
    put(&recipe.out, "u.", 2);
    *made_nbytes = recipe.out.nbytes;
    return recipe.out.bytes;
}
