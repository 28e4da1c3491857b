/* How text looks to its reader: as wide as the terminal, and in colour or not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct text_look {
    uint32_t columns; /* columns of a line; 0: 100 */
    bool color;       /* bold for what matters; red and yellow for what is urgent */
};
