/* loss_body.h: loss.c for one element type (names: see vec_real.h). */
#include "kernels/vec_real.h"
#include "kernels/isa/softmax_common.h"

/* sum += sum of x - shift over the classes that are not excluded; classes += their number. */
HD_INLINE void NAME(add_allowed)(int64_t n, const real *x, real shift, const uint8_t *excluded, double *sum,
                                 double *classes) {
    const vr zero = {0};
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t end = n - start < BLOCK ? n : start + BLOCK;
        vr sums = zero, counts = zero;
        for (int64_t i = start; i < end; i += LANES) {
            int64_t lanes = end - i < LANES ? end - i : LANES;
            vr d = V(load_n)(x + i, lanes) - shift, one = V(set)(1);
            if (excluded) {
                vmask out = V(bytes)(excluded + i, lanes);
                d = V(select)(out, zero, d);
                one = V(select)(out, zero, one);
            }
            sums += V(select)(V(first)(lanes), d, zero);
            counts += V(select)(V(first)(lanes), one, zero);
        }
        *sum += V(sum)(sums);
        *classes += V(sum)(counts);
    }
}

/* The same over all classes that have the share `each`. If there is no such share, nothing is added:
 * 0 times a logit of -inf would be NaN. */
HD_INLINE void NAME(shared)(int64_t n, const real *x, real shift, const shares *s, double *sum,
                            double *classes) {
    *sum = *classes = 0;
    if (s->each == 0) return;
    if (!s->excluded) {
        NAME(add_allowed)(n, x, shift, NULL, sum, classes);
        return;
    }
    int64_t after = s->target + 1; /* the target has its own share alone */
    NAME(add_allowed)(s->target, x, shift, s->excluded, sum, classes);
    NAME(add_allowed)(n - after, x + after, shift, s->excluded + after, sum, classes);
}

/* grad = e^(x - m) / sum - t; grad holds e^(x - m) before. */
HD_INLINE void NAME(subtract_shares)(int64_t n, real inverse, const shares *s, real *grad) {
    vr each = V(set)((real)s->each), none = V(set)(0);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr share = s->excluded ? V(select)(V(bytes)(s->excluded + i, count), none, each) : each;
        V(store_n)(grad + i, V(load_n)(grad + i, count) * inverse - share, count);
    }
    int has_each = s->excluded && !s->excluded[s->target];
    grad[s->target] -= (real)(has_each ? s->own - s->each : s->own);
}

/* With m = max x, log_sum = log sum_i e^(x_i - m):
 * loss = own (log_sum - (x_target - m)) + each sum over the sharing classes of (log_sum - (x_j - m)) */
static double NAME(cross_entropy)(int64_t n, const void *logits, int64_t target, double smoothing,
                                  const uint8_t *excluded, void *pgrad) {
    const real *x = logits;
    real *grad = pgrad, largest = NAME(row_max)(n, x);
    if (largest == -INFINITY) {
        int nan = NAME(has_nan)(n, x);
        if (grad) NAME(fill)(n, nan ? (real)NAN : 0, grad);
        return nan ? NAN : INFINITY;
    }
    shares s = shares_of(n, target, smoothing, excluded);
    double own = x[target] - largest, shared, classes;
    NAME(shared)(n, x, largest, &s, &shared, &classes);
    double sum = NAME(exp_shifted)(n, x, largest, grad), log_sum = log(sum);
    if (grad) NAME(subtract_shares)(n, (real)(1 / sum), &s, grad);
    double loss = s.own == 0 ? 0 : s.own * (log_sum - own);
    return s.each == 0 ? loss : loss + s.each * (classes * log_sum - shared);
}

#include "kernels/vec_real_end.h"
