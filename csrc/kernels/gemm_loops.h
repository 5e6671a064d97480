/* gemm_loops.h: what the three routes of a product share. */
#ifndef HD_GEMM_LOOPS_H
#define HD_GEMM_LOOPS_H

#include "base/parallel.h"
#include "base/minmax.h"
#include "kernels/gemm_tile.h"

/* A part of c of one product. */
typedef struct hd_gemm_block {
    int64_t entry, row, row_end, column, column_end;
} hd_gemm_block;

static inline int64_t hd_pieces(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
}
static inline int64_t hd_multiple(int64_t x, int64_t of) {
    return hd_pieces(x, of) * of;
}

/* The length of parts, a multiple of `of`, that cut `whole` evenly into as few parts of at most `most` as
 * possible. */
static inline int64_t hd_even_part(int64_t whole, int64_t most, int64_t of) {
    if (whole <= most) return whole > 0 ? whole : 1;
    return hd_multiple(hd_pieces(whole, hd_pieces(whole, most)), of);
}

static inline int64_t hd_gemm_size(const hd_gemm *g) {
    return g->dtype == HD_F64 ? 8 : 4;
}

static inline char *hd_gemm_at(const hd_gemm *g, const hd_matrix *x, int64_t entry, int64_t row,
                               int64_t column) {
    return (char *)x->data +
           (entry * x->batch_stride + row * x->row_stride + column * x->col_stride) * hd_gemm_size(g);
}

/* One register tile of c at (row, column), whatever its strides. */
void hd_gemm_emit(const hd_gemm_tile *t, const hd_gemm *g, int64_t entry, int64_t row, int64_t column,
                  int64_t m, int64_t n, int64_t k, const void *a, int64_t a_rs, int64_t a_cs, const void *b,
                  int64_t b_rs, double beta);

/* Runs the tasks: one after the other if the product is small, else on all threads. */
hd_status hd_gemm_each(hd_ctx *cx, const hd_gemm *g, int64_t count, hd_task task, void *arg);

#endif
