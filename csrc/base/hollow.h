/* hollow.h: room that costs nothing until it is written to: for tensors of which only the shape is asked
 * (hd_ctx.shapes_only). Reads as zeros. Not counted in any account.
 */
#ifndef HD_HOLLOW_H
#define HD_HOLLOW_H

#include "base/context.h"

void *hd_hollow_new(hd_ctx *cx, size_t bytes); /* NULL with the error in cx */
void hd_hollow_free(void *room, size_t bytes);

#endif
