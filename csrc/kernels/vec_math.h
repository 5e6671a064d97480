/* vec_math.h: elementary functions of vectors.
  * f32: polynomials fitted for this file (minimax, relative error). Largest errors in units of the last
 * place: exp log tanh sin cos 1.3, sigmoid 2.2, silu erf 2.5, gelu 6 (where x > -2.5; below, relative
 * 2e-6 of a vanishing value). The derivatives of gelu and silu cross 0: absolute error 3e-7. All
 * functions are exact at 0 and at the infinities (exp(-inf) is 0), keep NaN, and pass through denormals
 * to 0; silu loses digits where sigmoid is denormal.
 * f64: libm, lane by lane. f64 is for checking, so accuracy comes before speed.
 */
#ifndef HD_VEC_MATH_H
#define HD_VEC_MATH_H

#include "kernels/vec.h"

/* x = n log 2 + r with n = round(x log2 e) and |r| <= log(2) / 2; e^r - 1. r needs log 2 in two parts: n
 * times the first is exact. e^r = 1 + r + r² p(r). */
HD_INLINE vf vf_exp_reduced(vf x, vf *n) {
    *n = vf_rint(x * 1.44269504f);
    vf r = x - *n * 0.693359375f;
    r = r - *n * -2.12194440e-4f;
    vf p = 8.368716880e-03f + r * 1.381459865e-03f;
    p = 4.166838805e-02f + r * p;
    p = 1.666652063e-01f + r * p;
    p = 4.999999345e-01f + r * p;
    return r + r * r * p;
}

/* e^x = 2^n e^r. Beyond the bounds the result is 0 and infinity; NaN passes max and min as their second
 * operand. */
HD_INLINE vf vf_exp(vf x) {
    vf n, p = vf_exp_reduced(vf_max(vf_set(-104.0f), vf_min(vf_set(89.0f), x)), &n);
    return vf_ldexp(1.0f + p, n);
}

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1), computed with 2^(n - 1) because 2^128 is out of range. */
HD_INLINE vf vf_expm1(vf x) {
    vf n, p = vf_exp_reduced(vf_max(vf_set(-104.0f), vf_min(vf_set(89.0f), x)), &n);
    vf half = vf_ldexp(vf_set(1.0f), n - 1.0f);
    vf y = vf_select(vf_eq(n, vf_set(0.0f)), p, 2.0f * (half * p + (half - 0.5f)));
    return vf_copysign(y, x);
}

/* x = (1 + f) 2^e with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f + low, low = f³ p(f) - f²/2. Denormals
 * are scaled by 2^25 first. */
HD_INLINE vf vf_log_reduced(vf x, vf *e, vf *low) {
    vfm tiny = vf_lt(x, vf_set(0x1p-126f));
    vf scaled = vf_select(tiny, x * 0x1p25f, x);
    vi shifted = (vi)((vu)scaled - 0x3f3504f3u);
    *e = __builtin_convertvector(shifted >> 23, vf) - vf_select(tiny, vf_set(25.0f), vf_set(0.0f));
    vf f = (vf)((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
    vf p = -1.167565457e-01f + f * 6.746651523e-02f;
    p = 1.188815885e-01f + f * p;
    p = -1.240558824e-01f + f * p;
    p = 1.421955273e-01f + f * p;
    p = -1.666799590e-01f + f * p;
    p = 2.000211864e-01f + f * p;
    p = -2.500000960e-01f + f * p;
    p = 3.333331260e-01f + f * p;
    vf ff = f * f;
    *low = ff * f * p - 0.5f * ff;
    return f;
}
/* y, the logarithm of x; but where x has none, or an infinite one. */
HD_INLINE vf vf_log_ends(vf x, vf y) {
    y = vf_select(vf_lt(x, vf_set(INFINITY)), y, x); /* inf and NaN */
    y = vf_select(vf_eq(x, vf_set(0.0f)), vf_set(-INFINITY), y);
    return vf_select(vf_lt(x, vf_set(0.0f)), vf_set(NAN), y);
}

/* log x = e log 2 + log(1 + f) */
HD_INLINE vf vf_log(vf x) {
    vf e, low, f = vf_log_reduced(x, &e, &low);
    return vf_log_ends(x, f + (e * -2.12194440e-4f + low) + e * 0.693359375f);
}

/* log(u) with u = 1 + x, plus the rounding error of u divided by u. */
HD_INLINE vf vf_log1p(vf x) {
    vf u = 1.0f + x;
    vf y = vf_log(u) + (x - (u - 1.0f)) / u;
    y = vf_select(vf_eq(u, vf_set(0.0f)), vf_set(-INFINITY), y);
    return vf_copysign(vf_select(vf_eq(x, vf_set(INFINITY)), x, y), x);
}

/* Near 0, x + x³ p(x²); else 1 - 2 / (e^2|x| + 1) with the sign of x. */
HD_INLINE vf vf_tanh(vf x) {
    vf z = x * x;
    vf p = 2.065058770e-02f + z * -5.717045478e-03f;
    p = -5.374349821e-02f + z * p;
    p = 1.333149129e-01f + z * p;
    p = -3.333328393e-01f + z * p;
    vf small = x + x * z * p;
    vf a = vf_abs(x);
    vf large = 1.0f - 2.0f / (vf_exp(a + a) + 1.0f);
    return vf_copysign(vf_select(vf_lt(a, vf_set(0.625f)), small, large), x); /* of -0 too */
}

/* 1 / (1 + e^-x); for x < 0 as e^x / (1 + e^x), so that the power never overflows. */
HD_INLINE vf vf_sigmoid(vf x) {
    vf e = vf_exp(-vf_abs(x));
    return vf_select(vf_lt(x, vf_set(0.0f)), e, vf_set(1.0f)) / (1.0f + e);
}

/* max(x, 0) + log(1 + e^-|x|); the second term of the sum gives back what 1 + e was rounded by. */
HD_INLINE vf vf_softplus(vf x) {
    vf e = vf_exp(-vf_abs(x)), u = 1.0f + e;
    return vf_max(vf_set(0.0f), x) + (vf_log(u) + (e - (u - 1.0f)) / u);
}

/* silu(-inf) is 0, not -inf · 0. */
HD_INLINE vf vf_silu(vf x) {
    return vf_max(vf_set(-0x1p127f), x) * vf_sigmoid(x);
}
/* The derivative of x sigmoid(z): s + x z' s (1 - s). 1 - s is sigmoid(-z), without cancellation. */
HD_INLINE vf vf_gate_slope(vf z, vf x_dz) {
    vf e = vf_exp(-vf_abs(z)), near = 1.0f / (1.0f + e), far = e * near;
    return vf_select(vf_lt(z, vf_set(0.0f)), far, near) + x_dz * (near * far);
}
HD_INLINE vf vf_within(vf x, float bound) {
    return vf_min(vf_set(bound), vf_max(vf_set(-bound), x));
}
HD_INLINE vf vf_silu_slope(vf x) {
    return vf_gate_slope(x, vf_within(x, 0x1p127f));
}

/* gelu with Phi(x) approximated as sigmoid(1.702 x), and as (1 + tanh(z)) / 2 = sigmoid(2 z) with
 * z = sqrt(2 / pi) (x + 0.044715 x³) (Hendrycks & Gimpel 2016). Beyond |x| = 40 both are 0 or x. */
HD_INLINE vf vf_gelu_sigmoid(vf x) {
    return vf_max(vf_set(-0x1p127f), x) * vf_sigmoid(1.702f * x);
}
HD_INLINE vf vf_gelu_sigmoid_slope(vf x) {
    return vf_gate_slope(1.702f * x, 1.702f * vf_within(x, 0x1p126f));
}
HD_INLINE vf vf_gelu_tanh(vf x) {
    return vf_max(vf_set(-0x1p127f), x) * vf_sigmoid(x * (1.595769122f + 0.0713548163f * x * x));
}
HD_INLINE vf vf_gelu_tanh_slope(vf x) {
    vf a = vf_within(x, 40.0f), aa = a * a;
    return vf_gate_slope(a * (1.595769122f + 0.0713548163f * aa), a * (1.595769122f + 0.214064449f * aa));
}

/* P(N > a) for a normal N, with a = |x| and bell = e^(-a²/2). It is bell times a smooth function, which
 * is fitted as p(t) / (a + 4) with t = (a - 4) / (a + 4). */
HD_INLINE vf vf_normal_tail(vf a, vf bell) {
    a = vf_min(vf_set(30.0f), a);
    vf r = 1.0f / (a + 4.0f);
    vf t = (a - 4.0f) * r; /* not 1 - 8 r, which would double the rounding error of r */
    vf p = 1.281047275e-04f + t * -1.612994881e-04f;
    p = 1.571797255e-03f + t * p;
    p = -3.474233759e-03f + t * p;
    p = -7.517585245e-03f + t * p;
    p = 6.039437397e-02f + t * p;
    p = -1.865253941e-01f + t * p;
    p = 3.871376956e-01f + t * p;
    p = -6.078964903e-01f + t * p;
    p = 7.552851244e-01f + t * p;
    return p * r * bell;
}

/* Near 0, x p(x²); else 1 - 2 P(N > |x| sqrt 2) with the sign of x. */
HD_INLINE vf vf_erf(vf x) {
    vf z = x * x, a = vf_abs(x);
    vf p = -8.010193569e-04f + z * 7.853861180e-05f;
    p = 5.188327679e-03f + z * p;
    p = -2.685381193e-02f + z * p;
    p = 1.128358515e-01f + z * p;
    p = -3.761262582e-01f + z * p;
    p = 1.128379166e+00f + z * p;
    vf large = 1.0f - 2.0f * vf_normal_tail(a * 1.41421356f, vf_exp(-z));
    return vf_select(vf_lt(a, vf_set(1.0f)), x * p, vf_copysign(large, x));
}

/* x Phi(x), with Phi the distribution function of the normal distribution; gelu(-inf) is 0. */
HD_INLINE vf vf_gelu(vf x) {
    vf tail = vf_normal_tail(vf_abs(x), vf_exp(-0.5f * x * x));
    vf phi = vf_select(vf_lt(x, vf_set(0.0f)), tail, 1.0f - tail);
    return vf_max(vf_set(-0x1p127f), x) * phi;
}
/* Phi(x) + x phi(x) */
HD_INLINE vf vf_gelu_slope(vf x) {
    vf bell = vf_exp(-0.5f * x * x);
    vf tail = vf_normal_tail(vf_abs(x), bell);
    vf phi = vf_select(vf_lt(x, vf_set(0.0f)), tail, 1.0f - tail);
    vf inside = vf_min(vf_set(0x1p127f), vf_max(vf_set(-0x1p127f), x));
    return phi + inside * (bell * 0.398942280f);
}

/* sin and cos of 2 pi u, u in [0, 1]. */
HD_INLINE void vf_sincos_turn(vf u, vf *sine, vf *cosine) {
    vf quarter = vf_rint(4.0f * u);
    vf r = u - 0.25f * quarter; /* exact; [-1/8, 1/8] */
    vf z = r * r;
    vf s = 8.159235356e+01f + z * -7.539356289e+01f;
    s = -4.134166145e+01f + z * s;
    s = r * (6.283185287e+00f + z * s);
    vf c = -8.544374172e+01f + z * 5.924596391e+01f;
    c = 6.493932647e+01f + z * c;
    c = -1.973920869e+01f + z * c;
    c = 1.0f + z * c;
    vi q = __builtin_convertvector(quarter, vi);
    vfm odd = vf_lt(vf_set(0.5f), __builtin_convertvector(q & 1, vf));
    vf sine_of = vf_select(odd, c, s), cosine_of = vf_select(odd, s, c);
    *sine = (vf)((vu)sine_of ^ ((vu)(q & 2) << 30));
    *cosine = (vf)((vu)cosine_of ^ ((vu)((q + 1) & 2) << 30));
}

/* x - n pi / 2 for the nearest whole n, to the last digit of f32: pi / 2 is in two parts, and n times the
 * first is exact. */
HD_INLINE vd vd_quarter(vd x, vd *n) {
    *n = (x * 0.63661977236758134308 + 0x1.8p52) - 0x1.8p52;
    return (x - *n * 1.57079632673412561417) - *n * 6.07710050650619224932e-11;
}

/* sin(x + turns pi / 2). For |x| > 2^20, infinite or NaN, libm computes it: rare, and accurate. */
HD_INLINE vf vf_sine_of(vf x, int32_t turns) {
    vd n_low, n_high, low = vd_quarter(vf_low(x), &n_low), high = vd_quarter(vf_high(x), &n_high);
    vf r = vf_of_halves(low, high), z = r * r;
    vi q = __builtin_convertvector(vf_of_halves(n_low, n_high), vi) + turns;
    vf s = 8.3327487658e-03f + z * -1.9587958549e-04f;
    s = r + r * z * (-1.6666664667e-01f + z * s);
    vf c = -1.38883034e-03f + z * 2.45479901e-05f;
    c = 1.0f + z * (-0.5f + z * (4.16666647e-02f + z * c));
    vfm odd = vf_lt(vf_set(0.5f), __builtin_convertvector(q & 1, vf));
    vf y = (vf)((vu)vf_select(odd, c, s) ^ ((vu)(q & 2) << 30));
    if (!vf_any(vf_lt(vf_set(0x1p20f), vf_abs(x))) && !vf_any(vf_nan(x))) return y;
    for (int i = 0; i < VF_LANES; i++)
        if (!(fabsf(x[i]) <= 0x1p20f)) y[i] = turns ? cosf(x[i]) : sinf(x[i]);
    return y;
}
HD_INLINE vf vf_sin(vf x) {
    return vf_select(vf_eq(x, vf_set(0.0f)), x, vf_sine_of(x, 0)); /* -0 stays */
}
HD_INLINE vf vf_cos(vf x) {
    return vf_sine_of(x, 1);
}

/* ---- f64 ------------------------------------------------------------------------------------- */
HD_INLINE double hd_sigmoid(double x) {
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}
HD_INLINE double hd_finite(double x) {
    return x > 0x1p1023 ? 0x1p1023 : x < -0x1p1023 ? -0x1p1023 : x;
}
HD_INLINE double hd_silu(double x) {
    return (x < -0x1p1023 ? -0x1p1023 : x) * hd_sigmoid(x);
}
HD_INLINE double hd_silu_slope(double x) {
    double s = hd_sigmoid(x);
    return s + hd_finite(x) * s * hd_sigmoid(-x);
}
HD_INLINE double hd_gelu_sigmoid(double x) {
    return (x < -0x1p1023 ? -0x1p1023 : x) * hd_sigmoid(1.702 * x);
}
HD_INLINE double hd_gelu_sigmoid_slope(double x) {
    double s = hd_sigmoid(1.702 * x);
    return s + 0.851 * hd_finite(x) * (2 * s * hd_sigmoid(-1.702 * x));
}
HD_INLINE double hd_gelu_tanh_inner(double x) { /* 2 z */
    return x * (1.59576912160573071 + 0.07135481627260025 * x * x);
}
HD_INLINE double hd_gelu_tanh(double x) {
    return (x < -0x1p1023 ? -0x1p1023 : x) * hd_sigmoid(hd_gelu_tanh_inner(x));
}
HD_INLINE double hd_gelu_tanh_slope(double x) {
    double z = hd_gelu_tanh_inner(x), s = hd_sigmoid(z), a = x > 40 ? 40 : x < -40 ? -40 : x;
    return s + a * s * hd_sigmoid(-z) * (1.59576912160573071 + 0.21406444881780075 * a * a);
}
HD_INLINE double hd_phi(double x) {
    return 0.5 * erfc(x * -0.70710678118654752440);
}
HD_INLINE double hd_gelu(double x) {
    return (x < -0x1p1023 ? -0x1p1023 : x) * hd_phi(x);
}
HD_INLINE double hd_gelu_slope(double x) {
    return hd_phi(x) + hd_finite(x) * exp(-0.5 * x * x) * 0.39894228040143267794;
}

#define HD_VD_BY_LANE(name, f)                                                                               \
    HD_INLINE vd name(vd x) {                                                                                \
        vd y = {0};                                                                                          \
        for (int i = 0; i < VD_LANES; i++) y[i] = f(x[i]);                                                   \
        return y;                                                                                            \
    }
HD_VD_BY_LANE(vd_exp, exp)
HD_VD_BY_LANE(vd_log, log)
HD_VD_BY_LANE(vd_tanh, tanh)
HD_VD_BY_LANE(vd_erf, erf)
HD_VD_BY_LANE(vd_sigmoid, hd_sigmoid)
HD_VD_BY_LANE(vd_silu, hd_silu)
HD_VD_BY_LANE(vd_silu_slope, hd_silu_slope)
HD_VD_BY_LANE(vd_gelu, hd_gelu)
HD_VD_BY_LANE(vd_gelu_slope, hd_gelu_slope)
HD_VD_BY_LANE(vd_gelu_tanh, hd_gelu_tanh)
HD_VD_BY_LANE(vd_gelu_tanh_slope, hd_gelu_tanh_slope)
HD_VD_BY_LANE(vd_gelu_sigmoid, hd_gelu_sigmoid)
HD_VD_BY_LANE(vd_gelu_sigmoid_slope, hd_gelu_sigmoid_slope)

/* ---- activations: f(x), and g f'(x) -------------------------------------------------------------------- */

HD_INLINE vf vf_relu(vf x) {
    return vf_select(vf_lt(x, vf_set(0)), vf_set(0), x);
}
HD_INLINE vd vd_relu(vd x) {
    return vd_select(vd_lt(x, vd_set(0)), vd_set(0), x);
}
HD_INLINE vf vf_relu_grad(vf g, vf x) {
    return vf_select(vf_le(x, vf_set(0)), vf_set(0), g);
}
HD_INLINE vd vd_relu_grad(vd g, vd x) {
    return vd_select(vd_le(x, vd_set(0)), vd_set(0), g);
}

/* Of x, not of tanh x as the unary operations have it: after a linear map x is what is there. */
#define HD_GRAD_BY_OUTPUT(v)                                                                                 \
    HD_INLINE v v##_tanh_grad(v g, v x) {                                                                    \
        v y = v##_tanh(x);                                                                                   \
        return g * (v##_set(1) - y * y);                                                                     \
    }                                                                                                        \
    HD_INLINE v v##_sigmoid_grad(v g, v x) {                                                                 \
        v y = v##_sigmoid(x);                                                                                \
        return g * y * (v##_set(1) - y);                                                                     \
    }
HD_GRAD_BY_OUTPUT(vf) /* vf_tanh_grad vf_sigmoid_grad */
HD_GRAD_BY_OUTPUT(vd) /* vd_tanh_grad vd_sigmoid_grad */
#undef HD_GRAD_BY_OUTPUT

/* vf_gelu_grad vf_gelu_tanh_grad vf_gelu_sigmoid_grad vf_silu_grad, and vd_ alike */
#define HD_GRAD_BY_SLOPE(v, name)                                                                            \
    HD_INLINE v v##_##name##_grad(v g, v x) {                                                                \
        return g * v##_##name##_slope(x);                                                                    \
    }
HD_GRAD_BY_SLOPE(vf, gelu)
HD_GRAD_BY_SLOPE(vf, gelu_tanh)
HD_GRAD_BY_SLOPE(vf, gelu_sigmoid)
HD_GRAD_BY_SLOPE(vf, silu)
HD_GRAD_BY_SLOPE(vd, gelu)
HD_GRAD_BY_SLOPE(vd, gelu_tanh)
HD_GRAD_BY_SLOPE(vd, gelu_sigmoid)
HD_GRAD_BY_SLOPE(vd, silu)

#endif
