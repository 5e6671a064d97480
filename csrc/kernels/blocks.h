/* blocks.h: quantised formats: rows of numbers in blocks of so many bytes each, and the numbers that they
 * stand for.
 *
 * A format is named as in GGUF files: Q4_0 and their like (a scale for 32 elements), Q4_K and theirs (256
 * elements, whose scales are quantised too), IQ4_NL and IQ4_XS (quantised to a table), TQ (-1, 0, 1), MXFP4
 * and NVFP4 (floats of 4 bits). Both ways have the bits of the Python package `gguf`, which rounds after
 * every operation: blocks.c is compiled without contraction to fused products.
 */
#ifndef HD_BLOCKS_H
#define HD_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hd_block_format {
    const char *name;    /* "Q4_K" */
    int elements, bytes; /* of a block */
    /* y[i] = element i of these blocks, one behind another */
    void (*dequantize)(const uint8_t *blocks, int64_t count, float *y);
    /* The blocks of these elements; false: some are not finite, or more than the scale can hold. NULL: not
     * written here. */
    bool (*quantize)(const float *x, int64_t count, uint8_t *blocks);
} hd_block_format;

/* NULL: no format of this name is known here. */
const hd_block_format *hd_block_format_named(const char *name);

#endif
