#include "ops/gradient.h"

#include "ops/elementwise/cast.h"
#include "ops/reduce/reduce.h"

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
