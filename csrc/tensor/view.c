#include "tensor/view.h"

#include <string.h>

/* The header of a view while it is computed. */
typedef struct layout {
    int ndim;
    int64_t shape[HD_MAX_DIMS], stride[HD_MAX_DIMS];
    int64_t offset;
} layout;

static layout layout_of(const hd_tensor *t) {
    layout l = {.ndim = t->ndim, .offset = t->offset};
    memcpy(l.shape, t->shape, sizeof l.shape);
    memcpy(l.stride, t->stride, sizeof l.stride);
    return l;
}

static hd_tensor *view_of(hd_ctx *cx, const hd_tensor *t, const layout *l) {
    return hd_tensor_view(cx, t, l->ndim, l->shape, l->stride, l->offset);
}

static void remove_dim(layout *l, int dim) {
    l->ndim--;
    for (int i = dim; i < l->ndim; i++) {
        l->shape[i] = l->shape[i + 1];
        l->stride[i] = l->stride[i + 1];
    }
}

/* A place as Lua counts it, for messages. */
static long long counted(int64_t place) {
    return place < 0 || place == INT64_MAX ? place : place + 1;
}

/* ---- order --------------------------------------------------------------------------------------------- */

hd_tensor *hd_view_permute(hd_ctx *cx, const hd_tensor *t, int count, const int64_t *dims) {
    if (count != t->ndim)
        return hd_fail_null(cx, HD_EARG, "dims: expected all %d dimensions, got %d", t->ndim, count);
    layout l = layout_of(t);
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        int dim;
        if (hd_check_dim(cx, "dims", dims[i], t->ndim, &dim)) return NULL;
        if (seen & 1u << dim)
            return hd_fail_null(cx, HD_EARG, "dims: expected every dimension once, got %d twice", dim + 1);
        seen |= 1u << dim;
        l.shape[i] = t->shape[dim];
        l.stride[i] = t->stride[dim];
    }
    return view_of(cx, t, &l);
}

hd_tensor *hd_view_transpose(hd_ctx *cx, const hd_tensor *t, int64_t dim1, int64_t dim2) {
    int a, b;
    if (hd_check_dim(cx, "dim1", dim1, t->ndim, &a)) return NULL;
    if (hd_check_dim(cx, "dim2", dim2, t->ndim, &b)) return NULL;
    layout l = layout_of(t);
    l.shape[a] = t->shape[b];
    l.stride[a] = t->stride[b];
    l.shape[b] = t->shape[a];
    l.stride[b] = t->stride[a];
    return view_of(cx, t, &l);
}

/* ---- parts --------------------------------------------------------------------------------------------- */

hd_tensor *hd_view_narrow(hd_ctx *cx, const hd_tensor *t, int64_t dim, int64_t start, int64_t length,
                          int64_t step) {
    int d;
    if (hd_check_dim(cx, "dim", dim, t->ndim, &d)) return NULL;
    int64_t size = t->shape[d];
    if (step < 1) return hd_fail_null(cx, HD_EARG, "step: expected 1 or more, got %lld", (long long)step);
    if (length < 0)
        return hd_fail_null(cx, HD_EARG, "length: expected 0 or more, got %lld", (long long)length);
    if (start < 0 || start > size)
        return hd_fail_null(cx, HD_EARG, "start: expected 1 to %lld in dimension %d, got %lld",
                            (long long)(size > 0 ? size : 1), d + 1, counted(start));
    /* elements from start on, in steps */
    int64_t available = start < size ? (size - start - 1) / step + 1 : 0;
    if (length > available)
        return hd_fail_null(
            cx, HD_EARG, "length: expected at most %lld from %lld on in dimension %d of size %lld, got %lld",
            (long long)available, (long long)start + 1, d + 1, (long long)size, (long long)length);
    layout l = layout_of(t);
    l.shape[d] = length;
    if (length > 0) l.offset += start * t->stride[d];
    if (length > 1) l.stride[d] = t->stride[d] * step;
    return view_of(cx, t, &l);
}

hd_tensor *hd_view_select(hd_ctx *cx, const hd_tensor *t, int64_t dim, int64_t index) {
    int d;
    if (hd_check_dim(cx, "dim", dim, t->ndim, &d)) return NULL;
    if (index < 0 || index >= t->shape[d])
        return hd_fail_null(cx, HD_EARG, "index: expected 1 to %lld in dimension %d, got %lld",
                            (long long)t->shape[d], d + 1, counted(index));
    layout l = layout_of(t);
    l.offset += index * t->stride[d];
    remove_dim(&l, d);
    return view_of(cx, t, &l);
}

hd_tensor *hd_view_diagonal(hd_ctx *cx, const hd_tensor *t, int64_t offset, int64_t dim1, int64_t dim2) {
    int a, b;
    if (hd_check_dim(cx, "dim1", dim1, t->ndim, &a)) return NULL;
    if (hd_check_dim(cx, "dim2", dim2, t->ndim, &b)) return NULL;
    if (a == b)
        return hd_fail_null(cx, HD_EARG, "dim2: expected another dimension than dim1, got %d twice", a + 1);
    int64_t rows = t->shape[a], columns = t->shape[b];
    if (offset > columns || -(offset + 1) >= rows)
        offset = offset > 0 ? columns : -rows; /* beyond the corner: an empty diagonal */
    if (offset >= 0)
        columns -= offset;
    else
        rows += offset;
    layout l = layout_of(t);
    l.offset += offset >= 0 ? offset * t->stride[b] : -offset * t->stride[a];
    remove_dim(&l, a > b ? a : b);
    remove_dim(&l, a > b ? b : a);
    l.shape[l.ndim] = rows < columns ? rows : columns;
    l.stride[l.ndim] = t->stride[a] + t->stride[b];
    l.ndim++;
    return view_of(cx, t, &l);
}

/* ---- dimensions of size 1 -------------------------------------------------------------------- */

hd_tensor *hd_view_unsqueeze(hd_ctx *cx, const hd_tensor *t, int64_t dim) {
    int d;
    if (hd_check_dim(cx, "dim", dim, t->ndim + 1, &d)) return NULL;
    if (t->ndim == HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "dim: expected a tensor of fewer than %d dimensions", HD_MAX_DIMS);
    layout l = layout_of(t);
    for (int i = l.ndim; i > d; i--) {
        l.shape[i] = l.shape[i - 1];
        l.stride[i] = l.stride[i - 1];
    }
    l.ndim++;
    l.stride[d] = d + 1 < l.ndim ? l.shape[d + 1] * l.stride[d + 1] : 1;
    l.shape[d] = 1;
    return view_of(cx, t, &l);
}

hd_tensor *hd_view_squeeze_dims(hd_ctx *cx, const hd_tensor *t, uint32_t dims) {
    layout l = layout_of(t);
    for (int d = l.ndim - 1; d >= 0; d--)
        if (dims >> d & 1 && l.shape[d] == 1) remove_dim(&l, d);
    return view_of(cx, t, &l);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

hd_tensor *hd_view_expand(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *shape) {
    char from[HD_SHAPE_TEXT], to[HD_SHAPE_TEXT];
    if (ndim < t->ndim || ndim > HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "shape: expected %d to %d dimensions, got %s", t->ndim, HD_MAX_DIMS,
                            hd_shape_text(ndim < HD_MAX_DIMS ? ndim : HD_MAX_DIMS, shape, to));
    layout l = {.ndim = ndim, .offset = t->offset};
    for (int i = 0; i < ndim; i++) {
        int own = i - (ndim - t->ndim);
        bool keeps = own >= 0 && (shape[i] == -1 || shape[i] == t->shape[own]);
        if (!keeps && (shape[i] < 0 || (own >= 0 && t->shape[own] != 1)))
            return hd_fail_null(cx, HD_EARG, "shape: expected one that %s can be expanded to, got %s",
                                hd_tensor_shape_text(t, from), hd_shape_text(ndim, shape, to));
        l.shape[i] = keeps ? t->shape[own] : shape[i];
        l.stride[i] = keeps ? t->stride[own] : 0;
    }
    return view_of(cx, t, &l);
}

static hd_status cannot_reshape(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *wanted) {
    char from[HD_SHAPE_TEXT], to[HD_SHAPE_TEXT];
    return hd_fail(cx, HD_EARG, "shape: expected sizes for the %lld elements of %s, got %s",
                   (long long)hd_numel(t), hd_tensor_shape_text(t, from), hd_shape_text(ndim, wanted, to));
}

hd_status hd_infer_shape(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *wanted, int64_t *shape) {
    int64_t known, numel = hd_numel(t);
    int open = -1;
    if (ndim < 0 || ndim > HD_MAX_DIMS)
        return hd_fail(cx, HD_EARG, "shape: expected at most %d dimensions, got %d", HD_MAX_DIMS, ndim);
    for (int i = 0; i < ndim; i++) {
        shape[i] = wanted[i];
        if (wanted[i] != -1) continue;
        if (open >= 0) return hd_fail(cx, HD_EARG, "shape: expected at most one size of -1, got two");
        open = i;
        shape[i] = 1;
    }
    if (hd_check_shape(cx, (hd_dtype)t->dtype, ndim, shape, &known)) return cx->error.status;
    if (open >= 0) {
        /* beside a size of 0 any size would fit, so none is chosen */
        if (known == 0 || numel % known != 0) return cannot_reshape(cx, t, ndim, wanted);
        shape[open] = numel / known;
        known = numel;
    }
    return known == numel ? HD_OK : cannot_reshape(cx, t, ndim, wanted);
}

/* From the last dimension to the first: neighbouring dimensions of t that lie in memory as one run are
 * joined, and the run is cut into dimensions of the new shape. False if no cut fits the end of a run. */
static bool strides_for(const hd_tensor *t, int ndim, const int64_t *shape, int64_t *stride) {
    int from = t->ndim - 1, to = ndim - 1;
    while (from >= 0) {
        int64_t run = t->shape[from], step = t->stride[from];
        int first = from;
        while (first > 0 && (t->shape[first - 1] == 1 || run == 1 || t->stride[first - 1] == step * run)) {
            first--;
            if (run == 1) step = t->stride[first];
            run *= t->shape[first];
        }
        int64_t covered = 1;
        while (to >= 0 && (covered < run || shape[to] == 1)) {
            stride[to] = step * covered;
            covered *= shape[to--];
        }
        if (covered != run) return false;
        from = first - 1;
    }
    while (to >= 0) stride[to--] = 1; /* only sizes of 1 are left */
    return true;
}

hd_tensor *hd_view_reshape(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *shape, bool *possible) {
    layout l = {.ndim = ndim, .offset = t->offset};
    *possible = true;
    if (hd_infer_shape(cx, t, ndim, shape, l.shape)) return NULL;
    if (hd_is_contiguous(t)) {
        hd_contiguous_strides(ndim, l.shape, l.stride);
    } else if (!strides_for(t, ndim, l.shape, l.stride)) {
        *possible = false;
        return NULL;
    }
    return view_of(cx, t, &l);
}
