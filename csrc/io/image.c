#include "io/image_file.h"

#include <string.h>

static const uint8_t png_start[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
static const uint8_t jpeg_start[] = {0xff, 0xd8, 0xff};

hd_tensor *hd_image_new(hd_image_file *file, int64_t width, int64_t height, int64_t channels) {
    if (width < 1 || height < 1) {
        hd_source_bad(&file->source, "an image of %lld x %lld pixels", (long long)width, (long long)height);
        return NULL;
    }
    if (width > file->max_pixels / height) {
        hd_source_bad(&file->source, "an image of %lld x %lld pixels, more than max_pixels = %lld",
                      (long long)width, (long long)height, (long long)file->max_pixels);
        return NULL;
    }
    return hd_tensor_new(file->source.cx, HD_U8, 3, (const int64_t[]){height, width, channels});
}

/* ---- channels -------------------------------------------------------------------------------- */

/* The luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, in 16 bits behind the point. */
static uint8_t luma(const uint8_t *rgb) {
    return (uint8_t)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 32768u) >> 16);
}

/* One pixel of `have` channels as one of `want`. Alpha is left out, or opaque where there was none. */
static void convert_pixel(const uint8_t *from, int have, uint8_t *to, int want) {
    bool colour = have > 2;
    uint8_t alpha = have % 2 ? 255 : from[have - 1];
    if (want > 2)
        for (int c = 0; c < 3; c++) to[c] = from[colour ? c : 0];
    else
        to[0] = colour ? luma(from) : from[0];
    if (want % 2 == 0) to[want - 1] = alpha;
}

/* Takes t over. */
static hd_tensor *with_channels(hd_ctx *cx, hd_tensor *t, int want) {
    int have = t ? (int)t->shape[2] : want;
    if (want == 0 || want == have) return t;
    hd_tensor *converted = hd_tensor_new(cx, HD_U8, 3, (const int64_t[]){t->shape[0], t->shape[1], want});
    if (converted) {
        const uint8_t *from = hd_data(t);
        uint8_t *to = hd_data(converted);
        for (int64_t i = 0, n = t->shape[0] * t->shape[1]; i < n; i++, from += have, to += want)
            convert_pixel(from, have, to, want);
    }
    hd_release(t);
    return converted;
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool starts_with(const uint8_t *bytes, int64_t size, const uint8_t *start, size_t length) {
    return size >= (int64_t)length && !memcmp(bytes, start, length);
}

static hd_tensor *read_image(hd_image_file *file, int *orientation) {
    uint8_t start[sizeof png_start];
    int64_t known = file->size < (int64_t)sizeof start ? file->size : (int64_t)sizeof start;
    if (hd_source_read(&file->source, start, known, 0)) return NULL;
    bool png = starts_with(start, known, png_start, sizeof png_start);
    if (!png && !starts_with(start, known, jpeg_start, sizeof jpeg_start)) {
        hd_source_bad(&file->source, "expected a PNG or JPEG file");
        return NULL;
    }
    uint8_t *bytes = hd_alloc(file->source.cx, (size_t)file->size);
    if (!bytes) return NULL;
    file->bytes = bytes;
    hd_tensor *t = NULL;
    if (!hd_source_read(&file->source, bytes, file->size, 0))
        t = png ? hd_png_read(file) : hd_jpeg_read(file, orientation);
    hd_free(file->source.cx->account, bytes);
    return t;
}

hd_tensor *hd_image_load(hd_ctx *cx, const char *path, const hd_image_options *options, int *orientation) {
    hd_image_file file = {.max_pixels = options->max_pixels};
    *orientation = 1;
    if (hd_source_open(cx, &file.source, path)) return NULL;
    file.size = file.source.size;
    hd_tensor *t = read_image(&file, orientation);
    hd_source_close(&file.source);
    return with_channels(cx, t, options->channels);
}

hd_status hd_image_save(hd_ctx *cx, const char *path, const hd_tensor *t, hd_image_format format,
                        int quality) {
    hd_replace r;
    hd_status status = hd_replace_begin(cx, &r, path);
    if (status) return status;
    status = format == HD_IMAGE_PNG ? hd_png_write(cx, &r, t) : hd_jpeg_write(cx, &r, t, quality);
    if (!status) return hd_replace_commit(cx, &r);
    hd_replace_abort(&r);
    return status;
}
