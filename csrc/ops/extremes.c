/* extremes.c: where the largest and the smallest are. The first of equals counts; NaN is larger and smaller
 * than all.
 *
 *     max(dim): y = x[argmax]  ->  dx = g there, 0 elsewhere
 */
#include <limits.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/internal.h"
#include "ops/reduce.h"

typedef struct argmax_loop {
    int64_t (*f)(int64_t n, const void *x, int64_t sx);
    const char *x; /* [outer][size][inner] */
    int64_t *y;    /* [outer][inner] */
    hd_lines lines;
    size_t size;
} argmax_loop;

static void argmax_lines(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const argmax_loop *l = arg;
    for (int64_t i = first; i < last; i++) {
        int64_t at = i / l->lines.inner * l->lines.size * l->lines.inner + i % l->lines.inner;
        l->y[i] = l->f(l->lines.size, l->x + (size_t)at * l->size, l->lines.inner) + 1;
    }
}

static hd_status check_size(hd_ctx *cx, bool smallest, const hd_tensor *x, int dim) {
    char text[HD_SHAPE_TEXT];
    if (x->ndim == 0 || x->shape[dim] > 0) return HD_OK;
    return hd_fail(cx, HD_EARG, "dim: %s over dimension %d of %s, which has no elements",
                   smallest ? "min" : "max", dim + 1, hd_tensor_shape_text(x, text));
}

/* i64, dimension dim kept with size 1. */
static hd_tensor *argmax_along(hd_ctx *cx, hd_tensor *x, int dim, bool smallest) {
    if (hd_check_computes(cx, x) || check_size(cx, smallest, x, dim)) return NULL;
    hd_dtype t = (hd_dtype)x->dtype;
    int64_t shape[HD_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (x->ndim) shape[dim] = 1;
    hd_tensor *dense = hd_dense(cx, x, t);
    hd_tensor *y = dense ? hd_tensor_new(cx, HD_I64, x->ndim, shape) : NULL;
    if (y) {
        argmax_loop l = {smallest ? cx->kernels->argmin_row[t] : cx->kernels->argmax_row[t], hd_data(dense),
                         hd_data(y), hd_lines_of(x, dim), hd_dtype_size(t)};
        if (hd_parallel_ranges(cx, hd_numel(y), HD_GRAIN_LIGHT / l.lines.size + 1, argmax_lines, &l)) {
            hd_release(y);
            y = NULL;
        }
    }
    hd_release(dense);
    return y;
}

hd_tensor *hd_argmax(hd_ctx *cx, hd_tensor *x, int dim, bool keepdim, bool smallest) {
    int d = 0;
    if (dim != INT_MIN) {
        if (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)) return NULL;
        return hd_drop_dims(argmax_along(cx, x, d, smallest), 1u << d, keepdim || x->ndim == 0);
    }
    int64_t all = -1;
    if (hd_numel(x) == 0)
        return hd_fail_null(cx, HD_EARG, "tensor: expected at least one element to compare, got none");
    hd_tensor plain = *x; /* without the graph: the reshape is not to be recorded */
    plain.requires_grad = plain.is_view = false;
    hd_tensor *flat = hd_reshape(cx, &plain, 1, &all);
    hd_tensor *y = flat ? argmax_along(cx, flat, 0, smallest) : NULL;
    hd_release(flat);
    if (y && keepdim) {
        y->ndim = x->ndim;
        for (int i = 0; i < x->ndim; i++) y->shape[i] = y->stride[i] = 1;
        return y;
    }
    return hd_drop_dims(y, 1, false);
}

/* ---- values and indices ---------------------------------------------------------------------- */

typedef struct max_params {
    int dim;
    bool keepdim;
} max_params;

static hd_status max_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = x[argmax]  ->  dx = g there, 0 elsewhere */
    if (!grads[0]) return HD_OK;
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    const max_params *p = (const max_params *)node->params;
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    grad_inputs[0] = dx;
    hd_tensor *g = dx ? hd_reshape(cx, grads[0], index->ndim, index->shape) : NULL;
    hd_status status = !g ? cx->error.status : HD_OK;
    if (!status && x.ndim == 0)
        status = hd_apply_copy(cx, dx, g);
    else if (!status)
        status = hd_scatter_into(cx, dx, p->dim, index, g);
    hd_release(g);
    return status;
}
static const hd_node_class max_class = {"max", max_backward, NULL};
static const hd_node_class min_class = {"min", max_backward, NULL};

static hd_tensor *values_at(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index) {
    hd_tensor plain = *x; /* without the graph: this gather is not to be recorded */
    plain.requires_grad = plain.is_view = false;
    return x->ndim ? hd_gather(cx, &plain, dim, index) : hd_clone(cx, &plain);
}

hd_status hd_max_dim(hd_ctx *cx, hd_tensor *x, int dim, bool keepdim, bool smallest, hd_tensor **values,
                     hd_tensor **indices) {
    int d = 0;
    if (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)) return cx->error.status;
    max_params params = {d, keepdim};
    uint32_t dropped = x->ndim ? 1u << d : 0;
    hd_tensor *index = argmax_along(cx, x, d, smallest);
    hd_tensor *y = index ? hd_drop_dims(values_at(cx, x, d, index), dropped, keepdim) : NULL;
    y = hd_dtype_is_float((hd_dtype)x->dtype)
            ? hd_record(cx, smallest ? &min_class : &max_class, y, 1, &x, 1, &index, &params, sizeof params)
            : y;
    if (!y) {
        hd_release(index);
        return cx->error.status;
    }
    *values = y;
    *indices = hd_drop_dims(index, dropped, keepdim); /* what the node saved is another header */
    return HD_OK;
}
