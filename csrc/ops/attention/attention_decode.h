/* attention_decode.h: what forward (attention_decode.c) and backward (attention_decode_backward.c) of attention of few queries share:
 * how keys are cut into splits, and the scores of one query against a split.
 */
#ifndef HD_ATTENTION_DECODE_H
#define HD_ATTENTION_DECODE_H

#include "ops/attention/attention_task.h"

#include "kernels/kernels.h"

typedef struct hd_decode {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    int64_t size;           /* bytes of an element */
    int64_t row;            /* elements of a row of random numbers */
    int64_t longest;        /* queries of a sequence */
    int64_t split;          /* keys, at most; by the sizes alone */
    int64_t splits;         /* of the longest sequence */
    int64_t features;       /* of a partial sum: Dv forward, D backward */
    bool parts;             /* sums of splits are kept apart; else there is one, and it is written at once */
    char *sums;             /* [B, H, L, splits, features] */
    double *logs;           /* [B, H, L, splits] */
    char *scratch;          /* of each worker: what the caller reserved, a row of bias, bytes of a row */
    size_t reserved, whole; /* bytes that the caller reserved, and of all that a worker has */
} hd_decode;

/* A split of the keys of one sequence. */
typedef struct hd_key_split {
    const hd_decode *all;
    hd_span span;
    int64_t h;             /* of the queries */
    int64_t part, j, keys; /* keys [j, j + keys) of the tensor: those that are seen at all */
    bool hides;            /* some of them, from some query */
    char *scratch, *bias;
    uint8_t *see;
} hd_key_split;

/* Cuts the keys. Then all->reserved may be set to the bytes that each worker wants, and hd_decode_alloc makes them. */
void hd_decode_cut(hd_ctx *cx, const hd_attention_task *a, int64_t features, hd_decode *all);
hd_status hd_decode_alloc(hd_ctx *cx, hd_decode *all);
/* Split `part` of a sequence. Without queries, or where none of its keys is seen, it has no keys. */
void hd_decode_take(const hd_decode *all, int64_t sequence, int64_t part, int worker, hd_key_split *s);
/* Scores q k^T of row i of head s->h become weights that add up to 1; returns the log of their sum. cap (NULL: not wanted):
 * the slope of the softcap. */
double hd_decode_softmax(hd_key_split *s, int64_t i, char *x, char *cap);
/* Where sums of the rows of head s->h go, those of out or dq, `step` elements from one to the next. */
char *hd_decode_sums(const hd_key_split *s, const hd_heads *whole, int64_t *step);

/* Rows of keys or values, `step` bytes from one to the next. widen writes one to line in the task's dtype;
 * NULL: they are of it. */
typedef struct hd_decode_rows {
    const char *x;
    int64_t step;
    void (*widen)(int64_t keys, int64_t features, const void *x, int64_t row, void *to);
    char *line;
} hd_decode_rows;
/* to = scale times the sum of the rows by their weights. Rows without a weight are left out: 0 times NaN is NaN. */
void hd_decode_accumulate_seen(const hd_decode *all, int64_t keys, int64_t features, double scale,
                               const char *weights, const hd_decode_rows *rows, char *to);

static inline char *hd_decode_at(const hd_decode *all, const hd_heads *t, int64_t batch, int64_t head,
                                 int64_t row) {
    return t->data + (batch * t->batch + head * t->head + row * t->row) * all->size;
}
static inline char *hd_decode_queries(const hd_key_split *s, const hd_heads *t) {
    return hd_decode_at(s->all, t, s->span.batch, s->h, s->span.q_first);
}
/* Of all rows [B, H, L]. */
static inline int64_t hd_decode_row(const hd_key_split *s, int64_t i) {
    const hd_attention_task *a = s->all->a;
    return (s->span.batch * a->H + s->h) * a->L + s->span.q_first + i;
}

#endif
