/* unary.c: y = f(x), and dx = g f'(...) from what the operation saved (tables/unary.h). Integers have the functions that keep
 * them whole; bool only those that give bool.
 */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"
#include "kernels/vec_inverse.h"

/* ---- values ------------------------------------------------------------------------------ */

#define FLOATS(name, expression_f32, expression_f64)                                                         \
    SCALAR_MAP(name##_f32, float, float, expression_f32)                                                     \
    SCALAR_MAP(name##_f64, double, double, expression_f64)

/* neg_f32 neg_f64 abs_f32 abs_f64 sign_f32 sign_f64 square_f32 square_f64 relu_f32 relu_f64 floor_f32 floor_f64 ceil_f32
 * ceil_f64 trunc_f32 trunc_f64 frac_f32 frac_f64 */
FLOATS(neg, -x, -x)
FLOATS(abs, fabsf(x), fabs(x))
FLOATS(sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x, x > 0 ? 1.0 : x < 0 ? -1.0 : x)
FLOATS(square, x *x, x *x)
FLOATS(relu, x < 0 ? 0.0f : x, x < 0 ? 0.0 : x)
FLOATS(floor, floorf(x), floor(x))
FLOATS(ceil, ceilf(x), ceil(x))
FLOATS(trunc, truncf(x), trunc(x))
FLOATS(frac, x - truncf(x), x - trunc(x))

HD_INLINE vf vf_rsqrt(vf x) {
    return 1.0f / vf_sqrt(x);
}
HD_INLINE vf vf_tan(vf x) {
    return vf_sin(x) / vf_cos(x);
}
/* Infinities as large finite numbers, of which the same is left. */
HD_INLINE vf vf_softsign(vf x) {
    vf inside = vf_min(vf_set(0x1p127f), vf_max(vf_set(-0x1p127f), x));
    return inside / (1.0f + vf_abs(inside));
}
HD_INLINE double hd_softsign(double x) {
    return hd_finite(x) / (1 + fabs(hd_finite(x)));
}
HD_INLINE vf vf_log_sigmoid(vf x) {
    return -vf_softplus(-x);
}
VECTOR_MAP(sqrt_f32, vf_sqrt)
VECTOR_MAP(rsqrt_f32, vf_rsqrt)
VECTOR_MAP(round_f32, vf_rint)
VECTOR_MAP(sin_f32, vf_sin)
VECTOR_MAP(cos_f32, vf_cos)
VECTOR_MAP(tan_f32, vf_tan)
VECTOR_MAP(exp_f32, vf_exp)
VECTOR_MAP(expm1_f32, vf_expm1)
VECTOR_MAP(log_f32, vf_log)
VECTOR_MAP(log1p_f32, vf_log1p)
VECTOR_MAP(tanh_f32, vf_tanh)
VECTOR_MAP(exp2_f32, vf_exp2)
VECTOR_MAP(log2_f32, vf_log2)
VECTOR_MAP(log10_f32, vf_log10)
VECTOR_MAP(asin_f32, vf_asin)
VECTOR_MAP(acos_f32, vf_acos)
VECTOR_MAP(atan_f32, vf_atan)
VECTOR_MAP(sinh_f32, vf_sinh)
VECTOR_MAP(cosh_f32, vf_cosh)
VECTOR_MAP(asinh_f32, vf_asinh)
VECTOR_MAP(acosh_f32, vf_acosh)
VECTOR_MAP(atanh_f32, vf_atanh)
VECTOR_MAP(sigmoid_f32, vf_sigmoid)
VECTOR_MAP(erf_f32, vf_erf)
VECTOR_MAP(gelu_f32, vf_gelu)
VECTOR_MAP(gelu_tanh_f32, vf_gelu_tanh)
VECTOR_MAP(gelu_sigmoid_f32, vf_gelu_sigmoid)
VECTOR_MAP(silu_f32, vf_silu)
VECTOR_MAP(softplus_f32, vf_softplus)
VECTOR_MAP(softsign_f32, vf_softsign)
VECTOR_MAP(log_sigmoid_f32, vf_log_sigmoid)

SCALAR_MAP(sqrt_f64, double, double, sqrt(x))
SCALAR_MAP(rsqrt_f64, double, double, 1.0 / sqrt(x))
SCALAR_MAP(round_f64, double, double, rint(x))
SCALAR_MAP(sin_f64, double, double, sin(x))
SCALAR_MAP(cos_f64, double, double, cos(x))
SCALAR_MAP(tan_f64, double, double, tan(x))
SCALAR_MAP(exp_f64, double, double, exp(x))
SCALAR_MAP(expm1_f64, double, double, expm1(x))
SCALAR_MAP(log_f64, double, double, log(x))
SCALAR_MAP(log1p_f64, double, double, log1p(x))
SCALAR_MAP(tanh_f64, double, double, tanh(x))
SCALAR_MAP(exp2_f64, double, double, exp2(x))
SCALAR_MAP(log2_f64, double, double, log2(x))
SCALAR_MAP(log10_f64, double, double, log10(x))
SCALAR_MAP(asin_f64, double, double, asin(x))
SCALAR_MAP(acos_f64, double, double, acos(x))
SCALAR_MAP(atan_f64, double, double, atan(x))
SCALAR_MAP(sinh_f64, double, double, sinh(x))
SCALAR_MAP(cosh_f64, double, double, cosh(x))
SCALAR_MAP(asinh_f64, double, double, asinh(x))
SCALAR_MAP(acosh_f64, double, double, acosh(x))
SCALAR_MAP(atanh_f64, double, double, atanh(x))
SCALAR_MAP(sigmoid_f64, double, double, hd_sigmoid(x))
SCALAR_MAP(erf_f64, double, double, erf(x))
SCALAR_MAP(gelu_f64, double, double, hd_gelu(x))
SCALAR_MAP(gelu_tanh_f64, double, double, hd_gelu_tanh(x))
SCALAR_MAP(gelu_sigmoid_f64, double, double, hd_gelu_sigmoid(x))
SCALAR_MAP(silu_f64, double, double, hd_silu(x))
SCALAR_MAP(softplus_f64, double, double, fmax(x, 0) + log1p(exp(-fabs(x))))
SCALAR_MAP(softsign_f64, double, double, hd_softsign(x))
SCALAR_MAP(log_sigmoid_f64, double, double, fmin(x, 0) - log1p(exp(-fabs(x))))

/* neg_i64 square_i64 frac_i64 same_i64 logical_not_i64 abs_i64 sign_i64 relu_i64
 * neg_i32 square_i32 frac_i32 same_i32 logical_not_i32 abs_i32 sign_i32 relu_i32
 * neg_u8 square_u8 frac_u8 same_u8 logical_not_u8 sign_u8
 * of each integer type, with U its unsigned twin. Wraps: the negative of the least is itself. */
#define INTEGERS(type, T, U)                                                                                 \
    SCALAR_MAP(neg_##type, T, T, (T)(0 - (U)x))                                                              \
    SCALAR_MAP(square_##type, T, T, (T)((U)x * (U)x))                                                        \
    SCALAR_MAP(frac_##type, T, T, ((void)x, 0))                                                              \
    SCALAR_MAP(same_##type, T, T, x)                                                                         \
    SCALAR_MAP(logical_not_##type, T, uint8_t, x == 0)
#define SIGNED(type, T, U)                                                                                   \
    INTEGERS(type, T, U)                                                                                     \
    SCALAR_MAP(abs_##type, T, T, x < 0 ? (T)(0 - (U)x) : x)                                                  \
    SCALAR_MAP(sign_##type, T, T, (x > 0) - (x < 0))                                                         \
    SCALAR_MAP(relu_##type, T, T, x < 0 ? 0 : x)
SIGNED(i64, int64_t, uint64_t)
SIGNED(i32, int32_t, uint32_t)
INTEGERS(u8, uint8_t, uint8_t)
SCALAR_MAP(sign_u8, uint8_t, uint8_t, x != 0)

/* Whole numbers are round already. */
#define ALREADY(name)                                                                                        \
    static const hd_unary_fn name##_i64 = same_i64, name##_i32 = same_i32, name##_u8 = same_u8;
ALREADY(floor) /* floor_i64 floor_i32 floor_u8 */
ALREADY(ceil)  /* ceil_i64 ceil_i32 ceil_u8 */
ALREADY(trunc) /* trunc_i64 trunc_i32 trunc_u8 */
ALREADY(round) /* round_i64 round_i32 round_u8 */
static const hd_unary_fn abs_u8 = same_u8, relu_u8 = same_u8;

SCALAR_MAP(logical_not_f32, float, uint8_t, x == 0)
SCALAR_MAP(logical_not_f64, double, uint8_t, x == 0)
SCALAR_MAP(isnan_f32, float, uint8_t, x != x)
SCALAR_MAP(isnan_f64, double, uint8_t, x != x)
SCALAR_MAP(isinf_f32, float, uint8_t, fabsf(x) == INFINITY)
SCALAR_MAP(isinf_f64, double, uint8_t, fabs(x) == INFINITY)
SCALAR_MAP(isfinite_f32, float, uint8_t, fabsf(x) < INFINITY)
SCALAR_MAP(isfinite_f64, double, uint8_t, fabs(x) < INFINITY)

/* No integer is NaN or infinite. */
static void never(int64_t n, const void *x, int64_t sx, void *y, int64_t sy) {
    (void)x, (void)sx;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)y)[i * sy] = 0;
}
static void always(int64_t n, const void *x, int64_t sx, void *y, int64_t sy) {
    (void)x, (void)sx;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)y)[i * sy] = 1;
}
static const hd_unary_fn isnan_i64 = never, isnan_i32 = never, isnan_u8 = never;
static const hd_unary_fn isinf_i64 = never, isinf_i32 = never, isinf_u8 = never;
static const hd_unary_fn isfinite_i64 = always, isfinite_i32 = always, isfinite_u8 = always;

/* ---- slopes ------------------------------------------------------------------------------ */

/* In the expressions a is g, the gradient that arrives, and b what was saved. */
#define GRADIENT(name, expression_f32, expression_f64)                                                       \
    GRADIENT_MAP(name##_grad_f32, float, expression_f32)                                                     \
    GRADIENT_MAP(name##_grad_f64, double, expression_f64)

/* abs_grad_f32 abs_grad_f64 square_grad_f32 square_grad_f64 sqrt_grad_f32 sqrt_grad_f64 rsqrt_grad_f32 rsqrt_grad_f64
 * exp_grad_f32 exp_grad_f64 expm1_grad_f32 expm1_grad_f64 log_grad_f32 log_grad_f64 log1p_grad_f32 log1p_grad_f64
 * exp2_grad_f32 exp2_grad_f64 log2_grad_f32 log2_grad_f64 log10_grad_f32 log10_grad_f64 asin_grad_f32
 * asin_grad_f64 acos_grad_f32 acos_grad_f64 acosh_grad_f32 acosh_grad_f64 atanh_grad_f32 atanh_grad_f64
 * tan_grad_f32 tan_grad_f64 tanh_grad_f32 tanh_grad_f64 sigmoid_grad_f32 sigmoid_grad_f64 relu_grad_f32
 * relu_grad_f64 */
GRADIENT(abs, b > 0 ? a : b < 0 ? -a : b * a, b > 0 ? a : b < 0 ? -a : b * a)
GRADIENT(square, 2.0f * b * a, 2.0 * b * a)
GRADIENT(sqrt, 0.5f * a / b, 0.5 * a / b)
GRADIENT(rsqrt, -0.5f * a * (b * b * b), -0.5 * a * (b * b * b))
GRADIENT(exp, a *b, a *b)
GRADIENT(expm1, a *(b + 1.0f), a *(b + 1.0))
GRADIENT(log, a / b, a / b)
GRADIENT(log1p, a / (1.0f + b), a / (1.0 + b))
GRADIENT(exp2, a *b * 0.693147181f, a *b * 0.69314718055994530942)
GRADIENT(log2, a * 1.44269504f / b, a * 1.44269504088896340736 / b)
GRADIENT(log10, a * 0.434294482f / b, a * 0.43429448190325182765 / b)
GRADIENT(asin, a / sqrtf((1.0f - b) * (1.0f + b)), a / sqrt((1.0 - b) * (1.0 + b)))
GRADIENT(acos, -a / sqrtf((1.0f - b) * (1.0f + b)), -a / sqrt((1.0 - b) * (1.0 + b)))
GRADIENT(acosh, a / sqrtf(b - 1.0f) / sqrtf(b + 1.0f), a / sqrt(b - 1.0) / sqrt(b + 1.0))
GRADIENT(atanh, a / (1.0f - b) / (1.0f + b), a / (1.0 - b) / (1.0 + b))
GRADIENT(tan, a *(1.0f + b * b), a *(1.0 + b * b))
GRADIENT(tanh, a *(1.0f - b * b), a *(1.0 - b * b))
GRADIENT(sigmoid, a *b *(1.0f - b), a *b *(1.0 - b))
GRADIENT(relu, b <= 0 ? 0.0f : a, b <= 0 ? 0.0 : a)

HD_INLINE vf vf_sin_grad(vf g, vf x) {
    return g * vf_cos(x);
}
HD_INLINE vf vf_cos_grad(vf g, vf x) {
    return -g * vf_sin(x);
}
HD_INLINE vf vf_sinh_grad(vf g, vf x) {
    return g * vf_cosh(x);
}
HD_INLINE vf vf_cosh_grad(vf g, vf x) {
    return g * vf_sinh(x);
}
/* With r = min(1, 1 / |x|) and s = min(1, |x|), where no square leaves the range:
 * 1 / (1 + x²) = r² / (r² + s²), 1 / sqrt(1 + x²) = r / sqrt(r² + s²). */
HD_INLINE vf vf_atan_grad(vf g, vf x) {
    vf r = 1.0f / vf_max(vf_set(1.0f), vf_abs(x)), s = vf_min(vf_set(1.0f), vf_abs(x));
    return g * r / (r * r + s * s) * r;
}
HD_INLINE vf vf_asinh_grad(vf g, vf x) {
    vf r = 1.0f / vf_max(vf_set(1.0f), vf_abs(x)), s = vf_min(vf_set(1.0f), vf_abs(x));
    return g * r / vf_sqrt(r * r + s * s);
}
HD_INLINE double hd_atan_grad(double g, double x) {
    double a = fabs(x), r = a > 1 ? 1 / a : 1, s = a > 1 ? 1 : a;
    return g * r / (r * r + s * s) * r;
}
HD_INLINE double hd_asinh_grad(double g, double x) {
    double a = fabs(x), r = a > 1 ? 1 / a : 1, s = a > 1 ? 1 : a;
    return g * r / sqrt(r * r + s * s);
}
HD_INLINE vf vf_erf_grad(vf g, vf x) {
    return g * 1.12837917f * vf_exp(-(x * x));
}
HD_INLINE vf vf_softplus_grad(vf g, vf x) {
    return g * vf_sigmoid(x);
}
HD_INLINE vf vf_softsign_grad(vf g, vf x) {
    vf r = 1.0f / (1.0f + vf_abs(x));
    return g * (r * r);
}
HD_INLINE double hd_softsign_slope(double x) {
    double r = 1 / (1 + fabs(x));
    return r * r;
}
HD_INLINE vf vf_log_sigmoid_grad(vf g, vf x) {
    return g * vf_sigmoid(-x);
}
VECTOR_GRADIENT_MAP(sin_grad_f32, vf_sin_grad)
VECTOR_GRADIENT_MAP(cos_grad_f32, vf_cos_grad)
VECTOR_GRADIENT_MAP(sinh_grad_f32, vf_sinh_grad)
VECTOR_GRADIENT_MAP(cosh_grad_f32, vf_cosh_grad)
VECTOR_GRADIENT_MAP(atan_grad_f32, vf_atan_grad)
VECTOR_GRADIENT_MAP(asinh_grad_f32, vf_asinh_grad)
VECTOR_GRADIENT_MAP(erf_grad_f32, vf_erf_grad)
VECTOR_GRADIENT_MAP(gelu_grad_f32, vf_gelu_grad)
VECTOR_GRADIENT_MAP(gelu_tanh_grad_f32, vf_gelu_tanh_grad)
VECTOR_GRADIENT_MAP(gelu_sigmoid_grad_f32, vf_gelu_sigmoid_grad)
VECTOR_GRADIENT_MAP(silu_grad_f32, vf_silu_grad)
VECTOR_GRADIENT_MAP(softplus_grad_f32, vf_softplus_grad)
VECTOR_GRADIENT_MAP(softsign_grad_f32, vf_softsign_grad)
VECTOR_GRADIENT_MAP(log_sigmoid_grad_f32, vf_log_sigmoid_grad)
GRADIENT_MAP(sin_grad_f64, double, a *cos(b))
GRADIENT_MAP(cos_grad_f64, double, -a *sin(b))
GRADIENT_MAP(sinh_grad_f64, double, a *cosh(b))
GRADIENT_MAP(cosh_grad_f64, double, a *sinh(b))
GRADIENT_MAP(atan_grad_f64, double, hd_atan_grad(a, b))
GRADIENT_MAP(asinh_grad_f64, double, hd_asinh_grad(a, b))
GRADIENT_MAP(erf_grad_f64, double, a * 1.12837916709551257390 * exp(-b * b))
GRADIENT_MAP(gelu_grad_f64, double, a *hd_gelu_slope(b))
GRADIENT_MAP(gelu_tanh_grad_f64, double, a *hd_gelu_tanh_slope(b))
GRADIENT_MAP(gelu_sigmoid_grad_f64, double, a *hd_gelu_sigmoid_slope(b))
GRADIENT_MAP(silu_grad_f64, double, a *hd_silu_slope(b))
GRADIENT_MAP(softplus_grad_f64, double, a *hd_sigmoid(b))
GRADIENT_MAP(softsign_grad_f64, double, a *hd_softsign_slope(b))
GRADIENT_MAP(log_sigmoid_grad_f64, double, a *hd_sigmoid(-b))

/* ---- the table --------------------------------------------------------------------------- */

#define FILL_FLOATS(table, op, name)                                                                         \
    k->table[op][HD_F32] = name##_f32;                                                                       \
    k->table[op][HD_F64] = name##_f64;
#define FILL_INTEGERS(op, name)                                                                              \
    k->unary[op][HD_I64] = name##_i64;                                                                       \
    k->unary[op][HD_I32] = name##_i32;                                                                       \
    k->unary[op][HD_U8] = name##_u8;

/* By the row's result. */
#define FILL_HD_TO_F32(op, name) FILL_FLOATS(unary, op, name)
#define FILL_HD_WHOLE(op, name) FILL_FLOATS(unary, op, name) FILL_INTEGERS(op, name)
#define FILL_HD_TO_BOOL(op, name)                                                                            \
    FILL_HD_WHOLE(op, name)                                                                                  \
    k->unary[op][HD_BOOL] = name##_u8;

/* By the row's slope. */
#define FILL_HD_SAVES_INPUT(op, name) FILL_FLOATS(unary_grad, op, name##_grad)
#define FILL_HD_SAVES_OUTPUT(op, name) FILL_FLOATS(unary_grad, op, name##_grad)
#define FILL_HD_SLOPE_0(op, name)
#define FILL_HD_SLOPE_1(op, name)
#define FILL_HD_SLOPE_NEG_1(op, name)
#define FILL_HD_NO_SLOPE(op, name)

void HD_ISA(hd_fill_unary)(hd_kernels *k) {
#define HD_ROW(op, kernel, name, result, slope, ...) FILL_##result(op, kernel) FILL_##slope(op, kernel)
#include "kernels/tables/unary.h"
}
