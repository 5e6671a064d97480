/* attention_decode_backward.c: the gradients of attention of few queries, by the same splits of keys as forward. Each
 * split writes its own rows of dk and dv; what it adds to dq is kept apart, and summed at the end in their order.
 */
#include "ops/attention/attention_bias.h"
#include "base/minmax.h"
#include "ops/attention/attention_decode.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/gemm_tile.h"
#include "ops/elementwise/element.h"

#include <math.h>
#include <string.h>

/* The parts of a worker's scratch, [queries][keys] each: weights, weights through dropout, gradients, slopes of the softcap. */
enum { P, W, DS, CAP, PARTS_OF_SCRATCH };

typedef struct backward {
    hd_decode decode;
    const hd_gemm_tile *tile;
} backward;

/* A split of the keys of one head, for one of the query heads that share it. */
typedef struct head {
    hd_key_split s;
    const hd_gemm_tile *tile;
    int64_t hk;
} head;

static char *scratch_of(const hd_key_split *s, int which, int64_t i) {
    const hd_decode *all = s->all;
    return s->scratch + (which * all->longest * all->split + i * s->keys) * all->size;
}

static char *keys_of(const head *b, const hd_heads *t) {
    return hd_decode_at(b->s.all, t, b->s.span.batch, b->hk, b->s.j);
}

/* ---- scores ------------------------------------------------------------------------------------------ */

/* p = p · factor; ds = w dp - p delta, with dp in its place; ds = ds · cap. Where p or w is 0 (hidden, dropped), what stands
 * beside it is not looked at: it may be NaN. */
#define ROWS_OF(T)                                                                                           \
    static void rescale_##T(int64_t n, T factor, T *p) {                                                     \
        for (int64_t j = 0; j < n; j++) p[j] = p[j] == 0 ? 0 : p[j] * factor;                                \
    }                                                                                                        \
    static void slopes_##T(int64_t n, const T *p, const T *w, T delta, T *ds) {                              \
        for (int64_t j = 0; j < n; j++) {                                                                    \
            const T kept = w[j] == 0 ? 0 : w[j] * ds[j];                                                     \
            ds[j] = p[j] == 0 ? 0 : kept - p[j] * delta;                                                     \
        }                                                                                                    \
    }                                                                                                        \
    static void uncap_##T(int64_t n, const T *p, const T *cap, T *ds) {                                      \
        for (int64_t j = 0; j < n; j++) ds[j] = p[j] == 0 ? 0 : ds[j] * cap[j];                              \
    }
ROWS_OF(float)
ROWS_OF(double)

/* p and w of row i, from the sums of forward. */
static void make_weights(hd_key_split *s, int64_t i) {
    const hd_decode *all = s->all;
    const hd_attention_task *a = all->a;
    const int64_t row = hd_decode_row(s, i), first = row * all->row + s->j - s->span.k_first;
    char *p = scratch_of(s, P, i), *w = scratch_of(s, W, i);
    const double log_sum = hd_decode_softmax(s, i, p, a->softcap > 0 ? scratch_of(s, CAP, i) : NULL);
    const double lse = hd_load(a->lse, a->dtype, row) * 0.69314718055994530942;
    if (log_sum != -INFINITY && a->dtype == HD_F32)
        rescale_float(s->keys, (float)exp(log_sum - lse), (float *)p);
    if (log_sum != -INFINITY && a->dtype == HD_F64) rescale_double(s->keys, exp(log_sum - lse), (double *)p);
    if (a->dropout > 0)
        all->kernels->dropout[a->dtype](a->draw, first, s->keys, a->dropout, p, w);
    else
        memcpy(w, p, (size_t)(s->keys * all->size));
}

static double delta_of(const hd_key_split *s, int64_t i) {
    const hd_decode *all = s->all;
    const hd_attention_task *a = all->a;
    double sum = 0;
    const char *g = hd_decode_queries(s, &a->g) + i * a->g.row * all->size;
    const char *o = hd_decode_queries(s, &a->out) + i * a->out.row * all->size;
    for (int64_t d = 0; d < a->Dv; d++) sum += hd_load(g, a->dtype, d) * hd_load(o, a->dtype, d);
    return sum;
}

/* To the rows of the bias, or to one entry where it is repeated along the keys. */
static void add_bias_gradient(const hd_key_split *s, int64_t i, const char *ds) {
    const hd_decode *all = s->all;
    const hd_bias_gradient *t = &all->a->dbias;
    const hd_dtype dtype = all->a->dtype;
    char *to = hd_bias_at(t, all->size, s->span.batch, s->h, s->span.q_first + i, s->j);
    if (t->stride[3] != 0)
        all->kernels->accumulate[dtype](s->keys, ds, to);
    else
        for (int64_t n = 0; n < s->keys; n++) all->kernels->accumulate[dtype](1, ds + n * all->size, to);
}

static void make_slopes(const hd_key_split *s, int64_t i) {
    const hd_attention_task *a = s->all->a;
    const int64_t n = s->keys;
    void *p = scratch_of(s, P, i), *w = scratch_of(s, W, i), *ds = scratch_of(s, DS, i);
    if (a->dtype == HD_F32)
        slopes_float(n, p, w, (float)delta_of(s, i), ds);
    else
        slopes_double(n, p, w, delta_of(s, i), ds);
    if (a->dbias.data) add_bias_gradient(s, i, ds);
    if (a->softcap > 0 && a->dtype == HD_F32) uncap_float(n, p, (float *)scratch_of(s, CAP, i), ds);
    if (a->softcap > 0 && a->dtype == HD_F64) uncap_double(n, p, (double *)scratch_of(s, CAP, i), ds);
}

/* ---- sums ------------------------------------------------------------------------------------------------ */

/* to_n += alpha sum_i x_in y_i for the keys of the split. */
static void accumulate_transposed(const head *b, double alpha, int which, const hd_heads *y, int64_t features,
                                  const hd_heads *to) {
    const hd_key_split *s = &b->s;
    const hd_decode *all = s->all;
    const hd_gemm_tile *t = b->tile;
    const int64_t size = all->size;
    const char *x = scratch_of(s, which, 0), *rows = hd_decode_queries(s, y);
    char *keys = keys_of(b, to);
    if (s->hides && !all->kernels->attention[all->a->dtype]->finite(s->span.L, features, rows, y->row)) {
        for (int64_t n = 0; n < s->keys; n++)
            for (int64_t i = 0; i < s->span.L; i++) {
                const double w = hd_load(x, all->a->dtype, i * s->keys + n);
                if (w != 0)
                    all->kernels->axpy[all->a->dtype](features, alpha * w, rows + i * y->row * size, 1,
                                                      keys + n * to->row * size, 1);
            }
        return;
    }
    for (int64_t n = 0; n < s->keys; n += t->mr)
        for (int64_t d = 0; d < features; d += t->nr)
            t->run(t, hd_min(t->mr, s->keys - n), hd_min(t->nr, features - d), s->span.L, alpha, x + n * size,
                   1, s->keys, rows + d * size, y->row, 1, keys + (n * to->row + d) * size, to->row);
}

/* to_i = alpha sum_n x_in k_n for all rows. */
static void accumulate_all(const head *b, const char *x, char *to, int64_t step) {
    const hd_attention_task *a = b->s.all->a;
    const hd_gemm_tile *t = b->tile;
    const int64_t size = b->s.all->size;
    const char *rows = keys_of(b, &a->k);
    for (int64_t i = 0; i < b->s.span.L; i += t->mr)
        for (int64_t d = 0; d < a->D; d += t->nr)
            t->run(t, hd_min(t->mr, b->s.span.L - i), hd_min(t->nr, a->D - d), b->s.keys, a->scale,
                   x + i * b->s.keys * size, b->s.keys, 1, rows + d * size, a->k.row, 0,
                   to + (i * step + d) * size, step);
}

/* What has no weight is not touched: 0 times NaN is NaN. */
static void accumulate_seen(const head *b, const char *x, char *to, int64_t step) {
    const hd_decode *all = b->s.all;
    const hd_attention_task *a = all->a;
    const hd_decode_rows rows = {.x = keys_of(b, &a->k), .step = a->k.row * all->size};
    for (int64_t i = 0; i < b->s.span.L; i++, to += step * all->size)
        hd_decode_accumulate_seen(all, b->s.keys, a->D, a->scale, x + i * b->s.keys * all->size, &rows, to);
}

static void accumulate(const head *b) {
    const hd_decode *all = b->s.all;
    const hd_attention_task *a = all->a;
    int64_t step;
    char *to = hd_decode_sums(&b->s, &a->dq, &step);
    if (b->s.hides &&
        !all->kernels->attention[a->dtype]->finite(b->s.keys, a->D, keys_of(b, &a->k), a->k.row))
        accumulate_seen(b, scratch_of(&b->s, DS, 0), to, step);
    else
        accumulate_all(b, scratch_of(&b->s, DS, 0), to, step);
}

/* ---- a split --------------------------------------------------------------------------------------- */

static void backward_head(head *b) {
    hd_key_split *s = &b->s;
    const hd_attention_task *a = s->all->a;
    b->tile->dots(s->span.L, s->keys, a->D, 1, hd_decode_queries(s, &a->q), a->q.row, keys_of(b, &a->k),
                  a->k.row, 0, scratch_of(s, P, 0), s->keys, 1);
    b->tile->dots(s->span.L, s->keys, a->Dv, 1, hd_decode_queries(s, &a->g), a->g.row, keys_of(b, &a->v),
                  a->v.row, 0, scratch_of(s, DS, 0), s->keys, 1);
    s->hides = false;
    for (int64_t i = 0; i < s->span.L; i++) {
        make_weights(s, i);
        make_slopes(s, i);
    }
    if (a->dv.data) accumulate_transposed(b, 1, W, &a->g, a->Dv, &a->dv);
    if (a->dk.data) accumulate_transposed(b, a->scale, DS, &a->q, a->D, &a->dk);
    if (a->dq.data) accumulate(b);
}

static void clear_rows(const hd_decode *all, char *rows, int64_t count, int64_t step, int64_t features) {
    for (int64_t i = 0; i < count; i++)
        memset(rows + i * step * all->size, 0, (size_t)(features * all->size));
}

static void clear_keys(const head *b, const hd_heads *t, int64_t features) {
    const hd_decode *all = b->s.all;
    const hd_span *span = &b->s.span;
    const int64_t from = hd_min(b->s.part * all->split, span->S);
    if (!t->data) return;
    clear_rows(all, hd_decode_at(all, t, span->batch, b->hk, span->k_first + from),
               hd_min(all->split, span->S - from), t->row, features);
}

static void backward_task(void *arg, int64_t task, int worker) {
    const backward *all = arg;
    const hd_attention_task *a = all->decode.a;
    const int64_t group = a->H / a->Hk, pair = task / all->decode.splits;
    head b = {.tile = all->tile, .hk = pair % a->Hk};
    hd_key_split *s = &b.s;
    hd_decode_take(&all->decode, pair / a->Hk, task % all->decode.splits, worker, s);
    clear_keys(&b, &a->dk, a->D);
    clear_keys(&b, &a->dv, a->Dv);
    if (s->span.L == 0) return;
    for (s->h = b.hk * group; s->h < (b.hk + 1) * group; s->h++) {
        int64_t step;
        if (s->keys > 0)
            backward_head(&b);
        else if (a->dq.data) {
            char *rows = hd_decode_sums(s, &a->dq, &step);
            clear_rows(&all->decode, rows, s->span.L, step, a->D);
        }
    }
}

/* dq of one row. */
static void sum_splits(void *arg, int64_t row, int worker) {
    (void)worker;
    const hd_decode *all = &((const backward *)arg)->decode;
    const hd_attention_task *a = all->a;
    char *to = hd_decode_at(all, &a->dq, row / (a->H * a->L), row / a->L % a->H, row % a->L);
    memset(to, 0, (size_t)(a->D * all->size));
    for (int64_t i = 0; i < all->splits; i++)
        all->kernels->accumulate[a->dtype](a->D, all->sums + (row * all->splits + i) * a->D * all->size, to);
}

hd_status hd_attention_decode_backward(hd_ctx *cx, const hd_attention_task *a) {
    backward all = {.tile = a->dtype == HD_F32 ? &cx->gemm->direct.f32 : &cx->gemm->direct.f64};
    hd_decode *decode = &all.decode;
    hd_decode_cut(cx, a, a->D, decode);
    decode->reserved =
        (size_t)(PARTS_OF_SCRATCH * decode->longest * decode->split * decode->size) + HD_GEMM_SLACK;
    if (hd_decode_alloc(cx, decode)) return cx->error.status;
    hd_status status = hd_bias_parallel(cx, a, decode->splits, backward_task, &all);
    if (!status && decode->parts && a->dq.data)
        status = hd_parallel(cx, a->B * a->H * a->L, sum_splits, &all);
    hd_free(cx->account, decode->scratch);
    return status;
}
