/* sublayers.h: attention and feed-forward as the layers use them: with the residual connection and the
 * dropout before it inside the last projection. residual NULL: none, and dropout is not applied.
 */
#ifndef HD_SUBLAYERS_H
#define HD_SUBLAYERS_H

#include "layers/layers.h"

typedef struct hd_residual {
    hd_tensor *onto;
    double dropout; /* already 0 outside training */
} hd_residual;

hd_status hd_mha_sublayer(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                          hd_tensor *value, const hd_attention_options *options, bool training,
                          hd_residual residual, hd_tensor **out, hd_tensor **weights);
/* cached_attention.c: the same over what p->kept holds; query [B, L, E]. */
hd_status hd_cached_sublayer(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query,
                             const hd_attention_options *options, hd_residual residual, hd_tensor **out,
                             hd_tensor **weights);
hd_tensor *hd_ffn_sublayer(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x, bool training,
                           hd_residual residual);

/* [B, H, L, D] as attention lays it out, to [B, L, E] (a view). (multi_head_attention.c) */
hd_tensor *hd_join_heads(hd_ctx *cx, hd_tensor *heads);

/* The last projection of a sublayer. */
static inline hd_tensor *hd_project_onto(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                                         hd_residual r) {
    return r.onto ? hd_linear_residual(cx, r.onto, x, w, b, r.dropout)
                  : hd_linear(cx, x, w, b, HD_ACT_NONE, 0);
}

/* Bad arguments found inside a part carry its name: "multihead_attn: key: expected ...". Returns NULL. */
static inline hd_tensor *hd_fail_in_part(hd_ctx *cx, const char *part) {
    if (cx->error.status != HD_EARG) return NULL;
    const hd_error inner = cx->error;
    return hd_fail_null(cx, HD_EARG, "%s: %s", part, inner.message);
}

static inline hd_tensor *hd_norm_layer(hd_ctx *cx, const hd_norm_params *p, hd_tensor *x) {
    return hd_layer_norm(cx, x, p->weight, p->bias, p->eps);
}

#endif
