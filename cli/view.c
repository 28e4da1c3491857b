#include "cli/view.h"

#include "analysis/compare/highlight.h"
#include "cli/units.h"
#include "layout/site.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Decodes the text up to `end` into `out`. */
static bool decode(const char *text, const char *end, char *out, size_t capacity) {
    size_t n = 0;
    while (text < end && n + 1 < capacity) {
        int high = text[0] == '%' && end - text > 2 ? hex_digit(text[1]) : -1;
        int low = high >= 0 ? hex_digit(text[2]) : -1;
        out[n++] = low >= 0 ? (char)(high * 16 + low) : *text == '+' ? ' ' : *text;
        text += low >= 0 ? 3 : 1;
    }
    out[n] = '\0';
    return text == end && strlen(out) == n;
}

bool view_next(const char **text, char name[32], char value[VIEW_VALUE_CAPACITY]) {
    const char *begin = *text + strspn(*text, "#&"), *end = begin + strcspn(begin, "&");
    const char *equals = memchr(begin, '=', (size_t)(end - begin));
    *text = end;
    if (begin == end)
        return false;
    if (equals == NULL)
        equals = end;
    return decode(begin, equals, name, 32) &&
           decode(equals < end ? equals + 1 : end, end, value, VIEW_VALUE_CAPACITY);
}

/* Reads two rising numbers: "from_to". */
static bool pair_parse(const char *text, double *from, double *to) {
    char *rest;
    double first = strtod(text, &rest), second;
    if (rest == text || *rest != '_')
        return false;
    text = rest + 1;
    second = strtod(text, &rest);
    if (rest == text || *rest != '\0' || !isfinite(first) || !isfinite(second) || !(first < second))
        return false;
    *from = first;
    *to = second;
    return true;
}

static void note_bytes(struct picture_view *view, const char *value) {
    double bottom, top;
    view->has_bytes = pair_parse(value, &bottom, &top) && bottom >= 0 && top < 9007199254740992.0;
    if (view->has_bytes) {
        view->bottom_bytes = (uint64_t)bottom;
        view->top_bytes = (uint64_t)top;
    }
}

static void note_at(struct picture_view *view, const char *value) {
    char *rest;
    view->at = strtoll(value, &rest, 10);
    view->has_at = rest != value && *rest == '\0' && view->at >= -1;
}

/* Notes marks: "120~before the loss,900". */
static void note_marks(struct picture_view *view, const char *value) {
    view->names_marks = true;
    for (uint32_t i = 0; i < RASTER_MARKS; i++)
        view->mark[i].given = false;
    for (uint32_t i = 0; i < RASTER_MARKS && *value != '\0'; i++) {
        struct view_mark *mark = &view->mark[i];
        size_t nbytes = strcspn(value, ","), digits = strcspn(value, ",~");
        char *rest;
        mark->event = strtoll(value, &rest, 10);
        mark->given = rest == value + digits && digits > 0 && mark->event >= -1;
        snprintf(mark->note, sizeof mark->note, "%.*s", digits < nbytes ? (int)(nbytes - digits - 1) : 0,
                 value + digits + 1);
        value += nbytes + (value[nbytes] == ',');
    }
}

/* Notes a mark of an older address, "e120", which has no marks but the moments that it compares. */
static void note_compared(struct picture_view *view, uint32_t nth, const char *value) {
    char *rest;
    if (value[0] != 'e' || view->names_marks)
        return;
    view->mark[nth].event = strtoll(value + 1, &rest, 10);
    view->mark[nth].given = rest != value + 1 && *rest == '\0' && view->mark[nth].event >= -1;
}

/* Reads digits and nothing else, at most so many. */
static bool digits_parse(const char *text, const char *end, size_t most, uint64_t *number) {
    *number = 0;
    if (text == end || (size_t)(end - text) > most)
        return false;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return false;
        *number = *number * 10 + (uint64_t)(*text - '0');
    }
    return true;
}

/* Notes an end of a comparison: "s3", "r10_90", "peak". */
static void note_end(struct chart_end *end, const char *value) {
    const char *rest = value + strlen(value), *low = strchr(value, '_');
    uint64_t event;
    *end = (struct chart_end){CHART_END_CHOSEN, 0, 0, 0};
    if (value[0] == 's' && digits_parse(value + 1, rest, 6, &end->step))
        end->kind = CHART_END_STEP;
    else if (value[0] == 'r' && low != NULL && digits_parse(value + 1, low, 10, &end->from) &&
             digits_parse(low + 1, rest, 10, &end->to))
        end->kind = CHART_END_RANGE;
    else if (choice_of(value, "start|peak|end") >= 0 ||
             (value[0] == 'e' && digits_parse(value + 1 + (value[1] == '-'), rest, 10, &event)))
        end->kind = CHART_END_MOMENT;
}

static void note_index(bool *has, uint32_t *index, const char *value) {
    char *rest;
    unsigned long long number = strtoull(value, &rest, 10);
    *has = value[0] >= '0' && value[0] <= '9' && *rest == '\0' && number < UINT32_MAX;
    *index = *has ? (uint32_t)number : 0;
}

static void note_by(struct picture_view *view, const char *value) {
    static const enum color_by areas[] = {COLOR_BY_SITE, COLOR_BY_SITE, COLOR_BY_CATEGORY, COLOR_BY_STREAM,
                                          COLOR_BY_POOL};
    int by = choice_of(value, "segments|age|category|stream|pool");
    if (by < 0)
        return;
    view->segments = by == 0;
    view->areas = areas[by];
}

static void note_map(struct picture_view *view, const char *value) {
    view->map = true;
    for (uint32_t i = 0; i < MAP_ORDERS; i++)
        if (strcmp(value, map_order_name[i]) == 0)
            view->map_order = (enum map_order)i;
}

void view_note(struct picture_view *view, const char *name, const char *value) {
    view->names_moment |= choice_of(name, "window|range|selected|focus|finding|at") >= 0;
    if (strcmp(name, "window") == 0)
        view->has_window = pair_parse(value, &view->from, &view->to);
    else if (strcmp(name, "range") == 0)
        view->has_range = pair_parse(value, &view->range_from, &view->range_to);
    else if (strcmp(name, "bytes") == 0)
        note_bytes(view, value);
    else if (strcmp(name, "at") == 0)
        note_at(view, value);
    else if (strcmp(name, "selected") == 0)
        note_index(&view->has_selected, &view->selected, value);
    else if (strcmp(name, "finding") == 0)
        note_index(&view->has_finding, &view->finding, value);
    else if (strcmp(name, "view") == 0)
        note_by(view, value);
    else if (strcmp(name, "bands") == 0)
        view->each = strcmp(value, "each") == 0;
    else if (strcmp(name, "only") == 0)
        view->only = strcmp(value, "1") == 0;
    else if (strcmp(name, "marks") == 0)
        note_marks(view, value);
    else if (strcmp(name, "all") == 0)
        view->all = strcmp(value, "1") == 0;
    else if (strcmp(name, "map") == 0)
        note_map(view, value);
    else if (strcmp(name, "tab") == 0)
        view->compares = strcmp(value, "compare") == 0;
    else if (strcmp(name, "a") == 0 || strcmp(name, "b") == 0) {
        note_compared(view, name[0] == 'b', value);
        note_end(&view->end[name[0] == 'b'], value);
    } else if (strcmp(name, "focus") == 0)
        snprintf(view->focus, sizeof view->focus, "%s", value);
    else if (strcmp(name, "search") == 0)
        snprintf(view->search, sizeof view->search, "%s", value);
}

/* Finds the call site with this name, in any stack. */
static bool site_of_text(const struct timeline *timeline, const char *text, uint32_t *site) {
    char name[VIEW_VALUE_CAPACITY];
    for (uint32_t i = 0; i < timeline->trace->stacks.count; i++) {
        *site = timeline->site[i];
        site_text(timeline->trace, *site, name, sizeof name);
        if (strcmp(name, text) == 0)
            return true;
    }
    return false;
}

bool view_highlight(const struct picture_view *view, const struct timeline *timeline,
                    struct highlight *highlight) {
    static const char *const names[] = {"site_",   "stack_", "file_",   "category_",
                                        "stream_", "pool_",  "module_", "frame_"};
    *highlight = (struct highlight){COMPARE_BY_SITE, 0};
    if (strncmp(view->focus, "line_", 5) == 0)
        return site_of_text(timeline, view->focus + 5, &highlight->key);
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *number = view->focus + strlen(names[i]);
        char *rest;
        if (strncmp(view->focus, names[i], strlen(names[i])) != 0 || *number < '0' || *number > '9')
            continue;
        unsigned long long key = strtoull(number, &rest, 10);
        *highlight = (struct highlight){i, key < UINT32_MAX ? (uint32_t)key : UINT32_MAX};
        return *rest == '\0' && highlight_is_valid(timeline->trace, *highlight);
    }
    return false;
}

int64_t view_q16(double position) {
    const double limit = 140737488355328.0; /* 2^47 */
    position = position < -limit ? -limit : position > limit ? limit : position;
    return (int64_t)floor(position * 65536.0 + 0.5);
}

void view_window(const struct picture_view *view, const struct view *whole, int64_t *from_q16,
                 int64_t *to_q16) {
    double first = (double)whole->from_q16 / 65536, end = (double)whole->to_q16 / 65536, all = end - first;
    double least = all < 2 ? all : 2, width = view->to - view->from;
    width = width < least ? least : width > all ? all : width;
    double from = (view->from + view->to) / 2 - width / 2;
    from = from < first ? first : from > end - width ? end - width : from;
    *from_q16 = view_q16(from);
    *to_q16 = view_q16(from + width);
}
