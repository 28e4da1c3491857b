/*
 * Builds trees level by level. For callers, every stack that holds something has a cursor on its next frame.
 * Cursors of one node that are at the same frame make one child; sorting them by (node, frame) finds the children in
 * the order of the recording, without a hash table. Callees are walked over the prefix tree of stacks,
 * by the number of user frames above.
 */
#include "layout/tree.h"

#include "base/bytes.h"
#include "base/sort.h"
#include "layout/site.h"
#include "trace/id_slots.h"

/* A stack that holds something, and the state of the walk along its frames. */
struct walker {
    uint32_t node;   /* node reached so far */
    uint32_t cursor; /* the stack whose frame comes next; 0: none */
    uint32_t stack;
    uint32_t levels; /* nodes made for it; a function that calls itself counts once */
    uint64_t bytes, count, before_bytes;
};

struct making {
    struct tree *tree;
    const struct timeline *timeline;
    struct arena *arena;
    struct tree_way way; /* `through` is mapped by `same` */
    uint32_t *same;      /* [frames.count] */
    /* [stacks.count] the nearest stack, itself included, whose own frame is the user's; 0: none */
    uint32_t *up;
    uint32_t *depth; /* [stacks.count] user frames from here outwards */
    struct walker *walker;
    uint32_t n_walkers;
    uint32_t capacity;
};

/* ---- folding ---- */

static bool fold(struct making *making) {
    const struct timeline *timeline = making->timeline;
    const struct trace *trace = timeline->trace;
    making->same = arena_column(making->arena, trace->frames.count, sizeof *making->same);
    making->up = arena_column(making->arena, trace->stacks.count, sizeof *making->up);
    if (making->same == NULL || making->up == NULL || !frames_same(trace, making->same, making->arena))
        return false;
    making->up[0] = 0;
    for (uint32_t i = 1; i < trace->stacks.count; i++) {
        bool user = timeline_frame_is_user(timeline, trace->stacks.frame[i]);
        making->up[i] = user ? i : making->up[stack_parent(&trace->stacks, i)];
    }
    return true;
}

/* Walkers by the slot of their stack: index + 1; 0: none yet. */
struct walkers {
    struct id_slots slots;
    uint32_t *of;
};

/* The walker for an allocation's stack. */
static struct walker *walker_of(struct making *making, const struct walkers *walkers, uint32_t allocation) {
    uint32_t stack = making->timeline->device->allocations.stack[allocation];
    uint32_t *of = &walkers->of[id_slot(&walkers->slots, stack)];
    if (*of == 0) {
        making->walker[making->n_walkers] = (struct walker){.stack = stack, .cursor = making->up[stack]};
        *of = ++making->n_walkers;
    }
    return &making->walker[*of - 1];
}

/* Starts without walkers, with room for those of all given allocations. False: no memory. */
static bool walkers_init(struct walkers *walkers, struct making *making, const uint32_t *allocations,
                         uint32_t n_allocations, const uint32_t *before, uint32_t n_before) {
    const uint32_t *stack = making->timeline->device->allocations.stack;
    struct id_slots *slots = &walkers->slots;
    if (!id_slots_begin(slots, making->timeline->trace->stacks.count, making->arena))
        return false;
    for (uint32_t i = 0; i < n_allocations; i++)
        id_slots_use(slots, stack[allocations[i]]);
    for (uint32_t i = 0; i < n_before; i++)
        id_slots_use(slots, stack[before[i]]);
    id_slots_number(slots);
    walkers->of = arena_zeros(making->arena, slots->count, sizeof *walkers->of);
    making->walker = arena_column(making->arena, slots->count, sizeof *making->walker);
    return walkers->of != NULL && making->walker != NULL;
}

/* Makes a walker for each stack that holds something, or did before. */
static bool walkers_find(struct making *making, const uint32_t *allocations, uint32_t n_allocations,
                         const uint32_t *before, uint32_t n_before) {
    const struct allocations *all = &making->timeline->device->allocations;
    struct walkers walkers;
    if (!walkers_init(&walkers, making, allocations, n_allocations, before, n_before))
        return false;
    for (uint32_t i = 0; i < n_allocations; i++) {
        struct walker *walker = walker_of(making, &walkers, allocations[i]);
        walker->bytes += all->size[allocations[i]];
        walker->count += allocation_stands_for(all, allocations[i]);
    }
    for (uint32_t i = 0; i < n_before; i++)
        walker_of(making, &walkers, before[i])->before_bytes += all->size[before[i]];
    ARENA_DROP(making->arena, walkers.of);
    id_slots_drop(&walkers.slots, making->arena);
    return true;
}

/* ---- from one frame on ---- */

/* For each stack: the outermost stack on its way whose own frame is the wanted one; 0: none. NULL: no memory. */
static uint32_t *through_find(const struct making *making) {
    const struct stack_table *all = &making->timeline->trace->stacks;
    uint32_t *through = arena_column(making->arena, all->count, sizeof *through);
    if (through == NULL)
        return NULL;
    through[0] = 0;
    for (uint32_t i = 1; i < all->count; i++) {
        bool own = making->up[i] == i && making->same[all->frame[i]] == making->way.through;
        through[i] = through[stack_parent(all, i)];
        if (through[i] == 0 && own)
            through[i] = i;
    }
    return through;
}

/* Keeps the walkers that pass through the frame; callers begin there. False: no memory. */
static bool walkers_through(struct making *making) {
    uint32_t kept = 0, *through = through_find(making);
    if (through == NULL)
        return false;
    for (uint32_t i = 0; i < making->n_walkers; i++) {
        struct walker walker = making->walker[i];
        uint32_t from = through[walker.stack];
        bool stranger = making->up[walker.stack] == 0 &&
                        making->same[making->timeline->site[walker.stack]] == making->way.through;
        if (from == 0 && !stranger)
            continue;
        if (making->way.direction == TREE_CALLERS)
            walker.cursor = from;
        making->walker[kept++] = walker;
    }
    making->n_walkers = kept;
    ARENA_DROP(making->arena, through);
    return true;
}

/* ---- callees: a node for each folded stack, where equal paths share one ---- */

/* Marks the stacks that lead to an allocation's stack, and counts the user frames above each. */
static bool depths_find(struct making *making) {
    const struct stack_table *stacks = &making->timeline->trace->stacks;
    uint32_t n_stacks = making->timeline->trace->stacks.count;
    uint8_t *used = arena_zeros(making->arena, n_stacks, sizeof *used);
    making->depth = arena_column(making->arena, n_stacks, sizeof *making->depth);
    if (used == NULL || making->depth == NULL)
        return false;
    for (uint32_t i = 0; i < making->n_walkers; i++)
        used[making->walker[i].stack] = 1;
    for (uint32_t i = n_stacks; i-- > 1;)
        used[stack_parent(stacks, i)] |= used[i];
    making->depth[0] = 0;
    for (uint32_t i = 1; i < n_stacks; i++) {
        uint32_t outer = making->depth[stack_parent(stacks, i)];
        bool user = making->up[i] == i, begun = making->way.through == 0 || outer != 0 ||
                                                making->same[stacks->frame[i]] == making->way.through;
        making->depth[i] = outer + (user && begun);
    }
    for (uint32_t i = 0; i < n_stacks; i++)
        if (!used[i])
            making->depth[i] = 0; /* no allocation has it or a stack below it, so it is in no level */
    ARENA_DROP(making->arena, used);
    return true;
}

static struct tree_node *node_add(struct making *making, uint32_t parent, uint32_t frame) {
    struct tree *tree = making->tree;
    if (!ARENA_GROW(making->arena, tree->node, making->capacity, (uint64_t)tree->n_nodes + 1))
        return NULL;
    tree->node[tree->n_nodes] = (struct tree_node){.frame = frame, .parent = parent};
    return &tree->node[tree->n_nodes++];
}

/* Turns rows, sorted by (node, frame), into children: `child_of[row.value]` is the node. Equal keys share one. */
static bool children_add(struct making *making, const struct sort_row *rows, uint32_t count,
                         uint32_t *child_of) {
    for (uint32_t i = 0; i < count; i++) {
        bool first = i == 0 || rows[i].key != rows[i - 1].key;
        if (first && node_add(making, (uint32_t)(rows[i].key >> 32), (uint32_t)rows[i].key) == NULL)
            return false;
        child_of[rows[i].value] = making->tree->n_nodes - 1;
    }
    return true;
}

/* Is a stack of the user's own frame in a level? */
static bool is_in_level(const struct making *making, uint32_t stack) {
    return making->up[stack] == stack && making->depth[stack] != 0;
}

/* Adds the nodes level by level, from the outermost frames in. */
static bool callees_make(struct making *making) {
    const struct stack_table *stacks = &making->timeline->trace->stacks;
    uint32_t count = 0, n = 0;
    uint32_t *node_of = arena_column(making->arena, stacks->count, sizeof *node_of);
    if (node_of == NULL || !depths_find(making))
        return false;
    for (uint32_t i = 1; i < stacks->count; i++)
        count += is_in_level(making, i);
    struct sort_row *rows = arena_column(making->arena, (uint64_t)count * 2, sizeof *rows);
    struct sort_row *spare = rows != NULL ? rows + count : NULL;
    bool done = rows != NULL;
    for (uint32_t i = 1; done && i < stacks->count; i++)
        if (is_in_level(making, i))
            rows[n++] = (struct sort_row){making->depth[i], i};
    if (done)
        sort_rows(rows, spare, count);
    for (uint32_t first = 0, end; done && first < count; first = end) {
        end = sort_rows_end(rows, count, first);
        for (uint32_t i = first; i < end; i++) {
            uint32_t stack = rows[i].value, outer = making->up[stack_parent(stacks, stack)];
            uint32_t parent = outer != 0 && making->depth[outer] != 0 ? node_of[outer] : 0;
            rows[i].key = (uint64_t)parent << 32 | making->same[stacks->frame[stack]];
        }
        sort_rows(rows + first, spare, end - first);
        done = children_add(making, rows + first, end - first, node_of);
    }
    for (uint32_t i = 0; done && i < making->n_walkers; i++)
        if (making->walker[i].cursor != 0)
            making->walker[i].node = node_of[making->walker[i].cursor];
    ARENA_DROP(making->arena, rows, node_of);
    return done;
}

/* ---- callers ---- */

static uint64_t nodes_most(const struct making *making) {
    uint64_t most = TREE_NODES_LEAST + (uint64_t)TREE_NODES_PER_STACK * making->n_walkers;
    return most < TREE_NODES_MAX ? most : TREE_NODES_MAX;
}

/* Gives a walker one more node; the walk ends if the tree may have no more levels. */
static void walker_step(const struct making *making, struct walker *walker, uint32_t node) {
    const struct tree_node *nodes = making->tree->node;
    walker->levels += walker->node == 0 || nodes[walker->node].frame != nodes[node].frame;
    walker->node = node;
    walker->cursor = walker->levels == making->way.levels && making->way.levels != 0
                         ? 0
                         : making->up[stack_parent(&making->timeline->trace->stacks, walker->cursor)];
}

/* Moves each walker one frame outwards. Returns how many could. */
static bool callers_step(struct making *making, struct sort_row *rows, struct sort_row *spare,
                         uint32_t *child_of, uint32_t *n_walked) {
    const struct stack_table *stacks = &making->timeline->trace->stacks;
    uint32_t count = 0;
    for (uint32_t i = 0; i < making->n_walkers; i++) {
        const struct walker *walker = &making->walker[i];
        if (walker->cursor != 0)
            rows[count++] = (struct sort_row){
                (uint64_t)walker->node << 32 | making->same[stacks->frame[walker->cursor]], i};
    }
    *n_walked = count;
    if (making->tree->n_nodes + (uint64_t)count > nodes_most(making)) {
        making->tree->cut = true;
        *n_walked = 0;
        return true;
    }
    sort_rows(rows, spare, count);
    if (!children_add(making, rows, count, child_of))
        return false;
    for (uint32_t i = 0; i < count; i++)
        walker_step(making, &making->walker[rows[i].value], child_of[rows[i].value]);
    return true;
}

static bool callers_make(struct making *making) {
    uint32_t n = making->n_walkers, n_walked = 1;
    struct sort_row *rows, *spare;
    uint32_t *child_of;
    bool done = ARENA_COLUMNS(making->arena, n, rows, spare, child_of);
    while (done && n_walked != 0)
        done = callers_step(making, rows, spare, child_of, &n_walked);
    ARENA_DROP(making->arena, child_of, spare, rows);
    return done;
}

/* ---- places ---- */

/* Moves all walkers one level further in, by what their call sites have in common. */
static bool places_step(struct making *making, enum site_level level, struct sort_row *rows,
                        struct sort_row *spare, uint32_t *same, uint32_t *child_of) {
    uint32_t n = making->n_walkers;
    if (!frames_same_at(making->timeline->trace, level, same, making->arena))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct walker *walker = &making->walker[i];
        rows[i] =
            (struct sort_row){(uint64_t)walker->node << 32 | same[making->timeline->site[walker->stack]], i};
    }
    sort_rows(rows, spare, n);
    if (!children_add(making, rows, n, child_of))
        return false;
    for (uint32_t i = 0; i < n; i++)
        making->walker[i].node = child_of[i];
    return true;
}

static bool places_make(struct making *making) {
    uint32_t n = making->n_walkers;
    struct sort_row *rows = arena_column(making->arena, n, sizeof *rows),
                    *spare = arena_column(making->arena, n, sizeof *spare);
    uint32_t *child_of = arena_column(making->arena, n, sizeof *child_of),
             *same = arena_column(making->arena, making->timeline->trace->frames.count, sizeof *same);
    bool done = rows != NULL && spare != NULL && child_of != NULL && same != NULL;
    for (enum site_level level = SITE_FILE;; level--) {
        done = done && places_step(making, level, rows, spare, same, child_of);
        if (level == SITE_LINE)
            break;
    }
    ARENA_DROP(making->arena, same, child_of, spare, rows);
    return done;
}

/* ---- allocations without a frame of the user's ---- */

static bool strangers_add(struct making *making) {
    const uint32_t *site = making->timeline->site;
    uint32_t n_frames = making->timeline->trace->frames.count;
    uint32_t *node_of = arena_zeros(making->arena, n_frames, sizeof *node_of);
    bool done = node_of != NULL;
    for (uint32_t i = 0; done && i < making->n_walkers; i++) {
        struct walker *walker = &making->walker[i];
        uint32_t frame = making->same[site[walker->stack]];
        if (making->up[walker->stack] != 0)
            continue;
        if (node_of[frame] == 0) {
            done = node_add(making, 0, frame) != NULL;
            node_of[frame] = making->tree->n_nodes - 1;
        }
        walker->node = node_of[frame];
    }
    ARENA_DROP(making->arena, node_of);
    return done;
}

/* ---- sums and order ---- */

/* Parents have smaller ids than their children. */
static void sums_make(struct making *making) {
    struct tree_node *node = making->tree->node;
    for (uint32_t i = 0; i < making->n_walkers; i++) {
        const struct walker *walker = &making->walker[i];
        node[walker->node].self_bytes += walker->bytes;
        node[walker->node].self_count += walker->count;
        node[walker->node].before_bytes += walker->before_bytes;
    }
    for (uint32_t i = making->tree->n_nodes; i-- > 0;) {
        node[i].bytes += node[i].self_bytes;
        node[i].count += node[i].self_count;
        if (i == 0)
            continue;
        node[node[i].parent].bytes += node[i].bytes;
        node[node[i].parent].count += node[i].count;
        node[node[i].parent].before_bytes += node[i].before_bytes;
        node[node[i].parent].n_children++;
    }
}

/* Siblings were added side by side, by rising frame; sorts them by falling bytes. `rows` has room for twice as
 * many; `place` gets each node's new place. */
static void siblings_sort(struct tree_node *node, uint32_t first, uint32_t count, struct sort_row *rows,
                          uint32_t *place) {
    SORT_BY(rows, rows + count, count, i, node[first + i].frame);
    SORT_AGAIN(rows, rows + count, count, own, ~node[first + own].bytes);
    for (uint32_t i = 0; i < count; i++)
        place[first + rows[i].value] = first + i;
    for (uint32_t i = 0; i < count; i++) { /* follow each cycle of the permutation, holding one node */
        struct tree_node held = node[first + i];
        uint32_t at = i;
        for (uint32_t from = rows[at].value; from != i; from = rows[at].value) {
            node[first + at] = node[first + from];
            rows[at].value = at;
            at = from;
        }
        node[first + at] = held;
        rows[at].value = at;
    }
}

static uint32_t siblings_count(const struct tree *tree, uint32_t first) {
    uint32_t i = first;
    while (i < tree->n_nodes && tree->node[i].parent == tree->node[first].parent)
        i++;
    return i - first;
}

static bool order_make(struct making *making) {
    struct tree *tree = making->tree;
    uint32_t most = 1;
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        most = tree->node[i].n_children > most ? tree->node[i].n_children : most;
    struct sort_row *rows = arena_column(making->arena, (uint64_t)most * 2, sizeof *rows);
    uint32_t *place = arena_column(making->arena, tree->n_nodes, sizeof *place);
    bool done = rows != NULL && place != NULL;
    for (uint32_t i = 1, count; done && i < tree->n_nodes; i += count) {
        count = siblings_count(tree, i);
        siblings_sort(tree->node, i, count, rows, place);
    }
    if (done)
        place[0] = 0;
    for (uint32_t i = tree->n_nodes; done && i-- > 1;) {
        tree->node[i].parent = place[tree->node[i].parent];
        tree->node[tree->node[i].parent].first_child = i;
    }
    ARENA_DROP(making->arena, place, rows);
    return done;
}

static bool nodes_make(struct making *making) {
    switch (making->way.direction) {
    case TREE_PLACES: return places_make(making);
    case TREE_CALLERS: return strangers_add(making) && callers_make(making);
    case TREE_CALLEES: break;
    }
    return strangers_add(making) && callees_make(making);
}

bool tree_against(struct tree *tree, const struct timeline *timeline, const uint32_t *allocations,
                  uint32_t n_allocations, const uint32_t *before, uint32_t n_before, struct tree_way way,
                  struct arena *arena) {
    struct making making = {.tree = tree, .timeline = timeline, .arena = arena, .way = way};
    *tree = (struct tree){0};
    bool done = fold(&making) && walkers_find(&making, allocations, n_allocations, before, n_before) &&
                node_add(&making, 0, 0) != NULL;
    if (done && way.through != 0) {
        making.way.through = making.same[way.through];
        done = walkers_through(&making);
    }
    done = done && nodes_make(&making);
    if (done)
        sums_make(&making);
    done = done && order_make(&making);
    ARENA_DROP(arena, making.walker, making.depth, making.up, making.same);
    return done;
}
