#include "io/png.h"

#ifdef HEED_HAVE_PNG

#include <string.h>

#include <png.h>

static png_image describe(int64_t width, int64_t height) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)width;
    image.height = (png_uint_32)height;
    image.format = PNG_FORMAT_RGB;
    return image;
}

size_t hd_png_bound(int64_t width, int64_t height) {
    png_image image = describe(width, height);
    return PNG_IMAGE_PNG_SIZE_MAX(image);
}

hd_status hd_png_encode(hd_ctx *cx, const uint8_t *pixels, int64_t width, int64_t height, uint8_t *out,
                        size_t *size) {
    png_image image = describe(width, height);
    png_alloc_size_t bytes = hd_png_bound(width, height);
    if (!png_image_write_to_memory(&image, out, &bytes, 0, pixels, 0, NULL))
        return hd_fail(cx, HD_EIO, "%s", image.message);
    *size = bytes;
    return HD_OK;
}

#else

size_t hd_png_bound(int64_t width, int64_t height) {
    (void)width, (void)height;
    return 1;
}

hd_status hd_png_encode(hd_ctx *cx, const uint8_t *pixels, int64_t width, int64_t height, uint8_t *out,
                        size_t *size) {
    (void)pixels, (void)width, (void)height, (void)out, (void)size;
    return hd_fail(cx, HD_EIO, "PNG: heed was built without libpng (Debian: libpng-dev)");
}

#endif
