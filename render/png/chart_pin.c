/* Shows the allocation that an address of the page pins, above the legend: its facts and the user's own frames of its
 * stack. */
#include "render/png/chart_maker.h"

#include "base/format.h"
#include "layout/site.h"
#include "render/raster/raster.h"

#include <inttypes.h>
#include <stdio.h>

enum { PIN_FRAMES = 8 };

struct pin {
    uint32_t allocation, stack;
    uint32_t frame[PIN_FRAMES], n_frames; /* innermost first */
    uint32_t rest;                        /* number of frames that are not listed */
};

static bool pin_find(const struct chart_maker *maker, struct pin *pin) {
    const struct chart_address *address = maker->in->options->address;
    const struct timeline *timeline = maker->in->timeline;
    *pin = (struct pin){.allocation = address == NULL ? UINT32_MAX : address->marks.pinned};
    if (pin->allocation >= timeline->device->allocations.count)
        return false;
    pin->stack = timeline->device->allocations.stack[pin->allocation];
    uint32_t before = UINT32_MAX;
    for (uint32_t at = pin->stack; at != 0; at = stack_parent(&timeline->trace->stacks, at)) {
        uint32_t frame = timeline->trace->stacks.frame[at];
        bool own = frame_kind_of_rank(timeline->frame_rank[frame]) == FRAME_USER && frame != before;
        if (own && pin->n_frames < PIN_FRAMES)
            pin->frame[pin->n_frames++] = frame;
        else
            pin->rest++;
        before = frame;
    }
    return true;
}

/* Writes "from event 568 (31 ms) to the end, 0x7f2a4c693000". */
static void pin_facts(const struct chart_maker *maker, const struct pin *pin, char *text, size_t capacity) {
    const struct timeline *timeline = maker->in->timeline;
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t birth = allocations->birth[pin->allocation], death = allocations->death[pin->allocation];
    char from[96], to[96] = "the end", address[32] = "";
    chart_moment_text(timeline, birth, from, sizeof from);
    if (death < timeline->n_moments)
        chart_moment_text(timeline, death, to, sizeof to);
    if (allocation_stands_for(allocations, pin->allocation) == 1)
        snprintf(address, sizeof address, ", 0x%" PRIx64, allocations->address[pin->allocation]);
    snprintf(text, capacity, "%s%s to %s%s", birth == 0 ? "" : "from ", from, to, address);
}

int32_t chart_pin_put(struct chart_maker *maker, struct rect area) {
    const struct chart_colors *colors = &maker->out->colors;
    struct pin pin;
    char text[FONT_TEXT_NBYTES];
    if (!pin_find(maker, &pin))
        return area.y;
    uint64_t bytes = maker->in->timeline->device->allocations.size[pin.allocation];
    snprintf(text, sizeof text, "Pinned: %s (%s bytes)", format_bytes(bytes).text, format_count(bytes).text);
    chart_put_text(maker, area, CHART_LEFT, maker->bold, colors->text, text);
    area.y += chart_line(maker->bold);
    pin_facts(maker, &pin, text, sizeof text);
    chart_put_sentence(maker, area, maker->small, colors->quiet, text);
    for (uint32_t i = 0; i < pin.n_frames; i++) {
        area.y += chart_row(maker);
        site_text(maker->in->timeline->trace, pin.frame[i], text, sizeof text);
        chart_put_text(maker, area, CHART_LEFT, maker->small, colors->text, text);
    }
    area.y += chart_row(maker);
    snprintf(text, sizeof text, "%s other frame%s", format_count(pin.rest).text, pin.rest == 1 ? "" : "s");
    if (pin.rest > 0)
        chart_put_text(maker, area, CHART_LEFT, maker->small, colors->quiet, text);
    return area.y + (pin.rest > 0 ? chart_row(maker) : 0) + maker->em;
}
