/* tensor.h: tensors, without any computation.
 *
 * A tensor is a refcounted header (dtype, shape, strides, offset) over a refcounted storage, which views
 * share. In C, dimensions and indices count from 0; strides and offsets are in elements. A function that
 * returns hd_tensor * gives a new reference, or NULL with the error in cx; arguments are borrowed.
 */
#ifndef HD_TENSOR_H
#define HD_TENSOR_H

#include "base/context.h"
#include "tensor/dtype.h"

#define HD_MAX_DIMS 8

struct hd_node; /* autograd/graph.h */

/* All that is known of a node here: its first field, which drops one reference. */
struct hd_node_head {
    void (*release_hook)(struct hd_node *);
};

/* Memory that a tensor lies in and that is not the pool's: pages of a file, a host's own. */
typedef struct hd_memory_owner {
    void (*release)(void *owner, void *data, size_t bytes); /* with the last tensor in it */
    hd_status (*check)(hd_ctx *cx, void *owner);            /* may it still be read? NULL: always */
} hd_memory_owner;

typedef struct hd_storage {
    int refs;
    uint32_t version; /* grows by one with every in-place write through any view */
    bool meta;        /* made for its shape alone: reads as zeros (base/meta.h) */
    size_t bytes;
    void *data;
    hd_account *account;
    const hd_memory_owner *owner_kind; /* NULL: data is the account's */
    void *owner;
} hd_storage;

typedef struct hd_tensor {
    int refs;
    uint8_t dtype;
    uint8_t ndim;
    bool requires_grad; /* a leaf that wants a gradient, or a tensor with a node */
    bool is_view;       /* a view of a tensor that was recorded or wants a gradient */
    int64_t offset;
    int64_t shape[HD_MAX_DIMS];
    int64_t stride[HD_MAX_DIMS];
    hd_storage *storage;
    struct hd_node *node;   /* the operation that computed it; NULL for a leaf. Owned reference */
    int node_output;        /* which of the node's outputs it is */
    struct hd_tensor *grad; /* of a leaf, after backward. Owned reference */
} hd_tensor;

/* ---- making and dropping ------------------------------------------------------------------------ */
hd_tensor *hd_tensor_new(hd_ctx *cx, hd_dtype dtype, int ndim,
                         const int64_t *shape); /* uninitialised, contiguous */
hd_tensor *hd_tensor_zeros(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape);
hd_tensor *hd_tensor_like(hd_ctx *cx,
                          const hd_tensor *t); /* same dtype and shape, contiguous, uninitialised */
/* Contiguous, in memory of another owner, aligned for the dtype; nothing of it is counted in the account. From here
 * on, also on failure, it is released through its kind. */
hd_tensor *hd_tensor_in(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape, void *data,
                        const hd_memory_owner *kind, void *owner);
/* HD_OK where its memory may be read; else an error that says why not. */
static inline hd_status hd_check_memory(hd_ctx *cx, const hd_tensor *t) {
    const hd_memory_owner *kind = t->storage->owner_kind;
    return kind != NULL && kind->check != NULL ? kind->check(cx, t->storage->owner) : HD_OK;
}
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

/* ---- properties ---------------------------------------------------------------------------------- */
int64_t hd_numel(const hd_tensor *t);
bool hd_is_contiguous(const hd_tensor *t);
bool hd_same_shape(const hd_tensor *a, const hd_tensor *b);
static inline void *hd_data(const hd_tensor *t) {
    return (char *)t->storage->data + (size_t)t->offset * hd_dtype_size((hd_dtype)t->dtype);
}
/* Whether two different indices name the same element, as in an expanded tensor. In-place writes refuse
 * such a tensor. */
bool hd_overlaps_itself(const hd_tensor *t);

/* ---- shapes ---------------------------------------------------------------------------------------- */
/* Turns a dimension -ndim .. ndim - 1 into 0 .. ndim - 1; HD_EARG names the argument. */
hd_status hd_check_dim(hd_ctx *cx, const char *argument, int64_t dim, int ndim, int *out);
/* *numel = the product of the sizes. Refuses negative sizes and overflow, also of the number of bytes. */
hd_status hd_check_shape(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape, int64_t *numel);
void hd_contiguous_strides(int ndim, const int64_t *shape, int64_t *stride);
/* The shape that a and b broadcast to, by numpy's rule; HD_EARG, with both shapes, if there is none. */
hd_status hd_broadcast_shape(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b, int *ndim, int64_t *shape);
/* The strides of t broadcast to a shape, 0 where it repeats. t must broadcast to this shape. */
void hd_broadcast_strides(const hd_tensor *t, int ndim, const int64_t *shape, int64_t *stride);
/* Writes "[2, 4, 8]" to buffer, cut with "..." if it does not fit; returns buffer. */
#define HD_SHAPE_TEXT 128
const char *hd_shape_text(int ndim, const int64_t *shape, char buffer[HD_SHAPE_TEXT]);
const char *hd_tensor_shape_text(const hd_tensor *t, char buffer[HD_SHAPE_TEXT]);

#endif
