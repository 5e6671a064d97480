/* kernels_check.h: what the tests of the kernels share. Every table that this processor can run is held
 * against loops over double written in the tests.
 */
#ifndef HD_KERNELS_CHECK_H
#define HD_KERNELS_CHECK_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/random.h"
#include "check.h"
#include "kernels/kernels.h"

/* Not every test uses everything. */
#define SHARED __attribute__((unused)) static

enum { MAX = 1000, ROOM = 4 * MAX + 64 };

static const hd_kernels *k;

/* Lengths 0..70 reach every tail; 1000 the unrolled loops. */
SHARED int64_t next_length(int64_t n) {
    return n < 70 ? n + 1 : n == 70 ? MAX : -1;
}
#define EACH_LENGTH(n) for (int64_t n = 0; n >= 0; n = next_length(n))

/* ---- numbers of any dtype ------------------------------------------------------------------------------ */

SHARED const hd_dtype computed[] = {HD_BOOL, HD_U8, HD_I32, HD_I64, HD_F32, HD_F64};
SHARED const hd_dtype wide[] = {HD_I64, HD_F32, HD_F64};
SHARED const hd_dtype floats[] = {HD_F32, HD_F64};
#define EACH_DTYPE(t, list)                                                                                  \
    for (unsigned t##_i = 0; t##_i < sizeof(list) / sizeof(list)[0]; t##_i++)                                \
        for (hd_dtype t = (list)[t##_i], t##_once = 1; t##_once; t##_once = 0)

SHARED size_t size_of(hd_dtype t) {
    static const size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 2, 2, 4, 8};
    return sizes[t];
}

typedef union block {
    uint8_t bytes[ROOM * 8];
    uint8_t b[ROOM];
    int8_t i8[ROOM];
    int16_t i16[ROOM];
    uint16_t u16[ROOM];
    uint32_t u32[ROOM];
    int32_t i32[ROOM];
    int64_t i[ROOM];
    float f[ROOM];
    double d[ROOM];
} block;

SHARED double get(hd_dtype t, const block *x, int64_t i) {
    switch (t) {
    case HD_F32: return x->f[i];
    case HD_F64: return x->d[i];
    case HD_I64: return (double)x->i[i];
    case HD_I32: return x->i32[i];
    case HD_I8: return x->i8[i];
    case HD_I16: return x->i16[i];
    case HD_U16: return x->u16[i];
    case HD_U32: return x->u32[i];
    default: return x->b[i];
    }
}

SHARED void set(hd_dtype t, block *x, int64_t i, double value) {
    switch (t) {
    case HD_F32: x->f[i] = (float)value; break;
    case HD_F64: x->d[i] = value; break;
    case HD_I64: x->i[i] = (int64_t)value; break;
    case HD_I32: x->i32[i] = (int32_t)value; break;
    case HD_I8: x->i8[i] = (int8_t)value; break;
    case HD_I16: x->i16[i] = (int16_t)value; break;
    case HD_U16: x->u16[i] = (uint16_t)value; break;
    case HD_U32: x->u32[i] = (uint32_t)value; break;
    default: x->b[i] = (uint8_t)value; break;
    }
}

SHARED double noise(int64_t i) {
    return hd_draw_f64((hd_draw){99, 1}, (uint64_t)i);
}

SHARED bool is_unsigned(hd_dtype t) {
    return t == HD_U8 || t == HD_U16 || t == HD_U32;
}

/* Numbers in [-scale, scale], whole ones for integers, above 0 for those without a sign, with some equal. */
SHARED void make(hd_dtype t, block *x, double scale, int64_t salt) {
    for (int64_t i = 0; i < ROOM; i++) {
        double u = noise(i + salt * ROOM);
        if (t == HD_BOOL)
            x->b[i] = u < 0.4;
        else if (is_unsigned(t))
            set(t, x, i, floor(u * scale * 3));
        else if (hd_dtype_is_integer(t))
            set(t, x, i, floor((2 * u - 1) * scale * 3));
        else
            set(t, x, i, (2 * u - 1) * scale);
    }
}

SHARED bool same(double a, double b) {
    return (a != a && b != b) || a == b;
}

SHARED bool near(hd_dtype t, double got, double wanted, double tolerance) {
    if (same(got, wanted)) return true;
    if (t == HD_U8 && fabs(wanted) < 1e15) return got == (double)(uint8_t)(int64_t)floor(wanted);
    if (t == HD_F32 && same((float)got, (float)wanted)) return true;
    double scale = fabs(wanted) > 1 ? fabs(wanted) : 1;
    return fabs(got - wanted) <= (t == HD_F32 ? tolerance : tolerance * 1e-7) * scale;
}

SHARED block in_a, in_b, in_c, out, out2, out3, before;

/* Strides tried: contiguous, every other, a scalar, backwards. */
SHARED const int64_t strides[] = {1, 2, 0, -1};
enum { FORWARD = 3, STRIDES = 4 };
SHARED int64_t base_of(int64_t stride) {
    return stride < 0 ? MAX : 3; /* 3: no alignment */
}
SHARED void *at(hd_dtype t, block *x, int64_t i) {
    return x->bytes + (size_t)i * size_of(t);
}

/* Nothing outside the n elements that were asked for has changed. */
SHARED void check_untouched(hd_dtype t, const block *y, int64_t base, int64_t stride, int64_t n) {
    const int64_t size = (int64_t)size_of(t);
    bool untouched = true;
    for (int64_t i = 0; i < 2 * MAX + 16; i++) {
        int64_t place = i - base;
        bool ours = stride != 0 && place % stride == 0 && place / stride >= 0 && place / stride < n;
        untouched &= ours || memcmp(y->bytes + i * size, before.bytes + i * size, (size_t)size) == 0;
    }
    CHECK(untouched);
}

/* The functions that elementwise kernels and activations are checked with. */
SHARED double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
SHARED double square(double x) {
    return x * x;
}
SHARED double negative(double x) {
    return -x;
}
SHARED double rsqrt(double x) {
    return 1 / sqrt(x);
}
SHARED double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
SHARED double relu(double x) {
    return x < 0 ? 0 : x;
}
SHARED double phi(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}
SHARED double gelu(double x) {
    return x == -INFINITY ? 0 : x * phi(x);
}
SHARED double gelu_sigmoid(double x) {
    return x == -INFINITY ? 0 : x * sigmoid(1.702 * x);
}
SHARED double gelu_tanh_inner(double x) {
    return 2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
}
SHARED double gelu_tanh(double x) {
    return x == -INFINITY ? 0 : x * sigmoid(gelu_tanh_inner(x));
}
SHARED double silu(double x) {
    return x == -INFINITY ? 0 : x * sigmoid(x);
}
SHARED double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
SHARED double softsign(double x) {
    return fabs(x) == INFINITY ? sign(x) : x / (1 + fabs(x));
}
SHARED double log_sigmoid(double x) {
    return -softplus(-x);
}
SHARED double is_zero(double x) {
    return x == 0;
}
SHARED double is_nan(double x) {
    return x != x;
}
SHARED double is_inf(double x) {
    return fabs(x) == INFINITY;
}
SHARED double fraction(double x) {
    return x - trunc(x);
}
SHARED double is_finite(double x) {
    return fabs(x) < INFINITY;
}

SHARED double (*const unary_of[HD_UNARY_COUNT])(double) = {[HD_NEG] = negative,
                                                           [HD_ABS] = fabs,
                                                           [HD_SIGN] = sign,
                                                           [HD_SQUARE] = square,
                                                           [HD_SQRT] = sqrt,
                                                           [HD_RSQRT] = rsqrt,
                                                           [HD_EXP] = exp,
                                                           [HD_EXPM1] = expm1,
                                                           [HD_LOG1P] = log1p,
                                                           [HD_LOG] = log,
                                                           [HD_SIN] = sin,
                                                           [HD_COS] = cos,
                                                           [HD_TAN] = tan,
                                                           [HD_EXP2] = exp2,
                                                           [HD_LOG2] = log2,
                                                           [HD_LOG10] = log10,
                                                           [HD_ASIN] = asin,
                                                           [HD_ACOS] = acos,
                                                           [HD_ATAN] = atan,
                                                           [HD_SINH] = sinh,
                                                           [HD_COSH] = cosh,
                                                           [HD_ASINH] = asinh,
                                                           [HD_ACOSH] = acosh,
                                                           [HD_ATANH] = atanh,
                                                           [HD_TANH] = tanh,
                                                           [HD_SIGMOID] = sigmoid,
                                                           [HD_ERF] = erf,
                                                           [HD_RELU] = relu,
                                                           [HD_GELU] = gelu,
                                                           [HD_GELU_TANH] = gelu_tanh,
                                                           [HD_GELU_SIGMOID] = gelu_sigmoid,
                                                           [HD_SILU] = silu,
                                                           [HD_SOFTPLUS] = softplus,
                                                           [HD_SOFTSIGN] = softsign,
                                                           [HD_LOG_SIGMOID] = log_sigmoid,
                                                           [HD_FLOOR] = floor,
                                                           [HD_CEIL] = ceil,
                                                           [HD_TRUNC] = trunc,
                                                           [HD_FRAC] = fraction,
                                                           [HD_ROUND] = rint,
                                                           [HD_LOGICAL_NOT] = is_zero,
                                                           [HD_ISNAN] = is_nan,
                                                           [HD_ISINF] = is_inf,
                                                           [HD_ISFINITE] = is_finite};

/* f' by what was saved: see kernels/tables/unary.h */
SHARED double slope(int op, double x) {
    switch (op) {
    case HD_ABS: return sign(x);
    case HD_SQUARE: return 2 * x;
    case HD_SQRT: return 0.5 / x;
    case HD_RSQRT: return -0.5 * x * x * x;
    case HD_EXP: return x;
    case HD_EXPM1: return x + 1;
    case HD_LOG: return 1 / x;
    case HD_LOG1P: return 1 / (1 + x);
    case HD_SIN: return cos(x);
    case HD_COS: return -sin(x);
    case HD_EXP2: return x * log(2);
    case HD_LOG2: return 1 / (x * log(2));
    case HD_LOG10: return 1 / (x * log(10));
    case HD_ASIN: return 1 / sqrt(1 - x * x);
    case HD_ACOS: return -1 / sqrt(1 - x * x);
    case HD_ATAN: return 1 / (1 + x * x);
    case HD_SINH: return cosh(x);
    case HD_COSH: return sinh(x);
    case HD_ASINH: return 1 / sqrt(1 + x * x);
    case HD_ACOSH: return 1 / sqrt(x - 1) / sqrt(x + 1);
    case HD_ATANH: return 1 / ((1 - x) * (1 + x));
    case HD_TAN: return 1 + x * x;
    case HD_TANH: return 1 - x * x;
    case HD_SIGMOID: return x * (1 - x);
    case HD_ERF: return 2 / sqrt(M_PI) * exp(-x * x);
    case HD_RELU: return x > 0;
    case HD_GELU: return phi(x) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
    case HD_GELU_TANH: {
        double z = gelu_tanh_inner(x);
        return sigmoid(z) + x * sigmoid(z) * sigmoid(-z) * 2 * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    }
    case HD_GELU_SIGMOID: return sigmoid(1.702 * x) + 1.702 * x * sigmoid(1.702 * x) * sigmoid(-1.702 * x);
    case HD_SILU: return sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
    case HD_SOFTPLUS: return sigmoid(x);
    case HD_SOFTSIGN: return 1 / square(1 + fabs(x));
    case HD_LOG_SIGMOID: return sigmoid(-x);
    default: return 0;
    }
}

/* Runs check under every table; the return of main. */
static int check_tables(void (*check)(void)) {
    for (int isa = 0; isa < HD_ISA_COUNT; isa++) {
        k = hd_kernels_of((hd_isa)isa);
        if (!k) continue;
        for (int64_t i = 0; i < (int64_t)sizeof before.bytes; i++) before.bytes[i] = (uint8_t)(i * 37 + 11);
        check();
    }
    return checks_done();
}

#endif
