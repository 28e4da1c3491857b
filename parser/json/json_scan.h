/*
 * Walks a JSON document in order without holding it: the caller steps into the objects and arrays that it knows, skips
 * what it does not want, and takes single values as cJSON trees. Memory is bounded by the largest value taken.
 *
 * Profilers write files that are not quite JSON, so the scanner is lenient. While a value is copied for cJSON
 *   - NaN, Infinity and the like become null, a comma before a closing bracket is dropped,
 *   - a quote that is not followed by one of , : } ] or the end belongs to the string,
 *   - a backslash that begins no escape stands for itself; a lone surrogate, U+0000 and the byte 0xFF become U+FFFD,
 *   - line ends and control characters in strings stay, and so does invalid UTF-8,
 *   - numbers become strings of JSON_NUMBER and their own text: cJSON keeps doubles, which cannot hold addresses.
 * A value that is not JSON even so is counted and left out.
 */
#pragma once

#include "parser/cursor.h"
#include "parser/json/json_pool.h"

/* Limits, each with its own error. */
enum {
    JSON_MAX_VALUE_NBYTES = 16 << 20, /* a value taken whole; an event with its stack has some 10 KB */
    JSON_MAX_DEPTH = 512              /* nesting inside of such a value */
};

/* First byte of strings that stand for numbers; no other string holds it. */
enum { JSON_NUMBER = 0xFF };

enum { JSON_KEY_NBYTES = 64 }; /* longer keys are cut; none of ours is */

struct json_scan {
    struct cursor *cursor;
    struct arena *arena;
    char *text; /* the value that is being copied */
    uint32_t n_text, text_capacity;
    uint32_t n_values; /* in `text`, keys of members among them */
    struct json_pool pool;
    bool keep;      /* the copy is wanted */
    bool truncated; /* the input ended inside of the document */
    bool damaged;   /* the document's structure breaks off at `stop_offset` */
    uint64_t stop_offset;
    uint64_t n_bad; /* values left out */
    char key[JSON_KEY_NBYTES];
};

/* The cursor stands at the document. Memory from `arena` until json_scan_release. */
void json_scan_init(struct json_scan *scan, struct cursor *cursor, struct arena *arena);
void json_scan_release(struct json_scan *scan);

/* Skips white space; the byte that follows, or -1 at the end of the input (noted as truncated) or after an error. */
int json_scan_peek(struct json_scan *scan);

/* Steps into the object or array at hand. False: it is not one, and nothing is done. */
bool json_scan_enter(struct json_scan *scan, char bracket);

/* The next member of the object entered last: its key is in `key` and its value is at hand. False: there is none (the
 * object is left), or the document ends or breaks off. Every value must be taken, skipped or walked to its end. */
bool json_scan_member(struct json_scan *scan);

/* The next item of the array entered last is at hand. False as above. */
bool json_scan_item(struct json_scan *scan);

/* Skips the value at hand, however deep. False: the document ends or breaks off, or an error. */
bool json_scan_skip(struct json_scan *scan);

/* The value at hand, valid until the next call; NULL: it is not JSON and was counted. False as above. */
bool json_scan_take(struct json_scan *scan, const cJSON **value);

/* The same for a value that is only of use if its text holds one of `words` (the last is NULL); others are NULL and
 * cost no tree. */
bool json_scan_take_with(struct json_scan *scan, const char *const *words, const cJSON **value);

/* The number at hand as text without the mark, valid until the next call; empty if the value is not a number. False as
 * above. */
bool json_scan_number(struct json_scan *scan, const char **text);

/* The document can be read on. */
bool json_scan_is_sound(const struct json_scan *scan);

/* The document is read as far as it goes, and gave `n_events`. What is missing or left out is noted as a diagnostic;
 * false if nothing of use is left: the error is set. */
bool json_scan_finish(struct json_scan *scan, struct trace *trace, uint64_t n_events);

/* ---- values that were taken ---- */

bool json_is_number(const cJSON *value);
bool json_is_text(const cJSON *value);

/* A whole number of 64 bits, exact. Above INT64_MAX it is what its bits say as a signed number, `*is_large` tells.
 * Fractions are cut. False: not a number, or out of range. `is_large` may be NULL. */
bool json_integer(const cJSON *value, int64_t *integer, bool *is_large);
bool json_integer_of_text(const char *text, int64_t *integer, bool *is_large);

/* Whether a number's text is that of an integer: digits alone. */
bool json_text_is_integer(const char *text);

/* Member of an object, NULL: none, or `object` is NULL or no object. */
const cJSON *json_member(const cJSON *object, const char *key);

/* Is a text one of `words`, which end with NULL? */
bool json_is_one_of(const char *token, const char *const *words);
