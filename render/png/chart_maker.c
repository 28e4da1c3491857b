#include "render/png/chart_maker.h"

#include "base/bytes.h"
#include "base/format.h"
#include "base/numbers.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

int32_t chart_line(struct font_style style) {
    return (int32_t)((style.px * 87 + 63) / 64);
}

int32_t chart_row(const struct chart_maker *maker) {
    return chart_line(maker->small) + maker->em / 5;
}

int32_t chart_text_width(const struct chart_maker *maker, struct font_style style, const char *text) {
    return (int32_t)font_width(maker->font, style, text);
}

/* NULL: no memory, or the maker only measures. */
static struct chart_box *chart_add_box(struct chart_maker *maker) {
    struct chart_layout *out = maker->out;
    if (maker->measures)
        return NULL;
    if (!ARENA_GROW(&out->arena, out->boxes, out->boxes_capacity, (uint64_t)out->n_boxes + 1)) {
        maker->failed = true;
        return NULL;
    }
    struct chart_box *box = &out->boxes[out->n_boxes++];
    *box = (struct chart_box){0};
    return box;
}

void chart_put(struct chart_maker *maker, enum chart_box_kind kind, struct rect rect, uint32_t color) {
    struct chart_box *box = chart_add_box(maker);
    if (box)
        *box = (struct chart_box){.kind = kind, .rect = rect, .color = color};
}

void chart_put_plot(struct chart_maker *maker, struct rect rect, const struct scene *scene) {
    struct chart_box *box = chart_add_box(maker);
    if (box)
        *box = (struct chart_box){.kind = CHART_PLOT, .rect = rect, .scene = scene};
}

static const char *chart_keep_text(struct chart_maker *maker, const char *text) {
    size_t nbytes = strlen(text) + 1;
    char *copy = arena_alloc(&maker->out->arena, nbytes);
    if (copy)
        bytes_copy(copy, text, nbytes);
    else
        maker->failed = true;
    return copy;
}

void chart_put_fitted(struct chart_maker *maker, struct rect rect, struct font_style style, uint32_t color,
                      const char *text) {
    const char *kept = chart_keep_text(maker, text);
    struct chart_box *box = kept ? chart_add_box(maker) : NULL;
    if (box)
        *box = (struct chart_box){
            .kind = CHART_TEXT, .rect = rect, .color = color, .style = style, .text = kept};
}

int32_t chart_put_text(struct chart_maker *maker, struct rect line, enum chart_align align,
                       struct font_style style, uint32_t color, const char *text) {
    char fitted[FONT_TEXT_NBYTES];
    if (line.width <= 0 || maker->measures)
        return 0;
    font_elide(maker->font, style, text, (uint32_t)line.width, FONT_CUT_MIDDLE, fitted);
    int32_t width = chart_text_width(maker, style, fitted), spare = line.width - width;
    int32_t x = line.x + (align == CHART_RIGHT ? spare : align == CHART_CENTER ? spare / 2 : 0);
    if (width > 0)
        chart_put_fitted(maker, (struct rect){x, line.y, width, chart_line(style)}, style, color, fitted);
    return width;
}

int32_t chart_put_sentence(struct chart_maker *maker, struct rect line, struct font_style style,
                           uint32_t color, const char *text) {
    char fitted[FONT_TEXT_NBYTES];
    if (line.width <= 0)
        return 0;
    font_elide(maker->font, style, text, (uint32_t)line.width, FONT_CUT_END, fitted);
    return chart_put_text(maker, line, CHART_LEFT, style, color, fitted);
}

enum { LINES_MAX = CHART_LINES_MAX, LINE_NBYTES = 256 };

/* The number of lines that a text takes, at most `most`. */
static int32_t chart_break_text(const struct chart_maker *maker, const char *text, int32_t width,
                                struct font_style style, int32_t most, char lines[LINES_MAX][LINE_NBYTES]) {
    int32_t n = 0;
    for (; *text != '\0' && n < LINES_MAX && n < most; n++) {
        text += font_break(maker->font, style, text, width, lines[n], LINE_NBYTES);
        text += strspn(text, " ");
    }
    return n;
}

int32_t chart_paragraph_height(const struct chart_maker *maker, int32_t width, struct font_style style,
                               const char *text) {
    char lines[LINES_MAX][LINE_NBYTES];
    return chart_break_text(maker, text, width, style, LINES_MAX, lines) * chart_line(style);
}

void chart_put_paragraph(struct chart_maker *maker, struct rect area, struct font_style style, uint32_t color,
                         const char *text) {
    char lines[LINES_MAX][LINE_NBYTES];
    int32_t height = chart_line(style);
    int32_t n = chart_break_text(maker, text, area.width, style, area.height / height, lines);
    int32_t y = area.y + (area.height - n * height) / 2;
    for (int32_t i = 0; i < n; i++, y += height)
        chart_put_text(maker, (struct rect){area.x, y, area.width, height}, CHART_CENTER, style, color,
                       lines[i]);
}

/* Ends a line with an ellipsis, in place of as many words as that takes. */
static void chart_line_cut(const struct chart_maker *maker, char line[LINE_NBYTES], int32_t width,
                           struct font_style style) {
    static const char more[] = " \xe2\x80\xa6";
    size_t end = strlen(line);
    do {
        end = end < LINE_NBYTES - sizeof more ? end : LINE_NBYTES - sizeof more;
        memcpy(line + end, more, sizeof more);
        if (chart_text_width(maker, style, line) <= width)
            return;
        while (end > 0 && line[end - 1] != ' ')
            end--;
        while (end > 0 && line[end - 1] == ' ')
            end--;
    } while (end > 0);
}

int32_t chart_put_lines(struct chart_maker *maker, struct rect area, struct font_style style, uint32_t color,
                        int32_t most, const char *text) {
    char lines[LINES_MAX][LINE_NBYTES];
    int32_t all = chart_break_text(maker, text, area.width, style, LINES_MAX, lines);
    int32_t n = most < all ? most : all;
    if (n < all && !maker->measures)
        chart_line_cut(maker, lines[n - 1], area.width, style);
    for (int32_t i = 0; i < n; i++, area.y += chart_line(style))
        chart_put_text(maker, area, CHART_LEFT, style, color, lines[i]);
    return area.y;
}

int32_t chart_heading_put(struct chart_maker *maker, struct rect area, const char *text) {
    chart_put_text(maker, area, CHART_LEFT, maker->bold, maker->out->colors->text, text);
    return area.y + chart_line(maker->bold) + maker->em / 4;
}

void chart_bytes_text(struct text bytes, char *text, size_t capacity) {
    size_t used = 0;
    for (size_t at = 0; at < bytes.nbytes;) {
        char code[4];
        uint32_t next = utf8_next((const char *)bytes.at, bytes.nbytes, &at);
        size_t length = utf8_put(next != 0 ? next : UTF8_REPLACEMENT, code);
        if (used + length >= capacity)
            break;
        memcpy(text + used, code, length);
        used += length;
    }
    text[used] = '\0';
}

void chart_string_text(const struct chart_maker *maker, uint32_t id, char *text, size_t capacity) {
    chart_bytes_text(trace_text(maker->in->timeline->trace, id), text, capacity);
}

void chart_moment_text(const struct timeline *timeline, uint32_t moment, char *text, size_t capacity) {
    if (moment == 0)
        snprintf(text, capacity, "before the first event");
    else if (timeline_timed(timeline))
        snprintf(text, capacity, "event %s (%s)", format_count(moment - 1).text,
                 format_duration(timeline_start_us(timeline, moment)).text);
    else
        snprintf(text, capacity, "event %s", format_count(moment - 1).text);
}

int32_t chart_share(uint64_t part, uint64_t whole, int32_t pixels) {
    return whole == 0 ? 0 : (int32_t)((unsigned __int128)part * (uint32_t)pixels / whole);
}

int32_t chart_bar_put(struct chart_maker *maker, struct rect area, const struct chart_part *parts,
                      uint32_t n) {
    int32_t x = 0, swatch = maker->em * 5 / 4, side = maker->em * 7 / 8;
    uint64_t whole = 0, before = 0;
    for (uint32_t i = 0; i < n; i++)
        whole = sum_at_most(whole, parts[i].bytes);
    for (uint32_t i = 0; i < n; i++) {
        int32_t from = chart_share(before, whole, area.width);
        before = sum_at_most(before, parts[i].bytes);
        int32_t to = chart_share(before, whole, area.width);
        if (to > from + maker->scale)
            chart_put(maker, CHART_FILL,
                      (struct rect){area.x + from, area.y, to - from - maker->scale, maker->em},
                      parts[i].color);
    }
    area.y += maker->em * 5 / 4;
    for (uint32_t i = 0; i < n && parts[i].name != NULL; i++) {
        char text[80];
        snprintf(text, sizeof text, "%s %s", parts[i].name, parts[i].figure.text);
        int32_t width = swatch + chart_text_width(maker, maker->small, text);
        if (x != 0 && x + width > area.width) {
            x = 0;
            area.y += chart_row(maker);
        }
        struct rect at = {area.x + x, area.y + (chart_line(maker->small) - side) / 2, side, side};
        chart_put(maker, CHART_SWATCH, at, parts[i].color);
        chart_put_text(maker, (struct rect){area.x + x + swatch, area.y, area.width - x - swatch, 0},
                       CHART_LEFT, maker->small, maker->out->colors->text, text);
        x += width + maker->em;
    }
    return area.y + chart_row(maker);
}

int32_t chart_axis_x(const struct chart_maker *maker, int64_t q16) {
    const struct view *view = &maker->out->view;
    if (q16 < view->from_q16)
        return -1;
    if (q16 >= view->to_q16)
        return (int32_t)view->width;
    uint64_t part = (uint64_t)q16 - (uint64_t)view->from_q16;
    uint64_t whole = (uint64_t)view->to_q16 - (uint64_t)view->from_q16;
    return chart_share(part, whole, (int32_t)view->width);
}

/* The point on the axis where a moment begins; for n_moments, where the last one ends. */
static int64_t chart_moment_q16(const struct chart_maker *maker, uint32_t moment) {
    const struct timeline *timeline = maker->in->timeline;
    if (maker->out->view.axis == AXIS_EVENTS)
        return ((int64_t)moment - 1) * 65536;
    return (moment < timeline->n_moments ? timeline_start_us(timeline, moment) : timeline->end_us) * 65536;
}

int32_t chart_moment_x(const struct chart_maker *maker, uint32_t moment) {
    int64_t begin = chart_moment_q16(maker, moment), end = chart_moment_q16(maker, moment + 1);
    return chart_axis_x(maker, begin + (end - begin) / 2);
}
