#include "io/image_file.h"

#ifdef HEED_HAVE_JPEG

#include <string.h>

#include "io/jpeg_errors.h"

#include <jerror.h>

/* ---- errors ---------------------------------------------------------------------------------- */

static void on_error(j_common_ptr info) {
    hd_jpeg_errors *errors = (hd_jpeg_errors *)info->err;
    errors->base.format_message(info, errors->message);
    longjmp(errors->jump, 1);
}

/* Warnings after which the pixels are still those that were written. */
static bool is_harmless(int code) {
    switch (code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_BOGUS_PROGRESSION: return true;
    default: return false;
    }
}

/* Level -1 is a warning: libjpeg would go on with pixels that it made up. */
static void on_message(j_common_ptr info, int level) {
    if (level < 0 && !is_harmless(info->err->msg_code)) on_error(info);
}

static void on_output(j_common_ptr info) {
    (void)info;
}

struct jpeg_error_mgr *hd_jpeg_errors_begin(hd_jpeg_errors *errors) {
    jpeg_std_error(&errors->base);
    errors->base.error_exit = on_error;
    errors->base.emit_message = on_message;
    errors->base.output_message = on_output;
    return &errors->base;
}

/* ---- writing --------------------------------------------------------------------------------- */

#define BLOCK 65536

typedef struct writing {
    struct jpeg_destination_mgr base; /* first: libjpeg hands out its address */
    struct jpeg_compress_struct info;
    hd_jpeg_errors errors;
    hd_ctx *cx;
    hd_replace *file;
    bool failed; /* the context has the error already */
    JOCTET block[BLOCK];
} writing;

static void begin_block(j_compress_ptr info) {
    writing *w = (writing *)info->dest;
    w->base.next_output_byte = w->block;
    w->base.free_in_buffer = BLOCK;
}

static void put(writing *w, size_t count) {
    if (!hd_replace_write(w->cx, w->file, w->block, count)) return;
    w->failed = true;
    longjmp(w->errors.jump, 1);
}

static boolean end_block(j_compress_ptr info) {
    put((writing *)info->dest, BLOCK);
    begin_block(info);
    return TRUE;
}

static void end_file(j_compress_ptr info) {
    writing *w = (writing *)info->dest;
    put(w, BLOCK - w->base.free_in_buffer);
}

static bool write_pixels(writing *w, const hd_tensor *t, int quality) {
    if (setjmp(w->errors.jump)) return false;
    jpeg_create_compress(&w->info);
    w->info.dest = &w->base;
    w->info.image_height = (JDIMENSION)t->shape[0];
    w->info.image_width = (JDIMENSION)t->shape[1];
    w->info.input_components = (int)t->shape[2];
    w->info.in_color_space = t->shape[2] == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&w->info);
    jpeg_set_quality(&w->info, quality, TRUE);
    jpeg_start_compress(&w->info, TRUE);
    int64_t row = t->shape[1] * t->shape[2];
    for (int64_t y = 0; y < t->shape[0]; y++) {
        JSAMPROW line = (JSAMPROW)hd_data(t) + y * row;
        jpeg_write_scanlines(&w->info, &line, 1);
    }
    jpeg_finish_compress(&w->info);
    return true;
}

hd_status hd_jpeg_write(hd_ctx *cx, hd_replace *r, const hd_tensor *t, int quality) {
    writing *w = hd_alloc_zeroed(cx, sizeof *w);
    if (!w) return cx->error.status;
    w->cx = cx;
    w->file = r;
    w->base.init_destination = begin_block;
    w->base.empty_output_buffer = end_block;
    w->base.term_destination = end_file;
    w->info.err = hd_jpeg_errors_begin(&w->errors);
    hd_status status = HD_OK;
    if (!write_pixels(w, t, quality))
        status =
            w->failed ? cx->error.status : hd_fail(cx, HD_EIO, "%s: JPEG: %s", r->target, w->errors.message);
    jpeg_destroy_compress(&w->info);
    hd_free(cx->account, w);
    return status;
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *hd_jpeg_version(void) {
#ifdef LIBJPEG_TURBO_VERSION
    return "libjpeg-turbo " TEXT(LIBJPEG_TURBO_VERSION);
#else
    return "libjpeg " TEXT(JPEG_LIB_VERSION);
#endif
}

#else

hd_status hd_jpeg_write(hd_ctx *cx, hd_replace *r, const hd_tensor *t, int quality) {
    (void)t, (void)quality;
    return hd_fail(cx, HD_EIO, "%s: JPEG: heed was built without libjpeg (Debian: libjpeg-dev)", r->target);
}

const char *hd_jpeg_version(void) {
    return "none";
}

#endif
