/* linear.c: selection (where), sums of multiples (axpy, affine, accumulate), and products of i64
 * matrices.
 */
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

/* y = c ? a : b. With the same c for a whole run it is a copy. Both operands are loaded before the
 * choice, so that the compiler makes no branch of it. */
#define WHERE(type, T)                                                                                       \
    static void where_##type(int64_t n, const uint8_t *c, int64_t sc, const void *pa, int64_t sa,            \
                             const void *pb, int64_t sb, void *py, int64_t sy) {                             \
        const T *a = pa, *b = pb;                                                                            \
        T *y = py;                                                                                           \
        if (n <= 0) return;                                                                                  \
        const T yes = *a, no = *b;                                                                           \
        const bool in_line = sc == 1 && sy == 1;                                                             \
        if (in_line && sa == 1 && sb == 1) {                                                                 \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T a_i = a[i], b_i = b[i];                                                                    \
                y[i] = c[i] ? a_i : b_i;                                                                     \
            }                                                                                                \
        } else if (in_line && sa == 0 && sb == 1) {                                                          \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T b_i = b[i];                                                                                \
                y[i] = c[i] ? yes : b_i;                                                                     \
            }                                                                                                \
        } else if (in_line && sa == 1 && sb == 0) {                                                          \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T a_i = a[i];                                                                                \
                y[i] = c[i] ? a_i : no;                                                                      \
            }                                                                                                \
        } else if (in_line && sa == 0 && sb == 0) {                                                          \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] = c[i] ? yes : no;                           \
        } else if (sc == 0) {                                                                                \
            const T *x = *c ? a : b;                                                                         \
            const int64_t sx = *c ? sa : sb;                                                                 \
            if (sx == 1 && sy == 1)                                                                          \
                HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] = x[i];                                  \
            else                                                                                             \
                for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];                                       \
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

/* ---- products of i64 --------------------------------------------------------------------------- */

typedef uint64_t vul_mem __attribute__((vector_size(HD_VEC_BYTES), aligned(8), may_alias));

enum { TILE_ROWS = HD_VEC_BYTES == 64 ? 4 : 2, TILE_VECTORS = 4, TILE_COLUMNS = TILE_VECTORS * VD_LANES };

/* y[i y_row + j] += sum over k of a[i a_row + k a_col] b[k b_row + j] for `rows` rows by `vectors`
 * vectors of columns, modulo 2^64. Both are constants where this is inlined, so the sums stay in
 * registers. */
HD_INLINE void product_tile(int rows, int vectors, int64_t depth, const int64_t *a, int64_t a_row,
                            int64_t a_col, const int64_t *b, int64_t b_row, int64_t *y, int64_t y_row) {
    vul sum[TILE_ROWS][TILE_VECTORS];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) sum[i][v] = *(const vul_mem *)(y + i * y_row + v * VD_LANES);
    for (int64_t k = 0; k < depth; k++) {
        for (int i = 0; i < rows; i++) {
            vul factor = vul_set((uint64_t)a[i * a_row + k * a_col]);
            for (int v = 0; v < vectors; v++)
                sum[i][v] += factor * *(const vul_mem *)(b + k * b_row + v * VD_LANES);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vectors; v++) *(vul_mem *)(y + i * y_row + v * VD_LANES) = sum[i][v];
}

HD_INLINE void product_element(int64_t depth, const int64_t *a, int64_t a_col, const int64_t *b,
                               int64_t b_row, int64_t *y) {
    uint64_t sum = (uint64_t)*y;
    for (int64_t k = 0; k < depth; k++) sum += (uint64_t)a[k * a_col] * (uint64_t)b[k * b_row];
    *y = (int64_t)sum;
}

/* The columns that fill no whole tile. */
static void product_row(int64_t n, int64_t depth, const int64_t *a, int64_t a_col, const int64_t *b,
                        int64_t b_row, int64_t *y) {
    int64_t j = 0;
    for (; j + TILE_COLUMNS <= n; j += TILE_COLUMNS)
        product_tile(1, TILE_VECTORS, depth, a, 0, a_col, b + j, b_row, y + j, 0);
    for (; j + VD_LANES <= n; j += VD_LANES) product_tile(1, 1, depth, a, 0, a_col, b + j, b_row, y + j, 0);
    for (; j < n; j++) product_element(depth, a, a_col, b + j, b_row, y + j);
}

static void product_i64(int64_t m, int64_t n, int64_t depth, const int64_t *a, int64_t a_row, int64_t a_col,
                        const int64_t *b, int64_t b_row, int64_t *y, int64_t y_row) {
    int64_t rows = m - m % TILE_ROWS, columns = n - n % TILE_COLUMNS;
    for (int64_t j = 0; j < columns; j += TILE_COLUMNS)
        for (int64_t i = 0; i < rows; i += TILE_ROWS)
            product_tile(TILE_ROWS, TILE_VECTORS, depth, a + i * a_row, a_row, a_col, b + j, b_row,
                         y + i * y_row + j, y_row);
    for (int64_t i = 0; i < m; i++) {
        int64_t j = i < rows ? columns : 0;
        product_row(n - j, depth, a + i * a_row, a_col, b + j, b_row, y + i * y_row + j);
    }
}

void HD_ISA(hd_fill_linear)(hd_kernels *k) {
    k->product_i64 = product_i64;
    fill_f32(k, HD_F32);
    fill_f64(k, HD_F64);
    fill_i64(k, HD_I64);
    k->where[HD_I32] = where_i32;
    k->where[HD_U8] = k->where[HD_BOOL] = where_u8;
}
