/* argmax.c: where the largest and the smallest are. The first of equals counts; NaN is larger and smaller
 * than all.
 *
 *     max(dim): y = x[argmax]  ->  dx = g there, 0 elsewhere
 */
#include <limits.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"
#include "ops/reduce/reduce_layout.h"

#define ROW_BLOCK 65536     /* elements of a row in one part */
#define COLUMN_BLOCK 524288 /* elements of columns in one part */

typedef struct argmax_loop {
    const hd_kernels *kernels;
    bool smallest;
    hd_fold fold;
    int64_t block, blocks, column_blocks; /* of length, and of inner */
    int64_t *y;                           /* [outer][blocks][inner], from 0 */
    char *best;                           /* the elements there; NULL: nobody asks */
} argmax_loop;

static const char *element(const argmax_loop *l, int64_t outer, int64_t row, int64_t column) {
    int64_t i = (outer * l->fold.length + row) * l->fold.inner + column;
    return l->fold.data + (size_t)i * hd_dtype_size(l->fold.dtype);
}

static int64_t block_length(const argmax_loop *l, int64_t block) {
    int64_t left = l->fold.length - block * l->block;
    return left < l->block ? left : l->block;
}

static void argmax_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const argmax_loop *l = arg;
    hd_dtype t = l->fold.dtype;
    for (int64_t i = first; i < last; i++) {
        int64_t block = i % l->blocks, row = block * l->block;
        const char *x = element(l, i / l->blocks, row, 0);
        int64_t at = (l->smallest ? l->kernels->argmin_row[t]
                                  : l->kernels->argmax_row[t])(block_length(l, block), x, 1);
        l->y[i] = row + at;
        size_t size = hd_dtype_size(t);
        if (l->best) memcpy(l->best + (size_t)i * size, x + (size_t)at * size, size);
    }
}

/* Task: an outer position, a block of rows, a block of columns. */
static void argmax_columns(void *arg, int64_t task, int worker) {
    (void)worker;
    const argmax_loop *l = arg;
    hd_dtype t = l->fold.dtype;
    uint64_t best[HD_PARTIAL_COLUMNS]; /* room for any dtype */
    int32_t index[HD_PARTIAL_COLUMNS];
    int64_t part = task / l->column_blocks, column = task % l->column_blocks * HD_PARTIAL_COLUMNS;
    int64_t outer = part / l->blocks, block = part % l->blocks, row = block * l->block;
    int64_t inner = l->fold.inner, to = part * inner + column;
    int64_t n = inner - column < HD_PARTIAL_COLUMNS ? inner - column : HD_PARTIAL_COLUMNS;
    (l->smallest ? l->kernels->argmin_cols[t] : l->kernels->argmax_cols[t])(
        block_length(l, block), n, element(l, outer, row, column), inner, best, index);
    for (int64_t j = 0; j < n; j++) l->y[to + j] = row + index[j];
    size_t size = hd_dtype_size(t);
    if (l->best) memcpy(l->best + (size_t)to * size, best, (size_t)n * size);
}

#define LATER_WINS(T)                                                                                        \
    {                                                                                                        \
        T a = *(const T *)x, b = *(const T *)y;                                                              \
        return a == a && (b != b || (smallest ? b < a : b > a));                                             \
    }

/* Is *y, which comes after *x, the better one? */
static bool later_wins(hd_dtype t, bool smallest, const void *x, const void *y) {
    switch (t) {
    case HD_F32: LATER_WINS(float)
    case HD_F64: LATER_WINS(double)
    case HD_I64: LATER_WINS(int64_t)
    case HD_I32: LATER_WINS(int32_t)
    default: LATER_WINS(uint8_t)
    }
}

typedef struct merge_loop {
    const argmax_loop *parts;
    int64_t *y;   /* [outer][inner], from 1 */
    char *values; /* [outer][inner], or NULL */
} merge_loop;

/* Of an outer position and a block of columns, the first part of each takes up the others. */
static void merge_columns(const merge_loop *m, int64_t task) {
    const argmax_loop *l = m->parts;
    int64_t inner = l->fold.inner, outer = task / l->column_blocks;
    int64_t column = task % l->column_blocks * HD_PARTIAL_COLUMNS;
    int64_t n = inner - column < HD_PARTIAL_COLUMNS ? inner - column : HD_PARTIAL_COLUMNS;
    int64_t first = outer * l->blocks * inner + column;
    size_t size = hd_dtype_size(l->fold.dtype);
    for (int64_t k = 1; k < l->blocks; k++)
        for (int64_t j = first; j < first + n; j++) {
            const char *later = l->best + (size_t)(j + k * inner) * size;
            if (!later_wins(l->fold.dtype, l->smallest, l->best + (size_t)j * size, later)) continue;
            memcpy(l->best + (size_t)j * size, later, size);
            l->y[j] = l->y[j + k * inner];
        }
    int64_t to = outer * inner + column;
    for (int64_t j = 0; j < n; j++) m->y[to + j] = l->y[first + j] + 1;
    if (m->values && m->values != l->best)
        memcpy(m->values + (size_t)to * size, l->best + (size_t)first * size, (size_t)n * size);
}

static void merge_all(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    for (int64_t i = first; i < last; i++) merge_columns((const merge_loop *)arg, i);
}

/* values: NULL when they are not wanted. */
static hd_status argmax_folded(hd_ctx *cx, argmax_loop *l, int64_t *y, char *values) {
    const hd_fold *f = &l->fold;
    int64_t results = f->outer * f->inner;
    int64_t columns = f->inner < HD_PARTIAL_COLUMNS ? f->inner : HD_PARTIAL_COLUMNS;
    l->block = f->inner == 1 ? ROW_BLOCK : COLUMN_BLOCK / columns;
    l->blocks = (f->length + l->block - 1) / l->block;
    l->column_blocks = (f->inner + HD_PARTIAL_COLUMNS - 1) / HD_PARTIAL_COLUMNS;
    l->y = y;
    l->best = values;
    if (l->blocks > 1) {
        size_t parts = (size_t)(results * l->blocks);
        l->y = hd_alloc(cx, parts * (sizeof *l->y + hd_dtype_size(f->dtype)));
        if (!l->y) return cx->error.status;
        l->best = (char *)(l->y + parts);
    }
    hd_status status;
    int64_t length = f->length < l->block ? f->length : l->block;
    if (f->inner == 1)
        status = hd_parallel_ranges(cx, results * l->blocks, HD_GRAIN_LIGHT / length + 1, argmax_rows, l);
    else
        status = hd_parallel(cx, f->outer * l->blocks * l->column_blocks, argmax_columns, l);
    merge_loop m = {l, y, values};
    if (!status)
        status = hd_parallel_ranges(cx, f->outer * l->column_blocks, 4096 / (l->blocks * columns) + 1,
                                    merge_all, &m);
    if (l->y != y) hd_free(cx->account, l->y);
    return status;
}

static hd_status check_size(hd_ctx *cx, bool smallest, const hd_tensor *x, int dim) {
    char text[HD_SHAPE_TEXT];
    if (x->ndim == 0 || x->shape[dim] > 0) return HD_OK;
    return hd_fail(cx, HD_EARG, "dim: %s over dimension %d of %s, which has no elements",
                   smallest ? "min" : "max", dim + 1, hd_tensor_shape_text(x, text));
}

/* i64, dimension dim kept with size 1; the elements there likewise, when values is not NULL. */
static hd_tensor *argmax_along(hd_ctx *cx, hd_tensor *x, int dim, bool smallest, hd_tensor **values) {
    if (hd_check_computes(cx, x) || check_size(cx, smallest, x, dim)) return NULL;
    argmax_loop l = {.kernels = cx->kernels, .smallest = smallest};
    if (hd_fold_begin(cx, x, x->ndim ? 1u << dim : 0, &l.fold)) return NULL;
    /* The values first: where only shapes are asked for, indices beside values without numbers have none either. */
    hd_tensor *best = values ? hd_fold_result(cx, &l.fold, l.fold.dtype) : NULL;
    hd_tensor *y = values && !best ? NULL : hd_fold_result(cx, &l.fold, HD_I64);
    hd_status status = y ? HD_OK : cx->error.status;
    if (!status && hd_numel(y) > 0) status = argmax_folded(cx, &l, hd_data(y), best ? hd_data(best) : NULL);
    if (!status) {
        y = hd_fold_back(cx, &l.fold, y);
        best = hd_fold_back(cx, &l.fold, best);
        status = !y || (values && !best) ? cx->error.status : HD_OK;
    }
    hd_fold_end(&l.fold);
    if (status) {
        hd_release(y);
        hd_release(best);
        return NULL;
    }
    if (values) *values = best;
    return y;
}

hd_tensor *hd_argmax(hd_ctx *cx, hd_tensor *x, int dim, bool keepdim, bool smallest) {
    int d = 0;
    if (dim != INT_MIN) {
        if (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)) return NULL;
        return hd_drop_dims(argmax_along(cx, x, d, smallest, NULL), 1u << d, keepdim || x->ndim == 0);
    }
    int64_t all = -1;
    if (hd_numel(x) == 0)
        return hd_fail_null(cx, HD_EARG, "tensor: expected at least one element to compare, got none");
    hd_tensor plain = *x; /* without the graph: the reshape is not to be recorded */
    plain.requires_grad = plain.is_view = false;
    hd_tensor *flat = hd_reshape(cx, &plain, 1, &all);
    hd_tensor *y = flat ? argmax_along(cx, flat, 0, smallest, NULL) : NULL;
    hd_release(flat);
    if (y && keepdim) {
        y->ndim = x->ndim;
        for (int i = 0; i < x->ndim; i++) y->shape[i] = y->stride[i] = 1;
        return y;
    }
    return hd_drop_dims(y, 1, false);
}

/* ---- values and indices ---------------------------------------------------------------------- */

typedef struct max_params {
    int dim;
    bool keepdim;
} max_params;

static hd_status max_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = x[argmax]  ->  dx = g there, 0 elsewhere */
    if (!grads[0]) return HD_OK;
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    const max_params *p = (const max_params *)node->params;
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    grad_inputs[0] = dx;
    hd_tensor *g = dx ? hd_reshape(cx, grads[0], index->ndim, index->shape) : NULL;
    hd_status status = !g ? cx->error.status : HD_OK;
    if (!status && x.ndim == 0)
        status = hd_apply_copy(cx, dx, g);
    else if (!status)
        status = hd_scatter_into(cx, dx, p->dim, index, g);
    hd_release(g);
    return status;
}
static const hd_node_class max_class = {"max", max_backward, NULL};
static const hd_node_class min_class = {"min", max_backward, NULL};

hd_status hd_max_dim(hd_ctx *cx, hd_tensor *x, int dim, bool keepdim, bool smallest, hd_tensor **values,
                     hd_tensor **indices) {
    int d = 0;
    if (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)) return cx->error.status;
    max_params params = {d, keepdim};
    uint32_t dropped = x->ndim ? 1u << d : 0;
    hd_tensor *y = NULL, *index = argmax_along(cx, x, d, smallest, &y);
    if (!index) return cx->error.status;
    y = hd_drop_dims(y, dropped, keepdim);
    y = hd_dtype_is_float((hd_dtype)x->dtype)
            ? hd_record(cx, smallest ? &min_class : &max_class, y, 1, &x, 1, &index, &params, sizeof params)
            : y;
    if (!y) {
        hd_release(index);
        return cx->error.status;
    }
    *values = y;
    *indices = hd_drop_dims(index, dropped, keepdim); /* what the node saved is another header */
    return HD_OK;
}
