/* attention_few_backward.c: the gradients of attention of few queries, by the same stretches of keys as forward. Each
 * stretch writes its own rows of dk and dv; what it adds to dq is kept apart, and summed at the end in their order.
 */
#include "ops/attention_few.h"

#include "base/memory.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

/* Rooms of a worker, [queries][keys] each: weights, weights through dropout, gradients, slopes of the softcap. */
enum { P, W, DS, CAP, ROOMS };

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static char *room(const hd_few_stretch *s, int which, int64_t i) {
    return s->scores + which * s->all->room_size + i * s->keys * s->all->size;
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
static void make_weights(hd_few_stretch *s, int64_t i) {
    const hd_few *all = s->all;
    const hd_attention_task *a = all->a;
    const int64_t row = hd_few_row(s, i), first = row * all->row + s->j - s->span.k_first;
    char *p = room(s, P, i), *w = room(s, W, i);
    const double log_sum = hd_few_weigh(s, i, p, a->softcap > 0 ? room(s, CAP, i) : NULL);
    const double lse = hd_few_element(all, a->lse, row) * 0.69314718055994530942;
    if (log_sum != -INFINITY && a->dtype == HD_F32)
        rescale_float(s->keys, (float)exp(log_sum - lse), (float *)p);
    if (log_sum != -INFINITY && a->dtype == HD_F64) rescale_double(s->keys, exp(log_sum - lse), (double *)p);
    if (a->dropout > 0)
        all->kernels->dropout[a->dtype](a->draw, first, s->keys, a->dropout, p, w);
    else
        memcpy(w, p, (size_t)(s->keys * all->size));
}

static double delta_of(const hd_few_stretch *s, int64_t i) {
    const hd_few *all = s->all;
    const hd_attention_task *a = all->a;
    double sum = 0;
    const char *g = hd_few_queries(s, &a->g) + i * a->g.row * all->size;
    const char *o = hd_few_queries(s, &a->out) + i * a->out.row * all->size;
    for (int64_t d = 0; d < a->Dv; d++) sum += hd_few_element(all, g, d) * hd_few_element(all, o, d);
    return sum;
}

static void make_slopes(const hd_few_stretch *s, int64_t i) {
    const hd_attention_task *a = s->all->a;
    const int64_t n = s->keys;
    void *p = room(s, P, i), *w = room(s, W, i), *ds = room(s, DS, i);
    if (a->dtype == HD_F32)
        slopes_float(n, p, w, (float)delta_of(s, i), ds);
    else
        slopes_double(n, p, w, delta_of(s, i), ds);
    if (a->dbias)
        memcpy(a->dbias + (hd_few_row(s, i) * a->S + s->j) * s->all->size, ds, (size_t)(n * s->all->size));
    if (a->softcap > 0 && a->dtype == HD_F32) uncap_float(n, p, (float *)room(s, CAP, i), ds);
    if (a->softcap > 0 && a->dtype == HD_F64) uncap_double(n, p, (double *)room(s, CAP, i), ds);
}

/* ---- sums over queries --------------------------------------------------------------------------------- */

/* to_n += alpha sum_i x_in y_i for the keys of the stretch. */
static void spill(const hd_few_stretch *s, double alpha, int which, const hd_heads *y, int64_t features,
                  const hd_heads *to) {
    const hd_few *all = s->all;
    const hd_gemm_tile *t = all->tile;
    const int64_t size = all->size;
    const char *x = room(s, which, 0), *rows = hd_few_queries(s, y);
    char *keys = hd_few_keys(s, to);
    if (s->hides && !all->kernels->attention[all->a->dtype]->finite(s->span.L, features, rows, y->row)) {
        for (int64_t n = 0; n < s->keys; n++)
            for (int64_t i = 0; i < s->span.L; i++) {
                const double w = hd_few_element(all, x, i * s->keys + n);
                if (w != 0)
                    all->kernels->axpy[all->a->dtype](features, alpha * w, rows + i * y->row * size, 1,
                                                      keys + n * to->row * size, 1);
            }
        return;
    }
    for (int64_t n = 0; n < s->keys; n += t->mr)
        for (int64_t d = 0; d < features; d += t->nr)
            t->run(t, least(t->mr, s->keys - n), least(t->nr, features - d), s->span.L, alpha, x + n * size,
                   1, s->keys, rows + d * size, y->row, 1, keys + (n * to->row + d) * size, to->row);
}

/* ---- a stretch --------------------------------------------------------------------------------------- */

static void backward_head(hd_few_stretch *s) {
    const hd_few *all = s->all;
    const hd_attention_task *a = all->a;
    all->tile->dots(s->span.L, s->keys, a->D, 1, hd_few_queries(s, &a->q), a->q.row, hd_few_keys(s, &a->k),
                    a->k.row, 0, room(s, P, 0), s->keys, 1);
    all->tile->dots(s->span.L, s->keys, a->Dv, 1, hd_few_queries(s, &a->g), a->g.row, hd_few_keys(s, &a->v),
                    a->v.row, 0, room(s, DS, 0), s->keys, 1);
    for (int64_t i = 0; i < s->span.L; i++) {
        make_weights(s, i);
        make_slopes(s, i);
    }
    if (a->dv.data) spill(s, 1, W, &a->g, a->Dv, &a->dv);
    if (a->dk.data) spill(s, a->scale, DS, &a->q, a->D, &a->dk);
    if (!a->dq.data) return;
    int64_t step;
    char *to = hd_few_sums(s, &a->dq, &step);
    hd_few_mix(s, a->scale, room(s, DS, 0), &a->k, a->D, to, step);
}

static void clear_rows(const hd_few *all, char *rows, int64_t count, int64_t step, int64_t features) {
    for (int64_t i = 0; i < count; i++)
        memset(rows + i * step * all->size, 0, (size_t)(features * all->size));
}

static void backward_task(void *arg, int64_t task, int worker) {
    const hd_few *all = arg;
    const hd_attention_task *a = all->a;
    const int64_t group = a->H / a->Hk;
    hd_few_stretch s;
    const bool any = hd_few_take(all, task, worker, &s);
    const int64_t from = least(s.part * HD_FEW_STRETCH, s.span.S);
    s.j = s.span.k_first + from;
    const int64_t keys = least(HD_FEW_STRETCH, s.span.S - from);
    if (a->dk.data) clear_rows(all, hd_few_keys(&s, &a->dk), keys, a->dk.row, a->D);
    if (a->dv.data) clear_rows(all, hd_few_keys(&s, &a->dv), keys, a->dv.row, a->Dv);
    for (int64_t h = s.hk * group; any && h < (s.hk + 1) * group; h++) {
        int64_t step;
        if (hd_few_head(&s, h))
            backward_head(&s);
        else if (a->dq.data) {
            char *rows = hd_few_sums(&s, &a->dq, &step);
            clear_rows(all, rows, s.span.L, step, a->D);
        }
    }
}

/* dq of one row. */
static void sum_stretches(void *arg, int64_t row, int worker) {
    (void)worker;
    const hd_few *all = arg;
    const hd_attention_task *a = all->a;
    char *to = hd_few_at(all, &a->dq, row / (a->H * a->L), row / a->L % a->H, row % a->L);
    memset(to, 0, (size_t)(a->D * all->size));
    for (int64_t i = 0; i < all->stretches; i++)
        all->kernels->accumulate[a->dtype](a->D, all->sums + (row * all->stretches + i) * a->D * all->size,
                                           to);
}

hd_status hd_attention_few_backward(hd_ctx *cx, const hd_attention_task *a) {
    hd_few all;
    if (hd_few_begin(cx, a, a->D, ROOMS, &all)) return cx->error.status;
    if (a->dbias) memset(a->dbias, 0, (size_t)(a->B * a->H * a->L * a->S * all.size));
    hd_status status = hd_parallel(cx, a->sequences * a->Hk * all.stretches, backward_task, &all);
    if (!status && all.parts && a->dq.data) status = hd_parallel(cx, a->B * a->H * a->L, sum_stretches, &all);
    hd_free(cx->account, all.scratch);
    return status;
}
