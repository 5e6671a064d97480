/* mask_dense.c: masks and linear biases of attention as tensors, for all queries or for chosen ones: to
 * print, and to give weights of a few rows without those of the others.
 */
#include "ops/attention/attention_task.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/ops.h"
#include "ops/nn/rows.h"
#include "ops/elementwise/element.h"

typedef struct dense {
    const hd_attention_options *o;
    int64_t B, H, L, S;
    int64_t count;       /* queries wanted */
    const int64_t *rows; /* which, from 1; NULL: all, in order */
    int64_t rows_stride;
    hd_mask_resolved mask;
    hd_tensor *to;
} dense;

/* What query i of entry b has to do with, of packed sequences its own: keys [first, first + count), of which
 * j is at its position when j = i + shift. */
typedef struct reach {
    int64_t first, count, shift;
} reach;

static reach reach_of(const dense *d, int64_t b, int64_t i) {
    if (!d->o->query_starts) {
        const int64_t end = d->mask.ends ? d->mask.ends[b] : d->S;
        return (reach){0, end, end - d->L};
    }
    const int64_t *q = hd_data(d->o->query_starts), *k = hd_data(d->o->key_starts);
    int64_t s = 0, last = d->o->query_starts->shape[0] - 1; /* the sequence is one of [s, last) */
    while (last - s > 1) {
        int64_t middle = s + (last - s) / 2;
        if (q[middle] <= i)
            s = middle;
        else
            last = middle;
    }
    return (reach){k[s], k[s + 1] - k[s], k[s + 1] - q[s + 1]};
}

static int64_t query_of(const dense *d, int64_t row) {
    return d->rows ? d->rows[row * d->rows_stride] - 1 : row;
}

/* ---- checks ---------------------------------------------------------------------------------------- */

static hd_status check_rows(hd_ctx *cx, const hd_tensor *rows, int64_t L) {
    if (hd_require_dtype(cx, "rows", rows, HD_I64)) return cx->error.status;
    for (int64_t n = 0; rows->ndim == 1 && n < rows->shape[0]; n++) {
        int64_t row = ((const int64_t *)hd_data(rows))[n * rows->stride[0]];
        if (row < 1 || row > L)
            return hd_fail(cx, HD_EARG, "rows: expected queries 1..%lld, got %lld", (long long)L,
                           (long long)row);
    }
    return rows->ndim == 1 ? HD_OK : hd_fail(cx, HD_EARG, "rows: expected one dimension, got %d", rows->ndim);
}

static hd_status begin(hd_ctx *cx, const hd_attention_options *o, const int64_t scores[4],
                       const hd_tensor *rows, dense *d) {
    *d = (dense){.o = o, .B = scores[0], .H = scores[1], .L = scores[2], .S = scores[3]};
    d->count = rows ? rows->shape[0] : d->L;
    if (rows && check_rows(cx, rows, d->L)) return cx->error.status;
    if (hd_check_starts(cx, o, scores) || hd_mask_resolve(cx, o->mask, scores, &d->mask))
        return cx->error.status;
    if (rows) d->rows = hd_data(rows), d->rows_stride = rows->stride[0];
    return HD_OK;
}

/* ---- who is seen ------------------------------------------------------------------------------------- */

static void see_row(void *arg, int64_t task, int worker) {
    (void)worker;
    const dense *d = arg;
    const int64_t i = query_of(d, task % d->count), bh = task / d->count;
    const reach r = reach_of(d, bh / d->H, i);
    uint8_t *to = (uint8_t *)hd_data(d->to) + task * d->S;
    const hd_resolved_block row = {
        .b = bh / d->H, .h = bh % d->H, .i = i, .lanes = 1, .j = r.first, .keys = r.count, .shift = r.shift};
    memset(to, 0, (size_t)d->S);
    if (!hd_resolved_row(&d->mask, &row, to + r.first)) memset(to + r.first, 1, (size_t)r.count);
}

hd_tensor *hd_mask_dense(hd_ctx *cx, const hd_attention_options *o, const int64_t scores[4],
                         const hd_tensor *rows) {
    dense d;
    if (begin(cx, o, scores, rows, &d)) return NULL;
    const int64_t shape[4] = {d.B, d.H, d.count, d.S};
    d.to = hd_tensor_new(cx, HD_BOOL, 4, shape);
    if (d.to && hd_parallel(cx, d.B * d.H * d.count, see_row, &d)) {
        hd_release(d.to);
        return NULL;
    }
    return d.to;
}

/* ---- linear biases ----------------------------------------------------------------------------------- */

static void slope_row(void *arg, int64_t task, int worker) {
    (void)worker;
    const dense *d = arg;
    const int64_t i = query_of(d, task % d->count), bh = task / d->count;
    const int64_t at = i + reach_of(d, bh / d->H, i).shift;
    const double slope = ((const double *)hd_data(d->o->alibi))[bh % d->H];
    for (int64_t j = 0; j < d->S; j++) {
        const double off = 0 - slope * fabs((double)(at - j)); /* 0 where they meet, not -0 */
        hd_store(hd_data(d->to), (hd_dtype)d->to->dtype, task * d->S + j, off);
    }
}

hd_tensor *hd_alibi_dense(hd_ctx *cx, const hd_attention_options *o, hd_dtype dtype, const int64_t scores[4],
                          const hd_tensor *rows) {
    dense d;
    if (begin(cx, o, scores, rows, &d)) return NULL;
    const int64_t shape[4] = {d.mask.ends ? d.B : 1, d.H = o->alibi->shape[0], d.count, d.S};
    d.to = hd_tensor_new(cx, dtype, 4, shape);
    if (d.to && hd_parallel(cx, shape[0] * d.H * d.count, slope_row, &d)) {
        hd_release(d.to);
        return NULL;
    }
    return d.to;
}
