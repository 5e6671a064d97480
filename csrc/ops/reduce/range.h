/* range.h: sums of squares and powers leave the range long before what is made of them does. The quick way
 * goes first; where its result says that something was lost, it is worked out again, scaled or in f64.
 */
#ifndef HD_REDUCE_RANGE_H
#define HD_REDUCE_RANGE_H

#include "ops/ops.h"
#include "ops/reduce/reduce.h"

/* Does every element lie in least..most? NaN does not. y f32 or f64, just made by a reduction. */
bool hd_all_within(const hd_tensor *y, double least, double most);
/* Elements of y where those of `test` lie in least..most, elsewhere those of `again`. Consumes y and again. */
hd_tensor *hd_keep_within(hd_ctx *cx, hd_tensor *test, double least, double most, hd_tensor *y,
                          hd_tensor *again);
/* Of f64: powers of two, reduced dimensions kept, that bring the largest |x| to 1..2. */
hd_tensor *hd_scales_of(hd_ctx *cx, hd_tensor *x, uint32_t dims);
/* x · g/y with g and y laid out over x, 0 where y is 0. */
hd_tensor *hd_times_quotient(hd_ctx *cx, const hd_reduce_params *r, hd_tensor *x, hd_tensor *g, hd_tensor *y);

#endif
