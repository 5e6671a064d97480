/* parallel.h: loops on several threads; the only user of base/team.h.
 *
 * The caller cuts a loop into tasks, by the data and never by the number of threads, so the same work
 * gives the same bits on 1 thread and on N. Tasks must not allocate, raise, or start loops.
 *
 * Any worker may run any task. But each starts with its own share of neighbouring tasks, the same share
 * in every loop over as many tasks, so that it finds in its caches what it touched in the loop before.
 */
#ifndef HD_PARALLEL_H
#define HD_PARALLEL_H

#include <stdint.h>

#include "base/context.h"

/* worker: 0 .. hd_max_workers(cx) - 1, different for two tasks that run at the same time: an index into
 * scratch that the caller allocated before the loop. */
typedef void (*hd_task)(void *arg, int64_t task, int worker);
typedef void (*hd_range_task)(void *arg, int64_t first, int64_t last, int worker);

/* task(arg, i, worker) for each i in [0, count). HD_ECANCEL if cx->cancel was seen between tasks. While
 * cx->skipping, no task runs. */
hd_status hd_parallel(hd_ctx *cx, int64_t count, hd_task task, void *arg);

/* [0, count) in ranges of `grain` elements, the last one perhaps shorter: task(arg, first, last, worker),
 * without last itself. */
hd_status hd_parallel_ranges(hd_ctx *cx, int64_t count, int64_t grain, hd_range_task task, void *arg);

/* For loops of one thread that may be long, at step i: HD_ECANCEL when the loop is to stop. It looks once in 65536 steps. */
static inline hd_status hd_check_cancel(hd_ctx *cx, int64_t i) {
    return (i & 0xFFFF) == 0 && hd_must_stop(cx) ? hd_fail(cx, HD_ECANCEL, "interrupted") : HD_OK;
}

#define HD_MAX_THREADS 256

int hd_max_workers(const hd_ctx *cx);
/* Clamped to 1 .. HD_MAX_THREADS. Takes effect at the next loop. In a forked child every loop is serial. */
void hd_set_num_threads(hd_ctx *cx, int num_threads);
/* Joins and frees the threads; they are started again when needed. */
void hd_threads_stop(hd_ctx *cx);

/* Loops of fewer floating-point operations are not worth a second thread. */
#define HD_SERIAL_FLOPS 500000

#endif
