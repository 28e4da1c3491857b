/* Facts about a device from a log's notes: levels, named steps and labels, why memory ran out, a server's budget. */
#include "recording.h"

#include "analysis/findings/budget.h"
#include "analysis/findings/levels.h"
#include "analysis/findings/log_oom.h"
#include "base/numbers.h"

enum { NOTES = 64 };

static struct note notes[NOTES];

static struct device_trace device_of(uint32_t n) {
    return (struct device_trace){.notes = notes, .n_notes = n, .n_events = 50};
}

static uint32_t note(uint32_t n, uint32_t event, enum note_what what, uint64_t number) {
    notes[n] = (struct note){.event = event, .number = number, .what = (uint8_t)what};
    return n + 1;
}

/* ---- levels ---- */

static void test_levels(void **state) {
    (void)state;
    struct levels levels;
    uint32_t n = 0;
    for (uint32_t i = 0; i < 3; i++) {
        n = note(n, 2 * i + 1, NOTE_LINE, 10 + i);
        n = note(n, 2 * i + 1, NOTE_ALLOCATED, (i == 1 ? 5 : 2) * GIB);
        n = note(n, 2 * i + 1, NOTE_RESERVED, 6 * GIB);
        n = note(n, 2 * i + 1, NOTE_DEVICE_USED, (i == 2 ? 9 : 7) * GIB);
    }
    struct device_trace device = device_of(n);
    levels_find(&levels, &device);
    assert_int_equal(levels.n_lines, 3);
    assert_int_equal(levels.shown, LEVEL_ALLOCATED);
    assert_int_equal(levels.track[LEVEL_ALLOCATED].count, 3);
    assert_int_equal(levels.track[LEVEL_ALLOCATED].peak, 5 * GIB);
    assert_int_equal(levels.track[LEVEL_ALLOCATED].peak_event, 3);
    assert_int_equal(levels.track[LEVEL_ALLOCATED].last, 2 * GIB);
    assert_int_equal(levels.track[LEVEL_HOST].count, 0);
    assert_true(levels.outside_known);
    assert_int_equal(levels.outside_bytes, 3 * GIB);
    assert_int_equal(levels.outside_event, 5);
    assert_int_equal(levels_line(&device, 3), 11);
    assert_int_equal(levels_line(&device, 4), 0);
}

/* A maximum between two lines gets an event of its own before the line that prints it. */
static void test_a_maximum_between_lines(void **state) {
    (void)state;
    struct levels levels;
    uint32_t n = note(0, 1, NOTE_LINE, 1);
    n = note(n, 1, NOTE_ALLOCATED, 2 * GIB);
    n = note(n, 2, NOTE_LINE, 2);
    n = note(n, 3, NOTE_LINE, 2);
    n = note(n, 3, NOTE_ALLOCATED, 3 * GIB);
    n = note(n, 3, NOTE_MAX_ALLOCATED, 8 * GIB);
    struct device_trace device = device_of(n);
    levels_find(&levels, &device);
    assert_int_equal(levels.n_lines, 2);
    assert_int_equal(levels.track[LEVEL_ALLOCATED].peak, 8 * GIB);
    assert_int_equal(levels.track[LEVEL_ALLOCATED].peak_event, 2);
    assert_int_equal(levels.track[LEVEL_ALLOCATED].last, 3 * GIB);
}

/* Memory of other processes is unknown if more was reserved than the device has in use, or if no line has both
 * figures. */
static void test_nothing_outside(void **state) {
    (void)state;
    struct levels levels;
    uint32_t n = note(0, 1, NOTE_RESERVED, 6 * GIB);
    n = note(n, 1, NOTE_DEVICE_USED, 5 * GIB);
    struct device_trace device = device_of(n);
    levels_find(&levels, &device);
    assert_false(levels.outside_known);
    n = note(n, 2, NOTE_RESERVED, 5 * GIB);
    n = note(n, 2, NOTE_DEVICE_USED, 5 * GIB);
    device = device_of(n);
    levels_find(&levels, &device);
    assert_true(levels.outside_known);
    assert_int_equal(levels.outside_bytes, 0);
    device = device_of(1);
    levels_find(&levels, &device);
    assert_false(levels.outside_known);
}

/* Steps that lines name; a number lower than one before it is no new step. */
static void test_steps_that_lines_name(void **state) {
    (void)state;
    static const uint64_t steps[] = {10, 20, 5, 30};
    struct arena arena;
    struct turns turns = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < 4; i++)
        n = note(n, 3 * i + 1, NOTE_STEP, steps[i]);
    struct device_trace device = device_of(n);
    arena_init(&arena, plain_host, SIZE_MAX);
    assert_true(levels_turns(&turns, &device, &arena));
    assert_int_equal(turns.source, TURNS_LINES);
    assert_int_equal(turns.count, 3);
    assert_int_equal(turns_number(&turns, 0), 10);
    assert_int_equal(turns_number(&turns, 2), 30);
    for (uint32_t i = 1; i < turns.count; i++)
        assert_int_equal(turns.turn[i].begin_moment, turns.turn[i - 1].end_moment);
    arena_release(&arena);
}

/* ---- why memory ran out ---- */

struct oom_case {
    uint64_t asked, total, free, unallocated, allowed; /* GiB; UINT64_MAX: not printed */
    enum log_oom_cause cause;
};

static const uint64_t none = UINT64_MAX;

static void test_why_memory_ran_out(void **state) {
    (void)state;
    static const struct oom_case cases[] = {
        {90, 80, 60, 0, UINT64_MAX, LOG_OOM_TOO_LARGE},
        {10, 80, 20, 0, 35, LOG_OOM_LIMIT}, /* 30 are reserved */
        {10, 80, 20, 0, 50, LOG_OOM_FREE_ENOUGH},
        {10, 80, 10, 0, UINT64_MAX, LOG_OOM_FREE_ENOUGH},
        {10, 80, 3, 12, UINT64_MAX, LOG_OOM_NOT_CONTIGUOUS},
        {10, 80, 3, 9, UINT64_MAX, LOG_OOM_IN_USE},
        {10, 80, 3, UINT64_MAX, UINT64_MAX, LOG_OOM_IN_USE},
        {10, 80, UINT64_MAX, 20, UINT64_MAX, LOG_OOM_UNKNOWN},
        {UINT64_MAX, 80, 3, 20, UINT64_MAX, LOG_OOM_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t figures[] = {cases[i].asked,       cases[i].total,   cases[i].free,
                                    cases[i].unallocated, cases[i].allowed, 30};
        static const enum note_what whats[] = {NOTE_ASKED,       NOTE_DEVICE_TOTAL, NOTE_DEVICE_FREE,
                                               NOTE_UNALLOCATED, NOTE_ALLOWED,      NOTE_RESERVED};
        struct log_oom_facts facts;
        uint32_t n = note(0, 6, NOTE_ASKED, 70 * GIB); /* of another event */
        for (uint32_t k = 0; k < 6; k++)
            if (figures[k] != none)
                n = note(n, 7, whats[k], figures[k] * GIB);
        notes[n++] = (struct note){.event = 7, .what = NOTE_SETTING, .text = 9, .number = SETTING_EXPANDABLE};
        struct device_trace device = device_of(n);
        log_oom_facts_of(&facts, &device, 7);
        if (facts.cause != cases[i].cause)
            fail_msg("case %d: %s", (int)i, log_oom_cause_name[facts.cause]);
        /* The setting helps against pieces only. */
        assert_int_equal(facts.setting, facts.cause == LOG_OOM_NOT_CONTIGUOUS ? 9 : 0);
    }
}

/* ---- a server's budget ---- */

static void test_budget(void **state) {
    (void)state;
    struct budget budget;
    uint32_t n = note(0, 1, NOTE_BUDGET_WEIGHTS, 13 * GIB);
    n = note(n, 2, NOTE_BUDGET_KV_CACHE, 40 * GIB);
    n = note(n, 3, NOTE_BUDGET_WEIGHTS, 14 * GIB); /* the last one counts */
    n = note(n, 3, NOTE_ALLOCATED, GIB);
    struct device_trace device = device_of(n);
    budget_of(&budget, &device);
    assert_int_equal(budget.known, 1u << BUDGET_WEIGHTS | 1u << BUDGET_KV_CACHE);
    assert_int_equal(budget.bytes[BUDGET_WEIGHTS], 14 * GIB);
    assert_string_equal(budget_label[BUDGET_KV_CACHE].name, "kv_cache");
    for (uint32_t part = 0; part < BUDGET_PARTS; part++)
        assert_true(budget_label[part].name != NULL && budget_label[part].title != NULL);
    device = device_of(0);
    budget_of(&budget, &device);
    assert_int_equal(budget.known, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_a_maximum_between_lines),
        cmocka_unit_test(test_nothing_outside),
        cmocka_unit_test(test_steps_that_lines_name),
        cmocka_unit_test(test_why_memory_ran_out),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
