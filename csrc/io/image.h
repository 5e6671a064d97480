/* image.h: pixels from PNG and JPEG files and into them, [height, width, channels] of u8. libpng and libjpeg are
 * optional: without one, its files are refused with a message (HD_EIO).
 *
 * Files are not trusted. What is too large is refused before memory is allocated for it, and all memory that grows
 * with an image counts in the context's account. A file that ends early or is damaged is refused, never filled up.
 */
#ifndef HD_IMAGE_H
#define HD_IMAGE_H

#include "tensor/tensor.h"

/* Channels: 1 gray, 2 gray and alpha, 3 red, green and blue, 4 and alpha. */
#define HD_IMAGE_CHANNELS 4
/* No side of an image that is written is longer: libjpeg's bound, and libpng's default one. */
#define HD_JPEG_LONGEST 65500
#define HD_PNG_LONGEST 1000000

typedef enum hd_image_format { HD_IMAGE_PNG, HD_IMAGE_JPEG } hd_image_format;

typedef struct hd_image_options {
    int channels;       /* 0: as the file has them */
    int64_t max_pixels; /* more are refused */
} hd_image_options;

/* The samples as the file has them, 16 bits scaled to 8, palettes looked up, CMYK as RGB; no profile and no gamma is
 * applied. *orientation: the EXIF orientation of a JPEG file, 1..8 (1: as it is). NULL: HD_EIO or HD_ENOMEM; the
 * message names the path. */
hd_tensor *hd_image_load(hd_ctx *cx, const char *path, const hd_image_options *options, int *orientation);

/* Writes a contiguous u8 tensor [height, width, channels]; JPEG takes 1 or 3 channels and a quality of 1..100. The
 * file at path is replaced completely or not at all (io/replace.h). */
hd_status hd_image_save(hd_ctx *cx, const char *path, const hd_tensor *t, hd_image_format format,
                        int quality);

/* What reads and writes a format, "libpng 1.6.39"; "none" in a build without. */
const char *hd_png_version(void);
const char *hd_jpeg_version(void);

#endif
