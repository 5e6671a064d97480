/* index.h: keys that have index tensors for some of a tensor's dimensions. What reading (index.c) and assigning
 * (assign_index.c) share. */
#ifndef HD_INDEX_H
#define HD_INDEX_H

#include "ops/ops.h"

typedef struct hd_lookup {
    int count;                     /* of the dimensions that have an index */
    int dims[HD_MAX_DIMS];         /* which */
    hd_tensor *index[HD_MAX_DIMS]; /* theirs, owned: i64, contiguous, broadcast together, values 1..size */
    int ndim;                      /* of what they broadcast to */
    int64_t shape[HD_MAX_DIMS];
    int64_t places; /* elements of it */
    int at; /* which dimensions of the result it is: those of the first index, when all indexed dimensions are
             * neighbours, otherwise the first ones */
    int result_ndim;
    int64_t result[HD_MAX_DIMS]; /* the shape of what the key names */
} hd_lookup;

/* index: one for each dimension of x, NULL for those that are taken whole, at least one given; integers, negative ones from
 * the end. What shares memory with `written` (may be NULL) is copied. */
hd_status hd_lookup_begin(hd_ctx *cx, hd_lookup *l, const hd_tensor *x, hd_tensor *const *index,
                          const hd_tensor *written);
/* Drops its tensors; also after hd_lookup_begin has failed. */
void hd_lookup_end(hd_lookup *l);

#endif
