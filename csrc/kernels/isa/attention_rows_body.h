/* attention_rows_body.h: attention_rows.c for one computing and one storing type (names: see
 * vec_real.h and attention_rows.c; N(x) is short for ROWS_NAME(x)).
 *
 *     dots    s[r][n] = sum_d q[r][d] x[n][d]
 *     accumulate     o[r][d] += sum_n p[r][n] x[n][d]
 *
 * Lanes are features here. There are too few queries to fill a vector with them, and reading x is
 * what takes the time. So x goes by once in the order of memory, KEYS keys at a time: for key n, the
 * rows of all heads, then key n + 1. Each row serves all queries of its head while it is in a
 * register or in the first-level cache.
 */
#include "kernels/vec_real.h"

#define N(x) ROWS_NAME(x)
/* FEW: most queries that go along the rows in accumulate. KEYS: of a block. MOST: queries of one pass of
 * dots. */
enum { N(FEW) = 3, N(KEYS) = 16, N(MOST) = LANES < 4 ? LANES : 4 };
#define MOST N(MOST)
/* Vectors of features in a register tile of accumulate, by its number of queries: the sums leave registers
 * for a vector of x and a broadcast. */
#if HD_VEC_AVX512
#define VECTORS_OF(queries) ((queries) <= 2 ? 8 : 4)
#else
#define VECTORS_OF(queries) ((queries) == 1 ? 8 : (queries) == 2 ? 4 : 2)
#endif

/* LANES horizontal sums at once: lane l of the result is the sum of all lanes of v[l]. One round
 * interleaves two vectors, so that halves of the same vector come to lie in the same lanes, and adds
 * them. It halves the number of vectors; log2(LANES) rounds leave one. */
HD_INLINE vr N(sums)(vr *v) {
#pragma GCC unroll 5
    for (int half = LANES / 2; half > 0; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++) v[i] = V(zip_low)(v[i], v[i + half]) + V(zip_high)(v[i], v[i + half]);
    return v[0];
}

/* ---- dots ------------------------------------------------------------------------------------ */

/* sum[i] = a vector whose lanes add up to q_i · x, for `queries` rows of q. `queries` and `vectors`
 * are constants; `vectors` is the length of a row in whole vectors, or 0 for any number of
 * features. */
HD_INLINE void N(product)(const int queries, const int vectors, int64_t features, const real *q,
                          int64_t width, const KEY *x, vr *sum) {
    int64_t d = 0;
    for (int i = 0; i < queries; i++) sum[i] = (vr){0};
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++, d += LANES) {
        const vr y = WIDE(x + d);
        for (int i = 0; i < queries; i++) sum[i] += V(load)(q + i * width + d) * y;
    }
    if (vectors > 0) return;
    for (; d + LANES <= features; d += LANES) {
        const vr y = WIDE(x + d);
        for (int i = 0; i < queries; i++) sum[i] += V(load)(q + i * width + d) * y;
    }
    if (d == features) return;
    const vr y = WIDE_N(x + d, features - d);
    for (int i = 0; i < queries; i++) sum[i] += V(load)(q + i * width + d) * y;
}

/* A place among rows: a key of a head, in the order of memory. */
typedef struct N(place) {
    int64_t n, h;
    const KEY *row; /* of head 0 */
} N(place);

HD_INLINE void N(advance)(const hd_row_block *b, N(place) * at) {
    if (++at->h < b->heads) return;
    at->h = 0, at->n++;
    at->row += b->row;
}

/* All keys of all heads against `queries` queries of each. A place takes `of` lanes of the result,
 * so LANES / of places fill one vector with finished sums. Their vectors stay in registers until
 * N(sums) adds across lanes for all of them together. The places follow each other as in memory. */
HD_INLINE void N(dots_of)(const int queries, const int of, const int vectors, const hd_row_block *b,
                          const real *q, int64_t width, real *s, int64_t s_row) {
    const int places = LANES / of;
    N(place) at = {0, 0, b->x};
    for (int64_t left = b->keys * b->heads; left > 0; left -= places) {
        const N(place) first = at;
        real line[LANES] __attribute__((aligned(64)));
        vr sum[LANES];
#pragma GCC unroll 16
        for (int j = 0; j < places; j++) {
#pragma GCC unroll 4
            for (int i = 0; i < of; i++) sum[j * of + i] = (vr){0};
            if (j >= left) continue;
            N(product)
            (queries, vectors, b->features, q + at.h * b->queries * width, width, at.row + at.h * b->head,
             sum + j * of);
            N(advance)(b, &at);
        }
        V(store)(line, N(sums)(sum));
        at = first;
        for (int j = 0; j < places && j < left; j++, N(advance)(b, &at))
            for (int i = 0; i < queries; i++) s[(at.h * b->queries + i) * s_row + at.n] = line[j * of + i];
    }
}

/* One query, with loops of constant length for rows of 4 and 8 vectors. */
HD_INLINE void N(dots_of_one)(const hd_row_block *b, const real *q, int64_t width, real *s, int64_t s_row) {
    switch (b->features % LANES ? 0 : b->features / LANES) {
    case 4: N(dots_of)(1, 1, 4, b, q, width, s, s_row); break;
    case 8: N(dots_of)(1, 1, 8, b, q, width, s, s_row); break;
    default: N(dots_of)(1, 1, 0, b, q, width, s, s_row);
    }
}

static void N(dots)(const hd_row_block *whole, const void *pq, int64_t width, void *ps, int64_t s_row) {
    hd_row_block b = *whole;
    for (int64_t n = 0; n < whole->keys; n += N(KEYS)) {
        b.keys = hd_min(N(KEYS), whole->keys - n);
        b.x = (const KEY *)whole->x + n * b.row;
        for (int64_t i = 0; i < b.queries; i += MOST) {
            const real *q = (const real *)pq + i * width;
            real *s = (real *)ps + i * s_row + n;
            switch (hd_min(MOST, b.queries - i)) {
            case 1: N(dots_of_one)(&b, q, width, s, s_row); break;
            case 2: N(dots_of)(2, 2, 0, &b, q, width, s, s_row); break;
#if HD_VEC_BYTES * 8 / HD_REAL >= 4
            case 3: N(dots_of)(3, 4, 0, &b, q, width, s, s_row); break;
            case 4: N(dots_of)(4, 4, 0, &b, q, width, s, s_row); break;
#endif
            }
        }
    }
}

/* ---- accumulate ------------------------------------------------------------------------------------- */

/* The first `queries` queries of each head, along the rows: each row of x is added to their outputs,
 * which stay in the first-level cache. Reads x strictly in order, but loads and stores o for each
 * key. */
HD_INLINE void N(accumulate_along)(const int queries, const hd_row_block *b, int64_t keys, const KEY *x,
                                   const real *p, int64_t p_row, real *o, int64_t width) {
    for (int64_t n = 0; n < keys; n++, x += b->row)
        for (int64_t h = 0; h < b->heads; h++) {
            const KEY *from = x + h * b->head;
            const real *w = p + h * b->queries * p_row + n;
            real *to = o + h * b->queries * width;
            int64_t d = 0;
            for (; d + LANES <= b->features; d += LANES) {
                const vr y = WIDE(from + d);
                for (int i = 0; i < queries; i++)
                    V(store)(to + i * width + d, V(load)(to + i * width + d) + w[i * p_row] * y);
            }
            if (d == b->features) continue;
            const vr y = WIDE_N(from + d, b->features - d);
            for (int i = 0; i < queries; i++)
                V(store)(to + i * width + d, V(load)(to + i * width + d) + w[i * p_row] * y);
        }
}

/* A tile: o[i] += sum_n p[i][n] x[n] for `queries` queries and `vectors` vectors of features of one
 * head, over all keys of the block. Both are constants, so the sums stay in registers; o is loaded
 * and stored once. `last`: lanes of the last vector, unless the tile is `whole`. */
HD_INLINE void N(accumulate_tile)(const int queries, const int vectors, const bool whole, int64_t last,
                                  int64_t keys, const KEY *x, int64_t row, const real *p, int64_t p_row,
                                  real *o, int64_t width) {
    vr sum[4][8];
#pragma GCC unroll 4
    for (int i = 0; i < queries; i++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) sum[i][v] = V(load)(o + i * width + v * LANES);
    for (int64_t n = 0; n < keys; n++, x += row) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            const vr y = whole || v < vectors - 1 ? WIDE(x + v * LANES) : WIDE_N(x + v * LANES, last);
#pragma GCC unroll 4
            for (int i = 0; i < queries; i++) sum[i][v] += p[i * p_row + n] * y;
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < queries; i++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) V(store)(o + i * width + v * LANES, sum[i][v]);
}

/* All features for some queries of one head, tile by tile. */
HD_INLINE void N(accumulate_queries)(const int queries, int64_t features, int64_t keys, const KEY *x,
                                     int64_t row, const real *p, int64_t p_row, real *o, int64_t width) {
    const int vectors = VECTORS_OF(queries);
    int64_t d = 0;
    for (; d + vectors * LANES <= features; d += vectors * LANES)
        N(accumulate_tile)(queries, vectors, true, 0, keys, x + d, row, p, p_row, o + d, width);
    for (; vectors > 4 && d + 4 * LANES <= features; d += 4 * LANES)
        N(accumulate_tile)(queries, 4, true, 0, keys, x + d, row, p, p_row, o + d, width);
    for (; d + LANES <= features; d += LANES)
        N(accumulate_tile)(queries, 1, true, 0, keys, x + d, row, p, p_row, o + d, width);
    if (d < features)
        N(accumulate_tile)(queries, 1, false, features - d, keys, x + d, row, p, p_row, o + d, width);
}

static void N(mix_of_head)(const hd_row_block *b, int64_t first, int64_t keys, const KEY *x, const real *p,
                           int64_t p_row, real *o, int64_t width) {
    for (int64_t i = first; i < b->queries; i += 4, p += 4 * p_row, o += 4 * width)
        switch (hd_min(4, b->queries - i)) {
        case 1: N(accumulate_queries)(1, b->features, keys, x, b->row, p, p_row, o, width); break;
        case 2: N(accumulate_queries)(2, b->features, keys, x, b->row, p, p_row, o, width); break;
        case 3: N(accumulate_queries)(3, b->features, keys, x, b->row, p, p_row, o, width); break;
        case 4: N(accumulate_queries)(4, b->features, keys, x, b->row, p, p_row, o, width); break;
        }
}

/* Tiles read one head of all keys, then the next head: not the order of memory. So while head h is
 * worked on, its share of the next block's rows is prefetched in that order. */
HD_INLINE void N(ask_for_next)(const hd_row_block *b, int64_t n, int64_t h) {
    if (b->heads == 1 || n + 2 * N(KEYS) > b->keys) return;
    const int64_t first = h * N(KEYS) / b->heads, end = (h + 1) * N(KEYS) / b->heads;
    const int64_t bytes = b->heads * b->head * (int64_t)sizeof(KEY);
    for (int64_t r = first; r < end; r++) {
        const char *row = (const char *)((const KEY *)b->x + (n + N(KEYS) + r) * b->row);
        for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(row + at, 0, 2);
    }
}

/* How many queries go along the rows (accumulate_along); tiles take the others, and find the rows in the
 * caches. 0 where tiles alone are faster, that is, where there is much to do with each row. One query
 * of whole floats is never a tile alone: it would ask for more rows at once than the processor can
 * have under way. */
static int N(along)(const hd_row_block *b) {
    const bool half = sizeof(KEY) < sizeof(real);
    if (b->heads > 1) return b->queries >= (half ? 2 : 4) ? 0 : (int)b->queries;
    return (b->queries > 1 || half) && b->features <= VECTORS_OF(hd_min(b->queries, 4)) * LANES
               ? 0
               : (int)hd_min(b->queries, N(FEW));
}

static void N(accumulate)(const hd_row_block *b, const void *pp, int64_t p_row, void *po, int64_t width) {
    const real *p = pp;
    real *o = po;
    const int along = N(along)(b);
    for (int64_t n = 0; n < b->keys; n += N(KEYS)) {
        const KEY *x = (const KEY *)b->x + n * b->row;
        const int64_t keys = hd_min(N(KEYS), b->keys - n);
        switch (along) {
        case 1: N(accumulate_along)(1, b, keys, x, p + n, p_row, o, width); break;
        case 2: N(accumulate_along)(2, b, keys, x, p + n, p_row, o, width); break;
        case 3: N(accumulate_along)(3, b, keys, x, p + n, p_row, o, width); break;
        }
        for (int64_t h = 0; h < b->heads && b->queries > along; h++) {
            N(ask_for_next)(b, n, h);
            N(mix_of_head)
            (b, along, keys, x + h * b->head, p + n + (h * b->queries + along) * p_row, p_row,
             o + (h * b->queries + along) * width, width);
        }
    }
}

/* ---- converting whole rows ------------------------------------------------------------------- */

static void N(widen)(int64_t rows, int64_t features, const void *pfrom, int64_t row, void *pto) {
    const KEY *from = pfrom;
    real *to = pto;
    for (int64_t n = 0; n < rows; n++, from += row, to += features) {
        int64_t d = 0;
        for (; d + LANES <= features; d += LANES) V(store)(to + d, WIDE(from + d));
        if (d < features) V(store_n)(to + d, WIDE_N(from + d, features - d), features - d);
    }
}

static const hd_row_kernels N(table) = {LANES, N(dots), N(accumulate), N(widen)};

#undef N
#undef MOST
#undef KEY
#undef WIDE
#undef WIDE_N
#undef ROWS_NAME
#undef VECTORS_OF
#include "kernels/vec_real_end.h"
