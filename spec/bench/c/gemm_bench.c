/* gemm_bench.c: matrix products of ours against BLIS' own (several threads by its rntm_t) and the limit, the
 * FMA peak, interleaved in one run. Best of many, GFLOPS. BLIS_ARCH_TYPE in the environment makes BLIS use
 * another of its configurations; OWN=own|blis makes ours use that micro-kernel.
 */
#include <blis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/gemm_tile.h"

/* One thread's work is timed by its own clock, which stands while others have the core. */
static clockid_t watch = CLOCK_MONOTONIC;

static double now(void) {
    struct timespec t;
    clock_gettime(watch, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waiting workers of either side spin for a while: let them fall asleep before the other side's turn. */
static void rest(void) {
    const struct timespec t = {0, 3000000};
    nanosleep(&t, NULL);
}

/* ---- the limit ------------------------------------------------------------------------------- */

typedef float vec __attribute__((vector_size(32)));
#define PEAK_STEPS 100000

__attribute__((target("avx2,fma"))) static void fma_chains(void *arg, int64_t task, int worker) {
    vec s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0;
    const vec x = s0 + 0.99f, y = s0 + 0.01f;
    (void)worker;
    for (int i = 0; i < PEAK_STEPS; i++) {
        s0 = s0 * x + y, s1 = s1 * x + y, s2 = s2 * x + y, s3 = s3 * x + y, s4 = s4 * x + y;
        s5 = s5 * x + y, s6 = s6 * x + y, s7 = s7 * x + y, s8 = s8 * x + y, s9 = s9 * x + y;
        __asm__(""
                : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8),
                  "+x"(s9));
    }
    ((vec *)arg)[task] = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9;
}

static double peak(hd_ctx *cx, int threads) {
    static vec sink[64];
    double t = now();
    hd_parallel(cx, threads, fma_chains, sink);
    return 160.0 * PEAK_STEPS * threads / (now() - t) / 1e9;
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct shape {
    int m, n, k, batch;
    char a, b; /* 'n' row-major, 't' the transpose of a row-major matrix */
} shape;

static const shape shapes[] = {
    {512, 512, 512, 1, 'n', 'n'},   {1024, 1024, 1024, 1, 'n', 'n'}, {2048, 2048, 2048, 1, 'n', 'n'},
    {512, 3072, 768, 1, 'n', 't'},  {512, 768, 3072, 1, 'n', 'n'},   {3072, 768, 512, 1, 't', 'n'},
    {2048, 64, 64, 1, 'n', 't'},    {2048, 64, 64, 1, 'n', 'n'},     {64, 64, 2048, 1, 't', 'n'},
    {2048, 256, 256, 1, 'n', 't'},  {2048, 256, 256, 1, 'n', 'n'},   {256, 256, 2048, 1, 't', 'n'},
    {2048, 1024, 256, 1, 'n', 't'}, {2048, 256, 1024, 1, 'n', 'n'},  {1024, 256, 2048, 1, 't', 'n'},
    {2048, 8000, 256, 1, 'n', 't'}, {2048, 256, 8000, 1, 'n', 'n'},  {8000, 256, 2048, 1, 't', 'n'},
    {1280, 64, 64, 1, 'n', 't'},    {1280, 256, 64, 1, 'n', 't'},    {1280, 64, 256, 1, 'n', 't'},
    {256, 64, 1280, 1, 't', 'n'},   {128, 128, 128, 1, 'n', 't'},    {64, 64, 64, 1, 'n', 't'},
    {1, 3072, 768, 1, 'n', 't'},    {4, 3072, 768, 1, 'n', 't'},     {8, 3072, 768, 1, 'n', 't'},
    {16, 3072, 768, 1, 'n', 't'},   {32, 3072, 768, 1, 'n', 't'},    {1, 768, 3072, 1, 'n', 'n'},
    {8, 768, 3072, 1, 'n', 'n'},    {32, 768, 3072, 1, 'n', 'n'},    {8, 64, 64, 1, 'n', 't'},
    {1, 64, 64, 1, 'n', 't'},       {64, 1, 64, 1, 'n', 'n'},        {20, 20, 32, 512, 'n', 't'},
    {20, 32, 20, 512, 'n', 'n'},    {20, 32, 20, 512, 't', 'n'},     {20, 20, 8, 512, 'n', 't'},
    {32, 32, 16, 512, 'n', 't'},    {32, 16, 32, 512, 'n', 'n'},     {64, 64, 64, 128, 'n', 't'},
    {64, 64, 64, 128, 'n', 'n'},    {8, 8, 16, 1024, 'n', 't'},      {256, 256, 64, 96, 'n', 't'},
    {256, 64, 256, 96, 'n', 'n'},
};

static void blis_run(const hd_gemm *g, int threads) {
    rntm_t rntm;
    bli_rntm_init_from_global(&rntm);
    bli_rntm_set_num_threads(threads, &rntm);
    float alpha = 1, beta = 0;
    for (int64_t e = 0; e < g->batch; e++)
        bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, g->m, g->n, g->k, &alpha,
                     (float *)g->a.data + e * g->a.batch_stride, g->a.row_stride, g->a.col_stride,
                     (float *)g->b.data + e * g->b.batch_stride, g->b.row_stride, g->b.col_stride, &beta,
                     (float *)g->c.data + e * g->c.batch_stride, g->c.row_stride, g->c.col_stride, NULL,
                     &rntm);
}

static hd_matrix matrix(hd_ctx *cx, int batch, int rows, int columns, char order) {
    int64_t count = (int64_t)rows * columns;
    float *x = hd_alloc(cx, (size_t)(count * batch) * sizeof *x);
    for (int64_t i = 0; i < count * batch; i++) x[i] = (float)(i % 7) - 3;
    return order == 'n' ? (hd_matrix){x, columns, 1, count} : (hd_matrix){x, 1, rows, count};
}

static void measure(hd_ctx *cx, const shape *s, int most_threads) {
    hd_gemm g = {.dtype = HD_F32, .m = s->m, .n = s->n, .k = s->k, .batch = s->batch, .alpha = 1};
    g.a = matrix(cx, s->batch, s->m, s->k, s->a);
    g.b = matrix(cx, s->batch, s->k, s->n, s->b);
    g.c = matrix(cx, s->batch, s->m, s->n, 'n');
    const double flops = 2.0 * s->m * s->n * s->k * s->batch;
    printf("%5d %5d %5d x%-4d %c%c", s->m, s->n, s->k, s->batch, s->a, s->b);
    for (int threads = 1; threads <= most_threads; threads++) {
        double ours = 1e9, theirs = 1e9, limit = 0, spent = 0;
        hd_set_num_threads(cx, threads);
        watch = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
        int inner = (int)(2e6 / flops) + 1;
        for (int round = 0; round < 400 && (spent < 0.2 || round < 5); round++) {
            rest();
            hd_gemm_run(cx, &g);
            double t0 = now();
            for (int i = 0; i < inner; i++) hd_gemm_run(cx, &g);
            double t1 = now();
            rest();
            blis_run(&g, threads);
            double t1b = now();
            for (int i = 0; i < inner; i++) blis_run(&g, threads);
            double t2 = now();
            if ((t1 - t0) / inner < ours) ours = (t1 - t0) / inner;
            if ((t2 - t1b) / inner < theirs) theirs = (t2 - t1b) / inner;
            if (round % 20 == 0) {
                rest();
                double p = peak(cx, threads);
                if (p > limit) limit = p;
            }
            spent += now() - t0;
        }
        printf("  | %d: %6.1f  BLIS %6.1f  peak %6.1f  %3.0f%%  %9.2f us", threads, flops / ours / 1e9,
               flops / theirs / 1e9, limit, 100 * flops / ours / 1e9 / limit, ours * 1e6);
    }
    printf("\n");
    fflush(stdout);
    hd_free(cx->account, g.a.data);
    hd_free(cx->account, g.b.data);
    hd_free(cx->account, g.c.data);
}

int main(int argc, char **argv) {
    const char *whose = getenv("OWN");
    hd_ctx *cx = hd_ctx_new(2);
    if (cx == NULL) return 1;
    hd_status status = hd_gemm_choose(cx, whose == NULL           ? HD_GEMM_BEST
                                          : strcmp(whose, "blis") ? HD_GEMM_OWN
                                                                  : HD_GEMM_BLIS);
    if (status != HD_OK) {
        printf("%s\n", cx->error.message);
        return 1;
    }
    printf("ours: %s; BLIS %s: %s\n", hd_gemm_kernel_name(cx), hd_gemm_blis_version(),
           bli_arch_string(bli_arch_query_id()));
    const int count = (int)(sizeof shapes / sizeof *shapes);
    const int first = argc > 1 ? atoi(argv[1]) : 0, last = argc > 2 ? atoi(argv[2]) : count;
    const int threads = argc > 3 ? atoi(argv[3]) : 2;
    for (int i = first; i < last && i < count; i++) measure(cx, &shapes[i], threads);
    hd_gemm_done(cx);
    hd_ctx_free(cx);
    return 0;
}
