#include "render/page/template.h"

#include "base/base64.h"
#include "render/markup.h"

#include <string.h>

/* Bytes encoded at a time: a multiple of 3, so that no padding comes between two steps. */
enum { BASE64_STEP = 36 << 10 };

void template_add_base64(struct buffer *out, const uint8_t *bytes, size_t nbytes) {
    while (nbytes != 0) {
        size_t n = nbytes < BASE64_STEP ? nbytes : BASE64_STEP;
        uint8_t *to = buffer_extend(out, base64_nbytes(n));
        if (to == NULL)
            return;
        base64_encode(to, bytes, n);
        bytes += n;
        nbytes -= n;
    }
}

void template_add_title(struct buffer *out, const char *title) {
    buffer_add_text(out, "<title>");
    markup_add_text(out, title);
    buffer_add_text(out, " - Strata</title>");
}

static void add_hashes(struct buffer *out, const struct template_asset *const assets[2]) {
    for (size_t i = 0; i < 2 && assets[i] != NULL; i++) {
        buffer_add_text(out, " ");
        buffer_add_text(out, assets[i]->hash);
    }
}

void template_add_policy(struct buffer *out, const struct template_policy *policy) {
    buffer_add_text(out,
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src");
    add_hashes(out, policy->scripts);
    buffer_add_text(out, policy->more_scripts);
    buffer_add_text(out, "; style-src");
    add_hashes(out, policy->styles);
    buffer_add_text(out, "; img-src blob: data:; base-uri 'none'; form-action 'none'\">");
}

static void add_element(struct buffer *out, const char *begin, const struct template_asset *asset,
                        const char *end) {
    buffer_add_text(out, begin);
    buffer_add(out, asset->bytes, *asset->nbytes);
    buffer_add_text(out, end);
}

void template_add_style(struct buffer *out, const struct template_asset *style) {
    add_element(out, "<style>", style, "</style>");
}

void template_add_script(struct buffer *out, const struct template_asset *script) {
    add_element(out, "<script>", script, "</script>");
}

static const char inert_begin[] = "<script type=\"application/octet-stream\" id=\"%s\">";

void template_add_packed(struct buffer *out, const char *id, const struct template_asset *asset) {
    buffer_printf(out, inert_begin, id);
    buffer_add(out, asset->bytes, *asset->nbytes);
    buffer_add_text(out, "</script>");
}

void template_add_inert(struct buffer *out, const char *id, const uint8_t *bytes, size_t nbytes) {
    buffer_printf(out, inert_begin, id);
    template_add_base64(out, bytes, nbytes);
    buffer_add_text(out, "</script>");
}

static const char hole_begin[] = "<!-- hole:", hole_end[] = "<!-- /hole -->";

void template_hole(struct template *template, const char *name) {
    const char *hole = strstr(template->rest, hole_begin),
               *end = hole != NULL ? strstr(hole, hole_end) : NULL;
    size_t n = strlen(name);
    if (end == NULL || strncmp(hole + strlen(hole_begin), name, n) != 0 ||
        hole[strlen(hole_begin) + n] != ' ') {
        template->out->failed = true;
        return;
    }
    buffer_add(template->out, template->rest, (size_t)(hole - template->rest));
    template->rest = end + strlen(hole_end);
}

void template_end(struct template *template) {
    if (strstr(template->rest, hole_begin) != NULL)
        template->out->failed = true;
    buffer_add_text(template->out, template->rest);
}
