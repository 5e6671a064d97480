/* layers.h: the stock layers, one function each over ops, given its parameters and options. No Lua: a C host
 * can run a trained model with these. Parameters are borrowed; results are new references, NULL with the
 * error in cx. Letters: B batch, L queries, S keys, E d_model, F d_ff, H heads. `training` switches dropout
 * on.
 */
#ifndef HD_LAYERS_H
#define HD_LAYERS_H

#include "ops/ops.h"

typedef struct hd_norm_params {
    hd_tensor *weight, *bias;
    double eps;
} hd_norm_params;

/* Keys and values that are kept: of the tokens before, behind which the call writes those of its own, or a memory's. No
 * gradient goes through them: a call that would record one fails. */
typedef struct hd_kept {
    hd_tensor *k, *v;  /* [B, room, Hk, D], of any float dtype */
    int64_t length;    /* so many of each row are attended to: all that the longest has, with the new ones */
    int64_t before;    /* the new ones stand behind so many in every row; */
    hd_tensor *places; /* or, when it is not NULL, at these places of [B room]: i64 [B L], from 1 */
    bool of_memory;
} hd_kept;

/* Rotary positions of the call's tokens, as hd_rotary takes them; cos NULL: none. */
typedef struct hd_rotary_tables {
    hd_tensor *cos, *sin;
    bool interleaved;
} hd_rotary_tables;

/* multi_head_attention.c, cached_attention.c. in_proj_weight [3E, E], in_proj_bias [3E] or NULL, out_proj_weight [E, E],
 * bias [E] or NULL. With `kept` in_proj_weight may be [(H + 2 Hk) D, E] and out_proj_weight [E, H D], and what follows counts. */
typedef struct hd_mha_params {
    hd_tensor *in_proj_weight, *in_proj_bias, *out_proj_weight, *out_proj_bias;
    int num_heads;
    double dropout; /* of the weights, in training */
    const hd_kept *kept;
    int num_kv_heads; /* 0: num_heads */
    double scale, softcap;
    hd_rotary_tables rotary; /* queries over a memory have none */
} hd_mha_params;
/* query [B,L,E] or [L,E]; key, value [B,S,E] (NULL: key = query, value = key). With `kept` query is [B,L,E], key and value
 * are not looked at. Self-attention makes q, k, v in one product. options: masks and want_weights as in hd_attention
 * (scale 0, dropout is overwritten from params). */
hd_status hd_multi_head_attention(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                                  hd_tensor *value, const hd_attention_options *options, bool training,
                                  hd_tensor **out, hd_tensor **weights);

/* feed_forward.c: linear2(dropout(act(linear1 x))). */
typedef struct hd_ffn_params {
    hd_tensor *weight1, *bias1, *weight2, *bias2;
    hd_activation activation;
    double dropout;
} hd_ffn_params;
hd_tensor *hd_feed_forward(hd_ctx *cx, const hd_ffn_params *p, hd_tensor *x, bool training);

/* encoder_layer.c, decoder_layer.c: post-norm (Vaswani et al. 2017, section 3.1) or norm_first. */
typedef struct hd_encoder_layer_params {
    hd_mha_params self_attn;
    hd_ffn_params ffn;
    hd_norm_params norm1, norm2;
    bool norm_first;
    double dropout;
} hd_encoder_layer_params;
hd_tensor *hd_encoder_layer(hd_ctx *cx, const hd_encoder_layer_params *p, hd_tensor *x,
                            const hd_attention_options *mask, bool training);

typedef struct hd_decoder_layer_params {
    hd_mha_params self_attn, multihead_attn;
    hd_ffn_params ffn;
    hd_norm_params norm1, norm2, norm3;
    bool norm_first;
    double dropout;
} hd_decoder_layer_params;
hd_tensor *hd_decoder_layer(hd_ctx *cx, const hd_decoder_layer_params *p, hd_tensor *x, hd_tensor *memory,
                            const hd_attention_options *mask, const hd_attention_options *memory_mask,
                            bool training);

/* positions.c: the table of sinusoidal positions [max_len, E] (Vaswani et al. 2017, section 3.5). */
typedef enum hd_position_layout { HD_POSITIONS_INTERLEAVED, HD_POSITIONS_HALVES } hd_position_layout;
hd_tensor *hd_sinusoidal_positions(hd_ctx *cx, int64_t max_len, int64_t d_model, int64_t first_position,
                                   hd_position_layout layout, const double *rates /* NULL: 10000^(-2i/E) */);

#endif
