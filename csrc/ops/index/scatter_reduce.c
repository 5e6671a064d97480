/* scatter_reduce.c: elements of src meet those that are where an index says.
 *
 *     y = x, y[.., index[p], ..] = y[.., index[p], ..] op src[p], in the order of the index
 *
 *     prod:        dx = g times all src of the place, dsrc[p] = g times x and the others
 *     amax, amin:  x and src that are the extreme share g equally
 *     sum, mean:   by scatter_add, the mean over how many met
 *
 * Without x itself, what is neutral is written first to each place that the index names.
 */
#include <math.h>
#include <string.h>

#include "ops/index/index_lines.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"

/* ---- lines ------------------------------------------------------------------------------------ */

#define MEETING(dtype, type)                                                                                 \
    HD_LINE_RUN(amax_##dtype, type,                                                                          \
                table[to] = list[at] > table[to] || list[at] != list[at] ? list[at] : table[to])             \
    HD_LINE_RUN(amin_##dtype, type,                                                                          \
                table[to] = list[at] < table[to] || list[at] != list[at] ? list[at] : table[to])
MEETING(f32, float)
MEETING(f64, double)
MEETING(i64, int64_t)
MEETING(i32, int32_t)
MEETING(u8, uint8_t)
HD_LINE_RUN(prod_f32, float, table[to] *= list[at])
HD_LINE_RUN(prod_f64, double, table[to] *= list[at])
HD_LINE_RUN(prod_i64, uint64_t, table[to] *= list[at]) /* modulo 2^64 */
HD_LINE_RUN(prod_i32, uint32_t, table[to] *= list[at])
HD_LINE_RUN(prod_u8, uint8_t, table[to] = (uint8_t)(table[to] * list[at]))

/* Those before an element, then those behind it: other holds the product, list the factors. */
#define OTHERS(dtype, type)                                                                                  \
    HD_LINE_RUN(before_##dtype, type, other[at] = table[to]; table[to] *= list[at])                          \
    HD_LINE_RUN(behind_##dtype, type, other[at] *= table[to]; table[to] *= list[at])
OTHERS(f32, float)
OTHERS(f64, double)

static hd_line_run run_of(hd_scatter_kind kind, hd_dtype dtype) {
    static const hd_line_run prod[HD_DTYPE_COUNT] = {
        [HD_F32] = prod_f32, [HD_F64] = prod_f64, [HD_I64] = prod_i64,
        [HD_I32] = prod_i32, [HD_U8] = prod_u8,   [HD_BOOL] = amin_u8};
    static const hd_line_run amax[HD_DTYPE_COUNT] = {
        [HD_F32] = amax_f32, [HD_F64] = amax_f64, [HD_I64] = amax_i64,
        [HD_I32] = amax_i32, [HD_U8] = amax_u8,   [HD_BOOL] = amax_u8};
    static const hd_line_run amin[HD_DTYPE_COUNT] = {
        [HD_F32] = amin_f32, [HD_F64] = amin_f64, [HD_I64] = amin_i64,
        [HD_I32] = amin_i32, [HD_U8] = amin_u8,   [HD_BOOL] = amin_u8};
    return (kind == HD_SCATTER_PROD ? prod : kind == HD_SCATTER_AMAX ? amax : amin)[dtype];
}

/* ---- gradients -------------------------------------------------------------------------------- */

typedef struct meeting {
    int dim;
    hd_scatter_kind kind;
} meeting;

/* The part of src that the index covers: a view. */
static hd_tensor *covered(hd_ctx *cx, const hd_tensor *src, const hd_tensor *index) {
    return hd_tensor_view(cx, src, index->ndim, index->shape, src->stride, src->offset);
}

/* A gradient of the covered part (consumed; NULL passes on) as one of src, 0 elsewhere. */
static hd_tensor *spread_out(hd_ctx *cx, const hd_node *node, const hd_tensor *index, hd_tensor *part) {
    hd_tensor *d_src = part ? hd_zero_for_input(cx, node, 1) : NULL;
    hd_tensor *region = d_src ? covered(cx, d_src, index) : NULL;
    hd_status status = region ? hd_apply_copy(cx, region, part) : cx->error.status;
    hd_release(region);
    hd_release(part);
    if (!status) return d_src;
    hd_release(d_src);
    return NULL;
}

/* y = x src[1] src[2] ..  ->  dx = g src[1] src[2] .., dsrc[p] = g x times the others */
static hd_status prod_backward(hd_ctx *cx, hd_node *node, hd_tensor *g, hd_tensor **grad_inputs) {
    const meeting *m = (const meeting *)node->params;
    hd_tensor *index = hd_node_saved(cx, node, 0), *x = index ? hd_node_saved(cx, node, 1) : NULL,
              *src = x ? hd_node_saved(cx, node, 2) : NULL;
    if (!src) return cx->error.status;
    bool wide = src->dtype == HD_F64;
    hd_tensor *view = covered(cx, src, index),
              *list = view ? hd_contiguous_as(cx, view, (hd_dtype)src->dtype) : NULL;
    hd_tensor *before = list ? hd_binary_op(cx, HD_MUL, g, x) : NULL;
    hd_tensor *behind = before ? hd_full(cx, (hd_dtype)x->dtype, x->ndim, x->shape, hd_scalar_i(1)) : NULL;
    hd_tensor *d_src = behind ? hd_tensor_new(cx, (hd_dtype)src->dtype, index->ndim, index->shape) : NULL;
    hd_lines_pass p = {.index = index, .list = list, .table = before, .other = d_src, .dim = m->dim};
    hd_status status = hd_made(cx, d_src);
    p.run = wide ? before_f64 : before_f32;
    if (!status) status = hd_run_lines(cx, p);
    p.run = wide ? behind_f64 : behind_f32;
    p.table = behind;
    p.backwards = true;
    if (!status) status = hd_run_lines(cx, p);
    if (!status && hd_node_needs(node, 0)) {
        grad_inputs[0] = hd_binary_op(cx, HD_MUL, g, behind);
        status = hd_made(cx, grad_inputs[0]);
    }
    if (!status && hd_node_needs(node, 1)) {
        grad_inputs[1] = spread_out(cx, node, index, hd_retain(d_src));
        status = hd_made(cx, grad_inputs[1]);
    }
    hd_release(view);
    hd_release(list);
    hd_release(before);
    hd_release(behind);
    hd_release(d_src);
    return status;
}

/* share where a is b, else 0; consumes share, NULL passes on */
static hd_tensor *where_same(hd_ctx *cx, hd_tensor *a, hd_tensor *b, hd_tensor *share) {
    return hd_chain_masked_fill(cx, share, share ? hd_binary_op(cx, HD_NE, a, b) : NULL, 0);
}

/* 1 where a is b, else 0 */
static hd_tensor *is_same(hd_ctx *cx, hd_tensor *a, hd_tensor *b) {
    hd_tensor *same = hd_binary_op(cx, HD_EQ, a, b);
    hd_tensor *y = same ? hd_cast(cx, same, (hd_dtype)a->dtype) : NULL;
    hd_release(same);
    return y;
}

/* y = the extreme of x and its src  ->  g / (how many are it) for those, 0 for the others */
static hd_status extreme_backward(hd_ctx *cx, hd_node *node, hd_tensor *g, hd_tensor **grad_inputs) {
    const meeting *m = (const meeting *)node->params;
    hd_tensor *index = hd_node_saved(cx, node, 0), *x = index ? hd_node_saved(cx, node, 1) : NULL,
              *src = x ? hd_node_saved(cx, node, 2) : NULL, *y = src ? hd_node_saved(cx, node, 3) : NULL;
    if (!y) return cx->error.status;
    hd_tensor *part = covered(cx, src, index), *best = part ? hd_gather(cx, y, m->dim, index) : NULL;
    hd_tensor *wins = best ? is_same(cx, part, best) : NULL, *count = wins ? is_same(cx, x, y) : NULL;
    hd_status status = count ? hd_scatter_into(cx, count, m->dim, index, wins) : cx->error.status;
    hd_tensor *share = status ? NULL : hd_binary_op(cx, HD_DIV, g, count);
    status = hd_made(cx, share);
    if (!status && hd_node_needs(node, 1)) {
        hd_tensor *each = where_same(cx, part, best, hd_gather(cx, share, m->dim, index));
        grad_inputs[1] = spread_out(cx, node, index, each);
        status = hd_made(cx, grad_inputs[1]);
    }
    if (!status && hd_node_needs(node, 0)) {
        grad_inputs[0] = where_same(cx, x, y, hd_retain(share));
        status = hd_made(cx, grad_inputs[0]);
    }
    hd_release(part);
    hd_release(best);
    hd_release(wins);
    hd_release(count);
    hd_release(share);
    return status;
}

static hd_status backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    bool prod = ((const meeting *)node->params)->kind == HD_SCATTER_PROD;
    return (prod ? prod_backward : extreme_backward)(cx, node, grads[0], grad_inputs);
}
static const hd_node_class meeting_class = {"scatter_reduce", backward, NULL};

/* ---- the operation ---------------------------------------------------------------------------- */

/* prod, amax, amin with x among them; everything fits. */
static hd_tensor *meet(hd_ctx *cx, hd_tensor *x, meeting m, hd_tensor *index, hd_tensor *src) {
    hd_tensor *y = hd_tensor_like(cx, x);
    hd_lines_pass p = {
        .index = index, .list = src, .table = y, .dim = m.dim, .run = run_of(m.kind, (hd_dtype)x->dtype)};
    if (y && (hd_apply_copy(cx, y, x) || hd_run_lines(cx, p))) {
        hd_release(y);
        return NULL;
    }
    if (!hd_dtype_is_float((hd_dtype)x->dtype)) return y;
    hd_tensor *inputs[] = {x, src}, *saved[] = {index, x, src, m.kind == HD_SCATTER_PROD ? NULL : y};
    return hd_record(cx, &meeting_class, y, 2, inputs, 4, saved, &m, sizeof m);
}

/* How many met at each place, at least 1. */
static hd_tensor *counts_of(hd_ctx *cx, const hd_tensor *x, int dim, hd_tensor *index, bool include_self) {
    hd_dtype t = (hd_dtype)x->dtype;
    hd_tensor *count = hd_full(cx, t, x->ndim, x->shape, hd_scalar_i(include_self));
    hd_tensor *one = count ? hd_full(cx, t, 0, NULL, hd_scalar_i(1)) : NULL;
    hd_tensor *ones = one ? hd_expand(cx, one, index->ndim, index->shape) : NULL;
    hd_status status = ones ? hd_scatter_into(cx, count, dim, index, ones) : cx->error.status;
    hd_release(one);
    hd_release(ones);
    hd_scalar least = hd_scalar_i(1);
    hd_tensor *y = status ? NULL : hd_clamp(cx, count, &least, NULL);
    hd_release(count);
    return y;
}

/* What changes nothing, as an element of x's dtype. */
static hd_scalar neutral_of(hd_scatter_kind kind, hd_dtype t) {
    bool most = kind == HD_SCATTER_AMIN;
    if (kind == HD_SCATTER_PROD) return hd_scalar_i(1);
    if (kind != HD_SCATTER_AMAX && !most) return hd_scalar_i(0);
    if (hd_dtype_is_float(t)) return hd_scalar_f(most ? INFINITY : -INFINITY);
    if (t == HD_I64) return hd_scalar_i(most ? INT64_MAX : INT64_MIN);
    if (t == HD_I32) return hd_scalar_i(most ? INT32_MAX : INT32_MIN);
    return hd_scalar_i(t == HD_BOOL ? most : most ? UINT8_MAX : 0);
}

/* x with what is neutral wherever the index leads; x itself, retained, when it takes part. */
static hd_tensor *start_of(hd_ctx *cx, hd_tensor *x, meeting m, hd_tensor *index, bool include_self) {
    if (include_self) return hd_retain(x);
    hd_scalar neutral = neutral_of(m.kind, (hd_dtype)x->dtype);
    hd_tensor *one = hd_full(cx, (hd_dtype)x->dtype, 0, NULL, neutral);
    hd_tensor *wide = one ? hd_expand(cx, one, index->ndim, index->shape) : NULL;
    hd_tensor *y = wide ? hd_scatter(cx, x, m.dim, index, wide) : NULL;
    hd_release(one);
    hd_release(wide);
    return y;
}

static hd_status check(hd_ctx *cx, const hd_tensor *x, const hd_tensor *src, hd_scatter_kind kind) {
    if (hd_check_computes(cx, x)) return cx->error.status;
    if (x->dtype != src->dtype)
        return hd_fail(cx, HD_EARG, "src: expected %s as the tensor it is reduced with, got %s",
                       hd_dtype_name((hd_dtype)x->dtype), hd_dtype_name((hd_dtype)src->dtype));
    if (kind == HD_SCATTER_MEAN && !hd_dtype_is_float((hd_dtype)x->dtype))
        return hd_fail(cx, HD_EARG, "t: expected f32 or f64 for a mean, got %s",
                       hd_dtype_name((hd_dtype)x->dtype));
    return HD_OK;
}

static hd_tensor *reduced(hd_ctx *cx, hd_tensor *x, meeting m, hd_tensor *index, hd_tensor *src,
                          bool include_self) {
    bool adds = m.kind == HD_SCATTER_SUM || m.kind == HD_SCATTER_MEAN;
    hd_tensor *start = start_of(cx, x, m, index, include_self);
    hd_tensor *y = !start ? NULL
                   : adds ? hd_scatter_add(cx, start, m.dim, index, src)
                          : meet(cx, start, m, index, src);
    hd_release(start);
    if (!y || m.kind != HD_SCATTER_MEAN) return y;
    hd_tensor *count = counts_of(cx, x, m.dim, index, include_self);
    hd_tensor *mean = count ? hd_binary_op(cx, HD_DIV, y, count) : NULL;
    hd_release(count);
    hd_release(y);
    return mean;
}

hd_tensor *hd_scatter_reduce(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src,
                             hd_scatter_kind kind, bool include_self) {
    meeting m = {0, kind};
    if (hd_check_dim(cx, "dim", dim, x->ndim, &m.dim) || check(cx, x, src, kind)) return NULL;
    hd_tensor *checked = hd_checked_index(cx, index, x->shape[m.dim]);
    hd_tensor *y = NULL;
    if (checked && !hd_check_scatter(cx, x, m.dim, checked, src))
        y = reduced(cx, x, m, checked, src, include_self);
    hd_release(checked);
    return y;
}

hd_status hd_scatter_reduce_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src,
                             hd_scatter_kind kind, bool include_self) {
    if (hd_check_inplace(cx, t)) return cx->error.status;
    hd_tensor *source = hd_inplace_source(cx, t);
    hd_tensor *y = source ? hd_scatter_reduce(cx, source, dim, index, src, kind, include_self) : NULL;
    hd_release(source);
    return hd_become(cx, t, y);
}
