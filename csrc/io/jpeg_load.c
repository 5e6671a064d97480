#include "io/image_file.h"

#ifdef HEED_HAVE_JPEG

#include <string.h>

#include "io/jpeg_errors.h"

/* A progressive file of little more than headers can ask for as many passes over the image as it has scans. */
#define MAX_SCANS 500

typedef struct reading {
    struct jpeg_progress_mgr progress; /* first: libjpeg hands out its address */
    struct jpeg_decompress_struct info;
    hd_jpeg_errors errors;
    hd_image_file *file;
    hd_tensor *t;
    uint8_t *line;      /* one line of CMYK */
    void *coefficients; /* as many bytes as libjpeg keeps of a file of several scans: for the account */
    int orientation;
    bool failed; /* the context has the error already */
} reading;

static void bound_scans(j_common_ptr info) {
    if (((j_decompress_ptr)info)->input_scan_number <= MAX_SCANS) return;
    hd_jpeg_errors *errors = (hd_jpeg_errors *)info->err;
    snprintf(errors->message, sizeof errors->message, "more than %d scans", MAX_SCANS);
    longjmp(errors->jump, 1);
}

/* ---- EXIF ------------------------------------------------------------------------------------ */

#define ORIENTATION 0x0112
#define SHORT 3

static unsigned two(const uint8_t *at, bool big) {
    return big ? (unsigned)at[0] << 8 | at[1] : (unsigned)at[1] << 8 | at[0];
}

static uint64_t four(const uint8_t *at, bool big) {
    return (uint64_t)two(at + (big ? 0 : 2), big) << 16 | two(at + (big ? 2 : 0), big);
}

/* The orientation in a segment "Exif\0\0" and a TIFF header, of which the first directory is searched; 1 when it
 * has none. */
static int orientation_in(const uint8_t *bytes, size_t size) {
    if (size < 6 + 8 || memcmp(bytes, "Exif\0\0", 6)) return 1;
    const uint8_t *tiff = bytes + 6;
    size -= 6;
    bool big = tiff[0] == 'M';
    if (memcmp(tiff, big ? "MM\0*" : "II*\0", 4)) return 1;
    uint64_t at = four(tiff + 4, big);
    if (at > size - 2) return 1;
    unsigned entries = two(tiff + at, big);
    at += 2;
    for (; entries > 0 && at + 12 <= size; entries--, at += 12) {
        if (two(tiff + at, big) != ORIENTATION || two(tiff + at + 2, big) != SHORT) continue;
        unsigned value = two(tiff + at + 8, big);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

static int orientation_of(const struct jpeg_decompress_struct *info) {
    for (jpeg_saved_marker_ptr m = info->marker_list; m; m = m->next) {
        int found = orientation_in(m->data, m->data_length);
        if (found != 1) return found;
    }
    return 1;
}

/* ---- pixels ---------------------------------------------------------------------------------- */

/* Adobe's CMYK, the only one in use, is stored inverted: 0 is full ink. */
static void to_rgb(const uint8_t *cmyk, uint8_t *rgb, JDIMENSION width) {
    for (JDIMENSION x = 0; x < width; x++, cmyk += 4, rgb += 3)
        for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((cmyk[c] * cmyk[3] + 127) / 255);
}

/* False: the context has the error. */
static bool allocate(reading *r) {
    struct jpeg_decompress_struct *info = &r->info;
    hd_ctx *cx = r->file->source.cx;
    bool cmyk = info->out_color_space == JCS_CMYK;
    r->t = hd_image_new(r->file, info->image_width, info->image_height,
                        info->out_color_space == JCS_GRAYSCALE ? 1 : 3);
    bool fine = r->t != NULL;
    if (fine && cmyk) fine = (r->line = hd_alloc(cx, (size_t)info->image_width * 4)) != NULL;
    if (fine && jpeg_has_multiple_scans(info))
        fine = (r->coefficients = hd_alloc(cx, (size_t)info->image_width * info->image_height *
                                                   (size_t)info->num_components * sizeof(JCOEF))) != NULL;
    r->failed = !fine;
    return fine;
}

static void choose_colours(struct jpeg_decompress_struct *info) {
    switch (info->jpeg_color_space) {
    case JCS_GRAYSCALE: info->out_color_space = JCS_GRAYSCALE; break;
    case JCS_CMYK:
    case JCS_YCCK: info->out_color_space = JCS_CMYK; break;
    default: info->out_color_space = JCS_RGB; /* of what cannot become that, libjpeg says so */
    }
}

static bool read_pixels(reading *r) {
    struct jpeg_decompress_struct *info = &r->info;
    if (setjmp(r->errors.jump)) return false;
    jpeg_create_decompress(info);
    info->progress = &r->progress;
    jpeg_mem_src(info, r->file->bytes, (unsigned long)r->file->size);
    jpeg_save_markers(info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(info, TRUE);
    r->orientation = orientation_of(info);
    choose_colours(info);
    if (!allocate(r)) return false;
    jpeg_start_decompress(info);
    int64_t row = r->t->shape[1] * r->t->shape[2];
    while (info->output_scanline < info->output_height) {
        uint8_t *pixels = (uint8_t *)hd_data(r->t) + info->output_scanline * row;
        JSAMPROW line = r->line ? r->line : pixels;
        jpeg_read_scanlines(info, &line, 1);
        if (r->line) to_rgb(r->line, pixels, info->image_width);
    }
    jpeg_finish_decompress(info);
    return true;
}

hd_tensor *hd_jpeg_read(hd_image_file *file, int *orientation) {
    hd_ctx *cx = file->source.cx;
    reading r = {.file = file, .orientation = 1, .progress.progress_monitor = bound_scans};
    r.info.err = hd_jpeg_errors_begin(&r.errors);
    bool complete = read_pixels(&r);
    if (!complete && !r.failed) hd_source_bad(&file->source, "JPEG: %s", r.errors.message);
    jpeg_destroy_decompress(&r.info);
    hd_free(cx->account, r.line);
    hd_free(cx->account, r.coefficients);
    *orientation = r.orientation;
    if (complete) return r.t;
    hd_release(r.t);
    return NULL;
}

#else

hd_tensor *hd_jpeg_read(hd_image_file *file, int *orientation) {
    (void)orientation;
    hd_source_bad(&file->source, "a JPEG file: heed was built without libjpeg (Debian: libjpeg-dev)");
    return NULL;
}

#endif
