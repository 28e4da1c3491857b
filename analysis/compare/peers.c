#include "analysis/compare/peers.h"

#include "base/bytes.h"
#include "base/sort.h"

/* Parts rows of one number further by a key, in which `fewest` rows at least have each value. */
static void rows_part(const struct peer_row *rows, uint32_t n_rows, enum peer_key key, uint32_t fewest,
                      struct sort_row *order, struct sort_row *spare, uint32_t *number) {
    uint32_t next = 0;
    SORT_BY(order, spare, n_rows, i, rows[i].key[key]);
    SORT_AGAIN(order, spare, n_rows, own, number[own]);
    for (uint32_t from = 0, to; from < n_rows; from = to, next++) {
        bool parts = fewest <= 1 || rows[order[from].value].key[key] != 0;
        to = sort_rows_end(order, n_rows, from);
        for (uint32_t i = from, end; i < to; i = end) {
            uint64_t value = rows[order[i].value].key[key];
            for (end = i + 1; end < to && rows[order[end].value].key[key] == value;)
                end++;
            parts = parts && end - i >= fewest;
        }
        for (uint32_t i = from; i < to; i++) {
            next += parts && i > from && rows[order[i].value].key[key] != rows[order[i - 1].value].key[key];
            number[order[i].value] = next;
        }
    }
}

bool peers_find(const struct peer_row *rows, uint32_t n_rows, struct arena *arena, uint32_t *peers,
                uint32_t *crew) {
    struct sort_row *order, *spare;
    if (!ARENA_COLUMNS(arena, n_rows, order, spare))
        return false;
    bytes_zero(peers, (size_t)n_rows * sizeof *peers);
    rows_part(rows, n_rows, PEER_DUMP, 1, order, spare, peers);
    rows_part(rows, n_rows, PEER_GROUP, 1, order, spare, peers);
    bytes_copy(crew, peers, (size_t)n_rows * sizeof *peers);
    for (enum peer_key key = PEER_EP; key < PEER_KEYS; key++)
        rows_part(rows, n_rows, key, 2, order, spare, peers);
    ARENA_DROP(arena, spare, order);
    return true;
}
