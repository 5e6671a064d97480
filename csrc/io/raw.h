/* raw.h: tensors that lie in a file as plain numbers, of formats whose headers are read in Lua. */
#ifndef HD_RAW_H
#define HD_RAW_H

#include "tensor/tensor.h"

/* The numbers from byte `offset` on, little-endian, the last dimension fastest. A file that is too short
 * for them is refused before memory is allocated. NULL: HD_EIO, HD_EARG or HD_ENOMEM; messages of HD_EIO
 * name the path. */
hd_tensor *hd_raw_load(hd_ctx *cx, const char *path, hd_dtype dtype, int ndim, const int64_t *shape,
                       int64_t offset);

#endif
