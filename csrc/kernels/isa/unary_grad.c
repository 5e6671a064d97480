/* unary_grad.c: dx = g f'. The second operand s is what the operation saved: its output for exp, expm1, sqrt,
 * rsqrt, tanh and sigmoid (their slopes are cheap in it), its input for the others.
 */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"

#define FLOATS(name, expression_f32, expression_f64)                                                         \
    SCALAR_MAP2(name##_f32, float, float, expression_f32)                                                    \
    SCALAR_MAP2(name##_f64, double, double, expression_f64)

/* In the expressions a is g and b is s. */
FLOATS(neg, ((void)b, -a), ((void)b, -a))
FLOATS(abs, b > 0 ? a : b < 0 ? -a : b * a, b > 0 ? a : b < 0 ? -a : b * a)
FLOATS(square, 2.0f * b * a, 2.0 * b * a)
FLOATS(sqrt, 0.5f * a / b, 0.5 * a / b)
FLOATS(rsqrt, -0.5f * a * (b * b * b), -0.5 * a * (b * b * b))
FLOATS(exp, a *b, a *b)
FLOATS(expm1, a *(b + 1.0f), a *(b + 1.0))
FLOATS(log, a / b, a / b)
FLOATS(log1p, a / (1.0f + b), a / (1.0 + b))
FLOATS(tanh, a *(1.0f - b * b), a *(1.0 - b * b))
FLOATS(sigmoid, a *b *(1.0f - b), a *b *(1.0 - b))
FLOATS(relu, b <= 0 ? 0.0f : a, b <= 0 ? 0.0 : a)

HD_INLINE vf vf_sin_grad(vf g, vf x) {
    return g * vf_cos(x);
}
HD_INLINE vf vf_cos_grad(vf g, vf x) {
    return -g * vf_sin(x);
}
HD_INLINE vf vf_erf_grad(vf g, vf x) {
    return g * 1.12837917f * vf_exp(-(x * x));
}
HD_INLINE vf vf_gelu_grad(vf g, vf x) {
    return g * vf_gelu_slope(x);
}
HD_INLINE vf vf_gelu_tanh_grad(vf g, vf x) {
    return g * vf_gelu_tanh_slope(x);
}
HD_INLINE vf vf_gelu_sigmoid_grad(vf g, vf x) {
    return g * vf_gelu_sigmoid_slope(x);
}
HD_INLINE vf vf_silu_grad(vf g, vf x) {
    return g * vf_silu_slope(x);
}
HD_INLINE vf vf_softplus_grad(vf g, vf x) {
    return g * vf_sigmoid(x);
}
VECTOR_MAP2(sine_f32, vf_sin_grad)
VECTOR_MAP2(cosine_f32, vf_cos_grad)
VECTOR_MAP2(erf_f32, vf_erf_grad)
VECTOR_MAP2(gelu_f32, vf_gelu_grad)
VECTOR_MAP2(gelu_tanh_f32, vf_gelu_tanh_grad)
VECTOR_MAP2(gelu_sigmoid_f32, vf_gelu_sigmoid_grad)
VECTOR_MAP2(silu_f32, vf_silu_grad)
VECTOR_MAP2(softplus_f32, vf_softplus_grad)
SCALAR_MAP2(sine_f64, double, double, a *cos(b))
SCALAR_MAP2(cosine_f64, double, double, -a *sin(b))
SCALAR_MAP2(erf_f64, double, double, a * 1.12837916709551257390 * exp(-b * b))
SCALAR_MAP2(gelu_f64, double, double, a *hd_gelu_slope(b))
SCALAR_MAP2(gelu_tanh_f64, double, double, a *hd_gelu_tanh_slope(b))
SCALAR_MAP2(gelu_sigmoid_f64, double, double, a *hd_gelu_sigmoid_slope(b))
SCALAR_MAP2(silu_f64, double, double, a *hd_silu_slope(b))
SCALAR_MAP2(softplus_f64, double, double, a *hd_sigmoid(b))

/* sign and the roundings are flat */
FLOATS(steady, ((void)b, a), ((void)b, a))
FLOATS(flat, ((void)a, (void)b, 0.0f), ((void)a, (void)b, 0.0))

#define SET(op, name)                                                                                        \
    k->unary_grad[op][HD_F32] = name##_f32;                                                                  \
    k->unary_grad[op][HD_F64] = name##_f64;

void HD_ISA(hd_fill_unary_grad)(hd_kernels *k) {
    SET(HD_NEG, neg)
    SET(HD_ABS, abs)
    SET(HD_SIGN, flat)
    SET(HD_SQUARE, square)
    SET(HD_SQRT, sqrt)
    SET(HD_RSQRT, rsqrt)
    SET(HD_EXP, exp)
    SET(HD_EXPM1, expm1)
    SET(HD_LOG, log)
    SET(HD_LOG1P, log1p)
    SET(HD_SIN, sine)
    SET(HD_COS, cosine)
    SET(HD_TANH, tanh)
    SET(HD_SIGMOID, sigmoid)
    SET(HD_ERF, erf)
    SET(HD_RELU, relu)
    SET(HD_GELU, gelu)
    SET(HD_GELU_TANH, gelu_tanh)
    SET(HD_GELU_SIGMOID, gelu_sigmoid)
    SET(HD_SILU, silu)
    SET(HD_SOFTPLUS, softplus)
    SET(HD_FLOOR, flat)
    SET(HD_CEIL, flat)
    SET(HD_TRUNC, flat)
    SET(HD_FRAC, steady)
    SET(HD_ROUND, flat)
}
