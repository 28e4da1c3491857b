#include "render/png/font.h"

#include "base/joined.h"
#include "base/utf8.h"

#include <ft2build.h>
#include FT_ADVANCES_H
#include FT_FREETYPE_H
#include FT_OUTLINE_H

#include <stdlib.h>
#include <string.h>

/* DejaVu Sans and DejaVu Sans Bold; scripts/embed.cmake puts them into the program. */
extern const unsigned char asset_font_regular[];
extern const size_t asset_font_regular_nbytes;
extern const unsigned char asset_font_bold[];
extern const size_t asset_font_bold_nbytes;

enum { FACES = 2, ELLIPSIS = 0x2026 };

/*
 * Glyphs are not hinted. What a hinter does depends on FreeType's version and on the size, so pictures would differ
 * between machines, and text would change its width from one scale to the next. Without hinting, a picture at scale 2
 * is laid out exactly like the one at scale 1. Compared by eye at 11 to 18 px, light hinting is a little crisper only
 * at the smallest sizes, where DejaVu's large x-height is readable anyway.
 */
enum { GLYPH_LOAD = FT_LOAD_NO_HINTING | FT_LOAD_NO_BITMAP };

struct font {
    FT_Library library;
    FT_Face face[FACES];
    uint32_t px[FACES]; /* the size that each face is set to */
};

struct run {
    uint32_t count;
    bool cut; /* characters are missing, and an ellipsis stands for them */
    uint32_t code[FONT_TEXT_CODES];
};

struct font *font_open(void) {
    struct font *font = calloc(1, sizeof *font);
    if (!font)
        return NULL;
    if (FT_Init_FreeType(&font->library) != 0 ||
        FT_New_Memory_Face(font->library, asset_font_regular, (FT_Long)asset_font_regular_nbytes, 0,
                           &font->face[FONT_REGULAR]) != 0 ||
        FT_New_Memory_Face(font->library, asset_font_bold, (FT_Long)asset_font_bold_nbytes, 0,
                           &font->face[FONT_BOLD]) != 0) {
        font_close(font);
        return NULL;
    }
    return font;
}

void font_close(struct font *font) {
    if (!font)
        return;
    for (unsigned i = 0; i < FACES; i++)
        if (font->face[i])
            FT_Done_Face(font->face[i]);
    if (font->library)
        FT_Done_FreeType(font->library);
    free(font);
}

/* Would this character hide, reorder or break text? */
static bool code_is_invisible(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c || code == 0x180e ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe0fff);
}

/* Decodes the text. Of a text that is too long the beginning and the end are kept: the first half in place, the end in
 * a ring. */
static void run_decode(struct run *run, const char *text) {
    enum { HEAD = FONT_TEXT_CODES / 2, TAIL = FONT_TEXT_CODES - HEAD - 1 };
    uint32_t ring[TAIL + 1], n = 0;
    size_t nbytes = strlen(text);
    for (size_t at = 0; at < nbytes; n++) {
        uint32_t code = utf8_next(text, nbytes, &at);
        if (code_is_invisible(code))
            code = UTF8_REPLACEMENT;
        if (n < HEAD)
            run->code[n] = code;
        else
            ring[(n - HEAD) % (TAIL + 1)] = code;
    }
    run->cut = n > FONT_TEXT_CODES;
    run->count = run->cut ? FONT_TEXT_CODES : n;
    if (run->cut)
        run->code[HEAD] = ELLIPSIS;
    for (uint32_t i = HEAD + run->cut; i < run->count; i++)
        run->code[i] = ring[(n - run->count + i - HEAD) % (TAIL + 1)];
}

/* Walks over the glyphs of a run in font units, with kerning. */
struct pen {
    FT_Face face;
    FT_UInt glyph; /* the current one */
    int64_t units; /* its start */
    int64_t next;  /* the start of the next, before kerning */
};

static void pen_step(struct pen *pen, uint32_t code) {
    FT_UInt before = pen->glyph;
    pen->glyph = FT_Get_Char_Index(pen->face, code);
    pen->units = pen->next;
    FT_Vector kerning;
    if (before != 0 && pen->glyph != 0 &&
        FT_Get_Kerning(pen->face, before, pen->glyph, FT_KERNING_UNSCALED, &kerning) == 0)
        pen->units += kerning.x;
    FT_Fixed advance = 0;
    if (FT_Get_Advance(pen->face, pen->glyph, FT_LOAD_NO_SCALE, &advance) != 0)
        advance = 0;
    pen->next = pen->units + advance;
}

/* Converts font units to a position in 1/64 px. */
static int64_t pen_q6(const struct pen *pen, int64_t units, uint32_t px) {
    return units * px * 64 / pen->face->units_per_EM;
}

static uint32_t run_width(struct font *font, struct font_style style, const struct run *run) {
    struct pen pen = {.face = font->face[style.weight]};
    for (uint32_t i = 0; i < run->count; i++)
        pen_step(&pen, run->code[i]);
    return (uint32_t)((pen_q6(&pen, pen.next, style.px) + 63) / 64);
}

uint32_t font_width(struct font *font, struct font_style style, const char *text) {
    struct run run;
    run_decode(&run, text);
    return run_width(font, style, &run);
}

/* DejaVu's own figures: accents reach 0.93 em up, descenders 0.24 em down. */
uint32_t font_ascent(struct font_style style) {
    return (style.px * 60 + 63) / 64;
}

uint32_t font_descent(struct font_style style) {
    return (style.px * 16 + 63) / 64;
}

/* Copies `kept` characters of `from` to `to`, with an ellipsis in place of the others. */
static void run_shorten(struct run *to, const struct run *from, uint32_t kept, enum font_cut cut) {
    uint32_t head = cut == FONT_CUT_END ? kept : (kept + 1) / 2, tail = kept - head;
    memcpy(to->code, from->code, head * sizeof *to->code);
    to->code[head] = ELLIPSIS;
    memcpy(to->code + head + 1, from->code + from->count - tail, tail * sizeof *to->code);
    to->count = kept + 1;
    to->cut = true;
}

/* Keeps as many characters as fit, found by bisection: more characters are never narrower, but for a kerning pair. */
static void run_fit(struct font *font, struct font_style style, struct run *run, uint32_t max_px,
                    enum font_cut cut) {
    struct run shorter;
    uint32_t fits = 0, too_many = run->count;
    while (fits + 1 < too_many) {
        uint32_t middle = (fits + too_many) / 2;
        run_shorten(&shorter, run, middle, cut);
        if (run_width(font, style, &shorter) <= max_px)
            fits = middle;
        else
            too_many = middle;
    }
    run_shorten(&shorter, run, fits, cut);
    if (run_width(font, style, &shorter) > max_px)
        shorter.count = 0;
    *run = shorter;
}

bool font_elide(struct font *font, struct font_style style, const char *text, uint32_t max_px,
                enum font_cut cut, char out[FONT_TEXT_NBYTES]) {
    struct run run;
    run_decode(&run, text);
    if (run_width(font, style, &run) > max_px)
        run_fit(font, style, &run, max_px, cut);
    size_t used = 0;
    for (uint32_t i = 0; i < run.count; i++)
        used += utf8_put(run.code[i], out + used);
    out[used] = '\0';
    return !run.cut;
}

/* Draws the pen's glyph at its exact horizontal position: its outline is moved by the fraction of a pixel before it is
 * turned into coverage. */
static bool pen_render(const struct pen *pen, uint32_t px, font_glyph_sink *sink, void *context) {
    FT_GlyphSlot slot = pen->face->glyph;
    if (FT_Load_Glyph(pen->face, pen->glyph, GLYPH_LOAD) != 0)
        return false;
    int64_t q6 = pen_q6(pen, pen->units, px);
    int64_t whole = q6 >= 0 ? q6 / 64 : -((63 - q6) / 64);
    FT_Outline_Translate(&slot->outline, (FT_Pos)(q6 - whole * 64), 0);
    if (FT_Render_Glyph(slot, FT_RENDER_MODE_NORMAL) != 0)
        return false;
    struct font_glyph glyph = {.x = (int32_t)whole + slot->bitmap_left,
                               .y = -slot->bitmap_top,
                               .width = slot->bitmap.width,
                               .height = slot->bitmap.rows,
                               .pitch = slot->bitmap.pitch,
                               .coverage = slot->bitmap.buffer};
    if (glyph.width != 0 && glyph.height != 0)
        sink(context, &glyph);
    return true;
}

/* Where the word that begins at `at` ends: at the end of the text, or at a blank where a line may end. */
static size_t word_end(const char *text, size_t at) {
    do
        at += strcspn(text + at, " ");
    while (is_joined(text, at) && ++at != 0);
    return at;
}

size_t font_break(struct font *font, struct font_style style, const char *text, int32_t width, char *line,
                  size_t capacity) {
    size_t best = 0;
    for (size_t end = word_end(text, 0); end < capacity; end = word_end(text, end + 1)) {
        memcpy(line, text, end);
        line[end] = '\0';
        if (best != 0 && (int32_t)font_width(font, style, line) > width)
            break;
        best = end;
        if (text[end] == '\0')
            break;
    }
    if (best == 0)
        best = utf8_fit(text, capacity - 1);
    memcpy(line, text, best);
    line[best] = '\0';
    return best;
}

bool font_draw(struct font *font, struct font_style style, const char *text, font_glyph_sink *sink,
               void *context) {
    struct run run;
    run_decode(&run, text);
    struct pen pen = {.face = font->face[style.weight]};
    if (font->px[style.weight] != style.px && FT_Set_Pixel_Sizes(pen.face, 0, style.px) != 0)
        return false;
    font->px[style.weight] = style.px;
    for (uint32_t i = 0; i < run.count; i++) {
        pen_step(&pen, run.code[i]);
        if (!pen_render(&pen, style.px, sink, context))
            return false;
    }
    return true;
}
