/* unfold.c: windows of neighbours along a dimension, as a view.
 *
 *     y[.., w, .., k] = x[.., w step + k, ..]  ->  dx[.., w step + k, ..] += g[.., w, .., k]
 *
 * Windows stand along that dimension, their elements along a new last one; what is left over at the end is left
 * out. Where windows overlap, several elements of the view are one in memory, and nothing may write there.
 */
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "tensor/view.h"

typedef struct windows {
    int dim;
    int64_t size, step;
} windows;

/* Of each window the n elements from `first` on. */
static hd_tensor *view_of(hd_ctx *cx, const hd_tensor *x, const windows *w, int64_t first, int64_t n) {
    int64_t shape[HD_MAX_DIMS], stride[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d], stride[d] = x->stride[d];
    shape[w->dim] = (x->shape[w->dim] - w->size) / w->step + 1;
    if (shape[w->dim] > 1) stride[w->dim] *= w->step; /* else the step may be anything */
    shape[x->ndim] = n;
    stride[x->ndim] = x->stride[w->dim];
    return hd_tensor_view(cx, x, x->ndim + 1, shape, stride, x->offset + first * x->stride[w->dim]);
}

/* dx += g, both of the n elements of each window from `first` on; n <= step, so no two of them are one. */
static hd_status add_part(hd_ctx *cx, hd_tensor *dx, hd_tensor *g, const windows *w, int64_t first,
                          int64_t n) {
    hd_tensor *to = view_of(cx, dx, w, first, n);
    hd_tensor *from = to ? hd_view_narrow(cx, g, g->ndim - 1, first, n, 1) : NULL;
    hd_status status = from ? HD_OK : cx->error.status;
    if (from && first == 0)
        status = hd_apply_copy(cx, to, from);
    else if (from)
        status = hd_apply_binary(cx, cx->kernels->binary[HD_ADD][dx->dtype], HD_GRAIN_LIGHT, to, to, from);
    hd_release(from);
    hd_release(to);
    return status;
}

static hd_status unfold_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    /* y[.., w, .., k] = x[.., w step + k, ..]  ->  dx[.., w step + k, ..] += g[.., w, .., k] */
    if (!grads[0]) return HD_OK;
    const windows *w = (const windows *)node->params;
    hd_tensor *dx = hd_zero_for_input(cx, node, 0);
    hd_status status = hd_made(cx, dx);
    for (int64_t first = 0; first < w->size && !status; first += w->step) {
        int64_t left = w->size - first;
        status = add_part(cx, dx, grads[0], w, first, left < w->step ? left : w->step);
    }
    grad_inputs[0] = dx;
    return status;
}
static const hd_node_class unfold_class = {"unfold", unfold_backward, NULL};

hd_tensor *hd_unfold(hd_ctx *cx, hd_tensor *x, int dim, int64_t size, int64_t step) {
    windows w = {0, size, step};
    if (hd_check_dim(cx, "dim", dim, x->ndim, &w.dim)) return NULL;
    if (size < 1 || size > x->shape[w.dim])
        return hd_fail_null(cx, HD_EARG, "size: expected 1 to %lld, the size of dimension %d, got %lld",
                            (long long)x->shape[w.dim], w.dim + 1, (long long)size);
    if (step < 1) return hd_fail_null(cx, HD_EARG, "step: expected 1 or more, got %lld", (long long)step);
    if (x->ndim == HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "t: expected fewer than %d dimensions, got %d", HD_MAX_DIMS,
                            x->ndim);
    hd_tensor *y = view_of(cx, x, &w, 0, size);
    if (!y) return NULL;
    y->is_view = x->requires_grad || x->is_view;
    return x->requires_grad ? hd_record(cx, &unfold_class, y, 1, &x, 0, NULL, &w, sizeof w) : y;
}
