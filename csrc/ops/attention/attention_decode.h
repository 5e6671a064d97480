/* attention_decode.h: what forward (attention_decode.c) and backward (attention_decode_backward.c) of attention of few queries share:
 * how keys are cut into stretches, and the scores of one query against a stretch.
 */
#ifndef HD_ATTENTION_DECODE_H
#define HD_ATTENTION_DECODE_H

#include "ops/attention/attention.h"

#include "kernels/kernels.h"

typedef struct hd_few {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    int64_t size;       /* bytes of an element */
    int64_t row;        /* elements of a row of random numbers */
    int64_t longest;    /* queries of a sequence */
    int64_t stretch;    /* keys, at most; by the sizes alone */
    int64_t stretches;  /* of the longest sequence */
    int64_t features;   /* of a partial sum: Dv forward, D backward */
    bool parts;         /* sums of stretches are kept apart; else there is one, and it is written at once */
    char *sums;         /* [B, H, L, stretches, features] */
    double *logs;       /* [B, H, L, stretches] */
    char *scratch;      /* of each worker: a room of the caller's, a row of bias, bytes of a row */
    size_t room, whole; /* bytes of the room, of all that a worker has */
} hd_few;

/* A stretch of the keys of one sequence. */
typedef struct hd_few_stretch {
    const hd_few *all;
    hd_span span;
    int64_t h;             /* of the queries */
    int64_t part, j, keys; /* keys [j, j + keys) of the tensor: those that are seen at all */
    bool hides;            /* some of them, from some query */
    char *room, *bias;
    uint8_t *see;
} hd_few_stretch;

/* Cuts the keys. Then all->room may be set to the bytes that each worker wants, and hd_few_alloc makes them. */
void hd_few_cut(hd_ctx *cx, const hd_attention_task *a, int64_t features, hd_few *all);
hd_status hd_few_alloc(hd_ctx *cx, hd_few *all);
/* Stretch `part` of a sequence. Without queries, or where none of its keys is seen, it has no keys. */
void hd_few_take(const hd_few *all, int64_t sequence, int64_t part, int worker, hd_few_stretch *s);
/* Scores q k^T of row i of head s->h become weights that add up to 1; returns the log of their sum. cap (NULL: not wanted):
 * the slope of the softcap. */
double hd_few_weigh(hd_few_stretch *s, int64_t i, char *x, char *cap);
/* Where sums of the rows of head s->h go, those of out or dq, `step` elements from one to the next. */
char *hd_few_sums(const hd_few_stretch *s, const hd_heads *whole, int64_t *step);

static inline char *hd_few_at(const hd_few *all, const hd_heads *t, int64_t batch, int64_t head,
                              int64_t row) {
    return t->data + (batch * t->batch + head * t->head + row * t->row) * all->size;
}
static inline char *hd_few_queries(const hd_few_stretch *s, const hd_heads *t) {
    return hd_few_at(s->all, t, s->span.batch, s->h, s->span.q_first);
}
/* Of all rows [B, H, L]. */
static inline int64_t hd_few_row(const hd_few_stretch *s, int64_t i) {
    const hd_attention_task *a = s->all->a;
    return (s->span.batch * a->H + s->h) * a->L + s->span.q_first + i;
}
static inline double hd_few_element(const hd_few *all, const char *x, int64_t i) {
    return all->a->dtype == HD_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

#endif
