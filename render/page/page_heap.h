/* The memory of the page's module: one heap in its linear memory. Only in the WebAssembly. */
#pragma once

#include "base/arena.h"

struct arena_host page_heap(void);
