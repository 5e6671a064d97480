/* softmax.c: y = softmax(x) and y = log_softmax(x) along one dimension, by stable rows.
 *
 * Backward from the result: dx = y (g - sum g y), and dx = g - exp(y) sum g. Rows of -inf give 0 (softmax)
 * with gradient 0. A dimension other than the last is brought last by a copy; what is saved keeps that order.
 */
#include "ops/rows.h"

#include "base/parallel.h"

#include <string.h>

typedef void (*row_fn)(int64_t n, const void *x, void *y);
typedef void (*row_grad_fn)(int64_t n, const void *y, const void *g, void *dx);

typedef struct softmax_params {
    int dim;
    bool is_log;
} softmax_params;

/* ---- one dimension, brought last ------------------------------------------------------------------- */

/* x detached, its dimension dim last (a view); dim comes back by the same call with from and to exchanged. */
static hd_tensor *move_dim(hd_ctx *cx, hd_tensor *x, int from, int to) {
    hd_tensor *moved = hd_tensor_alias(cx, x);
    if (!moved || from == to) return moved;
    int64_t shape = x->shape[from], stride = x->stride[from];
    int step = from < to ? 1 : -1;
    for (int d = from; d != to; d += step) {
        moved->shape[d] = x->shape[d + step];
        moved->stride[d] = x->stride[d + step];
    }
    moved->shape[to] = shape;
    moved->stride[to] = stride;
    return moved;
}

static hd_tensor *rows_along(hd_ctx *cx, hd_tensor *x, int dim, hd_rows *rows) {
    hd_tensor *moved = move_dim(cx, x, dim, x->ndim ? x->ndim - 1 : 0);
    hd_tensor *out = moved ? hd_as_rows(cx, moved, rows) : NULL;
    hd_release(moved);
    return out;
}

/* Consumes y, whose last dimension belongs at dim. */
static hd_tensor *put_back(hd_ctx *cx, hd_tensor *y, int dim) {
    if (!y || y->ndim == 0 || dim == y->ndim - 1) return y;
    hd_tensor *moved = move_dim(cx, y, y->ndim - 1, dim);
    hd_tensor *out = moved ? hd_contiguous(cx, moved) : NULL;
    hd_release(moved);
    hd_release(y);
    return out;
}

/* ---- loops over rows ------------------------------------------------------------------------------- */

typedef struct softmax_pass {
    row_fn forward;
    row_grad_fn backward;
    hd_rows x, y, g;
} softmax_pass;

static void forward_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const softmax_pass *p = arg;
    for (int64_t i = first; i < last; i++) p->forward(p->x.width, hd_row(&p->x, i), hd_row(&p->y, i));
}

static void backward_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const softmax_pass *p = arg;
    for (int64_t i = first; i < last; i++)
        p->backward(p->y.width, hd_row(&p->y, i), hd_row(&p->g, i), hd_row(&p->x, i));
}

static hd_status softmax_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    softmax_params params;
    memcpy(&params, node->params, sizeof params);
    hd_tensor *y = hd_node_saved(cx, node, 0), *dx = NULL;
    if (!y) return cx->error.status;
    const hd_kernels *k = cx->kernels;
    softmax_pass p = {.backward =
                          params.is_log ? k->log_softmax_row_grad[y->dtype] : k->softmax_row_grad[y->dtype]};
    p.y = hd_rows_of(y);
    hd_tensor *g = rows_along(cx, grads[0], params.dim, &p.g);
    if (g && (dx = hd_tensor_like(cx, y))) {
        p.x = hd_rows_of(dx);
        if (!hd_parallel_ranges(cx, p.y.count, hd_rows_grain(p.y.width), backward_rows, &p))
            grad_inputs[0] = put_back(cx, hd_retain(dx), params.dim);
    }
    hd_release(g);
    hd_release(dx);
    return grad_inputs[0] ? HD_OK : cx->error.status;
}

static const hd_node_class softmax_class = {"softmax", softmax_backward, NULL};
static const hd_node_class log_softmax_class = {"log_softmax", softmax_backward, NULL};

static hd_tensor *softmax(hd_ctx *cx, hd_tensor *x, int dim, bool is_log) {
    softmax_params params = {.is_log = is_log};
    if (hd_require_float(cx, "x", x)) return NULL;
    if (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &params.dim)) return NULL;
    softmax_pass p = {.forward = is_log ? cx->kernels->log_softmax_row[x->dtype]
                                        : cx->kernels->softmax_row[x->dtype]};
    hd_tensor *rows = rows_along(cx, x, params.dim, &p.x), *y = NULL, *result = NULL;
    if (rows && (y = hd_tensor_like(cx, rows))) {
        p.y = hd_rows_of(y);
        if (!hd_parallel_ranges(cx, p.y.count, hd_rows_grain(p.y.width), forward_rows, &p))
            result = put_back(cx, hd_retain(y), params.dim);
    }
    if (result)
        result = hd_record(cx, is_log ? &log_softmax_class : &softmax_class, result, 1, &x, 1, &y, &params,
                           sizeof params);
    hd_release(rows);
    hd_release(y);
    return result;
}

hd_tensor *hd_softmax(hd_ctx *cx, hd_tensor *x, int dim) {
    return softmax(cx, x, dim, false);
}

hd_tensor *hd_log_softmax(hd_ctx *cx, hd_tensor *x, int dim) {
    return softmax(cx, x, dim, true);
}
