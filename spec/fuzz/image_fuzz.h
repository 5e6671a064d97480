/* image_fuzz.h: what the fuzz targets of image formats share. A target defines FORMAT, CHANNELS and MEND. */
#include <stdlib.h>
#include <string.h>

#include "io/image.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 0
#include "reader_fuzz.h"

static bool read_file(hd_ctx *cx, const char *path) {
    int orientation;
    hd_image_options options = {0, 1 << 18};
    hd_tensor *t = hd_image_load(cx, path, &options, &orientation);
    if (t && (t->dtype != HD_U8 || t->ndim != 3 || t->shape[2] < 1 || t->shape[2] > HD_IMAGE_CHANNELS))
        abort();
    if (orientation < 1 || orientation > 8) abort();
    hd_release(t);
    return t != NULL;
}

#ifndef HD_LIBFUZZER
/* Written once; what is damaged is a copy. */
static size_t compose(uint64_t *state, uint8_t *bytes) {
    static uint8_t good[2048];
    static size_t size;
    (void)state;
    if (!size) {
        char path[] = "/tmp/heed-fuzz-XXXXXX";
        int fd = mkstemp(path);
        hd_ctx *cx = hd_ctx_new(1);
        hd_tensor *t = cx ? hd_tensor_new(cx, HD_U8, 3, (const int64_t[]){9, 17, CHANNELS}) : NULL;
        if (fd < 0 || !t) abort();
        for (int64_t i = 0; i < hd_numel(t); i++) ((uint8_t *)hd_data(t))[i] = (uint8_t)(i * i % 251);
        if (hd_image_save(cx, path, t, FORMAT, 60)) abort();
        FILE *file = fopen(path, "rb");
        if (!file) abort();
        size = fread(good, 1, sizeof good, file);
        fclose(file);
        close(fd);
        unlink(path);
        hd_release(t);
        hd_ctx_free(cx);
    }
    memcpy(bytes, good, size);
    return size;
}
#endif
