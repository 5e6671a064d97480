/* softmax_columns_body.h: softmax_columns.c for one element type (names: see vec_real.h). Formulas as
 * in softmax_body.h, with j for a column. Lanes are columns, so no sum goes across lanes.
 *
 *     x, y     [rows][n], rows `stride` apart
 *     scratch     [rows][HD_SOFTMAX_COLUMNS], the columns packed; for gradients once more, for g
 *
 * More columns than HD_SOFTMAX_COLUMNS come only if all of their rows stay in the cache. They are not
 * packed; scratch then holds two rows of n numbers (the functions named _wide).
 */
#include "kernels/vec_real.h"

/* Copies x to scratch; most = the largest of each column, skipping NaN. */
HD_INLINE void NAME(pack)(int64_t rows, int64_t n, const real *x, int64_t stride, real *scratch, vr *most) {
    for (int64_t v = 0; v < VECTORS; v++) most[v] = V(set)(-INFINITY);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0, v = 0; j < n; j += LANES, v++) {
            vr e = V(load_n)(x + r * stride + j, n - j < LANES ? n - j : LANES);
            V(store)(scratch + r * HD_SOFTMAX_COLUMNS + j, e);
            most[v] = V(max)(e, most[v]);
        }
}

/* A column of -inf is not shifted: its powers are 0, not NaN. */
HD_INLINE vr NAME(shift_of)(vr most) {
    return V(select)(V(eq)(most, V(set)(-INFINITY)), V(set)(0), most);
}

/* shift_j = max_r x_rj, or 0 for a column of -inf. */
HD_INLINE void NAME(shifts)(int64_t rows, int64_t n, const real *x, int64_t stride, real *shift) {
    for (int64_t j = 0; j < n; j++) shift[j] = -INFINITY;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j += LANES) {
            int64_t count = n - j < LANES ? n - j : LANES;
            vr m = V(load_n)(shift + j, count);
            V(store_n)(shift + j, V(max)(V(load_n)(x + r * stride + j, count), m), count);
        }
    for (int64_t j = 0; j < n; j++) shift[j] = shift[j] == -INFINITY ? 0 : shift[j];
}

/* y_rj = e^(x_rj - shift_j) (y NULL: not wanted), sum_j = their sum. */
HD_INLINE void NAME(exp_rows)(int64_t rows, int64_t n, const real *x, int64_t stride, const real *shift,
                              real *sum, real *y) {
    for (int64_t j = 0; j < n; j++) sum[j] = 0;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j += LANES) {
            int64_t count = n - j < LANES ? n - j : LANES;
            vr e = V(exp)(V(load_n)(x + r * stride + j, count) - V(load_n)(shift + j, count));
            if (y) V(store_n)(y + r * stride + j, e, count);
            V(store_n)(sum + j, V(load_n)(sum + j, count) + e, count);
        }
}

static void NAME(softmax_wide)(int64_t rows, int64_t n, const real *x, int64_t stride, real *y,
                               real *scratch) {
    real *shift = scratch, *scale = scratch + n;
    NAME(shifts)(rows, n, x, stride, shift);
    NAME(exp_rows)(rows, n, x, stride, shift, scale, y);
    for (int64_t j = 0; j < n; j++) scale[j] = scale[j] == 0 ? 0 : 1 / scale[j];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j += LANES) {
            int64_t count = n - j < LANES ? n - j : LANES;
            real *p = y + r * stride + j;
            V(store_n)(p, V(load_n)(p, count) * V(load_n)(scale + j, count), count);
        }
}

static void NAME(log_softmax_wide)(int64_t rows, int64_t n, const real *x, int64_t stride, real *y,
                                   real *scratch) {
    real *shift = scratch, *log_sum = scratch + n;
    NAME(shifts)(rows, n, x, stride, shift);
    NAME(exp_rows)(rows, n, x, stride, shift, log_sum, NULL);
    for (int64_t j = 0; j < n; j += LANES) {
        int64_t count = n - j < LANES ? n - j : LANES;
        vr sum = V(load_n)(log_sum + j, count);
        V(store_n)(log_sum + j, V(select)(V(eq)(sum, V(set)(0)), V(set)(0), V(log)(sum)), count);
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j += LANES) {
            int64_t count = n - j < LANES ? n - j : LANES, at = r * stride + j;
            vr v = V(load_n)(x + at, count) - V(load_n)(shift + j, count);
            V(store_n)(y + at, v - V(load_n)(log_sum + j, count), count);
        }
}

static void NAME(softmax_cols)(int64_t rows, int64_t n, const void *x, int64_t stride, void *py,
                               void *pscratch) {
    real *y = py, *scratch = pscratch;
    if (n > HD_SOFTMAX_COLUMNS) {
        NAME(softmax_wide)(rows, n, x, stride, y, scratch);
        return;
    }
    vr most[VECTORS], scale[VECTORS];
    NAME(pack)(rows, n, x, stride, scratch, most);
    for (int64_t j = 0, v = 0; j < n; j += LANES, v++) {
        vr shift = NAME(shift_of)(most[v]), sum = {0};
        for (int64_t r = 0; r < rows; r++) {
            real *p = scratch + r * HD_SOFTMAX_COLUMNS + j;
            vr e = V(exp)(V(load)(p) - shift);
            V(store)(p, e);
            sum += e;
        }
        scale[v] = V(select)(V(eq)(sum, V(set)(0)), V(set)(0), 1 / sum);
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0, v = 0; j < n; j += LANES, v++) V(store_n)
    (y + r * stride + j, V(load)(scratch + r * HD_SOFTMAX_COLUMNS + j) * scale[v],
     n - j < LANES ? n - j : LANES);
}

static void NAME(log_softmax_cols)(int64_t rows, int64_t n, const void *x, int64_t stride, void *py,
                                   void *pscratch) {
    real *y = py, *scratch = pscratch;
    if (n > HD_SOFTMAX_COLUMNS) {
        NAME(log_softmax_wide)(rows, n, x, stride, y, scratch);
        return;
    }
    vr most[VECTORS], shift[VECTORS], log_sum[VECTORS];
    NAME(pack)(rows, n, x, stride, scratch, most);
    for (int64_t j = 0, v = 0; j < n; j += LANES, v++) {
        vr sum = {0};
        shift[v] = NAME(shift_of)(most[v]);
        for (int64_t r = 0; r < rows; r++)
            sum += V(exp)(V(load)(scratch + r * HD_SOFTMAX_COLUMNS + j) - shift[v]);
        log_sum[v] = V(select)(V(eq)(sum, V(set)(0)), V(set)(0), V(log)(sum));
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0, v = 0; j < n; j += LANES, v++) V(store_n)
    (y + r * stride + j, (V(load)(scratch + r * HD_SOFTMAX_COLUMNS + j) - shift[v]) - log_sum[v],
     n - j < LANES ? n - j : LANES);
}

/* dx = y (g - sum_r g_r y_r); 0 where y is 0, whatever g holds there. */
static void NAME(softmax_cols_grad)(int64_t rows, int64_t n, const void *py, const void *pg, int64_t stride,
                                    void *pdx, void *pscratch) {
    const real *y = py, *g = pg;
    const vr zero = {0};
    real *dx = pdx, *scratch = pscratch, *scratch_g = scratch + rows * HD_SOFTMAX_COLUMNS;
    vr dot[VECTORS];
    for (int64_t v = 0; v < VECTORS; v++) dot[v] = zero;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0, v = 0; j < n; j += LANES, v++) {
            int64_t count = n - j < LANES ? n - j : LANES, at = r * HD_SOFTMAX_COLUMNS + j;
            vr p = V(load_n)(y + r * stride + j, count), d = V(load_n)(g + r * stride + j, count);
            V(store)(scratch + at, p);
            V(store)(scratch_g + at, d);
            dot[v] += V(select)(V(eq)(p, zero), zero, p * d);
        }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0, v = 0; j < n; j += LANES, v++) {
            int64_t at = r * HD_SOFTMAX_COLUMNS + j;
            vr p = V(load)(scratch + at), d = p * (V(load)(scratch_g + at) - dot[v]);
            V(store_n)
            (dx + r * stride + j, V(select)(V(eq)(p, zero), zero, d), n - j < LANES ? n - j : LANES);
        }
}

/* dx = g - e^y sum_r g_r; 0 for a column of -inf. `visible` is 0 for such a column, NaN if it has a NaN,
 * else 1. */
static void NAME(log_softmax_cols_grad)(int64_t rows, int64_t n, const void *y, const void *pg,
                                        int64_t stride, void *pdx, void *pscratch) {
    const real *g = pg;
    real *dx = pdx, *scratch = pscratch, *scratch_g = scratch + rows * HD_SOFTMAX_COLUMNS;
    vr most[VECTORS], sum[VECTORS], visible[VECTORS];
    NAME(pack)(rows, n, y, stride, scratch, most);
    for (int64_t v = 0; v < VECTORS; v++) {
        sum[v] = V(set)(0);
        visible[v] = V(select)(V(eq)(most[v], V(set)(-INFINITY)), V(set)(0), V(set)(1));
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0, v = 0; j < n; j += LANES, v++) {
            int64_t at = r * HD_SOFTMAX_COLUMNS + j;
            vr d = V(load_n)(g + r * stride + j, n - j < LANES ? n - j : LANES), p = V(load)(scratch + at);
            V(store)(scratch_g + at, d);
            sum[v] += d;
            visible[v] = V(select)(V(nan)(p), p, visible[v]);
        }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0, v = 0; j < n; j += LANES, v++) {
            int64_t at = r * HD_SOFTMAX_COLUMNS + j;
            vr d = V(load)(scratch_g + at) - V(exp)(V(load)(scratch + at)) * sum[v];
            d = V(select)(V(eq)(visible[v], V(set)(0)), V(set)(0), d);
            V(store_n)(dx + r * stride + j, d, n - j < LANES ? n - j : LANES);
        }
}

static void NAME(fill_columns)(hd_kernels *k, hd_dtype t) {
    k->softmax_cols[t] = NAME(softmax_cols);
    k->log_softmax_cols[t] = NAME(log_softmax_cols);
    k->softmax_cols_grad[t] = NAME(softmax_cols_grad);
    k->log_softmax_cols_grad[t] = NAME(log_softmax_cols_grad);
}

#include "kernels/vec_real_end.h"
