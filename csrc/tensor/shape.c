#include <stdio.h>
#include <string.h>

#include "tensor/tensor.h"

int64_t hd_numel(const hd_tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0) return 0;
        n *= t->shape[i];
    }
    return n;
}

bool hd_is_contiguous(const hd_tensor *t) {
    int64_t expected = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] == 1) continue;
        if (t->stride[i] != expected) return hd_numel(t) == 0;
        expected *= t->shape[i];
    }
    return true;
}

bool hd_same_shape(const hd_tensor *a, const hd_tensor *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, sizeof a->shape[0] * a->ndim) == 0;
}

static int64_t magnitude(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

/* Dimensions of more than one element, from the smallest stride up. */
static int sorted_by_stride(const hd_tensor *t, int order[HD_MAX_DIMS]) {
    int n = 0;
    for (int dim = 0; dim < t->ndim; dim++) {
        if (t->shape[dim] <= 1) continue;
        int place = n++;
        while (place > 0 && magnitude(t->stride[order[place - 1]]) > magnitude(t->stride[dim])) {
            order[place] = order[place - 1];
            place--;
        }
        order[place] = dim;
    }
    return n;
}

bool hd_overlaps_itself(const hd_tensor *t) {
    int order[HD_MAX_DIMS];
    if (hd_numel(t) <= 1) return false;
    int n = sorted_by_stride(t, order);
    /* Each stride must step over everything that the smaller ones reach. Strides that interleave without
     * meeting are contrived, and count as overlapping. */
    int64_t reach = 0;
    for (int i = 0; i < n; i++) {
        int64_t stride = magnitude(t->stride[order[i]]);
        if (stride <= reach) return true;
        reach += stride * (t->shape[order[i]] - 1);
    }
    return false;
}

hd_status hd_check_dim(hd_ctx *cx, const char *argument, int64_t dim, int ndim, int *out) {
    if (dim >= -ndim && dim < ndim) {
        *out = (int)(dim < 0 ? dim + ndim : dim);
        return HD_OK;
    }
    /* counted as in Lua: what the user typed */
    long long typed = dim < 0 || dim == INT64_MAX ? dim : dim + 1;
    if (ndim == 0)
        return hd_fail(cx, HD_EARG, "%s: expected a tensor with dimensions, got %lld of a scalar", argument,
                       typed);
    return hd_fail(cx, HD_EARG, "%s: expected a dimension 1..%d or -%d..-1, got %lld", argument, ndim, ndim,
                   typed);
}

hd_status hd_check_shape(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape, int64_t *numel) {
    if (ndim < 0 || ndim > HD_MAX_DIMS)
        return hd_fail(cx, HD_EARG, "shape: expected at most %d dimensions, got %d", HD_MAX_DIMS, ndim);
    char text[HD_SHAPE_TEXT];
    bool empty = false;
    int64_t bytes = (int64_t)hd_dtype_size(dtype);
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return hd_fail(cx, HD_EARG, "shape: expected sizes of 0 or more, got %s",
                           hd_shape_text(ndim, shape, text));
        if (shape[i] == 0) empty = true;
        /* Sizes beside a 0 count too, because strides are products of them. */
        else if (!hd_mul_fits(bytes, shape[i], &bytes))
            return hd_fail(cx, HD_EARG, "shape: %s has more elements than memory can hold",
                           hd_shape_text(ndim, shape, text));
    }
    *numel = empty ? 0 : bytes / (int64_t)hd_dtype_size(dtype);
    return HD_OK;
}

void hd_contiguous_strides(int ndim, const int64_t *shape, int64_t *stride) {
    int64_t step = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = step;
        if (shape[i] > 1) step *= shape[i];
    }
}

/* The size of dimension `dim` of t, with its shape filled up with ones on the left to ndim dimensions. */
static int64_t size_in(const hd_tensor *t, int dim, int ndim) {
    int own = dim - (ndim - t->ndim);
    return own < 0 ? 1 : t->shape[own];
}

/* The place in the shorter of two shapes where a dimension of size 1 makes them broadcast, counted as in
 * Lua, and the shape with it; 0: there is none. */
static int fitting_unsqueeze(const hd_tensor *a, const hd_tensor *b, hd_tensor *made) {
    const hd_tensor *less = a->ndim < b->ndim ? a : b, *more = less == a ? b : a;
    if (less->ndim == 0 || less->ndim == more->ndim) return 0;
    for (int place = less->ndim; place > 0; place--) {
        bool fits = true;
        made->ndim = less->ndim + 1;
        for (int i = 0; i < made->ndim; i++) made->shape[i] = i == place ? 1 : less->shape[i - (i > place)];
        for (int i = 0; i < more->ndim && fits; i++) {
            int64_t x = size_in(made, i, more->ndim), y = more->shape[i];
            fits = x == y || x == 1 || y == 1;
        }
        if (fits) return place + 1;
    }
    return 0;
}

static hd_status do_not_broadcast(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b) {
    char left[HD_SHAPE_TEXT], right[HD_SHAPE_TEXT], new[HD_SHAPE_TEXT];
    hd_tensor made;
    int place = fitting_unsqueeze(a, b, &made);
    hd_tensor_shape_text(a, left);
    hd_tensor_shape_text(b, right);
    if (place == 0)
        return hd_fail(cx, HD_EARG, "shapes: expected two that broadcast, got %s and %s", left, right);
    return hd_fail(
        cx, HD_EARG,
        "shapes: expected two that broadcast, got %s and %s; the %s by unsqueeze(%d) is %s and fits", left,
        right, a->ndim < b->ndim ? "first" : "second", place, hd_tensor_shape_text(&made, new));
}

hd_status hd_broadcast_shape(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b, int *ndim, int64_t *shape) {
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    for (int i = 0; i < n; i++) {
        int64_t x = size_in(a, i, n), y = size_in(b, i, n);
        if (x != y && x != 1 && y != 1) return do_not_broadcast(cx, a, b);
        shape[i] = x == 1 ? y : x;
    }
    *ndim = n;
    int64_t numel;
    return hd_check_shape(cx, HD_F64, n, shape, &numel);
}

void hd_broadcast_strides(const hd_tensor *t, int ndim, const int64_t *shape, int64_t *stride) {
    for (int i = 0; i < ndim; i++) {
        int own = i - (ndim - t->ndim);
        bool repeats = own < 0 || (t->shape[own] == 1 && shape[i] != 1);
        stride[i] = repeats ? 0 : t->stride[own];
    }
}

const char *hd_shape_text(int ndim, const int64_t *shape, char buffer[HD_SHAPE_TEXT]) {
    enum { ROOM = HD_SHAPE_TEXT - 5 }; /* "...]" and the zero */
    int used = 1;
    buffer[0] = '[';
    for (int i = 0; i < ndim; i++) {
        char size[32];
        int length = snprintf(size, sizeof size, i == 0 ? "%lld" : ", %lld", (long long)shape[i]);
        if (used + length > ROOM) {
            memcpy(buffer + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(buffer + used, size, (size_t)length);
        used += length;
    }
    buffer[used] = ']';
    buffer[used + 1] = '\0';
    return buffer;
}

const char *hd_tensor_shape_text(const hd_tensor *t, char buffer[HD_SHAPE_TEXT]) {
    return hd_shape_text(t->ndim, t->shape, buffer);
}
