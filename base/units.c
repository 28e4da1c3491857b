#include "base/units.h"

#include "base/text.h"

static bool unit_is(const char *unit, uint32_t nbytes, const char *word) {
    return text_is_lower((struct text){(const uint8_t *)unit, nbytes}, word);
}

static bool whole_add(struct decimal *decimal, char byte) {
    uint64_t digit = (uint64_t)(byte - '0');
    if (decimal->whole > (UINT64_MAX - digit) / 10)
        return false;
    decimal->whole = decimal->whole * 10 + digit;
    return true;
}

uint32_t decimal_read(struct decimal *decimal, const char *text, uint32_t nbytes) {
    uint32_t at = 0, first;
    *decimal = (struct decimal){0};
    for (; at < nbytes && is_digit(text[at]); at++)
        if (!whole_add(decimal, text[at]))
            return 0;
    if (at == nbytes || text[at] != '.')
        return at;
    decimal->point = true;
    for (first = ++at; at < nbytes && is_digit(text[at]); at++)
        if (decimal->n_digits < DECIMAL_DIGITS)
            decimal->digit[decimal->n_digits++] = (uint8_t)(text[at] - '0');
    return at > first || first > 1 ? at : 0;
}

/* Multiplies the digits from the last one on. Rounding down at each of them equals rounding down once. */
bool decimal_times(const struct decimal *decimal, uint64_t unit, uint64_t *product) {
    uint64_t part = 0;
    for (uint32_t i = decimal->n_digits; i-- > 0;)
        part = (decimal->digit[i] * unit + part) / 10;
    if (decimal->whole != 0 && unit > UINT64_MAX / decimal->whole)
        return false;
    uint64_t whole = decimal->whole * unit;
    if (part > UINT64_MAX - whole)
        return false;
    *product = whole + part;
    return true;
}

static uint64_t power_of(uint64_t base, unsigned exponent) {
    uint64_t power = 1;
    while (exponent-- != 0)
        power *= base;
    return power;
}

/* Bytes in one unit, 0: no such unit. */
static uint64_t unit_nbytes(const char *unit, uint32_t nbytes) {
    static const char letters[] = "kmgtp";
    unsigned exponent = 0;
    if (nbytes == 0 || unit_is(unit, nbytes, "b"))
        return 1;
    while (exponent < 5 && letters[exponent] != lower(unit[0]))
        exponent++;
    if (exponent++ == 5)
        return 0;
    if (nbytes == 1 || unit_is(unit + 1, nbytes - 1, "ib"))
        return power_of(1024, exponent);
    return unit_is(unit + 1, nbytes - 1, "b") ? power_of(1000, exponent) : 0;
}

/* Reads the number; returns where its unit begins, after any blanks. 0: no number. */
static uint32_t number_read(struct decimal *decimal, const char *text, uint32_t nbytes) {
    uint32_t at = decimal_read(decimal, text, nbytes);
    while (at != 0 && at < nbytes && text[at] == ' ')
        at++;
    return at;
}

bool units_size(const char *text, uint32_t nbytes, uint64_t *bytes) {
    struct decimal decimal;
    uint32_t at = number_read(&decimal, text, nbytes);
    if (at == 0)
        return false;
    uint64_t unit = unit_nbytes(text + at, nbytes - at);
    if (unit == 0 || (unit == 1 && decimal.n_digits != 0))
        return false;
    return decimal_times(&decimal, unit, bytes);
}

bool units_duration(const char *text, uint32_t nbytes, uint64_t *us) {
    static const struct {
        const char *name;
        uint64_t us;
    } units[] = {{"us", 1},      {"\xc2\xb5s", 1},  {"\xce\xbcs", 1}, {"ms", 1000},
                 {"s", 1000000}, {"min", 60000000}, {"h", 3600000000}};
    struct decimal decimal;
    uint64_t product;
    uint32_t at = number_read(&decimal, text, nbytes);
    for (uint32_t i = 0; at != 0 && i < sizeof units / sizeof *units; i++)
        if (unit_is(text + at, nbytes - at, units[i].name)) {
            if (!decimal_times(&decimal, units[i].us, &product) || product > INT64_MAX)
                return false;
            *us = product;
            return true;
        }
    return false;
}

bool units_count(const char *text, uint32_t nbytes, uint64_t *count) {
    struct decimal decimal;
    if (nbytes == 0 || decimal_read(&decimal, text, nbytes) != nbytes || decimal.point)
        return false;
    *count = decimal.whole;
    return true;
}
