#include "cli/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The new table while it is being made. */
struct redaction {
    struct trace *trace;
    struct string_table old;
    uint32_t *kept; /* [old.count] new id of a string that is kept whole; 0: not yet */
    bool failed;
};

/* ---- paths ---- */

/* The last place where `word` stands; a slash in it also stands for a backslash. NULL: none. */
static const uint8_t *last_match(const uint8_t *text, uint32_t nbytes, const char *word) {
    size_t length = strlen(word);
    for (size_t at = nbytes; at-- > 0;) {
        size_t i = 0;
        while (i < length && at + i < nbytes &&
               (text[at + i] == (uint8_t)word[i] || (word[i] == '/' && text[at + i] == '\\')))
            i++;
        if (i == length)
            return text + at;
    }
    return NULL;
}

/* What of a path stays: from a known package's directory on, else from behind the last slash. */
static const uint8_t *path_tail(const uint8_t *path, uint32_t nbytes) {
    static const char *const packages[] = {
        "site-packages/torch/", "dist-packages/torch/", "-packages/torchgen/",
        "-packages/functorch/", "-packages/triton/",    "-packages/torch_npu/",
        "/pytorch/torch/",      "/lib/python3",         "/lib64/python3"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        const uint8_t *found = last_match(path, nbytes, packages[i]);
        /* Packages that were installed below lib/python3 are not part of Python. */
        bool standard = i >= 7;
        if (found != NULL && !(standard && last_match(path, nbytes, "-packages/") != NULL))
            return found;
    }
    const uint8_t *slash = last_match(path, nbytes, "/");
    return slash != NULL ? slash + 1 : path;
}

/* ---- strings ---- */

static const uint8_t *old_string(const struct redaction *redaction, uint32_t id, uint32_t *nbytes) {
    *nbytes = redaction->old.start[id + 1] - redaction->old.start[id];
    return redaction->old.bytes + redaction->old.start[id];
}

static uint32_t string_add(struct redaction *redaction, const void *bytes, size_t nbytes) {
    uint32_t id = nbytes == 0 ? 0 : trace_string_add(redaction->trace, bytes, nbytes);
    redaction->failed |= id == 0 && nbytes != 0;
    return id;
}

static void keep(struct redaction *redaction, uint32_t *id) {
    uint32_t nbytes;
    if (redaction->kept[*id] == 0 && *id != 0) {
        const uint8_t *bytes = old_string(redaction, *id, &nbytes);
        redaction->kept[*id] = string_add(redaction, bytes, nbytes);
    }
    *id = redaction->kept[*id];
}

static void keep_tail(struct redaction *redaction, uint32_t *id) {
    uint32_t nbytes;
    const uint8_t *bytes = old_string(redaction, *id, &nbytes), *tail = path_tail(bytes, nbytes);
    /* The compiler's cache has the user's name in its path: .../torchinductor_NAME/ab/cabc.py */
    if (last_match(bytes, nbytes, "/torchinductor_") == NULL) {
        *id = string_add(redaction, tail, nbytes - (size_t)(tail - bytes));
        return;
    }
    char text[512];
    int length = snprintf(text, sizeof text, "/torchinductor_/%.*s", (int)(nbytes - (size_t)(tail - bytes)),
                          (const char *)tail);
    *id = string_add(redaction, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
}

/* "dir/train.py(12): step", as profilers write it, holds a path too. */
static void keep_name(struct redaction *redaction, uint32_t *id) {
    uint32_t nbytes;
    const uint8_t *bytes = old_string(redaction, *id, &nbytes), *python = last_match(bytes, nbytes, ".py(");
    if (python == NULL) {
        keep(redaction, id);
        return;
    }
    const uint8_t *tail = path_tail(bytes, (uint32_t)(python - bytes));
    *id = string_add(redaction, tail, nbytes - (size_t)(tail - bytes));
}

/* ---- all of a trace's strings ---- */

static void frames_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        keep_tail(redaction, &trace->frames.frame[i].file);
        keep_name(redaction, &trace->frames.frame[i].name);
    }
    for (uint32_t i = 1; i < trace->fx.count; i++) {
        struct fx *fx = &trace->fx.fx[i];
        keep(redaction, &fx->op);
        keep(redaction, &fx->name);
        keep(redaction, &fx->target);
        fx->original_trace = 0;
    }
}

static void contexts_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        struct context *context = &trace->contexts.context[i];
        keep(redaction, &context->compile_context);
        keep(redaction, &context->category);
        context->user_metadata = context->forward_frames = 0;
    }
}

static void rest_keep(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 0; i < trace->n_devices; i++)
        keep(redaction, &trace->devices[i].name);
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        keep(redaction, &trace->annotations[i].name);
    for (uint32_t i = 0; i < trace->n_diagnostics; i++) {
        keep(redaction, &trace->diagnostics[i].code);
        keep(redaction, &trace->diagnostics[i].message);
    }
    keep(redaction, &trace->settings);
    keep(redaction, &trace->meta);
}

/* The new table begins as a fresh trace's: id 0 is the empty string. */
static bool table_begin(struct trace *trace) {
    void *start = NULL, *bytes = NULL;
    trace->strings = (struct string_table){.count = 1};
    if (!arena_grow(&trace->arena, &start, &trace->strings.start_capacity, 2, sizeof *trace->strings.start) ||
        !arena_grow(&trace->arena, &bytes, &trace->strings.bytes_capacity, 1, 1))
        return false;
    trace->strings.start = start;
    trace->strings.bytes = bytes;
    trace->strings.start[0] = trace->strings.start[1] = 0;
    return true;
}

bool trace_redact(struct trace *trace) {
    struct redaction redaction = {.trace = trace, .old = trace->strings};
    redaction.kept = calloc((size_t)trace->strings.count + 1, sizeof *redaction.kept);
    if (redaction.kept == NULL || !table_begin(trace)) {
        trace->strings = redaction.old;
        free(redaction.kept);
        return false;
    }
    frames_redact(&redaction);
    contexts_redact(&redaction);
    rest_keep(&redaction);
    ARENA_DROP(&trace->arena, redaction.old.start);
    ARENA_DROP(&trace->arena, redaction.old.bytes);
    free(redaction.kept);
    return !redaction.failed;
}
