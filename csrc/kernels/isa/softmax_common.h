/* softmax_common.h: what softmax, logsumexp and cross-entropy share (names: see vec_real.h). All of
 * them shift by m = max_i x_i, because sum_i e^(x_i) = e^m sum_i e^(x_i - m), and no power on the right
 * exceeds 1. The source defines BLOCK, the number of elements that are summed in lanes of `real`
 * before they go on to f64.
 */

/* The largest element, skipping NaN; -inf if there is none. The NaN turns up in the sum. */
HD_INLINE real NAME(row_max)(int64_t n, const real *x) {
    vr best = V(set)(-INFINITY);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) best = V(max)(V(load)(x + i), best);
    if (i < n) best = V(max)(V(select)(V(first)(n - i), V(load_n)(x + i, n - i), best), best);
    return V(largest)(best);
}

HD_INLINE int NAME(has_nan)(int64_t n, const real *x) {
    for (int64_t i = 0; i < n; i++)
        if (x[i] != x[i]) return 1;
    return 0;
}

HD_INLINE void NAME(fill)(int64_t n, real value, real *y) {
    for (int64_t i = 0; i < n; i++) y[i] = value;
}

/* y_i = e^(x_i - shift) (y NULL: not wanted); returns their sum. Two sums in turn, because an addition
 * takes longer than the processor needs to begin the next. */
HD_INLINE double NAME(exp_shifted)(int64_t n, const real *x, real shift, real *y) {
    double sum = 0;
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t end = n - start < BLOCK ? n : start + BLOCK, i = start;
        vr s0 = {0}, s1 = {0};
        for (; i + 2 * LANES <= end; i += 2 * LANES) {
            vr e0 = V(exp)(V(load)(x + i) - shift), e1 = V(exp)(V(load)(x + i + LANES) - shift);
            if (y) V(store)(y + i, e0), V(store)(y + i + LANES, e1);
            s0 += e0;
            s1 += e1;
        }
        for (; i < end; i += LANES) {
            int64_t count = end - i < LANES ? end - i : LANES;
            vr e = V(select)(V(first)(count), V(exp)(V(load_n)(x + i, count) - shift), V(set)(0));
            if (y) V(store_n)(y + i, e, count);
            s0 += e;
        }
        sum += V(sum)(s0 + s1);
    }
    return sum;
}
