/* Explains an empty plot in its place: why there is nothing to draw, and when memory ran out. */
#include "render/png/chart_maker.h"
#include "render/words/device.h"

#include "base/format.h"

#include <stdio.h>

enum { OOMS_MOST = 3 };

void chart_elsewhere_text(const struct chart_maker *maker, char *text, size_t capacity) {
    const struct timeline *timeline = maker->in->timeline;
    const struct trace *trace = timeline->trace;
    uint32_t i = 0;
    while (i < trace->n_devices && trace->devices[i].n_events < 2)
        i++;
    text[0] = '\0';
    if (i == trace->n_devices || trace->devices[i].ordinal == timeline->device->ordinal)
        return;
    snprintf(text, capacity, " Device %s has a history of %s events.",
             device_named("", trace->devices[i].ordinal).text, format_count(trace->devices[i].n_events).text);
}

static const char *empty_reason(const struct timeline *timeline) {
    const struct device_trace *device = timeline->device;
    if (timeline->peak_bytes != 0)
        return "Nothing to draw: no allocation passes the filter.";
    if (device->n_events == 0 && device->n_segments == 0)
        return "Nothing to draw: no history was recorded for this device, and it holds no memory.";
    if (device->n_events == 0)
        return "Nothing to draw: no history was recorded for this device, and nothing is allocated in the "
               "memory that it has reserved.";
    if (device->allocations.count == 0)
        return "Nothing to draw: none of the recorded events allocates or frees memory.";
    return "Nothing to draw: every recorded allocation has a size of 0 bytes.";
}

/* Draws one line of the text. Returns the rest of the area below it. */
static struct rect line_put(struct chart_maker *maker, struct rect area, uint32_t color, const char *text) {
    int32_t height = chart_line(maker->body);
    if (area.height < height)
        return area;
    chart_put_text(maker, area, CHART_CENTER, maker->body, color, text);
    return (struct rect){area.x, area.y + height, area.width, area.height - height};
}

/* Without an axis there is no flag for an out-of-memory event, so its words and its event are put here if there is
 * room. */
static struct rect oom_put(struct chart_maker *maker, struct rect area, const struct oom_event *oom) {
    char what[128], when[96], both[256];
    chart_oom_text(oom, "OOM", what, sizeof what);
    chart_moment_text(maker->in->timeline, oom->event + 1, when, sizeof when);
    snprintf(both, sizeof both, "%s \xc2\xb7 %s", what, when);
    bool fits = chart_text_width(maker, maker->body, both) <= area.width;
    return line_put(maker, area, maker->out->colors->bad, fits ? both : what);
}

static void ooms_put(struct chart_maker *maker, struct rect area) {
    const struct device_trace *device = maker->in->timeline->device;
    char text[64];
    for (uint32_t i = 0; i < device->n_ooms && i < OOMS_MOST; i++)
        area = oom_put(maker, area, &device->ooms[i]);
    if (device->n_ooms <= OOMS_MOST)
        return;
    snprintf(text, sizeof text, "and %s more", format_count(device->n_ooms - OOMS_MOST).text);
    line_put(maker, area, maker->out->colors->bad, text);
}

static int32_t ooms_height(const struct chart_maker *maker) {
    uint32_t n = maker->in->timeline->device->n_ooms;
    return n == 0 ? 0
                  : (int32_t)(n > OOMS_MOST ? OOMS_MOST + 1 : n) * chart_line(maker->body) + maker->em / 2;
}

void chart_empty_put(struct chart_maker *maker) {
    const struct rect plot = maker->out->plot;
    int32_t width = plot.width - 2 * maker->em, most = 40 * maker->em;
    width = width > most ? most : width;
    char elsewhere[96], text[256];
    chart_elsewhere_text(maker, elsewhere, sizeof elsewhere);
    snprintf(text, sizeof text, "%s%s", empty_reason(maker->in->timeline), elsewhere);
    int32_t ooms = ooms_height(maker);
    int32_t height = ooms + chart_paragraph_height(maker, width, maker->body, text);
    int32_t spare = height < plot.height ? plot.height - height : 0;
    struct rect area = {plot.x + (plot.width - width) / 2, plot.y + spare / 2, width, plot.height - spare};
    ooms_put(maker, area);
    area.y += ooms;
    area.height -= ooms;
    chart_put_paragraph(maker, area, maker->body, maker->out->colors->text, text);
}
