/* sgd_body.h: optim.c's SGD for one element type (names: see vec_real.h).
 *
 *     g = scale g + decay w
 *     b = momentum b + (1 - dampening) g               b = g the first time
 *     w = w - lr b                                     Nesterov: w - lr (g + momentum b)
 */
#include "kernels/vec_real.h"

typedef struct NAME(pace) {
    real lr, momentum, rest, decay, scale;
} NAME(pace);

/* scale g + decay w */
HD_INLINE vr NAME(slope)(const NAME(pace) * p, int decays, vr w, vr g) {
    g *= p->scale;
    return decays ? g + p->decay * w : g;
}

/* The new w. b contains g already; Nesterov's form goes one more step along it. */
HD_INLINE vr NAME(moved)(const NAME(pace) * p, int nesterov, vr w, vr g, vr b) {
    return w - p->lr * (nesterov ? g + p->momentum * b : b);
}

HD_INLINE void NAME(plain_pass)(int64_t n, const NAME(pace) * p, int decays, real *w, const real *g) {
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr wi = V(load_n)(w + i, count);
        V(store_n)(w + i, wi - p->lr * NAME(slope)(p, decays, wi, V(load_n)(g + i, count)), count);
    }
}

HD_INLINE void NAME(momentum_pass)(int64_t n, const NAME(pace) * p, int decays, int nesterov, int first,
                                   real *w, const real *g, real *b) {
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr wi = V(load_n)(w + i, count), gi = NAME(slope)(p, decays, wi, V(load_n)(g + i, count));
        vr bi = first ? gi : p->momentum * V(load_n)(b + i, count) + p->rest * gi;
        V(store_n)(b + i, bi, count);
        V(store_n)(w + i, NAME(moved)(p, nesterov, wi, gi, bi), count);
    }
}

static void NAME(sgd)(int64_t n, void *w, const void *g, void *b, const hd_sgd_rates *o) {
    const NAME(pace)
        p = {(real)o->lr, (real)o->momentum, (real)(1 - o->dampening), (real)o->decay, (real)o->scale};
    const int decays = o->decay != 0;
    if (!b)
        NAME(plain_pass)(n, &p, decays, w, g);
    else if (o->nesterov)
        NAME(momentum_pass)(n, &p, decays, 1, o->first, w, g, b);
    else
        NAME(momentum_pass)(n, &p, decays, 0, o->first, w, g, b);
}

#include "kernels/vec_real_end.h"
