#include "base/context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "base/parallel.h"

static int default_threads(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    if (text != NULL && *text >= '0' && *text <= '9') {
        char *end;
        errno = 0;
        long n = strtol(text, &end, 10);
        /* OpenMP allows a list, one number a nesting level: the first is ours. */
        if (errno == 0 && n > 0 && n <= HD_MAX_THREADS && (*end == '\0' || *end == ',')) return (int)n;
    }
    return hd_cpu_cores();
}

static atomic_int contexts_made;

bool hd_ctx_is_alone(void) {
    return atomic_load_explicit(&contexts_made, memory_order_relaxed) <= 1;
}

hd_ctx *hd_ctx_new(int num_threads) {
    hd_ctx *cx = calloc(1, sizeof *cx);
    if (cx == NULL) return NULL;
    cx->account = hd_account_new();
    if (cx->account == NULL) {
        free(cx);
        return NULL;
    }
    atomic_fetch_add_explicit(&contexts_made, 1, memory_order_relaxed);
    cx->grad_enabled = true;
    cx->next_sequence = 1;
    hd_set_num_threads(cx, num_threads > 0 ? num_threads : default_threads());
    return cx;
}

void hd_ctx_free(hd_ctx *cx) {
    if (cx == NULL) return;
    hd_threads_stop(cx);
    hd_account_release(cx->account);
    free(cx);
}

static void record(hd_ctx *cx, hd_status status, const char *format, va_list args) {
    cx->error.status = status;
    vsnprintf(cx->error.message, sizeof cx->error.message, format, args);
}

hd_status hd_fail(hd_ctx *cx, hd_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    record(cx, status, format, args);
    va_end(args);
    return status;
}

void *hd_fail_null(hd_ctx *cx, hd_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    record(cx, status, format, args);
    va_end(args);
    return NULL;
}
