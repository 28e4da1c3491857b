/* Opens what may be a named pipe. Opening one takes until the other end is opened too, for ever if need be, as in
 * every program. After a second this is said, so that the program does not seem to hang. */
#pragma once

/* Opens a path for reading; the other function for writing into what is there already. The descriptor is closed by
 * exec, is never the controlling terminal, and waits as files do. `shown`: the name for messages. Below 0: errno. */
int pipe_open_to_read(const char *path, const char *shown);
int pipe_open_to_write(const char *path, const char *shown);
