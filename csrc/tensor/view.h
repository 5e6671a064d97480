/* view.h: views of a tensor, other headers over the same storage. Nothing is copied and nothing recorded;
 * csrc/ops/shape makes differentiable operations of these.
 *
 * Each function returns a new header without node and gradient, or NULL with HD_EARG, whose message names
 * the argument and counts as Lua does. Dimensions and indices count from 0; dimensions may be negative
 * (from the end).
 */
#ifndef HD_VIEW_H
#define HD_VIEW_H

#include "tensor/tensor.h"

/* Dimension i of the result is dims[i] of t: a permutation of all of them. */
hd_tensor *hd_view_permute(hd_ctx *cx, const hd_tensor *t, int count, const int64_t *dims);
hd_tensor *hd_view_transpose(hd_ctx *cx, const hd_tensor *t, int64_t dim1, int64_t dim2);

/* length elements of dimension dim: start, start + step, ... (step >= 1). */
hd_tensor *hd_view_narrow(hd_ctx *cx, const hd_tensor *t, int64_t dim, int64_t start, int64_t length,
                          int64_t step);
/* One element of dimension dim, which is dropped. */
hd_tensor *hd_view_select(hd_ctx *cx, const hd_tensor *t, int64_t dim, int64_t index);

/* A dimension of size 1 before dimension dim: 0 .. ndim (-1: at the end). */
hd_tensor *hd_view_unsqueeze(hd_ctx *cx, const hd_tensor *t, int64_t dim);
/* Drops the dimensions in `dims` (bit d for dimension d) whose size is 1. */
hd_tensor *hd_view_squeeze_dims(hd_ctx *cx, const hd_tensor *t, uint32_t dims);

/* Repeats dimensions of size 1 with stride 0, and adds dimensions on the left. A size of -1 keeps t's. */
hd_tensor *hd_view_expand(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *shape);

/* Computes the one size that may be -1; HD_EARG if the numbers of elements differ. */
hd_status hd_infer_shape(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *wanted, int64_t *shape);
/* The same elements in the same order in another shape (one size may be -1). If the strides do not allow it,
 * *possible is false and the result NULL without an error: the caller copies first. */
hd_tensor *hd_view_reshape(hd_ctx *cx, const hd_tensor *t, int ndim, const int64_t *shape, bool *possible);

/* Elements (i, i + offset) of dim1 and dim2. Both are dropped; the diagonal becomes the last dimension. */
hd_tensor *hd_view_diagonal(hd_ctx *cx, const hd_tensor *t, int64_t offset, int64_t dim1, int64_t dim2);

#endif
