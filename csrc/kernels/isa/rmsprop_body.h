/* rmsprop_body.h: optim.c's RMSprop for one element type (names: see vec_real.h).
 *
 *     g = scale g + decay w
 *     v = alpha v + (1 - alpha) g²
 *     a = alpha a + (1 - alpha) g                      centred: v is taken about it
 *     u = g / (sqrt(v - a²) + eps)                     not centred: without a
 *     b = momentum b + u                               without momentum: u
 *     w = w - lr b
 */
#include "kernels/vec_real.h"

typedef struct NAME(measure) {
    real lr, alpha, rest, eps, momentum, decay, scale;
} NAME(measure);

/* g over its root mean square. v - a² may fall below 0 by rounding; max's second argument keeps NaN. */
HD_INLINE vr NAME(scaled)(const NAME(measure) * p, vr g, vr v, const vr *a) {
    const vr zero = {0};
    vr square = a ? V(max)(zero, v - *a * *a) : v;
    return g / (V(sqrt)(square) + p->eps);
}

HD_INLINE void NAME(rmsprop_pass)(int64_t n, const NAME(measure) * p, int decays, real *w, const real *g,
                                  real *b, real *v, real *a) {
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr wi = V(load_n)(w + i, count), gi = V(load_n)(g + i, count) * p->scale, ai;
        if (decays) gi += p->decay * wi;
        vr vi = p->alpha * V(load_n)(v + i, count) + p->rest * gi * gi;
        V(store_n)(v + i, vi, count);
        if (a) {
            ai = V(load_n)(a + i, count);
            ai += p->rest * (gi - ai);
            V(store_n)(a + i, ai, count);
        }
        vr step = NAME(scaled)(p, gi, vi, a ? &ai : NULL);
        if (b) {
            step += p->momentum * V(load_n)(b + i, count);
            V(store_n)(b + i, step, count);
        }
        V(store_n)(w + i, wi - p->lr * step, count);
    }
}

static void NAME(rmsprop)(int64_t n, void *w, const void *g, void *b, void *v, void *a,
                          const hd_rmsprop_rates *o) {
    const NAME(measure) p = {(real)o->lr,       (real)o->alpha, (real)(1 - o->alpha), (real)o->eps,
                             (real)o->momentum, (real)o->decay, (real)o->scale};
    if (a)
        NAME(rmsprop_pass)(n, &p, o->decay != 0, w, g, b, v, a);
    else
        NAME(rmsprop_pass)(n, &p, o->decay != 0, w, g, b, v, NULL);
}

#include "kernels/vec_real_end.h"
