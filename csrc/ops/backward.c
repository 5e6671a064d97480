/* backward.c: the backward pass (autograd/graph.h) with the arithmetic that it needs. */
#include "ops/ops.h"

#include "ops/elementwise/element.h"

#include <math.h>

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
