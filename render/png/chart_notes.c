/* Notes at the foot of the picture: what the reader should know before trusting it. */
#include "render/png/chart_maker.h"

#include "base/format.h"

#include <stdio.h>

/* The rank of a note. Only the first few notes are shown, so those that change the meaning of the picture come
 * first. */
enum note_rank {
    NOTE_INCOMPLETE, /* a part of the run is missing in the picture */
    NOTE_OTHER,      /* the note is about something else, or events were left out */
    NOTE_DOUBT,      /* figures do not agree, or the code of the note is not known here */
    NOTE_BASELINE,   /* where the memory from before the recording comes from */
    NOTE_RANKS
};

static const struct {
    const char *code;
    enum note_rank rank;
} note_ranks[] = {
    {"truncated", NOTE_INCOMPLETE},    {"damaged", NOTE_INCOMPLETE},       {"overflow", NOTE_INCOMPLETE},
    {"history_full", NOTE_INCOMPLETE}, {"merged", NOTE_INCOMPLETE},        {"lost_events", NOTE_INCOMPLETE},
    {"sizes_unread", NOTE_INCOMPLETE}, {"no_history", NOTE_OTHER},         {"one_event", NOTE_OTHER},
    {"empty_device", NOTE_OTHER},      {"no_addresses", NOTE_OTHER},       {"category_totals", NOTE_OTHER},
    {"unknown_actions", NOTE_OTHER},   {"misplaced", NOTE_OTHER},          {"bad_json", NOTE_OTHER},
    {"trailing_bytes", NOTE_OTHER},    {"unequal_actions", NOTE_OTHER},    {"no_segment_events", NOTE_OTHER},
    {"orphan_frees", NOTE_BASELINE},   {"baseline_blocks", NOTE_BASELINE}, {"baseline_total", NOTE_BASELINE},
};

static enum note_rank note_rank_of(const struct trace *trace, const struct diagnostic *note) {
    for (size_t i = 0; i < sizeof note_ranks / sizeof *note_ranks; i++)
        if (text_is(trace_text(trace, note->code), note_ranks[i].code))
            return note_ranks[i].rank;
    return NOTE_DOUBT;
}

/* How many notes are shown: two, or one if the picture is very small. */
static uint32_t notes_most(const struct chart_maker *maker) {
    return maker->height < 24 * maker->em ? 1 : 2;
}

static bool note_is_ours(const struct chart_maker *maker, const struct diagnostic *note) {
    return diagnostic_concerns(note, maker->in->timeline->device->ordinal);
}

static uint32_t notes_count(const struct chart_maker *maker) {
    const struct trace *trace = maker->in->timeline->trace;
    uint32_t n = 0;
    for (uint32_t i = 0; i < trace->n_diagnostics; i++)
        n += note_is_ours(maker, &trace->diagnostics[i]);
    return n;
}

/* Draws a sentence after a bold mark. */
static void line_put(struct chart_maker *maker, const char *mark, uint32_t color, const char *text,
                     struct rect line) {
    const struct inks *colors = maker->out->colors;
    struct font_style bold = {FONT_BOLD, maker->small.px};
    chart_put_text(maker, line, CHART_LEFT, bold, color, mark);
    line.x += maker->em;
    line.width -= maker->em;
    chart_put_sentence(maker, line, maker->small, colors->dim, text);
}

static void note_put(struct chart_maker *maker, const struct diagnostic *note, struct rect line) {
    char text[1024];
    chart_string_text(maker, note->message, text, sizeof text);
    line_put(maker, "!", maker->out->colors->note, text, line);
}

/* Puts at most `most` notes of a rank, in the file's order. Returns how many. */
static uint32_t notes_put_rank(struct chart_maker *maker, enum note_rank rank, uint32_t most,
                               struct rect line) {
    const struct trace *trace = maker->in->timeline->trace;
    uint32_t n = 0;
    for (uint32_t i = 0; i < trace->n_diagnostics && n < most; i++) {
        const struct diagnostic *note = &trace->diagnostics[i];
        if (!note_is_ours(maker, note) || note_rank_of(trace, note) != rank)
            continue;
        note_put(maker, note, line);
        line.y += chart_line(maker->small);
        n++;
    }
    return n;
}

int32_t chart_notes_put(struct chart_maker *maker, struct rect area) {
    uint32_t n = notes_count(maker), shown = 0;
    if (n == 0 && maker->in->options->plan == NULL)
        return area.y;
    struct rect line = {area.x, area.y + maker->em / 2, area.width, 0};
    if (maker->in->options->plan != NULL) {
        line_put(maker, ">", maker->out->colors->text, maker->in->options->plan, line);
        line.y += chart_line(maker->small);
    }
    for (uint32_t rank = 0; rank < NOTE_RANKS; rank++) {
        uint32_t put = notes_put_rank(maker, (enum note_rank)rank, notes_most(maker) - shown, line);
        line.y += (int32_t)put * chart_line(maker->small);
        shown += put;
    }
    if (n > shown) {
        char text[64];
        snprintf(text, sizeof text, "and %s more", format_count(n - shown).text);
        line.x += maker->em;
        chart_put_text(maker, line, CHART_LEFT, maker->small, maker->out->colors->dim, text);
        line.y += chart_line(maker->small);
    }
    return line.y;
}
