/* From the named file to a trace, and which of its devices to show. Errors and notes are printed here. */
#pragma once

#include "cli/input.h"
#include "cli/options.h"

struct recording {
    struct input input;
    struct trace trace;
    char fingerprint[FINGERPRINT_CHARACTERS + 1];
    char id[FINGERPRINT_CHARACTERS +
            1];              /* recording_id of the file, before anything is redacted; "": only where the
                                            report will be JSON, since it takes time */
    char series_name[128];   /* `input.name` of a series */
    struct read_error error; /* of recording_read, where the trace could not be read */
    bool rules_refused;      /* recording_read failed because of the file of --rules, not of the recording */
};

/* Opens the input only, so that the output can be refused before the work. False: printed, nothing to
 * release. */
bool recording_open(struct recording *recording, const struct settings *settings);

/* Reads the trace. False: printed; the recording must still be released. */
bool recording_read(struct recording *recording, const struct settings *settings);

void recording_release(struct recording *recording);

/*
 * The device to show, as an index into trace.devices: the one of -d, else of those with an out-of-memory event
 * (of all where there is none) the one with most events, and of equal ones the one with the most bytes at its
 * peak. The others are named in a note; with -d only where what people look for is rather on one of them. False:
 * printed; `*code` is the process' answer.
 */
bool recording_choose_device(const struct recording *recording, const struct settings *settings,
                             uint32_t *index, int *code);

/* The same for a command that shows all devices unless one is named: only checks -d. */
bool recording_check_device(const struct recording *recording, const struct settings *settings);

/* Defaults of a picture: a memory timeline is coloured by category, and the capacity is the device's (0:
 * not known). `device` is an index into trace.devices. */
enum color_by recording_color_by(const struct recording *recording, const struct settings *settings);
uint64_t recording_capacity(const struct recording *recording, const struct settings *settings,
                            uint32_t device);

/* "snapshot", "kineto" or "memory_timeline" */
const char *recording_kind(const struct recording *recording);

/* Memory for results of the trace, within the rest of the limit. Release it with arena_release. */
void recording_scratch(const struct recording *recording, struct arena *scratch);

/* "no memory", with what to do about it. */
void recording_print_no_memory(const struct recording *recording, bool limit_hit);
