#include "ops/nn/recurrent.h"

#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"

/* Columns of a panel: what the widest register tile takes at once. */
#define PANEL 32
/* Fewer steps do not pay for the panels; with fewer rows, w's own rows are read as fast. */
#define FEW_STEPS 4
#define FEW_ROWS 2
/* From so many multiplications of a panel on, products lay b out themselves, and it pays. */
#define LARGE_PANEL (128 * 128 * 128)

typedef struct panel_loop {
    const hd_kernels *kernels;
    const char *w;
    char *panels;
    int64_t k, n;        /* of b */
    int64_t row, column; /* strides of b */
    int64_t size;
} panel_loop;

static void fill_panel(void *arg, int64_t i, int worker) {
    (void)worker;
    const panel_loop *l = arg;
    const int64_t first = i * PANEL, columns = hd_min(PANEL, l->n - first);
    const char *from = l->w + first * l->column * l->size;
    char *to = l->panels + i * l->k * PANEL * l->size;
    if (columns < PANEL) memset(to, 0, (size_t)(l->k * PANEL * l->size));
    if (l->row == 1)
        l->kernels->transpose[hd_size_class((size_t)l->size)](l->k, columns, from, l->column, to, PANEL);
    else
        for (int64_t r = 0; r < l->k; r++)
            memcpy(to + r * PANEL * l->size, from + r * l->row * l->size, (size_t)(columns * l->size));
}

/* b in panels, [panels, k, PANEL], as one product a panel. */
static hd_status lay_out(hd_ctx *cx, hd_state_product *p, const hd_tensor *w) {
    hd_gemm *g = &p->gemm;
    const int64_t count = (g->n + PANEL - 1) / PANEL, shape[3] = {count, g->k, PANEL};
    p->panels = hd_tensor_new(cx, g->dtype, 3, shape);
    if (!p->panels) return cx->error.status;
    panel_loop l = {.kernels = cx->kernels,
                    .w = hd_data(w),
                    .panels = hd_data(p->panels),
                    .k = g->k,
                    .n = g->n,
                    .row = g->b.row_stride,
                    .column = g->b.col_stride,
                    .size = (int64_t)hd_dtype_size(g->dtype)};
    g->b = (hd_matrix){hd_data(p->panels), PANEL, 1, g->k * PANEL};
    g->c.batch_stride = PANEL;
    g->n = PANEL;
    g->batch = count;
    p->width = count * PANEL;
    g->c.row_stride = p->width;
    return hd_parallel(cx, count, fill_panel, &l);
}

hd_status hd_state_product_begin(hd_ctx *cx, hd_state_product *p, const hd_tensor *w, bool transposed,
                                 const hd_time_major *plan, double beta) {
    const int64_t rows = w->shape[0], columns = w->shape[1];
    const int64_t k = transposed ? columns : rows, n = transposed ? rows : columns;
    *p = (hd_state_product){.width = n};
    p->gemm = (hd_gemm){.dtype = (hd_dtype)w->dtype, .n = n, .k = k, .batch = 1, .alpha = 1, .beta = beta};
    p->gemm.a = (hd_matrix){NULL, k, 1, 0};
    p->gemm.b = (hd_matrix){hd_data(w), transposed ? 1 : columns, transposed ? columns : 1, 0};
    p->gemm.c = (hd_matrix){NULL, n, 1, 0};
    const bool few = plan->steps < FEW_STEPS || (transposed && plan->B <= FEW_ROWS);
    if (few || plan->B * PANEL * k >= LARGE_PANEL || n == 0 || k == 0) return HD_OK;
    return lay_out(cx, p, w);
}

hd_status hd_state_product_run(hd_ctx *cx, const hd_state_product *p, int64_t m, void *a, void *c) {
    hd_gemm g = p->gemm;
    g.m = m;
    g.a.data = a;
    g.c.data = c;
    return hd_gemm_run(cx, &g);
}

void hd_state_product_end(hd_state_product *p) {
    hd_release(p->panels);
}
