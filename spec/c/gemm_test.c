/* Matrix products against three loops: small integers, so that every order of summation gives the same bits.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/context.h"
#include "base/parallel.h"
#include "check.h"
#include "kernels/gemm.h"
#include "kernels/gemm_loops.h"
#include "kernels/gemm_tile.h"

/* ---- three loops --------------------------------------------------------------------------------------- */

#define NAIVE(T)                                                                                             \
    for (int64_t e = 0; e < g->batch; e++)                                                                   \
        for (int64_t i = 0; i < g->m; i++)                                                                   \
            for (int64_t j = 0; j < g->n; j++) {                                                             \
                T sum = 0;                                                                                   \
                for (int64_t p = 0; p < g->k; p++)                                                           \
                    sum += *(T *)hd_gemm_at(g, &g->a, e, i, p) * *(T *)hd_gemm_at(g, &g->b, e, p, j);        \
                T *c = (T *)hd_gemm_at(g, &g->c, e, i, j);                                                   \
                *c = (T)g->alpha * sum + (g->beta == 0 ? 0 : (T)g->beta * *c);                               \
            }

static void gemm_naive(const hd_gemm *g) {
    if (g->dtype == HD_F64) {
        NAIVE(double)
    } else {
        NAIVE(float)
    }
}

static uint32_t state = 1;

static int64_t pick(int64_t count) {
    state = state * 1664525u + 1013904223u;
    return (int64_t)(state >> 8) % count;
}

/* ---- matrices with every kind of stride ---------------------------------------------------------------- */

typedef struct block {
    void *bytes;
    int64_t count;
} block;

static void set(hd_dtype dtype, void *data, int64_t i, double value) {
    if (dtype == HD_F64)
        ((double *)data)[i] = value;
    else
        ((float *)data)[i] = (float)value;
}

static double get(hd_dtype dtype, const void *data, int64_t i) {
    return dtype == HD_F64 ? ((const double *)data)[i] : ((const float *)data)[i];
}

static block new_block(hd_dtype dtype, int64_t count) {
    block b = {malloc((size_t)count * 8), count};
    for (int64_t i = 0; i < count; i++) set(dtype, b.bytes, i, (double)pick(9) - 4);
    return b;
}

enum { ROWS, COLUMNS, GAPS_IN_ROWS, GAPS_EVERYWHERE, REPEATED_ROW, BACKWARDS, LAYOUTS };

/* Allocates exactly what the matrix needs, so that a sanitizer sees a step outside. */
static block layout(hd_dtype dtype, int kind, int64_t rows, int64_t columns, int64_t batch, hd_matrix *x) {
    int64_t rs = columns, cs = 1;
    if (kind == COLUMNS) rs = 1, cs = rows;
    if (kind == GAPS_IN_ROWS) rs = columns + 3;
    if (kind == GAPS_EVERYWHERE) rs = 2 * columns + 5, cs = 2;
    if (kind == REPEATED_ROW) rs = 0;
    if (kind == BACKWARDS) rs = -columns;
    const int64_t last_row = rows > 0 ? rows - 1 : 0, last_column = columns > 0 ? columns - 1 : 0;
    const int64_t one = (rs < 0 ? -rs : rs) * last_row + cs * last_column + 1;
    const block b = new_block(dtype, one * batch);
    char *data = b.bytes;
    if (rs < 0) data += -rs * last_row * (dtype == HD_F64 ? 8 : 4);
    *x = (hd_matrix){data, rs, cs, one};
    return b;
}

typedef struct product {
    hd_gemm g;
    block a, b, c;
} product;

static product new_product(hd_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t batch, int a, int b,
                           int c) {
    product p = {.g = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = batch, .alpha = 1}};
    p.a = layout(dtype, a, m, k, batch, &p.g.a);
    p.b = layout(dtype, b, k, n, batch, &p.g.b);
    p.c = layout(dtype, c, m, n, batch, &p.g.c);
    return p;
}

static void free_product(product *p) {
    free(p->a.bytes);
    free(p->b.bytes);
    free(p->c.bytes);
}

static int same(hd_dtype dtype, const void *x, const void *y, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const double u = get(dtype, x, i), v = get(dtype, y, i);
        if (u != v && !(isnan(u) && isnan(v))) return 0;
    }
    return 1;
}

/* The whole of c's memory is compared: what lies between its elements must stay. */
static void check_product(hd_ctx *cx, product *p) {
    const size_t size = (size_t)p->c.count * (p->g.dtype == HD_F64 ? 8 : 4);
    const int64_t offset = (char *)p->g.c.data - (char *)p->c.bytes;
    char *want = malloc(size + 8);
    memcpy(want, p->c.bytes, size);
    hd_gemm naive = p->g;
    naive.c.data = want + offset;
    gemm_naive(&naive);
    const hd_status status = hd_gemm_run(cx, &p->g);
    const int right = status == HD_OK && same(p->g.dtype, p->c.bytes, want, p->c.count);
    if (!right) {
        const hd_gemm *g = &p->g;
        printf("%s, %s %lldx%lldx%lld batch %lld alpha %g beta %g\n", hd_gemm_kernel_name(cx),
               g->dtype == HD_F64 ? "f64" : "f32", (long long)g->m, (long long)g->n, (long long)g->k,
               (long long)g->batch, g->alpha, g->beta);
        printf("strides a %lld %lld b %lld %lld c %lld %lld\n", (long long)g->a.row_stride,
               (long long)g->a.col_stride, (long long)g->b.row_stride, (long long)g->b.col_stride,
               (long long)g->c.row_stride, (long long)g->c.col_stride);
    }
    CHECK(right);
    free(want);
}

/* ---- what is tried --------------------------------------------------------------------------- */

static int c_layout(void) {
    static const int kinds[] = {ROWS, COLUMNS, GAPS_IN_ROWS, GAPS_EVERYWHERE, BACKWARDS};
    return kinds[pick(5)];
}

static void try_one(hd_ctx *cx, int64_t m, int64_t n, int64_t k, int64_t batch) {
    static const double factors[] = {1, 0, -2, 0.5};
    const hd_dtype dtype = pick(3) == 0 ? HD_F64 : HD_F32;
    product p = new_product(dtype, m, n, k, batch, (int)pick(LAYOUTS), (int)pick(LAYOUTS), c_layout());
    p.g.alpha = factors[pick(4)];
    p.g.beta = factors[pick(4)];
    if (pick(8) == 0) p.g.a.batch_stride = 0;
    if (pick(8) == 0) p.g.b.batch_stride = 0;
    check_product(cx, &p);
    free_product(&p);
}

static void test_shapes(hd_ctx *cx) {
    for (int i = 0; i < 600; i++) try_one(cx, pick(40), pick(70), pick(50), 1 + pick(4));
    for (int i = 0; i < 60; i++) try_one(cx, 1 + pick(3), 1 + pick(200), pick(700), 1 + pick(2));
    for (int i = 0; i < 60; i++) try_one(cx, 1 + pick(200), 1 + pick(3), pick(700), 1 + pick(2));
    for (int i = 0; i < 40; i++) try_one(cx, 1 + pick(300), 1 + pick(300), 1 + pick(300), 1);
    for (int i = 0; i < 4; i++) try_one(cx, 100 + pick(200), 100 + pick(200), 600 + pick(600), 1);
    try_one(cx, 2100, 70, 70, 1);
    try_one(cx, 64, 3200, 64, 1);
    try_one(cx, 6, 6, 6, 700);
    try_one(cx, 0, 5, 5, 2);
    try_one(cx, 5, 0, 5, 2);
    try_one(cx, 5, 5, 0, 2);
    try_one(cx, 5, 5, 5, 0);
}

/* Every tile of the register block: all counts of rows and columns. */
static void test_edges(hd_ctx *cx) {
    for (int64_t m = 1; m <= 30; m++)
        for (int64_t n = 1; n <= 66; n++) try_one(cx, m, n, 1 + pick(20), 1);
}

static void test_beta_zero_reads_nothing(hd_ctx *cx) {
    static const int64_t shapes[][3] = {{7, 9, 5}, {1, 40, 300}, {150, 160, 170}, {40, 1, 33}, {5, 5, 0}};
    static const int kinds[] = {ROWS, COLUMNS, GAPS_EVERYWHERE};
    for (int s = 0; s < 5; s++)
        for (int dtype = HD_F32; dtype <= HD_F64; dtype++)
            for (int c = 0; c < 3; c++) {
                product p = new_product((hd_dtype)dtype, shapes[s][0], shapes[s][1], shapes[s][2], 1, ROWS,
                                        COLUMNS, kinds[c]);
                for (int64_t i = 0; i < p.c.count; i++) set((hd_dtype)dtype, p.c.bytes, i, NAN);
                check_product(cx, &p);
                free_product(&p);
            }
}

/* NaN and infinities reach exactly the elements of c that they should, 0 times them included. */
static void test_not_finite(hd_ctx *cx) {
    static const int64_t shapes[][3] = {{6, 7, 8}, {1, 50, 90}, {8, 90, 100}, {150, 160, 170}};
    for (int s = 0; s < 4; s++)
        for (int layout_b = ROWS; layout_b <= COLUMNS; layout_b++)
            for (int alpha = 0; alpha < 2; alpha++) {
                product p =
                    new_product(HD_F32, shapes[s][0], shapes[s][1], shapes[s][2], 1, ROWS, layout_b, ROWS);
                float *a = p.a.bytes, *b = p.b.bytes;
                a[pick(p.a.count)] = NAN;
                a[pick(p.a.count)] = INFINITY;
                b[pick(p.b.count)] = -INFINITY;
                b[pick(p.b.count)] = 0;
                p.g.alpha = alpha;
                check_product(cx, &p);
                free_product(&p);
            }
}

static void test_rounding(hd_ctx *cx) {
    product p = new_product(HD_F32, 130, 140, 1000, 1, ROWS, COLUMNS, ROWS);
    float *a = p.a.bytes, *b = p.b.bytes, *c = p.c.bytes;
    for (int64_t i = 0; i < p.a.count; i++) a[i] = (float)pick(1000) / 999 - 0.3f;
    for (int64_t i = 0; i < p.b.count; i++) b[i] = (float)pick(1000) / 999 - 0.4f;
    CHECK(hd_gemm_run(cx, &p.g) == HD_OK);
    for (int i = 0; i < 130; i++)
        for (int j = 0; j < 140; j++) {
            double sum = 0, size = 0;
            for (int q = 0; q < 1000; q++) {
                sum += (double)a[i * 1000 + q] * b[j * 1000 + q];
                size += fabs((double)a[i * 1000 + q] * b[j * 1000 + q]);
            }
            CHECK(fabs(c[i * 140 + j] - sum) <= 1e-5 * size);
        }
    free_product(&p);
}

static void test_threads_give_the_same_bits(hd_ctx *cx) {
    static const int64_t shapes[][4] = {{300, 200, 700, 1}, {64, 64, 2048, 1}, {20, 20, 32, 300},
                                        {1, 900, 800, 1},   {8, 900, 800, 1},  {33, 700, 300, 1},
                                        {2300, 40, 64, 1},  {100, 100, 100, 7}};
    for (int s = 0; s < 8; s++)
        for (int kind = ROWS; kind <= COLUMNS; kind++) {
            product p =
                new_product(HD_F32, shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], ROWS, kind, ROWS);
            float *a = p.a.bytes;
            for (int64_t i = 0; i < p.a.count; i++) a[i] = (float)pick(100000) / 99991;
            const size_t size = (size_t)p.c.count * 4;
            void *first = malloc(size);
            for (int threads = 1; threads <= 3; threads++) {
                hd_set_num_threads(cx, threads);
                CHECK(hd_gemm_run(cx, &p.g) == HD_OK);
                if (threads == 1) memcpy(first, p.c.bytes, size);
                CHECK(memcmp(first, p.c.bytes, size) == 0);
            }
            free(first);
            free_product(&p);
        }
    hd_set_num_threads(cx, 2);
}

/* ---- panels, rows of a bias, and columns in runs ------------------------------------------------------ */

/* Panels of small integers that a formula tells: of a by row and depth, of b by column and depth. */
static double formula(int64_t entry, int64_t i, int64_t p) {
    return (double)((3 * i + 5 * p + 7 * entry) % 11 - 5);
}

static void write_formula(const void *source, int64_t entry, int64_t first, int64_t count, int64_t p,
                          int64_t k, int64_t width, void *to) {
    const hd_dtype dtype = *(const hd_dtype *)source;
    for (int64_t q = 0; q < k; q++)
        for (int64_t i = 0; i < width; i++)
            set(dtype, to, q * width + i, i < count ? formula(entry, first + i, p + q) : 0);
}

static double wanted(const hd_gemm *g, int64_t entry, int64_t i, int64_t j) {
    double sum = (double)(entry + i);
    for (int64_t p = 0; p < g->k; p++) sum += formula(entry, i, p) * formula(entry, j, p);
    return sum;
}

static void try_panels(hd_ctx *cx, hd_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t run) {
    const hd_panels panels = {write_formula, &dtype};
    const int64_t batch = 2, runs = (n + run - 1) / run, apart = m * run + 3;
    block c = new_block(dtype, batch * runs * apart), bias = new_block(dtype, batch * m);
    for (int64_t i = 0; i < batch * m; i++) set(dtype, bias.bytes, i, (double)(i / m + i % m));
    hd_gemm g = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = batch, .alpha = 1};
    g.a_panels = g.b_panels = &panels;
    g.row_bias = bias.bytes;
    g.c = (hd_matrix){c.bytes, run, 1, runs * apart};
    g.c_run = run;
    g.c_run_stride = apart;
    CHECK(hd_gemm_run(cx, &g) == HD_OK);
    int wrong = 0;
    for (int64_t e = 0; e < batch; e++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                wrong += get(dtype, c.bytes, e * runs * apart + j / run * apart + i * run + j % run) !=
                         wanted(&g, e, i, j);
    CHECK(wrong == 0);
    free(c.bytes);
    free(bias.bytes);
}

static void test_panels(hd_ctx *cx) {
    for (int dtype = HD_F32; dtype <= HD_F64; dtype++) {
        try_panels(cx, (hd_dtype)dtype, 1, 1, 1, 1);
        try_panels(cx, (hd_dtype)dtype, 37, 70, 9, 7);
        try_panels(cx, (hd_dtype)dtype, 15, 33, 600, 33);
        try_panels(cx, (hd_dtype)dtype, 40, 100, 30, 1);
        try_panels(cx, (hd_dtype)dtype, 5, 65, 0, 13);
    }
}

static void test_failing_memory(hd_ctx *cx) {
    product p = new_product(HD_F32, 300, 300, 300, 1, ROWS, COLUMNS, ROWS);
    const int64_t live = cx->account->live;
    cx->account->fail_at = 1;
    CHECK(hd_gemm_run(cx, &p.g) == HD_ENOMEM);
    cx->account->fail_at = 0;
    CHECK(cx->account->live == live);
    CHECK(hd_gemm_run(cx, &p.g) == HD_OK);
    CHECK(cx->account->live == live);
    free_product(&p);
}

static void test_cancel(hd_ctx *cx) {
    product p = new_product(HD_F32, 300, 300, 300, 1, ROWS, ROWS, ROWS);
    cx->cancel = 1;
    CHECK(hd_gemm_run(cx, &p.g) == HD_ECANCEL);
    cx->cancel = 0;
    CHECK(hd_gemm_run(cx, &p.g) == HD_OK);
    free_product(&p);
}

/* Before BLIS is initialised: it would abort the process. */
static void test_hostile_environment(hd_ctx *cx) {
    static const char *const values[] = {"99", "-7", "nonsense", "1" /* Knights Landing */, "99999999999"};
    for (int i = 0; i < 5; i++) {
        setenv("BLIS_ARCH_TYPE", values[i], 1);
        cx->error.message[0] = '\0';
        if (strcmp(values[i], "nonsense") == 0 && strncmp(hd_gemm_blis_version(), "0.9", 3) == 0) continue;
        CHECK(hd_gemm_init(cx) == HD_EARG);
        CHECK(strstr(cx->error.message, "BLIS_ARCH_TYPE") != NULL);
        CHECK(cx->gemm == NULL);
    }
    unsetenv("BLIS_ARCH_TYPE");
}

static void test_choice(hd_ctx *cx) {
    hd_gemm_done(cx);
    CHECK(strcmp(hd_gemm_kernel_name(cx), "none") == 0);
    CHECK(hd_gemm_init(cx) == HD_OK);
    CHECK(strchr(hd_gemm_kernel_name(cx), 'x') != NULL);
    CHECK(hd_gemm_init(cx) == HD_OK);
}

int main(void) {
    hd_ctx *cx = hd_ctx_new(2);
    CHECK(cx != NULL);
    test_hostile_environment(cx);
    static const char *const isas[] = {"plain", "avx2", "avx512"};
    for (int run = 0; run < 4; run++) {
        setenv("HEED_ISA", isas[run % 3], 1);
        CHECK(hd_gemm_choose(cx, run < 3 ? HD_GEMM_OWN : HD_GEMM_BLIS) == HD_OK);
        test_shapes(cx);
        test_edges(cx);
        test_beta_zero_reads_nothing(cx);
        test_not_finite(cx);
        test_rounding(cx);
        test_threads_give_the_same_bits(cx);
        test_panels(cx);
        test_failing_memory(cx);
        test_cancel(cx);
    }
    unsetenv("HEED_ISA");
    test_choice(cx);
    hd_gemm_done(cx);
    hd_ctx_free(cx);
    return checks_done();
}
