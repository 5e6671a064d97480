/* attention_task.h: what attention's rules (attention.c) and its computation (attention_tiled.c,
 * attention_tiled_backward.c and, for few queries, attention_decode.c) say to each other. The computation is
 * given everything resolved, and allocates only scratch.
 */
#ifndef HD_ATTENTION_TASK_H
#define HD_ATTENTION_TASK_H

#include "ops/attention/resolved_mask.h"
#include "ops/ops.h"

/* Rows of features of one of q, k, v, out or their gradients, by batch entry, head and position. Strides in
 * elements; features are contiguous. data NULL: not there, or not wanted. */
typedef struct hd_heads {
    char *data;
    int64_t batch, head, row;
} hd_heads;

/* The gradient of a bias, seen as [B, H, L, S]; strides of 0 where the bias is repeated: what belongs to one
 * entry is added. */
typedef struct hd_bias_gradient {
    char *data; /* zeros at first; NULL: not wanted */
    int64_t stride[4];
} hd_bias_gradient;

typedef struct hd_attention_task {
    hd_dtype dtype;                 /* f32 or f64: of all but k and v */
    hd_dtype key_dtype;             /* the same, or f16 or bf16 beside f32 */
    int64_t B, H, Hk, L, S, D, Dv;  /* query head h reads key head h / (H / Hk) */
    double scale, softcap, dropout; /* softcap, dropout 0: none */
    hd_draw draw;                   /* of the weights: see hd_attention_row */
    const hd_mask_resolved *mask;   /* who is seen */
    hd_score_map bias;
    const double *slopes; /* of ALiBi, [H]: slope · |p - j| is taken off; NULL: none */
    hd_heads q, k, v;
    hd_heads out; /* forward: written; backward: read */
    char
        *lse; /* [B, H, L], log2 of the sums of 2^score; forward: written, NULL: not wanted; backward: read */
    char *weights;          /* forward: [B, H, L, S], written; NULL: not wanted */
    hd_heads g;             /* backward: gradient of out */
    hd_heads dq, dk, dv;    /* backward: written */
    hd_bias_gradient dbias; /* backward */
    /* Sequences one behind the other instead of batch entries (then B is 1): sequence s has the queries
     * [q_starts[s], q_starts[s + 1]) and the keys [k_starts[s], k_starts[s + 1]), and sees no others. NULL:
     * none. */
    const int64_t *q_starts, *k_starts;
    int64_t sequences;   /* B without starts */
    const int64_t *ends; /* [B]: entry b has so many keys, not S; NULL: all have S */
} hd_attention_task;

/* Where sequence s lies: `batch` is its entry in tensors, queries and keys count from q_first and k_first
 * there. */
typedef struct hd_span {
    int64_t batch, q_first, L, k_first, S;
} hd_span;

static inline hd_span hd_span_of(const hd_attention_task *a, int64_t s) {
    if (!a->q_starts) return (hd_span){s, 0, a->L, 0, a->ends ? a->ends[s] : a->S};
    return (hd_span){0, a->q_starts[s], a->q_starts[s + 1] - a->q_starts[s], a->k_starts[s],
                     a->k_starts[s + 1] - a->k_starts[s]};
}

/* The most queries, and the most keys, that one sequence has. */
static inline void hd_attention_longest(const hd_attention_task *a, int64_t *queries, int64_t *keys) {
    *queries = *keys = 0;
    for (int64_t s = 0; s < a->sequences; s++) {
        hd_span span = hd_span_of(a, s);
        if (span.L > *queries) *queries = span.L;
        if (span.S > *keys) *keys = span.S;
    }
}

/* Rows of weights start at whole blocks of random numbers, whatever S is: weight j of row `row` (of all [B,
 * H, L], S keys at most) is element row * hd_attention_row(S) + j of the draw. */
static inline int64_t hd_attention_row(int64_t S) {
    return (S + 15) / 16 * 16;
}

/* The way is chosen by the sizes: queries as lanes of vectors, or few queries against splits of keys.
 * Both leave the same for backward, which chooses by itself. */
hd_status hd_attention_forward(hd_ctx *cx, const hd_attention_task *a);
hd_status hd_attention_backward(hd_ctx *cx, const hd_attention_task *a);
hd_status hd_attention_decode_forward(hd_ctx *cx, const hd_attention_task *a);
hd_status hd_attention_decode_backward(hd_ctx *cx, const hd_attention_task *a);

/* The starts of packed sequences, when there are any: HD_EARG when they do not fit scores = B, H, L, S.
 * (attention.c) */
hd_status hd_check_starts(hd_ctx *cx, const hd_attention_options *o, const int64_t scores[4]);

#endif
