/* sort.c: elements along a dimension in order, and the first k of them.
 *
 *     y[p] = x[.., index[p], ..]  ->  dx[.., index[p], ..] = g[p], 0 where nothing was taken
 *
 * Stable: equal elements (0 and -0 are) stay in the order they had. NaN is larger than all.
 */
#include "base/parallel.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"
#include "ops/order/order.h"
#include "ops/nn/rows.h"

#include <string.h>

typedef struct sort_loop {
    hd_order order;
    hd_rows x;
    int64_t count;   /* how many of a row are wanted */
    int64_t *places; /* [rows][count] */
    char *y;         /* [rows][count] */
    char *scratch;
    size_t scratch_size; /* of a worker */
} sort_loop;

#define TAKE(bits)                                                                                           \
    static void take_##bits(int64_t n, const void *px, const int64_t *places, void *py) {                    \
        const uint##bits##_t *x = px;                                                                        \
        uint##bits##_t *y = py;                                                                              \
        for (int64_t i = 0; i < n; i++) y[i] = x[places[i] - 1];                                             \
    }
TAKE(8)
TAKE(32)
TAKE(64)

/* y[i] = x[places[i]], by the size of an element */
static void take(size_t size, int64_t n, const void *x, const int64_t *places, void *y) {
    if (size == 1)
        take_8(n, x, places, y);
    else if (size == 4)
        take_32(n, x, places, y);
    else
        take_64(n, x, places, y);
}

static void sort_rows(void *arg, int64_t first, int64_t last, int worker) {
    const sort_loop *l = arg;
    for (int64_t r = first; r < last; r++) {
        int64_t *places = l->places + r * l->count;
        hd_order_row(&l->order, hd_row(&l->x, r), l->count, l->scratch + (size_t)worker * l->scratch_size,
                     places);
        take(l->x.size, l->count, hd_row(&l->x, r), places, l->y + (size_t)(r * l->count) * l->x.size);
    }
}

typedef struct take_loop {
    const sort_loop *sort;
    int64_t row;
} take_loop;

static void take_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const take_loop *t = arg;
    const sort_loop *l = t->sort;
    int64_t at = t->row * l->count + first;
    take(l->x.size, last - first, hd_row(&l->x, t->row), l->places + at, l->y + (size_t)at * l->x.size);
}

static hd_status sort_long_rows(hd_ctx *cx, const sort_loop *l) {
    hd_status status = HD_OK;
    for (int64_t r = 0; r < l->x.count && !status; r++) {
        take_loop t = {l, r};
        status = hd_order_long_row(cx, &l->order, hd_row(&l->x, r), l->count, l->places + r * l->count);
        if (!status) status = hd_parallel_ranges(cx, l->count, HD_GRAIN_LIGHT, take_range, &t);
    }
    return status;
}

static hd_status sort_short_rows(hd_ctx *cx, sort_loop *l) {
    l->scratch_size = hd_order_scratch(&l->order, l->count);
    l->scratch = hd_alloc(cx, l->scratch_size * (size_t)hd_max_workers(cx));
    if (!l->scratch) return cx->error.status;
    hd_status status = hd_parallel_ranges(cx, l->x.count, HD_GRAIN_HEAVY / l->x.width + 1, sort_rows, l);
    hd_free(cx->account, l->scratch);
    return status;
}

/* The first `count` of each row of x: places and values, new and contiguous, where dim is last. */
static hd_status sort_last(hd_ctx *cx, const hd_tensor *x, const hd_rows *rows, int64_t count,
                           bool descending, hd_tensor **values, hd_tensor **places) {
    int64_t shape[HD_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (x->ndim) shape[x->ndim - 1] = count;
    if (rows->width > UINT32_MAX)
        return hd_fail(cx, HD_EARG, "dim: expected fewer than 2^32 elements to put in order");
    *values = hd_tensor_new(cx, (hd_dtype)x->dtype, x->ndim, shape);
    *places = *values ? hd_tensor_new(cx, HD_I64, x->ndim, shape) : NULL;
    if (!*places) return cx->error.status;
    if (hd_numel(*values) == 0 || cx->skipping) return HD_OK;
    sort_loop l = {.order = {cx->kernels, (hd_dtype)x->dtype, descending, rows->width},
                   .x = *rows,
                   .count = count,
                   .places = hd_data(*places),
                   .y = hd_data(*values)};
    return rows->width > HD_LONG_ROW ? sort_long_rows(cx, &l) : sort_short_rows(cx, &l);
}

/* ---- the operations --------------------------------------------------------------------------- */

static hd_status sort_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y[p] = x[.., index[p], ..]  ->  dx[.., index[p], ..] = g[p] */
    if (!grads[0]) return HD_OK;
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    grad_inputs[0] = dx;
    if (!dx) return cx->error.status;
    return x.ndim == 0 ? hd_apply_copy(cx, dx, grads[0]) : hd_scatter_into(cx, dx, dim, index, grads[0]);
}
static const hd_node_class sort_class = {"sort", sort_backward, NULL};
static const hd_node_class topk_class = {"topk", sort_backward, NULL};

static hd_status first_in_order(hd_ctx *cx, const hd_node_class *class, hd_tensor *x, int dim, int64_t count,
                                bool descending, hd_tensor **values, hd_tensor **indices) {
    hd_rows rows;
    hd_tensor *y = NULL, *index = NULL, *rows_last = hd_rows_along(cx, x, dim, &rows);
    hd_status status =
        rows_last ? sort_last(cx, rows_last, &rows, count, descending, &y, &index) : cx->error.status;
    hd_release(rows_last);
    if (!status) {
        y = hd_rows_put_back(cx, y, dim);
        index = hd_rows_put_back(cx, index, dim);
        if (index && hd_dtype_is_float((hd_dtype)x->dtype))
            y = hd_record(cx, class, y, 1, &x, 1, &index, &dim, sizeof dim);
        status = y && index ? HD_OK : cx->error.status;
    }
    if (status) {
        hd_release(y);
        hd_release(index);
        return status;
    }
    *values = y;
    *indices = index;
    return HD_OK;
}

hd_status hd_sort(hd_ctx *cx, hd_tensor *x, int dim, bool descending, hd_tensor **values,
                  hd_tensor **indices) {
    int d = 0;
    if (hd_check_computes(cx, x) || (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)))
        return cx->error.status;
    int64_t count = x->ndim ? x->shape[d] : 1;
    return first_in_order(cx, &sort_class, x, d, count, descending, values, indices);
}

hd_status hd_topk(hd_ctx *cx, hd_tensor *x, int64_t k, int dim, bool largest, hd_tensor **values,
                  hd_tensor **indices) {
    int d = 0;
    if (hd_check_computes(cx, x) || (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)))
        return cx->error.status;
    int64_t size = x->ndim ? x->shape[d] : 1;
    if (k < 0 || k > size)
        return hd_fail(cx, HD_EARG, "k: expected 0 to %lld, the size of the dimension, got %lld",
                       (long long)size, (long long)k);
    return first_in_order(cx, &topk_class, x, d, k, largest, values, indices);
}
