/* inplace.c: writing into a tensor that is there already, and what that means for the graph.
 *
 *     t = t op b:   d/dt_former and d/db are those of the operation; t's place in the graph moves on
 *     fill:         dt_former = 0
 *     copy:         dt_former = 0, dsource = g summed to source's shape
 */
#include <string.h>

#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/elementwise/walk.h"

/* ---- memory ---------------------------------------------------------------------------------- */

static void extent(const hd_tensor *t, int64_t *first, int64_t *last) {
    *first = *last = t->offset;
    for (int d = 0; d < t->ndim; d++) {
        int64_t reach = (t->shape[d] - 1) * t->stride[d];
        if (reach > 0)
            *last += reach;
        else
            *first += reach;
    }
}

bool hd_shares_memory(const hd_tensor *a, const hd_tensor *b) {
    if (a->storage != b->storage || hd_numel(a) == 0 || hd_numel(b) == 0) return false;
    int64_t a_first, a_last, b_first, b_last;
    extent(a, &a_first, &a_last);
    extent(b, &b_first, &b_last);
    return a_first <= b_last && b_first <= a_last;
}

bool hd_same_view(const hd_tensor *a, const hd_tensor *b) {
    return a->storage == b->storage && a->offset == b->offset && hd_same_shape(a, b) &&
           memcmp(a->stride, b->stride, a->ndim * sizeof *a->stride) == 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int kind(hd_dtype t) {
    return t == HD_BOOL ? 0 : hd_dtype_is_float(t) ? 2 : 1;
}

hd_status hd_check_holds(hd_ctx *cx, hd_dtype held, hd_dtype result) {
    if (kind(result) <= kind(held)) return HD_OK;
    return hd_fail(cx, HD_EARG,
                   "dtype: the result is %s, which a tensor of %s cannot hold in place; without the _ there "
                   "is a new tensor",
                   hd_dtype_name(result), hd_dtype_name(held));
}

hd_status hd_check_broadcasts_to(hd_ctx *cx, const char *argument, const hd_tensor *other,
                                 const hd_tensor *t) {
    int lead = t->ndim - other->ndim;
    bool fits = lead >= 0;
    for (int d = 0; fits && d < other->ndim; d++)
        fits = other->shape[d] == 1 || other->shape[d] == t->shape[lead + d];
    if (fits) return HD_OK;
    char from[HD_SHAPE_TEXT], to[HD_SHAPE_TEXT];
    return hd_fail(cx, HD_EARG, "%s: expected a shape that broadcasts to %s, got %s", argument,
                   hd_tensor_shape_text(t, to), hd_tensor_shape_text(other, from));
}

/* ---- recorded writes ------------------------------------------------------------------------- */

hd_status hd_check_whole(hd_ctx *cx, const hd_tensor *t) {
    size_t bytes = (size_t)hd_numel(t) * hd_dtype_size((hd_dtype)t->dtype);
    if (t->requires_grad || bytes == t->storage->bytes) return HD_OK;
    return hd_fail(
        cx, HD_EARG,
        "the tensor is a part of another one, which would not learn of the gradient; write to the whole by "
        "index assignment, or clone the part");
}

hd_tensor *hd_former(hd_ctx *cx, hd_tensor *t) {
    hd_tensor *former = hd_tensor_like(cx, t);
    if (!former) return NULL;
    if (hd_apply_copy(cx, former, t)) {
        hd_release(former);
        return NULL;
    }
    former->requires_grad = t->requires_grad;
    former->node = t->node;
    former->node_output = t->node_output;
    if (former->node) hd_node_retain(former->node);
    return former;
}

hd_tensor *hd_inplace_source(hd_ctx *cx, hd_tensor *t) {
    return hd_wants_grad(cx, 1, &t) ? hd_former(cx, t) : hd_tensor_alias(cx, t);
}

/* A result without a gradient: t is a constant from now on. */
static void forget(hd_tensor *t) {
    if (t->node) hd_node_release_ref(t->node);
    t->node = NULL;
    t->requires_grad = false;
}

hd_status hd_become(hd_ctx *cx, hd_tensor *t, hd_tensor *y) {
    if (!y) return cx->error.status;
    hd_status status = y == t ? HD_OK : hd_apply_copy(cx, t, y);
    hd_wrote(t);
    if (!status && y != t && y->node)
        hd_rebase(t, y->node);
    else if (!status && y != t && cx->grad_enabled)
        forget(t);
    hd_release(y);
    return status;
}

/* ---- fill ------------------------------------------------------------------------------------ */

static hd_status fill_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK; /* nothing of the former content is left */
    grad_inputs[0] = hd_zero_for_input(cx, node, 0);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class fill_class = {"fill_", fill_backward, NULL};

hd_status hd_fill_data(hd_ctx *cx, hd_tensor *t, const void *element) {
    hd_tensor one = *t;
    hd_storage storage = *t->storage;
    storage.data = (void *)element;
    one.storage = &storage;
    one.offset = 0;
    one.ndim = 0;
    return hd_apply_copy(cx, t, &one);
}

hd_status hd_fill_(hd_ctx *cx, hd_tensor *t, hd_scalar value) {
    uint64_t element;
    if (hd_check_inplace(cx, t)) return cx->error.status;
    if (hd_scalar_store(cx, "value", value, (hd_dtype)t->dtype, &element)) return cx->error.status;
    hd_tensor *inputs[] = {t};
    hd_node *node = NULL;
    if (hd_wants_grad(cx, 1, inputs)) {
        node = hd_node_new(cx, &fill_class, 1, inputs, 1);
        if (!node) return cx->error.status;
    }
    hd_status status = hd_fill_data(cx, t, &element);
    hd_wrote(t);
    if (node && !status) hd_rebase(t, node);
    if (node) hd_node_release_ref(node);
    return status;
}

/* ---- copy ------------------------------------------------------------------------------------ */

static hd_status copy_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* t = source  ->  dsource = g; nothing of t's former content (input 0) is left */
    if (!grads[0]) return HD_OK;
    hd_status status = HD_OK;
    if (hd_node_needs(node, 0)) {
        grad_inputs[0] = hd_zero_for_input(cx, node, 0);
        status = hd_made(cx, grad_inputs[0]);
    }
    if (!status && hd_node_needs(node, 1)) {
        grad_inputs[1] = hd_grad_to_input(cx, node, 1, hd_retain(grads[0]));
        status = hd_made(cx, grad_inputs[1]);
    }
    return status;
}
static const hd_node_class copy_class = {"copy_", copy_backward, NULL};

hd_status hd_copy_data(hd_ctx *cx, hd_tensor *t, const hd_tensor *source) {
    if (hd_same_view(t, source)) return HD_OK;
    if (!hd_shares_memory(t, source)) return hd_apply_copy(cx, t, source);
    hd_tensor *apart = hd_tensor_like(cx, source);
    if (!apart) return cx->error.status;
    hd_status status = hd_apply_copy(cx, apart, source);
    if (!status) status = hd_apply_copy(cx, t, apart);
    hd_release(apart);
    return status;
}

hd_status hd_copy_(hd_ctx *cx, hd_tensor *t, hd_tensor *source) {
    if (hd_check_inplace(cx, t)) return cx->error.status;
    if (hd_check_broadcasts_to(cx, "source", source, t)) return cx->error.status;
    hd_tensor *inputs[] = {t, hd_dtype_is_float((hd_dtype)t->dtype) ? source : NULL};
    hd_node *node = NULL;
    if (hd_wants_grad(cx, 2, inputs)) {
        if (hd_check_whole(cx, t)) return cx->error.status;
        node = hd_node_new(cx, &copy_class, 2, inputs, 1);
        if (!node) return cx->error.status;
    }
    hd_status status = hd_copy_data(cx, t, source);
    hd_wrote(t);
    if (node && !status) hd_rebase(t, node);
    if (node) hd_node_release_ref(node);
    return status;
}
