/* Feeds damaged safetensors files to the reader: the target fuzz-safetensors (reader_fuzz.h). */
#define _GNU_SOURCE
#include "io/safetensors.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 25
#define MEND mutate_mend_safetensors
#include "reader_fuzz.h"

/* The sum of all bytes: each must be there. */
static unsigned sum_of(const hd_safetensors *file) {
    unsigned sum = 0;
    for (int64_t i = 0; i < file->count; i++) {
        const hd_tensor *t = file->tensors[i].tensor;
        const unsigned char *bytes = hd_data(t);
        for (size_t k = 0; k < t->storage->bytes; k++) sum += bytes[k];
    }
    return sum;
}

/* Read and mapped, it says the same. */
static bool read_file(hd_ctx *cx, const char *path) {
    hd_safetensors *file = hd_safetensors_load(cx, path, false);
    hd_safetensors *mapped = hd_safetensors_load(cx, path, true);
    bool fine = file != NULL;
    if (fine != (mapped != NULL) || (fine && sum_of(file) != sum_of(mapped))) __builtin_trap();
    hd_safetensors_free(file);
    hd_safetensors_free(mapped);
    return fine;
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
