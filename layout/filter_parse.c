/* Parses a filter: text -> words (quotes, /.../) -> keys -> values. */
#include "base/suggest.h"
#include "base/units.h"
#include "layout/filter.h"

static bool is_blank(uint8_t byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Reads a value with its unit. False: it is not one. */
typedef bool read_value(struct text text, uint64_t *value);

/* The offset of ".."; nbytes: there is none. */
static uint32_t range_dots(struct text text) {
    for (uint32_t i = 0; i + 1 < text.nbytes; i++)
        if (text.at[i] == '.' && text.at[i + 1] == '.')
            return i;
    return text.nbytes;
}

/* In "500..900KiB" the first bound takes the unit of the second. */
static bool read_bound_with_unit(struct text bound, struct text other, read_value *read, uint64_t *value) {
    uint8_t text[64];
    uint32_t unit = 0, n = 0;
    while (unit < other.nbytes && (is_digit(other.at[unit]) || other.at[unit] == '.'))
        unit++;
    if (bound.nbytes + (other.nbytes - unit) > sizeof text)
        return false;
    for (uint32_t i = 0; i < bound.nbytes; i++)
        text[n++] = bound.at[i];
    for (; unit < other.nbytes; unit++)
        text[n++] = other.at[unit];
    return read((struct text){text, n}, value);
}

static bool is_bare_number(struct text text) {
    struct decimal decimal;
    return text.nbytes != 0 && decimal_read(&decimal, text) == text.nbytes;
}

static bool read_range(struct text text, uint32_t dots, read_value *read, struct filter_word *word) {
    struct text low = {text.at, dots}, high = text_from(text, dots + 2);
    word->low = 0;
    word->high = UINT64_MAX;
    if (low.nbytes == 0 && high.nbytes == 0)
        return false;
    if (high.nbytes != 0 && !read(high, &word->high))
        return false;
    if (low.nbytes == 0)
        return true;
    if (high.nbytes != 0 && is_bare_number(low))
        return read_bound_with_unit(low, high, read, &word->low);
    return read(low, &word->low);
}

/* ">100", ">=100", "<100", "<=100", "=100", "100", "100..200", "100..", "..200". Bounds that nothing can meet have
 * low above high. */
static bool read_bounds(struct text text, read_value *read, struct filter_word *word) {
    uint32_t dots = range_dots(text);
    uint64_t value;
    if (dots < text.nbytes)
        return read_range(text, dots, read, word);
    uint8_t sign = text.nbytes != 0 ? text.at[0] : '\0';
    bool equal = text.nbytes > 1 && text.at[1] == '=';
    uint32_t skip = sign == '>' || sign == '<' ? 1 + equal : sign == '=';
    if (!read(text_from(text, skip), &value))
        return false;
    *word = (struct filter_word){.kind = word->kind, .low = value, .high = value};
    if (sign == '>') {
        word->high = UINT64_MAX;
        word->low = equal || value == UINT64_MAX ? value : value + 1;
        if (!equal && value == UINT64_MAX)
            word->high = 0;
    } else if (sign == '<') {
        word->low = !equal && value == 0 ? 1 : 0;
        word->high = equal || value == 0 ? value : value - 1;
    }
    return true;
}

/* ---- keys: each function reads a value of the word's kind, and returns what is wrong with it, or NULL ---- */

static const char *value_of_size(struct text value, struct filter_word *word) {
    return read_bounds(value, units_size, word)
               ? NULL
               : "is not a size; sizes are like >100MiB, <=1GB or 500..900KiB";
}

static const char *value_of_age(struct text value, struct filter_word *word) {
    if (read_bounds(value, units_duration, word))
        return NULL;
    word->kind = FILTER_AGE_EVENTS;
    return read_bounds(value, units_count, word)
               ? NULL
               : "is not a lifetime; they are like <2ms, or 500..900 in events";
}

static uint32_t hex_digit(uint8_t byte) {
    int small = lower(byte);
    return small >= '0' && small <= '9'   ? (uint32_t)(small - '0')
           : small >= 'a' && small <= 'f' ? (uint32_t)(small - 'a') + 10
                                          : 16;
}

/* "0x7f00", up to 64 bits. */
static bool read_hex(struct text text, uint64_t *value) {
    uint64_t number = 0;
    if (text.nbytes < 3 || text.at[0] != '0' || lower(text.at[1]) != 'x')
        return false;
    for (uint32_t i = 2; i < text.nbytes; i++) {
        uint32_t digit = hex_digit(text.at[i]);
        if (digit == 16 || number >> 60 != 0)
            return false;
        number = number << 4 | digit;
    }
    *value = number;
    return true;
}

static const char *value_of_stream(struct text value, struct filter_word *word) {
    if (text_is_lower(value, "default") || units_count(value, &word->low))
        return NULL;
    word->kind = FILTER_STREAM_HANDLE;
    return read_hex(value, &word->low) ? NULL : "is not a stream; they are like 7, default or 0x55d0c8a0";
}

/* "0,1", "(0,1)" */
static bool read_pool_id(struct text value, struct filter_word *word) {
    uint32_t comma = 0;
    if (value.nbytes > 2 && value.at[0] == '(' && value.at[value.nbytes - 1] == ')')
        value = (struct text){value.at + 1, value.nbytes - 2};
    while (comma < value.nbytes && value.at[comma] != ',')
        comma++;
    if (comma == value.nbytes)
        return false;
    uint32_t second = comma + 1;
    while (second < value.nbytes && value.at[second] == ' ')
        second++;
    return units_count((struct text){value.at, comma}, &word->low) &&
           units_count(text_from(value, second), &word->high);
}

static const char *value_of_pool(struct text value, struct filter_word *word) {
    word->low = text_is_lower(value, "default") ? 1 : POOL_UNKNOWN;
    if (word->low == 1 || text_is_lower(value, "unknown") || units_count(value, &word->low))
        return NULL;
    word->kind = FILTER_POOL_PRIVATE;
    if (text_is_lower(value, "private"))
        return NULL;
    word->kind = FILTER_POOL_ID;
    return read_pool_id(value, word) ? NULL
                                     : "is not a pool; they are default, private, unknown, or like 0,1";
}

static const char *value_of_name(struct text value, struct filter_word *word) {
    word->text = (const char *)value.at;
    word->nbytes = value.nbytes;
    if (value.nbytes > FILTER_TEXT_MAX_NBYTES)
        return "is too long: 255 bytes at most";
    return value.nbytes != 0 ? NULL : "needs a value";
}

static const char *value_of_number(struct text value, struct filter_word *word) {
    return read_bounds(value, units_count, word) ? NULL
           : word->kind == FILTER_STEP           ? "is not a step; they are like 3 or 3..5"
                                                 : "is not a layer; they are like 3 or 3..5";
}

static const char *value_of_alive(struct text value, struct filter_word *word) {
    word->kind = text_is_lower(value, "end") ? FILTER_ALIVE_END : FILTER_ALIVE_PEAK;
    return text_is_lower(value, "end") || text_is_lower(value, "peak")
               ? NULL
               : "is neither alive:peak nor alive:end";
}

static const char *value_of_own(struct text value, struct filter_word *word) {
    word->low = text_is_lower(value, "yes");
    return word->low == 1 || text_is_lower(value, "no") ? NULL : "is neither own:yes nor own:no";
}

/* A key, and what to say of a word that is close to it. */
#define KEY(name, kind, read) \
    { name, "has no such key; did you mean \"" name ":\"? (quotes make it a text)", kind, read }

static const struct {
    const char *name, *meant;
    enum filter_kind kind;
    const char *(*read)(struct text value, struct filter_word *word);
} keys[] = {KEY("size", FILTER_SIZE, value_of_size),         KEY("age", FILTER_AGE_US, value_of_age),
            KEY("stream", FILTER_STREAM, value_of_stream),   KEY("pool", FILTER_POOL, value_of_pool),
            KEY("category", FILTER_CATEGORY, value_of_name), KEY("phase", FILTER_PHASE, value_of_name),
            KEY("step", FILTER_STEP, value_of_number),       KEY("file", FILTER_FILE, value_of_name),
            KEY("alive", FILTER_ALIVE_PEAK, value_of_alive), KEY("own", FILTER_OWN, value_of_own),
            KEY("layer", FILTER_LAYER, value_of_number),     KEY("block", FILTER_BLOCK, value_of_name)};

enum { N_KEYS = sizeof keys / sizeof *keys };

struct reader {
    const uint8_t *text;
    uint32_t nbytes, at;
    struct filter *filter;
};

/* The end of a quotation that begins at `at`: after its closing quote, or nbytes if it has none. */
static uint32_t quote_end(const struct reader *reader, uint32_t at) {
    for (at++; at < reader->nbytes; at++)
        if (reader->text[at] == '"')
            return at + 1;
    return reader->nbytes;
}

static uint32_t word_end(const struct reader *reader, uint32_t at) {
    while (at < reader->nbytes && !is_blank(reader->text[at]))
        at = reader->text[at] == '"' ? quote_end(reader, at) : at + 1;
    return at;
}

static bool is_flag(uint8_t byte) {
    return byte == 'i' || byte == 'c' || byte == 'g' || byte == 'm' || byte == 's' || byte == 'u' ||
           byte == 'y';
}

/* "/.../" may contain blanks: it ends at the first slash that is followed by flags, if any, and a blank or the end.
 * So a path such as /home/me/a.py is a text. Returns the closing slash; 0: none. */
static uint32_t regex_close(const struct reader *reader, uint32_t at) {
    for (uint32_t i = at + 1; i < reader->nbytes; i++) {
        if (reader->text[i] == '\\') {
            i++;
            continue;
        }
        uint32_t end = i + 1;
        if (reader->text[i] != '/')
            continue;
        while (end < reader->nbytes && is_flag(reader->text[end]))
            end++;
        if (i > at + 1 && (end == reader->nbytes || is_blank(reader->text[end])))
            return i;
    }
    return 0;
}

static const char *read_regex(struct reader *reader, uint32_t close, struct filter_word *word) {
    word->kind = FILTER_REGEX;
    word->text = (const char *)reader->text + reader->at + 1;
    word->nbytes = close - reader->at - 1;
    word->nth_regex = reader->filter->n_regexes++;
    for (reader->at = close + 1; reader->at < reader->nbytes && !is_blank(reader->text[reader->at]);
         reader->at++)
        word->sensitive |= reader->text[reader->at] == 'c';
    return word->nbytes <= FILTER_TEXT_MAX_NBYTES ? NULL : "is too long: 255 bytes at most";
}

/* The value without quotes around it. */
static struct text unquoted(struct text value) {
    bool quoted = value.nbytes >= 2 && value.at[0] == '"' && value.at[value.nbytes - 1] == '"';
    return quoted ? (struct text){value.at + 1, value.nbytes - 2} : value;
}

/* Would a word up to its colon be a key? At least three letters, and a value that is no path and has no second colon:
 * "train.py:41", "http://a" and "at::native" are texts. */
static bool is_like_key(struct text text, uint32_t colon) {
    for (uint32_t i = 0; i < colon; i++)
        if ((text.at[i] < 'a' || text.at[i] > 'z') && text.at[i] != '_')
            return false;
    return colon >= 3 && colon + 1 < text.nbytes && text.at[colon + 1] != ':' && text.at[colon + 1] != '/';
}

static const char *unknown_key(struct text key) {
    struct suggestion suggestion = suggestion_start(key);
    for (uint32_t i = 0; i < N_KEYS; i++)
        suggestion_offer(&suggestion, keys[i].name);
    for (uint32_t i = 0; i < N_KEYS; i++)
        if (keys[i].name == suggestion.closest)
            return keys[i].meant;
    return "has no such key; they are size, age, stream, pool, category, phase, step, file, alive, own, "
           "layer "
           "and block (quotes make it a text)";
}

static const char *read_key(struct text text, struct filter_word *word, bool *is_key) {
    uint32_t colon = 0;
    while (colon < text.nbytes && text.at[colon] != ':' && text.at[colon] != '"')
        colon++;
    *is_key = false;
    if (colon == text.nbytes || text.at[colon] == '"')
        return NULL;
    for (uint32_t i = 0; i < N_KEYS && !*is_key; i++)
        if (text_is_lower((struct text){text.at, colon}, keys[i].name)) {
            *is_key = true;
            word->kind = keys[i].kind;
            return keys[i].read(unquoted(text_from(text, colon + 1)), word);
        }
    *is_key = is_like_key(text, colon);
    return *is_key ? unknown_key((struct text){text.at, colon}) : NULL;
}

static const char *read_word(struct reader *reader, struct filter_word *word) {
    uint32_t close = reader->text[reader->at] == '/' ? regex_close(reader, reader->at) : 0;
    if (close != 0)
        return read_regex(reader, close, word);
    uint32_t end = word_end(reader, reader->at);
    struct text text = {reader->text + reader->at, end - reader->at};
    bool is_key;
    reader->at = end;
    const char *what = read_key(text, word, &is_key);
    if (is_key)
        return what;
    word->kind = FILTER_ADDRESS;
    if (read_hex(text, &word->low))
        return NULL;
    word->kind = FILTER_TEXT;
    return value_of_name(unquoted(text), word);
}

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->nbytes && is_blank(reader->text[reader->at]))
        reader->at++;
}

/* Moves behind what negates the next word: "-" or "!" in front of it, or "not" and blanks. */
static bool take_not(struct reader *reader) {
    uint32_t at = reader->at, next = at + 1;
    bool sign = reader->text[at] == '-' || reader->text[at] == '!';
    if (!sign && text_is_lower((struct text){reader->text + at, word_end(reader, at) - at}, "not"))
        for (next = at + 3; next < reader->nbytes && is_blank(reader->text[next]); next++)
            sign = true;
    if (!sign || next >= reader->nbytes || is_blank(reader->text[next]))
        return false;
    reader->at = next;
    return true;
}

bool filter_parse(struct filter *filter, const char *text, uint32_t nbytes, struct filter_error *error) {
    struct reader reader = {(const uint8_t *)text, nbytes, 0, filter};
    *filter = (struct filter){0};
    for (skip_blanks(&reader); reader.at < nbytes; skip_blanks(&reader)) {
        struct filter_word word = {0};
        uint32_t from = reader.at;
        bool full = filter->n_words == FILTER_WORDS_MAX, negated = take_not(&reader);
        const char *what = full ? "is one word more than the 32 allowed" : read_word(&reader, &word);
        if (what != NULL) {
            *error = (struct filter_error){what, from, full ? word_end(&reader, reader.at) : reader.at};
            *filter = (struct filter){0};
            return false;
        }
        word.negated = negated;
        word.from = from;
        word.until = reader.at;
        filter->word[filter->n_words++] = word;
    }
    return true;
}

bool filter_has(const struct filter *filter, enum filter_kind kind) {
    for (uint32_t i = 0; i < filter->n_words; i++)
        if (filter->word[i].kind == kind)
            return true;
    return false;
}
