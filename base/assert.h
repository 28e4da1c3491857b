/* assert() for sources that are compiled for the page too, where there is no C library and nobody to read a message.
 * Freestanding. Builds with sanitizers and fuzz targets keep their asserts; release builds don't. */
#pragma once

#ifdef __wasm__
#define assert(condition) ((void)0)
#else
#include <assert.h>
#endif
