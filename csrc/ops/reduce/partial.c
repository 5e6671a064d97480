#include "ops/reduce/partial.h"

#include <math.h>

#include "base/parallel.h"
#include "ops/reduce/reduce_layout.h"
#include "ops/elementwise/element.h"

#define ROW_BLOCK 65536     /* elements of a row in one part */
#define ROW_TASK 32768      /* elements of short rows in one task */
#define COLUMN_BLOCK 524288 /* elements of columns in one part */
#define SMALL 131072        /* elements that one thread reduces alone */

typedef struct partial_loop {
    const hd_kernels *kernels;
    hd_partial kind;
    hd_fold fold;
    int64_t block, blocks, column_blocks; /* of length, and of inner */
    double *a, *b;                        /* [outer][blocks][inner]; NULL when there is one block */
    hd_partial_finish finish;
    const void *arg;
    int count;
    char *y[2];
} partial_loop;

/* ---- merging ---------------------------------------------------------------------------------- */

static double nan_or_more(double a, double b) {
    return a != a || a > b ? a : b;
}

static void merge_logsumexp(int64_t count, double *most, double *sum, const double *most2,
                            const double *sum2) {
    for (int64_t j = 0; j < count; j++) {
        double top = most[j] > most2[j] ? most[j] : most2[j];
        double one = most[j] == top ? sum[j] : sum[j] * exp(most[j] - top);
        most[j] = top;
        sum[j] = one + (most2[j] == top ? sum2[j] : sum2[j] * exp(most2[j] - top));
    }
}

/* Chan, Golub & LeVeque 1979 */
static void merge_moments(int64_t count, double n, double *mean, double *squares, double m,
                          const double *mean2, const double *squares2) {
    double share = m / (n + m), weight = n * share;
    for (int64_t j = 0; j < count; j++) {
        double apart = mean2[j] - mean[j];
        squares[j] += squares2[j] + apart * apart * weight;
        mean[j] += apart * share;
    }
}

/* Of `count` columns: (a, b) of n elements each, and (a2, b2) of the m that follow them, into (a, b). */
static void merge(hd_partial kind, int64_t count, int64_t n, double *a, double *b, int64_t m,
                  const double *a2, const double *b2) {
    switch (kind) {
    case HD_MOMENTS: merge_moments(count, (double)n, a, b, (double)m, a2, b2); break;
    case HD_LOGSUMEXP: merge_logsumexp(count, a, b, a2, b2); break;
    case HD_SQUARES:
    case HD_ABS_SUM:
        for (int64_t j = 0; j < count; j++) a[j] += a2[j];
        break;
    case HD_ABS_MAX:
        for (int64_t j = 0; j < count; j++) a[j] = nan_or_more(a[j], a2[j]);
        break;
    default:
        for (int64_t j = 0; j < count; j++) a[j] = -nan_or_more(-a[j], -a2[j]);
    }
}

static void store(const partial_loop *l, int64_t i, double a, double b) {
    double y[2];
    l->finish(l->arg, l->fold.length, a, b, y);
    for (int k = 0; k < l->count; k++) hd_store(l->y[k], l->fold.dtype, i, y[k]);
}

static int64_t block_length(const partial_loop *l, int64_t block) {
    int64_t left = l->fold.length - block * l->block;
    return left < l->block ? left : l->block;
}

/* Of an outer position and a block of columns, the first part of each takes up the others. */
static void merge_columns(const partial_loop *l, int64_t task) {
    int64_t inner = l->fold.inner, outer = task / l->column_blocks;
    int64_t column = task % l->column_blocks * HD_PARTIAL_COLUMNS;
    int64_t n = inner - column < HD_PARTIAL_COLUMNS ? inner - column : HD_PARTIAL_COLUMNS;
    int64_t first = outer * l->blocks * inner + column;
    for (int64_t k = 1; k < l->blocks; k++)
        merge(l->kind, n, k * l->block, l->a + first, l->b + first, block_length(l, k),
              l->a + first + k * inner, l->b + first + k * inner);
    for (int64_t j = 0; j < n; j++) store(l, outer * inner + column + j, l->a[first + j], l->b[first + j]);
}

/* ---- parts ------------------------------------------------------------------------------------ */

static const char *element(const partial_loop *l, int64_t i) {
    return l->fold.data + (size_t)i * hd_dtype_size(l->fold.dtype);
}

static void reduce_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const partial_loop *l = arg;
    for (int64_t i = first; i < last; i++) {
        int64_t block = i % l->blocks;
        double a, b;
        l->kernels->partial_row[l->kind][l->fold.dtype](
            block_length(l, block), element(l, i / l->blocks * l->fold.length + block * l->block), &a, &b);
        if (l->a)
            l->a[i] = a, l->b[i] = b;
        else
            store(l, i, a, b);
    }
}

/* Task: an outer position, a block of rows, a block of columns. */
static void reduce_columns(void *arg, int64_t task, int worker) {
    (void)worker;
    const partial_loop *l = arg;
    int64_t inner = l->fold.inner, part = task / l->column_blocks;
    int64_t column = task % l->column_blocks * HD_PARTIAL_COLUMNS, block = part % l->blocks;
    int64_t n = inner - column < HD_PARTIAL_COLUMNS ? inner - column : HD_PARTIAL_COLUMNS;
    double a[HD_PARTIAL_COLUMNS], b[HD_PARTIAL_COLUMNS];
    int64_t row = part / l->blocks * l->fold.length + block * l->block, to = part * inner + column;
    bool whole = !l->a;
    l->kernels->partial_cols[l->kind][l->fold.dtype](block_length(l, block), n,
                                                     element(l, row * inner + column), inner,
                                                     whole ? a : l->a + to, whole ? b : l->b + to);
    for (int64_t j = 0; j < n && whole; j++) store(l, to + j, a[j], b[j]);
}

static hd_status reduce_parts(hd_ctx *cx, partial_loop *l) {
    const hd_fold *f = &l->fold;
    if (f->inner == 1) {
        int64_t length = f->length < l->block ? f->length : l->block;
        return hd_parallel_ranges(cx, f->outer * l->blocks, ROW_TASK / length + 1, reduce_rows, l);
    }
    int64_t tasks = f->outer * l->blocks * l->column_blocks;
    if (f->outer * f->length * f->inner > SMALL) return hd_parallel(cx, tasks, reduce_columns, l);
    for (int64_t i = 0; i < tasks; i++) reduce_columns(l, i, 0);
    return HD_OK;
}

static void merge_all(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    for (int64_t i = first; i < last; i++) merge_columns((const partial_loop *)arg, i);
}

static hd_status reduce_folded(hd_ctx *cx, partial_loop *l) {
    const hd_fold *f = &l->fold;
    int64_t results = f->outer * f->inner;
    if (f->length == 0) {
        double least = l->kind == HD_LOGSUMEXP ? -INFINITY : 0;
        for (int64_t i = 0; i < results; i++) store(l, i, least, 0);
        return HD_OK;
    }
    int64_t columns = f->inner < HD_PARTIAL_COLUMNS ? f->inner : HD_PARTIAL_COLUMNS;
    l->block = f->inner == 1 ? ROW_BLOCK : COLUMN_BLOCK / columns;
    l->blocks = (f->length + l->block - 1) / l->block;
    l->column_blocks = (f->inner + HD_PARTIAL_COLUMNS - 1) / HD_PARTIAL_COLUMNS;
    if (l->blocks > 1) {
        size_t parts = (size_t)(results * l->blocks);
        l->a = hd_alloc(cx, 2 * parts * sizeof *l->a);
        if (!l->a) return cx->error.status;
        l->b = l->a + parts;
    }
    hd_status status = reduce_parts(cx, l);
    if (!status && l->a)
        status = hd_parallel_ranges(cx, f->outer * l->column_blocks, 4096 / (l->blocks * columns) + 1,
                                    merge_all, l);
    hd_free(cx->account, l->a);
    return status;
}

hd_status hd_reduce_partial(hd_ctx *cx, hd_partial kind, hd_tensor *x, uint32_t dims,
                            hd_partial_finish finish, const void *arg, int count, hd_tensor *y[2]) {
    partial_loop l = {.kernels = cx->kernels, .kind = kind, .finish = finish, .arg = arg, .count = count};
    hd_tensor *z[2] = {NULL, NULL};
    hd_status status = hd_fold_begin(cx, x, dims, &l.fold);
    for (int k = 0; k < count && !status; k++) {
        z[k] = hd_fold_result(cx, &l.fold, l.fold.dtype);
        status = z[k] ? HD_OK : cx->error.status;
        if (z[k]) l.y[k] = hd_data(z[k]);
    }
    if (!status && hd_numel(z[0]) > 0) status = reduce_folded(cx, &l);
    y[0] = y[1] = NULL;
    for (int k = 0; k < count; k++) {
        if (status)
            hd_release(z[k]);
        else
            y[k] = hd_fold_back(cx, &l.fold, z[k]);
    }
    hd_fold_end(&l.fold);
    if (!status && y[0] && (count == 1 || y[1])) return HD_OK;
    hd_release(y[0]);
    hd_release(y[1]);
    y[0] = y[1] = NULL;
    return cx->error.status;
}
