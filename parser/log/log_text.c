#include "parser/log/log_text.h"

#include "base/text.h"
#include "base/units.h"

#include <string.h>

enum {
    PREFIX_NBYTES = 160, /* a time and a rank are within these */
    RANK_MAX = 1000000,
    UNIT_MAX = 5 /* letters of "bytes" */
};

/* No device has more, and sums of such sizes stay below 2^64. */
static const uint64_t SIZE_LIMIT = UINT64_C(1) << 46;
static const uint64_t COUNT_LIMIT = UINT64_C(1) << 53;

static bool is_letter(uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static uint8_t at_or_blank(struct text text, uint32_t at) {
    return at < text.nbytes ? text.at[at] : ' ';
}

/* Letters, digits and characters that join them to one word. */
static bool is_in_word(uint8_t byte) {
    return is_digit(byte) || is_letter(byte) || byte == '_';
}

uint32_t log_find(struct text text, uint32_t from, const char *word) {
    size_t length = strlen(word);
    while (from < text.nbytes && text.nbytes - from >= length) {
        const uint8_t *found = memchr(text.at + from, word[0], text.nbytes - from - length + 1);
        if (found == NULL)
            return LOG_NONE;
        if ((length == 1 || found[1] == (uint8_t)word[1]) && memcmp(found, word, length) == 0)
            return (uint32_t)(found - text.at);
        from = (uint32_t)(found - text.at) + 1;
    }
    return LOG_NONE;
}

uint32_t log_skip(struct text text, uint32_t at) {
    while (at < text.nbytes && strchr(" \t=:", text.at[at]) != NULL)
        at++;
    return at;
}

uint32_t log_count(struct text text, uint32_t at, uint64_t *count) {
    uint32_t first = at;
    uint64_t number = 0;
    for (; at < text.nbytes && is_digit(text.at[at]); at++) {
        number = number * 10 + (uint64_t)(text.at[at] - '0');
        if (number >= COUNT_LIMIT)
            return LOG_NONE;
    }
    uint8_t next = at_or_blank(text, at);
    if (at == first || is_letter(next) || (next == '.' && is_digit(at_or_blank(text, at + 1))))
        return LOG_NONE;
    *count = number;
    return at;
}

/* "GiB", "gb", "Mi", "G", "KBs", "bytes": case does not matter, except that "m" and "g" are other units. */
uint64_t log_unit(struct text text, uint32_t at, uint32_t *next) {
    static const char powers[] = "KMGT", *const ends[] = {"b", "ib", "i", "bs", ""};
    uint64_t unit = 0;
    while (at < text.nbytes && text.at[at] == ' ')
        at++;
    uint32_t end = at;
    while (end < text.nbytes && end - at <= UNIT_MAX && is_letter(text.at[end]))
        end++;
    struct text name = {text.at + at, end - at};
    if (name.nbytes == 0 || text_is(name, "K"))
        return 0;
    const char *power = strchr(powers, name.nbytes > 1 ? name.at[0] & 0x5f : name.at[0]);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && power != NULL; i++)
        if (text_is_lower(text_from(name, 1), ends[i]))
            unit = UINT64_C(1) << 10 * (power - powers + 1);
    if (text_is(name, "B") || text_is_lower(name, "byte") || text_is_lower(name, "bytes"))
        unit = 1;
    *next = unit != 0 ? end : *next;
    return unit;
}

/* Reads `width` digits at `at`; LOG_NONE: fewer digits, or a number above `most`. */
static uint32_t digits_read(struct text text, uint32_t at, uint32_t width, uint32_t most) {
    uint32_t number = 0;
    if (at + width > text.nbytes)
        return LOG_NONE;
    for (uint32_t i = 0; i < width; i++) {
        if (!is_digit(text.at[at + i]))
            return LOG_NONE;
        number = number * 10 + (uint32_t)(text.at[at + i] - '0');
    }
    return number <= most ? number : LOG_NONE;
}

/* A decimal number at `at`; digits may be grouped, "2,147,483,648". Returns its length; 0: none. */
static uint32_t number_read(struct text text, uint32_t at, struct decimal *decimal) {
    uint32_t length = at < text.nbytes ? decimal_read(decimal, text_from(text, at)) : 0, group;
    uint64_t whole = decimal->whole;
    bool grouped = length > 0 && length <= 3 && text.at[at] != '0' && at_or_blank(text, at + length) == ',';
    for (uint32_t next = at + length;
         grouped && at_or_blank(text, next) == ',' && whole < COUNT_LIMIT / 1000 &&
         (group = digits_read(text, next + 1, 3, 999)) != LOG_NONE && !is_digit(at_or_blank(text, next + 4));
         next += 4) {
        whole = whole * 1000 + group;
        *decimal = (struct decimal){.whole = whole};
        length = next + 4 - at;
    }
    return length;
}

static uint32_t size_within(struct text text, uint32_t at, uint64_t unit, uint64_t limit, uint64_t *nbytes) {
    struct decimal decimal = {0};
    uint32_t length = number_read(text, at, &decimal);
    uint32_t next = at + length;
    uint64_t product;
    if (length == 0)
        return LOG_NONE;
    uint64_t named = log_unit(text, next, &next);
    if (named == 0 && is_letter(at_or_blank(text, at + length)))
        return LOG_NONE; /* "1e400", "12x" */
    unit = named != 0 ? named : unit;
    bool again = at_or_blank(text, next) == '.' && is_digit(at_or_blank(text, next + 1)); /* "1.2.3" */
    if (unit == 0 || again || !decimal_times(&decimal, unit, &product) || product > limit)
        return LOG_NONE;
    *nbytes = product;
    return next;
}

uint32_t log_size(struct text text, uint32_t at, uint64_t unit, uint64_t *nbytes) {
    return size_within(text, at, unit, SIZE_LIMIT, nbytes);
}

uint32_t log_size_asked(struct text text, uint32_t at, uint64_t unit, uint64_t *nbytes) {
    return size_within(text, at, unit, COUNT_LIMIT, nbytes);
}

bool log_size_before(struct text text, uint32_t at, uint64_t *nbytes) {
    uint32_t begin = at, end;
    while (begin > 0 && text.at[begin - 1] == ' ')
        begin--;
    while (begin > 0 && is_letter(text.at[begin - 1]))
        begin--;
    while (begin > 0 && text.at[begin - 1] == ' ')
        begin--;
    while (begin > 0 && (is_digit(text.at[begin - 1]) || text.at[begin - 1] == '.'))
        begin--;
    if (begin > 0 && (is_letter(text.at[begin - 1]) || text.at[begin - 1] == '-'))
        return false;
    end = log_size(text, begin, 0, nbytes);
    while (end < at && text.at[end] == ' ')
        end++;
    return end == at;
}

/* ---- times ---- */

/* Days from 1970-01-01 to a date of the Gregorian calendar, years from 1970 on. */
static int64_t days_of(uint64_t year, uint64_t month, uint64_t day) {
    uint64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;
    return (int64_t)(365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1) - 719468;
}

static int64_t fraction_read(struct text text, uint32_t at) {
    int64_t us = 0, unit = 100000;
    uint8_t point = at_or_blank(text, at);
    if (point != '.' && point != ',')
        return 0;
    for (at++; at < text.nbytes && is_digit(text.at[at]) && unit > 0; at++, unit /= 10)
        us += unit * (text.at[at] - '0');
    return us;
}

static bool time_at(struct text text, uint32_t at, int64_t *us) {
    static const uint8_t places[] = {5, 8, 11, 14, 17}, most[] = {12, 31, 23, 59, 60};
    uint32_t year = digits_read(text, at, 4, 9999), field[5];
    uint8_t dash = at_or_blank(text, at + 4), gap = at_or_blank(text, at + 10);
    if (year == LOG_NONE || year < 1970 || (dash != '-' && dash != '/') ||
        at_or_blank(text, at + 7) != dash || strchr(" T_-", gap) == NULL)
        return false;
    for (unsigned i = 0; i < 5; i++)
        if ((field[i] = digits_read(text, at + places[i], 2, most[i])) == LOG_NONE)
            return false;
    if (at_or_blank(text, at + 13) != ':' || at_or_blank(text, at + 16) != ':' || field[0] == 0 ||
        field[1] == 0)
        return false;
    int64_t seconds = days_of(year, field[0], field[1]) * 86400 + (int64_t)field[2] * 3600 +
                      (int64_t)field[3] * 60 + field[4];
    *us = seconds * 1000000 + fraction_read(text, at + 19);
    return true;
}

bool log_time(struct text text, int64_t *us) {
    for (uint32_t at = 0; at + 19 <= text.nbytes && at < PREFIX_NBYTES; at++)
        if (is_digit(text.at[at]) && (at == 0 || !is_digit(text.at[at - 1])) && time_at(text, at, us))
            return true;
    return false;
}

/* ---- patterns ---- */

/* The bytes of a level's name; 0: there is none. */
static uint32_t level_length(struct text text, uint32_t at) {
    static const char *const levels[] = {"INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL", "root"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (at_or_blank(text, at) == (uint8_t)levels[i][0] && text_has_at(text, at, levels[i]))
            return (uint32_t)strlen(levels[i]);
    return 0;
}

static bool is_class(char byte) {
    return byte == '#' || byte == '%' || byte == '~' || byte == '@' || byte == '$' || byte == '&' ||
           byte == '^';
}

static bool class_has(char class, uint8_t byte) {
    switch (class) {
    case '%': return is_in_word(byte) || byte == '.' || byte == '-';
    case '~': return byte == ' ';
    case '@': return byte != ' ';
    case '&': return byte == ' ' || byte == '=' || byte == ':' || byte == '_' || byte == '-';
    default: return byte != ')';
    }
}

uint32_t log_match(struct text text, uint32_t at, const char *pattern, struct text *name, uint64_t *number) {
    for (uint64_t count = 0; *pattern != '\0'; pattern++) {
        uint32_t n = 0, least = *pattern != '~' && *pattern != '&',
                 most = *pattern == '&' ? 2 : PREFIX_NBYTES, next;
        if (*pattern == '#') {
            if ((next = log_count(text, at, &count)) == LOG_NONE)
                return LOG_NONE;
            *(number != NULL ? number : &count) = count;
            at = next;
        } else if (*pattern == '^' || !is_class(*pattern)) {
            n = *pattern == '^' ? level_length(text, at)
                                : at < text.nbytes && text.at[at] == (uint8_t)*pattern;
            if (n == 0)
                return LOG_NONE;
            at += n;
        } else {
            bool any = is_class(pattern[1]) || pattern[1] == '\0';
            for (; n <= most && at + n <= text.nbytes; n++) {
                bool fits = n >= least && (any || at_or_blank(text, at + n) == (uint8_t)pattern[1]);
                if (fits && (next = log_match(text, at + n, pattern + 1, NULL, number)) != LOG_NONE) {
                    if (name != NULL)
                        *name = (struct text){text.at + at, n};
                    return next;
                }
                if (at + n == text.nbytes || !class_has(*pattern, text.at[at + n]))
                    break;
            }
            return LOG_NONE;
        }
    }
    return at;
}

bool log_search(struct text text, const char *pattern, struct text *name, uint64_t *number) {
    for (uint32_t at = 0; at < text.nbytes; at++)
        if (text.at[at] == (uint8_t)*pattern && log_match(text, at, pattern, name, number) != LOG_NONE)
            return true;
    return false;
}

/* ---- ranks ---- */

/* "[2025-11-10 19:59:09 TP1]" of SGLang, "(Worker_TP0 pid=9)" of vLLM; not if other kinds of ranks are beside it. */
static uint32_t rank_of_server(struct text text) {
    static const char *const patterns[] = {" TP#]", " TP# ", " TP#_", "_TP#]", "_TP# ", "_TP#_"};
    struct text head = {text.at, text.nbytes < 96 ? text.nbytes : 96};
    uint64_t rank = LOG_NONE;
    if (log_find(head, 0, "TP") == LOG_NONE || log_find(head, 0, "DP") != LOG_NONE ||
        log_find(head, 0, "PP") != LOG_NONE)
        return LOG_NONE;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && rank == LOG_NONE; i++)
        (void)log_search(head, patterns[i], NULL, &rank);
    return rank < RANK_MAX ? (uint32_t)rank : LOG_NONE;
}

/* torchrun and loggers, wherever they put it; Arctic Training, Open MPI's --tag-output and srun -l, at the beginning. */
uint32_t log_rank(struct text text) {
    static const char *const inside[] = {"rank&#", "Rank&#", "RANK&#", "[default&#"}, *const first[] = {
                                                                                          "~[#] mp: ",
                                                                                          "~[#,#]<std",
                                                                                          "~#: "};
    uint64_t rank;
    for (uint32_t at = 0; at < text.nbytes && at < PREFIX_NBYTES; at++) {
        uint8_t byte = text.at[at];
        if ((byte != 'r' && byte != 'R' && byte != '[') || (at > 0 && is_in_word(text.at[at - 1])))
            continue;
        for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
            if (log_match(text, at, inside[i], NULL, &rank) != LOG_NONE && rank < RANK_MAX)
                return (uint32_t)rank;
    }
    uint32_t server = rank_of_server(text);
    for (size_t i = 0; i < sizeof first / sizeof *first && server == LOG_NONE; i++)
        if (log_match(text, 0, first[i], NULL, &rank) <= 24 && rank < RANK_MAX)
            return (uint32_t)rank;
    return server;
}

/* ---- messages ---- */

/* The place after a group in brackets; `at` if there is none. */
static uint32_t group_skip(struct text text, uint32_t at) {
    uint32_t end = at;
    if (at_or_blank(text, at) != '[' && at_or_blank(text, at) != '(')
        return at;
    while (end < text.nbytes && end - at < PREFIX_NBYTES && text.at[end] != ']' && text.at[end] != ')')
        end++;
    return end < text.nbytes && end - at < PREFIX_NBYTES ? end + 1 : at;
}

/* The place after a word of a logger (a time, a level, "mp:"); `at` if there is none. */
static uint32_t logger_word_skip(struct text text, uint32_t at) {
    uint32_t end = at, digits = 0, others = 0;
    while (end < text.nbytes && text.at[end] != ' ') {
        digits += is_digit(text.at[end]);
        others += is_letter(text.at[end]);
        end++;
    }
    if (end == at || level_length(text, at) == end - at || (others == 0 && digits >= 4) ||
        (digits + others == 0) || (end - at == 3 && memcmp(text.at + at, "mp:", 3) == 0))
        return end;
    return at;
}

struct text log_message(struct text text) {
    uint32_t at = 0, next = 0;
    do {
        at = log_skip(text, next);
        next = group_skip(text, at);
        if (next == at)
            next = logger_word_skip(text, at);
    } while (next != at && next < text.nbytes);
    at = next < text.nbytes ? at : text.nbytes;
    while (text.nbytes > at && strchr(" \t", text.at[text.nbytes - 1]) != NULL)
        text.nbytes--;
    return (struct text){text.at + at, text.nbytes > at ? text.nbytes - at : 0};
}

/* ---- wrappers ---- */

/* What programs put before a line that they keep or hand on (log_match). */
static const char *const prefixes[] = {
    "\xef\xbb\xbf",       /* the mark of UTF-8 */
    "> ",                 /* a quote */
    "`",                  /* Markdown */
    "[rank#]: ",          /* torchrun */
    "^:%:",               /* logging.basicConfig */
    "#-#-# @ - % - ^ - ", /* logging with the logger's name */
    "#-#-# @ - ^ - ",     /* logging */
    "#-#-# @ | ^~| @ - ", /* loguru */
    "^~| #-#-# @ | @ - ", /* loguru in autotrain */
    "[#:#:#] ^~",         /* rich's handler */
    "@ stderr F ",        /* containerd */
    "@ stdout F ",
    "%-#~| ",    /* docker compose */
    "($pid=#) ", /* Ray */
    "($pid=#, $) ",
    "%~# @ @ %[#]: ", /* syslog */
    "@ @ %[#]: ",     /* syslog with ISO times */
};

/* The place after the quote of the text in a line of JSON: {"level":"info","message":"...; `at` if there is none. */
static uint32_t json_skip(struct text text, uint32_t at) {
    static const char *const keys[] = {"\"log\":", "\"message\":", "\"msg\":", "\"text\":", "\"event\":"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys && text_has_at(text, at, "{\""); i++) {
        uint32_t key = log_find(text, at, keys[i]);
        uint32_t quote = key != LOG_NONE ? log_skip(text, key + (uint32_t)strlen(keys[i])) : LOG_NONE;
        struct text before = {text.at + at, key != LOG_NONE ? key - at : 0};
        if (quote != LOG_NONE && at_or_blank(text, quote) == '"' && !text_contains(before, "mem"))
            return quote + 1;
    }
    return at;
}

struct text log_unwrapped(struct text text) {
    uint32_t at = 0, next;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes;) {
        next = log_match(text, at, prefixes[i], NULL, NULL);
        next = next == LOG_NONE && i == 0 ? json_skip(text, at) : next;
        i = next != LOG_NONE && next != at && next < text.nbytes ? 0 : i + 1;
        at = i == 0 ? next : at;
    }
    text = text_from(text, at);
    while (text_ends(text, "`") || text_ends(text, "<br/>") || text_ends(text, "\\"))
        text.nbytes -= text_ends(text, "<br/>") ? 5 : 1;
    while (text_ends(text, " ") || text_ends(text, "\t"))
        text.nbytes--;
    return text;
}
