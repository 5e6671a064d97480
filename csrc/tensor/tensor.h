/* tensor.h: what a tensor is. Never computes.
 *
 * A tensor is a refcounted header (dtype, shape, strides, offset) over a refcounted storage that views
 * share. In C dimensions and indices count from 0, strides and offsets are in elements. Functions that
 * return hd_tensor * return a new reference, or NULL with the error in cx; arguments are borrowed.
 */
#ifndef HD_TENSOR_H
#define HD_TENSOR_H

#include "base/context.h"
#include "tensor/dtype.h"

#define HD_MAX_DIMS 8

struct hd_node; /* ops/graph.h */

/* What this room knows of a node: its first field, which drops one reference. */
struct hd_node_head {
    void (*release_hook)(struct hd_node *);
};

typedef struct hd_storage {
    int refs;
    uint32_t version; /* one up at every in-place write, seen by all views */
    bool hollow;      /* made for its shape alone: reads as zeros (base/hollow.h) */
    size_t bytes;
    void *data;
    hd_account *account;
} hd_storage;

typedef struct hd_tensor {
    int refs;
    uint8_t dtype;
    uint8_t ndim;
    bool requires_grad; /* leaf: wants a gradient; otherwise: has a node */
    bool is_view;       /* made by a view of another tensor that was recorded or wants a gradient */
    int64_t offset;
    int64_t shape[HD_MAX_DIMS];
    int64_t stride[HD_MAX_DIMS];
    hd_storage *storage;
    struct hd_node *node;   /* who computed it; NULL for a leaf. Owned reference */
    int node_output;        /* which of the node's outputs it is */
    struct hd_tensor *grad; /* of a leaf, after backward. Owned reference */
} hd_tensor;

/* ---- making and dropping ------------------------------------------------------------------------ */
hd_tensor *hd_tensor_new(hd_ctx *cx, hd_dtype dtype, int ndim,
                         const int64_t *shape); /* uninitialised, contiguous */
hd_tensor *hd_tensor_zeros(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape);
hd_tensor *hd_tensor_like(hd_ctx *cx,
                          const hd_tensor *t); /* same dtype and shape, contiguous, uninitialised */
/* The same storage under another header: neither node nor gradient. Checks that it stays inside the
 * storage. */
hd_tensor *hd_tensor_view(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *shape,
                          const int64_t *stride, int64_t offset);
hd_tensor *hd_tensor_alias(hd_ctx *cx, const hd_tensor *t); /* the same header, detached */
static inline hd_tensor *hd_retain(hd_tensor *t) {
    t->refs++;
    return t;
}
void hd_release(hd_tensor *t); /* NULL is fine; never recurses deeply */

/* ---- asking -------------------------------------------------------------------------------------- */
int64_t hd_numel(const hd_tensor *t);
bool hd_is_contiguous(const hd_tensor *t);
bool hd_same_shape(const hd_tensor *a, const hd_tensor *b);
static inline void *hd_data(const hd_tensor *t) {
    return (char *)t->storage->data + (size_t)t->offset * hd_dtype_size((hd_dtype)t->dtype);
}
/* Two different indices name the same element (an expanded tensor): in-place writes refuse it. */
bool hd_overlaps_itself(const hd_tensor *t);

/* ---- shapes ---------------------------------------------------------------------------------------- */
/* -ndim..ndim-1 to 0..ndim-1 (C's counting); HD_EARG names the argument. */
hd_status hd_check_dim(hd_ctx *cx, const char *argument, int64_t dim, int ndim, int *out);
/* Product of the sizes, refusing negatives and overflow (of the byte count too). */
hd_status hd_check_shape(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape, int64_t *numel);
void hd_contiguous_strides(int ndim, const int64_t *shape, int64_t *stride);
/* The common shape of broadcasting, numpy's rule; HD_EARG with both shapes. */
hd_status hd_broadcast_shape(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b, int *ndim, int64_t *shape);
/* Strides of t as seen under a broadcast shape (0 where it repeats). t must be broadcastable to it. */
void hd_broadcast_strides(const hd_tensor *t, int ndim, const int64_t *shape, int64_t *stride);
/* "[2, 4, 8]" into buffer, cut with "..." when it does not fit; returns buffer. */
#define HD_SHAPE_TEXT 128
const char *hd_shape_text(int ndim, const int64_t *shape, char buffer[HD_SHAPE_TEXT]);
const char *hd_tensor_shape_text(const hd_tensor *t, char buffer[HD_SHAPE_TEXT]);

#endif
