#include "parser/log/log_lines.h"

#include "base/numbers.h"
#include "parser/log/log_pieces.h"

#include <string.h>

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

/* The text after the last comma, brace or bar: "'total_GB': " in "memory usage: {'free_GB': 3.5, 'total_GB': ". */
static struct text label_last(struct text label) {
    for (uint32_t at = label.nbytes; at > 0; at--)
        if (strchr(",;{|", label.at[at - 1]) != NULL)
            return text_from(label, at);
    return label;
}

/* Does the text contain one of these words? */
#define HAS(text, ...)                                          \
    text_contains_any(text, (const char *const[]){__VA_ARGS__}, \
                      (uint32_t)(sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *)))

/* The kind of figure that a label names; NOTE_KINDS: none, or a change, a rate, a plan, a size on disk. */
static enum note_what what_of(struct text label, bool about_memory) {
    bool host = HAS(label, "cpu", "ram ", "ram:", "rss", "host", "virtual", "worker ", "cgroup"),
         vram = HAS(label, "vram", "gpu");
    bool most = HAS(label, "peak", "max");
    if (HAS(label, "delta", "change", "diff", "increase", "disk", "swap", "kv cache", "tried", "download",
            "capacity", "estimat", "theoretical", "freed", "kmem", "pressure", "required", "needed", "limit",
            "saved", "retries", "for training", "driver", "inactive", "cache size", "to alloc", "allocating",
            "allocsize", "request", "allocate ", "largest", "unused", "reused", "vmem", "fragment", "_conf",
            "dataset", "higher", "<=", ">=", "allocation of size", "alloc size", " malloc", "tensor used"))
        return NOTE_KINDS;
    if (host && !vram)
        return HAS(label, "used", "usage", "rss", "peak", "mem") ? (most ? NOTE_MAX_HOST : NOTE_HOST_USED)
                                                                 : NOTE_KINDS;
    if (HAS(label, "alloc", "\xe5\x88\x86\xe9\x85\x8d" /* "allocated" in Chinese */))
        return most ? NOTE_MAX_ALLOCATED : NOTE_ALLOCATED;
    if (HAS(label, "reserved", "resv"))
        return most ? NOTE_MAX_RESERVED : NOTE_RESERVED;
    if (about_memory && HAS(label, "cached", "\xe7\xbc\x93\xe5\xad\x98" /* "cached" */))
        return most ? NOTE_MAX_RESERVED : NOTE_RESERVED;
    if (!about_memory)
        return NOTE_KINDS;
    if (HAS(label, "peak"))
        return NOTE_MAX_ALLOCATED;
    if (HAS(label, "free", "available"))
        return NOTE_DEVICE_FREE;
    if (HAS(label, "used", "usage", "in use", "occupied", "\xe5\x8d\xa0\xe7\x94\xa8" /* "in use" */))
        return most ? NOTE_MAX_DEVICE : NOTE_DEVICE_USED;
    if (HAS(label, "total"))
        return NOTE_DEVICE_TOTAL;
    if (HAS(label, "max gpu mem", "max cuda mem"))
        return NOTE_MAX_ALLOCATED;
    /* "GPU memory after model load: 4837 MB" */
    return HAS(label, "gpu mem", "cuda mem", "vram") &&
                   HAS(label, " after ", " before ", "baseline", " while ", " during ")
               ? NOTE_DEVICE_USED
               : NOTE_KINDS;
}

/* "memory allocated (GB): ", "peak_mem_gib=": the unit that ends a label, in bytes; 0: none. */
static uint64_t unit_of(struct text label) {
    static const struct {
        const char *name;
        uint64_t unit;
    } units[] = {{"gib", GIB}, {"gb", GIB}, {"mib", MIB}, {"mb", MIB}};
    while (label.nbytes != 0 && strchr(" \t:=|'\"()[]", label.at[label.nbytes - 1]) != NULL)
        label.nbytes--;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        uint32_t before = label.nbytes - (uint32_t)strlen(units[i].name);
        if (text_ends(label, units[i].name) && before < label.nbytes && before > 0)
            return label.at[before - 1] < 'a' || label.at[before - 1] > 'z' ? units[i].unit : 0;
    }
    return 0;
}

/* A figure after a colon, an equals sign or blanks. It needs a unit larger than a byte, its own or its label's, or
 * must be a number of bytes as PyTorch's functions return them, a multiple of 512. */
static uint32_t figure_at(struct text line, uint32_t from, uint32_t at, uint64_t *nbytes) {
    struct label label;
    uint64_t count;
    if (line.at[at] < '0' || line.at[at] > '9' ||
        (at > 0 && strchr(" :=\t", line.at[at - 1]) == NULL &&
         (line.at[at - 1] != '>' || log_find(line, from, "<") > at)))
        return LOG_NONE;
    uint32_t next = log_size(line, at, 0, nbytes);
    if (next == LOG_NONE) {
        label_of(&label, line, from, at);
        uint64_t unit = unit_of(label.text);
        next = log_size(line, at, unit, nbytes);
        if (unit == 0 && (next = log_size(line, at, 1, nbytes)) != LOG_NONE)
            next = log_count(line, at, &count) == next && count >= MIB && count % 512 == 0 &&
                           what_of(label.text, false) != NOTE_KINDS
                       ? next
                       : LOG_NONE;
    }
    bool rate =
        next != LOG_NONE && next + 1 < line.nbytes && line.at[next] == '/' && line.at[next + 1] == 's';
    return rate ? LOG_NONE : next;
}

/* Do the words from `at` on belong to the next figure? "total: 8 GB", "total allocated memory: 8 GB", "total 8" */
static bool is_label(struct text line, uint32_t at) {
    uint32_t next = log_skip(line, at), end = at;
    while (end < line.nbytes && strchr(",;|:=0123456789", line.at[end]) == NULL)
        end++;
    return next < line.nbytes && strchr("=:_ ", line.at[at]) != NULL && end < line.nbytes &&
           (strchr(":=", line.at[end]) != NULL || end == next);
}

/* "12.5 GB allocated": the meaning from the words after a figure, up to the next one. */
static enum note_what what_behind(struct text line, uint32_t at) {
    static const char *const words[] = {" allocated", " reserved", " cached", " used",
                                        " in use",    " peak",     " total",  " free"};
    struct label label = {.text = {NULL, 0}};
    uint32_t end = at;
    while (end < line.nbytes && end - at < 12 && (line.at[end] < '0' || line.at[end] > '9'))
        end++;
    label_of(&label, line, at, end);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        uint32_t behind = at + (uint32_t)strlen(words[i]);
        if (text_begins(label.text, words[i]) && (behind >= line.nbytes || !is_label(line, behind)))
            return what_of(label.text, true);
    }
    return NOTE_KINDS;
}

bool log_is_about_memory(struct text line) {
    struct label label;
    if (log_has(line, "BAR1 ") || log_has(line, "<bar1_") ||
        log_has(line, "Protected Memory")) /* nvidia-smi -q lists these beside the GPU's memory */
        return false;
    for (uint32_t from = 0; from < line.nbytes; from += LABEL_NBYTES / 2) {
        uint32_t end = from + LABEL_NBYTES < line.nbytes ? from + LABEL_NBYTES : line.nbytes;
        label_of(&label, line, from, end);
        if (HAS(label.text, "mem", "vram", "cuda", "gpu", "allocated",
                "\xe5\x86\x85\xe5\xad\x98" /* "memory" in Chinese */,
                "\xe6\x98\xbe\xe5\xad\x98" /* "video memory" */))
            return true;
    }
    return false;
}

/* "memory used: 11.8 / 12.3 GB", "allocated/reserved: 1.2/3.4 GB". Returns the place after both; LOG_NONE: there is no
 * such pair. */
static uint32_t pair_at(struct text line, uint32_t at, uint64_t *one, uint64_t *other) {
    uint64_t nbytes;
    if (!is_digit(line.at[at]) || (at > 0 && strchr(" :=(\t", line.at[at - 1]) == NULL) ||
        !log_pair_size(line, at, false, 0, one) || !log_pair_size(line, at, true, 0, other))
        return LOG_NONE;
    uint32_t stroke = at;
    while (strchr("/,", line.at[stroke]) == NULL)
        stroke++;
    return line.at[stroke] == '/' ? log_size(line, log_skip(line, stroke + 1), 0, &nbytes) : LOG_NONE;
}

static void pair_know(struct text label, bool about, const uint64_t value[2], struct log_row *row) {
    enum note_what what[2] = {what_of(label, about), NOTE_KINDS};
    uint32_t at = label.nbytes;
    if (what[0] == NOTE_KINDS && (text_begins(label, "ram:") || HAS(label, " ram:", " ram ")))
        what[0] = HAS(label, "gpu") ? NOTE_DEVICE_USED : NOTE_HOST_USED; /* "RAM: 29.5/251.9GB" */
    while (at > 1 && label.at[at - 1] != '/')
        at--;
    bool two = at > 1 && at < label.nbytes && label.at[at] >= 'a' && label.at[at] <= 'z';
    enum note_what second = two ? what_of(text_from(label, at), about) : NOTE_KINDS;
    if (second != NOTE_KINDS) {
        what[0] = what_of((struct text){label.at, at - 1}, about);
        what[1] = second;
    } else if (what[0] == NOTE_DEVICE_USED || what[0] == NOTE_MAX_DEVICE || what[0] == NOTE_HOST_USED) {
        what[1] = NOTE_DEVICE_TOTAL;
    }
    for (unsigned i = 0; i < 2; i++)
        if (what[i] != NOTE_KINDS)
            log_know_first(row, what[i], value[i]);
}

/* Reads all figures of a line whose words say what they are. */
static void figures_read(const struct log_stream *stream, struct text line, struct log_row *row) {
    bool about = false, own = false, asked = false;
    uint32_t from = 0, next;
    uint64_t nbytes;
    for (uint32_t at = 0; at < line.nbytes; at = next) {
        struct label label;
        uint64_t pair[2];
        bool paired = (next = pair_at(line, at, &pair[0], &pair[1])) != LOG_NONE;
        if (!paired && (next = figure_at(line, from, at, &nbytes)) == LOG_NONE) {
            next = at + 1;
            continue;
        }
        if (!asked) {
            own = log_is_about_memory(line);
            about = stream->about_before || own;
        }
        asked = true;
        label_of(&label, line, from, at);
        from = next;
        if (paired) {
            pair_know(label_last(label.text), about, pair, row);
            continue;
        }
        enum note_what what = what_of(label_last(label.text), about);
        enum note_what behind = own ? what_behind(line, next) : NOTE_KINDS;
        if (behind != NOTE_KINDS && (what == NOTE_KINDS || what == NOTE_DEVICE_USED))
            what = behind; /* "memory usage: 2.3 GB allocated" */
        if (what != NOTE_KINDS)
            log_know_first(row, what, nbytes);
    }
}

enum log_seen log_inferred_line(struct log_state *state, struct text line, struct log_row *row) {
    struct log_stream *stream = state->stream;
    /* Not read by their words: see_memory_usage (log_line_host does), tables of errors, of TensorFlow's allocator and
     * of planners, whose figures are not levels, and the kernel's lines after a kill. */
    if (log_has(line, "CPU Virtual Memory:") || stream->oom.lines_left != 0 || log_has(line, "oom_reaper") ||
        log_has(line, "planner.stats:#") || log_has(line, "Memory cgroup stats for") ||
        log_has(line, "bfc_allocator.cc"))
        return LOG_NOTHING;
    stream->query = log_has(line, "FB Memory Usage") || log_has(line, "<fb_memory_usage>") ||
                    (stream->query && stream->about_before);
    stream->queried |= stream->query;
    if (stream->queried && (log_has(line, "Used GPU Memory  ") || log_has(line, "<used_memory>")))
        return LOG_NOTHING; /* of a process, which the GPU's own use contains */
    stream->n_queried +=
        (text_begins(line, "GPU 0000") && text_ends(line, ".0")) || log_has(line, "<gpu id=\"0000");
    figures_read(stream, line, row);
    log_maxima_show(row);
    bool told = row->known != 0;
    if (stream->query) { /* the driver's reserved memory is not PyTorch's */
        log_forget(row, NOTE_RESERVED);
        row->gpu = stream->n_queried != 0 ? (int32_t)stream->n_queried - 1 : row->gpu;
    }
    bool host = log_knows(row, NOTE_HOST_USED), level = log_knows(row, NOTE_ALLOCATED) ||
                                                        log_knows(row, NOTE_RESERVED) ||
                                                        log_knows(row, NOTE_DEVICE_USED);
    (void)log_gpu_find(line, row);
    row->gpu = host && !level ? LOG_HOST : row->gpu;
    if (host && level)
        log_forget(row, NOTE_HOST_USED);
    row->inferred = host || level;
    state->n_inferred += row->inferred;
    if (log_knows(row, NOTE_DEVICE_TOTAL))
        stream->total_nbytes = row->value[NOTE_DEVICE_TOTAL];
    if (row->inferred && stream->about_before && stream->total_nbytes != 0)
        log_know_first(row, NOTE_DEVICE_TOTAL, stream->total_nbytes);
    if (row->inferred)
        return LOG_ROW;
    return stream->about_before && told ? LOG_PART : LOG_NOTHING;
}
