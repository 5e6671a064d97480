/* Feeds damaged sound files to the reader: the target fuzz-audio (reader_fuzz.h). */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/audio.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 0
#define MEND mutate_mend_none
#include "reader_fuzz.h"

static bool read_file(hd_ctx *cx, const char *path) {
    int rate = 0;
    const hd_audio_options options = {true, 1 << 18};
    hd_tensor *t = hd_audio_load(cx, path, &options, &rate);
    if (t && (t->dtype != HD_F32 || t->ndim != 2 || t->shape[1] != 1 || rate < 1)) abort();
    for (int64_t i = 0; t && i < hd_numel(t); i++)
        if (!isfinite(((const float *)hd_data(t))[i])) abort();
    hd_release(t);
    return t != NULL;
}

#ifndef HD_LIBFUZZER
static size_t write_sample(uint8_t *bytes, size_t capacity, hd_dtype dtype, hd_audio_format format) {
    char path[] = "/tmp/heed-fuzz-XXXXXX";
    int fd = mkstemp(path);
    hd_ctx *cx = hd_ctx_new(1);
    hd_tensor *t = cx ? hd_tensor_zeros(cx, dtype, 2, (const int64_t[]){90, 2}) : NULL;
    if (fd < 0 || !t) abort();
    for (int64_t i = 0; i < hd_numel(t) && dtype == HD_I16; i++)
        ((int16_t *)hd_data(t))[i] = (int16_t)(i * i * 37);
    if (hd_audio_save(cx, path, t, 8000, format)) abort();
    FILE *file = fopen(path, "rb");
    if (!file) abort();
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    close(fd);
    unlink(path);
    hd_release(t);
    hd_ctx_free(cx);
    return size;
}

/* WAV of integers and of floats, and FLAC, each written once; what is damaged is a copy. */
static size_t compose(uint64_t *state, uint8_t *bytes) {
    static uint8_t good[3][2048];
    static size_t size[3];
    if (!size[0]) {
        size[0] = write_sample(good[0], sizeof good[0], HD_I16, HD_AUDIO_WAV);
        size[1] = write_sample(good[1], sizeof good[1], HD_F32, HD_AUDIO_WAV);
        size[2] = write_sample(good[2], sizeof good[2], HD_I16, HD_AUDIO_FLAC);
    }
    const uint32_t kind = mutate_random(state, 3);
    memcpy(bytes, good[kind], size[kind]);
    return size[kind];
}
#endif
