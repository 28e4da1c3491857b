/* Writes the answers of strata plan as text, Markdown and JSON. docs/plan.md explains each figure. */
#pragma once

#include "render/report/report.h"
#include "render/report/report_sheet.h"
#include "render/words/plan.h"

#include <string.h>

struct plan_report {
    enum report_format format;
    struct text_look look; /* for text only */
    const char *file, *fingerprint;
    uint32_t n_devices;
    const struct plan *device; /* NULL: a plan is made when it is written, and kept until the next one is */
    const struct plan *(*make)(void *context, uint32_t i);
    void *context;
};

struct plan_together {
    const char *const *file; /* [n_files] */
    char fingerprint[64];    /* of the first file */
    uint32_t n_files, n_devices, n_needs;
    uint64_t budget_bytes;             /* for each recording; 0: not given */
    struct plan_need need[PLAN_NEEDS]; /* the most of all recordings; served: all are */
};

/* The text that the plan_words_... function `say` writes, as sheet_quote gives it. */
#define PLAN_SAID(sheet, say, ...)                                     \
    __extension__({                                                    \
        const char *plan_text = SHEET_SAID((sheet), say, __VA_ARGS__); \
        sheet_quote((sheet), plan_text, strlen(plan_text));            \
    })

/* Appends the comparison. False: no memory. */
bool plan_together_write(struct buffer *out, const struct plan_together *together, enum report_format format,
                         struct arena *scratch);

/* Appends all devices to `out`. Texts are made in `scratch`. False: no memory. */
bool plan_report_write(struct buffer *out, const struct plan_report *report, struct arena *scratch);

/* A plan_teller: writes the first lines of its answer, each ended by a line feed; nothing if plan_words_answer says
 * nothing. */
enum { PLAN_LINES = 3 };
bool plan_lines_tell(struct words *words, const struct plan *plan, struct arena *scratch);
