/* array.h: arrays that grow, on the context's account. */
#ifndef HD_ARRAY_H
#define HD_ARRAY_H

#include "base/context.h"

/* Space for `needed` elements where the pointer at `block` points, which has it for *capacity of `element` bytes each
 * (NULL and 0 at first). What was there stays. */
hd_status hd_array_reserve(hd_ctx *cx, void *block, int64_t *capacity, int64_t needed, size_t element);

/* For an array named `items` beside `capacity`: HD_RESERVE(cx, &list, items, n). */
#define HD_RESERVE(cx, owner, items, needed)                                                                 \
    ((needed) <= (owner)->items##_capacity                                                                   \
         ? HD_OK                                                                                             \
         : hd_array_reserve(cx, &(owner)->items, &(owner)->items##_capacity, needed,                         \
                            sizeof *(owner)->items))

#endif
