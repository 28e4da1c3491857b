/* The header and the directory of a payload. */
#include "trace/payload_reader.h"

/* No deflate stream inflates to more than 1032 times its size (258 bytes per two bits). */
enum { MOST_INFLATION = 1032 };

static uint64_t load_le(const uint8_t *from, uint32_t nbytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < nbytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static bool section_known(uint32_t type) {
    return (type >= SECTION_FILE && type <= SECTION_FILE_LAST) ||
           (type >= SECTION_STREAMS && type < SECTION_END);
}

static enum payload_error section_check(const struct payload *payload, uint32_t index) {
    const struct payload_section *section = &payload->sections[index];
    bool of_device = section->type >= SECTION_STREAMS;
    if (index > 0 && section_order(section - 1) >= section_order(section))
        return PAYLOAD_BAD_SECTION;
    if (section->flags & ~SECTION_OPTIONAL || section->n_pieces == 0 || section->count == 0)
        return PAYLOAD_BAD_SECTION;
    if (section_known(section->type))
        return of_device == (section->device != 0) ? PAYLOAD_OK : PAYLOAD_BAD_SECTION;
    return section->flags & SECTION_OPTIONAL ? PAYLOAD_OK : PAYLOAD_BAD_SECTION;
}

/* Reads the entries of the sections; their pieces follow each other. */
static enum payload_error sections_read(struct payload *payload, const uint8_t *from) {
    uint64_t n_pieces = 0;
    for (uint32_t i = 0; i < payload->n_sections; i++, from += SECTION_ENTRY_NBYTES) {
        payload->sections[i] = (struct payload_section){
            .type = (uint16_t)load_le(from, 2),
            .flags = (uint16_t)load_le(from + 2, 2),
            .device = (uint32_t)load_le(from + 4, 4),
            .count = (uint32_t)load_le(from + 8, 4),
            .n_pieces = (uint32_t)load_le(from + 12, 4),
            .first_piece = (uint32_t)n_pieces,
        };
        enum payload_error error = section_check(payload, i);
        n_pieces += payload->sections[i].n_pieces;
        if (error != PAYLOAD_OK)
            return error;
        if (n_pieces > payload->n_pieces)
            return PAYLOAD_BAD_SECTION;
    }
    return n_pieces == payload->n_pieces ? PAYLOAD_OK : PAYLOAD_BAD_SECTION;
}

/* Reads the entries of the pieces; `packed` is where the first begins. */
static enum payload_error pieces_read(struct payload *payload, const uint8_t *from, const uint8_t *packed,
                                      uint64_t packed_nbytes) {
    for (uint32_t i = 0; i < payload->n_pieces; i++, from += PIECE_ENTRY_NBYTES) {
        struct payload_piece *piece = &payload->pieces[i];
        *piece = (struct payload_piece){.raw_nbytes = (uint32_t)load_le(from, 4),
                                        .packed = packed,
                                        .packed_nbytes = (uint32_t)load_le(from + 4, 4)};
        if (piece->packed_nbytes > packed_nbytes)
            return PAYLOAD_TRUNCATED;
        if (piece->raw_nbytes == 0 || piece->raw_nbytes > PAYLOAD_PIECE_NBYTES ||
            piece->raw_nbytes / MOST_INFLATION > piece->packed_nbytes)
            return PAYLOAD_BAD_VALUE;
        packed += piece->packed_nbytes;
        packed_nbytes -= piece->packed_nbytes;
    }
    return PAYLOAD_OK;
}

/* Gives the pieces of a section one target, so that they are inflated side by side. */
static enum payload_error section_place(struct payload *payload, struct payload_section *section) {
    struct payload_piece *pieces = payload->pieces + section->first_piece;
    void *target = NULL;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < section->n_pieces; i++)
        section->raw_nbytes += pieces[i].raw_nbytes;
    /* In items of 16 bytes, because a section may have more bytes than a capacity can count. */
    if (!arena_grow(payload->arena, &target, &capacity, (section->raw_nbytes + 15) / 16, 16))
        return PAYLOAD_NO_MEMORY;
    uint8_t *at = target;
    section->raw = at;
    for (uint32_t i = 0; i < section->n_pieces; i++) {
        pieces[i].raw = pieces[i].target = at;
        at += pieces[i].raw_nbytes;
    }
    return PAYLOAD_OK;
}

/* Makes room for the directory, whose size was already checked against the bytes that are there. */
static enum payload_error directory_alloc(struct payload *payload, uint32_t n_sections, uint32_t n_pieces) {
    payload->sections = arena_alloc(payload->arena, (size_t)n_sections * sizeof *payload->sections + 1);
    payload->pieces = arena_alloc(payload->arena, (size_t)n_pieces * sizeof *payload->pieces + 1);
    if (payload->sections == NULL || payload->pieces == NULL)
        return PAYLOAD_NO_MEMORY;
    payload->n_sections = payload->sections_capacity = n_sections;
    payload->n_pieces = payload->pieces_capacity = n_pieces;
    return PAYLOAD_OK;
}

enum payload_error payload_open(struct payload *payload, const void *bytes, uint64_t nbytes,
                                struct arena *arena) {
    const uint8_t *from = bytes;
    bytes_zero(payload, sizeof *payload);
    payload->arena = arena;
    if (nbytes < HEADER_NBYTES)
        return PAYLOAD_TRUNCATED;
    for (uint32_t i = 0; i < sizeof payload_magic; i++)
        if (from[i] != payload_magic[i])
            return PAYLOAD_BAD_MAGIC;
    uint32_t n_sections = (uint32_t)load_le(from + 8, 4), n_pieces = (uint32_t)load_le(from + 12, 4);
    uint64_t entries = (uint64_t)n_sections * SECTION_ENTRY_NBYTES + (uint64_t)n_pieces * PIECE_ENTRY_NBYTES;
    if (entries > nbytes - HEADER_NBYTES)
        return PAYLOAD_TRUNCATED;

    const uint8_t *section_entries = from + HEADER_NBYTES;
    const uint8_t *piece_entries = section_entries + (uint64_t)n_sections * SECTION_ENTRY_NBYTES;
    enum payload_error error = directory_alloc(payload, n_sections, n_pieces);
    if (error == PAYLOAD_OK)
        error = sections_read(payload, section_entries);
    if (error == PAYLOAD_OK)
        error =
            pieces_read(payload, piece_entries, section_entries + entries, nbytes - HEADER_NBYTES - entries);
    for (uint32_t i = 0; i < payload->n_sections && error == PAYLOAD_OK; i++)
        error = section_place(payload, &payload->sections[i]);
    return error;
}
