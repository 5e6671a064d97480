/* recurrent.h: what the forward and the backward pass of recurrent layers share. */
#ifndef HD_RECURRENT_H
#define HD_RECURRENT_H

#include "kernels/gemm.h"
#include "ops/nn/time_major.h"

enum { IN_X, IN_H, IN_C, IN_W_IH, IN_W_HH, IN_B_IH, IN_B_HH, INPUTS };
enum { OUT_Y, OUT_H, OUT_C, OUTPUTS };
/* All rows in the order of time. GATES: after their functions; BEFORE_H, BEFORE_C: the states before each
 * step; INNER: what r multiplies in a GRU, tanh c' of an LSTM. */
enum {
    SAVED_PLAN,
    SAVED_X,
    SAVED_W_IH,
    SAVED_W_HH,
    SAVED_GATES,
    SAVED_BEFORE_H,
    SAVED_BEFORE_C,
    SAVED_INNER,
    SAVED
};

typedef struct recurrent_node {
    hd_recurrent_kind kind;
    bool reverse;
    int64_t B, L;
} recurrent_node;

static inline int64_t hd_gate_count(hd_recurrent_kind kind) {
    return kind == HD_GRU ? 3 : 4;
}

/* Row `row` of rows of `width` elements of `size` bytes. */
static inline char *hd_row_of(const hd_tensor *t, int64_t row, int64_t width, size_t size) {
    return (char *)hd_data(t) + (size_t)(row * width) * size;
}

hd_status hd_recurrent_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs);

/* ---- state_product.c: the product of each step ------------------------------------------------------- */

/* c [m, width] = a [m, k] b + beta c, with another m, a and c at each step. Where there are many, b is first
 * laid out in panels of columns, so that every step reads it from one end to the other. */
typedef struct hd_state_product {
    hd_gemm gemm;
    int64_t width; /* elements from one row of c to the next: n, or more */
    hd_tensor *panels;
} hd_state_product;

/* b: w^T when `transposed`, w [rows, columns] contiguous, which must live as long. */
hd_status hd_state_product_begin(hd_ctx *cx, hd_state_product *p, const hd_tensor *w, bool transposed,
                                 const hd_time_major *plan, double beta);
hd_status hd_state_product_run(hd_ctx *cx, const hd_state_product *p, int64_t m, void *a, void *c);
void hd_state_product_end(hd_state_product *p);

#endif
