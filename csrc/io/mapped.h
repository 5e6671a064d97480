/* mapped.h: tensors in the pages of a file. Writing to one copies the page first and never reaches the file. */
#ifndef HD_MAPPED_H
#define HD_MAPPED_H

#include "base/mapping.h"
#include "tensor/tensor.h"

/* Can numbers of this dtype be used where they lie, `offset` bytes from a file's beginning? Those that are not
 * aligned cannot, nor can BOOL, whose bytes may be any in a file. */
bool hd_mapped_fits(hd_dtype dtype, int64_t offset);
/* Of tensors in a mapping, which is the owner. */
extern const hd_memory_owner hd_mapped_memory;
/* A tensor of what lies there, inside the mapping, which it holds. */
hd_tensor *hd_mapped_tensor(hd_ctx *cx, hd_mapping *m, int64_t offset, hd_dtype dtype, int ndim,
                            const int64_t *shape);

#endif
