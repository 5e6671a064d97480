/* median.c: the middle element of rows, of two middles the lower one; where NaN is, the first NaN.
 *
 *     median(dim): y = x[index]                ->  dx = g at index, 0 elsewhere
 *     median():    y = the middle of all       ->  dx = g / (how many equal y) for those, 0 for the others
 *
 * The index is that of the first element that equals the median. Nothing is put in order: digits of the keys
 * (kernels/isa/order.c), the highest first, say which elements the middle is among.
 */
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"
#include "ops/nn/rows.h"
#include "ops/order/order.h"
#include "ops/reduce/reduce.h"

#define DIGIT 8    /* bits */
#define FEW 32     /* keys that are put in order one by one */
#define RANKED 256 /* keys made at a time, beside rows that are held whole */

typedef struct median_loop {
    const hd_kernels *kernels;
    hd_dtype dtype;
    hd_rows x;
    char *y;        /* [rows] */
    int64_t *index; /* [rows], from 1 */
    uint64_t *keys; /* [worker][width], of short rows */
} median_loop;

/* n keys from element `first` on; those of 32 bits as the upper halves. */
static void keys_of(const median_loop *l, int64_t row, int64_t first, int64_t n, uint64_t *keys) {
    const char *x = (const char *)hd_row(&l->x, row) + (size_t)first * l->x.size;
    l->kernels->order_keys[l->dtype](n, x, false, keys);
    if (l->x.size == 8) return;
    uint32_t narrow;
    for (int64_t i = n - 1; i >= 0; i--) {
        memcpy(&narrow, (const char *)keys + (size_t)i * sizeof narrow, sizeof narrow);
        keys[i] = (uint64_t)narrow << 32;
    }
}

/* The key of NaN, which is no number's; of integers none is. */
static bool is_nan_key(const median_loop *l, uint64_t key) {
    return hd_dtype_is_float(l->dtype) && key == (l->x.size == 8 ? UINT64_MAX : (uint64_t)UINT32_MAX << 32);
}

/* Which digit does the k-th key have? k becomes its rank among the keys that have it. */
static int64_t digit_of(const int64_t *counts, int64_t *k) {
    int64_t d = 0;
    for (; *k >= counts[d]; d++) *k -= counts[d];
    return d;
}

/* The k-th smallest, k from 0. The keys are lost. */
static uint64_t select_key(int64_t n, uint64_t *keys, int64_t k) {
    for (int shift = 64 - DIGIT; n > FEW && shift >= 0; shift -= DIGIT) {
        int64_t counts[1 << DIGIT] = {0}, left = 0;
        for (int64_t i = 0; i < n; i++) counts[keys[i] >> shift & ((1 << DIGIT) - 1)]++;
        uint64_t digit = (uint64_t)digit_of(counts, &k);
        for (int64_t i = 0; i < n; i++) {
            keys[left] = keys[i];
            left += (keys[i] >> shift & ((1 << DIGIT) - 1)) == digit;
        }
        n = left;
    }
    if (n > FEW) return keys[0]; /* all are equal */
    for (int64_t i = 1; i < n; i++) {
        uint64_t v = keys[i];
        int64_t j = i;
        for (; j > 0 && keys[j - 1] > v; j--) keys[j] = keys[j - 1];
        keys[j] = v;
    }
    return keys[k];
}

/* The first of elements first .. last - 1 that has the key; last when none has. */
static int64_t place_of(const median_loop *l, int64_t row, int64_t first, int64_t last, uint64_t key) {
    uint64_t keys[RANKED];
    for (int64_t i = first, n; i < last; i += n) {
        n = hd_min(last - i, RANKED);
        keys_of(l, row, i, n, keys);
        for (int64_t j = 0; j < n; j++)
            if (keys[j] == key) return i + j;
    }
    return last;
}

static void settle(const median_loop *l, int64_t row, int64_t place) {
    l->index[row] = place + 1;
    memcpy(l->y + (size_t)row * l->x.size, (const char *)hd_row(&l->x, row) + (size_t)place * l->x.size,
           l->x.size);
}

static void short_rows(void *arg, int64_t first, int64_t last, int worker) {
    const median_loop *l = arg;
    int64_t n = l->x.width;
    uint64_t *keys = l->keys + worker * n;
    for (int64_t row = first; row < last; row++) {
        keys_of(l, row, 0, n, keys);
        uint64_t nan = 0;
        for (int64_t i = 0; i < n; i++) nan |= is_nan_key(l, keys[i]) ? keys[i] : 0;
        settle(l, row, place_of(l, row, 0, n, nan ? nan : select_key(n, keys, (n - 1) / 2)));
    }
}

/* ---- one long row, on all threads ---------------------------------------------------------------------- */

typedef struct long_row {
    const median_loop *l;
    int64_t row;
    uint64_t prefix, key; /* the digits above `shift` that are known; all of them */
    int shift;
    int64_t (*counts)[(1 << DIGIT) + 1]; /* of each block: keys with the prefix by digit; of them NaN */
    int64_t *places;                     /* of each block: the first with the key */
} long_row;

static void count_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const long_row *r = arg;
    int64_t *counts = r->counts[first / HD_LONG_ROW];
    uint64_t keys[RANKED], known = r->shift == 64 - DIGIT ? 0 : UINT64_MAX << (r->shift + DIGIT);
    memset(counts, 0, sizeof *r->counts);
    for (int64_t i = first, n; i < last; i += n) {
        n = hd_min(last - i, RANKED);
        keys_of(r->l, r->row, i, n, keys);
        for (int64_t j = 0; j < n; j++) {
            if ((keys[j] & known) != r->prefix) continue;
            counts[keys[j] >> r->shift & ((1 << DIGIT) - 1)]++;
            counts[1 << DIGIT] += is_nan_key(r->l, keys[j]);
        }
    }
}

static void place_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const long_row *r = arg;
    int64_t place = place_of(r->l, r->row, first, last, r->key);
    r->places[first / HD_LONG_ROW] = place < last ? place : INT64_MAX;
}

static hd_status select_long(hd_ctx *cx, long_row *r) {
    const median_loop *l = r->l;
    int64_t n = l->x.width, blocks = (n + HD_LONG_ROW - 1) / HD_LONG_ROW, k = (n - 1) / 2;
    for (r->shift = 64 - DIGIT; r->shift >= (l->x.size == 8 ? 0 : 32); r->shift -= DIGIT) {
        hd_status status = hd_parallel_ranges(cx, n, HD_LONG_ROW, count_block, r);
        if (status) return status;
        int64_t sums[(1 << DIGIT) + 1] = {0};
        for (int64_t b = 0; b < blocks; b++)
            for (int d = 0; d <= 1 << DIGIT; d++) sums[d] += r->counts[b][d];
        bool whole = r->shift == 64 - DIGIT;
        if (whole && sums[1 << DIGIT] > 0) k = n - 1; /* NaN is the largest */
        r->prefix |= (uint64_t)digit_of(sums, &k) << r->shift;
    }
    r->key = r->prefix;
    hd_status status = hd_parallel_ranges(cx, n, HD_LONG_ROW, place_block, r);
    int64_t place = INT64_MAX;
    for (int64_t b = 0; b < blocks && !status; b++) place = hd_min(place, r->places[b]);
    if (!status) settle(l, r->row, place);
    return status;
}

static hd_status long_rows(hd_ctx *cx, const median_loop *l) {
    int64_t blocks = (l->x.width + HD_LONG_ROW - 1) / HD_LONG_ROW;
    long_row r = {.l = l};
    r.counts = hd_alloc(cx, (size_t)blocks * (sizeof *r.counts + sizeof *r.places));
    if (!r.counts) return cx->error.status;
    r.places = (int64_t *)(r.counts + blocks);
    hd_status status = HD_OK;
    for (r.row = 0; r.row < l->x.count && !status; r.row++) {
        r.prefix = 0;
        status = select_long(cx, &r);
    }
    hd_free(cx->account, r.counts);
    return status;
}

/* ---- the operations ------------------------------------------------------------------------------------ */

/* Of rows: values and places, new, dimension `dim` kept with size 1. */
static hd_status median_along(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor **values, hd_tensor **places) {
    char text[HD_SHAPE_TEXT];
    if (x->ndim && x->shape[dim] == 0)
        return hd_fail(cx, HD_EARG, "dim: median over dimension %d of %s, which has no elements", dim + 1,
                       hd_tensor_shape_text(x, text));
    int64_t shape[HD_MAX_DIMS];
    memcpy(shape, x->shape, sizeof shape);
    if (x->ndim) shape[dim] = 1;
    *values = hd_tensor_new(cx, (hd_dtype)x->dtype, x->ndim, shape);
    *places = *values ? hd_tensor_new(cx, HD_I64, x->ndim, shape) : NULL;
    median_loop l = {.kernels = cx->kernels, .dtype = (hd_dtype)x->dtype};
    hd_tensor *rows = *places ? hd_rows_along(cx, x, dim, &l.x) : NULL;
    hd_status status = hd_made(cx, rows);
    if (status || hd_numel(*values) == 0 || cx->skipping) {
        hd_release(rows);
        return status;
    }
    l.y = hd_data(*values);
    l.index = hd_data(*places);
    if (l.x.width > HD_LONG_ROW) {
        status = long_rows(cx, &l);
    } else {
        l.keys = hd_alloc(cx, sizeof *l.keys * (size_t)(l.x.width * hd_max_workers(cx)));
        status = l.keys ? hd_parallel_ranges(cx, l.x.count, HD_GRAIN_LIGHT / l.x.width + 1, short_rows, &l)
                        : cx->error.status;
        hd_free(cx->account, l.keys);
    }
    hd_release(rows);
    return status;
}

static hd_status median_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    /* y = x[index]  ->  dx = g at index, 0 elsewhere */
    if (!grads[0]) return HD_OK;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = grad_inputs[0] = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    hd_tensor *g = dx ? hd_reshape(cx, grads[0], index->ndim, index->shape) : NULL;
    hd_status status = !g            ? cx->error.status
                       : x.ndim == 0 ? hd_apply_copy(cx, dx, g)
                                     : hd_scatter_into(cx, dx, dim, index, g);
    hd_release(g);
    return status;
}
static const hd_node_class median_class = {"median", median_backward, NULL};

hd_status hd_median_dim(hd_ctx *cx, hd_tensor *x, int dim, bool keepdim, hd_tensor **values,
                        hd_tensor **indices) {
    int d = 0;
    if (hd_check_computes(cx, x) || (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)))
        return cx->error.status;
    uint32_t dropped = x->ndim ? 1u << d : 0;
    hd_tensor *y = NULL, *index = NULL;
    hd_status status = median_along(cx, x, d, &y, &index);
    if (!status) {
        y = hd_drop_dims(y, dropped, keepdim);
        if (hd_dtype_is_float((hd_dtype)x->dtype))
            y = hd_record(cx, &median_class, y, 1, &x, 1, &index, &d, sizeof d);
        status = hd_made(cx, y);
    }
    if (status) {
        hd_release(y);
        hd_release(index);
        return status;
    }
    *values = y;
    *indices = hd_drop_dims(index, dropped, keepdim); /* what the node saved is another header */
    return HD_OK;
}

/* Elements that equal y; where it is NaN, those that are. (No other median is of elements with NaN.) */
static hd_tensor *equal_to(hd_ctx *cx, hd_tensor *x, hd_tensor *y) {
    hd_tensor *nan = hd_unary_op(cx, HD_ISNAN, x), *equal = nan ? hd_binary_op(cx, HD_EQ, x, y) : NULL;
    equal = hd_chain_binary(cx, HD_OR, equal, nan);
    hd_release(nan);
    return equal;
}

static hd_status median_all_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                     hd_tensor **grad_inputs) {
    /* y = the middle  ->  dx = g / (how many equal y) for those, 0 for the others */
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    hd_tensor *x = hd_node_saved(cx, node, 0), *y = x ? hd_node_saved(cx, node, 1) : NULL;
    hd_tensor *equal = y ? equal_to(cx, x, y) : NULL;
    hd_tensor *count = equal ? hd_reduce(cx, HD_SUM, equal, HD_ALL_DIMS, false) : NULL;
    hd_tensor *share = count ? hd_binary_op(cx, HD_DIV, g, count) : NULL;
    hd_tensor *nothing = share ? hd_tensor_zeros(cx, (hd_dtype)x->dtype, 0, NULL) : NULL;
    if (nothing) grad_inputs[0] = hd_where(cx, equal, share, nothing);
    hd_release(equal);
    hd_release(count);
    hd_release(share);
    hd_release(nothing);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class median_all_class = {"median", median_all_backward, NULL};

hd_tensor *hd_median(hd_ctx *cx, hd_tensor *x) {
    int64_t all = -1;
    if (hd_check_computes(cx, x)) return NULL;
    if (hd_numel(x) == 0)
        return hd_fail_null(cx, HD_EARG, "tensor: expected at least one element to compare, got none");
    hd_tensor plain = *x; /* without the graph: the reshape is not to be recorded */
    plain.requires_grad = plain.is_view = false;
    hd_tensor *flat = hd_reshape(cx, &plain, 1, &all), *y = NULL, *place = NULL;
    hd_status status = flat ? median_along(cx, flat, 0, &y, &place) : cx->error.status;
    hd_release(flat);
    hd_release(place);
    if (status) {
        hd_release(y);
        return NULL;
    }
    y = hd_drop_dims(y, 1, false);
    if (!hd_dtype_is_float((hd_dtype)x->dtype)) return y;
    hd_tensor *saved[] = {x, y};
    return hd_record(cx, &median_all_class, y, 1, &x, 2, saved, NULL, 0);
}
