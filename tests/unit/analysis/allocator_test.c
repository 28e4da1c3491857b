/* Compares the model of PyTorch's allocator with published figures: PyTorch's own tests, and tables in its pull
 * requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/model/allocator_internal.h"
#include "base/numbers.h"
#include "dice.h"
#include "memory_host.h"

#include <string.h>

struct machine {
    struct arena arena;
    struct allocator allocator;
    uint64_t next;
};

static uint64_t place(void *context, uint64_t nbytes, bool reservation) {
    struct machine *machine = context;
    uint64_t address = machine->next;
    machine->next += reservation ? UINT64_C(1) << 44 : nbytes;
    return address;
}

static struct allocator_settings settings_of(const char *text) {
    struct allocator_settings settings = allocator_settings_default();
    size_t bad_at;
    assert_int_equal(allocator_settings_add(&settings, text, strlen(text), &bad_at), SETTINGS_FINE);
    return settings;
}

/* ---- soundness ---- */

static bool block_is_sound(const struct allocator *a, uint32_t index) {
    const struct allocator_block *block = &a->block[index], *behind = &a->block[block->behind];
    if (block->size == 0 || (!block->mapped && (block->reservation == 0 || !is_free(block))))
        return false;
    if (block->behind == 0)
        return true;
    bool free_neighbours = is_free(block) && is_free(behind) && block->mapped == behind->mapped;
    return behind->before == index && block->address + block->size == behind->address && !free_neighbours &&
           block->list == behind->list && block->reservation == behind->reservation;
}

static bool list_is_sound(const struct allocator *a, const struct ordered *set, bool mapped,
                          uint64_t *count) {
    const struct ordered_key *key, *last = NULL;
    for (struct ordered_place place = {0}; (key = ordered_at(set, &a->store, place)) != NULL;
         place = ordered_next(set, &a->store, place), ++*count) {
        const struct allocator_block *block = &a->block[key->value];
        if (!is_free(block) || block->mapped != mapped ||
            key->first != (mapped ? block->size : block->address) ||
            (last != NULL &&
             (last->first > key->first || (last->first == key->first && last->second >= key->second))))
            return false;
        last = key;
    }
    return true;
}

/* Do the counts and sets of a list match its free blocks? */
static bool list_is_counted(const struct allocator *a, const struct allocator_list *list) {
    const struct ordered_key *key;
    uint32_t n_giving = 0;
    for (struct ordered_place place = {0}; (key = ordered_at(&list->free, &a->store, place)) != NULL;
         place = ordered_next(&list->free, &a->store, place))
        n_giving += list->pool == ALLOCATOR_DEFAULT_POOL && allocator_block_gives(a, &a->block[key->value]);
    return list->n_giving == n_giving && (list->is_giving || n_giving == 0) &&
           (list->is_filled || list->free.count == 0);
}

/* Do the blocks tile their segments, are no two free blocks neighbours, and are the sums right? */
static bool allocator_is_sound(const struct allocator *a) {
    uint64_t mapped = 0, active = 0, n_free = 0, n_listed = 0;
    for (uint32_t i = 1; i < a->n_blocks; i++) {
        const struct allocator_block *block = &a->block[i];
        if (block->list == ALLOCATOR_LIST_NONE)
            continue;
        if (!block_is_sound(a, i))
            return false;
        mapped += block->mapped ? block->size : 0;
        active += is_free(block) ? 0 : block->size;
        n_free += is_free(block);
    }
    for (uint32_t i = 0; i < a->n_lists; i++)
        if (!list_is_sound(a, &a->list[i].free, true, &n_listed) ||
            !list_is_sound(a, &a->list[i].unmapped, false, &n_listed) || !list_is_counted(a, &a->list[i]))
            return false;
    return mapped == a->reserved_bytes && active == a->active_bytes && n_free == n_listed;
}

/* ---- a machine ---- */

static struct allocator *machine_open(struct machine *machine, const char *conf) {
    struct allocator_settings settings = settings_of(conf);
    *machine = (struct machine){.next = UINT64_C(0x7f0000000000)};
    arena_init(&machine->arena, plain_host, SIZE_MAX);
    assert_true(allocator_init(&machine->allocator, &settings, (struct allocator_driver){place, machine},
                               &machine->arena));
    return &machine->allocator;
}

static void machine_close(struct machine *machine) {
    assert_true(allocator_is_sound(&machine->allocator));
    assert_false(machine->allocator.no_memory);
    arena_release(&machine->arena);
}

static uint32_t ask(struct allocator *a, uint64_t nbytes) {
    return allocator_allocate(a, nbytes, 1, 0);
}

static void conf_set(struct allocator *a, const char *conf) {
    a->settings = settings_of(conf);
}

/* ---- sizes ---- */

static void test_rounding(void **state) {
    (void)state;
    struct allocator_settings plain = allocator_settings_default();
    assert_int_equal(allocator_round(&plain, 1), 512);
    assert_int_equal(allocator_round(&plain, 512), 512);
    assert_int_equal(allocator_round(&plain, 513), 1024);
    struct allocator_settings four = settings_of("roundup_power2_divisions:4");
    assert_int_equal(allocator_round(&four, 84 * MIB), 96 * MIB);
    assert_int_equal(allocator_round(&four, 64 * MIB), 64 * MIB);
    assert_int_equal(allocator_round(&four, 2048), 2048);
    assert_int_equal(allocator_round(&four, 2049), 2560);
    for (unsigned divisions = 2; divisions <= 16; divisions *= 2) {
        struct allocator_settings some = allocator_settings_default();
        for (unsigned i = 0; i < ROUNDUP_CLASSES; i++)
            some.roundup[i] = divisions;
        uint64_t step = 64 * MIB / divisions;
        assert_int_equal(allocator_round(&some, 84 * MIB), (84 * MIB + step - 1) / step * step);
    }
    struct allocator_settings classes = settings_of("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
    assert_int_equal(allocator_round(&classes, 300 * MIB), 300 * MIB);
    assert_int_equal(allocator_round(&classes, 600 * MIB), 768 * MIB);
    assert_int_equal(allocator_round(&classes, 1100 * MIB), 1280 * MIB);
    assert_int_equal(allocator_round(&classes, 2100 * MIB), 2304 * MIB);
    plain.aligned = true; /* Ascend requests 32 more bytes */
    assert_int_equal(allocator_round(&plain, 480), 512);
    assert_int_equal(allocator_round(&plain, 481), 1024);
}

static void test_settings_as_text(void **state) {
    (void)state;
    static const char text[] =
        "expandable_segments:True,garbage_collection_threshold:0.8,large_segment_size_mb:64,"
        "max_non_split_rounding_mb:32,max_split_size_mb:128,roundup_power2_divisions:8";
    char printed[ALLOCATOR_SETTINGS_TEXT];
    struct allocator_settings settings = settings_of(text);
    allocator_settings_print(&settings, printed);
    assert_string_equal(printed, text);
    settings = settings_of("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
    allocator_settings_print(&settings, printed);
    char printed_again[ALLOCATOR_SETTINGS_TEXT];
    settings = settings_of(printed);
    allocator_settings_print(&settings, printed_again);
    assert_string_equal(printed_again, printed);
    allocator_settings_print(
        &(struct allocator_settings){.large_segment_bytes = 20 * MIB, .max_split_bytes = ALLOCATOR_UNLIMITED},
        printed);
    assert_string_equal(printed, "");
}

static void test_settings_that_are_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum settings_problem problem;
        size_t at;
    } cases[] = {
        {"max_split_size_mb:19", SETTINGS_WRONG, 0},
        {"expandable_segments:yes", SETTINGS_WRONG, 0},
        {"expandable_segments:True,roundup_power2_divisions:3", SETTINGS_WRONG, 25},
        {"roundup_power2_divisions:[256:1", SETTINGS_WRONG, 0},
        {"garbage_collection_threshold:1.5", SETTINGS_WRONG, 0},
        {"max_split_size_mb", SETTINGS_WRONG, 0},
        {"max_split_size_mb:128 mb", SETTINGS_WRONG, 0},
        {"backend:native, expandable_segments:True", SETTINGS_FINE, 0},
        {"pinned_num_register_threads:8", SETTINGS_FINE, 0},
        {"expandable_segment:True", SETTINGS_UNKNOWN, 0},
        {",, ,", SETTINGS_FINE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct allocator_settings settings = allocator_settings_default();
        size_t at;
        assert_int_equal(allocator_settings_add(&settings, cases[i].text, strlen(cases[i].text), &at),
                         cases[i].problem);
        assert_int_equal(at, cases[i].at);
    }
}

static void test_settings_of_a_snapshot(void **state) {
    (void)state;
    static const char json[] =
        "{\"PYTORCH_CUDA_ALLOC_CONF\":\"large_segment_size_mb:32\",\"max_split_size\":-1,"
        "\"garbage_collection_threshold\":0.25,\"expandable_segments\":true,\"unknown\":[1,{\"a\":\"}\"}],"
        "\"roundup_power2_divisions\":{\"1\":0,\"2\":4,\"32768\":8},"
        "\"PYTORCH_NPU_ALLOC_CONF\":\"segment_size_mb:64,expandable_segments:True,page_size:1g,:,b:[1,2],c,"
        "d\"}";
    struct trace trace;
    struct allocator_settings settings;
    assert_true(trace_init(&trace, plain_host, SIZE_MAX));
    assert_false(allocator_settings_read(&settings, &trace));
    trace.settings = trace_string_add(&trace, json, strlen(json));
    assert_true(allocator_settings_read(&settings, &trace));
    assert_true(settings.expandable);
    assert_int_equal(settings.large_segment_bytes, 32 * MIB);
    assert_true(settings.max_split_bytes == ALLOCATOR_UNLIMITED);
    assert_int_equal(settings.collect_ppm, 250000);
    assert_int_equal(settings.roundup[1], 4);
    assert_int_equal(settings.roundup[15], 8);
    assert_int_equal(settings.roundup[0], 0);
    assert_int_equal(settings.n_unread, SETTINGS_UNREAD_TOLD); /* "", "c", "d" are more, which are not told */
    assert_true(text_is(settings.unread[0], "segment_size_mb"));
    assert_true(text_is(settings.unread[1], "page_size"));
    assert_true(text_is(settings.unread[3], "b"));
    trace_release(&trace);
}

/* ---- splitting ---- */

static void test_a_small_request_takes_its_512(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "");
    uint32_t block = ask(a, 512);
    assert_int_equal(a->reserved_bytes, 2 * MIB);
    assert_int_equal(a->block[block].size, 512);
    assert_int_equal(a->block[a->block[block].behind].size, 2 * MIB - 512);
    assert_int_equal(a->n_calls, 1);
    assert_int_equal(a->call[0].change, SEGMENT_ALLOC);
    machine_close(&machine);
}

static void test_large_requests_split_above_1_mib(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "");
    uint32_t small = ask(a, MIB + 512), large = ask(a, 19 * MIB + MIB / 2);
    assert_int_equal(a->block[small].size, MIB + 512);
    assert_int_equal(a->block[large].size, 20 * MIB);
    assert_int_equal(a->reserved_bytes, 40 * MIB);
    allocator_free(a, small);
    assert_int_equal(a->block[small].size, 20 * MIB); /* joined with its rest */
    machine_close(&machine);
}

/* ---- a loop whose large blocks never fit into free ones: max_split_size with expandable segments (PyTorch's PR
 * 193400) ---- */

struct loop {
    uint32_t keep[130];
    uint32_t n_keep;
};

static bool loop_turn(struct allocator *a, struct loop *loop) {
    uint32_t first = ask(a, 91 * MIB), second = ask(a, 45 * MIB + MIB / 2);
    loop->keep[loop->n_keep] = ask(a, 2 * MIB);
    if (first == 0 || second == 0 || loop->keep[loop->n_keep++] == 0)
        return false;
    allocator_free(a, first);
    allocator_free(a, second);
    return true;
}

static void assert_loop(const char *conf, const uint64_t mib[6]) {
    struct machine machine;
    struct loop loop = {0};
    struct allocator *a = machine_open(&machine, conf);
    assert_int_not_equal(ask(a, 64 * MIB), 0);
    for (unsigned cycle = 0; cycle <= 100; cycle++) {
        assert_true(loop_turn(a, &loop));
        if (cycle % 20 == 0)
            assert_int_equal(a->reserved_bytes / MIB, mib[cycle / 20]);
    }
    machine_close(&machine);
}

static void test_table_of_a_known_pathology(void **state) {
    (void)state;
    assert_loop("max_split_size_mb:128,expandable_segments:True",
                (const uint64_t[]){220, 2980, 5760, 8520, 11300, 14060});
    assert_loop("expandable_segments:True", (const uint64_t[]){220, 260, 300, 340, 380, 420});
    assert_loop("", (const uint64_t[]){222, 262, 302, 342, 382, 422});
    assert_loop("max_split_size_mb:128", (const uint64_t[]){222, 262, 302, 342, 382, 422});
}

static void assert_retry_at_115(uint64_t budget) {
    struct machine machine;
    struct loop loop = {0};
    struct allocator *a = machine_open(&machine, "max_split_size_mb:128,expandable_segments:True");
    a->budget_bytes = budget;
    assert_int_not_equal(ask(a, 64 * MIB), 0);
    for (unsigned cycle = 0; cycle < 115; cycle++)
        assert_true(loop_turn(a, &loop));
    assert_int_equal(a->n_retries, 0);
    assert_true(loop_turn(a, &loop));
    assert_int_equal(a->n_retries, 1);
    assert_int_equal(a->reserved_bytes, 2680 * MIB);
    assert_int_equal(a->peak_reserved_bytes, 16000 * MIB);
    machine_close(&machine);
}

static void test_the_same_with_a_budget(void **state) {
    (void)state;
    assert_retry_at_115(16000 * MIB);
    assert_retry_at_115(16099 * MIB);
}

/* ---- PyTorch's own: test_max_split_expandable, test_garbage_collect_expandable ---- */

static void limit_set(struct allocator *a, uint64_t nbytes) {
    a->device_bytes = nbytes;
    a->settings.fraction_ppm = 1000000;
}

static void test_max_split_with_expandable(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "");
    static const char *const confs[] = {
        "max_split_size_mb:40", "max_split_size_mb:40,expandable_segments:True", "max_split_size_mb:40"};
    uint32_t blocks[3];
    for (int i = 0; i < 3; i++) {
        conf_set(a, confs[i]);
        limit_set(a, 120 * MIB);
        blocks[i] = ask(a, 40 * MIB);
        assert_int_not_equal(blocks[i], 0);
    }
    assert_int_equal(ask(a, 40 * MIB), 0);
    assert_int_equal(a->n_ooms, 1);
    for (int i = 0; i < 3; i++)
        allocator_free(a, blocks[i]);
    assert_int_not_equal(ask(a, 120 * MIB), 0);
    machine_close(&machine);
}

static void test_collecting_passes_expandable(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "garbage_collection_threshold:0.5");
    limit_set(a, 120 * MIB);
    uint32_t plain = ask(a, 40 * MIB);
    conf_set(a, "garbage_collection_threshold:0.5,expandable_segments:True");
    limit_set(a, 120 * MIB);
    uint32_t expandable = ask(a, 40 * MIB);
    allocator_free(a, plain);
    allocator_free(a, expandable);
    assert_int_equal(a->reserved_bytes, 80 * MIB);
    conf_set(a, "garbage_collection_threshold:0.5");
    limit_set(a, 120 * MIB);
    a->n_calls = 0;
    assert_int_not_equal(ask(a, 80 * MIB), 0);
    assert_int_equal(a->reserved_bytes, 120 * MIB);
    assert_int_equal(a->call[0].change, SEGMENT_FREE); /* the ordinary segment, not the expandable one */
    assert_int_equal(a->n_calls, 2);
    assert_int_equal(a->n_retries, 0);
    machine_close(&machine);
}

/* ---- waiting, giving back, pools ---- */

static void test_a_retry_completes_what_waits(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "");
    a->budget_bytes = 100 * MIB;
    uint32_t first = ask(a, 60 * MIB), second = ask(a, 40 * MIB);
    allocator_wait(a, first);
    allocator_wait(a, second);
    allocator_free(a, first);
    assert_int_equal(a->n_waiting, 1);
    assert_int_equal(a->active_bytes, 40 * MIB);
    assert_int_not_equal(ask(a, 80 * MIB), 0);
    assert_int_equal(a->n_retries, 1);
    assert_int_equal(a->reserved_bytes, 80 * MIB);
    machine_close(&machine);
}

/* Beyond the share of the process a request gives the cache back. PyTorch 2.12 and 2.15 do so with
 * throw_on_cudamalloc_oom too, as recordings show. */
static void test_a_share_of_the_device_is_a_limit(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a =
        machine_open(&machine, "per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True");
    a->device_bytes = 200 * MIB;
    allocator_free(a, ask(a, 60 * MIB));
    assert_int_not_equal(ask(a, 80 * MIB), 0);
    assert_int_equal(a->n_retries, 1);
    assert_int_equal(ask(a, 80 * MIB), 0);
    machine_close(&machine);
}

/* A segment whose address space is used up is not the last one; what no segment has room for fails. */
static void test_address_space_of_a_segment_is_limited(void **state) {
    (void)state;
    static const char *const texts[] = {"expandable_segments:True,expandable_segments_reserve:0.1G",
                                        "expandable_segments:True,expandable_segments_reserve:0.05"};
    for (unsigned i = 0; i < 2; i++) {
        struct machine machine;
        struct allocator *a = machine_open(&machine, texts[i]);
        a->device_bytes = 2048 * MIB; /* 102.4 MiB in both: 120 MiB in whole granules */
        for (unsigned n = 0; n < 4; n++)
            assert_int_not_equal(ask(a, 60 * MIB), 0);
        assert_int_equal(a->n_reservations - 1, 2);
        assert_int_equal(a->reserved_bytes, 240 * MIB);
        assert_int_equal(ask(a, 130 * MIB), 0);
        assert_true(allocator_is_sound(a));
        machine_close(&machine);
    }
}

static void test_pages_are_given_back_whole(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "expandable_segments:True");
    uint32_t first = ask(a, 30 * MIB), kept = ask(a, 2 * MIB), last = ask(a, 48 * MIB);
    assert_int_equal(a->reserved_bytes, 80 * MIB);
    allocator_free(a, first);
    allocator_free(a, last);
    allocator_empty_cache(a);
    assert_int_equal(a->reserved_bytes, 20 * MIB); /* the pages that contain the kept block */
    assert_true(allocator_is_sound(a));
    allocator_free(a, kept);
    allocator_empty_cache(a);
    assert_int_equal(a->reserved_bytes, 0);
    machine_close(&machine);
}

static void test_pools_and_streams_share_nothing(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "");
    allocator_free(a, allocator_allocate(a, 4 * MIB, 1, 0));
    (void)allocator_allocate(a, 4 * MIB, 1, 1);
    (void)allocator_allocate(a, 4 * MIB, 2, 0);
    assert_int_equal(a->reserved_bytes, 60 * MIB);
    (void)allocator_allocate(a, 4 * MIB, POOL_UNKNOWN, 0); /* the default pool */
    assert_int_equal(a->reserved_bytes, 60 * MIB);
    machine_close(&machine);
}

static void test_exact_releases(void **state) {
    (void)state;
    struct machine machine;
    struct allocator *a = machine_open(&machine, "");
    uint32_t first = ask(a, 30 * MIB), second = ask(a, 4 * MIB);
    uint64_t address = a->block[first].address;
    assert_false(allocator_give_back(a, address, 30 * MIB));
    allocator_free(a, first);
    assert_false(allocator_give_back(a, address, 10 * MIB));
    assert_true(allocator_give_back(a, address, 30 * MIB));
    assert_int_equal(a->reserved_bytes, 20 * MIB);
    allocator_free(a, second);
    machine_close(&machine);
}

/* Among many streams the model finds those that can give memory back, even if they could not at an earlier look. */
static void test_every_stream_gives_back(void **state) {
    (void)state;
    static const char *const confs[] = {"", "expandable_segments:True", "garbage_collection_threshold:0.5"};
    enum { STREAMS = 150 };
    for (uint32_t conf = 0; conf < sizeof confs / sizeof *confs; conf++) {
        struct machine machine;
        struct allocator *a = machine_open(&machine, confs[conf]);
        uint32_t block[STREAMS];
        for (uint32_t round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < STREAMS; i++)
                block[i] = allocator_allocate(a, 20 * MIB, 1, (uint16_t)i);
            for (uint32_t i = round; i < STREAMS; i += 3)
                allocator_free(a, block[i]);
            uint64_t steps = a->steps;
            allocator_empty_cache(a);
            assert_int_equal(a->steps - steps, STREAMS / 3); /* the free blocks */
            assert_int_equal(a->reserved_bytes, STREAMS * 2 / 3 * 20 * MIB);
            allocator_empty_cache(a);
            assert_true(allocator_is_sound(a));
            for (uint32_t i = 0; i < STREAMS; i++)
                if (i % 3 != round)
                    allocator_free(a, block[i]);
            allocator_empty_cache(a);
            assert_int_equal(a->reserved_bytes, 0);
            assert_true(allocator_is_sound(a));
        }
        machine_close(&machine);
    }
}

/* ---- what holds in any state ---- */

enum { ALIVE_MOST = 200, STEPS = 3000 };

static uint64_t dice_size(struct dice *dice) {
    static const uint64_t most[] = {4096, MIB, 8 * MIB, 30 * MIB, 150 * MIB};
    return 1 + dice_below(dice, (uint32_t)most[dice_below(dice, 5)]);
}

static void random_free(struct allocator *a, struct dice *dice, uint32_t *alive, uint32_t *n_alive) {
    uint32_t nth = dice_below(dice, *n_alive), block = alive[nth];
    alive[nth] = alive[--*n_alive];
    if (dice_below(dice, 4) != 0) {
        allocator_free(a, block);
        return;
    }
    allocator_wait(a, block);
    a->block[block].owner = 7;
    if (dice_below(dice, 2) && allocator_waits(a, block, 7))
        allocator_free(a, block);
}

static void random_program(const char *conf, uint64_t budget, uint32_t seed) {
    struct machine machine;
    struct allocator *a = machine_open(&machine, conf);
    struct dice dice = {seed};
    uint32_t alive[ALIVE_MOST], n_alive = 0;
    a->budget_bytes = a->device_bytes = budget;
    for (uint32_t i = 0; i < STEPS; i++) {
        if (n_alive == ALIVE_MOST || (n_alive != 0 && dice_below(&dice, 100) < 45)) {
            random_free(a, &dice, alive, &n_alive);
        } else {
            uint16_t pool = (uint16_t)(1 + dice_below(&dice, 2)), stream = (uint16_t)dice_below(&dice, 3);
            uint32_t block = allocator_allocate(a, dice_size(&dice), pool, stream);
            if (block != 0)
                alive[n_alive++] = block;
        }
        if (dice_below(&dice, 200) == 0)
            allocator_empty_cache(a);
        a->n_calls = 0;
        if (i % 50 == 0)
            assert_true(allocator_is_sound(a));
        assert_true(a->active_bytes <= a->reserved_bytes && a->reserved_bytes <= budget);
    }
    machine_close(&machine);
}

static void test_any_state_is_sound(void **state) {
    (void)state;
    static const char *const confs[] = {"",
                                        "expandable_segments:True",
                                        "max_split_size_mb:40",
                                        "expandable_segments:True,max_split_size_mb:128",
                                        "roundup_power2_divisions:4",
                                        "large_segment_size_mb:64",
                                        "garbage_collection_threshold:0.5",
                                        ("expandable_segments:True,garbage_collection_threshold:0.6,"
                                         "max_split_size_mb:64,roundup_power2_divisions:8")};
    for (uint32_t i = 0; i < sizeof confs / sizeof *confs; i++)
        for (uint32_t seed = 1; seed <= 4; seed++)
            random_program(confs[i], seed % 2 ? 900 * MIB : 1 << 30, 10 * i + seed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_settings_as_text),
        cmocka_unit_test(test_settings_that_are_wrong),
        cmocka_unit_test(test_settings_of_a_snapshot),
        cmocka_unit_test(test_a_small_request_takes_its_512),
        cmocka_unit_test(test_large_requests_split_above_1_mib),
        cmocka_unit_test(test_table_of_a_known_pathology),
        cmocka_unit_test(test_the_same_with_a_budget),
        cmocka_unit_test(test_max_split_with_expandable),
        cmocka_unit_test(test_collecting_passes_expandable),
        cmocka_unit_test(test_a_retry_completes_what_waits),
        cmocka_unit_test(test_a_share_of_the_device_is_a_limit),
        cmocka_unit_test(test_address_space_of_a_segment_is_limited),
        cmocka_unit_test(test_pages_are_given_back_whole),
        cmocka_unit_test(test_pools_and_streams_share_nothing),
        cmocka_unit_test(test_exact_releases),
        cmocka_unit_test(test_every_stream_gives_back),
        cmocka_unit_test(test_any_state_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
