/* index_select.c: reading and counting by index tensors. masked.c has masks; scatter.c reads and adds element by element,
 * assign.c writes.
 *
 *     index_select: y[.., p, ..] = x[.., index[p], ..]  ->  dx[.., index[p], ..] += g[.., p, ..]
 *
 * Sums run in the order of the index, whatever the number of threads.
 */
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"
#include "ops/lines.h"

/* Elements a task copies or adds. */
#define GRAIN 32768

/* Indices that are checked between two looks at the flag that cancels. */
#define CHECKED (1 << 20)

/* ---- checks ---------------------------------------------------------------------------------- */

/* The first of n that is outside, n when there is none. Blocks are looked at without a way out, which is faster. */
static int64_t first_outside(const int64_t *v, int64_t n, int64_t size) {
    for (int64_t i = 0; i < n; i += 256) {
        int64_t end = n - i < 256 ? n : i + 256;
        bool outside = false;
        for (int64_t k = i; k < end; k++) outside |= (uint64_t)v[k] - 1 >= (uint64_t)size;
        for (int64_t k = i; outside && k < end; k++)
            if ((uint64_t)v[k] - 1 >= (uint64_t)size) return k;
    }
    return n;
}

static hd_status check_index(hd_ctx *cx, const hd_tensor *index, int64_t size) {
    if (index->storage->meta) return HD_OK;
    const int64_t *v = hd_data(index);
    int64_t n = hd_numel(index), i = 0;
    for (int64_t count; i < n; i += count) {
        count = hd_min(n - i, CHECKED);
        if (hd_check_cancel(cx, 0)) return cx->error.status;
        int64_t outside = first_outside(v + i, count, size);
        if (outside < count) {
            i += outside;
            break;
        }
    }
    if (i == n) return HD_OK;
    return hd_fail(cx, HD_EARG, "index: expected values in 1..%lld, got %lld at position %lld%s",
                   (long long)size, (long long)v[i], (long long)i + 1,
                   v[i] == 0 ? "; they count from 1" : "");
}

hd_tensor *hd_checked_index(hd_ctx *cx, hd_tensor *index, int64_t size) {
    if (index->dtype != HD_I64)
        return hd_fail_null(cx, HD_EARG, "index: expected i64, got %s; t:to \"i64\" converts",
                            hd_dtype_name((hd_dtype)index->dtype));
    hd_tensor *dense = hd_contiguous_as(cx, index, HD_I64);
    if (dense && check_index(cx, dense, size)) {
        hd_release(dense);
        return NULL;
    }
    return dense;
}

/* ---- index_select ---------------------------------------------------------------------------- */

typedef struct select_loop {
    char *y;       /* [outer][count][inner] */
    const char *x; /* [outer][size][inner] */
    const int64_t *index;
    int64_t count;
    hd_lines lines;
    size_t size;
    const hd_kernels *kernels;
    bool streams; /* y is written past the caches */
} select_loop;

/* y[p] = x[index[p] - 1] of elements that are as wide as a line; two of 4 bytes need not be aligned as one of 8. */
#define PICK(bytes, type)                                                                                    \
    typedef type bits_##bytes __attribute__((may_alias, aligned(1)));                                        \
    static void pick_##bytes(int64_t n, const void *px, const int64_t *index, void *py) {                    \
        const bits_##bytes *x = (const bits_##bytes *)px - 1;                                                \
        bits_##bytes *y = py;                                                                                \
        for (int64_t p = 0; p < n; p++) y[p] = x[index[p]];                                                  \
    }
PICK(4, uint32_t)
PICK(8, uint64_t)

#define PIECE 2048 /* bytes */
#define CACHE_LINE 64

/* The beginning of what is read next: the hardware finds the rest. */
static void ask_for(const char *x, int64_t bytes) {
    for (int64_t at = 0; at < bytes && at < PIECE; at += CACHE_LINE) __builtin_prefetch(x + at);
}

/* What the index will hit in any order is on its way before: a part of the lines behind x, as large as n of count. */
static void ask_for_part(const select_loop *l, const char *x, int64_t bytes, int64_t p, int64_t n) {
    int64_t lines = bytes / CACHE_LINE;
    if (lines > 4 * l->count) return; /* most of them will not be hit */
    for (int64_t i = p * lines / l->count; i < (p + n) * lines / l->count; i++)
        __builtin_prefetch(x + i * CACHE_LINE);
}

/* Lines first .. last - 1 of y, of 4 or 8 bytes. */
static void pick_elements(const select_loop *l, int64_t bytes, int64_t first, int64_t last) {
    void (*pick)(int64_t, const void *, const int64_t *, void *) = bytes == 4 ? pick_4 : pick_8;
    char piece[PIECE] __attribute__((aligned(CACHE_LINE))), *y = l->y + first * bytes;
    int64_t row = l->lines.size * bytes;
    for (int64_t i = first; i < last;) {
        const char *x = l->x + i / l->count * row;
        int64_t p = i % l->count, n = (PIECE - (int64_t)((uintptr_t)y % CACHE_LINE)) / bytes;
        if (n > l->count - p) n = l->count - p;
        if (n > last - i) n = last - i;
        pick(n, x, l->index + p, l->streams ? piece : y);
        ask_for_part(l, x + row, row, p, n);
        if (l->streams) l->kernels->stream((size_t)(n * bytes), piece, y);
        i += n;
        y += n * bytes;
    }
}

static const char *line_of(const select_loop *l, int64_t i, int64_t bytes) {
    return l->x + (i / l->count * l->lines.size + l->index[i % l->count] - 1) * bytes;
}

static void copy_whole_lines(const select_loop *l, int64_t bytes, int64_t first, int64_t last) {
    for (int64_t i = first; i < last; i++) {
        char *y = l->y + i * bytes;
        if (!l->streams) {
            memcpy(y, line_of(l, i, bytes), (size_t)bytes);
            continue;
        }
        if (i + 1 < last) ask_for(line_of(l, i + 1, bytes), bytes);
        l->kernels->stream((size_t)bytes, line_of(l, i, bytes), y);
    }
}

static void copy_lines(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const select_loop *l = arg;
    int64_t bytes = l->lines.inner * (int64_t)l->size;
    if (bytes == 4 || bytes == 8)
        pick_elements(l, bytes, first, last);
    else
        copy_whole_lines(l, bytes, first, last);
    if (l->streams) l->kernels->streamed();
}

static hd_status index_select_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                       hd_tensor **grad_inputs) {
    /* y[.., p, ..] = x[.., index[p], ..]  ->  dx[.., index[p], ..] += g[.., p, ..] */
    if (!grads[0]) return HD_OK;
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *g = hd_contiguous_as(cx, grads[0], x.dtype);
    hd_tensor *dx = g ? hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape) : NULL;
    grad_inputs[0] = dx;
    hd_status status = dx ? hd_add_lines(cx, dx, dim, index, g) : cx->error.status;
    hd_release(g);
    return status;
}
static const hd_node_class index_select_class = {"index_select", index_select_backward, NULL};

static hd_tensor *select_lines(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index) {
    int64_t shape[HD_MAX_DIMS];
    int ndim = 0;
    if (x->ndim - 1 + index->ndim > HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "index: the result would have more than %d dimensions", HD_MAX_DIMS);
    for (int d = 0; d < dim; d++) shape[ndim++] = x->shape[d];
    for (int d = 0; d < index->ndim; d++) shape[ndim++] = index->shape[d];
    for (int d = dim + 1; d < x->ndim; d++) shape[ndim++] = x->shape[d];
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)x->dtype, ndim, shape);
    if (!y || hd_numel(y) == 0) return y;
    select_loop l = {.y = hd_data(y),
                     .x = hd_data(x),
                     .index = hd_data(index),
                     .count = hd_numel(index),
                     .lines = hd_lines_of(x, dim),
                     .size = hd_dtype_size((hd_dtype)x->dtype),
                     .kernels = cx->kernels};
    l.streams = hd_is_streamed(cx, hd_numel(y) * (int64_t)l.size) &&
                (l.lines.inner == 1 || l.lines.inner * (int64_t)l.size >= HD_STREAM_RUN);
    int64_t grain = GRAIN / l.lines.inner + 1;
    if (hd_parallel_ranges(cx, l.lines.outer * l.count, grain, copy_lines, &l)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

hd_tensor *hd_index_select(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index) {
    int d;
    if (hd_check_dim(cx, "dim", dim, x->ndim, &d)) return NULL;
    hd_tensor *checked = hd_checked_index(cx, index, x->shape[d]);
    hd_tensor *dense = checked ? hd_contiguous_as(cx, x, (hd_dtype)x->dtype) : NULL;
    hd_tensor *y = dense ? select_lines(cx, dense, d, checked) : NULL;
    y = hd_record(cx, &index_select_class, y, 1, &x, 1, &checked, &d, sizeof d);
    hd_release(dense);
    hd_release(checked);
    return y;
}

/* ---- one_hot --------------------------------------------------------------------------------- */

hd_tensor *hd_one_hot(hd_ctx *cx, hd_tensor *index, int64_t classes) {
    if (classes < 0)
        return hd_fail_null(cx, HD_EARG, "classes: expected 0 or more, got %lld", (long long)classes);
    if (index->ndim == HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "index: expected fewer than %d dimensions", HD_MAX_DIMS);
    hd_tensor *checked = hd_checked_index(cx, index, classes);
    if (!checked) return NULL;
    int64_t shape[HD_MAX_DIMS];
    memcpy(shape, index->shape, sizeof shape);
    shape[index->ndim] = classes;
    hd_tensor *y = hd_tensor_zeros(cx, HD_I64, index->ndim + 1, shape);
    const int64_t *v = hd_data(checked);
    hd_status status = hd_made(cx, y);
    for (int64_t i = 0, n = hd_numel(checked); !status && i < n && !cx->skipping; i++) {
        status = hd_check_cancel(cx, i);
        ((int64_t *)hd_data(y))[i * classes + v[i] - 1] = 1;
    }
    hd_release(checked);
    if (!status) return y;
    hd_release(y);
    return NULL;
}
