/* partial_body.h: partial.c for f32 and f64 (see vec_real.h). */
#include "kernels/vec_real.h"
#include "kernels/isa/shifted.h"

/* ---- rows of n > 0 contiguous elements ------------------------------------------------------------ */

HD_INLINE double NAME(add_up)(int64_t n, const real *x, real shift, vr (*f)(vr)) {
    double sum = 0;
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t end = n - start < BLOCK ? n : start + BLOCK, i = start;
        vr s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (; i + 4 * LANES <= end; i += 4 * LANES) {
            s0 += f(V(load)(x + i) - shift);
            s1 += f(V(load)(x + i + LANES) - shift);
            s2 += f(V(load)(x + i + 2 * LANES) - shift);
            s3 += f(V(load)(x + i + 3 * LANES) - shift);
        }
        for (; i < end; i += LANES) {
            int64_t count = end - i < LANES ? end - i : LANES;
            s0 += V(select)(V(first)(count), f(V(load_n)(x + i, count) - shift), V(set)(0));
        }
        sum += V(sum)((s0 + s1) + (s2 + s3));
    }
    return sum;
}

HD_INLINE vr NAME(same)(vr x) {
    return x;
}
HD_INLINE vr NAME(squared)(vr x) {
    return x * x;
}
HD_INLINE vr NAME(size)(vr x) {
    return V(abs)(x);
}

static void NAME(moments_row)(int64_t n, const void *px, double *mean, double *squares) {
    const real *x = px;
    real middle = (real)(NAME(add_up)(n, x, 0, NAME(same)) / (double)n);
    double off = NAME(add_up)(n, x, middle, NAME(same));
    *squares = NAME(add_up)(n, x, middle, NAME(squared)) - off * off / (double)n;
    *mean = middle + off / (double)n;
}

static void NAME(logsumexp_part_row)(int64_t n, const void *px, double *most, double *sum) {
    const real *x = px;
    real largest = NAME(row_max)(n, x);
    *most = largest;
    if (largest == -INFINITY || largest == INFINITY)
        *sum = NAME(has_nan)(n, x) ? NAN : largest > 0;
    else
        *sum = NAME(exp_shifted)(n, x, largest, NULL);
}

static void NAME(abs_row)(int64_t n, const void *x, double *sum, double *unused) {
    *sum = NAME(add_up)(n, x, 0, NAME(size));
    *unused = 0;
}

/* The largest size times turn (1 or -1), NaN when there is one. */
HD_INLINE double NAME(extreme_size)(int64_t n, const real *x, real turn) {
    vr best = V(set)(-INFINITY), nan = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr v = V(load_n)(x + i, count);
        nan = V(select)(V(nan)(v), v, nan);
        best = V(max)(V(select)(V(first)(count), V(abs)(v) * turn, best), best);
    }
    return V(any)(V(nan)(nan)) ? NAN : (double)V(largest)(best) * turn;
}
static void NAME(max_size_row)(int64_t n, const void *x, double *size, double *unused) {
    *size = NAME(extreme_size)(n, x, 1);
    *unused = 0;
}
static void NAME(min_size_row)(int64_t n, const void *x, double *size, double *unused) {
    *size = NAME(extreme_size)(n, x, -1);
    *unused = 0;
}

/* ---- columns: n of them, each with `rows` elements that lie `stride` apart --------------------------- */

static void NAME(moments_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *mean,
                               double *squares) {
    const real *x = px;
    real middle[HD_PARTIAL_COLUMNS], off[HD_PARTIAL_COLUMNS], sum[HD_PARTIAL_COLUMNS];
    for (int64_t j = 0; j < n; j++) middle[j] = 0, off[j] = 0, sum[j] = 0;
    for (int64_t r = 0; r < rows; r++)
        HD_INDEPENDENT for (int64_t j = 0; j < n; j++) middle[j] += x[r * stride + j];
    for (int64_t j = 0; j < n; j++) middle[j] /= (real)rows;
    for (int64_t r = 0; r < rows; r++) HD_INDEPENDENT for (int64_t j = 0; j < n; j++) {
            real d = x[r * stride + j] - middle[j];
            off[j] += d;
            sum[j] += d * d;
        }
    for (int64_t j = 0; j < n; j++) {
        mean[j] = middle[j] + off[j] / (double)rows;
        squares[j] = sum[j] - (double)off[j] * off[j] / (double)rows;
    }
}

static void NAME(logsumexp_part_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *most,
                                      double *sum) {
    const real *x = px;
    real top[HD_PARTIAL_COLUMNS + LANES], total[HD_PARTIAL_COLUMNS + LANES];
    for (int64_t j = 0; j < n; j++) top[j] = -INFINITY, total[j] = 0;
    for (int64_t r = 0; r < rows; r++)
        HD_INDEPENDENT for (int64_t j = 0; j < n; j++) top[j] =
            x[r * stride + j] > top[j] ? x[r * stride + j] : top[j];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < n; j += LANES) {
            int64_t count = n - j < LANES ? n - j : LANES;
            vr v = V(load_n)(x + r * stride + j, count), shift = V(load_n)(top + j, count);
            shift = V(select)(V(eq)(shift, V(set)(-INFINITY)), V(set)(0), shift);
            vr e = V(select)(V(eq)(v, shift), V(set)(1), V(exp)(v - shift));
            V(store_n)(total + j, V(load_n)(total + j, count) + e, count);
        }
    for (int64_t j = 0; j < n; j++) most[j] = top[j], sum[j] = total[j];
}

#define SIZE(x) (real) fabs(x)
#define EXTREME_COLS(name, start, wins)                                                                      \
    static void NAME(name)(int64_t rows, int64_t n, const void *px, int64_t stride, double *size,            \
                           double *unused) {                                                                 \
        const real *x = px;                                                                                  \
        real best[HD_PARTIAL_COLUMNS];                                                                       \
        for (int64_t j = 0; j < n; j++) best[j] = start;                                                     \
        for (int64_t r = 0; r < rows; r++) HD_INDEPENDENT for (int64_t j = 0; j < n; j++) {                  \
                real v = SIZE(x[r * stride + j]);                                                            \
                best[j] = (v wins best[j] || v != v) ? v : best[j];                                          \
            }                                                                                                \
        for (int64_t j = 0; j < n; j++) size[j] = best[j], unused[j] = 0;                                    \
    }
EXTREME_COLS(max_size_cols, -1, >)
EXTREME_COLS(min_size_cols, INFINITY, <)
#undef EXTREME_COLS

static void NAME(squares_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *sum,
                               double *unused) {
    const real *x = px;
    for (int64_t j = 0; j < n; j++) sum[j] = 0, unused[j] = 0;
    for (int64_t r = 0; r < rows; r++) HD_INDEPENDENT for (int64_t j = 0; j < n; j++) {
            double v = x[r * stride + j];
            sum[j] += v * v;
        }
}

static void NAME(abs_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *sum,
                           double *unused) {
    const real *x = px;
    real total[HD_PARTIAL_COLUMNS];
    for (int64_t j = 0; j < n; j++) total[j] = 0;
    for (int64_t r = 0; r < rows; r++)
        HD_INDEPENDENT for (int64_t j = 0; j < n; j++) total[j] += SIZE(x[r * stride + j]);
    for (int64_t j = 0; j < n; j++) sum[j] = total[j], unused[j] = 0;
}
#undef SIZE

static void NAME(fill_partial)(hd_kernels *k, hd_dtype t) {
    k->partial_row[HD_MOMENTS][t] = NAME(moments_row);
    k->partial_row[HD_LOGSUMEXP][t] = NAME(logsumexp_part_row);
    k->partial_row[HD_ABS_SUM][t] = NAME(abs_row);
    k->partial_row[HD_ABS_MAX][t] = NAME(max_size_row);
    k->partial_row[HD_ABS_MIN][t] = NAME(min_size_row);
    k->partial_cols[HD_MOMENTS][t] = NAME(moments_cols);
    k->partial_cols[HD_LOGSUMEXP][t] = NAME(logsumexp_part_cols);
    k->partial_cols[HD_SQUARES][t] = NAME(squares_cols);
    k->partial_cols[HD_ABS_SUM][t] = NAME(abs_cols);
    k->partial_cols[HD_ABS_MAX][t] = NAME(max_size_cols);
    k->partial_cols[HD_ABS_MIN][t] = NAME(min_size_cols);
}

#include "kernels/vec_real_end.h"
