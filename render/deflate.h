/* Deflates the pieces of a payload in threads. */
#pragma once

#include "trace/payload.h"

/*
 * Deflates every piece's `raw` (zlib format) and sets its `packed` and `packed_nbytes`. `threads` 0: one per core.
 * The bytes do not depend on the number of threads. They take memory from `host`, one thread at a time. False: no
 * memory, and nothing is left allocated. The caller frees the result with deflate_release after payload_assemble.
 */
bool deflate_pieces(struct payload_piece *pieces, uint32_t n_pieces, unsigned threads,
                    struct arena_host host);

/* Frees what deflate_pieces took of the same host; `packed` of every piece becomes NULL. */
void deflate_release(struct payload_piece *pieces, uint32_t n_pieces, struct arena_host host);
