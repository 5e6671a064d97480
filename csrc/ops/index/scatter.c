/* scatter.c: one element for each of an index; and elements to where an index says, in place of what is there or added.
 *
 *     gather:      y[p] = x[.., index[p], ..]                     ->  dx[.., index[p], ..] += g[p]
 *     scatter_add: y = x, y[.., index[p], ..] += src[p]           ->  dx = g, dsrc[p] = g[.., index[p], ..]
 *     index_add:   y = x, y[.., index[p], ..] += src[.., p, ..]   ->  dx = g, dsrc[.., p, ..] = g[.., index[p], ..]
 *     scatter:     y = x, y[.., index[p], ..] = src[p], the last p of a place stays
 *                                                                 ->  dx = g, 0 where something was written; dsrc[p] = g[.., index[p], ..]
 *                                                                     for the last p, 0 for those before
 *
 * src may be larger than the index; what lies beyond is not looked at, its gradient is 0. Tasks are lines
 * along dim, which share no element, and sums run in the order of the index: the same on any number of threads.
 */
#include <string.h>

#include "ops/index/index_lines.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"

/* ---- lines ------------------------------------------------------------------------------------ */

HD_LINE_RUN(gather_1, bits_1, list[at] = table[to])
HD_LINE_RUN(gather_2, bits_2, list[at] = table[to])
HD_LINE_RUN(gather_4, bits_4, list[at] = table[to])
HD_LINE_RUN(gather_8, bits_8, list[at] = table[to])
HD_LINE_RUN(put_1, bits_1, table[to] = list[at])
HD_LINE_RUN(put_2, bits_2, table[to] = list[at])
HD_LINE_RUN(put_4, bits_4, table[to] = list[at])
HD_LINE_RUN(put_8, bits_8, table[to] = list[at])
HD_LINE_RUN(clear_1, bits_1, (void)at; table[to] = 0)
HD_LINE_RUN(clear_2, bits_2, (void)at; table[to] = 0)
HD_LINE_RUN(clear_4, bits_4, (void)at; table[to] = 0)
HD_LINE_RUN(clear_8, bits_8, (void)at; table[to] = 0)
HD_LINE_RUN(take_1, bits_1, list[at] = table[to]; table[to] = 0)
HD_LINE_RUN(take_2, bits_2, list[at] = table[to]; table[to] = 0)
HD_LINE_RUN(take_4, bits_4, list[at] = table[to]; table[to] = 0)
HD_LINE_RUN(take_8, bits_8, list[at] = table[to]; table[to] = 0)
HD_LINE_RUN(add_f32, float, table[to] += list[at])
HD_LINE_RUN(add_f64, double, table[to] += list[at])
HD_LINE_RUN(add_i64, uint64_t, table[to] += list[at])
HD_LINE_RUN(add_i32, uint32_t, table[to] += list[at])
HD_LINE_RUN(add_u8, uint8_t, table[to] = (uint8_t)(table[to] + list[at]))
HD_LINE_RUN(add_bool, uint8_t, table[to] |= list[at])

static hd_line_run by_size(hd_dtype dtype, hd_line_run of_1, hd_line_run of_2, hd_line_run of_4,
                           hd_line_run of_8) {
    size_t size = hd_dtype_size(dtype);
    return size == 1 ? of_1 : size == 2 ? of_2 : size == 4 ? of_4 : of_8;
}

static hd_line_run gather_run(hd_dtype dtype) {
    return by_size(dtype, gather_1, gather_2, gather_4, gather_8);
}
static hd_line_run put_run(hd_dtype dtype) {
    return by_size(dtype, put_1, put_2, put_4, put_8);
}
static hd_line_run clear_run(hd_dtype dtype) {
    return by_size(dtype, clear_1, clear_2, clear_4, clear_8);
}
static hd_line_run take_run(hd_dtype dtype) {
    return by_size(dtype, take_1, take_2, take_4, take_8);
}

static hd_line_run add_run(hd_dtype dtype) {
    switch (dtype) {
    case HD_F32: return add_f32;
    case HD_F64: return add_f64;
    case HD_I64: return add_i64;
    case HD_I32: return add_i32;
    case HD_U8: return add_u8;
    default: return add_bool;
    }
}

static hd_status run_pass(hd_ctx *cx, int dim, const hd_tensor *index, const hd_tensor *list,
                          const hd_tensor *table, hd_line_run run) {
    return hd_run_lines(
        cx, (hd_lines_pass){.index = index, .list = list, .table = table, .dim = dim, .run = run});
}

hd_status hd_scatter_into(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, const hd_tensor *g) {
    return run_pass(cx, dim, index, g, y, add_run((hd_dtype)y->dtype));
}

/* ---- checks ---------------------------------------------------------------------------------- */

static hd_status check_src(hd_ctx *cx, const hd_tensor *x, const hd_tensor *src, bool moves) {
    if (!moves && hd_check_computes(cx, x)) return cx->error.status;
    if (x->dtype == src->dtype) return HD_OK;
    return hd_fail(cx, HD_EARG, "src: expected %s as the tensor it is %s, got %s",
                   hd_dtype_name((hd_dtype)x->dtype), moves ? "written to" : "added to",
                   hd_dtype_name((hd_dtype)src->dtype));
}

/* ---- gather ---------------------------------------------------------------------------------- */

static hd_status gather_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    /* y[p] = x[.., index[p], ..]  ->  dx[.., index[p], ..] += g[p] */
    if (!grads[0]) return HD_OK;
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    hd_input_meta x = hd_node_input(node, 0);
    grad_inputs[0] = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    return grad_inputs[0] ? hd_scatter_into(cx, grad_inputs[0], dim, index, grads[0]) : cx->error.status;
}
static const hd_node_class gather_class = {"gather", gather_backward, NULL};

/* index checked. */
static hd_tensor *gathered(hd_ctx *cx, const hd_tensor *x, int dim, const hd_tensor *index) {
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)x->dtype, index->ndim, index->shape);
    if (y && run_pass(cx, dim, index, y, x, gather_run((hd_dtype)x->dtype))) {
        hd_release(y);
        return NULL;
    }
    return y;
}

hd_tensor *hd_gather(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index) {
    int d = 0;
    if (hd_check_dim(cx, "dim", dim, x->ndim, &d) || hd_check_fits(cx, index, x, d)) return NULL;
    hd_tensor *checked = hd_checked_index(cx, index, x->shape[d]);
    hd_tensor *y = checked ? gathered(cx, x, d, checked) : NULL;
    y = hd_record(cx, &gather_class, y, 1, &x, 1, &checked, &d, sizeof d);
    hd_release(checked);
    return y;
}

/* ---- writing where an index says ---------------------------------------------------------------- */

/* An operation of this kind: how src's gradient is read, and how src gets into y. */
typedef struct writing {
    hd_node_class class, class_;
    bool moves; /* and computes nothing: any dtype */
    /* x, index (i64) and src fit. */
    hd_status (*check)(hd_ctx *cx, const hd_tensor *x, int dim, const hd_tensor *index, const hd_tensor *src);
    hd_status (*write)(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, hd_tensor *src);
    /* y = x written to, y new; NULL: a copy of x, written to */
    hd_status (*anew)(hd_ctx *cx, hd_tensor *y, hd_tensor *x, int dim, const hd_tensor *index,
                      hd_tensor *src);
} writing;

/* dx = g; 0 (with index and dim): is src's gradient wanted? */
static hd_status pass_on(hd_ctx *cx, hd_node *node, hd_tensor *g, hd_tensor **grad_inputs, hd_tensor **index,
                         int *dim) {
    *index = NULL;
    if (!g) return HD_OK;
    if (hd_node_needs(node, 0)) grad_inputs[0] = hd_retain(g);
    if (!hd_node_needs(node, 1)) return HD_OK;
    memcpy(dim, node->params, sizeof *dim);
    *index = hd_node_saved(cx, node, 0);
    return *index ? HD_OK : cx->error.status;
}

static hd_status scatter_add_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                      hd_tensor **grad_inputs) {
    /* y[.., index[p], ..] += src[p]  ->  dsrc[p] = g[.., index[p], ..], 0 beyond the index */
    hd_tensor *index;
    int dim;
    hd_status status = pass_on(cx, node, grads[0], grad_inputs, &index, &dim);
    if (status || !index) return status;
    hd_input_meta src = hd_node_input(node, 1);
    hd_tensor *d_src = hd_tensor_zeros(cx, src.dtype, src.ndim, src.shape);
    grad_inputs[1] = d_src;
    return d_src ? run_pass(cx, dim, index, d_src, grads[0], gather_run(src.dtype)) : cx->error.status;
}

static hd_status scatter_src(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, hd_tensor *src) {
    return hd_scatter_into(cx, y, dim, index, src);
}

static const writing scatter_addition = {{"scatter_add", scatter_add_backward, NULL},
                                         {"scatter_add_", scatter_add_backward, NULL},
                                         false,
                                         hd_check_scatter,
                                         scatter_src,
                                         NULL};

/* A contiguous copy without graph. */
static hd_tensor *copy_of(hd_ctx *cx, const hd_tensor *x) {
    hd_tensor *y = hd_tensor_like(cx, x);
    if (y && hd_apply_copy(cx, y, x)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

static hd_status scatter_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    /* y[.., index[p], ..] = src[p], the last p stays  ->  from the last p to the first: dsrc[p] = g[.., index[p], ..],
     * which becomes 0; what is left in the end is dx */
    if (!grads[0]) return HD_OK;
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    bool wanted = hd_node_needs(node, 1);
    hd_tensor *dx = copy_of(cx, grads[0]);
    hd_tensor *d_src = dx && wanted ? hd_zero_for_input(cx, node, 1) : NULL;
    hd_status status = dx && (d_src || !wanted) ? HD_OK : cx->error.status;
    hd_lines_pass p = {
        .index = index, .list = wanted ? d_src : dx, .table = dx, .dim = dim, .backwards = true};
    if (!status) {
        p.run = wanted ? take_run((hd_dtype)dx->dtype) : clear_run((hd_dtype)dx->dtype);
        status = hd_run_lines(cx, p);
    }
    grad_inputs[1] = d_src;
    if (hd_node_needs(node, 0))
        grad_inputs[0] = dx;
    else
        hd_release(dx);
    return status;
}

static hd_status put_src(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, hd_tensor *src) {
    return run_pass(cx, dim, index, src, y, put_run((hd_dtype)y->dtype));
}

static const writing scatter_writing = {{"scatter", scatter_backward, NULL},
                                        {"scatter_", scatter_backward, NULL},
                                        true,
                                        hd_check_scatter,
                                        put_src,
                                        NULL};

static hd_status index_add_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                    hd_tensor **grad_inputs) {
    /* y[.., index[p], ..] += src[.., p, ..]  ->  dsrc[.., p, ..] = g[.., index[p], ..] */
    hd_tensor *index;
    int dim;
    hd_status status = pass_on(cx, node, grads[0], grad_inputs, &index, &dim);
    if (status || !index) return status;
    grad_inputs[1] = hd_index_select(cx, grads[0], dim, index);
    return hd_made(cx, grad_inputs[1]);
}

static hd_status check_index_add(hd_ctx *cx, const hd_tensor *x, int dim, const hd_tensor *index,
                                 const hd_tensor *src) {
    char got[HD_SHAPE_TEXT], of[HD_SHAPE_TEXT];
    if (index->ndim != 1)
        return hd_fail(cx, HD_EARG, "index: expected a vector, got %s", hd_tensor_shape_text(index, got));
    bool fits = src->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim; d++)
        fits = src->shape[d] == (d == dim ? index->shape[0] : x->shape[d]);
    if (fits) return HD_OK;
    return hd_fail(cx, HD_EARG, "src: expected the shape %s with %lld in dimension %d, got %s",
                   hd_tensor_shape_text(x, of), (long long)index->shape[0], dim + 1,
                   hd_tensor_shape_text(src, got));
}

static hd_status add_src_lines(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, hd_tensor *src) {
    hd_tensor *to = hd_contiguous_as(cx, y, (hd_dtype)y->dtype),
              *from = hd_contiguous_as(cx, src, (hd_dtype)src->dtype);
    hd_status status = to && from ? hd_add_lines(cx, to, dim, index, from) : cx->error.status;
    if (!status && to != y) status = hd_apply_copy(cx, y, to);
    hd_release(from);
    hd_release(to);
    return status;
}

static hd_status sum_src_lines(hd_ctx *cx, hd_tensor *y, hd_tensor *x, int dim, const hd_tensor *index,
                               hd_tensor *src) {
    hd_tensor *from = hd_contiguous_as(cx, src, (hd_dtype)src->dtype);
    hd_status status = from ? hd_sum_lines(cx, y, x, dim, index, from) : cx->error.status;
    hd_release(from);
    return status;
}

static const writing index_addition = {{"index_add", index_add_backward, NULL},
                                       {"index_add_", index_add_backward, NULL},
                                       false,
                                       check_index_add,
                                       add_src_lines,
                                       sum_src_lines};

static hd_tensor *checked_for(hd_ctx *cx, const writing *op, const hd_tensor *x, int dim, hd_tensor *index,
                              const hd_tensor *src, int *d) {
    if (hd_check_dim(cx, "dim", dim, x->ndim, d) || check_src(cx, x, src, op->moves)) return NULL;
    hd_tensor *checked = hd_checked_index(cx, index, x->shape[*d]);
    if (checked && op->check(cx, x, *d, checked, src)) {
        hd_release(checked);
        return NULL;
    }
    return checked;
}

static hd_status write_anew(hd_ctx *cx, const writing *op, hd_tensor *y, hd_tensor *x, int dim,
                            const hd_tensor *index, hd_tensor *src) {
    if (op->anew) return op->anew(cx, y, x, dim, index, src);
    hd_status status = hd_apply_copy(cx, y, x);
    return status ? status : op->write(cx, y, dim, index, src);
}

static hd_tensor *written(hd_ctx *cx, const writing *op, hd_tensor *x, int dim, hd_tensor *index,
                          hd_tensor *src) {
    int d = 0;
    hd_tensor *checked = checked_for(cx, op, x, dim, index, src, &d);
    hd_tensor *y = checked ? hd_tensor_like(cx, x) : NULL;
    if (y && write_anew(cx, op, y, x, d, checked, src)) {
        hd_release(y);
        y = NULL;
    }
    hd_tensor *inputs[] = {x, src};
    y = hd_record(cx, &op->class, y, 2, inputs, 1, &checked, &d, sizeof d);
    hd_release(checked);
    return y;
}

/* The node of a write into t; NULL where none is wanted. */
static hd_status node_for(hd_ctx *cx, const writing *op, hd_tensor *t, hd_tensor *src, const hd_tensor *index,
                          int dim, hd_node **node) {
    hd_tensor *inputs[] = {t, src};
    *node = NULL;
    if (!hd_wants_grad(cx, 2, inputs)) return HD_OK;
    if (hd_check_whole(cx, t)) return cx->error.status;
    *node = hd_node_new(cx, &op->class_, 2, inputs, 1);
    if (!*node) return cx->error.status;
    memcpy((*node)->params, &dim, sizeof dim);
    return hd_node_save(cx, *node, 0, index);
}

/* What is read while t is written to: a copy when they share memory. */
static hd_tensor *apart(hd_ctx *cx, hd_tensor *x, const hd_tensor *t) {
    return hd_shares_memory(x, t) ? copy_of(cx, x) : hd_retain(x);
}

static hd_status write_in_place(hd_ctx *cx, const writing *op, hd_tensor *t, int dim, hd_tensor *index,
                                hd_tensor *src) {
    int d = 0;
    if (hd_check_inplace(cx, t)) return cx->error.status;
    hd_tensor *own_index = apart(cx, index, t), *own_src = apart(cx, src, t);
    hd_tensor *checked = own_index && own_src ? checked_for(cx, op, t, dim, own_index, own_src, &d) : NULL;
    hd_node *node = NULL;
    hd_status status = checked ? node_for(cx, op, t, src, checked, d, &node) : cx->error.status;
    if (!status) {
        status = op->write(cx, t, d, checked, own_src);
        hd_wrote(t);
    }
    if (node && !status) hd_rebase(t, node);
    if (node) hd_node_release_ref(node);
    hd_release(checked);
    hd_release(own_src);
    hd_release(own_index);
    return status;
}

hd_tensor *hd_scatter_add(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src) {
    return written(cx, &scatter_addition, x, dim, index, src);
}

hd_status hd_scatter_add_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src) {
    return write_in_place(cx, &scatter_addition, t, dim, index, src);
}

hd_tensor *hd_index_add(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src) {
    return written(cx, &index_addition, x, dim, index, src);
}

hd_status hd_index_add_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src) {
    return write_in_place(cx, &index_addition, t, dim, index, src);
}

hd_tensor *hd_scatter(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src) {
    return written(cx, &scatter_writing, x, dim, index, src);
}

hd_status hd_scatter_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src) {
    return write_in_place(cx, &scatter_writing, t, dim, index, src);
}
