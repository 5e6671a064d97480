/* split.c: a tensor taken apart into views, all of which are outputs of one node.
 *
 *     split:  part i = its stretch of x along dim  ->  dx = the gradients of the parts, one behind the other
 *     unbind: part i = slice i of x along dim      ->  dx = the gradients of the slices, stacked
 *
 * Backward waits for all parts and writes each element of dx once, zeros where nothing arrived. Each part by
 * itself (narrow, select) would make a dx of its own, nearly all zeros, and they would be added up.
 */
#include <limits.h>
#include <string.h>

#include "ops/elementwise/inplace.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "tensor/view.h"

static hd_tensor *part_of(hd_ctx *cx, const hd_tensor *x, int dim, bool slices, int64_t start,
                          int64_t length) {
    return slices ? hd_view_select(cx, x, dim, start) : hd_view_narrow(cx, x, dim, start, length, 1);
}

/* Consumes the place in dx. */
static hd_status put_gradient(hd_ctx *cx, hd_tensor *place, const hd_tensor *g) {
    if (!place) return cx->error.status;
    const uint64_t zero = 0;
    hd_status status = g ? hd_apply_copy(cx, place, g) : hd_fill_data(cx, place, &zero);
    hd_release(place);
    return status;
}

static hd_status join_gradients(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs,
                                bool slices) {
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = hd_tensor_new(cx, x.dtype, x.ndim, x.shape);
    grad_inputs[0] = dx;
    hd_status status = hd_made(cx, dx);
    int64_t start = 0;
    for (int i = 0; i < node->num_outputs && !status; i++) {
        int64_t length = slices ? 1 : node->outputs[i].shape[dim];
        status = put_gradient(cx, part_of(cx, dx, dim, slices, start, length), grads[i]);
        start += length;
    }
    return status;
}

static hd_status split_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    return join_gradients(cx, node, grads, grad_inputs, false);
}
static hd_status unbind_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    return join_gradients(cx, node, grads, grad_inputs, true);
}
static const hd_node_class split_class = {"split", split_backward, NULL};
static const hd_node_class unbind_class = {"unbind", unbind_backward, NULL};

static hd_status record_parts(hd_ctx *cx, const hd_node_class *class, hd_tensor *x, int dim, int64_t count,
                              hd_tensor **parts) {
    if (count == 0 || !hd_wants_grad(cx, 1, &x)) return HD_OK;
    if (count > INT_MAX) return hd_fail(cx, HD_EARG, "t: expected fewer parts than %lld", (long long)count);
    hd_node *node = hd_node_new(cx, class, 1, &x, (int)count);
    if (!node) return cx->error.status;
    memcpy(node->params, &dim, sizeof dim);
    for (int64_t i = 0; i < count; i++) hd_node_output(node, (int)i, parts[i]);
    hd_node_release_ref(node);
    return HD_OK;
}

/* sizes NULL: slices. */
static hd_status take_apart(hd_ctx *cx, const hd_node_class *class, hd_tensor *x, int dim, int64_t count,
                            const int64_t *sizes, hd_tensor **parts) {
    int64_t start = 0, made = 0;
    hd_status status = HD_OK;
    for (; made < count && !status; made++) {
        int64_t length = sizes ? sizes[made] : 1;
        parts[made] = part_of(cx, x, dim, !sizes, start, length);
        status = hd_made(cx, parts[made]);
        if (!status) parts[made]->is_view = x->requires_grad || x->is_view;
        start += length;
    }
    if (!status) status = record_parts(cx, class, x, dim, count, parts);
    for (int64_t i = 0; status && i < made; i++) {
        hd_release(parts[i]);
        parts[i] = NULL;
    }
    return status;
}

hd_status hd_split(hd_ctx *cx, hd_tensor *x, int dim, int64_t count, const int64_t *sizes,
                   hd_tensor **parts) {
    int d;
    if (hd_check_dim(cx, "dim", dim, x->ndim, &d)) return cx->error.status;
    return take_apart(cx, &split_class, x, d, count, sizes, parts);
}

hd_status hd_unbind(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor **parts) {
    int d;
    if (hd_check_dim(cx, "dim", dim, x->ndim, &d)) return cx->error.status;
    return take_apart(cx, &unbind_class, x, d, x->shape[d], NULL, parts);
}
