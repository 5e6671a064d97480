/* attention_few.c: attention of a few queries against any number of keys: decoding. Bound by how fast keys and values can
 * be read, so each is read once, as it lies, for all query heads that share it.
 *
 * Keys are cut into stretches of a fixed size, a task for each; every stretch gives its own softmax, the log of its sum
 * and its own mean of values. These are weighed against each other at the end, in the order of the keys: the number of
 * threads changes no bit.
 */
#include "ops/attention_few.h"

#include "base/memory.h"
#include "base/parallel.h"

#include <math.h>
#include <string.h>

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- where things lie -------------------------------------------------------------------------------- */

hd_status hd_few_begin(hd_ctx *cx, const hd_attention_task *a, int64_t features, int rooms, hd_few *all) {
    int64_t longest = 0, most_keys = 0;
    hd_attention_longest(a, &longest, &most_keys);
    *all = (hd_few){
        .a = a, .kernels = cx->kernels, .size = (int64_t)hd_dtype_size(a->dtype), .features = features};
    all->tile = a->dtype == HD_F32 ? &cx->gemm->direct.f32 : &cx->gemm->direct.f64;
    all->row = hd_attention_row(most_keys);
    all->stretches = most_keys > HD_FEW_STRETCH ? (most_keys + HD_FEW_STRETCH - 1) / HD_FEW_STRETCH : 1;
    all->parts = all->stretches > 1;
    all->room_size = longest * HD_FEW_STRETCH * all->size;
    all->scratch_size =
        (rooms * all->room_size + HD_FEW_STRETCH * (all->size + 1) + HD_GEMM_SLACK + 63) / 64 * 64;
    const int64_t rows = all->parts ? a->B * a->H * a->L * all->stretches : 0, workers = hd_max_workers(cx);
    const size_t sums = (size_t)(rows * features * all->size + 63) / 64 * 64;
    all->scratch = hd_alloc(cx, (size_t)(workers * all->scratch_size) + sums + (size_t)rows * sizeof(double));
    if (!all->scratch) return cx->error.status;
    all->sums = all->scratch + workers * all->scratch_size;
    all->logs = (double *)(all->sums + sums);
    return HD_OK;
}

bool hd_few_take(const hd_few *all, int64_t task, int worker, hd_few_stretch *s) {
    const int64_t pair = task / all->stretches;
    *s = (hd_few_stretch){.all = all, .part = task % all->stretches, .hk = pair % all->a->Hk};
    s->span = hd_span_of(all->a, pair / all->a->Hk);
    char *end = all->scratch + (worker + 1) * all->scratch_size - HD_GEMM_SLACK;
    s->scores = all->scratch + worker * all->scratch_size;
    s->see = (uint8_t *)end - HD_FEW_STRETCH;
    s->bias = (char *)s->see - HD_FEW_STRETCH * all->size;
    return s->span.L > 0;
}

bool hd_few_head(hd_few_stretch *s, int64_t h) {
    const hd_span *span = &s->span;
    const int64_t from = least(s->part * HD_FEW_STRETCH, span->S), to = least(from + HD_FEW_STRETCH, span->S);
    hd_sight_block b = {span->batch,
                        h,
                        span->q_first,
                        span->L,
                        span->k_first + from,
                        to - from,
                        span->k_first + span->S - span->L - span->q_first};
    hd_sight_narrow(s->all->a->sight, &b);
    s->h = h, s->j = b.j, s->keys = b.keys, s->hides = false;
    return s->keys > 0;
}

char *hd_few_sums(const hd_few_stretch *s, const hd_heads *whole, int64_t *step) {
    const hd_few *all = s->all;
    *step = all->parts ? all->stretches * all->features : whole->row;
    if (!all->parts) return hd_few_queries(s, whole);
    return all->sums + (hd_few_row(s, 0) * all->stretches + s->part) * all->features * all->size;
}

/* ---- scores ------------------------------------------------------------------------------------------ */

static void cap_row(const hd_few_stretch *s, char *x, char *cap) {
    const hd_attention_task *a = s->all->a;
    const hd_kernels *k = s->all->kernels;
    k->affine[a->dtype](s->keys, a->scale / a->softcap, 0, x, 1, x, 1);
    k->unary[HD_TANH][a->dtype](s->keys, x, 1, x, 1);
    if (cap) {
        k->unary[HD_SQUARE][a->dtype](s->keys, x, 1, cap, 1);
        k->affine[a->dtype](s->keys, -1, 1, cap, 1, cap, 1);
    }
    k->affine[a->dtype](s->keys, a->softcap, 0, x, 1, x, 1);
}

/* The bias of a row, with that of ALiBi; NULL: none. */
static const void *bias_row(const hd_few_stretch *s, const hd_sight_block *row) {
    const hd_attention_task *a = s->all->a;
    const void *bias = hd_bias_row(&a->bias, row->b, row->h, row->i, row->j, row->keys, s->bias);
    if (!a->slopes) return bias;
    for (int64_t n = 0; n < row->keys; n++) {
        const double off = a->slopes[s->h] * fabs((double)(row->i + row->shift - row->j - n));
        const double given = bias ? hd_few_element(s->all, bias, n) : 0;
        if (a->dtype == HD_F32)
            ((float *)s->bias)[n] = (float)(given - off);
        else
            ((double *)s->bias)[n] = given - off;
    }
    return s->bias;
}

double hd_few_weigh(hd_few_stretch *s, int64_t i, char *x, char *cap) {
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
    s->hides = s->hides || see || a->bias.data;
    if (a->softcap > 0) cap_row(s, x, cap);
    return s->all->kernels->masked_softmax_row[a->dtype](s->keys, x, a->softcap > 0 ? 1 : a->scale, see, bias,
                                                         x);
}

/* ---- sums over keys ---------------------------------------------------------------------------------- */

static void mix_all(const hd_few_stretch *s, double alpha, const char *x, const hd_heads *y, int64_t features,
                    char *to, int64_t step) {
    const hd_gemm_tile *t = s->all->tile;
    const int64_t size = s->all->size;
    const char *rows = hd_few_keys(s, y);
    for (int64_t i = 0; i < s->span.L; i += t->mr)
        for (int64_t d = 0; d < features; d += t->nr)
            t->run(t, least(t->mr, s->span.L - i), least(t->nr, features - d), s->keys, alpha,
                   x + i * s->keys * size, s->keys, 1, rows + d * size, y->row, 0, to + (i * step + d) * size,
                   step);
}

/* What has no weight is not touched: 0 times NaN is NaN. */
static void mix_carefully(const hd_few_stretch *s, double alpha, const char *x, const hd_heads *y,
                          int64_t features, char *to, int64_t step) {
    const hd_few *all = s->all;
    const char *rows = hd_few_keys(s, y);
    for (int64_t i = 0; i < s->span.L; i++, to += step * all->size) {
        memset(to, 0, (size_t)(features * all->size));
        for (int64_t n = 0; n < s->keys; n++) {
            const double w = hd_few_element(all, x, i * s->keys + n);
            if (w != 0)
                all->kernels->axpy[all->a->dtype](features, alpha * w, rows + n * y->row * all->size, 1, to,
                                                  1);
        }
    }
}

void hd_few_mix(const hd_few_stretch *s, double alpha, const char *x, const hd_heads *y, int64_t features,
                char *to, int64_t step) {
    const hd_attention_kernels *k = s->all->kernels->attention[s->all->a->dtype];
    if (s->hides && !k->finite(s->keys, features, hd_few_keys(s, y), y->row))
        mix_carefully(s, alpha, x, y, features, to, step);
    else
        mix_all(s, alpha, x, y, features, to, step);
}

/* ---- a stretch --------------------------------------------------------------------------------------- */

static void write_lse(const hd_few *all, int64_t row, double log_sum) {
    const double lse = log_sum * 1.44269504088896340736;
    if (!all->a->lse) return;
    if (all->a->dtype == HD_F32)
        ((float *)all->a->lse)[row] = (float)lse;
    else
        ((double *)all->a->lse)[row] = lse;
}

/* Values are asked for while products of keys are made: memory is what takes the time. */
static void expect_values(const hd_few_stretch *s) {
    const hd_heads *v = &s->all->a->v;
    const int64_t width = s->all->a->Dv * s->all->size, row = v->row * s->all->size;
    const char *at = hd_few_keys(s, v);
    for (int64_t n = 0; n < s->keys; n++, at += row)
        for (int64_t d = 0; d < width; d += 64) __builtin_prefetch(at + d, 0, 2);
}

static void attend_head(hd_few_stretch *s) {
    const hd_few *all = s->all;
    const hd_attention_task *a = all->a;
    int64_t step;
    char *to = hd_few_sums(s, &a->out, &step);
    if (s->h % (a->H / a->Hk) == 0) expect_values(s);
    all->tile->dots(s->span.L, s->keys, a->D, 1, hd_few_queries(s, &a->q), a->q.row, hd_few_keys(s, &a->k),
                    a->k.row, 0, s->scores, s->keys, 1);
    for (int64_t i = 0; i < s->span.L; i++) {
        char *x = s->scores + i * s->keys * all->size;
        const int64_t row = hd_few_row(s, i), first = row * all->row + s->j - s->span.k_first;
        const double log_sum = hd_few_weigh(s, i, x, NULL);
        if (a->dropout > 0) all->kernels->dropout[a->dtype](a->draw, first, s->keys, a->dropout, x, x);
        if (all->parts)
            all->logs[row * all->stretches + s->part] = log_sum;
        else
            write_lse(all, row, log_sum);
    }
    hd_few_mix(s, 1, s->scores, &a->v, a->Dv, to, step);
}

/* Nothing of the stretch is seen. */
static void attend_nothing(const hd_few_stretch *s) {
    const hd_few *all = s->all;
    for (int64_t i = 0; i < s->span.L; i++) {
        const int64_t row = hd_few_row(s, i);
        if (all->parts) {
            all->logs[row * all->stretches + s->part] = -INFINITY;
            continue;
        }
        memset(hd_few_queries(s, &all->a->out) + i * all->a->out.row * all->size, 0,
               (size_t)(all->a->Dv * all->size));
        write_lse(all, row, -INFINITY);
    }
}

static void few_task(void *arg, int64_t task, int worker) {
    const hd_few *all = arg;
    const int64_t group = all->a->H / all->a->Hk;
    hd_few_stretch s;
    if (!hd_few_take(all, task, worker, &s)) return;
    for (int64_t h = s.hk * group; h < (s.hk + 1) * group; h++) {
        if (hd_few_head(&s, h))
            attend_head(&s);
        else
            attend_nothing(&s);
    }
}

/* ---- all stretches of a row -------------------------------------------------------------------------- */

static void join_stretches(void *arg, int64_t row, int worker) {
    (void)worker;
    const hd_few *all = arg;
    const hd_attention_task *a = all->a;
    const double *logs = all->logs + row * all->stretches;
    char *to = hd_few_at(all, &a->out, row / (a->H * a->L), row / a->L % a->H, row % a->L);
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < all->stretches; i++) top = logs[i] > top ? logs[i] : top;
    const double origin = top == -INFINITY ? 0 : top; /* NaN may be all that is seen */
    for (int64_t i = 0; i < all->stretches; i++) sum += logs[i] == -INFINITY ? 0 : exp(logs[i] - origin);
    memset(to, 0, (size_t)(a->Dv * all->size));
    for (int64_t i = 0; i < all->stretches; i++)
        if (logs[i] != -INFINITY)
            all->kernels->axpy[a->dtype](a->Dv, exp(logs[i] - origin) / sum,
                                         all->sums + (row * all->stretches + i) * a->Dv * all->size, 1, to,
                                         1);
    write_lse(all, row, sum == 0 ? -INFINITY : origin + log(sum));
}

hd_status hd_attention_few_forward(hd_ctx *cx, const hd_attention_task *a) {
    hd_few all;
    if (hd_few_begin(cx, a, a->Dv, 1, &all)) return cx->error.status;
    hd_status status = hd_parallel(cx, a->sequences * a->Hk * all.stretches, few_task, &all);
    if (!status && all.parts) status = hd_parallel(cx, a->B * a->H * a->L, join_stretches, &all);
    hd_free(cx->account, all.scratch);
    return status;
}
