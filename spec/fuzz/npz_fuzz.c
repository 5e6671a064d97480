/* Feeds damaged npz files to the reader: the target fuzz-npz (reader_fuzz.h). */
#define _GNU_SOURCE
#include "io/npz.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#include "npz_samples.h"
#endif

#define DATA 0
#define MEND mutate_mend_npz
#include "reader_fuzz.h"

static bool read_file(hd_ctx *cx, const char *path) {
    hd_npz *file = hd_npz_open(cx, path);
    bool whole = file != NULL;
    for (int64_t i = 0; whole && i < hd_npz_count(file); i++) {
        hd_tensor *t = hd_npz_read(file, i);
        whole = t && hd_npz_name(file, i);
        hd_release(t);
    }
    hd_npz_close(file);
    return whole;
}

#ifndef HD_LIBFUZZER
static const struct {
    const uint8_t *bytes;
    size_t size;
} good[] = {
    {npz_stored, sizeof npz_stored}, {npz_deflated, sizeof npz_deflated}, {npz_zip64, sizeof npz_zip64}};

static size_t compose(uint64_t *state, uint8_t *bytes) {
    size_t which = mutate_random(state, sizeof good / sizeof *good);
    memcpy(bytes, good[which].bytes, good[which].size);
    return good[which].size;
}
#endif
