/* Feeds damaged npy files to the reader. Built by the target fuzz-npy: with clang as a libFuzzer target (give
 * it a directory for its corpus), else as a program that damages good files for as many rounds as it is told:
 *
 *     fuzz-npy [rounds = 1000000 [seed = 1]]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/npy.h"

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
    hd_tensor *t = hd_npy_load(cx, path);
    if (!t && cx->error.status != HD_EIO && cx->error.status != HD_ENOMEM) abort();
    hd_release(t);
    if (cx->account->live != live) abort();
    return 0;
}

#ifndef HD_LIBFUZZER
#include "mutate.h"

#define DATA 24

static const struct {
    char version;
    const char *header;
} good[] = {
    {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"},
    {1, "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 1), }    \n"},
    {2, "{'descr': '|b1', 'fortran_order': False, 'shape': (24,), }\n"},
    {3, "{\"shape\":(1,3L,1),'fortran_order':True , 'descr':'<i8'}"},
};

/* A whole file of one of them; its size. */
static size_t compose(uint8_t *bytes, size_t which) {
    size_t length = strlen(good[which].header), at = good[which].version == 1 ? 10 : 12;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)good[which].version;
    bytes[7] = 0;
    memcpy(bytes + at, good[which].header, length);
    memset(bytes + at + length, 1, DATA);
    mutate_mend_npy(bytes, at + length + DATA, DATA);
    return at + length + DATA;
}

int main(int count, char **arguments) {
    uint64_t rounds = count > 1 ? strtoull(arguments[1], NULL, 10) : 1000000;
    uint64_t state = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    static uint8_t bytes[4096];
    for (uint64_t i = 0; i < rounds; i++) {
        size_t size = compose(bytes, mutate_random(&state, sizeof good / sizeof *good));
        LLVMFuzzerTestOneInput(bytes, mutate(&state, bytes, size, sizeof bytes, DATA, mutate_mend_npy));
    }
    printf("%llu files, none broke the reader\n", (unsigned long long)rounds);
    return 0;
}
#endif
