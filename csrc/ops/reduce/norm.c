/* layer_norm.c: y = (sum |x|^p)^(1/p) over some dimensions.
 *
 *     dx = g sign(x) |x|^(p - 1) y^(1 - p), 0 where x or y is 0
 *     p = 2:         dx = g x / y
 *     p = 1:         dx = g sign(x)
 *     p = inf, -inf: y is the largest (smallest) |x|; those that are it share g sign(x) equally
 *     p = 0:         y is how many are not 0; dx = 0
 *
 * Integers and bool become f32.
 */
#include <math.h>
#include <string.h>

#include "ops/elementwise/chain.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/reduce/partial.h"

typedef struct norm_params {
    hd_reduce_params reduce;
    double p;
} norm_params;

/* ---- backward --------------------------------------------------------------------------------- */

/* factor (consumed), of y's shape, is 0 where y is, and laid out over x. */
static hd_tensor *spread_factor(hd_ctx *cx, const norm_params *params, hd_tensor *factor, hd_tensor *y,
                                const hd_tensor *x) {
    factor = factor
                 ? hd_chain_masked_fill(cx, factor, hd_binary_scalar(cx, HD_EQ, y, hd_scalar_f(0), false), 0)
                 : NULL;
    hd_tensor *wide = factor ? hd_expand_reduced(cx, factor, &params->reduce, x->ndim, x->shape) : NULL;
    hd_release(factor);
    return wide;
}

/* dx = x · (g / y) */
static hd_tensor *d_norm_2(hd_ctx *cx, const norm_params *params, hd_tensor *x, hd_tensor *y, hd_tensor *g) {
    hd_tensor *wide = spread_factor(cx, params, hd_binary_op(cx, HD_DIV, g, y), y, x);
    hd_tensor *dx = wide ? hd_binary_op(cx, HD_MUL, x, wide) : NULL;
    hd_release(wide);
    return dx;
}

/* dx = sign(x) g */
static hd_tensor *d_norm_1(hd_ctx *cx, const norm_params *params, hd_tensor *x, hd_tensor *g) {
    hd_tensor *wide = hd_expand_reduced(cx, g, &params->reduce, x->ndim, x->shape);
    hd_tensor *dx = wide ? hd_chain_binary(cx, HD_MUL, hd_unary_op(cx, HD_SIGN, x), wide) : NULL;
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
    hd_tensor *signs = wide ? hd_chain_binary(cx, HD_MUL, hd_unary_op(cx, HD_SIGN, x), wide) : NULL;
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

/* dx = sign(x) |x|^(p - 1) · g y^(1 - p) */
static hd_tensor *d_norm_any(hd_ctx *cx, const norm_params *params, hd_tensor *x, hd_tensor *y,
                             hd_tensor *g) {
    double p = params->p;
    hd_tensor *factor =
        hd_chain_binary(cx, HD_MUL, hd_binary_scalar(cx, HD_POW, y, hd_scalar_f(1 - p), false), g);
    hd_tensor *wide = spread_factor(cx, params, factor, y, x);
    hd_tensor *power = wide ? hd_chain_scalar(cx, HD_POW, hd_unary_op(cx, HD_ABS, x), p - 1) : NULL;
    hd_tensor *sign = power ? hd_unary_op(cx, HD_SIGN, x) : NULL;
    hd_tensor *dx = sign ? hd_chain_binary(cx, HD_MUL, hd_retain(power), sign) : NULL;
    dx = hd_chain_binary(cx, HD_MUL, dx, wide);
    if (dx) dx = hd_chain_masked_fill(cx, dx, hd_binary_scalar(cx, HD_EQ, x, hd_scalar_f(0), false), 0);
    hd_release(wide);
    hd_release(power);
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
                     : p == 2   ? d_norm_2(cx, &params, x, y, grads[0])
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
static hd_tensor *sizes(hd_ctx *cx, hd_partial kind, hd_tensor *x, const hd_reduce_params *r) {
    hd_tensor *y[2];
    hd_partial_finish finish = kind == HD_SQUARES ? finish_root : finish_same;
    if (hd_reduce_partial(cx, kind, x, r->dims, finish, NULL, 1, y)) return NULL;
    return hd_drop_dims(y[0], r->dims, r->keepdim);
}

static hd_tensor *norm_of(hd_ctx *cx, hd_tensor *x, const norm_params *params) {
    const hd_reduce_params *r = &params->reduce;
    double p = params->p;
    if (p == 0) return count_nonzero(cx, x, r);
    if (p == 1) return sizes(cx, HD_ABS_SUM, x, r);
    if (p == 2) return sizes(cx, HD_SQUARES, x, r);
    if (isinf(p)) return sizes(cx, p > 0 ? HD_ABS_MAX : HD_ABS_MIN, x, r);
    hd_tensor *powers = hd_chain_scalar(cx, HD_POW, hd_unary_op(cx, HD_ABS, x), p);
    return hd_chain_scalar(cx, HD_POW, reduced(cx, HD_SUM, powers, r), 1 / p);
}

static hd_status check_extreme(hd_ctx *cx, const hd_tensor *x, const norm_params *params) {
    char text[HD_SHAPE_TEXT];
    if (!isinf(params->p) || hd_reduced_count(x, params->reduce.dims) > 0) return HD_OK;
    return hd_fail(cx, HD_EARG, "dim: the norm of infinite p over no elements, in %s",
                   hd_tensor_shape_text(x, text));
}

hd_tensor *hd_norm(hd_ctx *cx, hd_tensor *x, double p, uint32_t dims, bool keepdim) {
    if (hd_check_computes(cx, x)) return NULL;
    norm_params params = {{hd_dims_of(x, dims), keepdim}, p};
    if (check_extreme(cx, x, &params)) return NULL;
    hd_tensor *plain =
        hd_dtype_is_float((hd_dtype)x->dtype) ? hd_tensor_alias(cx, x) : hd_cast(cx, x, HD_F32);
    hd_tensor *y = plain ? norm_of(cx, plain, &params) : NULL;
    hd_release(plain);
    hd_tensor *saved[] = {x, y};
    return hd_record(cx, &norm_class, y, 1, &x, 2, saved, &params, sizeof params);
}
