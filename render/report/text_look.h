/* The reader's text layout: the terminal's width, and whether to colour. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct text_look {
    uint32_t columns; /* of a line; 0: 100 */
    bool color;       /* bold for what matters; red and yellow for what is urgent */
};
