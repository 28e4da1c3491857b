/* The allocator's state after an event: as a picture, by causes, by pools. The state is computed once per event, and
 * all answers read it. */
#include "base/search.h"
#include "base/sort.h"
#include "render/page/page_state.h"

/* ---- the replay, which gives sizes of blocks ---- */

/* Replays some operations. True: there is more to do. */
static bool replay_some(struct page_session *session, struct page_device *device, u32 n_operations) {
    const struct timeline *timeline = &device->timeline;
    if (device->replayed)
        return false;
    if (device->replaying == NULL)
        device->replaying = replay_begin(&device->replay, timeline->trace, timeline->device, &session->arena);
    if (device->replaying == NULL)
        return false;
    enum replay_progress progress = replay_go_on(device->replaying, n_operations);
    if (progress == REPLAY_GOES_ON)
        return true;
    device->replayed = progress == REPLAY_DONE;
    device->replaying = NULL;
    return false;
}

const struct replay *session_replay(struct page_session *session, struct page_device *device) {
    while (replay_some(session, device, UINT32_MAX))
        continue;
    return device->replayed ? &device->replay : NULL;
}

u32 view_replay(struct page_view *view) {
    const struct replay *replay = session_replay(view->session, view_now(view));
    return replay == NULL ? 0 : (u32)replay->grade + 1;
}

u32 view_replay_some(struct page_view *view, u32 n_operations) {
    return replay_some(view->session, view_now(view), n_operations);
}

place view_map_refusal(struct page_view *view) {
    const struct timeline *timeline = view_timeline(view);
    return view_text(view, segments_refusal(timeline->trace, timeline->device));
}

place view_replay_text(struct page_view *view) {
    const struct page_device *device = view_now(view);
    struct words words = {view->name, sizeof view->name, 0};
    if (!device->replayed)
        return 0;
    replay_tell(&words, &device->replay);
    (void)words_end(&words);
    return view_text(view, view->name);
}

/* ---- the state ---- */

static bool map_is_of(const struct page_map *map, const struct page_device *device, uint32_t moment) {
    return map->there && map->moment == moment && map->device == device && map->replayed == device->replayed;
}

/* Finds the bytes in use in a segment. False: there are none, so its free bytes are not a hole. */
static bool segment_use(const struct held *held, const struct held_segment *segment,
                        struct record_hole *hole) {
    uint64_t used = 0, largest = 0;
    *hole = (struct record_hole){.segment_bytes = (double)segment->size, .allocation = -1};
    for (uint32_t i = segment->first_block; i < segment->first_block + segment->n_blocks; i++) {
        const struct held_block *block = &held->block[i];
        if (block->allocation == ALLOCATION_NONE)
            continue;
        hole->blocks++;
        used += block->size;
        if (block->size > largest) {
            largest = block->size;
            hole->allocation = block->allocation;
        }
    }
    hole->used_bytes = (double)used;
    return hole->blocks != 0;
}

/* Lists the holes by falling size, equal ones in their order, and the bytes of each with all smaller ones. */
static bool holes_list(struct page_map *map) {
    const struct held *held = &map->held;
    struct record_hole use;
    struct sort_row *spare;
    map->n_holes = 0;
    if (!ARENA_COLUMNS(&map->holding, (uint64_t)held->n_blocks + 1, map->hole, map->hole_rest, spare))
        return false;
    for (uint32_t s = 0; s < held->n_segments; s++) {
        const struct held_segment *segment = &held->segment[s];
        if (!segment_use(held, segment, &use))
            continue;
        for (uint32_t i = segment->first_block; i < segment->first_block + segment->n_blocks; i++)
            if (held->block[i].allocation == ALLOCATION_NONE)
                map->hole[map->n_holes++] = (struct sort_row){~held->block[i].size, i};
    }
    sort_rows(map->hole, spare, map->n_holes);
    map->hole_rest[map->n_holes] = 0;
    for (uint32_t i = map->n_holes; i-- > 0;)
        map->hole_rest[i] = map->hole_rest[i + 1] + ~map->hole[i].key;
    ARENA_DROP(&map->holding, spare);
    return true;
}

/* Makes the state at a moment, unless it is there. */
static bool map_hold(struct page_view *view, struct page_map *map, uint32_t moment) {
    struct page_device *device = view_now(view);
    if (map_is_of(map, device, moment))
        return true;
    map->there = false;
    map->laid = (struct memory_map){0};
    arena_release(&map->holding);
    if (!device_segments(view->session, device) ||
        !fragmentation_state(&map->held, &device->timeline, &device->segments,
                             device->replayed ? &device->replay : NULL, moment, &map->holding))
        return false;
    fragmentation_of(&map->gap, &device->timeline, &map->held, device->replayed ? &device->replay : NULL,
                     moment);
    if (!pool_uses_find(&map->pools, device->timeline.device, &map->held, &map->holding) || !holes_list(map))
        return false;
    map->moment = moment;
    map->device = device;
    map->replayed = device->replayed;
    map->there = true;
    return true;
}

void page_map_forget(struct page_map *map) {
    map->there = false;
    map->laid = (struct memory_map){0};
    arena_release(&map->holding);
    arena_release(&map->laying);
}

/* ---- the picture ---- */

static uint32_t scaled(uint32_t pixels, uint32_t ratio_q8) {
    uint32_t result = (pixels * ratio_q8 + 128) >> 8;
    return result == 0 ? 1 : result;
}

place view_map(struct page_view *view, f64 event, u32 order, u32 width, u32 room, u32 ratio_q8) {
    struct page_map *map = &view->map;
    if (width == 0 || width > VIEW_MAX_SIDE || ratio_q8 == 0 || ratio_q8 > 256 * 16 || order >= MAP_ORDERS)
        return 0;
    struct map_grid grid = {.width = width,
                            .row = scaled(14, ratio_q8),
                            .row_gap = scaled(2, ratio_q8),
                            .side_gap = scaled(3, ratio_q8),
                            .heading = scaled(22, ratio_q8),
                            .narrow = scaled(46, ratio_q8),
                            .room = room};
    arena_release(&map->laying);
    map->laid = (struct memory_map){0};
    if (!map_hold(view, map, moment_of(view, event)) ||
        !memory_map_make(&map->laid, &map->held, (enum map_order)order, grid, &map->laying))
        return 0;
    return FILL(view, map, map->laid.height, map->held.n_segments, map->held.n_blocks, map->laid.n_groups,
                map->laid.n_parts, map->held.n_outside, (double)map->held.outside_bytes);
}

place view_map_draw(struct page_view *view, u32 scroll, u32 height, u32 flags, u32 color_by) {
    struct page_map *map = &view->map;
    if (map->laid.held == NULL || height == 0 || height > VIEW_MAX_SIDE || scroll > map->laid.height)
        return 0;
    struct raster_style style = view_style(view, flags, color_by);
    struct map_picture picture = {.map = &map->laid,
                                  .timeline = view_timeline(view),
                                  .style = &style,
                                  .keep = view->filtered ? view->keep : NULL,
                                  .scroll = scroll,
                                  .height = height};
    uint64_t nbytes = (uint64_t)map->laid.grid.width * height * 4;
    if (!ARENA_GROW(&view->arena, map->rgba, map->rgba_capacity, nbytes) ||
        !map_raster_draw(&view->raster, &picture, map->rgba))
        return 0;
    return (place)map->rgba;
}

place view_map_group(struct page_view *view, u32 index) {
    const struct memory_map *map = &view->map.laid;
    if (index >= map->n_groups)
        return 0;
    const struct map_group *group = &map->group[index];
    return FILL(view, map_group, group->y, group->n_parts, group->n_segments, group->n_free_blocks,
                (double)group->bytes, (double)group->free_bytes, group->pool, group->stream, group->small);
}

u32 view_map_part_from(struct page_view *view, u32 y) {
    return view->map.laid.held == NULL ? 0 : memory_map_part_from(&view->map.laid, y);
}

place view_map_part(struct page_view *view, u32 index) {
    const struct memory_map *map = &view->map.laid;
    if (index >= map->n_parts)
        return 0;
    const struct map_part *part = &map->part[index];
    return FILL(view, map_part, part->segment, part->x, part->width, part->y, (double)part->from,
                (double)map->held->segment[part->segment].size);
}

/* ---- what is at a place ---- */

static place cell_fill(struct page_view *view, uint32_t segment, uint32_t block) {
    const struct held *held = &view->map.held;
    const struct held_segment *whole = &held->segment[segment];
    const struct held_block *part = &held->block[block];
    *(struct record_map_cell *)view->record = (struct record_map_cell){
        .segment = segment,
        .block = block,
        .allocation = part->allocation == ALLOCATION_NONE ? -1.0 : (double)part->allocation,
        .address_high = (double)(part->address >> 32),
        .address_low = (uint32_t)part->address,
        .bytes = (double)part->size,
        .state = part->state,
        .segment_bytes = (double)whole->size,
        .segment_birth = (double)whole->birth - 1,
        .segment_stack = whole->stack,
        .pool = whole->pool,
        .stream = whole->stream,
        .expandable = (whole->flags & SEGMENT_EXPANDABLE) != 0,
    };
    return (place)view->record;
}

place view_map_pick(struct page_view *view, u32 x, u32 y) {
    uint32_t segment, block;
    if (view->map.laid.held == NULL || !memory_map_pick(&view->map.laid, x, y, &segment, &block))
        return 0;
    return cell_fill(view, segment, block);
}

static uint32_t segment_of_block(const struct held *held, uint32_t block) {
    return block < held->n_blocks ? held_segment_at(held, held->block[block].address) : ALLOCATION_NONE;
}

place view_map_cell(struct page_view *view, u32 block) {
    uint32_t segment = view->map.there ? segment_of_block(&view->map.held, block) : ALLOCATION_NONE;
    return segment != ALLOCATION_NONE ? cell_fill(view, segment, block) : 0;
}

i32 view_map_block_of(struct page_view *view, u32 allocation) {
    const struct allocations *allocations = view_allocations(view);
    const struct held *held = &view->map.held;
    if (!view->map.there || allocation >= allocations->count)
        return -1;
    uint32_t segment = held_segment_at(held, allocations->address[allocation]);
    if (segment == ALLOCATION_NONE)
        return -1;
    uint32_t block = held_block_from(held, &held->segment[segment], allocations->address[allocation]);
    return block < held->n_blocks && held->block[block].allocation == allocation ? (i32)block : -1;
}

place view_map_place(struct page_view *view, u32 block, u32 nth) {
    const struct memory_map *map = &view->map.laid;
    struct map_place found;
    uint32_t segment = map->held == NULL ? ALLOCATION_NONE : segment_of_block(map->held, block);
    if (segment == ALLOCATION_NONE || !memory_map_place(map, segment, block, nth, &found))
        return 0;
    return FILL(view, map_place, found.x_q8 / 256.0, found.end_q8 / 256.0, found.y);
}

/* Finds the free blocks of a part that have room for a text with their size. */
static uint32_t labels_of_part(const struct page_map *map, const struct map_part *part, uint32_t least,
                               struct record_map_label *label, uint32_t count, uint32_t most) {
    const struct held_segment *segment = &map->held.segment[part->segment];
    uint32_t at = held_block_from(&map->held, segment, segment->address + part->from);
    for (; at < segment->first_block + segment->n_blocks && count < most; at++) {
        const struct held_block *block = &map->held.block[at];
        uint64_t from = block->address - segment->address;
        if (from >= part->to)
            break;
        uint32_t x = map_part_q8(part, from) >> 8, end = map_part_q8(part, from + block->size) >> 8;
        if (block->allocation == ALLOCATION_NONE && end - x >= least)
            label[count++] =
                (struct record_map_label){part->x + x, part->x + end, part->y, (double)block->size};
    }
    return count;
}

place view_map_labels(struct page_view *view, u32 scroll, u32 height, u32 least) {
    enum { MOST = 2000 };
    const struct page_map *map = &view->map;
    uint32_t count = 0;
    struct record_map_label *label = rows_make(&view->rows, &view->arena, MOST, sizeof *label);
    if (label == NULL)
        return 0;
    for (uint32_t i = map->laid.held == NULL ? 0 : memory_map_part_from(&map->laid, scroll);
         i < map->laid.n_parts; i++) {
        const struct map_part *part = &map->laid.part[i];
        if (part->y - scroll >= height && part->y > scroll)
            break;
        count = labels_of_part(map, part, least, label, count, MOST);
    }
    view->rows.number[0] = count;
    return (place)view->rows.number;
}

/* ---- why, and for whom ---- */

/* The map with a moment's state: the picture's if it shows the moment or is empty, otherwise the second one. */
static struct page_map *map_at(struct page_view *view, uint32_t moment) {
    bool mapped = view->map.laid.held == NULL || map_is_of(&view->map, view_now(view), moment);
    return mapped ? &view->map : &view->beside;
}

place view_gap(struct page_view *view, f64 event) {
    uint32_t moment = moment_of(view, event);
    struct page_map *map = map_at(view, moment);
    view->gap_of = NULL;
    if (!map_hold(view, map, moment))
        return 0;
    view->gap_of = map;
    const struct fragmentation *gap = &map->gap;
    const int64_t *cause = gap->cause_bytes;
    return FILL(view, gap, (double)gap->reserved_bytes, (double)gap->live_bytes, (double)gap->gap_bytes,
                (double)cause[GAP_ROUNDING], (double)cause[GAP_UNSPLIT], (double)cause[GAP_EMPTY_SEGMENTS],
                (double)cause[GAP_FREE_BLOCKS], (double)cause[GAP_EXPANDABLE_TAIL],
                (double)cause[GAP_PRIVATE], (double)cause[GAP_CONTRADICTION], gap->exact,
                (double)gap->largest_free_bytes, gap->n_segments, gap->n_pinned,
                (double)gap->pinned_free_bytes);
}

/* The place in the list of the first hole after a block; 0 where there is no such block. O(log holes). */
static uint32_t hole_after(const struct page_map *map, i32 block) {
    if (block < 0 || (uint32_t)block >= map->held.n_blocks)
        return 0;
    const struct sort_row own = {~map->held.block[block].size, (uint32_t)block};
    return SEARCH(0, map->n_holes, i,
                  map->hole[i].key < own.key ||
                      (map->hole[i].key == own.key && map->hole[i].value <= own.value));
}

/* The state of the gap that was requested last. NULL: there is none. */
static const struct held *gap_held(const struct page_view *view) {
    return view->gap_of != NULL && view->gap_of->there ? &view->gap_of->held : NULL;
}

i32 view_next_hole(struct page_view *view, i32 block) {
    const struct held *held = gap_held(view);
    uint32_t at = held == NULL ? 0 : hole_after(view->gap_of, block);
    return held == NULL || at == view->gap_of->n_holes ? -1 : (i32)view->gap_of->hole[at].value;
}

place view_hole(struct page_view *view, u32 block) {
    const struct held *held = gap_held(view);
    if (held == NULL || block >= held->n_blocks || held->block[block].allocation != ALLOCATION_NONE)
        return 0;
    uint32_t after = hole_after(view->gap_of, (i32)block);
    struct record_hole *hole = (struct record_hole *)view->record;
    segment_use(held, &held->segment[held_segment_at(held, held->block[block].address)], hole);
    hole->bytes = (double)held->block[block].size;
    hole->after_count = view->gap_of->n_holes - after;
    hole->after_bytes = (double)view->gap_of->hole_rest[after];
    return (place)hole;
}

i32 view_hole_kept(struct page_view *view, u32 allocation) {
    const struct held *held = gap_held(view);
    if (held == NULL || allocation >= view_allocations(view)->count)
        return -1;
    uint32_t at = held_segment_at(held, view_allocations(view)->address[allocation]);
    if (at == ALLOCATION_NONE)
        return -1;
    const struct held_segment *segment = &held->segment[at];
    bool lies = false;
    i32 largest = -1;
    for (uint32_t i = segment->first_block; i < segment->first_block + segment->n_blocks; i++) {
        const struct held_block *block = &held->block[i];
        lies |= block->allocation == allocation;
        if (block->allocation == ALLOCATION_NONE && (largest < 0 || block->size > held->block[largest].size))
            largest = (i32)i;
    }
    return lies ? largest : -1;
}

place view_pool_uses(struct page_view *view) {
    uint32_t count = gap_held(view) != NULL ? view->gap_of->pools.count : 0;
    const struct pool_use *use = count != 0 ? view->gap_of->pools.use : NULL;
    return FILL_ROWS(view, pool_use, count, i, use[i].pool, use[i].is_private, use[i].n_segments,
                     use[i].n_allocations, (double)use[i].live_bytes, (double)use[i].reserved_bytes,
                     (double)use[i].free_bytes);
}

place view_segments(struct page_view *view) {
    const struct held *held = gap_held(view);
    const struct held_segment *segment = held == NULL ? NULL : held->segment;
    return FILL_ROWS(view, segment, held == NULL ? 0 : held->n_segments, i,
                     (double)(segment[i].address >> 32), (uint32_t)segment[i].address,
                     (double)segment[i].size, segment[i].stream, segment[i].pool, segment[i].flags);
}

place view_blocks(struct page_view *view) {
    const struct held *held = gap_held(view);
    const struct held_block *block = held == NULL ? NULL : held->block;
    const uint64_t *size = view_allocations(view)->size;
    return FILL_ROWS(view, block, held == NULL ? 0 : held->n_blocks, i, (double)(block[i].address >> 32),
                     (uint32_t)block[i].address, (double)block[i].size,
                     block[i].allocation != ALLOCATION_NONE ? (double)size[block[i].allocation] : 0,
                     block[i].state,
                     block[i].allocation != ALLOCATION_NONE ? (double)block[i].allocation : -1.0);
}
