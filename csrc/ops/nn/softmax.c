/* softmax.c: y = softmax(x) and y = log_softmax(x) along one dimension, by stable rows.
 *
 * Backward from the result: dx = y (g - sum g y), and dx = g - exp(y) sum g. Rows of -inf give 0 (softmax)
 * with gradient 0. Columns of a contiguous tensor (another dimension than the last) go some at a time. Else the
 * dimension is brought last, by a copy where it must be; what is saved keeps that order.
 */
#include "ops/nn/rows.h"

#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/gradient.h"
#include "ops/lines.h"

#include <string.h>

typedef void (*row_fn)(int64_t n, const void *x, void *y);
typedef void (*row_grad_fn)(int64_t n, const void *y, const void *g, void *dx);

typedef struct softmax_params {
    int dim;
    bool is_log, by_columns;
} softmax_params;

/* ---- loops over rows ------------------------------------------------------------------------------- */

typedef struct softmax_pass {
    row_fn forward;
    row_grad_fn backward;
    hd_rows x, y, g;
} softmax_pass;

static void forward_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const softmax_pass *p = arg;
    for (int64_t i = first; i < last; i++) p->forward(p->x.width, hd_row(&p->x, i), hd_row(&p->y, i));
}

static void backward_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const softmax_pass *p = arg;
    for (int64_t i = first; i < last; i++)
        p->backward(p->y.width, hd_row(&p->y, i), hd_row(&p->g, i), hd_row(&p->x, i));
}

/* ---- loops over columns ---------------------------------------------------------------------------- */

#define MOST_ROWS 32768 /* longer columns would not stay in the cache */
#define NEAR 262144     /* bytes of columns that stay in it all at once */

typedef void (*columns_fn)(int64_t rows, int64_t n, const void *x, int64_t stride, void *y, void *scratch);
typedef void (*columns_grad_fn)(int64_t rows, int64_t n, const void *y, const void *g, int64_t stride,
                                void *dx, void *scratch);

typedef struct columns_pass {
    columns_fn forward;
    columns_grad_fn backward; /* or NULL */
    const char *x, *g;        /* x: y in backward */
    char *y;                  /* dx in backward */
    char *scratch;
    hd_lines lines;
    int64_t width, blocks;     /* columns at a time */
    size_t size, scratch_size; /* of an element, of a worker */
} columns_pass;

/* Task: an outer position, a block of columns. */
static void pass_columns(void *arg, int64_t task, int worker) {
    const columns_pass *p = arg;
    int64_t column = task % p->blocks * p->width;
    int64_t n = p->lines.inner - column < p->width ? p->lines.inner - column : p->width;
    size_t at = (size_t)(task / p->blocks * p->lines.size * p->lines.inner + column) * p->size;
    char *scratch = p->scratch + (size_t)worker * p->scratch_size;
    if (p->backward)
        p->backward(p->lines.size, n, p->x + at, p->g + at, p->lines.inner, p->y + at, scratch);
    else
        p->forward(p->lines.size, n, p->x + at, p->lines.inner, p->y + at, scratch);
}

static hd_status run_columns(hd_ctx *cx, columns_pass *p) {
    bool near = (size_t)(p->lines.size * p->lines.inner) * p->size <= NEAR;
    size_t columns = (size_t)p->lines.size * HD_SOFTMAX_COLUMNS * p->size;
    p->scratch_size = p->backward ? 2 * columns : columns;
    p->width = HD_SOFTMAX_COLUMNS;
    if (near && !p->backward && p->lines.inner > p->width) {
        p->width = p->lines.inner;
        p->scratch_size = (size_t)(2 * p->width) * p->size;
    }
    p->blocks = (p->lines.inner + p->width - 1) / p->width;
    p->scratch = hd_alloc(cx, p->scratch_size * (size_t)hd_max_workers(cx));
    if (!p->scratch) return cx->error.status;
    hd_status status = hd_parallel(cx, p->lines.outer * p->blocks, pass_columns, p);
    hd_free(cx->account, p->scratch);
    return status;
}

static bool goes_by_columns(const hd_tensor *x, int dim) {
    hd_lines lines = hd_lines_of(x, dim);
    return x->ndim > 1 && lines.inner >= 16 && lines.size <= MOST_ROWS && hd_numel(x) > 0 &&
           hd_is_contiguous(x);
}

static hd_tensor *columns_forward(hd_ctx *cx, hd_tensor *x, const softmax_params *params) {
    const hd_kernels *k = cx->kernels;
    hd_tensor *y = hd_tensor_like(cx, x);
    if (!y) return NULL;
    columns_pass p = {.forward = params->is_log ? k->log_softmax_cols[x->dtype] : k->softmax_cols[x->dtype],
                      .x = hd_data(x),
                      .y = hd_data(y),
                      .lines = hd_lines_of(x, params->dim),
                      .size = hd_dtype_size((hd_dtype)x->dtype)};
    if (!run_columns(cx, &p)) return y;
    hd_release(y);
    return NULL;
}

static hd_tensor *columns_backward(hd_ctx *cx, hd_tensor *y, hd_tensor *grad, const softmax_params *params) {
    const hd_kernels *k = cx->kernels;
    hd_tensor *g = hd_contiguous_as(cx, grad, (hd_dtype)y->dtype), *dx = g ? hd_tensor_like(cx, y) : NULL;
    if (dx) {
        columns_pass p = {.backward = params->is_log ? k->log_softmax_cols_grad[y->dtype]
                                                     : k->softmax_cols_grad[y->dtype],
                          .x = hd_data(y),
                          .g = hd_data(g),
                          .y = hd_data(dx),
                          .lines = hd_lines_of(y, params->dim),
                          .size = hd_dtype_size((hd_dtype)y->dtype)};
        if (run_columns(cx, &p)) {
            hd_release(dx);
            dx = NULL;
        }
    }
    hd_release(g);
    return dx;
}

/* ---- the operations --------------------------------------------------------------------------------- */

static hd_status softmax_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    softmax_params params;
    memcpy(&params, node->params, sizeof params);
    hd_tensor *y = hd_node_saved(cx, node, 0), *dx = NULL;
    if (!y) return cx->error.status;
    if (params.by_columns) {
        grad_inputs[0] = columns_backward(cx, y, grads[0], &params);
        return hd_made(cx, grad_inputs[0]);
    }
    const hd_kernels *k = cx->kernels;
    softmax_pass p = {.backward =
                          params.is_log ? k->log_softmax_row_grad[y->dtype] : k->softmax_row_grad[y->dtype]};
    p.y = hd_rows_of(y);
    hd_tensor *g = hd_rows_along(cx, grads[0], params.dim, &p.g);
    if (g && (dx = hd_tensor_like(cx, y))) {
        p.x = hd_rows_of(dx);
        if (!hd_parallel_ranges(cx, p.y.count, hd_rows_grain(p.y.width), backward_rows, &p))
            grad_inputs[0] = hd_rows_put_back(cx, hd_retain(dx), params.dim);
    }
    hd_release(g);
    hd_release(dx);
    return grad_inputs[0] ? HD_OK : cx->error.status;
}

static const hd_node_class softmax_class = {"softmax", softmax_backward, NULL};
static const hd_node_class log_softmax_class = {"log_softmax", softmax_backward, NULL};

static hd_tensor *softmax(hd_ctx *cx, hd_tensor *x, int dim, bool is_log) {
    softmax_params params = {.is_log = is_log};
    if (hd_require_float(cx, "t", x)) return NULL;
    if (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &params.dim)) return NULL;
    if (goes_by_columns(x, params.dim) && params.dim != x->ndim - 1) {
        params.by_columns = true;
        hd_tensor *columns = columns_forward(cx, x, &params);
        return hd_record(cx, is_log ? &log_softmax_class : &softmax_class, columns, 1, &x, 1, &columns,
                         &params, sizeof params);
    }
    softmax_pass p = {.forward = is_log ? cx->kernels->log_softmax_row[x->dtype]
                                        : cx->kernels->softmax_row[x->dtype]};
    hd_tensor *rows = hd_rows_along(cx, x, params.dim, &p.x), *y = NULL, *result = NULL;
    if (rows && (y = hd_tensor_like(cx, rows))) {
        p.y = hd_rows_of(y);
        if (!hd_parallel_ranges(cx, p.y.count, hd_rows_grain(p.y.width), forward_rows, &p))
            result = hd_rows_put_back(cx, hd_retain(y), params.dim);
    }
    if (result)
        result = hd_record(cx, is_log ? &log_softmax_class : &softmax_class, result, 1, &x, 1, &y, &params,
                           sizeof params);
    hd_release(rows);
    hd_release(y);
    return result;
}

hd_tensor *hd_softmax(hd_ctx *cx, hd_tensor *x, int dim) {
    return softmax(cx, x, dim, false);
}

hd_tensor *hd_log_softmax(hd_ctx *cx, hd_tensor *x, int dim) {
    return softmax(cx, x, dim, true);
}
