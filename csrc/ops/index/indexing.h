/* indexing.h: what the operations with an index or a mask share. */
#ifndef HD_INDEXING_H
#define HD_INDEXING_H

#include "ops/ops.h"

/* index, contiguous, checked to be i64 within 1..size; a new reference. */
hd_tensor *hd_checked_index(hd_ctx *cx, hd_tensor *index, int64_t size);
/* y[.., index[p] - 1, ..] += g[.., p, ..]: y and g contiguous, of one dtype that is computed with. (add_lines.c) */
hd_status hd_add_lines(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, const hd_tensor *g);
/* y = x + the same; y and g contiguous. */
hd_status hd_sum_lines(hd_ctx *cx, hd_tensor *y, const hd_tensor *x, int dim, const hd_tensor *index,
                       const hd_tensor *g);
/* y[.., index[p] - 1, ..] += g[p] for every position p of index (checked), in order; g, of y's dtype, may be
 * larger than index. Without graph or version. (scatter.c) */
hd_status hd_scatter_into(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, const hd_tensor *g);

/* How many elements of a contiguous bool tensor are true. (masked.c) */
int64_t hd_count_true(const hd_tensor *mask);
/* Writes the list's rows, `bytes` wide and in order, to the positions of y where m is true (count of its n). */
void hd_unpack_masked(int64_t n, int64_t count, size_t bytes, const uint8_t *m, const void *list, void *y);

#endif
