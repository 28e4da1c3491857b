/* How text is laid out where it is read: the terminal's width, and whether it may be coloured. */
#ifndef STRATA_RENDER_REPORT_TEXT_LOOK_H
#define STRATA_RENDER_REPORT_TEXT_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct text_look {
    uint32_t columns; /* of a line; 0: 100 */
    bool color;       /* bold what matters; red and yellow for what is urgent */
};

#endif
