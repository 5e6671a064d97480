/* gemm_dots.c: products with few rows, bound by how fast b can be read. */
#include "kernels/gemm_tile.h"

#include "base/parallel.h"
#include "kernels/gemm_loops.h"

#define TASK_FLOPS 200000
#define LEAST_COLUMNS 16

typedef struct dots {
    const hd_gemm_tile *t;
    const hd_gemm *g;
    int64_t columns, column_blocks; /* of a task; tasks of one product */
} dots;

static void run_task(void *arg, int64_t task, int worker) {
    const dots *d = arg;
    const hd_gemm *g = d->g;
    const int64_t entry = task / d->column_blocks, j = task % d->column_blocks * d->columns;
    (void)worker;
    d->t->dots(g->m, hd_min(d->columns, g->n - j), g->k, g->alpha, hd_gemm_at(g, &g->a, entry, 0, 0),
               g->a.row_stride, hd_gemm_at(g, &g->b, entry, 0, j), g->b.col_stride, g->beta,
               hd_gemm_at(g, &g->c, entry, 0, j), g->c.row_stride, g->c.col_stride);
}

hd_status hd_gemm_dots(hd_ctx *cx, const hd_gemm_tile *t, const hd_gemm *g) {
    const int64_t column_flops = 2 * g->m * (g->k + 1);
    dots d = {.t = t, .g = g, .columns = hd_multiple(TASK_FLOPS / column_flops + 1, LEAST_COLUMNS)};
    d.column_blocks = hd_pieces(g->n, d.columns);
    return hd_gemm_each(cx, g, g->batch * d.column_blocks, run_task, &d);
}
