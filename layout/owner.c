#include "layout/owner.h"

#include "base/bytes.h"
#include "base/text.h"
#include "layout/place.h"

static bool is_slash(uint8_t byte) {
    return byte == '/' || byte == '\\';
}

static bool byte_meets(char wanted, uint8_t byte) {
    return wanted == '?' || (is_slash((uint8_t)wanted) ? is_slash(byte) : (uint8_t)wanted == byte);
}

/* Only the last star needs to be retried: it can take all the text that a longer match of an earlier star would. */
static bool glob_meets(const char *pattern, struct text text) {
    const char *behind_star = NULL;
    uint32_t at = 0, star_at = 0;
    while (at < text.nbytes) {
        if (*pattern == '*') {
            behind_star = ++pattern;
            star_at = at;
        } else if (*pattern == '\0' && behind_star != NULL && behind_star[0] == '\0') {
            return true;
        } else if (*pattern != '\0' && byte_meets(*pattern, text.at[at])) {
            pattern++;
            at++;
        } else if (behind_star != NULL) {
            pattern = behind_star;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

/* Compares a folder's name, or the file's with or without ".py". */
static bool name_meets(const char *name, struct text file) {
    uint32_t n = word_length(name);
    for (uint32_t i = 0; i < file.nbytes; i++) {
        if ((i > 0 && !is_slash(file.at[i - 1])) || !text_has_at(file, i, name))
            continue;
        struct text rest = text_from(file, i + n);
        if (rest.nbytes == 0 || is_slash(rest.at[0]) || text_is(rest, ".py"))
            return true;
    }
    return false;
}

static bool is_name(const char *pattern) {
    for (; *pattern != '\0'; pattern++)
        if (*pattern == '*' || *pattern == '?' || is_slash((uint8_t)*pattern))
            return false;
    return true;
}

bool owner_pattern_meets(const char *pattern, struct text file) {
    char glob[OWNER_PATTERN_MAX_NBYTES + 2];
    uint32_t n = word_length(pattern);
    if (n == 0 || n > OWNER_PATTERN_MAX_NBYTES)
        return false;
    if (is_name(pattern))
        return name_meets(pattern, file);
    bytes_copy(glob, pattern, n);
    if (is_slash((uint8_t)pattern[n - 1]))
        glob[n++] = '*';
    glob[n] = '\0';
    if (glob_meets(glob, file))
        return true;
    if (is_slash((uint8_t)glob[0]) || glob[0] == '*')
        return false;
    /* a star, a slash and the pattern in one buffer, for one walk */
    char anywhere[OWNER_PATTERN_MAX_NBYTES + 4] = "*/";
    bytes_copy(anywhere + 2, glob, n + 1);
    return glob_meets(anywhere, file);
}

/* Marks of a string: as a frame's file, and, shifted, as the name of a profiler's frame. */
enum { MARK_KNOWN = 1, MARK_MEETS = 2, NAME_SHIFT = 2 };

static bool file_of_frame_meets(const struct trace *trace, uint8_t *known, uint32_t frame,
                                const char *pattern) {
    const struct frame *row = &trace->frames.frame[frame];
    struct place place;
    bool in_name = row->line == 0 && file_is_none(trace_text(trace, row->file));
    uint8_t *marks = &known[in_name ? row->name : row->file];
    unsigned shift = in_name ? NAME_SHIFT : 0;
    if ((*marks >> shift & MARK_KNOWN) == 0) {
        place_of_frame(trace, frame, &place);
        bool meets = !file_is_none(place.file) && owner_pattern_meets(pattern, place.file);
        *marks |= (uint8_t)((MARK_KNOWN | (meets ? MARK_MEETS : 0)) << shift);
    }
    return (*marks >> shift & MARK_MEETS) != 0;
}

static bool owners_make(struct trace *trace) {
    if (trace->frames.owner != NULL)
        return true;
    trace->frames.owner = arena_zeros(&trace->arena, trace->frames.count, 1);
    return trace->frames.owner != NULL;
}

bool frames_tell_owner(struct trace *trace, const char *pattern, enum frame_owner owner, uint32_t *n_frames) {
    uint8_t *known = arena_zeros(&trace->arena, trace->strings.count, 1);
    bool done = known != NULL;
    *n_frames = 0;
    for (uint32_t i = 1; done && i < trace->frames.count; i++) {
        if (!file_of_frame_meets(trace, known, i, pattern))
            continue;
        done = owners_make(trace);
        if (done)
            trace->frames.owner[i] = (uint8_t)owner;
        *n_frames += done;
    }
    ARENA_DROP(&trace->arena, known);
    return done;
}
