/* reduce_layout.h: a tensor that is reduced over some dimensions, as memory has it: outer x length x inner, of which
 * `length` becomes one. Dimensions go in the order of memory, so that a transposed tensor is read as it lies;
 * where the reduced ones are not neighbours in memory, rows are copied.
 */
#ifndef HD_REDUCE_LAYOUT_H
#define HD_REDUCE_LAYOUT_H

#include "ops/reduce/reduce.h"

typedef struct hd_fold {
    const char *data;
    hd_dtype dtype;
    int64_t outer, length, inner;
    hd_tensor *packed; /* the copy, or NULL */
    int ndim, order[HD_MAX_DIMS];
    int64_t shape[HD_MAX_DIMS]; /* of the result, in the order of memory */
} hd_fold;

/* x is borrowed and must outlive f. */
hd_status hd_fold_begin(hd_ctx *cx, hd_tensor *x, uint32_t dims, hd_fold *f);
void hd_fold_end(hd_fold *f);
/* A new result [outer][inner]; and what it is in x's order, reduced dimensions kept (consumes z). */
hd_tensor *hd_fold_result(hd_ctx *cx, const hd_fold *f, hd_dtype dtype);
hd_tensor *hd_fold_back(hd_ctx *cx, const hd_fold *f, hd_tensor *z);

#endif
