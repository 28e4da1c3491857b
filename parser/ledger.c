#include "parser/ledger.h"

#include "base/bytes.h"

enum { RECENT = 64 }; /* how many open pieces are searched for one of the right size */

static struct arena *arena_of(struct ledger *ledger) {
    return &ledger->recorder->interner->trace->arena;
}

static bool piece_add(struct ledger *ledger, uint64_t nbytes, struct event *event) {
    if (!ARENA_GROW(arena_of(ledger), ledger->piece, ledger->capacity, (uint64_t)ledger->count + 1))
        return false;
    *event = (struct event){.action = ACTION_ALLOC,
                            .stack = ledger->stack,
                            .context = ledger->context,
                            .address = ledger->next_address,
                            .size = nbytes};
    ledger->piece[ledger->count++] = (struct ledger_piece){ledger->next_address, nbytes};
    ledger->next_address += ledger->stride;
    ledger->total += nbytes;
    return true;
}

bool ledger_begin(struct ledger *ledger, uint64_t nbytes) {
    struct event event;
    return nbytes == 0 || (piece_add(ledger, nbytes, &event) && recorder_before(ledger->recorder, &event));
}

bool ledger_grow(struct ledger *ledger, uint64_t nbytes) {
    struct event event;
    return nbytes == 0 || (piece_add(ledger, nbytes, &event) && recorder_join(ledger->recorder, &event));
}

static bool piece_close(struct ledger *ledger, uint32_t index) {
    struct ledger_piece *piece = &ledger->piece[index];
    struct event event = {.action = ACTION_FREE_COMPLETED, .address = piece->address, .size = piece->size};
    ledger->total -= piece->size;
    ledger->count--;
    bytes_move(piece, piece + 1, (ledger->count - index) * sizeof *piece);
    return recorder_join(ledger->recorder, &event);
}

/* A recent piece of this size; `count`: none. */
static uint32_t piece_find(const struct ledger *ledger, uint64_t nbytes) {
    uint32_t oldest = ledger->count > RECENT ? ledger->count - RECENT : 0;
    for (uint32_t i = ledger->count; i-- > oldest;)
        if (ledger->piece[i].size == nbytes)
            return i;
    return ledger->count;
}

bool ledger_shrink(struct ledger *ledger, uint64_t nbytes) {
    uint32_t fitting = piece_find(ledger, nbytes);
    if (fitting < ledger->count)
        return piece_close(ledger, fitting);
    while (nbytes != 0 && ledger->count != 0) {
        uint64_t size = ledger->piece[ledger->count - 1].size;
        if (!piece_close(ledger, ledger->count - 1))
            return false;
        if (size > nbytes)
            return ledger_grow(ledger, size - nbytes);
        nbytes -= size;
    }
    return true;
}
