/*
 * Takes the pages of growing blocks from the system before the parser writes to them, in the thread that reads the file
 * ahead. Otherwise the parser's thread would stop at each page: that was a third of its time.
 *
 *     a column:  | written | taken |              |     The share of the file that the column had needed when it last
 *                                  `-- expected         grew tells how far it will be filled when the parser gets to
 *                                      soon             the bytes being read now.
 *
 * Does nothing where the system cannot do so; what is guessed wrong costs only time. Any thread may call any function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins with a file. False: another file is being read, and this one goes without. */
bool pages_begin(void);

/* The file was read up to here. */
void pages_read_until(uint64_t position);

/* Takes the pages that will be written to soon. O(pages taken). */
void pages_take(void);

/* Ends the file for which pages_begin was true. */
void pages_end(void);

/* A block, full until now, has grown from `full_nbytes` to `nbytes`. */
void pages_grown(void *block, size_t full_nbytes, size_t nbytes);

/* Call it before a block is resized or freed. */
void pages_forget(const void *block);
