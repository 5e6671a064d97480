#include "ops/reduce/range.h"

#include <math.h>

#include "ops/elementwise/chain.h"
#include "ops/reduce/partial.h"

bool hd_all_within(const hd_tensor *y, double least, double most) {
    int64_t n = hd_numel(y);
    int outside = 0;
    if (y->storage->meta) return true; /* has a shape and no numbers */
    if (y->dtype == HD_F32) {
        const float *v = hd_data(y);
        float low = (float)least, high = (float)most;
        for (int64_t i = 0; i < n; i++) outside |= !(v[i] >= low) | !(v[i] <= high);
    } else {
        const double *v = hd_data(y);
        for (int64_t i = 0; i < n; i++) outside |= !(v[i] >= least) | !(v[i] <= most);
    }
    return !outside;
}

hd_tensor *hd_keep_within(hd_ctx *cx, hd_tensor *test, double least, double most, hd_tensor *y,
                          hd_tensor *again) {
    hd_tensor *low = y && again ? hd_binary_scalar(cx, HD_GE, test, hd_scalar_f(least), false) : NULL;
    hd_tensor *high = low ? hd_binary_scalar(cx, HD_LE, test, hd_scalar_f(most), false) : NULL;
    hd_tensor *within = hd_chain_binary(cx, HD_AND, low, high);
    hd_tensor *result = within ? hd_where(cx, within, y, again) : NULL;
    hd_release(high);
    hd_release(within);
    hd_release(y);
    hd_release(again);
    return result;
}

static void finish_scale(const void *unused, int64_t length, double size, double zero, double y[2]) {
    (void)unused, (void)length, (void)zero;
    int e = size > 0 && size < INFINITY ? -ilogb(size) : 0;
    y[0] = ldexp(1, e < 1000 ? e : 1000);
}

hd_tensor *hd_scales_of(hd_ctx *cx, hd_tensor *x, uint32_t dims) {
    hd_tensor *y[2];
    return hd_reduce_partial(cx, HD_ABS_MAX, x, dims, finish_scale, NULL, 1, y) ? NULL : y[0];
}

static hd_tensor *zeros_of(hd_ctx *cx, hd_tensor *y) {
    return hd_binary_scalar(cx, HD_EQ, y, hd_scalar_f(0), false);
}

/* (x / y) · g */
static hd_tensor *quotient_times(hd_ctx *cx, const hd_reduce_params *r, hd_tensor *x, hd_tensor *g,
                                 hd_tensor *y) {
    hd_tensor *divisor = hd_chain_masked_fill(cx, hd_retain(y), zeros_of(cx, y), 1);
    hd_tensor *factor = divisor ? hd_chain_masked_fill(cx, hd_retain(g), zeros_of(cx, y), 0) : NULL;
    hd_tensor *wide_y = factor ? hd_expand_reduced(cx, divisor, r, x->ndim, x->shape) : NULL;
    hd_tensor *wide_g = wide_y ? hd_expand_reduced(cx, factor, r, x->ndim, x->shape) : NULL;
    hd_tensor *unit = wide_g ? hd_binary_op(cx, HD_DIV, x, wide_y) : NULL;
    hd_tensor *result = hd_chain_gradient(cx, unit, wide_g);
    hd_release(divisor);
    hd_release(factor);
    hd_release(wide_y);
    hd_release(wide_g);
    return result;
}

hd_tensor *hd_times_quotient(hd_ctx *cx, const hd_reduce_params *r, hd_tensor *x, hd_tensor *g,
                             hd_tensor *y) {
    double bound = x->dtype == HD_F32 ? 0x1p100 : 0x1p960;
    hd_tensor *factor = hd_binary_op(cx, HD_DIV, g, y);
    hd_tensor *size = factor ? hd_unary_op(cx, HD_ABS, factor) : NULL;
    bool fits = size && hd_all_within(size, 1 / bound, bound);
    hd_tensor *wide = fits ? hd_expand_reduced(cx, factor, r, x->ndim, x->shape) : NULL;
    hd_tensor *result = wide            ? hd_gradient_mul(cx, wide, x)
                        : !fits && size ? quotient_times(cx, r, x, g, y)
                                        : NULL;
    hd_release(factor);
    hd_release(size);
    hd_release(wide);
    return result;
}
