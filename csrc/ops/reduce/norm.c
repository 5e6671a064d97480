/* norm.c: y = (sum |x|^p)^(1/p) over some dimensions.
 *
 *     dx = g sign(x) (|x| / y)^(p - 1), 0 where x or y is 0
 *     p = 2:         dx = g x / y
 *     p = 1:         dx = g sign(x)
 *     p = inf, -inf: y is the largest (smallest) |x|; those that are it share g sign(x) equally
 *     p = 0:         y is how many are not 0; dx = 0
 *
 * Integers and bool become f32.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/elementwise/chain.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/reduce/partial.h"
#include "ops/reduce/range.h"

typedef struct norm_params {
    hd_reduce_params reduce;
    double p;
} norm_params;

/* ---- backward --------------------------------------------------------------------------------- */

/* dx = sign(x) g */
static hd_tensor *d_norm_1(hd_ctx *cx, const norm_params *params, hd_tensor *x, hd_tensor *g) {
    hd_tensor *wide = hd_expand_reduced(cx, g, &params->reduce, x->ndim, x->shape);
    hd_tensor *dx = wide ? hd_chain_gradient(cx, hd_unary_op(cx, HD_SIGN, x), wide) : NULL;
    hd_release(wide);
    return dx;
}

/* dx = sign(x) g / (how many |x| are y) for those */
static hd_tensor *d_norm_extreme(hd_ctx *cx, const norm_params *params, hd_tensor *x, hd_tensor *y,
                                 hd_tensor *g) {
    const hd_reduce_params *r = &params->reduce;
    hd_tensor *size = hd_unary_op(cx, HD_ABS, x);
    hd_tensor *wide_y = size ? hd_expand_reduced(cx, y, r, x->ndim, x->shape) : NULL;
    hd_tensor *wins = wide_y ? hd_binary_op(cx, HD_EQ, size, wide_y) : NULL;
    hd_tensor *loses = wins ? hd_unary_op(cx, HD_LOGICAL_NOT, wins) : NULL;
    hd_tensor *count = loses ? hd_reduce(cx, HD_SUM, wins, r->dims, r->keepdim) : NULL;
    hd_tensor *share = count ? hd_binary_op(cx, HD_DIV, g, count) : NULL;
    hd_tensor *wide = share ? hd_expand_reduced(cx, share, r, x->ndim, x->shape) : NULL;
    hd_tensor *signs = wide ? hd_chain_gradient(cx, hd_unary_op(cx, HD_SIGN, x), wide) : NULL;
    hd_tensor *dx = signs ? hd_masked_fill(cx, signs, loses, hd_scalar_i(0)) : NULL;
    hd_release(size);
    hd_release(wide_y);
    hd_release(wins);
    hd_release(loses);
    hd_release(count);
    hd_release(share);
    hd_release(wide);
    hd_release(signs);
    return dx;
}

/* dx = sign(x) g (|x| / y)^(p - 1): a quotient, because the powers of x and of y alone may leave the range */
static hd_tensor *d_norm_any(hd_ctx *cx, const norm_params *params, hd_tensor *x, hd_tensor *y,
                             hd_tensor *g) {
    hd_tensor *gone = hd_binary_scalar(cx, HD_EQ, y, hd_scalar_f(0), false);
    hd_tensor *factor = gone ? hd_masked_fill(cx, g, gone, hd_scalar_i(0)) : NULL;
    hd_tensor *wide_y = factor ? hd_expand_reduced(cx, y, &params->reduce, x->ndim, x->shape) : NULL;
    hd_tensor *wide_g = wide_y ? hd_expand_reduced(cx, factor, &params->reduce, x->ndim, x->shape) : NULL;
    hd_tensor *sign = wide_g ? hd_unary_op(cx, HD_SIGN, x) : NULL;
    hd_tensor *share = sign ? hd_chain_binary(cx, HD_DIV, hd_unary_op(cx, HD_ABS, x), wide_y) : NULL;
    hd_tensor *dx = hd_chain_scalar(cx, HD_POW, share, params->p - 1);
    dx = hd_chain_gradient(cx, hd_chain_binary(cx, HD_MUL, dx, sign), wide_g);
    if (dx) dx = hd_chain_masked_fill(cx, dx, hd_binary_scalar(cx, HD_EQ, x, hd_scalar_f(0), false), 0);
    hd_release(gone);
    hd_release(factor);
    hd_release(wide_y);
    hd_release(wide_g);
    hd_release(sign);
    return dx;
}

static hd_status norm_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    norm_params params;
    memcpy(&params, node->params, sizeof params);
    hd_tensor *x = hd_node_saved(cx, node, 0), *y = x ? hd_node_saved(cx, node, 1) : NULL;
    if (!y) return cx->error.status;
    double p = params.p;
    grad_inputs[0] = p == 0     ? hd_zero_for_input(cx, node, 0)
                     : p == 1   ? d_norm_1(cx, &params, x, grads[0])
                     : p == 2   ? hd_times_quotient(cx, &params.reduce, x, grads[0], y)
                     : isinf(p) ? d_norm_extreme(cx, &params, x, y, grads[0])
                                : d_norm_any(cx, &params, x, y, grads[0]);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class norm_class = {"norm", norm_backward, NULL};

/* ---- forward: x is of floats, and nobody records it -------------------------------------------- */

static hd_tensor *reduced(hd_ctx *cx, hd_reduction op, hd_tensor *x, const hd_reduce_params *r) {
    hd_tensor *y = x ? hd_reduce(cx, op, x, r->dims, r->keepdim) : NULL;
    hd_release(x);
    return y;
}

static hd_tensor *count_nonzero(hd_ctx *cx, hd_tensor *x, const hd_reduce_params *r) {
    hd_tensor *count = reduced(cx, HD_SUM, hd_binary_scalar(cx, HD_NE, x, hd_scalar_f(0), false), r);
    hd_tensor *y = count ? hd_cast(cx, count, (hd_dtype)x->dtype) : NULL;
    hd_release(count);
    return y;
}

static void finish_root(const void *unused, int64_t length, double squares, double zero, double y[2]) {
    (void)unused, (void)length, (void)zero;
    y[0] = sqrt(squares);
}
static void finish_same(const void *unused, int64_t length, double a, double zero, double y[2]) {
    (void)unused, (void)length, (void)zero;
    y[0] = a;
}

/* In one pass. */
static hd_tensor *finished(hd_ctx *cx, hd_partial kind, hd_partial_finish finish, hd_tensor *x,
                           const hd_reduce_params *r) {
    hd_tensor *y[2];
    if (hd_reduce_partial(cx, kind, x, r->dims, finish, NULL, 1, y)) return NULL;
    return hd_drop_dims(y[0], r->dims, r->keepdim);
}
static hd_tensor *sizes(hd_ctx *cx, hd_partial kind, hd_tensor *x, const hd_reduce_params *r) {
    return finished(cx, kind, kind == HD_SQUARES ? finish_root : finish_same, x, r);
}
static hd_tensor *squares(hd_ctx *cx, hd_tensor *x, const hd_reduce_params *r) {
    return finished(cx, HD_SQUARES, finish_same, x, r);
}

/* (sum |x|^p)^(1/p) by powers. */
static hd_tensor *powers(hd_ctx *cx, hd_tensor *x, double p, const hd_reduce_params *r) {
    hd_tensor *power = hd_chain_scalar(cx, HD_POW, hd_unary_op(cx, HD_ABS, x), p);
    return reduced(cx, HD_SUM, power, r);
}

/* In f64, about the largest |x| (p > 0) or the smallest: m (sum (|x| / m)^p)^(1/p), whose sum lies in 1..n. */
static hd_tensor *scaled_norm(hd_ctx *cx, hd_tensor *x, double p, const hd_reduce_params *r) {
    hd_reduce_params kept = {r->dims, true};
    hd_tensor *wide = hd_cast(cx, x, HD_F64);
    hd_tensor *m = wide ? sizes(cx, p > 0 ? HD_ABS_MAX : HD_ABS_MIN, wide, &kept) : NULL;
    hd_tensor *share = m ? hd_binary_op(cx, HD_DIV, wide, m) : NULL;
    hd_tensor *sum = share ? powers(cx, share, p, &kept) : NULL;
    hd_tensor *y = hd_chain_binary(cx, HD_MUL, hd_chain_scalar(cx, HD_POW, sum, 1 / p), m);
    if (y) y = hd_keep_within(cx, m, DBL_TRUE_MIN, DBL_MAX, y, hd_retain(m)); /* of 0, infinity and NaN: m */
    hd_tensor *narrow = y ? hd_cast(cx, y, (hd_dtype)x->dtype) : NULL;
    hd_release(wide);
    hd_release(m);
    hd_release(share);
    hd_release(y);
    return hd_drop_dims(narrow, r->dims, r->keepdim);
}

/* y, made of `sum`, where no power was lost or became infinite; elsewhere by the longer way. */
static hd_tensor *checked(hd_ctx *cx, hd_tensor *x, const norm_params *params, hd_tensor *sum, hd_tensor *y) {
    bool narrow = x->dtype == HD_F32;
    double least = narrow ? 0x1p-100 : 0x1p-900, most = narrow ? (double)FLT_MAX : DBL_MAX;
    if (!y || hd_reduced_count(x, params->reduce.dims) == 0 || hd_all_within(sum, least, most)) return y;
    return hd_keep_within(cx, sum, least, most, y, scaled_norm(cx, x, params->p, &params->reduce));
}

static hd_tensor *norm_of(hd_ctx *cx, hd_tensor *x, const norm_params *params) {
    const hd_reduce_params *r = &params->reduce;
    double p = params->p;
    if (p == 0) return count_nonzero(cx, x, r);
    if (p == 1) return sizes(cx, HD_ABS_SUM, x, r);
    if (isinf(p)) return sizes(cx, p > 0 ? HD_ABS_MAX : HD_ABS_MIN, x, r);
    if (p == 2 && x->dtype == HD_F32) return sizes(cx, HD_SQUARES, x, r); /* their sum is one of f64 */
    hd_tensor *sum = p == 2 ? squares(cx, x, r) : powers(cx, x, p, r);
    hd_tensor *y = sum && p == 2 ? hd_unary_op(cx, HD_SQRT, sum)
                   : sum         ? hd_chain_scalar(cx, HD_POW, hd_retain(sum), 1 / p)
                                 : NULL;
    if (sum) y = checked(cx, x, params, sum, y);
    hd_release(sum);
    return y;
}

static hd_status check_extreme(hd_ctx *cx, const hd_tensor *x, const norm_params *params) {
    char text[HD_SHAPE_TEXT];
    if (!isinf(params->p) || hd_reduced_count(x, params->reduce.dims) > 0) return HD_OK;
    return hd_fail(cx, HD_EARG, "dim: the norm of infinite p over no elements, in %s",
                   hd_tensor_shape_text(x, text));
}

/* In f64, the result in f32. */
static hd_tensor *norm_of_integers(hd_ctx *cx, hd_tensor *x, const norm_params *params) {
    hd_tensor *wide = hd_cast(cx, x, HD_F64);
    hd_tensor *exact = wide ? norm_of(cx, wide, params) : NULL;
    hd_tensor *y = exact ? hd_cast(cx, exact, HD_F32) : NULL;
    hd_release(wide);
    hd_release(exact);
    return y;
}

hd_tensor *hd_norm(hd_ctx *cx, hd_tensor *x, double p, uint32_t dims, bool keepdim) {
    if (hd_check_computes(cx, x)) return NULL;
    norm_params params = {{hd_dims_of(x, dims), keepdim}, p};
    if (check_extreme(cx, x, &params)) return NULL;
    if (!hd_dtype_is_float((hd_dtype)x->dtype)) return norm_of_integers(cx, x, &params);
    hd_tensor *plain = hd_tensor_alias(cx, x);
    hd_tensor *y = plain ? norm_of(cx, plain, &params) : NULL;
    hd_release(plain);
    hd_tensor *saved[] = {x, y};
    return hd_record(cx, &norm_class, y, 1, &x, 2, saved, &params, sizeof params);
}
