/* layers.h: the stock layers, one function each over ops, given their parameters and what one call brings.
 * No Lua: a C host can run a trained model with these. Parameters are borrowed; results are new references,
 * NULL with the error in cx. Dropout acts wherever it is above 0: in evaluation the caller gives 0.
 *
 * Letters: B batch, L queries, S keys, E d_model, F d_ff, H heads, Hk heads of keys and values, D head_dim.
 */
#ifndef HD_LAYERS_H
#define HD_LAYERS_H

#include "ops/ops.h"

typedef struct hd_linear_params {
    hd_tensor *weight, *bias; /* [out, in]; [out] or NULL */
} hd_linear_params;

typedef enum hd_norm_kind { HD_NORM_NONE, HD_NORM_LAYER, HD_NORM_RMS } hd_norm_kind;

/* Over the last dimension; weight and bias [features], or NULL. A root mean square has no bias; with a
 * unit_offset it is multiplied by 1 + weight. */
typedef struct hd_norm_params {
    hd_norm_kind kind;
    hd_tensor *weight, *bias;
    double eps;
    bool unit_offset;
} hd_norm_params;

/* ---- multi_head_attention.c, projections.c, kv_cache.c ----------------------------------------------- */

/* concat(heads) W_o (Vaswani et al. 2017, section 3.2.2). The projections of queries, keys and values stand
 * below each other in in_proj_weight [(H + 2 Hk) D, E]; or in_proj_weight is NULL, and they are
 * q_proj_weight [H D, E], k_proj_weight [Hk D, kdim] and v_proj_weight [Hk D, vdim]. in_proj_bias [(H + 2
 * Hk) D] or NULL serves both. */
typedef struct hd_mha_params {
    hd_tensor *in_proj_weight, *q_proj_weight, *k_proj_weight, *v_proj_weight, *in_proj_bias;
    hd_linear_params out_proj; /* [E, H D], [E] */
    int num_heads;
    int num_kv_heads; /* a divisor of num_heads; 0: as many */
    /* Over the D features of each head, before they are rotated; both or neither. */
    hd_norm_params q_norm, k_norm;
    double scale;   /* of the scores; 0: 1 / sqrt(D) */
    double softcap; /* 0: none */
    double dropout; /* of the weights */
} hd_mha_params;

/* Rotary positions as hd_rotary takes them; cos NULL: none. Rows are positions, [n, pairs] or [B, n, pairs]:
 * those of the call's tokens with a kv_cache, else those from 1 on, max(L, S) or more: query i of L stands
 * at key S - L + i. */
typedef struct hd_rotary_tables {
    hd_tensor *cos, *sin;
    bool interleaved;
} hd_rotary_tables;

/* Keys and values of the tokens before, behind which the call writes those of its own, or a memory's. No
 * gradient goes through them: a call that would record one fails. */
typedef struct hd_kv_cache {
    hd_tensor *k, *v;  /* [B, capacity, Hk, D], of any float dtype */
    int64_t length;    /* so many of each row are attended to: all that the longest has, with the new ones */
    int64_t before;    /* the new ones stand behind so many in every row; */
    hd_tensor *places; /* or, when it is not NULL, at these places of [B capacity]: i64 [B L], from 1 */
    bool of_memory;    /* nothing is new */
} hd_kv_cache;

/* What a call brings beside its sequences; all zeros: nothing. */
typedef struct hd_mha_options {
    /* The mask and want_weights; scale, softcap and dropout are the parameters'. */
    hd_attention_options attention;
    hd_rotary_tables rotary;     /* over the kv_cache of a memory there is none */
    const hd_kv_cache *kv_cache; /* NULL: none */
} hd_mha_options;

/* query [B, L, E] or [L, E]; key [B, S, kdim], NULL: query; value [B, S, vdim], NULL: key. With a kv_cache
 * key and value are not looked at. *weights (want_weights) [B, H, L, S]. o may be NULL. */
hd_status hd_multi_head_attention(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                                  hd_tensor *value, const hd_mha_options *o, hd_tensor **out,
                                  hd_tensor **weights);
/* Its first step alone: queries [B, L, H, D], keys and values [B, S, Hk, D], as they leave their
 * projections, into heads[0..2]. query NULL, or key and value: those are not made, and NULL. One sequence is
 * a batch of one. */
hd_status hd_mha_project(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                         hd_tensor *value, hd_tensor *heads[3]);
/* Would it take these? key and value as there. */
hd_status hd_mha_check(hd_ctx *cx, const hd_mha_params *p, const hd_tensor *query, const hd_tensor *key,
                       const hd_tensor *value);

/* ---- feed_forward.c ---------------------------------------------------------------------------------- */

/* linear2(dropout(act(linear1 x))); gated, with linear3, linear2(dropout(act(linear1 x) · linear3 x)). */
typedef struct hd_ffn_params {
    hd_linear_params linear1, linear2, linear3; /* linear3.weight NULL: none */
    hd_activation activation;
    double dropout;
} hd_ffn_params;
hd_tensor *hd_feed_forward(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x);

/* ---- transformer_layer.c ----------------------------------------------------------------------------- */

/* Each part stands in a residual connection with a norm: norm(x + dropout(part(x))) (Vaswani et al. 2017,
 * section 3.1), or x + dropout(part(norm(x))) when norm_first; with a second norm in a sandwich, x +
 * dropout(post_norm(part(norm(x)))) (Ding et al. 2021, "CogView", section 2.4). */
typedef struct hd_transformer_layer_params {
    hd_mha_params self_attn, multihead_attn; /* over the memory: of a decoder layer */
    hd_ffn_params ffn;
    hd_norm_params norm1, norm2, norm3; /* norm3: of a decoder layer, whose norms are of its three parts */
    hd_norm_params post_norm1, post_norm2, post_norm3; /* of the same parts; with norm_first, or none */
    bool norm_first;
    double dropout; /* of what each part adds */
} hd_transformer_layer_params;

/* x [B, L, E] or [L, E]; memory [B, S, E] or [S, E]. self and across: of the two attentions; may be NULL. */
hd_tensor *hd_encoder_layer(hd_ctx *cx, const hd_transformer_layer_params *p, hd_tensor *x,
                            const hd_mha_options *self);
hd_tensor *hd_decoder_layer(hd_ctx *cx, const hd_transformer_layer_params *p, hd_tensor *x, hd_tensor *memory,
                            const hd_mha_options *self, const hd_mha_options *across);

/* ---- positions.c ------------------------------------------------------------------------------------- */

/* The table of sinusoidal positions [max_len, E] (Vaswani et al. 2017, section 3.5). */
typedef enum hd_position_layout { HD_POSITIONS_INTERLEAVED, HD_POSITIONS_HALVES } hd_position_layout;
hd_tensor *hd_sinusoidal_positions(hd_ctx *cx, int64_t max_len, int64_t d_model, int64_t first_position,
                                   hd_position_layout layout, const double *rates /* NULL: 10000^(-2i/E) */);

#endif
