/* Inputs inside inputs: gzip, zip, zstd, xz, and pages. These are readers in the table of formats.h. */
#pragma once

#include "parser/cursor.h"

bool gzip_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth);
bool zip_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth);
bool zstd_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth);
bool xz_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth);
bool html_layer_read(struct cursor *cursor, struct trace *trace, unsigned depth);

/* Reads an input of any format at the cursor, packed `depth` times. False: the cursor's error is set. */
bool input_read(struct cursor *cursor, struct trace *trace, unsigned depth);
