#include "analysis/model/allocator_settings.h"

#include "base/numbers.h"
#include "base/words.h"

enum { LARGE_SEGMENT_MIB = 20, MILLION = 1000000, RESERVE_GIB_MOST = 1 << 20 };

struct allocator_settings allocator_settings_default(void) {
    return (struct allocator_settings){.expandable_private = true,
                                       .max_split_bytes = ALLOCATOR_UNLIMITED,
                                       .large_segment_bytes = LARGE_SEGMENT_MIB * MIB};
}

/* ---- settings as people write them ---- */

struct conf {
    const char *text;
    size_t nbytes, at;
};

static bool is_mark(char c) {
    return c == ',' || c == ':' || c == '[' || c == ']' || c == ' ';
}

static void conf_skip_blanks(struct conf *conf) {
    while (conf->at < conf->nbytes && conf->text[conf->at] == ' ')
        conf->at++;
}

static bool conf_take(struct conf *conf, char mark) {
    conf_skip_blanks(conf);
    bool there = conf->at < conf->nbytes && conf->text[conf->at] == mark;
    conf->at += there;
    return there;
}

static struct text conf_next(struct conf *conf) {
    conf_skip_blanks(conf);
    struct text word = {(const uint8_t *)conf->text + conf->at, 0};
    while (conf->at < conf->nbytes && !is_mark(conf->text[conf->at])) {
        conf->at++;
        word.nbytes++;
    }
    return word;
}

static bool word_number(struct text word, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < word.nbytes; i++) {
        unsigned digit = (unsigned)(word.at[i] - '0');
        if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return word.nbytes != 0;
}

static bool is_power_of_two(uint64_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

/* "0.8" in millionths, of which `most` are allowed, without floating point: digits beyond the sixth are cut. */
static bool word_millionths(struct text word, uint64_t most, uint64_t *millionths) {
    uint64_t whole = 0, scale = MILLION;
    bool point = false;
    for (size_t i = 0; i < word.nbytes; i++) {
        if (word.at[i] == '.' && !point) {
            point = true;
            continue;
        }
        unsigned digit = (unsigned)(word.at[i] - '0');
        if (digit > 9 || whole > most)
            return false;
        scale = point ? scale / 10 : scale;
        whole += point ? digit * scale : 0;
        if (!point)
            whole = whole * 10 + digit * (uint64_t)MILLION;
    }
    *millionths = whole;
    return word.nbytes != 0 && whole <= most;
}

static bool word_ppm(struct text word, uint32_t *ppm) {
    uint64_t millionths = 0;
    bool fine = word_millionths(word, MILLION, &millionths);
    *ppm = (uint32_t)millionths;
    return fine;
}

/* ---- one function per key ---- */

static bool take_bool(struct allocator_settings *settings, struct conf *conf) {
    struct text word = conf_next(conf);
    settings->expandable = text_is(word, "True");
    settings->told.expandable = true;
    return settings->expandable || text_is(word, "False");
}

static bool take_mib(struct conf *conf, uint64_t least, uint64_t *nbytes) {
    uint64_t mib;
    if (!word_number(conf_next(conf), &mib) || mib < least)
        return false;
    *nbytes = mib < UINT64_MAX / MIB ? mib * MIB : ALLOCATOR_UNLIMITED;
    return true;
}

static bool take_split(struct allocator_settings *settings, struct conf *conf) {
    return take_mib(conf, LARGE_SEGMENT_MIB, &settings->max_split_bytes);
}

static bool take_non_split(struct allocator_settings *settings, struct conf *conf) {
    return take_mib(conf, LARGE_SEGMENT_MIB, &settings->non_split_bytes);
}

static bool take_large_segment(struct allocator_settings *settings, struct conf *conf) {
    return take_mib(conf, LARGE_SEGMENT_MIB, &settings->large_segment_bytes) &&
           settings->large_segment_bytes <= UINT64_C(1) << 40;
}

static bool take_threshold(struct allocator_settings *settings, struct conf *conf) {
    return word_ppm(conf_next(conf), &settings->collect_ppm) && settings->collect_ppm > 0 &&
           settings->collect_ppm < MILLION;
}

/* "0.1" of the device, or "40G" */
static bool take_reserve(struct allocator_settings *settings, struct conf *conf) {
    struct text word = conf_next(conf);
    settings->reserve_ppm = 0;
    settings->reserve_gib_ppm = 0;
    if (word.nbytes == 0 || word.at[word.nbytes - 1] != 'G')
        return word_ppm(word, &settings->reserve_ppm) && settings->reserve_ppm != 0;
    word.nbytes--;
    return word_millionths(word, RESERVE_GIB_MOST * (uint64_t)MILLION, &settings->reserve_gib_ppm) &&
           settings->reserve_gib_ppm != 0;
}

static bool take_fraction(struct allocator_settings *settings, struct conf *conf) {
    return word_ppm(conf_next(conf), &settings->fraction_ppm);
}

static void roundup_fill(struct allocator_settings *settings, unsigned from, unsigned to,
                         uint64_t divisions) {
    for (unsigned i = from; i < to; i++)
        settings->roundup[i] = (uint32_t)divisions;
}

static bool take_divisions(struct conf *conf, uint64_t *divisions) {
    return word_number(conf_next(conf), divisions) && *divisions <= UINT32_MAX &&
           (*divisions == 0 || is_power_of_two(*divisions));
}

/* "256:1,512:2,>:8]": the first one also holds for everything smaller. */
static bool take_classes(struct allocator_settings *settings, struct conf *conf) {
    unsigned last = 0;
    for (bool first = true; !conf_take(conf, ']'); first = false) {
        struct text bound = conf_next(conf);
        uint64_t mib = 0, divisions;
        bool rest = text_is(bound, ">");
        if (!rest && (!word_number(bound, &mib) || !is_power_of_two(mib)))
            return false;
        if (!conf_take(conf, ':') || !take_divisions(conf, &divisions))
            return false;
        unsigned index = rest || log2_of(mib) >= ROUNDUP_CLASSES ? ROUNDUP_CLASSES - 1 : log2_of(mib);
        roundup_fill(settings, rest ? last + 1 : first ? 0 : index, index + 1, divisions);
        last = index;
        (void)conf_take(conf, ',');
    }
    return true;
}

static bool take_roundup(struct allocator_settings *settings, struct conf *conf) {
    uint64_t divisions;
    roundup_fill(settings, 0, ROUNDUP_CLASSES, 0);
    if (conf_take(conf, '['))
        return take_classes(settings, conf);
    if (!take_divisions(conf, &divisions))
        return false;
    roundup_fill(settings, 0, ROUNDUP_CLASSES, divisions);
    return true;
}

static const struct {
    const char *name;
    bool (*take)(struct allocator_settings *settings, struct conf *conf);
} keys[] = {
    {"expandable_segments", take_bool},
    {"expandable_segments_reserve", take_reserve},
    {"garbage_collection_threshold", take_threshold},
    {"large_segment_size_mb", take_large_segment},
    {"max_non_split_rounding_mb", take_non_split},
    {"max_split_size_mb", take_split},
    {"per_process_memory_fraction", take_fraction},
    {"roundup_power2_divisions", take_roundup},
};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

/* Known to PyTorch, but without effect here. */
static bool key_is_idle(struct text key) {
    static const char *const idle[] = {"backend",
                                       "release_lock_on_cudamalloc",
                                       "release_lock_on_hipmalloc",
                                       "graph_capture_record_stream_reuse",
                                       "expandable_segments_reserve_by_class",
                                       "throw_on_cudamalloc_oom"};
    if (key.nbytes > 7 && text_begins(key, "pinned_"))
        return true;
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (text_is(key, idle[i]))
            return true;
    return false;
}

/* Skips to the comma that ends a value, over those inside brackets. */
static void value_skip(struct conf *conf) {
    for (int depth = 0; conf->at < conf->nbytes; conf->at++) {
        char c = conf->text[conf->at];
        depth += (c == '[') - (c == ']');
        if (c == ',' && depth <= 0)
            return;
    }
}

static enum settings_problem key_add(struct allocator_settings *settings, struct conf *conf) {
    struct text key = conf_next(conf);
    for (unsigned i = 0; i < N_KEYS; i++)
        if (text_is(key, keys[i].name)) {
            struct allocator_settings changed = *settings;
            if (!conf_take(conf, ':') || !keys[i].take(&changed, conf))
                return SETTINGS_WRONG;
            *settings = changed;
            conf_skip_blanks(conf);
            return conf->at == conf->nbytes || conf->text[conf->at] == ',' ? SETTINGS_FINE : SETTINGS_WRONG;
        }
    return key_is_idle(key) ? SETTINGS_FINE : SETTINGS_UNKNOWN;
}

enum settings_problem allocator_settings_add(struct allocator_settings *settings, const char *text,
                                             size_t nbytes, size_t *bad_at) {
    struct conf conf = {text, nbytes, 0};
    enum settings_problem problem = SETTINGS_FINE;
    *bad_at = 0;
    while (conf.at < nbytes) {
        conf_skip_blanks(&conf);
        size_t from = conf.at;
        if (from == nbytes)
            break;
        enum settings_problem now = conf.text[from] == ',' ? SETTINGS_FINE : key_add(settings, &conf);
        if (now != SETTINGS_FINE && settings->n_unread < SETTINGS_UNREAD_TOLD)
            settings->unread[settings->n_unread++] = conf_next(&(struct conf){text, nbytes, from});
        if (now != SETTINGS_FINE && problem == SETTINGS_FINE) {
            problem = now;
            *bad_at = from;
        }
        value_skip(&conf);
        conf.at++;
    }
    return problem;
}

/* ---- settings of a command line: "key=value" or "key:value" ---- */

/* Spells it with a colon. False: it is too long. */
static bool set_text(const char *text, char out[ALLOCATOR_SETTINGS_TEXT]) {
    bool equals = false;
    size_t length = word_length(text);
    if (length >= ALLOCATOR_SETTINGS_TEXT)
        return false;
    for (size_t i = 0; i <= length; i++) {
        out[i] = text[i] == '=' && !equals ? ':' : text[i];
        equals |= text[i] == '=' || text[i] == ':';
    }
    return true;
}

bool allocator_setting_is_fine(const char *text) {
    char spelled[ALLOCATOR_SETTINGS_TEXT];
    struct allocator_settings settings = allocator_settings_default();
    size_t bad_at;
    return set_text(text, spelled) && spelled[0] != '\0' &&
           allocator_settings_add(&settings, spelled, word_length(spelled), &bad_at) == SETTINGS_FINE;
}

/* The next of the settings in alphabetical order after `last`; NULL: none. */
static const char *set_behind(const char *const *set, uint32_t n_set, const char *last) {
    const char *next = NULL;
    for (uint32_t i = 0; i < n_set; i++)
        if ((last == NULL || word_is_before(last, set[i])) && (next == NULL || word_is_before(set[i], next)))
            next = set[i];
    return next;
}

void allocator_settings_join(char text[ALLOCATOR_SETTINGS_TEXT], const char *const *set, uint32_t n_set) {
    struct words words = {text, ALLOCATOR_SETTINGS_TEXT, 0};
    char spelled[ALLOCATOR_SETTINGS_TEXT];
    for (const char *one = set_behind(set, n_set, NULL); one != NULL; one = set_behind(set, n_set, one))
        if (set_text(one, spelled)) {
            words_say(&words, words.nbytes != 0 ? "," : "");
            words_say(&words, spelled);
        }
    (void)words_end(&words);
}

/* ---- settings in a snapshot: JSON, as the reader stored it ---- */

struct json_scan {
    const uint8_t *at, *end;
};

static void scan_blanks(struct json_scan *scan) {
    while (scan->at < scan->end && (*scan->at == ' ' || (*scan->at >= '\t' && *scan->at <= '\r')))
        scan->at++;
}

static bool scan_take(struct json_scan *scan, uint8_t mark) {
    scan_blanks(scan);
    bool there = scan->at < scan->end && *scan->at == mark;
    scan->at += there;
    return there;
}

/* The inside of a string, with escapes unchanged: no key or value that counts has one. */
static struct text scan_string(struct json_scan *scan) {
    struct text word = {scan->at, 0};
    if (!scan_take(scan, '"'))
        return word;
    word.at = scan->at;
    while (scan->at < scan->end && *scan->at != '"')
        scan->at += *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
    word.nbytes = (uint32_t)(scan->at - word.at);
    scan->at += scan->at < scan->end;
    return word;
}

/* Any value; its text. */
static struct text scan_value(struct json_scan *scan) {
    scan_blanks(scan);
    struct text word = {scan->at, 0};
    if (scan->at < scan->end && *scan->at == '"')
        return scan_string(scan);
    for (int depth = 0; scan->at < scan->end; scan->at++) {
        uint8_t c = *scan->at;
        if (c == '"') {
            (void)scan_string(scan);
            scan->at--;
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            break;
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    }
    word.nbytes = (uint32_t)(scan->at - word.at);
    return word;
}

/* Begins to read an object. False: it is none. */
static bool scan_object(struct json_scan *scan, struct text text) {
    *scan = (struct json_scan){text.at, text.at + text.nbytes};
    return scan_take(scan, '{');
}

/* The next member of an object. False: there are no more, or something else follows. */
static bool scan_member(struct json_scan *scan, struct text *key, struct text *value) {
    const uint8_t *from = scan->at;
    if (scan->at == scan->end || scan_take(scan, '}'))
        return false;
    *key = scan_string(scan);
    (void)scan_take(scan, ':');
    *value = scan_value(scan);
    (void)scan_take(scan, ',');
    return scan->at != from;
}

/* {"1": 0, "2": 4, ...}: keys are MiB. */
static void read_roundup(struct allocator_settings *settings, struct text value) {
    struct json_scan scan;
    struct text key, number;
    uint64_t mib, divisions;
    if (!scan_object(&scan, value))
        return;
    while (scan_member(&scan, &key, &number))
        if (word_number(key, &mib) && is_power_of_two(mib) && log2_of(mib) < ROUNDUP_CLASSES &&
            word_number(number, &divisions) && divisions <= UINT32_MAX &&
            (divisions == 0 || is_power_of_two(divisions)))
            settings->roundup[log2_of(mib)] = (uint32_t)divisions;
}

/* -1 and 2^64 - 1 both mean none. */
static void read_split(struct allocator_settings *settings, struct text value) {
    uint64_t nbytes;
    if (word_number(value, &nbytes) && nbytes > 0 && nbytes < UINT64_C(1) << 60)
        settings->max_split_bytes = nbytes;
    settings->told.max_split = value.nbytes != 0 && value.at[-1] != '"' && value.at[0] <= '9';
}

/* PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF, PYTORCH_NPU_ALLOC_CONF and the like. */
static bool names_variable(struct text key) {
    return text_begins(key, "PYTORCH_") && text_ends(key, "_ALLOC_CONF");
}

static void read_key(struct allocator_settings *settings, struct text key, struct text value) {
    size_t bad_at;
    uint32_t ppm;
    if (names_variable(key))
        (void)allocator_settings_add(settings, (const char *)value.at, value.nbytes, &bad_at);
    else if (text_is(key, "expandable_segments"))
        settings->expandable =
            (settings->told.expandable = true) && (text_is(value, "true") || text_is(value, "1"));
    else if (text_is(key, "max_split_size"))
        read_split(settings, value);
    else if (text_is(key, "roundup_power2_divisions"))
        read_roundup(settings, value);
    else if (text_is(key, "garbage_collection_threshold"))
        settings->collect_ppm = (settings->told.collect = true) && word_ppm(value, &ppm) ? ppm : 0;
}

bool allocator_settings_read(struct allocator_settings *settings, const struct trace *trace) {
    struct json_scan scan;
    struct text key, value;
    *settings = allocator_settings_default();
    if (!scan_object(&scan, trace_text(trace, trace->settings)))
        return false;
    while (scan_member(&scan, &key, &value))
        read_key(settings, key, value);
    return true;
}

struct text allocator_variable(const struct trace *trace) {
    struct text found = word_text("PYTORCH_CUDA_ALLOC_CONF"), key, value;
    struct json_scan scan;
    bool newer = false;
    if (!scan_object(&scan, trace_text(trace, trace->settings)))
        return found;
    while (scan_member(&scan, &key, &value)) {
        newer |= text_is(key, "graph_capture_record_stream_reuse");
        if (names_variable(key) && key.nbytes < 40)
            found = key;
    }
    return newer && text_is(found, "PYTORCH_CUDA_ALLOC_CONF") ? word_text("PYTORCH_ALLOC_CONF") : found;
}

/* ---- as text ---- */

static void print_key(struct words *words, const char *key) {
    words_say(words, words->nbytes != 0 ? "," : "");
    words_say(words, key);
    words_say(words, ":");
}

static void print_mib(struct words *words, const char *key, uint64_t nbytes) {
    print_key(words, key);
    words_number(words, nbytes / MIB);
}

static void print_ppm(struct words *words, const char *key, uint64_t ppm) {
    char digits[8] = {0};
    print_key(words, key);
    WORDS_TELL(words, "%d.", ppm / MILLION);
    for (uint64_t i = 0, rest = ppm % MILLION, scale = MILLION / 10; i < 6 && (rest != 0 || i == 0); i++) {
        digits[i] = (char)('0' + rest / scale);
        rest %= scale;
        scale /= 10;
    }
    words_say(words, digits);
}

static void print_roundup(struct words *words, const uint32_t *roundup) {
    bool one = true;
    for (unsigned i = 1; i < ROUNDUP_CLASSES; i++)
        one &= roundup[i] == roundup[0];
    if (one && roundup[0] == 0)
        return;
    print_key(words, "roundup_power2_divisions");
    if (one) {
        words_number(words, roundup[0]);
        return;
    }
    for (unsigned i = 0; i < ROUNDUP_CLASSES; i++)
        WORDS_TELL(words, i == 0 ? "[%d:%d" : ",%d:%d", UINT64_C(1) << i, roundup[i]);
    words_say(words, "]");
}

void allocator_settings_print(const struct allocator_settings *settings, char text[ALLOCATOR_SETTINGS_TEXT]) {
    struct words words = {text, ALLOCATOR_SETTINGS_TEXT, 0};
    if (settings->expandable)
        words_say(&words, "expandable_segments:True");
    if (settings->reserve_ppm != 0)
        print_ppm(&words, "expandable_segments_reserve", settings->reserve_ppm);
    if (settings->reserve_gib_ppm != 0) {
        print_ppm(&words, "expandable_segments_reserve", settings->reserve_gib_ppm);
        words_say(&words, "G");
    }
    if (settings->collect_ppm != 0)
        print_ppm(&words, "garbage_collection_threshold", settings->collect_ppm);
    if (settings->large_segment_bytes != LARGE_SEGMENT_MIB * MIB)
        print_mib(&words, "large_segment_size_mb", settings->large_segment_bytes);
    if (settings->non_split_bytes != 0)
        print_mib(&words, "max_non_split_rounding_mb", settings->non_split_bytes);
    if (settings->max_split_bytes != ALLOCATOR_UNLIMITED)
        print_mib(&words, "max_split_size_mb", settings->max_split_bytes);
    if (settings->fraction_ppm != 0)
        print_ppm(&words, "per_process_memory_fraction", settings->fraction_ppm);
    print_roundup(&words, settings->roundup);
    (void)words_end(&words);
}
