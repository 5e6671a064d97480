/* map.h: loops over elements. SCALAR_MAP and SCALAR_MAP2 write a kernel from an expression of one element and
 * leave the vectors to the compiler; the hd_map functions apply a function of vectors.
 */
#ifndef HD_MAP_H
#define HD_MAP_H

#include "kernels/vec.h"
#include "kernels/vec_math.h"

/* y = expression of x, from T to Y. */
#define SCALAR_MAP(name, T, Y, expression)                                                                   \
    static void name(int64_t n, const void *px, int64_t sx, void *py, int64_t sy) {                          \
        const T *xs = px;                                                                                    \
        Y *ys = py;                                                                                          \
        if (sx == 1 && sy == 1) {                                                                            \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T x = xs[i];                                                                                 \
                ys[i] = expression;                                                                          \
            }                                                                                                \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T x = xs[i * sx];                                                                                \
            ys[i * sy] = expression;                                                                         \
        }                                                                                                    \
    }

/* The same in one loop for all strides. */
#define PLAIN_MAP(name, T, Y, expression)                                                                    \
    static void name(int64_t n, const void *px, int64_t sx, void *py, int64_t sy) {                          \
        const T *xs = px;                                                                                    \
        Y *ys = py;                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T x = xs[i * sx];                                                                                \
            ys[i * sy] = expression;                                                                         \
        }                                                                                                    \
    }

/* y = expression of a and b, from T to Y; either may be a scalar (stride 0). */
#define SCALAR_MAP2(name, T, Y, expression)                                                                  \
    static void name(int64_t n, const void *pa, int64_t sa, const void *pb, int64_t sb, void *py,            \
                     int64_t sy) {                                                                           \
        const T *as = pa, *bs = pb;                                                                          \
        Y *ys = py;                                                                                          \
        if (n <= 0) return;                                                                                  \
        if (sa == 1 && sb == 1 && sy == 1) {                                                                 \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T a = as[i], b = bs[i];                                                                      \
                ys[i] = expression;                                                                          \
            }                                                                                                \
        } else if (sa == 1 && sb == 0 && sy == 1) {                                                          \
            T b = *bs;                                                                                       \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T a = as[i];                                                                                 \
                ys[i] = expression;                                                                          \
            }                                                                                                \
        } else if (sa == 0 && sb == 1 && sy == 1) {                                                          \
            T a = *as;                                                                                       \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T b = bs[i];                                                                                 \
                ys[i] = expression;                                                                          \
            }                                                                                                \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                                \
                T a = as[i * sa], b = bs[i * sb];                                                            \
                ys[i * sy] = expression;                                                                     \
            }                                                                                                \
        }                                                                                                    \
    }

HD_INLINE void hd_map_f32(int64_t n, const float *x, int64_t sx, float *y, int64_t sy, vf (*f)(vf)) {
    int64_t i = 0;
    if (sx == 1 && sy == 1) {
        for (; i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, f(vf_load(x + i)));
        if (i < n) vf_store_n(y + i, f(vf_load_n(x + i, n - i)), n - i);
        return;
    }
    for (; i < n; i += VF_LANES) {
        int64_t count = n - i < VF_LANES ? n - i : VF_LANES;
        vf_scatter(y + i * sy, sy, f(vf_gather(x + i * sx, sx, count)), count);
    }
}

/* y = f(a, b) */
HD_INLINE void hd_map2_f32(int64_t n, const float *a, int64_t sa, const float *b, int64_t sb, float *y,
                           int64_t sy, vf (*f)(vf, vf)) {
    int64_t i = 0;
    if (sa == 1 && sb == 1 && sy == 1) {
        for (; i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, f(vf_load(a + i), vf_load(b + i)));
        if (i < n) vf_store_n(y + i, f(vf_load_n(a + i, n - i), vf_load_n(b + i, n - i)), n - i);
        return;
    }
    for (; i < n; i += VF_LANES) {
        int64_t count = n - i < VF_LANES ? n - i : VF_LANES;
        vf_scatter(y + i * sy, sy, f(vf_gather(a + i * sa, sa, count), vf_gather(b + i * sb, sb, count)),
                   count);
    }
}

#define VECTOR_MAP(name, f)                                                                                  \
    static void name(int64_t n, const void *x, int64_t sx, void *y, int64_t sy) {                            \
        hd_map_f32(n, x, sx, y, sy, f);                                                                      \
    }
#define VECTOR_MAP2(name, f)                                                                                 \
    static void name(int64_t n, const void *a, int64_t sa, const void *b, int64_t sb, void *y, int64_t sy) { \
        hd_map2_f32(n, a, sa, b, sb, y, sy, f);                                                              \
    }

/* ---- gradients: where the one that arrives is 0, so is what goes on, and not 0 · infinity --------- */

/* The kernels name_f32 and name_f64 of a, the gradient, and b. */
#define GRADIENT_MAP(name, T, expression) SCALAR_MAP2(name, T, T, a == 0 ? (T)0 : (expression))
#define GRADIENT_MAPS(name, expression)                                                                      \
    GRADIENT_MAP(name##_f32, float, expression)                                                              \
    GRADIENT_MAP(name##_f64, double, expression)

HD_INLINE vf vf_unless_zero(vf g, vf dx) {
    return vf_select(vf_eq(g, vf_set(0.0f)), vf_set(0.0f), dx);
}
/* f(g, b) */
#define VECTOR_GRADIENT_MAP(name, f)                                                                         \
    HD_INLINE vf name##_of(vf g, vf b) {                                                                     \
        return vf_unless_zero(g, f(g, b));                                                                   \
    }                                                                                                        \
    VECTOR_MAP2(name, name##_of)

#endif
