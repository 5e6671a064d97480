/* assign_index.c: x[key] = v where some dimensions have an index tensor, as a node (assign.c has the others).
 *
 *     dx = g with the named places set to 0,  dv = g's named places, summed to v's shape
 *
 * Of places named twice the last one counts, forward and backward.
 */
#include <string.h>

#include "ops/index/assign.h"
#include "ops/index/index.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

/* What backward wants besides the indices. */
typedef struct written {
    hd_region region;
    int count, dims[HD_MAX_DIMS], ndim, at, result_ndim;
    int64_t result[HD_MAX_DIMS];
} written;

/* t without the indexed dimensions, at place p of them. A header for a copy alone. */
static hd_tensor slice_of(const hd_tensor *t, int count, const int *dims, const int64_t *const *index,
                          int64_t p) {
    hd_tensor slice = *t;
    int n = 0;
    for (int d = 0, k = 0; d < t->ndim; d++) {
        if (k < count && dims[k] == d) {
            slice.offset += (index[k][p] - 1) * t->stride[d];
            k++;
        } else {
            slice.shape[n] = t->shape[d];
            slice.stride[n++] = t->stride[d];
        }
    }
    slice.ndim = (uint8_t)n;
    return slice;
}

/* What of rows (contiguous, of the key's shape) belongs to place p: a header for a copy alone. */
static hd_tensor row_of(const hd_tensor *rows, int at, int ndim, int64_t p) {
    hd_tensor row = *rows;
    int n = 0;
    row.offset += ndim > 0 ? p * rows->stride[at + ndim - 1] : 0;
    for (int d = 0; d < rows->ndim; d++) {
        if (d >= at && d < at + ndim) continue;
        row.shape[n] = rows->shape[d];
        row.stride[n++] = rows->stride[d];
    }
    row.ndim = (uint8_t)n;
    return row;
}

/* A slice of no dimensions is an element. */
static hd_status copy_slice(hd_ctx *cx, hd_tensor *to, const hd_tensor *from) {
    if (to->ndim > 0) return hd_apply_copy(cx, to, from);
    memcpy(hd_data(to), hd_data(from), hd_dtype_size((hd_dtype)to->dtype));
    return HD_OK;
}

static hd_status write_rows(hd_ctx *cx, const hd_tensor *place, const hd_lookup *l, const hd_tensor *rows) {
    const int64_t *index[HD_MAX_DIMS];
    if (cx->skipping) return HD_OK;
    for (int i = 0; i < l->count; i++) index[i] = hd_data(l->index[i]);
    for (int64_t p = 0; p < l->places; p++) {
        hd_tensor to = slice_of(place, l->count, l->dims, index, p), from = row_of(rows, l->at, l->ndim, p);
        if (copy_slice(cx, &to, &from)) return cx->error.status;
    }
    return HD_OK;
}

/* ---- gradients --------------------------------------------------------------------------------- */

/* The place of p in the indexed dimensions taken as one. */
static int64_t joined_place(const written *w, const int64_t *const *index, int64_t p) {
    int64_t at = 0;
    for (int i = 0; i < w->count; i++) at = at * w->region.shape[w->dims[i]] + index[i][p] - 1;
    return at;
}

/* dv: g's named places, 0 for those that a later one of the same name has overwritten. */
static hd_tensor *rows_that_count(hd_ctx *cx, const hd_tensor *g, const written *w,
                                  const int64_t *const *index, int64_t places) {
    int64_t size = 1;
    for (int i = 0; i < w->count; i++) size *= w->region.shape[w->dims[i]];
    hd_tensor *rows = hd_tensor_zeros(cx, (hd_dtype)g->dtype, w->result_ndim, w->result);
    uint8_t *seen = rows ? hd_alloc_zeroed(cx, (size_t)size + 1) : NULL;
    hd_status status = seen ? HD_OK : cx->error.status;
    for (int64_t p = places - 1; p >= 0 && !status; p--) {
        int64_t at = joined_place(w, index, p);
        if (seen[at]) continue;
        seen[at] = 1;
        hd_tensor to = row_of(rows, w->at, w->ndim, p), from = slice_of(g, w->count, w->dims, index, p);
        status = copy_slice(cx, &to, &from);
    }
    hd_free(cx->account, seen);
    if (!status) return rows;
    hd_release(rows);
    return NULL;
}

static hd_status clear_places(hd_ctx *cx, const hd_tensor *place, const written *w,
                              const int64_t *const *index, int64_t places) {
    const uint64_t zero = 0;
    hd_status status = HD_OK;
    for (int64_t p = 0; p < places && !status; p++) {
        hd_tensor slice = slice_of(place, w->count, w->dims, index, p);
        status = hd_fill_data(cx, &slice, &zero);
    }
    return status;
}

static hd_status assign_index_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                       hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    const written *w = node->payload;
    const int64_t *index[HD_MAX_DIMS];
    int64_t places = 0;
    for (int i = 0; i < w->count; i++) {
        hd_tensor *saved = hd_node_saved(cx, node, i);
        if (!saved) return cx->error.status;
        index[i] = hd_data(saved);
        places = saved->storage->meta ? 0 : hd_numel(saved);
    }
    hd_tensor *dx = hd_clone(cx, grads[0]);
    hd_tensor *place = dx ? hd_region_of(cx, dx, &w->region) : NULL;
    hd_status status = hd_made(cx, place);
    if (!status && hd_node_needs(node, 1)) { /* dv = g's named places */
        grad_inputs[1] = hd_grad_to_input(cx, node, 1, rows_that_count(cx, place, w, index, places));
        status = hd_made(cx, grad_inputs[1]);
    }
    if (!status && hd_node_needs(node, 0)) { /* dx = g with the named places set to 0 */
        status = clear_places(cx, place, w, index, places);
        grad_inputs[0] = hd_retain(dx);
    }
    hd_release(place);
    hd_release(dx);
    return status;
}

static void free_payload(hd_node *node) {
    hd_free(node->account, node->payload);
}

static const hd_node_class assign_index_class = {"index assignment", assign_index_backward, free_payload};

/* ---- writing ----------------------------------------------------------------------------------- */

static hd_status describe(hd_ctx *cx, hd_node *node, const hd_tensor *x, const hd_tensor *place,
                          const hd_lookup *l) {
    written *w = hd_alloc(cx, sizeof *w);
    if (!w) return cx->error.status;
    node->payload = w;
    hd_locate(x, place, &w->region);
    w->count = l->count;
    w->ndim = l->ndim;
    w->at = l->at;
    w->result_ndim = l->result_ndim;
    memcpy(w->dims, l->dims, sizeof w->dims);
    memcpy(w->result, l->result, sizeof w->result);
    hd_status status = HD_OK;
    for (int i = 0; i < l->count && !status; i++) status = hd_node_save(cx, node, i, l->index[i]);
    return status;
}

hd_status hd_assign_index_(hd_ctx *cx, hd_tensor *x, hd_tensor *place, hd_tensor *const *index,
                           hd_tensor *v) {
    hd_lookup l = {0};
    hd_node *node = NULL;
    hd_tensor *rows = NULL;
    hd_status status = hd_check_inplace(cx, x);
    if (!status) status = hd_lookup_begin(cx, &l, place, index, x);
    if (!status) {
        hd_tensor value = hd_without_leading_ones(v, l.result_ndim);
        rows = hd_value_rows(cx, &value, (hd_dtype)x->dtype, l.result_ndim, l.result);
        status = hd_made(cx, rows);
    }
    if (!status) status = hd_assign_node(cx, &assign_index_class, x, v, &node);
    if (!status && node) status = describe(cx, node, x, place, &l);
    if (!status)
        status = hd_assign_finish(x, node, write_rows(cx, place, &l, rows));
    else if (node)
        hd_node_release_ref(node);
    hd_release(rows);
    hd_lookup_end(&l);
    return status;
}
