/* attention_bench.c: attention forward and backward on one shape, as a share of what multiply-adds could do in the same
 * process. Best of several trials.
 *
 *   attention_bench B H Hk D L S what [threads]
 *
 * `what` is fwd or bwd (forward and backward), with any of -causal, -window (256 keys), -padded, -segments (4 equal ones),
 * -dropout, -f64 behind it. q, k and v are parts of one packed projection. Useful work: 4 D operations for every query and
 * key that may meet, 14 D with backward; f64 is held against half of the peak. Prints  what<TAB>shape<TAB>ms<TAB>GFLOPS<TAB>percent of FMA peak.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/gemm.h"
#include "kernels/kernels.h"
#include "ops/attention/attention_mask.h"
#include "autograd/graph.h"
#include "ops/ops.h"

enum { WINDOW = 256, SEGMENTS = 4, LEAST_TRIALS = 5, MOST_TRIALS = 400 };
#define SECONDS 1.0

static hd_ctx *cx;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what the processor could do (spec/bench/c/limits.c says more) ----------------------------------- */

typedef float vec __attribute__((vector_size(32)));

#ifdef __x86_64__
__attribute__((target("avx2,fma")))
#endif
static double
fma_seconds(int steps) {
    vec s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0, s10 = s0,
        s11 = s0;
    const vec x = s0 + 0.99f, y = s0 + 0.01f;
    const double start = now();
    for (int i = 0; i < steps; i++) {
        s0 = s0 * x + y, s1 = s1 * x + y, s2 = s2 * x + y, s3 = s3 * x + y, s4 = s4 * x + y, s5 = s5 * x + y;
        s6 = s6 * x + y, s7 = s7 * x + y, s8 = s8 * x + y, s9 = s9 * x + y, s10 = s10 * x + y,
        s11 = s11 * x + y;
#ifdef __x86_64__
        __asm__(""
                : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8),
                  "+x"(s9), "+x"(s10), "+x"(s11));
#endif
    }
    const double seconds = now() - start;
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
    return s0[0] == -1 ? 1e30 : seconds;
}

static double fma_peak(void) {
    const int steps = 100000;
    double best = 1e30;
    for (int i = 0; i < 30; i++) {
        const double seconds = fma_seconds(steps);
        if (seconds < best) best = seconds;
    }
    return 2.0 * 12 * 8 * steps / best;
}

/* ---- the shape ------------------------------------------------------------------------------------- */

typedef struct shape {
    int64_t B, H, Hk, D, L, S;
    const char *what;
} shape;

static bool has(const shape *s, const char *word) {
    return strstr(s->what, word) != NULL;
}
static hd_dtype dtype_of(const shape *s) {
    return has(s, "f64") ? HD_F64 : HD_F32;
}

static double uniform(void) {
    return 2.0 * rand() / RAND_MAX - 1;
}

static hd_tensor *random_of(const shape *s, int ndim, const int64_t *sizes) {
    hd_tensor *t = hd_tensor_new(cx, dtype_of(s), ndim, sizes);
    const bool narrow = dtype_of(s) == HD_F32;
    for (int64_t i = 0; i < hd_numel(t); i++) {
        if (narrow)
            ((float *)hd_data(t))[i] = (float)uniform();
        else
            ((double *)hd_data(t))[i] = uniform();
    }
    return t;
}

/* Part `part` of a packed [B, rows, 3 heads D] as [B, heads, rows, D]. */
static hd_tensor *part_of(const shape *s, int64_t rows, int64_t heads, int64_t part) {
    const int64_t width = 3 * heads * s->D, whole_shape[3] = {s->B, rows, width};
    hd_tensor *whole = random_of(s, 3, whole_shape);
    const int64_t shape[4] = {s->B, heads, rows, s->D}, stride[4] = {rows * width, s->D, width, 1};
    hd_tensor *view = hd_tensor_view(cx, whole, 4, shape, stride, part * heads * s->D);
    hd_release(whole);
    view->requires_grad = true;
    return view;
}

static int64_t length_of(const shape *s, int64_t b) {
    return s->S / 8 + b * 7919 % (s->S - s->S / 8);
}

/* Where the segment of query i begins, of as many queries as keys. */
static int64_t segment_begin(const shape *s, int64_t i) {
    const int64_t length = (s->S + SEGMENTS - 1) / SEGMENTS;
    return i / length * length;
}

static hd_mask *window_of(void) {
    const hd_mask_step window = {.code = HD_MASK_WINDOW, .left = WINDOW - 1};
    return hd_mask_new(cx, 1, &window);
}

static hd_mask *padding_of(const shape *s) {
    hd_tensor *lengths = hd_tensor_new(cx, HD_I64, 1, &s->B);
    for (int64_t b = 0; b < s->B; b++) ((int64_t *)hd_data(lengths))[b] = length_of(s, b);
    return hd_mask_lengths(cx, lengths);
}

static hd_mask *segments_of(const shape *s) {
    hd_tensor *ids = hd_tensor_new(cx, HD_I64, 1, &s->S);
    for (int64_t j = 0; j < s->S; j++) ((int64_t *)hd_data(ids))[j] = segment_begin(s, j);
    const hd_mask_step segments = {.code = HD_MASK_SEGMENTS, .tensor = ids, .keys = ids};
    return hd_mask_new(cx, 1, &segments);
}

static hd_mask *both(hd_mask *a, hd_mask *b) {
    return a ? hd_mask_and(cx, a, b) : b;
}

static hd_attention_options options_of(const shape *s) {
    hd_attention_options o = {.dropout = has(s, "dropout") ? 0.1 : 0};
    if (has(s, "causal")) o.mask = both(o.mask, hd_mask_causal(cx));
    if (has(s, "window")) o.mask = both(o.mask, window_of());
    if (has(s, "segments")) o.mask = both(o.mask, segments_of(s));
    if (has(s, "padded")) o.mask = both(o.mask, padding_of(s));
    return o;
}

/* Queries and keys that meet. */
static double pairs_of(const shape *s) {
    double pairs = 0;
    for (int64_t b = 0; b < s->B; b++)
        for (int64_t i = 0; i < s->L; i++) {
            int64_t last = s->S, seen;
            if (has(s, "padded")) last = length_of(s, b);
            const int64_t p = s->S - s->L + i + 1;
            if (p < last && (has(s, "causal") || has(s, "window"))) last = p;
            seen = has(s, "window") && last > WINDOW ? WINDOW : last;
            if (has(s, "segments")) {
                const int64_t begin = segment_begin(s, i), end = begin + (s->S + SEGMENTS - 1) / SEGMENTS;
                seen = (last < end ? last : end) - begin;
            }
            if (seen > 0) pairs += (double)seen;
        }
    return pairs * (double)s->H;
}

/* ---- trials ---------------------------------------------------------------------------------------- */

static void drop_gradient(hd_tensor *t) {
    hd_release(t->grad);
    t->grad = NULL;
}

static double trial(const hd_attention_options *o, hd_tensor *const in[3], hd_tensor *g) {
    hd_tensor *out = NULL;
    const double start = now();
    hd_status status = hd_attention(cx, in[0], in[1], in[2], o, &out, NULL);
    if (!status && g) status = hd_backward_run(cx, out, g, false);
    const double seconds = now() - start;
    if (status) {
        fprintf(stderr, "%s\n", cx->error.message);
        exit(1);
    }
    hd_release(out);
    for (int i = 0; g && i < 3; i++) drop_gradient(in[i]);
    return seconds;
}

static double best_of(const shape *s) {
    const bool backward = strncmp(s->what, "bwd", 3) == 0;
    const int64_t out_shape[4] = {s->B, s->H, s->L, s->D};
    hd_tensor *const in[3] = {part_of(s, s->L, s->H, 0), part_of(s, s->S, s->Hk, 1),
                              part_of(s, s->S, s->Hk, 2)};
    hd_tensor *g = backward ? random_of(s, 4, out_shape) : NULL;
    const hd_attention_options o = options_of(s);
    const double start = now();
    double best = 1e30;
    cx->grad_enabled = backward;
    for (int n = 0; n < LEAST_TRIALS || (n < MOST_TRIALS && now() - start < SECONDS); n++) {
        const double seconds = trial(&o, in, g);
        if (seconds < best) best = seconds;
    }
    return best;
}

int main(int argc, char **argv) {
    if (argc < 8) {
        fprintf(stderr, "usage: attention_bench B H Hk D L S "
                        "fwd|bwd[-causal][-window][-padded][-segments][-dropout][-f64] [threads]\n");
        return 1;
    }
    const shape s = {atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4]),
                     atoi(argv[5]), atoi(argv[6]), argv[7]};
    const int threads = argc > 8 ? atoi(argv[8]) : 1;
    cx = hd_ctx_new(threads);
    if (!cx || hd_kernels_init(cx) || hd_gemm_init(cx)) return 1;
    const double before = fma_peak(), seconds = best_of(&s), after = fma_peak();
    const double peak = threads * (before > after ? before : after) / (has(&s, "f64") ? 2 : 1);
    const double rate = (s.what[0] == 'b' ? 14.0 : 4.0) * (double)s.D * pairs_of(&s) / seconds;
    printf("%s\tB%lld H%lld/%lld D%lld L%lld S%lld\t%.3f\t%.1f\t%.1f\n", s.what, (long long)s.B,
           (long long)s.H, (long long)s.Hk, (long long)s.D, (long long)s.L, (long long)s.S, seconds * 1e3,
           rate * 1e-9, 100 * rate / peak);
    return 0;
}
