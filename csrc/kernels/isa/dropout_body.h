/* dropout_body.h: dropout and its fusions for one element type (names: see vec_real.h). All are one
 * loop, in which any operand but x may be missing:
 *
 *     y = residual + dropout(f(x + bias, g))        dropout(v) = v / (1 - p) where kept, else 0
 *
 * Forward, f is an activation of its first argument. Backward, it is g f'(x + bias): dropout multiplies
 * by the same numbers both ways, so the gradient draws the same elements.
 */
#include "kernels/vec_real.h"

typedef struct NAME(operands) {
    const real *x, *bias, *g, *residual; /* all but x may be NULL */
    real *y;
} NAME(operands);

typedef vr (*NAME(inner))(vr x, vr g);

/* Elements [i, i + n), n <= LANES. Element i is kept unless its random word is below `below`, that is,
 * with probability 1 - p; words NULL: no dropout. */
HD_INLINE void NAME(one_vector)(const NAME(operands) * o, int64_t i, int64_t n, const uint32_t *words,
                                uint64_t below, real scale, NAME(inner) f) {
    const vr zero = {0};
    vr v = V(load_n)(o->x + i, n);
    if (o->bias) v += V(load_n)(o->bias + i, n);
    v = f(v, o->g ? V(load_n)(o->g + i, n) : zero);
    if (words) v = V(select)(V(keep)(words, below), v * scale, zero);
    if (o->residual) v += V(load_n)(o->residual + i, n);
    if (n == LANES)
        V(store)(o->y + i, v);
    else
        V(store_n)(o->y + i, v, n);
}

HD_INLINE void NAME(run)(const NAME(operands) * o, int64_t start, int64_t end, const uint32_t *words,
                         uint64_t below, real scale, NAME(inner) f) {
    int64_t i = start;
    for (; i + LANES <= end; i += LANES)
        NAME(one_vector)(o, i, LANES, words ? words + (i - start) : NULL, below, scale, f);
    if (i < end) NAME(one_vector)(o, i, end - i, words ? words + (i - start) : NULL, below, scale, f);
}

HD_INLINE void NAME(all_dropped)(int64_t n, const real *residual, real *y) {
    if (residual)
        memmove(y, residual, (size_t)n * sizeof(real));
    else
        memset(y, 0, (size_t)n * sizeof(real));
}

HD_INLINE void NAME(drop)(hd_draw draw, int64_t first, int64_t n, double p, const NAME(operands) * o,
                          NAME(inner) f) {
    uint64_t below = hd_drop_below(p);
    if (n <= 0) return;
    if (below >> 32) {
        NAME(all_dropped)(n, o->residual, o->y);
        return;
    }
    if (below == 0) {
        NAME(run)(o, 0, n, NULL, 0, 1, f);
        return;
    }
    uint32_t scratch[HD_RANDOM_SCRATCH(CHUNK)];
    for (int64_t start = 0; start < n; start += CHUNK) {
        int64_t end = n - start < CHUNK ? n : start + CHUNK;
        const uint32_t *words = hd_draw_words(draw, first + start, end - start, scratch);
        NAME(run)(o, start, end, words, below, (real)(1 / (1 - p)), f);
    }
}

HD_INLINE vr NAME(itself)(vr x, vr g) {
    (void)g;
    return x;
}
static void NAME(dropout)(hd_draw draw, int64_t first, int64_t n, double p, const void *x, void *y) {
    NAME(operands) o = {.x = x, .y = y};
    NAME(drop)(draw, first, n, p, &o, NAME(itself));
}
static void NAME(dropout_add)(hd_draw draw, int64_t first, int64_t n, double p, const void *x,
                              const void *bias, const void *residual, void *y) {
    NAME(operands) o = {.x = x, .bias = bias, .residual = residual, .y = y};
    NAME(drop)(draw, first, n, p, &o, NAME(itself));
}

/* bias_relu_f32 bias_relu_grad_f32 bias_gelu_f32 bias_gelu_grad_f32 bias_silu_f32 bias_silu_grad_f32 bias_gelu_tanh_f32
 * bias_gelu_tanh_grad_f32 bias_gelu_sigmoid_f32 bias_gelu_sigmoid_grad_f32 bias_tanh_f32 bias_tanh_grad_f32
 * bias_sigmoid_f32 bias_sigmoid_grad_f32, and the same in _f64 */
#define HD_ROW(act, name, ...)                                                                               \
    HD_INLINE vr NAME(name##_of)(vr x, vr g) {                                                               \
        (void)g;                                                                                             \
        return V(name)(x);                                                                                   \
    }                                                                                                        \
    HD_INLINE vr NAME(name##_grad_of)(vr x, vr g) {                                                          \
        return V(name##_grad)(g, x);                                                                         \
    }                                                                                                        \
    static void NAME(bias_##name)(hd_draw draw, int64_t first, int64_t n, double p, const void *x,           \
                                  const void *bias, void *y) {                                               \
        NAME(operands) o = {.x = x, .bias = bias, .y = y};                                                   \
        NAME(drop)(draw, first, n, p, &o, NAME(name##_of));                                                  \
    }                                                                                                        \
    static void NAME(bias_##name##_grad)(hd_draw draw, int64_t first, int64_t n, double p, const void *g,    \
                                         const void *x, const void *bias, void *dx) {                        \
        NAME(operands) o = {.x = x, .bias = bias, .g = g, .y = dx};                                          \
        NAME(drop)(draw, first, n, p, &o, NAME(name##_grad_of));                                             \
    }
#include "kernels/tables/activation.h"

static void NAME(fill_dropout)(hd_kernels *k, hd_dtype t) {
    k->dropout[t] = NAME(dropout);
    k->dropout_add[t] = NAME(dropout_add);
#define HD_ROW(act, name, ...)                                                                               \
    k->bias_act[act][t] = NAME(bias_##name);                                                                 \
    k->bias_act_grad[act][t] = NAME(bias_##name##_grad);
#include "kernels/tables/activation.h"
}

#include "kernels/vec_real_end.h"
