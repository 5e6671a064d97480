/* product.c: matrix products of i64, which wrap (those of floats are gemm_tile.c). */
#include "kernels/isa/parts.h"

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

void HD_ISA(hd_fill_product)(hd_kernels *k) {
    k->product_i64 = product_i64;
}
