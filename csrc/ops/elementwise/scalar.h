/* scalar.h: dtypes that compute, and Lua numbers beside tensors. */
#ifndef HD_SCALAR_H
#define HD_SCALAR_H

#include "ops/ops.h"

hd_status hd_check_computes(hd_ctx *cx, const hd_tensor *t);
/* The dtype of (tensor op Lua number): the number's kind counts only where it is above the tensor's. */
hd_dtype hd_scalar_promote(hd_dtype tensor, hd_scalar s);
/* The number as an element; HD_EARG when the dtype cannot hold it. `out` has room for 8 bytes. */
hd_status hd_scalar_store(hd_ctx *cx, const char *argument, hd_scalar s, hd_dtype dtype, void *out);

#endif
