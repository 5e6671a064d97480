/* ternary.h: a function of three elements, which broadcast, without the graph. */
#ifndef HD_TERNARY_H
#define HD_TERNARY_H

#include "ops/elementwise/walk.h"

/* Runs of operands y, x[0], x[1], x[2], by dtype: where y is f32 and where it is f64. */
typedef struct hd_ternary {
    hd_run f32, f64;
} hd_ternary;

/* y = f(x[0], x[1], x[2]), all of x[0]'s dtype, in the shape that they broadcast to. */
hd_tensor *hd_apply_ternary(hd_ctx *cx, const hd_ternary *f, hd_tensor *const x[3]);
/* The same of what has x[0]'s dtype only once it is converted; x[0] is g in formulas of backward. */
hd_tensor *hd_gradient_ternary(hd_ctx *cx, const hd_ternary *f, hd_tensor *g, hd_tensor *a, hd_tensor *b);

/* A run of expression of a, b and c; 0 where a, in formulas of backward the gradient that arrived, is 0. */
#define HD_GRADIENT_RUN(name, type, expression)                                                              \
    static void name(const void *arg, int64_t n, char *const *p, const int64_t *s) {                         \
        (void)arg;                                                                                           \
        type *y = (type *)p[0];                                                                              \
        const type *as = (const type *)p[1], *bs = (const type *)p[2], *cs = (const type *)p[3];             \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            type a = as[i * s[1]], b = bs[i * s[2]], c = cs[i * s[3]];                                       \
            y[i * s[0]] = a == 0 ? 0 : (expression);                                                         \
        }                                                                                                    \
    }

#endif
