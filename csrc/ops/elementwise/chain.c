/* chain.c: operations that consume their first operand. */
#include "ops/elementwise/chain.h"

hd_tensor *hd_chain_unary(hd_ctx *cx, hd_unary op, hd_tensor *x) {
    hd_tensor *y = x ? hd_unary_op(cx, op, x) : NULL;
    hd_release(x);
    return y;
}

hd_tensor *hd_chain_binary(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_tensor *b) {
    hd_tensor *y = a ? hd_binary_op(cx, op, a, b) : NULL;
    hd_release(a);
    return y;
}

hd_tensor *hd_chain_gradient(hd_ctx *cx, hd_tensor *b, hd_tensor *g) {
    hd_tensor *y = b ? hd_gradient_mul(cx, g, b) : NULL;
    hd_release(b);
    return y;
}

hd_tensor *hd_chain_scalar(hd_ctx *cx, hd_binary op, hd_tensor *a, double b) {
    hd_tensor *y = a ? hd_binary_scalar(cx, op, a, hd_scalar_f(b), false) : NULL;
    hd_release(a);
    return y;
}

hd_tensor *hd_chain_masked_fill(hd_ctx *cx, hd_tensor *x, hd_tensor *mask, double value) {
    hd_tensor *y = x && mask ? hd_masked_fill(cx, x, mask, hd_scalar_f(value)) : NULL;
    hd_release(x);
    hd_release(mask);
    return y;
}
