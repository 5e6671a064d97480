/* moments.c: mean, variance and standard deviation over some dimensions.
 *
 *     mean: dx = g / n, repeated
 *     var:  dx = 2 (x - mean) g / (n - correction)
 *     std:  dx = (x - mean) g / (std (n - correction)), 0 where std is 0
 *
 * Of integers they are worked out exactly, or in f64 about an element; only the result is rounded to f32.
 */
#include <float.h>
#include <math.h>

#include "ops/elementwise/cast.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"
#include "ops/reduce/partial.h"
#include "ops/reduce/range.h"

/* ---- mean ------------------------------------------------------------------------------------ */

static hd_status mean_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = sum x / n  ->  dx = g / n, repeated */
    if (!grads[0]) return HD_OK;
    hd_input_meta x = hd_node_input(node, 0);
    const hd_reduce_params *p = (const hd_reduce_params *)node->params;
    double n = 1;
    for (int d = 0; d < x.ndim; d++)
        if (p->dims >> d & 1) n *= (double)x.shape[d];
    hd_tensor *share = hd_binary_scalar(cx, HD_DIV, grads[0], hd_scalar_f(n), false);
    if (share) grad_inputs[0] = hd_expand_reduced(cx, share, p, x.ndim, x.shape);
    hd_release(share);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class mean_class = {"mean", mean_backward, NULL};

/* x's elements times a power of two of 1/n or less, so that their sum is no larger than they are. */
static hd_tensor *scaled_mean(hd_ctx *cx, hd_tensor *x, uint32_t dims, double n) {
    double share = ldexp(1, -ilogb(n) - 1);
    hd_tensor *part = hd_chain_scalar(cx, HD_MUL, hd_tensor_alias(cx, x), share);
    hd_tensor *sum = part ? hd_reduce_data(cx, HD_SUM, part, dims) : NULL;
    hd_release(part);
    return hd_chain_scalar(cx, HD_DIV, sum, n * share);
}

static hd_tensor *mean_of_floats(hd_ctx *cx, hd_tensor *x, uint32_t dims, double n) {
    hd_tensor *y = hd_chain_scalar(cx, HD_DIV, hd_reduce_data(cx, HD_SUM, x, dims), n);
    double most = x->dtype == HD_F32 ? (double)FLT_MAX : DBL_MAX;
    if (!y || n < 2 || hd_all_within(y, -most, most)) return y;
    hd_tensor *again = scaled_mean(cx, x, dims, n);
    hd_tensor *test = hd_retain(y);
    hd_tensor *result = hd_keep_within(cx, test, -most, most, y, again);
    hd_release(test);
    return result;
}

/* A header on the stack: the high halves of i64, as i32, where memory has them. */
static hd_tensor high_halves(const hd_tensor *x) {
    hd_tensor halves = *x;
    halves.dtype = HD_I32;
    halves.offset = 2 * x->offset + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    for (int d = 0; d < x->ndim; d++) halves.stride[d] = 2 * x->stride[d];
    return halves;
}

/* The sum is H 2^32 + L with the sums H of high halves and L of low ones, which is less than n 2^32: the
 * wrapped sum of all tells which. */
static void exact_means(int64_t count, const int64_t *wrapped, const int64_t *high, double n, double *y) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t low = (uint64_t)wrapped[i] - ((uint64_t)high[i] << 32);
        y[i] = (double)(((__int128)high[i] * ((__int128)1 << 32)) + low) / n;
    }
}

static hd_tensor *mean_of_i64(hd_ctx *cx, hd_tensor *x, uint32_t dims, double n) {
    hd_tensor halves = high_halves(x);
    hd_tensor *high = hd_reduce_data(cx, HD_SUM, &halves, dims);
    hd_tensor *wrapped = high ? hd_reduce_data(cx, HD_SUM, x, dims) : NULL;
    hd_tensor *h = wrapped ? hd_contiguous_as(cx, high, HD_I64) : NULL;
    hd_tensor *w = h ? hd_contiguous_as(cx, wrapped, HD_I64) : NULL;
    hd_tensor *y = w ? hd_tensor_new(cx, HD_F64, w->ndim, w->shape) : NULL;
    if (y) exact_means(hd_numel(y), hd_data(w), hd_data(h), n, hd_data(y));
    hd_release(high);
    hd_release(wrapped);
    hd_release(h);
    hd_release(w);
    return y;
}

static hd_tensor *mean_of(hd_ctx *cx, hd_tensor *x, uint32_t dims) {
    double n = (double)hd_reduced_count(x, dims);
    if (hd_dtype_is_float((hd_dtype)x->dtype)) return mean_of_floats(cx, x, dims, n);
    hd_tensor *exact = NULL;
    if (x->dtype == HD_I64) {
        exact = mean_of_i64(cx, x, dims, n);
    } else { /* no sum of these leaves i64 */
        hd_tensor *sum = hd_reduce_data(cx, HD_SUM, x, dims);
        exact = sum ? hd_chain_scalar(cx, HD_DIV, hd_cast(cx, sum, HD_F64), n) : NULL;
        hd_release(sum);
    }
    hd_tensor *y = exact ? hd_cast(cx, exact, HD_F32) : NULL;
    hd_release(exact);
    return y;
}

hd_tensor *hd_mean(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim) {
    dims = hd_dims_of(x, dims);
    if (hd_check_computes(cx, x)) return NULL;
    hd_reduce_params params = {dims, keepdim};
    hd_tensor *y = hd_drop_dims(mean_of(cx, x, dims), dims, keepdim);
    return hd_record(cx, &mean_class, y, 1, &x, 0, NULL, &params, sizeof params);
}

/* ---- var and std: forward -------------------------------------------------------------------- */

typedef struct spread {
    hd_reduce_params reduce;
    double divisor;
    bool root; /* std */
} spread;

static void finish(const void *arg, int64_t length, double mean, double squares, double y[2]) {
    const spread *s = arg;
    double variance = (length ? squares : 0) / s->divisor;
    y[0] = s->root ? sqrt(variance) : variance;
    y[1] = length ? mean : NAN;
}

/* x in f64. */
static hd_status wide_moments(hd_ctx *cx, const spread *s, hd_tensor *x, int count, hd_tensor *y[2]) {
    hd_tensor *wide = hd_cast(cx, x, HD_F64), *z[2] = {NULL, NULL};
    if (wide) hd_reduce_partial(cx, HD_MOMENTS, wide, s->reduce.dims, finish, s, count, z);
    for (int k = 0; k < count && z[0]; k++) y[k] = hd_cast(cx, z[k], HD_F32);
    hd_release(wide);
    hd_release(z[0]);
    hd_release(z[1]);
    return y[0] && (count == 1 || y[1]) ? HD_OK : cx->error.status;
}

/* x of f64 by powers of two, which round nothing. */
static hd_status scaled_moments(hd_ctx *cx, const spread *s, hd_tensor *x, int count, hd_tensor *y[2]) {
    hd_tensor *scale = hd_scales_of(cx, x, s->reduce.dims);
    hd_tensor *scaled = scale ? hd_binary_op(cx, HD_MUL, x, scale) : NULL;
    if (scaled) hd_reduce_partial(cx, HD_MOMENTS, scaled, s->reduce.dims, finish, s, count, y);
    for (int k = 0; k < count; k++) y[k] = hd_chain_binary(cx, HD_DIV, y[k], scale);
    if (!s->root) y[0] = hd_chain_binary(cx, HD_DIV, y[0], scale);
    hd_release(scale);
    hd_release(scaled);
    return y[0] && (count == 1 || y[1]) ? HD_OK : cx->error.status;
}

/* x f32 or f64, detached. Squares that were lost, or became infinite, show in the result. */
static hd_status moments_of(hd_ctx *cx, const spread *s, hd_tensor *x, int count, hd_tensor *y[2]) {
    bool narrow = x->dtype == HD_F32;
    double most = narrow ? (double)FLT_MAX : DBL_MAX, least = narrow ? 0x1p-100 : 0x1p-900;
    hd_tensor *again[2] = {NULL, NULL};
    if (s->root) least = sqrt(least);
    if (hd_reduce_partial(cx, HD_MOMENTS, x, s->reduce.dims, finish, s, count, y)) return cx->error.status;
    if (hd_reduced_count(x, s->reduce.dims) < 2 || s->divisor <= 0 || hd_all_within(y[0], least, most))
        return HD_OK;
    hd_status status = (narrow ? wide_moments : scaled_moments)(cx, s, x, count, again);
    hd_tensor *test = hd_retain(y[0]);
    for (int k = 0; k < count; k++) {
        y[k] = hd_keep_within(cx, test, least, most, y[k], status ? NULL : again[k]);
        if (status) hd_release(again[k]);
        if (!y[k]) status = cx->error.status;
    }
    hd_release(test);
    return status;
}

/* Elements less the first of their own; p: y, x, first. */
static void subtract_first(const void *unused, int64_t n, char *const *p, const int64_t *s) {
    (void)unused;
    double *y = (double *)p[0];
    const int64_t *x = (const int64_t *)p[1], *first = (const int64_t *)p[2];
    for (int64_t i = 0; i < n; i++) {
        int64_t a = x[i * s[1]], b = first[i * s[2]], apart;
        y[i * s[0]] = __builtin_sub_overflow(a, b, &apart) ? (double)a - (double)b : (double)apart;
    }
}

static hd_tensor *about_first(hd_ctx *cx, hd_tensor *x, uint32_t dims) {
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) shape[d] = dims >> d & 1 ? 1 : x->shape[d];
    hd_tensor *first = hd_tensor_view(cx, x, x->ndim, shape, x->stride, x->offset);
    hd_tensor *y = first ? hd_tensor_new(cx, HD_F64, x->ndim, x->shape) : NULL;
    if (y && hd_numel(y) > 0) {
        hd_walk w;
        hd_walk_begin(&w, y->ndim, y->shape);
        hd_walk_add(&w, y);
        hd_walk_add(&w, x);
        hd_walk_add(&w, first);
        w.run = subtract_first;
        if (hd_walk_run(cx, &w)) {
            hd_release(y);
            y = NULL;
        }
    }
    hd_release(first);
    return y;
}

static hd_tensor *spread_of_integers(hd_ctx *cx, const spread *s, hd_tensor *x) {
    hd_tensor *wide =
        x->dtype == HD_I64 && hd_numel(x) > 0 ? about_first(cx, x, s->reduce.dims) : hd_cast(cx, x, HD_F64);
    hd_tensor *y[2] = {NULL, NULL};
    if (wide) hd_reduce_partial(cx, HD_MOMENTS, wide, s->reduce.dims, finish, s, 1, y);
    hd_tensor *result = y[0] ? hd_cast(cx, y[0], HD_F32) : NULL;
    hd_release(wide);
    hd_release(y[0]);
    return result;
}

/* ---- var and std: the node ------------------------------------------------------------------- */

enum { SAVED_X, SAVED_MEAN, SAVED_STD, SAVED_COUNT };

static hd_status var_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = sum (x - mean)^2 / divisor  ->  dx = 2 (x - mean) g / divisor */
    if (!grads[0]) return HD_OK;
    const spread *s = (const spread *)node->params;
    hd_tensor *x = hd_node_saved(cx, node, SAVED_X), *mean = x ? hd_node_saved(cx, node, SAVED_MEAN) : NULL;
    if (!mean) return cx->error.status;
    hd_tensor *share = hd_binary_scalar(cx, HD_MUL, grads[0], hd_scalar_f(2 / s->divisor), false);
    hd_tensor *wide = share ? hd_expand_reduced(cx, share, &s->reduce, x->ndim, x->shape) : NULL;
    if (wide) grad_inputs[0] = hd_chain_gradient(cx, hd_binary_op(cx, HD_SUB, x, mean), wide);
    hd_release(share);
    hd_release(wide);
    return hd_made(cx, grad_inputs[0]);
}

static hd_status std_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = sqrt(sum (x - mean)^2 / divisor)  ->  dx = (x - mean) (g / divisor) / y */
    if (!grads[0]) return HD_OK;
    const spread *s = (const spread *)node->params;
    hd_tensor *x = hd_node_saved(cx, node, SAVED_X), *mean = x ? hd_node_saved(cx, node, SAVED_MEAN) : NULL;
    hd_tensor *y = mean ? hd_node_saved(cx, node, SAVED_STD) : NULL;
    if (!y) return cx->error.status;
    hd_tensor *share = hd_binary_scalar(cx, HD_DIV, grads[0], hd_scalar_f(s->divisor), false);
    hd_tensor *apart = share ? hd_binary_op(cx, HD_SUB, x, mean) : NULL;
    if (apart) grad_inputs[0] = hd_times_quotient(cx, &s->reduce, apart, share, y);
    hd_release(share);
    hd_release(apart);
    return hd_made(cx, grad_inputs[0]);
}

static const hd_node_class var_class = {"var", var_backward, NULL}, std_class = {"std", std_backward, NULL};

static hd_tensor *spread_over(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim, int correction,
                              bool root) {
    dims = hd_dims_of(x, dims);
    if (hd_check_computes(cx, x)) return NULL;
    double divisor = (double)(hd_reduced_count(x, dims) - correction);
    spread s = {{dims, keepdim}, divisor > 0 ? divisor : 0, root};
    if (!hd_dtype_is_float((hd_dtype)x->dtype))
        return hd_drop_dims(spread_of_integers(cx, &s, x), dims, keepdim);
    hd_tensor *plain = hd_tensor_alias(cx, x), *y[2] = {NULL, NULL};
    int count = hd_wants_grad(cx, 1, &x) ? 2 : 1; /* backward wants the mean */
    if (!plain || moments_of(cx, &s, plain, count, y)) {
        hd_release(y[0]);
        y[0] = NULL;
    }
    hd_release(plain);
    hd_tensor *result = hd_drop_dims(y[0], dims, keepdim);
    hd_tensor *saved[SAVED_COUNT] = {x, y[1], root ? result : NULL};
    result = hd_record(cx, root ? &std_class : &var_class, result, 1, &x, SAVED_COUNT, saved, &s, sizeof s);
    hd_release(y[1]);
    return result;
}

hd_tensor *hd_var(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim, int correction) {
    return spread_over(cx, x, dims, keepdim, correction, false);
}

hd_tensor *hd_std(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim, int correction) {
    return spread_over(cx, x, dims, keepdim, correction, true);
}
