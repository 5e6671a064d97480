#include "layers/sublayers.h"

hd_tensor *hd_ffn_sublayer(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x, bool training,
                           hd_residual residual) {
    hd_tensor *hidden = hd_linear(cx, x, p->weight1, p->bias1, p->activation, training ? p->dropout : 0);
    hd_tensor *y = hidden ? hd_project_onto(cx, hidden, p->weight2, p->bias2, residual) : NULL;
    hd_release(hidden);
    return y;
}

hd_tensor *hd_feed_forward(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x, bool training) {
    return hd_ffn_sublayer(cx, p, x, training, (hd_residual){0});
}
