/*
 * Walks a JSON document in order without holding it: the caller steps into the objects and arrays that it knows, skips
 * what it does not want, and takes single values as cJSON trees. Memory is bounded by the largest value taken.
 *
 * Profilers write files that are not quite JSON, so the scanner is lenient. When it copies a value for cJSON,
 *   - NaN, Infinity and the like become null, a comma before a closing bracket is dropped,
 *   - a quote that is not followed by one of , : } ] or the end belongs to the string,
 *   - a backslash that begins no escape is kept; a lone surrogate, U+0000 and the byte 0xFF become U+FFFD,
 *   - line ends and control characters in strings stay, and so does invalid UTF-8,
 *   - numbers become strings of JSON_NUMBER and their own text: cJSON keeps doubles, which cannot hold addresses.
 * A value that is still not JSON is counted and left out.
 */
#pragma once

#include "parser/cursor.h"
#include "parser/json/json_pool.h"

/* Limits, each with its own error. */
enum {
    JSON_MAX_VALUE_NBYTES = 16 << 20, /* a value taken whole; an event with its stack has some 10 KB */
    JSON_MAX_DEPTH = 512              /* nesting inside such a value */
};

/* First byte of strings that represent numbers; other strings cannot contain it. */
enum { JSON_NUMBER = 0xFF };

enum { JSON_KEY_NBYTES = 64 }; /* longer keys are cut; all of ours are shorter */

struct json_scan {
    struct cursor *cursor;
    struct arena *arena;
    char *text; /* the value being copied */
    uint32_t n_text, text_capacity;
    uint32_t n_values; /* values in `text`, keys included */
    struct json_pool pool;
    bool keep;      /* copy the value */
    bool truncated; /* the input ended inside the document */
    bool damaged;   /* the structure of the document breaks off at `stop_offset` */
    uint64_t stop_offset;
    uint64_t n_bad; /* values left out */
    char key[JSON_KEY_NBYTES];
};

/* The cursor is at the document. Takes memory from `arena` until json_scan_release. */
void json_scan_init(struct json_scan *scan, struct cursor *cursor, struct arena *arena);
void json_scan_release(struct json_scan *scan);

/* Skips white space; returns the byte after it, or -1 at the end of the input (noted as truncated) or after an
 * error. */
int json_scan_peek(struct json_scan *scan);

/* Steps into the object or array at the cursor. False: there is none, and nothing is done. */
bool json_scan_enter(struct json_scan *scan, char bracket);

/* Moves to the next member of the object entered last: `key` is its key, and its value is next. False: there is
 * none (the object is left), or the document ends or breaks off. Every value must be taken, skipped or walked to
 * its end. */
bool json_scan_member(struct json_scan *scan);

/* Moves to the next item of the array entered last. False as above. */
bool json_scan_item(struct json_scan *scan);

/* Skips the next value, however deep. False: the document ends or breaks off, or an error. */
bool json_scan_skip(struct json_scan *scan);

/* Takes the next value, valid until the next call; NULL: it is not JSON and was counted. False as above. */
bool json_scan_take(struct json_scan *scan, const cJSON **value);

/* The same for a value that matters only if its text contains one of `words` (the last is NULL); other values
 * become NULL without a tree. */
bool json_scan_take_with(struct json_scan *scan, const char *const *words, const cJSON **value);

/* Takes the next value as the text of a number, without the mark, valid until the next call; empty if it is not a
 * number. False as above. */
bool json_scan_number(struct json_scan *scan, const char **text);

/* Notes that memory ended at the cursor. Always false. */
bool json_scan_fail_memory(struct json_scan *scan);

/* Can the rest of the document be read? */
bool json_scan_is_sound(const struct json_scan *scan);

/* Ends a document that was read as far as possible and gave `n_events`. Notes as diagnostics what is missing or
 * left out. False: nothing useful is left, and the error is set. */
bool json_scan_finish(struct json_scan *scan, struct trace *trace, uint64_t n_events);

/* ---- values that were taken ---- */

bool json_is_number(const cJSON *value);
bool json_is_text(const cJSON *value);

/* A whole number of 64 bits, exact. Above INT64_MAX it is returned with the same bits as a signed number, and
 * `*is_large` is true. Fractions are cut. False: not a number, or out of range. `is_large` may be NULL. */
bool json_integer(const cJSON *value, int64_t *integer, bool *is_large);
bool json_integer_of_text(const char *text, int64_t *integer, bool *is_large);

/* Is a number's text that of an integer, digits alone? */
bool json_text_is_integer(const char *text);

/* A member of an object; NULL: it has none, or `object` is NULL or not an object. */
const cJSON *json_member(const cJSON *object, const char *key);

/* Is a text one of `words`, which end with NULL? */
bool json_is_one_of(const char *token, const char *const *words);
