#include "io/image_file.h"

#ifdef HEED_HAVE_PNG

#include <setjmp.h>
#include <string.h>

#include <png.h>

/* libpng reports errors by a jump to where png_jmpbuf was set: in `read_pixels`, so that it crosses no frame of
 * others. What lives across it stands here. */
typedef struct reading {
    hd_image_file *file;
    int64_t at;
    hd_tensor *t;
    bool failed; /* the context has the error already */
} reading;

static void on_error(png_structp png, png_const_charp message) {
    reading *r = png_get_error_ptr(png);
    if (!r->failed) hd_source_bad(&r->file->source, "PNG: %s", message);
    r->failed = true;
    png_longjmp(png, 1);
}

/* What libpng warns of concerns what is not used here: profiles, texts, times. */
static void on_warning(png_structp png, png_const_charp message) {
    (void)png, (void)message;
}

static png_voidp allocate(png_structp png, png_alloc_size_t size) {
    reading *r = png_get_mem_ptr(png);
    void *block = hd_alloc(r->file->source.cx, size);
    if (!block) r->failed = true;
    return block;
}

static void release(png_structp png, png_voidp block) {
    reading *r = png_get_mem_ptr(png);
    hd_free(r->file->source.cx->account, block);
}

static void take(png_structp png, png_bytep into, size_t count) {
    reading *r = png_get_io_ptr(png);
    if ((int64_t)count > r->file->size - r->at) png_error(png, "the file ended early");
    memcpy(into, r->file->bytes + r->at, count);
    r->at += (int64_t)count;
}

/* Every kind of PNG as 8 bits of gray or of red, green and blue, with alpha where it has any. */
static void ask_for_bytes(png_structp png, png_infop info) {
    int type = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (type == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    if (png_get_valid(png, info, PNG_INFO_tRNS)) png_set_tRNS_to_alpha(png);
    if (depth == 16) png_set_scale_16(png);
}

static bool read_pixels(png_structp png, png_infop info, reading *r) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* max_pixels bounds them */
    png_set_read_fn(png, r, take);
    png_read_info(png, info);
    ask_for_bytes(png, info);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    png_uint_32 width = png_get_image_width(png, info), height = png_get_image_height(png, info);
    size_t row = png_get_rowbytes(png, info);
    r->t = hd_image_new(r->file, width, height, png_get_channels(png, info));
    if (!r->t) return false;
    uint8_t *data = hd_data(r->t);
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < height; y++) png_read_row(png, data + y * row, NULL);
    png_read_end(png, NULL);
    return true;
}

hd_tensor *hd_png_read(hd_image_file *file) {
    reading r = {.file = file};
    png_structp png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning, &r, allocate, release);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info && !r.failed) hd_source_bad(&file->source, "PNG: libpng could not begin");
    bool complete = info && read_pixels(png, info, &r);
    png_destroy_read_struct(&png, &info, NULL);
    if (complete) return r.t;
    hd_release(r.t);
    return NULL;
}

#else

hd_tensor *hd_png_read(hd_image_file *file) {
    hd_source_bad(&file->source, "a PNG file: heed was built without libpng (Debian: libpng-dev)");
    return NULL;
}

#endif
