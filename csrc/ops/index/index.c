/* index.c: x[key] where some dimensions have an index tensor.
 *
 *     y[.., p, ..] = x[.., i[p], j[p], ..]  ->  dx[.., i[p], j[p], ..] += g[.., p, ..]
 *
 * The indexed dimensions become one, and index_select does the rest, backward too.
 */
#include "ops/index/index.h"

#include <string.h>

#include "tensor/view.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"

/* ---- the indices ------------------------------------------------------------------------------- */

static hd_status check_values(hd_ctx *cx, const hd_tensor *index, int64_t size, bool *negative) {
    const int64_t *v = hd_data(index);
    *negative = false;
    if (index->storage->meta) return HD_OK;
    for (int64_t i = 0, n = hd_numel(index); i < n; i++) {
        if (v[i] == 0 || v[i] > size || v[i] < -size)
            return hd_fail(cx, HD_EARG,
                           "index: expected values in 1..%lld or -%lld..-1, got %lld at position %lld%s",
                           (long long)size, (long long)size, (long long)v[i], (long long)i + 1,
                           v[i] == 0 ? "; they count from 1" : "");
        *negative = *negative || v[i] < 0;
    }
    return HD_OK;
}

static hd_tensor *from_the_end(hd_ctx *cx, const hd_tensor *index, int64_t size) {
    hd_tensor *y = hd_tensor_like(cx, index);
    const int64_t *v = hd_data(index);
    for (int64_t i = 0, n = hd_numel(index); y && i < n; i++)
        ((int64_t *)hd_data(y))[i] = v[i] < 0 ? v[i] + size + 1 : v[i];
    return y;
}

static hd_tensor *owned(hd_ctx *cx, hd_tensor *index, const hd_tensor *written) {
    if (!hd_dtype_is_integer((hd_dtype)index->dtype))
        return hd_fail_null(
            cx, HD_EARG, "index: expected integers, got %s; heed.ids(...) makes them, t:to \"i64\" converts",
            hd_dtype_name((hd_dtype)index->dtype));
    bool apart = written && hd_shares_memory(index, written);
    return apart && index->dtype == HD_I64 ? hd_clone(cx, index) : hd_contiguous_as(cx, index, HD_I64);
}

static hd_tensor *positions(hd_ctx *cx, hd_tensor *index, int64_t size, const hd_tensor *written) {
    bool negative = false;
    hd_tensor *own = owned(cx, index, written), *y = NULL;
    if (own && !check_values(cx, own, size, &negative))
        y = negative ? from_the_end(cx, own, size) : hd_retain(own);
    hd_release(own);
    return y;
}

/* The shape of all indices together, and each expanded to it. */
static hd_status broadcast(hd_ctx *cx, hd_lookup *l) {
    hd_tensor together = *l->index[0];
    for (int i = 1; i < l->count; i++) {
        int ndim;
        int64_t shape[HD_MAX_DIMS];
        if (hd_broadcast_shape(cx, &together, l->index[i], &ndim, shape)) return cx->error.status;
        together.ndim = (uint8_t)ndim;
        memcpy(together.shape, shape, sizeof together.shape);
    }
    l->ndim = together.ndim;
    memcpy(l->shape, together.shape, sizeof l->shape);
    l->places = hd_numel(&together);
    for (int i = 0; i < l->count; i++) {
        hd_tensor *wide = hd_view_expand(cx, l->index[i], l->ndim, l->shape);
        hd_tensor *dense = wide ? hd_contiguous_as(cx, wide, HD_I64) : NULL;
        hd_release(wide);
        if (!dense) return cx->error.status;
        hd_release(l->index[i]);
        l->index[i] = dense;
    }
    return HD_OK;
}

static hd_status shape_result(hd_ctx *cx, hd_lookup *l, const hd_tensor *x) {
    bool neighbours = l->dims[l->count - 1] - l->dims[0] == l->count - 1;
    int total = x->ndim - l->count + l->ndim, n = 0;
    if (total > HD_MAX_DIMS)
        return hd_fail(cx, HD_EARG, "index: the result would have more than %d dimensions", HD_MAX_DIMS);
    l->at = neighbours ? l->dims[0] : 0;
    int64_t rest[HD_MAX_DIMS];
    int others = 0;
    for (int d = 0, k = 0; d < x->ndim; d++) {
        if (k < l->count && l->dims[k] == d)
            k++;
        else
            rest[others++] = x->shape[d];
    }
    for (int i = 0; i < l->at; i++) l->result[n++] = rest[i];
    for (int i = 0; i < l->ndim; i++) l->result[n++] = l->shape[i];
    for (int i = l->at; i < others; i++) l->result[n++] = rest[i];
    l->result_ndim = n;
    return HD_OK;
}

hd_status hd_lookup_begin(hd_ctx *cx, hd_lookup *l, const hd_tensor *x, hd_tensor *const *index,
                          const hd_tensor *written) {
    *l = (hd_lookup){0};
    for (int d = 0; d < x->ndim; d++) {
        if (!index[d]) continue;
        l->dims[l->count] = d;
        l->index[l->count] = positions(cx, index[d], x->shape[d], written);
        if (!l->index[l->count]) return cx->error.status;
        l->count++;
    }
    hd_status status = broadcast(cx, l);
    return status ? status : shape_result(cx, l, x);
}

void hd_lookup_end(hd_lookup *l) {
    for (int i = 0; i < l->count; i++) hd_release(l->index[i]);
    l->count = 0;
}

/* All indexed dimensions as one: the place in it, from 1, for each element; i64 of the shape. A new reference. */
static hd_tensor *joined_index(hd_ctx *cx, const hd_lookup *l, const int64_t *sizes) {
    if (l->count == 1) return hd_retain(l->index[0]);
    hd_tensor *joined = hd_tensor_new(cx, HD_I64, l->ndim, l->shape);
    for (int64_t p = 0; joined && p < l->places; p++) {
        int64_t at = 0;
        for (int i = 0; i < l->count; i++)
            at = at * sizes[l->dims[i]] + ((const int64_t *)hd_data(l->index[i]))[p] - 1;
        ((int64_t *)hd_data(joined))[p] = at + 1;
    }
    return joined;
}

/* ---- reading ----------------------------------------------------------------------------------- */

/* x with the indexed dimensions, as one, at place l->at; a new reference. */
static hd_tensor *join_dims(hd_ctx *cx, hd_tensor *x, const hd_lookup *l) {
    int order[HD_MAX_DIMS], n = 0, others = 0;
    int64_t shape[HD_MAX_DIMS], joined = 1;
    for (int i = 0; i < l->count; i++) joined *= x->shape[l->dims[i]];
    for (int d = 0, k = 0; d < x->ndim; d++) {
        bool indexed = k < l->count && l->dims[k] == d;
        if (indexed && k++ > 0) continue;
        if (indexed && l->at > 0) shape[others++] = joined; /* neighbours: where they are */
        if (!indexed) shape[others++] = x->shape[d];
    }
    if (l->at == 0) {
        memmove(shape + 1, shape, (size_t)others * sizeof *shape);
        shape[0] = joined;
        others++;
    }
    for (int i = 0; i < l->at; i++) order[n++] = i;
    for (int i = 0; i < l->count; i++) order[n++] = l->dims[i];
    for (int d = l->at, k = 0; d < x->ndim; d++) {
        while (k < l->count && l->dims[k] < d) k++;
        if (k == l->count || l->dims[k] != d) order[n++] = d;
    }
    hd_tensor *ordered = hd_permute(cx, x, order);
    hd_tensor *y = ordered ? hd_reshape(cx, ordered, others, shape) : NULL;
    hd_release(ordered);
    return y;
}

hd_tensor *hd_index(hd_ctx *cx, hd_tensor *x, hd_tensor *const *index) {
    hd_lookup l;
    hd_tensor *y = NULL;
    if (!hd_lookup_begin(cx, &l, x, index, NULL)) {
        hd_tensor *at = joined_index(cx, &l, x->shape);
        hd_tensor *from = !at ? NULL : l.count == 1 ? hd_retain(x) : join_dims(cx, x, &l);
        if (from) y = hd_index_select(cx, from, l.at, at);
        hd_release(from);
        hd_release(at);
    }
    hd_lookup_end(&l);
    return y;
}

/* ---- masks among them ---------------------------------------------------------------------------- */

hd_status hd_mask_places(hd_ctx *cx, hd_tensor *mask, hd_tensor **index) {
    hd_tensor *dense = hd_contiguous_as(cx, mask, HD_BOOL);
    if (!dense) return cx->error.status;
    int64_t count = hd_count_true(dense);
    hd_status status = HD_OK;
    int made = 0;
    for (; made < mask->ndim && !status; made++) {
        index[made] = hd_tensor_new(cx, HD_I64, 1, &count);
        status = hd_made(cx, index[made]);
    }
    const uint8_t *m = hd_data(dense);
    for (int64_t i = 0, n = status ? 0 : hd_numel(dense), found = 0; i < n; i++) {
        if (!m[i]) continue;
        int64_t rest = i;
        for (int d = mask->ndim - 1; d >= 0; d--) {
            ((int64_t *)hd_data(index[d]))[found] = rest % mask->shape[d] + 1;
            rest /= mask->shape[d];
        }
        found++;
    }
    for (int d = 0; status && d < made; d++) {
        hd_release(index[d]);
        index[d] = NULL;
    }
    hd_release(dense);
    return status;
}
