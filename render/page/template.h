/* Fills the files of templates/ into one page that fetches nothing. The page of a recording and the index of a batch
 * share this. */
#pragma once

#include "base/buffer.h"

/*
 * A template, written piece by piece. It has holes, "<!-- hole:NAME ... --> default <!-- /hole -->", whose defaults are
 * left out: they are there so that the template opens by itself in an editor or a browser.
 */
struct template {
    struct buffer *out;
    const char *rest; /* what is not yet written */
};

/* Appends the text up to the next hole, into which the caller then writes. A template whose next hole has another name,
 * or that has more holes at its end, is a mistake of the build: out->failed is set. */
void template_hole(struct template *template, const char *name);
void template_end(struct template *template);

/* A file of templates/ as the build embedded it; it goes into a page unchanged. */
struct template_asset {
    const unsigned char *bytes;
    const size_t *nbytes;
    const char *hash; /* 'sha256-...' of it, unpacked, with the quotes; made at build time */
};

void template_add_base64(struct buffer *out, const uint8_t *bytes, size_t nbytes);

/* Appends <title>TITLE - Strata</title>. */
void template_add_title(struct buffer *out, const char *title);

/* The sources that a page's Content-Security-Policy allows. */
struct template_policy {
    const struct template_asset *scripts[2], *styles[2]; /* NULL: fewer */
    const char *more_scripts; /* added to the sources of scripts: "" or " 'wasm-unsafe-eval'" */
};

/* Appends the policy that allows these scripts and styles and nothing else. */
void template_add_policy(struct buffer *out, const struct template_policy *policy);

void template_add_style(struct buffer *out, const struct template_asset *style);
void template_add_script(struct buffer *out, const struct template_asset *script);

/* Appends an inert element with a packed asset (scripts/pack.c). */
void template_add_packed(struct buffer *out, const char *id, const struct template_asset *asset);

/* Appends an element with bytes in base64. Base64 has no '<', so nothing in it can end the element. */
void template_add_inert(struct buffer *out, const char *id, const uint8_t *bytes, size_t nbytes);
