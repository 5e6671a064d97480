#include "io/png.h"

#include "io/image_file.h"

#ifdef HEED_HAVE_PNG

#include <string.h>

#include <png.h>

static png_image describe(const hd_png_pixels *pixels) {
    static const png_uint_32 formats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = (png_uint_32)pixels->width;
    image.height = (png_uint_32)pixels->height;
    image.format = formats[pixels->channels];
    return image;
}

size_t hd_png_bound(const hd_png_pixels *pixels) {
    png_image image = describe(pixels);
    return PNG_IMAGE_PNG_SIZE_MAX(image);
}

hd_status hd_png_encode(hd_ctx *cx, const hd_png_pixels *pixels, uint8_t *out, size_t *size) {
    png_image image = describe(pixels);
    png_alloc_size_t bytes = hd_png_bound(pixels);
    if (!png_image_write_to_memory(&image, out, &bytes, 0, pixels->bytes, 0, NULL))
        return hd_fail(cx, HD_EIO, "%s", image.message);
    *size = bytes;
    return HD_OK;
}

const char *hd_png_version(void) {
    return "libpng " PNG_LIBPNG_VER_STRING;
}

#else

size_t hd_png_bound(const hd_png_pixels *pixels) {
    (void)pixels;
    return 1;
}

hd_status hd_png_encode(hd_ctx *cx, const hd_png_pixels *pixels, uint8_t *out, size_t *size) {
    (void)pixels, (void)out, (void)size;
    return hd_fail(cx, HD_EIO, "PNG: heed was built without libpng (Debian: libpng-dev)");
}

const char *hd_png_version(void) {
    return "none";
}

#endif

hd_status hd_png_write(hd_ctx *cx, hd_replace *r, const hd_tensor *t) {
    hd_png_pixels pixels = {hd_data(t), t->shape[1], t->shape[0], (int)t->shape[2]};
    uint8_t *out = hd_alloc(cx, hd_png_bound(&pixels));
    if (!out) return cx->error.status;
    size_t size = 0;
    hd_status status = hd_png_encode(cx, &pixels, out, &size);
    if (!status) status = hd_replace_write(cx, r, out, size);
    hd_free(cx->account, out);
    return status;
}
