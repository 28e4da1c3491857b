/* Where a line must not end: between a figure and its unit, "39 %", "6.2 GiB", "3 blocks". */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is `text[at]` a blank that stands between a figure and its unit? `text` is terminated. */
static inline bool is_joined(const char *text, size_t at) {
    if (at == 0 || text[at] != ' ' || text[at - 1] < '0' || text[at - 1] > '9')
        return false;
    char unit = text[at + 1];
    return unit == '%' || (unit >= 'A' && unit <= 'z');
}
