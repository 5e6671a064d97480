/* adamw_body.h: adamw.c for f32 and f64 (see vec_real.h). */
#include "kernels/vec_real.h"

typedef struct NAME(rates) {
    real keep, beta1, rest1, beta2, rest2, step, eps, root, scale;
} NAME(rates);

/* w = keep w - step m / (sqrt(v) root + eps), after the moments took g in */
HD_INLINE vr NAME(update)(const NAME(rates) * r, vr w, vr g, vr *m, vr *v) {
    g *= r->scale;
    *m = r->beta1 * *m + r->rest1 * g;
    *v = r->beta2 * *v + r->rest2 * g * g;
    return r->keep * w - r->step * *m / (V(sqrt)(*v) * r->root + r->eps);
}

static void NAME(adamw)(int64_t n, void *pw, const void *pg, void *pm, void *pv, double lr, double beta1,
                        double beta2, double eps, double weight_decay, double bias1, double bias2,
                        double scale) {
    real *w = pw, *m = pm, *v = pv;
    const real *g = pg;
    const NAME(rates) r = {(real)(1 - lr * weight_decay),
                           (real)beta1,
                           (real)(1 - beta1),
                           (real)beta2,
                           (real)(1 - beta2),
                           (real)(lr / bias1),
                           (real)eps,
                           (real)(1 / sqrt(bias2)),
                           (real)scale};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vr mi = V(load)(m + i), vv = V(load)(v + i);
        V(store)(w + i, NAME(update)(&r, V(load)(w + i), V(load)(g + i), &mi, &vv));
        V(store)(m + i, mi);
        V(store)(v + i, vv);
    }
    if (i < n) {
        vr mi = V(load_n)(m + i, n - i), vv = V(load_n)(v + i, n - i);
        vr wi = NAME(update)(&r, V(load_n)(w + i, n - i), V(load_n)(g + i, n - i), &mi, &vv);
        V(store_n)(w + i, wi, n - i);
        V(store_n)(m + i, mi, n - i);
        V(store_n)(v + i, vv, n - i);
    }
}

#include "kernels/vec_real_end.h"
