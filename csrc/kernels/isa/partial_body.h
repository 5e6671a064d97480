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

/* ---- columns: n of them, each with `rows` elements that lie `stride` apart ---------------------------
 * Some rows at a time: as many streams of memory, and what is kept of a column stays in registers. Rows that
 * lie behind each other are one stream. */

#define TOGETHER (stride == n ? 1 : 8)
#define WIDE (HD_PARTIAL_COLUMNS + LANES)

#define EACH_STRIP                                                                                           \
    for (int64_t from = 0, to; to = from + TOGETHER < rows ? from + TOGETHER : rows, from < rows; from = to) \
        for (int64_t j = 0, count; count = n - j < LANES ? n - j : LANES, j < n; j += LANES)
#define EACH_VECTOR(v)                                                                                       \
    for (int64_t r = from; r < to; r++)                                                                      \
        for (vr v = V(load_n)(x + r * stride + j, count), *once = &v; once; once = NULL)

HD_INLINE void NAME(start)(real value, real *y) {
    for (int64_t j = 0; j < WIDE; j++) y[j] = value;
}

HD_INLINE void NAME(give)(int64_t n, const real *x, double *a, double *b) {
    for (int64_t j = 0; j < n; j++) a[j] = x[j], b[j] = 0;
}

static void NAME(moments_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *mean,
                               double *squares) {
    const real *x = px;
    real middle[WIDE], off[WIDE], sum[WIDE];
    NAME(start)(0, middle), NAME(start)(0, off), NAME(start)(0, sum);
    EACH_STRIP {
        vr s = V(load)(middle + j);
        EACH_VECTOR(v) s += v;
        V(store)(middle + j, s);
    }
    for (int64_t j = 0; j < n; j++) middle[j] /= (real)rows;
    EACH_STRIP {
        vr m = V(load)(middle + j), o = V(load)(off + j), s = V(load)(sum + j);
        EACH_VECTOR(v) {
            vr d = v - m;
            o += d;
            s += d * d;
        }
        V(store)(off + j, o);
        V(store)(sum + j, s);
    }
    for (int64_t j = 0; j < n; j++) {
        mean[j] = middle[j] + off[j] / (double)rows;
        squares[j] = sum[j] - (double)off[j] * off[j] / (double)rows;
    }
}

static void NAME(logsumexp_part_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *most,
                                      double *sum) {
    const real *x = px;
    real top[WIDE], total[WIDE];
    NAME(start)(-INFINITY, top), NAME(start)(0, total);
    EACH_STRIP {
        vr m = V(load)(top + j);
        EACH_VECTOR(v) m = V(max)(v, m);
        V(store)(top + j, m);
    }
    EACH_STRIP {
        vr m = V(load)(top + j), s = V(load)(total + j);
        m = V(select)(V(eq)(m, V(set)(-INFINITY)), V(set)(0), m);
        EACH_VECTOR(v) s += V(select)(V(eq)(v, m), V(set)(1), V(exp)(v - m));
        V(store)(total + j, s);
    }
    for (int64_t j = 0; j < n; j++) most[j] = top[j], sum[j] = total[j];
}

static void NAME(abs_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *sum,
                           double *unused) {
    const real *x = px;
    real total[WIDE];
    NAME(start)(0, total);
    EACH_STRIP {
        vr s = V(load)(total + j);
        EACH_VECTOR(v) s += V(abs)(v);
        V(store)(total + j, s);
    }
    NAME(give)(n, total, sum, unused);
}

/* The largest |x| times turn (1 or -1). */
HD_INLINE void NAME(extreme_cols)(int64_t rows, int64_t n, const real *x, int64_t stride, real turn,
                                  double *size, double *unused) {
    real best[WIDE], nan[WIDE];
    NAME(start)(-INFINITY, best), NAME(start)(0, nan);
    EACH_STRIP {
        vr b = V(load)(best + j), bad = V(load)(nan + j);
        EACH_VECTOR(v) {
            bad = V(select)(V(nan)(v), v, bad);
            b = V(max)(V(abs)(v) * turn, b);
        }
        V(store)(best + j, b);
        V(store)(nan + j, bad);
    }
    for (int64_t j = 0; j < n; j++) best[j] = nan[j] != nan[j] ? nan[j] : best[j] * turn;
    NAME(give)(n, best, size, unused);
}
static void NAME(max_size_cols)(int64_t rows, int64_t n, const void *x, int64_t stride, double *size,
                                double *unused) {
    NAME(extreme_cols)(rows, n, x, stride, 1, size, unused);
}
static void NAME(min_size_cols)(int64_t rows, int64_t n, const void *x, int64_t stride, double *size,
                                double *unused) {
    NAME(extreme_cols)(rows, n, x, stride, -1, size, unused);
}

/* In f64, whatever the elements are. */
static void NAME(squares_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *sum,
                               double *unused) {
    const real *x = px;
    double total[WIDE];
    for (int64_t j = 0; j < WIDE; j++) total[j] = 0;
    EACH_STRIP {
        NAME(squares) s = NAME(load_squares)(total + j);
        EACH_VECTOR(v) s = NAME(add_squares)(s, v);
        NAME(store_squares)(total + j, s);
    }
    for (int64_t j = 0; j < n; j++) sum[j] = total[j], unused[j] = 0;
}

/* The first of the largest times turn, NaN before all. Places are numbers that `real` holds exactly. */
HD_INLINE void NAME(arg_cols)(int64_t rows, int64_t n, const real *x, int64_t stride, real turn, void *pbest,
                              int32_t *index) {
    real best[WIDE], at[WIDE], *out = pbest;
    NAME(start)(-INFINITY, best), NAME(start)(0, at);
    EACH_STRIP {
        vr b = V(load)(best + j), place = V(load)(at + j);
        EACH_VECTOR(v) {
            /* stays: unless v is larger, or the first NaN */
            vr turned = v * turn;
            vmask is_nan = V(nan)(b);
            vr next = V(select)(V(le)(turned, b), b, turned), here = V(set)((real)r);
            here = V(select)(V(le)(turned, b), place, here);
            place = V(select)(is_nan, place, here);
            b = V(select)(is_nan, b, next);
        }
        V(store)(best + j, b);
        V(store)(at + j, place);
    }
    for (int64_t j = 0; j < n; j++) out[j] = best[j] * turn, index[j] = (int32_t)at[j];
}
static void NAME(argmax_cols)(int64_t rows, int64_t n, const void *x, int64_t stride, void *best,
                              int32_t *index) {
    NAME(arg_cols)(rows, n, x, stride, 1, best, index);
}
static void NAME(argmin_cols)(int64_t rows, int64_t n, const void *x, int64_t stride, void *best,
                              int32_t *index) {
    NAME(arg_cols)(rows, n, x, stride, -1, best, index);
}
#undef EACH_STRIP
#undef EACH_VECTOR
#undef WIDE
#undef TOGETHER

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
    k->argmax_cols[t] = NAME(argmax_cols);
    k->argmin_cols[t] = NAME(argmin_cols);
}

#include "kernels/vec_real_end.h"
