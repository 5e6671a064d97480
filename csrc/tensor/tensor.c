#include "tensor/tensor.h"

#include <string.h>

#include "base/meta.h"
#include "base/sanitizers.h"

/* ---- storage ------------------------------------------------------------------------------------------- */

/* The elements of a small tensor lie in the block of its storage, behind the record: one allocation
 * instead of two. Not under AddressSanitizer, which should see writes beyond them. */
enum { INLINE_DATA = 64, INLINE_LIMIT = 960 };
_Static_assert(sizeof(hd_storage) <= INLINE_DATA, "the record ends where inline data begins");

static bool is_inline(const hd_storage *s) {
    return s->data == (const char *)s + INLINE_DATA;
}

static void storage_begin(hd_ctx *cx, hd_storage *s, size_t bytes) {
    s->refs = 1;
    s->version = 0;
    s->meta = false;
    s->bytes = bytes;
    s->account = cx->account;
    s->owner_kind = NULL;
    hd_account_retain(s->account);
}

static hd_storage *storage_new(hd_ctx *cx, size_t bytes) {
    bool is_small = !HD_ASAN && bytes <= INLINE_LIMIT;
    hd_storage *s = hd_alloc(cx, is_small ? INLINE_DATA + bytes : sizeof *s);
    if (s == NULL) return NULL;
    s->data = is_small ? (char *)s + INLINE_DATA : hd_alloc(cx, bytes);
    if (s->data == NULL) {
        hd_free(cx->account, s);
        return NULL;
    }
    storage_begin(cx, s, bytes);
    return s;
}

/* Releases the memory when it fails. */
static hd_storage *owned_new(hd_ctx *cx, void *data, size_t bytes, const hd_memory_owner *kind, void *owner) {
    hd_storage *s = hd_alloc(cx, sizeof *s);
    if (s == NULL) {
        kind->release(owner, data, bytes);
        return NULL;
    }
    storage_begin(cx, s, bytes);
    s->data = data;
    s->owner_kind = kind;
    s->owner = owner;
    return s;
}

static void release_meta(void *owner, void *data, size_t bytes) {
    (void)owner;
    hd_meta_free(data, bytes);
}

static hd_storage *meta_new(hd_ctx *cx, size_t bytes) {
    static const hd_memory_owner kind = {.release = release_meta};
    void *data = hd_meta_new(cx, bytes);
    hd_storage *s = data != NULL ? owned_new(cx, data, bytes, &kind, NULL) : NULL;
    if (s != NULL) s->meta = true;
    return s;
}

static void storage_release(hd_storage *s) {
    if (--s->refs > 0) return;
    hd_account *account = s->account;
    if (s->owner_kind != NULL)
        s->owner_kind->release(s->owner, s->data, s->bytes);
    else if (!is_inline(s))
        hd_free(account, s->data);
    hd_free(account, s);
    hd_account_release(account);
}

/* ---- headers ------------------------------------------------------------------------------------------- */

/* Takes over the reference to storage, also on failure. */
static hd_tensor *header_new(hd_ctx *cx, hd_dtype dtype, hd_storage *storage) {
    hd_tensor *t = hd_alloc(cx, sizeof *t);
    if (t == NULL) {
        storage_release(storage);
        return NULL;
    }
    memset(t, 0, sizeof *t);
    t->refs = 1;
    t->dtype = (uint8_t)dtype;
    t->storage = storage;
    return t;
}

static void set_shape(hd_tensor *t, int ndim, const int64_t *shape) {
    t->ndim = (uint8_t)ndim;
    for (int i = 0; i < ndim; i++) t->shape[i] = shape[i];
}

/* When only shapes are wanted, float tensors are meta. Integer tensors are real until they meet a
 * meta one, because shapes may follow from them. */
static bool makes_meta(hd_ctx *cx, hd_dtype dtype) {
    if (!cx->shapes_only || !(cx->skipping || hd_dtype_is_float(dtype))) return false;
    return cx->skipping = true;
}

/* Takes over the reference to storage, also on failure. */
static hd_tensor *contiguous_in(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape,
                                hd_storage *storage) {
    hd_tensor *t = storage != NULL ? header_new(cx, dtype, storage) : NULL;
    if (t == NULL) return NULL;
    set_shape(t, ndim, shape);
    hd_contiguous_strides(ndim, shape, t->stride);
    return t;
}

hd_tensor *hd_tensor_new(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape) {
    int64_t numel;
    if (hd_check_shape(cx, dtype, ndim, shape, &numel)) return NULL;
    size_t bytes = (size_t)numel * hd_dtype_size(dtype);
    return contiguous_in(cx, dtype, ndim, shape,
                         makes_meta(cx, dtype) ? meta_new(cx, bytes) : storage_new(cx, bytes));
}

hd_tensor *hd_tensor_in(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape, void *data,
                        const hd_memory_owner *kind, void *owner) {
    int64_t numel;
    if (hd_check_shape(cx, dtype, ndim, shape, &numel)) {
        kind->release(owner, data, 0);
        return NULL;
    }
    size_t bytes = (size_t)numel * hd_dtype_size(dtype);
    return contiguous_in(cx, dtype, ndim, shape, owned_new(cx, data, bytes, kind, owner));
}

hd_tensor *hd_tensor_zeros(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape) {
    hd_tensor *t = hd_tensor_new(cx, dtype, ndim, shape);
    if (t != NULL && !t->storage->meta) memset(t->storage->data, 0, t->storage->bytes);
    return t;
}

hd_tensor *hd_tensor_like(hd_ctx *cx, const hd_tensor *t) {
    return hd_tensor_new(cx, (hd_dtype)t->dtype, t->ndim, t->shape);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* Whether all elements lie in [0, capacity). */
static bool stays_inside(int ndim, const int64_t *shape, const int64_t *stride, int64_t offset,
                         int64_t capacity) {
    int64_t low = offset, high = offset;
    for (int i = 0; i < ndim; i++) {
        int64_t span;
        if (!hd_mul_fits(shape[i] - 1, stride[i], &span)) return false;
        int64_t *end = span < 0 ? &low : &high;
        if (__builtin_add_overflow(*end, span, end)) return false;
    }
    return low >= 0 && high < capacity;
}

hd_tensor *hd_tensor_view(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *shape,
                          const int64_t *stride, int64_t offset) {
    int64_t numel;
    if (hd_check_shape(cx, (hd_dtype)t->dtype, ndim, shape, &numel)) return NULL;
    if (numel == 0) {
        offset = 0;
    } else {
        int64_t capacity = (int64_t)(t->storage->bytes / hd_dtype_size((hd_dtype)t->dtype));
        char text[HD_SHAPE_TEXT];
        if (!stays_inside(ndim, shape, stride, offset, capacity))
            return hd_fail_null(cx, HD_EARG,
                                "view: expected to stay inside %lld elements, got shape %s from element %lld",
                                (long long)capacity, hd_shape_text(ndim, shape, text), (long long)offset + 1);
    }
    t->storage->refs++;
    hd_tensor *view = header_new(cx, (hd_dtype)t->dtype, t->storage);
    if (view == NULL) return NULL;
    set_shape(view, ndim, shape);
    for (int i = 0; i < ndim; i++) view->stride[i] = stride[i];
    view->offset = offset;
    return view;
}

hd_tensor *hd_tensor_alias(hd_ctx *cx, const hd_tensor *t) {
    return hd_tensor_view(cx, t, t->ndim, t->shape, t->stride, t->offset);
}

/* ---- dropping -------------------------------------------------------------------------------- */

/* Frees the header before its node is told, because the graph may release other tensors in turn. Returns the
 * gradient, which the caller's loop releases: no recursion. */
static hd_tensor *drop(hd_tensor *t) {
    struct hd_node *node = t->node;
    hd_storage *storage = t->storage;
    hd_tensor *grad = t->grad;
    hd_free(storage->account, t);
    storage_release(storage);
    if (node != NULL) ((struct hd_node_head *)node)->release_hook(node);
    return grad;
}

void hd_release(hd_tensor *t) {
    while (t != NULL && --t->refs == 0) t = drop(t);
}
