#include "ops/gradient.h"

#include "ops/ops.h"

/* Held by this one header (whose references the graph counts) and no other: free to be written to. */
static bool is_ours(const hd_tensor *t, int refs) {
    return t->refs == refs && t->storage->refs == 1 && !hd_overlaps_itself(t);
}

hd_tensor *hd_gradient_sum(hd_ctx *cx, hd_tensor *sum, hd_tensor *gradient) {
    if (is_ours(sum, 1)) return hd_binary_(cx, HD_ADD, sum, gradient) ? NULL : hd_retain(sum);
    return hd_binary_op(cx, HD_ADD, sum, gradient);
}

hd_tensor *hd_gradient_own(hd_ctx *cx, hd_tensor *gradient) {
    if (is_ours(gradient, 1) && hd_is_contiguous(gradient)) return hd_retain(gradient);
    return hd_clone(cx, gradient);
}

hd_tensor *hd_gradient_one(hd_ctx *cx, const hd_tensor *root) {
    return hd_full(cx, hd_dtype_of_gradient((hd_dtype)root->dtype), root->ndim, root->shape, hd_scalar_f(1));
}
