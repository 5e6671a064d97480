/* Feeds damaged safetensors files to the reader. Built by the target fuzz-safetensors: with clang as a
 * libFuzzer target (give it a directory for its corpus), else as a program that damages a good file for as
 * many rounds as it is told:
 *
 *     fuzz-safetensors [rounds = 1000000 [seed = 1]]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A file in memory that is written anew for every input; the reader opens it by its name under /proc. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static hd_ctx *cx;
    static int fd;
    static char path[64];
    if (!cx) {
        cx = hd_ctx_new(1);
        fd = memfd_create("heed", MFD_CLOEXEC);
        if (!cx || fd < 0) abort();
        cx->account->limit = 64 << 20;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size) abort();
    int64_t live = cx->account->live;
    hd_safetensors *file = hd_safetensors_load(cx, path);
    if (!file && cx->error.status != HD_EIO && cx->error.status != HD_ENOMEM) abort();
    hd_safetensors_free(file);
    if (cx->account->live != live) abort();
    return 0;
}

#ifndef HD_LIBFUZZER
#include "mutate.h"

#define HEADER                                                                                               \
    "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]" \
    "},"                                                                                                     \
    "\"b\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[24,25]},"                                      \
    "\"c\":{\"dtype\":\"I64\",\"shape\":[0,5],\"data_offsets\":[25,25]}}"
#define DATA 25

int main(int count, char **arguments) {
    uint64_t rounds = count > 1 ? strtoull(arguments[1], NULL, 10) : 1000000;
    uint64_t state = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    static uint8_t good[8 + sizeof HEADER - 1 + DATA], bytes[4096];
    memcpy(good + 8, HEADER, sizeof HEADER - 1);
    mutate_mend_safetensors(good, sizeof good, DATA);
    for (uint64_t i = 0; i < rounds; i++) {
        memcpy(bytes, good, sizeof good);
        LLVMFuzzerTestOneInput(
            bytes, mutate(&state, bytes, sizeof good, sizeof bytes, DATA, mutate_mend_safetensors));
    }
    printf("%llu files, none broke the reader\n", (unsigned long long)rounds);
    return 0;
}
#endif
