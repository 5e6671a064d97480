/* gradient.c: the arithmetic that the graph's backward pass is given, and the pass with it; how backward functions end. */
#include "ops/gradient.h"

#include "ops/elementwise/cast.h"
#include "ops/elementwise/element.h"
#include "ops/reduce/reduce.h"

#include <math.h>

/* ---- what the graph is given -------------------------------------------------------------------- */

/* Held by this one header (whose references the graph counts) and no other: free to be written to. */
static bool is_ours(const hd_tensor *t) {
    return t->refs == 1 && t->storage->refs == 1 && !hd_overlaps_itself(t);
}

static hd_tensor *sum_of(hd_ctx *cx, hd_tensor *sum, hd_tensor *gradient) {
    if (is_ours(sum)) return hd_binary_(cx, HD_ADD, sum, gradient) ? NULL : hd_retain(sum);
    return hd_binary_op(cx, HD_ADD, sum, gradient);
}

static hd_tensor *own(hd_ctx *cx, hd_tensor *gradient) {
    if (is_ours(gradient) && hd_is_contiguous(gradient)) return hd_retain(gradient);
    return hd_clone(cx, gradient);
}

static hd_tensor *one(hd_ctx *cx, const hd_tensor *root) {
    return hd_full(cx, hd_dtype_of_gradient((hd_dtype)root->dtype), root->ndim, root->shape, hd_scalar_f(1));
}

/* The largest passes NaN on. */
static hd_status has_nan(hd_ctx *cx, hd_tensor *t, bool *found) {
    if ((t->dtype != HD_F32 && t->dtype != HD_F64) || hd_numel(t) == 0) return HD_OK;
    hd_tensor *largest = hd_reduce(cx, HD_MAX, t, HD_ALL_DIMS, false);
    if (!largest) return cx->error.status;
    *found = isnan(hd_load(hd_data(largest), (hd_dtype)t->dtype, 0));
    hd_release(largest);
    return HD_OK;
}

const hd_gradient_arithmetic hd_gradients = {sum_of, own, one, has_nan};

hd_status hd_backward_run(hd_ctx *cx, hd_tensor *root, hd_tensor *gradient, bool retain) {
    hd_backward *run = hd_backward_begin(cx, &hd_gradients, root, gradient, retain);
    if (!run) return cx->error.status;
    bool done;
    hd_status status = hd_backward_step(cx, run, 0, &done);
    hd_backward_end(cx, run);
    return status;
}

/* ---- to an input -------------------------------------------------------------------------------- */

/* t summed over what broadcasting had added to `shape`; t itself, retained, when nothing was. */
static hd_tensor *sum_to_shape(hd_ctx *cx, hd_tensor *t, int ndim, const int64_t *shape) {
    int lead = t->ndim - ndim;
    uint32_t dims = 0;
    bool same = lead == 0;
    for (int d = 0; d < t->ndim; d++) {
        int64_t own = d < lead ? 1 : shape[d - lead];
        if (t->shape[d] == own) continue;
        dims |= 1u << d;
        same = false;
    }
    if (same) return hd_retain(t);
    if (!dims) return hd_reshape(cx, t, ndim, shape);
    hd_tensor *y = hd_reduce_data(cx, HD_SUM, t, dims);
    hd_tensor *shaped = y ? hd_reshape(cx, y, ndim, shape) : NULL;
    hd_release(y);
    return shaped;
}

hd_input_meta hd_node_input(const hd_node *node, int i) {
    const hd_edge *e = &node->edges[i];
    if (e->leaf) return (hd_input_meta){(hd_dtype)e->leaf->dtype, e->leaf->ndim, e->leaf->shape};
    const hd_output_meta *m = &e->node->outputs[e->output];
    return (hd_input_meta){(hd_dtype)m->dtype, m->ndim, m->shape};
}

hd_tensor *hd_zero_for_input(hd_ctx *cx, const hd_node *node, int i) {
    hd_input_meta in = hd_node_input(node, i);
    return hd_tensor_zeros(cx, in.dtype, in.ndim, in.shape);
}

hd_tensor *hd_grad_to_input(hd_ctx *cx, const hd_node *node, int i, hd_tensor *g) {
    if (!g) return NULL;
    hd_input_meta in = hd_node_input(node, i);
    hd_tensor *summed = sum_to_shape(cx, g, in.ndim, in.shape);
    hd_release(g);
    if (!summed) return NULL;
    hd_tensor *y = hd_as_dtype(cx, summed, in.dtype);
    hd_release(summed);
    return y;
}
