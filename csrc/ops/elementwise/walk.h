/* walk.h: walking several strided operands in step.
 *
 * A walk has one shape and up to HD_MAX_OPERANDS operands with a stride each per dimension (0 repeats).
 * Operand 0 is written; the walk goes along its memory. Dimensions that lie behind each other in all
 * operands become one, the rest is cut into inner runs; a run gets n elements with one stride an operand.
 * Big walks are cut into chunks by their size alone and go parallel; an operand that lies across the
 * others (a transpose) is visited in tiles.
 */
#ifndef HD_WALK_H
#define HD_WALK_H

#include "kernels/kernels.h"
#include "tensor/tensor.h"

#define HD_MAX_OPERANDS 5

/* A result of so many bytes is written past the caches (kernels->stream), which would not hold it until somebody reads
 * it. Shorter runs of bytes than this are not worth that. */
#define HD_STREAM_RUN 256
static inline bool hd_is_streamed(const hd_ctx *cx, int64_t bytes) {
    return cx->kernels->stream && bytes >= 6 << 20;
}

/* n elements from p[i] on, stride[i] elements apart. */
typedef void (*hd_run)(const void *arg, int64_t n, char *const *p, const int64_t *stride);
typedef struct hd_walk {
    int operands, ndim;
    int64_t shape[HD_MAX_DIMS];
    int64_t stride[HD_MAX_OPERANDS][HD_MAX_DIMS]; /* elements */
    size_t size[HD_MAX_OPERANDS];
    char *data[HD_MAX_OPERANDS];
    int64_t grain;   /* 0: HD_GRAIN_LIGHT */
    int64_t max_run; /* 0: no bound */
    hd_run run;
    bool copies; /* run moves elements of one size from operand 1 to operand 0, and does nothing else */
    const void *arg;
    /* set by hd_walk_run */
    const hd_kernels *kernels;
    bool streams;    /* the result is written past the caches */
    bool transposes; /* what lies across is transposed before a kernel reads it */
    int64_t tile_rows, tile_cols;
} hd_walk;

void hd_walk_begin(hd_walk *w, int ndim, const int64_t *shape);
/* t is broadcast to the walk's shape. */
void hd_walk_add(hd_walk *w, const hd_tensor *t);
/* stride NULL: one element for all. */
void hd_walk_add_raw(hd_walk *w, void *data, size_t size, const int64_t *stride);
hd_status hd_walk_run(hd_ctx *cx, hd_walk *w);

/* The usual walks. The shape is y's; y may be an operand too when it is the same view. */
hd_status hd_apply_unary(hd_ctx *cx, hd_unary_fn f, int64_t grain, hd_tensor *y, const hd_tensor *x);
hd_status hd_apply_binary(hd_ctx *cx, hd_binary_fn f, int64_t grain, hd_tensor *y, const hd_tensor *a,
                          const hd_tensor *b);
/* a is the scalar of a's dtype at s when scalar_first, else b is. */
hd_status hd_apply_scalar(hd_ctx *cx, hd_binary_fn f, int64_t grain, hd_tensor *y, const hd_tensor *x,
                          const void *s, bool scalar_first);
/* y = source, broadcast and cast; no graph, no version. They must not overlap in memory. */
hd_status hd_apply_copy(hd_ctx *cx, hd_tensor *y, const hd_tensor *source);

#endif
