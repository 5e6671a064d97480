/* quantized.h: weights [out, in] in the blocks of a file (kernels/blocks.h): what products and look-ups take,
 * and nothing else. In C they are tensors of dtype f32 without elements: of a kind of memory of their own, whose
 * check fails, so that only those who ask hd_quantized_of first get further.
 *
 * Products quantise x to bytes, 32 elements at a time, and add in f32 what integers gave for each 32; which
 * elements stand together depends on neither rows nor threads. Blocks become panels (kernels/panels.h) at the
 * first product.
 */
#ifndef HD_QUANTIZED_H
#define HD_QUANTIZED_H

#include "kernels/blocks.h"
#include "ops/nn/rows.h"

typedef struct hd_quantized hd_quantized;

/* NULL: t is a tensor as others are. */
const hd_quantized *hd_quantized_of(const hd_tensor *t);
/* HD_OK while its blocks may be read; HD_EIO when their file was cut short. */
hd_status hd_quantized_check(hd_ctx *cx, const hd_tensor *t);
/* Can products take this format? */
bool hd_quantized_takes(const hd_block_format *format);
/* "Q4_K", or "Q4_K, Q6_K" where parts differ. */
const char *hd_quantized_name(const hd_quantized *q, char buffer[64]);

/* Of `rows` rows of `in` elements in blocks that the owner holds; the reference passes over, also on failure. */
hd_tensor *hd_quantized_new(hd_ctx *cx, const hd_block_format *format, int64_t rows, int64_t in,
                            const uint8_t *blocks, const hd_memory_owner *kind, void *owner);
/* x f32 [out, in] in blocks of the context's own memory. HD_EARG: x is not finite, or does not fit. */
hd_tensor *hd_quantize(hd_ctx *cx, hd_tensor *x, const hd_block_format *format);
/* The rows of all of these, one behind the other; nothing is copied. */
hd_tensor *hd_quantized_cat(hd_ctx *cx, int count, hd_tensor *const *parts);
/* Rows [first, first + count). */
hd_tensor *hd_quantized_rows(hd_ctx *cx, hd_tensor *t, int64_t first, int64_t count);
/* As f32 numbers. */
hd_tensor *hd_dequantize(hd_ctx *cx, const hd_tensor *t);

/* z = x W^T, contiguous [x->count, out]; dx = dz W; y = row `row` of W. All f32. */
hd_status hd_quantized_product(hd_ctx *cx, const hd_tensor *w, const hd_rows *x, float *z);
hd_status hd_quantized_product_grad(hd_ctx *cx, const hd_tensor *w, const hd_rows *dz, float *dx);
/* Behind hd_quantized_check. */
void hd_quantized_look_up(const hd_tensor *w, int64_t row, float *y);

#endif
