/* transformer_layer.c: encoder and decoder layers: their parts one after the other, each in its residual
 * connection. */
#include "layers/sublayers.h"

/* A part with its norms. attention NULL: feed-forward. */
typedef struct part {
    const char *name;
    const hd_norm_params *norm, *post_norm;
    const hd_mha_params *attention;
    hd_tensor *memory; /* NULL: the sequence itself */
    const hd_mha_options *options;
} part;

/* Bad arguments found inside a part carry its name: "multihead_attn: key: expected ...". Returns NULL. */
static hd_tensor *fail_in(hd_ctx *cx, const part *a) {
    if (cx->error.status != HD_EARG) return NULL;
    const hd_error inner = cx->error;
    return hd_fail_null(cx, HD_EARG, "%s: %s", a->name, inner.message);
}

/* residual + dropout(part(x)) */
static hd_tensor *run(hd_ctx *cx, const hd_transformer_layer_params *p, const part *a, hd_tensor *x,
                      hd_residual residual) {
    if (!a->attention) return hd_ffn_sublayer(cx, &p->ffn, x, residual);
    hd_mha_options o = a->options ? *a->options : (hd_mha_options){0};
    hd_tensor *y = NULL;
    o.attention.want_weights = false;
    if (hd_mha_sublayer(cx, a->attention, x, a->memory, NULL, &o, residual, &y, NULL)) return fail_in(cx, a);
    return y;
}

/* x + dropout(post_norm(part(from))) */
static hd_tensor *run_in_sandwich(hd_ctx *cx, const hd_transformer_layer_params *p, const part *a,
                                  hd_tensor *from, hd_tensor *x) {
    hd_tensor *y = run(cx, p, a, from, (hd_residual){0});
    hd_tensor *normed = y ? hd_norm_layer(cx, a->post_norm, y) : NULL;
    hd_tensor *sum = normed ? hd_dropout_add(cx, x, normed, p->dropout) : NULL;
    hd_release(y);
    hd_release(normed);
    return sum;
}

/* norm(x + dropout(part(x))), or x + dropout(post_norm(part(norm(x)))) when norm_first. Consumes x; it may
 * be NULL. */
static hd_tensor *sublayer(hd_ctx *cx, const hd_transformer_layer_params *p, const part *a, hd_tensor *x) {
    if (!x) return NULL;
    const bool in_sandwich = p->norm_first && a->post_norm->kind != HD_NORM_NONE;
    hd_tensor *from = p->norm_first ? hd_norm_layer(cx, a->norm, x) : hd_retain(x);
    hd_tensor *y = !from         ? NULL
                   : in_sandwich ? run_in_sandwich(cx, p, a, from, x)
                                 : run(cx, p, a, from, (hd_residual){x, p->dropout});
    hd_release(from);
    hd_release(x);
    if (!y || p->norm_first) return y;
    hd_tensor *normed = hd_norm_layer(cx, a->norm, y);
    hd_release(y);
    return normed;
}

hd_tensor *hd_encoder_layer(hd_ctx *cx, const hd_transformer_layer_params *p, hd_tensor *x,
                            const hd_mha_options *self) {
    const part attend = {"self_attn", &p->norm1, &p->post_norm1, &p->self_attn, NULL, self},
               feed = {.norm = &p->norm2, .post_norm = &p->post_norm2};
    return sublayer(cx, p, &feed, sublayer(cx, p, &attend, hd_retain(x)));
}

hd_tensor *hd_decoder_layer(hd_ctx *cx, const hd_transformer_layer_params *p, hd_tensor *x, hd_tensor *memory,
                            const hd_mha_options *self, const hd_mha_options *across) {
    const part attend = {"self_attn", &p->norm1, &p->post_norm1, &p->self_attn, NULL, self},
               recall = {"multihead_attn", &p->norm2, &p->post_norm2, &p->multihead_attn, memory, across},
               feed = {.norm = &p->norm3, .post_norm = &p->post_norm3};
    hd_tensor *y = sublayer(cx, p, &attend, hd_retain(x));
    y = sublayer(cx, p, &recall, y);
    return sublayer(cx, p, &feed, y);
}
