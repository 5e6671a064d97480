/* axpy.c: sums of multiples: y += alpha x, y = scale x + shift, y += x. Those of i64 wrap. */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"

static inline int64_t integer_of(double x) {
    return x >= 0x1p63 ? INT64_MAX : x > -0x1p63 ? (int64_t)x : x == x ? INT64_MIN : 0;
}
static inline int64_t wrapping_fma(int64_t a, int64_t b, int64_t c) {
    return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
}
#define FLOAT_FMA(a, b, c) ((a) * (b) + (c))
#define IDENTITY(x) (x)

/* axpy_f32 axpy_f64 axpy_i64 affine_f32 affine_f64 affine_i64 accumulate_f32 accumulate_f64 accumulate_i64 */
#define MULTIPLES(type, T, number, fma_of)                                                                   \
    static void axpy_##type(int64_t n, double alpha, const void *px, int64_t sx, void *py, int64_t sy) {     \
        const T *x = px, s = (T)number(alpha);                                                               \
        T *y = py;                                                                                           \
        if (sx == 1 && sy == 1) {                                                                            \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] = fma_of(x[i], s, y[i]);                     \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) y[i * sy] = fma_of(x[i * sx], s, y[i * sy]);                         \
    }                                                                                                        \
    static void affine_##type(int64_t n, double scale, double shift, const void *px, int64_t sx, void *py,   \
                              int64_t sy) {                                                                  \
        const T *x = px, s = (T)number(scale), t = (T)number(shift);                                         \
        T *y = py;                                                                                           \
        if (sx == 1 && sy == 1) {                                                                            \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] = fma_of(x[i], s, t);                        \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) y[i * sy] = fma_of(x[i * sx], s, t);                                 \
    }                                                                                                        \
    static void accumulate_##type(int64_t n, const void *px, void *py) {                                     \
        const T *x = px;                                                                                     \
        T *y = py;                                                                                           \
        HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] = fma_of(x[i], (T)1, y[i]);                      \
    }                                                                                                        \
    static void fill_##type(hd_kernels *k, hd_dtype t) {                                                     \
        k->axpy[t] = axpy_##type;                                                                            \
        k->affine[t] = affine_##type;                                                                        \
        k->accumulate[t] = accumulate_##type;                                                                \
    }

MULTIPLES(f32, float, IDENTITY, FLOAT_FMA)
MULTIPLES(f64, double, IDENTITY, FLOAT_FMA)
MULTIPLES(i64, int64_t, integer_of, wrapping_fma)

void HD_ISA(hd_fill_axpy)(hd_kernels *k) {
    fill_f32(k, HD_F32);
    fill_f64(k, HD_F64);
    fill_i64(k, HD_I64);
}
