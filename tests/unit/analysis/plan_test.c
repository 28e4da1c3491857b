/*
 * Compares changed programs with a simple count of live bytes, and checks blocks, cuts and new lives of a small
 * training with a loop over three layers, rule by rule.
 */
#define RECORDING_EVENTS 2000100 /* more than are replayed at once: a short search */
#include "recording.h"

#include "analysis/loop/modules.h"
#include "analysis/plan/plan_internal.h"
#include "dice.h"

#define TORCH "/usr/lib/python3/site-packages/torch/"

/* ---- random changed programs ---- */

enum { LIVES = 24, EVENTS = 60 };

/* Is an allocation live in the middle between a position and the next one? */
static bool is_alive(const struct recording *recording, const struct edit *edit, uint32_t i, uint64_t at) {
    uint64_t birth = position_at(recording->birth[i]),
             death = recording->death[i] <= EVENTS ? position_at(recording->death[i]) : POSITION_NEVER;
    bool alive = birth <= at && at < death;
    for (uint32_t k = 0; k < edit->n_cuts; k++)
        alive &= edit->cut[k].allocation != i || at < edit->cut[k].from || at >= edit->cut[k].to;
    return alive;
}

static uint64_t used_at(const struct recording *recording, const struct edit *edit, uint64_t at) {
    uint64_t used = 0;
    for (uint32_t i = 0; i < recording->device.allocations.count; i++)
        used += is_alive(recording, edit, i, at) ? edit->size[i] : 0;
    for (uint32_t k = 0; k < edit->n_lives; k++)
        used += edit->life[k].birth <= at && at < edit->life[k].death ? edit->size[edit->life[k].like] : 0;
    return used;
}

static uint64_t peak_of(const struct recording *recording, const struct edit *edit) {
    uint64_t peak = 0;
    for (uint32_t moment = 0; moment <= EVENTS; moment++)
        for (uint32_t number = 0; number < 8; number++) {
            uint64_t at = number == 0 ? position_at(moment) : position_behind(moment, number - 1);
            uint64_t used = used_at(recording, edit, at);
            peak = used > peak ? used : peak;
        }
    return peak;
}

static uint64_t position_by_chance(struct dice *dice) {
    uint32_t moment = 1 + dice_below(dice, EVENTS - 1);
    return dice_below(dice, 3) == 0 ? position_behind(moment, dice_below(dice, 7)) : position_at(moment);
}

static void edit_by_chance(struct edit *edit, uint64_t *size, struct recording *recording,
                           struct dice *dice) {
    *edit = (struct edit){.size = size};
    for (uint32_t i = 0; i < LIVES; i++)
        size[i] = dice_below(dice, 4) == 0 ? recording->size[i] / 2 + 1 : recording->size[i];
    for (uint32_t n = dice_below(dice, 12); n-- > 0;) {
        uint32_t row = dice_below(dice, LIVES);
        uint64_t from = position_by_chance(dice), to = position_by_chance(dice);
        to = dice_below(dice, 4) == 0 ? POSITION_NEVER : to;
        uint64_t birth = position_at(recording->birth[row]);
        assert_true(edit_cut(edit, row, from > birth ? from : birth, to, &recording->arena));
    }
    for (uint32_t n = dice_below(dice, 6); n-- > 0;)
        assert_true(edit_life(edit, dice_below(dice, LIVES), position_by_chance(dice),
                              position_by_chance(dice), &recording->arena));
}

/* Adds up a program as a replay would. */
static uint64_t peak_of_program(const struct program *program) {
    uint64_t used = 0, peak = 0;
    const struct allocations *allocations = &program->device->allocations;
    for (uint32_t i = 0; i < allocations->preexisting; i++)
        used += program->absent[i / 64] >> i % 64 & 1 ? 0 : program_size(program, i);
    peak = used;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        uint32_t row = program_index(program->op[i]);
        if (program_kind(program->op[i]) == PROGRAM_ALLOCATE)
            used += program_size(program, row);
        else if (program_kind(program->op[i]) == PROGRAM_FREE)
            used -= program_size(program, row);
        peak = used > peak ? used : peak;
    }
    return peak;
}

/* Splits an edit in two that share no allocation: one with the sizes, cuts and lives of the lower half of the
 * allocations, one with the cuts and lives of the upper half. */
static void edit_halve(struct edit half[2], const struct edit *edit, uint64_t *size,
                       struct recording *recording) {
    half[0] = (struct edit){.size = size};
    half[1] = (struct edit){0};
    for (uint32_t i = LIVES / 2; i < LIVES; i++)
        size[i] = recording->size[i];
    for (uint32_t i = 0; i < edit->n_cuts; i++)
        assert_true(edit_cut(&half[edit->cut[i].allocation >= LIVES / 2], edit->cut[i].allocation,
                             edit->cut[i].from, edit->cut[i].to, &recording->arena));
    for (uint32_t i = 0; i < edit->n_lives; i++)
        assert_true(edit_life(&half[edit->life[i].like >= LIVES / 2], edit->life[i].like, edit->life[i].birth,
                              edit->life[i].death, &recording->arena));
}

/* Edits that are sorted first and then merged give the same result. */
static void sorted_check(struct recording *recording, const struct lives *lives, const struct edit *edit,
                         uint64_t *size) {
    struct edit half[2];
    const struct edit *both[] = {&half[0], &half[1]};
    struct program changed;
    struct in_use peak;
    edit_halve(half, edit, size, recording);
    for (int i = 0; i < 2; i++)
        assert_true(edit_sort(&half[i], lives, &recording->arena));
    assert_true(changed_curve(&peak, lives, both, 2, &recording->arena));
    assert_int_equal(peak.requested, peak_of(recording, edit));
    assert_true(changed_program(&changed, lives, both, 2, &recording->arena));
    assert_int_equal(peak_of_program(&changed), peak.requested);
}

static void one_by_chance(struct dice *dice) {
    struct recording *recording = recording_open();
    struct program program, changed;
    struct lives lives;
    struct edit edit;
    struct in_use peak;
    uint64_t size[LIVES];
    uint32_t event = 0;
    for (uint32_t i = 0; i < LIVES; i++) {
        event += i > 3;
        uint32_t death = event + 1 + dice_below(dice, 20);
        recording_allocation(recording, event, death < EVENTS ? death : STAYS, 1 + dice_below(dice, 5000), 0);
        event += dice_below(dice, 2);
    }
    recording_settle(recording, EVENTS);
    edit_by_chance(&edit, size, recording, dice);
    const struct edit *all[] = {&edit};
    assert_true(program_init(&program, &recording->trace, &recording->device, &recording->arena));
    assert_true(lives_init(&lives, &program, &recording->arena));
    assert_true(changed_curve(&peak, &lives, all, 1, &recording->arena));
    assert_int_equal(peak.requested, peak_of(recording, &edit));
    assert_true(changed_program(&changed, &lives, all, 1, &recording->arena));
    assert_int_equal(peak_of_program(&changed), peak.requested);
    sorted_check(recording, &lives, &edit, size);
    recording_close(recording);
}

static void test_changed_programs(void **state) {
    (void)state;
    struct dice dice = {27};
    for (uint32_t i = 0; i < 2000; i++)
        one_by_chance(&dice);
}

/* ---- a loop over three layers ---- */

enum { LAYERS = 3, KB = 1024, MB = KB * KB };

static uint32_t site_in(struct recording *recording, uint32_t caller, const char *file, uint32_t line,
                        const char *name) {
    uint32_t stack = recording_stack(recording, caller, file, name);
    recording->trace.frames.frame[recording->trace.stacks.frame[stack]].line = line;
    return stack;
}

/*
 * The events: embedding; for each layer a temporary, the memory that it keeps for backward, and its output; head;
 * backward frees from the last layer back, with a gradient for each; then an optimizer.
 */
static void training_write(struct recording *recording, uint64_t unit) {
    uint32_t main_ = recording_stack(recording, 0, "/home/u/train.py", "main");
    uint32_t model = site_in(recording, main_, "/home/u/model.py", 9, "forward");
    uint32_t gone = site_in(recording, model, "/home/u/layer.py", 6, "forward"),
             kept = site_in(recording, model, "/home/u/layer.py", 7, "forward"),
             made = site_in(recording, model, "/home/u/layer.py", 8, "forward");
    uint32_t head = site_in(recording, model, "/home/u/model.py", 20, "head");
    uint32_t back = recording_stack(recording, main_, TORCH "autograd/graph.py", "_engine_run_backward");
    uint32_t store = recording_stack(recording, back, "", "torch::autograd::AccumulateGrad::apply");
    uint32_t step = recording_stack(recording, main_, TORCH "optim/adamw.py", "step");
    uint32_t every = recording_stack(recording, step, TORCH "optim/adamw.py", "_multi_tensor_adamw");
    recording_allocation(recording, 1, 40, 10 * unit,
                         head); /* the embedding's, held to the end of backward */
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t at = 2 + 4 * i, freed = 20 + 4 * (LAYERS - 1 - i);
        recording_allocation(recording, at, at + 3, 8 * unit, gone);
        recording_allocation(recording, at + 1, freed, 100 * unit, kept);
        recording_allocation(recording, at + 2, freed + 2, 20 * unit, made);
    }
    recording_allocation(recording, 15, 18, 50 * unit, head);
    for (uint32_t i = 0; i < LAYERS; i++)
        recording_allocation(recording, 19 + 4 * i, 60, 30 * unit, store);
    recording_allocation(recording, 45, STAYS, 60 * unit, step);
    for (uint32_t i = 0; i < 4; i++)
        recording_allocation(recording, 46 + i, 52, 5 * unit, every);
    recording_allocation(recording, 61, 70, 10 * unit, head);
}

/* The plan, as if the replay of `n_events` events had been exact. */
static struct plan *plan_of(struct recording *recording, const struct plan_request *request,
                            uint32_t n_events) {
    struct timeline *timeline = recording_settle(recording, n_events);
    struct plan *plan = arena_alloc(&recording->arena, sizeof *plan);
    struct program *program = arena_alloc(&recording->arena, sizeof *program);
    struct replay *replay = arena_alloc(&recording->arena, sizeof *replay);
    struct verdicts *verdicts = arena_alloc(&recording->arena, sizeof *verdicts);
    *replay = (struct replay){.grade = REPLAY_EXACT, .settings = allocator_settings_default()};
    assert_true(program_init(program, &recording->trace, &recording->device, &recording->arena));
    assert_true(verdicts_init_with_cuts(verdicts, timeline, &recording->arena));
    const struct continued none = {.by = CONTINUED_NOT};
    assert_true(plan_find(plan, program, program, replay, verdicts, &none, request, &recording->arena));
    return plan;
}

static struct plan *training_plan(struct recording *recording, const struct plan_request *request) {
    training_write(recording, KB);
    return plan_of(recording, request, 80);
}

static const struct plan_change *change_of(const struct plan *plan, enum plan_kind kind) {
    for (uint32_t i = 0; i < plan->n_changes; i++)
        if (plan->change[i].kind == kind)
            return &plan->change[i];
    return NULL;
}

static void test_blocks(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    const struct plan *plan = training_plan(recording, &(struct plan_request){0});
    assert_int_equal(plan->blocks.n_forwards, 2);
    const struct forward *forward = &plan->blocks.forward[0];
    assert_int_equal(forward->n_blocks, LAYERS);
    assert_int_equal(forward->period, 3);
    for (uint32_t i = 0; i < LAYERS; i++) {
        assert_int_equal(plan->blocks.span[forward->first_block + i].first, 1 + 3 * i);
        assert_int_equal(plan->blocks.span[forward->first_block + i].end, 4 + 3 * i);
    }
    /* Median time of a block: 4 events of 10 us; from its first allocation to the last event 79 of them. */
    assert_int_equal(plan_share(plan, 1), 40 * 1000000 / 790);
    recording_close(recording);
}

/* Layers run in forward while they allocate; in backward, from the last back, from the first allocation that they
 * free. */
static void test_when_layers_run(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    const struct plan *plan = training_plan(recording, &(struct plan_request){0});
    const struct verdicts *verdicts = plan->verdicts;
    struct layer_span *spans;
    uint32_t n;
    assert_true(layer_spans_find(&spans, &n, &plan->blocks, verdicts->timeline, &verdicts->runs,
                                 verdicts->category, &recording->arena));
    assert_int_equal(n, 2 * LAYERS);
    for (uint32_t i = 0; i < LAYERS; i++) {
        const struct layer_span *made = &spans[i], *freed = &spans[2 * LAYERS - 1 - i];
        uint32_t let_go = 20 + 4 * (LAYERS - 1 - i);
        assert_int_equal(made->layer, i);
        assert_false(made->backward);
        assert_int_equal(made->from_moment, 2 + 4 * i);
        assert_int_equal(made->to_moment, 4 + 4 * i);
        assert_int_equal(freed->layer, i);
        assert_true(freed->backward);
        assert_int_equal(freed->from_moment, let_go);
        assert_int_equal(freed->to_moment,
                         i == 0 ? let_go + 2 : let_go + 3); /* to where the next one begins */
    }
    recording_close(recording);
}

static void test_bytes_left_by_each_change(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    const struct plan *plan = training_plan(recording, &(struct plan_request){0});
    const struct plan_change *checkpoint = change_of(plan, PLAN_CHECKPOINT);
    /* Recorded: embedding, three layers' 120 and the head. */
    assert_int_equal(plan->as_recorded.live_max, (10 + 3 * 120 + 50) * KB);
    assert_int_equal(plan->as_recorded.live_min, plan->as_recorded.live_max);
    /* The peak is where the first layer is made again: its output, the memory that it keeps and all gradients; if the
     * whole layer is made again, a second output too. */
    assert_int_equal(checkpoint->n_blocks, LAYERS);
    assert_int_equal(checkpoint->figures.live_min, (10 + 20 + 100 + 3 * 30) * KB);
    assert_int_equal(checkpoint->figures.live_max, (10 + 20 + 100 + 20 + 3 * 30) * KB);
    assert_int_equal(change_of(plan, PLAN_OFFLOAD)->figures.live_max, plan->as_recorded.live_max);
    assert_int_equal(change_of(plan, PLAN_OFFLOAD)->cost, COST_ELSEWHERE);
    assert_non_null(change_of(plan, PLAN_FUSED));
    assert_null(change_of(plan, PLAN_NO_GRAD)); /* there is a backward */
    const struct plan_change *half = change_of(plan, PLAN_MICRO_BATCH);
    /* All gradients exist from the forward on, and the first one twice while it is made. */
    uint64_t bound = (10 + 3 * 120) / 2 * KB + 4 * 30 * KB;
    assert_int_equal(half->figures.live_min, bound - bound / 100);
    recording_close(recording);
}

static void test_left_out(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    struct plan_request request = {.without = 1u << WORD_CHECKPOINT | 1u << WORD_FUSED | 1u << WORD_OFFLOAD |
                                              1u << WORD_EIGHT_BIT | 1u << WORD_EXPANDABLE};
    const struct plan *plan = training_plan(recording, &request);
    assert_null(change_of(plan, PLAN_CHECKPOINT));
    assert_null(change_of(plan, PLAN_FUSED));
    assert_null(change_of(plan, PLAN_OFFLOAD));
    assert_null(change_of(plan, PLAN_EIGHT_BIT));
    assert_null(change_of(plan, PLAN_SETTINGS));
    assert_non_null(change_of(plan, PLAN_MICRO_BATCH));
    recording_close(recording);
}

static void test_too_much_work(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    const struct plan *plan = training_plan(recording, &(struct plan_request){.work_most = 100});
    assert_true(plan->left_out);
    assert_int_equal(plan->n_changes, 0);
    assert_int_equal(plan->n_plans, 0);
    recording_close(recording);
}

/* ---- searches ---- */

/* The plan of the training in units of 1 MiB, for a budget of `mib`. */
static const struct plan *searched(struct recording *recording, uint64_t mib, uint32_t n_events) {
    training_write(recording, MB);
    return plan_of(recording, &(struct plan_request){.gpu_bytes = mib * MB}, n_events);
}

/* In use with the first K blocks checkpointed: at the head, what the other blocks keep, or more where the first is made
 * again. With one block that is 320 of the 420 MiB, with two 220; 20 MiB are kept back. */
static void test_smallest_number_of_blocks(void **state) {
    (void)state;
    static const struct {
        uint64_t mib;
        uint32_t blocks;
    } cases[] = {{400, 1}, {320, 2}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t n_events = 80; n_events <= 2000080; n_events += 2000000) {
            struct recording *recording = recording_open();
            const struct plan *plan = searched(recording, cases[i].mib, n_events);
            assert_int_equal(plan->short_search, n_events > 80);
            assert_int_not_equal(plan->n_plans, 0);
            assert_int_equal(plan->plans[0].n_changes, 1);
            assert_int_equal(plan->change[plan->plans[0].change[0]].kind, PLAN_CHECKPOINT);
            assert_int_equal(plan->plans[0].n_blocks, cases[i].blocks);
            recording_close(recording);
        }
}

static void test_nothing_is_served(void **state) {
    (void)state;
    for (uint32_t n_events = 80; n_events <= 2000080; n_events += 2000000) {
        struct recording *recording = recording_open();
        const struct plan *plan = searched(recording, 100, n_events);
        assert_int_equal(plan->n_plans, 0);
        assert_true(plan->has_nearest);
        assert_int_equal(plan->nearest.n_blocks, LAYERS);
        assert_int_equal(plan->lacking_bytes, plan->nearest.figures.rounded_max - 100 * MB);
        recording_close(recording);
    }
}

/* ---- settings ---- */

/*
 * 30 MiB are freed, then 40 MiB are asked for: by default two segments, 70 MiB; expandable segments grow the one by two
 * granules of 20 MiB, 40 MiB. In 60 MiB the default gives the free segment back and is served with one retry.
 */
static void test_settings(void **state) {
    (void)state;
    static const char *const set[] = {"roundup_power2_divisions=4", "max_split_size_mb=64"};
    struct recording *recording = recording_open();
    recording_allocation(recording, 1, 2, 30 * MB, 0);
    recording_allocation(recording, 3, STAYS, 40 * MB, 0);
    const struct plan_request request = {.gpu_bytes = 60 * MB, .set = set, .n_set = 2};
    const struct plan *plan = plan_of(recording, &request, 5);
    assert_int_equal(plan->as_recorded.reserved_max, 70 * MB);
    assert_int_equal(plan->as_recorded.fits, PLAN_WITH_RETRIES);
    assert_int_equal(plan->as_recorded.n_retries, 1);
    assert_int_equal(plan->n_changes, 2);
    assert_string_equal(plan->change[0].id, "settings:expandable_segments:True");
    assert_int_equal(plan->change[0].figures.reserved_max, 40 * MB);
    assert_int_equal(plan->change[0].figures.fits, PLAN_YES);
    assert_string_equal(plan->change[1].id, "settings:max_split_size_mb:64,roundup_power2_divisions:4");
    assert_int_equal(plan->change[1].figures.reserved_max, 72 * MB); /* 30 MiB are rounded up to 32 */
    struct plan_need need[PLAN_NEEDS];
    uint32_t n;
    assert_true(plan_needs_find(need, &n, plan->program, plan->replay, 60 * MB, &recording->arena));
    assert_string_equal(need[0].settings, "recorded");
    assert_int_equal(need[0].peak_bytes, 70 * MB);
    assert_string_equal(need[1].settings, "expandable_segments:True");
    assert_int_equal(need[1].peak_bytes, 40 * MB);
    for (uint32_t i = 0; i < n; i++)
        assert_true(need[i].served);
    recording_close(recording);
}

/* ---- a graph that nobody uses ---- */

/* Forward passes alone, each of which keeps its activations until the next one ends. Without a graph an activation is
 * freed when the second allocation after it is made. */
static void test_no_grad(void **state) {
    (void)state;
    struct recording *recording = recording_open();
    uint32_t main_ = recording_stack(recording, 0, "/home/u/serve.py", "main");
    uint32_t model = recording_stack(recording, main_, TORCH "nn/modules/module.py", "_call_impl");
    for (uint32_t i = 0; i < 30; i++)
        recording_allocation(recording, 1 + i, 70 - i, 100 * KB,
                             site_in(recording, model, "/home/u/layer.py", 5 + i, "forward"));
    const struct plan *plan = plan_of(recording, &(struct plan_request){.without = 1u << WORD_FINDINGS}, 80);
    const struct plan_change *change = change_of(plan, PLAN_NO_GRAD);
    assert_int_equal(plan->as_recorded.live_max, 30 * 100 * KB);
    assert_non_null(change);
    assert_int_equal(change->certainty, CERTAINTY_BOUND);
    assert_int_equal(change->figures.live_min, 200 * KB - 200 * KB / 100);
    assert_false(change->figures.reserved_known);
    recording_close(recording);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changed_programs),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_when_layers_run),
        cmocka_unit_test(test_bytes_left_by_each_change),
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_too_much_work),
        cmocka_unit_test(test_smallest_number_of_blocks),
        cmocka_unit_test(test_nothing_is_served),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_no_grad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
