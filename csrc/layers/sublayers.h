/* sublayers.h: the parts of a layer as it uses them, with the residual connection and the dropout before it
 * inside their last projection; and what the sources of multi-head attention say to each other.
 */
#ifndef HD_SUBLAYERS_H
#define HD_SUBLAYERS_H

#include "layers/layers.h"

/* x + dropout(...); x NULL: there is no residual connection, and no dropout. */
typedef struct hd_residual {
    hd_tensor *x;
    double dropout;
} hd_residual;

hd_status hd_mha_sublayer(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                          hd_tensor *value, const hd_mha_options *o, hd_residual residual, hd_tensor **out,
                          hd_tensor **weights);
hd_tensor *hd_ffn_sublayer(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x, hd_residual residual);

/* The last projection of a sublayer. */
static inline hd_tensor *hd_project_onto(hd_ctx *cx, hd_tensor *x, const hd_linear_params *p, hd_residual r) {
    return r.x ? hd_linear_residual(cx, r.x, x, p->weight, p->bias, r.dropout)
               : hd_linear(cx, x, p->weight, p->bias, HD_ACT_NONE, 0);
}

/* x / rms(x) · (1 + weight) */
static inline hd_tensor *hd_rms_norm_unit_offset(hd_ctx *cx, const hd_norm_params *p, hd_tensor *x) {
    hd_tensor *weight = hd_binary_scalar(cx, HD_ADD, p->weight, hd_scalar_i(1), false);
    hd_tensor *y = weight ? hd_rms_norm(cx, x, weight, p->eps) : NULL;
    hd_release(weight);
    return y;
}

/* A new reference, to x itself when there is no norm. */
static inline hd_tensor *hd_norm_layer(hd_ctx *cx, const hd_norm_params *p, hd_tensor *x) {
    if (p->kind == HD_NORM_LAYER) return hd_layer_norm(cx, x, p->weight, p->bias, p->eps);
    if (p->kind == HD_NORM_NONE) return hd_retain(x);
    return p->unit_offset && p->weight ? hd_rms_norm_unit_offset(cx, p, x)
                                       : hd_rms_norm(cx, x, p->weight, p->eps);
}

/* ---- multi-head attention ---------------------------------------------------------------------------- */

/* Sizes, as the weights of the projections say them. */
typedef struct hd_mha_sizes {
    int64_t H, Hk, D, E, kdim, vdim;
} hd_mha_sizes;

/* A call, checked: query [B, L, E]; key [B, S, kdim] and value [B, S, vdim], which are NULL when they are a
 * memory's and in the kv_cache. */
typedef struct hd_mha_call {
    const hd_mha_params *p;
    const hd_mha_options *o;
    hd_mha_sizes size;
    hd_tensor *query, *key, *value;
} hd_mha_call;

/* projections.c: sizes of the parameters; HD_EARG when they do not fit each other. */
hd_status hd_mha_sizes_of(hd_ctx *cx, const hd_mha_params *p, hd_mha_sizes *size);
/* Are query, key and value what these sizes take? */
hd_status hd_mha_inputs_fit(hd_ctx *cx, const hd_mha_sizes *size, const hd_tensor *query,
                            const hd_tensor *key, const hd_tensor *value);
/* Those of `c` as batches of one, until the end of them. */
hd_status hd_mha_begin_unbatched(hd_ctx *cx, const hd_mha_call *c, hd_mha_call *one);
void hd_mha_end_unbatched(hd_mha_call *one);
/* x W^T + b by the rows of `count` heads behind `first` others: [B, L, count D]. own: the weight of these
 * heads alone; NULL: in_proj_weight. */
hd_tensor *hd_mha_project_part(hd_ctx *cx, const hd_mha_call *c, hd_tensor *x, hd_tensor *own, int64_t first,
                               int64_t count);
/* Heads [B, L, heads, D] (views) of what the call has: q of its query, k and v of its key and value. */
hd_status hd_mha_project_heads(hd_ctx *cx, const hd_mha_call *c, hd_tensor *heads[3]);

/* kv_cache.c: is it of the call's sizes, and does nobody want gradients? */
hd_status hd_kv_cache_check(hd_ctx *cx, const hd_mha_call *c);
/* Writes k and v [B, Hk, L, D] of the call's own tokens behind the others. */
hd_status hd_kv_cache_append(hd_ctx *cx, const hd_mha_call *c, hd_tensor *k, hd_tensor *v);
/* What is attended to: [B, Hk, length, D] of one of its tensors, in a dtype that goes with the queries'. */
hd_tensor *hd_kv_cache_read(hd_ctx *cx, const hd_mha_call *c, hd_tensor *buffer);

/* [B, H, L, D] and [B, L, H, D] to each other, a view. Consumes x, which may be NULL. (projections.c) */
hd_tensor *hd_transpose_heads(hd_ctx *cx, hd_tensor *x);

#endif
