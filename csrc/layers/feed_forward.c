/* feed_forward.c: the same linear maps at every position (Vaswani et al. 2017, section 3.3), and the gated
 * ones (Shazeer 2020, "GLU Variants Improve Transformer").
 */
#include "layers/sublayers.h"

/* Consumes both. In the memory of a when nothing is recorded. */
static hd_tensor *product(hd_ctx *cx, hd_tensor *a, hd_tensor *b) {
    hd_tensor *y = NULL;
    if (a && b && (a->requires_grad || b->requires_grad))
        y = hd_binary_op(cx, HD_MUL, a, b);
    else if (a && b && !hd_binary_(cx, HD_MUL, a, b))
        y = hd_retain(a);
    hd_release(a);
    hd_release(b);
    return y;
}

/* dropout(act(linear1 x) · linear3 x) */
static hd_tensor *gated(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x) {
    hd_tensor *gate = hd_linear(cx, x, p->linear1.weight, p->linear1.bias, p->activation, 0);
    hd_tensor *up = gate ? hd_linear(cx, x, p->linear3.weight, p->linear3.bias, HD_ACT_NONE, 0) : NULL;
    hd_tensor *hidden = product(cx, gate, up);
    if (!hidden || p->dropout == 0) return hidden;
    hd_tensor *dropped = hd_dropout(cx, hidden, p->dropout);
    hd_release(hidden);
    return dropped;
}

hd_tensor *hd_ffn_sublayer(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x, hd_residual residual) {
    hd_tensor *hidden = p->linear3.weight
                            ? gated(cx, p, x)
                            : hd_linear(cx, x, p->linear1.weight, p->linear1.bias, p->activation, p->dropout);
    hd_tensor *y = hidden ? hd_project_onto(cx, hidden, &p->linear2, residual) : NULL;
    hd_release(hidden);
    return y;
}

hd_tensor *hd_feed_forward(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x) {
    return hd_ffn_sublayer(cx, p, x, (hd_residual){0});
}
