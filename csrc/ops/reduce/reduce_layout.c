#include "ops/reduce/reduce_layout.h"

#include <string.h>

#include "ops/elementwise/walk.h"

/* Reduced dimensions that are one behind the other: outer, length, inner. False when they are not. */
static bool is_one_group(const hd_tensor *x, uint32_t dims, hd_fold *f) {
    f->outer = f->length = f->inner = 1;
    int state = 0; /* before the group, in it, behind it */
    for (int d = 0; d < x->ndim; d++) {
        if (x->shape[d] == 1) continue;
        bool reduced = dims >> d & 1;
        if (reduced && state == 2) return false;
        if (reduced) state = 1;
        if (!reduced && state == 1) state = 2;
        *(reduced ? &f->length : state ? &f->inner : &f->outer) *= x->shape[d];
    }
    return true;
}

hd_status hd_fold_begin(hd_ctx *cx, hd_tensor *x, uint32_t dims, hd_fold *f) {
    uint32_t permuted_dims = 0;
    hd_memory_order(x, f->order);
    hd_tensor permuted = hd_in_order(x, f->order);
    f->ndim = x->ndim;
    f->dtype = (hd_dtype)x->dtype;
    f->packed = NULL;
    for (int i = 0; i < x->ndim; i++) permuted_dims |= (dims >> f->order[i] & 1) << i;
    if (hd_numel(x) > 0 && hd_is_contiguous(&permuted) && is_one_group(&permuted, permuted_dims, f)) {
        f->data = hd_data(&permuted);
    } else {
        f->packed = hd_rows_to_reduce(cx, x, dims, &f->outer, &f->length);
        if (!f->packed) return cx->error.status;
        f->data = hd_data(f->packed);
        f->outer = f->inner = 1; /* where there are no elements, there may be rows all the same */
        for (int d = 0; d < x->ndim; d++)
            if (!(dims >> d & 1)) f->outer *= x->shape[d];
        for (int d = 0; d < x->ndim; d++) f->order[d] = d;
        permuted = *x;
        permuted_dims = dims;
    }
    for (int i = 0; i < x->ndim; i++) f->shape[i] = permuted_dims >> i & 1 ? 1 : permuted.shape[i];
    return HD_OK;
}

void hd_fold_end(hd_fold *f) {
    hd_release(f->packed);
    f->packed = NULL;
}

hd_tensor *hd_fold_result(hd_ctx *cx, const hd_fold *f, hd_dtype dtype) {
    return hd_tensor_new(cx, dtype, f->ndim, f->shape);
}

hd_tensor *hd_fold_back(hd_ctx *cx, const hd_fold *f, hd_tensor *z) {
    if (!z) return NULL;
    int back[HD_MAX_DIMS];
    bool is_permuted = false;
    for (int i = 0; i < f->ndim; i++) {
        back[f->order[i]] = i;
        is_permuted = is_permuted || f->order[i] != i;
    }
    if (!is_permuted) return z;
    hd_tensor ordered = hd_in_order(z, back);
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)z->dtype, f->ndim, ordered.shape);
    if (y && hd_apply_copy(cx, y, &ordered)) {
        hd_release(y);
        y = NULL;
    }
    hd_release(z);
    return y;
}
