#include "layers/sublayers.h"

static hd_tensor *attend(hd_ctx *cx, const hd_encoder_layer_params *p, hd_tensor *x, hd_tensor *residual,
                         const hd_attention_options *mask, bool training) {
    hd_attention_options options = mask ? *mask : (hd_attention_options){0};
    hd_residual onto = {residual, training ? p->dropout : 0};
    hd_tensor *y = NULL;
    options.want_weights = false;
    if (hd_mha_sublayer(cx, &p->self_attn, x, NULL, NULL, &options, training, onto, &y, NULL))
        return hd_fail_in_part(cx, "self_attn");
    return y;
}

/* x = norm1(x + attention(x)); x = norm2(x + ffn(x)) */
static hd_tensor *post_norm(hd_ctx *cx, const hd_encoder_layer_params *p, hd_tensor *x,
                            const hd_attention_options *mask, bool training) {
    hd_tensor *a = attend(cx, p, x, x, mask, training), *mid = a ? hd_norm_layer(cx, &p->norm1, a) : NULL;
    hd_release(a);
    if (!mid) return NULL;
    hd_tensor *f = hd_ffn_sublayer(cx, &p->ffn, mid, training, (hd_residual){mid, training ? p->dropout : 0});
    hd_release(mid);
    hd_tensor *y = f ? hd_norm_layer(cx, &p->norm2, f) : NULL;
    hd_release(f);
    return y;
}

/* x = x + attention(norm1(x)); x = x + ffn(norm2(x)) */
static hd_tensor *pre_norm(hd_ctx *cx, const hd_encoder_layer_params *p, hd_tensor *x,
                           const hd_attention_options *mask, bool training) {
    hd_tensor *n = hd_norm_layer(cx, &p->norm1, x), *mid = n ? attend(cx, p, n, x, mask, training) : NULL;
    hd_release(n);
    if (!mid) return NULL;
    n = hd_norm_layer(cx, &p->norm2, mid);
    hd_residual onto = {mid, training ? p->dropout : 0};
    hd_tensor *y = n ? hd_ffn_sublayer(cx, &p->ffn, n, training, onto) : NULL;
    hd_release(n);
    hd_release(mid);
    return y;
}

hd_tensor *hd_encoder_layer(hd_ctx *cx, const hd_encoder_layer_params *p, hd_tensor *x,
                            const hd_attention_options *mask, bool training) {
    return p->norm_first ? pre_norm(cx, p, x, mask, training) : post_norm(cx, p, x, mask, training);
}
