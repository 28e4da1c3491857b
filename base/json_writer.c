#include "base/json_writer.h"

#include "base/numbers.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

struct json_writer json_writer_of(struct buffer *out) {
    return (struct json_writer){.out = out};
}

static struct json_level *level_of(struct json_writer *json) {
    return json->depth != 0 ? &json->level[json->depth - 1] : NULL;
}

static void line_begin(struct json_writer *json) {
    buffer_printf(json->out, "\n%*s", (int)json->depth * 2, "");
}

static void escape_add(struct buffer *out, uint32_t code) {
    static const char shorts[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
    const char *place = code < 0x80 ? strchr(shorts, (int)code) : NULL;
    if (place != NULL)
        buffer_printf(out, "\\%c", letters[place - shorts]);
    else
        buffer_printf(out, "\\u%04x", (unsigned)code);
}

static bool needs_escape(const struct json_writer *json, uint32_t code) {
    return utf8_steers(code) || code == '"' || code == '\\' ||
           (json->for_page && (code == '<' || code == '>' || code == '&'));
}

/* The number of bytes from `text` on that need no escape: nearly all of them in real names. */
static size_t plain_nbytes(const struct json_writer *json, const char *text, size_t nbytes) {
    size_t n = 0;
    while (n < nbytes && text[n] >= ' ' && text[n] < 0x7f && !needs_escape(json, (uint32_t)text[n]))
        n++;
    return n;
}

void json_string_add(struct json_writer *json, const void *bytes, size_t nbytes) {
    const char *text = bytes;
    for (size_t at = 0; at < nbytes && !json->out->failed;) {
        char shown[4];
        size_t plain = plain_nbytes(json, text + at, nbytes - at);
        buffer_add(json->out, text + at, plain);
        at += plain;
        if (at == nbytes)
            break;
        uint32_t code = utf8_next(text, nbytes, &at);
        if (code == 0)
            code = UTF8_REPLACEMENT;
        if (needs_escape(json, code))
            escape_add(json->out, code);
        else
            buffer_add(json->out, shown, utf8_put(code, shown));
    }
}

/* Writes the separator before this value, and its name. */
static void value_begin(struct json_writer *json, const char *name) {
    struct json_level *level = level_of(json);
    if (level != NULL) {
        if (level->has_members)
            buffer_add_text(json->out, ",");
        level->has_members = true;
        if (level->style == JSON_LINES)
            line_begin(json);
    }
    if (name == NULL)
        return;
    buffer_add_text(json->out, "\"");
    json_string_add(json, name, strlen(name));
    buffer_add_text(json->out, level != NULL && level->style == JSON_LINES ? "\": " : "\":");
}

static void container_begin(struct json_writer *json, const char *name, enum json_style style,
                            bool is_array) {
    const struct json_level *outer = level_of(json);
    if (outer != NULL && outer->style == JSON_COMPACT)
        style = JSON_COMPACT;
    value_begin(json, name);
    if (json->depth == JSON_DEPTH_MAX)
        __builtin_trap();
    json->level[json->depth++] = (struct json_level){(uint8_t)style, is_array, false};
    buffer_add_text(json->out, is_array ? "[" : "{");
}

void json_object(struct json_writer *json, const char *name, enum json_style style) {
    container_begin(json, name, style, false);
}

void json_array(struct json_writer *json, const char *name, enum json_style style) {
    container_begin(json, name, style, true);
}

void json_end(struct json_writer *json) {
    if (json->depth == 0)
        __builtin_trap();
    struct json_level ended = json->level[--json->depth];
    if (ended.has_members && ended.style == JSON_LINES)
        line_begin(json);
    buffer_add_text(json->out, ended.is_array ? "]" : "}");
}

void json_u64(struct json_writer *json, const char *name, uint64_t number) {
    value_begin(json, name);
    buffer_printf(json->out, "%" PRIu64, number);
}

void json_i64(struct json_writer *json, const char *name, int64_t number) {
    value_begin(json, name);
    buffer_printf(json->out, "%" PRId64, number);
}

void json_bool(struct json_writer *json, const char *name, bool value) {
    value_begin(json, name);
    buffer_add_text(json->out, value ? "true" : "false");
}

void json_null(struct json_writer *json, const char *name) {
    value_begin(json, name);
    buffer_add_text(json->out, "null");
}

void json_known_u64(struct json_writer *json, const char *name, bool known, uint64_t number) {
    if (known)
        json_u64(json, name, number);
    else
        json_null(json, name);
}

void json_known_i64(struct json_writer *json, const char *name, bool known, int64_t number) {
    if (known)
        json_i64(json, name, number);
    else
        json_null(json, name);
}

/* Long division, one decimal at a time. `*rest` is below `whole`, but ten times of it may exceed 2^64: so it is
 * added up step by step, subtracting `whole` whenever possible. */
static unsigned share_digit(uint64_t *rest, uint64_t whole) {
    uint64_t sum = 0;
    unsigned digit = 0;
    for (int i = 0; i < 10; i++) {
        if (*rest >= whole - sum) {
            sum = *rest - (whole - sum);
            digit++;
        } else {
            sum += *rest;
        }
    }
    *rest = sum;
    return digit;
}

void json_share(struct json_writer *json, const char *name, uint64_t part, uint64_t whole) {
    value_begin(json, name);
    uint64_t integer = whole != 0 ? part / whole : 0, rest = whole != 0 ? part % whole : 0;
    unsigned millionths = 0;
    for (int i = 0; i < 6 && whole != 0; i++)
        millionths = millionths * 10 + share_digit(&rest, whole);
    if (rest != 0 && rest >= whole - rest && ++millionths == 1000000) {
        millionths = 0;
        integer++;
    }
    buffer_printf(json->out, "%" PRIu64 ".%06u", integer, millionths);
}

void json_hundredths(struct json_writer *json, const char *name, int64_t number) {
    uint64_t size = magnitude_of(number);
    value_begin(json, name);
    buffer_printf(json->out, "%s%" PRIu64 ".%02u", number < 0 ? "-" : "", size / 100, (unsigned)(size % 100));
}

void json_string_begin(struct json_writer *json, const char *name) {
    value_begin(json, name);
    buffer_add_text(json->out, "\"");
}

void json_string_end(struct json_writer *json) {
    buffer_add_text(json->out, "\"");
}

void json_string(struct json_writer *json, const char *name, const void *bytes, size_t nbytes) {
    json_string_begin(json, name);
    json_string_add(json, bytes, nbytes);
    json_string_end(json);
}

void json_text(struct json_writer *json, const char *name, const char *text) {
    if (text != NULL)
        json_string(json, name, text, strlen(text));
    else
        json_null(json, name);
}

struct json_writer json_document(struct buffer *out, uint64_t schema) {
    struct json_writer json = json_writer_of(out);
    json_object(&json, NULL, JSON_LINES);
    json_u64(&json, "schema", schema);
    return json;
}

bool json_document_end(struct json_writer *json) {
    json_end(json);
    buffer_add_text(json->out, "\n");
    return !json->out->failed;
}
