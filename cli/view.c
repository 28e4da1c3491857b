#include "cli/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the address ---- */

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Decodes up to `end`, into so much room. */
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

/* "from_to", rising. */
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

void view_note(struct picture_view *view, const char *name, const char *value) {
    if (strcmp(name, "window") == 0)
        view->has_window = pair_parse(value, &view->from, &view->to);
    else if (strcmp(name, "bytes") == 0)
        note_bytes(view, value);
    else if (strcmp(name, "at") == 0)
        note_at(view, value);
    else if (strcmp(name, "search") == 0)
        snprintf(view->search, sizeof view->search, "%s", value);
}

/* ---- the window ---- */

static int64_t q16_of(double position) {
    return (int64_t)floor(position * 65536.0 + 0.5);
}

void view_window(const struct picture_view *view, const struct timeline *timeline, enum axis axis,
                 int64_t *from_q16, int64_t *to_q16) {
    struct view whole = {.axis = timeline_timed(timeline) ? axis : AXIS_EVENTS};
    view_fit(&whole, timeline);
    double first = (double)whole.from_q16 / 65536, end = (double)whole.to_q16 / 65536, all = end - first;
    double least = all < 2 ? all : 2, width = view->to - view->from;
    width = width < least ? least : width > all ? all : width;
    double from = (view->from + view->to) / 2 - width / 2;
    from = from < first ? first : from > end - width ? end - width : from;
    *from_q16 = q16_of(from);
    *to_q16 = q16_of(from + width);
}
