#include "base/units.h"

static bool whole_add(struct decimal *decimal, uint8_t byte) {
    uint64_t digit = (uint64_t)(byte - '0');
    if (decimal->whole > (UINT64_MAX - digit) / 10)
        return false;
    decimal->whole = decimal->whole * 10 + digit;
    return true;
}

uint32_t decimal_read(struct decimal *decimal, struct text text) {
    uint32_t at = 0, first;
    *decimal = (struct decimal){0};
    for (; at < text.nbytes && is_digit(text.at[at]); at++)
        if (!whole_add(decimal, text.at[at]))
            return 0;
    if (at == text.nbytes || text.at[at] != '.')
        return at;
    decimal->point = true;
    for (first = ++at; at < text.nbytes && is_digit(text.at[at]); at++)
        if (decimal->n_digits < DECIMAL_DIGITS)
            decimal->digit[decimal->n_digits++] = (uint8_t)(text.at[at] - '0');
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
static uint64_t unit_nbytes(struct text unit) {
    static const char letters[] = "kmgtp";
    unsigned exponent = 0;
    if (unit.nbytes == 0 || text_is_lower(unit, "b"))
        return 1;
    while (exponent < 5 && letters[exponent] != lower(unit.at[0]))
        exponent++;
    if (exponent++ == 5)
        return 0;
    struct text rest = text_from(unit, 1);
    if (rest.nbytes == 0 || text_is_lower(rest, "ib"))
        return power_of(1024, exponent);
    return text_is_lower(rest, "b") ? power_of(1000, exponent) : 0;
}

/* Reads the number; returns where its unit begins, after any blanks. 0: no number. */
static uint32_t number_read(struct decimal *decimal, struct text text) {
    uint32_t at = decimal_read(decimal, text);
    while (at != 0 && at < text.nbytes && text.at[at] == ' ')
        at++;
    return at;
}

bool units_size(struct text text, uint64_t *bytes) {
    struct decimal decimal;
    uint32_t at = number_read(&decimal, text);
    if (at == 0)
        return false;
    uint64_t unit = unit_nbytes(text_from(text, at));
    if (unit == 0 || (unit == 1 && decimal.n_digits != 0))
        return false;
    return decimal_times(&decimal, unit, bytes);
}

bool units_duration(struct text text, uint64_t *us) {
    static const struct {
        const char *name;
        uint64_t us;
    } units[] = {{"us", 1},      {"\xc2\xb5s", 1},  {"\xce\xbcs", 1}, {"ms", 1000},
                 {"s", 1000000}, {"min", 60000000}, {"h", 3600000000}};
    struct decimal decimal;
    uint64_t product;
    uint32_t at = number_read(&decimal, text);
    for (uint32_t i = 0; at != 0 && i < sizeof units / sizeof *units; i++)
        if (text_is_lower(text_from(text, at), units[i].name)) {
            if (!decimal_times(&decimal, units[i].us, &product) || product > INT64_MAX)
                return false;
            *us = product;
            return true;
        }
    return false;
}

bool units_count(struct text text, uint64_t *count) {
    struct decimal decimal;
    if (text.nbytes == 0 || decimal_read(&decimal, text) != text.nbytes || decimal.point)
        return false;
    *count = decimal.whole;
    return true;
}
