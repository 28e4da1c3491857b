#include "cli/units.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

__extension__ typedef unsigned __int128 wide;

/* More digits than that after the point mean less than a byte of the largest unit and are read over. */
enum { FRACTION_DIGITS = 15 };

/* A decimal number: whole + part / scale, scale a power of ten. */
struct decimal {
    uint64_t whole, part, scale;
};

/* Reads digits, at most one point and digits; at least one digit in all. Returns what follows, NULL: no
 * number. */
static const char *decimal_read(struct decimal *decimal, const char *text) {
    *decimal = (struct decimal){.scale = 1};
    const char *at = text;
    for (; isdigit((unsigned char)*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (decimal->whole > (UINT64_MAX - digit) / 10)
            return NULL;
        decimal->whole = decimal->whole * 10 + digit;
    }
    bool digits = at != text;
    if (*at != '.')
        return digits ? at : NULL;
    const char *point = at++;
    for (; isdigit((unsigned char)*at); at++)
        if (at - point <= FRACTION_DIGITS) {
            decimal->part = decimal->part * 10 + (uint64_t)(*at - '0');
            decimal->scale *= 10;
        }
    return digits || at - point > 1 ? at : NULL;
}

/* number * unit, rounded down. False: above 2^64 - 1. */
static bool decimal_times(const struct decimal *decimal, uint64_t unit, uint64_t *product) {
    wide sum = (wide)decimal->whole * unit + (wide)decimal->part * unit / decimal->scale;
    if (sum > UINT64_MAX)
        return false;
    *product = (uint64_t)sum;
    return true;
}

static uint64_t power_of(uint64_t base, unsigned exponent) {
    uint64_t power = 1;
    while (exponent-- != 0)
        power *= base;
    return power;
}

/* Bytes in one unit, 0: no such unit. */
static uint64_t unit_nbytes(const char *unit) {
    static const char letters[] = "kmgtp";
    if (*unit == '\0' || strcasecmp(unit, "b") == 0)
        return 1;
    const char *letter = strchr(letters, tolower((unsigned char)*unit));
    if (letter == NULL)
        return 0;
    unsigned exponent = (unsigned)(letter - letters) + 1;
    if (unit[1] == '\0' || strcasecmp(unit + 1, "ib") == 0)
        return power_of(1024, exponent);
    return strcasecmp(unit + 1, "b") == 0 ? power_of(1000, exponent) : 0;
}

bool size_parse(const char *text, uint64_t *bytes) {
    struct decimal decimal;
    const char *unit = decimal_read(&decimal, text);
    if (unit == NULL)
        return false;
    while (*unit == ' ')
        unit++;
    uint64_t nbytes = unit_nbytes(unit);
    if (nbytes == 0 || (nbytes == 1 && decimal.scale != 1))
        return false;
    return decimal_times(&decimal, nbytes, bytes);
}

bool number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *number) {
    struct decimal decimal;
    const char *end = decimal_read(&decimal, text);
    if (end == NULL || *end != '\0' || strchr(text, '.') != NULL)
        return false;
    if (decimal.whole < low || decimal.whole > high)
        return false;
    *number = decimal.whole;
    return true;
}

/* "-500" or "+500" or nothing, as a signed number of events. */
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
    struct decimal decimal;
    const char *unit = decimal_read(&decimal, text);
    uint64_t us;
    if (unit == NULL)
        return false;
    uint64_t factor = strcmp(unit, "s") == 0 ? 1000000 : strcmp(unit, "ms") == 0 ? 1000 : 0;
    if (factor == 0 || !decimal_times(&decimal, factor, &us) || us > INT64_MAX)
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
