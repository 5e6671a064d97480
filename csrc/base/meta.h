/* meta.h: memory of meta tensors (as in PyTorch): tensors of which only the shape is asked. It costs nothing until it is written to
 * (hd_ctx.shapes_only). Reads as zeros. Not counted in any account.
 */
#ifndef HD_META_H
#define HD_META_H

#include "base/context.h"

void *hd_meta_new(hd_ctx *cx, size_t bytes); /* NULL with the error in cx */
void hd_meta_free(void *memory, size_t bytes);

#endif
