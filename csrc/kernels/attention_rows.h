/* attention_rows.h: products of few queries with many rows of keys or values. The rows are read
 * once, where they lie and in the order of memory, because reading them is what decoding waits for.
 * ops/attention/attention_decode.c builds attention from these products.
 *
 * Rows may be stored as f16 or bf16. They are widened in registers; everything else is f32.
 */
#ifndef HD_KERNELS_ATTENTION_ROWS_H
#define HD_KERNELS_ATTENTION_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Rows of `heads` heads of keys: the row of key n and head h starts at x + n · row + h · head, in
 * elements. Each head serves `queries` queries. The queries, and the outputs, are rows
 * [heads][queries] of `width` elements: a multiple of `lanes`, with zeros behind the features,
 * aligned to 64 bytes. Below, r counts these rows. */
typedef struct hd_row_block {
    int64_t heads, queries, keys, features;
    const void *x;
    int64_t row, head;
} hd_row_block;

typedef struct hd_row_kernels {
    int64_t lanes;
    /* s[r · s_row + n] = q[r] · (the row of key n of the head of r) */
    void (*dots)(const hd_row_block *b, const void *q, int64_t width, void *s, int64_t s_row);
    /* o[r] += sum_n p[r · p_row + n] (the row of key n of the head of r) */
    void (*accumulate)(const hd_row_block *b, const void *p, int64_t p_row, void *o, int64_t width);
    /* to[n · features + d] = from[n · row + d], converted to the type that is computed with */
    void (*widen)(int64_t rows, int64_t features, const void *from, int64_t row, void *to);
} hd_row_kernels;

#endif
