#include "render/png/colors.h"

#include <stdlib.h>

/* A cell holds the pixels that share the upper 5 bits of each channel. */
enum { BITS = 5, SIDE = 1 << BITS, CELLS = SIDE * SIDE * SIDE };

struct cell {
    uint64_t sum[3]; /* of each channel */
    uint64_t count;
};

/* Cells [from, to) of the order, and the error of replacing them by one colour: the sum of the squared distances from
 * the mean, along the axis where it is largest. */
struct box {
    uint32_t from, to;
    unsigned axis;
    double error, mean; /* in sides of cells */
};

struct cutter {
    struct cell cells[CELLS];
    uint16_t order[CELLS]; /* cells that have pixels; the cells of a box are adjacent */
    uint8_t index[CELLS];  /* of a cell's colour */
    struct box boxes[COLORS_MAX];
    uint32_t n_boxes;
};

static unsigned cell_of(const uint8_t *pixel) {
    return (unsigned)pixel[0] >> (8 - BITS) << (2 * BITS) | (unsigned)pixel[1] >> (8 - BITS) << BITS |
           (unsigned)pixel[2] >> (8 - BITS);
}

static unsigned cell_at(unsigned cell, unsigned axis) {
    return cell >> ((2 - axis) * BITS) & (SIDE - 1);
}

static void cutter_count(struct cutter *cutter, const uint8_t *rgba, size_t n_pixels) {
    for (size_t i = 0; i < n_pixels; i++, rgba += 4) {
        struct cell *cell = &cutter->cells[cell_of(rgba)];
        for (unsigned axis = 0; axis < 3; axis++)
            cell->sum[axis] += rgba[axis];
        cell->count++;
    }
}

static void box_measure(const struct cutter *cutter, struct box *box) {
    double count = 0, sum[3] = {0}, squares[3] = {0};
    for (uint32_t i = box->from; i < box->to; i++) {
        const double weight = (double)cutter->cells[cutter->order[i]].count;
        count += weight;
        for (unsigned axis = 0; axis < 3; axis++) {
            const double at = cell_at(cutter->order[i], axis);
            sum[axis] += weight * at;
            squares[axis] += weight * at * at;
        }
    }
    box->error = -1;
    for (unsigned axis = 0; axis < 3; axis++) {
        const double error = squares[axis] - sum[axis] * sum[axis] / count;
        if (error > box->error) {
            box->error = error;
            box->axis = axis;
            box->mean = sum[axis] / count;
        }
    }
    if (box->to - box->from == 1) /* stops at a single cell, whatever rounding says */
        box->error = 0;
}

/* Moves the cells up to the mean to the front. Returns where the others begin. */
static uint32_t box_part(struct cutter *cutter, const struct box *box) {
    uint32_t middle = box->from;
    for (uint32_t i = box->from; i < box->to; i++) {
        const uint16_t cell = cutter->order[i];
        if (cell_at(cell, box->axis) <= box->mean) {
            cutter->order[i] = cutter->order[middle];
            cutter->order[middle++] = cell;
        }
    }
    return middle;
}

/* Cuts the box with the largest error. False: none can be cut. */
static bool cutter_cut(struct cutter *cutter) {
    struct box *worst = &cutter->boxes[0];
    for (uint32_t i = 1; i < cutter->n_boxes; i++)
        if (cutter->boxes[i].error > worst->error)
            worst = &cutter->boxes[i];
    const uint32_t middle = box_part(cutter, worst);
    if (middle == worst->from || middle == worst->to)
        return false;
    struct box *other = &cutter->boxes[cutter->n_boxes++];
    *other = (struct box){.from = middle, .to = worst->to};
    worst->to = middle;
    box_measure(cutter, worst);
    box_measure(cutter, other);
    return true;
}

static void cutter_run(struct cutter *cutter) {
    uint32_t n_cells = 0;
    for (uint32_t i = 0; i < CELLS; i++)
        if (cutter->cells[i].count != 0)
            cutter->order[n_cells++] = (uint16_t)i;
    if (n_cells == 0)
        return;
    cutter->boxes[0] = (struct box){.from = 0, .to = n_cells};
    cutter->n_boxes = 1;
    box_measure(cutter, &cutter->boxes[0]);
    while (cutter->n_boxes < COLORS_MAX && cutter_cut(cutter))
        continue;
}

/* The mean colour of the pixels in a box, which all get its index. */
static uint32_t box_settle(struct cutter *cutter, uint32_t index) {
    const struct box *box = &cutter->boxes[index];
    uint64_t sum[3] = {0}, count = 0;
    for (uint32_t i = box->from; i < box->to; i++) {
        const struct cell *cell = &cutter->cells[cutter->order[i]];
        for (unsigned axis = 0; axis < 3; axis++)
            sum[axis] += cell->sum[axis];
        count += cell->count;
        cutter->index[cutter->order[i]] = (uint8_t)index;
    }
    uint32_t color = 0;
    for (unsigned axis = 0; count != 0 && axis < 3; axis++)
        color = color << 8 | (uint32_t)((sum[axis] + count / 2) / count);
    return color;
}

bool colors_reduce(struct colors *colors, const uint8_t *rgba, size_t n_pixels, uint8_t *index) {
    struct cutter *cutter = calloc(1, sizeof *cutter);
    if (cutter == NULL)
        return false;
    cutter_count(cutter, rgba, n_pixels);
    cutter_run(cutter);
    colors->count = cutter->n_boxes;
    for (uint32_t i = 0; i < cutter->n_boxes; i++)
        colors->color[i] = box_settle(cutter, i);
    for (size_t i = 0; i < n_pixels; i++)
        index[i] = cutter->index[cell_of(rgba + 4 * i)];
    free(cutter);
    return true;
}
