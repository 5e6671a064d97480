/* attention_body.h: the steps of kernels/attention.h for one element type (names: see vec_real.h).
 *
 * BLOCK queries are two vectors of LANES. A row that belongs to them, such as q[d] or s[n], is
 * therefore two vectors: vector v of row n is at index 2 n + v of a `vr *`. The three products
 *
 *     products    s[n][l] = sum_d x[n][d] q[d][l]                    x: keys or values
 *     accumulate         o[d][l] = o[d][l] factor[l] + sum_n x[n][d] p[n][l]
 *     accumulate_transposed       to[n][d] += sum_l p[n][l] x[l][d]                  x: rows of queries
 *
 * are register tiles of ROWS rows by one or two vectors. In each step a tile loads one row of two
 * vectors and multiplies it by ROWS numbers, each broadcast to all lanes. x is read where it lies,
 * and nothing is ever shuffled or summed across lanes.
 *
 * `halves` selects the vectors that are worked on. Pointers are then moved to the selected half, and
 * a tile of one vector uses every second vector of each row.
 */
#include "kernels/vec_real.h"

enum { NAME(BLOCK) = 2 * LANES };
#define BLOCK NAME(BLOCK)
#if HD_REAL == 32
#define IOTA HD_IOTA_32
#else
#define IOTA HD_IOTA_64
#endif

/* Scratch of a block as vectors. Its alignment lets the compiler use memory operands. */
HD_INLINE const vr *NAME(across)(const void *p) {
    return (const vr *)__builtin_assume_aligned(p, HD_VEC_BYTES);
}
HD_INLINE vr *NAME(across_out)(void *p) {
    return (vr *)__builtin_assume_aligned(p, HD_VEC_BYTES);
}

/* ---- transposing blocks ---------------------------------------------------------------------- */

/* Transposes LANES x LANES elements. One round interleaves row i with row i + LANES / 2: it rotates
 * the bits of an element's index (row, lane) by one. After log2(LANES) rounds rows and lanes have
 * changed places. */
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

static void NAME(pack)(int64_t count, int64_t features, const void *pfrom, int64_t row, double scale,
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

static void NAME(unpack)(int64_t count, int64_t features, const void *pfrom, const void *pfactor, void *pto,
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

/* ---- products -------------------------------------------------------------------------------- */

/* s[r] = sum_d x[r][d] q[d] for `rows` rows of x; best = max(best, s[r]). `rows` and `vectors` are
 * constants at every call, so that the loops unroll and the sums stay in registers. With one vector,
 * q, s and best point at its half. */
HD_INLINE void NAME(products_tile)(const int rows, const int vectors, int64_t features, const real *x,
                                   int64_t row, const vr *q, vr *s, vr *best) {
    const real *at[ROWS];
    vr sum[ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        at[r] = x + r * row;
        for (int v = 0; v < vectors; v++) sum[r][v] = (vr){0};
    }
    for (int64_t d = 0; d < features; d++) {
        vr line[2];
        for (int v = 0; v < vectors; v++) line[v] = q[2 * d + v];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const vr a = V(set)(at[r][d]);
            for (int v = 0; v < vectors; v++) sum[r][v] += a * line[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            s[2 * r + v] = sum[r][v];
            best[v] = V(max)(sum[r][v], best[v]);
        }
}

/* Whole tiles, then the one that is left; EACH_ROWS makes a tile for every number of rows. */
HD_INLINE void NAME(products_of)(const int vectors, int64_t keys, int64_t features, const real *x,
                                 int64_t row, const vr *q, vr *s, vr *out, hd_ahead *ahead) {
    vr best[2] = {{0}};
    for (int v = 0; out && v < vectors; v++) best[v] = out[v];
    for (; keys >= ROWS; keys -= ROWS, x += ROWS * row, s += 2 * ROWS) {
        NAME(products_tile)(ROWS, vectors, features, x, row, q, s, best);
        if (ahead && ahead->count) fetch_ahead(ahead);
    }
    switch (keys) {
#define CASE(R)                                                                                              \
    case R: NAME(products_tile)(R, vectors, features, x, row, q, s, best); break;
        EACH_ROWS(CASE)
#undef CASE
    }
    for (int v = 0; out && v < vectors; v++) out[v] = best[v];
}

static void NAME(products)(hd_halves halves, int64_t keys, int64_t features, const void *x, int64_t row,
                           const void *q, void *s, void *best, hd_ahead *ahead) {
    const int half = halves == HD_SECOND_HALF;
    const vr *from = NAME(across)(q) + half;
    vr *to = NAME(across_out)(s) + half, *out = best ? NAME(across_out)(best) + half : NULL;
    if (halves == HD_BOTH_HALVES)
        NAME(products_of)(2, keys, features, x, row, from, to, out, ahead);
    else
        NAME(products_of)(1, keys, features, x, row, from, to, out, ahead);
}

/* o[r] = o[r] factor + sum_n x[n][r] p[n] for `rows` features, which are neighbours in a row of x.
 * The rescaling of what was summed before costs no pass of its own. */
HD_INLINE void NAME(accumulate_tile)(const int rows, const int vectors, int64_t keys, const real *x,
                                     int64_t row, const vr *p, const vr *factor, vr *o) {
    vr sum[ROWS][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) sum[r][v] = o[2 * r + v] * factor[v];
    for (int64_t n = 0; n < keys; n++, x += row) {
        vr line[2];
        for (int v = 0; v < vectors; v++) line[v] = p[2 * n + v];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const vr a = V(set)(x[r]);
            for (int v = 0; v < vectors; v++) sum[r][v] += a * line[v];
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) o[2 * r + v] = sum[r][v];
}

HD_INLINE void NAME(accumulate_of)(const int vectors, int64_t keys, int64_t features, const real *x,
                                   int64_t row, const vr *p, const vr *pfactor, vr *o, hd_ahead *ahead) {
    vr factor[2];
    for (int v = 0; v < vectors; v++) factor[v] = pfactor ? pfactor[v] : V(set)(1);
    for (; features >= ROWS; features -= ROWS, x += ROWS, o += 2 * ROWS) {
        NAME(accumulate_tile)(ROWS, vectors, keys, x, row, p, factor, o);
        if (ahead && ahead->count) fetch_ahead(ahead);
    }
    switch (features) {
#define CASE(R)                                                                                              \
    case R: NAME(accumulate_tile)(R, vectors, keys, x, row, p, factor, o); break;
        EACH_ROWS(CASE)
#undef CASE
    }
}

static void NAME(accumulate)(hd_halves halves, int64_t keys, int64_t features, const void *x, int64_t row,
                             const void *p, const void *factor, void *o, hd_ahead *ahead) {
    const int half = halves == HD_SECOND_HALF;
    const vr *from = NAME(across)(p) + half, *by = factor ? NAME(across)(factor) + half : NULL;
    vr *to = NAME(across_out)(o) + half;
    if (halves == HD_BOTH_HALVES)
        NAME(accumulate_of)(2, keys, features, x, row, from, by, to, ahead);
    else
        NAME(accumulate_of)(1, keys, features, x, row, from, by, to, ahead);
}

/* to[r] += sum_l p[r][l] x[l] for `rows` keys. Lanes are features here: x and `to` are rows of
 * features, p is broadcast. `vectors` whole vectors, or the first `part` lanes of one. */
HD_INLINE void NAME(accumulate_transposed_tile)(const int rows, const int vectors, int64_t part,
                                                int64_t count, const real *p, const real *x, int64_t row,
                                                real *to, int64_t to_row) {
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

HD_INLINE void NAME(accumulate_transposed_rows)(const int rows, int64_t count, int64_t features,
                                                const real *p, const real *x, int64_t row, real *to,
                                                int64_t to_row) {
    for (; features >= 2 * LANES; features -= 2 * LANES, x += 2 * LANES, to += 2 * LANES)
        NAME(accumulate_transposed_tile)(rows, 2, LANES, count, p, x, row, to, to_row);
    if (features >= LANES) {
        NAME(accumulate_transposed_tile)(rows, 1, LANES, count, p, x, row, to, to_row);
        features -= LANES, x += LANES, to += LANES;
    }
    if (features) NAME(accumulate_transposed_tile)(rows, 1, features, count, p, x, row, to, to_row);
}

static void NAME(accumulate_transposed)(int64_t keys, int64_t count, int64_t features, const void *pp,
                                        const void *px, int64_t row, void *pto, int64_t to_row) {
    const real *p = pp, *x = px;
    real *to = pto;
    for (; keys >= ROWS; keys -= ROWS, p += ROWS * BLOCK, to += ROWS * to_row)
        NAME(accumulate_transposed_rows)(ROWS, count, features, p, x, row, to, to_row);
    switch (keys) {
#define CASE(R)                                                                                              \
    case R: NAME(accumulate_transposed_rows)(R, count, features, p, x, row, to, to_row); break;
        EACH_ROWS(CASE)
#undef CASE
    }
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* The vectors [first, end) of the two that are worked on. */
#define FIRST_OF(halves) ((halves) == HD_SECOND_HALF)
#define END_OF(halves) ((halves) == HD_FIRST_HALF ? 1 : 2)

/* x in the lanes whose bit in word n is set (bits NULL: in all), else y. */
HD_INLINE vr NAME(where_set)(const uint32_t *bits, int64_t n, int v, vr x, vr y) {
    return bits ? V(select)(V(of_bits)(bits[n] >> (v * LANES)), x, y) : x;
}

/* s = c log2(e) tanh(product / c) - slope |position of the query - position of the key| + bias.
 * Without a softcap the product is in units of log2 e already. Bias and slope come in these units
 * too. */
HD_INLINE vr NAME(score_vector)(const hd_score_rules *rules, int64_t n, int v, vr s) {
    if (rules->softcap > 0) {
        const vr t = V(tanh)(s);
        if (rules->cap) NAME(across_out)(rules->cap)[2 * n + v] = 1 - t * t;
        s = t * (real)(rules->softcap * LOG2_E);
    }
    if (rules->slope != 0) {
        const vr lane = IOTA;
        s -= (real)rules->slope * V(abs)(lane + (real)(rules->first - n + v * LANES));
    }
    if (rules->bias) s += NAME(across)(rules->bias)[2 * n + v];
    return NAME(where_set)(rules->bits, n, v, s, V(set)(-INFINITY));
}

HD_INLINE void NAME(score_of)(const hd_score_rules *rules, int first, int end, int64_t keys, vr *s,
                              vr *best) {
    for (int v = first; v < end; v++) {
        vr top = best ? best[v] : V(set)(0);
        for (int64_t n = 0; n < keys; n++) {
            s[2 * n + v] = NAME(score_vector)(rules, n, v, s[2 * n + v]);
            top = V(max)(s[2 * n + v], top);
        }
        if (best) best[v] = top;
    }
}

/* The frequent cases, a mask alone and a mask with a bias, get loops without the other rules: the
 * compiler knows the fields of `hides` and `adds`. */
static void NAME(score)(hd_halves halves, int64_t keys, const hd_score_rules *rules, void *ps, void *best) {
    vr *s = NAME(across_out)(ps);
    const hd_score_rules hides = {.bits = rules->bits}, adds = {.bits = rules->bits, .bias = rules->bias};
    if (rules->softcap > 0 || rules->slope != 0)
        NAME(score_of)(rules, FIRST_OF(halves), END_OF(halves), keys, s, best);
    else if (rules->bias)
        NAME(score_of)(&adds, FIRST_OF(halves), END_OF(halves), keys, s, best);
    else
        NAME(score_of)(&hides, FIRST_OF(halves), END_OF(halves), keys, s, best);
}

/* What scores are measured from: the largest so far, or 0 if nothing was seen, because -inf - -inf
 * would be NaN. */
HD_INLINE vr NAME(origin)(vr largest) {
    return V(select)(V(eq)(largest, V(set)(-INFINITY)), V(set)(0), largest);
}

/* One block of an online softmax; the formula stands in kernels/attention.h. The first block finds
 * largest = -inf and sum = 0, so factor is 0. */
HD_INLINE void NAME(exp_sum_of)(const int vectors, int64_t keys, vr *s, const vr *best, vr *largest, vr *sum,
                                vr *factor) {
    vr origin[2], total[2];
    for (int v = 0; v < vectors; v++) origin[v] = NAME(origin)(best[v]), total[v] = (vr){0};
    for (int64_t n = 0; n < keys; n++)
        for (int v = 0; v < vectors; v++) {
            const vr p = V(weight)(s[2 * n + v] - origin[v]);
            s[2 * n + v] = p;
            total[v] += p;
        }
    for (int v = 0; v < vectors; v++) {
        factor[v] = V(weight)(largest[v] - origin[v]);
        sum[v] = sum[v] * factor[v] + total[v];
        largest[v] = best[v];
    }
}

static void NAME(exp_sum)(hd_halves halves, int64_t keys, void *ps, const void *best, void *largest,
                          void *sum, void *factor) {
    const int half = halves == HD_SECOND_HALF;
    vr *s = NAME(across_out)(ps) + half, *top = NAME(across_out)(largest) + half;
    vr *total = NAME(across_out)(sum) + half, *by = NAME(across_out)(factor) + half;
    if (halves == HD_BOTH_HALVES)
        NAME(exp_sum_of)(2, keys, s, NAME(across)(best), top, total, by);
    else
        NAME(exp_sum_of)(1, keys, s, NAME(across)(best) + half, top, total, by);
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

/* ---- dropout --------------------------------------------------------------------------------- */

static void NAME(drop)(hd_halves halves, int64_t keys, const uint32_t *kept, double scale, void *pp) {
    vr *p = NAME(across_out)(pp), zero = {0};
    for (int64_t n = 0; n < keys; n++)
        for (int v = FIRST_OF(halves); v < END_OF(halves); v++)
            p[2 * n + v] = NAME(where_set)(kept, n, v, p[2 * n + v] * (real)scale, zero);
}

/* ---- gradients ------------------------------------------------------------------------------- */

static void NAME(dot)(int64_t features, const void *pa, const void *pb, void *pdelta) {
    const vr *a = NAME(across)(pa), *b = NAME(across)(pb);
    vr *delta = pdelta, sum[2] = {{0}};
    for (int64_t d = 0; d < features; d++)
        sum[0] += a[2 * d] * b[2 * d], sum[1] += a[2 * d + 1] * b[2 * d + 1];
    delta[0] = sum[0], delta[1] = sum[1];
}

static void NAME(weights)(hd_halves halves, int64_t keys, const void *plse, const uint32_t *bits, void *ps) {
    vr *s = NAME(across_out)(ps), zero = {0};
    for (int v = FIRST_OF(halves); v < END_OF(halves); v++) {
        const vr origin = NAME(origin)(NAME(across)(plse)[v]);
        for (int64_t n = 0; n < keys; n++)
            s[2 * n + v] = NAME(where_set)(bits, n, v, V(weight)(s[2 * n + v] - origin), zero);
    }
}

/* Forward: p = 2^(s - lse), o = sum_n w_n v_n with w = p, or p · kept · scale with dropout. So with
 * dp_n = dw_n · kept · scale and delta = sum_n p_n dp_n: ds = p (dp - delta); s becomes w. Whether
 * bits and kept are NULL is known at every call, so that each gets a loop without the test. */
HD_INLINE void NAME(slopes_of)(int first, int end, int64_t keys, const vr *lse, const vr *delta,
                               const uint32_t *bits, const uint32_t *kept, real scale, vr *s, vr *dp) {
    const vr zero = {0};
    for (int v = first; v < end; v++) {
        const vr origin = NAME(origin)(lse[v]), less = delta[v];
        for (int64_t n = 0; n < keys; n++) {
            const vr p = NAME(where_set)(bits, n, v, V(weight)(s[2 * n + v] - origin), zero);
            const vr g = kept ? NAME(where_set)(kept, n, v, dp[2 * n + v] * scale, zero) : dp[2 * n + v];
            dp[2 * n + v] = NAME(where_set)(bits, n, v, p * (g - less), zero);
            s[2 * n + v] = kept ? NAME(where_set)(kept, n, v, p * scale, zero) : p;
        }
    }
}

static void NAME(slopes)(hd_halves halves, int64_t keys, const void *plse, const void *pdelta,
                         const uint32_t *bits, const uint32_t *kept, double scale, void *ps, void *pdp) {
    vr *s = NAME(across_out)(ps), *dp = NAME(across_out)(pdp);
    const vr *lse = NAME(across)(plse), *delta = NAME(across)(pdelta);
    const int first = FIRST_OF(halves), end = END_OF(halves);
    if (kept)
        NAME(slopes_of)(first, end, keys, lse, delta, bits, kept, (real)scale, s, dp);
    else if (bits)
        NAME(slopes_of)(first, end, keys, lse, delta, bits, NULL, 1, s, dp);
    else
        NAME(slopes_of)(first, end, keys, lse, delta, NULL, NULL, 1, s, dp);
}

/* Forward: s = c tanh(product / c), whose derivative is cap = 1 - tanh². */
static void NAME(uncap)(hd_halves halves, int64_t keys, const void *pcap, const uint32_t *bits, void *ps) {
    const vr *cap = NAME(across)(pcap), zero = {0};
    vr *s = NAME(across_out)(ps);
    for (int64_t n = 0; n < keys; n++)
        for (int v = FIRST_OF(halves); v < END_OF(halves); v++)
            s[2 * n + v] = NAME(where_set)(bits, n, v, s[2 * n + v] * cap[2 * n + v], zero);
}

/* ---- NaN and infinities behind a mask -------------------------------------------------------- */

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
    vr bad[4] = {{0}}; /* x · 0 is 0 if x is finite, else NaN */
    for (int64_t i = 0; i < rows; i++, x += row) {
        int64_t d = 0;
        for (; d + 4 * LANES <= features; d += 4 * LANES)
            for (int v = 0; v < 4; v++) bad[v] += V(load)(x + d + v * LANES) * 0;
        for (; d + LANES <= features; d += LANES) bad[0] += V(load)(x + d) * 0;
        if (d < features) bad[1] += V(load_n)(x + d, features - d) * 0;
    }
    return V(sum)((bad[0] + bad[1]) + (bad[2] + bad[3])) == 0;
}

static void NAME(accumulate_seen)(int64_t features, const void *px, const void *pp, uint32_t bits, void *po) {
    const real *x = px;
    const vr *p = NAME(across)(pp);
    vr *o = NAME(across_out)(po);
    for (int64_t d = 0; d < features; d++)
        for (int v = 0; v < 2; v++)
            o[2 * d + v] =
                V(select)(V(of_bits)(bits >> (v * LANES)), o[2 * d + v] + x[d] * p[v], o[2 * d + v]);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hd_attention_kernels NAME(steps) = {
    .lanes = BLOCK,
    .keys = HD_BLOCK_KEYS / ROWS * ROWS,
    .run = 2 * ROWS,
    .pack = NAME(pack),
    .unpack = NAME(unpack),
    .products = NAME(products),
    .score = NAME(score),
    .exp_sum = NAME(exp_sum),
    .accumulate = NAME(accumulate),
    .accumulate_transposed = NAME(accumulate_transposed),
    .finish = NAME(finish),
    .dot = NAME(dot),
    .slopes = NAME(slopes),
    .weights = NAME(weights),
    .unhide = NAME(unhide),
    .uncap = NAME(uncap),
    .drop = NAME(drop),
    .draw = draw,
    .finite = NAME(finite),
    .accumulate_seen = NAME(accumulate_seen),
};

#undef BLOCK
#undef IOTA
#undef FIRST_OF
#undef END_OF
#include "kernels/vec_real_end.h"
