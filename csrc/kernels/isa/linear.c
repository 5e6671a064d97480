/* linear.c: selection and sums of multiples. */
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

/* y = c ? a : b */
#define WHERE(type, T)                                                                                       \
    static void where_##type(int64_t n, const uint8_t *c, int64_t sc, const void *pa, int64_t sa,            \
                             const void *pb, int64_t sb, void *py, int64_t sy) {                             \
        const T *a = pa, *b = pb;                                                                            \
        T *y = py;                                                                                           \
        if (sc == 1 && sa == 1 && sb == 1 && sy == 1) {                                                      \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T yes = a[i], no = b[i];                                                                     \
                y[i] = c[i] ? yes : no;                                                                      \
            }                                                                                                \
        } else if (sc == 1 && sa == 0 && sb == 1 && sy == 1 && n > 0) {                                      \
            T yes = *a;                                                                                      \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T no = b[i];                                                                                 \
                y[i] = c[i] ? yes : no;                                                                      \
            }                                                                                                \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) y[i * sy] = c[i * sc] ? a[i * sa] : b[i * sb];                   \
        }                                                                                                    \
    }

#define LINEAR(type, T, number, fma_of)                                                                      \
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
    WHERE(type, T)                                                                                           \
    static void fill_##type(hd_kernels *k, hd_dtype t) {                                                     \
        k->axpy[t] = axpy_##type;                                                                            \
        k->affine[t] = affine_##type;                                                                        \
        k->accumulate[t] = accumulate_##type;                                                                \
        k->where[t] = where_##type;                                                                          \
    }

LINEAR(f32, float, IDENTITY, FLOAT_FMA)
LINEAR(f64, double, IDENTITY, FLOAT_FMA)
LINEAR(i64, int64_t, integer_of, wrapping_fma)
WHERE(i32, int32_t)
WHERE(u8, uint8_t) /* of bool too */

/* Four rows at a time: y is read and written once for them. */
static void add_rows_i64(int64_t rows, int64_t n, const int64_t *a, int64_t sa, const int64_t *x, int64_t sx,
                         int64_t *py) {
    uint64_t *y = (uint64_t *)py;
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        const uint64_t a0 = (uint64_t)a[r * sa], a1 = (uint64_t)a[(r + 1) * sa];
        const uint64_t a2 = (uint64_t)a[(r + 2) * sa], a3 = (uint64_t)a[(r + 3) * sa];
        const uint64_t *x0 = (const uint64_t *)x + r * sx, *x1 = x0 + sx, *x2 = x1 + sx, *x3 = x2 + sx;
        HD_INDEPENDENT for (int64_t j = 0; j < n; j++) y[j] +=
            (a0 * x0[j] + a1 * x1[j]) + (a2 * x2[j] + a3 * x3[j]);
    }
    for (; r < rows; r++) {
        const uint64_t a0 = (uint64_t)a[r * sa], *x0 = (const uint64_t *)x + r * sx;
        HD_INDEPENDENT for (int64_t j = 0; j < n; j++) y[j] += a0 * x0[j];
    }
}

void HD_ISA(hd_fill_linear)(hd_kernels *k) {
    k->add_rows_i64 = add_rows_i64;
    fill_f32(k, HD_F32);
    fill_f64(k, HD_F64);
    fill_i64(k, HD_I64);
    k->where[HD_I32] = where_i32;
    k->where[HD_U8] = k->where[HD_BOOL] = where_u8;
}
