/* time_major.h: a batch of sequences as a recurrent layer reads it: step after step, and in each step only
 * the sequences that still run, the longest first. So those that run are the first rows of every step, all
 * tokens lie without gaps, and padding is nowhere.
 */
#ifndef HD_TIME_MAJOR_H
#define HD_TIME_MAJOR_H

#include "ops/ops.h"

typedef struct hd_time_major {
    int64_t B, L;
    int64_t steps;          /* the longest length */
    int64_t rows;           /* tokens of all */
    bool reverse;           /* step s is the s-th token from each sequence's own end */
    const int64_t *order;   /* [B]: the sequence, from 0, in row j of the steps */
    const int64_t *lengths; /* [B]: in how many steps row j runs; falling */
    const int64_t *starts;  /* [steps + 1]: rows before step s */
} hd_time_major;

/* lengths i64 [B] in 0..L; NULL: all are L. The tensor holds what *plan points to. */
hd_tensor *hd_time_major_new(hd_ctx *cx, hd_tensor *lengths, int64_t B, int64_t L, bool reverse,
                             hd_time_major *plan);
/* The plan in such a tensor. */
hd_time_major hd_time_major_of(const hd_tensor *tensor, int64_t B, int64_t L, bool reverse);

static inline int64_t hd_running(const hd_time_major *p, int64_t step) {
    return p->starts[step + 1] - p->starts[step];
}
/* Which of the B L tokens row j reads at a step. */
static inline int64_t hd_token_of(const hd_time_major *p, int64_t step, int64_t j) {
    return p->order[j] * p->L + (p->reverse ? p->lengths[j] - 1 - step : step);
}

/* x [B, L, W], contiguous, as [rows, W]: itself where the order is the same. */
hd_tensor *hd_to_time_major(hd_ctx *cx, const hd_time_major *p, hd_tensor *x);
/* The way back for packed [rows, W], which is consumed; zeros at padding. NULL for NULL. */
hd_tensor *hd_from_time_major(hd_ctx *cx, const hd_time_major *p, hd_tensor *packed);
/* Zeros at the padding of y [B, L, W]. */
hd_status hd_clear_padding(hd_ctx *cx, const hd_time_major *p, hd_tensor *y);

/* Row j of `rows`, `stride` elements apart, and row order[j] of state [B, W]: the first from the second (state
 * NULL: zeros), or the second from the first. */
hd_status hd_states_to_rows(hd_ctx *cx, const hd_time_major *p, const hd_tensor *state, int64_t width,
                            hd_tensor *rows, int64_t stride);
hd_status hd_rows_to_states(hd_ctx *cx, const hd_time_major *p, const hd_tensor *rows, int64_t stride,
                            hd_tensor *state);

#endif
