/* arrange.c: the same elements at other places.
 *
 *     flip: y[i] = x[n - 1 - i]   ->  dx = flip(g)
 *     roll: y[(i + s) mod n] = x[i]  ->  dx = g rolled by -s
 *     tile: y = x again and again  ->  dx = g summed over the repetitions
 */
#include <string.h>

#include "ops/elementwise/inplace.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

static hd_tensor *copy_of(hd_ctx *cx, const hd_tensor *x) {
    hd_tensor *y = hd_tensor_like(cx, x);
    if (y && hd_apply_copy(cx, y, x)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

/* ---- flip ------------------------------------------------------------------------------------ */

static hd_status flip_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = flip(x)  ->  dx = flip(g) */
    if (!grads[0]) return HD_OK;
    uint32_t dims;
    memcpy(&dims, node->params, sizeof dims);
    grad_inputs[0] = hd_flip(cx, grads[0], dims);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class flip_class = {"flip", flip_backward, NULL};

hd_tensor *hd_flip(hd_ctx *cx, hd_tensor *x, uint32_t dims) {
    hd_tensor mirrored = *x; /* read from the other end: a header for the walk alone */
    for (int d = 0; d < x->ndim; d++) {
        if (!(dims >> d & 1) || x->shape[d] == 0) continue;
        mirrored.offset += (x->shape[d] - 1) * x->stride[d];
        mirrored.stride[d] = -x->stride[d];
    }
    return hd_record(cx, &flip_class, copy_of(cx, &mirrored), 1, &x, 0, NULL, &dims, sizeof dims);
}

/* ---- roll ------------------------------------------------------------------------------------ */

typedef struct shifts_of_dims {
    int64_t by[HD_MAX_DIMS]; /* 0 .. size - 1 */
} shifts_of_dims;

/* A header for a copy alone. */
static hd_tensor stretch(const hd_tensor *t, int dim, int64_t start, int64_t length) {
    hd_tensor part = *t;
    part.offset += start * t->stride[dim];
    part.shape[dim] = length;
    return part;
}

/* From dimension `dim` on: two parts of each that is rolled, so every element is copied once. */
static hd_status copy_rolled(hd_ctx *cx, hd_tensor *y, const hd_tensor *x, const shifts_of_dims *t, int dim) {
    while (dim < x->ndim && t->by[dim] == 0) dim++;
    if (dim == x->ndim) return hd_apply_copy(cx, y, x);
    int64_t by = t->by[dim], rest = x->shape[dim] - by;
    hd_tensor y_head = stretch(y, dim, 0, by), x_tail = stretch(x, dim, rest, by);
    hd_tensor y_tail = stretch(y, dim, by, rest), x_head = stretch(x, dim, 0, rest);
    hd_status status = copy_rolled(cx, &y_head, &x_tail, t, dim + 1);
    return status ? status : copy_rolled(cx, &y_tail, &x_head, t, dim + 1);
}

static hd_tensor *rolled(hd_ctx *cx, const hd_tensor *x, const shifts_of_dims *t) {
    hd_tensor *y = hd_tensor_like(cx, x);
    if (y && copy_rolled(cx, y, x, t, 0)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

static hd_status roll_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y[(i + s) mod n] = x[i]  ->  dx = g rolled by -s */
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    shifts_of_dims back = *(const shifts_of_dims *)node->params;
    for (int d = 0; d < g->ndim; d++)
        if (back.by[d]) back.by[d] = g->shape[d] - back.by[d];
    grad_inputs[0] = rolled(cx, g, &back);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class roll_class = {"roll", roll_backward, NULL};

hd_tensor *hd_roll(hd_ctx *cx, hd_tensor *x, const int64_t *shifts) {
    shifts_of_dims t = {{0}};
    for (int d = 0; d < x->ndim; d++) {
        int64_t n = x->shape[d];
        t.by[d] = n > 0 ? shifts[d] % n : 0;
        if (t.by[d] < 0) t.by[d] += n;
    }
    return hd_record(cx, &roll_class, rolled(cx, x, &t), 1, &x, 0, NULL, &t, sizeof t);
}

/* ---- tile ------------------------------------------------------------------------------------ */

/* Dimension dim `count` times: [outer, size of dim and all behind] -> [outer, count, ...]. Consumes x. */
static hd_tensor *repeat_dim(hd_ctx *cx, hd_tensor *x, int dim, int64_t count) {
    int64_t result[HD_MAX_DIMS], outer = 1, block = 1;
    memcpy(result, x->shape, sizeof result);
    for (int d = 0; d < x->ndim; d++) *(d < dim ? &outer : &block) *= x->shape[d];
    if (__builtin_mul_overflow(result[dim], count, &result[dim])) {
        hd_release(x);
        return hd_fail_null(cx, HD_EARG, "counts: the result would be too large");
    }
    hd_tensor *blocks = hd_reshape(cx, x, 3, (int64_t[]){outer, 1, block});
    hd_tensor *wide = blocks ? hd_expand(cx, blocks, 3, (int64_t[]){outer, count, block}) : NULL;
    hd_tensor *y = wide ? hd_reshape(cx, wide, x->ndim, result) : NULL;
    hd_release(wide);
    hd_release(blocks);
    hd_release(x);
    return y;
}

hd_tensor *hd_tile(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *counts) {
    int64_t shape[HD_MAX_DIMS];
    int wide = ndim > x->ndim ? ndim : x->ndim;
    for (int d = 0; d < wide; d++) shape[d] = d < wide - x->ndim ? 1 : x->shape[d - (wide - x->ndim)];
    hd_tensor *y = hd_reshape(cx, x, wide, shape);
    /* The last first: what is copied grows with each. */
    for (int d = wide - 1; d >= wide - ndim && y; d--) {
        int64_t count = counts[d - (wide - ndim)];
        if (count != 1) y = repeat_dim(cx, y, d, count);
    }
    /* What one element was repeated to, or nothing at all, is a view. */
    if (y && (y->storage == x->storage || !hd_is_contiguous(y))) {
        hd_tensor *copy = hd_clone(cx, y);
        hd_release(y);
        y = copy;
    }
    return hd_own(y);
}
