/* PNG: what is written, libpng reads again; the bound holds for pixels that nothing compresses. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "io/png.h"

#ifdef HEED_HAVE_PNG

#include <png.h>

#define RGB 3
#define LONGEST 32767

static hd_ctx *cx;

static void there_and_back(int64_t width, int64_t height, int (*value)(int64_t)) {
    size_t count = (size_t)(width * height * RGB), size = 0;
    uint8_t *pixels = malloc(count), *again = malloc(count);
    hd_png_pixels described = {pixels, width, height, RGB};
    size_t bound = hd_png_bound(&described);
    uint8_t *bytes = malloc(bound);
    for (size_t i = 0; i < count; i++) pixels[i] = (uint8_t)value((int64_t)i);
    CHECK(hd_png_encode(cx, &described, bytes, &size) == HD_OK);
    CHECK(size > 8 && size <= bound && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0);

    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    CHECK(png_image_begin_read_from_memory(&image, bytes, size));
    CHECK(image.width == width && image.height == height && image.format == PNG_FORMAT_RGB);
    CHECK(png_image_finish_read(&image, NULL, again, 0, NULL));
    CHECK(memcmp(pixels, again, count) == 0);
    free(pixels), free(bytes), free(again);
}

static int constant(int64_t i) {
    (void)i;
    return 200;
}

static int ramp(int64_t i) {
    return (int)(i / 3);
}

static int noise(int64_t i) {
    return (int)((uint64_t)i * 6364136223846793005u >> 40);
}

int main(void) {
    cx = hd_ctx_new(1);
    CHECK(cx != NULL);
    int (*values[])(int64_t) = {constant, ramp, noise};
    for (int v = 0; v < 3; v++) {
        there_and_back(1, 1, values[v]);
        there_and_back(1, 700, values[v]);
        there_and_back(301, 207, values[v]);
        there_and_back(LONGEST, 2, values[v]);
    }
    hd_ctx_free(cx);
    return checks_done();
}

#else

int main(void) {
    hd_ctx *cx = hd_ctx_new(1);
    uint8_t byte = 0;
    size_t size = 0;
    CHECK(hd_png_encode(cx, &(hd_png_pixels){&byte, 1, 1, 1}, &byte, &size) == HD_EIO);
    CHECK(strstr(cx->error.message, "without libpng") != NULL);
    hd_ctx_free(cx);
    return checks_done();
}

#endif
