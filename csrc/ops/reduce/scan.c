/* scan.c: running sums.
 *
 *     y[i] = x[1] + ... + x[i]  ->  dx[i] = g[i] + ... + g[n]
 */
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/lines.h"

#define SEGMENT (1 << 20) /* elements of a line between two looks at the flag that cancels */

typedef struct scan_loop {
    const char *x;
    char *y;
    hd_lines lines;
    hd_dtype dtype;
    hd_binary_fn add;
    bool backwards;
    int64_t first, last; /* the segment: so many elements have been summed, and will be */
    uint64_t *sums;      /* of each contiguous line so far, as f64 or as an integer */
} scan_loop;

/* A segment of `lines` lines of n neighbours, one behind the other: a running sum in at least double
 * precision. Four lines at a time, because each addition waits for the one before it. */
#define SCAN_OF(type, sum_type)                                                                              \
    static void scan_##type(const scan_loop *l, int64_t lines, const type *x, type *y, sum_type *sums) {     \
        const int64_t n = l->lines.size, first = l->first, last = l->last, step = l->backwards ? -1 : 1;     \
        const int64_t start = l->backwards ? n - 1 - first : first;                                          \
        for (; lines >= 4; lines -= 4, x += 4 * n, y += 4 * n, sums += 4) {                                  \
            sum_type s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];                                 \
            for (int64_t k = first, i = start; k < last; k++, i += step) {                                   \
                y[i] = (type)(s0 += (sum_type)x[i]);                                                         \
                y[i + n] = (type)(s1 += (sum_type)x[i + n]);                                                 \
                y[i + 2 * n] = (type)(s2 += (sum_type)x[i + 2 * n]);                                         \
                y[i + 3 * n] = (type)(s3 += (sum_type)x[i + 3 * n]);                                         \
            }                                                                                                \
            sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;                                          \
        }                                                                                                    \
        for (; lines > 0; lines--, x += n, y += n, sums++) {                                                 \
            sum_type sum = *sums;                                                                            \
            for (int64_t k = first, i = start; k < last; k++, i += step)                                     \
                y[i] = (type)(sum += (sum_type)x[i]);                                                        \
            *sums = sum;                                                                                     \
        }                                                                                                    \
    }
SCAN_OF(float, double)
SCAN_OF(double, double)
SCAN_OF(int64_t, uint64_t)

static void scan_lines(const scan_loop *l, int64_t first, int64_t last) {
    int64_t at = first * l->lines.size, lines = last - first;
    uint64_t *sums = l->sums + first;
    switch (l->dtype) {
    case HD_F32: scan_float(l, lines, (const float *)l->x + at, (float *)l->y + at, (double *)sums); break;
    case HD_F64: scan_double(l, lines, (const double *)l->x + at, (double *)l->y + at, (double *)sums); break;
    default: scan_int64_t(l, lines, (const int64_t *)l->x + at, (int64_t *)l->y + at, sums);
    }
}

/* Lines across memory: row after row. */
static void scan_rows(const scan_loop *l, int64_t outer) {
    size_t row = (size_t)l->lines.inner * hd_dtype_size(l->dtype);
    const char *x = l->x + (size_t)(outer * l->lines.size) * row;
    char *y = l->y + (size_t)(outer * l->lines.size) * row;
    for (int64_t k = l->first; k < l->last; k++) {
        int64_t i = l->backwards ? l->lines.size - 1 - k : k, before = l->backwards ? i + 1 : i - 1;
        if (k == 0)
            memcpy(y + (size_t)i * row, x + (size_t)i * row, row);
        else
            l->add(l->lines.inner, y + (size_t)before * row, 1, x + (size_t)i * row, 1, y + (size_t)i * row,
                   1);
    }
}

static void scan_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const scan_loop *l = arg;
    if (l->sums)
        scan_lines(l, first, last);
    else
        for (int64_t outer = first; outer < last; outer++) scan_rows(l, outer);
}

static hd_status scan_all(hd_ctx *cx, scan_loop *l) {
    bool across = l->lines.inner > 1; /* where y itself holds the sums */
    int64_t size = l->lines.size, length = hd_min(size, SEGMENT);
    l->sums = across ? NULL : hd_alloc_zeroed(cx, (size_t)l->lines.outer * sizeof *l->sums);
    hd_status status = across || l->sums ? HD_OK : cx->error.status;
    for (l->first = 0; l->first < size && !status; l->first += SEGMENT) {
        l->last = hd_min(l->first + SEGMENT, size);
        int64_t grain = HD_GRAIN_LIGHT / (length * l->lines.inner) + 1;
        status = hd_parallel_ranges(cx, l->lines.outer, grain, scan_range, l);
    }
    hd_free(cx->account, l->sums);
    return status;
}

static hd_tensor *scan(hd_ctx *cx, hd_tensor *x, int dim, hd_dtype dtype, bool backwards) {
    hd_tensor *dense = hd_contiguous_as(cx, x, dtype);
    hd_tensor *y = dense ? hd_tensor_like(cx, dense) : NULL;
    if (y && hd_numel(y) > 0) {
        scan_loop l = {.x = hd_data(dense),
                       .y = hd_data(y),
                       .lines = hd_lines_of(x, dim),
                       .dtype = dtype,
                       .add = cx->kernels->binary[HD_ADD][dtype],
                       .backwards = backwards};
        if (scan_all(cx, &l)) {
            hd_release(y);
            y = NULL;
        }
    }
    hd_release(dense);
    return y;
}

static hd_status cumsum_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    /* y[i] = x[1] + ... + x[i]  ->  dx[i] = g[i] + ... + g[n] */
    if (!grads[0]) return HD_OK;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    grad_inputs[0] = scan(cx, grads[0], dim, (hd_dtype)grads[0]->dtype, true);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class cumsum_class = {"cumsum", cumsum_backward, NULL};

hd_tensor *hd_cumsum(hd_ctx *cx, hd_tensor *x, int dim) {
    int d = 0;
    if (hd_check_computes(cx, x) || (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d))) return NULL;
    hd_dtype dtype = hd_dtype_is_float((hd_dtype)x->dtype) ? (hd_dtype)x->dtype : HD_I64;
    return hd_record(cx, &cumsum_class, scan(cx, x, d, dtype, false), 1, &x, 0, NULL, &d, sizeof d);
}
