/* reduce.h: many elements to one, on memory. */
#ifndef HD_OPS_REDUCE_H
#define HD_OPS_REDUCE_H

#include "kernels/kernels.h"
#include "tensor/tensor.h"

/* A new tensor, reduced dimensions kept with size 1. x has a dtype that op is made for. Order and blocks of
 * the additions depend on the shape alone. Reducing nothing gives the neutral element (max, min: the caller
 * refuses). */
hd_tensor *hd_reduce_data(hd_ctx *cx, hd_reduction op, hd_tensor *x, uint32_t dims);

/* The bits of existing dimensions; all of them for HD_ALL_DIMS. */
static inline uint32_t hd_dims_of(const hd_tensor *x, uint32_t dims) {
    return dims & ((1u << x->ndim) - 1);
}
/* How many elements become one. */
int64_t hd_reduced_count(const hd_tensor *x, uint32_t dims);
/* y (contiguous, ours alone) loses its reduced dimensions, unless they are kept. */
hd_tensor *hd_drop_dims(hd_tensor *y, uint32_t dims, bool keepdim);

/* Dimensions by falling stride; true when that is another order than the given one. */
bool hd_memory_order(const hd_tensor *x, int order[HD_MAX_DIMS]);
/* A header on the stack: t with its dimensions in the given order. */
hd_tensor hd_in_order(const hd_tensor *t, const int order[HD_MAX_DIMS]);

/* What backward needs to lay a gradient out over x again. */
typedef struct hd_reduce_params {
    uint32_t dims;
    bool keepdim;
} hd_reduce_params;
/* t, of the reduced shape, repeated over `shape`: a view. */
hd_tensor *hd_expand_reduced(hd_ctx *cx, const hd_tensor *t, const hd_reduce_params *p, int ndim,
                             const int64_t *shape);

/* x with its reduced dimensions last, contiguous: rows of *length elements, one for each result. */
hd_tensor *hd_rows_to_reduce(hd_ctx *cx, hd_tensor *x, uint32_t dims, int64_t *rows, int64_t *length);
/* A new tensor of shape `shape` from such rows. */
hd_tensor *hd_rows_back(hd_ctx *cx, const hd_tensor *rows, uint32_t dims, int ndim, const int64_t *shape);

#endif
