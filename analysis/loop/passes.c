#include "analysis/loop/passes.h"

#include "analysis/loop/frame_bits.h"
#include "base/hashed.h"

/* Fills `root` and `inner`: for each stack a hash of the Python frames outside of its outermost forward, and one of those
 * from there on; 0: no forward. C++ frames
 * do not count: where both are recorded, how they are mixed depends on the depth. A stack's parent comes before it, so
 * each is looked at once. */
static bool roots_find(struct passes *passes, const struct phase_runs *runs, const struct timeline *timeline,
                       struct arena *arena) {
    const struct trace *trace = timeline->trace;
    uint32_t slot = 0, n = trace->stacks.count, *outer, *root, *inner;
    if (!ARENA_ZEROS(arena, runs->slots.count, passes->root, passes->inner) ||
        !ARENA_ZEROS(arena, n, outer, root, inner))
        return false;
    for (uint32_t stack = 1; stack < n; stack++) {
        uint32_t parent = stack_parent(&trace->stacks, stack), frame = trace->stacks.frame[stack],
                 bits = runs->frame_bits[frame];
        outer[stack] = (bits & BIT_PYTHON) != 0 ? hash_of_pair(outer[parent], frame) : outer[parent];
        root[stack] = root[parent] != 0 ? root[parent] : (bits & BIT_FORWARD) != 0 ? outer[parent] | 1 : 0;
        inner[stack] = root[stack] == 0           ? 0
                       : (bits & BIT_PYTHON) != 0 ? (inner[parent] ^ (frame + 1)) * 0x01000193u
                                                  : inner[parent];
    }
    for (uint32_t stack = 0; stack < n; stack++)
        if (id_has_slot(&runs->slots, stack)) {
            passes->inner[slot] = inner[stack] ^ inner[stack] >> 15;
            passes->root[slot++] = root[stack];
        }
    ARENA_DROP(arena, inner, root, outer);
    return true;
}

/* Does the forward begin anew? The host's code ran in between, and what follows was in the pass already (another thread
 * may make a batch meanwhile); or, where nothing is trained, it makes what it made first: a benchmark needs no batch. */
static bool begins(const struct passes *passes, uint32_t root, bool first, bool host, bool seen) {
    return passes->count == 0 || passes->pass[passes->count - 1].root != root || first || (host && seen);
}

bool passes_find(struct passes *passes, const struct phase_runs *runs, const struct timeline *timeline,
                 struct arena *arena) {
    const uint8_t *letter = runs->letter + runs->first_allocation;
    const uint32_t *stack = timeline->device->allocations.stack + runs->first_allocation;
    uint32_t *seen, begin = 0, run = 0;
    bool trains = phase_runs_has(runs, SIDE_BACKWARD);
    *passes = (struct passes){0};
    if (!roots_find(passes, runs, timeline, arena) || !ARENA_ZEROS(arena, runs->slots.count, seen))
        return false;
    for (uint32_t k = 0; k < runs->n_allocations; k++) {
        if (side_of_letter(letter[k]) != SIDE_FORWARD) {
            if (side_of_letter(letter[k]) == SIDE_BACKWARD && passes->count > 0)
                passes->pass[passes->count - 1].has_backward = true;
            begin = k + 1;
        }
        if (letter[k] != PHASE_FORWARD)
            continue;
        while (runs->run[run].last < k)
            run++;
        uint32_t slot = id_slot(&runs->slots, stack[k]), root = passes->root[slot];
        bool host = k > 0 && letter[k - 1] != PHASE_FORWARD;
        bool after = passes->count > 0 && passes->pass[passes->count - 1].last < runs->run[run].first;
        bool first = !trains && passes->count > 0 && stack[passes->pass[passes->count - 1].first] == stack[k];
        if (after || begins(passes, root, first, host, seen[slot] == passes->count)) {
            if (!ARENA_GROW(arena, passes->pass, passes->capacity, (uint64_t)passes->count + 1))
                return false;
            passes->pass[passes->count++] = (struct pass){.begin = begin, .first = k, .root = root};
        }
        passes->pass[passes->count - 1].last = k;
        seen[slot] = passes->count;
        begin = k + 1;
    }
    ARENA_DROP(arena, seen);
    return true;
}

void passes_drop(struct passes *passes, struct arena *arena) {
    ARENA_DROP(arena, passes->pass, passes->inner, passes->root);
    *passes = (struct passes){0};
}
