#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/context.h"
#include "base/cpu.h"
#include "base/parallel.h"
#include "base/sanitizers.h"
#include "check.h"
#include "draws.h"

enum { POOLED = !HD_ASAN };

static const size_t MB = 1 << 20;

static hd_ctx *context(int threads) {
    hd_ctx *cx = hd_ctx_new(threads);
    CHECK(cx != NULL);
    return cx;
}

/* ---- random numbers ------------------------------------------------------------------------------------ */

static void check_philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0, uint32_t k1,
                         const uint32_t expected[4]) {
    hd_draw draw = {.seed = (uint64_t)k1 << 32 | k0, .draw = (uint64_t)c3 << 32 | c2};
    uint32_t got[4];
    hd_philox(draw, (uint64_t)c1 << 32 | c0, got);
    CHECK(memcmp(got, expected, sizeof got) == 0);
}

/* Known answers of the paper's authors. */
static void test_philox(void) {
    check_philox(0, 0, 0, 0, 0, 0, (const uint32_t[]){0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    const uint32_t f = 0xffffffff;
    check_philox(f, f, f, f, f, f, (const uint32_t[]){0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    check_philox(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
                 (const uint32_t[]){0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

static void test_draws(void) {
    hd_rng rng = {.seed = 7};
    hd_draw first = hd_rng_take(&rng), second = hd_rng_take(&rng);
    CHECK(first.draw == 0 && second.draw == 1 && rng.draw == 2);
    uint32_t words[4];
    hd_philox(first, 1, words);
    CHECK(draw_u32(first, 6) == words[2]);
    CHECK(hd_draw_f64(first, 3) ==
          (double)(((uint64_t)words[3] << 32 | words[2]) >> 11) / 9007199254740992.0);
    double sum32 = 0, sum64 = 0;
    for (uint64_t i = 0; i < 10000; i++) {
        float u = draw_f32(first, i);
        double v = hd_draw_f64(second, i);
        CHECK(u >= 0 && u < 1 && v >= 0 && v < 1);
        sum32 += u;
        sum64 += v;
    }
    CHECK(sum32 > 4900 && sum32 < 5100 && sum64 > 4900 && sum64 < 5100);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_alignment_and_sizes(void) {
    hd_ctx *cx = context(1);
    for (size_t size = 0; size < 300 * 1024; size += size / 7 + 1) {
        char *block = hd_alloc(cx, size);
        CHECK(block != NULL && (uintptr_t)block % 64 == 0);
        memset(block, 0xab, size);
        CHECK(hd_alloc_size(size) >= size && cx->account->live == (int64_t)hd_alloc_size(size));
        if (POOLED && size > 1100) CHECK(hd_alloc_size(size) <= size + size / 8 + 64);
        hd_free(cx->account, block);
        CHECK(cx->account->live == 0);
    }
    if (POOLED) CHECK(hd_alloc_size(64 * MB) <= 64 * MB + 64 * MB / 30);
    hd_free(cx->account, NULL);
    hd_ctx_free(cx);
}

/* Every block keeps its own bytes while others come and go around it. */
static void test_blocks_do_not_overlap(void) {
    enum { BLOCKS = 500, ROUNDS = 20000 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    hd_ctx *cx = context(1);
    hd_draw draw = {.seed = 3};
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = draw_u32(draw, 2 * round) % BLOCKS, random = draw_u32(draw, 2 * round + 1);
        unsigned char mark = (unsigned char)(i * 7 + 1);
        if (blocks[i] != NULL) {
            CHECK(blocks[i][0] == mark && blocks[i][sizes[i] / 2] == mark && blocks[i][sizes[i] - 1] == mark);
            hd_free(cx->account, blocks[i]);
            blocks[i] = NULL;
            continue;
        }
        sizes[i] = 1 + (random >> 5) % ((size_t)16 << random % 14);
        blocks[i] = hd_alloc(cx, sizes[i]);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], mark, sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++) hd_free(cx->account, blocks[i]);
    CHECK(cx->account->live == 0);
    hd_ctx_free(cx);
}

static void test_reuse(void) {
    if (!POOLED) return;
    hd_ctx *cx = context(1);
    void *small = hd_alloc(cx, 200);
    hd_free(cx->account, small);
    CHECK(hd_alloc(cx, 200) == small);
    hd_free(cx->account, small);

    hd_pool_trim();
    int64_t before = hd_pool_idle_bytes();
    void *large = hd_alloc(cx, 8 * MB);
    hd_free(cx->account, large);
    CHECK(hd_pool_idle_bytes() >= before + (int64_t)(8 * MB));
    void *near = hd_alloc(cx, 7 * MB + 12345);
    CHECK(near == large);
    hd_free(cx->account, near);
    CHECK(hd_pool_trim() >= (int64_t)(8 * MB));
    CHECK(hd_pool_idle_bytes() <= before);
    hd_ctx_free(cx);
}

/* Parts of a large block that came back join again. */
static void test_neighbours_join(void) {
    if (!POOLED) return;
    hd_ctx *cx = context(1);
    hd_pool_trim();
    char *parts[6];
    for (int i = 0; i < 6; i++) CHECK((parts[i] = hd_alloc(cx, MB)) != NULL);
    const int order[6] = {3, 0, 5, 1, 4, 2};
    for (int i = 0; i < 6; i++) hd_free(cx->account, parts[order[i]]);
    char *whole = hd_alloc(cx, 6 * MB);
    CHECK(whole == parts[0]);
    hd_free(cx->account, whole);
    hd_ctx_free(cx);
}

/* Batches of ever longer records do not leave their predecessors behind. */
static void test_growing_sizes_keep_little(void) {
    if (!POOLED) return;
    hd_ctx *cx = context(1);
    hd_pool_trim();
    for (size_t size = 40 * MB; size < 80 * MB; size += MB) {
        char *block = hd_alloc(cx, size);
        CHECK(block != NULL);
        block[0] = 1;
        hd_free(cx->account, block);
        CHECK(hd_pool_idle_bytes() < (int64_t)(size + size / 4 + 40 * MB));
    }
    hd_pool_trim();
    hd_ctx_free(cx);
}

/* What was needed once and not again for a long time goes back to the kernel. */
static void test_old_needs_fade(void) {
    if (!POOLED) return;
    hd_ctx *cx = context(1);
    char *once = hd_alloc(cx, 120 * MB);
    CHECK(once != NULL);
    hd_free(cx->account, once);
    CHECK(hd_pool_idle_bytes() >= (int64_t)(120 * MB));
    for (int i = 0; i < 40000; i++) hd_free(cx->account, hd_alloc(cx, 100000));
    CHECK(hd_pool_idle_bytes() < (int64_t)(60 * MB));
    hd_ctx_free(cx);
}

/* An account keeps only some small blocks at hand; the others serve everybody. */
static void test_small_blocks_come_back(void) {
    enum { BLOCKS = 10000 };
    static void *blocks[BLOCKS];
    if (!POOLED) return;
    hd_ctx *cx = context(1);
    hd_pool_trim();
    int64_t before = hd_pool_idle_bytes();
    for (int i = 0; i < BLOCKS; i++) CHECK((blocks[i] = hd_alloc(cx, 1000)) != NULL);
    for (int i = 0; i < BLOCKS; i++) hd_free(cx->account, blocks[i]);
    CHECK(hd_pool_idle_bytes() > before + 1000 * (BLOCKS - 500));
    hd_ctx_free(cx);
}

static void test_zeroed(void) {
    hd_ctx *cx = context(1);
    const size_t sizes[] = {1, 100, 5000, 100000};
    for (int i = 0; i < 4; i++) {
        unsigned char *block = hd_alloc(cx, sizes[i]);
        memset(block, 0xff, sizes[i]);
        hd_free(cx->account, block);
        block = hd_alloc_zeroed(cx, sizes[i]);
        for (size_t j = 0; j < sizes[i]; j++)
            if (block[j] != 0) CHECK(!"zeroed");
        hd_free(cx->account, block);
    }
    hd_ctx_free(cx);
}

static void test_account(void) {
    hd_ctx *cx = context(1);
    hd_account *account = cx->account;
    void *a = hd_alloc(cx, 1000), *b = hd_alloc(cx, 100000);
    int64_t both = (int64_t)(hd_alloc_size(1000) + hd_alloc_size(100000));
    CHECK(account->live == both && account->peak == both && account->allocated == both);
    hd_free(account, b);
    CHECK(account->live == (int64_t)hd_alloc_size(1000) && account->peak == both);

    account->limit = both;
    CHECK(hd_alloc(cx, 200000) == NULL);
    CHECK(cx->error.status == HD_ENOMEM && strstr(cx->error.message, "200000") != NULL);
    CHECK(strstr(cx->error.message, "limit") != NULL);
    b = hd_alloc(cx, 100000);
    CHECK(b != NULL);
    account->limit = 0;

    /* Storage may outlive its context. */
    hd_account_retain(account);
    hd_free(account, b);
    hd_ctx_free(cx);
    hd_free(account, a);
    CHECK(account->live == 0 &&
          account->allocated == 2 * (int64_t)hd_alloc_size(100000) + (int64_t)hd_alloc_size(1000));
    hd_account_release(account);
}

static void test_refusals(void) {
    hd_ctx *cx = context(1);
    cx->account->fail_at = 3;
    void *first = hd_alloc(cx, 10), *second = hd_alloc(cx, 100000), *third = hd_alloc(cx, 10),
         *fourth = hd_alloc(cx, 10);
    CHECK(first != NULL && second != NULL && third == NULL && fourth != NULL);
    CHECK(cx->error.status == HD_ENOMEM && strstr(cx->error.message, "10 bytes") != NULL);
    hd_free(cx->account, first);
    hd_free(cx->account, second);
    hd_free(cx->account, fourth);
    volatile size_t absurd[] = {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2, (size_t)INT64_MAX, (size_t)1 << 60};
    for (int i = 0; i < 5; i++) {
        if (!POOLED && absurd[i] <= SIZE_MAX / 8) continue; /* the sanitizer's allocator would stop */
        CHECK(hd_alloc(cx, absurd[i]) == NULL && cx->error.status == HD_ENOMEM);
    }
    CHECK(cx->account->live == 0);
    int64_t product;
    CHECK(hd_mul_fits(INT64_C(1) << 31, INT64_C(1) << 31, &product) && product == INT64_C(1) << 62);
    CHECK(!hd_mul_fits(INT64_C(1) << 32, INT64_C(1) << 31, &product));
    hd_ctx_free(cx);
}

/* ---- loops ----------------------------------------------------------------------------------- */

enum { ELEMENTS = 100003 };

static void count_once(void *arg, int64_t task, int worker) {
    (void)worker;
    ((unsigned char *)arg)[task]++;
}

static void test_every_task_once(void) {
    static unsigned char seen[ELEMENTS];
    for (int threads = 1; threads <= 4; threads++) {
        hd_ctx *cx = context(threads);
        CHECK(hd_max_workers(cx) == threads && cx->threads == NULL);
        for (int64_t count = 0; count <= ELEMENTS; count = count * 5 + 1) {
            memset(seen, 0, sizeof seen);
            CHECK(hd_parallel(cx, count, count_once, seen) == HD_OK);
            for (int64_t i = 0; i < ELEMENTS; i++)
                if (seen[i] != (i < count)) CHECK(!"every task once");
        }
        CHECK((cx->threads != NULL) == (threads > 1));
        hd_ctx_free(cx);
    }
}

typedef struct partial_sums {
    float sums[ELEMENTS / 1000 + 1];
    int workers[HD_MAX_THREADS];
} partial_sums;

static void sum_range(void *arg, int64_t first, int64_t last, int worker) {
    partial_sums *p = arg;
    if (first % 1000 != 0 || last - first > 1000 || last <= first) abort();
    int mine = __atomic_add_fetch(&p->workers[worker], 1, __ATOMIC_SEQ_CST);
    float sum = 0;
    for (int64_t i = first; i < last; i++) sum += 1.0f / (float)(i + 1);
    p->sums[first / 1000] = sum;
    __atomic_sub_fetch(&p->workers[worker], 1, __ATOMIC_SEQ_CST);
    if (mine != 1) abort(); /* two tasks at once under one worker's number */
}

static float harmonic_sum(hd_ctx *cx) {
    static partial_sums p;
    memset(&p, 0, sizeof p);
    if (hd_parallel_ranges(cx, ELEMENTS, 1000, sum_range, &p) != HD_OK) abort();
    float sum = 0;
    for (int i = 0; i < ELEMENTS / 1000 + 1; i++) sum += p.sums[i];
    return sum;
}

static void test_same_bits(void) {
    hd_ctx *cx = context(1);
    float one = harmonic_sum(cx);
    CHECK(one > 12.0f && one < 12.2f);
    for (int threads = 2; threads <= 5; threads++) {
        hd_set_num_threads(cx, threads);
        for (int i = 0; i < 20; i++) CHECK(harmonic_sum(cx) == one);
    }
    hd_set_num_threads(cx, 0);
    CHECK(hd_max_workers(cx) == 1);
    hd_ctx_free(cx);
}

typedef struct cancel_at {
    hd_ctx *cx;
    int64_t at, ran;
} cancel_at;

static void run_until_cancel(void *arg, int64_t task, int worker) {
    (void)worker;
    cancel_at *c = arg;
    __atomic_add_fetch(&c->ran, 1, __ATOMIC_SEQ_CST);
    if (task == c->at) __atomic_store_n(&c->cx->cancel, 1, __ATOMIC_SEQ_CST);
}

static void test_cancel(void) {
    for (int threads = 1; threads <= 3; threads++) {
        hd_ctx *cx = context(threads);
        cancel_at c = {.cx = cx, .at = 100};
        CHECK(hd_parallel(cx, 1000000, run_until_cancel, &c) == HD_ECANCEL);
        CHECK(cx->error.status == HD_ECANCEL && c.ran > 90 && c.ran < 1000000);
        /* It stays until whoever set it takes it back; what must not be interrupted is not. */
        c = (cancel_at){.cx = cx, .at = -1};
        CHECK(hd_parallel(cx, 10, run_until_cancel, &c) == HD_ECANCEL && c.ran == 0);
        cx->uninterruptible = 1;
        CHECK(hd_parallel(cx, 1000, run_until_cancel, &c) == HD_OK && c.ran == 1000);
        cx->uninterruptible = 0;
        cx->cancel = 0;
        CHECK(hd_parallel(cx, 1000, run_until_cancel, &c) == HD_OK && c.ran == 2000);
        hd_ctx_free(cx);
    }
}

static void note_thread(void *arg, int64_t task, int worker) {
    if (worker == 0) ((pthread_t *)arg)[task] = pthread_self();
}

/* A child that hangs dies of it. */
static void check_child(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (status != 0) printf("the child's status: %d\n", status);
    CHECK(status == 0);
}

/* Exit code 0 when the child's loops ran here, on this thread, and the context could be freed. */
static int child_of_fork(hd_ctx *cx, float expected) {
    pthread_t ran[64] = {0};
    if (hd_parallel(cx, 64, note_thread, ran) != HD_OK) return 1;
    for (int i = 0; i < 64; i++)
        if (!pthread_equal(ran[i], pthread_self())) return 2;
    if (harmonic_sum(cx) != expected) return 3;
    void *block = hd_alloc(cx, 3 * MB);
    if (block == NULL) return 4;
    hd_free(cx->account, block);
    hd_ctx_free(cx);
    hd_ctx *fresh = hd_ctx_new(2);
    if (fresh == NULL || harmonic_sum(fresh) != expected) return 5;
    hd_ctx_free(fresh);
    return 0;
}

static void test_fork(void) {
    hd_ctx *cx = context(2);
    float expected = harmonic_sum(cx);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(child_of_fork(cx, expected));
    }
    check_child(child);
    CHECK(harmonic_sum(cx) == expected);
    hd_ctx_free(cx);
}

static void note_mask(void *arg, int64_t task, int worker) {
    (void)task;
    (void)worker;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    struct timespec a_while = {.tv_nsec = 1000000}; /* the other worker gets its share */
    nanosleep(&a_while, NULL);
    if (pthread_equal(pthread_self(), *(pthread_t *)arg) == sigismember(&mask, SIGINT)) abort();
}

static void *allocate_until_told(void *arg) {
    hd_ctx *cx = hd_ctx_new(1);
    while (!__atomic_load_n((int *)arg, __ATOMIC_RELAXED)) hd_free(cx->account, hd_alloc(cx, 100000));
    hd_ctx_free(cx);
    return NULL;
}

/* The pool's lock is not inherited from a thread that the child does not have. */
static void test_fork_while_another_thread_allocates(void) {
    if (!POOLED) return;
    int stop = 0;
    pthread_t id;
    CHECK(pthread_create(&id, NULL, allocate_until_told, &stop) == 0);
    hd_ctx *cx = context(1);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(hd_alloc(cx, 100000) == NULL);
        }
        check_child(child);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(id, NULL);
    hd_ctx_free(cx);
}

/* A signal interrupts the host's thread, never a worker. */
static void test_signals_stay_with_the_host(void) {
    hd_ctx *cx = context(2);
    pthread_t self = pthread_self();
    CHECK(hd_parallel(cx, 20, note_mask, &self) == HD_OK);
    hd_ctx_free(cx);
}

/* ---- a system that gives no more ------------------------------------------------------------- */

/* False where the limit is taken and not kept, as emulators of a processor do. */
static bool limit_memory(size_t bytes) {
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return false;
    void *beyond = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (beyond != MAP_FAILED) munmap(beyond, bytes);
    return beyond == MAP_FAILED;
}

static int child_of_little_memory(hd_ctx *cx) {
    if (!limit_memory(300 * MB)) {
        printf("no limit of memory here: its test is passed over\n");
        fflush(stdout);
        return 0;
    }
    void *blocks[64];
    int count = 0;
    while (count < 64 && (blocks[count] = hd_alloc(cx, 20 * MB)) != NULL) count++;
    if (count < 5 || count > 15 || cx->error.status != HD_ENOMEM || !strstr(cx->error.message, "20971520"))
        return 2;
    /* No scratch for the stacks of threads either: the loop runs all the same. */
    hd_set_num_threads(cx, 64);
    if (harmonic_sum(cx) < 12) return 3;
    while (count > 0) hd_free(cx->account, blocks[--count]);
    void *whole = hd_alloc(cx, 150 * MB);
    if (whole == NULL) return 4;
    hd_free(cx->account, whole);
    hd_ctx_free(cx);
    return 0;
}

static void test_little_memory(void) {
    if (HD_ASAN || HD_TSAN) return;
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(child_of_little_memory(hd_ctx_new(1)));
    }
    check_child(child);
}

/* ---- several contexts ------------------------------------------------------------------------ */

static void fill_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    for (int64_t i = first; i < last; i++) ((int32_t *)arg)[i] = (int32_t)i;
}

static void *work_in_own_context(void *arg) {
    hd_ctx *cx = hd_ctx_new(2);
    if (cx == NULL) return NULL;
    int64_t seed = *(int *)arg, sum = 0;
    void *small[300];
    for (int round = 0; round < 300; round++) {
        int64_t n = 1 + (round * 7919 + seed) % 60000;
        int32_t *block = hd_alloc(cx, (size_t)n * sizeof *block);
        if (block == NULL || hd_parallel_ranges(cx, n, 1024, fill_range, block) != HD_OK) return NULL;
        for (int64_t i = 0; i < n; i++) sum += block[i] == i;
        sum -= n;
        hd_free(cx->account, block);
        for (int i = 0; i < 300; i++)
            if ((small[i] = hd_alloc(cx, 500)) == NULL) return NULL;
        for (int i = 0; i < 300; i++) hd_free(cx->account, small[i]);
    }
    if (sum != 0 || cx->account->live != 0) return NULL;
    hd_ctx_free(cx);
    return arg;
}

static void test_two_contexts(void) {
    pthread_t ids[2];
    int seeds[2] = {1, 2};
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&ids[i], NULL, work_in_own_context, &seeds[i]) == 0);
    for (int i = 0; i < 2; i++) {
        void *result;
        CHECK(pthread_join(ids[i], &result) == 0 && result == &seeds[i]);
    }
}

static void test_default_threads(void) {
    const char *const values[] = {"3", "0", "-2", "three", "", "2,4", "99999999999999999999"};
    int cores = hd_cpu_cores();
    const int expected[] = {3, cores, cores, cores, cores, 2, cores};
    for (int i = 0; i < 7; i++) {
        setenv("OMP_NUM_THREADS", values[i], 1);
        hd_ctx *cx = context(0);
        CHECK(cx->num_threads == expected[i]);
        hd_ctx_free(cx);
    }
    unsetenv("OMP_NUM_THREADS");
}

/* ---- the processor --------------------------------------------------------------------------- */

static void test_cpu(void) {
    int ignored = -1;
    unsetenv("HEED_ISA");
    hd_isa best = hd_cpu_isa(&ignored);
    CHECK(ignored == 0 && best < HD_ISA_COUNT && hd_cpu_cores() >= 1);
    for (int isa = 0; isa < HD_ISA_COUNT; isa++) {
        setenv("HEED_ISA", hd_isa_name((hd_isa)isa), 1);
        bool possible = isa <= (int)best;
        CHECK(hd_cpu_isa(&ignored) == (possible ? (hd_isa)isa : best) && ignored == !possible);
    }
    setenv("HEED_ISA", "abacus", 1);
    CHECK(hd_cpu_isa(&ignored) == best && ignored == 1);
    unsetenv("HEED_ISA");
    CHECK(strlen(hd_microarch_name(hd_cpu_microarch())) > 0);
}

static void test_errors(void) {
    hd_ctx *cx = context(1);
    CHECK(hd_fail(cx, HD_EARG, "dim: got %d", 4) == HD_EARG && strcmp(cx->error.message, "dim: got 4") == 0);
    char longer[2 * HD_MESSAGE_SIZE];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK(hd_fail_null(cx, HD_EIO, "%s", longer) == NULL && cx->error.status == HD_EIO);
    CHECK(strlen(cx->error.message) == HD_MESSAGE_SIZE - 1);
    hd_ctx_free(cx);
    hd_ctx_free(NULL);
}

int main(void) {
    test_little_memory(); /* first: the child must not have been forked from threads */
    test_philox();
    test_draws();
    test_alignment_and_sizes();
    test_blocks_do_not_overlap();
    test_reuse();
    test_neighbours_join();
    test_growing_sizes_keep_little();
    test_old_needs_fade();
    test_small_blocks_come_back();
    test_zeroed();
    test_account();
    test_refusals();
    test_every_task_once();
    test_same_bits();
    test_cancel();
    test_fork();
    test_fork_while_another_thread_allocates();
    test_signals_stay_with_the_host();
    test_two_contexts();
    test_default_threads();
    test_cpu();
    test_errors();
    return checks_done();
}
