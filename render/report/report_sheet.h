/*
 * Headings, sentences and tables, as aligned text, as Markdown or as elements of a page. Private to the report.
 *
 * Every text that comes from a snapshot must pass sheet_name or sheet_quote first: control characters become U+FFFD,
 * and in Markdown nothing of it is markup, a link or a mention. In a page no text is markup.
 */
#pragma once

#include "base/arena.h"
#include "base/buffer.h"
#include "base/words.h"
#include "render/report/text_look.h"

enum { SHEET_COLUMNS_MAX = 8 };

enum sheet_part { SHEET_NOTHING, SHEET_HEADING, SHEET_PARAGRAPH, SHEET_POINT, SHEET_TABLE };

struct sheet {
    struct buffer *out;      /* its `failed` is set when memory ends; then nothing more is written */
    struct arena *arena;     /* memory for cells and texts */
    bool markdown, elements; /* no form is set: text */
    bool lines; /* sentences and code as they are, each in a line; `lines_left` are still written */
    uint32_t lines_left;
    struct text_look look; /* for text */
    enum sheet_part last;  /* the part written last, which decides where empty lines go */

    /* the open table */
    const char *const *headings;
    const char *align; /* 'l' or 'r' per column */
    uint32_t n_columns, n_cells, cells_capacity;
    const char **cells;
    uint32_t strong; /* the cell that matters most, counted from 1; 0: none */
};

/* Writes a heading. `level` 1: the file, 2: a device, 3: a section. */
void sheet_heading(struct sheet *sheet, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* sheet_say writes a paragraph; the other function a point of a list. */
void sheet_say(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sheet_point(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a point that begins with a tag, "[high] ...". Where text has colours, the tag has that of its urgency, and the
 * first sentence, which states the fact, is bold. */
enum sheet_urgency { SHEET_NOTE, SHEET_WARNING, SHEET_ALARM };
void sheet_tagged_point(struct sheet *sheet, enum sheet_urgency urgency, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a line that belongs to the sentence before it: one of a numbered list, or (number 0) an indented one; in
 * Markdown a point. */
void sheet_under(struct sheet *sheet, uint32_t number, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes code to be pasted, as it is. */
void sheet_code(struct sheet *sheet, const char *code);

/* A table is begun, filled with cells row by row, and written at its end. `headings` ends with NULL. If all headings
 * are empty, none are written, and in Markdown such a table of two columns becomes a list. */
void sheet_table(struct sheet *sheet, const char *const *headings, const char *align);
void sheet_cell(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sheet_cells(struct sheet *sheet, const char *const *cells); /* copies all texts before the NULL */
#define SHEET_CELLS(sheet, ...) sheet_cells((sheet), (const char *const[]){__VA_ARGS__, NULL})
/* Marks the next cell as the figure that people look for: it is bold where there is colour. */
void sheet_strong(struct sheet *sheet);
void sheet_table_end(struct sheet *sheet);

/* Closes what is open. Needed only for elements, after the last part. */
void sheet_close(struct sheet *sheet);

/* Formats a text in the arena; "" without memory. */
const char *sheet_format(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text that `say` writes into struct words with these arguments, in the arena. */
#define SHEET_SAID(sheet, say, ...)                                 \
    __extension__({                                                 \
        char said_text[4096];                                       \
        struct words said_words = {said_text, sizeof said_text, 0}; \
        say(&said_words, __VA_ARGS__);                              \
        (void)words_end(&said_words);                               \
        sheet_format((sheet), "%s", said_text);                     \
    })

/* A name of a file or function for a cell: unchanged, in Markdown as code. Cut after 100 characters. */
const char *sheet_name(struct sheet *sheet, const void *bytes, size_t nbytes);

/* A sentence from the trace, with its markup made harmless. */
const char *sheet_quote(struct sheet *sheet, const void *bytes, size_t nbytes);
