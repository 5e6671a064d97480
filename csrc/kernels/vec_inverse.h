/* vec_inverse.h: further elementary functions of vectors of f32: hyperbolic ones, the inverse ones of angles,
 * and powers and logarithms of 2 and 10.
 *
 * As in vec_math.h, polynomials are fitted for this file. Largest errors in units of the last place: exp2
 * log2 log10 1, acos atanh 1.3, sinh cosh asinh 1.7, atan atan2 1.9, asin 2.3, acosh 2.8. log2 is exact at
 * powers of two, log10 at powers of ten.
 */
#ifndef HD_VEC_INVERSE_H
#define HD_VEC_INVERSE_H

#include "kernels/vec_math.h"

#define HD_HALF_PI 1.57079637f
#define HD_HALF_PI_LOW -4.37113883e-08f /* what is left of pi / 2 */

/* ---- powers and logarithms ----------------------------------------------------------------------------- */

/* 2^x = 2^n 2^r with n = round(x), which is exact. */
HD_INLINE vf vf_exp2(vf x) {
    x = vf_max(vf_set(-151.0f), vf_min(vf_set(129.0f), x));
    vf n = vf_rint(x), zero, p = vf_exp_reduced((x - n) * 0.693147181f, &zero);
    return vf_ldexp(1.0f + p, n);
}

/* e u + (f + low) v, with u and v in two parts each; the products with the first ones are exact, and what
 * their sum is rounded by is added with the rest. */
HD_INLINE vf vf_log_in(vf x, float u, float u_low, float v, float v_low) {
    vf e, low, f = vf_log_reduced(x, &e, &low);
    vf upper = (vf)((vu)f & 0xfffff000u), rest = (f - upper) + low;
    vf a = e * u, b = upper * v, sum = a + b;
    vf lost = b - (sum - a); /* |a| >= |b|, or a is 0 */
    return vf_log_ends(x, sum + (lost + (rest * v + ((f + low) * v_low + e * u_low))));
}
HD_INLINE vf vf_log2(vf x) {
    return vf_log_in(x, 1.0f, 0.0f, 1.4423828125f, 3.12228389e-4f);
}
HD_INLINE vf vf_log10(vf x) {
    return vf_log_in(x, 3.0102920532e-1f, 7.9034151668e-7f, 0.434204101562f, 9.03803408e-5f);
}

/* ---- hyperbolic functions ------------------------------------------------------------------------------ */

/* e^a / 2 for a >= 0, which is in range a little longer than e^a. */
HD_INLINE vf vf_half_exp(vf a) {
    vf n, p = vf_exp_reduced(vf_min(vf_set(90.0f), a), &n);
    return vf_ldexp(1.0f + p, n - 1.0f);
}
HD_INLINE vf vf_cosh(vf x) {
    vf half = vf_half_exp(vf_abs(x));
    return half + 0.25f / half;
}
/* Near 0, x + x³ p(x²). */
HD_INLINE vf vf_sinh(vf x) {
    vf z = x * x, a = vf_abs(x), half = vf_half_exp(a);
    vf p = 1.983615975e-04f + z * 2.816951367e-06f;
    p = 8.333350058e-03f + z * p;
    p = 1.666666650e-01f + z * p;
    return vf_select(vf_lt(a, vf_set(1.0f)), x + x * (z * p), vf_copysign(half - 0.25f / half, x));
}

/* Near 0, x + x³ p(x²); else log(1 + a + a² / (1 + sqrt(1 + a²))), and log(2 a) where a² is too large. */
HD_INLINE vf vf_asinh(vf x) {
    vf z = x * x, a = vf_abs(x);
    vf p = -1.997851770e-02f + z * 9.165539168e-03f;
    p = 3.001258730e-02f + z * p;
    p = -4.461320948e-02f + z * p;
    p = 7.499889085e-02f + z * p;
    p = -1.666666528e-01f + z * p;
    vf v = a + z / (1.0f + vf_sqrt(1.0f + z)), u = 1.0f + v;
    vfm large = vf_lt(vf_set(0x1p14f), a);
    vf y = vf_log(vf_select(large, a, u)) + vf_select(large, vf_set(0.693147181f), (v - (u - 1.0f)) / u);
    return vf_copysign(vf_select(vf_lt(a, vf_set(0.5f)), x + x * (z * p), y), x); /* of -0 too */
}

/* log(1 + t + sqrt(2 t + t²)) with t = x - 1; log(2 x) where t² would be too large. */
HD_INLINE vf vf_acosh(vf x) {
    vf t = x - 1.0f, v = t + vf_sqrt(t * (t + 2.0f)), u = 1.0f + v;
    vfm large = vf_lt(vf_set(0x1p14f), x);
    vf y = vf_log(vf_select(large, x, u)) + vf_select(large, vf_set(0.693147181f), (v - (u - 1.0f)) / u);
    y = vf_select(vf_lt(x, vf_set(INFINITY)), y, x); /* inf and NaN */
    return vf_select(vf_lt(x, vf_set(1.0f)), vf_set(NAN), y);
}

/* Near 0, x + x³ p(x²); else log(1 + 2 a / (1 - a)) / 2. */
HD_INLINE vf vf_atanh(vf x) {
    vf z = x * x, a = vf_abs(x);
    vf p = 2.446076276e-02f + z * 1.760186704e-01f;
    p = 1.028459969e-01f + z * p;
    p = 1.096689044e-01f + z * p;
    p = 1.429487535e-01f + z * p;
    p = 1.999972676e-01f + z * p;
    p = 3.333333607e-01f + z * p;
    vf y = 0.5f * vf_log1p(2.0f * a / (1.0f - a));
    return vf_select(vf_lt(a, vf_set(0.5f)), x + x * (z * p), vf_copysign(y, x));
}

/* ---- angles -------------------------------------------------------------------------------------------- */

/* asin s for s in [0, 1/2], z = s². */
HD_INLINE vf vf_asin_near(vf s, vf z) {
    vf p = 1.442985457e-02f + z * 3.752935820e-02f;
    p = 3.180990820e-02f + z * p;
    p = 4.451670871e-02f + z * p;
    p = 7.500505382e-02f + z * p;
    p = 1.666665997e-01f + z * p;
    return s + s * (z * p);
}
/* Beyond 1/2, pi / 2 - 2 asin sqrt((1 - a) / 2). */
HD_INLINE vf vf_asin(vf x) {
    vf a = vf_abs(x), far = 0.5f * (1.0f - a);
    vfm near = vf_le(a, vf_set(0.5f));
    vf y = vf_asin_near(vf_select(near, a, vf_sqrt(far)), vf_select(near, x * x, far));
    y = vf_select(near, y, HD_HALF_PI - (2.0f * y - HD_HALF_PI_LOW));
    return vf_copysign(y, x);
}
/* pi / 2 - asin x; above 1/2 2 asin sqrt((1 - x) / 2), and below -1/2 pi less that of -x. */
HD_INLINE vf vf_acos(vf x) {
    vf a = vf_abs(x), far = 0.5f * (1.0f - a);
    vfm near = vf_le(a, vf_set(0.5f));
    vf y = vf_asin_near(vf_select(near, a, vf_sqrt(far)), vf_select(near, x * x, far));
    vf by_asin = HD_HALF_PI - (vf_copysign(y, x) - HD_HALF_PI_LOW);
    vf by_root =
        vf_select(vf_lt(x, vf_set(0.0f)), 2.0f * HD_HALF_PI - (2.0f * y - 2.0f * HD_HALF_PI_LOW), 2.0f * y);
    return vf_select(near, by_asin, by_root);
}

/* atan(num / den) for 0 <= num, 0 < den, none infinite; a sum of the two is in range. The quotient is brought
 * within tan(pi / 8) of 0 first, by pi / 4 or pi / 2. */
HD_INLINE vf vf_atan_of(vf num, vf den) {
    vfm middle = vf_lt(den * 0.414213562f, num), far = vf_lt(den * 2.414213562f, num);
    vf t = vf_select(far, -den, vf_select(middle, num - den, num)) /
           vf_select(far, num, vf_select(middle, num + den, den));
    vf z = t * t;
    vf p = 1.059372358e-01f + z * -6.077982856e-02f;
    p = -1.424352173e-01f + z * p;
    p = 1.999847093e-01f + z * p;
    p = -3.333331518e-01f + z * p;
    vf eighths = vf_select(far, vf_set(1.0f), vf_select(middle, vf_set(0.5f), vf_set(0.0f))); /* of pi / 2 */
    return eighths * HD_HALF_PI + (t + (t * (z * p) + eighths * HD_HALF_PI_LOW));
}
HD_INLINE vf vf_atan(vf x) {
    vf a = vf_min(vf_set(0x1p126f), vf_abs(x)); /* of which the same is left; NaN stays */
    return vf_copysign(vf_atan_of(a, vf_set(1.0f)), x);
}

/* The angle of (x, y): atan of the smaller over the larger, and what the octant adds. */
HD_INLINE vf vf_atan2(vf y, vf x) {
    vf a = vf_abs(y), b = vf_abs(x), zero = vf_set(0.0f), one = vf_set(1.0f), infinite = vf_set(INFINITY);
    vfm steep = vf_lt(b, a);
    vf less = vf_select(steep, b, a), more = vf_select(steep, a, b);
    vf num = vf_select(vf_eq(more, infinite), vf_select(vf_eq(less, infinite), one, zero), less);
    vf den = vf_select(vf_eq(more, infinite), one, vf_select(vf_eq(more, zero), one, more));
    vf scale = vf_select(vf_lt(vf_set(0x1p126f), den), vf_set(0.25f), one); /* the sum stays in range */
    vf angle = vf_atan_of(num * scale, den * scale);
    angle = vf_select(steep, HD_HALF_PI - (angle - HD_HALF_PI_LOW), angle);
    vfm left = vf_lt(vf_copysign(one, x), zero); /* of -0 too */
    angle = vf_select(left, 2.0f * HD_HALF_PI - (angle - 2.0f * HD_HALF_PI_LOW), angle);
    return vf_select(vf_nan(a + b), a + b, vf_copysign(angle, y));
}

#endif
