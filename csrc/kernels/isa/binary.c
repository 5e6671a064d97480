/* binary.c: y = f(a, b). Integers wrap; a quotient or remainder by the integer 0 is 0 (whoever calls raises
 * before). Not there: division of integers (it is one of floats), arithmetic of bool but + (or) and * (and),
 * AND OR XOR of what is not bool.
 */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"
#include "kernels/isa/pow_mod.h"

#define FLOATS(name, expression)                                                                             \
    SCALAR_MAP2(name##_f32, float, float, expression)                                                        \
    SCALAR_MAP2(name##_f64, double, double, expression)

FLOATS(add, a + b)
FLOATS(sub, a - b)
FLOATS(mul, a *b)
FLOATS(div, a / b)
/* NaN in either gives NaN. */
FLOATS(maximum, (a > b || a != a) ? a : b)
FLOATS(minimum, (a < b || a != a) ? a : b)

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

/* Of each integer type, with U its unsigned twin: both have the same low bits. */
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
    EXCHANGED(ge_##type, le_##type)                                                                          \
    static void fill_comparisons_##type(hd_kernels *k, hd_dtype t) {                                         \
        k->binary[HD_EQ][t] = eq_##type;                                                                     \
        k->binary[HD_NE][t] = ne_##type;                                                                     \
        k->binary[HD_LT][t] = lt_##type;                                                                     \
        k->binary[HD_LE][t] = le_##type;                                                                     \
        k->binary[HD_GT][t] = gt_##type;                                                                     \
        k->binary[HD_GE][t] = ge_##type;                                                                     \
    }
COMPARISONS(f32, float)
COMPARISONS(f64, double)
COMPARISONS(i64, int64_t)
COMPARISONS(i32, int32_t)
COMPARISONS(u8, uint8_t) /* of bool too */

static void fill_logic(hd_kernels *k) {
    k->binary[HD_AND][HD_BOOL] = k->binary[HD_MUL][HD_BOOL] = k->binary[HD_MINIMUM][HD_BOOL] = and_bool;
    k->binary[HD_OR][HD_BOOL] = k->binary[HD_ADD][HD_BOOL] = k->binary[HD_MAXIMUM][HD_BOOL] = or_bool;
    k->binary[HD_XOR][HD_BOOL] = xor_bool;
}

#define SET(op, name)                                                                                        \
    k->binary[op][HD_F32] = name##_f32;                                                                      \
    k->binary[op][HD_F64] = name##_f64;                                                                      \
    k->binary[op][HD_I64] = name##_i64;                                                                      \
    k->binary[op][HD_I32] = name##_i32;                                                                      \
    k->binary[op][HD_U8] = name##_u8;

void HD_ISA(hd_fill_binary)(hd_kernels *k) {
    SET(HD_ADD, add)
    SET(HD_SUB, sub)
    SET(HD_MUL, mul)
    SET(HD_POW, pow)
    SET(HD_MOD, mod)
    SET(HD_FLOORDIV, floordiv)
    SET(HD_MAXIMUM, maximum)
    SET(HD_MINIMUM, minimum)
    k->binary[HD_DIV][HD_F32] = div_f32;
    k->binary[HD_DIV][HD_F64] = div_f64;
    fill_comparisons_f32(k, HD_F32);
    fill_comparisons_f64(k, HD_F64);
    fill_comparisons_i64(k, HD_I64);
    fill_comparisons_i32(k, HD_I32);
    fill_comparisons_u8(k, HD_U8);
    fill_comparisons_u8(k, HD_BOOL);
    fill_logic(k);
}
