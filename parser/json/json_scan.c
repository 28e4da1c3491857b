#include "parser/json/json_scan.h"

#include "base/bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char REPLACEMENT[] = "\xef\xbf\xbd"; /* U+FFFD */

void json_scan_init(struct json_scan *scan, struct cursor *cursor, struct arena *arena) {
    *scan = (struct json_scan){.cursor = cursor, .arena = arena};
    json_pool_init(&scan->pool, arena);
}

void json_scan_release(struct json_scan *scan) {
    json_pool_release(&scan->pool);
    ARENA_DROP(scan->arena, scan->text);
}

bool json_scan_is_sound(const struct json_scan *scan) {
    return !scan->truncated && !scan->damaged && scan->cursor->error->code == READ_OK;
}

/* ---- bytes ---- */

static bool has_byte(struct json_scan *scan) {
    struct cursor *cursor = scan->cursor;
    if (cursor->p < cursor->end)
        return true;
    if (cursor_fill(cursor, 1))
        return true;
    if (cursor->error->code == READ_OK && !scan->truncated) {
        scan->truncated = true;
        scan->stop_offset = cursor_offset(cursor);
    }
    return false;
}

/* Notes the first error in the structure; always false. */
static bool damage(struct json_scan *scan) {
    if (json_scan_is_sound(scan)) {
        scan->damaged = true;
        scan->stop_offset = cursor_offset(scan->cursor);
    }
    return false;
}

static bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

int json_scan_peek(struct json_scan *scan) {
    while (json_scan_is_sound(scan) && has_byte(scan)) {
        if (!is_space(*scan->cursor->p))
            return *scan->cursor->p;
        scan->cursor->p++;
    }
    return -1;
}

/* ---- the copy ---- */

static bool copy_bytes(struct json_scan *scan, const void *bytes, size_t nbytes) {
    struct cursor *cursor = scan->cursor;
    if (!scan->keep)
        return true;
    if (nbytes > JSON_MAX_VALUE_NBYTES - scan->n_text)
        return cursor_fail(cursor, READ_LIMIT, cursor_offset(cursor), "a JSON value is longer than 16 MiB");
    if (!ARENA_GROW(scan->arena, scan->text, scan->text_capacity, (uint64_t)scan->n_text + nbytes + 1))
        return json_scan_fail_memory(scan);
    bytes_copy(scan->text + scan->n_text, bytes, nbytes);
    scan->n_text += (uint32_t)nbytes;
    return true;
}

static bool copy_byte(struct json_scan *scan, uint8_t byte) {
    return copy_bytes(scan, &byte, 1);
}

static bool copy_text(struct json_scan *scan, const char *text) {
    return copy_bytes(scan, text, strlen(text));
}

/* ---- strings ---- */

static bool hex_code(const uint8_t *digits, unsigned *code) {
    *code = 0;
    for (unsigned i = 0; i < 4; i++) {
        uint8_t digit = digits[i], low = digit | 0x20;
        if (digit >= '0' && digit <= '9')
            *code = *code << 4 | (unsigned)(digit - '0');
        else if (low >= 'a' && low <= 'f')
            *code = *code << 4 | (unsigned)(low - 'a' + 10);
        else
            return false;
    }
    return true;
}

/* The code after the "\u" that is `at` bytes ahead. */
static bool code_ahead(struct json_scan *scan, size_t at, unsigned *code) {
    struct cursor *cursor = scan->cursor;
    return ((size_t)(cursor->end - cursor->p) >= at + 6 || cursor_fill(cursor, at + 6)) &&
           cursor->p[at] == '\\' && cursor->p[at + 1] == 'u' && hex_code(cursor->p + at + 2, code);
}

/* Copies a "\u" escape, at which the cursor is. */
static bool copy_unicode(struct json_scan *scan) {
    struct cursor *cursor = scan->cursor;
    unsigned code, low;
    if (!code_ahead(scan, 0, &code)) {
        cursor->p++;
        return copy_text(scan, "\\\\");
    }
    size_t nbytes = 6;
    bool paired =
        code >= 0xD800 && code < 0xDC00 && code_ahead(scan, 6, &low) && low >= 0xDC00 && low < 0xE000;
    bool done = (code >= 0xD800 && code < 0xE000 && !paired) || code == 0
                    ? copy_text(scan, REPLACEMENT)
                    : copy_bytes(scan, cursor->p, nbytes = paired ? 12 : 6);
    cursor->p += done ? nbytes : 0;
    return done;
}

/* Copies an escape; the cursor is at its backslash. */
static bool copy_escape(struct json_scan *scan) {
    struct cursor *cursor = scan->cursor;
    if (cursor->end - cursor->p < 2 && !cursor_fill(cursor, 2)) {
        cursor->p = cursor->end;
        return has_byte(scan);
    }
    uint8_t letter = cursor->p[1];
    if (letter == 'u')
        return copy_unicode(scan);
    if (letter != 0 && strchr("\"\\/bfnrt", letter) != NULL) {
        bool done = copy_bytes(scan, cursor->p, 2);
        cursor->p += done ? 2 : 0;
        return done;
    }
    cursor->p++; /* "C:\Users": an ordinary byte follows */
    return copy_text(scan, "\\\\");
}

/* Does a string end at the quote before the cursor? Some strings contain unescaped quotes. */
static bool quote_closes(struct json_scan *scan) {
    struct cursor *cursor = scan->cursor;
    for (size_t ahead = 0; ahead < 64; ahead++) {
        if ((size_t)(cursor->end - cursor->p) <= ahead && !cursor_fill(cursor, ahead + 1))
            return true;
        uint8_t byte = cursor->p[ahead];
        if (!is_space(byte))
            return byte == ',' || byte == ':' || byte == '}' || byte == ']';
    }
    return true;
}

static bool is_ordinary(uint8_t byte) {
    return byte != '"' && byte != '\\' && byte != 0 && byte != JSON_NUMBER;
}

/* Scans a string; the cursor is at its opening quote. */
static bool scan_string(struct json_scan *scan) {
    struct cursor *cursor = scan->cursor;
    cursor->p++;
    scan->n_values++;
    if (!copy_byte(scan, '"'))
        return false;
    while (has_byte(scan)) {
        const uint8_t *from = cursor->p;
        while (cursor->p < cursor->end && is_ordinary(*cursor->p))
            cursor->p++;
        if (cursor->p != from && !copy_bytes(scan, from, (size_t)(cursor->p - from)))
            return false;
        if (cursor->p == cursor->end)
            continue;
        if (*cursor->p == '\\') {
            if (!copy_escape(scan))
                return false;
            continue;
        }
        bool quote = *cursor->p++ == '"';
        if (quote && quote_closes(scan))
            return cursor->error->code == READ_OK && copy_byte(scan, '"');
        if (!copy_text(scan, quote ? "\\\"" : REPLACEMENT))
            return false;
    }
    return false;
}

/* ---- values ---- */

static bool ends_token(uint8_t byte) {
    return is_space(byte) || (byte != 0 && strchr(",:[]{}\"", byte) != NULL);
}

bool json_is_one_of(const char *token, const char *const *words) {
    for (; *words != NULL; words++)
        if (strcmp(token, *words) == 0)
            return true;
    return false;
}

static bool copy_token(struct json_scan *scan, const char *token) {
    static const char *const words[] = {"true", "false", "null", NULL};
    static const char *const no_numbers[] = {"NaN",       "-NaN", "nan",  "-nan", "Infinity",
                                             "-Infinity", "inf",  "-inf", "+inf", "+Infinity",
                                             "undefined", "None", NULL};
    if (json_is_one_of(token, no_numbers))
        return copy_text(scan, "null");
    if (json_is_one_of(token, words))
        return copy_text(scan, token);
    if ((token[0] < '0' || token[0] > '9') && token[0] != '-' && token[0] != '+' && token[0] != '.')
        return copy_text(scan, "?"); /* cJSON will refuse it */
    static const char open[] = {'"', (char)JSON_NUMBER};
    return copy_bytes(scan, open, 2) && copy_text(scan, token) && copy_byte(scan, '"');
}

/* Scans a number or a word. Text longer than any number is not a number. */
static bool scan_token(struct json_scan *scan) {
    char token[64];
    size_t n = 0, cut = 0;
    while (has_byte(scan) && !ends_token(*scan->cursor->p)) {
        uint8_t byte = *scan->cursor->p++;
        if (n < sizeof token - 1)
            token[n++] = byte >= 0x20 && byte < 0x7F ? (char)byte : '?';
        else
            cut++;
    }
    token[n] = '\0';
    scan->n_values++;
    if (scan->truncated || scan->cursor->error->code != READ_OK)
        return false;
    return cut != 0 ? copy_text(scan, "?") : copy_token(scan, token);
}

static void drop_comma(struct json_scan *scan) {
    if (scan->keep && scan->n_text != 0 && scan->text[scan->n_text - 1] == ',')
        scan->n_text--;
}

static bool scan_bracket(struct json_scan *scan, uint32_t *depth, bool opens) {
    struct cursor *cursor = scan->cursor;
    if (opens && scan->keep && *depth >= JSON_MAX_DEPTH)
        return cursor_fail(cursor, READ_LIMIT, cursor_offset(cursor),
                           "JSON values are nested more than 512 deep");
    if (opens && *depth == UINT32_MAX)
        return damage(scan);
    if (!opens)
        drop_comma(scan);
    *depth = opens ? *depth + 1 : *depth - 1;
    scan->n_values += opens;
    return copy_byte(scan, *cursor->p++);
}

static bool scan_value(struct json_scan *scan) {
    uint32_t depth = 0;
    do {
        int byte = json_scan_peek(scan);
        bool done;
        switch (byte) {
        case -1: return false;
        case '{':
        case '[': done = scan_bracket(scan, &depth, true); break;
        case '}':
        case ']': done = depth == 0 ? damage(scan) : scan_bracket(scan, &depth, false); break;
        case ',':
        case ':':
            if (depth == 0)
                return damage(scan);
            scan->cursor->p++;
            done = copy_byte(scan, (uint8_t)byte);
            break;
        case '"': done = scan_string(scan); break;
        default: done = scan_token(scan);
        }
        if (!done)
            return false;
    } while (depth != 0);
    return true;
}

bool json_scan_skip(struct json_scan *scan) {
    scan->keep = false;
    return scan_value(scan);
}

static bool value_copy(struct json_scan *scan) {
    scan->keep = true;
    scan->n_text = scan->n_values = 0;
    if (!scan_value(scan))
        return false;
    scan->text[scan->n_text] = '\0';
    return true;
}

static bool text_parse(struct json_scan *scan, const cJSON **value) {
    if (!json_pool_parse(&scan->pool, scan->text, scan->n_text, scan->n_values, value))
        return json_scan_fail_memory(scan);
    scan->n_bad += *value == NULL;
    return true;
}

bool json_scan_take(struct json_scan *scan, const cJSON **value) {
    *value = NULL;
    return value_copy(scan) && text_parse(scan, value);
}

bool json_scan_take_with(struct json_scan *scan, const char *const *words, const cJSON **value) {
    *value = NULL;
    if (!value_copy(scan))
        return false;
    for (; *words != NULL; words++)
        if (memmem(scan->text, scan->n_text, *words, strlen(*words)) != NULL)
            return text_parse(scan, value);
    return true;
}

bool json_scan_number(struct json_scan *scan, const char **text) {
    *text = "";
    if (!value_copy(scan))
        return false;
    if (scan->n_text < 4 || scan->text[0] != '"' || (uint8_t)scan->text[1] != JSON_NUMBER) {
        scan->n_bad++;
        return true;
    }
    scan->text[scan->n_text - 1] = '\0';
    *text = scan->text + 2;
    return true;
}

/* ---- structure ---- */

bool json_scan_enter(struct json_scan *scan, char bracket) {
    if (json_scan_peek(scan) != bracket)
        return false;
    scan->cursor->p++;
    return true;
}

/* Moves to the next element of an object or array; false: it ends. Commas are not counted. */
static bool scan_next(struct json_scan *scan, int closing) {
    int byte;
    while ((byte = json_scan_peek(scan)) == ',')
        scan->cursor->p++;
    if (byte != closing)
        return byte != -1;
    scan->cursor->p++;
    return false;
}

static void key_keep(struct json_scan *scan) {
    size_t nbytes = scan->n_text - 2 < JSON_KEY_NBYTES - 1 ? scan->n_text - 2 : JSON_KEY_NBYTES - 1;
    memcpy(scan->key, scan->text + 1, nbytes);
    scan->key[nbytes] = '\0';
}

bool json_scan_member(struct json_scan *scan) {
    if (!scan_next(scan, '}'))
        return false;
    if (*scan->cursor->p != '"')
        return damage(scan);
    if (!value_copy(scan))
        return false;
    key_keep(scan);
    return json_scan_enter(scan, ':') || damage(scan);
}

bool json_scan_item(struct json_scan *scan) {
    return scan_next(scan, ']') && (*scan->cursor->p != '}' || damage(scan));
}

/* ---- the end ---- */

bool json_scan_finish(struct json_scan *scan, struct trace *trace, uint64_t n_events) {
    const uint64_t stop[DIAGNOSTIC_NUMBERS] = {scan->stop_offset, n_events},
                   bad[DIAGNOSTIC_NUMBERS] = {scan->n_bad};
    const char *key = scan->truncated ? "truncated/json" : "damaged";
    if (scan->cursor->error->code != READ_OK)
        return false;
    if (scan->truncated && n_events == 0)
        return cursor_fail(scan->cursor, READ_TRUNCATED, scan->stop_offset, "the file ends before any event");
    if (scan->damaged && n_events == 0)
        return cursor_fail(scan->cursor, READ_BAD_VALUE, scan->stop_offset, "this is not JSON");
    return ((json_scan_is_sound(scan) || trace_diagnose(trace, key, ORDINAL_NONE, stop)) &&
            (scan->n_bad == 0 || trace_diagnose(trace, "bad_json", ORDINAL_NONE, bad))) ||
           cursor_fail_memory(scan->cursor, scan->stop_offset);
}

/* ---- values that were taken ---- */

bool json_is_number(const cJSON *value) {
    return cJSON_IsString(value) && (uint8_t)value->valuestring[0] == JSON_NUMBER;
}

bool json_is_text(const cJSON *value) {
    return cJSON_IsString(value) && (uint8_t)value->valuestring[0] != JSON_NUMBER;
}

bool json_text_is_integer(const char *text) {
    text += *text == '-' || *text == '+';
    size_t n = strspn(text, "0123456789");
    return n != 0 && text[n] == '\0';
}

/* "1.5e3": cut to a whole number, as far as a double can tell. */
static bool integer_of_fraction(const char *text, int64_t *integer) {
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(fabs(number) < 9.2e18))
        return false;
    *integer = (int64_t)number;
    return true;
}

bool json_integer_of_text(const char *text, int64_t *integer, bool *is_large) {
    bool negative = *text == '-';
    uint64_t value = 0;
    if (is_large != NULL)
        *is_large = false;
    if (!json_text_is_integer(text))
        return integer_of_fraction(text, integer);
    for (text += *text == '-' || *text == '+'; *text != '\0'; text++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return false;
    if (negative && value > (uint64_t)INT64_MAX + 1)
        return false;
    if (is_large != NULL)
        *is_large = !negative && value > INT64_MAX;
    *integer = (int64_t)(negative ? 0 - value : value);
    return true;
}

bool json_integer(const cJSON *value, int64_t *integer, bool *is_large) {
    return json_is_number(value) && json_integer_of_text(value->valuestring + 1, integer, is_large);
}

const cJSON *json_member(const cJSON *object, const char *key) {
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key) : NULL;
}

bool json_scan_fail_memory(struct json_scan *scan) {
    return cursor_fail_memory(scan->cursor, cursor_offset(scan->cursor));
}
