#include "trace/redact.h"

#include "base/buffer.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ways of redacting a string. Each is done once, however many have the string. */
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
    bool (*category_is_known)(const uint8_t *name, uint32_t nbytes);
    struct string_table old;
    uint32_t *made; /* [WAYS * old.count] new id of a string that was redacted in a way, plus 1; 0: not yet */
    uint32_t n_named;
    struct buffer text; /* the result so far */
    bool failed;
};

/* ---- paths ---- */

/* The length of a sign at `at`: one byte, or more if it is percent-encoded ("%2F", "%252f"). 0: another stands there. */
static uint32_t sign_nbytes(const uint8_t *text, uint32_t nbytes, uint32_t at, uint8_t sign) {
    uint32_t from = at++;
    if (text[from] == sign)
        return 1;
    if (text[from] != '%')
        return 0;
    while (at + 1 < nbytes && text[at] == '2' && text[at + 1] == '5')
        at += 2;
    bool is_sign = at + 1 < nbytes && text[at] == '0' + (sign >> 4) &&
                   (text[at + 1] | 0x20) == "0123456789abcdef"[sign & 15];
    return is_sign ? at + 2 - from : 0;
}

static uint32_t slash_nbytes(const uint8_t *text, uint32_t nbytes, uint32_t at) {
    uint32_t n = sign_nbytes(text, nbytes, at, '/');
    return n != 0 ? n : sign_nbytes(text, nbytes, at, '\\');
}

/* Does the text have `word` at `at`? A slash in it also matches a backslash. */
static bool word_at(const uint8_t *text, uint32_t nbytes, uint32_t at, const char *word) {
    uint32_t i = 0;
    while (word[i] != '\0' && at + i < nbytes &&
           (text[at + i] == (uint8_t)word[i] || (word[i] == '/' && text[at + i] == '\\')))
        i++;
    return word[i] == '\0';
}

/* The last occurrence of `word`. NULL: none. */
static const uint8_t *last_match(const uint8_t *text, uint32_t nbytes, const char *word) {
    for (uint32_t at = nbytes; at-- > 0;)
        if (word_at(text, nbytes, at, word))
            return text + at;
    return NULL;
}

static const uint8_t *base_name(const uint8_t *path, uint32_t nbytes) {
    for (uint32_t at = nbytes; at-- > 0;) {
        uint32_t n = slash_nbytes(path, nbytes, at);
        if (n != 0)
            return path + at + n;
    }
    return path;
}

/* Have the directories of a path only characters that package names have? Others might begin another path. */
static bool directories_are_plain(const uint8_t *path, uint32_t nbytes) {
    uint32_t n = (uint32_t)(base_name(path, nbytes) - path);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t c = path[i], low = c | 0x20;
        if ((low < 'a' || low > 'z') && (c < '-' || c > '9') && c != '_' && c != '\\')
            return false;
    }
    return true;
}

/* The directory of a known package, which is the same on every machine, with the path below it. NULL: none. */
static const uint8_t *package_of(const uint8_t *path, uint32_t nbytes) {
    static const char *const packages[] = {
        "site-packages/torch/", "dist-packages/torch/", "-packages/torchgen/", "-packages/functorch/",
        "-packages/triton/",    "-packages/torch_npu/", "/pytorch/torch/"};
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        const uint8_t *found = last_match(path, nbytes, packages[i]);
        uint32_t left = found != NULL ? nbytes - (uint32_t)(found - path) : 0;
        if (found != NULL && last_match(found, left, "/../") == NULL && directories_are_plain(found, left))
            return found;
    }
    return NULL;
}

/* The length of "/lib/python3.11" in the path of a file of Python's own library. Packages installed below it do not
 * count. 0: none. */
static uint32_t python_nbytes(const uint8_t *path, uint32_t nbytes, const uint8_t **python) {
    static const char *const libraries[] = {"/lib/python3", "/lib64/python3"};
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *found = last_match(path, nbytes, libraries[i]);
        if (found == NULL || last_match(path, nbytes, "-packages/") != NULL)
            continue;
        uint32_t n = (uint32_t)strlen(libraries[i]), left = nbytes - (uint32_t)(found - path);
        while (n < left && (found[n] == '.' || (found[n] >= '0' && found[n] <= '9')))
            n++;
        *python = found;
        return n;
    }
    return 0;
}

/* Appends a path from `base` on, without an address's query, which may hold names: from "?" to a blank or quote. */
static void base_add(struct buffer *out, const uint8_t *path, uint32_t nbytes, const uint8_t *base) {
    bool in_query = false;
    for (uint32_t at = 0; at < nbytes; at++) {
        in_query = path[at] > ' ' && path[at] != '"' && (in_query || sign_nbytes(path, nbytes, at, '?') != 0);
        if (path + at >= base && !in_query)
            buffer_add(out, path + at, 1);
    }
}

/* What follows "https://" is a host, and maybe who asks it, not the name of a file: it goes, up to a blank or quote. */
static const uint8_t *after_host(const uint8_t *path, uint32_t nbytes, const uint8_t *base) {
    if (base - path < 3 || memcmp(base - 3, "://", 3) != 0)
        return base;
    while (base<path + nbytes && * base> ' ' && *base != '"')
        base++;
    return base;
}

/* Appends the part of a path that stays: below a known package, all of it; in Python's library and in the
 * compiler's cache, whose path has the user's name in it, the words that they are known by; and the base name. */
static void path_add(struct buffer *out, const uint8_t *path, uint32_t nbytes) {
    const uint8_t *base = base_name(path, nbytes), *package = package_of(path, nbytes), *python;
    uint32_t n_python = python_nbytes(path, nbytes, &python);
    if (last_match(path, nbytes, "/torchinductor_") != NULL) {
        buffer_add_text(out, "/torchinductor_/");
    } else if (package != NULL) {
        base = package;
    } else if (n_python != 0) {
        buffer_add(out, python, n_python);
        buffer_add_text(out, "/");
    }
    base_add(out, path, nbytes, after_host(path, nbytes, base));
}

/* ---- paths inside of text ---- */

static bool is_word_byte(uint8_t c) {
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || is_digit(c) || c == '_' || c >= 0x80;
}

/* The slash of C++'s "operator/" does not belong to a path. A directory may be called "my_operator", or "operator". */
static bool is_division(const uint8_t *text, uint32_t nbytes, uint32_t slash) {
    static const char word[] = "operator";
    const uint32_t n = sizeof word - 1;
    return text[slash] == '/' && slash >= n && memcmp(text + slash - n, word, n) == 0 &&
           (slash == n || !is_word_byte(text[slash - n - 1])) &&
           (slash + 1 == nbytes || strchr("(=< ", text[slash + 1]) != NULL);
}

static bool is_opening(uint8_t c) {
    return c == ' ' || c == '(' || c == '[' || c == '{' || c == '<';
}

/* Can a quote at `at` open a quotation: is it first, or after a blank or a bracket? */
static bool quote_opens(const uint8_t *text, uint32_t at) {
    bool quote = text[at] == '"' || text[at] == '\'' || text[at] == '`';
    return quote && (at == 0 || is_opening(text[at - 1]));
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
static uint32_t path_begin(const uint8_t *text, uint32_t slash) {
    if (slash == 0 || is_opening(text[slash - 1]) || quote_opens(text, slash - 1))
        return slash;
    if (is_closing(text[slash - 1]))
        return 0;
    uint32_t begin = slash;
    while (begin > 0 && !is_opening(text[begin - 1]) && !quote_opens(text, begin - 1))
        begin--;
    return begin;
}

/* Copies a text without the directories of the paths in it. Any characters between two slashes may be a directory's
 * name, also "k.cu:12:3}, {lambda at ", so only the text before the first and after the last slash stays. */
static void paths_strip(struct buffer *out, const uint8_t *text, uint32_t nbytes) {
    uint32_t slash = 0;
    while (slash < nbytes && (slash_nbytes(text, nbytes, slash) == 0 || is_division(text, nbytes, slash)))
        slash++;
    uint32_t begin = slash == nbytes ? nbytes : path_begin(text, slash);
    buffer_add(out, text, begin);
    if (begin < nbytes)
        path_add(out, text + begin, nbytes - begin);
}

/* ---- strings ---- */

static const uint8_t *old_string(const struct redaction *redaction, uint32_t id, uint32_t *nbytes) {
    *nbytes = redaction->old.start[id + 1] - redaction->old.start[id];
    return redaction->old.bytes + redaction->old.start[id];
}

/* Turns the text built so far into a string. */
static uint32_t string_end(struct redaction *redaction) {
    size_t nbytes = redaction->text.nbytes;
    uint32_t id = nbytes == 0 ? 0 : trace_string_add(redaction->trace, redaction->text.bytes, nbytes);
    redaction->failed |= (id == 0 && nbytes != 0) || redaction->text.failed;
    redaction->text.nbytes = 0;
    return id;
}

/* Bytes of a text that may stay. Where a reader has cut a text, half of a directory's name may follow its last slash. */
static uint32_t whole_nbytes(const uint8_t *text, uint32_t nbytes) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    const uint8_t *base = base_name(text, nbytes);
    bool is_cut = nbytes == FRAME_TEXT_MAX_NBYTES && text_ends((struct text){text, nbytes}, ellipsis);
    return is_cut && base != text ? (uint32_t)(base - text) : nbytes;
}

/* Keeps a text, without the paths in it. */
static void text_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    paths_strip(&redaction->text, bytes, whole_nbytes(bytes, nbytes));
}

static void path_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    path_add(&redaction->text, bytes, nbytes);
}

/* "dir/train.py(12): step", as profilers write it, holds a path too, and its directories may contain anything. */
static void name_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    const uint8_t *python = last_match(bytes, nbytes, ".py(");
    if (python == NULL || base_name(bytes, nbytes) > python) {
        text_redact(redaction, bytes, nbytes);
        return;
    }
    path_add(&redaction->text, bytes, (uint32_t)(python - bytes));
    paths_strip(&redaction->text, python, nbytes - (uint32_t)(python - bytes));
}

/* Does a text hold nothing but word characters and some of `more`, so that no part of a path can be in it? */
static bool is_made_of(const uint8_t *text, uint32_t nbytes, const char *more) {
    uint32_t i = 0;
    while (i < nbytes && text[i] < 0x80 && text[i] != 0 &&
           (is_word_byte(text[i]) || strchr(more, text[i]) != NULL))
        i++;
    return i == nbytes;
}

/* Keeps a text of words, and replaces any other by `other`. */
static void words_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes,
                         const char *other) {
    if (is_made_of(bytes, nbytes, " \".:+-"))
        buffer_add(&redaction->text, bytes, nbytes);
    else
        buffer_add_text(&redaction->text, other);
}

/* The kernel cuts the names of processes. */
static void killed_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    words_redact(redaction, bytes, nbytes, "a process was killed");
}

/* The name of a key that is not read may be the user's, and may be cut. */
static void unread_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    words_redact(redaction, bytes, nbytes, "A key of the snapshot is not read.");
}

/* PyTorch writes "0/1_2" for a compiled frame; that is no path. Of other text the paths go. */
static void context_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    for (uint32_t i = 0; i < nbytes; i++)
        if (bytes[i] == '\0' || strchr("0123456789/_!.[]-", bytes[i]) == NULL) {
            text_redact(redaction, bytes, nbytes);
            return;
        }
    buffer_add(&redaction->text, bytes, nbytes);
}

static void category_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    if (redaction->category_is_known(bytes, nbytes))
        text_redact(redaction, bytes, nbytes);
}

/* ---- names of annotations ---- */

/* Names that tell which part of a step it is, and nothing private. */
static bool name_is_common(const uint8_t *name, uint32_t nbytes) {
    static const char *const names[] = {"forward",   "backward", "optimizer", "step",
                                        "zero_grad", "loss",     "train",     "eval"};
    static const char step[] = "ProfilerStep#";
    uint32_t at = sizeof step - 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (nbytes == strlen(names[i]) && memcmp(name, names[i], nbytes) == 0)
            return true;
    if (nbytes <= at || memcmp(name, step, at) != 0)
        return false;
    while (at < nbytes && name[at] >= '0' && name[at] <= '9')
        at++;
    return at == nbytes;
}

/* With --redact=all gives names numbers. */
static void annotation_redact(struct redaction *redaction, const uint8_t *bytes, uint32_t nbytes) {
    static const char optimizer[] = "Optimizer.step#";
    if (!redaction->all)
        text_redact(redaction, bytes, nbytes);
    else if (name_is_common(bytes, nbytes))
        buffer_add(&redaction->text, bytes, nbytes);
    else if (word_at(bytes, nbytes, 0, optimizer))
        buffer_printf(&redaction->text, "%soptimizer.step", optimizer);
    else if (nbytes != 0)
        buffer_printf(&redaction->text, "annotation %" PRIu32, ++redaction->n_named);
}

/* ---- settings: only what PyTorch itself knows stays ---- */

static bool word_is_among(const char *word, size_t nbytes, const char *const *words, size_t n_words) {
    for (size_t i = 0; i < n_words; i++)
        if (strlen(words[i]) == nbytes && memcmp(words[i], word, nbytes) == 0)
            return true;
    return false;
}

static bool setting_is_known(const char *key, size_t nbytes) {
    static const char *const keys[] = {"backend",
                                       "expandable_segments",
                                       "garbage_collection_threshold",
                                       "graph_capture_record_stream_reuse",
                                       "large_segment_size_mb",
                                       "max_non_split_rounding_mb",
                                       "max_split_size",
                                       "max_split_size_mb",
                                       "per_process_memory_fraction",
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
    return word_is_among(key, nbytes, keys, sizeof keys / sizeof *keys);
}

static bool setting_is_line(const char *key) {
    static const char *const keys[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                       "PYTORCH_HIP_ALLOC_CONF", "last_allocator_settings"};
    return word_is_among(key, strlen(key), keys, sizeof keys / sizeof *keys);
}

/* A number, a list of numbers, or a word that PyTorch accepts as a value. */
static bool value_is_plain(const char *value, size_t nbytes) {
    static const char *const words[] = {"True", "False", "true", "false", "native", "cudaMallocAsync"};
    return strspn(value, "0123456789.:>[],-") >= nbytes || word_is_among(value, nbytes, words, 6);
}

/* The length of the first item of "a:1,b:[256:1,>:2]", separator included. */
static size_t item_length(const char *text) {
    size_t n = 0;
    for (int depth = 0; text[n] != '\0' && (text[n] != ',' || depth > 0); n++)
        depth += (text[n] == '[') - (text[n] == ']');
    return n;
}

static void line_redact(struct buffer *out, const char *line) {
    bool first = true;
    for (size_t n; *line != '\0'; line += n + (line[n] == ',')) {
        n = item_length(line);
        size_t key = strcspn(line, ":,");
        if (key >= n || !setting_is_known(line, key) || !value_is_plain(line + key + 1, n - key - 1))
            continue;
        buffer_add_text(out, first ? "" : ",");
        buffer_add(out, line, n);
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
    if (item->string == NULL || !setting_is_known(item->string, strlen(item->string)))
        return false;
    if (cJSON_IsString(item))
        return value_is_plain(item->valuestring, strlen(item->valuestring));
    return cJSON_IsArray(item) || cJSON_IsObject(item) ? numbers_only(item) : true;
}

static void settings_redact(struct redaction *redaction, uint32_t *id) {
    uint32_t nbytes;
    const uint8_t *bytes = old_string(redaction, *id, &nbytes);
    /* cJSON returns NULL both for invalid text and for lack of memory; only the latter sets errno. */
    errno = 0;
    cJSON *settings = cJSON_ParseWithLength((const char *)bytes, nbytes), *next;
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
    static void (*const ways[WAYS])(struct redaction *, const uint8_t *, uint32_t) = {
        [WAY_TEXT] = text_redact,         [WAY_PATH] = path_redact,
        [WAY_NAME] = name_redact,         [WAY_CONTEXT] = context_redact,
        [WAY_CATEGORY] = category_redact, [WAY_ANNOTATION] = annotation_redact,
        [WAY_KILLED] = killed_redact,     [WAY_UNREAD] = unread_redact};
    uint32_t *made = &redaction->made[(size_t)way * redaction->old.count + *id], nbytes;
    if (*made == 0) {
        const uint8_t *bytes = old_string(redaction, *id, &nbytes);
        ways[way](redaction, bytes, nbytes);
        *made = string_end(redaction) + 1;
    }
    *id = *made - 1;
}

static void frames_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 1; i < trace->frames.count; i++) {
        redact(redaction, WAY_PATH, &trace->frames.frame[i].file);
        redact(redaction, WAY_NAME, &trace->frames.frame[i].name);
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
        redact(redaction,
               note->what == NOTE_LABEL    ? WAY_ANNOTATION
               : note->what == NOTE_KILLED ? WAY_KILLED
                                           : WAY_PATH,
               &note->text);
    }
}

static void diagnostic_redact(struct redaction *redaction, struct diagnostic *diagnostic) {
    struct text code;
    code.at = old_string(redaction, diagnostic->code, &code.nbytes);
    redact(redaction, text_is(code, "unread_key") ? WAY_UNREAD : WAY_TEXT, &diagnostic->message);
    redact(redaction, WAY_TEXT, &diagnostic->code);
    redact(redaction, WAY_TEXT, &diagnostic->key);
}

static void rest_redact(struct redaction *redaction) {
    struct trace *trace = redaction->trace;
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        redact(redaction, WAY_ANNOTATION, &trace->annotations[i].name);
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

bool trace_redact(struct trace *trace, bool all,
                  bool (*category_is_known)(const uint8_t *name, uint32_t nbytes)) {
    struct redaction redaction = {
        .trace = trace, .all = all, .category_is_known = category_is_known, .old = trace->strings};
    redaction.made = calloc(WAYS * ((size_t)trace->strings.count + 1), sizeof *redaction.made);
    bool begun = redaction.made != NULL && table_begin(trace);
    if (begun) {
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
