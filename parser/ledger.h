/*
 * Turns bytes of which only the total is known into allocations. An increase opens one. A decrease closes one of
 * exactly that size, if a recent one has it; otherwise the latest ones, the last of them in part. So the
 * allocations add up to the total at every moment.
 */
#pragma once

#include "parser/recorder.h"

struct ledger {
    struct recorder *recorder;
    uint32_t stack, context;       /* of all its allocations */
    uint64_t next_address, stride; /* made-up addresses: next_address, next_address + stride, ... */
    struct ledger_piece {
        uint64_t address, size;
    } * piece; /* open pieces, oldest first; a column of the trace's arena, for arena_drop */
    uint32_t count, capacity;
    uint64_t total;
};

/* Begins with bytes from before the first event. False, here and below: no memory. */
bool ledger_begin(struct ledger *ledger, uint64_t nbytes);

/* Changes at the recorder's last event. An event may grow a ledger or shrink it, but not both. */
bool ledger_grow(struct ledger *ledger, uint64_t nbytes);

/* Removes at most `total` bytes. O(pieces closed). */
bool ledger_shrink(struct ledger *ledger, uint64_t nbytes);
