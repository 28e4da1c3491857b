#include "base/format.h"

#include "base/numbers.h"
#include "base/words.h"

static struct words words_of(struct figure *figure) {
    return (struct words){figure->text, sizeof figure->text, 0};
}

/* `whole`.`tenths` and a unit; the decimal is left out where it says nothing. */
static struct figure figure_of_tenths(uint64_t tenths, bool exact, const char *unit) {
    struct figure figure;
    struct words words = words_of(&figure);
    words_add_count(&words, tenths / 10);
    if (!exact) {
        words_say(&words, ".");
        words_number(&words, tenths % 10);
    }
    words_say(&words, " ");
    words_say(&words, unit);
    words_end(&words);
    return figure;
}

static struct figure figure_of_two(const char *first, const char *second) {
    struct figure figure;
    struct words words = words_of(&figure);
    words_say(&words, first);
    words_say(&words, second);
    words_end(&words);
    return figure;
}

static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

struct figure format_bytes(uint64_t bytes) {
    unsigned unit = 0;
    while (unit < 6 && bytes >> (10 * unit) >= 1024)
        unit++;
    for (;; unit++) {
        uint64_t one = UINT64_C(1) << (10 * unit);
        uint64_t rest = bytes % one;
        uint64_t tenths = bytes / one * 10 + (rest * 10 + one / 2) / one;
        /* A value that rounds up to 1024 is written in the next unit. */
        if (tenths < 10240 || unit == 6)
            return figure_of_tenths(tenths, rest == 0 && unit < 3, units[unit]);
    }
}

struct figure format_bytes_change(int64_t bytes) {
    return figure_of_two(bytes < 0 ? "-" : bytes > 0 ? "+" : "", format_bytes(magnitude_of(bytes)).text);
}

struct figure format_count(uint64_t count) {
    char digits[24];
    struct words plain = {digits, sizeof digits, 0};
    struct figure figure;
    char *to = figure.text;
    words_number(&plain, count);
    for (uint32_t i = 0; i < plain.nbytes; i++) {
        if (i > 0 && (plain.nbytes - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return figure;
}

static struct figure figure_of_pair(uint64_t first, const char *first_unit, uint64_t second,
                                    const char *second_unit) {
    struct figure figure;
    struct words words = words_of(&figure);
    words_add_count(&words, first);
    words_say(&words, " ");
    words_say(&words, first_unit);
    if (second != 0) {
        words_say(&words, " ");
        words_number(&words, second);
        words_say(&words, " ");
        words_say(&words, second_unit);
    }
    words_end(&words);
    return figure;
}

enum { HUNDREDTHS = 8 }; /* flag in what format_unit returns: two decimals; the other bits are the unit */

/* Figures of 1,000 and more move to the next unit, so that one table has 0.98 GiB beside 1.02 GiB. */
unsigned format_unit(uint64_t most) {
    unsigned unit = 0;
    while (unit < 6 && most >> (10 * unit) >= 1000)
        unit++;
    return unit == 0 || most >> (10 * unit) >= 100 ? unit : unit | HUNDREDTHS;
}

unsigned format_unit_fine(uint64_t most) {
    unsigned unit = format_unit(most), plain = unit & (HUNDREDTHS - 1);
    if (plain < 3)
        return unit;
    return plain == unit ? unit | HUNDREDTHS : plain - 1;
}

/* Rounds half up. */
struct figure format_bytes_in(uint64_t bytes, unsigned unit) {
    struct figure figure;
    struct words words = words_of(&figure);
    const uint32_t parts = (unit & HUNDREDTHS) != 0 ? 100 : 10;
    unit &= HUNDREDTHS - 1;
    uint64_t one = UINT64_C(1) << (10 * unit), shift = unit == 6 ? 10 : 0; /* 100 EiB exceed 64 bits */
    uint64_t shown = ((bytes % one >> shift) * parts + (one >> shift) / 2) / (one >> shift);
    uint64_t whole = bytes / one + shown / parts;
    if (bytes != 0 && whole == 0 && shown == 0)
        words_say(&words, parts == 100 ? "<0.01" : "<0.1");
    else {
        words_add_count(&words, whole);
        if (unit > 0) {
            words_say(&words, parts == 100 && shown % parts < 10 ? ".0" : ".");
            words_number(&words, (uint32_t)(shown % parts));
        }
    }
    words_say(&words, " ");
    words_say(&words, units[unit]);
    words_end(&words);
    return figure;
}

struct figure format_change_in(int64_t bytes, unsigned unit) {
    return figure_of_two(bytes < 0   ? "-"
                         : bytes > 0 ? "+"
                                     : "",
                         format_bytes_in(magnitude_of(bytes), unit).text);
}

/* Durations below a minute, with at most three digits. A unit ends where its rounded figure would reach the next
 * one. */
static struct figure format_short_duration(uint64_t us) {
    if (us < 1000)
        return figure_of_tenths(us * 10, true, "\xc2\xb5s");
    if (us < 9950)
        return figure_of_tenths((us + 50) / 100, us % 1000 == 0, "ms");
    if (us < 999500)
        return figure_of_tenths((us + 500) / 1000 * 10, true, "ms");
    return figure_of_tenths((us + 50000) / 100000, us % 1000000 == 0, "s");
}

static struct figure format_positive_duration(uint64_t us) {
    if (us < 59950000)
        return format_short_duration(us);
    uint64_t seconds = (us + 500000) / 1000000;
    if (seconds < 3600)
        return figure_of_pair(seconds / 60, "min", seconds % 60, "s");
    uint64_t minutes = (seconds + 30) / 60;
    if (minutes < 24 * 60)
        return figure_of_pair(minutes / 60, "h", minutes % 60, "min");
    uint64_t hours = (minutes + 30) / 60;
    return figure_of_pair(hours / 24, "d", hours % 24, "h");
}

struct figure format_duration(int64_t us) {
    if (us >= 0)
        return format_positive_duration((uint64_t)us);
    return figure_of_two("-", format_positive_duration(0 - (uint64_t)us).text);
}

struct figure format_share(uint64_t part, uint64_t whole) {
    const char *sign = "";
    /* Halving both keeps the product within 64 bits; the digits lost are far beyond those of a share. */
    uint64_t p = part, w = whole;
    while (p > UINT64_MAX / 402 || w > UINT64_MAX / 402) {
        p /= 2;
        w /= 2;
    }
    uint64_t percent = w == 0 ? 0 : (p * 200 + w) / (2 * w);
    if (part > 0 && whole > 0 && percent == 0) {
        sign = "<";
        percent = 1;
    } else if (part < whole && percent == 100) {
        sign = ">";
        percent = 99;
    }
    return figure_of_two(sign, figure_of_two(format_count(percent).text, " %").text);
}
