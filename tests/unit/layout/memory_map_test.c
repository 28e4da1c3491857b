/* Maps of hand-made segments: the layout in each order, and the block under each pixel. */
#include "recording.h"

#include "base/numbers.h"
#include "layout/memory_map.h"

enum { MOST = 400 };

struct drawing {
    struct held held;
    struct held_segment segment[MOST];
    struct held_block block[MOST * 4];
    struct memory_map map;
    struct arena arena;
};

static const struct map_grid grid = {
    .width = 900, .row = 14, .row_gap = 2, .side_gap = 3, .heading = 22, .narrow = 46, .room = 400};

static struct drawing *drawing_open(void) {
    struct drawing *drawing = calloc(1, sizeof *drawing);
    assert_non_null(drawing);
    arena_init(&drawing->arena, plain_host, SIZE_MAX);
    drawing->held.segment = drawing->segment;
    drawing->held.block = drawing->block;
    return drawing;
}

static void drawing_close(struct drawing *drawing) {
    arena_release(&drawing->arena);
    free(drawing);
}

/* A segment after the last one, whose blocks are in use (positive) or free; 0 ends the list. */
static struct held_segment *segment_add(struct drawing *drawing, uint16_t pool, const int64_t *blocks) {
    struct held *held = &drawing->held;
    struct held_segment *segment = &held->segment[held->n_segments++];
    uint64_t address = held->n_blocks == 0 ? 4096
                                           : held->block[held->n_blocks - 1].address +
                                                 held->block[held->n_blocks - 1].size + 4096;
    *segment = (struct held_segment){.address = address, .first_block = held->n_blocks, .pool = pool};
    for (; *blocks != 0; blocks++) {
        uint64_t size = (uint64_t)(*blocks < 0 ? -*blocks : *blocks);
        held->block[held->n_blocks] =
            (struct held_block){.address = address + segment->size,
                                .size = size,
                                .allocation = *blocks < 0 ? ALLOCATION_NONE : held->n_blocks};
        held->n_blocks++;
        segment->size += size;
        segment->n_blocks++;
    }
    return segment;
}

static void lay(struct drawing *drawing, enum map_order order) {
    assert_true(memory_map_make(&drawing->map, &drawing->held, order, grid, &drawing->arena));
}

/* Parts tile their segments, lie inside, and do not overlap; every block is found in its middle. */
static void assert_laid(const struct drawing *drawing) {
    const struct memory_map *map = &drawing->map;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < map->n_parts; i++) {
        const struct map_part *part = &map->part[i];
        assert_true(part->width >= 1 && part->x + part->width <= grid.width &&
                    part->y + grid.row <= map->height);
        bytes += part->to - part->from;
        if (i > 0 && map->part[i - 1].y == part->y)
            assert_true(map->part[i - 1].x + map->part[i - 1].width < part->x);
        else if (i > 0)
            assert_true(map->part[i - 1].y + grid.row < part->y);
    }
    for (uint32_t i = 0; i < map->held->n_segments; i++)
        bytes -= map->held->segment[i].size;
    assert_int_equal(bytes, 0);
    for (uint32_t i = 0; i < map->held->n_blocks; i++) {
        uint32_t segment = held_segment_at(map->held, map->held->block[i].address), found, block;
        struct map_place place;
        assert_true(memory_map_place(map, segment, i, 0, &place));
        if (place.end_q8 - place.x_q8 < 3 * 256)
            continue;
        assert_true(memory_map_pick(map, (place.x_q8 + place.end_q8) / 512, place.y + 3, &found, &block));
        assert_int_equal(found, segment);
        assert_int_equal(block, i);
    }
}

static uint32_t nth_segment(const struct drawing *drawing, uint32_t nth) {
    return drawing->map.part[nth].segment;
}

static void test_orders(void **state) {
    (void)state;
    struct drawing *drawing = drawing_open();
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){20 << 20, -(20 << 20), 0})->birth = 7;
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){60 << 20, -(4 << 20), 0})->birth = 3;
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){-(30 << 20), 0})->birth = 5;
    static const uint32_t wanted[MAP_ORDERS][3] = {[MAP_BY_SIZE] = {1, 0, 2},
                                                   [MAP_BY_ADDRESS] = {0, 1, 2},
                                                   [MAP_BY_FREE] = {2, 0, 1},
                                                   [MAP_BY_AGE] = {1, 2, 0},
                                                   /* A segment that is wholly free has no hole. */
                                                   [MAP_BY_HOLE] = {0, 1, 2}};
    for (unsigned order = 0; order < MAP_ORDERS; order++) {
        lay(drawing, (enum map_order)order);
        assert_laid(drawing);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(nth_segment(drawing, i), wanted[order][i]);
        assert_int_equal(drawing->map.n_groups, 1);
        assert_int_equal(drawing->map.group[0].n_free_blocks, 3);
        assert_int_equal(drawing->map.group[0].free_bytes, 54 * MIB);
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(held_segment_is_free(&drawing->held, &drawing->segment[i]), i == 2);
    drawing_close(drawing);
}

/* Each pool, stream and size class is a group; unknown means the default pool. */
static void test_groups(void **state) {
    (void)state;
    struct drawing *drawing = drawing_open();
    segment_add(drawing, 2, (const int64_t[]){20 << 20, 0});
    segment_add(drawing, POOL_UNKNOWN, (const int64_t[]){20 << 20, 0});
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){-(20 << 20), 0});
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){512, -((2 << 20) - 512), 0})->flags = SEGMENT_SMALL;
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){20 << 20, 0})->stream = 1;
    lay(drawing, MAP_BY_SIZE);
    assert_laid(drawing);
    assert_int_equal(drawing->map.n_groups, 4);
    assert_int_equal(drawing->map.group[0].n_segments, 2);
    assert_true(drawing->map.group[1].small);
    assert_int_equal(drawing->map.group[2].stream, 1);
    assert_int_equal(drawing->map.group[3].pool, 2);
    drawing_close(drawing);
}

static void test_small_ones_stand_side_by_side(void **state) {
    (void)state;
    struct drawing *drawing = drawing_open();
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){INT64_C(1) << 30, 0});
    for (unsigned i = 0; i < 300; i++)
        segment_add(drawing, POOL_DEFAULT, (const int64_t[]){2 << 20, 0});
    lay(drawing, MAP_BY_SIZE);
    assert_laid(drawing);
    assert_true(drawing->map.height < 22 + 16 * 4);
    drawing_close(drawing);
}

static void test_one_expandable_segment_takes_the_room(void **state) {
    (void)state;
    struct drawing *drawing = drawing_open();
    int64_t blocks[MOST + 1] = {0};
    for (unsigned i = 0; i < MOST; i++)
        blocks[i] = i % 3 == 0 ? -(20 << 20) : 7 << 20;
    segment_add(drawing, POOL_DEFAULT, blocks)->flags = SEGMENT_EXPANDABLE;
    lay(drawing, MAP_BY_ADDRESS);
    assert_laid(drawing);
    assert_true(drawing->map.n_parts >= 8 && drawing->map.height <= grid.room);
    drawing_close(drawing);
}

static void test_impossible_sizes(void **state) {
    (void)state;
    struct drawing *drawing = drawing_open();
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){INT64_MAX / 2, 1, -1, 0});
    segment_add(drawing, POOL_DEFAULT, (const int64_t[]){1, 0});
    lay(drawing, MAP_BY_SIZE);
    assert_int_equal(drawing->map.n_parts, 2);
    assert_int_equal(drawing->map.part[0].width, grid.width);
    lay(drawing, MAP_BY_FREE);
    drawing_close(drawing);
}

static void test_nothing(void **state) {
    (void)state;
    struct drawing *drawing = drawing_open();
    uint32_t segment, block;
    lay(drawing, MAP_BY_SIZE);
    assert_int_equal(drawing->map.height, 0);
    assert_false(memory_map_pick(&drawing->map, 0, 0, &segment, &block));
    drawing_close(drawing);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_small_ones_stand_side_by_side),
        cmocka_unit_test(test_one_expandable_segment_takes_the_room),
        cmocka_unit_test(test_impossible_sizes),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
