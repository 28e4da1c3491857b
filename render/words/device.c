#include "render/words/device.h"

#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>

const char no_device_sentence[] =
    "The file shows no device with events, blocks or segments: nothing was recorded.";

struct figure device_words(int32_t ordinal) {
    return device_named("device", ordinal);
}

struct figure device_named(const char *noun, int32_t ordinal) {
    struct figure words = {"CPU"};
    if (ordinal == ORDINAL_HOST)
        words = (struct figure){"host (pinned)"};
    else if (ordinal != ORDINAL_CPU)
        snprintf(words.text, sizeof words.text, "%s%s%" PRId32, noun, *noun != '\0' ? " " : "", ordinal);
    return words;
}
