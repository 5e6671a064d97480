#define _GNU_SOURCE
#include "base/parallel.h"

#include <pthread.h>
#include <pthreadpool.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/sanitizers.h"

/* ThreadSanitizer does not see the handshake inside libpthreadpool, which is built without it. */
#if HD_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define HAPPENS_AFTER(address) __tsan_acquire(address)
#define HAPPENS_BEFORE(address) __tsan_release(address)
#else
#define HAPPENS_AFTER(address) ((void)0)
#define HAPPENS_BEFORE(address) ((void)0)
#endif

struct hd_threads {
    pthreadpool_t pool;
    int count;
};

typedef struct loop {
    hd_ctx *cx;
    hd_task task;
    void *arg;
    int64_t count;
    _Atomic int64_t next;
    atomic_bool cancelled;
} loop;

/* ---- the process: forks and how many threads there are ------------------------------------------- */

static atomic_bool forked; /* this process was forked after a pool was made: its workers are gone */
static atomic_int threads_alive;

static void after_fork_in_child(void) {
    atomic_store(&forked, true);
    atomic_store(&threads_alive, 0);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* Waiting workers spin, which makes a loop cheap but takes cores from others once there are more
 * threads than cores. */
static uint32_t loop_flags(void) {
    static atomic_int cores;
    int n = atomic_load_explicit(&cores, memory_order_relaxed);
    if (n == 0) {
        n = hd_cpu_cores();
        atomic_store_explicit(&cores, n, memory_order_relaxed);
    }
    int alive = atomic_load_explicit(&threads_alive, memory_order_relaxed);
    return alive > n ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0;
}

/* ---- the pool ----------------------------------------------------------------------------------------- */

typedef struct rehearsal {
    pthread_mutex_t gate;
} rehearsal;

static void *wait_at_gate(void *arg) {
    rehearsal *r = arg;
    pthread_mutex_lock(&r->gate);
    pthread_mutex_unlock(&r->gate);
    return NULL;
}

/* libpthreadpool waits for ever when the system refuses one of its threads: see first whether as many
 * can live at the same time. */
static bool threads_can_be_had(int count) {
    pthread_t ids[HD_MAX_THREADS];
    rehearsal r = {PTHREAD_MUTEX_INITIALIZER};
    int made = 0;
    pthread_mutex_lock(&r.gate);
    while (made < count && pthread_create(&ids[made], NULL, wait_at_gate, &r) == 0) made++;
    pthread_mutex_unlock(&r.gate);
    for (int i = 0; i < made; i++) pthread_join(ids[i], NULL);
    pthread_mutex_destroy(&r.gate);
    return made == count;
}

static pthreadpool_t make_pool(int count) {
    /* Workers inherit the mask: the host's signals stay with the host's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthreadpool_t pool = threads_can_be_had(count - 1) ? pthreadpool_create((size_t)count) : NULL;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool;
}

/* Without a pool the loop runs serially, with the same result: not an error. */
static struct hd_threads *start_threads(int count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    struct hd_threads *threads = malloc(sizeof *threads);
    if (threads == NULL) return NULL;
    threads->pool = make_pool(count);
    threads->count = count;
    if (threads->pool != NULL) atomic_fetch_add(&threads_alive, count);
    return threads;
}

/* NULL: run serially. */
static pthreadpool_t pool_of(hd_ctx *cx) {
    if (atomic_load_explicit(&forked, memory_order_relaxed)) return NULL;
    if (cx->threads != NULL && cx->threads->count != cx->num_threads) hd_threads_stop(cx);
    if (cx->threads == NULL) cx->threads = start_threads(cx->num_threads);
    return cx->threads != NULL ? cx->threads->pool : NULL;
}

void hd_threads_stop(hd_ctx *cx) {
    struct hd_threads *threads = cx->threads;
    cx->threads = NULL;
    if (threads == NULL) return;
    /* In a forked child the pool cannot be joined: it is left as it lies. */
    if (threads->pool != NULL && !atomic_load(&forked)) {
        pthreadpool_destroy(threads->pool);
        atomic_fetch_sub(&threads_alive, threads->count);
    }
    free(threads);
}

int hd_max_workers(const hd_ctx *cx) {
    return cx->num_threads;
}

void hd_set_num_threads(hd_ctx *cx, int num_threads) {
    if (num_threads < 1) num_threads = 1;
    if (num_threads > HD_MAX_THREADS) num_threads = HD_MAX_THREADS;
    cx->num_threads = num_threads;
}

/* ---- loops -----------------------------------------------------------------------------------------------
 */

static inline bool cancel_wanted(const hd_ctx *cx) {
    return __atomic_load_n(&cx->cancel, __ATOMIC_RELAXED) != 0 && cx->uninterruptible == 0;
}

static void work(void *context, size_t worker) {
    loop *l = context;
    HAPPENS_AFTER(l);
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->count) break;
        if (cancel_wanted(l->cx)) {
            atomic_store_explicit(&l->cancelled, true, memory_order_relaxed);
            break;
        }
        l->task(l->arg, i, (int)worker);
    }
    HAPPENS_BEFORE(l);
}

static hd_status interrupted(hd_ctx *cx) {
    return hd_fail(cx, HD_ECANCEL, "interrupted");
}

static hd_status run_serially(hd_ctx *cx, int64_t count, hd_task task, void *arg) {
    for (int64_t i = 0; i < count; i++) {
        if (cancel_wanted(cx)) return interrupted(cx);
        task(arg, i, 0);
    }
    return HD_OK;
}

hd_status hd_parallel(hd_ctx *cx, int64_t count, hd_task task, void *arg) {
    if (count <= 1 || cx->num_threads <= 1) return run_serially(cx, count, task, arg);
    pthreadpool_t pool = pool_of(cx);
    if (pool == NULL) return run_serially(cx, count, task, arg);
    loop l = {.cx = cx, .task = task, .arg = arg, .count = count};
    int64_t workers = count < cx->num_threads ? count : cx->num_threads;
    HAPPENS_BEFORE(&l);
    pthreadpool_parallelize_1d(pool, work, &l, (size_t)workers, loop_flags());
    HAPPENS_AFTER(&l);
    return atomic_load_explicit(&l.cancelled, memory_order_relaxed) ? interrupted(cx) : HD_OK;
}

typedef struct ranges {
    hd_range_task task;
    void *arg;
    int64_t count, grain;
} ranges;

static void run_range(void *arg, int64_t task, int worker) {
    const ranges *r = arg;
    int64_t first = task * r->grain;
    int64_t last = r->count - first > r->grain ? first + r->grain : r->count;
    r->task(r->arg, first, last, worker);
}

hd_status hd_parallel_ranges(hd_ctx *cx, int64_t count, int64_t grain, hd_range_task task, void *arg) {
    if (count <= 0) return HD_OK;
    if (grain < 1) grain = 1;
    ranges r = {task, arg, count, grain};
    return hd_parallel(cx, (count - 1) / grain + 1, run_range, &r);
}
