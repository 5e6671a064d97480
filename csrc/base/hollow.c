#include "base/hollow.h"

#include <sys/mman.h>

static size_t mapped(size_t bytes) {
    return bytes > 0 ? bytes : 1;
}

void *hd_hollow_new(hd_ctx *cx, size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *room = mmap(NULL, mapped(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (room != MAP_FAILED) return room;
    return hd_fail_null(cx, HD_ENOMEM, "out of memory: no room for the shape of a tensor of %zu bytes",
                        bytes);
}

void hd_hollow_free(void *room, size_t bytes) {
    munmap(room, mapped(bytes));
}
