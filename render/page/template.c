#include "render/page/template.h"

#include <openssl/evp.h>
#include <string.h>

/* EVP_EncodeBlock counts in int: whole groups of three bytes, so that pieces join without padding. */
enum { BASE64_STEP_NBYTES = 3 << 24 };

void template_add_base64(struct buffer *out, const uint8_t *bytes, size_t nbytes) {
    for (size_t done = 0; done < nbytes;) {
        size_t step = nbytes - done < BASE64_STEP_NBYTES ? nbytes - done : BASE64_STEP_NBYTES;
        /* One byte more than is kept: EVP_EncodeBlock terminates its text. */
        uint8_t *to = buffer_extend(out, (step + 2) / 3 * 4 + 1);
        if (!to)
            return;
        EVP_EncodeBlock(to, bytes + done, (int)step);
        out->nbytes--;
        done += step;
    }
}

void template_add_escaped(struct buffer *out, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '&': buffer_add_text(out, "&amp;"); break;
        case '<': buffer_add_text(out, "&lt;"); break;
        case '>': buffer_add_text(out, "&gt;"); break;
        case '"': buffer_add_text(out, "&quot;"); break;
        case '\'': buffer_add_text(out, "&#39;"); break;
        default: buffer_add(out, text, 1);
        }
    }
}

/* 'sha256-...' of an inline element's text, as a Content-Security-Policy wants it. */
static void add_source_hash(struct buffer *out, const struct buffer *text) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int digest_nbytes = 0;
    if (text->failed || !EVP_Digest(text->bytes, text->nbytes, digest, &digest_nbytes, EVP_sha256(), NULL)) {
        out->failed = true;
        return;
    }
    buffer_add_text(out, "'sha256-");
    template_add_base64(out, digest, digest_nbytes);
    buffer_add_text(out, "'");
}

void template_add_title(struct buffer *out, const char *title) {
    buffer_add_text(out, "<title>");
    template_add_escaped(out, title);
    buffer_add_text(out, " - Strata</title>");
}

void template_add_policy(struct buffer *out, const struct buffer *scripts, size_t n_scripts,
                         const struct buffer *style, const char *extra) {
    buffer_add_text(out,
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src");
    for (size_t i = 0; i < n_scripts; i++) {
        buffer_add_text(out, " ");
        add_source_hash(out, &scripts[i]);
    }
    buffer_add_text(out, extra);
    buffer_add_text(out, "; style-src ");
    add_source_hash(out, style);
    buffer_add_text(out, "; img-src blob: data:; base-uri 'none'; form-action 'none'\">");
}

void template_add_style(struct buffer *out, const struct buffer *style) {
    buffer_add_text(out, "<style>");
    buffer_add(out, style->bytes, style->nbytes);
    buffer_add_text(out, "</style>");
}

void template_add_script(struct buffer *out, const struct buffer *script) {
    buffer_add_text(out, "<script>");
    buffer_add(out, script->bytes, script->nbytes);
    buffer_add_text(out, "</script>");
}

void template_add_inert(struct buffer *out, const char *id, const uint8_t *bytes, size_t nbytes) {
    buffer_printf(out, "<script type=\"application/octet-stream\" id=\"%s\">", id);
    template_add_base64(out, bytes, nbytes);
    buffer_add_text(out, "</script>");
}

/* A line without its end, and without the blanks before it. */
struct line {
    const char *at;
    size_t nbytes;
};

static struct line line_at(const char *at, const char *end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    struct line line = {at, (size_t)((stop != NULL ? stop : end) - at)};
    while (line.nbytes != 0 && *line.at == ' ') {
        line.at++;
        line.nbytes--;
    }
    return line;
}

static bool line_begins(struct line line, const char *text) {
    size_t length = strlen(text);
    return line.nbytes >= length && memcmp(line.at, text, length) == 0;
}

static bool line_ends(struct line line, const char *text) {
    size_t length = strlen(text);
    return line.nbytes >= length && memcmp(line.at + line.nbytes - length, text, length) == 0;
}

static bool line_has(struct line line, const char *text) {
    for (; line.nbytes != 0; line.at++, line.nbytes--)
        if (line_begins(line, text))
            return true;
    return false;
}

/* A script without the lines that are nothing but comment and without indentation: a page is read by browsers. No
 * string of ours goes over several lines, so a line is code or comment; what stands behind a comment is code. */
static void add_code(struct buffer *out, const char *at, size_t nbytes) {
    const char *end = at + nbytes;
    bool in_comment = false;
    while (at < end) {
        struct line line = line_at(at, end);
        at = line.at + line.nbytes + 1;
        bool opens = !in_comment && line_begins(line, "/*") && !line_has(line, "*/");
        bool alone = line_begins(line, "//") || (line_begins(line, "/*") && line_ends(line, "*/"));
        if (!in_comment && !opens && !alone && line.nbytes != 0) {
            buffer_add(out, line.at, line.nbytes);
            buffer_add_text(out, "\n");
        }
        in_comment = opens || (in_comment && !line_ends(line, "*/"));
    }
}

void template_join_scripts(struct buffer *script, const struct template_asset *assets, size_t n_assets) {
    buffer_add_text(script, "\"use strict\";\n{\n");
    for (size_t i = 0; i < n_assets; i++)
        add_code(script, (const char *)assets[i].bytes, *assets[i].nbytes);
    buffer_add_text(script, "}\n");
}

/* The hole that `name` begins with, up to the space after its name. NULL: none. */
static const struct template_hole *hole_find(const struct template_hole *holes, size_t n_holes,
                                             const char *name) {
    for (size_t i = 0; i < n_holes; i++) {
        size_t length = strlen(holes[i].name);
        if (strncmp(name, holes[i].name, length) == 0 && name[length] == ' ')
            return &holes[i];
    }
    return NULL;
}

void template_fill(struct buffer *out, const char *template, const struct template_hole *holes,
                   size_t n_holes, const void *context) {
    static const char begin[] = "<!-- hole:", end[] = "<!-- /hole -->";
    const char *at;
    while ((at = strstr(template, begin)) != NULL) {
        const struct template_hole *hole = hole_find(holes, n_holes, at + strlen(begin));
        const char *after = strstr(at, end);
        if (!hole || !after) {
            out->failed = true;
            return;
        }
        buffer_add(out, template, (size_t)(at - template));
        hole->fill(out, context);
        template = after + strlen(end);
    }
    buffer_add_text(out, template);
}
