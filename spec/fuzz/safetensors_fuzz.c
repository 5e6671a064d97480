/* Feeds damaged safetensors files to the reader: the target fuzz-safetensors (reader_fuzz.h). */
#define _GNU_SOURCE
#include "io/safetensors.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 25
#define MEND mutate_mend_safetensors
#include "reader_fuzz.h"

static bool read_file(hd_ctx *cx, const char *path) {
    hd_safetensors *file = hd_safetensors_load(cx, path, false);
    hd_safetensors_free(file);
    return file != NULL;
}

#ifndef HD_LIBFUZZER
static const char header[] =
    "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
    "\"b\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[24,25]},"
    "\"c\":{\"dtype\":\"I64\",\"shape\":[0,5],\"data_offsets\":[25,25]}}";

static size_t compose(uint64_t *state, uint8_t *bytes) {
    size_t length = sizeof header - 1;
    (void)state;
    memcpy(bytes + 8, header, length);
    memset(bytes + 8 + length, 0, DATA);
    mutate_mend_safetensors(bytes, 8 + length + DATA, DATA);
    return 8 + length + DATA;
}
#endif
