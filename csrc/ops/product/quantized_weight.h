/* quantized_weight.h: what quantized.c and quantized_product.c know of a quantised weight. */
#ifndef HD_QUANTIZED_WEIGHT_H
#define HD_QUANTIZED_WEIGHT_H

#include "kernels/panels.h"
#include "ops/product/quantized.h"

/* Rows of one format. */
typedef struct hd_blocks {
    int refs;
    hd_account *account;
    const hd_block_format *format;
    hd_panel_kind kind;
    int64_t rows, in;
    const uint8_t *blocks; /* rows, row_bytes apart: `own`, or the owner's */
    size_t row_bytes;
    uint8_t *own;
    const hd_memory_owner *owner_kind; /* NULL: own */
    void *owner;
    uint8_t *panels; /* NULL: no product yet */
} hd_blocks;

/* A tensor's rows are those of the parts, from offset / in on. */
struct hd_quantized {
    hd_account *account;
    int count;
    hd_blocks *parts[];
};

/* Which blocks have this row of w; *row becomes its number there. */
hd_blocks *hd_blocks_of_row(const hd_tensor *w, int64_t *row);

#endif
