#include "base/parallel.h"
#include "base/minmax.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/team.h"

struct hd_threads {
    hd_team *team; /* NULL: no thread could be started */
    int count;
};

enum { MOST_SHARES = 32 };

/* Tasks next .. end - 1 are still to be done. Whoever adds one to `next` has the task; each share has a
 * cache line of its own. */
typedef struct share {
    _Alignas(64) _Atomic int64_t next;
    int64_t end;
} share;

typedef struct loop {
    hd_ctx *cx;
    hd_task task;
    void *arg;
    int shares;
    atomic_bool cancelled;
    share share[MOST_SHARES];
} loop;

/* ---- the process: forks, and the number of threads --------------------------------------------- */

static atomic_bool forked; /* this process is a forked child: the helpers do not exist in it */
static atomic_int threads_alive;

static void after_fork_in_child(void) {
    atomic_store(&forked, true);
    atomic_store(&threads_alive, 0);
}

static void watch_forks(void) {
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* Busy waiting makes the next loop cheap, but takes cores from other threads if there are more threads
 * than cores. */
static int may_spin(void) {
    static atomic_int cores;
    int n = atomic_load_explicit(&cores, memory_order_relaxed);
    if (n == 0) {
        n = hd_cpu_cores();
        atomic_store_explicit(&cores, n, memory_order_relaxed);
    }
    int alive = atomic_load_explicit(&threads_alive, memory_order_relaxed);
    return alive <= n;
}

/* ---- the team ----------------------------------------------------------------------------------------- */

/* If no thread can be started, loops run serially, with the same results: that is not an error. */
static struct hd_threads *start_threads(int count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    struct hd_threads *threads = malloc(sizeof *threads);
    if (threads == NULL) return NULL;
    threads->team = hd_team_start(count - 1);
    threads->count = count;
    if (threads->team != NULL) atomic_fetch_add(&threads_alive, count);
    return threads;
}

/* NULL: run serially. */
static hd_team *team_of(hd_ctx *cx) {
    if (atomic_load_explicit(&forked, memory_order_relaxed)) return NULL;
    if (cx->threads != NULL && cx->threads->count != cx->num_threads) hd_threads_stop(cx);
    if (cx->threads == NULL) cx->threads = start_threads(cx->num_threads);
    return cx->threads != NULL ? cx->threads->team : NULL;
}

void hd_threads_stop(hd_ctx *cx) {
    struct hd_threads *threads = cx->threads;
    cx->threads = NULL;
    if (threads == NULL) return;
    /* In a forked child the helpers do not exist: the team is left alone, and its memory lost. */
    if (threads->team != NULL && !atomic_load(&forked)) {
        hd_team_stop(threads->team);
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

/* ---- loops ----------------------------------------------------------------------------------- */

/* Runs tasks of a share until none is left. False: the loop was cancelled. */
static bool work_on(loop *l, share *tasks, int worker) {
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&tasks->next, 1, memory_order_relaxed);
        if (i >= tasks->end) return true;
        if (hd_must_stop(l->cx)) {
            atomic_store_explicit(&l->cancelled, true, memory_order_relaxed);
            return false;
        }
        l->task(l->arg, i, worker);
    }
}

/* A worker starts with its own share, the same one in every loop over as many tasks, and then helps with
 * the others. So it finds in its caches what it wrote in the loop before, and neighbouring tasks, whose
 * memory may share cache lines, are one worker's. */
static void work(void *context, int worker) {
    loop *l = context;
    for (int i = 0; i < l->shares; i++)
        if (!work_on(l, &l->share[(worker + i) % l->shares], worker)) return;
}

static hd_status interrupted(hd_ctx *cx) {
    return hd_fail(cx, HD_ECANCEL, "interrupted");
}

static hd_status run_serially(hd_ctx *cx, int64_t count, hd_task task, void *arg) {
    for (int64_t i = 0; i < count; i++) {
        if (hd_must_stop(cx)) return interrupted(cx);
        task(arg, i, 0);
    }
    return HD_OK;
}

hd_status hd_parallel(hd_ctx *cx, int64_t count, hd_task task, void *arg) {
    if (cx->skipping) return HD_OK;
    if (count <= 1 || cx->num_threads <= 1) return run_serially(cx, count, task, arg);
    hd_team *team = team_of(cx);
    if (team == NULL) return run_serially(cx, count, task, arg);
    loop l = {.cx = cx, .task = task, .arg = arg};
    l.shares = cx->num_threads < MOST_SHARES ? cx->num_threads : MOST_SHARES;
    for (int i = 0; i < l.shares; i++) {
        atomic_init(&l.share[i].next, count / l.shares * i + hd_min(i, count % l.shares));
        l.share[i].end = count / l.shares * (i + 1) + hd_min(i + 1, count % l.shares);
    }
    hd_team_run(team, work, &l, may_spin());
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
