#include "layers/sublayers.h"

/* A sublayer of the decoder: what it is given, after the first norm when norm_first. */
typedef struct decoder_call {
    const hd_decoder_layer_params *p;
    hd_tensor *memory;
    const hd_attention_options *mask, *memory_mask;
    bool training;
} decoder_call;

typedef hd_tensor *(*sublayer)(hd_ctx *cx, const decoder_call *c, hd_tensor *x, hd_residual onto);

static hd_tensor *attend(hd_ctx *cx, const decoder_call *c, const char *part, const hd_mha_params *p,
                         hd_tensor *x, hd_tensor *key, const hd_attention_options *mask, hd_residual onto) {
    hd_attention_options options = mask ? *mask : (hd_attention_options){0};
    hd_tensor *y = NULL;
    options.want_weights = false;
    if (hd_mha_sublayer(cx, p, x, key, NULL, &options, c->training, onto, &y, NULL))
        return hd_fail_in_part(cx, part);
    return y;
}

static hd_tensor *attend_self(hd_ctx *cx, const decoder_call *c, hd_tensor *x, hd_residual onto) {
    return attend(cx, c, "self_attn", &c->p->self_attn, x, NULL, c->mask, onto);
}

static hd_tensor *attend_memory(hd_ctx *cx, const decoder_call *c, hd_tensor *x, hd_residual onto) {
    return attend(cx, c, "multihead_attn", &c->p->multihead_attn, x, c->memory, c->memory_mask, onto);
}

static hd_tensor *feed_forward(hd_ctx *cx, const decoder_call *c, hd_tensor *x, hd_residual onto) {
    return hd_ffn_sublayer(cx, &c->p->ffn, x, c->training, onto);
}

/* norm(x + sublayer(x)), or x + sublayer(norm(x)) when norm_first. Consumes x. */
static hd_tensor *step(hd_ctx *cx, const decoder_call *c, sublayer f, const hd_norm_params *norm,
                       hd_tensor *x) {
    if (!x) return NULL;
    hd_residual onto = {x, c->training ? c->p->dropout : 0};
    hd_tensor *from = c->p->norm_first ? hd_norm_layer(cx, norm, x) : hd_retain(x);
    hd_tensor *y = from ? f(cx, c, from, onto) : NULL;
    hd_release(from);
    hd_release(x);
    if (!y || c->p->norm_first) return y;
    hd_tensor *normed = hd_norm_layer(cx, norm, y);
    hd_release(y);
    return normed;
}

hd_tensor *hd_decoder_layer(hd_ctx *cx, const hd_decoder_layer_params *p, hd_tensor *x, hd_tensor *memory,
                            const hd_attention_options *mask, const hd_attention_options *memory_mask,
                            bool training) {
    const decoder_call c = {p, memory, mask, memory_mask, training};
    hd_tensor *y = step(cx, &c, attend_self, &p->norm1, hd_retain(x));
    y = step(cx, &c, attend_memory, &p->norm2, y);
    return step(cx, &c, feed_forward, &p->norm3, y);
}
