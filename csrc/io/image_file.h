/* image_file.h: what the readers of image formats share with image.c: a whole file in memory, and the tensor for its
 * pixels. */
#ifndef HD_IMAGE_FILE_H
#define HD_IMAGE_FILE_H

#include "io/image.h"
#include "io/replace.h"
#include "io/source.h"

typedef struct hd_image_file {
    hd_source source; /* for messages */
    const uint8_t *bytes;
    int64_t size;
    int64_t max_pixels;
} hd_image_file;

/* An uninitialised tensor for this many pixels; NULL when they are too many (HD_EIO) or memory ran out. */
hd_tensor *hd_image_new(hd_image_file *file, int64_t width, int64_t height, int64_t channels);

/* NULL: HD_EIO (its message names the path) or HD_ENOMEM. */
hd_tensor *hd_png_read(hd_image_file *file);
hd_tensor *hd_jpeg_read(hd_image_file *file, int *orientation);

/* Writes the file's contents. */
hd_status hd_png_write(hd_ctx *cx, hd_replace *r, const hd_tensor *t);
hd_status hd_jpeg_write(hd_ctx *cx, hd_replace *r, const hd_tensor *t, int quality);

#endif
