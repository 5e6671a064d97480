/* channel_norm_body.h: channel_norm.c for one element type (names: see vec_real.h). */
#include "kernels/vec_real.h"

/* The first n lanes of v, 0 in the others. */
HD_INLINE vr NAME(only)(int64_t n, vr v) {
    return n < LANES ? V(select)(V(first)(n), v, V(set)(0)) : v;
}

/* Two sums of each, so that additions do not wait for each other. */
static void NAME(sums)(int64_t n, const void *px, double shift, double sums[2]) {
    const real *x = px, s = (real)shift;
    vr first[2] = {{0}, {0}}, second[2] = {{0}, {0}};
    for (int64_t i = 0, turn = 0; i < n; i += LANES, turn ^= 1) {
        const int64_t count = hd_min(LANES, n - i);
        const vr d = NAME(only)(count, V(load_n)(x + i, count) - s);
        first[turn] += d;
        second[turn] += d * d;
    }
    sums[0] += (double)V(sum)(first[0] + first[1]);
    sums[1] += (double)V(sum)(second[0] + second[1]);
}

static void NAME(scaled_sums)(int64_t n, const void *px, double scale, double shift, double sums[2]) {
    const real *x = px;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)x[i] * scale - shift;
        sums[0] += d;
        sums[1] += d * d;
    }
}

static double NAME(largest)(int64_t n, const void *px) {
    const real *x = px;
    double most = 0;
    for (int64_t i = 0; i < n; i++) most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
    return most;
}

static void NAME(normalize)(int64_t n, const void *px, double mean, double rstd, double w, double b,
                            void *py) {
    const real *x = px, m = (real)mean, r = (real)rstd, scale = (real)w, shift = (real)b;
    real *y = py;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t count = hd_min(LANES, n - i);
        V(store_n)(y + i, (V(load_n)(x + i, count) - m) * r * scale + shift, count);
    }
}

static void NAME(grad_sums)(int64_t n, const void *pg, const void *px, double mean, double rstd,
                            double sums[2]) {
    const real *g = pg, *x = px, m = (real)mean, r = (real)rstd;
    vr first[2] = {{0}, {0}}, second[2] = {{0}, {0}};
    for (int64_t i = 0, turn = 0; i < n; i += LANES, turn ^= 1) {
        const int64_t count = hd_min(LANES, n - i);
        const vr go = V(load_n)(g + i, count), z = (V(load_n)(x + i, count) - m) * r;
        first[turn] += NAME(only)(count, go);
        second[turn] += NAME(only)(count, go * z);
    }
    sums[0] += (double)V(sum)(first[0] + first[1]);
    sums[1] += (double)V(sum)(second[0] + second[1]);
}

static void NAME(grad)(int64_t n, const void *pg, const void *px, double mean, double rstd, double w,
                       double mean_h, double mean_hz, void *pdx) {
    const real *g = pg, *x = px, m = (real)mean, r = (real)rstd, scale = (real)w, h = (real)mean_h,
               hz = (real)mean_hz;
    real *dx = pdx;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t count = hd_min(LANES, n - i);
        const vr z = (V(load_n)(x + i, count) - m) * r;
        V(store_n)(dx + i, r * (V(load_n)(g + i, count) * scale - h - z * hz), count);
    }
}

#include "kernels/vec_real_end.h"
