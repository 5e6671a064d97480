/* cast.c: y = x as another dtype.
 *
 *     dx = g as x's dtype, between floats; to integers and bool there is no gradient.
 */
#include "ops/elementwise/cast.h"
#include "ops/gradient.h"
#include "ops/elementwise/walk.h"

static hd_status cast_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = cast(x)  ->  dx = cast(g) */
    if (!grads[0]) return HD_OK;
    grad_inputs[0] = hd_cast(cx, grads[0], hd_node_input(node, 0).dtype);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class cast_class = {"to", cast_backward, NULL};

static hd_tensor *cast(hd_ctx *cx, const hd_tensor *x, hd_dtype dtype) {
    hd_tensor *y = hd_tensor_new(cx, dtype, x->ndim, x->shape);
    if (y && hd_apply_copy(cx, y, x)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

hd_tensor *hd_cast(hd_ctx *cx, hd_tensor *x, hd_dtype dtype) {
    if ((hd_dtype)x->dtype == dtype) return hd_retain(x);
    hd_tensor *y = cast(cx, x, dtype);
    if (!y || !hd_dtype_is_float(dtype)) return y;
    return hd_record(cx, &cast_class, y, 1, &x, 0, NULL, NULL, 0);
}

hd_tensor *hd_as_dtype(hd_ctx *cx, hd_tensor *x, hd_dtype dtype) {
    return (hd_dtype)x->dtype == dtype ? hd_retain(x) : cast(cx, x, dtype);
}

hd_tensor *hd_contiguous_as(hd_ctx *cx, hd_tensor *x, hd_dtype dtype) {
    return (hd_dtype)x->dtype == dtype && hd_is_contiguous(x) ? hd_retain(x) : cast(cx, x, dtype);
}
