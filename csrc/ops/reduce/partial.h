/* partial.h: reductions of two numbers each (variance, logsumexp, norms): parts of a row or of columns, of a
 * size that depends on the shape alone, are reduced at a time and merged in order.
 */
#ifndef HD_OPS_PARTIAL_H
#define HD_OPS_PARTIAL_H

#include "ops/reduce/reduce.h"

/* From the two numbers of `length` elements, the result's: y[0], and y[1] when two results are wanted. */
typedef void (*hd_partial_finish)(const void *arg, int64_t length, double a, double b, double y[2]);

/* x f32 or f64, nobody records it. Results have x's dtype, and the reduced dimensions kept. */
hd_status hd_reduce_partial(hd_ctx *cx, hd_partial kind, hd_tensor *x, uint32_t dims,
                            hd_partial_finish finish, const void *arg, int count, hd_tensor *y[2]);

#endif
