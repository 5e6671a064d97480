/* order.h: putting rows in order.
 *
 * An element becomes an item: its key (kernels/isa/order.c) above its place. No two items are equal, so
 * there is one order, the stable one, whatever way and on however many threads it is found.
 */
#ifndef HD_OPS_ORDER_H
#define HD_OPS_ORDER_H

#include "kernels/kernels.h"

typedef struct hd_order {
    const hd_kernels *kernels;
    hd_dtype dtype; /* any but f16, bf16 */
    bool descending;
    int64_t n; /* elements of a row, contiguous; below 2^32 */
} hd_order;

/* Rows up to this length are put in order by one task each. */
#define HD_LONG_ROW 65536

/* Places, from 1, of the first `count` in order. Scratch: hd_order_scratch bytes, of one worker. */
size_t hd_order_scratch(const hd_order *o, int64_t count);
void hd_order_row(const hd_order *o, const void *x, int64_t count, void *scratch, int64_t *places);
/* The same for one long row, on all threads. */
hd_status hd_order_long_row(hd_ctx *cx, const hd_order *o, const void *x, int64_t count, int64_t *places);

/* Whole rows of more than one element of 8 bytes (order_wide.c); scratch: 24 bytes an element. */
void hd_order_wide_row(const hd_order *o, const void *x, int64_t count, void *scratch, int64_t *places);
hd_status hd_order_wide_long(hd_ctx *cx, const hd_order *o, const void *x, int64_t count, int64_t *places);

#endif
