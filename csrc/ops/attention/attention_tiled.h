/* attention_tiled.h: what forward (attention_tiled.c) and backward (attention_tiled_backward.c) of tiled attention
 * share: the scratch of a worker, and the scores of a block of queries against a block of keys.
 */
#ifndef HD_ATTENTION_TILED_H
#define HD_ATTENTION_TILED_H

#include "ops/attention/attention_task.h"

#include "kernels/kernels.h"

/* Offsets into a worker's scratch. All lies across: a column for every query of the block. */
typedef struct hd_tile_layout {
    size_t q, g, o, dq;                /* [features][lanes] */
    size_t s, ds, cap, bias;           /* [keys of a block][lanes] */
    size_t best, largest, sum, factor; /* [lanes] */
    size_t lse, inverse, delta;
    size_t size;
} hd_tile_layout;

/* Rows of the keys or values of one head, of what is computed with: key j starts at data + (j - first) · row elements. */
typedef struct hd_tile_rows {
    const char *data;
    int64_t row, first;
} hd_tile_rows;

typedef struct hd_tiled {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    const hd_attention_kernels *k; /* of them */
    int64_t size;                  /* bytes of an element */
    int64_t row;                   /* elements of a row of random numbers */
    int64_t longest, most_keys;    /* of a sequence */
    int64_t blocks;                /* of queries, in the longest sequence */
    int64_t together;              /* blocks that a task goes through at a time */
    double q_scale;                /* of q on its way to products */
    hd_tile_layout at;
    char *scratch;
    int64_t
        wide_keys; /* of keys and values stored as f16 or bf16 so many at a time are widened; 0: they are read as they lie */
    char *wide; /* for each worker [wide_keys, D] and [wide_keys, Dv] */
} hd_tiled;

/* A block of queries of one head, against one block of keys at a time. */
typedef struct hd_query_tile {
    const hd_tiled *all;
    char *scratch, *wide;
    hd_span span;
    int64_t h, hk;
    int64_t i, count; /* queries, of the whole tensor */
    int64_t shift;    /* key j is at the position of query i when j = i + shift */
    bool finite;      /* every row of queries (and of gradients) of the block */
    bool careful;     /* what is hidden may be NaN or infinite, and is looked at */
    bool hides;       /* something of what it met was hidden */
    hd_tile_rows k, v;
    hd_ahead *ahead; /* what is fetched meanwhile; NULL: nothing */
    /* of the block of keys: */
    int64_t j, keys;
    hd_halves halves; /* that see any of it */
    bool all_seen;    /* by all queries of those halves */
    uint32_t bits[HD_BLOCK_KEYS], kept[HD_BLOCK_KEYS];
} hd_query_tile;

/* Scratch for every worker, until hd_tiled_end. */
hd_status hd_tiled_begin(hd_ctx *cx, const hd_attention_task *a, bool backward, hd_tiled *all);
/* Scratch for `keys` keys and values of every worker, where they must be widened. */
hd_status hd_tiled_begin_wide(hd_ctx *cx, int64_t keys, hd_tiled *all);
void hd_tiled_end(hd_ctx *cx, hd_tiled *all);

static inline void *hd_tile_scratch(const hd_query_tile *b, size_t at) {
    return b->scratch + at;
}
static inline char *hd_heads_row(const hd_tiled *all, const hd_heads *t, int64_t batch, int64_t head,
                                 int64_t row) {
    return t->data + (batch * t->batch + head * t->head + row * t->row) * all->size;
}
static inline char *hd_tile_queries(const hd_query_tile *b, const hd_heads *t) {
    return hd_heads_row(b->all, t, b->span.batch, b->h, b->i);
}
static inline char *hd_tile_keys(const hd_query_tile *b, const hd_heads *t) {
    return hd_heads_row(b->all, t, b->span.batch, b->hk, b->j);
}
/* The same keys as rows of what is computed with. */
static inline const char *hd_tile_rows_of(const hd_query_tile *b, const hd_tile_rows *x) {
    return x->data + (b->j - x->first) * x->row * b->all->size;
}
static inline char *hd_tile_wide(const hd_tiled *all, int worker) {
    const hd_attention_task *a = all->a;
    return all->wide ? all->wide + worker * all->wide_keys * (a->D + a->Dv) * all->size : NULL;
}
static inline const uint32_t *hd_tile_bits(const hd_query_tile *b) {
    return b->all_seen ? NULL : b->bits;
}
/* Of all rows [B, H, L] of weights. */
static inline int64_t hd_tile_row(const hd_query_tile *b) {
    return (b->span.batch * b->all->a->H + b->h) * b->all->a->L + b->i;
}

/* Queries [first, first + lanes) of the sequence, as many as there are, become the block. */
void hd_tiled_place(hd_query_tile *b, int64_t first);
/* Their q lies across. */
void hd_tiled_take(hd_query_tile *b);
/* b->k and b->v become rows of the keys [from, to) of the sequence, wide_keys at most where they are widened. */
void hd_tiled_load_keys(hd_query_tile *b, int64_t from, int64_t to);
/* What forward left of the block. */
void hd_tiled_load_lse(hd_query_tile *b);
/* The keys [*from, *to) of the sequence that the block has to do with, within what they were. */
void hd_tiled_narrow(const hd_query_tile *b, int64_t *from, int64_t *to);
/* Moves to a block of keys that starts at `from` and ends before `to`: as many (b->keys) as are seen in one way. False:
 * nothing of them is seen. */
bool hd_tiled_look(hd_query_tile *b, int64_t from, int64_t to);
/* The scores of the block, in scratch s; `best` (NULL: not wanted) keeps the largest. cap: the slope of the softcap too. */
void hd_tiled_score(hd_query_tile *b, void *best, bool cap);
/* Which weights of the block stay. */
void hd_tiled_draw(hd_query_tile *b);
/* o[features][lanes] = o · factor + sum over the keys of the block of p x. A careful block is not touched in a lane by
 * what this does not see; in another, 0 · NaN may come of it. */
void hd_tiled_accumulate(const hd_query_tile *b, int64_t features, const hd_tile_rows *x, const void *p,
                         const void *factor, void *o);

#endif
