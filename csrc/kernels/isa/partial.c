/* partial.c: reductions whose state is two numbers (a, b), of rows and of columns; hd_partial in
 * kernels.h lists them. The states of parts of a row or column are merged by ops/reduce/partial.c, in
 * order, so that several threads may share a long one.
 */
#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"

/* Elements summed in lanes before they go on to f64. */
#define BLOCK 4096
/* Elements that are read twice, first for their maximum; two such blocks fit the first-level cache. */
#define NEAR 2048
/* Rows of columns whose moments are taken about one mean. */
#define CHUNK 64

/* e^x for x <= 0, for sums that contain a 1: e^0 is exactly 1, the relative error elsewhere at most
 * (1.5 + |x|) 2^-23, and e^-inf is 0 or nearly so. As 2^(x log2 e) = 2^n 2^r with |r| <= 1/2, it needs
 * one term less than vf_exp and no exact remainder. NaN stays. */
HD_INLINE vf vf_exp_falling(vf x) {
    vf t = vf_max(vf_set(-150.0f), x * 1.44269504f);
    vf n = vf_rint(t), r = t - n;
    vf p = 9.671512991e-03f + r * 1.326472731e-03f;
    p = 5.550733581e-02f + r * p;
    p = 2.402224243e-01f + r * p;
    p = 6.931470037e-01f + r * p;
    return vf_ldexp(1.0f + r * p, n);
}
HD_INLINE vd vd_exp_falling(vd x) {
    return vd_exp(x);
}

/* Sums of squares in f64 for a vector of columns: of f32, two vectors of f64 for one of elements. */
typedef struct squares_f32 {
    vd low, high;
} squares_f32;
HD_INLINE squares_f32 load_squares_f32(const double *p) {
    return (squares_f32){vd_load(p), vd_load(p + VD_LANES)};
}
HD_INLINE void store_squares_f32(double *p, squares_f32 s) {
    vd_store(p, s.low);
    vd_store(p + VD_LANES, s.high);
}
HD_INLINE squares_f32 add_squares_f32(squares_f32 s, vf v) {
    vd a = vf_low(v), b = vf_high(v);
    return (squares_f32){s.low + a * a, s.high + b * b};
}

typedef vd squares_f64;
HD_INLINE vd load_squares_f64(const double *p) {
    return vd_load(p);
}
HD_INLINE void store_squares_f64(double *p, vd s) {
    vd_store(p, s);
}
HD_INLINE vd add_squares_f64(vd s, vd v) {
    return s + v * v;
}

/* moments_row_f32 moments_cols_f32 logsumexp_part_row_f32 logsumexp_part_cols_f32 squares_cols_f32
 * abs_row_f32 abs_cols_f32 max_size_row_f32 max_size_cols_f32 min_size_row_f32 min_size_cols_f32
 * argmax_cols_f32 argmin_cols_f32, and the same in _f64 */
#define HD_REAL 32
#include "kernels/isa/partial_body.h"
#define HD_REAL 64
#include "kernels/isa/partial_body.h"

static void squares_row_f32(int64_t n, const void *px, double *sum, double *unused) {
    const float *x = px;
    vd s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    int64_t i = 0;
    for (; i + 2 * VF_LANES <= n; i += 2 * VF_LANES) {
        vf v = vf_load(x + i), w = vf_load(x + i + VF_LANES);
        vd a = vf_low(v), b = vf_high(v), c = vf_low(w), d = vf_high(w);
        s0 += a * a, s1 += b * b, s2 += c * c, s3 += d * d;
    }
    for (; i < n; i += VF_LANES) {
        vf v = vf_load_n(x + i, n - i < VF_LANES ? n - i : VF_LANES);
        vd a = vf_low(v), b = vf_high(v);
        s0 += a * a, s1 += b * b;
    }
    *sum = vd_sum((s0 + s1) + (s2 + s3));
    *unused = 0;
}

static void squares_row_f64(int64_t n, const void *px, double *sum, double *unused) {
    const double *x = px;
    vd s[4] = {{0}};
    int64_t i = 0;
    for (; i + 4 * VD_LANES <= n; i += 4 * VD_LANES)
        for (int j = 0; j < 4; j++) {
            vd v = vd_load(x + i + j * VD_LANES);
            s[j] += v * v;
        }
    for (; i < n; i += VD_LANES) {
        vd v = vd_load_n(x + i, n - i < VD_LANES ? n - i : VD_LANES);
        s[0] += v * v;
    }
    *sum = vd_sum((s[0] + s[1]) + (s[2] + s[3]));
    *unused = 0;
}

void HD_ISA(hd_fill_partial)(hd_kernels *k) {
    fill_partial_f32(k, HD_F32);
    fill_partial_f64(k, HD_F64);
    k->partial_row[HD_SQUARES][HD_F32] = squares_row_f32;
    k->partial_row[HD_SQUARES][HD_F64] = squares_row_f64;
}
