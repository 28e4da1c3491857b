#include "render/report/report_sheet.h"

#include "base/joined.h"
#include "base/utf8.h"
#include "render/markup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_CHARACTERS = 100,
    LINE_COLUMNS = 100,
    LINE_COLUMNS_LEAST = 40,
    WORDS_COLUMNS_LEAST = 14,
    FIGURE_COLUMNS_LEAST = 8
};

static size_t text_width(const char *text) {
    size_t width = 0, nbytes = strlen(text);
    for (size_t at = 0; at < nbytes; width++)
        (void)utf8_next(text, nbytes, &at);
    return width;
}

/* The columns that are left of a line once `used` are taken at its beginning. */
static size_t columns_behind(const struct sheet *sheet, size_t used) {
    size_t columns = sheet->look.columns != 0 ? sheet->look.columns : LINE_COLUMNS;
    columns = columns < LINE_COLUMNS_LEAST ? LINE_COLUMNS_LEAST : columns;
    return columns - used;
}

/* May a line end before the blank at `at`? */
static bool may_break(const char *text, size_t at) {
    return text[at] == ' ' && !is_joined(text, at);
}

/* May a line end behind the character at `at`? So a path or an identifier that is longer than a line keeps its parts
 * whole. */
static bool may_break_behind(const char *text, size_t at) {
    return text[at + 1] != '\0' && strchr("/._:=(,", text[at]) != NULL;
}

/* The bytes of the words that fit into this many columns; if the first word is longer, the parts of it that fit. */
static size_t line_nbytes(const char *text, size_t columns) {
    size_t nbytes = strlen(text), at = 0, words = 0, parts = 0;
    for (size_t column = 0; at < nbytes && column < columns; column++) {
        if (at > 0 && may_break(text, at))
            words = at;
        else if (may_break_behind(text, at))
            parts = at + 1;
        (void)utf8_next(text, nbytes, &at);
    }
    if (at == nbytes || may_break(text, at))
        return at;
    return words != 0 ? words : parts != 0 ? parts : at;
}

/* The columns of the longest part of a text that a line cannot break. */
static size_t piece_width(const char *text) {
    size_t widest = 0, width = 0, nbytes = strlen(text);
    for (size_t at = 0; at < nbytes;) {
        bool blank = may_break(text, at), behind = !blank && may_break_behind(text, at);
        width += !blank;
        widest = width > widest ? width : widest;
        width = blank || behind ? 0 : width;
        (void)utf8_next(text, nbytes, &at);
    }
    return widest;
}

/* ---- colours ---- */

static const char bold[] = "\033[1m", red[] = "\033[1;31m", yellow[] = "\033[1;33m", plain[] = "\033[0m";
static const char *const urgency_color[] = {
    [SHEET_NOTE] = bold, [SHEET_WARNING] = yellow, [SHEET_ALARM] = red};

/* The colours of a tagged point: the tag has the colour of its urgency, the first sentence is bold, the rest plain. */
struct tint {
    const char *tag; /* NULL: nothing is tinted */
    size_t tag_nbytes, nbytes;
};

/* `tag` NULL: the text has none. */
static struct tint tint_of(const struct sheet *sheet, const char *tag, const char *text) {
    struct tint tint = {0};
    const char *close = tag != NULL ? strchr(text, ']') : NULL;
    if (!sheet->look.color || close == NULL)
        return tint;
    const char *end = strstr(close, ". ");
    tint.tag = tag;
    tint.tag_nbytes = (size_t)(close - text) + 1;
    tint.nbytes = end != NULL ? (size_t)(end - text) : strlen(text);
    return tint;
}

static void add_in(struct buffer *out, const char *color, const char *text, size_t nbytes) {
    if (nbytes != 0)
        buffer_printf(out, "%s%.*s%s", color, (int)nbytes, text, *color != '\0' ? plain : "");
}

/* Appends bytes `from` to `to` of a text, each part in its colour. */
static void add_tinted(struct buffer *out, const struct tint *tint, const char *text, size_t from,
                       size_t to) {
    size_t tag = tint->tag_nbytes < from ? from : tint->tag_nbytes < to ? tint->tag_nbytes : to;
    size_t title = tint->nbytes < tag ? tag : tint->nbytes < to ? tint->nbytes : to;
    add_in(out, tint->tag != NULL ? tint->tag : "", text + from, tag - from);
    add_in(out, bold, text + tag, title - tag);
    add_in(out, "", text + title, to - title);
}

/* ---- texts ---- */

/* Room for a text. NULL, and noted: no memory. */
static char *room_for(struct sheet *sheet, size_t nbytes) {
    char *text = arena_alloc(sheet->arena, nbytes);
    sheet->out->failed |= text == NULL;
    return text;
}

static const char *format_list(struct sheet *sheet, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    sheet->out->failed |= length < 0;
    char *text = length < 0 ? NULL : room_for(sheet, (size_t)length + 1);
    if (text == NULL)
        return "";
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

/* Declares `text`: what `format` makes of the arguments after it. */
#define SHEET_FORMAT(sheet, format)                               \
    va_list arguments;                                            \
    va_start(arguments, format);                                  \
    const char *text = format_list((sheet), (format), arguments); \
    va_end(arguments)

const char *sheet_format(struct sheet *sheet, const char *format, ...) {
    SHEET_FORMAT(sheet, format);
    return text;
}

static uint32_t next_tame(const char *text, size_t nbytes, size_t *at) {
    uint32_t code = utf8_next(text, nbytes, at);
    return utf8_steers(code) ? UTF8_REPLACEMENT : code;
}

/* Do these bytes end with what begins a link on GitHub or GitLab: "@team", "#12", "owner/repo#12", "GH-12", "http://a",
 * "www.a"? Backslashes do not help: links are looked for in the finished text. */
static bool begins_link(const char *text, size_t nbytes) {
    static const char *const beginnings[] = {"@", "#", "://", "www.", "gh-"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t n = strlen(beginnings[i]);
        if (n <= nbytes && strncasecmp(text + nbytes - n, beginnings[i], n) == 0)
            return true;
    }
    return false;
}

const char *sheet_quote(struct sheet *sheet, const void *bytes, size_t nbytes) {
    char *text = room_for(sheet, nbytes * 5 + 1); /* each byte becomes at most five */
    size_t used = 0;
    if (text == NULL)
        return "";
    for (size_t at = 0; at < nbytes;) {
        uint32_t code = next_tame(bytes, nbytes, &at);
        if (sheet->markdown && code < 0x80 && code != 0 && strchr("\\`*_{}[]<>()#+!|~&$", (int)code) != NULL)
            text[used++] = '\\';
        used += utf8_put(code, text + used);
        if (sheet->markdown && begins_link(bytes, at))
            used +=
                utf8_put(0x200b, text + used); /* a zero width space: nothing is linked, nobody notified */
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

/* A code span in the cell of a table, fenced by more backticks than it holds. A bar would end the cell, so it is
 * escaped; a bar after a backslash cannot be escaped in every implementation, and becomes a broken bar. */
static const char *code_span(struct sheet *sheet, const char *name) {
    size_t fence = backticks(name) + 1, used = 0, length = strlen(name);
    char *text = room_for(sheet, length * 2 + fence * 2 + 3);
    if (text == NULL)
        return "";
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
    char *text = room_for(sheet, (NAME_CHARACTERS + 1) * 4 + 1);
    size_t used = 0, at = 0;
    if (text == NULL)
        return "";
    for (size_t n = 0; at < nbytes && n < NAME_CHARACTERS; n++)
        used += utf8_put(next_tame(bytes, nbytes, &at), text + used);
    if (at < nbytes)
        used += utf8_put(0x2026, text + used);
    text[used] = '\0';
    return sheet->markdown && used != 0 ? code_span(sheet, text) : text;
}

/* ---- lines ---- */

/* Adds an empty line if `next` needs or deserves one: in Markdown between all parts but the points of one list; in text
 * before headings, and where a paragraph begins something new. */
static void part_begin(struct sheet *sheet, enum sheet_part next) {
    enum sheet_part last = sheet->last;
    if (sheet->lines)
        return;
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

/* Appends <NAME>text</NAME>; `name` may have an attribute after it. */
static void add_element(struct sheet *sheet, const char *name, const char *text) {
    buffer_printf(sheet->out, "<%s>", name);
    markup_add_text(sheet->out, text);
    buffer_printf(sheet->out, "</%.*s>", (int)strcspn(name, " "), name);
}

void sheet_heading(struct sheet *sheet, int level, const char *format, ...) {
    SHEET_FORMAT(sheet, format);
    part_begin(sheet, SHEET_HEADING);
    if (sheet->elements) {
        add_element(sheet, level == 1 ? "h1" : level == 2 ? "h2" : "h3", text);
        buffer_add_text(sheet->out, "\n");
        return;
    }
    if (sheet->markdown) {
        buffer_printf(sheet->out, "%.*s %s\n", level + 1, "####", text);
        return;
    }
    size_t length = text_width(text), most = columns_behind(sheet, 0);
    for (size_t nbytes; *text != '\0'; text += nbytes + (text[nbytes] == ' ')) {
        nbytes = line_nbytes(text, most);
        add_in(sheet->out, sheet->look.color ? bold : "", text, nbytes);
        buffer_add_text(sheet->out, "\n");
    }
    for (size_t i = 0; i < length && i < most && level < 3; i++)
        buffer_add_text(sheet->out, level == 1 ? "=" : "-");
    if (level < 3)
        buffer_add_text(sheet->out, "\n");
}

static void add_line(struct sheet *sheet, const char *before, const char *text, const char *after) {
    buffer_add_text(sheet->out, before);
    buffer_add_text(sheet->out, text);
    buffer_add_text(sheet->out, after);
}

static void add_blanks(struct sheet *sheet, size_t count) {
    buffer_printf(sheet->out, "%*s", (int)count, "");
}

/* Appends text broken between words. `before` begins the first line, as many blanks begin the others. `tag`: as for
 * tint_of. */
static void add_sentence(struct sheet *sheet, const char *before, const char *tag, const char *text) {
    size_t indent = strlen(before);
    if (sheet->lines) {
        if (sheet->lines_left != 0)
            add_line(sheet, before + strspn(before, " -"), text, "\n");
        sheet->lines_left -= sheet->lines_left != 0;
        return;
    }
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
    const struct tint tint = tint_of(sheet, tag, text);
    size_t at = 0;
    do {
        size_t nbytes = line_nbytes(text + at, columns_behind(sheet, indent + 2));
        add_blanks(sheet, at == 0 ? 0 : indent + 2);
        add_tinted(sheet->out, &tint, text, at, at + nbytes);
        buffer_add_text(sheet->out, "\n");
        at += nbytes;
        at += text[at] == ' ';
    } while (text[at] != '\0');
}

void sheet_say(struct sheet *sheet, const char *format, ...) {
    SHEET_FORMAT(sheet, format);
    size_t nbytes = strlen(text);
    if (!sheet->markdown && !sheet->elements && sheet->last == SHEET_PARAGRAPH && nbytes != 0 &&
        text[nbytes - 1] == ':')
        buffer_add_text(sheet->out, "\n"); /* the heading belongs to what follows it */
    part_begin(sheet, SHEET_PARAGRAPH);
    add_sentence(sheet, "", NULL, text);
}

void sheet_point(struct sheet *sheet, const char *format, ...) {
    SHEET_FORMAT(sheet, format);
    part_begin(sheet, SHEET_POINT);
    add_sentence(sheet, "- ", NULL, text);
}

void sheet_tagged_point(struct sheet *sheet, enum sheet_urgency urgency, const char *format, ...) {
    SHEET_FORMAT(sheet, format);
    part_begin(sheet, SHEET_POINT);
    add_sentence(sheet, "- ", urgency_color[urgency], text);
}

void sheet_under(struct sheet *sheet, uint32_t number, const char *format, ...) {
    char before[16];
    snprintf(before, sizeof before, "%s", sheet->markdown ? "- " : "  ");
    SHEET_FORMAT(sheet, format);
    if (number != 0)
        snprintf(before, sizeof before, "%s%" PRIu32 ". ", sheet->markdown ? "" : "  ", number);
    part_begin(sheet, SHEET_POINT);
    add_sentence(sheet, before, NULL, text);
}

/* A remark that does not fit behind its line stands above it: a broken one could not be pasted. */
static void code_line(struct sheet *sheet, const char *line) {
    const char *remark = strstr(line, "  # ");
    if (remark != NULL && text_width(line) > columns_behind(sheet, 6)) {
        add_sentence(sheet, "    ", NULL, remark + 2);
        line = sheet_format(sheet, "%.*s", (int)(remark - line), line);
    }
    add_sentence(sheet, "    ", NULL, line);
}

void sheet_code(struct sheet *sheet, const char *code) {
    size_t fence = backticks(code) < 3 ? 3 : backticks(code) + 1;
    if (!sheet->elements && !sheet->markdown) {
        for (size_t nbytes; *code != '\0'; code += nbytes + (code[nbytes] == '\n')) {
            nbytes = strcspn(code, "\n");
            code_line(sheet, sheet_format(sheet, "%.*s", (int)nbytes, code));
        }
        return;
    }
    part_begin(sheet, SHEET_PARAGRAPH);
    if (sheet->elements)
        add_element(sheet, "pre", code);
    else
        buffer_printf(sheet->out, "%.*s\n%s\n%.*s", (int)fence, "````````", code, (int)fence, "````````");
    buffer_add_text(sheet->out, "\n");
}

/* ---- tables ---- */

void sheet_table(struct sheet *sheet, const char *const *headings, const char *align) {
    sheet->headings = headings;
    sheet->align = align;
    sheet->n_columns = (uint32_t)strlen(align);
    sheet->n_cells = 0;
}

void sheet_cell(struct sheet *sheet, const char *format, ...) {
    SHEET_FORMAT(sheet, format);
    if (!ARENA_GROW(sheet->arena, sheet->cells, sheet->cells_capacity, (uint64_t)sheet->n_cells + 1)) {
        sheet->out->failed = true;
        return;
    }
    sheet->cells[sheet->n_cells++] = text;
}

void sheet_cells(struct sheet *sheet, const char *const *cells) {
    for (; *cells != NULL; cells++)
        sheet_cell(sheet, "%s", *cells);
}

/* The rest of each cell of a row that is not written yet. A row takes as many lines as its longest cell. */
struct row_rest {
    const char *text[SHEET_COLUMNS_MAX];
    uint32_t n_columns, strong; /* `strong`: counted from 1; 0: none */
};

/* Appends one line of a row, without blanks at its end. */
static void add_row_line(struct sheet *sheet, struct row_rest *rest, const size_t *width) {
    size_t gap = 0;
    for (uint32_t i = 0; i < rest->n_columns; i++) {
        const char *text = rest->text[i];
        size_t nbytes = line_nbytes(text, width[i]), columns = 0;
        for (size_t at = 0; at < nbytes; columns++)
            (void)utf8_next(text, nbytes, &at);
        size_t blanks = width[i] - columns;
        if (nbytes != 0) {
            add_blanks(sheet, gap + 2 + (sheet->align[i] == 'r' ? blanks : 0));
            add_in(sheet->out, i + 1 == rest->strong && sheet->look.color ? bold : "", text, nbytes);
            gap = sheet->align[i] == 'r' ? 0 : blanks;
        } else {
            gap += 2 + blanks;
        }
        rest->text[i] = text + nbytes + (text[nbytes] == ' ');
    }
    buffer_add_text(sheet->out, "\n");
}

static void add_text_row(struct sheet *sheet, const char *const *cells, const size_t *width,
                         uint32_t strong) {
    struct row_rest rest = {.n_columns = sheet->n_columns, .strong = strong};
    bool more = true;
    for (uint32_t i = 0; i < sheet->n_columns; i++)
        rest.text[i] = cells[i];
    /* A word that is longer than the first column, such as a setting to copy, has a line of its own. */
    size_t first = strchr(cells[0], ' ') == NULL ? text_width(cells[0]) : 0;
    if (first > width[0] && first + 2 <= columns_behind(sheet, 0)) {
        add_line(sheet, "  ", cells[0], "\n");
        rest.text[0] = "";
    }
    while (more) {
        add_row_line(sheet, &rest, width);
        more = false;
        for (uint32_t i = 0; i < sheet->n_columns; i++)
            more |= *rest.text[i] != '\0';
    }
}

/* The least width of a column: figures stay whole, names keep WORDS_COLUMNS_LEAST letters and their parts. If that is
 * still too wide (`hard`), both keep FIGURE_COLUMNS_LEAST. */
static size_t column_least(const struct sheet *sheet, uint32_t column, size_t width, bool hard) {
    size_t least = hard ? FIGURE_COLUMNS_LEAST : WORDS_COLUMNS_LEAST;
    for (uint32_t i = column; !hard && i < sheet->n_cells; i += sheet->n_columns) {
        size_t n = sheet->align[column] == 'r' ? text_width(sheet->cells[i]) : piece_width(sheet->cells[i]);
        least = n > least ? n : least;
    }
    return width < least ? width : least;
}

/* Narrows the widest column until the table fits or no column can become narrower. The last column, which matters
 * least, counts as twice as wide. */
static void columns_fit(const struct sheet *sheet, size_t *width, bool hard) {
    size_t total = 0, least[SHEET_COLUMNS_MAX], most = columns_behind(sheet, 0);
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        total += 2 + width[i];
        least[i] = column_least(sheet, i, width[i], hard);
    }
    for (; total > most; total--) {
        uint32_t taken = sheet->n_columns;
        size_t highest = 0;
        for (uint32_t i = 0; i < sheet->n_columns; i++) {
            size_t weight = i + 1 == sheet->n_columns ? 2 * width[i] : width[i];
            if (width[i] > least[i] && weight >= highest) {
                taken = i;
                highest = weight;
            }
        }
        if (taken == sheet->n_columns)
            return;
        width[taken]--;
    }
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
    columns_fit(sheet, width, false);
    columns_fit(sheet, width, true);
    if (headed)
        add_text_row(sheet, sheet->headings, width, 0);
    for (uint32_t i = 0; i + sheet->n_columns <= sheet->n_cells; i += sheet->n_columns) {
        bool strong = sheet->strong > i && sheet->strong <= i + sheet->n_columns;
        add_text_row(sheet, sheet->cells + i, width, strong ? sheet->strong - i : 0);
    }
}

static void add_markdown_row(struct sheet *sheet, const char *const *cells) {
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        buffer_add_text(sheet->out, "| ");
        /* a figure and its unit stay in one line, however narrow the column is */
        if (sheet->align[i] != 'r')
            buffer_add_text(sheet->out, cells[i]);
        for (const char *at = cells[i]; sheet->align[i] == 'r' && *at != '\0'; at++)
            buffer_printf(sheet->out, *at == ' ' ? "\xc2\xa0" : "%c", *at);
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

static void add_row_elements(struct sheet *sheet, const char *const *cells, bool head) {
    buffer_add_text(sheet->out, "<tr>");
    for (uint32_t i = 0; i < sheet->n_columns; i++) {
        bool right = sheet->align[i] == 'r';
        if (head)
            add_element(sheet, right ? "th scope=\"col\" class=\"number\"" : "th scope=\"col\"", cells[i]);
        else
            add_element(sheet, right ? "td class=\"number\"" : i == 0 ? "th scope=\"row\"" : "td", cells[i]);
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

void sheet_strong(struct sheet *sheet) {
    sheet->strong = sheet->n_cells + 1;
}

void sheet_table_end(struct sheet *sheet) {
    if (sheet->out->failed || sheet->n_columns == 0)
        return;
    part_begin(sheet, SHEET_TABLE);
    if (sheet->elements)
        add_table_elements(sheet);
    else if (sheet->markdown && sheet->n_columns == 2 && *sheet->headings[0] == '\0' &&
             *sheet->headings[1] == '\0')
        /* in Markdown a table cannot go without its head, so names and their values become a list */
        for (uint32_t i = 0; i + 2 <= sheet->n_cells; i += 2)
            buffer_printf(sheet->out, "- **%s:** %s\n", sheet->cells[i], sheet->cells[i + 1]);
    else if (sheet->markdown)
        add_markdown_table(sheet);
    else
        add_text_table(sheet);
    sheet->n_cells = 0;
    sheet->strong = 0;
}
