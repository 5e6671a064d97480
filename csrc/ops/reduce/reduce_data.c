/* reduce_data.c: many elements to one, on memory.
 *
 * A contiguous tensor is seen as alternating groups of kept and reduced dimensions. The innermost reduced
 * group goes first: as rows when it is the innermost of all, else as columns. Long rows and many columns are
 * cut into blocks of a fixed size whose results are reduced in turn: that is faster, more exact, and the same
 * on any number of threads.
 */
#include <string.h>

#include "base/parallel.h"
#include "ops/elementwise/walk.h"
#include "ops/reduce/reduce.h"

#define ROW_BLOCK 16384    /* elements of a row in one task */
#define ROW_TASK 32768     /* elements of short rows in one task */
#define COLUMN_BLOCK 8192  /* columns in one task: what is kept of them stays in the nearest cache */
#define COLUMN_TASK 262144 /* elements of columns in one task */
#define SMALL 131072       /* elements that one thread reduces alone */
#define SUM_ROWS 16        /* rows of few columns that are added strip by strip */
#define LONG_COLUMNS 128   /* so many are a loop worth having */
#define SHORT_ROW 8        /* rows up to this length are reduced side by side */

/* The dtype of op over elements of dtype t: sums and products of integers are i64, any and all are bool. */
static hd_dtype reduced_dtype(hd_reduction op, hd_dtype t) {
    if (op == HD_ANY || op == HD_ALL) return HD_BOOL;
    if ((op == HD_SUM || op == HD_PROD) && !hd_dtype_is_float(t)) return HD_I64;
    return t;
}

static void neutral(hd_reduction op, hd_dtype out, int64_t n, char *y) {
    bool one = op == HD_PROD || op == HD_ALL;
    if (!one) {
        memset(y, 0, (size_t)n * hd_dtype_size(out));
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (out == HD_BOOL)
            ((uint8_t *)y)[i] = 1;
        else if (out == HD_I64)
            ((int64_t *)y)[i] = 1;
        else if (out == HD_F32)
            ((float *)y)[i] = 1;
        else
            ((double *)y)[i] = 1;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct row_loop {
    hd_reduce_row_fn f;
    const char *x;
    char *y;
    size_t x_size, y_size;
    int64_t length, block, blocks; /* of a row */
    hd_binary_fn pair;             /* the same operation on two elements; NULL: there is none of the dtype */
} row_loop;

static hd_binary_fn pair_of(const hd_ctx *cx, hd_reduction op, hd_dtype t) {
    static const hd_binary pairs[] = {
        [HD_SUM] = HD_ADD, [HD_PROD] = HD_MUL, [HD_MAX] = HD_MAXIMUM, [HD_MIN] = HD_MINIMUM};
    bool keeps_dtype = op <= HD_MIN && reduced_dtype(op, t) == t;
    return keeps_dtype ? cx->kernels->binary[pairs[op]][t] : NULL;
}

/* Rows of a few elements: element by element for many rows at once. */
static void reduce_short_rows(const row_loop *l, int64_t first, int64_t last) {
    const char *x = l->x + (size_t)(first * l->length) * l->x_size;
    char *y = l->y + (size_t)first * l->y_size;
    l->pair(last - first, x, l->length, x + l->x_size, l->length, y, 1);
    for (int64_t k = 2; k < l->length; k++)
        l->pair(last - first, y, 1, x + (size_t)k * l->x_size, l->length, y, 1);
}

static void reduce_row_blocks(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const row_loop *l = arg;
    if (l->pair && l->length > 1 && l->length <= SHORT_ROW) {
        reduce_short_rows(l, first, last);
        return;
    }
    for (int64_t i = first; i < last; i++) {
        int64_t start = i % l->blocks * l->block;
        int64_t n = l->length - start < l->block ? l->length - start : l->block;
        const char *x = l->x + (size_t)(i / l->blocks * l->length + start) * l->x_size;
        l->f(n, x, 1, l->y + (size_t)i * l->y_size);
    }
}

/* y[r] = op of the row r of x [rows][length] */
static hd_status reduce_rows(hd_ctx *cx, hd_reduction op, hd_dtype t, const char *x, int64_t rows,
                             int64_t length, char *y) {
    hd_dtype out = reduced_dtype(op, t);
    row_loop l = {cx->kernels->reduce_row[op][t],
                  x,
                  y,
                  hd_dtype_size(t),
                  hd_dtype_size(out),
                  length,
                  ROW_BLOCK,
                  1,
                  pair_of(cx, op, t)};
    l.blocks = (length + ROW_BLOCK - 1) / ROW_BLOCK;
    int64_t grain = ROW_TASK / (length < ROW_BLOCK ? length : ROW_BLOCK) + 1;
    char *parts = NULL;
    if (l.blocks > 1) {
        l.y = parts = hd_alloc(cx, (size_t)(rows * l.blocks) * l.y_size);
        if (!parts) return cx->error.status;
    }
    hd_status status = HD_OK;
    if (rows * l.blocks > grain)
        status = hd_parallel_ranges(cx, rows * l.blocks, grain, reduce_row_blocks, &l);
    else
        reduce_row_blocks(&l, 0, rows * l.blocks, 0);
    if (parts) {
        if (!status) status = reduce_rows(cx, op, out, parts, rows, l.blocks, y);
        hd_free(cx->account, parts);
    }
    return status;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct column_loop {
    hd_reduction op;
    hd_dtype t, out;
    hd_reduce_cols_fn f;
    void (*sums)(int64_t rows, int64_t n, const void *x, int64_t row_stride, void *out);
    const char *x;
    char *y;
    size_t x_size, y_size;
    int64_t length, columns;
    int64_t row_block, row_blocks, column_blocks;
} column_loop;

/* Task: one outer position, one block of rows, one block of columns. */
static void reduce_column_block(void *arg, int64_t task, int worker) {
    (void)worker;
    const column_loop *l = arg;
    int64_t col = task % l->column_blocks * COLUMN_BLOCK, part = task / l->column_blocks;
    int64_t row = part % l->row_blocks * l->row_block, outer = part / l->row_blocks;
    int64_t n = l->columns - col < COLUMN_BLOCK ? l->columns - col : COLUMN_BLOCK;
    int64_t rows = l->length - row < l->row_block ? l->length - row : l->row_block;
    const char *x = l->x + (size_t)((outer * l->length + row) * l->columns + col) * l->x_size;
    char *y = l->y + (size_t)(part * l->columns + col) * l->y_size;
    bool has_neutral = l->op != HD_MAX && l->op != HD_MIN;
    if (has_neutral)
        neutral(l->op, l->out, n, y);
    else
        memcpy(y, x, (size_t)n * l->x_size);
    if (l->sums && n < LONG_COLUMNS) {
        size_t step = (size_t)(SUM_ROWS * l->columns) * l->x_size;
        for (int64_t r = 0; r < rows; r += SUM_ROWS, x += step)
            l->sums(rows - r < SUM_ROWS ? rows - r : SUM_ROWS, n, x, l->columns, y);
        return;
    }
    int64_t from = has_neutral ? 0 : 1;
    l->f(rows - from, n, x + (size_t)(from * l->columns) * l->x_size, l->columns, y);
}

/* y[o][c] = op over r of x [outer][length][columns] */
static hd_status reduce_columns(hd_ctx *cx, hd_reduction op, hd_dtype t, const char *x, int64_t outer,
                                int64_t length, int64_t columns, char *y) {
    hd_dtype out = reduced_dtype(op, t);
    column_loop l = {.op = op,
                     .t = t,
                     .out = out,
                     .f = cx->kernels->reduce_cols[op][t],
                     .x = x,
                     .y = y,
                     .x_size = hd_dtype_size(t),
                     .y_size = hd_dtype_size(out),
                     .length = length,
                     .columns = columns};
    if (op == HD_SUM && hd_dtype_is_float(t)) l.sums = cx->kernels->column_sums[t];
    l.row_block = COLUMN_TASK / (columns < COLUMN_BLOCK ? columns : COLUMN_BLOCK);
    l.row_blocks = (length + l.row_block - 1) / l.row_block;
    l.column_blocks = (columns + COLUMN_BLOCK - 1) / COLUMN_BLOCK;
    int64_t tasks = outer * l.row_blocks * l.column_blocks;
    char *parts = NULL;
    if (l.row_blocks > 1) {
        l.y = parts = hd_alloc(cx, (size_t)(outer * l.row_blocks * columns) * l.y_size);
        if (!parts) return cx->error.status;
    }
    hd_status status = HD_OK;
    if (outer * length * columns > SMALL)
        status = hd_parallel(cx, tasks, reduce_column_block, &l);
    else
        for (int64_t i = 0; i < tasks; i++) reduce_column_block(&l, i, 0);
    if (parts) {
        if (!status) status = reduce_columns(cx, op, out, parts, outer, l.row_blocks, columns, y);
        hd_free(cx->account, parts);
    }
    return status;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct groups {
    int count;
    int64_t size[HD_MAX_DIMS + 1];
    bool reduced[HD_MAX_DIMS + 1];
} groups;

static groups groups_of(const hd_tensor *x, uint32_t dims) {
    groups g = {0};
    for (int d = 0; d < x->ndim; d++) {
        bool reduced = dims >> d & 1;
        if (x->shape[d] == 1) continue;
        if (g.count && g.reduced[g.count - 1] == reduced) {
            g.size[g.count - 1] *= x->shape[d];
        } else {
            g.size[g.count] = x->shape[d];
            g.reduced[g.count++] = reduced;
        }
    }
    return g;
}

static int innermost_reduced(const groups *g) {
    int i = g->count - 1;
    while (i >= 0 && !g->reduced[i]) i--;
    return i;
}

static int64_t product(const groups *g, int first, int last) {
    int64_t n = 1;
    for (int i = first; i < last; i++) n *= g->size[i];
    return n;
}

/* Reduces group i, which vanishes, so that its kept neighbours become one. */
static hd_status reduce_group(hd_ctx *cx, hd_reduction op, hd_dtype t, groups *g, int i, const char *x,
                              char *y) {
    int64_t outer = product(g, 0, i), inner = product(g, i + 1, g->count);
    hd_status status = inner == 1 ? reduce_rows(cx, op, t, x, outer, g->size[i], y)
                                  : reduce_columns(cx, op, t, x, outer, g->size[i], inner, y);
    g->size[i] = 1;
    g->reduced[i] = false;
    return status;
}

/* From x through scratch, group by group, into y. */
static hd_status reduce_groups(hd_ctx *cx, hd_reduction op, hd_dtype t, groups *g, const char *x, char *y) {
    char *scratch = NULL;
    hd_status status = HD_OK;
    for (int i; !status && (i = innermost_reduced(g)) >= 0;) {
        int64_t left = product(g, 0, i) * product(g, i + 1, g->count);
        bool last = true;
        for (int k = 0; k < i; k++) last = last && !g->reduced[k];
        hd_dtype out = reduced_dtype(op, t);
        char *to = last ? y : hd_alloc(cx, (size_t)left * hd_dtype_size(out));
        status = to ? reduce_group(cx, op, t, g, i, x, to) : cx->error.status;
        hd_free(cx->account, scratch);
        scratch = last ? NULL : to;
        x = to;
        t = out;
    }
    return status;
}

/* y = op of x, where y has the shape and is contiguous. */
static hd_status reduce_dense(hd_ctx *cx, hd_reduction op, hd_tensor *x, uint32_t dims, hd_tensor *y) {
    hd_dtype t = (hd_dtype)x->dtype, out = (hd_dtype)y->dtype;
    groups g = groups_of(x, dims);
    if (hd_numel(x) == 0) {
        neutral(op, out, hd_numel(y), hd_data(y));
        return HD_OK;
    }
    if (cx->skipping) return HD_OK;
    if (innermost_reduced(&g) < 0) {
        if (out == t && op != HD_ANY && op != HD_ALL) return hd_apply_copy(cx, y, x);
        g.reduced[g.count] = true; /* nothing is added, but the dtype changes: rows of one element */
        g.size[g.count++] = 1;
    }
    if (hd_is_contiguous(x)) return reduce_groups(cx, op, t, &g, hd_data(x), hd_data(y));
    hd_tensor *dense = hd_tensor_like(cx, x);
    hd_status status = dense ? hd_apply_copy(cx, dense, x) : cx->error.status;
    if (!status) status = reduce_groups(cx, op, t, &g, hd_data(dense), hd_data(y));
    hd_release(dense);
    return status;
}

hd_tensor hd_in_order(const hd_tensor *t, const int order[HD_MAX_DIMS]) {
    hd_tensor permuted = *t;
    for (int i = 0; i < t->ndim; i++) {
        permuted.shape[i] = t->shape[order[i]];
        permuted.stride[i] = t->stride[order[i]];
    }
    return permuted;
}

bool hd_memory_order(const hd_tensor *x, int order[HD_MAX_DIMS]) {
    bool differs = false;
    for (int d = 0; d < x->ndim; d++) order[d] = d;
    for (int d = 1; d < x->ndim; d++) {
        for (int e = d; e > 0 && x->stride[order[e - 1]] < x->stride[order[e]]; e--) {
            int t = order[e];
            order[e] = order[e - 1], order[e - 1] = t;
            differs = true;
        }
    }
    return differs;
}

/* A transposed tensor is reduced as it lies in memory; only the result is put in order. */
static hd_status reduce_permuted(hd_ctx *cx, hd_reduction op, const hd_tensor *x, uint32_t dims, hd_tensor *y,
                                 const int order[HD_MAX_DIMS]) {
    uint32_t permuted_dims = 0;
    int back[HD_MAX_DIMS];
    for (int i = 0; i < x->ndim; i++) {
        permuted_dims |= (dims >> order[i] & 1) << i;
        back[order[i]] = i;
    }
    hd_tensor permuted = hd_in_order(x, order);
    hd_tensor *z = hd_reduce_data(cx, op, &permuted, permuted_dims);
    if (!z) return cx->error.status;
    hd_tensor ordered = hd_in_order(z, back);
    hd_status status = hd_apply_copy(cx, y, &ordered);
    hd_release(z);
    return status;
}

hd_tensor *hd_reduce_data(hd_ctx *cx, hd_reduction op, hd_tensor *x, uint32_t dims) {
    int64_t shape[HD_MAX_DIMS];
    int order[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) shape[d] = dims >> d & 1 ? 1 : x->shape[d];
    hd_tensor *y = hd_tensor_new(cx, reduced_dtype(op, (hd_dtype)x->dtype), x->ndim, shape);
    if (!y || hd_numel(y) == 0) return y;
    bool is_permuted = !hd_is_contiguous(x) && hd_memory_order(x, order);
    hd_status status =
        is_permuted ? reduce_permuted(cx, op, x, dims, y, order) : reduce_dense(cx, op, x, dims, y);
    if (!status) return y;
    hd_release(y);
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

int64_t hd_reduced_count(const hd_tensor *x, uint32_t dims) {
    int64_t n = 1;
    for (int d = 0; d < x->ndim; d++)
        if (dims >> d & 1) n *= x->shape[d];
    return n;
}

hd_tensor *hd_drop_dims(hd_tensor *y, uint32_t dims, bool keepdim) {
    if (!y || keepdim) return y;
    int kept = 0;
    for (int d = 0; d < y->ndim; d++) {
        if (dims >> d & 1) continue;
        y->shape[kept] = y->shape[d];
        y->stride[kept++] = y->stride[d];
    }
    y->ndim = (uint8_t)kept;
    return y;
}

hd_tensor *hd_expand_reduced(hd_ctx *cx, const hd_tensor *t, const hd_reduce_params *p, int ndim,
                             const int64_t *shape) {
    int64_t stride[HD_MAX_DIMS];
    int from = 0;
    for (int d = 0; d < ndim; d++) {
        bool reduced = p->dims >> d & 1;
        stride[d] = reduced ? 0 : t->stride[from];
        if (!reduced || p->keepdim) from++;
    }
    return hd_tensor_view(cx, t, ndim, shape, stride, t->offset);
}

/* order[i]: which of x's dimensions comes i-th when the reduced ones go last. */
static void reduced_last(int ndim, uint32_t dims, int order[HD_MAX_DIMS]) {
    int n = 0;
    for (int d = 0; d < ndim; d++)
        if (!(dims >> d & 1)) order[n++] = d;
    for (int d = 0; d < ndim; d++)
        if (dims >> d & 1) order[n++] = d;
}

hd_tensor *hd_rows_to_reduce(hd_ctx *cx, hd_tensor *x, uint32_t dims, int64_t *rows, int64_t *length) {
    int order[HD_MAX_DIMS];
    hd_tensor permuted = *x; /* a header for the copy alone */
    reduced_last(x->ndim, dims, order);
    for (int i = 0; i < x->ndim; i++) {
        permuted.shape[i] = x->shape[order[i]];
        permuted.stride[i] = x->stride[order[i]];
    }
    *length = hd_reduced_count(x, dims);
    *rows = *length ? hd_numel(x) / *length : 0;
    if (hd_is_contiguous(&permuted))
        return hd_tensor_view(cx, x, x->ndim, permuted.shape, permuted.stride, x->offset);
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)x->dtype, x->ndim, permuted.shape);
    if (y && hd_apply_copy(cx, y, &permuted)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

hd_tensor *hd_rows_back(hd_ctx *cx, const hd_tensor *rows, uint32_t dims, int ndim, const int64_t *shape) {
    int order[HD_MAX_DIMS];
    int64_t dense[HD_MAX_DIMS], wide[HD_MAX_DIMS] = {0}, stride[HD_MAX_DIMS];
    reduced_last(ndim, dims, order);
    for (int i = 0; i < ndim; i++) wide[i] = shape[order[i]];
    hd_contiguous_strides(ndim, wide, dense);
    for (int i = 0; i < ndim; i++) stride[order[i]] = dense[i];
    return hd_tensor_view(cx, rows, ndim, shape, stride, rows->offset);
}
