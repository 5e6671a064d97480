/* adam_body.h: optim.c's Adam and AdamW for one element type (names: see vec_real.h).
 *
 *     g = scale g + decay w                            decay: of Adam
 *     m = beta1 m + (1 - beta1) g
 *     v = beta2 v + (1 - beta2) g²
 *     w = keep w - step m / (sqrt(v) root + eps)
 *
 * with keep = 1 - lr · decoupled_decay (AdamW), step = lr / (1 - beta1^t), root = 1 / sqrt(1 - beta2^t).
 * One pass: four streams are read and three written, which is what limits the speed.
 */
#include "kernels/vec_real.h"

typedef struct NAME(rates) {
    real keep, decay, beta1, rest1, beta2, rest2, step, eps, root, scale;
} NAME(rates);

/* Updates the moments; returns the new w. */
HD_INLINE vr NAME(update)(const NAME(rates) * r, int decays, vr w, vr g, vr *m, vr *v) {
    g *= r->scale;
    if (decays) g += r->decay * w;
    *m = r->beta1 * *m + r->rest1 * g;
    *v = r->beta2 * *v + r->rest2 * g * g;
    return r->keep * w - r->step * *m / (V(sqrt)(*v) * r->root + r->eps);
}

HD_INLINE void NAME(adam_pass)(int64_t n, const NAME(rates) * r, int decays, real *w, const real *g, real *m,
                               real *v) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vr mi = V(load)(m + i), vv = V(load)(v + i);
        V(store)(w + i, NAME(update)(r, decays, V(load)(w + i), V(load)(g + i), &mi, &vv));
        V(store)(m + i, mi);
        V(store)(v + i, vv);
    }
    if (i < n) {
        vr mi = V(load_n)(m + i, n - i), vv = V(load_n)(v + i, n - i);
        vr wi = NAME(update)(r, decays, V(load_n)(w + i, n - i), V(load_n)(g + i, n - i), &mi, &vv);
        V(store_n)(w + i, wi, n - i);
        V(store_n)(m + i, mi, n - i);
        V(store_n)(v + i, vv, n - i);
    }
}

static void NAME(adam)(int64_t n, void *w, const void *g, void *m, void *v, const hd_adam_rates *o) {
    const NAME(rates) r = {(real)(1 - o->lr * o->decoupled_decay),
                           (real)o->decay,
                           (real)o->beta1,
                           (real)(1 - o->beta1),
                           (real)o->beta2,
                           (real)(1 - o->beta2),
                           (real)(o->lr / o->bias1),
                           (real)o->eps,
                           (real)(1 / sqrt(o->bias2)),
                           (real)o->scale};
    if (o->decay == 0)
        NAME(adam_pass)(n, &r, 0, w, g, m, v);
    else
        NAME(adam_pass)(n, &r, 1, w, g, m, v);
}

#include "kernels/vec_real_end.h"
