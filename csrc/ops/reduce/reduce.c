/* reduce.c: sums and their kin over some dimensions; moments.c has mean and variance.
 *
 *     sum:  dx = g, repeated
 *     prod: dx = g times the other factors
 *     max, min: dx = g shared equally by the largest
 *     logsumexp: dx = g exp(x - y); 0 in a row of -inf
 */
#include "ops/reduce/reduce.h"

#include <math.h>
#include <string.h>

#include "ops/elementwise/cast.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/reduce/partial.h"

/* ---- sum, prod, max, min, any, all ----------------------------------------------------------- */

static hd_status sum_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = sum x  ->  dx = g, repeated */
    if (!grads[0]) return HD_OK;
    hd_input_meta x = hd_node_input(node, 0);
    grad_inputs[0] = hd_expand_reduced(cx, grads[0], (const hd_reduce_params *)node->params, x.ndim, x.shape);
    return hd_made(cx, grad_inputs[0]);
}

/* dx[i] = g times the product of the others: prefixes times suffixes, so that zeros need no special case. */
#define OTHERS_OF(type)                                                                                      \
    static void others_##type(int64_t n, const type *x, type g, type *dx) {                                  \
        type before = g, after = 1;                                                                          \
        for (int64_t i = 0; i < n; i++) dx[i] = before, before *= g == 0 ? 0 : x[i];                         \
        for (int64_t i = n - 1; i >= 0; i--) dx[i] *= after, after *= g == 0 ? 0 : x[i];                     \
    }
OTHERS_OF(float)
OTHERS_OF(double)

static hd_tensor *d_prod_rows(hd_ctx *cx, const hd_tensor *x, const hd_tensor *g, int64_t rows,
                              int64_t length) {
    hd_tensor *dx = hd_tensor_like(cx, x);
    for (int64_t r = 0; dx && r < rows; r++) {
        if (x->dtype == HD_F32)
            others_float(length, (const float *)hd_data(x) + r * length, ((const float *)hd_data(g))[r],
                         (float *)hd_data(dx) + r * length);
        else
            others_double(length, (const double *)hd_data(x) + r * length, ((const double *)hd_data(g))[r],
                          (double *)hd_data(dx) + r * length);
    }
    return dx;
}

static hd_status prod_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = prod x  ->  dx = g times the other factors */
    if (!grads[0]) return HD_OK;
    const hd_reduce_params *p = (const hd_reduce_params *)node->params;
    hd_tensor *x = hd_node_saved(cx, node, 0);
    if (!x) return cx->error.status;
    int64_t rows, length;
    hd_tensor *g = hd_contiguous_as(cx, grads[0], (hd_dtype)x->dtype);
    hd_tensor *permuted = g ? hd_rows_to_reduce(cx, x, p->dims, &rows, &length) : NULL;
    hd_tensor *dx = permuted ? d_prod_rows(cx, permuted, g, rows, length) : NULL;
    if (dx) grad_inputs[0] = hd_rows_back(cx, dx, p->dims, x->ndim, x->shape);
    hd_release(g);
    hd_release(permuted);
    hd_release(dx);
    return hd_made(cx, grad_inputs[0]);
}

static hd_status extremum_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                   hd_tensor **grad_inputs) {
    /* y = max x  ->  dx = g / (how many are largest) for those, 0 for the others */
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    const hd_reduce_params *p = (const hd_reduce_params *)node->params;
    hd_tensor *x = hd_node_saved(cx, node, 0), *y = x ? hd_node_saved(cx, node, 1) : NULL;
    if (!y) return cx->error.status;
    hd_tensor *wide_y = hd_expand_reduced(cx, y, p, x->ndim, x->shape);
    hd_tensor *loses = wide_y ? hd_binary_op(cx, HD_NE, x, wide_y) : NULL;
    hd_tensor *wins = loses ? hd_unary_op(cx, HD_LOGICAL_NOT, loses) : NULL;
    hd_tensor *count =
        wins ? hd_drop_dims(hd_reduce_data(cx, HD_SUM, wins, p->dims), p->dims, p->keepdim) : NULL;
    hd_tensor *share = count ? hd_binary_op(cx, HD_DIV, g, count) : NULL;
    hd_tensor *wide = share ? hd_expand_reduced(cx, share, p, x->ndim, x->shape) : NULL;
    if (wide) grad_inputs[0] = hd_masked_fill(cx, wide, loses, hd_scalar_i(0));
    hd_release(wide_y);
    hd_release(loses);
    hd_release(wins);
    hd_release(count);
    hd_release(share);
    hd_release(wide);
    return hd_made(cx, grad_inputs[0]);
}

static const hd_node_class classes[HD_REDUCTION_COUNT] = {
    [HD_SUM] = {"sum", sum_backward, NULL},      [HD_PROD] = {"prod", prod_backward, NULL},
    [HD_MAX] = {"max", extremum_backward, NULL}, [HD_MIN] = {"min", extremum_backward, NULL},
    [HD_ANY] = {"any", sum_backward, NULL},      [HD_ALL] = {"all", sum_backward, NULL},
};

static hd_status check_not_empty(hd_ctx *cx, const char *name, const hd_tensor *x, uint32_t dims) {
    char text[HD_SHAPE_TEXT];
    for (int d = 0; d < x->ndim; d++)
        if ((dims >> d & 1) && x->shape[d] == 0)
            return hd_fail(cx, HD_EARG, "dim: %s over dimension %d of %s, which has no elements", name, d + 1,
                           hd_tensor_shape_text(x, text));
    return HD_OK;
}

/* On truth values the largest is "any" and the smallest "all". */
static hd_reduction on_dtype(hd_reduction op, hd_dtype t) {
    if (t != HD_BOOL) return op;
    return op == HD_MAX ? HD_ANY : op == HD_MIN ? HD_ALL : op;
}

hd_tensor *hd_reduce(hd_ctx *cx, hd_reduction op, hd_tensor *x, uint32_t dims, bool keepdim) {
    dims = hd_dims_of(x, dims);
    if (hd_check_computes(cx, x)) return NULL;
    if ((op == HD_MAX || op == HD_MIN) && check_not_empty(cx, classes[op].name, x, dims)) return NULL;
    hd_tensor *y = hd_drop_dims(hd_reduce_data(cx, on_dtype(op, (hd_dtype)x->dtype), x, dims), dims, keepdim);
    if (!y || !x->requires_grad || !hd_dtype_is_float((hd_dtype)y->dtype)) return y;
    bool sums = op == HD_SUM, compares = op == HD_MAX || op == HD_MIN;
    hd_tensor *saved[] = {sums ? NULL : x, compares ? y : NULL};
    hd_reduce_params params = {dims, keepdim};
    return hd_record(cx, &classes[op], y, 1, &x, 2, saved, &params, sizeof params);
}

/* ---- logsumexp ------------------------------------------------------------------------------- */

static hd_status logsumexp_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                    hd_tensor **grad_inputs) {
    /* y = log sum exp x  ->  dx = g exp(x - y), 0 where x = -inf (so for a row of nothing else) */
    if (!grads[0]) return HD_OK;
    const hd_reduce_params *p = (const hd_reduce_params *)node->params;
    hd_tensor *x = hd_node_saved(cx, node, 0), *y = x ? hd_node_saved(cx, node, 1) : NULL;
    if (!y) return cx->error.status;
    hd_tensor *wide_y = hd_expand_reduced(cx, y, p, x->ndim, x->shape);
    hd_tensor *wide_g = wide_y ? hd_expand_reduced(cx, grads[0], p, x->ndim, x->shape) : NULL;
    hd_tensor *weight = wide_g ? hd_chain_unary(cx, HD_EXP, hd_binary_op(cx, HD_SUB, x, wide_y)) : NULL;
    hd_tensor *dx = hd_chain_gradient(cx, weight, wide_g);
    if (dx)
        grad_inputs[0] =
            hd_chain_masked_fill(cx, dx, hd_binary_scalar(cx, HD_EQ, x, hd_scalar_f(-INFINITY), false), 0);
    hd_release(wide_y);
    hd_release(wide_g);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class logsumexp_class = {"logsumexp", logsumexp_backward, NULL};

static void finish_logsumexp(const void *unused, int64_t length, double most, double sum, double y[2]) {
    (void)unused, (void)length;
    y[0] = most + log(sum);
}

static hd_tensor *logsumexp_of(hd_ctx *cx, hd_tensor *x, uint32_t dims) {
    hd_tensor *y[2];
    return hd_reduce_partial(cx, HD_LOGSUMEXP, x, dims, finish_logsumexp, NULL, 1, y) ? NULL : y[0];
}

hd_tensor *hd_logsumexp(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim) {
    dims = hd_dims_of(x, dims);
    if (hd_check_computes(cx, x)) return NULL;
    hd_reduce_params params = {dims, keepdim};
    bool whole = !hd_dtype_is_float((hd_dtype)x->dtype); /* exact in f64 up to 2^53 */
    hd_tensor *from = hd_as_dtype(cx, x, whole ? HD_F64 : (hd_dtype)x->dtype);
    hd_tensor *y = from ? hd_drop_dims(logsumexp_of(cx, from, dims), dims, keepdim) : NULL;
    hd_release(from);
    if (y && whole) {
        hd_tensor *narrow = hd_cast(cx, y, HD_F32);
        hd_release(y);
        return narrow;
    }
    hd_tensor *saved[] = {x, y};
    return hd_record(cx, &logsumexp_class, y, 1, &x, 2, saved, &params, sizeof params);
}
