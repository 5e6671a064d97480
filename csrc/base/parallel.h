/* parallel.h: loops on several threads; the only user of base/team.h.
 *
 * Loops are cut by the data, never by the number of threads: the caller names the tasks, so the same
 * work gives the same bits on 1 thread and on N. Tasks must not allocate, raise, or start loops.
 *
 * Who does which task is left open, but each worker begins with a run of neighbouring ones, with the same run in every
 * loop over as many: in a processor's caches, what is touched by one loop and then by the next stays where it is.
 */
#ifndef HD_PARALLEL_H
#define HD_PARALLEL_H

#include <stdint.h>

#include "base/context.h"

/* worker: 0 .. hd_max_workers(cx)-1, two tasks that run at the same time have different ones: the
 * index into scratch that the caller allocated before the loop. */
typedef void (*hd_task)(void *arg, int64_t task, int worker);
typedef void (*hd_range_task)(void *arg, int64_t first, int64_t last, int worker);

/* task(arg, i, worker) for each i in [0, count). HD_ECANCEL when cx->cancel was seen between tasks. Nothing while
 * cx->skipping. */
hd_status hd_parallel(hd_ctx *cx, int64_t count, hd_task task, void *arg);

/* [0, count) in ranges of `grain` elements, last one shorter: task(arg, first, last, worker), last exclusive. */
hd_status hd_parallel_ranges(hd_ctx *cx, int64_t count, int64_t grain, hd_range_task task, void *arg);

#define HD_MAX_THREADS 256

int hd_max_workers(const hd_ctx *cx);
/* Clamped to 1 .. HD_MAX_THREADS. Takes effect at the next loop. In a forked child every loop is serial. */
void hd_set_num_threads(hd_ctx *cx, int num_threads);
/* Joined and freed; made again when needed. */
void hd_threads_stop(hd_ctx *cx);

/* Below this many floating-point operations a loop is not worth a second thread. */
#define HD_SERIAL_FLOPS 500000

#endif
