/*
 * Writes JSON into a buffer, value by value. The writer knows only which containers are open, so ten million rows
 * take no more memory than one. All JSON that Strata writes comes from here, so one rule escapes all strings.
 *
 *     struct json_writer json = json_writer_of(&out);
 *     json_object(&json, NULL, JSON_LINES);
 *     json_u64(&json, "peak_bytes", peak);
 *     json_array(&json, "rows", JSON_LINES);
 *     ...                                          elements have the name NULL
 *     json_end(&json);
 *     json_end(&json);
 *
 * The buffer keeps a failure (no memory); only the end needs a check. Calls that do not nest are a fault of the
 * caller and trap.
 */
#pragma once

#include "base/buffer.h"

enum { JSON_DEPTH_MAX = 32 };

/* JSON_LINES: one member or element per line, two blanks per level. JSON_COMPACT: no blanks, in nested values
 * either. */
enum json_style { JSON_LINES, JSON_COMPACT };

struct json_writer {
    struct buffer *out;
    bool for_page; /* '<', '>' and '&' are escaped, so that no text can end a <script> element */
    uint32_t depth;
    struct json_level {
        uint8_t style; /* enum json_style */
        bool is_array, has_members;
    } level[JSON_DEPTH_MAX];
};

/* A writer that expects a value. `out` belongs to the caller and must outlive it. */
struct json_writer json_writer_of(struct buffer *out);

/* Begins an output of Strata: an object whose first member is its schema. */
struct json_writer json_document(struct buffer *out, uint64_t schema);
/* Ends the document and its last line. False: no memory. */
bool json_document_end(struct json_writer *json);

/* Begin a container; `name` is NULL for an element of an array and for the root. */
void json_object(struct json_writer *json, const char *name, enum json_style style);
void json_array(struct json_writer *json, const char *name, enum json_style style);
/* Ends the innermost container. The end of the root completes the value; no line end is added. */
void json_end(struct json_writer *json);

void json_u64(struct json_writer *json, const char *name, uint64_t number);
void json_i64(struct json_writer *json, const char *name, int64_t number);
void json_bool(struct json_writer *json, const char *name, bool value);
void json_null(struct json_writer *json, const char *name);
/* A number, or null if `known` is false. */
void json_known_u64(struct json_writer *json, const char *name, bool known, uint64_t number);
void json_known_i64(struct json_writer *json, const char *name, bool known, int64_t number);
/* part / whole, rounded half up to six decimals; 0 if the whole is 0. Exact for every pair of 64-bit figures. */
void json_share(struct json_writer *json, const char *name, uint64_t part, uint64_t whole);

/* number / 100, with two decimals. */
void json_hundredths(struct json_writer *json, const char *name, int64_t number);

/* A string of any bytes. Invalid UTF-8 and NUL become U+FFFD. Characters that a terminal or an editor would obey
 * instead of showing (C0 and C1 controls, line separators, marks that change the direction of text) become
 * \uNNNN. */
void json_string(struct json_writer *json, const char *name, const void *bytes, size_t nbytes);
/* The same for a C string; NULL becomes null. */
void json_text(struct json_writer *json, const char *name, const char *text);
/* A string in pieces: json_string_begin, any number of json_string_add, json_string_end. */
void json_string_begin(struct json_writer *json, const char *name);
void json_string_add(struct json_writer *json, const void *bytes, size_t nbytes);
void json_string_end(struct json_writer *json);
