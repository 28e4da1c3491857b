/* The memory of the page's module: one heap in its linear memory. Only in the WebAssembly. */
#ifndef STRATA_RENDER_PAGE_PAGE_HEAP_H
#define STRATA_RENDER_PAGE_PAGE_HEAP_H

#include "base/arena.h"

struct arena_host page_heap(void);

#endif
