/* binary.c: y = f(a, b). Integers wrap; a quotient or remainder by the integer 0 is 0 (whoever calls raises
 * before). Not there: division of integers (it is one of floats), arithmetic of bool but + (or) and * (and),
 * AND OR XOR of what is not bool.
 */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"
#include "kernels/isa/pow_mod.h"
#include "kernels/vec_inverse.h"

#define FLOATS(name, expression)                                                                             \
    SCALAR_MAP2(name##_f32, float, float, expression)                                                        \
    SCALAR_MAP2(name##_f64, double, double, expression)

/* add_f32 add_f64 sub_f32 sub_f64 mul_f32 mul_f64 div_f32 div_f64 maximum_f32 maximum_f64 minimum_f32 minimum_f64 */
FLOATS(add, a + b)
FLOATS(sub, a - b)
FLOATS(mul, a *b)
FLOATS(div, a / b)
GRADIENT_MAPS(gradient_mul, a *b)
GRADIENT_MAPS(gradient_div, a / b)
/* NaN in either gives NaN. */
FLOATS(maximum, (a > b || a != a) ? a : b)
FLOATS(minimum, (a < b || a != a) ? a : b)

VECTOR_MAP2(atan2_f32, vf_atan2)
SCALAR_MAP2(atan2_f64, double, double, atan2(a, b))
/* Squares of f32 do not leave the range of f64. Infinity beside NaN is infinity, as in C. */
static inline float hypot_of(float a, float b) {
    float y = (float)sqrt((double)a * a + (double)b * b);
    return fabsf(a) == INFINITY || fabsf(b) == INFINITY ? INFINITY : y;
}
SCALAR_MAP2(hypot_f32, float, float, hypot_of(a, b))
SCALAR_MAP2(hypot_f64, double, double, hypot(a, b))

#if !defined(__FMA__)
SCALAR_MAP2(mod_f64, double, double, mod_of_f64(a, b))
#endif
/* As Lua's, whose numbers are f64: the quotient is rounded before it is floored, 1 // 0.1 is 10. */
SCALAR_MAP2(floordiv_f32, float, float, (float)floor((double)a / b))
SCALAR_MAP2(floordiv_f64, double, double, floor(a / b))

SCALAR_MAP2(any_pow_f64, double, double, pow(a, b))
SCALAR_MAP(square_f32, float, float, x *x)
SCALAR_MAP(square_f64, double, double, x *x)
SCALAR_MAP(cube_f32, float, float, x *x *x)
SCALAR_MAP(cube_f64, double, double, x *x *x)

static void pow_f32(int64_t n, const void *a, int64_t sa, const void *b, int64_t sb, void *y, int64_t sy) {
    if (n > 0 && sb == 0 && *(const float *)b == 2)
        square_f32(n, a, sa, y, sy);
    else if (n > 0 && sb == 0 && *(const float *)b == 3)
        cube_f32(n, a, sa, y, sy);
    else
        any_pow_f32(n, a, sa, b, sb, y, sy);
}
static void pow_f64(int64_t n, const void *a, int64_t sa, const void *b, int64_t sb, void *y, int64_t sy) {
    if (n > 0 && sb == 0 && *(const double *)b == 2)
        square_f64(n, a, sa, y, sy);
    else if (n > 0 && sb == 0 && *(const double *)b == 3)
        cube_f64(n, a, sa, y, sy);
    else
        any_pow_f64(n, a, sa, b, sb, y, sy);
}

/* Of 32 bits and less, where f64 is quicker and exact: a quotient that is not whole is further from the
 * next whole number than f64 rounds. The least by -1 wraps. */
static inline int32_t floordiv_of_i32(int32_t a, int32_t b) {
    double q = floor((double)a / (double)b);
    return b == 0 ? 0 : q > INT32_MAX ? INT32_MIN : (int32_t)q;
}
static inline int32_t mod_of_i32(int32_t a, int32_t b) {
    return b == 0 ? 0 : (int32_t)((uint32_t)a - (uint32_t)floordiv_of_i32(a, b) * (uint32_t)b);
}
/* A negative power is 0 but for 1 and -1. */
static inline int64_t pow_of_i64(int64_t a, int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    uint64_t power = 1, base = (uint64_t)a;
    for (; b > 0; b >>= 1, base *= base)
        if (b & 1) power *= base;
    return (int64_t)power;
}

/* One loop for all strides: what divides or repeats gains nothing from vectors. */
#define PLAIN_MAP2(name, T, expression)                                                                      \
    static void name(int64_t n, const void *pa, int64_t sa, const void *pb, int64_t sb, void *py,            \
                     int64_t sy) {                                                                           \
        const T *as = pa, *bs = pb;                                                                          \
        T *ys = py;                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T a = as[i * sa], b = bs[i * sb];                                                                \
            ys[i * sy] = expression;                                                                         \
        }                                                                                                    \
    }

/* add_i64 sub_i64 mul_i64 maximum_i64 minimum_i64 pow_i64
 * add_i32 sub_i32 mul_i32 maximum_i32 minimum_i32 pow_i32
 * add_u8 sub_u8 mul_u8 maximum_u8 minimum_u8 pow_u8
 * of each integer type, with U its unsigned twin: both have the same low bits. */
#define INTEGERS(type, T, U)                                                                                 \
    SCALAR_MAP2(add_##type, T, T, (T)((U)a + (U)b))                                                          \
    SCALAR_MAP2(sub_##type, T, T, (T)((U)a - (U)b))                                                          \
    SCALAR_MAP2(mul_##type, T, T, (T)((U)a * (U)b))                                                          \
    SCALAR_MAP2(maximum_##type, T, T, a > b ? a : b)                                                         \
    SCALAR_MAP2(minimum_##type, T, T, a < b ? a : b)                                                         \
    PLAIN_MAP2(pow_##type, T, (T)pow_of_i64(a, b))
INTEGERS(i64, int64_t, uint64_t)
INTEGERS(i32, int32_t, uint32_t)
INTEGERS(u8, uint8_t, uint8_t)

SCALAR_MAP2(mod_i32, int32_t, int32_t, mod_of_i32(a, b))
SCALAR_MAP2(floordiv_i32, int32_t, int32_t, floordiv_of_i32(a, b))
SCALAR_MAP2(mod_u8, uint8_t, uint8_t, (uint8_t)mod_of_i32(a, b))
SCALAR_MAP2(floordiv_u8, uint8_t, uint8_t, (uint8_t)floordiv_of_i32(a, b))

SCALAR_MAP2(and_bool, uint8_t, uint8_t, a &b)
SCALAR_MAP2(or_bool, uint8_t, uint8_t, a | b)
SCALAR_MAP2(xor_bool, uint8_t, uint8_t, a ^ b)

/* a > b is b < a, with NaN too: one copy of the loops for both. */
#define NOT_INLINED(name)                                                                                    \
    static void name(int64_t n, const void *a, int64_t sa, const void *b, int64_t sb, void *y, int64_t sy)   \
        __attribute__((noinline));
#define EXCHANGED(name, other)                                                                               \
    static void name(int64_t n, const void *a, int64_t sa, const void *b, int64_t sb, void *y, int64_t sy) { \
        other(n, b, sb, a, sa, y, sy);                                                                       \
    }
#define COMPARISONS(type, T)                                                                                 \
    NOT_INLINED(lt_##type)                                                                                   \
    NOT_INLINED(le_##type)                                                                                   \
    SCALAR_MAP2(eq_##type, T, uint8_t, a == b)                                                               \
    SCALAR_MAP2(ne_##type, T, uint8_t, a != b)                                                               \
    SCALAR_MAP2(lt_##type, T, uint8_t, a < b)                                                                \
    SCALAR_MAP2(le_##type, T, uint8_t, a <= b)                                                               \
    EXCHANGED(gt_##type, lt_##type)                                                                          \
    EXCHANGED(ge_##type, le_##type)
/* eq_f32 ne_f32 lt_f32 le_f32 gt_f32 ge_f32
 * eq_f64 ne_f64 lt_f64 le_f64 gt_f64 ge_f64
 * eq_i64 ne_i64 lt_i64 le_i64 gt_i64 ge_i64
 * eq_i32 ne_i32 lt_i32 le_i32 gt_i32 ge_i32
 * eq_u8 ne_u8 lt_u8 le_u8 gt_u8 ge_u8 */
COMPARISONS(f32, float)
COMPARISONS(f64, double)
COMPARISONS(i64, int64_t)
COMPARISONS(i32, int32_t)
COMPARISONS(u8, uint8_t) /* of bool too */

#define FILL_FLOATS(op, name)                                                                                \
    k->binary[op][HD_F32] = name##_f32;                                                                      \
    k->binary[op][HD_F64] = name##_f64;

/* By the row's sort. */
#define FILL_HD_DIVISION(op, name) FILL_FLOATS(op, name)
#define FILL_HD_ARITHMETIC(op, name)                                                                         \
    FILL_FLOATS(op, name)                                                                                    \
    k->binary[op][HD_I64] = name##_i64;                                                                      \
    k->binary[op][HD_I32] = name##_i32;                                                                      \
    k->binary[op][HD_U8] = name##_u8;
#define FILL_HD_CHECKED(op, name) FILL_HD_ARITHMETIC(op, name)
#define FILL_HD_COMPARISON(op, name)                                                                         \
    FILL_HD_ARITHMETIC(op, name)                                                                             \
    k->binary[op][HD_BOOL] = name##_u8;
#define FILL_HD_LOGIC(op, name) k->binary[op][HD_BOOL] = name##_bool;

void HD_ISA(hd_fill_binary)(hd_kernels *k) {
#define HD_ROW(op, kernel, name, metamethod, sort, ...) FILL_##sort(op, kernel)
#include "kernels/tables/binary.h"
    k->gradient_mul[HD_F32] = gradient_mul_f32;
    k->gradient_mul[HD_F64] = gradient_mul_f64;
    k->gradient_div[HD_F32] = gradient_div_f32;
    k->gradient_div[HD_F64] = gradient_div_f64;
    /* On truth values + and maximum are "or", * and minimum "and". */
    k->binary[HD_ADD][HD_BOOL] = k->binary[HD_MAXIMUM][HD_BOOL] = or_bool;
    k->binary[HD_MUL][HD_BOOL] = k->binary[HD_MINIMUM][HD_BOOL] = and_bool;
}
