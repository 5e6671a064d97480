/* inplace.h: memory that several tensors share, and writing into it. */
#ifndef HD_INPLACE_H
#define HD_INPLACE_H

#include "ops/ops.h"

/* ---- memory ---------------------------------------------------------------------------------- */
/* Could a write into a be seen through b? */
bool hd_shares_memory(const hd_tensor *a, const hd_tensor *b);
/* y (NULL: passes on) was computed by several recorded steps, the last of them a view. Nothing but y holds the
 * memory any more, so it may be written to like any result. */
static inline hd_tensor *hd_own(hd_tensor *y) {
    if (y && y->storage->refs == 1) y->is_view = false;
    return y;
}
/* The same storage, offset, shape and strides. */
bool hd_same_view(const hd_tensor *a, const hd_tensor *b);
/* t = source without graph or version; broadcast, cast, and right when they overlap. */
hd_status hd_copy_data(hd_ctx *cx, hd_tensor *t, const hd_tensor *source);
/* Every element of t = the element of its dtype at `element`. */
hd_status hd_fill_data(hd_ctx *cx, hd_tensor *t, const void *element);
/* t = v where mask, both broadcast to it; v of t's dtype and apart from it. Without graph or version. (where.c) */
hd_status hd_set_where(hd_ctx *cx, hd_tensor *t, const hd_tensor *mask, const hd_tensor *v);

/* ---- on recorded tensors ---------------------------------------------------------------------- */
/* A tensor without a gradient is about to get one: it must not be a part of another that would not know. */
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

#endif
