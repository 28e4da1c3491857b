/* Turns of a loop that only goes forward, found by repetition in the allocations. The turn is the rarest regular
 * recurrence of which nearly all others are multiples; a loop over layers inside one forward is rejected. */
#include "analysis/loop/turns_internal.h"

#include "analysis/loop/frame_bits.h"
#include "base/bytes.h"
#include "base/search.h"
#include "base/sort.h"
#include "layout/place.h"

/* Fewer than REPEAT_LEAST allocations are no pattern: otherwise two of one line would be two turns. */
enum { CANDIDATES_MOST = 64, REPEAT_LEAST = 8 };

/* The allocations by their stacks' inner keys. */
struct sequence {
    const struct phase_runs *runs;
    const struct timeline *timeline;
    uint32_t *key;   /* [n_stacks] */
    uint32_t *start; /* [n_stacks + 1] into `at`, by key */
    uint32_t *at;    /* [n_allocations] allocations, by key and then rising */
    uint32_t n_stacks, first_forward;
    bool has_forward;
};

static uint32_t key_at(const struct sequence *sequence, uint32_t recorded) {
    const struct allocations *allocations = &sequence->timeline->device->allocations;
    return sequence->key[allocations->stack[sequence->runs->first_allocation + recorded]];
}

static void sequence_fill(struct sequence *sequence) {
    uint32_t *start = sequence->start, n = sequence->runs->n_allocations;
    bytes_zero(start, ((size_t)sequence->n_stacks + 2) * sizeof *start);
    for (uint32_t k = 0; k < n; k++)
        start[key_at(sequence, k) + 2]++;
    for (uint32_t i = 0; i < sequence->n_stacks; i++)
        start[i + 2] += start[i + 1];
    for (uint32_t k = 0; k < n; k++)
        sequence->at[start[key_at(sequence, k) + 1]++] = k;
}

static bool sequence_build(struct sequence *sequence, struct arena *arena) {
    const struct trace *trace = sequence->timeline->trace;
    const uint8_t *letter = sequence->runs->letter + sequence->runs->first_allocation;
    sequence->n_stacks = trace->stacks.count;
    sequence->key = arena_column(arena, sequence->n_stacks, sizeof *sequence->key);
    sequence->start = arena_column(arena, (uint64_t)sequence->n_stacks + 2, sizeof *sequence->start);
    sequence->at = arena_column(arena, sequence->runs->n_allocations, sizeof *sequence->at);
    if (sequence->key == NULL || sequence->start == NULL || sequence->at == NULL ||
        !inner_keys_find(trace, sequence->runs->frame_bits, sequence->key, arena))
        return false;
    sequence_fill(sequence);
    while (sequence->first_forward < sequence->runs->n_allocations &&
           letter[sequence->first_forward] != PHASE_FORWARD)
        sequence->first_forward++;
    sequence->has_forward = sequence->first_forward < sequence->runs->n_allocations;
    if (!sequence->has_forward)
        sequence->first_forward = 0;
    return true;
}

static uint32_t key_count(const struct sequence *sequence, uint32_t key) {
    return sequence->start[key + 1] - sequence->start[key];
}

/* The number of a key's allocations at or after `from`. O(log count). */
static uint32_t key_count_from(const struct sequence *sequence, uint32_t key, uint32_t from) {
    uint32_t low = SEARCH(sequence->start[key], sequence->start[key + 1], i, sequence->at[i] < from);
    return sequence->start[key + 1] - low;
}

/* Does the key make or load a module in a recording without a forward? The layers of one are not turns. */
static bool key_loads_alone(const struct sequence *sequence, uint32_t key) {
    return !sequence->has_forward && (sequence->runs->stack_bits[key] & (BIT_PARAMETER | BIT_INIT)) != 0;
}

/* ---- candidates ---- */

static uint32_t mean_distance(const struct sequence *sequence, uint32_t key) {
    const uint32_t *at = sequence->at + sequence->start[key];
    uint32_t count = key_count(sequence, key);
    return (at[count - 1] - at[0]) / (count - 1);
}

/* Are distances within a factor of two of their mean nearly all of the span, and does the span cover half of the
 * run? */
static bool key_is_regular(const struct sequence *sequence, uint32_t key) {
    const uint32_t *at = sequence->at + sequence->start[key];
    uint32_t count = key_count(sequence, key);
    if (count < 2 || key_loads_alone(sequence, key))
        return false;
    uint64_t span = at[count - 1] - at[0], mean = mean_distance(sequence, key), covered = 0;
    if ((span + mean) * 2 < sequence->runs->n_allocations - sequence->first_forward)
        return false;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t distance = at[i] - at[i - 1];
        if (distance * 2 >= mean && distance <= mean * 2)
            covered += distance;
    }
    return covered * 10 >= span * 8;
}

/* Regular keys by rising count, then by first allocation. NULL: no memory. */
static struct sort_row *regular_keys(const struct sequence *sequence, uint32_t *count, struct arena *arena) {
    uint32_t n = 0;
    for (uint32_t key = 0; key < sequence->n_stacks; key++)
        n += key_is_regular(sequence, key);
    struct sort_row *rows, *spare;
    *count = 0;
    if (!ARENA_COLUMNS(arena, n, rows, spare))
        return NULL;
    for (uint32_t key = 0; key < sequence->n_stacks; key++)
        if (key_is_regular(sequence, key))
            rows[(*count)++] = (struct sort_row){
                (uint64_t)key_count(sequence, key) << 32 | sequence->at[sequence->start[key]], key};
    sort_rows(rows, spare, n);
    ARENA_DROP(arena, spare);
    return rows;
}

/* Is a count that of one, two, ... allocations in each of `turns` turns, with one turn cut off at either end? */
static bool count_is_multiple(uint32_t count, uint32_t turns) {
    uint32_t m = (count - 1) / turns + 1;
    uint64_t least = (uint64_t)m * (turns - 1);
    return (uint64_t)m * turns == count || count > least || (turns > 3 && count == least);
}

static uint32_t rare_below(uint32_t turns) {
    return turns <= 3 ? turns : turns - 1;
}

/* Loading is no turn: a key that also occurs before the window, or for the last time before the first forward. */
static bool key_is_of_loading(const struct sequence *sequence, uint32_t key, uint32_t from) {
    return key_loads_alone(sequence, key) || sequence->at[sequence->start[key]] < from ||
           sequence->at[sequence->start[key + 1] - 1] < sequence->first_forward;
}

/* Do nearly all keys, from one distance before the anchor on, come as often as there are turns, or in multiples of
 * that? */
static bool turns_fit(const struct sequence *sequence, uint32_t anchor, uint32_t turns) {
    uint32_t first = sequence->at[sequence->start[anchor]], mean = mean_distance(sequence, anchor);
    uint32_t from = first > mean ? first - mean : 0;
    uint64_t n_keys = 0, n_rare_keys = 0, n_rare = 0, n_fitting = 0, n = 0;
    for (uint32_t key = 0; key < sequence->n_stacks; key++) {
        uint32_t count = key_count(sequence, key) == 0 ? 0 : key_count_from(sequence, key, from);
        if (count == 0 || key_is_of_loading(sequence, key, from))
            continue;
        bool rare = count < rare_below(turns);
        n_keys++;
        n += count;
        n_rare_keys += rare;
        n_rare += rare ? count : 0;
        n_fitting += count_is_multiple(count, turns) ? count : 0;
    }
    /* The first call may make a workspace: one key more, which soon is more than 15 % of few keys. */
    bool few_keys = n_rare_keys * 100 <= n_keys * 15 || (turns >= 3 && n_rare_keys <= 2);
    uint64_t spared = turns >= 3 && n_rare > 0;
    return few_keys && (n_rare - spared) * 100 <= n * 10 && n_fitting * 100 >= n * 70;
}

/* ---- rejecting layers ---- */

/* The tree of the keys' Python frames from the outermost forward inwards; a node is a stack, 0 the root. */
struct forward_tree {
    uint32_t *node;    /* [n_stacks] the node of each stack */
    uint32_t *n_again; /* [n_stacks] keys below the node that come in every turn */
    uint8_t *rare;     /* [n_stacks] some key below comes less often than there are turns */
};

/* The parent of a node. */
static uint32_t tree_parent(const struct sequence *sequence, const struct forward_tree *tree, uint32_t node) {
    return tree->node[stack_parent(&sequence->timeline->trace->stacks, node)];
}

/* Does a key come in every turn: often enough, and not all at once? A loop inside a forward, before the layers, may
 * repeat it as often as there are layers. */
static bool key_comes_again(const struct sequence *sequence, uint32_t key, uint32_t turns) {
    uint32_t count = key_count(sequence, key);
    if (count < rare_below(turns))
        return false;
    uint64_t span = sequence->at[sequence->start[key + 1] - 1] - sequence->at[sequence->start[key]];
    uint64_t run = sequence->runs->n_allocations - sequence->first_forward;
    return span * 2 * turns >= run * (turns - 1);
}

static uint32_t tree_count(const struct sequence *sequence, struct forward_tree *tree, uint32_t turns) {
    uint32_t total = 0;
    bytes_zero(tree->n_again, (size_t)sequence->n_stacks * sizeof *tree->n_again);
    bytes_zero(tree->rare, sequence->n_stacks);
    for (uint32_t key = 1; key < sequence->n_stacks; key++) {
        uint32_t count = key_count(sequence, key), node = tree->node[key];
        if (count == 0 || node == 0)
            continue;
        bool again = key_comes_again(sequence, key, turns);
        total += again;
        tree->n_again[node] += again;
        tree->rare[node] |= !again;
    }
    for (uint32_t node = sequence->n_stacks; node-- > 1;) {
        uint32_t parent = tree_parent(sequence, tree, node);
        if (tree->node[node] != node || parent == 0)
            continue;
        tree->n_again[parent] += tree->n_again[node];
        tree->rare[parent] |= tree->rare[node];
    }
    return total;
}

/* Is the frame another line of the function of a frame in the common part? */
static bool same_function(const struct trace *trace, uint32_t a, uint32_t b) {
    const struct frame *one = &trace->frames.frame[a], *other = &trace->frames.frame[b];
    struct place of_one, of_other;
    if (one->line == 0 && other->line == 0 && place_of_frame(trace, a, &of_one) &&
        place_of_frame(trace, b, &of_other))
        return of_one.line != of_other.line && of_one.file.nbytes == of_other.file.nbytes &&
               text_is(of_one.name, "forward") && text_is(of_other.name, "forward");
    return one->line != other->line && trace_strings_equal(trace, one->file, other->file) &&
           trace_strings_equal(trace, one->name, other->name);
}

static bool frame_is_forward(const struct trace *trace, uint32_t id) {
    struct place place;
    place_of_frame(trace, id, &place);
    return text_is(place.name, "forward");
}

/*
 * The same below the common chain, if everything that comes again passes through one forward by several lines: if
 * another line of it leads only to keys that come less often, that forward was entered less often than there are
 * turns.
 */
static bool loop_is_inside_last(const struct sequence *sequence, const struct forward_tree *tree,
                                uint32_t total, uint32_t parent) {
    const struct trace *trace = sequence->timeline->trace;
    uint32_t through = 0, common = 0;
    bool left = false;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t node = 1; node < sequence->n_stacks; node++) {
            uint32_t frame = trace->stacks.frame[node];
            if (tree->node[node] != node || tree_parent(sequence, tree, node) != parent ||
                !frame_is_forward(trace, frame))
                continue;
            if (common == 0 && tree->n_again[node] != 0)
                common = frame;
            if (pass == 0 || common == 0 || (frame != common && !same_function(trace, frame, common)))
                continue;
            through += tree->n_again[node];
            left |= tree->n_again[node] == 0 && tree->rare[node];
        }
    return left && through == total;
}

/*
 * The common outer part of everything that comes in every turn is a chain in the tree. If some rare key leaves one
 * of its forward frames by another line, that forward was entered less often than there are turns: the loop is
 * inside it.
 */
static bool loop_is_inside(const struct sequence *sequence, struct forward_tree *tree, uint32_t turns,
                           uint32_t *chain_child) {
    const struct trace *trace = sequence->timeline->trace;
    uint32_t total = tree_count(sequence, tree, turns);
    if (total == 0)
        return false;
    bytes_zero(chain_child, (size_t)sequence->n_stacks * sizeof *chain_child);
    for (uint32_t node = 1; node < sequence->n_stacks; node++)
        if (tree->node[node] == node && tree->n_again[node] == total)
            chain_child[tree_parent(sequence, tree, node)] = node; /* only one child of a node can have all */
    for (uint32_t node = 1; node < sequence->n_stacks; node++) {
        uint32_t common = tree->node[node] == node ? chain_child[tree_parent(sequence, tree, node)] : 0;
        if (common == 0 || common == node || !tree->rare[node])
            continue;
        uint32_t own = trace->stacks.frame[node], chain = trace->stacks.frame[common];
        if (frame_is_forward(trace, chain) && same_function(trace, own, chain))
            return true;
    }
    uint32_t last = 0;
    while (chain_child[last] != 0)
        last = chain_child[last];
    return loop_is_inside_last(sequence, tree, total, last);
}

/* ---- the turn ---- */

/* The regular key that defines the turns, and how often it comes; 0: none. */
struct anchor {
    uint32_t key, turns;
};

static bool anchor_find(const struct sequence *sequence, struct anchor *anchor, struct arena *arena) {
    uint32_t n = sequence->n_stacks, n_rows, tried = 0;
    struct sort_row *rows = regular_keys(sequence, &n_rows, arena);
    struct forward_tree tree;
    uint32_t *chain;
    bool done = ARENA_COLUMNS(arena, n, tree.node, tree.n_again, tree.rare, chain) && rows != NULL &&
                python_keys_find(sequence->timeline->trace, sequence->runs->frame_bits,
                                 sequence->runs->stack_bits, tree.node, arena);
    for (uint32_t i = 0; done && i < n_rows && anchor->turns == 0 && tried < CANDIDATES_MOST; i++) {
        uint32_t turns = (uint32_t)(rows[i].key >> 32);
        if (i > 0 && turns == (uint32_t)(rows[i - 1].key >> 32))
            continue;
        tried++;
        if (turns_fit(sequence, rows[i].value, turns) && !loop_is_inside(sequence, &tree, turns, chain))
            *anchor = (struct anchor){rows[i].value, turns};
    }
    ARENA_DROP(arena, chain, tree.rare, tree.n_again, tree.node, rows);
    return done;
}

static uint64_t live_before(const struct sequence *sequence, uint32_t recorded) {
    const struct timeline *timeline = sequence->timeline;
    uint32_t birth = timeline->device->allocations.birth[sequence->runs->first_allocation + recorded];
    return timeline->live[birth > 0 ? birth - 1 : 0];
}

/* The turn begins between the anchor's first two allocations, where the least is alive; at the anchor itself if
 * that is at most a thousandth more. */
static uint32_t turn_begin(const struct sequence *sequence, const uint32_t *anchor) {
    uint32_t best = anchor[0];
    for (uint32_t k = anchor[0]; k < anchor[1]; k++)
        if (live_before(sequence, k) < live_before(sequence, best))
            best = k;
    uint64_t least = live_before(sequence, best), own = live_before(sequence, anchor[0]);
    return own - least <= own / 1000 ? anchor[0] : best;
}

/* The number of a key's allocations in [from, to]. */
static uint32_t key_count_in(const struct sequence *sequence, uint32_t key, uint32_t from, uint32_t to) {
    return key_count_from(sequence, key, from) - key_count_from(sequence, key, to + 1);
}

/* The beginning of every turn: the same occurrence of the same key after the anchor. */
static uint32_t begins_find(const struct sequence *sequence, const struct anchor *anchor, uint32_t *begin) {
    const uint32_t *at = sequence->at + sequence->start[anchor->key];
    uint32_t boundary = turn_begin(sequence, at), key = key_at(sequence, boundary), count = 0;
    uint32_t nth = key_count_in(sequence, key, at[0], boundary);
    for (uint32_t i = 0; i < anchor->turns; i++) {
        uint32_t end = i + 1 < anchor->turns ? at[i + 1] : sequence->runs->n_allocations;
        uint32_t behind = key_count_from(sequence, key, at[i]);
        if (behind < nth)
            continue;
        uint32_t found = sequence->at[sequence->start[key + 1] - behind + nth - 1];
        if (found < end)
            begin[count++] = found;
    }
    return count;
}

/* Counts the stretch from the first forward to the first boundary as a turn, or as the beginning of the first. */
static uint32_t begins_complete(const struct sequence *sequence, uint32_t *begin, uint32_t count) {
    uint32_t from = sequence->first_forward, n = sequence->runs->n_allocations;
    if (count < 2 || begin[0] <= from)
        return count;
    uint32_t mean = (begin[count - 1] - begin[0]) / (count - 1), before = begin[0] - from;
    uint32_t n_again = 0;
    for (uint32_t k = from; k < begin[0] && k < n; k++)
        n_again += key_count(sequence, key_at(sequence, k)) > 1;
    if ((uint64_t)before * 2 < mean) {
        begin[0] = from;
        return count;
    }
    if (n_again * 2 < before)
        return count;
    for (uint32_t i = count; i > 0; i--)
        begin[i] = begin[i - 1];
    begin[0] = from;
    return count + 1;
}

/* Is the last turn something else that follows the loop? Most of it never came before. */
static bool rest_is_other(const struct sequence *sequence, uint32_t begin) {
    uint32_t n = sequence->runs->n_allocations, n_new = 0;
    for (uint32_t k = begin; k < n; k++)
        n_new += sequence->at[sequence->start[key_at(sequence, k)]] >= begin;
    return (uint64_t)n_new * 2 > n - begin;
}

/* Is most of what each turn makes gone when it ends? Otherwise what repeats outside of every forward may be the layers of a
 * model that is written as functions, whose results wait for a backward. */
static bool turns_return(const struct sequence *sequence, const uint32_t *begin, uint32_t count,
                         uint32_t end) {
    const struct allocations *allocations = &sequence->timeline->device->allocations;
    uint32_t first = sequence->runs->first_allocation;
    uint64_t made = 0, kept = 0;
    for (uint32_t i = 0; i + 1 < count; i++)
        for (uint32_t k = begin[i], to = begin[i + 1]; k < to && to < end; k++) {
            made += allocations->size[first + k];
            kept += allocations->request[first + k] > allocations->birth[first + to]
                        ? allocations->size[first + k]
                        : 0;
        }
    return kept <= made / 4;
}

static bool turns_of_anchor(struct turns *turns, const struct sequence *sequence, const struct anchor *anchor,
                            struct arena *arena) {
    const struct timeline *timeline = sequence->timeline;
    const struct phase_runs *runs = sequence->runs;
    uint32_t *begin = arena_column(arena, (uint64_t)anchor->turns + 2, sizeof *begin);
    if (begin == NULL)
        return false;
    uint32_t count = begins_complete(sequence, begin, begins_find(sequence, anchor, begin)),
             end = runs->n_allocations;
    const uint32_t *birth = timeline->device->allocations.birth + runs->first_allocation;
    if (count < 2 || timeline->peak_moment < birth[begin[0]])
        return true;
    uint64_t mean = (begin[count - 1] - begin[0]) / (count - 1), last = end - begin[count - 1];
    bool behind = rest_is_other(sequence, begin[count - 1]);
    turns->closed = behind || last * 10 >= mean * 9;
    if (behind)
        end = begin[--count];
    else if (count > 2 && last * 10 < mean && !has_forward_from(runs, begin[count - 1])) {
        /* results kept from each pass are made after it, where the least is alive */
        uint32_t rest = begin[--count];
        begin[count] = end;
        turns->closed = true;
        if (!begins_move(runs, timeline, begin, count, rest, arena))
            return false;
    }
    if (count < 2 || (behind && timeline->peak_moment >= birth[end]) ||
        (!sequence->has_forward && !turns_return(sequence, begin, count, end)))
        return true;
    turns->source = TURNS_REPETITION;
    return turns_settle(turns, runs, timeline, begin, count, end, arena);
}

bool turns_repeat(struct turns *turns, const struct phase_runs *runs, const struct timeline *timeline,
                  struct arena *arena) {
    struct sequence sequence = {.runs = runs, .timeline = timeline};
    const uint8_t *letter = runs->letter + runs->first_allocation;
    struct anchor anchor = {0};
    uint32_t n_forward = 0;
    for (uint32_t k = 0; k < runs->n_allocations; k++)
        n_forward += side_of_letter(letter[k]) == SIDE_FORWARD;
    if (runs->stacks == STACKS_NONE || runs->n_allocations < REPEAT_LEAST ||
        (uint64_t)n_forward * 2 < runs->n_allocations)
        return true;
    bool done = sequence_build(&sequence, arena);
    if (done)
        done = anchor_find(&sequence, &anchor, arena);
    if (done && anchor.turns != 0)
        done = turns_of_anchor(turns, &sequence, &anchor, arena);
    ARENA_DROP(arena, sequence.at, sequence.start, sequence.key);
    return done;
}
