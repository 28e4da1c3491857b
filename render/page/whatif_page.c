#include "render/page/whatif_page.h"

#include "render/markup.h"
#include "render/page/template.h"
#include "render/report/report_sheet.h"
#include "render/words/device.h"

#include <inttypes.h>
#include <string.h>

/* What the build made of the files of templates/. */
extern const unsigned char asset_whatif_html[], asset_whatif_css[];
extern const size_t asset_whatif_css_nbytes;
extern const char asset_whatif_css_hash[];

static const struct template_asset style = {asset_whatif_css, &asset_whatif_css_nbytes,
                                            asset_whatif_css_hash};

static const char *title_of(struct buffer *out, const struct whatif_page *page) {
    struct sheet sheet = {.out = out, .arena = page->scratch};
    if (page->report == NULL)
        return extrapolation_title(&sheet, page->extrapolation);
    return sheet_format(&sheet, "What if: %s",
                        sheet_quote(&sheet, page->report->file, strlen(page->report->file)));
}

static void fill_root(struct buffer *out, const void *context) {
    const struct whatif_page *page = context;
    if (strcmp(page->theme, "auto") == 0)
        buffer_add_text(out, "<html lang=\"en\">");
    else
        buffer_printf(out, "<html lang=\"en\" data-theme=\"%s\">", page->theme);
}

static void fill_policy(struct buffer *out, const void *context) {
    (void)context;
    const struct template_asset *const styles[] = {&style};
    template_add_policy(
        out, &(struct template_policy){.styles = styles, .n_styles = 1, .more_scripts = " 'none'"});
}

static void fill_title(struct buffer *out, const void *context) {
    template_add_title(out, title_of(out, context));
}

static void fill_style(struct buffer *out, const void *context) {
    (void)context;
    template_add_style(out, &style);
}

static void add_data(struct buffer *out, const struct buffer *png) {
    buffer_add_text(out, "data:image/png;base64,");
    template_add_base64(out, png->bytes, png->nbytes);
}

/* What one device's picture is made of. */
struct picturing {
    const struct whatif_picture *picture;
    const char *theme;
    bool extrapolated;
};

static void add_picture(struct buffer *out, const void *context) {
    const struct picturing *picturing = context;
    const struct whatif_picture *picture = picturing->picture;
    bool follows = strcmp(picturing->theme, "auto") == 0, dark = strcmp(picturing->theme, "dark") == 0;
    if (picture->light.nbytes + picture->dark.nbytes == 0)
        return;
    buffer_add_text(out, "<picture>");
    if (follows) {
        buffer_add_text(out, "<source media=\"(prefers-color-scheme: dark)\" srcset=\"");
        add_data(out, &picture->dark);
        buffer_add_text(out, "\">");
    }
    buffer_printf(
        out, "<img class=\"picture\" width=\"%" PRIu32 "\" height=\"%" PRIu32 "\" alt=\"%s\" src=\"",
        picture->width, picture->height,
        picturing->extrapolated
            ? "Memory over the sequence: what would be in use, and reserved as modelled under the "
              "scenarios; the table has the peaks"
            : "Memory over the recording: in use, reserved as recorded, and reserved as modelled under "
              "other settings; the table has the peaks");
    add_data(out, dark ? &picture->dark : &picture->light);
    buffer_add_text(out, "\"></picture>\n");
}

static uint32_t n_devices_of(const struct whatif_page *page) {
    return page->report != NULL ? page->report->n_devices : page->extrapolation->n_devices;
}

static bool device_add(struct buffer *out, const struct whatif_page *page, uint32_t nth,
                       const struct picturing *picturing) {
    if (page->report == NULL)
        return extrapolation_report_elements(out, page->extrapolation, nth, add_picture, picturing,
                                             page->scratch);
    return whatif_report_elements(out, page->report, nth, add_picture, picturing, page->scratch);
}

static void fill_devices(struct buffer *out, const void *context) {
    const struct whatif_page *page = context;
    buffer_add_text(out, "<h1>");
    markup_add_text(out, title_of(out, page));
    buffer_add_text(out, "</h1>\n");
    if (n_devices_of(page) == 0)
        buffer_printf(out, "<p>%s</p>\n", no_device_sentence);
    for (uint32_t i = 0; i < n_devices_of(page); i++) {
        const struct picturing picturing = {&page->picture[i], page->theme, page->report == NULL};
        if (!device_add(out, page, i, &picturing))
            return;
    }
}

static void fill_foot(struct buffer *out, const void *context) {
    const struct whatif_page *page = context;
    if (page->report == NULL) {
        buffer_printf(out,
                      "<footer>Strata %s, from inputs of fingerprints %s and %s. Modelled figures are of a "
                      "sequence of requests that was not recorded.</footer>",
                      page->version, page->extrapolation->fingerprint[0],
                      page->extrapolation->fingerprint[1]);
        return;
    }
    buffer_printf(
        out,
        "<footer>Strata %s, from an input of fingerprint %s. Modelled figures are of this sequence of "
        "requests, in the window of this recording.</footer>",
        page->version, page->report->fingerprint);
}

bool whatif_page_render(struct buffer *out, const struct whatif_page *page) {
    static const struct template_hole holes[] = {{"ROOT", fill_root},   {"POLICY", fill_policy},
                                                 {"TITLE", fill_title}, {"STYLE", fill_style},
                                                 {"FOOT", fill_foot},   {"DEVICES", fill_devices}};
    template_fill(out, (const char *)asset_whatif_html,
                  &(struct template_holes){holes, sizeof holes / sizeof *holes, page, NULL});
    return !out->failed;
}
