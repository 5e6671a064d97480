/* pointwise_body.h: pointwise.c for one element type (names: see vec_real.h). Each loss has a value and
 * derivatives by x and by y. p is the weight of positive targets (bce), c the parameter (huber).
 *
 *     squared    (x - y)²
 *     absolute   |x - y|
 *     huber      (x - y)² / 2 where |x - y| < c, else c (|x - y| - c / 2)
 *     bce        p y softplus(-x) + (1 - y) softplus(x)        x: logit, softplus(x) = log(1 + e^x)
 *     kl         y (log y - x)                                 x: log of the predicted probability
 *     kl_log     e^y (y - x)                                   y is a logarithm too
 *
 * A term with the factor 0 is 0, even if the other factor is infinite.
 */
#include "kernels/vec_real.h"

/* 1 or -1 by the sign of d; d itself if it is 0 or NaN. */
HD_INLINE vr NAME(sign)(vr d) {
    const vr zero = {0}, one = V(set)(1);
    return V(select)(V(lt)(zero, d), one, V(select)(V(lt)(d, zero), -one, d));
}

/* a, but 0 where factor is 0; a is a product with this factor, and 0 · inf would be NaN. */
HD_INLINE vr NAME(unless_zero)(vr factor, vr a) {
    const vr zero = {0};
    return V(select)(V(eq)(factor, zero), zero, a);
}

HD_INLINE vr NAME(squared_value)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    return (x - y) * (x - y);
}
HD_INLINE vr NAME(squared_by_x)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    return 2 * (x - y);
}
HD_INLINE vr NAME(squared_by_y)(vr x, vr y, vr p, vr c) {
    return -NAME(squared_by_x)(x, y, p, c);
}

HD_INLINE vr NAME(absolute_value)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    return V(abs)(x - y);
}
HD_INLINE vr NAME(absolute_by_x)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    return NAME(sign)(x - y);
}
HD_INLINE vr NAME(absolute_by_y)(vr x, vr y, vr p, vr c) {
    return -NAME(absolute_by_x)(x, y, p, c);
}

/* d²/2 where |d| < c, else c (|d| - c/2), with d = x - y */
HD_INLINE vr NAME(huber_value)(vr x, vr y, vr p, vr c) {
    (void)p;
    vr d = x - y, a = V(abs)(d);
    return V(select)(V(lt)(a, c), d * d / 2, c * (a - c / 2));
}
HD_INLINE vr NAME(huber_by_x)(vr x, vr y, vr p, vr c) {
    (void)p;
    vr d = x - y;
    return V(select)(V(lt)(V(abs)(d), c), d, c * NAME(sign)(d));
}
HD_INLINE vr NAME(huber_by_y)(vr x, vr y, vr p, vr c) {
    return -NAME(huber_by_x)(x, y, p, c);
}

/* p y softplus(-x) + (1 - y) softplus(x), with softplus(±x) = max(±x, 0) + log(1 + e^-|x|): the second
 * term is computed once. */
HD_INLINE vr NAME(bce_value)(vr x, vr y, vr p, vr c) {
    (void)c;
    const vr zero = {0};
    vr rest = V(softplus)(-V(abs)(x)), positive = p * y, negative = 1 - y;
    return NAME(unless_zero)(positive, positive * (V(max)(zero, -x) + rest)) +
           NAME(unless_zero)(negative, negative * (V(max)(zero, x) + rest));
}
HD_INLINE vr NAME(bce_by_x)(vr x, vr y, vr p, vr c) {
    (void)c;
    return (p * y + (1 - y)) * V(sigmoid)(x) - p * y;
}
HD_INLINE vr NAME(bce_by_y)(vr x, vr y, vr p, vr c) {
    (void)y, (void)c;
    return p * V(softplus)(-x) - V(softplus)(x);
}

/* y (log y - x) */
HD_INLINE vr NAME(kl_value)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    return NAME(unless_zero)(y, y * (V(log)(y) - x));
}
HD_INLINE vr NAME(kl_by_x)(vr x, vr y, vr p, vr c) {
    (void)x, (void)p, (void)c;
    return -y;
}
HD_INLINE vr NAME(kl_by_y)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    return V(log)(y) + 1 - x;
}

/* e^y (y - x) */
HD_INLINE vr NAME(kl_log_value)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    vr e = V(exp)(y);
    return NAME(unless_zero)(e, e * (y - x));
}
HD_INLINE vr NAME(kl_log_by_x)(vr x, vr y, vr p, vr c) {
    (void)x, (void)p, (void)c;
    return -V(exp)(y);
}
HD_INLINE vr NAME(kl_log_by_y)(vr x, vr y, vr p, vr c) {
    (void)p, (void)c;
    vr e = V(exp)(y);
    return NAME(unless_zero)(e, e * (y - x + 1));
}

typedef vr (*NAME(loss_fn))(vr x, vr y, vr p, vr c);

HD_INLINE void NAME(each_loss)(int64_t n, const real *x, const real *y, const real *p, double parameter,
                               real *out, NAME(loss_fn) f) {
    const vr c = V(set)((real)parameter), one = V(set)(1);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr weight = p ? V(load_n)(p + i, count) : one;
        V(store_n)(out + i, f(V(load_n)(x + i, count), V(load_n)(y + i, count), weight, c), count);
    }
}

#define LOSS(name)                                                                                           \
    static void NAME(name)(int64_t n, const void *x, const void *y, const void *p, double c, void *out) {    \
        NAME(each_loss)(n, x, y, p, c, out, NAME(name##_value));                                             \
    }                                                                                                        \
    static void NAME(name##_slope)(int64_t n, const void *x, const void *y, const void *p, double c,         \
                                   int by_y, void *out) {                                                    \
        if (by_y)                                                                                            \
            NAME(each_loss)(n, x, y, p, c, out, NAME(name##_by_y));                                          \
        else                                                                                                 \
            NAME(each_loss)(n, x, y, p, c, out, NAME(name##_by_x));                                          \
    }

/* squared_f32 squared_slope_f32 absolute_f32 absolute_slope_f32 huber_f32 huber_slope_f32 bce_f32 bce_slope_f32 kl_f32
 * kl_slope_f32 kl_log_f32 kl_log_slope_f32, and the same in _f64 */
#define HD_ROW(op, kernel, ...) LOSS(kernel)
#include "kernels/tables/pointwise.h"
#undef LOSS

#include "kernels/vec_real_end.h"
