/* context.h: what would otherwise be global. Each lua_State (or C host) has one hd_ctx. Every function
 * that allocates, computes, draws random numbers or can fail takes it first. A context is used by one
 * thread at a time; several contexts may work at once on several threads.
 */
#ifndef HD_CONTEXT_H
#define HD_CONTEXT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

struct hd_threads;   /* base/parallel.c */
struct hd_kernels;   /* kernels/kernels.h: the table of one instruction set */
struct hd_gemm_plan; /* kernels/gemm.c: which BLIS kernel this context uses */

typedef struct hd_ctx {
    hd_error error;
    hd_account *account; /* bytes: live, peak, limit; outlives the context while storage lives */
    hd_rng rng;          /* the training stream */
    struct hd_threads *threads;
    int num_threads; /* wanted; they are started at the first parallel loop */
    const struct hd_kernels *kernels;
    struct hd_gemm_plan *gemm;
    bool grad_enabled;      /* set by the caller (csrc/lua: at entry, for each coroutine) */
    uint64_t next_sequence; /* of graph nodes */
    uint64_t unrecorded;    /* number of operations that recording would have recorded */
    /* Not NULL: nodes remember where they were made, and backward looks for the first NaN. Fills buffer. */
    void (*where)(struct hd_ctx *cx, char *buffer, size_t size);
    bool shapes_only; /* tensors of floats are made meta (tensor.h), loops that would fill them do not run */
    bool skipping;    /* this call does: set by the first meta tensor in it, reset by whoever calls */
    volatile sig_atomic_t cancel; /* set asynchronously: stop between tasks with HD_ECANCEL */
    int uninterruptible;          /* > 0: cancel waits (an optimiser step is never half done) */
    void *host;                   /* csrc/lua's own record; rooms below never look inside */
} hd_ctx;

/* The flag `cancel`, which another thread may set at any time. */
static inline bool hd_cancelled(const hd_ctx *cx) {
    return __atomic_load_n(&cx->cancel, __ATOMIC_RELAXED) != 0;
}
static inline void hd_set_cancelled(hd_ctx *cx, bool cancelled) {
    __atomic_store_n(&cx->cancel, cancelled, __ATOMIC_RELAXED);
}
/* Must the running operation stop? */
static inline bool hd_must_stop(const hd_ctx *cx) {
    return hd_cancelled(cx) && cx->uninterruptible == 0;
}

/* NULL if memory runs out. num_threads 0: OMP_NUM_THREADS, or else the number of cores. */
hd_ctx *hd_ctx_new(int num_threads);
/* Is this the only context that the process ever had? Otherwise the pool may hand out memory that still holds
 * what another one computed. */
bool hd_ctx_is_alone(void);
void hd_ctx_free(hd_ctx *cx); /* joins the threads; tensors that are still held can be released later */

/* Record an error and return its status: return hd_fail(cx, HD_EARG, "dim: expected ..., got %d", d); */
hd_status hd_fail(hd_ctx *cx, hd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for functions that return a pointer. */
void *hd_fail_null(hd_ctx *cx, hd_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
