/* attention_rows.h: products of few queries with many rows of keys or values, which are read once, as they lie, in the
 * order of memory. ops/attention_decode.c puts attention together from them.
 *
 * Rows may be stored as f16 or bf16: they are widened in registers, and all else is f32.
 */
#ifndef HD_KERNELS_ATTENTION_ROWS_H
#define HD_KERNELS_ATTENTION_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Rows of `heads` heads: the one of key n and head h starts at x + n · row + h · head, in elements. `queries` go with each
 * head. Of them and their sums there is a row for each [heads][queries], `width` elements from one to the next: a multiple of
 * `lanes`, zeros behind the features; aligned to 64 bytes. */
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
    void (*mix)(const hd_row_block *b, const void *p, int64_t p_row, void *o, int64_t width);
    /* to[n · features + d] = from[n · row + d], as what is computed with */
    void (*widen)(int64_t rows, int64_t features, const void *from, int64_t row, void *to);
} hd_row_kernels;

#endif
