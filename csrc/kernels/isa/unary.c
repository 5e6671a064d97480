/* unary.c: y = f(x). Integers have the functions that stay integers; bool only the tests. */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"

#define FLOATS(name, expression_f32, expression_f64)                                                         \
    SCALAR_MAP(name##_f32, float, float, expression_f32)                                                     \
    SCALAR_MAP(name##_f64, double, double, expression_f64)

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
VECTOR_MAP(sqrt_f32, vf_sqrt)
VECTOR_MAP(rsqrt_f32, vf_rsqrt)
VECTOR_MAP(round_f32, vf_rint)
VECTOR_MAP(sine_f32, vf_sin)
VECTOR_MAP(cosine_f32, vf_cos)
VECTOR_MAP(exp_f32, vf_exp)
VECTOR_MAP(expm1_f32, vf_expm1)
VECTOR_MAP(log_f32, vf_log)
VECTOR_MAP(log1p_f32, vf_log1p)
VECTOR_MAP(tanh_f32, vf_tanh)
VECTOR_MAP(sigmoid_f32, vf_sigmoid)
VECTOR_MAP(erf_f32, vf_erf)
VECTOR_MAP(gelu_f32, vf_gelu)
VECTOR_MAP(gelu_tanh_f32, vf_gelu_tanh)
VECTOR_MAP(gelu_sigmoid_f32, vf_gelu_sigmoid)
VECTOR_MAP(silu_f32, vf_silu)
VECTOR_MAP(softplus_f32, vf_softplus)

SCALAR_MAP(sqrt_f64, double, double, sqrt(x))
SCALAR_MAP(rsqrt_f64, double, double, 1.0 / sqrt(x))
SCALAR_MAP(round_f64, double, double, rint(x))
SCALAR_MAP(sine_f64, double, double, sin(x))
SCALAR_MAP(cosine_f64, double, double, cos(x))
SCALAR_MAP(exp_f64, double, double, exp(x))
SCALAR_MAP(expm1_f64, double, double, expm1(x))
SCALAR_MAP(log_f64, double, double, log(x))
SCALAR_MAP(log1p_f64, double, double, log1p(x))
SCALAR_MAP(tanh_f64, double, double, tanh(x))
SCALAR_MAP(sigmoid_f64, double, double, hd_sigmoid(x))
SCALAR_MAP(erf_f64, double, double, erf(x))
SCALAR_MAP(gelu_f64, double, double, hd_gelu(x))
SCALAR_MAP(gelu_tanh_f64, double, double, hd_gelu_tanh(x))
SCALAR_MAP(gelu_sigmoid_f64, double, double, hd_gelu_sigmoid(x))
SCALAR_MAP(silu_f64, double, double, hd_silu(x))
SCALAR_MAP(softplus_f64, double, double, fmax(x, 0) + log1p(exp(-fabs(x))))

/* Of each integer type, with U its unsigned twin. Wraps: the negative of the least is itself. */
#define INTEGERS(type, T, U)                                                                                 \
    SCALAR_MAP(neg_##type, T, T, (T)(0 - (U)x))                                                              \
    SCALAR_MAP(square_##type, T, T, (T)((U)x * (U)x))                                                        \
    SCALAR_MAP(zero_##type, T, T, ((void)x, 0))                                                              \
    SCALAR_MAP(same_##type, T, T, x)                                                                         \
    SCALAR_MAP(not_##type, T, uint8_t, x == 0)
#define SIGNED(type, T, U)                                                                                   \
    INTEGERS(type, T, U)                                                                                     \
    SCALAR_MAP(abs_##type, T, T, x < 0 ? (T)(0 - (U)x) : x)                                                  \
    SCALAR_MAP(sign_##type, T, T, (x > 0) - (x < 0))                                                         \
    SCALAR_MAP(relu_##type, T, T, x < 0 ? 0 : x)
SIGNED(i64, int64_t, uint64_t)
SIGNED(i32, int32_t, uint32_t)
INTEGERS(u8, uint8_t, uint8_t)
SCALAR_MAP(sign_u8, uint8_t, uint8_t, x != 0)

SCALAR_MAP(not_f32, float, uint8_t, x == 0)
SCALAR_MAP(not_f64, double, uint8_t, x == 0)
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

#define SET(op, name)                                                                                        \
    k->unary[op][HD_F32] = name##_f32;                                                                       \
    k->unary[op][HD_F64] = name##_f64;

static void fill_tests(hd_kernels *k) {
    SET(HD_LOGICAL_NOT, not )
    SET(HD_ISNAN, isnan)
    SET(HD_ISINF, isinf)
    SET(HD_ISFINITE, isfinite)
    k->unary[HD_LOGICAL_NOT][HD_I64] = not_i64;
    k->unary[HD_LOGICAL_NOT][HD_I32] = not_i32;
    k->unary[HD_LOGICAL_NOT][HD_U8] = k->unary[HD_LOGICAL_NOT][HD_BOOL] = not_u8;
    for (hd_dtype t = HD_BOOL; t <= HD_I64; t++) {
        k->unary[HD_ISNAN][t] = k->unary[HD_ISINF][t] = never;
        k->unary[HD_ISFINITE][t] = always;
    }
}

#define SET_INTEGERS(op, of_i64, of_i32, of_u8)                                                              \
    k->unary[op][HD_I64] = of_i64;                                                                           \
    k->unary[op][HD_I32] = of_i32;                                                                           \
    k->unary[op][HD_U8] = of_u8;

static void fill_integers(hd_kernels *k) {
    SET_INTEGERS(HD_NEG, neg_i64, neg_i32, neg_u8)
    SET_INTEGERS(HD_ABS, abs_i64, abs_i32, same_u8)
    SET_INTEGERS(HD_SIGN, sign_i64, sign_i32, sign_u8)
    SET_INTEGERS(HD_SQUARE, square_i64, square_i32, square_u8)
    SET_INTEGERS(HD_RELU, relu_i64, relu_i32, same_u8)
    SET_INTEGERS(HD_FLOOR, same_i64, same_i32, same_u8)
    SET_INTEGERS(HD_CEIL, same_i64, same_i32, same_u8)
    SET_INTEGERS(HD_TRUNC, same_i64, same_i32, same_u8)
    SET_INTEGERS(HD_FRAC, zero_i64, zero_i32, zero_u8)
    SET_INTEGERS(HD_ROUND, same_i64, same_i32, same_u8)
}

void HD_ISA(hd_fill_unary)(hd_kernels *k) {
    SET(HD_NEG, neg)
    SET(HD_ABS, abs)
    SET(HD_SIGN, sign)
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
    SET(HD_FLOOR, floor)
    SET(HD_CEIL, ceil)
    SET(HD_TRUNC, trunc)
    SET(HD_FRAC, frac)
    SET(HD_ROUND, round)
    fill_tests(k);
    fill_integers(k);
}
