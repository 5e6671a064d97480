/* png.h: pixels as the bytes of a PNG file, through libpng, which heed may have been built without. */
#ifndef HD_PNG_H
#define HD_PNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

/* Rows of red, green and blue. No side is longer. */
#define HD_PNG_CHANNELS 3
#define HD_PNG_LONGEST 32767

/* So many bytes are enough for any pixels of this size. */
size_t hd_png_bound(int64_t width, int64_t height);
/* Writes *size bytes to out, which has room for hd_png_bound of them. HD_EIO without libpng. */
hd_status hd_png_encode(hd_ctx *cx, const uint8_t *pixels, int64_t width, int64_t height, uint8_t *out,
                        size_t *size);

#endif
