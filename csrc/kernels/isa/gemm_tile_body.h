/* gemm_tile_body.h: gemm_tile.c for the element type T, of which a vector holds LANES.
 *
 * `vec` is a vector in a register, `loose` one in memory, aligned as an element.
 */

typedef T NAME(vec) __attribute__((vector_size(VECTOR_BYTES)));
typedef T NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(T)), may_alias));
#define VEC NAME(vec)

/* ---- the register tile ----------------------------------------------------------------------- */

typedef struct NAME(operands) {
    int64_t k;
    T alpha, beta;
    const T *a, *b;
    T *c;
    int64_t a_rs, a_cs, b_rs, c_rs; /* in bytes */
    NAME(mask) last;                /* lanes of the last vector of a line */
} NAME(operands);

INLINE VEC NAME(fetch)(const T *p, bool whole, NAME(mask) last) {
    return whole ? (VEC) * (const NAME(loose) *)p : (VEC)NAME(load)(p, last);
}

INLINE void NAME(put)(T *p, bool whole, NAME(mask) last, VEC v) {
    if (whole)
        *(NAME(loose) *)p = v;
    else
        NAME(store)(p, last, v);
}

#define FETCH_AHEAD 16 /* lines of b, which lie far apart when it was not packed */
#define AT(type, p, bytes) ((type *)((char *)(p) + (bytes)))

/* c[i][j] = alpha sum_p a[i][p] b[p][j] + beta c[i][j] for a tile of `rows` rows by `vectors` vectors
 * of columns. Step p loads row p of the tile of b as vectors, broadcasts a[i][p] for each i, and adds
 * their products to rows x vectors sums. `rows`, `vectors` and `whole` are constants at every call, so
 * the loops unroll and the sums stay in registers. Each sum is in the order of p.
 *
 * a needs a pointer for every three rows only: the other two rows lie one and two strides further,
 * which an address can express. A pointer a row would need more registers than there are.
 *
 * The rows of c are fetched while the sums are made; beta = 0 never reads them. */
INLINE void NAME(tile)(const NAME(operands) * o, const int rows, const int vectors, const bool whole) {
    const NAME(mask) last = o->last;
    const int64_t rs = o->a_rs, cs = o->a_cs, b_rs = o->b_rs, c_rs = o->c_rs;
    const T *a[(TILE_ROWS + 2) / 3], *b = o->b;
    VEC sum[TILE_ROWS][2];
    T *c = o->c;
#pragma GCC unroll 5
    for (int g = 0; g < (rows + 2) / 3; g++) a[g] = AT(const T, o->a, 3 * g * rs);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++, c = AT(T, c, c_rs)) {
        __builtin_prefetch(c, 1);
        if (vectors > 1) __builtin_prefetch(c + LANES, 1);
        for (int j = 0; j < vectors; j++) sum[i][j] = (VEC){0};
    }
    for (int64_t p = 0; p < o->k; p++) {
        VEC line[2];
        __builtin_prefetch(AT(const T, b, FETCH_AHEAD *b_rs));
        if (vectors > 1) __builtin_prefetch(AT(const T, b, FETCH_AHEAD *b_rs) + LANES);
        for (int j = 0; j < vectors; j++)
            line[j] = NAME(fetch)(b + j * LANES, whole || j + 1 < vectors, last);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            const VEC x = *AT(const T, a[i / 3], i % 3 * rs) - (VEC){0};
            for (int j = 0; j < vectors; j++) sum[i][j] += x * line[j];
        }
#pragma GCC unroll 5
        for (int g = 0; g < (rows + 2) / 3; g++) a[g] = AT(const T, a[g], cs);
        b = AT(const T, b, b_rs);
    }
    const T alpha = o->alpha, beta = o->beta;
    c = o->c;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++, c = AT(T, c, c_rs))
        for (int j = 0; j < vectors; j++) {
            const bool all = whole || j + 1 < vectors;
            VEC v = sum[i][j] * alpha;
            if (beta != 0) v += NAME(fetch)(c + j * LANES, all, last) * beta;
            NAME(put)(c + j * LANES, all, last, v);
        }
}

typedef void (*NAME(tile_fn))(const NAME(operands) *);

/* One instance for every number of rows and vectors. With 512-bit vectors a masked load costs no more
 * than a whole one, so that the instances with a partial last vector serve whole ones too. */
#define INSTANCE(R)                                                                                          \
    static void NAME(tile_1_##R)(const NAME(operands) * o) {                                                 \
        NAME(tile)(o, R, 1, false);                                                                          \
    }                                                                                                        \
    static void NAME(tile_2_##R)(const NAME(operands) * o) {                                                 \
        NAME(tile)(o, R, 2, false);                                                                          \
    }
EACH_ROWS(INSTANCE)
#define ENTRY_1(R) NAME(tile_1_##R),
#define ENTRY_2(R) NAME(tile_2_##R),
static const NAME(tile_fn) NAME(partial_tiles)[2][TILE_ROWS] = {{EACH_ROWS(ENTRY_1)}, {EACH_ROWS(ENTRY_2)}};
#if defined(__AVX512F__)
#define WHOLE_TILES NAME(partial_tiles)
#else
#define WHOLE_INSTANCE(R)                                                                                    \
    static void NAME(whole_1_##R)(const NAME(operands) * o) {                                                \
        NAME(tile)(o, R, 1, true);                                                                           \
    }                                                                                                        \
    static void NAME(whole_2_##R)(const NAME(operands) * o) {                                                \
        NAME(tile)(o, R, 2, true);                                                                           \
    }
EACH_ROWS(WHOLE_INSTANCE)
#define WHOLE_ENTRY_1(R) NAME(whole_1_##R),
#define WHOLE_ENTRY_2(R) NAME(whole_2_##R),
static const NAME(tile_fn)
    NAME(whole_tiles)[2][TILE_ROWS] = {{EACH_ROWS(WHOLE_ENTRY_1)}, {EACH_ROWS(WHOLE_ENTRY_2)}};
#define WHOLE_TILES NAME(whole_tiles)
#undef WHOLE_INSTANCE
#undef WHOLE_ENTRY_1
#undef WHOLE_ENTRY_2
#endif

static void NAME(run)(const hd_gemm_tile *t, int64_t m, int64_t n, int64_t k, double alpha, const void *a,
                      int64_t a_rs, int64_t a_cs, const void *b, int64_t b_rs, double beta, void *c,
                      int64_t c_rs) {
    (void)t;
    const int wide = n > LANES;
    const int64_t lanes = wide ? n - LANES : n, size = sizeof(T);
    const NAME(operands) o = {.k = k,
                              .alpha = (T)alpha,
                              .beta = (T)beta,
                              .a = a,
                              .b = b,
                              .c = c,
                              .a_rs = a_rs * size,
                              .a_cs = a_cs * size,
                              .b_rs = b_rs * size,
                              .c_rs = c_rs * size,
                              .last = NAME(first)(lanes)};
    if (lanes == LANES)
        WHOLE_TILES[wide][m - 1](&o);
    else
        NAME(partial_tiles)[wide][m - 1](&o);
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Exchanges the lanes of x whose number has bit S with the lanes of y whose number lacks it. */
#define LOW(l, S) ((l) & (S) ? (l) - (S) + LANES : (l))
#define HIGH(l, S) ((l) & (S) ? (l) + LANES : (l) + (S))
#define EXCHANGE(S)                                                                                          \
    INLINE void NAME(exchange_##S)(VEC * x, VEC * y) {                                                       \
        VEC p = *x, q = *y;                                                                                  \
        *x = __builtin_shufflevector(p, q, EACH_LANE(LOW, S));                                               \
        *y = __builtin_shufflevector(p, q, EACH_LANE(HIGH, S));                                              \
    }
#if LANES == 16
#define EACH_LANE(F, S)                                                                                      \
    F(0, S), F(1, S), F(2, S), F(3, S), F(4, S), F(5, S), F(6, S), F(7, S), F(8, S), F(9, S), F(10, S),      \
        F(11, S), F(12, S), F(13, S), F(14, S), F(15, S)
EXCHANGE(1)
EXCHANGE(2)
EXCHANGE(4)
EXCHANGE(8)
#elif LANES == 8
#define EACH_LANE(F, S) F(0, S), F(1, S), F(2, S), F(3, S), F(4, S), F(5, S), F(6, S), F(7, S)
EXCHANGE(1)
EXCHANGE(2)
EXCHANGE(4)
#elif LANES == 4
#define EACH_LANE(F, S) F(0, S), F(1, S), F(2, S), F(3, S)
EXCHANGE(1)
EXCHANGE(2)
#else
#define EACH_LANE(F, S) F(0, S), F(1, S)
EXCHANGE(1)
#endif

#define EXCHANGE_ALL(S)                                                                                      \
    _Pragma("GCC unroll 16") for (int i = 0; i < LANES; i++) if (!(i & S))                                   \
        NAME(exchange_##S)(&v[i], &v[i + S])

/* Transposes LANES x LANES elements: an element's row and lane exchange one bit in each round. */
INLINE void NAME(transpose)(VEC v[LANES]) {
    EXCHANGE_ALL(1);
#if LANES >= 4
    EXCHANGE_ALL(2);
#endif
#if LANES >= 8
    EXCHANGE_ALL(4);
#endif
#if LANES >= 16
    EXCHANGE_ALL(8);
#endif
}

/* Up to LANES rows of the source, which become neighbouring lanes of each line of the panel:
 *
 *     to[p * width + i] = from[i * inc + p * ld]    i < rows;  0 for rows <= i < lanes;  p < k
 *
 * A panel of a has mr rows of a, one of b has nr columns of b; both lie line by line of k, in the
 * order in which the register tile reads them. */
typedef struct NAME(strip) {
    int64_t rows, k; /* of the source; rows <= lanes */
    int64_t lanes;   /* to write, zeros from rows on */
    int64_t width;   /* from one line of the panel to the next */
    int64_t whole;   /* lines that may be written as whole vectors: what they write beyond `lanes` is in
                        later lines, which are written afterwards */
    const T *from;
    int64_t inc, ld;
    T *to;
} NAME(strip);

INLINE void NAME(put_line)(const NAME(strip) * s, int64_t p, NAME(mask) lanes, VEC v) {
    NAME(put)(s->to + p * s->width, p < s->whole, lanes, v);
}

/* ld == 1, contiguous along k: LANES x LANES blocks, transposed in registers. */
static void NAME(pack_across)(const NAME(strip) * s) {
    const NAME(mask) lanes = NAME(first)(s->lanes);
    for (int64_t p = 0; p < s->k; p += LANES) {
        const int64_t depth = s->k - p < LANES ? s->k - p : LANES;
        const NAME(mask) here = NAME(first)(depth);
        VEC v[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            v[i] = i < s->rows ? NAME(fetch)(s->from + i * s->inc + p, depth == LANES, here) : (VEC){0};
        NAME(transpose)(v);
#pragma GCC unroll 16
        for (int j = 0; j < LANES; j++)
            if (j < depth) NAME(put_line)(s, p + j, lanes, v[j]);
    }
}

/* inc == 1, contiguous across the rows: copied line by line. */
static void NAME(pack_along)(const NAME(strip) * s) {
    const NAME(mask) rows = NAME(first)(s->rows), lanes = NAME(first)(s->lanes);
    const bool full = s->rows == LANES;
    for (int64_t p = 0; p < s->k; p++)
        NAME(put_line)(s, p, lanes, NAME(fetch)(s->from + p * s->ld, full, rows));
}

/* The same for a whole panel two vectors wide. */
static void NAME(copy_panel)(int64_t k, const T *from, int64_t ld, T *to) {
    for (int64_t p = 0; p < k; p++, from += ld, to += 2 * LANES) {
        const VEC v = *(const NAME(loose) *)from, w = *(const NAME(loose) *)(from + LANES);
        *(NAME(loose) *)to = v;
        *(NAME(loose) *)(to + LANES) = w;
    }
}

/* Any strides. */
static void NAME(pack_any)(const NAME(strip) * s) {
    for (int64_t p = 0; p < s->k; p++)
        for (int64_t i = 0; i < s->lanes; i++)
            s->to[p * s->width + i] = i < s->rows ? s->from[i * s->inc + p * s->ld] : 0;
}

/* A panel in strips of LANES rows. A strip that fills its vectors may always write whole ones; a panel
 * narrower than a vector may do so until the last lines, where a vector would end behind the panel; the
 * last strip of a wider panel never, because its surplus would hit the first strip of the next line. */
static void NAME(pack)(int64_t width, int64_t rows, int64_t k, const void *from, int64_t inc, int64_t ld,
                       void *to) {
    NAME(strip) s = {.k = k, .width = width, .inc = inc, .ld = ld};
    if (inc == 1 && width == 2 * LANES && rows == width) {
        NAME(copy_panel)(k, from, ld, to);
        return;
    }
    for (int64_t i = 0; i < width; i += LANES) {
        s.lanes = width - i < LANES ? width - i : LANES;
        s.rows = rows - i < 0 ? 0 : rows - i < s.lanes ? rows - i : s.lanes;
        s.from = (const T *)from + (s.rows > 0 ? i * inc : 0);
        s.to = (T *)to + i;
        s.whole = s.lanes == LANES ? k : width < LANES ? k - (LANES + width - 1) / width + 1 : 0;
        if (inc == 1)
            NAME(pack_along)(&s);
        else if (ld == 1)
            NAME(pack_across)(&s);
        else
            NAME(pack_any)(&s);
    }
}

/* ---- few rows: products of vectors ----------------------------------------------------------- */

#if LANES >= 16
#define FOLD_8(v) FOLD(8, v)
#else
#define FOLD_8(v)
#endif
#if LANES >= 8
#define FOLD_4(v) FOLD(4, v)
#else
#define FOLD_4(v)
#endif
#if LANES >= 4
#define FOLD_2(v) FOLD(2, v)
#else
#define FOLD_2(v)
#endif
#define FOLD(S, v)                                                                                           \
    _Pragma("GCC unroll 8") for (int i = 0; i < S; i++) {                                                    \
        NAME(exchange_##S)(&v[i], &v[i + S]);                                                                \
        v[i] += v[i + S];                                                                                    \
    }

/* LANES horizontal sums at once: lane l of the result is the sum of all lanes of v[l]. Each round
 * exchanges lanes between pairs of vectors and adds the two, which halves the number of vectors. */
INLINE VEC NAME(sums)(VEC v[LANES]) {
    FOLD_8(v)
    FOLD_4(v)
    FOLD_2(v)
    FOLD(1, v)
    return v[0];
}

/* Lane i * columns + j of the result is row i of a times column j of b, both contiguous along k. Each
 * of these sums has a vector of its own until the end, so that b is read once, LANES of k at a time,
 * and adding across lanes happens once for all. `rows` and `columns` are constants with
 * rows * columns <= LANES. */
INLINE VEC NAME(dot)(int64_t k, const T *a, int64_t a_rs, const T *const *b, const int rows,
                     const int columns) {
    VEC sum[LANES];
    const T *row[4];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) sum[i] = (VEC){0};
    for (int i = 0; i < rows; i++) row[i] = a + i * a_rs;
    int64_t p = 0;
    for (; p + LANES <= k; p += LANES) {
        VEC x[4];
        for (int i = 0; i < rows; i++) x[i] = *(const NAME(loose) *)(row[i] + p);
#pragma GCC unroll 16
        for (int j = 0; j < columns; j++) {
            const VEC y = *(const NAME(loose) *)(b[j] + p);
            for (int i = 0; i < rows; i++) sum[i * columns + j] += x[i] * y;
        }
    }
    if (p < k) {
        const NAME(mask) rest = NAME(first)(k - p);
        VEC x[4];
        for (int i = 0; i < rows; i++) x[i] = (VEC)NAME(load)(row[i] + p, rest);
#pragma GCC unroll 16
        for (int j = 0; j < columns; j++) {
            const VEC y = (VEC)NAME(load)(b[j] + p, rest);
            for (int i = 0; i < rows; i++) sum[i * columns + j] += x[i] * y;
        }
    }
    return NAME(sums)(sum);
}

/* Columns of b at a time for 1, 2 or up to 4 rows of a: as many sums as there are lanes, and not more
 * than 8 streams of memory. */
#define DOT_COLUMNS(R) (LANES / (R) > 8 ? 8 : LANES / (R))
#define DOT_ROWS (LANES < 4 ? LANES : 4)

typedef VEC (*NAME(dot_fn))(int64_t k, const T *a, int64_t a_rs, const T *const *b);
#define DOT_INSTANCE(R, OF)                                                                                  \
    static VEC NAME(dot_##R##_of_##OF)(int64_t k, const T *a, int64_t a_rs, const T *const *b) {             \
        return NAME(dot)(k, a, a_rs, b, R, DOT_COLUMNS(OF));                                                 \
    }
DOT_INSTANCE(1, 1)
DOT_INSTANCE(1, 2)
DOT_INSTANCE(2, 2)
#if LANES >= 4
DOT_INSTANCE(1, 4)
DOT_INSTANCE(2, 4)
DOT_INSTANCE(3, 4)
DOT_INSTANCE(4, 4)
#endif

/* For up to 1, 2 or 4 rows at a time: the columns, and the function for each number of rows. */
static const struct {
    int64_t columns;
    NAME(dot_fn) of_rows[4];
} NAME(dots)[] = {
    {DOT_COLUMNS(1), {NAME(dot_1_of_1)}},
    {DOT_COLUMNS(2), {NAME(dot_1_of_2), NAME(dot_2_of_2)}},
#if LANES >= 4
    {DOT_COLUMNS(4), {NAME(dot_1_of_4), NAME(dot_2_of_4), NAME(dot_3_of_4), NAME(dot_4_of_4)}},
#endif
};

/* c = alpha a b + beta c. The last columns repeat the first of their group in the place of those that
 * are not there. */
static void NAME(run_dots)(int64_t m, int64_t n, int64_t k, double alpha, const void *a, int64_t a_rs,
                           const void *b, int64_t b_cs, double beta, void *c, int64_t c_rs, int64_t c_cs) {
    const int kind = m == 1 ? 0 : m == 2 || DOT_ROWS < 4 ? 1 : 2;
    const int64_t columns = NAME(dots)[kind].columns, rows = 1 << kind;
    for (int64_t j = 0; j < n; j += columns) {
        const int64_t width = n - j < columns ? n - j : columns;
        const T *column[8];
        for (int64_t q = 0; q < columns; q++) column[q] = (const T *)b + (j + (q < width ? q : 0)) * b_cs;
        for (int64_t i = 0; i < m; i += rows) {
            const int64_t height = m - i < rows ? m - i : rows;
            T sums[LANES];
            *(NAME(loose) *)sums =
                NAME(dots)[kind].of_rows[height - 1](k, (const T *)a + i * a_rs, a_rs, column) * (T)alpha;
            for (int64_t r = 0; r < height; r++)
                for (int64_t q = 0; q < width; q++) {
                    T *to = (T *)c + (i + r) * c_rs + (j + q) * c_cs;
                    const T value = sums[r * columns + q];
                    *to = beta == 0 ? value : value + (T)beta * *to;
                }
        }
    }
}

#undef FOLD
#undef FOLD_2
#undef FOLD_4
#undef FOLD_8
#undef DOT_ROWS
#undef DOT_COLUMNS
#undef DOT_INSTANCE
#undef VEC
#undef AT
#undef FETCH_AHEAD
#undef INSTANCE
#undef ENTRY_1
#undef ENTRY_2
#undef WHOLE_TILES
#undef EXCHANGE
#undef EXCHANGE_ALL
#undef EACH_LANE
#undef LOW
#undef HIGH
