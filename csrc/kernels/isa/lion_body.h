/* lion_body.h: optim.c's Lion for one element type (names: see vec_real.h).
 *
 *     g = scale g
 *     u = sign(beta1 m + (1 - beta1) g)
 *     m = beta2 m + (1 - beta2) g
 *     w = w - lr (u + decay w)
 */
#include "kernels/vec_real.h"

typedef struct NAME(tempo) {
    real lr, keep, beta1, rest1, beta2, rest2, scale;
} NAME(tempo);

/* -1, 0 or 1; NaN of NaN. */
HD_INLINE vr NAME(sign_of)(vr x) {
    const vr zero = {0};
    return V(select)(V(lt)(zero, x), V(set)(1), V(select)(V(lt)(x, zero), V(set)(-1), x));
}

static void NAME(lion)(int64_t n, void *w, const void *g, void *m, const hd_lion_rates *o) {
    const NAME(tempo) p = {(real)o->lr,    (real)(1 - o->lr * o->decay), (real)o->beta1, (real)(1 - o->beta1),
                           (real)o->beta2, (real)(1 - o->beta2),         (real)o->scale};
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        real *wi = (real *)w + i, *mi = (real *)m + i;
        vr gi = V(load_n)((const real *)g + i, count) * p.scale, before = V(load_n)(mi, count);
        vr step = NAME(sign_of)(p.beta1 * before + p.rest1 * gi);
        V(store_n)(mi, p.beta2 * before + p.rest2 * gi, count);
        V(store_n)(wi, p.keep * V(load_n)(wi, count) - p.lr * step, count);
    }
}

#include "kernels/vec_real_end.h"
