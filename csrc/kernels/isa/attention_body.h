/* attention_body.h: attention.c for f32 and f64 (see vec_real.h). */
#include "kernels/vec_real.h"

enum { NAME(BLOCK) = 2 * LANES };
#define BLOCK NAME(BLOCK)

HD_INLINE const vr *NAME(across)(const void *p) {
    return (const vr *)__builtin_assume_aligned(p, HD_VEC_BYTES);
}
HD_INLINE vr *NAME(across_out)(void *p) {
    return (vr *)__builtin_assume_aligned(p, HD_VEC_BYTES);
}

/* ---- lying across, and back ------------------------------------------------------------------------------ */

/* Rows become columns: interleaving the halves, as often as a vector can be halved. */
HD_INLINE void NAME(transpose)(vr *rows) {
    vr other[LANES];
#pragma GCC unroll 5
    for (int width = 1; width < LANES; width *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 2; i++) {
            other[2 * i] = V(zip_low)(rows[i], rows[i + LANES / 2]);
            other[2 * i + 1] = V(zip_high)(rows[i], rows[i + LANES / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) rows[i] = other[i];
    }
}

static void NAME(spread)(int64_t count, int64_t features, const void *pfrom, int64_t row, double scale,
                         void *pto) {
    const real *from = pfrom, factor = (real)scale;
    real *to = pto;
    for (int64_t l = 0; l < BLOCK; l += LANES)
        for (int64_t d = 0; d < features; d += LANES) {
            int64_t width = features - d < LANES ? features - d : LANES;
            vr tile[LANES];
            for (int i = 0; i < LANES; i++)
                tile[i] = l + i < count ? V(load_n)(from + (l + i) * row + d, width) * factor : (vr){0};
            NAME(transpose)(tile);
            for (int64_t i = 0; i < width; i++) V(store)(to + (d + i) * BLOCK + l, tile[i]);
        }
}

static void NAME(collect)(int64_t count, int64_t features, const void *pfrom, const void *pfactor, void *pto,
                          int64_t row, bool add) {
    const real *from = pfrom, *factor = pfactor;
    real *to = pto;
    for (int64_t l = 0; l < count; l += LANES) {
        const vr by = factor ? V(load)(factor + l) : V(set)(1);
        for (int64_t d = 0; d < features; d += LANES) {
            int64_t width = features - d < LANES ? features - d : LANES;
            vr tile[LANES];
            for (int i = 0; i < LANES; i++)
                tile[i] = i < width ? V(load)(from + (d + i) * BLOCK + l) * by : (vr){0};
            NAME(transpose)(tile);
            for (int64_t i = 0; i < LANES && l + i < count; i++) {
                real *at = to + (l + i) * row + d;
                V(store_n)(at, add ? V(load_n)(at, width) + tile[i] : tile[i], width);
            }
        }
    }
}

/* ---- products -------------------------------------------------------------------------------------------- */

/* `rows` is a constant at every call: the sums live in registers. */
HD_INLINE void NAME(products_tile)(const int rows, int64_t features, const real *x, int64_t row, const vr *q,
                                   vr *s, vr best[2]) {
    const real *at[ROWS];
    vr sum[ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) at[r] = x + r * row, sum[r][0] = sum[r][1] = (vr){0};
    for (int64_t d = 0; d < features; d++) {
        const vr q0 = q[2 * d], q1 = q[2 * d + 1];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const vr a = V(set)(at[r][d]);
            sum[r][0] += a * q0;
            sum[r][1] += a * q1;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        s[2 * r] = sum[r][0], s[2 * r + 1] = sum[r][1];
        best[0] = V(max)(sum[r][0], best[0]);
        best[1] = V(max)(sum[r][1], best[1]);
    }
}

static void NAME(products)(int64_t keys, int64_t features, const void *px, int64_t row, const void *pq,
                           void *ps, void *pbest) {
    const real *x = px;
    const vr *q = NAME(across)(pq);
    vr *s = NAME(across_out)(ps), *out = pbest, best[2] = {{0}};
    if (out) best[0] = out[0], best[1] = out[1];
    for (; keys >= ROWS; keys -= ROWS, x += ROWS * row, s += 2 * ROWS)
        NAME(products_tile)(ROWS, features, x, row, q, s, best);
    switch (keys) {
#define CASE(R)                                                                                              \
    case R: NAME(products_tile)(R, features, x, row, q, s, best); break;
        EACH_ROWS(CASE)
#undef CASE
    }
    if (out) out[0] = best[0], out[1] = best[1];
}

HD_INLINE void NAME(mix_tile)(const int rows, int64_t keys, const real *x, int64_t row, const vr *p,
                              const vr factor[2], vr *o) {
    vr sum[ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) sum[r][0] = o[2 * r] * factor[0], sum[r][1] = o[2 * r + 1] * factor[1];
    for (int64_t n = 0; n < keys; n++, x += row) {
        const vr p0 = p[2 * n], p1 = p[2 * n + 1];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const vr a = V(set)(x[r]);
            sum[r][0] += a * p0;
            sum[r][1] += a * p1;
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) o[2 * r] = sum[r][0], o[2 * r + 1] = sum[r][1];
}

static void NAME(mix)(int64_t keys, int64_t features, const void *px, int64_t row, const void *pp,
                      const void *pfactor, void *po) {
    const real *x = px;
    const vr *p = NAME(across)(pp);
    vr *o = NAME(across_out)(po), factor[2] = {V(set)(1), V(set)(1)};
    if (pfactor) factor[0] = NAME(across)(pfactor)[0], factor[1] = NAME(across)(pfactor)[1];
    for (; features >= ROWS; features -= ROWS, x += ROWS, o += 2 * ROWS)
        NAME(mix_tile)(ROWS, keys, x, row, p, factor, o);
    switch (features) {
#define CASE(R)                                                                                              \
    case R: NAME(mix_tile)(R, keys, x, row, p, factor, o); break;
        EACH_ROWS(CASE)
#undef CASE
    }
}

/* `vectors` whole vectors of features, or `part` of one. */
HD_INLINE void NAME(spill_tile)(const int rows, const int vectors, int64_t part, int64_t count, const real *p,
                                const real *x, int64_t row, real *to, int64_t to_row) {
    vr sum[ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) sum[r][v] = V(load_n)(to + r * to_row + v * LANES, part);
    for (int64_t l = 0; l < count; l++, x += row) {
        vr line[2];
        for (int v = 0; v < vectors; v++) line[v] = V(load_n)(x + v * LANES, part);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const vr a = V(set)(p[r * BLOCK + l]);
            for (int v = 0; v < vectors; v++) sum[r][v] += a * line[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) V(store_n)(to + r * to_row + v * LANES, sum[r][v], part);
}

HD_INLINE void NAME(spill_rows)(const int rows, int64_t count, int64_t features, const real *p, const real *x,
                                int64_t row, real *to, int64_t to_row) {
    for (; features >= 2 * LANES; features -= 2 * LANES, x += 2 * LANES, to += 2 * LANES)
        NAME(spill_tile)(rows, 2, LANES, count, p, x, row, to, to_row);
    if (features >= LANES) {
        NAME(spill_tile)(rows, 1, LANES, count, p, x, row, to, to_row);
        features -= LANES, x += LANES, to += LANES;
    }
    if (features) NAME(spill_tile)(rows, 1, features, count, p, x, row, to, to_row);
}

static void NAME(spill)(int64_t keys, int64_t count, int64_t features, const void *pp, const void *px,
                        int64_t row, void *pto, int64_t to_row) {
    const real *p = pp, *x = px;
    real *to = pto;
    for (; keys >= ROWS; keys -= ROWS, p += ROWS * BLOCK, to += ROWS * to_row)
        NAME(spill_rows)(ROWS, count, features, p, x, row, to, to_row);
    switch (keys) {
#define CASE(R)                                                                                              \
    case R: NAME(spill_rows)(R, count, features, p, x, row, to, to_row); break;
        EACH_ROWS(CASE)
#undef CASE
    }
}

/* ---- scores ---------------------------------------------------------------------------------------------- */

HD_INLINE vr NAME(judge_vector)(const hd_score_rules *rules, int64_t n, int v, vr s) {
    const vr hidden = V(set)(-INFINITY);
    if (rules->softcap > 0) {
        const vr t = V(tanh)(s);
        if (rules->cap) NAME(across_out)(rules->cap)[2 * n + v] = 1 - t * t;
        s = t * (real)(rules->softcap * LOG2_E);
    }
    if (rules->slope != 0) {
        vr distance = {0};
        for (int i = 0; i < LANES; i++) distance[i] = (real)(rules->first - n + v * LANES + i);
        s -= (real)rules->slope * V(abs)(distance);
    }
    if (rules->bias) s += NAME(across)(rules->bias)[2 * n + v];
    if (rules->bits) s = V(select)(V(of_bits)(rules->bits[n] >> (v * LANES)), s, hidden);
    return s;
}

static void NAME(judge)(int64_t keys, const hd_score_rules *rules, void *ps, void *pbest) {
    vr *s = NAME(across_out)(ps), *best = pbest;
    for (int64_t n = 0; n < keys; n++)
        for (int v = 0; v < 2; v++) {
            s[2 * n + v] = NAME(judge_vector)(rules, n, v, s[2 * n + v]);
            if (best) best[v] = V(max)(s[2 * n + v], best[v]);
        }
}

/* What scores are counted from: the largest, 0 when there is none yet. */
HD_INLINE vr NAME(origin)(vr largest) {
    return V(select)(V(eq)(largest, V(set)(-INFINITY)), V(set)(0), largest);
}

static void NAME(weigh)(int64_t keys, void *ps, const void *pbest, void *plargest, void *psum,
                        void *pfactor) {
    vr *s = NAME(across_out)(ps), *largest = plargest, *sum = psum, *factor = pfactor;
    const vr *best = pbest;
    const vr o0 = NAME(origin)(best[0]), o1 = NAME(origin)(best[1]);
    vr sum0 = {0}, sum1 = {0};
    for (int64_t n = 0; n < keys; n++) {
        const vr p0 = V(weight)(s[2 * n] - o0), p1 = V(weight)(s[2 * n + 1] - o1);
        s[2 * n] = p0, s[2 * n + 1] = p1;
        sum0 += p0, sum1 += p1;
    }
    factor[0] = V(weight)(largest[0] - o0), factor[1] = V(weight)(largest[1] - o1);
    sum[0] = sum[0] * factor[0] + sum0, sum[1] = sum[1] * factor[1] + sum1;
    largest[0] = best[0], largest[1] = best[1];
}

static void NAME(finish)(const void *plargest, const void *psum, void *plse, void *pinverse) {
    const vr *largest = plargest, *sum = psum, zero = {0};
    vr *lse = plse, *inverse = pinverse;
    for (int v = 0; v < 2; v++) {
        const vmask none = V(eq)(sum[v], zero);
        inverse[v] = V(select)(none, zero, 1 / sum[v]);
        lse[v] = V(select)(none, V(set)(-INFINITY), NAME(origin)(largest[v]) + V(log)(sum[v]) * (real)LOG2_E);
    }
}

/* ---- dropout --------------------------------------------------------------------------------------------- */

static void NAME(drop)(int64_t keys, const uint32_t *kept, double scale, void *pp) {
    vr *p = NAME(across_out)(pp), zero = {0};
    for (int64_t n = 0; n < keys; n++)
        for (int v = 0; v < 2; v++)
            p[2 * n + v] = V(select)(V(of_bits)(kept[n] >> (v * LANES)), p[2 * n + v] * (real)scale, zero);
}

/* ---- gradients ------------------------------------------------------------------------------------------- */

static void NAME(dot)(int64_t features, const void *pa, const void *pb, void *pdelta) {
    const vr *a = NAME(across)(pa), *b = NAME(across)(pb);
    vr *delta = pdelta, sum[2] = {{0}};
    for (int64_t d = 0; d < features; d++)
        sum[0] += a[2 * d] * b[2 * d], sum[1] += a[2 * d + 1] * b[2 * d + 1];
    delta[0] = sum[0], delta[1] = sum[1];
}

HD_INLINE vr NAME(seen)(const uint32_t *bits, int64_t n, int v, vr x) {
    return bits ? V(select)(V(of_bits)(bits[n] >> (v * LANES)), x, (vr){0}) : x;
}

static void NAME(weights)(int64_t keys, const void *plse, const uint32_t *bits, void *ps) {
    vr *s = NAME(across_out)(ps);
    const vr *lse = plse, origin[2] = {NAME(origin)(lse[0]), NAME(origin)(lse[1])};
    for (int64_t n = 0; n < keys; n++)
        for (int v = 0; v < 2; v++)
            s[2 * n + v] = NAME(seen)(bits, n, v, V(weight)(s[2 * n + v] - origin[v]));
}

/* bits and kept are NULL or not at every call of this. */
HD_INLINE void NAME(slopes_of)(int64_t keys, const vr *lse, const vr *delta, const uint32_t *bits,
                               const uint32_t *kept, real scale, vr *s, vr *dp) {
    const vr origin[2] = {NAME(origin)(lse[0]), NAME(origin)(lse[1])}, less[2] = {delta[0], delta[1]};
    for (int64_t n = 0; n < keys; n++)
        for (int v = 0; v < 2; v++) {
            vr p = NAME(seen)(bits, n, v, V(weight)(s[2 * n + v] - origin[v])), g = dp[2 * n + v];
            if (kept) g = NAME(seen)(kept, n, v, g * scale);
            dp[2 * n + v] = NAME(seen)(bits, n, v, p * (g - less[v]));
            s[2 * n + v] = kept ? NAME(seen)(kept, n, v, p * scale) : p;
        }
}

static void NAME(slopes)(int64_t keys, const void *lse, const void *delta, const uint32_t *bits,
                         const uint32_t *kept, double scale, void *ps, void *pdp) {
    vr *s = NAME(across_out)(ps), *dp = NAME(across_out)(pdp);
    if (kept)
        NAME(slopes_of)(keys, lse, delta, bits, kept, (real)scale, s, dp);
    else if (bits)
        NAME(slopes_of)(keys, lse, delta, bits, NULL, 1, s, dp);
    else
        NAME(slopes_of)(keys, lse, delta, NULL, NULL, 1, s, dp);
}

static void NAME(uncap)(int64_t keys, const void *pcap, const uint32_t *bits, void *ps) {
    const vr *cap = NAME(across)(pcap);
    vr *s = NAME(across_out)(ps);
    for (int64_t n = 0; n < keys; n++)
        for (int v = 0; v < 2; v++) s[2 * n + v] = NAME(seen)(bits, n, v, s[2 * n + v] * cap[2 * n + v]);
}

/* ---- what is not finite ---------------------------------------------------------------------------------- */

static bool NAME(unhide)(int64_t keys, const void *pbias, uint32_t *bits) {
    const real *bias = pbias;
    bool any = false;
    for (int64_t n = 0; n < keys; n++)
        for (int l = 0; l < BLOCK; l++)
            if (bias[n * BLOCK + l] == -INFINITY) {
                bits[n] &= ~((uint32_t)1 << l);
                any = true;
            }
    return any;
}

static bool NAME(finite)(int64_t rows, int64_t features, const void *px, int64_t row) {
    const real *x = px;
    vr bad = {0}; /* 0 · x is 0 or NaN */
    for (int64_t i = 0; i < rows; i++, x += row) {
        int64_t d = 0;
        for (; d + LANES <= features; d += LANES) bad += V(load)(x + d) * 0;
        if (d < features) bad += V(load_n)(x + d, features - d) * 0;
    }
    return V(sum)(bad) == 0;
}

static void NAME(mix_seen)(int64_t features, const void *px, const void *pp, uint32_t bits, void *po) {
    const real *x = px;
    const vr *p = NAME(across)(pp);
    vr *o = NAME(across_out)(po);
    for (int64_t d = 0; d < features; d++)
        for (int v = 0; v < 2; v++)
            o[2 * d + v] =
                V(select)(V(of_bits)(bits >> (v * LANES)), o[2 * d + v] + x[d] * p[v], o[2 * d + v]);
}

/* ---- the table ------------------------------------------------------------------------------------------- */

static const hd_attention_kernels NAME(steps) = {
    .lanes = BLOCK,
    .keys = HD_BLOCK_KEYS / ROWS * ROWS,
    .spread = NAME(spread),
    .collect = NAME(collect),
    .products = NAME(products),
    .judge = NAME(judge),
    .weigh = NAME(weigh),
    .mix = NAME(mix),
    .spill = NAME(spill),
    .finish = NAME(finish),
    .dot = NAME(dot),
    .slopes = NAME(slopes),
    .weights = NAME(weights),
    .unhide = NAME(unhide),
    .uncap = NAME(uncap),
    .drop = NAME(drop),
    .draw = draw,
    .finite = NAME(finite),
    .mix_seen = NAME(mix_seen),
};

#undef BLOCK
#include "kernels/vec_real_end.h"
