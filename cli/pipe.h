/* Opens a path that may be a named pipe. Opening a pipe waits until its other end is open too, for ever if need be,
 * as in every program. After a second a note says so, so that the program does not seem to hang. */
#pragma once

/* Opens a path for reading; the other function for writing into what is there already. The descriptor is closed by
 * exec, is never the controlling terminal, and waits as files do. `shown`: the name for messages. Below 0: errno. */
int pipe_open_to_read(const char *path, const char *shown);
int pipe_open_to_write(const char *path, const char *shown);
