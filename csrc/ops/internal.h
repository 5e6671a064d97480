/* internal.h: what the operations share among themselves. */
#ifndef HD_OPS_INTERNAL_H
#define HD_OPS_INTERNAL_H

#include "ops/elementwise/walk.h"
#include "autograd/graph.h"
#include "ops/ops.h"

/* ---- dtypes and scalars (scalar.c) ----------------------------------------------------------- */
hd_status hd_check_computes(hd_ctx *cx, const hd_tensor *t);
/* The dtype of (tensor op Lua number): the number's kind counts only where it is above the tensor's. */
hd_dtype hd_scalar_promote(hd_dtype tensor, hd_scalar s);
/* The number as an element; HD_EARG when the dtype cannot hold it. `out` has room for 8 bytes. */
hd_status hd_scalar_store(hd_ctx *cx, const char *argument, hd_scalar s, hd_dtype dtype, void *out);

/* ---- gradients ------------------------------------------------------------------------------- */
/* t (borrowed) summed over what broadcasting had added to `shape`; t itself, retained, when nothing was.
 * reduce.c */
hd_tensor *hd_sum_to_shape(hd_ctx *cx, hd_tensor *t, int ndim, const int64_t *shape);
/* The shape and dtype of an input that wants a gradient. */
typedef struct hd_input_meta {
    hd_dtype dtype;
    int ndim;
    const int64_t *shape;
} hd_input_meta;
hd_input_meta hd_node_input(const hd_node *node, int i);
/* What flows to input i when nothing of it is left in the output. reduce.c */
hd_tensor *hd_zero_for_input(hd_ctx *cx, const hd_node *node, int i);
/* Consumes g: summed and cast to what input i was. NULL gives NULL, so it can go around any operation.
 * reduce.c */
hd_tensor *hd_grad_to_input(hd_ctx *cx, const hd_node *node, int i, hd_tensor *g);

/* ---- chains (chain.c) ------------------------------------------------------------------------ */
/* Each consumes its first tensor and passes a NULL on, so that backward formulas read in one go. */
hd_tensor *hd_chain_unary(hd_ctx *cx, hd_unary op, hd_tensor *x);
hd_tensor *hd_chain_binary(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_tensor *b);
hd_tensor *hd_chain_scalar(hd_ctx *cx, hd_binary op, hd_tensor *a, double b);
hd_tensor *hd_chain_masked_fill(hd_ctx *cx, hd_tensor *x, hd_tensor *mask /* consumed too */, double value);
/* One status for a gradient that was to be made. */
static inline hd_status hd_made(const hd_ctx *cx, const hd_tensor *t) {
    return t ? HD_OK : cx->error.status;
}

/* ---- memory ---------------------------------------------------------------------------------- */
/* Could a write into a be seen through b? (inplace.c) */
bool hd_shares_memory(const hd_tensor *a, const hd_tensor *b);
/* y (NULL: passes on) was computed by several recorded steps, the last of them a view. Nothing but y holds the
 * memory any more, so it may be written to like any result. */
static inline hd_tensor *hd_own(hd_tensor *y) {
    if (y && y->storage->refs == 1) y->is_view = false;
    return y;
}
/* The same storage, offset, shape and strides. */
bool hd_same_view(const hd_tensor *a, const hd_tensor *b);
/* t = source without graph or version; broadcast, cast, and right when they overlap. (inplace.c) */
hd_status hd_copy_data(hd_ctx *cx, hd_tensor *t, const hd_tensor *source);
/* Every element of t = the element of its dtype at `element`. (inplace.c) */
hd_status hd_fill_data(hd_ctx *cx, hd_tensor *t, const void *element);
/* x, retained, when dtype and layout already are so; else a contiguous detached copy. (cast.c) */
hd_tensor *hd_dense(hd_ctx *cx, hd_tensor *x, hd_dtype dtype);
/* x as dtype, any layout, detached when converted. (cast.c) */
hd_tensor *hd_as_dtype(hd_ctx *cx, hd_tensor *x, hd_dtype dtype);

/* ---- writing in place on recorded tensors (inplace.c) ---------------------------------------- */
/* A tensor without a gradient is about to get one: it must not be a part of some other that would not know.
 */
hd_status hd_check_whole(hd_ctx *cx, const hd_tensor *t);
/* The functional way: `former` stands for t before the write, an operation on it makes y, then y's content
 * and place in the graph become t's. */
hd_tensor *hd_former(hd_ctx *cx, hd_tensor *t);
/* What t = f(t) computes from: `former` when the write is to be recorded, else t itself, detached. */
hd_tensor *hd_inplace_source(hd_ctx *cx, hd_tensor *t);
/* Consumes y (NULL: passes the failure on): copies it into t and rebases t on y's node. */
hd_status hd_become(hd_ctx *cx, hd_tensor *t, hd_tensor *y);
/* Does the result of an in-place operation fit: is `result` of a kind that dtype `held` can hold? */
hd_status hd_check_holds(hd_ctx *cx, hd_dtype held, hd_dtype result);
/* Does other broadcast to t's shape? */
hd_status hd_check_broadcasts_to(hd_ctx *cx, const char *argument, const hd_tensor *other,
                                 const hd_tensor *t);

/* ---- along one dimension (index_select.c) ----------------------------------------------------------- */
/* x seen as [outer][size][inner] around a dimension. */
typedef struct hd_lines {
    int64_t outer, size, inner;
} hd_lines;
hd_lines hd_lines_of(const hd_tensor *x, int dim);
/* Position and value of the first index outside 1..size become the message. index: i64, contiguous. */
hd_status hd_check_index(hd_ctx *cx, const hd_tensor *index, int64_t size);
/* index, contiguous, checked to be i64 within 1..size; a new reference. */
hd_tensor *hd_checked_index(hd_ctx *cx, hd_tensor *index, int64_t size);
/* y[.., index[p] - 1, ..] += g[.., p, ..]: y and g contiguous, of one dtype that is computed with. (add_lines.c) */
hd_status hd_add_lines(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, const hd_tensor *g);
/* y = x + the same; y and g contiguous. */
hd_status hd_sum_lines(hd_ctx *cx, hd_tensor *y, const hd_tensor *x, int dim, const hd_tensor *index,
                       const hd_tensor *g);
/* y[.., index[p] - 1, ..] += g[p] for every position p of index (checked), in order; g, of y's dtype, may be
 * larger than index. Without graph or version. (scatter.c) */
hd_status hd_scatter_into(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, const hd_tensor *g);

/* How many elements of a contiguous bool tensor are true. (masked.c) */
int64_t hd_count_true(const hd_tensor *mask);
/* The places of y where the mask m of n, `count` of which are true, is so = the rows of the list in order, `bytes` wide. */
void hd_spread_masked(int64_t n, int64_t count, size_t bytes, const uint8_t *m, const void *list, void *y);
/* t = v where mask, both broadcast to it; v of t's dtype and apart from it. Without graph or version. (where.c) */
hd_status hd_set_where(hd_ctx *cx, hd_tensor *t, const hd_tensor *mask, const hd_tensor *v);

/* ---- many tensors at once (optim.c) ---------------------------------------------------------- */
hd_status hd_sum_of_squares(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double *sum);

#endif
