/* quantized_product.c: z = x W^T by bytes, and dx = dz W by numbers, a part of W at a time. */
#include "ops/product/quantized_weight.h"

#include "base/minmax.h"
#include "base/parallel.h"
#include "kernels/gemm.h"

/* ---- panels ------------------------------------------------------------------------------------------ */

static int64_t panels_of(const hd_blocks *b) {
    return (b->rows + HD_PANEL_ROWS - 1) / HD_PANEL_ROWS;
}

static void pack_panels(void *arg, int64_t first, int64_t last, int worker) {
    hd_blocks *b = arg;
    const size_t bytes = hd_panel_bytes(&hd_panel_layouts[b->kind], b->in);
    (void)worker;
    for (int64_t p = first; p < last; p++) {
        const int64_t row = p * HD_PANEL_ROWS;
        hd_panel_pack(b->kind, (int)hd_min(b->rows - row, HD_PANEL_ROWS), b->in,
                      b->blocks + (size_t)row * b->row_bytes, b->row_bytes, b->panels + (size_t)p * bytes);
    }
}

static hd_status ensure_panels(hd_ctx *cx, const hd_tensor *w) {
    const hd_quantized *q = hd_quantized_of(w);
    hd_status status = hd_quantized_check(cx, w);
    for (int i = 0; i < q->count && !status; i++) {
        hd_blocks *b = q->parts[i];
        if (b->panels) continue;
        b->panels = hd_alloc(cx, (size_t)panels_of(b) * hd_panel_bytes(&hd_panel_layouts[b->kind], b->in));
        status = b->panels ? hd_parallel_ranges(cx, panels_of(b), 1 + (1 << 14) / b->in, pack_panels, b)
                           : cx->error.status;
        if (!status) status = hd_quantized_check(cx, w); /* pages may have gone meanwhile */
        if (!status) continue;
        hd_free(cx->account, b->panels);
        b->panels = NULL;
    }
    return status;
}

/* ---- x in bytes -------------------------------------------------------------------------------------- */

typedef struct bytes_pass {
    const hd_panel_kernels *kernels;
    const hd_rows *x;
    hd_byte_rows bytes;
} bytes_pass;

static void make_bytes(void *arg, int64_t first, int64_t last, int worker) {
    const bytes_pass *p = arg;
    (void)worker;
    for (int64_t i = first; i < last; i++) p->kernels->to_bytes(hd_row(p->x, i), &p->bytes, i);
}

/* All in one piece of memory, which begins at q. */
static hd_status allocate_bytes(hd_ctx *cx, int64_t rows, int64_t in, hd_byte_rows *b) {
    const size_t count = (size_t)(rows * in), numbers = count / 32 + 3 * (count / 16);
    char *memory = hd_alloc(cx, 2 * count + numbers * sizeof(float));
    if (!memory) return cx->error.status;
    float *scale = (float *)(memory + 2 * count), *scaled = scale + count / 32;
    *b = (hd_byte_rows){
        in, (int8_t *)memory, (int8_t *)memory + count, scale, (int32_t *)(scaled + count / 16), scaled};
    return HD_OK;
}

/* ---- z = x W^T --------------------------------------------------------------------------------------- */

enum { TASK_ROWS = 64, TASK_PRODUCTS = 1 << 18 };

typedef struct product {
    const hd_panel_kernels *kernels;
    const hd_tensor *w;
    const hd_byte_rows *x;
    int64_t rows, pieces; /* pieces of at most TASK_ROWS rows */
    int64_t columns;      /* of a task */
    float *z;
} product;

/* Columns of z from `column` on, as far as they are in one panel; how many. */
static int64_t one_panel(const product *p, int64_t column, int64_t last, int64_t first_row, int64_t rows) {
    int64_t row = column;
    const hd_blocks *b = hd_blocks_of_row(p->w, &row);
    const int64_t within = row % HD_PANEL_ROWS, n = p->w->shape[0];
    const int64_t count = hd_min(hd_min(HD_PANEL_ROWS - within, b->rows - row), last - column);
    const uint8_t *panel =
        b->panels + (size_t)(row / HD_PANEL_ROWS) * hd_panel_bytes(&hd_panel_layouts[b->kind], b->in);
    float *z = p->z + first_row * n + column, whole[TASK_ROWS * HD_PANEL_ROWS];
    if (within == 0) {
        p->kernels->dots[b->kind](panel, p->x, first_row, rows, z, n, (int)count);
        return count;
    }
    p->kernels->dots[b->kind](panel, p->x, first_row, rows, whole, HD_PANEL_ROWS, HD_PANEL_ROWS);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < count; j++) z[i * n + j] = whole[i * HD_PANEL_ROWS + within + j];
    return count;
}

static void run_task(void *arg, int64_t task, int worker) {
    const product *p = arg;
    const int64_t row = task % p->pieces * TASK_ROWS, rows = hd_min(TASK_ROWS, p->rows - row);
    const int64_t column = task / p->pieces * p->columns;
    const int64_t last = hd_min(column + p->columns, p->w->shape[0]);
    (void)worker;
    for (int64_t j = column; j < last;) j += one_panel(p, j, last, row, rows);
}

static hd_status multiply(hd_ctx *cx, const hd_tensor *w, const hd_byte_rows *x, int64_t rows, float *z) {
    product p = {cx->kernels->panels, w, x, rows, (rows + TASK_ROWS - 1) / TASK_ROWS, HD_PANEL_ROWS, z};
    const int64_t products = hd_min(rows, TASK_ROWS) * x->in * HD_PANEL_ROWS;
    p.columns *= 1 + TASK_PRODUCTS / products;
    return hd_parallel(cx, (w->shape[0] + p.columns - 1) / p.columns * p.pieces, run_task, &p);
}

hd_status hd_quantized_product(hd_ctx *cx, const hd_tensor *w, const hd_rows *x, float *z) {
    if (x->count == 0 || cx->skipping) return HD_OK;
    hd_status status = ensure_panels(cx, w);
    bytes_pass b = {.kernels = cx->kernels->panels, .x = x};
    if (!status) status = allocate_bytes(cx, x->count, x->width, &b.bytes);
    if (status) return status;
    status = hd_parallel_ranges(cx, x->count, hd_rows_grain(x->width), make_bytes, &b);
    if (!status) status = multiply(cx, w, &b.bytes, x->count, z);
    hd_free(cx->account, b.bytes.q);
    return status;
}

/* ---- dx = dz W --------------------------------------------------------------------------------------- */

enum { PART_ROWS = 256 };

typedef struct part {
    const hd_tensor *w;
    int64_t first;
    float *numbers;
} part;

static void look_up_rows(void *arg, int64_t first, int64_t last, int worker) {
    const part *p = arg;
    (void)worker;
    for (int64_t i = first; i < last; i++)
        hd_quantized_look_up(p->w, p->first + i, p->numbers + i * p->w->shape[1]);
}

static hd_status add_part(hd_ctx *cx, const part *p, int64_t rows, const hd_rows *dz, float *dx) {
    hd_gemm g = {.dtype = HD_F32,
                 .m = dz->count,
                 .n = p->w->shape[1],
                 .k = rows,
                 .batch = 1,
                 .alpha = 1,
                 .beta = p->first > 0};
    g.a = (hd_matrix){(float *)dz->data + p->first, dz->stride, 1, 0};
    g.b = (hd_matrix){p->numbers, g.n, 1, 0};
    g.c = (hd_matrix){dx, g.n, 1, 0};
    return hd_gemm_run(cx, &g);
}

hd_status hd_quantized_product_grad(hd_ctx *cx, const hd_tensor *w, const hd_rows *dz, float *dx) {
    hd_status status = hd_quantized_check(cx, w);
    part p = {.w = w};
    if (!status) p.numbers = hd_alloc(cx, sizeof *p.numbers * (size_t)(PART_ROWS * w->shape[1]));
    if (!p.numbers) return cx->error.status;
    for (; p.first < w->shape[0] && !status; p.first += PART_ROWS) {
        const int64_t rows = hd_min(PART_ROWS, w->shape[0] - p.first);
        status = hd_parallel_ranges(cx, rows, hd_rows_grain(w->shape[1]), look_up_rows, &p);
        if (!status) status = add_part(cx, &p, rows, dz, dx);
    }
    hd_free(cx->account, p.numbers);
    return status;
}
