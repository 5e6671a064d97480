/* cast.h: other dtypes, and memory in order, without the graph. */
#ifndef HD_CAST_H
#define HD_CAST_H

#include "ops/ops.h"

/* x, retained, when dtype and layout already are so; else a contiguous detached copy. */
hd_tensor *hd_contiguous_as(hd_ctx *cx, hd_tensor *x, hd_dtype dtype);
/* x as dtype, any layout, detached when converted. */
hd_tensor *hd_as_dtype(hd_ctx *cx, hd_tensor *x, hd_dtype dtype);

#endif
