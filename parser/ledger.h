/*
 * Bytes of which only the total is known, as allocations: what comes opens one, what goes closes one of that very size if a
 * recent one has it, else the latest ones, the last of them in part. So the allocations of a ledger sum up to its total at
 * every moment, whatever the changes were.
 */
#pragma once

#include "parser/recorder.h"

struct ledger {
    struct recorder *recorder;
    uint32_t stack, context;       /* of all its allocations */
    uint64_t next_address, stride; /* made-up addresses: next_address, next_address + stride, ... */
    struct ledger_piece {
        uint64_t address, size;
    } * piece; /* those that are open, oldest first; a column of the trace's arena, for arena_drop */
    uint32_t count, capacity;
    uint64_t total;
};

/* Bytes that were there before the first event. False, here and below: no memory. */
bool ledger_begin(struct ledger *ledger, uint64_t nbytes);

/* Changes at the moment of the recorder's last event: an event may grow a ledger or shrink it, not both. */
bool ledger_grow(struct ledger *ledger, uint64_t nbytes);

/* At most `total` bytes go. O(pieces closed). */
bool ledger_shrink(struct ledger *ledger, uint64_t nbytes);
