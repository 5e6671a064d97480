/* Feeds damaged npy files to the reader: the target fuzz-npy (reader_fuzz.h). */
#define _GNU_SOURCE
#include "io/npy.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 24
#define MEND mutate_mend_npy
#include "reader_fuzz.h"

static bool read_file(hd_ctx *cx, const char *path) {
    hd_tensor *t = hd_npy_load(cx, path);
    hd_release(t);
    return t != NULL;
}

#ifndef HD_LIBFUZZER
static const struct {
    char version;
    const char *header;
} good[] = {
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"},
    {1, "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 1), }    \n"},
    {2, "{'descr': '|b1', 'fortran_order': False, 'shape': (24,), }\n"},
    {3, "{\"shape\":(1,3L,1),'fortran_order':True , 'descr':'<i8'}"},
};

static size_t compose(uint64_t *state, uint8_t *bytes) {
    size_t which = mutate_random(state, sizeof good / sizeof *good);
    size_t length = strlen(good[which].header), at = good[which].version == 1 ? 10 : 12;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)good[which].version;
    bytes[7] = 0;
    memcpy(bytes + at, good[which].header, length);
    memset(bytes + at + length, 1, DATA);
    mutate_mend_npy(bytes, at + length + DATA, DATA);
    return at + length + DATA;
}
#endif
