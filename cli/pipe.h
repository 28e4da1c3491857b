/*
 * Opening what may be a named pipe. Whoever opens one waits until the other end is opened too, for ever if need be, as
 * every program does; so that it does not look like a program that hangs, it is said after a second.
 */
#pragma once

/* A descriptor for reading; for writing, of what is there already. Closed by exec, never the controlling terminal, and it
 * waits as files do. `shown`: the name for messages. Below 0: errno. */
int pipe_open_to_read(const char *path, const char *shown);
int pipe_open_to_write(const char *path, const char *shown);
