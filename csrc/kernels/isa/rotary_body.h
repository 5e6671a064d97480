/* rotary_body.h: rotary.c for one element type (names: see vec_real.h). A pair (a, b) becomes
 * (a cos - b sin, b cos + a sin). A sign of -1 rotates back, which is also the gradient.
 */
#include "kernels/vec_real.h"

/* Pairs of feature i and feature n + i. */
static void NAME(rotate_halves)(int64_t n, double sign, const void *px, const void *pcos, const void *psin,
                                void *py) {
    const real *x = px, *c = pcos, *s = psin;
    real *y = py;
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr a = V(load_n)(x + i, count), b = V(load_n)(x + n + i, count);
        vr co = V(load_n)(c + i, count), si = V(load_n)(s + i, count) * (real)sign;
        V(store_n)(y + i, a * co - b * si, count);
        V(store_n)(y + n + i, b * co + a * si, count);
    }
}

/* Pairs of feature 2i and feature 2i + 1. */
static void NAME(rotate_pairs)(int64_t n, double sign, const void *px, const void *pcos, const void *psin,
                               void *py) {
    const real *x = px, *c = pcos, *s = psin, sign_of_angle = (real)sign;
    real *y = py;
    HD_INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        real a = x[2 * i], b = x[2 * i + 1], si = s[i] * sign_of_angle;
        y[2 * i] = a * c[i] - b * si;
        y[2 * i + 1] = b * c[i] + a * si;
    }
}

#include "kernels/vec_real_end.h"
