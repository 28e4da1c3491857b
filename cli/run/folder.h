/*
 * The folder of a run:
 *
 *     DIR/rank3_oom.pickle      dumps, written by the recorder in the program's processes; pid4711_oom.pickle without
 *                               a rank
 *     DIR/host.log              memory of the host over time
 *     DIR/index.html ...        the pages that a batch makes of these
 *     DIR/.run/python-.../      the recorder of one run, in front of PYTHONPATH
 *     DIR/.run/process-...json  what the recorder of a process did and cost
 *     DIR/.run/run-HOST-PID     a `strata run` that goes on; the last one to end writes the pages
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FOLDER_PATH = 4096, FOLDER_LOG = 32 };

struct folder {
    char path[FOLDER_PATH];          /* absolute */
    char recorder[FOLDER_PATH + 32]; /* the folder of sitecustomize.py, made by this run */
    const char *shown;               /* for messages: as given; if chosen, the last part of the path */
    char log_name[FOLDER_LOG];       /* "host.log", or "host-2.log" where another run writes that */
    int log;                         /* open for appending, locked as long as we live; below 0: not open */
    char mark[FOLDER_PATH + 400];
    uint32_t n_earlier; /* dumps that were in it when we began, with nobody else in it */
};

/* Makes or takes the folder (`named` NULL: strata-run, strata-run-2, ...), puts the recorder into it and marks it as in
 * use. What it makes is readable by its owner alone, since dumps hold paths and names. A folder of another user's, or
 * one that others can write to, is refused: its Python code would run as this user. False: printed. */
bool folder_begin(struct folder *folder, const char *named);

/* Touches our mark, so that runs on other machines see that we still live. */
void folder_touch(const struct folder *folder);

/* The name of the host's log of the first run in the folder, of the second ...: host.log, host-2.log ... */
void folder_log_name(int number, char name[FOLDER_LOG]);

/* Appends a line with the time of day to host.log, in one write, so that lines of several writers stay whole. A
 * full disk costs the line. */
__attribute__((format(printf, 2, 3))) void folder_log(const struct folder *folder, const char *format, ...);

/* Removes this run's mark, and the recorder unless a process `goes_on` that may start another Python. True: no other run
 * uses the folder. */
bool folder_end(struct folder *folder, bool goes_on);
