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
    hd_tensor *g = hd_rows_along(cx, grads[0], params.dim, &p.g);
    if (g && (dx = hd_tensor_like(cx, y))) {
        p.x = hd_rows_of(dx);
        if (!hd_parallel_ranges(cx, p.y.count, hd_rows_grain(p.y.width), backward_rows, &p))
            grad_inputs[0] = hd_rows_put_back(cx, hd_retain(dx), params.dim);
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
    hd_tensor *rows = hd_rows_along(cx, x, params.dim, &p.x), *y = NULL, *result = NULL;
    if (rows && (y = hd_tensor_like(cx, rows))) {
        p.y = hd_rows_of(y);
        if (!hd_parallel_ranges(cx, p.y.count, hd_rows_grain(p.y.width), forward_rows, &p))
            result = hd_rows_put_back(cx, hd_retain(y), params.dim);
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
