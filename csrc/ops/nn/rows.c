#include "ops/nn/rows.h"

#include <stdio.h>

#include "base/parallel.h"

/* The leading dimensions as one, when each lies in memory as a whole number of the next. */
static bool fold(const hd_tensor *x, hd_rows *rows) {
    int last = x->ndim - 1;
    rows->data = hd_data(x);
    rows->size = hd_dtype_size((hd_dtype)x->dtype);
    rows->width = x->ndim ? x->shape[last] : 1;
    rows->stride = rows->width;
    rows->count = 1;
    if (x->ndim && rows->width > 1 && x->stride[last] != 1) return false;
    bool open = true; /* no dimension of more than one element so far */
    for (int d = last - 1; d >= 0; d--) {
        if (x->shape[d] == 1) continue;
        if (open) rows->stride = x->stride[d];
        if (!open && x->stride[d] != rows->stride * rows->count) return false;
        rows->count *= x->shape[d];
        open = false;
    }
    return rows->count <= 1 || rows->stride >= rows->width;
}

hd_tensor *hd_contiguous_detached(hd_ctx *cx, hd_tensor *x) {
    hd_tensor *alias = hd_tensor_alias(cx, x);
    if (!alias) return NULL;
    hd_tensor *packed = hd_contiguous(cx, alias);
    hd_release(alias);
    return packed;
}

hd_rows hd_rows_of(const hd_tensor *t) {
    int64_t width = t->ndim ? t->shape[t->ndim - 1] : 1, count = 1;
    for (int d = 0; d < t->ndim - 1; d++) count *= t->shape[d];
    return (hd_rows){hd_data(t), count, width, width, hd_dtype_size((hd_dtype)t->dtype)};
}

hd_tensor *hd_as_rows(hd_ctx *cx, hd_tensor *x, hd_rows *rows) {
    if (hd_numel(x) > 0 && fold(x, rows)) return hd_tensor_alias(cx, x);
    hd_tensor *packed = hd_contiguous_detached(cx, x);
    if (packed) *rows = hd_rows_of(packed);
    return packed;
}

/* x detached, its dimension `from` at `to`: a view. */
static hd_tensor *move_dim(hd_ctx *cx, hd_tensor *x, int from, int to) {
    hd_tensor *moved = hd_tensor_alias(cx, x);
    if (!moved || from == to) return moved;
    int64_t shape = x->shape[from], stride = x->stride[from];
    int step = from < to ? 1 : -1;
    for (int d = from; d != to; d += step) {
        moved->shape[d] = x->shape[d + step];
        moved->stride[d] = x->stride[d + step];
    }
    moved->shape[to] = shape;
    moved->stride[to] = stride;
    return moved;
}

hd_tensor *hd_rows_along(hd_ctx *cx, hd_tensor *x, int dim, hd_rows *rows) {
    hd_tensor *moved = move_dim(cx, x, dim, x->ndim ? x->ndim - 1 : 0);
    hd_tensor *out = moved ? hd_as_rows(cx, moved, rows) : NULL;
    hd_release(moved);
    return out;
}

hd_tensor *hd_rows_put_back(hd_ctx *cx, hd_tensor *y, int dim) {
    if (!y || y->ndim == 0 || dim == y->ndim - 1) return y;
    hd_tensor *moved = move_dim(cx, y, y->ndim - 1, dim);
    hd_tensor *out = moved ? hd_contiguous(cx, moved) : NULL;
    hd_release(moved);
    hd_release(y);
    return out;
}

int64_t hd_rows_grain(int64_t width) {
    const int64_t elements = 16384;
    return width >= elements ? 1 : elements / (width > 0 ? width : 1);
}

hd_status hd_require_float(hd_ctx *cx, const char *argument, const hd_tensor *t) {
    if (t->dtype == HD_F32 || t->dtype == HD_F64) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: expected f32 or f64, got %s; t:to \"f32\" converts", argument,
                   hd_dtype_name((hd_dtype)t->dtype));
}

hd_status hd_require_dtype(hd_ctx *cx, const char *argument, const hd_tensor *t, hd_dtype dtype) {
    if (t->dtype == dtype) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: expected %s, got %s; t:to \"%s\" converts", argument,
                   hd_dtype_name(dtype), hd_dtype_name((hd_dtype)t->dtype), hd_dtype_name(dtype));
}

hd_status hd_require_dtype_of(hd_ctx *cx, const char *argument, const hd_tensor *t, const char *owner,
                              const hd_tensor *w) {
    hd_dtype dtype = (hd_dtype)w->dtype;
    if (hd_require_float(cx, argument, t)) return cx->error.status;
    if (dtype != HD_F32 && dtype != HD_F64) return hd_require_dtype(cx, owner, w, (hd_dtype)t->dtype);
    if (t->dtype == w->dtype) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: expected %s as %s has, got %s; %s:to \"%s\" converts", argument,
                   hd_dtype_name(dtype), owner, hd_dtype_name((hd_dtype)t->dtype), argument,
                   hd_dtype_name(dtype));
}

hd_status hd_require_shape(hd_ctx *cx, const char *argument, const hd_tensor *t, int ndim,
                           const int64_t *shape) {
    bool same = t->ndim == ndim;
    for (int d = 0; same && d < ndim; d++) same = t->shape[d] == shape[d];
    if (same) return HD_OK;
    char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
    return hd_fail(cx, HD_EARG, "%s: expected shape %s, got %s", argument,
                   hd_shape_text(ndim, shape, expected), hd_tensor_shape_text(t, got));
}

hd_status hd_require_probability(hd_ctx *cx, const char *argument, double p) {
    if (p >= 0 && p <= 1) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: expected a probability from 0 to 1, got %g", argument, p);
}

static hd_status outside(hd_ctx *cx, const char *argument, const hd_tensor *t, const int64_t *index,
                         int64_t value, int64_t n, const int64_t *ignored) {
    int64_t position[HD_MAX_DIMS];
    char text[HD_SHAPE_TEXT], also[48] = "";
    for (int d = 0; d < t->ndim; d++) position[d] = index[d] + 1;
    if (ignored) snprintf(also, sizeof also, " or ignore_index %lld", (long long)*ignored);
    const char *hint = value == 0                  ? "; they count from 1"
                       : value == -100 && !ignored ? "; ignore_index = -100 leaves them out"
                                                   : "";
    return hd_fail(cx, HD_EARG, "%s: expected values in 1..%lld%s, got %lld at %s%s", argument, (long long)n,
                   also, (long long)value, hd_shape_text(t->ndim, position, text), hint);
}

hd_status hd_require_classes(hd_ctx *cx, const char *argument, const hd_tensor *t, int64_t n,
                             const int64_t *ignored) {
    if (hd_dtype_is_float((hd_dtype)t->dtype))
        return hd_fail(cx, HD_EARG,
                       "%s: expected integers, got %s; heed.ids(...) makes them, t:to \"i64\" converts",
                       argument, hd_dtype_name((hd_dtype)t->dtype));
    if (hd_require_dtype(cx, argument, t, HD_I64)) return cx->error.status;
    if (t->storage->meta) return HD_OK;
    const int64_t *base = hd_data(t);
    int64_t index[HD_MAX_DIMS] = {0};
    for (int64_t left = hd_numel(t); left > 0; left--) {
        int64_t at = 0;
        if (hd_check_cancel(cx, left)) return cx->error.status;
        for (int d = 0; d < t->ndim; d++) at += index[d] * t->stride[d];
        int64_t value = base[at];
        if ((value < 1 || value > n) && !(ignored && value == *ignored))
            return outside(cx, argument, t, index, value, n, ignored);
        for (int d = t->ndim - 1; d >= 0 && ++index[d] == t->shape[d]; d--) index[d] = 0;
    }
    return HD_OK;
}
