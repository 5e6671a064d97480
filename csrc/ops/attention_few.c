/* attention_few.c: attention of a few queries against any number of keys, forward: decoding. Bound by how fast keys and
 * values can be read, so each is read once, as it lies, for all query heads that share it.
 *
 * Keys are cut into stretches of a fixed size, a task for each; every stretch gives its own softmax, the log of its sum
 * and its own mean of values. These are weighed against each other at the end, in the order of the keys: the number of
 * threads changes no bit.
 */
#include "ops/attention.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/gemm_tile.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { STRETCH = 512 };

typedef struct few {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    const hd_gemm_tile *tile;
    int64_t size;      /* bytes of an element */
    int64_t row;       /* elements of a row of random numbers */
    int64_t stretches; /* of the longest sequence */
    int64_t partials;  /* elements of the means of one row: stretches of Dv; 0: out is written at once */
    char *means;       /* [B, H, L, stretches, Dv] */
    double *logs;      /* [B, H, L, stretches] */
    char *scratch;     /* of each worker: scores, bias and bytes of one row */
    int64_t scratch_size;
} few;

/* A stretch of the keys of one head. */
typedef struct stretch {
    const few *all;
    hd_span span;
    int64_t h, hk, part, j, keys; /* keys [j, j + keys) of the tensor */
    char *scores, *bias;
    uint8_t *see;
} stretch;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static char *row_at(const few *all, const hd_heads *t, int64_t batch, int64_t head, int64_t row) {
    return t->data + (batch * t->batch + head * t->head + row * t->row) * all->size;
}

/* Of all rows [B, H, L]. */
static int64_t row_number(const stretch *s, int64_t i) {
    const hd_attention_task *a = s->all->a;
    return (s->span.batch * a->H + s->h) * a->L + s->span.q_first + i;
}

/* ---- scores ------------------------------------------------------------------------------------------ */

static void cap_row(const stretch *s, char *x) {
    const hd_attention_task *a = s->all->a;
    const hd_kernels *k = s->all->kernels;
    k->affine[a->dtype](s->keys, a->scale / a->softcap, 0, x, 1, x, 1);
    k->unary[HD_TANH][a->dtype](s->keys, x, 1, x, 1);
    k->affine[a->dtype](s->keys, a->softcap, 0, x, 1, x, 1);
}

/* The bias of a row, with that of ALiBi; NULL: none. */
static const void *bias_row(const stretch *s, const hd_sight_block *row) {
    const hd_attention_task *a = s->all->a;
    const void *bias = hd_bias_row(&a->bias, row->b, row->h, row->i, row->j, row->keys, s->bias);
    if (!a->slopes) return bias;
    for (int64_t n = 0; n < row->keys; n++) {
        const double off = a->slopes[s->h] * fabs((double)(row->i + row->shift - row->j - n));
        if (a->dtype == HD_F32)
            ((float *)s->bias)[n] = (float)((bias ? (double)((const float *)bias)[n] : 0) - off);
        else
            ((double *)s->bias)[n] = (bias ? ((const double *)bias)[n] : 0) - off;
    }
    return s->bias;
}

/* Scores become weights that add up to 1; returns the log of their sum. *hides when some of the keys are
 * hidden. */
static double weigh_row(const stretch *s, int64_t i, char *x, bool *hides) {
    const hd_attention_task *a = s->all->a;
    const hd_sight_block row = {.b = s->span.batch,
                                .h = s->h,
                                .i = s->span.q_first + i,
                                .lanes = 1,
                                .j = s->j,
                                .keys = s->keys,
                                .shift = s->span.k_first + s->span.S - s->span.L - s->span.q_first};
    const uint8_t *see = hd_sight_row(a->sight, &row, s->see);
    const void *bias = bias_row(s, &row);
    *hides = *hides || see || a->bias.data;
    if (a->softcap > 0) cap_row(s, x);
    return s->all->kernels->masked_softmax_row[a->dtype](s->keys, x, a->softcap > 0 ? 1 : a->scale, see, bias,
                                                         x);
}

/* ---- values ------------------------------------------------------------------------------------------ */

static bool is_finite(const stretch *s, const hd_heads *t, int64_t features) {
    return s->all->kernels->attention[s->all->a->dtype]->finite(
        s->keys, features, row_at(s->all, t, s->span.batch, s->hk, s->j), t->row);
}

/* Where the means of the rows go, `step` elements from one to the next. */
static char *means_at(const stretch *s, int64_t *step) {
    const few *all = s->all;
    const hd_attention_task *a = all->a;
    if (!all->partials) {
        *step = a->out.row;
        return row_at(all, &a->out, s->span.batch, s->h, s->span.q_first);
    }
    *step = all->partials;
    return all->means + (row_number(s, 0) * all->stretches + s->part) * a->Dv * all->size;
}

/* mean_i = sum_n w_in v_n for all rows. */
static void mix_values(const stretch *s) {
    const few *all = s->all;
    const hd_attention_task *a = all->a;
    const char *v = row_at(all, &a->v, s->span.batch, s->hk, s->j);
    int64_t step, rows = 0;
    char *to = means_at(s, &step);
    for (int64_t i = 0; i < s->span.L; i += rows) {
        rows = least(all->tile->mr, s->span.L - i);
        for (int64_t d = 0; d < a->Dv; d += all->tile->nr)
            all->tile->run(all->tile, rows, least(all->tile->nr, a->Dv - d), s->keys, 1,
                           s->scores + i * s->keys * all->size, s->keys, 1, v + d * all->size, a->v.row, 0,
                           to + (i * step + d) * all->size, step);
    }
}

/* The same for values that are not finite: what has no weight is not touched, as 0 times NaN is NaN. */
static void mix_carefully(const stretch *s) {
    const few *all = s->all;
    const hd_attention_task *a = all->a;
    const char *v = row_at(all, &a->v, s->span.batch, s->hk, s->j), *x = s->scores;
    int64_t step;
    char *to = means_at(s, &step);
    for (int64_t i = 0; i < s->span.L; i++, to += step * all->size) {
        memset(to, 0, (size_t)(a->Dv * all->size));
        for (int64_t n = 0; n < s->keys; n++, x += all->size) {
            const double w = a->dtype == HD_F32 ? (double)*(const float *)x : *(const double *)x;
            if (w != 0) all->kernels->axpy[a->dtype](a->Dv, w, v + n * a->v.row * all->size, 1, to, 1);
        }
    }
}

/* ---- a stretch --------------------------------------------------------------------------------------- */

static void write_lse(const few *all, int64_t row, double log_sum) {
    const double lse = log_sum * 1.44269504088896340736;
    if (!all->a->lse) return;
    if (all->a->dtype == HD_F32)
        ((float *)all->a->lse)[row] = (float)lse;
    else
        ((double *)all->a->lse)[row] = lse;
}

/* Values are asked for while products of keys are made: memory is what takes the time. */
static void expect_values(const stretch *s) {
    const hd_heads *v = &s->all->a->v;
    const int64_t width = s->all->a->Dv * s->all->size, row = v->row * s->all->size;
    const char *at = row_at(s->all, v, s->span.batch, s->hk, s->j);
    for (int64_t n = 0; n < s->keys; n++, at += row)
        for (int64_t d = 0; d < width; d += 64) __builtin_prefetch(at + d, 0, 2);
}

static void attend_head(const stretch *s) {
    const few *all = s->all;
    const hd_attention_task *a = all->a;
    bool hides = false;
    if (s->h % (a->H / a->Hk) == 0) expect_values(s);
    all->tile->dots(s->span.L, s->keys, a->D, 1, row_at(all, &a->q, s->span.batch, s->h, s->span.q_first),
                    a->q.row, row_at(all, &a->k, s->span.batch, s->hk, s->j), a->k.row, 0, s->scores, s->keys,
                    1);
    for (int64_t i = 0; i < s->span.L; i++) {
        char *x = s->scores + i * s->keys * all->size;
        const int64_t row = row_number(s, i), first = row * all->row + s->j - s->span.k_first;
        const double log_sum = weigh_row(s, i, x, &hides);
        if (a->dropout > 0) all->kernels->dropout[a->dtype](a->draw, first, s->keys, a->dropout, x, x);
        if (all->partials)
            all->logs[row * all->stretches + s->part] = log_sum;
        else
            write_lse(all, row, log_sum);
    }
    if (hides && !is_finite(s, &a->v, a->Dv))
        mix_carefully(s);
    else
        mix_values(s);
}

/* Nothing of the stretch is seen. */
static void attend_nothing(const stretch *s) {
    const few *all = s->all;
    const hd_attention_task *a = all->a;
    for (int64_t i = 0; i < s->span.L; i++) {
        const int64_t row = row_number(s, i);
        if (all->partials) {
            all->logs[row * all->stretches + s->part] = -INFINITY;
            continue;
        }
        memset(row_at(all, &a->out, s->span.batch, s->h, s->span.q_first + i), 0,
               (size_t)(a->Dv * all->size));
        write_lse(all, row, -INFINITY);
    }
}

static void few_task(void *arg, int64_t task, int worker) {
    const few *all = arg;
    const hd_attention_task *a = all->a;
    const int64_t pair = task / all->stretches, group = a->H / a->Hk;
    stretch s = {.all = all, .part = task % all->stretches, .hk = pair % a->Hk};
    s.span = hd_span_of(a, pair / a->Hk);
    s.scores = all->scratch + worker * all->scratch_size;
    s.bias = s.scores + s.span.L * STRETCH * all->size;
    s.see = (uint8_t *)s.bias + STRETCH * all->size;
    if (s.span.L == 0) return;
    const int64_t from = least(s.part * STRETCH, s.span.S), to = least(from + STRETCH, s.span.S);
    for (s.h = s.hk * group; s.h < (s.hk + 1) * group; s.h++) {
        hd_sight_block b = {s.span.batch,
                            s.h,
                            s.span.q_first,
                            s.span.L,
                            s.span.k_first + from,
                            to - from,
                            s.span.k_first + s.span.S - s.span.L - s.span.q_first};
        hd_sight_narrow(a->sight, &b);
        s.j = b.j, s.keys = b.keys;
        if (s.keys > 0)
            attend_head(&s);
        else
            attend_nothing(&s);
    }
}

/* ---- all stretches of a row -------------------------------------------------------------------------- */

static void join_stretches(void *arg, int64_t row, int worker) {
    (void)worker;
    const few *all = arg;
    const hd_attention_task *a = all->a;
    const double *logs = all->logs + row * all->stretches;
    char *to = row_at(all, &a->out, row / (a->H * a->L), row / a->L % a->H, row % a->L);
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < all->stretches; i++) top = logs[i] > top ? logs[i] : top;
    for (int64_t i = 0; i < all->stretches; i++) sum += logs[i] == -INFINITY ? 0 : exp(logs[i] - top);
    memset(to, 0, (size_t)(a->Dv * all->size));
    for (int64_t i = 0; i < all->stretches; i++)
        if (logs[i] != -INFINITY)
            all->kernels->axpy[a->dtype](a->Dv, exp(logs[i] - top) / sum,
                                         all->means + (row * all->stretches + i) * a->Dv * all->size, 1, to,
                                         1);
    write_lse(all, row, top == -INFINITY && sum == 0 ? top : top + log(sum));
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static hd_status begin(hd_ctx *cx, const hd_attention_task *a, few *all) {
    int64_t longest = 0, most_keys = 0;
    hd_attention_longest(a, &longest, &most_keys);
    *all = (few){.a = a, .kernels = cx->kernels, .size = (int64_t)hd_dtype_size(a->dtype)};
    all->tile = a->dtype == HD_F32 ? &cx->gemm->direct.f32 : &cx->gemm->direct.f64;
    all->row = hd_attention_row(most_keys);
    all->stretches = most_keys > STRETCH ? (most_keys + STRETCH - 1) / STRETCH : 1;
    all->partials = all->stretches > 1 ? all->stretches * a->Dv : 0;
    all->scratch_size = ((longest + 1) * STRETCH * all->size + STRETCH + HD_GEMM_SLACK + 63) / 64 * 64;
    const int64_t rows = a->B * a->H * a->L, workers = hd_max_workers(cx);
    const size_t means = (size_t)(rows * all->partials * all->size + 63) / 64 * 64;
    const size_t logs = all->partials ? (size_t)(rows * all->stretches) * sizeof(double) : 0;
    all->scratch = hd_alloc(cx, (size_t)(workers * all->scratch_size) + means + logs);
    if (!all->scratch) return cx->error.status;
    all->means = all->scratch + workers * all->scratch_size;
    all->logs = (double *)(all->means + means);
    return HD_OK;
}

hd_status hd_attention_few_forward(hd_ctx *cx, const hd_attention_task *a) {
    few all;
    if (begin(cx, a, &all)) return cx->error.status;
    hd_status status = hd_parallel(cx, a->sequences * a->Hk * all.stretches, few_task, &all);
    if (!status && all.partials) status = hd_parallel(cx, a->B * a->H * a->L, join_stretches, &all);
    hd_free(cx->account, all.scratch);
    return status;
}
