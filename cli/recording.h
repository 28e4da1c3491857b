/* Reads the named file to a trace, and chooses which of its devices to show. Errors and notes are printed here. */
#pragma once

#include "cli/input.h"
#include "cli/options.h"

struct recording {
    struct input input;
    struct trace trace;
    char fingerprint[FINGERPRINT_CHARACTERS + 1];
    /* recording_id of the file, before anything is redacted; "" unless the report will be JSON, because computing it
     * takes time */
    char id[FINGERPRINT_CHARACTERS + 1];
    char series_name[128];   /* `input.name` of a series */
    struct read_error error; /* why recording_read could not read the trace */
};

/* Opens the input only, so that the output can be refused before the work begins. False: printed, nothing to
 * release. */
bool recording_open(struct recording *recording, const struct settings *settings);

/* Reads the trace. False: printed; the recording must still be released. */
bool recording_read(struct recording *recording, const struct settings *settings);

void recording_release(struct recording *recording);

/* Finds the device that people ask about most likely, as recording_choose_device does, without a note. There must be
 * one. False: no memory, printed. */
bool recording_likeliest_device(const struct recording *recording, uint32_t *index);

/*
 * Chooses the device to show, as an index into trace.devices. With -d it is the named one. Otherwise it is, of the
 * devices with an out-of-memory event (of all if there is none), the one with most events; of equal ones, the one with
 * the highest peak. A note names the others; with -d only where another device is more likely wanted. False: printed;
 * `*code` is the exit code.
 */
bool recording_choose_device(const struct recording *recording, const struct settings *settings,
                             uint32_t *index, int *code);

/* Checks -d for a command that shows all devices unless one is named. */
bool recording_check_device(const struct recording *recording, const struct settings *settings);

/* Defaults of a picture: the colouring (a memory timeline is coloured by category) and the capacity (the device's; 0:
 * not known). `device` is an index into trace.devices. */
enum color_by recording_color_by(const struct recording *recording, const struct settings *settings);
uint64_t recording_capacity(const struct recording *recording, const struct settings *settings,
                            uint32_t device);

/* "snapshot", "kineto" or "memory_timeline" */
const char *recording_kind(const struct recording *recording);

/* Initialises memory for results of the trace, within what is left of the limit. Release it with arena_release. */
void recording_scratch(const struct recording *recording, struct arena *scratch);

/* Prints "no memory", with what to do about it. Returns EXIT_CODE_FAILED. */
int recording_print_no_memory(const struct recording *recording, bool limit_hit);
