/* lerp.c: from one tensor to another.
 *
 *     y = a + w (b - a), where |w| >= 1/2 counted from the other end: b - (1 - w) (b - a)
 *     ->  da = (1 - w) g, db = w g, dw = (b - a) g
 *
 * w = 0 gives the bits of a, and w = 1 those of b; where b - a is beyond the range, y is (1 - w) a + w b.
 * NaN in a or b stays. The weight is a number or a tensor; all broadcast.
 */
#include <float.h>
#include <math.h>

#include "ops/elementwise/cast.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/ternary.h"
#include "ops/gradient.h"

/* Operands y, a, b, w. */
#define LERP(type, size_of, most)                                                                            \
    static inline type between_##type(type a, type b, type w) {                                              \
        type d = b - a, near = a + w * d, far = b - d * (1 - w), mixed = (1 - w) * a + w * b;                \
        type inner = !(size_of(d) <= most) ? mixed : size_of(w) < (type)0.5 ? near : far;                    \
        type y = w == 0 ? a : w == 1 ? b : inner;                                                            \
        return a != a ? a : b != b ? b : y;                                                                  \
    }                                                                                                        \
    static void lerp_##type(const void *arg, int64_t n, char *const *p, const int64_t *s) {                  \
        (void)arg;                                                                                           \
        type *y = (type *)p[0];                                                                              \
        const type *a = (const type *)p[1], *b = (const type *)p[2], *w = (const type *)p[3];                \
        bool dense = s[0] == 1 && s[1] == 1 && s[2] == 1;                                                    \
        if (dense && s[3] == 1) {                                                                            \
            for (int64_t i = 0; i < n; i++) y[i] = between_##type(a[i], b[i], w[i]);                         \
        } else if (dense && s[3] == 0) {                                                                     \
            type one = *w;                                                                                   \
            for (int64_t i = 0; i < n; i++) y[i] = between_##type(a[i], b[i], one);                          \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++)                                                                  \
                y[i * s[0]] = between_##type(a[i * s[1]], b[i * s[2]], w[i * s[3]]);                         \
        }                                                                                                    \
    }
LERP(float, fabsf, FLT_MAX)
LERP(double, fabs, DBL_MAX)

/* (b - a) g, of which the difference alone may leave the range: in f64, and there halved where it does. */
static inline double weight_slope(double g, double a, double b) {
    double d = b - a;
    return fabs(d) <= DBL_MAX ? d * g : (b / 2 - a / 2) * g * 2;
}
HD_GRADIENT_RUN(weight_gradient_f32, float, (float)(((double)c - (double)b) * (double)a))
HD_GRADIENT_RUN(weight_gradient_f64, double, weight_slope(a, b, c))
static const hd_ternary weight_gradient = {weight_gradient_f32, weight_gradient_f64};

/* (1 - w) g, w g or (b - a) g, summed to what input i was. */
static hd_status lerp_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    hd_tensor *w = hd_node_saved(cx, node, 0);
    if (!w) return cx->error.status;
    hd_status status = HD_OK;
    if (hd_node_needs(node, 0)) {
        hd_tensor *rest = hd_binary_scalar(cx, HD_SUB, w, hd_scalar_i(1), true);
        grad_inputs[0] = hd_grad_to_input(cx, node, 0, hd_chain_gradient(cx, rest, g));
        status = hd_made(cx, grad_inputs[0]);
    }
    if (!status && hd_node_needs(node, 1)) {
        grad_inputs[1] = hd_grad_to_input(cx, node, 1, hd_gradient_mul(cx, g, w));
        status = hd_made(cx, grad_inputs[1]);
    }
    if (!status && hd_node_needs(node, 2)) {
        hd_tensor *a = hd_node_saved(cx, node, 1), *b = a ? hd_node_saved(cx, node, 2) : NULL;
        hd_tensor *dw = b ? hd_gradient_ternary(cx, &weight_gradient, g, a, b) : NULL;
        grad_inputs[2] = hd_grad_to_input(cx, node, 2, dw);
        status = hd_made(cx, grad_inputs[2]);
    }
    return status;
}
static const hd_node_class lerp_class = {"lerp", lerp_backward, NULL};

static const hd_ternary lerp = {lerp_float, lerp_double};

hd_tensor *hd_lerp(hd_ctx *cx, hd_tensor *a, hd_tensor *b, hd_tensor *weight) {
    hd_tensor *inputs[3] = {a, b, weight}, *x[3] = {NULL, NULL, NULL};
    hd_dtype t = HD_F32;
    for (int i = 0; i < 3; i++) {
        if (hd_check_computes(cx, inputs[i])) return NULL;
        bool number = i == 2 && weight->ndim == 0; /* weak, as numbers are */
        if (!number) t = hd_dtype_promote(t, (hd_dtype)inputs[i]->dtype);
    }
    for (int i = 0; i < 3; i++) x[i] = hd_as_dtype(cx, inputs[i], t);
    hd_tensor *y = x[0] && x[1] && x[2] ? hd_apply_ternary(cx, &lerp, x) : NULL;
    hd_tensor *saved[3] = {x[2], weight->requires_grad ? x[0] : NULL, weight->requires_grad ? x[1] : NULL};
    y = hd_record(cx, &lerp_class, y, 3, inputs, 3, saved, NULL, 0);
    for (int i = 0; i < 3; i++) hd_release(x[i]);
    return y;
}
