/* limits.c: what the processor could do, for other figures to be held against. Best of several trials.
 *
 *   limits [threads]
 *
 * Prints  name<TAB>threads<TAB>value  a line:
 *   fma     GFLOPS of independent f32 multiply-adds in registers, the best of the vector widths there are
 *   read    GB/s of summing 256 MB
 *   update  GB/s of four streams read and three of them written, as an optimiser does
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { MAX_THREADS = 64, TRIALS = 20, FMA_STEPS = 500000, STREAMS = 4 };
#define STREAM_FLOATS (16l << 20)

typedef struct part {
    void (*run)(struct part *);
    int index, count;
    float *streams[STREAMS];
    float sink;
    double start[TRIALS], end[TRIALS];
    pthread_barrier_t *line;
} part;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Twelve chains: more than latency times throughput anywhere. The empty statement keeps them in registers. */
#define FMA_CHAINS(name, bytes, constraint, attributes)                                                      \
    attributes static void name(part *p) {                                                                   \
        typedef float vec __attribute__((vector_size(bytes)));                                               \
        vec s0 = {0}, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0,       \
            s10 = s0, s11 = s0;                                                                              \
        const vec x = s0 + 0.99f, y = s0 + 0.01f;                                                            \
        for (int i = 0; i < FMA_STEPS; i++) {                                                                \
            s0 = s0 * x + y, s1 = s1 * x + y, s2 = s2 * x + y, s3 = s3 * x + y, s4 = s4 * x + y;             \
            s5 = s5 * x + y, s6 = s6 * x + y, s7 = s7 * x + y, s8 = s8 * x + y, s9 = s9 * x + y;             \
            s10 = s10 * x + y, s11 = s11 * x + y;                                                            \
            __asm__(""                                                                                       \
                    : "+" constraint(s0), "+" constraint(s1), "+" constraint(s2), "+" constraint(s3),        \
                      "+" constraint(s4), "+" constraint(s5), "+" constraint(s6), "+" constraint(s7),        \
                      "+" constraint(s8), "+" constraint(s9), "+" constraint(s10), "+" constraint(s11));     \
        }                                                                                                    \
        vec s = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;                                 \
        for (unsigned i = 0; i < (bytes) / sizeof(float); i++) p->sink += s[i];                              \
    }

typedef struct width {
    void (*run)(part *);
    int floats, present;
} width;

#ifdef __x86_64__
FMA_CHAINS(fma_512, 64, "v", __attribute__((target("avx512f"))))
FMA_CHAINS(fma_256, 32, "x", __attribute__((target("avx2,fma"))))
FMA_CHAINS(fma_128, 16, "x", )
#elif defined __aarch64__
FMA_CHAINS(fma_128, 16, "w", )
#else
FMA_CHAINS(fma_128, 16, "m", )
#endif

static int widths_of(width *w) {
    int n = 0;
    w[n++] = (width){fma_128, 4, 1};
#ifdef __x86_64__
    w[n++] = (width){fma_256, 8, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")};
    w[n++] = (width){fma_512, 16, __builtin_cpu_supports("avx512f") != 0};
#endif
    return n;
}

typedef float line __attribute__((vector_size(64)));

static void bounds_of(const part *p, int64_t *first, int64_t *last) {
    const int64_t lines = STREAM_FLOATS / 16;
    *first = lines * p->index / p->count;
    *last = lines * (p->index + 1) / p->count;
}

static void read_all(part *p) {
    int64_t first, last;
    bounds_of(p, &first, &last);
    line s0 = {0}, s1 = s0, s2 = s0, s3 = s0;
    for (int k = 0; k < STREAMS; k++) {
        const line *x = (const line *)p->streams[k];
        int64_t i = first;
        for (; i + 4 <= last; i += 4) s0 += x[i], s1 += x[i + 1], s2 += x[i + 2], s3 += x[i + 3];
        for (; i < last; i++) s0 += x[i];
    }
    s0 += s1 + s2 + s3;
    p->sink += s0[0];
}

static void update_all(part *p) {
    int64_t first, last;
    bounds_of(p, &first, &last);
    line *w = (line *)p->streams[0], *m = (line *)p->streams[1], *v = (line *)p->streams[2];
    const line *g = (const line *)p->streams[3];
    for (int64_t i = first; i < last; i++) {
        m[i] += g[i];
        v[i] += g[i];
        w[i] += m[i];
    }
}

/* ---- timing ---------------------------------------------------------------------------------- */

static void *trials(void *argument) {
    part *p = argument;
    for (int i = 0; i < TRIALS; i++) {
        pthread_barrier_wait(p->line);
        p->start[i] = now();
        p->run(p);
        p->end[i] = now();
    }
    return NULL;
}

/* From the first thread's start to the last one's end. */
static double seconds_of(const part *parts, int threads, int trial) {
    double start = parts[0].start[trial], end = parts[0].end[trial];
    for (int i = 1; i < threads; i++) {
        if (parts[i].start[trial] < start) start = parts[i].start[trial];
        if (parts[i].end[trial] > end) end = parts[i].end[trial];
    }
    return end - start;
}

/* The least time of a trial in which every thread runs its part. */
static double least_seconds(void (*run)(part *), int threads, float *const *streams) {
    part parts[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    pthread_barrier_t line;
    if (pthread_barrier_init(&line, NULL, (unsigned)threads)) exit(1);
    for (int i = 0; i < threads; i++) {
        parts[i] = (part){.run = run, .index = i, .count = threads, .line = &line};
        for (int k = 0; streams && k < STREAMS; k++) parts[i].streams[k] = streams[k];
        if (pthread_create(&ids[i], NULL, trials, &parts[i])) exit(1);
    }
    float sink = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        sink += parts[i].sink;
    }
    pthread_barrier_destroy(&line);
    double best = seconds_of(parts, threads, 0);
    for (int i = 1; i < TRIALS; i++) {
        const double seconds = seconds_of(parts, threads, i);
        if (seconds < best) best = seconds;
    }
    return sink == -1 ? 1e30 : best; /* the sum is looked at, so that it must be made */
}

static double fma_peak(int threads) {
    width widths[3];
    const int count = widths_of(widths);
    double best = 0;
    for (int i = 0; i < count; i++) {
        if (!widths[i].present) continue;
        const double flops = 2.0 * 12 * widths[i].floats * FMA_STEPS * threads;
        const double rate = flops / least_seconds(widths[i].run, threads, NULL);
        if (rate > best) best = rate;
    }
    return best * 1e-9;
}

static int make_streams(float **streams) {
    const size_t bytes = STREAM_FLOATS * sizeof(float);
    for (int k = 0; k < STREAMS; k++) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return 0;
#ifdef MADV_HUGEPAGE
        madvise(p, bytes, MADV_HUGEPAGE);
#endif
        streams[k] = p;
        for (int64_t i = 0; i < STREAM_FLOATS; i++) streams[k][i] = 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    float *streams[STREAMS];
    if (threads < 1 || threads > MAX_THREADS || !make_streams(streams)) {
        fprintf(stderr, "usage: limits [threads], 1 to %d; needs 256 MB\n", MAX_THREADS);
        return 1;
    }
    const double bytes = STREAM_FLOATS * sizeof(float);
    printf("fma\t%d\t%.1f\n", threads, fma_peak(threads));
    printf("read\t%d\t%.1f\n", threads, STREAMS * bytes / least_seconds(read_all, threads, streams) * 1e-9);
    printf("update\t%d\t%.1f\n", threads, 7 * bytes / least_seconds(update_all, threads, streams) * 1e-9);
    return 0;
}
