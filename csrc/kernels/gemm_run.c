/* gemm_run.c: chooses the route of a product: dots, blocked or direct. */
#include "kernels/gemm.h"

#include "kernels/gemm_loops.h"

#define FEW_ROWS 32

static hd_matrix transposed(hd_matrix x) {
    return (hd_matrix){x.data, x.col_stride, x.row_stride, x.batch_stride};
}

/* The same product as c^T = b^T a^T. */
static hd_gemm mirrored(const hd_gemm *g) {
    hd_gemm t = *g;
    t.m = g->n;
    t.n = g->m;
    t.a = transposed(g->b);
    t.b = transposed(g->a);
    t.c = transposed(g->c);
    return t;
}

/* The tiles need the columns of c side by side. If c has one row or one column, they do better with one
 * row. */
static bool better_mirrored(const hd_gemm *g) {
    if (g->n == 1) return g->c.row_stride == 1 && g->m > 1;
    return g->c.col_stride != 1 && (g->c.row_stride == 1 || g->m == 1);
}

/* Packing pays when every packed element is used often enough. */
static bool large(const hd_gemm *g, const hd_gemm_tile *t) {
    return g->m >= 4 * t->mr && g->n >= 2 * t->nr && g->k >= 64 &&
           (double)g->m * (double)g->n * (double)g->k >= 128 * 128 * 128;
}

/* Both sides contiguous along k, and too few rows to pay for transposing b. */
static bool few_rows(const hd_gemm *g) {
    const bool few = g->m <= FEW_ROWS && g->k >= 32 && (g->m <= 2 || 16 * g->m <= g->k);
    return few && g->a.col_stride == 1 && g->b.row_stride == 1;
}

hd_status hd_gemm_run(hd_ctx *cx, const hd_gemm *g) {
    if (g->m <= 0 || g->n <= 0 || g->batch <= 0) return HD_OK;
    const hd_status ready = hd_gemm_init(cx);
    if (ready != HD_OK) return ready;
    const bool wide = g->dtype == HD_F64;
    const hd_gemm_tile *direct = wide ? &cx->gemm->direct.f64 : &cx->gemm->direct.f32;
    const hd_gemm_tile *blocked = wide ? &cx->gemm->blocked.f64 : &cx->gemm->blocked.f32;
    if (g->a_panels || g->b_panels) return hd_gemm_blocked(cx, blocked, g);
    const hd_gemm flipped = mirrored(g);
    if (few_rows(g->m <= g->n ? g : &flipped)) return hd_gemm_dots(cx, direct, g->m <= g->n ? g : &flipped);
    const hd_gemm product = better_mirrored(g) ? flipped : *g;
    if (large(&product, blocked)) return hd_gemm_blocked(cx, blocked, &product);
    return hd_gemm_direct(cx, direct, &product);
}
