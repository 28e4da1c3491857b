/* Broken payloads: cut, or with entries, sections or columns that are wrong, missing or too many. */
#include "payload_made.h"

/* ---- broken payloads ---- */

static void test_every_truncation_is_an_error(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    for (size_t nbytes = 0; nbytes < bytes.nbytes; nbytes++) {
        uint8_t *cut =
            malloc(nbytes + 1); /* a block of its own, so that the sanitizer notices a read beyond its end */
        assert_non_null(cut);
        memcpy(cut + 1, bytes.at, nbytes);
        assert_int_equal(error_of(cut + 1, nbytes), PAYLOAD_TRUNCATED);
        free(cut);
    }
    trace_release(&trace);
    free(bytes.at);
}

static void test_broken_header(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    for (size_t i = 0; i < 8; i++) {
        bytes.at[i] ^= 1;
        assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_BAD_MAGIC);
        bytes.at[i] ^= 1;
    }
    for (size_t field = 8; field < 16; field += 4) {
        uint32_t value = get32(bytes.at + field);
        const uint32_t others[] = {value + 1, value - 1, 0};
        for (size_t i = 0; i < 3; i++) {
            put32(bytes.at + field, others[i]);
            assert_int_not_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_OK);
        }
        put32(bytes.at + field, UINT32_MAX);
        assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_TRUNCATED);
        put32(bytes.at + field, value);
    }
    assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_OK);
    trace_release(&trace);
    free(bytes.at);
}

/* Puts `value` in a 32-bit field, reads, and puts the old value back. */
static enum payload_error error_with(struct bytes *bytes, size_t field, uint32_t value) {
    uint32_t old = get32(bytes->at + field);
    put32(bytes->at + field, value);
    enum payload_error error = error_of(bytes->at, bytes->nbytes);
    put32(bytes->at + field, old);
    return error;
}

static void test_broken_section_entries(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    uint32_t n_sections = get32(bytes.at + 8);
    assert_in_range(n_sections, 20, 100);
    for (size_t i = 0; i < n_sections; i++) {
        size_t entry = 16 + i * 16;
        uint32_t kind = get32(bytes.at + entry), count = get32(bytes.at + entry + 8);
        uint32_t device = get32(bytes.at + entry + 4), n_pieces = get32(bytes.at + entry + 12);
        if (kind >> 16 == 0) /* an optional section may be of an unknown kind */
            assert_int_equal(error_with(&bytes, entry, 99), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry, (kind & 0xffff0000)), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry, kind | 2 << 16), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 4, device + 77), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 8, 0), PAYLOAD_BAD_SECTION);
        assert_int_not_equal(error_with(&bytes, entry + 8, count + 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 8, count - 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 8, UINT32_MAX), PAYLOAD_OK);
        assert_int_equal(error_with(&bytes, entry + 12, 0), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 12, n_pieces + 1), PAYLOAD_BAD_SECTION);
        assert_int_equal(error_with(&bytes, entry + 12, UINT32_MAX), PAYLOAD_BAD_SECTION);
        if (i > 0) { /* the same section twice */
            uint8_t old[16];
            memcpy(old, bytes.at + entry, 16);
            memcpy(bytes.at + entry, bytes.at + entry - 16, 8);
            assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_BAD_SECTION);
            memcpy(bytes.at + entry, old, 16);
        }
    }
    assert_int_equal(error_of(bytes.at, bytes.nbytes), PAYLOAD_OK);
    trace_release(&trace);
    free(bytes.at);
}

static void test_broken_piece_entries(void **state) {
    struct trace trace;
    (void)state;
    fill(&trace, 1);
    struct bytes bytes = pack(&trace);
    uint32_t n_sections = get32(bytes.at + 8), n_pieces = get32(bytes.at + 12);
    for (size_t i = 0; i < n_pieces; i++) {
        size_t entry = 16 + n_sections * 16 + i * 8;
        uint32_t raw = get32(bytes.at + entry), packed = get32(bytes.at + entry + 4);
        assert_int_equal(error_with(&bytes, entry, 0), PAYLOAD_BAD_VALUE);
        assert_int_equal(error_with(&bytes, entry, PAYLOAD_PIECE_NBYTES + 1), PAYLOAD_BAD_VALUE);
        assert_int_equal(error_with(&bytes, entry, 1032 * (packed + 1)), PAYLOAD_BAD_VALUE);
        assert_int_not_equal(error_with(&bytes, entry, raw + 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry, raw - 1), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 4, 0), PAYLOAD_OK);
        assert_int_not_equal(error_with(&bytes, entry + 4, packed + 1), PAYLOAD_OK);
        assert_int_equal(error_with(&bytes, entry + 4, UINT32_MAX), PAYLOAD_TRUNCATED);
    }
    trace_release(&trace);
    free(bytes.at);
}

/* ---- additional and missing sections ---- */

struct listing {
    struct {
        uint8_t entry[16];
        uint32_t n_pieces;
    } section[100];
    struct {
        uint32_t raw, packed;
        const uint8_t *at;
    } piece[2000];
    uint32_t n_sections, n_pieces;
};

static void listing_read(struct listing *listing, const struct bytes *bytes) {
    listing->n_sections = get32(bytes->at + 8);
    listing->n_pieces = get32(bytes->at + 12);
    assert_in_range(listing->n_sections, 1, 99);
    assert_in_range(listing->n_pieces, 1, 1999);
    const uint8_t *at = bytes->at + 16;
    for (uint32_t i = 0; i < listing->n_sections; i++, at += 16) {
        memcpy(listing->section[i].entry, at, 16);
        listing->section[i].n_pieces = get32(at + 12);
    }
    const uint8_t *packed = at + listing->n_pieces * 8;
    for (uint32_t i = 0; i < listing->n_pieces; i++, at += 8) {
        listing->piece[i].raw = get32(at);
        listing->piece[i].packed = get32(at + 4);
        listing->piece[i].at = packed;
        packed += listing->piece[i].packed;
    }
}

/* Writes a listing as a payload, without the sections of type `skip`. */
static struct bytes listing_write(const struct listing *listing, uint32_t skip) {
    struct bytes bytes = {malloc(1 << 20), 0};
    uint32_t n_sections = 0, n_pieces = 0;
    assert_non_null(bytes.at);
    memcpy(bytes.at, "STRATAP1", 8);
    uint8_t *at = bytes.at + 16;
    for (uint32_t i = 0; i < listing->n_sections; i++) {
        if (listing->section[i].entry[0] == skip)
            continue;
        memcpy(at, listing->section[i].entry, 16);
        at += 16;
        n_sections++;
    }
    for (int what = 0; what < 2; what++) {
        uint32_t piece = 0;
        for (uint32_t i = 0; i < listing->n_sections; i++)
            for (uint32_t k = 0; k < listing->section[i].n_pieces; k++, piece++) {
                if (listing->section[i].entry[0] == skip)
                    continue;
                if (what == 0) {
                    put32(at, listing->piece[piece].raw);
                    put32(at + 4, listing->piece[piece].packed);
                    at += 8;
                    n_pieces++;
                } else {
                    memcpy(at, listing->piece[piece].at, listing->piece[piece].packed);
                    at += listing->piece[piece].packed;
                }
            }
    }
    put32(bytes.at + 8, n_sections);
    put32(bytes.at + 12, n_pieces);
    bytes.nbytes = (size_t)(at - bytes.at);
    return bytes;
}

static void test_addresses_may_be_left_out(void **state) {
    static struct listing listing;
    struct trace trace, again;
    (void)state;
    fill(&trace, 2);
    struct bytes bytes = pack(&trace);
    listing_read(&listing, &bytes);
    struct bytes without = listing_write(&listing, 37);
    assert_true(without.nbytes < bytes.nbytes);
    assert_int_equal(read_bytes(&again, without.at, without.nbytes), PAYLOAD_OK);
    for (uint32_t i = 0; i < N_ALLOCATIONS; i++) {
        assert_int_equal(again.devices[0].allocations.address[i], 0);
        trace.devices[0].allocations.address[i] = trace.devices[2].allocations.address[i] = 0;
    }
    assert_same(&trace, &again);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
    free(without.at);
}

/* Pages of older versions lack the numbers of diagnostics. */
static void test_numbers_of_diagnostics_may_be_left_out(void **state) {
    static struct listing listing;
    struct trace trace, again;
    (void)state;
    fill(&trace, 2);
    struct bytes bytes = pack(&trace);
    listing_read(&listing, &bytes);
    struct bytes without = listing_write(&listing, 12);
    assert_true(without.nbytes < bytes.nbytes);
    assert_int_equal(read_bytes(&again, without.at, without.nbytes), PAYLOAD_OK);
    for (uint32_t i = 0; i < trace.n_diagnostics; i++)
        trace.diagnostics[i] = (struct diagnostic){.code = trace.diagnostics[i].code,
                                                   .message = trace.diagnostics[i].message,
                                                   .device = trace.diagnostics[i].device};
    assert_same(&trace, &again);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
    free(without.at);
}

static void test_missing_sections(void **state) {
    static struct listing listing;
    struct trace trace;
    (void)state;
    fill(&trace, 2);
    struct bytes bytes = pack(&trace);
    listing_read(&listing, &bytes);
    /* Without any one of these sections, ids point nowhere, or numbers belong to nothing. */
    const uint32_t needed[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 32, 33, 34, 35, 36, 43};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        struct bytes without = listing_write(&listing, needed[i]);
        assert_true(without.nbytes < bytes.nbytes);
        assert_int_not_equal(error_of(without.at, without.nbytes), PAYLOAD_OK);
        free(without.at);
    }
    trace_release(&trace);
    free(bytes.at);
}

static void test_unknown_sections(void **state) {
    static struct listing listing;
    struct trace trace, again;
    uint8_t packed[64];
    uLongf nbytes = sizeof packed;
    (void)state;
    fill(&trace, 2);
    struct bytes bytes = pack(&trace);
    listing_read(&listing, &bytes);
    assert_int_equal(compress(packed, &nbytes, (const Bytef *)"later", 5), Z_OK);
    uint8_t *entry = listing.section[listing.n_sections].entry;
    put32(entry, 99 | 1 << 16); /* optional */
    put32(entry + 4, 3);
    put32(entry + 8, 1);
    put32(entry + 12, 1);
    listing.section[listing.n_sections++].n_pieces = 1;
    listing.piece[listing.n_pieces].raw = 5;
    listing.piece[listing.n_pieces].packed = (uint32_t)nbytes;
    listing.piece[listing.n_pieces++].at = packed;
    struct bytes more = listing_write(&listing, 0);
    assert_int_equal(read_bytes(&again, more.at, more.nbytes), PAYLOAD_OK);
    assert_same(&trace, &again);
    free(more.at);
    entry[2] = 0; /* required */
    more = listing_write(&listing, 0);
    assert_int_equal(error_of(more.at, more.nbytes), PAYLOAD_BAD_SECTION);
    free(more.at);
    trace_release(&trace);
    trace_release(&again);
    free(bytes.at);
}

/* ---- broken columns ---- */

/* Checks the properties on which every reader of a trace relies. */
static void assert_sound_allocations(const struct trace *trace, const struct device_trace *device) {
    const struct allocations *allocations = &device->allocations;
    for (uint32_t i = 0; i < allocations->count; i++) {
        assert_true((i < allocations->preexisting) == (allocations->birth[i] == 0));
        assert_true(i == 0 || allocations->birth[i] >= allocations->birth[i - 1]);
        assert_true(allocations->birth[i] <= device->n_events &&
                    allocations->birth[i] <= allocations->request[i]);
        assert_true(allocations->request[i] <= allocations->death[i] &&
                    allocations->death[i] <= device->n_events + 1);
        assert_true(allocations->stack[i] < trace->stacks.count &&
                    allocations->context[i] < trace->contexts.count);
        assert_true(allocations->stream[i] < device->n_streams && allocations->pool[i] < device->n_pools);
        assert_true(allocations->flags[i] < 16);
    }
}

static void assert_sound_device(const struct trace *trace, const struct device_trace *device) {
    assert_sound_allocations(trace, device);
    for (uint32_t i = 0; i < device->n_segment_events; i++) {
        const struct segment_event *event = &device->segment_events[i];
        assert_true(event->event < device->n_events && event->stack < trace->stacks.count);
        assert_true(event->stream < device->n_streams && event->change <= SEGMENT_UNMAP);
        assert_true(i == 0 || event->event >= event[-1].event);
    }
    for (uint32_t i = 0; i < device->n_segments; i++) {
        const struct segment *segment = &device->segments[i];
        assert_true(segment->stack < trace->stacks.count && segment->pool < device->n_pools);
        assert_true((uint64_t)segment->first_block + segment->block_count <= device->n_blocks);
    }
    for (uint32_t i = 0; i < device->n_blocks; i++)
        assert_true(device->blocks[i].stack < trace->stacks.count && device->blocks[i].state <= 2);
}

static void assert_sound(const struct trace *trace) {
    const struct string_table *strings = &trace->strings;
    for (uint32_t i = 0; i < strings->count; i++)
        assert_true(strings->start[i] <= strings->start[i + 1]);
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        const struct frame *frame = &trace->frames.frame[i];
        assert_true(frame->file < strings->count && frame->name < strings->count &&
                    frame->fx < trace->fx.count);
    }
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        assert_true(stack_parent(&trace->stacks, i) < i);
        assert_true(trace->stacks.frame[i] < trace->frames.count);
    }
    for (uint32_t i = 0; i < trace->n_annotations; i++)
        assert_true(trace->annotations[i].name < strings->count && trace->annotations[i].stage < 2);
    for (uint32_t i = 0; i < trace->n_devices; i++)
        assert_sound_device(trace, &trace->devices[i]);
}

/* The table of the file has one row: two bytes for each of the four columns, then a byte for each. */
static void test_broken_facts_of_the_file(void **state) {
    static const struct {
        uint32_t at;
        uint8_t value;
    } wrong[] = {
        {8, N_STRINGS},    /* settings */
        {9, N_STRINGS},    /* meta */
        {10, TRACE_KINDS}, /* kind */
        {11, 3},           /* rank -2 */
    };
    struct trace trace;
    struct arena arena;
    struct payload payload;
    (void)state;
    fill(&trace, 5);
    struct bytes bytes = pack(&trace);
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_int_equal(payload_open(&payload, bytes.at, bytes.nbytes, &arena), PAYLOAD_OK);
    assert_true(pieces_inflate(&payload));
    assert_int_equal(payload.pieces[0].raw_nbytes, 12);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t *at = payload.pieces[0].target + wrong[i].at, old = *at;
        struct trace again;
        *at = wrong[i].value;
        assert_true(trace_init(&again, host_of(&plenty), SIZE_MAX));
        assert_int_equal(payload_unpack(&payload, &again), PAYLOAD_BAD_VALUE);
        trace_release(&again);
        *at = old;
    }
    arena_release(&arena);
    trace_release(&trace);
    free(bytes.at);
}

/* 10,000 times one wrong byte in an inflated section: an error or a sound trace, and (under AddressSanitizer) no
 * invalid access. */
static void test_one_wrong_byte(void **state) {
    struct trace trace;
    struct arena arena;
    struct payload payload;
    uint32_t refused = 0;
    (void)state;
    fill(&trace, 5);
    struct bytes bytes = pack(&trace);
    arena_init(&arena, host_of(&plenty), SIZE_MAX);
    assert_int_equal(payload_open(&payload, bytes.at, bytes.nbytes, &arena), PAYLOAD_OK);
    assert_true(pieces_inflate(&payload));
    for (uint32_t i = 0; i < 10000; i++) {
        struct payload_piece *piece = &payload.pieces[below(payload.n_pieces)];
        uint32_t at =
            below(2) ? below(piece->raw_nbytes) : below(piece->raw_nbytes < 24 ? piece->raw_nbytes : 24);
        uint8_t old = piece->target[at];
        struct trace again;
        piece->target[at] = (uint8_t)number();
        assert_true(trace_init(&again, host_of(&plenty), (size_t)64 << 20));
        if (payload_unpack(&payload, &again) == PAYLOAD_OK)
            assert_sound(&again);
        else
            refused++;
        trace_release(&again);
        piece->target[at] = old;
    }
    assert_in_range(refused, 1000, 9999);
    arena_release(&arena);
    trace_release(&trace);
    free(bytes.at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_truncation_is_an_error),
        cmocka_unit_test(test_broken_header),
        cmocka_unit_test(test_broken_section_entries),
        cmocka_unit_test(test_broken_piece_entries),
        cmocka_unit_test(test_addresses_may_be_left_out),
        cmocka_unit_test(test_numbers_of_diagnostics_may_be_left_out),
        cmocka_unit_test(test_missing_sections),
        cmocka_unit_test(test_unknown_sections),
        cmocka_unit_test(test_broken_facts_of_the_file),
        cmocka_unit_test(test_one_wrong_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
