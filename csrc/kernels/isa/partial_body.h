/* partial_body.h: partial.c for one element type (names: see vec_real.h). */
#include "kernels/vec_real.h"
#include "kernels/isa/softmax_common.h"

/* ---- rows of n > 0 contiguous elements ------------------------------------------------------- */

/* sum_i f(x_i - shift): BLOCK elements in lanes, in four sums in turn, and the blocks in f64. */
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

/* off = sum (x - shift), squares = sum (x - shift)², of n <= BLOCK elements. */
HD_INLINE void NAME(add_moments)(int64_t n, const real *x, real shift, double *off, double *squares) {
    vr o0 = {0}, o1 = {0}, s0 = {0}, s1 = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        vr a = V(load)(x + i) - shift, b = V(load)(x + i + LANES) - shift;
        o0 += a, o1 += b;
        s0 += a * a, s1 += b * b;
    }
    for (; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr a = V(select)(V(first)(count), V(load_n)(x + i, count) - shift, V(set)(0));
        o0 += a;
        s0 += a * a;
    }
    *off = V(sum)(o0 + o1);
    *squares = V(sum)(s0 + s1);
}

/* Merges n elements with m more (Chan, Golub & LeVeque 1979). The former are (mean, squares), squares
 * being the sum of (x - mean)²; of the latter the sums off and sum of x - middle and (x - middle)² are
 * given. Then
 *     here     = middle + off / m                  their mean
 *     squares += (sum - off² / m) + (here - mean)² n m / (n + m)
 *     mean    += (here - mean) m / (n + m) */
HD_INLINE void NAME(take_up)(double n, double *mean, double *squares, double m, double middle, double off,
                             double sum) {
    double share = m / (n + m), here = middle + off / m, apart = here - *mean;
    *squares += sum - off * off / m + apart * apart * n * share;
    *mean += apart * share;
}

/* The moments of a row in one pass: each block is summed about the mean of all before it. If that mean
 * is far from the block's own, sum - off² / m cancels, but then the term with (here - mean)² is large
 * and the error small beside it. Only the first block is read twice, for a mean to begin with. */
static void NAME(moments_row)(int64_t n, const void *px, double *mean, double *squares) {
    const real *x = px;
    int64_t count = n < BLOCK ? n : BLOCK;
    *mean = NAME(add_up)(count, x, 0, NAME(same)) / (double)count;
    *squares = 0;
    for (int64_t start = 0; start < n; start += count) {
        count = n - start < BLOCK ? n - start : BLOCK;
        real middle = (real)*mean;
        double off, sum;
        NAME(add_moments)(count, x + start, middle, &off, &sum);
        NAME(take_up)((double)start, mean, squares, (double)count, middle, off, sum);
    }
}

/* sum e^(x - top) of n <= NEAR elements. This waits for arithmetic, and the search for a maximum for
 * memory; so the next block is fetched meanwhile. */
HD_INLINE double NAME(sum_falling)(int64_t n, const real *x, real top) {
    vr s0 = {0}, s1 = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        __builtin_prefetch(x + NEAR + i);
        __builtin_prefetch(x + NEAR + i + LANES);
        s0 += V(exp_falling)(V(load)(x + i) - top);
        s1 += V(exp_falling)(V(load)(x + i + LANES) - top);
    }
    for (; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        s0 += V(select)(V(first)(count), V(exp_falling)(V(load_n)(x + i, count) - top), V(set)(0));
    }
    return V(sum)(s0 + s1);
}

/* most = max x, sum = sum e^(x - most), block by block: a new maximum rescales the sum so far by
 * e^(old - new). With a maximum of infinity the sum is 1, or NaN if a NaN is there. */
static void NAME(logsumexp_part_row)(int64_t n, const void *px, double *most, double *sum) {
    const real *x = px;
    real top = -INFINITY;
    double total = 0;
    for (int64_t start = 0; start < n && top < INFINITY; start += NEAR) {
        int64_t count = n - start < NEAR ? n - start : NEAR;
        real largest = NAME(row_max)(count, x + start);
        if (largest > top) {
            total *= exp((double)top - (double)largest);
            top = largest;
        }
        if (top > -INFINITY && top < INFINITY)
            total += NAME(sum_falling)(count, x + start, top);
        else if (NAME(has_nan)(count, x + start))
            total = NAN;
    }
    *most = top;
    *sum = top < INFINITY ? total : NAME(has_nan)(n, x) ? NAN : 1;
}

static void NAME(abs_row)(int64_t n, const void *x, double *sum, double *unused) {
    *sum = NAME(add_up)(n, x, 0, NAME(size));
    *unused = 0;
}

/* max |x| for turn = 1, min |x| for turn = -1; NaN if there is one. */
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

/* ---- columns: n of them, each with `rows` elements that lie `stride` apart ------------------- */

/* Eight rows at a time: they are eight streams of memory, and the state of a column is loaded and
 * stored once for them. Rows that follow each other directly are one stream and are taken singly. */

#define TOGETHER (stride == n ? 1 : 8)
#define WIDE (HD_PARTIAL_COLUMNS + LANES)

/* EACH_STRIP { ... } runs for each strip: rows [from, to) of the columns [j, j + count), count <= LANES.
 * In it, EACH_VECTOR(v) ... runs for each row with v, the strip's part of that row. (The loop over
 * `once` runs once and only declares v.) The arrays for the columns have WIDE elements, so that whole
 * vectors can be loaded and stored at their end. */
#define EACH_STRIP EACH_STRIP_OF(TOGETHER)
#define EACH_STRIP_OF(height)                                                                                \
    for (int64_t from = 0, to; to = from + (height) < rows ? from + (height) : rows, from < rows; from = to) \
        for (int64_t j = 0, count; count = n - j < LANES ? n - j : LANES, j < n; j += LANES)
#define EACH_VECTOR(v)                                                                                       \
    for (int64_t r = from; r < to; r++)                                                                      \
        for (vr v = V(load_n)(x + r * stride + j, count), *once = &v; once; once = NULL)

HD_INLINE void NAME(start)(real value, real *y) {
    for (int64_t j = 0; j < WIDE; j++) y[j] = value;
}

/* The results as f64; the second number is not used. */
HD_INLINE void NAME(give)(int64_t n, const real *x, double *a, double *b) {
    for (int64_t j = 0; j < n; j++) a[j] = x[j], b[j] = 0;
}

/* off = sum (x - middle), sum = sum (x - middle)² of each column. */
static void NAME(moments_chunk)(int64_t rows, int64_t n, const real *x, int64_t stride, const real *middle,
                                real *off, real *sum) {
    NAME(start)(0, off), NAME(start)(0, sum);
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
}

/* As moments_row, CHUNK rows in the place of a block. */
static void NAME(moments_cols)(int64_t all, int64_t n, const void *px, int64_t stride, double *mean,
                               double *squares) {
    const real *x = px;
    real middle[WIDE], off[WIDE], sum[WIDE];
    int64_t rows = all < CHUNK ? all : CHUNK;
    NAME(start)(0, middle);
    EACH_STRIP {
        vr s = V(load)(middle + j);
        EACH_VECTOR(v) s += v;
        V(store)(middle + j, s);
    }
    for (int64_t j = 0; j < n; j++) mean[j] = middle[j] / (double)rows, squares[j] = 0;
    for (int64_t start = 0; start < all; start += rows, x += rows * stride) {
        rows = all - start < CHUNK ? all - start : CHUNK;
        for (int64_t j = 0; j < n; j++) middle[j] = (real)mean[j];
        NAME(moments_chunk)(rows, n, x, stride, middle, off, sum);
        for (int64_t j = 0; j < n; j++)
            NAME(take_up)((double)start, mean + j, squares + j, (double)rows, middle[j], off[j], sum[j]);
    }
}

HD_INLINE bool NAME(column_has_nan)(int64_t rows, const real *x, int64_t stride) {
    for (int64_t r = 0; r < rows; r++)
        if (x[r * stride] != x[r * stride]) return true;
    return false;
}

/* What x is shifted by: the largest so far, or 0 while that is -inf, whose powers then are 0. */
HD_INLINE vr NAME(shift_by)(vr top) {
    return V(select)(V(eq)(top, V(set)(-INFINITY)), V(set)(0), top);
}

/* As logsumexp_part_row, strip by strip: eight rows are read for their maximum and again, from the
 * cache, for their powers. */
static void NAME(logsumexp_part_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, double *most,
                                      double *sum) {
    const real *x = px;
    real top[WIDE], total[WIDE];
    NAME(start)(-INFINITY, top), NAME(start)(0, total);
    EACH_STRIP_OF(8) {
        vr former = V(load)(top + j), m = former, s = V(load)(total + j);
        EACH_VECTOR(v) m = V(max)(v, m);
        vr shift = NAME(shift_by)(m);
        if (V(any)(V(lt)(former, m))) {
            s *= V(exp_falling)(former - shift);
            V(store)(top + j, m);
        }
        EACH_VECTOR(v) {
            __builtin_prefetch(x + (r + 8) * stride + j, 0, 2);
            s += V(exp_falling)(v - shift);
        }
        V(store)(total + j, s);
    }
    for (int64_t j = 0; j < n; j++) {
        most[j] = top[j];
        bool infinite = top[j] == INFINITY || top[j] == -INFINITY;
        sum[j] = !infinite ? (double)total[j] : NAME(column_has_nan)(rows, x + j, stride) ? NAN : top[j] > 0;
    }
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

/* max |x| of each column for turn = 1, min |x| for turn = -1; NaN if there is one. */
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

/* Sums of squares, in f64 for either element type. */
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

/* One strip of argmax: `height` rows from number `first` on. best is the largest of each column so
 * far, `at` its row. */
HD_INLINE void NAME(arg_strip)(int64_t height, int64_t count, const real *x, int64_t stride, real turn,
                               real first, real *best, real *at) {
    vr b = V(load)(best), place = V(load)(at), here = V(set)(first);
    for (int64_t r = 0; r < height; r++, here += 1) {
        /* best stays unless v is larger or the first NaN */
        vr v = V(load_n)(x + r * stride, count) * turn;
        vmask stays = V(le)(v, b) | V(nan)(b);
        b = V(select)(stays, b, v);
        place = V(select)(stays, place, here);
    }
    V(store)(best, b);
    V(store)(at, place);
}

/* The first of the largest elements for turn = 1, of the smallest for turn = -1; the first NaN wins.
 * Row numbers are kept as `real`, beside the elements; up to 2^24 they are exact. */
HD_INLINE void NAME(arg_cols)(int64_t rows, int64_t n, const real *x, int64_t stride, real turn, void *pbest,
                              int32_t *index) {
    real best[WIDE], at[WIDE], *out = pbest;
    NAME(start)(-INFINITY, best), NAME(start)(0, at);
    EACH_STRIP {
        const real *strip = x + from * stride + j;
        if (to - from == 8 && count == LANES)
            NAME(arg_strip)(8, LANES, strip, stride, turn, (real)from, best + j, at + j);
        else
            NAME(arg_strip)(to - from, count, strip, stride, turn, (real)from, best + j, at + j);
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
#undef EACH_STRIP_OF
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
