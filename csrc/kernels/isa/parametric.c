/* parametric.c: functions of one operand with a parameter p.
 *
 *     leaky_relu: x > 0 ? x : p x          -> g, p g
 *     elu:        x > 0 ? x : p (e^x - 1)  -> g, p g e^x
 *
 * Of NaN, f is NaN; its slope is p in leaky_relu and 1 in elu.
 */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"

HD_INLINE vf vf_leaky_relu(vf x, vf p) {
    return vf_select(vf_lt(vf_set(0.0f), x), x, p * x);
}
HD_INLINE vf vf_leaky_relu_slope(vf x, vf p) {
    return vf_select(vf_lt(vf_set(0.0f), x), vf_set(1.0f), p);
}
HD_INLINE vf vf_elu(vf x, vf p) {
    return vf_select(vf_lt(vf_set(0.0f), x), x, p * vf_expm1(x));
}
HD_INLINE vf vf_elu_slope(vf x, vf p) {
    return vf_select(vf_le(x, vf_set(0.0f)), p * vf_exp(x), vf_set(1.0f));
}
HD_INLINE double hd_leaky_relu(double x, double p) {
    return x > 0 ? x : p * x;
}
HD_INLINE double hd_leaky_relu_slope(double x, double p) {
    return x > 0 ? 1 : p;
}
HD_INLINE double hd_elu(double x, double p) {
    return x > 0 ? x : p * expm1(x);
}
HD_INLINE double hd_elu_slope(double x, double p) {
    return x <= 0 ? p * exp(x) : 1;
}

/* g NULL: y = f(x; p), else y = g f(x; p). */
HD_INLINE void parametric_f32(int64_t n, float p, const float *g, int64_t sg, const float *x, int64_t sx,
                              float *y, int64_t sy, vf (*f)(vf, vf)) {
    vf parameter = vf_set(p);
    bool dense = sx == 1 && sy == 1 && (!g || sg == 1);
    for (int64_t i = 0; i < n; i += VF_LANES) {
        int64_t count = n - i < VF_LANES ? n - i : VF_LANES;
        vf v = f(dense ? vf_load_n(x + i, count) : vf_gather(x + i * sx, sx, count), parameter);
        if (g) {
            vf arrived = dense ? vf_load_n(g + i, count) : vf_gather(g + i * sg, sg, count);
            v = vf_unless_zero(arrived, arrived * v);
        }
        if (dense)
            vf_store_n(y + i, v, count);
        else
            vf_scatter(y + i * sy, sy, v, count);
    }
}

#define PARAMETRIC(name)                                                                                     \
    static void name##_f32(int64_t n, double p, const void *x, int64_t sx, void *y, int64_t sy) {            \
        parametric_f32(n, (float)p, NULL, 0, x, sx, y, sy, vf_##name);                                       \
    }                                                                                                        \
    static void name##_grad_f32(int64_t n, double p, const void *g, int64_t sg, const void *x, int64_t sx,   \
                                void *dx, int64_t sdx) {                                                     \
        parametric_f32(n, (float)p, g, sg, x, sx, dx, sdx, vf_##name##_slope);                               \
    }                                                                                                        \
    static void name##_f64(int64_t n, double p, const void *px, int64_t sx, void *py, int64_t sy) {          \
        const double *x = px;                                                                                \
        double *y = py;                                                                                      \
        for (int64_t i = 0; i < n; i++) y[i * sy] = hd_##name(x[i * sx], p);                                 \
    }                                                                                                        \
    static void name##_grad_f64(int64_t n, double p, const void *pg, int64_t sg, const void *px, int64_t sx, \
                                void *pdx, int64_t sdx) {                                                    \
        const double *g = pg, *x = px;                                                                       \
        double *dx = pdx;                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                                      \
            dx[i * sdx] = g[i * sg] == 0 ? 0 : g[i * sg] * hd_##name##_slope(x[i * sx], p);                  \
    }

/* leaky_relu_f32 leaky_relu_f64 leaky_relu_grad_f32 leaky_relu_grad_f64 elu_f32 elu_f64 elu_grad_f32 elu_grad_f64 */
#define HD_ROW(op, kernel, ...) PARAMETRIC(kernel)
#include "kernels/tables/parametric.h"

void HD_ISA(hd_fill_parametric)(hd_kernels *k) {
#define HD_ROW(op, kernel, ...)                                                                              \
    k->parametric[op][HD_F32] = kernel##_f32;                                                                \
    k->parametric[op][HD_F64] = kernel##_f64;                                                                \
    k->parametric_grad[op][HD_F32] = kernel##_grad_f32;                                                      \
    k->parametric_grad[op][HD_F64] = kernel##_grad_f64;
#include "kernels/tables/parametric.h"
}
