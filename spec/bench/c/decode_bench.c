/* decode_bench.c: attention of a few queries against long caches, as a share of what reading them takes at least.
 *
 *   decode_bench B H Hk D L S layout type [threads [megabytes]]
 *
 * layout is "beside" (a cache [B, S, Hk, D]: the heads of a key beside each other) or "apart" ([B, Hk, S, D]); type f32, f16 or
 * bf16, of keys and values. Calls go round as many caches as those megabytes (128) hold, at least one. Reading those caches and doing nothing
 * with them is timed in turn with the calls.
 * Prints  shape<TAB>us a call<TAB>GB/s<TAB>GB/s of reading<TAB>percent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "kernels/kernels.h"
#include "ops/ops.h"

enum { MOST_CACHES = 512, ROUNDS = 15 };
#define READ_BYTES (64l << 10)

static hd_ctx *cx;

typedef struct shape {
    int64_t B, H, Hk, D, L, S;
    bool beside;
    hd_dtype type;
    int64_t bytes; /* of all caches */
} shape;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static hd_tensor *random_of(hd_dtype dtype, const int64_t shape[4]) {
    hd_tensor *t = hd_randn(cx, NULL, HD_F32, 4, shape), *as = t ? hd_cast(cx, t, dtype) : NULL;
    hd_release(t);
    if (!as) exit(1);
    return as;
}

static hd_tensor *cache_of(const shape *s) {
    const int64_t beside[4] = {s->B, s->S, s->Hk, s->D}, apart[4] = {s->B, s->Hk, s->S, s->D};
    hd_tensor *t = random_of(s->type, s->beside ? beside : apart);
    if (!s->beside) return t;
    const int64_t stride[4] = {s->S * s->Hk * s->D, s->D, s->Hk * s->D, 1};
    hd_tensor *view = hd_tensor_view(cx, t, 4, apart, stride, 0);
    hd_release(t);
    return view;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

typedef struct reading {
    const char *data;
    float sink[HD_MAX_THREADS];
} reading;

static void read_piece(void *arg, int64_t task, int worker) {
    typedef float line __attribute__((vector_size(64), aligned(4), may_alias));
    reading *r = arg;
    const line *x = (const line *)(r->data + task * READ_BYTES);
    line s0 = {0}, s1 = s0, s2 = s0, s3 = s0;
    for (int64_t i = 0; i < READ_BYTES / 64; i += 4)
        s0 += x[i], s1 += x[i + 1], s2 += x[i + 2], s3 += x[i + 3];
    s0 += s1 + s2 + s3;
    r->sink[worker] += s0[0];
}

static void read_cache(const hd_tensor *t, int64_t bytes) {
    static reading r;
    r.data = hd_data(t);
    if (hd_parallel(cx, bytes / READ_BYTES, read_piece, &r)) exit(1);
}

/* ---- trials ------------------------------------------------------------------------------------------ */

static void run(const shape *s) {
    const int64_t bytes = s->B * s->Hk * s->S * s->D * (int64_t)hd_dtype_size(s->type);
    const int64_t fitting = s->bytes / (2 * bytes), count = fitting < 1             ? 1
                                                            : fitting > MOST_CACHES ? MOST_CACHES
                                                                                    : fitting;
    static hd_tensor *k[MOST_CACHES], *v[MOST_CACHES];
    for (int64_t i = 0; i < count; i++) k[i] = cache_of(s), v[i] = cache_of(s);
    hd_tensor *q = random_of(HD_F32, (const int64_t[]){s->B, s->H, s->L, s->D});
    const hd_attention_options o = {0};
    double best = 1e30, reading = 1e30;
    cx->grad_enabled = false;
    for (int n = 0; n < ROUNDS; n++) {
        double start = now();
        for (int64_t i = 0; i < count; i++) {
            hd_tensor *out = NULL;
            if (hd_attention(cx, q, k[i], v[i], &o, &out, NULL)) {
                fprintf(stderr, "%s\n", cx->error.message);
                exit(1);
            }
            hd_release(out);
        }
        double seconds = (now() - start) / (double)count;
        if (seconds < best) best = seconds;
        start = now();
        for (int64_t i = 0; i < count; i++) read_cache(k[i], bytes), read_cache(v[i], bytes);
        seconds = (now() - start) / (double)count;
        if (seconds < reading) reading = seconds;
    }
    const double gb = 2e-9 * (double)bytes;
    printf("B%lld H%lld/%lld D%lld L%lld S%lld %s %s\t%.1f\t%.1f\t%.1f\t%.0f\n", (long long)s->B,
           (long long)s->H, (long long)s->Hk, (long long)s->D, (long long)s->L, (long long)s->S,
           s->beside ? "beside" : "apart", hd_dtype_name(s->type), best * 1e6, gb / best, gb / reading,
           100 * reading / best);
}

int main(int argc, char **argv) {
    if (argc < 9) {
        fprintf(stderr, "usage: decode_bench B H Hk D L S beside|apart f32|f16|bf16 [threads [megabytes]]\n");
        return 1;
    }
    shape s = {.B = atoi(argv[1]), .H = atoi(argv[2]), .Hk = atoi(argv[3]), .D = atoi(argv[4])};
    s.L = atoi(argv[5]), s.S = atoi(argv[6]), s.beside = strcmp(argv[7], "beside") == 0;
    s.bytes = (argc > 10 ? atoi(argv[10]) : 128) * (1l << 20);
    cx = hd_ctx_new(argc > 9 ? atoi(argv[9]) : 1);
    if (!hd_dtype_parse(argv[8], &s.type) || !cx || hd_kernels_init(cx) || hd_gemm_init(cx)) return 1;
    run(&s);
    return 0;
}
