/* softmax_body.h: softmax.c for one element type (names: see vec_real.h). With m = max x:
 *
 *     softmax      y_i = e^(x_i - m) / sum_j e^(x_j - m)       dx = y (g - sum_j g_j y_j)
 *     log_softmax  y_i = x_i - m - log sum_j e^(x_j - m)       dx = g - e^y sum_j g_j
 *     logsumexp    m + log sum_j e^(x_j - m)
 *
 * A row of -inf has nothing to shift by. Its softmax is 0, its log_softmax and logsumexp -inf, its
 * gradients 0. If NaN hides among the -inf, the results are NaN.
 */
#include "kernels/vec_real.h"
#include "kernels/isa/softmax_common.h"

/* y = scale · y */
HD_INLINE void NAME(rescale)(int64_t n, real scale, real *y) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) V(store)(y + i, V(load)(y + i) * scale);
    if (i < n) V(store_n)(y + i, V(load_n)(y + i, n - i) * scale, n - i);
}

static void NAME(softmax)(int64_t n, const void *px, void *py) {
    const real *x = px;
    real *y = py, largest = NAME(row_max)(n, x);
    if (largest == -INFINITY) {
        NAME(fill)(n, NAME(has_nan)(n, x) ? (real)NAN : 0, y);
        return;
    }
    double sum = NAME(exp_shifted)(n, x, largest, y);
    NAME(rescale)(n, (real)(1 / sum), y);
}

/* Where y is 0, g is not looked at: behind a mask it may be NaN, and 0 · NaN is NaN. */
static void NAME(softmax_grad)(int64_t n, const void *py, const void *pg, void *pdx) {
    const real *y = py, *g = pg;
    const vr zero = {0};
    real *dx = pdx;
    vr dots = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr p = V(load_n)(y + i, count);
        dots += V(select)(V(eq)(p, zero), zero, p * V(load_n)(g + i, count));
    }
    real dot = V(sum)(dots);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr p = V(load_n)(y + i, count), d = p * (V(load_n)(g + i, count) - dot);
        V(store_n)(dx + i, V(select)(V(eq)(p, zero), zero, d), count);
    }
}

static double NAME(logsumexp)(int64_t n, const void *px) {
    const real *x = px;
    real largest = NAME(row_max)(n, x);
    if (largest == -INFINITY) return NAME(has_nan)(n, x) ? NAN : -INFINITY;
    if (largest == INFINITY) return NAME(has_nan)(n, x) ? NAN : INFINITY;
    return largest + log(NAME(exp_shifted)(n, x, largest, NULL));
}

static void NAME(log_softmax)(int64_t n, const void *px, void *py) {
    const real *x = px;
    real *y = py, largest = NAME(row_max)(n, x);
    if (largest == -INFINITY) {
        NAME(fill)(n, NAME(has_nan)(n, x) ? (real)NAN : (real)-INFINITY, y);
        return;
    }
    real log_sum = (real)log(NAME(exp_shifted)(n, x, largest, NULL));
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        V(store_n)(y + i, (V(load_n)(x + i, count) - largest) - log_sum, count);
    }
}

/* dx = g - e^y sum_j g_j; 0 for a row of -inf */
static void NAME(log_softmax_grad)(int64_t n, const void *py, const void *pg, void *pdx) {
    const real *y = py, *g = pg;
    real *dx = pdx;
    if (NAME(row_max)(n, y) == -INFINITY && !NAME(has_nan)(n, y)) {
        NAME(fill)(n, 0, dx);
        return;
    }
    vr sums = {0};
    for (int64_t i = 0; i < n; i += LANES) sums += V(load_n)(g + i, n - i < LANES ? n - i : LANES);
    real sum = V(sum)(sums);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        V(store_n)(dx + i, V(load_n)(g + i, count) - V(exp)(V(load_n)(y + i, count)) * sum, count);
    }
}

/* p_i = scale x_i + bias_i where visible, else -inf; returns the largest. x is selected away in hidden
 * places, so NaN and infinities there have no effect. */
HD_INLINE real NAME(mask_scores)(int64_t n, const real *x, real scale, const uint8_t *see, const real *bias,
                                 real *p) {
    const vr hidden = V(set)(-INFINITY);
    vr best = hidden;
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr s = V(load_n)(x + i, count) * scale;
        if (bias) {
            vr b = V(load_n)(bias + i, count);
            s = V(select)(V(eq)(b, hidden), hidden, s + b);
        }
        if (see) s = V(select)(V(bytes)(see + i, count), s, hidden);
        s = V(select)(V(first)(count), s, hidden);
        best = V(max)(s, best);
        V(store_n)(p + i, s, count);
    }
    return V(largest)(best);
}

static double NAME(masked_softmax)(int64_t n, const void *x, double scale, const uint8_t *see,
                                   const void *bias, void *pp) {
    real *p = pp, largest = NAME(mask_scores)(n, x, (real)scale, see, bias, p);
    const vr zero = {0};
    if (largest == -INFINITY) {
        if (!NAME(has_nan)(n, p)) {
            NAME(fill)(n, 0, p);
            return -INFINITY;
        }
        largest = 0; /* NaN alone is visible: the shift must not make NaN of -inf */
    }
    double sum = NAME(exp_shifted)(n, p, largest, p);
    real inverse = (real)(1 / sum);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr e = V(load_n)(p + i, count);
        V(store_n)
        (p + i, V(select)(V(eq)(e, zero), zero, e * inverse), count); /* hidden stays 0 when sum is NaN */
    }
    return largest + log(sum);
}

static void NAME(fill_table)(hd_kernels *k, hd_dtype t) {
    k->softmax_row[t] = NAME(softmax);
    k->softmax_row_grad[t] = NAME(softmax_grad);
    k->log_softmax_row[t] = NAME(log_softmax);
    k->log_softmax_row_grad[t] = NAME(log_softmax_grad);
    k->logsumexp_row[t] = NAME(logsumexp);
    k->masked_softmax_row[t] = NAME(masked_softmax);
}

#include "kernels/vec_real_end.h"
