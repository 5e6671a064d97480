#include "io/mapped.h"

bool hd_mapped_fits(hd_dtype dtype, int64_t offset) {
    return dtype != HD_BOOL && offset % (int64_t)hd_dtype_size(dtype) == 0;
}

static void release(void *owner, void *data, size_t bytes) {
    (void)data, (void)bytes;
    hd_mapping_release(owner);
}

static hd_status check(hd_ctx *cx, void *owner) {
    return hd_mapping_check(cx, owner);
}

const hd_memory_owner hd_mapped_memory = {.release = release, .check = check};

hd_tensor *hd_mapped_tensor(hd_ctx *cx, hd_mapping *m, int64_t offset, hd_dtype dtype, int ndim,
                            const int64_t *shape) {
    return hd_tensor_in(cx, dtype, ndim, shape, hd_mapping_bytes(m) + offset, &hd_mapped_memory,
                        hd_mapping_retain(m));
}
