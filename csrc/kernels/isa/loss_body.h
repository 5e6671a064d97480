/* loss_body.h: loss.c for f32 and f64 (see vec_real.h). */
#include "kernels/vec_real.h"
#include "kernels/isa/shifted.h"

/* Sum of x - shift over the classes that have the share `each`, and how many they are. */
HD_INLINE double NAME(shared_sum)(int64_t n, const real *x, real shift, const shares *s, int64_t *classes) {
    double sum = 0;
    *classes = 0;
    for (int64_t j = 0; j < n; j++) {
        if (s->excluded && (s->excluded[j] || j == s->target)) continue;
        sum += x[j] - shift;
        ++*classes;
    }
    return sum;
}

/* grad = probability - share, grad holding exp(x - largest) so far */
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
    double own = x[target] - largest, shared = 0;
    int64_t classes = 0;
    if (s.each != 0) shared = NAME(shared_sum)(n, x, largest, &s, &classes);
    double sum = NAME(exp_shifted)(n, x, largest, grad), log_sum = log(sum);
    if (grad) NAME(subtract_shares)(n, (real)(1 / sum), &s, grad);
    double loss = s.own == 0 ? 0 : s.own * (log_sum - own);
    return s.each == 0 ? loss : loss + s.each * ((double)classes * log_sum - shared);
}

#include "kernels/vec_real_end.h"
