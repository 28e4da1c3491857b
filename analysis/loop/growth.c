#include "analysis/loop/growth.h"

#include "analysis/loop/frame_bits.h"

#include "base/bytes.h"
#include "base/search.h"
#include "base/sort.h"

/* ---- steps ---- */

/* The state at a boundary is the last one before the step that begins there. */
static uint32_t boundary_moment(const struct steps *steps, uint32_t boundary) {
    uint32_t begin = steps->begin[boundary];
    return begin == 0 ? 0 : begin - 1;
}

static bool steps_measure(struct growth *growth, const struct timeline *timeline, struct arena *arena) {
    const struct steps *steps = &growth->steps;
    growth->step = arena_column(arena, steps->count, sizeof *growth->step);
    if (growth->step == NULL)
        return false;
    growth->carried_in = timeline->live[boundary_moment(steps, 0)];
    for (uint32_t i = 0; i < steps->count; i++) {
        uint32_t peak = timeline_peak_in(timeline, steps->begin[i], steps->begin[i + 1]);
        growth->step[i] =
            (struct growth_step){.peak_bytes = timeline->live[peak],
                                 .peak_moment = peak,
                                 .carried_bytes = timeline->live[boundary_moment(steps, i + 1)]};
    }
    return true;
}

/* ---- allocations that are carried over ---- */

/* Born in step `born` - 1 (0: before the loop), alive at the boundaries [born, last]. */
struct carried {
    uint32_t allocation, born, last;
};

/* First boundary whose moment is at or after `moment`. */
static uint32_t boundary_from(const struct steps *steps, uint32_t moment) {
    uint32_t low = 0, high = steps->count + 1;
    SEARCH(low, high, i, boundary_moment(steps, i) < moment);
    return low;
}

/* Most allocations come and go within a step, so that is found out first. `born` is that of the allocation before: births never
 * fall. False: alive at no boundary. */
static bool carried_of(const struct steps *steps, const struct allocations *allocations, uint32_t allocation,
                       uint32_t *born, struct carried *carried) {
    while (*born <= steps->count && boundary_moment(steps, *born) < allocations->birth[allocation])
        ++*born;
    if (*born > steps->count || allocations->death[allocation] <= boundary_moment(steps, *born))
        return false;
    *carried = (struct carried){allocation, *born, boundary_from(steps, allocations->death[allocation]) - 1};
    return true;
}

/* Rows in order of birth, and their order by site. */
struct carried_list {
    struct carried *row;
    struct sort_row *order; /* key: site; value: index of a row */
    uint32_t count;
};

static bool carried_find(struct carried_list *list, const struct steps *steps,
                         const struct timeline *timeline, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    struct carried carried;
    uint32_t n = 0, born = 0;
    for (uint32_t i = 0; i < allocations->count; i++)
        n += carried_of(steps, allocations, i, &born, &carried);
    struct sort_row *spare = arena_column(arena, n, sizeof *spare);
    *list = (struct carried_list){arena_column(arena, n, sizeof *list->row),
                                  arena_column(arena, n, sizeof *list->order), 0};
    if (spare == NULL || list->row == NULL || list->order == NULL)
        return false;
    born = 0;
    for (uint32_t i = 0; i < allocations->count; i++) {
        if (!carried_of(steps, allocations, i, &born, &carried))
            continue;
        list->order[list->count] = (struct sort_row){timeline->site[allocations->stack[i]], list->count};
        list->row[list->count++] = carried;
    }
    sort_rows(list->order, spare, list->count);
    ARENA_DROP(arena, spare);
    return true;
}

/* ---- one site ---- */

/* Index k stands for the boundary at the end of step k - 1; 0 for the beginning of the loop. */
struct curve {
    uint64_t *carried; /* [count + 1] bytes alive at boundary k */
    uint64_t *staying; /* [count] bytes alive at boundaries k and k + 1 */
    uint64_t *kept; /* [count + 1] bytes born before boundary k and after k - 1, alive at the last boundary */
    uint32_t *n_kept;
    uint64_t *once; /* [count + 1] kept bytes of the sites that do not rise, summed over all sites */
};

static void curve_clear(struct curve *curve, uint32_t n_steps) {
    size_t n = (size_t)n_steps + 1;
    bytes_zero(curve->carried, n * sizeof *curve->carried);
    bytes_zero(curve->staying, n * sizeof *curve->staying);
    bytes_zero(curve->kept, n * sizeof *curve->kept);
    bytes_zero(curve->n_kept, n * sizeof *curve->n_kept);
}

/* As differences from boundary to boundary at first. */
static void curve_add(struct curve *curve, const struct carried *own, uint64_t size, uint32_t n_steps) {
    curve->carried[own->born] += size;
    if (own->last < n_steps)
        curve->carried[own->last + 1] -= size;
    curve->staying[own->born] += size;
    curve->staying[own->last] -= size;
    if (own->last == n_steps && own->born < n_steps) {
        curve->kept[own->born] += size;
        curve->n_kept[own->born]++;
    }
}

static void curve_fill(struct curve *curve, const struct carried_list *list, uint32_t from, uint32_t to,
                       const struct allocations *allocations, uint32_t n_steps) {
    curve_clear(curve, n_steps);
    for (uint32_t i = from; i < to; i++) {
        const struct carried *own = &list->row[list->order[i].value];
        curve_add(curve, own, allocations->size[own->allocation], n_steps);
    }
    for (uint32_t k = 1; k <= n_steps; k++) {
        curve->carried[k] += curve->carried[k - 1];
        curve->staying[k] += curve->staying[k - 1];
    }
}

/* The longest run of rising boundaries, of equal ones the last: [*from, *to). */
static void curve_run(const struct curve *curve, uint32_t n_steps, uint32_t *from, uint32_t *to) {
    uint32_t begin = 1;
    *from = *to = 1;
    for (uint32_t k = 1; k < n_steps; k++) {
        bool rises = curve->staying[k] > curve->staying[k - 1] && curve->kept[k] > 0;
        if (!rises)
            begin = k + 1;
        else if (k + 1 - begin >= *to - *from) {
            *from = begin;
            *to = k + 1;
        }
    }
}

/* The boundary from which on every one carries more than the one before it, up to the last. UINT32_MAX: there is none,
 * or the site has carried less than before at some boundary. What it carries first is where it begins, no rise. */
static uint32_t replaced_from(const struct curve *curve, uint32_t n_steps) {
    const uint64_t *carried = curve->carried;
    uint32_t from = n_steps;
    while (from > 0 && carried[from - 1] != 0 && carried[from] > carried[from - 1])
        from--;
    for (uint32_t k = 0; k < from; k++)
        if (carried[k + 1] < carried[k])
            return UINT32_MAX;
    return from == n_steps ? UINT32_MAX : from;
}

/* Does every step add about as much as any other: at most twice the least? */
static bool rises_alike(const uint64_t *bytes, uint32_t from, uint32_t to) {
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t k = from; k < to; k++) {
        uint64_t rise = bytes[k + 1] - bytes[k];
        least = rise < least ? rise : least;
        most = rise > most ? rise : most;
    }
    return most / 2 <= least;
}

static bool curve_is_replaced(const struct curve *curve, uint32_t n_steps, uint32_t *from) {
    *from = replaced_from(curve, n_steps);
    if (*from == UINT32_MAX || n_steps - *from < GROWTH_MIN_STEPS)
        return false;
    return n_steps - *from >= GROWTH_MIN_UNEVEN || rises_alike(curve->carried, *from, n_steps);
}

/* Of what is there at the end, where anything is. */
static uint32_t stack_of_most(const struct carried_list *list, uint32_t from, uint32_t to,
                              const struct allocations *allocations, uint32_t n_steps) {
    const struct carried *best = &list->row[list->order[from].value];
    for (uint32_t i = from + 1; i < to; i++) {
        const struct carried *own = &list->row[list->order[i].value];
        bool later = own->last == n_steps && best->last != n_steps;
        bool larger =
            own->last == n_steps && allocations->size[own->allocation] > allocations->size[best->allocation];
        if (later || larger)
            best = own;
    }
    return allocations->stack[best->allocation];
}

static uint64_t count_at_end(const struct carried_list *list, uint32_t from, uint32_t to, uint32_t n_steps) {
    uint64_t n = 0;
    for (uint32_t i = from; i < to; i++)
        n += list->row[list->order[i].value].last == n_steps;
    return n;
}

static void run_describe(struct growth_site *site, const struct curve *curve, uint32_t from, uint32_t to,
                         uint32_t n_steps) {
    site->kind = to == n_steps ? GROWTH_RISES : GROWTH_ROSE;
    site->first_step = from - 1;
    site->n_steps = to - from;
    site->risen_bytes = curve->staying[to - 1] - curve->staying[from - 1];
    site->slope_bytes = site->risen_bytes / site->n_steps;
    for (uint32_t k = from; k < to; k++)
        site->count += curve->n_kept[k];
}

static void replaced_describe(struct growth_site *site, const struct curve *curve, uint32_t from,
                              uint32_t n_steps) {
    site->kind = GROWTH_RISES;
    site->replaced = true;
    site->first_step = from;
    site->n_steps = n_steps - from;
    site->risen_bytes = curve->carried[n_steps] - curve->carried[from];
    site->slope_bytes = site->risen_bytes / site->n_steps;
}

/* What the steps allocated once: bytes of births in the loop, but in the last two steps, whose end is not seen. */
static bool kept_describe(struct growth_site *site, const struct curve *curve, uint32_t n_steps) {
    site->kind = GROWTH_KEPT;
    for (uint32_t k = 1; k < n_steps; k++) {
        if (curve->kept[k] == 0)
            continue;
        if (site->risen_bytes == 0)
            site->first_step = k - 1;
        site->n_steps = k - site->first_step;
        site->risen_bytes += curve->kept[k];
        site->count += curve->n_kept[k];
    }
    return site->risen_bytes != 0;
}

static void once_add(const struct curve *curve, uint32_t n_steps) {
    for (uint32_t k = 1; k < n_steps; k++)
        curve->once[k] += curve->kept[k];
}

/* False: nothing of the site stays. */
static bool site_judge(struct growth_site *site, const struct curve *curve, uint32_t n_steps) {
    uint32_t from, to, replaced;
    curve_run(curve, n_steps, &from, &to);
    bool run = to - from >= GROWTH_MIN_STEPS, rises = run && to == n_steps;
    if (!rises && curve_is_replaced(curve, n_steps, &replaced))
        replaced_describe(site, curve, replaced, n_steps);
    else if (run)
        run_describe(site, curve, from, to, n_steps);
    else if (!kept_describe(site, curve, n_steps))
        return false;
    if (site->kind != GROWTH_RISES)
        once_add(curve, n_steps);
    return true;
}

/* ---- all sites ---- */

static bool sites_sort(struct growth *growth, struct arena *arena) {
    struct sort_row *rows = arena_column(arena, growth->n_sites, sizeof *rows),
                    *spare = arena_column(arena, growth->n_sites, sizeof *spare);
    struct growth_site *copy = arena_column(arena, growth->n_sites, sizeof *copy);
    if (rows == NULL || spare == NULL || copy == NULL)
        return false;
    for (uint32_t i = 0; i < growth->n_sites; i++) {
        copy[i] = growth->sites[i];
        rows[i] = (struct sort_row){~copy[i].risen_bytes, i};
    }
    sort_rows(rows, spare, growth->n_sites);
    for (uint32_t i = 0; i < growth->n_sites; i++)
        rows[i].key = copy[rows[i].value].kind;
    sort_rows(rows, spare, growth->n_sites);
    for (uint32_t i = 0; i < growth->n_sites; i++)
        growth->sites[i] = copy[rows[i].value];
    ARENA_DROP(arena, rows);
    ARENA_DROP(arena, spare);
    ARENA_DROP(arena, copy);
    return true;
}

/* Leading steps in which more than a hundredth of what is there at the end was allocated for good; half of all at
 * most. */
static void warm_up_mark(struct growth *growth, const uint64_t *once) {
    uint32_t n_steps = growth->steps.count;
    uint64_t least = growth->step[n_steps - 1].carried_bytes / 100 + 1;
    for (uint32_t i = 0; i < n_steps / 2 && once[i + 1] >= least; i++)
        growth->step[i].warm_up = true;
}

static bool curve_init(struct curve *curve, uint32_t n_steps, struct arena *arena) {
    size_t n = (size_t)n_steps + 1;
    curve->carried = arena_column(arena, n, sizeof *curve->carried);
    curve->staying = arena_column(arena, n, sizeof *curve->staying);
    curve->kept = arena_column(arena, n, sizeof *curve->kept);
    curve->n_kept = arena_column(arena, n, sizeof *curve->n_kept);
    curve->once = arena_column(arena, n, sizeof *curve->once);
    if (curve->carried == NULL || curve->staying == NULL || curve->kept == NULL || curve->n_kept == NULL ||
        curve->once == NULL)
        return false;
    bytes_zero(curve->once, n * sizeof *curve->once);
    return true;
}

static uint32_t sites_count(const struct carried_list *list) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->count; i++)
        n += i == 0 || list->order[i].key != list->order[i - 1].key;
    return n;
}

/* A loop without annotations may be one over layers or parameters. One turn that goes forward and backward is a step of
 * training. */
static bool turn_is_training(const struct steps *steps, const struct allocations *allocations,
                             const uint32_t *bits) {
    uint32_t from = steps->begin[steps->count / 2], to = steps->begin[steps->count / 2 + 1];
    bool forward = false, backward = false;
    for (uint32_t i = allocations->preexisting; i < allocations->count && allocations->birth[i] < to; i++) {
        if (allocations->birth[i] < from)
            continue;
        bool back = (bits[allocations->stack[i]] & BIT_BACKWARD) != 0;
        backward |= back;
        forward |= !back && (bits[allocations->stack[i]] & BIT_OPTIMIZER) == 0;
    }
    return forward && backward;
}

static bool sites_judge(struct growth *growth, const struct timeline *timeline,
                        const struct carried_list *list, struct arena *arena) {
    const struct allocations *allocations = &timeline->device->allocations;
    uint32_t n_steps = growth->steps.count;
    struct curve curve;
    uint32_t *frames = arena_column(arena, timeline->trace->frames.count, sizeof *frames),
             *bits = arena_column(arena, timeline->trace->stacks.count, sizeof *bits);
    growth->sites = arena_column(arena, sites_count(list), sizeof *growth->sites);
    if (frames == NULL || bits == NULL || growth->sites == NULL || !curve_init(&curve, n_steps, arena) ||
        !frames_bits(timeline->trace, frames, arena))
        return false;
    stacks_bits(timeline->trace, frames, bits);
    for (uint32_t from = 0, to; from < list->count; from = to) {
        for (to = from; to < list->count && list->order[to].key == list->order[from].key; to++)
            continue;
        struct growth_site site = {.site = (uint32_t)list->order[from].key,
                                   .stack = stack_of_most(list, from, to, allocations, n_steps)};
        curve_fill(&curve, list, from, to, allocations, n_steps);
        if (!site_judge(&site, &curve, n_steps))
            continue;
        if (site.replaced)
            site.count = count_at_end(list, from, to, n_steps);
        site.optimizer = (bits[site.stack] & BIT_OPTIMIZER) != 0;
        growth->n_rising += site.kind == GROWTH_RISES;
        growth->sites[growth->n_sites++] = site;
    }
    growth->judged = n_steps > GROWTH_MIN_STEPS && (growth->steps.source != STEPS_PERIOD ||
                                                    turn_is_training(&growth->steps, allocations, bits));
    ARENA_DROP(arena, bits);
    warm_up_mark(growth, curve.once);
    return sites_sort(growth, arena);
}

bool growth_find(struct growth *growth, const struct timeline *timeline, struct arena *arena) {
    *growth = (struct growth){0};
    struct carried_list list;
    if (!steps_find(&growth->steps, timeline, arena))
        return false;
    if (growth->steps.source == STEPS_NONE)
        return true;
    return steps_measure(growth, timeline, arena) && carried_find(&list, &growth->steps, timeline, arena) &&
           sites_judge(growth, timeline, &list, arena);
}
