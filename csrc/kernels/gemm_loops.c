#include "kernels/gemm_loops.h"

/* c += or = for a tile whose columns do not lie side by side. */
#define SCATTER(T)                                                                                           \
    for (int64_t i = 0; i < m; i++)                                                                          \
        for (int64_t j = 0; j < n; j++) {                                                                    \
            T *at = (T *)c + i * g->c.row_stride + j * g->c.col_stride;                                      \
            T value = ((const T *)tile)[i * n + j];                                                          \
            *at = beta == 0 ? value : value + (T)beta * *at;                                                 \
        }

static void scatter(const hd_gemm *g, int64_t m, int64_t n, const void *tile, double beta, void *c) {
    if (g->dtype == HD_F64) {
        SCATTER(double)
    } else {
        SCATTER(float)
    }
}

void hd_gemm_emit(const hd_gemm_tile *t, const hd_gemm *g, int64_t entry, int64_t row, int64_t column,
                  int64_t m, int64_t n, int64_t k, const void *a, int64_t a_rs, int64_t a_cs, const void *b,
                  int64_t b_rs, double beta) {
    char *c = hd_gemm_at(g, &g->c, entry, row, column);
    if (g->c.col_stride == 1 || n == 1) {
        t->run(t, m, n, k, g->alpha, a, a_rs, a_cs, b, b_rs, beta, c, g->c.row_stride);
        return;
    }
    _Alignas(64) char tile[HD_GEMM_TILE_BYTES];
    t->run(t, m, n, k, g->alpha, a, a_rs, a_cs, b, b_rs, 0, tile, n);
    scatter(g, m, n, tile, beta, c);
}

hd_status hd_gemm_each(hd_ctx *cx, const hd_gemm *g, int64_t count, hd_task task, void *arg) {
    const double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    if (flops >= HD_SERIAL_FLOPS) return hd_parallel(cx, count, task, arg);
    for (int64_t i = 0; i < count; i++) task(arg, i, 0);
    return HD_OK;
}
