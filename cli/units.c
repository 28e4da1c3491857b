#include "cli/units.h"

#include "base/units.h"
#include "trace/trace.h"

#include <string.h>

bool size_parse(const char *text, uint64_t *bytes) {
    return units_size(word_text(text), bytes);
}

bool size_lacks_unit(const char *text, uint64_t bytes) {
    return bytes < UINT64_C(1) << 20 && text[strspn(text, "0123456789")] == '\0';
}

bool number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *number) {
    uint64_t count;
    if (!units_count(word_text(text), &count) || count < low || count > high)
        return false;
    *number = count;
    return true;
}

/* Reads "-500", "+500" or nothing as a signed number of events. */
static bool offset_parse(const char *text, int64_t *offset) {
    uint64_t number = 0;
    if (*text == '\0')
        *offset = 0;
    else if ((*text != '-' && *text != '+') || !number_parse(text + 1, 0, UINT32_MAX, &number))
        return false;
    else
        *offset = *text == '-' ? -(int64_t)number : (int64_t)number;
    return true;
}

static bool position_parse_relative(const char *text, const char *word, enum position_base base,
                                    struct position *position) {
    size_t nbytes = strlen(word);
    int64_t offset;
    if (strncmp(text, word, nbytes) != 0 || !offset_parse(text + nbytes, &offset))
        return false;
    *position = (struct position){base, offset};
    return true;
}

static bool position_parse_time(const char *text, struct position *position) {
    uint64_t us;
    if (!units_duration(word_text(text), &us))
        return false;
    *position = (struct position){POSITION_TIME, (int64_t)us};
    return true;
}

bool position_parse(const char *text, struct position *position) {
    uint64_t event;
    if (number_parse(text, 0, UINT32_MAX, &event)) {
        *position = (struct position){POSITION_EVENT, (int64_t)event};
        return true;
    }
    return position_parse_relative(text, "peak", POSITION_PEAK, position) ||
           position_parse_relative(text, "oom", POSITION_OOM, position) ||
           position_parse_time(text, position);
}

int choice_of(const char *value, const char *words) {
    size_t length = strlen(value);
    for (int i = 0;; i++, words++) {
        size_t word = strcspn(words, "|");
        if (word == length && memcmp(words, value, length) == 0)
            return i;
        words += word;
        if (*words == '\0')
            return -1;
    }
}

bool ordinal_parse(const char *text, int32_t *ordinal) {
    uint64_t number = 0;
    bool cpu = strcmp(text, "-1") == 0, host = strcmp(text, "-2") == 0 || strcmp(text, "host") == 0;
    if (!cpu && !host && !number_parse(text, 0, INT32_MAX, &number))
        return false;
    *ordinal = cpu ? ORDINAL_CPU : host ? ORDINAL_HOST : (int32_t)number;
    return true;
}
