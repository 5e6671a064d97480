/* join.c: several tensors into one.
 *
 *     cat:   y = parts one after another along dim   ->  d part = its stretch of g
 *     stack: y = parts along a new dimension         ->  d part = its slice of g
 */
#include <string.h>

#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "tensor/view.h"

static hd_status cat_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    const int64_t *lengths = node->payload;
    int64_t start = 0;
    for (int i = 0; i < node->num_inputs; i++) {
        if (hd_node_needs(node, i)) {
            hd_tensor *stretch = hd_view_narrow(cx, g, dim, start, lengths[i], 1);
            grad_inputs[i] = hd_grad_to_input(cx, node, i, stretch);
            if (!grad_inputs[i]) return cx->error.status;
        }
        start += lengths[i];
    }
    return HD_OK;
}

static void free_payload(hd_node *node) {
    hd_free(node->account, node->payload);
}

static const hd_node_class cat_class = {"cat", cat_backward, free_payload};

static hd_status stack_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    for (int i = 0; i < node->num_inputs; i++) {
        if (!hd_node_needs(node, i)) continue;
        grad_inputs[i] = hd_grad_to_input(cx, node, i, hd_view_select(cx, g, dim, i));
        if (!grad_inputs[i]) return cx->error.status;
    }
    return HD_OK;
}
static const hd_node_class stack_class = {"stack", stack_backward, NULL};

static hd_status check_part(hd_ctx *cx, int i, const hd_tensor *part, const hd_tensor *first, int free_dim) {
    bool fits = part->ndim == first->ndim;
    for (int d = 0; fits && d < part->ndim; d++) fits = d == free_dim || part->shape[d] == first->shape[d];
    if (fits) return HD_OK;
    char got[HD_SHAPE_TEXT], expected[HD_SHAPE_TEXT];
    return hd_fail(cx, HD_EARG, "tensor %d: expected the shape of the first%s, %s, got %s", i + 1,
                   free_dim < 0 ? "" : " in all other dimensions", hd_tensor_shape_text(first, expected),
                   hd_tensor_shape_text(part, got));
}

static hd_status common_dtype(hd_ctx *cx, int count, hd_tensor *const *parts, hd_dtype *dtype) {
    if (count < 1) return hd_fail(cx, HD_EARG, "tensors: expected at least one, got none");
    *dtype = (hd_dtype)parts[0]->dtype;
    for (int i = 1; i < count; i++) *dtype = hd_dtype_promote(*dtype, (hd_dtype)parts[i]->dtype);
    return HD_OK;
}

/* Writes part into its place, a view of y. Consumes place. */
static hd_status put(hd_ctx *cx, hd_tensor *place, const hd_tensor *part) {
    hd_status status = place ? hd_apply_copy(cx, place, part) : cx->error.status;
    hd_release(place);
    return status;
}

static hd_tensor *copy_along(hd_ctx *cx, int count, hd_tensor *const *parts, int dim, hd_dtype dtype) {
    int64_t shape[HD_MAX_DIMS];
    memcpy(shape, parts[0]->shape, sizeof shape);
    for (int i = 1; i < count; i++)
        if (__builtin_add_overflow(shape[dim], parts[i]->shape[dim], &shape[dim]))
            return hd_fail_null(cx, HD_EARG, "tensors: the sum of their sizes is too large");
    hd_tensor *y = hd_tensor_new(cx, dtype, parts[0]->ndim, shape);
    int64_t start = 0;
    for (int i = 0; y && i < count; i++) {
        int64_t length = parts[i]->shape[dim];
        if (put(cx, hd_view_narrow(cx, y, dim, start, length, 1), parts[i])) {
            hd_release(y);
            y = NULL;
        }
        start += length;
    }
    return y;
}

static hd_tensor *record_cat(hd_ctx *cx, hd_tensor *y, int count, hd_tensor *const *parts, int dim) {
    hd_node *node = hd_node_new(cx, &cat_class, count, parts, 1);
    int64_t *lengths = node ? hd_alloc(cx, (size_t)count * sizeof *lengths) : NULL;
    if (lengths) {
        for (int i = 0; i < count; i++) lengths[i] = parts[i]->shape[dim];
        node->payload = lengths;
        memcpy(node->params, &dim, sizeof dim);
        hd_node_output(node, 0, y);
    } else {
        hd_release(y);
        y = NULL;
    }
    if (node) hd_node_release_ref(node);
    return y;
}

hd_tensor *hd_cat(hd_ctx *cx, int count, hd_tensor *const *parts, int dim) {
    hd_dtype dtype = HD_F32;
    int d;
    if (common_dtype(cx, count, parts, &dtype)) return NULL;
    if (parts[0]->ndim == 0)
        return hd_fail_null(cx, HD_EARG, "tensor 1: expected at least one dimension, got []");
    if (hd_check_dim(cx, "dim", dim, parts[0]->ndim, &d)) return NULL;
    for (int i = 1; i < count; i++)
        if (check_part(cx, i, parts[i], parts[0], d)) return NULL;
    hd_tensor *y = copy_along(cx, count, parts, d, dtype);
    if (!y || !hd_dtype_is_float(dtype) || !hd_wants_grad(cx, count, parts)) return y;
    return record_cat(cx, y, count, parts, d);
}

hd_tensor *hd_stack(hd_ctx *cx, int count, hd_tensor *const *parts, int dim) {
    hd_dtype dtype = HD_F32;
    int d;
    if (common_dtype(cx, count, parts, &dtype)) return NULL;
    const hd_tensor *first = parts[0];
    if (first->ndim == HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "tensor 1: expected fewer than %d dimensions", HD_MAX_DIMS);
    if (hd_check_dim(cx, "dim", dim, first->ndim + 1, &d)) return NULL;
    for (int i = 1; i < count; i++)
        if (check_part(cx, i, parts[i], first, -1)) return NULL;
    int64_t shape[HD_MAX_DIMS];
    for (int i = 0; i <= first->ndim; i++)
        shape[i] = i < d ? first->shape[i] : i == d ? count : first->shape[i - 1];
    hd_tensor *y = hd_tensor_new(cx, dtype, first->ndim + 1, shape);
    for (int i = 0; y && i < count; i++) {
        if (put(cx, hd_view_select(cx, y, d, i), parts[i])) {
            hd_release(y);
            y = NULL;
        }
    }
    if (!y || !hd_dtype_is_float(dtype)) return y;
    return hd_record(cx, &stack_class, y, count, parts, 0, NULL, &d, sizeof d);
}
