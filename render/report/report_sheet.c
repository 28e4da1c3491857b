#include "render/report/report_sheet.h"

#include "base/utf8.h"
#include "render/markup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_CHARACTERS = 100, LINE_COLUMNS = 100 /* of sentences; a table takes what it needs */ };

/* ---- texts ---- */

static const char *format_list(struct sheet *sheet, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length < 0 ? NULL : arena_alloc(sheet->arena, (size_t)length + 1);
    if (text == NULL) {
        sheet->out->failed = true;
        return "";
    }
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

const char *sheet_format(struct sheet *sheet, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_list(sheet, format, arguments);
    va_end(arguments);
    return text;
}

/* Characters that `code` has in front of itself so that Markdown leaves it alone. */
static bool is_markup(uint32_t code) {
    return code < 0x80 && code != 0 && strchr("\\`*_{}[]<>()#+!|~&$", (int)code) != NULL;
}

static uint32_t next_tame(const char *text, size_t nbytes, size_t *at) {
    uint32_t code = utf8_next(text, nbytes, at);
    return utf8_steers(code) ? UTF8_REPLACEMENT : code;
}

const char *sheet_quote(struct sheet *sheet, const void *bytes, size_t nbytes) {
    char *text = arena_alloc(sheet->arena, nbytes * 4 + 1); /* at most a sign of three bytes more than one */
    size_t used = 0;
    if (text == NULL) {
        sheet->out->failed = true;
        return "";
    }
    for (size_t at = 0; at < nbytes;) {
        uint32_t code = next_tame(bytes, nbytes, &at);
        if (sheet->markdown && is_markup(code))
            text[used++] = '\\';
        used += utf8_put(code, text + used);
        if (sheet->markdown && code == '@')
            used += utf8_put(0x200b, text + used); /* a zero width space: nobody is notified */
    }
    text[used] = '\0';
    return text;
}

/* Length of the longest run of backticks. */
static size_t backticks(const char *text) {
    size_t longest = 0, run = 0;
    for (; *text != '\0'; text++) {
        run = *text == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/*
 * A code span for a table's cell: fenced by more backticks than it holds. A bar would end the cell, so it is
 * escaped; one after a backslash cannot be, in every implementation, and becomes a broken bar.
 */
static const char *code_span(struct sheet *sheet, const char *name) {
    size_t fence = backticks(name) + 1, used = 0, length = strlen(name);
    char *text = arena_alloc(sheet->arena, length * 2 + fence * 2 + 3);
    if (text == NULL) {
        sheet->out->failed = true;
        return "";
    }
    memset(text, '`', fence);
    used = fence;
    if (fence > 1)
        text[used++] = ' ';
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '|' && i > 0 && name[i - 1] == '\\') {
            used += utf8_put(0xa6, text + used);
            continue;
        }
        if (name[i] == '|')
            text[used++] = '\\';
        text[used++] = name[i];
    }
    if (fence > 1)
        text[used++] = ' ';
    memset(text + used, '`', fence);
    return text;
}

const char *sheet_name(struct sheet *sheet, const void *bytes, size_t nbytes) {
    char *text = arena_alloc(sheet->arena, (NAME_CHARACTERS + 1) * 4 + 1);
    size_t used = 0, at = 0;
    if (text == NULL) {
        sheet->out->failed = true;
        return "";
    }
    for (size_t n = 0; at < nbytes && n < NAME_CHARACTERS; n++)
        used += utf8_put(next_tame(bytes, nbytes, &at), text + used);
    if (at < nbytes)
        used += utf8_put(0x2026, text + used);
    text[used] = '\0';
    return sheet->markdown && used != 0 ? code_span(sheet, text) : text;
}

/* ---- lines ---- */

/* An empty line where `next` needs or deserves one: in Markdown between all parts but the points of one list;
 * in text before headings, and where a paragraph begins something new. */
static void part_begin(struct sheet *sheet, enum sheet_part next) {
    enum sheet_part last = sheet->last;
    if (sheet->elements) {
        if ((last == SHEET_POINT) != (next == SHEET_POINT))
            buffer_add_text(sheet->out, next == SHEET_POINT ? "<ul>\n" : "</ul>\n");
        sheet->last = next;
        return;
    }
    bool empty_line = last != SHEET_NOTHING && next == SHEET_HEADING;
    if (sheet->markdown)
        empty_line = last != SHEET_NOTHING && (last != SHEET_POINT || next != SHEET_POINT);
    else if (next == SHEET_PARAGRAPH)
        empty_line = last == SHEET_TABLE || last == SHEET_POINT;
    if (empty_line)
        buffer_add_text(sheet->out, "\n");
    sheet->last = next;
}

void sheet_close(struct sheet *sheet) {
    if (sheet->elements)
        part_begin(sheet, SHEET_NOTHING);
}

/* <NAME>text</NAME>, where `name` may have an attribute after it. */
static void add_element(struct sheet *sheet, const char *name, const char *text) {
    buffer_printf(sheet->out, "<%s>", name);
    markup_add_text(sheet->out, text);
    buffer_printf(sheet->out, "</%.*s>", (int)strcspn(name, " "), name);
}

static void add_heading_element(struct sheet *sheet, int level, const char *text) {
    static const char *const names[] = {"h1", "h2", "h3"};
    add_element(sheet, names[level < 3 ? level - 1 : 2], text);
    buffer_add_text(sheet->out, "\n");
}

void sheet_heading(struct sheet *sheet, int level, const char *text) {
    part_begin(sheet, SHEET_HEADING);
    if (sheet->elements) {
        add_heading_element(sheet, level, text);
        return;
    }
    if (sheet->markdown) {
        buffer_printf(sheet->out, "%.*s %s\n", level + 1, "####", text);
        return;
    }
    buffer_printf(sheet->out, "%s\n", text);
    size_t length = 0, nbytes = strlen(text);
    for (size_t at = 0; at < nbytes; length++)
        (void)utf8_next(text, nbytes, &at);
    for (size_t i = 0; i < length && level < 3; i++)
        buffer_add_text(sheet->out, level == 1 ? "=" : "-");
    if (level < 3)
        buffer_add_text(sheet->out, "\n");
}

static void add_line(struct sheet *sheet, const char *before, const char *text, const char *after) {
    buffer_add_text(sheet->out, before);
    buffer_add_text(sheet->out, text);
    buffer_add_text(sheet->out, after);
}

/* Bytes of the words that fit into a line; of one that is too long, all. A figure stays with its unit. */
static size_t line_nbytes(const char *text) {
    size_t nbytes = strlen(text), at = 0, words = 0;
    for (size_t columns = 0; at < nbytes && (columns <= LINE_COLUMNS || words == 0); columns++) {
        if (text[at] == ' ' && at > 0 && (text[at - 1] < '0' || text[at - 1] > '9'))
            words = at;
        (void)utf8_next(text, nbytes, &at);
    }
    return at == nbytes ? nbytes : words;
}

/* As text, broken between words; `before` begins the first line, blanks the others. */
static void add_sentence(struct sheet *sheet, const char *before, const char *text) {
    size_t indent = strlen(before);
    if (sheet->elements) {
        add_element(sheet, sheet->last == SHEET_POINT ? "li" : "p", text);
        buffer_add_text(sheet->out, "\n");
        return;
    }
    if (sheet->markdown) {
        add_line(sheet, before, text, "\n");
        return;
    }
    buffer_printf(sheet->out, "  %s", before);
    for (bool first = true; first || *text != '\0'; first = false) {
        size_t nbytes = line_nbytes(text);
        buffer_printf(sheet->out, "%*s%.*s\n", first ? 0 : (int)indent + 2, "", (int)nbytes, text);
        text += nbytes;
        text += *text == ' ';
    }
}

static bool leads_on(const char *text) {
    size_t length = strlen(text);
    return length != 0 && text[length - 1] == ':';
}

void sheet_say(struct sheet *sheet, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_list(sheet, format, arguments);
    va_end(arguments);
    if (!sheet->markdown && !sheet->elements && sheet->last == SHEET_PARAGRAPH && leads_on(text))
        buffer_add_text(sheet->out, "\n"); /* it belongs to what follows */
    part_begin(sheet, SHEET_PARAGRAPH);
    add_sentence(sheet, "", text);
}

void sheet_point(struct sheet *sheet, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_list(sheet, format, arguments);
    va_end(arguments);
    part_begin(sheet, SHEET_POINT);
    add_sentence(sheet, "- ", text);
}

/* ---- tables ---- */

void sheet_table(struct sheet *sheet, const char *const *headings, const char *align) {
    sheet->headings = headings;
    sheet->align = align;
    sheet->n_columns = (uint32_t)strlen(align);
    sheet->n_cells = 0;
}

void sheet_cell(struct sheet *sheet, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_list(sheet, format, arguments);
    va_end(arguments);
    if (!ARENA_GROW(sheet->arena, sheet->cells, sheet->cells_capacity, (uint64_t)sheet->n_cells + 1)) {
        sheet->out->failed = true;
        return;
    }
    sheet->cells[sheet->n_cells++] = text;
}

static size_t text_width(const char *text) {
    size_t width = 0, nbytes = strlen(text);
    for (size_t at = 0; at < nbytes; width++)
        (void)utf8_next(text, nbytes, &at);
    return width;
}

static void add_blanks(struct sheet *sheet, size_t count) {
    buffer_printf(sheet->out, "%*s", (int)count, "");
}

/* One row of aligned text. No blanks at its end. */
static void add_text_row(struct sheet *sheet, const char *const *cells, const size_t *width) {
    uint32_t n_columns = sheet->n_columns;
    while (n_columns != 0 && *cells[n_columns - 1] == '\0')
        n_columns--;
    for (uint32_t i = 0; i < n_columns; i++) {
        size_t gap = width[i] - text_width(cells[i]);
        add_blanks(sheet, 2 + (sheet->align[i] == 'r' ? gap : 0));
        buffer_add_text(sheet->out, cells[i]);
        if (sheet->align[i] == 'l' && i + 1 < n_columns)
            add_blanks(sheet, gap);
    }
    buffer_add_text(sheet->out, "\n");
}

static void add_text_table(struct sheet *sheet) {
    size_t width[SHEET_COLUMNS_MAX] = {0};
    bool headed = false;
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        width[i] = text_width(sheet->headings[i]);
        headed = headed || width[i] != 0;
    }
    for (uint32_t i = 0; i < sheet->n_cells; i++) {
        size_t n = text_width(sheet->cells[i]);
        size_t *most = &width[i % sheet->n_columns];
        *most = n > *most ? n : *most;
    }
    if (headed)
        add_text_row(sheet, sheet->headings, width);
    for (uint32_t i = 0; i + sheet->n_columns <= sheet->n_cells; i += sheet->n_columns)
        add_text_row(sheet, sheet->cells + i, width);
}

/* A figure and its unit stay in one line, however narrow the column is. */
static void add_markdown_figure(struct sheet *sheet, const char *text) {
    for (; *text != '\0'; text++)
        buffer_printf(sheet->out, *text == ' ' ? "\xc2\xa0" : "%c", *text);
}

static void add_markdown_row(struct sheet *sheet, const char *const *cells) {
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        buffer_add_text(sheet->out, "| ");
        if (sheet->align[i] == 'r')
            add_markdown_figure(sheet, cells[i]);
        else
            buffer_add_text(sheet->out, cells[i]);
        buffer_add_text(sheet->out, " ");
    }
    buffer_add_text(sheet->out, "|\n");
}

static void add_markdown_table(struct sheet *sheet) {
    add_markdown_row(sheet, sheet->headings);
    for (uint32_t i = 0; i < sheet->n_columns; i++)
        buffer_add_text(sheet->out, sheet->align[i] == 'r' ? "|---:" : "|---");
    buffer_add_text(sheet->out, "|\n");
    for (uint32_t i = 0; i + sheet->n_columns <= sheet->n_cells; i += sheet->n_columns)
        add_markdown_row(sheet, sheet->cells + i);
}

/* A table cannot do without its head there, so names and their values are a list. */
static void add_markdown_pairs(struct sheet *sheet) {
    for (uint32_t i = 0; i + 2 <= sheet->n_cells; i += 2)
        buffer_printf(sheet->out, "- **%s:** %s\n", sheet->cells[i], sheet->cells[i + 1]);
}

static void add_row_elements(struct sheet *sheet, const char *const *cells, bool head) {
    buffer_add_text(sheet->out, "<tr>");
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        bool right = sheet->align[i] == 'r';
        if (head)
            add_element(sheet, right ? "th scope=\"col\" class=\"figure\"" : "th scope=\"col\"", cells[i]);
        else
            add_element(sheet, right ? "td class=\"figure\"" : i == 0 ? "th scope=\"row\"" : "td", cells[i]);
    }
    buffer_add_text(sheet->out, "</tr>\n");
}

static void add_table_elements(struct sheet *sheet) {
    buffer_add_text(sheet->out, "<div class=\"wide\"><table>\n<thead>");
    add_row_elements(sheet, sheet->headings, true);
    buffer_add_text(sheet->out, "</thead>\n<tbody>\n");
    for (uint32_t i = 0; i + sheet->n_columns <= sheet->n_cells; i += sheet->n_columns)
        add_row_elements(sheet, sheet->cells + i, false);
    buffer_add_text(sheet->out, "</tbody>\n</table></div>\n");
}

static bool table_is_pairs(const struct sheet *sheet) {
    return sheet->n_columns == 2 && *sheet->headings[0] == '\0' && *sheet->headings[1] == '\0';
}

void sheet_table_end(struct sheet *sheet) {
    if (sheet->out->failed || sheet->n_columns == 0)
        return;
    part_begin(sheet, SHEET_TABLE);
    if (sheet->elements)
        add_table_elements(sheet);
    else if (sheet->markdown && table_is_pairs(sheet))
        add_markdown_pairs(sheet);
    else if (sheet->markdown)
        add_markdown_table(sheet);
    else
        add_text_table(sheet);
    sheet->n_cells = 0;
}
