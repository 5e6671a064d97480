/* norm_body.h: norm.c for one element type (names: see vec_real.h). Rows of n elements; w and b are
 * rows too. With mean and variance of the row:
 *
 *     layer norm   rstd = 1 / sqrt(variance + eps)     y = (x - mean) rstd w + b
 *     RMS norm     rstd = 1 / sqrt(mean(x²) + eps)     y = x rstd w
 *
 * mean and rstd are saved, one each a row; backward computes z = (x - mean) rstd again from x.
 */
#include "kernels/vec_real.h"

HD_INLINE double NAME(row_sum)(int64_t n, const real *x) {
    vr s0 = {0}, s1 = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        s0 += V(load)(x + i);
        s1 += V(load)(x + i + LANES);
    }
    for (; i < n; i += LANES) s0 += V(load_n)(x + i, n - i < LANES ? n - i : LANES);
    return V(sum)(s0 + s1);
}

/* Two passes: sum x² - n mean² would cancel. The second is about m, the rounded mean. With d = x - m,
 * mean(d) is what rounding took from the mean, and the variance is mean(d²) - mean(d)². */
HD_INLINE void NAME(moments)(int64_t n, const real *x, double *mean, double *variance) {
    real m = (real)(NAME(row_sum)(n, x) / (double)n);
    vr first = {0}, second = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr d = V(load_n)(x + i, count) - m;
        if (count < LANES) d = V(select)(V(first)(count), d, V(set)(0));
        first += d;
        second += d * d;
    }
    double rest = V(sum)(first) / (double)n, square = V(sum)(second) / (double)n - rest * rest;
    *mean = m + rest;
    *variance = square < 0 ? 0 : square;
}

/* The least sum of squares that nothing was lost of, and the largest. */
#define SQUARES_LEAST (HD_REAL == 32 ? 0x1p-100 : 0x1p-900)
#define SQUARES_MOST (HD_REAL == 32 ? (double)FLT_MAX : DBL_MAX)
HD_INLINE bool NAME(squares_left_range)(double squares) {
    return !(squares >= SQUARES_LEAST && squares <= SQUARES_MOST);
}

/* 1 / sqrt(variance + eps) and the mean of a row whose squares left the range: of x by a power of two that
 * rounds nothing.
 * centred: about the mean, else about 0. scaled_rstd_f32 scaled_rstd_f64 */
static double NAME(scaled_rstd)(int64_t n, const real *x, double eps, bool centred, double *mean) {
    double most = 0, sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
    double scale = most > 0 && most < INFINITY ? ldexp(1, most < 0x1p-1000 ? 1000 : -ilogb(most)) : 1;
    for (int64_t i = 0; i < n && centred; i++) sum += (double)x[i] * scale;
    double middle = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)x[i] * scale - middle;
        squares += d * d;
    }
    *mean = middle / scale;
    return scale / sqrt(squares / (double)n + eps * scale * scale);
}

static void NAME(layer_norm)(int64_t n, const void *px, const void *pw, const void *pb, double eps, void *py,
                             void *pmean, void *prstd) {
    const real *x = px, *w = pw, *b = pb;
    real *y = py;
    double mean, variance;
    NAME(moments)(n, x, &mean, &variance);
    double root = 1 / sqrt(variance + eps);
    if (NAME(squares_left_range)(variance + eps)) root = NAME(scaled_rstd)(n, x, eps, true, &mean);
    real m = *(real *)pmean = (real)mean, rstd = *(real *)prstd = (real)root;
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr v = (V(load_n)(x + i, count) - m) * rstd;
        if (w) v *= V(load_n)(w + i, count);
        if (b) v += V(load_n)(b + i, count);
        V(store_n)(y + i, v, count);
    }
}

/* forward: z = (x - mean) rstd, y = z w + b. With h = g w:
 * dx = rstd (h - mean(h) - z mean(h z)), dw = g z, db = g */
static void NAME(layer_norm_grad)(int64_t n, const void *pg, const void *px, const void *pw,
                                  const void *pmean, const void *prstd, void *pdx, void *pdw, void *pdb) {
    const real *g = pg, *x = px, *w = pw;
    real *dx = pdx, *dw = pdw, *db = pdb, mean = *(const real *)pmean, rstd = *(const real *)prstd;
    vr sum_h = {0}, sum_hz = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr go = V(load_n)(g + i, count), z = (V(load_n)(x + i, count) - mean) * rstd;
        vr h = w ? go * V(load_n)(w + i, count) : go;
        sum_h += h;
        sum_hz += h * z;
        if (dw) V(store_n)(dw + i, V(load_n)(dw + i, count) + go * z, count);
        if (db) V(store_n)(db + i, V(load_n)(db + i, count) + go, count);
    }
    real mean_h = V(sum)(sum_h) / (real)n, mean_hz = V(sum)(sum_hz) / (real)n;
    for (int64_t i = 0; i < n && dx; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr h = V(load_n)(g + i, count), z = (V(load_n)(x + i, count) - mean) * rstd;
        if (w) h *= V(load_n)(w + i, count);
        V(store_n)(dx + i, rstd * (h - mean_h - z * mean_hz), count);
    }
}

/* ---- root mean square ------------------------------------------------------------------------ */

HD_INLINE double NAME(row_squares)(int64_t n, const real *x) {
    vr s0 = {0}, s1 = {0};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        vr a = V(load)(x + i), b = V(load)(x + i + LANES);
        s0 += a * a;
        s1 += b * b;
    }
    for (; i < n; i += LANES) {
        vr a = V(load_n)(x + i, n - i < LANES ? n - i : LANES);
        s0 += a * a;
    }
    return V(sum)(s0 + s1);
}

static void NAME(rms_norm)(int64_t n, const void *px, const void *pw, double eps, void *py, void *prstd) {
    const real *x = px, *w = pw;
    double square = NAME(row_squares)(n, x) / (double)n + eps, root = 1 / sqrt(square), unused;
    if (NAME(squares_left_range)(square)) root = NAME(scaled_rstd)(n, x, eps, false, &unused);
    real *y = py, rstd = *(real *)prstd = (real)root;
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr z = V(load_n)(x + i, count) * rstd;
        V(store_n)(y + i, w ? z * V(load_n)(w + i, count) : z, count);
    }
}

/* forward: z = x rstd, y = z w. With h = g w: dx = rstd (h - z mean(h z)), dw = g z */
static void NAME(rms_norm_grad)(int64_t n, const void *pg, const void *px, const void *pw, const void *prstd,
                                void *pdx, void *pdw) {
    const real *g = pg, *x = px, *w = pw;
    real *dx = pdx, *dw = pdw, rstd = *(const real *)prstd;
    vr sum_hz = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr gz = V(load_n)(g + i, count) * (V(load_n)(x + i, count) * rstd);
        sum_hz += w ? gz * V(load_n)(w + i, count) : gz;
        if (dw) V(store_n)(dw + i, V(load_n)(dw + i, count) + gz, count);
    }
    real mean_hz = V(sum)(sum_hz) / (real)n;
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr h = V(load_n)(g + i, count), z = V(load_n)(x + i, count) * rstd;
        if (w) h *= V(load_n)(w + i, count);
        V(store_n)(dx + i, rstd * (h - z * mean_hz), count);
    }
}

#undef SQUARES_LEAST
#undef SQUARES_MOST
#include "kernels/vec_real_end.h"
