/* reduce_body.h: the reductions of one float type (names: see vec_real.h). */
#include "kernels/vec_real.h"

/* Four sums in turn: an addition takes as long as the processor needs to begin several. */
static real NAME(sum_block)(int64_t n, const real *x) {
    vr s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES) {
        s0 += V(load)(x + i);
        s1 += V(load)(x + i + LANES);
        s2 += V(load)(x + i + 2 * LANES);
        s3 += V(load)(x + i + 3 * LANES);
    }
    for (; i + LANES <= n; i += LANES) s0 += V(load)(x + i);
    if (i < n) s1 += V(load_n)(x + i, n - i);
    return V(sum)((s0 + s1) + (s2 + s3));
}

static void NAME(gather_block)(int64_t n, const real *x, int64_t sx, real *block) {
    for (int64_t i = 0; i < n; i++) block[i] = x[i * sx];
}

static void NAME(sum_row)(int64_t n, const void *px, int64_t sx, void *out) {
    const real *x = px;
    real block[BLOCK];
    double sum = 0;
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        if (sx == 1) {
            sum += NAME(sum_block)(count, x + i);
        } else {
            NAME(gather_block)(count, x + i * sx, sx, block);
            sum += NAME(sum_block)(count, block);
        }
    }
    *(real *)out = (real)sum;
}

/* Products are made in f64: those of some f32 may leave the range of f32 though that of all does not. */
#if HD_REAL == 32
HD_INLINE vd as_f64_f32(const float *x) {
    typedef float half __attribute__((vector_size(VD_LANES * 4), aligned(4), may_alias));
    return __builtin_convertvector(*(const half *)x, vd);
}
#else
HD_INLINE vd as_f64_f64(const double *x) {
    return vd_load(x);
}
#endif
static void NAME(prod_row)(int64_t n, const void *px, int64_t sx, void *out) {
    const real *x = px;
    enum { AT_ONCE = 4 * VD_LANES };
    vd p[4];
    double left = 1;
    int64_t i = 0;
    for (int j = 0; j < 4; j++) p[j] = vd_set(1);
    for (; sx == 1 && i + AT_ONCE <= n; i += AT_ONCE)
        for (int j = 0; j < 4; j++) p[j] *= NAME(as_f64)(x + i + j * VD_LANES);
    vd both = (p[0] * p[1]) * (p[2] * p[3]);
    for (; i < n; i++) left *= x[i * sx];
    for (int j = 0; j < VD_LANES; j++) left *= both[j];
    *(real *)out = (real)left;
}

/* max x for turn = 1, -min x for turn = -1, of n > 0 contiguous elements; NaN if there is one. */
HD_INLINE real NAME(largest_block)(int64_t n, const real *x, real turn) {
    vr best = V(set)(-INFINITY), nan = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vr v = V(load)(x + i) * turn;
        best = V(max)(v, best);
        nan = V(select)(V(nan)(v), v, nan);
    }
    if (i < n) {
        vr v = V(select)(V(first)(n - i), V(load_n)(x + i, n - i) * turn, best);
        best = V(max)(v, best);
        nan = V(select)(V(nan)(v), v, nan);
    }
    return V(any)(V(nan)(nan)) ? (real)NAN : V(largest)(best);
}

HD_INLINE real NAME(largest)(int64_t n, const real *x, int64_t sx, real turn) {
    if (sx == 1) return NAME(largest_block)(n, x, turn);
    real block[BLOCK], best = -INFINITY;
    for (int64_t i = 0; i < n && best == best; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        NAME(gather_block)(count, x + i * sx, sx, block);
        real y = NAME(largest_block)(count, block, turn);
        if (!(y <= best)) best = y;
    }
    return best;
}

static void NAME(max_row)(int64_t n, const void *x, int64_t sx, void *out) {
    *(real *)out = NAME(largest)(n, x, sx, 1);
}
static void NAME(min_row)(int64_t n, const void *x, int64_t sx, void *out) {
    *(real *)out = -NAME(largest)(n, x, sx, -1);
}

static int64_t NAME(find)(int64_t n, const real *x, int64_t sx, real wanted) {
    if (wanted != wanted) {
        for (int64_t i = 0; i < n; i++)
            if (x[i * sx] != x[i * sx]) return i;
    }
    int64_t i = 0;
    if (sx == 1)
        while (i + LANES <= n && !V(any)(V(eq)(V(load)(x + i), V(set)(wanted)))) i += LANES;
    for (; i < n; i++)
        if (x[i * sx] == wanted) return i;
    return 0;
}

/* The first of the largest elements for turn = 1, of the smallest for turn = -1; the first NaN wins. The
 * first pass finds the value and its block, the second the place in this block. */
HD_INLINE int64_t NAME(arg_row)(int64_t n, const real *x, int64_t sx, real turn) {
    real best = -INFINITY;
    int64_t where = 0, there = n < BLOCK ? n : BLOCK;
    for (int64_t i = 0; i < n && best == best; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        real y = NAME(largest)(count, x + i * sx, sx, turn);
        if (!(y <= best)) best = y, where = i, there = count;
    }
    return where + NAME(find)(there, x + where * sx, sx, best * turn);
}

static int64_t NAME(argmax)(int64_t n, const void *x, int64_t sx) {
    return NAME(arg_row)(n, x, sx, 1);
}
static int64_t NAME(argmin)(int64_t n, const void *x, int64_t sx) {
    return NAME(arg_row)(n, x, sx, -1);
}

/* Sixteen rows are added up before they are added to y: short sums are more exact. */
static void NAME(sum_stream)(int64_t rows, int64_t n, const real *x, real *y) {
    real few[STREAM];
    for (int64_t r = 0; r < rows; r++, x += n) {
        bool first = r % 16 == 0, last = r % 16 == 15 || r == rows - 1;
        if (first)
            memcpy(few, x, (size_t)n * sizeof *x);
        else
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) few[i] += x[i];
        if (last) HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] += few[i];
    }
}
static void NAME(sum_cols)(int64_t rows, int64_t n, const void *px, int64_t stride, void *out) {
    const real *x = px;
    real *y = out;
    int64_t r = 0;
    if (stride == n && n <= STREAM) {
        NAME(sum_stream)(rows, n, x, y);
        return;
    }
    for (; r + 8 <= rows; r += 8, x += 8 * stride) {
        const real *x1 = x + stride, *x2 = x1 + stride, *x3 = x2 + stride, *x4 = x3 + stride;
        const real *x5 = x4 + stride, *x6 = x5 + stride, *x7 = x6 + stride;
        HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] +=
            ((x[i] + x1[i]) + (x2[i] + x3[i])) + ((x4[i] + x5[i]) + (x6[i] + x7[i]));
    }
    for (; r < rows; r++, x += stride) HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] += x[i];
}
COLS(NAME(prod_cols), real, real, y *x)
COLS(NAME(max_cols), real, real, (x > y || x != x) ? x : y)
COLS(NAME(min_cols), real, real, (x < y || x != x) ? x : y)

/* Strips of STRIP vectors of columns, whose sums are in registers. Rows in runs of 64, so that a long
 * sum is a sum of short ones. */
#define STRIP 4
static void NAME(column_strip)(int64_t rows, const real *x, int64_t row_stride, int64_t vectors, int64_t tail,
                               real *out) {
    vr total[STRIP];
    for (int64_t v = 0; v < STRIP; v++) total[v] = (vr){0};
    for (int64_t r = 0; r < rows; r += 64) {
        int64_t end = r + 64 < rows ? r + 64 : rows;
        if (vectors == STRIP) {
            vr s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
            for (int64_t i = r; i < end; i++) {
                const real *row = x + i * row_stride;
                s0 += V(load)(row);
                s1 += V(load)(row + LANES);
                s2 += V(load)(row + 2 * LANES);
                s3 += V(load)(row + 3 * LANES);
            }
            total[0] += s0, total[1] += s1, total[2] += s2, total[3] += s3;
        } else {
            for (int64_t v = 0; v < vectors; v++) {
                vr s = {0};
                for (int64_t i = r; i < end; i++) s += V(load)(x + i * row_stride + v * LANES);
                total[v] += s;
            }
            vr s = {0};
            for (int64_t i = r; i < end && tail > 0; i++)
                s += V(load_n)(x + i * row_stride + vectors * LANES, tail);
            total[vectors] += s;
        }
    }
    for (int64_t v = 0; v < vectors; v++) V(store)(out + v * LANES, V(load)(out + v * LANES) + total[v]);
    if (tail > 0) {
        out += vectors * LANES;
        V(store_n)(out, V(load_n)(out, tail) + total[vectors], tail);
    }
}

static void NAME(column_sums)(int64_t rows, int64_t n, const void *px, int64_t row_stride, void *pout) {
    const real *x = px;
    real *out = pout;
    for (int64_t j = 0; j < n; j += STRIP * LANES) {
        int64_t width = n - j < STRIP * LANES ? n - j : STRIP * LANES;
        NAME(column_strip)(rows, x + j, row_stride, width / LANES, width % LANES, out + j);
    }
}
#undef STRIP

#if HD_REAL == 32
static double sum_squares_f32(int64_t n, const void *px) {
    const float *x = px;
    vd low = {0}, high = {0};
    int64_t i = 0;
    for (; i < n; i += VF_LANES) {
        vf v = i + VF_LANES <= n ? vf_load(x + i) : vf_load_n(x + i, n - i);
        vd a = vf_low(v), b = vf_high(v);
        low += a * a;
        high += b * b;
    }
    return vd_sum(low + high);
}
#else
static double sum_squares_f64(int64_t n, const void *px) {
    const double *x = px;
    vd low = {0}, high = {0};
    int64_t i = 0;
    for (; i + 2 * VD_LANES <= n; i += 2 * VD_LANES) {
        vd a = vd_load(x + i), b = vd_load(x + i + VD_LANES);
        low += a * a;
        high += b * b;
    }
    for (; i < n; i += VD_LANES) {
        vd a = i + VD_LANES <= n ? vd_load(x + i) : vd_load_n(x + i, n - i);
        low += a * a;
    }
    return vd_sum(low + high);
}
#endif

#include "kernels/vec_real_end.h"
