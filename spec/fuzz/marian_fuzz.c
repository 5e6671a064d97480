/* Feeds damaged files of marian-nmt's to the reader: the target fuzz-marian (reader_fuzz.h). */
#define _GNU_SOURCE
#include "io/marian.h"
#ifndef HD_LIBFUZZER
#include "marian_sample.h"
#include "mutate.h"
#endif

#define DATA 0
#define MEND mutate_mend_none
#include "reader_fuzz.h"

static bool read_file(hd_ctx *cx, const char *path) {
    hd_marian file;
    if (hd_marian_open(cx, &file, path)) return false;
    bool fine = true;
    for (int64_t i = 0; i < file.count && fine; i++) {
        if (file.items[i].is_text) continue;
        hd_tensor *t = hd_marian_read(&file, &file.items[i]);
        fine = t != NULL;
        hd_release(t);
    }
    hd_marian_close(cx->account, &file);
    return fine;
}

#ifndef HD_LIBFUZZER
static size_t compose(uint64_t *state, uint8_t *bytes) {
    (void)state;
    return marian_sample(bytes);
}
#endif
