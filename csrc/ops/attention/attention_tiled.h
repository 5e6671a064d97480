/* attention_tiled.h: what forward (attention_tiled.c) and backward (attention_tiled_backward.c) of attention by lanes
 * share: the scratch of a worker, and the scores of a block of queries against a block of keys.
 */
#ifndef HD_ATTENTION_TILED_H
#define HD_ATTENTION_TILED_H

#include "ops/attention/attention.h"

#include "kernels/kernels.h"

/* Offsets into a worker's scratch. All lies across: a column for every query of the block. */
typedef struct hd_lane_rooms {
    size_t q, g, o, dq;                /* [features][lanes] */
    size_t s, ds, cap, bias;           /* [keys of a block][lanes] */
    size_t best, largest, sum, factor; /* [lanes] */
    size_t lse, inverse, delta;
    size_t size;
} hd_lane_rooms;

/* Rows of the keys or values of one head, of what is computed with: key j starts at data + (j - first) · row elements. */
typedef struct hd_lane_rows {
    const char *data;
    int64_t row, first;
} hd_lane_rows;

typedef struct hd_lanes {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    const hd_attention_kernels *k; /* of them */
    int64_t size;                  /* bytes of an element */
    int64_t row;                   /* elements of a row of random numbers */
    int64_t longest, most_keys;    /* of a sequence */
    int64_t blocks;                /* of queries, in the longest sequence */
    int64_t together;              /* blocks that a task goes through at a time */
    double q_scale;                /* of q on its way to products */
    hd_lane_rooms at;
    char *scratch;
    int64_t
        wide_keys; /* of keys and values stored as f16 or bf16 so many at a time are widened; 0: they are read as they lie */
    char *wide; /* for each worker [wide_keys, D] and [wide_keys, Dv] */
} hd_lanes;

/* A block of queries of one head, against one block of keys at a time. */
typedef struct hd_lane_block {
    const hd_lanes *all;
    char *room, *wide;
    hd_span span;
    int64_t h, hk;
    int64_t i, count; /* queries, of the whole tensor */
    int64_t shift;    /* key j is at the position of query i when j = i + shift */
    bool finite;      /* every row of queries (and of gradients) of the block */
    bool careful;     /* what is hidden may be NaN or infinite, and is looked at */
    bool hides;       /* something of what it met was hidden */
    hd_lane_rows k, v;
    hd_ahead *ahead; /* what is fetched meanwhile; NULL: nothing */
    /* of the block of keys: */
    int64_t j, keys;
    hd_halves halves; /* that see any of it */
    bool all_seen;    /* by all queries of those halves */
    uint32_t bits[HD_BLOCK_KEYS], kept[HD_BLOCK_KEYS];
} hd_lane_block;

/* Scratch for every worker, until hd_lanes_end. */
hd_status hd_lanes_begin(hd_ctx *cx, const hd_attention_task *a, bool backward, hd_lanes *all);
/* Room for `keys` keys and values of every worker, where they must be widened. */
hd_status hd_lanes_begin_wide(hd_ctx *cx, int64_t keys, hd_lanes *all);
void hd_lanes_end(hd_ctx *cx, hd_lanes *all);

static inline void *hd_lane_room(const hd_lane_block *b, size_t at) {
    return b->room + at;
}
static inline char *hd_heads_row(const hd_lanes *all, const hd_heads *t, int64_t batch, int64_t head,
                                 int64_t row) {
    return t->data + (batch * t->batch + head * t->head + row * t->row) * all->size;
}
static inline char *hd_lane_queries(const hd_lane_block *b, const hd_heads *t) {
    return hd_heads_row(b->all, t, b->span.batch, b->h, b->i);
}
static inline char *hd_lane_keys(const hd_lane_block *b, const hd_heads *t) {
    return hd_heads_row(b->all, t, b->span.batch, b->hk, b->j);
}
/* The same keys as rows of what is computed with. */
static inline const char *hd_lane_rows_of(const hd_lane_block *b, const hd_lane_rows *x) {
    return x->data + (b->j - x->first) * x->row * b->all->size;
}
static inline char *hd_lane_wide(const hd_lanes *all, int worker) {
    const hd_attention_task *a = all->a;
    return all->wide ? all->wide + worker * all->wide_keys * (a->D + a->Dv) * all->size : NULL;
}
static inline const uint32_t *hd_lane_bits(const hd_lane_block *b) {
    return b->all_seen ? NULL : b->bits;
}
/* Of all rows [B, H, L] of weights. */
static inline int64_t hd_lane_row(const hd_lane_block *b) {
    return (b->span.batch * b->all->a->H + b->h) * b->all->a->L + b->i;
}

/* Queries [first, first + lanes) of the sequence, as many as there are, become the block. */
void hd_lanes_place(hd_lane_block *b, int64_t first);
/* Their q lies across. */
void hd_lanes_take(hd_lane_block *b);
/* b->k and b->v become rows of the keys [from, to) of the sequence, wide_keys at most where they are widened. */
void hd_lanes_load_keys(hd_lane_block *b, int64_t from, int64_t to);
/* What forward left of the block. */
void hd_lanes_load_lse(hd_lane_block *b);
/* The keys [*from, *to) of the sequence that the block has to do with, within what they were. */
void hd_lanes_narrow(const hd_lane_block *b, int64_t *from, int64_t *to);
/* Moves to a block of keys that starts at `from` and ends before `to`: as many (b->keys) as are seen in one way. False:
 * nothing of them is seen. */
bool hd_lanes_look(hd_lane_block *b, int64_t from, int64_t to);
/* The scores of the block, in room s; `best` (NULL: not wanted) keeps the largest. cap: the slope of the softcap too. */
void hd_lanes_score(hd_lane_block *b, void *best, bool cap);
/* Which weights of the block stay. */
void hd_lanes_draw(hd_lane_block *b);
/* o[features][lanes] = o · factor + sum over the keys of the block of p x. A careful block is not touched in a lane by
 * what this does not see; in another, 0 · NaN may come of it. */
void hd_lanes_mix(const hd_lane_block *b, int64_t features, const hd_lane_rows *x, const void *p,
                  const void *factor, void *o);

#endif
