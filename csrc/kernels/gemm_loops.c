#include "kernels/gemm_loops.h"

/* The columns of c from `column` on that lie side by side in memory, at most n. */
static int64_t run_of(const hd_gemm *g, int64_t column, int64_t n) {
    return g->c_run > 0 ? hd_min(n, g->c_run - column % g->c_run) : n;
}

static char *at_column(const hd_gemm *g, int64_t entry, int64_t row, int64_t column) {
    if (g->c_run == 0) return hd_gemm_at(g, &g->c, entry, row, column);
    return hd_gemm_at(g, &g->c, entry, row, column % g->c_run) +
           column / g->c_run * g->c_run_stride * hd_gemm_size(g);
}

/* c += or = for n columns of a tile whose rows have `width`. */
#define SCATTER(T)                                                                                           \
    for (int64_t i = 0; i < m; i++)                                                                          \
        for (int64_t j = 0; j < n; j++) {                                                                    \
            T *at = (T *)c + i * g->c.row_stride + j * g->c.col_stride;                                      \
            T value = ((const T *)tile)[i * width + j];                                                      \
            *at = beta == 0 ? value : value + (T)beta * *at;                                                 \
        }

static void scatter(const hd_gemm *g, int64_t m, int64_t n, int64_t width, const void *tile, double beta,
                    void *c) {
    if (g->dtype == HD_F64) {
        SCATTER(double)
    } else {
        SCATTER(float)
    }
}

#define FILL_ROWS(T)                                                                                         \
    for (int64_t i = 0; i < m; i++)                                                                          \
        for (int64_t j = 0; j < n; j++) ((T *)c)[i * row_stride + j] = ((const T *)bias)[i];

/* c = the bias of each row, to which the first products are added while it is in the cache. */
static void fill_rows(const hd_gemm *g, int64_t m, int64_t n, const void *bias, void *c, int64_t row_stride) {
    if (g->dtype == HD_F64) {
        FILL_ROWS(double)
    } else {
        FILL_ROWS(float)
    }
}

void hd_gemm_emit(const hd_gemm_tile *t, const hd_gemm *g, int64_t entry, int64_t row, int64_t column,
                  int64_t m, int64_t n, int64_t k, const void *a, int64_t a_rs, int64_t a_cs, const void *b,
                  int64_t b_rs, double beta) {
    const char *bias = NULL;
    if (g->row_bias && beta == 0) bias = (const char *)g->row_bias + (entry * g->m + row) * hd_gemm_size(g);
    if ((g->c.col_stride == 1 || n == 1) && run_of(g, column, n) == n) {
        char *c = at_column(g, entry, row, column);
        if (bias) fill_rows(g, m, n, bias, c, g->c.row_stride);
        t->run(t, m, n, k, g->alpha, a, a_rs, a_cs, b, b_rs, bias ? 1 : beta, c, g->c.row_stride);
        return;
    }
    _Alignas(64) char tile[HD_GEMM_TILE_BYTES];
    if (bias) fill_rows(g, m, n, bias, tile, n);
    t->run(t, m, n, k, g->alpha, a, a_rs, a_cs, b, b_rs, bias ? 1 : 0, tile, n);
    for (int64_t j = 0, run; j < n; j += run) {
        run = run_of(g, column + j, n - j);
        scatter(g, m, run, n, tile + j * hd_gemm_size(g), beta, at_column(g, entry, row, column + j));
    }
}

hd_status hd_gemm_each(hd_ctx *cx, const hd_gemm *g, int64_t count, hd_task task, void *arg) {
    const double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch;
    if (flops >= HD_SERIAL_FLOPS || cx->skipping) return hd_parallel(cx, count, task, arg);
    for (int64_t i = 0; i < count; i++) task(arg, i, 0);
    return HD_OK;
}
