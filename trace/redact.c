#include "trace/redact.h"

#include "base/buffer.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ways of redacting a string. A string is redacted once in each way, however many rows have it. */
enum way {
    WAY_TEXT,
    WAY_PATH,
    WAY_NAME,
    WAY_CONTEXT,
    WAY_CATEGORY,
    WAY_ANNOTATION,
    WAY_KILLED,
    WAY_UNREAD,
    WAYS
};

/* The new table while it is being made. */
struct redaction {
    struct trace *trace;
    bool all; /* --redact=all */
    bool (*category_is_known)(struct text name);
    struct string_table old;
    uint32_t *made; /* [WAYS * old.count] new id of a string that was redacted in a way, plus 1; 0: not yet */
    uint32_t n_named;
    struct buffer text; /* the result so far */
    bool failed;
};

/* ---- paths ---- */

/* The length of a sign at `at`: one byte, or more if it is percent-encoded ("%2F", "%252f"). 0: another sign. */
static uint32_t sign_nbytes(struct text text, uint32_t at, uint8_t sign) {
    uint32_t from = at++;
    if (text.at[from] == sign)
        return 1;
    if (text.at[from] != '%')
        return 0;
    while (text_has_at(text, at, "25"))
        at += 2;
    bool is_sign = at + 1 < text.nbytes && text.at[at] == '0' + (sign >> 4) &&
                   lower(text.at[at + 1]) == "0123456789abcdef"[sign & 15];
    return is_sign ? at + 2 - from : 0;
}

static uint32_t slash_nbytes(struct text text, uint32_t at) {
    uint32_t n = sign_nbytes(text, at, '/');
    return n != 0 ? n : sign_nbytes(text, at, '\\');
}

/* The index of the last occurrence of `word`; NOWHERE: there is none. */
enum { NOWHERE = UINT32_MAX };
static uint32_t last_match(struct text text, const char *word) {
    for (uint32_t at = text.nbytes; at-- > 0;)
        if (text_has_at(text, at, word))
            return at;
    return NOWHERE;
}

/* The index of a path's base name. */
static uint32_t base_of(struct text path) {
    for (uint32_t at = path.nbytes; at-- > 0;) {
        uint32_t n = slash_nbytes(path, at);
        if (n != 0)
            return at + n;
    }
    return 0;
}

/* Do the directories of a path have only characters that package names have? Others might begin another path. */
static bool directories_are_plain(struct text path) {
    uint32_t n = base_of(path);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t c = path.at[i], low = c | 0x20;
        if ((low < 'a' || low > 'z') && (c < '-' || c > '9') && c != '_' && c != '\\')
            return false;
    }
    return true;
}

/* The index of a known package's directory, which with the path below it is the same on every machine; NOWHERE. */
static uint32_t package_of(struct text path) {
    static const char *const packages[] = {
        "site-packages/torch/", "dist-packages/torch/", "-packages/torchgen/", "-packages/functorch/",
        "-packages/triton/",    "-packages/torch_npu/", "/pytorch/torch/"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        uint32_t found = last_match(path, packages[i]);
        if (found == NOWHERE)
            continue;
        struct text below = text_from(path, found);
        if (last_match(below, "/../") == NOWHERE && directories_are_plain(below))
            return found;
    }
    return NOWHERE;
}

/* "/lib/python3.11" in the path of a file of Python's own library, where packages that are installed below do not
 * count. Empty: none. */
static struct text python_library(struct text path) {
    static const char *const libraries[] = {"/lib/python3", "/lib64/python3"};
    for (size_t i = 0; i < 2; i++) {
        uint32_t found = last_match(path, libraries[i]), n = word_length(libraries[i]);
        if (found == NOWHERE || last_match(path, "-packages/") != NOWHERE)
            continue;
        struct text library = text_from(path, found);
        while (n < library.nbytes && (library.at[n] == '.' || is_digit(library.at[n])))
            n++;
        return (struct text){library.at, n};
    }
    return (struct text){path.at, 0};
}

static void text_keep(struct buffer *out, struct text text) {
    buffer_add(out, text.at, text.nbytes);
}

/* Appends a path from `base` on, without an address's query, which may hold names: from "?" to a blank or quote. */
static void base_add(struct buffer *out, struct text path, uint32_t base) {
    bool in_query = false;
    for (uint32_t at = 0; at < path.nbytes; at++) {
        in_query = path.at[at] > ' ' && path.at[at] != '"' && (in_query || sign_nbytes(path, at, '?') != 0);
        if (at >= base && !in_query)
            buffer_add(out, path.at + at, 1);
    }
}

/* Skips the host and the user after "https://", up to a blank or quote: they are no file's name. */
static uint32_t after_host(struct text path, uint32_t base) {
    if (base < 3 || memcmp(path.at + base - 3, "://", 3) != 0)
        return base;
    while (base < path.nbytes && path.at[base] > ' ' && path.at[base] != '"')
        base++;
    return base;
}

/* Appends the part of a path that stays: below a known package all of it, otherwise the base name, in Python's
 * library and in the compiler's cache (whose path has the user's name in it) after the words that they are known
 * by. */
static void path_add(struct buffer *out, struct text path) {
    uint32_t base = base_of(path), package = package_of(path);
    struct text python = python_library(path);
    if (last_match(path, "/torchinductor_") != NOWHERE) {
        buffer_add_text(out, "/torchinductor_/");
    } else if (package != NOWHERE) {
        base = package;
    } else if (python.nbytes != 0) {
        text_keep(out, python);
        buffer_add_text(out, "/");
    }
    base_add(out, path, after_host(path, base));
}

/* ---- paths inside of text ---- */

static bool is_word_byte(uint8_t c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || is_digit(c) || c == '_' || c >= 0x80;
}

/* The slash of C++'s "operator/" belongs to no path, but a directory may be called "my_operator" or "operator". */
static bool is_division(struct text text, uint32_t slash) {
    static const char word[] = "operator";
    const uint32_t n = sizeof word - 1;
    return text.at[slash] == '/' && slash >= n && text_has_at(text, slash - n, word) &&
           (slash == n || !is_word_byte(text.at[slash - n - 1])) &&
           (slash + 1 == text.nbytes || strchr("(=< ", text.at[slash + 1]) != NULL);
}

static bool is_opening(uint8_t c) {
    return c == ' ' || c == '(' || c == '[' || c == '{' || c == '<';
}

/* Can a quote at `at` open a quotation: is it first, or after a blank or a bracket? */
static bool quote_opens(struct text text, uint32_t at) {
    bool quote = text.at[at] == '"' || text.at[at] == '\'' || text.at[at] == '`';
    return quote && (at == 0 || is_opening(text.at[at - 1]));
}

/* Characters that may end a directory's name but not the word before a path: "Project (old)", "a,". */
static bool is_closing(uint8_t c) {
    return c < ' ' || (c != 0 && strchr(")]}>\"'`,;|=", c) != NULL);
}

/*
 * The beginning of the path whose first slash is at `slash`. A path that begins with a slash follows a blank, a
 * bracket or a quote. Otherwise a directory, a host or a drive precedes the slash, back to the last such character.
 * If that directory ends in such a character, it may contain others, so everything before the slash counts as the
 * path.
 */
static uint32_t path_begin(struct text text, uint32_t slash) {
    if (slash == 0 || is_opening(text.at[slash - 1]) || quote_opens(text, slash - 1))
        return slash;
    if (is_closing(text.at[slash - 1]))
        return 0;
    uint32_t begin = slash;
    while (begin > 0 && !is_opening(text.at[begin - 1]) && !quote_opens(text, begin - 1))
        begin--;
    return begin;
}

/* Copies a text without the directories of the paths in it. Any characters between two slashes may be a directory's
 * name, also "k.cu:12:3}, {lambda at ", so only the text before the first and after the last slash stays. */
static void paths_strip(struct buffer *out, struct text text) {
    uint32_t slash = 0;
    while (slash < text.nbytes && (slash_nbytes(text, slash) == 0 || is_division(text, slash)))
        slash++;
    uint32_t begin = slash == text.nbytes ? text.nbytes : path_begin(text, slash);
    buffer_add(out, text.at, begin);
    if (begin < text.nbytes)
        path_add(out, text_from(text, begin));
}

/* ---- strings ---- */

static struct text old_string(const struct redaction *redaction, uint32_t id) {
    const uint32_t *start = redaction->old.start;
    return (struct text){redaction->old.bytes + start[id], start[id + 1] - start[id]};
}

/* Turns the text built so far into a string. */
static uint32_t string_end(struct redaction *redaction) {
    size_t nbytes = redaction->text.nbytes;
    uint32_t id = nbytes == 0 ? 0 : trace_string_add(redaction->trace, redaction->text.bytes, nbytes);
    redaction->failed |= (id == 0 && nbytes != 0) || redaction->text.failed;
    redaction->text.nbytes = 0;
    return id;
}

/* Keeps a text, without the paths in it. Where a reader has cut a text, half of a directory's name may follow its
 * last slash, so nothing after that stays. */
static void text_redact(struct redaction *redaction, struct text text) {
    bool is_cut = text.nbytes == FRAME_TEXT_MAX_NBYTES && text_ends(text, "\xe2\x80\xa6"); /* an ellipsis */
    uint32_t base = is_cut ? base_of(text) : 0;
    paths_strip(&redaction->text, (struct text){text.at, base != 0 ? base : text.nbytes});
}

static void path_redact(struct redaction *redaction, struct text text) {
    path_add(&redaction->text, text);
}

/* "dir/train.py(12): step", as profilers write it, holds a path too, and its directories may contain anything. */
static void name_redact(struct redaction *redaction, struct text text) {
    uint32_t python = last_match(text, ".py(");
    if (python == NOWHERE || base_of(text) > python) {
        text_redact(redaction, text);
        return;
    }
    path_add(&redaction->text, (struct text){text.at, python});
    paths_strip(&redaction->text, text_from(text, python));
}

/* Keeps a text of words, in which no part of a path can be, and replaces any other by `other`. */
static void words_redact(struct redaction *redaction, struct text text, const char *other) {
    uint32_t i = 0;
    while (i < text.nbytes && text.at[i] < 0x80 && text.at[i] != 0 &&
           (is_word_byte(text.at[i]) || strchr(" \".:+-", text.at[i]) != NULL))
        i++;
    if (i == text.nbytes)
        text_keep(&redaction->text, text);
    else
        buffer_add_text(&redaction->text, other);
}

/* The kernel cuts the names of processes. */
static void killed_redact(struct redaction *redaction, struct text text) {
    words_redact(redaction, text, "a process was killed");
}

/* The name of a key that is not read may be the user's, and may be cut. */
static void unread_redact(struct redaction *redaction, struct text text) {
    words_redact(redaction, text, "A key of the snapshot is not read.");
}

/* PyTorch writes "0/1_2" for a compiled frame; that is no path. Other texts lose their paths. */
static void context_redact(struct redaction *redaction, struct text text) {
    for (uint32_t i = 0; i < text.nbytes; i++)
        if (text.at[i] == '\0' || strchr("0123456789/_!.[]-", text.at[i]) == NULL) {
            text_redact(redaction, text);
            return;
        }
    text_keep(&redaction->text, text);
}

static void category_redact(struct redaction *redaction, struct text text) {
    if (redaction->category_is_known(text))
        text_redact(redaction, text);
}

/* ---- names of annotations ---- */

/* Names that tell which part of a step it is, and nothing private. */
static bool name_is_common(struct text name) {
    static const char *const names[] = {"forward",   "backward", "optimizer", "step",
                                        "zero_grad", "loss",     "train",     "eval"};
    static const char step[] = "ProfilerStep#";
    uint32_t at = sizeof step - 1;
    if (text_is_any(name, names, sizeof names / sizeof *names))
        return true;
    if (name.nbytes == at || !text_begins(name, step))
        return false;
    while (at < name.nbytes && is_digit(name.at[at]))
        at++;
    return at == name.nbytes;
}

/* With --redact=all gives names numbers. */
static void annotation_redact(struct redaction *redaction, struct text text) {
    static const char optimizer[] = "Optimizer.step#";
    if (!redaction->all)
        text_redact(redaction, text);
    else if (name_is_common(text))
        text_keep(&redaction->text, text);
    else if (text_begins(text, optimizer))
        buffer_printf(&redaction->text, "%soptimizer.step", optimizer);
    else if (text.nbytes != 0)
        buffer_printf(&redaction->text, "annotation %" PRIu32, ++redaction->n_named);
}

/* ---- settings: only what PyTorch itself knows stays ---- */

static bool setting_is_known(struct text key) {
    static const char *const keys[] = {"backend",
                                       "expandable_segments",
                                       "expandable_segments_reserve",
                                       "garbage_collection_threshold",
                                       "graph_capture_record_stream_reuse",
                                       "large_segment_size_mb",
                                       "max_cached_size",
                                       "max_non_split_rounding_mb",
                                       "max_round_threshold",
                                       "max_split_size",
                                       "max_split_size_mb",
                                       "per_process_memory_fraction",
                                       "pinned_free_catch_all",
                                       "pinned_max_cached_size_mb",
                                       "pinned_max_round_threshold_mb",
                                       "pinned_num_register_threads",
                                       "pinned_reserve_segment_size_mb",
                                       "pinned_use_background_threads",
                                       "pinned_use_cuda_host_register",
                                       "pinned_use_hip_host_register",
                                       "release_lock_on_cudamalloc",
                                       "release_lock_on_hipmalloc",
                                       "roundup_bypass_threshold_mb",
                                       "roundup_power2_divisions",
                                       "throw_on_cudamalloc_oom"};
    return text_is_any(key, keys, sizeof keys / sizeof *keys);
}

static bool setting_is_line(const char *key) {
    static const char *const keys[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                       "PYTORCH_HIP_ALLOC_CONF", "last_allocator_settings"};
    return text_is_any(word_text(key), keys, sizeof keys / sizeof *keys);
}

/* A number, a list of numbers, or a word that PyTorch accepts as a value. */
static bool value_is_plain(struct text value) {
    static const char *const words[] = {"True", "False", "true", "false", "native", "cudaMallocAsync"};
    return strspn((const char *)value.at, "0123456789.:>[],-") >= value.nbytes ||
           text_is_any(value, words, 6);
}

/* The length of the first item of "a:1,b:[256:1,>:2]", without the separator. */
static uint32_t item_length(const char *text) {
    uint32_t n = 0;
    for (int depth = 0; text[n] != '\0' && (text[n] != ',' || depth > 0); n++)
        depth += (text[n] == '[') - (text[n] == ']');
    return n;
}

static void line_redact(struct buffer *out, const char *line) {
    bool first = true;
    for (uint32_t n; *line != '\0'; line += n + (line[n] == ',')) {
        n = item_length(line);
        struct text item = {(const uint8_t *)line, n};
        uint32_t key = (uint32_t)strcspn(line, ":,");
        if (key >= n || !setting_is_known((struct text){item.at, key}) ||
            !value_is_plain(text_from(item, key + 1)))
            continue;
        buffer_add_text(out, first ? "" : ",");
        text_keep(out, item);
        first = false;
    }
    buffer_add(out, "", 1);
}

static bool numbers_only(const cJSON *container) {
    const cJSON *item;
    cJSON_ArrayForEach(item, container) {
        const char *key = item->string != NULL ? item->string : "";
        if (!cJSON_IsNumber(item) || strspn(key, "0123456789.>") != strlen(key))
            return false;
    }
    return true;
}

static bool setting_stays(struct redaction *redaction, cJSON *item) {
    if (cJSON_IsString(item) && setting_is_line(item->string)) {
        redaction->text.nbytes = 0;
        line_redact(&redaction->text, item->valuestring);
        if (!redaction->text.failed) /* the result is never longer than the input */
            memcpy(item->valuestring, redaction->text.bytes, redaction->text.nbytes);
        redaction->text.nbytes = 0;
        return !redaction->text.failed;
    }
    if (item->string == NULL || !setting_is_known(word_text(item->string)))
        return false;
    if (cJSON_IsString(item))
        return value_is_plain(word_text(item->valuestring));
    return cJSON_IsArray(item) || cJSON_IsObject(item) ? numbers_only(item) : true;
}

static void settings_redact(struct redaction *redaction, uint32_t *id) {
    struct text old = old_string(redaction, *id);
    /* cJSON returns NULL both for invalid text and for lack of memory; only the latter sets errno. */
    errno = 0;
    cJSON *settings = cJSON_ParseWithLength((const char *)old.at, old.nbytes), *next;
    redaction->failed |= settings == NULL && errno == ENOMEM;
    for (cJSON *item = settings != NULL ? settings->child : NULL; item != NULL; item = next) {
        next = item->next;
        if (!setting_stays(redaction, item))
            cJSON_Delete(cJSON_DetachItemViaPointer(settings, item));
    }
    char *text = cJSON_IsObject(settings) ? cJSON_PrintUnformatted(settings) : NULL;
    redaction->failed |= text == NULL && cJSON_IsObject(settings);
    if (text != NULL)
        buffer_add_text(&redaction->text, text);
    *id = string_end(redaction);
    cJSON_free(text);
    cJSON_Delete(settings);
}

/* ---- all of a trace's strings ---- */

static void redact(struct redaction *redaction, enum way way, uint32_t *id) {
    static void (*const ways[WAYS])(struct redaction *, struct text) = {
        [WAY_TEXT] = text_redact,         [WAY_PATH] = path_redact,
        [WAY_NAME] = name_redact,         [WAY_CONTEXT] = context_redact,
        [WAY_CATEGORY] = category_redact, [WAY_ANNOTATION] = annotation_redact,
        [WAY_KILLED] = killed_redact,     [WAY_UNREAD] = unread_redact};
    uint32_t *made = &redaction->made[(size_t)way * redaction->old.count + *id];
    if (*made == 0) {
        ways[way](redaction, old_string(redaction, *id));
        *made = string_end(redaction) + 1;
    }
    *id = *made - 1;
}

static void annotations_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        redact(redaction, WAY_ANNOTATION, &trace->annotations[i].name);
}

/* A profiler's annotation is also a frame, without a file, of what was allocated in it. Needs the annotations. */
static void frames_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    const uint32_t *annotated = redaction->made + (size_t)WAY_ANNOTATION * redaction->old.count;
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        struct frame *frame = &trace->frames.frame[i];
        redact(redaction, frame->file == 0 && annotated[frame->name] != 0 ? WAY_ANNOTATION : WAY_NAME,
               &frame->name);
        redact(redaction, WAY_PATH, &frame->file);
    }
    for (uint32_t i = 1; i < trace->fx.count; i++) {
        struct fx *fx = &trace->fx.fx[i];
        redact(redaction, WAY_TEXT, &fx->op);
        redact(redaction, WAY_TEXT, &fx->name);
        redact(redaction, WAY_TEXT, &fx->target);
        fx->original_trace = 0;
    }
}

static void contexts_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 1; i < trace->contexts.count; i++) {
        struct context *context = &trace->contexts.context[i];
        redact(redaction, WAY_CONTEXT, &context->compile_context);
        redact(redaction, WAY_CATEGORY, &context->category);
        context->user_metadata = context->forward_frames = 0;
    }
}

/* Redacts the labels of a log's lines and the file names of a series. */
static void notes_redact(struct redaction *redaction, struct device_trace *device) {
    for (uint32_t i = 0; i < device->n_notes; i++) {
        struct note *note = &device->notes[i];
        note->text = note->what == NOTE_HOST_MOST ? 0 : note->text; /* a command line */
        redact(redaction,
               note->what == NOTE_LABEL    ? WAY_ANNOTATION
               : note->what == NOTE_KILLED ? WAY_KILLED
                                           : WAY_PATH,
               &note->text);
    }
}

static void diagnostic_redact(struct redaction *redaction, struct diagnostic *diagnostic) {
    bool unread = text_is(old_string(redaction, diagnostic->code), "unread_key");
    redact(redaction, unread ? WAY_UNREAD : WAY_TEXT, &diagnostic->message);
    redact(redaction, WAY_TEXT, &diagnostic->code);
    redact(redaction, WAY_TEXT, &diagnostic->key);
}

static void rest_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 0; i < trace->n_devices; i++) {
        redact(redaction, WAY_TEXT, &trace->devices[i].name);
        notes_redact(redaction, &trace->devices[i]);
    }
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        diagnostic_redact(redaction, &trace->diagnostics[i]);
    settings_redact(redaction, &trace->settings);
    trace->meta = 0; /* the writer of a page makes it again */
}

/* The new table begins like that of a fresh trace: id 0 is the empty string. */
static bool table_begin(struct trace *trace) {
    trace->strings = (struct string_table){.count = 1};
    if (!ARENA_GROW(&trace->arena, trace->strings.start, trace->strings.start_capacity, 2) ||
        !ARENA_GROW(&trace->arena, trace->strings.bytes, trace->strings.bytes_capacity, 1))
        return false;
    trace->strings.start[0] = trace->strings.start[1] = 0;
    return true;
}

bool trace_redact(struct trace *trace, bool all, bool (*category_is_known)(struct text name)) {
    struct redaction redaction = {
        .trace = trace, .all = all, .category_is_known = category_is_known, .old = trace->strings};
    redaction.made = calloc(WAYS * ((size_t)trace->strings.count + 1), sizeof *redaction.made);
    bool begun = redaction.made != NULL && table_begin(trace);
    if (begun) {
        annotations_redact(&redaction);
        frames_redact(&redaction);
        contexts_redact(&redaction);
        rest_redact(&redaction);
        ARENA_DROP(&trace->arena, redaction.old.start, redaction.old.bytes);
    } else {
        trace->strings = redaction.old;
    }
    buffer_release(&redaction.text);
    free(redaction.made);
    return begun && !redaction.failed;
}
