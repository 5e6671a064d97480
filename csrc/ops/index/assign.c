/* assign.c: x[...] = v as a node: the former x and v go in, x comes out. v is broadcast to the place and
 * cast.
 *
 *     region: dx = g with the region set to 0,       dv = g's region, summed to v's shape
 *     mask:   dx = g with the masked places set to 0, dv = g's masked places in order, summed to v's shape
 *
 * assign_index.c has those by index tensors.
 */
#include "ops/index/assign.h"

#include <string.h>

#include "tensor/view.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"

hd_tensor hd_without_leading_ones(const hd_tensor *v, int ndim) {
    hd_tensor lean = *v;
    while (lean.ndim > ndim && lean.shape[0] == 1) {
        lean.ndim--;
        memmove(lean.shape, lean.shape + 1, lean.ndim * sizeof *lean.shape);
        memmove(lean.stride, lean.stride + 1, lean.ndim * sizeof *lean.stride);
    }
    return lean;
}

hd_status hd_assign_node(hd_ctx *cx, const hd_node_class *class, hd_tensor *x, hd_tensor *v, hd_node **node) {
    hd_tensor *inputs[] = {x, v};
    *node = NULL;
    if (!hd_dtype_is_float((hd_dtype)x->dtype) || !hd_wants_grad(cx, 2, inputs)) return HD_OK;
    if (hd_check_whole(cx, x)) return cx->error.status;
    *node = hd_node_new(cx, class, 2, inputs, 1);
    return *node ? HD_OK : cx->error.status;
}

hd_status hd_assign_finish(hd_tensor *x, hd_node *node, hd_status status) {
    hd_wrote(x);
    if (node && !status) hd_rebase(x, node);
    if (node) hd_node_release_ref(node);
    return status;
}

/* ---- a region -------------------------------------------------------------------------------- */

hd_tensor *hd_region_of(hd_ctx *cx, const hd_tensor *t, const hd_region *r) {
    return hd_tensor_view(cx, t, r->ndim, r->shape, r->stride, t->offset + r->offset);
}

static hd_status assign_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    const hd_region *r = node->payload;
    if (!grads[0]) return HD_OK;
    hd_tensor *dx = hd_clone(cx, grads[0]);
    hd_tensor *place = dx ? hd_region_of(cx, dx, r) : NULL;
    if (place && hd_node_needs(node, 1)) { /* dv = g's region */
        hd_tensor *dv = hd_grad_to_input(cx, node, 1, hd_clone(cx, place));
        grad_inputs[1] = dv;
    }
    bool failed = !place || (hd_node_needs(node, 1) && !grad_inputs[1]);
    const uint64_t zero = 0;
    if (!failed && hd_node_needs(node, 0)) { /* dx = g with the region set to 0 */
        failed = hd_fill_data(cx, place, &zero);
        grad_inputs[0] = hd_retain(dx);
    }
    hd_release(place);
    hd_release(dx);
    return failed ? cx->error.status : HD_OK;
}

static void free_payload(hd_node *node) {
    hd_free(node->account, node->payload);
}

static const hd_node_class assign_class = {"index assignment", assign_backward, free_payload};

/* x's dimension with the largest stride that is not above `stride`: strides of a tensor that does not overlap
 * itself are digits of its offsets. -1: none. */
static int digit_for(const hd_tensor *x, int64_t stride) {
    int best = -1;
    for (int d = 0; d < x->ndim; d++)
        if (x->shape[d] > 1 && x->stride[d] > 0 && x->stride[d] <= stride &&
            (best < 0 || x->stride[d] > x->stride[best]))
            best = d;
    return best;
}

void hd_locate(const hd_tensor *x, const hd_tensor *place, hd_region *r) {
    int64_t dense[HD_MAX_DIMS];
    hd_contiguous_strides(x->ndim, x->shape, dense);
    r->ndim = place->ndim;
    memcpy(r->shape, place->shape, sizeof r->shape);
    for (int d = 0; d < place->ndim; d++) {
        int digit = digit_for(x, place->stride[d]);
        r->stride[d] =
            place->shape[d] > 1 && digit >= 0 ? place->stride[d] / x->stride[digit] * dense[digit] : 1;
    }
    r->offset = 0;
    if (hd_numel(place) == 0) return;
    int64_t rest = place->offset - x->offset;
    for (int digit; rest > 0 && (digit = digit_for(x, rest)) >= 0; rest %= x->stride[digit])
        r->offset += rest / x->stride[digit] * dense[digit];
}

hd_status hd_assign_(hd_ctx *cx, hd_tensor *x, hd_tensor *place, hd_tensor *v) {
    hd_tensor value = hd_without_leading_ones(v, place->ndim);
    hd_node *node;
    if (hd_check_inplace(cx, x) || hd_check_broadcasts_to(cx, "value", &value, place) ||
        hd_assign_node(cx, &assign_class, x, v, &node))
        return cx->error.status;
    if (node) {
        node->payload = hd_alloc(cx, sizeof(hd_region));
        if (!node->payload) {
            hd_node_release_ref(node);
            return cx->error.status;
        }
        hd_locate(x, place, node->payload);
    }
    return hd_assign_finish(x, node, hd_copy_data(cx, place, &value));
}

/* ---- a mask ---------------------------------------------------------------------------------- */

/* The mask covers x's leading dimensions: with ones for the others it broadcasts to x. */
static hd_tensor *mask_over(hd_ctx *cx, const hd_tensor *x, hd_tensor *mask) {
    bool fits = mask->dtype == HD_BOOL && mask->ndim <= x->ndim;
    for (int d = 0; fits && d < mask->ndim; d++) fits = mask->shape[d] == x->shape[d];
    if (!fits) {
        char got[HD_SHAPE_TEXT], of[HD_SHAPE_TEXT];
        return hd_fail_null(cx, HD_EARG, "mask: expected bool with the leading sizes of %s, got %s %s",
                            hd_tensor_shape_text(x, of), hd_dtype_name((hd_dtype)mask->dtype),
                            hd_tensor_shape_text(mask, got));
    }
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) shape[d] = d < mask->ndim ? mask->shape[d] : 1;
    hd_tensor *dense = hd_contiguous_as(cx, mask, HD_BOOL);
    hd_tensor *own = dense && hd_shares_memory(dense, x) ? hd_clone(cx, dense)
                     : dense                             ? hd_retain(dense)
                                                         : NULL;
    bool possible;
    hd_tensor *over = own ? hd_view_reshape(cx, own, x->ndim, shape, &possible) : NULL;
    hd_release(dense);
    hd_release(own);
    return over;
}

/* What the masked places of a tensor like x are as a tensor: [count, sizes that the mask leaves]. */
static int picked_shape(const hd_tensor *x, int mask_ndim, int64_t count, int64_t shape[HD_MAX_DIMS]) {
    int ndim = 0;
    shape[ndim++] = count;
    for (int d = mask_ndim; d < x->ndim; d++) shape[ndim++] = x->shape[d];
    return ndim;
}

typedef struct mask_params {
    int mask_ndim;
    int64_t count;
} mask_params;

static hd_status assign_mask_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                      hd_tensor **grad_inputs) {
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    const mask_params *p = (const mask_params *)node->params;
    hd_tensor *mask = hd_node_saved(cx, node, 0);
    if (!mask) return cx->error.status;
    if (hd_node_needs(node, 0)) { /* dx = g with the masked places set to 0 */
        grad_inputs[0] = hd_masked_fill(cx, g, mask, hd_scalar_i(0));
        if (!grad_inputs[0]) return cx->error.status;
    }
    if (hd_node_needs(node, 1)) { /* dv = g's masked places in order */
        int64_t shape[HD_MAX_DIMS];
        int ndim = picked_shape(g, p->mask_ndim, p->count, shape);
        hd_tensor *flat = hd_masked_select(cx, g, mask);
        hd_tensor *rows = flat ? hd_reshape(cx, flat, ndim, shape) : NULL;
        hd_release(flat);
        grad_inputs[1] = hd_grad_to_input(cx, node, 1, rows);
        if (!grad_inputs[1]) return cx->error.status;
    }
    return HD_OK;
}
static const hd_node_class assign_mask_class = {"mask assignment", assign_mask_backward, NULL};

/* rows: contiguous [count, ...], of x's dtype. x is written through a contiguous copy when it is not. */
static hd_status write_masked(hd_ctx *cx, hd_tensor *x, const hd_tensor *mask, int64_t count,
                              const hd_tensor *rows) {
    hd_tensor *dense = hd_contiguous_as(cx, x, (hd_dtype)x->dtype);
    if (!dense) return cx->error.status;
    int64_t places = hd_numel(mask);
    size_t bytes = places ? (size_t)(hd_numel(x) / places) * hd_dtype_size((hd_dtype)x->dtype) : 0;
    hd_unpack_masked(places, count, bytes, hd_data(mask), hd_data(rows), hd_data(dense));
    hd_status status = dense == x ? HD_OK : hd_apply_copy(cx, x, dense);
    hd_release(dense);
    return status;
}

/* One row for every place: not a list, but what it is where the mask says so. */
static hd_status write_row(hd_ctx *cx, hd_tensor *x, const hd_tensor *mask, const hd_tensor *row) {
    hd_tensor *own = hd_value_rows(cx, row, (hd_dtype)x->dtype, row->ndim, row->shape);
    hd_status status = own ? hd_set_where(cx, x, mask, own) : cx->error.status;
    hd_release(own);
    return status;
}

static hd_status write_rows(hd_ctx *cx, hd_tensor *x, const hd_tensor *mask, int64_t count, int ndim,
                            const int64_t *shape, const hd_tensor *v) {
    hd_tensor row = *v;
    if (row.ndim == ndim && row.shape[0] == 1) row = hd_without_leading_ones(&row, ndim - 1);
    if (row.ndim < ndim && cx->kernels->where[x->dtype]) return write_row(cx, x, mask, &row);
    hd_tensor *rows = hd_value_rows(cx, v, (hd_dtype)x->dtype, ndim, shape);
    hd_status status = rows ? write_masked(cx, x, mask, count, rows) : cx->error.status;
    hd_release(rows);
    return status;
}

hd_tensor *hd_value_rows(hd_ctx *cx, const hd_tensor *v, hd_dtype dtype, int ndim, const int64_t *shape) {
    hd_tensor *rows = hd_tensor_new(cx, dtype, ndim, shape);
    if (rows && (hd_check_broadcasts_to(cx, "value", v, rows) || hd_apply_copy(cx, rows, v))) {
        hd_release(rows);
        return NULL;
    }
    return rows;
}

hd_status hd_assign_mask_(hd_ctx *cx, hd_tensor *x, hd_tensor *mask, hd_tensor *v) {
    hd_node *node = NULL;
    if (hd_check_inplace(cx, x)) return cx->error.status;
    hd_tensor *over = mask_over(cx, x, mask);
    if (!over) return cx->error.status;
    mask_params p = {mask->ndim, hd_count_true(over)};
    hd_tensor list = {0};
    list.ndim = (uint8_t)picked_shape(x, mask->ndim, p.count, list.shape);
    hd_tensor value = hd_without_leading_ones(v, list.ndim);
    hd_status status = hd_check_broadcasts_to(cx, "value", &value, &list);
    if (!status) status = hd_assign_node(cx, &assign_mask_class, x, v, &node);
    if (!status && node) {
        memcpy(node->params, &p, sizeof p);
        status = hd_node_save(cx, node, 0, over);
    }
    if (!status)
        status = hd_assign_finish(x, node, write_rows(cx, x, over, p.count, list.ndim, list.shape, &value));
    else if (node)
        hd_node_release_ref(node);
    hd_release(over);
    return status;
}
