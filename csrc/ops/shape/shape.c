/* shape.c: other readings of the same elements. A view costs a header; its gradient is the view read
 * backwards.
 *
 * A view of a tensor that is recorded (or wants a gradient) is marked, so that nobody writes into the memory
 * of a recorded tensor behind the graph's back.
 */
#include "ops/elementwise/cast.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "tensor/view.h"

static hd_tensor *record_view(hd_ctx *cx, const hd_node_class *class, hd_tensor *y, hd_tensor *x,
                              const void *params, size_t size) {
    if (!y) return NULL;
    y->is_view = x->requires_grad || x->is_view;
    return x->requires_grad ? hd_record(cx, class, y, 1, &x, 0, NULL, params, size) : y;
}

/* ---- the same elements in the same order ----------------------------------------------------- */

static hd_status reshape_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    /* y = reshape(x)  ->  dx = reshape(g) */
    if (!grads[0]) return HD_OK;
    hd_input_meta x = hd_node_input(node, 0);
    grad_inputs[0] = hd_reshape(cx, grads[0], x.ndim, x.shape);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class reshape_class = {"reshape", reshape_backward, NULL};
static const hd_node_class view_class = {"view", reshape_backward, NULL};
static const hd_node_class unsqueeze_class = {"unsqueeze", reshape_backward, NULL};
static const hd_node_class squeeze_class = {"squeeze", reshape_backward, NULL};

hd_tensor *hd_reshape(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *shape) {
    bool possible;
    hd_tensor *y = hd_view_reshape(cx, x, ndim, shape, &possible);
    if (y || possible) return record_view(cx, &reshape_class, y, x, NULL, 0);
    int64_t wanted[HD_MAX_DIMS];
    if (hd_infer_shape(cx, x, ndim, shape, wanted)) return NULL;
    hd_tensor *dense = hd_contiguous_as(cx, x, (hd_dtype)x->dtype);
    y = dense ? hd_view_reshape(cx, dense, ndim, wanted, &possible) : NULL;
    hd_release(dense);
    return hd_record(cx, &reshape_class, y, 1, &x, 0, NULL, NULL, 0);
}

hd_tensor *hd_view(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *shape) {
    bool possible;
    char from[HD_SHAPE_TEXT], to[HD_SHAPE_TEXT];
    hd_tensor *y = hd_view_reshape(cx, x, ndim, shape, &possible);
    if (!y && !possible)
        return hd_fail_null(cx, HD_EARG, "shape: %s as it lies in memory has no view %s; reshape copies",
                            hd_tensor_shape_text(x, from), hd_shape_text(ndim, shape, to));
    return record_view(cx, &view_class, y, x, NULL, 0);
}

hd_tensor *hd_unsqueeze(hd_ctx *cx, hd_tensor *x, int dim) {
    return record_view(cx, &unsqueeze_class, hd_view_unsqueeze(cx, x, dim), x, NULL, 0);
}

hd_tensor *hd_squeeze_dims(hd_ctx *cx, hd_tensor *x, uint32_t dims) {
    return record_view(cx, &squeeze_class, hd_view_squeeze_dims(cx, x, dims), x, NULL, 0);
}

/* ---- the same elements in another order ------------------------------------------------------ */

typedef struct order {
    int64_t dims[HD_MAX_DIMS];
} order;

static hd_status permute_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    /* y's dimension i is x's dimension order[i]  ->  dx's dimension order[i] is g's dimension i */
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    const order *o = (const order *)node->params;
    int64_t back[HD_MAX_DIMS];
    for (int i = 0; i < g->ndim; i++) back[o->dims[i]] = i;
    grad_inputs[0] = hd_view_permute(cx, g, g->ndim, back);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class permute_class = {"permute", permute_backward, NULL};
static const hd_node_class transpose_class = {"transpose", permute_backward, NULL};

hd_tensor *hd_permute(hd_ctx *cx, hd_tensor *x, const int *dims) {
    order o = {{0}};
    for (int i = 0; i < x->ndim; i++) o.dims[i] = dims[i];
    hd_tensor *y = hd_view_permute(cx, x, x->ndim, o.dims);
    for (int i = 0; i < x->ndim; i++)
        if (o.dims[i] < 0) o.dims[i] += x->ndim;
    return record_view(cx, &permute_class, y, x, &o, sizeof o);
}

hd_tensor *hd_transpose(hd_ctx *cx, hd_tensor *x, int d1, int d2) {
    int a, b;
    if (x->ndim == 0) return hd_permute(cx, x, NULL);
    if (hd_check_dim(cx, "dim1", d1, x->ndim, &a) || hd_check_dim(cx, "dim2", d2, x->ndim, &b)) return NULL;
    order o = {{0}};
    for (int i = 0; i < x->ndim; i++) o.dims[i] = i;
    o.dims[a] = b;
    o.dims[b] = a;
    return record_view(cx, &transpose_class, hd_view_transpose(cx, x, a, b), x, &o, sizeof o);
}

/* ---- some of the elements -------------------------------------------------------------------- */

typedef struct part {
    int dim;
    bool selects; /* the dimension goes away */
    int64_t start, length, step;
} part;

static hd_status part_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = x[part]  ->  dx = 0 everywhere, dx[part] = g */
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    const part *p = (const part *)node->params;
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    if (!dx) return cx->error.status;
    hd_tensor *region = p->selects ? hd_view_select(cx, dx, p->dim, p->start)
                                   : hd_view_narrow(cx, dx, p->dim, p->start, p->length, p->step);
    hd_status status = region ? hd_apply_copy(cx, region, g) : cx->error.status;
    hd_release(region);
    grad_inputs[0] = dx;
    return status;
}
static const hd_node_class narrow_class = {"narrow", part_backward, NULL};
static const hd_node_class select_class = {"select", part_backward, NULL};

hd_tensor *hd_narrow(hd_ctx *cx, hd_tensor *x, int dim, int64_t start, int64_t length, int64_t step) {
    part p = {0, false, start, length, step};
    if (hd_check_dim(cx, "dim", dim, x->ndim, &p.dim)) return NULL;
    return record_view(cx, &narrow_class, hd_view_narrow(cx, x, p.dim, start, length, step), x, &p, sizeof p);
}

hd_tensor *hd_select(hd_ctx *cx, hd_tensor *x, int dim, int64_t index) {
    part p = {0, true, index, 1, 1};
    if (hd_check_dim(cx, "dim", dim, x->ndim, &p.dim)) return NULL;
    return record_view(cx, &select_class, hd_view_select(cx, x, p.dim, index), x, &p, sizeof p);
}

typedef struct corner {
    int dim1, dim2;
    int64_t offset;
} corner;

static hd_status diagonal_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                   hd_tensor **grad_inputs) {
    /* y = x's diagonal  ->  dx = 0 everywhere, its diagonal = g */
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    const corner *at = (const corner *)node->params;
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    if (!dx) return cx->error.status;
    hd_tensor *line = hd_view_diagonal(cx, dx, at->offset, at->dim1, at->dim2);
    hd_status status = line ? hd_apply_copy(cx, line, g) : cx->error.status;
    hd_release(line);
    grad_inputs[0] = dx;
    return status;
}
static const hd_node_class diagonal_class = {"diagonal", diagonal_backward, NULL};

hd_tensor *hd_diagonal(hd_ctx *cx, hd_tensor *x, int64_t offset, int dim1, int dim2) {
    corner at = {dim1, dim2, offset};
    hd_tensor *y = hd_view_diagonal(cx, x, offset, dim1, dim2);
    return record_view(cx, &diagonal_class, y, x, &at, sizeof at);
}

/* ---- elements repeated ----------------------------------------------------------------------- */

static hd_status expand_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    /* y repeats x  ->  dx = g summed over the repetitions */
    if (!grads[0]) return HD_OK;
    grad_inputs[0] = hd_grad_to_input(cx, node, 0, hd_retain(grads[0]));
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class expand_class = {"expand", expand_backward, NULL};

hd_tensor *hd_expand(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *shape) {
    return record_view(cx, &expand_class, hd_view_expand(cx, x, ndim, shape), x, NULL, 0);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static hd_status clone_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = x  ->  dx = g */
    (void)cx, (void)node;
    if (grads[0]) grad_inputs[0] = hd_retain(grads[0]);
    return HD_OK;
}
static const hd_node_class clone_class = {"clone", clone_backward, NULL};
static const hd_node_class contiguous_class = {"contiguous", clone_backward, NULL};

static hd_tensor *copy_of(hd_ctx *cx, const hd_tensor *x) {
    hd_tensor *y = hd_tensor_like(cx, x);
    if (y && hd_apply_copy(cx, y, x)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

hd_tensor *hd_contiguous(hd_ctx *cx, hd_tensor *x) {
    if (hd_is_contiguous(x)) return hd_retain(x);
    return hd_record(cx, &contiguous_class, copy_of(cx, x), 1, &x, 0, NULL, NULL, 0);
}

hd_tensor *hd_clone(hd_ctx *cx, hd_tensor *x) {
    return hd_record(cx, &clone_class, copy_of(cx, x), 1, &x, 0, NULL, NULL, 0);
}
