/* reader_fuzz.h: what the fuzz targets of readers of files share. A target defines read_file and, for the program that damages
 * good files, compose; then it includes this file.
 *
 * With clang it is a libFuzzer target (give it a directory for its corpus), else a program:
 *
 *     fuzz-FORMAT [rounds = 1000000 [seed = 1]]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Loads the file and lets it go again; false when it was refused, with the error in cx. */
static bool read_file(hd_ctx *cx, const char *path);

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
    if (!read_file(cx, path) && cx->error.status != HD_EIO && cx->error.status != HD_ENOMEM) abort();
    if (cx->account->live != live) abort();
    return 0;
}

#ifndef HD_LIBFUZZER
/* Writes a good file; its size. */
static size_t compose(uint64_t *state, uint8_t *bytes);

int main(int count, char **arguments) {
    uint64_t rounds = count > 1 ? strtoull(arguments[1], NULL, 10) : 1000000;
    uint64_t state = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    static uint8_t bytes[4096];
    for (uint64_t i = 0; i < rounds; i++) {
        size_t size = compose(&state, bytes);
        LLVMFuzzerTestOneInput(bytes, mutate(&state, bytes, size, sizeof bytes, DATA, MEND));
    }
    printf("%llu files, none broke the reader\n", (unsigned long long)rounds);
    return 0;
}
#endif
