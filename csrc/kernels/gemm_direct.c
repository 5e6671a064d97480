/* gemm_direct.c: products whose operands are read where they lie. */
#include "kernels/gemm_tile.h"

#include "base/parallel.h"
#include "kernels/gemm_loops.h"

/* Columns of b and floating-point operations that make a task. */
#define TASK_COLUMNS 256
#define TASK_FLOPS 400000
/* A panel of b this small is packed on the stack. */
#define STACK_PANEL 16384

typedef struct direct {
    const hd_gemm_tile *t;
    const hd_gemm *g;
    int64_t depth;                     /* of k at a time */
    int64_t rows, columns, entries;    /* of a task */
    int64_t row_blocks, column_blocks; /* tasks of one product */
    bool pack_b;
    char *scratch; /* a panel for each worker; NULL: on the stack */
    int64_t scratch_stride;
} direct;

static void multiply(const direct *d, const hd_gemm_block *w, char *panel) {
    const hd_gemm_tile *t = d->t;
    const hd_gemm *g = d->g;
    for (int64_t p = 0; p < g->k || p == 0; p += d->depth) {
        const int64_t k = hd_min(d->depth, g->k - p);
        const double beta = p == 0 ? g->beta : 1;
        for (int64_t j = w->column; j < w->column_end; j += t->nr) {
            const int64_t n = hd_min(t->nr, w->column_end - j);
            const char *b = hd_gemm_at(g, &g->b, w->entry, p, j);
            int64_t b_rs = g->b.row_stride;
            if (d->pack_b) {
                t->pack(t->nr, n, k, b, g->b.col_stride, g->b.row_stride, panel);
                b = panel;
                b_rs = t->nr;
            }
            for (int64_t i = w->row; i < w->row_end; i += t->mr) {
                const int64_t m = hd_min(t->mr, w->row_end - i);
                hd_gemm_emit(t, g, w->entry, i, j, m, n, k, hd_gemm_at(g, &g->a, w->entry, i, p),
                             g->a.row_stride, g->a.col_stride, b, b_rs, beta);
            }
        }
    }
}

static void run_task(void *arg, int64_t task, int worker) {
    const direct *d = arg;
    const hd_gemm *g = d->g;
    _Alignas(64) char on_stack[STACK_PANEL];
    char *panel = d->scratch != NULL ? d->scratch + worker * d->scratch_stride : on_stack;
    const int64_t column_block = task % d->column_blocks, rest = task / d->column_blocks;
    hd_gemm_block w = {.row = rest % d->row_blocks * d->rows, .column = column_block * d->columns};
    w.row_end = hd_min(w.row + d->rows, g->m);
    w.column_end = hd_min(w.column + d->columns, g->n);
    const int64_t first = rest / d->row_blocks * d->entries;
    for (w.entry = first; w.entry < hd_min(first + d->entries, g->batch); w.entry++) multiply(d, &w, panel);
}

/* Columns are cut first, because all rows of a task share its packed panel of b. */
static void cut_into_tasks(direct *d) {
    const hd_gemm *g = d->g;
    const hd_gemm_tile *t = d->t;
    const double flops = 2.0 * (double)g->m * (double)g->n * (double)(g->k + 1);
    d->columns = hd_min(g->n, hd_multiple(TASK_COLUMNS, t->nr));
    d->rows = g->m;
    d->entries = 1;
    if (flops <= TASK_FLOPS) {
        d->columns = g->n;
        d->entries = (int64_t)(TASK_FLOPS / flops) + 1;
    } else {
        const double wanted = (double)g->m * TASK_FLOPS / (flops * (double)d->columns / (double)g->n);
        const int64_t least = d->pack_b ? 8 * t->mr : t->mr;
        d->rows = hd_multiple(wanted > (double)least ? (int64_t)wanted : least, t->mr);
    }
    d->row_blocks = hd_pieces(g->m, d->rows);
    d->column_blocks = hd_pieces(g->n, d->columns);
}

hd_status hd_gemm_direct(hd_ctx *cx, const hd_gemm_tile *t, const hd_gemm *g) {
    direct d = {
        .t = t, .g = g, .depth = hd_even_part(g->k, t->kc, 16), .pack_b = g->b.col_stride != 1 && g->n > 1};
    cut_into_tasks(&d);
    const int64_t tasks = hd_pieces(g->batch, d.entries) * d.row_blocks * d.column_blocks;
    const int64_t panel = t->nr * d.depth * hd_gemm_size(g) + HD_GEMM_SLACK;
    if (d.pack_b && panel > STACK_PANEL) {
        d.scratch_stride = hd_multiple(panel, 4096);
        d.scratch = hd_alloc(cx, (size_t)(d.scratch_stride * hd_max_workers(cx)));
        if (d.scratch == NULL) return HD_ENOMEM;
    }
    hd_status status = hd_gemm_each(cx, g, tasks, run_task, &d);
    hd_free(cx->account, d.scratch);
    return status;
}
