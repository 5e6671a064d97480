/* attention.h: what attention's rules (attention.c) and its computation (attention_lanes*.c, and attention_pairs.c for
 * short sequences) say to each other. The computation is given everything resolved, and allocates only scratch.
 */
#ifndef HD_ATTENTION_H
#define HD_ATTENTION_H

#include "ops/attention_mask.h"
#include "ops/ops.h"

/* Rows of features of one of q, k, v, out or their gradients, by batch entry, head and position. Strides in
 * elements; features are contiguous. data NULL: not there, or not wanted. */
typedef struct hd_heads {
    char *data;
    int64_t batch, head, row;
} hd_heads;

typedef struct hd_attention_task {
    hd_dtype dtype;
    int64_t B, H, Hk, L, S, D, Dv;  /* query head h reads key head h / (H / Hk) */
    double scale, softcap, dropout; /* softcap, dropout 0: none */
    hd_draw draw;                   /* of the weights: see hd_attention_row */
    const hd_sight *sight; /* who is seen: the whole of it; without its steps from `rest` on, without: */
    int rest;
    bool causal;
    const int64_t *lengths; /* of keys, [B]; NULL: all S */
    int64_t lengths_stride;
    hd_score_map bias;
    const double *slopes; /* of ALiBi, [H]: slope · |p - j| is taken off; NULL: none */
    hd_heads q, k, v;
    hd_heads out; /* forward: written; backward by lanes: read */
    char *lse; /* [B, H, L] log2 of the sums of weights: forward: written; backward: read; by lanes alone */
    char *weights;       /* forward: [B, H, L, S], written; NULL: not wanted */
    hd_heads g;          /* backward: gradient of out */
    hd_heads dq, dk, dv; /* backward: written */
    char *dbias;         /* backward: [B, H, L, S], written; NULL: not wanted */
    /* Sequences one behind the other instead of batch entries (then B is 1): sequence s has the queries
     * [q_starts[s], q_starts[s + 1]) and the keys [k_starts[s], k_starts[s + 1]), and sees no others. NULL:
     * none. */
    const int64_t *q_starts, *k_starts;
    int64_t sequences; /* B without starts */
} hd_attention_task;

/* Where sequence s lies: `batch` is its entry in tensors, queries and keys count from q_first and k_first
 * there. */
typedef struct hd_span {
    int64_t batch, q_first, L, k_first, S;
} hd_span;

static inline hd_span hd_span_of(const hd_attention_task *a, int64_t s) {
    if (!a->q_starts) return (hd_span){s, 0, a->L, 0, a->S};
    return (hd_span){0, a->q_starts[s], a->q_starts[s + 1] - a->q_starts[s], a->k_starts[s],
                     a->k_starts[s + 1] - a->k_starts[s]};
}

/* Query i of a sequence may see its keys [0, hd_visible_keys), less what mask and bias hide. Never falls as i
 * grows. */
static inline int64_t hd_visible_keys(const hd_attention_task *a, const hd_span *s, int64_t i) {
    int64_t n = s->S;
    if (a->lengths && a->lengths[s->batch * a->lengths_stride] < n)
        n = a->lengths[s->batch * a->lengths_stride];
    if (a->causal && s->S - s->L + i + 1 < n) n = s->S - s->L + i + 1;
    return n > 0 ? n : 0;
}

/* Rows of weights start at whole blocks of random numbers, whatever S is: weight j of row `row` (of all [B,
 * H, L], S keys at most) is element row * hd_attention_row(S) + j of the draw. */
static inline int64_t hd_attention_row(int64_t S) {
    return (S + 15) / 16 * 16;
}

/* Does attention go by lanes, blocks of queries, and need out and lse in backward? Else by pairs. */
bool hd_attention_by_lanes(const hd_attention_task *a);
hd_status hd_attention_lanes_forward(hd_ctx *cx, const hd_attention_task *a);
hd_status hd_attention_lanes_backward(hd_ctx *cx, const hd_attention_task *a);
hd_status hd_attention_pairs_forward(hd_ctx *cx, const hd_attention_task *a);
hd_status hd_attention_pairs_backward(hd_ctx *cx, const hd_attention_task *a);

/* Entries [first, first + n) of row (b, h, i) of a bias: where they lie when they are contiguous, else copied into
 * room. NULL: none. (attention_mask.c) */
const void *hd_bias_row(const hd_score_map *bias, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                        void *room);

#endif
