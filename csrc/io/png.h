/* png.h: pixels as the bytes of a PNG file, through libpng, which heed may have been built without. Files are read
 * and written by image.h. */
#ifndef HD_PNG_H
#define HD_PNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

/* Rows of `channels` bytes a pixel: 1 gray, 2 gray and alpha, 3 red, green and blue, 4 and alpha. */
typedef struct hd_png_pixels {
    const uint8_t *bytes;
    int64_t width, height;
    int channels;
} hd_png_pixels;

/* So many bytes are enough for any pixels of this size. */
size_t hd_png_bound(const hd_png_pixels *pixels);
/* Writes *size bytes to out, which has room for hd_png_bound of them. HD_EIO without libpng. */
hd_status hd_png_encode(hd_ctx *cx, const hd_png_pixels *pixels, uint8_t *out, size_t *size);

#endif
