#include "base/meta.h"

#include <sys/mman.h>

static size_t mapped(size_t bytes) {
    return bytes > 0 ? bytes : 1;
}

void *hd_meta_new(hd_ctx *cx, size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, mapped(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory != MAP_FAILED) return memory;
    return hd_fail_null(cx, HD_ENOMEM, "out of memory: no room for the shape of a tensor of %zu bytes",
                        bytes);
}

void hd_meta_free(void *memory, size_t bytes) {
    munmap(memory, mapped(bytes));
}
