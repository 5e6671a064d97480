/* attention_few.h: what forward (attention_few.c) and backward (attention_few_backward.c) of attention of few queries share.
 */
#ifndef HD_ATTENTION_FEW_H
#define HD_ATTENTION_FEW_H

#include "ops/attention.h"

#include "kernels/gemm_tile.h"
#include "kernels/kernels.h"

enum { HD_FEW_STRETCH = 512 /* keys */ };

typedef struct hd_few {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    const hd_gemm_tile *tile;
    int64_t size;      /* bytes of an element */
    int64_t row;       /* elements of a row of random numbers */
    int64_t stretches; /* of the longest sequence */
    int64_t features;  /* of a partial sum: Dv forward, D backward */
    bool parts;        /* sums of stretches are kept apart; else there is one, and it is written at once */
    char *sums;        /* [B, H, L, stretches, features] */
    double *logs;      /* [B, H, L, stretches] */
    char *scratch;     /* of each worker: `rooms` times [queries][stretch], a row of bias, bytes of a row */
    int64_t scratch_size, room_size;
} hd_few;

/* A stretch of the keys of one head. */
typedef struct hd_few_stretch {
    const hd_few *all;
    hd_span span;
    int64_t h, hk, part, j, keys; /* keys [j, j + keys) of the tensor */
    bool hides;                   /* some of them, from some query */
    char *scores;                 /* the first of the rooms: [queries][keys] */
    char *bias;
    uint8_t *see;
} hd_few_stretch;

hd_status hd_few_begin(hd_ctx *cx, const hd_attention_task *a, int64_t features, int rooms, hd_few *all);
/* The stretch of a task; false: its sequence has no queries. */
bool hd_few_take(const hd_few *all, int64_t task, int worker, hd_few_stretch *s);
/* On to head h; false: nothing of the stretch is seen by it. */
bool hd_few_head(hd_few_stretch *s, int64_t h);
/* Scores q k^T of row i become weights that add up to 1; returns the log of their sum. cap (NULL: not wanted): the
 * slope of the softcap. */
double hd_few_weigh(hd_few_stretch *s, int64_t i, char *x, char *cap);
/* Where sums of the rows go, those of out or dq, `step` elements from one to the next. */
char *hd_few_sums(const hd_few_stretch *s, const hd_heads *whole, int64_t *step);
/* to_i = alpha sum_n x_in y_n for all rows; y of which some is hidden may be NaN there. */
void hd_few_mix(const hd_few_stretch *s, double alpha, const char *x, const hd_heads *y, int64_t features,
                char *to, int64_t step);

static inline char *hd_few_at(const hd_few *all, const hd_heads *t, int64_t batch, int64_t head,
                              int64_t row) {
    return t->data + (batch * t->batch + head * t->head + row * t->row) * all->size;
}
static inline char *hd_few_queries(const hd_few_stretch *s, const hd_heads *t) {
    return hd_few_at(s->all, t, s->span.batch, s->h, s->span.q_first);
}
static inline char *hd_few_keys(const hd_few_stretch *s, const hd_heads *t) {
    return hd_few_at(s->all, t, s->span.batch, s->hk, s->j);
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
