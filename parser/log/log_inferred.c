#include "parser/log/log_inferred.h"

#include "parser/log/log_pieces.h"

enum { LABEL_NBYTES = 64 };

/* A label in small letters. */
struct label {
    uint8_t byte[LABEL_NBYTES];
    struct text text;
};

static void label_of(struct label *label, struct text line, uint32_t from, uint32_t end) {
    from = end - from > LABEL_NBYTES ? end - LABEL_NBYTES : from;
    for (uint32_t i = from; i < end; i++) {
        uint8_t byte = line.at[i];
        label->byte[i - from] = byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
    }
    label->text = (struct text){label->byte, end - from};
}

static bool has_any(struct text text, const char *const *words, uint32_t n) {
    return text_contains_any(text, words, n);
}

#define HAS(text, ...)                                \
    has_any(text, (const char *const[]){__VA_ARGS__}, \
            (uint32_t)(sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *)))

/* What a label names; NOTE_KINDS: nothing, or a change, a rate, a size on disk. */
static enum note_what what_of(struct text label, bool about_memory) {
    bool host = HAS(label, "cpu", "ram ", "ram:", "rss", "host", "virtual"), vram = HAS(label, "vram");
    bool most = HAS(label, "peak", "max");
    if (HAS(label, "delta", "change", "diff", "increase", "disk", "swap", "kv cache", "tried", "swapped",
            "download"))
        return NOTE_KINDS;
    if (host && !vram)
        return HAS(label, "used", "usage", "rss", "peak", "mem") ? (most ? NOTE_MAX_HOST : NOTE_HOST_USED)
                                                                 : NOTE_KINDS;
    if (HAS(label, "allocated", "allocation"))
        return most ? NOTE_MAX_ALLOCATED : NOTE_ALLOCATED;
    if (HAS(label, "reserved", "cached"))
        return most ? NOTE_MAX_RESERVED : NOTE_RESERVED;
    if (!about_memory)
        return NOTE_KINDS;
    if (HAS(label, "peak"))
        return NOTE_MAX_ALLOCATED;
    if (HAS(label, "free", "available"))
        return NOTE_DEVICE_FREE;
    if (HAS(label, "used", "usage"))
        return most ? NOTE_MAX_DEVICE : NOTE_DEVICE_USED;
    return HAS(label, "total") ? NOTE_DEVICE_TOTAL : NOTE_KINDS;
}

/* A figure with a unit larger than a byte, behind a colon, an equals sign or blanks. */
static uint32_t figure_at(struct text line, uint32_t at, uint64_t *nbytes) {
    bool begins = at == 0 || line.at[at - 1] == ' ' || line.at[at - 1] == ':' || line.at[at - 1] == '=' ||
                  line.at[at - 1] == '\t';
    uint32_t next =
        begins && line.at[at] >= '0' && line.at[at] <= '9' ? log_size(line, at, 0, nbytes) : LOG_NONE;
    return next != LOG_NONE && next < line.nbytes && line.at[next] == '/' ? LOG_NONE : next;
}

static bool is_about_memory(struct text line) {
    struct label label;
    for (uint32_t from = 0; from < line.nbytes; from += LABEL_NBYTES / 2) {
        uint32_t end = from + LABEL_NBYTES < line.nbytes ? from + LABEL_NBYTES : line.nbytes;
        label_of(&label, line, from, end);
        if (HAS(label.text, "mem", "vram", "cuda", "gpu"))
            return true;
    }
    return false;
}

enum log_seen log_inferred_line(struct log_state *state, struct text line, struct log_row *row) {
    bool about = false, asked = false;
    uint32_t from = 0, next;
    uint64_t nbytes;
    /* see_memory_usage, which is looked at by itself; the tables of an error, which are no levels. */
    if (log_has(line, "CPU Virtual Memory:") || state->stream->oom.lines_left != 0)
        return LOG_NOTHING;
    for (uint32_t at = 0; at < line.nbytes; at = next) {
        struct label label;
        if ((next = figure_at(line, at, &nbytes)) == LOG_NONE) {
            next = at + 1;
            continue;
        }
        if (!asked)
            about = is_about_memory(line);
        asked = true;
        label_of(&label, line, from, at);
        enum note_what what = what_of(label.text, about);
        if (what != NOTE_KINDS)
            log_know_first(row, what, nbytes);
        from = next;
    }
    log_maxima_show(row);
    bool host = log_knows(row, NOTE_HOST_USED), level = log_knows(row, NOTE_ALLOCATED) ||
                                                        log_knows(row, NOTE_RESERVED) ||
                                                        log_knows(row, NOTE_DEVICE_USED);
    row->gpu = host && !level ? LOG_HOST : row->gpu;
    if (host && level)
        log_forget(row, NOTE_HOST_USED);
    row->inferred = host || level;
    state->n_inferred += row->inferred;
    return row->inferred ? LOG_ROW : LOG_NOTHING;
}
