/* gemm_blocked.c: large products. For each block of columns and of k, and each run of rows: all threads
 * pack the panels of a and b, then all threads multiply blocks of c out of them.
 */
#include "kernels/gemm_tile.h"

#include "base/parallel.h"
#include "kernels/gemm_loops.h"

#define RUN_ROWS 2048       /* rows of a packed at a time */
#define BLOCK_COLUMNS 512   /* of c in a task */
#define PACK_ELEMENTS 65536 /* in a task */

typedef struct blocked {
    const hd_gemm_tile *t;
    const hd_gemm *g;
    int64_t entry, i, m, j, n, p, k; /* this run: rows, columns and depth */
    bool keep_b;                     /* b is packed already */
    char *a_panels, *b_panels;
    int64_t a_panel_bytes, b_panel_bytes;
    int64_t pack_panels_a, pack_panels_b; /* panels of a packing task */
    int64_t a_tasks;
    int64_t block_rows, block_columns; /* of a multiplying task */
    int64_t row_blocks;
} blocked;

static void pack_panels(const blocked *b, bool of_a, int64_t first) {
    const hd_gemm *g = b->g;
    const int64_t width = of_a ? b->t->mr : b->t->nr, extent = of_a ? b->m : b->n;
    const int64_t last =
        hd_least(first + (of_a ? b->pack_panels_a : b->pack_panels_b), hd_pieces(extent, width));
    for (int64_t panel = first; panel < last; panel++) {
        const int64_t at = panel * width, rows = hd_least(width, extent - at);
        if (of_a)
            b->t->pack(width, rows, b->k, hd_gemm_at(g, &g->a, b->entry, b->i + at, b->p), g->a.row_stride,
                       g->a.col_stride, b->a_panels + panel * b->a_panel_bytes);
        else
            b->t->pack(width, rows, b->k, hd_gemm_at(g, &g->b, b->entry, b->p, b->j + at), g->b.col_stride,
                       g->b.row_stride, b->b_panels + panel * b->b_panel_bytes);
    }
}

static void pack_task(void *arg, int64_t task, int worker) {
    const blocked *b = arg;
    (void)worker;
    if (task < b->a_tasks)
        pack_panels(b, true, task * b->pack_panels_a);
    else
        pack_panels(b, false, (task - b->a_tasks) * b->pack_panels_b);
}

static void multiply_task(void *arg, int64_t task, int worker) {
    const blocked *b = arg;
    const hd_gemm_tile *t = b->t;
    (void)worker;
    const int64_t row = task % b->row_blocks * b->block_rows,
                  column = task / b->row_blocks * b->block_columns;
    const int64_t row_end = hd_least(row + b->block_rows, b->m),
                  column_end = hd_least(column + b->block_columns, b->n);
    const double beta = b->p == 0 ? b->g->beta : 1;
    for (int64_t j = column; j < column_end; j += t->nr)
        for (int64_t i = row; i < row_end; i += t->mr)
            hd_gemm_emit(t, b->g, b->entry, b->i + i, b->j + j, hd_least(t->mr, b->m - i),
                         hd_least(t->nr, b->n - j), b->k, b->a_panels + i / t->mr * b->a_panel_bytes, 1,
                         t->mr, b->b_panels + j / t->nr * b->b_panel_bytes, t->nr, beta);
}

static hd_status run_rows(hd_ctx *cx, blocked *b) {
    const hd_gemm_tile *t = b->t;
    b->pack_panels_a = PACK_ELEMENTS / (t->mr * b->k) + 1;
    b->pack_panels_b = PACK_ELEMENTS / (t->nr * b->k) + 1;
    b->a_tasks = hd_pieces(hd_pieces(b->m, t->mr), b->pack_panels_a);
    const int64_t b_tasks = b->keep_b ? 0 : hd_pieces(hd_pieces(b->n, t->nr), b->pack_panels_b);
    hd_status status = hd_gemm_each(cx, b->g, b->a_tasks + b_tasks, pack_task, b);
    if (status != HD_OK) return status;
    b->block_rows = hd_even_part(b->m, t->mc, t->mr);
    b->block_columns = hd_even_part(b->n, BLOCK_COLUMNS, t->nr);
    b->row_blocks = hd_pieces(b->m, b->block_rows);
    return hd_gemm_each(cx, b->g, b->row_blocks * hd_pieces(b->n, b->block_columns), multiply_task, b);
}

static hd_status run_product(hd_ctx *cx, blocked *b, int64_t rows, int64_t columns, int64_t depth) {
    const hd_gemm *g = b->g;
    for (b->j = 0; b->j < g->n; b->j += columns) {
        b->n = hd_least(columns, g->n - b->j);
        for (b->p = 0; b->p < g->k || b->p == 0; b->p += depth) {
            b->k = hd_least(depth, g->k - b->p);
            for (b->i = 0; b->i < g->m; b->i += rows) {
                b->m = hd_least(rows, g->m - b->i);
                b->keep_b = b->i > 0;
                hd_status status = run_rows(cx, b);
                if (status != HD_OK) return status;
            }
        }
    }
    return HD_OK;
}

hd_status hd_gemm_blocked(hd_ctx *cx, const hd_gemm_tile *t, const hd_gemm *g) {
    const int64_t size = hd_gemm_size(g), depth = hd_even_part(g->k, t->kc, 16);
    const int64_t rows = hd_even_part(g->m, RUN_ROWS, t->mr), columns = hd_even_part(g->n, t->nc, t->nr);
    blocked b = {.t = t, .g = g};
    b.a_panel_bytes = hd_multiple(t->mr * depth * size, 64);
    b.b_panel_bytes = hd_multiple(t->nr * depth * size, 64);
    const int64_t a_bytes = hd_pieces(rows, t->mr) * b.a_panel_bytes;
    const int64_t b_bytes = hd_pieces(columns, t->nr) * b.b_panel_bytes;
    b.a_panels = hd_alloc(cx, (size_t)(a_bytes + b_bytes + 2 * HD_GEMM_SLACK));
    if (b.a_panels == NULL) return HD_ENOMEM;
    b.b_panels = b.a_panels + a_bytes + HD_GEMM_SLACK;
    hd_status status = HD_OK;
    for (b.entry = 0; b.entry < g->batch && status == HD_OK; b.entry++)
        status = run_product(cx, &b, rows, columns, depth);
    hd_free(cx->account, b.a_panels);
    return status;
}
